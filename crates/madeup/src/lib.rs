//! Made-up webs: the one of `gleaner demo`, the generated ones of `sim:…`, and webs that tests write down in
//! a string. The program and all tests share them. Nothing here knows the crawler.
//!
//! | file | what it is |
//! |---|---|
//! | `string.rs` | a whole web in one string |
//! | `markup.rs` | pages of such a web in short form, and as HTML |
//! | `site/` | the web of `gleaner demo`: topic, seeds, answers, ground truth, and everything difficult on purpose |
//! | `sim/` | generated webs of up to millions of pages, none of which is kept |
//! | `reply.rs` | request and answer as values, and the trait a web implements |
//! | `fetched.rs` | the same answers without a server, for recorded webs and the loop |
//! | `wordnet.rs` | a WordNet of seven words |
//! | `server.rs`, `log.rs` | the HTTP server on loopback and its request log |

#![warn(missing_docs)]

pub mod fetched;
mod log;
mod markup;
mod reply;
mod server;
pub mod sim;
mod site;
mod string;
mod wordnet;

#[cfg(test)]
mod server_tests;

pub use log::{Entry, Log, max_in_flight, min_gap, read_log};
pub use reply::{Answer, Ask, Behaviour, Reply};
pub use server::Server;
pub use sim::SimWeb;
pub use site::{SEEDS, STRICT, Site, Size, TOPIC};
pub use string::WebString;
pub use wordnet::small_wordnet;
