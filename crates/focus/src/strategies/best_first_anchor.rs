//! Strategy `best-first-anchor`: one half of `best-first` (see there for the code they share).

use super::StrategyEntry;
use super::best_first::{BestFirst, Use};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "best-first-anchor",
    summary: "similarity of the anchor text to the topic",
    doc: "\
## What it does
A link's priority is `cos(a, q)`: how much its anchor text is like the topic's terms (tf·idf over all words).

## When it helps
Well-named links: catalogues, tables of contents.

## When it hurts
Images, \"here\" and \"next\": a link without words has no score.

## Options
`n` = 1: batch size of N-best-first.

## Source
Batsakis, §3.2.2.",
    build: |setup| BestFirst::build(setup, Use::Anchor),
};
