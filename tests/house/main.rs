//! Does what is written about the code match the code? Needs no network and no program.

mod architecture;
mod docs;
