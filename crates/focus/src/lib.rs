//! What the user wants, and which link leads to it. Pure: no network, no clock, no files, no unseeded chance.
//!
//! * [`text`]: words, phrases and vectors of a page ([`text::Doc`]), computed once per page.
//! * [`topic`]: what the user asked for, resolved ([`topic::Topic`]); genre presets; thresholds.
//! * [`judges`]: is this page what the user wants? One list, [`judges::ALL`].
//! * [`strategies`]: which link next? One list, [`strategies::ALL`].
//! * [`ask`]: which page to ask the user about next.
//! * [`model`]: files of what was learnt. The learners themselves are in the crate `learn`.

#![warn(missing_docs)]

pub mod ask;
pub mod judges;
pub mod model;
pub mod strategies;
#[cfg(test)]
mod testkit;
pub mod text;
pub mod topic;

mod options;
