//! Drives a crawl on the real web: requests on an async runtime, reading and judging on a thread pool,
//! everything that decides on the calling thread, in arrival order.

use crate::analyse::{Analysis, Analyst, digest};
use crate::crawl::{Arrival, Crawl};
use crate::documents::Unread;
use crate::events::{Event, Progress};
use crate::marks::{Mark, Marks};
use crate::rendering::{Attempt, Stopped};
use crate::rules::{Step, Stop};
use crate::steer::{Command, Order};
use crate::teacher::AskResult;
use crate::timings::{Stage, Timings};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};
use store::archive::Digest;
use types::{Failure, Fetched, Lease, Millis, Page, Payload, Problem, Request, Task, Web};

/// On stable storage at least this often.
const SYNC_EVERY: Duration = Duration::from_secs(1);
const PROGRESS_EVERY: Duration = Duration::from_millis(250);
/// Between two looks into the inbox.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// Longest sleep without looking at commands and limits.
const NAP: Duration = Duration::from_millis(250);
/// A crawl that ends (a limit, the user) waits so long for documents that are being read.
/// What is not there by then is pending again.
const READING_GRACE: Duration = Duration::from_secs(2);

/// Runs until a limit, the end of the frontier, or [`crate::steer::Command::Stop`].
pub fn run(
    crawl: &mut Crawl,
    web: Arc<dyn Web>,
    analyst: Analyst,
    orders: &Receiver<Order>,
) -> Result<(Stop, Progress), Problem> {
    let ended = drive(crawl, web, analyst, orders);
    if let Some(marks) = crawl.marks() {
        marks.close();
    }
    ended
}

