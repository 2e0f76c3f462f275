//! `gleaner demo`'s built-in web: generated pages, served over real HTTP on loopback, with a log that testifies to how the
//! crawler behaved. Nothing here knows the crawler.
//!
//! | file | what it is |
//! |---|---|
//! | `site.rs` | the generated web: topic, seeds, answers, ground truth |
//! | `plan.rs`, `sites.rs`, `oddities.rs` | its link graph: the model, the ordinary hosts, the difficult ones |
//! | `text.rs`, `words.rs`, `render.rs` | its words and markup |
//! | `reply.rs` | request and answer as values, and the trait a web implements |
//! | `webstring.rs` | a whole web in one string, for tests |
//! | `server.rs`, `log.rs` | the HTTP server and its request log |

pub mod log;
mod oddities;
mod plan;
mod render;
pub mod reply;
pub mod server;
pub mod site;
mod sites;
mod text;
pub mod webstring;
mod words;

#[cfg(test)]
mod server_tests;
#[cfg(test)]
mod site_tests;

pub use log::{Entry, Log, max_in_flight, min_gap, read_log};
pub use reply::{Answer, Ask, Behaviour, Reply};
pub use server::Server;
pub use site::{SEEDS, Site, Size, TOPIC};
pub use webstring::WebString;
