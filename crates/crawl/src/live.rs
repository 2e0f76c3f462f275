//! Drives a crawl on the real web: requests on an async runtime, reading and judging on a thread pool, everything
//! that decides on the calling thread, in arrival order.

use crate::analyse::{Analysis, Analyst};
use crate::control::Order;
use crate::crawl::{Arrival, Crawl, Step, Stop};
use crate::events::{Event, Progress};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use types::{Fetched, Lease, Millis, Problem, Request, Task, Web};

/// On stable storage at least this often.
const SYNC_EVERY: Duration = Duration::from_secs(1);
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// Longest sleep without looking at commands and limits.
const NAP: Duration = Duration::from_millis(250);

/// Runs until a limit, the end of the frontier, or [`crate::control::Command::Stop`].
pub fn run(
    crawl: &mut Crawl,
    web: Arc<dyn Web>,
    analyst: Analyst,
    orders: &Receiver<Order>,
) -> Result<(Stop, Progress), Problem> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(threads.min(4))
        .max_blocking_threads(threads.max(2))
        .thread_name("gleaner-io")
        .enable_all()
        .build()
        .map_err(|e| Problem::new("cannot start the network threads").because(e))?;
    let (to_loop, arrivals) = mpsc::channel::<Back>();
    let gate = crawl.gate();
    let mut last_sync = Instant::now();
    let mut last_progress = Instant::now();

    let stop = loop {
        while let Ok(Order { command, reply }) = orders.try_recv() {
            let done = crawl.obey(command, Millis::steady());
            match reply {
                // Whoever asked is told; if the disk is full the loop will meet it soon enough itself.
                Some(reply) => {
                    let _ = reply.send(done);
                }
                None => {
                    done?;
                }
            }
        }
        crawl.tend(Millis::steady())?;
        let more_to_do = crawl.rejudge_some()? | crawl.sweep_some()?;
        let mut wait = if more_to_do { Duration::from_millis(1) } else { NAP };
        let done = loop {
            match crawl.next(Millis::steady())? {
                Step::Fetch(lease) => {
                    let (web, analyst, to_loop) = (web.clone(), analyst.clone(), to_loop.clone());
                    let gate = gate.clone();
                    runtime.spawn(async move {
                        if !gate.is_open() {
                            // This process was stopped, or cut off, for so long that another worker may have the host.
                            let _ = to_loop.send(Back::Withheld(lease));
                            return;
                        }
                        let arrival = fetch_and_read(*lease, web, analyst).await;
                        // The loop is gone only when it is ending: then the lease returns by itself.
                        let _ = to_loop.send(Back::Arrived(Box::new(arrival)));
                    });
                }
                Step::Wait { until, .. } => {
                    wait = wait.min(until.since(Millis::steady())).max(Duration::from_millis(1));
                    break None;
                }
                Step::Busy => break None,
                Step::Done(stop) => break Some(stop),
            }
        };
        // Refusals at lease time were applied without an arrival.
        crawl.commit()?;
        if let Some(stop) = done {
            break stop;
        }
        match arrivals.recv_timeout(wait) {
            Ok(first) => {
                // One commit for all that came in meanwhile.
                for back in std::iter::once(first).chain(arrivals.try_iter().take(256)) {
                    match back {
                        Back::Arrived(arrival) => crawl.arrived(*arrival, Millis::steady())?,
                        Back::Withheld(lease) => crawl.withheld(&lease, Millis::steady())?,
                    }
                }
                crawl.commit()?;
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => {
                return Err(Problem::new("the network threads ended unexpectedly"));
            }
        }
        if last_sync.elapsed() >= SYNC_EVERY {
            crawl.sync()?;
            last_sync = Instant::now();
        }
        if last_progress.elapsed() >= PROGRESS_EVERY {
            let progress = crawl.progress(Millis::steady());
            crawl.emit(Event::Progress(Box::new(progress)));
            last_progress = Instant::now();
        }
    };
    runtime.shutdown_background();
    let progress = crawl.close(stop, Millis::steady())?;
    Ok((stop, progress))
}

/// What became of a lease.
enum Back {
    Arrived(Box<Arrival>),
    /// No request was sent.
    Withheld(Box<Lease>),
}

/// Larger pages are read on threads of their own, so that the network does not wait for them.
const READ_HERE: usize = 512 << 10;

/// Steps 2, 3 and the pure half of 4.
async fn fetch_and_read(lease: Lease, web: Arc<dyn Web>, analyst: Analyst) -> Arrival {
    let request = Request { url: lease.url.clone(), task: lease.task, etag: None, last_modified: None };
    let fetched: Fetched = web.fetch(&request).await;
    if lease.task == Task::Robots {
        return Arrival { lease, fetched, analysis: None };
    }
    let url = lease.url.clone();
    // A page of the usual size takes less than a millisecond: handing it to another thread and back would cost a good
    // part of that again.
    let read = if fetched.payload.decoded().len() <= READ_HERE {
        read(&analyst, fetched)
    } else {
        let reading = tokio::task::spawn_blocking(move || read(&analyst, fetched));
        reading.await.unwrap_or_else(|e| Err(e.to_string()))
    };
    match read {
        Ok((fetched, analysis)) => Arrival { lease, fetched, analysis },
        Err(error) => {
            // A panic while reading a page is a bug, but never a reason to lose the crawl: the page counts as unreadable.
            tracing::error!(%url, error, "reading the page failed");
            let fetched = Fetched {
                failure: Some(types::Failure::Unwanted("the page could not be read".into())),
                ..Fetched::empty(url, Millis::now())
            };
            Arrival { lease, fetched, analysis: None }
        }
    }
}

fn read(analyst: &Analyst, fetched: Fetched) -> Result<(Fetched, Option<Analysis>), String> {
    let analysis = catch_unwind(AssertUnwindSafe(|| analyst.analyse(&fetched)));
    let why = |e: Box<dyn std::any::Any + Send>| {
        let text = e.downcast_ref::<String>().cloned();
        text.or_else(|| e.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_else(|| "a panic".into())
    };
    analysis.map(|analysis| (fetched, analysis)).map_err(why)
}
