//! What all crawls of one server may cost together.

use crate::dashboard::App;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;
use types::Problem;

pub struct Budget {
    /// Pages that all crawls of this server may fetch.
    pages: u64,
    /// The longest that one crawl may run.
    pub time: Duration,
    granted: Mutex<Vec<Grant>>,
}

/// Pages that a crawl may fetch.
struct Grant {
    collection: String,
    /// It had so many when it began.
    before: u64,
    pages: u64,
}

impl Grant {
    /// What an ended crawl did not fetch goes back.
    fn settle(&mut self, app: &App) {
        if app.jobs().get(&self.collection).is_some_and(|job| job.is_over())
            && let Some(now) = pages_of(app, &self.collection)
        {
            self.pages = self.pages.min(now.saturating_sub(self.before));
        }
    }
}

impl Budget {
    pub fn new(pages: u64, time: Duration) -> Budget {
        Budget { pages, time, granted: Mutex::default() }
    }

    /// Lets `start` begin a crawl with as many pages as are wanted and left.
    pub fn grant<T>(
        &self,
        app: &App,
        collection: &str,
        wanted: Option<u64>,
        start: impl FnOnce(u64) -> Result<T, Problem>,
    ) -> Result<T, Problem> {
        let mut granted = self.granted.lock().unwrap_or_else(PoisonError::into_inner);
        granted.iter_mut().for_each(|g| g.settle(app));
        let left = self.pages.saturating_sub(granted.iter().map(|g| g.pages).sum());
        let pages = wanted.unwrap_or(left).min(left);
        if pages == 0 {
            return Err(Problem::new(format!("the budget of {} pages for crawls is spent", self.pages))
                .hint("the owner can start `gleaner mcp` with more --pages"));
        }
        let before = pages_of(app, collection).unwrap_or(0);
        let started = start(pages)?;
        granted.push(Grant { collection: collection.into(), before, pages });
        Ok(started)
    }
}

/// `None`: it cannot be read, or is not there yet.
pub fn pages_of(app: &App, collection: &str) -> Option<u64> {
    let volume = app.shelf.get(collection).ok()?;
    let view = volume.view().ok()?;
    Some(view.rows.len() as u64)
}
