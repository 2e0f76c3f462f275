//! What tests talk to: servers of other people, or stand-ins that speak the real protocol.

pub mod bucket;
pub mod endpoint;
pub mod line;
pub mod postgres;

pub use crate::common::tools;
