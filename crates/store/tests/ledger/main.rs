//! The ledger: one conformance suite on every log, then what only some of them can do (crash, fill up, be
//! shared).

mod arrive;
mod conformance;
mod crash;
mod disk;
mod harness;
mod model;
mod shared;
mod steer;

#[path = "../../../../tests/support/postgres.rs"]
mod postgres;
