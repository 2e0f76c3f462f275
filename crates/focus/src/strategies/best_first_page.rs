//! Strategy `best-first-page`: one half of `best-first` (see there for the code they share).

use super::StrategyEntry;
use super::best_first::{BestFirst, Use};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "best-first-page",
    summary: "similarity of the page a link stands on to the topic",
    doc: "\
## What it does
A link's priority is `cos(u, q)`: how much the page it stands on is like the topic's terms (tf·idf over all words).

## When it helps
When wanted pages link to wanted pages.

## When it hurts
All links of a page get the same score: a hub with one good link among a hundred is followed a hundred times.

## Options
`n` = 1: batch size of N-best-first.

## Source
Batsakis, §3.2.1; queuing policy PS of Assis 2008 is the same idea.",
    build: |setup| BestFirst::build(setup, Use::Page),
};
