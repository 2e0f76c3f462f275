//! The dashboard: `gleaner serve` and `gleaner crawl --serve`. A small HTTP server that shows collections,
//! searches them and steers crawls that run in this process.
//!
//! * `server` moves bytes, `guard` decides who may ask, `route` is the one list of what can be asked; the
//!   OpenAPI document is made from it. `api/` has one file per area; each handler is a plain function from a
//!   request to a reply.
//! * Collections are read through the ledger on disk, or in a shared database, whoever writes it: a crawl in
//!   this process, in another, on another machine, or none. Shared crawls are looked at, not steered.
//! * Text from the Web travels as JSON strings and is shown as text. No path from a request reaches the file
//!   system: names are looked up in the list of what is there.

mod api;
mod assets;
mod guard;
mod jobs;
mod live;
mod metrics;
mod openapi;
mod queue;
mod reply;
mod route;
mod rows;
mod schemas;
mod server;
mod shelf;
mod visitors;

pub use guard::Guard;
pub use jobs::{CRAWLS, Job, Jobs};
pub use schemas::fits;
pub use server::{Server, listen};
pub use shelf::{SharedShelf, Shelf, View};

use reply::Content;
use serde_json::Value;
use std::sync::Mutex;
use std::time::Instant;
use types::Problem;

/// Everything a handler may look at.
pub struct App {
    pub shelf: Shelf,
    pub guard: Guard,
    pub counters: metrics::Counters,
    /// Laid over the topics of crawls that are started here.
    pub flags: toml::Table,
    /// Held by the one dry run that may be under way.
    trial: Mutex<()>,
    started: Instant,
}

impl App {
    /// `crawls`: how many may run here at once.
    pub fn new(shelf: Shelf, guard: Guard, flags: toml::Table, crawls: usize) -> App {
        shelf.jobs().set_most(crawls);
        App {
            shelf,
            guard,
            counters: metrics::Counters::default(),
            flags,
            trial: Mutex::new(()),
            started: Instant::now(),
        }
    }

    /// The process is about to end: crawls that were started here end in order, folders are let go.
    pub fn close(&self) {
        self.jobs().stop_all();
        self.shelf.stop_teaching();
    }

    /// Asks as a client of the REST API does, without the network: for whoever speaks another protocol.
    pub fn ask(
        &self,
        method: &str,
        path: &str,
        query: Vec<(String, String)>,
        body: Option<&Value>,
    ) -> Result<Value, Problem> {
        let asked = route::RawRequest {
            method: method.into(),
            path: path.into(),
            query,
            json: body.is_some(),
            etag: None,
            body: body.map_or_else(Default::default, |b| b.to_string().into()),
        };
        let reply = route::dispatch(self, &asked).map_err(|refusal| refusal.problem)?;
        match &reply.body {
            Content::Bytes(bytes) => {
                serde_json::from_slice(bytes).map_err(|e| Problem::new("the answer is not JSON").because(e))
            }
            Content::Live(_) | Content::Stream(_) => Err(Problem::new("the answer is not JSON")),
        }
    }

    pub fn jobs(&self) -> &Jobs {
        self.shelf.jobs()
    }
}
