//! What the user wants, and which link leads to it. Pure: no network, no clock, no files, no unseeded chance.
//!
//! * [`text`]: words, phrases and vectors of a page ([`text::Doc`]), computed once per page.
//! * [`topic`]: what the user asked for, resolved ([`topic::Topic`]); genre presets; thresholds.
//! * [`judges`]: is this page what the user wants? One list, [`judges::ALL`].
//! * [`strategies`]: which link next? One list, [`strategies::ALL`].

pub mod judges;
pub mod rng;
pub mod strategies;
#[cfg(any(test, feature = "testkit"))]
pub mod testkit;
pub mod text;
pub mod topic;

mod bytes;
mod options;
