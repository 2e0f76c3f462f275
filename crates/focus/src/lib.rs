//! What the user wants, and which link leads to it. Pure: no network, no clock, no files, no unseeded chance.

pub mod judges;
pub mod strategies;
pub mod text;
pub mod topic;
