//! Keep it: what was fetched and what was decided, so that nothing is lost and everything can be taken out again.

pub mod archive;
pub mod export;
pub mod index;
