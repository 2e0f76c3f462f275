//! Drives a crawl on a recorded or generated web with a virtual clock: a week of polite waiting takes a
//! second, and the same seed gives the same order every time.

use crate::analyse::Analyst;
use crate::crawl::{Arrival, Crawl};
use crate::rules::{Step, Stop};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};
use types::{Fetched, Lease, Millis, Problem, Request, Task, Web};

/// Runs to the end. Answers arrive in order of (virtual finish time, lease number).
pub fn run(crawl: &mut Crawl, web: &dyn Web, analyst: &Analyst) -> Result<Stop, Problem> {
    run_with(crawl, web, analyst, &mut |_, _| Ok(()))
}

/// What someone does with a crawl between two turns.
pub type Between<'a> = &'a mut dyn FnMut(&mut Crawl, Millis) -> Result<(), Problem>;

/// As `run`, with someone who looks at the crawl after every arrival and may steer it, as users do a live
/// one.
pub fn run_with(
    crawl: &mut Crawl,
    web: &dyn Web,
    analyst: &Analyst,
    between: Between,
) -> Result<Stop, Problem> {
    let mut now = Millis(0);
    let mut coming: BTreeMap<Reverse<(Millis, u64)>, Lease> = BTreeMap::new();
    loop {
        let wake = loop {
            match crawl.next(now)? {
                Step::Fetch(lease) => {
                    let finish = Millis(now.0 + web.latency(&lease.url, now).0);
                    coming.insert(Reverse((finish, lease.number)), *lease);
                }
                Step::Wait { until, .. } => break until,
                Step::Busy | Step::Ending => break Millis::NEVER,
                Step::Done(stop) => return Ok(stop),
            }
        };
        // `Reverse` makes the last key the earliest.
        match coming.last_key_value().map(|(Reverse(key), _)| *key) {
            Some((finish, _)) if finish <= wake => {
                let Some((_, lease)) = coming.pop_last() else { continue };
                now = now.max(finish);
                let mut fetched = fetch(web, &lease, now)?;
                let analysis = match lease.task {
                    Task::Page => analyst.read_answer(&mut fetched),
                    Task::Robots => None,
                };
                crawl.arrived(Arrival { lease, fetched, analysis, attempt: None }, now)?;
                between(crawl, now)?;
            }
            _ if wake == Millis::NEVER => {
                return Err(Problem::new("the crawl waits for nothing")
                    .hint("this is a bug in Gleaner; please report it"));
            }
            _ => now = now.max(wake),
        }
    }
}

/// Recorded webs answer at once; a web that does not is not one.
fn fetch(web: &dyn Web, lease: &Lease, now: Millis) -> Result<Fetched, Problem> {
    let request = Request { url: lease.url.clone(), task: lease.task, etag: None, last_modified: None };
    let mut future = web.fetch(&request);
    match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(mut fetched) => {
            fetched.started = now;
            Ok(fetched)
        }
        Poll::Pending => {
            Err(Problem::new(format!("{}: this web cannot be replayed on a virtual clock", lease.url)))
        }
    }
}