fn drive(
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
    let (to_loop, arrivals) = mpsc::channel::<LeaseEnd>();
    let (gate, marks, timings) = (crawl.gate(), crawl.marks(), crawl.timings());
    let mut ending_since: Option<Instant> = None;
    let mut last_sync = Instant::now();
    let mut last_progress = Instant::now();
    let mut last_look: Option<Instant> = None;

    let stop = loop {
        obey_orders(crawl, orders)?;
        if last_look.is_none_or(|t| t.elapsed() >= LOOK_EVERY) {
            crawl.read_inbox(Millis::steady())?;
            last_look = Some(Instant::now());
        }
        crawl.maintain_membership(Millis::steady())?;
        crawl.teach_some()?;
        let more_to_do = crawl.rejudge_some()? | crawl.sweep_some()?;
        let mut wait = if more_to_do { Duration::from_millis(1) } else { NAP };
        let mut ending = false;
        let done = loop {
            match crawl.next(Millis::steady())? {
                Step::Fetch(lease) => {
                    let (web, analyst, to_loop) = (web.clone(), analyst.clone(), to_loop.clone());
                    let (gate, marks, timings) = (gate.clone(), marks.clone(), timings.clone());
                    runtime.spawn(async move {
                        let back = if gate.is_none_or(|gate| gate.is_open()) {
                            fetch_and_read(lease, web, analyst, marks, timings).await
                        } else {
                            // This process was stopped, or cut off, for so long that another worker may have
                            // the host.
                            LeaseEnd::Withheld { lease, contacted: false }
                        };
                        // The loop is gone only when it is ending: then the lease returns by itself.
                        let _ = to_loop.send(back);
                    });
                }
                Step::Wait { until, .. } => {
                    wait = wait.min(until.since(Millis::steady())).max(Duration::from_millis(1));
                    break None;
                }
                Step::Busy => break None,
                Step::Ending => {
                    ending = true;
                    break None;
                }
                Step::Done(stop) => break Some(stop),
            }
        };
        match (ending, ending_since) {
            (true, None) => {
                ending_since = Some(Instant::now());
                analyst.documents.stop_within(READING_GRACE);
                if let Some(rendering) = &analyst.rendering {
                    rendering.stop_within(READING_GRACE);
                }
            }
            // The user lifted the limit.
            (false, Some(_)) if done.is_none() => {
                ending_since = None;
                analyst.documents.go_on();
                if let Some(rendering) = &analyst.rendering {
                    rendering.go_on();
                }
            }
            _ => {}
        }
        // Refusals at lease time were applied without an arrival.
        crawl.commit()?;
        if let Some(stop) = done {
            break stop;
        }
        let timed = timings.begin(Stage::Wait);
        let first = arrivals.recv_timeout(wait);
        drop(timed);
        match first {
            Ok(first) => {
                // One commit for all that came in meanwhile.
                for back in std::iter::once(first).chain(arrivals.try_iter().take(256)) {
                    match back {
                        LeaseEnd::Arrived(arrival, _mark) => crawl.arrived(*arrival, Millis::steady())?,
                        LeaseEnd::Withheld { lease, contacted } => {
                            crawl.withheld(&lease, contacted, Millis::steady())?;
                        }
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
            let progress = crawl.progress(Millis::steady())?;
            crawl.emit(Event::Progress(Box::new(progress)));
            last_progress = Instant::now();
        }
    };
    runtime.shutdown_background();
    last_lessons(crawl, orders, stop)?;
    let progress = crawl.close(stop, Millis::steady())?;
    Ok((stop, progress))
}

/// Obeys what was asked since the last time. `true`: it was asked to stop.
fn obey_orders(crawl: &mut Crawl, orders: &Receiver<Order>) -> Result<bool, Problem> {
    let mut stop = false;
    while let Ok(Order { command, reply }) = orders.try_recv() {
        stop |= command == Command::Stop;
        let done = crawl.obey(command, Millis::steady());
        match reply {
            // Whoever asked is told; if the disk is full the loop will meet it soon enough itself.
            Some(reply) => drop(reply.send(done)),
            None => drop(done?),
        }
    }
    Ok(stop)
}

/// A worker that has nothing to ask at the end waits for so long to see whether another asks.
const OTHERS_ASK: Duration = Duration::from_secs(3);

/// A crawl that has ended by itself waits a bounded while for the language model, if one is asked.
fn last_lessons(crawl: &mut Crawl, orders: &Receiver<Order>, stop: Stop) -> Result<(), Problem> {
    crawl.take_lesson(Duration::ZERO)?;
    let until = Instant::now() + crawl.teacher_wait();
    let mut others_asked = Instant::now();
    if stop == Stop::User {
        return crawl.hear_last_lessons();
    }
    loop {
        let asked = crawl.ask_teacher()?;
        match &asked {
            AskResult::Pages(_) | AskResult::Known(_) => {}
            AskResult::Waiting => others_asked = Instant::now(),
            // What the others are told is learnt here, too.
            AskResult::Nothing if crawl.has_fellows() && others_asked.elapsed() < OTHERS_ASK => {}
            _ => break,
        }
        let left = until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        let progress = Progress {
            idle: "everything is fetched; the teacher is asked about a few more pages".into(),
            ..crawl.progress(Millis::steady())?
        };
        crawl.emit(Event::Progress(Box::new(progress)));
        if matches!(asked, AskResult::Waiting | AskResult::Nothing) {
            std::thread::sleep(left.min(NAP));
        }
        crawl.take_lesson(left.min(NAP))?;
        crawl.maintain_membership(Millis::steady())?;
        crawl.commit()?;
        if obey_orders(crawl, orders)? {
            return Ok(());
        }
    }
    crawl.hear_last_lessons()
}

/// What became of a lease.
enum LeaseEnd {
    /// With the mark that it is being read: it is taken away when the answer has been dealt with.
    Arrived(Box<Arrival>, Option<Mark>),
    /// No request was sent; or (`contacted`) it was, but the crawl ends before the answer was read.
    Withheld { lease: Box<Lease>, contacted: bool },
}

/// Larger pages are read on threads of their own, so that the network does not wait for them.
const READ_HERE: usize = 512 << 10;

/// Steps 2, 3 and the pure half of 4.
async fn fetch_and_read(
    lease: Box<Lease>,
    web: Arc<dyn Web>,
    analyst: Analyst,
    marks: Option<Marks>,
    timings: Timings,
) -> LeaseEnd {
    // An application that has not changed may show something else by now.
    let shown = analyst.rendering.as_ref().is_some_and(|r| r.is_worthwhile(&lease.url));
    let (etag, last_modified) = match &lease.revisit {
        Some(known) if !shown => (known.etag.clone(), known.last_modified.clone()),
        _ => (None, None),
    };
    let request = Request { url: lease.url.clone(), task: lease.task, etag, last_modified };
    let sent = Instant::now();
    let mut fetched: Fetched = web.fetch(&request).await;
    timings.add(Stage::Fetch, sent.elapsed());
    let arrived = |lease: Box<Lease>, fetched, analysis, mark| {
        LeaseEnd::Arrived(Box::new(Arrival { lease: *lease, fetched, analysis, attempt: None }), mark)
    };
    if lease.task == Task::Robots {
        return arrived(lease, fetched, None, None);
    }
    let (mut page, mut attempt) = (None, None);
    if let Some(rendering) = &analyst.rendering {
        match rendering.visit(&mut fetched, &analyst.extract).await {
            Ok(seen) => (page, attempt) = seen,
            Err(Stopped) => return LeaseEnd::Withheld { lease, contacted: true },
        }
    }
    if let Some(why) =
        attempt.as_ref().and_then(|a: &Attempt| a.failed.as_ref()).filter(|_| lease.revisit.is_some())
    {
        // Without its scripts it would look changed.
        fetched.failure = Some(Failure::Unreadable(why.clone()));
        return arrived(lease, fetched, None, None);
    }
    // What is known is not read again.
    if lease.revisit.as_ref().is_some_and(|known| Digest(digest(&fetched)).hex() == known.digest) {
        return arrived(lease, fetched, None, None);
    }
    let mark = match &fetched.payload {
        Payload::None => None,
        _ => marks.map(|marks| marks.mark(lease.id)),
    };
    if page.is_none()
        && let Some(reading) = analyst.documents.begin(&fetched, &analyst.extract)
    {
        let lost = || Err(Unread::Limits("its reader ended unexpectedly".into()));
        match reading.await.unwrap_or_else(|_| lost()) {
            Ok(read) => page = Some(Arc::new(read)),
            Err(Unread::Stopped) => return LeaseEnd::Withheld { lease, contacted: true },
            Err(why) => {
                tracing::warn!(url = %lease.url, %why, "the document is not read");
                fetched.failure = Some(why.failure());
                return arrived(lease, fetched, None, mark);
            }
        }
    }
    let url = lease.url.clone();
    let timed = timings.begin(Stage::Read);
    // A page of the usual size takes less than a millisecond: handing it to another thread and back would
    // cost a good part of that again.
    let size = page.as_ref().map_or(fetched.payload.decoded().len(), |page| page.text.len());
    let read = if size <= READ_HERE {
        read(&analyst, fetched, page)
    } else {
        let reading = tokio::task::spawn_blocking(move || read(&analyst, fetched, page));
        reading.await.unwrap_or_else(|e| Err(e.to_string()))
    };
    drop(timed);
    match read {
        Ok((fetched, analysis)) => {
            LeaseEnd::Arrived(Box::new(Arrival { lease: *lease, fetched, analysis, attempt }), mark)
        }
        Err(error) => {
            // A panic while reading a page is a bug, but never a reason to lose the crawl: the page counts as
            // unreadable.
            tracing::error!(%url, error, "reading the page failed");
            let fetched = Fetched {
                failure: Some(Failure::Unwanted("the page could not be read".into())),
                ..Fetched::empty(url, Millis::now())
            };
            arrived(lease, fetched, None, mark)
        }
    }
}

/// `page`: a document's, which a child has read already.
fn read(
    analyst: &Analyst,
    fetched: Fetched,
    page: Option<Arc<Page>>,
) -> Result<(Fetched, Option<Analysis>), String> {
    let analysis = catch_unwind(AssertUnwindSafe(|| match page {
        Some(page) => analyst.assess(page, digest(&fetched)),
        None => analyst.analyse(&fetched),
    }));
    let why = |e: Box<dyn std::any::Any + Send>| {
        let text = e.downcast_ref::<String>().cloned();
        text.or_else(|| e.downcast_ref::<&str>().map(|s| s.to_string())).unwrap_or_else(|| "a panic".into())
    };
    analysis.map(|analysis| (fetched, analysis)).map_err(why)
}
