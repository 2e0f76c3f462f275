//! What tests and examples may use of the program: the built-in web of `gleaner demo`. The commands themselves are in the
//! binary.

pub mod demo;
