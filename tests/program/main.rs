//! Everything that needs the whole program, in one binary: each binary of tests takes its time to link.

#[path = "../common/mod.rs"]
mod common;
#[path = "../support/mod.rs"]
mod support;

mod archives;
mod backtest;
mod bad_input;
mod baseline;
mod bucket;
mod care;
mod cli;
mod clients;
mod crash;
mod damage;
mod dashboard;
mod doctor;
mod documents;
mod examples;
mod experiment;
mod gathered;
mod guided;
mod hostile;
mod idea;
mod integrate;
mod label;
mod last_mile;
mod limits;
mod listed;
mod living;
mod living_shared;
mod mcp;
mod metadata;
mod mutants;
mod neighbours;
mod notices;
mod outage;
mod polite;
mod reference;
mod rendering;
mod reports;
mod secrets;
mod serve;
mod shared;
mod shared_teacher;
mod steer;
mod teacher;
mod topics;
mod train;
mod traps;
mod tutorial;
mod versions;
mod watch;
