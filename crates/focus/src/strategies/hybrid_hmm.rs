//! Strategy `hybrid-hmm`: the hidden Markov chain and the similarity of the page to the relevant ones.

use super::StrategyEntry;
use super::hmm::{Chain, Mix};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "hybrid-hmm",
    summary: "the mean of the `hmm` probability and the page's similarity to the relevant pages",
    doc: "\
## What it does
A link of page u has the priority `(cos(u, c_r) + hmm(u)) / 2`: the probability `hmm` gives, and how much the page is like `c_r`, the
centroid of the relevant examples (of the relevant recorded pages when there are no examples). Training, record and warm-up as in `hmm`.

## When it helps
Where `hmm` does; pages of one cluster are told apart, and badly clustered irrelevant pages do less harm.

## When it hurts
All links of a page are still equal. Similarity to the relevant pages misleads where good pages do not link to each other.

## Options
As `hmm`: `clusters`, `k`, `most`, `neighbours`, `levels`, `epsilon` (not used here), `warmup`.

## Source
Batsakis, §3.4.2 a, equation 11.",
    build: |setup| Chain::build(setup, Mix::Page),
};
