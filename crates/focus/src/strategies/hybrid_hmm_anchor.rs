//! Strategy `hybrid-hmm-anchor`: the hidden Markov chain, the page and the anchor text.

use super::StrategyEntry;
use super::hmm::{Chain, Mix};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "hybrid-hmm-anchor",
    summary: "`hmm` probability averaged with the similarity of page and anchor text to the relevant pages",
    doc: "\
## What it does
A link with anchor a on page u has the priority `(hmm(u) + (cos(u, c_r) + cos(a, c_r)) / 2) / 2`: the probability `hmm` gives, and how
much page and anchor are like `c_r`, the centroid of the relevant examples (of the relevant recorded pages when there are no
examples). Training, record and warm-up as in `hmm`.

## When it helps
The best of Batsakis's learning crawlers: links of one page are told apart by what they say.

## When it hurts
Anchors that say nothing (\"here\"); a record with few relevant pages.

## Options
As `hmm`: `clusters`, `k`, `most`, `neighbours`, `levels`, `epsilon` (not used here), `warmup`.

## Source
Batsakis, §3.4.2 b, equation 12.",
    build: |setup| Chain::build(setup, Mix::PageAndAnchor),
};
