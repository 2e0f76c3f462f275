//! How to fetch one URL, politely and safely. When, and which, is somebody else's business.
//!
//! [`Http`] is the live web: one call, one hop. A redirect is an answer ([`types::Fetched::location`]), so
//! that its target passes through robots, scope and politeness like any other URL; only robots.txt itself is
//! fetched through redirects, as RFC 9309 wants. Every failure is a value; [`classify`] says what it means,
//! [`retry::backoff`] how long to wait, [`robots::Robots`] what a host allows.
//!
//! ```no_run
//! # async fn example() -> Result<(), types::Problem> {
//! use gleaner_fetch::{Class, Http, Settings, classify};
//! use types::{Canon, Request, Web};
//!
//! let settings = Settings { contact: Some("https://example.org/crawl".into()), ..Settings::default() };
//! settings.check_public()?;
//! let web = Http::new(settings)?;
//! let url = Canon::default().parse("https://example.org/").expect("a URL");
//! let answer = web.fetch(&Request::page(url)).await;
//! if classify(&answer) == Class::Page {
//!     println!("{} bytes from {:?}", answer.payload.decoded().len(), answer.ip);
//! }
//! # Ok(())
//! # }
//! ```
//!
//! | file | what |
//! |---|---|
//! | `http` | one hop: request, answer, limits |
//! | `exchange`, `pool`, `connect`, `proxy`, `login`, `stream` | from bytes on a socket to a request and its answer |
//! | `dns`, `rule`, `guard` | which address, and whether it may be contacted |
//! | `decode`, `media`, `headers`, `cookies` | what the answer says |
//! | `classify`, `retry`, `robots` | what it means |
//! | `post` | questions to a server that the user named |

#![warn(missing_docs)]

mod classify;
mod connect;
mod cookies;
mod decode;
mod dns;
mod exchange;
pub mod guard;
mod headers;
mod http;
mod login;
mod media;
mod pool;
pub mod post;
mod proxy;
pub mod retry;
pub mod robots;
mod rule;
mod settings;
mod stream;

pub use classify::{Class, classify};
pub use dns::{Resolve, ResolveFuture, System};
pub use http::Http;
pub use login::Login;
pub use rule::ResolveRule;
pub use settings::Settings;
