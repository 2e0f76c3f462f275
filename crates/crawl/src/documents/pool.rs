//! A few children, shared by everyone who has documents to read.
//!
//! Each child has a thread of its own that hands it one document after the other and waits for the page: no
//! thread of the network ever waits here. One more thread watches the clock and kills the child whose time is
//! over; its pipe then breaks, and the thread that waits for it knows. Threads and children are started when
//! there is work for them.

use super::child::{Process, Reader};
use super::wire::Question;
use super::{DocumentLimits, Program, Reading, Unread};
use std::collections::{HashMap, VecDeque};
use std::io;
use std::process::ExitStatus;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;
use types::Page;

/// A child is replaced after so many documents: whatever its libraries leave behind is gone with it.
const DOCUMENTS_PER_CHILD: u32 = 200;
/// A child without work ends after this long.
const IDLE: Duration = Duration::from_secs(30);
/// Tries to start a child, and the pause before the next.
const STARTS: u32 = 3;
const START_PAUSE: Duration = Duration::from_millis(200);

/// Children that read documents. They end with it.
pub struct Pool {
    shared: Arc<Shared>,
}

struct Shared {
    program: Program,
    limits: DocumentLimits,
    state: Mutex<State>,
    /// Something for a worker: a document, or the end.
    work: Condvar,
    /// Something for the watch: another time to look.
    watch: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Job>,
    workers: usize,
    idle: usize,
    /// By worker.
    busy: HashMap<usize, Busy>,
    watched: bool,
    threads: Vec<JoinHandle<()>>,
    /// When everything that is not read is given up.
    stop_at: Option<Instant>,
    closed: bool,
}

struct Job {
    question: Vec<u8>,
    body: Arc<[u8]>,
    answer: Answer,
}

/// Who waits for the page.
enum Answer {
    Thread(mpsc::Sender<Result<Page, Unread>>),
    Task(oneshot::Sender<Result<Page, Unread>>),
}

impl Answer {
    fn give(self, page: Result<Page, Unread>) {
        // Whoever asked may be gone: then nobody needs it.
        match self {
            Answer::Thread(to) => drop(to.send(page)),
            Answer::Task(to) => drop(to.send(page)),
        }
    }

    fn is_unwanted(&self) -> bool {
        matches!(self, Answer::Task(to) if to.is_closed())
    }
}

/// A document that a child reads now.
struct Busy {
    process: Process,
    until: Instant,
    killed: Option<Killed>,
}

#[derive(Clone, Copy, PartialEq)]
enum Killed {
    TooSlow,
    Stopped,
}

impl Pool {
    pub fn new(program: Program, limits: DocumentLimits) -> Pool {
        let limits = DocumentLimits { readers: limits.readers.max(1), ..limits };
        let (work, watch) = (Condvar::new(), Condvar::new());
        Pool { shared: Arc::new(Shared { program, limits, state: Mutex::default(), work, watch }) }
    }

    /// Waits for the page.
    pub fn read(&self, question: &Question, body: Arc<[u8]>) -> Result<Page, Unread> {
        let (answer, page) = mpsc::channel();
        self.submit(question, body, Answer::Thread(answer));
        page.recv().unwrap_or(Err(Unread::Stopped))
    }

    pub fn begin(&self, question: &Question, body: Arc<[u8]>) -> Reading {
        let (answer, page) = oneshot::channel();
        self.submit(question, body, Answer::Task(answer));
        page
    }

    fn submit(&self, question: &Question, body: Arc<[u8]>, answer: Answer) {
        let question = match serde_json::to_vec(question) {
            Ok(question) => question,
            Err(e) => return answer.give(Err(Unread::Limits(e.to_string()))),
        };
        let mut state = self.shared.state();
        if state.closed || state.stop_at.is_some_and(|at| at <= Instant::now()) {
            drop(state);
            return answer.give(Err(Unread::Stopped));
        }
        state.waiting.push_back(Job { question, body, answer });
        let more = state.idle < state.waiting.len() && state.workers < self.shared.limits.readers;
        let failed = match more {
            true => self.shared.start_worker(&mut state).err().filter(|_| state.workers == 0),
            false => None,
        };
        if let Some(e) = failed {
            let all: Vec<Job> = state.waiting.drain(..).collect();
            drop(state);
            for job in all {
                job.answer.give(Err(no_reader(&e)));
            }
            return;
        }
        self.shared.work.notify_one();
    }

    pub fn stop_within(&self, grace: Duration) {
        let mut state = self.shared.state();
        state.stop_at.get_or_insert(Instant::now() + grace);
        self.shared.watch.notify_all();
    }

    pub fn go_on(&self) {
        self.shared.state().stop_at = None;
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let mut state = self.shared.state();
        state.closed = true;
        state.busy.values().for_each(|b| b.process.kill());
        let threads = std::mem::take(&mut state.threads);
        drop(state);
        self.shared.work.notify_all();
        self.shared.watch.notify_all();
        // No process is left behind.
        for thread in threads {
            let _ = thread.join();
        }
    }
}

fn no_reader(e: &io::Error) -> Unread {
    Unread::Limits(format!("no process can be started that reads it: {e}"))
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn start_worker(self: &Arc<Shared>, state: &mut State) -> io::Result<()> {
        let spawn = |name: &str| std::thread::Builder::new().name(name.into());
        if !state.watched {
            let shared = self.clone();
            state.threads.push(spawn("gleaner-watch").spawn(move || shared.keep_watch())?);
            state.watched = true;
        }
        let (shared, number) = (self.clone(), state.workers);
        state.threads.push(spawn("gleaner-documents").spawn(move || shared.work(number))?);
        state.workers += 1;
        Ok(())
    }

    /// A worker: one child, one document after the other.
    fn work(&self, number: usize) {
        let mut reader: Option<Reader> = None;
        while let Some(job) = self.next_job(&mut reader) {
            if job.answer.is_unwanted() {
                continue;
            }
            let mut page = self.read(number, &mut reader, &job);
            if let Outcome::Lost(_) = page {
                // Someone else killed the child, for want of memory perhaps: the document may be as good as
                // any.
                page = self.read(number, &mut reader, &job);
            }
            job.answer.give(match page {
                Outcome::Page(page) => super::with_text(*page),
                Outcome::Unread(why) => Err(why),
                Outcome::Lost(why) => Err(Unread::Limits(why)),
            });
            if reader.as_ref().is_some_and(|r| r.read >= DOCUMENTS_PER_CHILD) {
                reader = None;
            }
        }
    }

    /// Waits for a document; a child that waits for too long is let go. `None`: the pool is closed.
    fn next_job(&self, reader: &mut Option<Reader>) -> Option<Job> {
        let mut state = self.state();
        loop {
            if state.closed {
                return None;
            }
            if let Some(job) = state.waiting.pop_front() {
                return Some(job);
            }
            state.idle += 1;
            let (waited, timed_out) = match reader {
                Some(_) => {
                    let (s, t) = self.work.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
                    (s, t.timed_out())
                }
                None => (self.work.wait(state).unwrap_or_else(PoisonError::into_inner), false),
            };
            state = waited;
            state.idle -= 1;
            if timed_out && state.waiting.is_empty() {
                *reader = None;
            }
        }
    }

    fn read(&self, number: usize, kept: &mut Option<Reader>, job: &Job) -> Outcome {
        let mut reader = match kept.take().map_or_else(|| self.start(), Ok) {
            Ok(reader) => reader,
            Err(e) => return Outcome::Unread(no_reader(&e)),
        };
        let until = Instant::now() + self.limits.time;
        {
            let mut state = self.state();
            if state.closed {
                return Outcome::Unread(Unread::Stopped);
            }
            state.busy.insert(number, Busy { process: reader.process(), until, killed: None });
            self.watch.notify_all();
        }
        let page = reader.ask(&job.question, &job.body);
        let (killed, closed) = {
            let mut state = self.state();
            (state.busy.remove(&number).and_then(|b| b.killed), state.closed)
        };
        let why = match page.map(|json| serde_json::from_slice::<Page>(&json)) {
            Ok(Ok(page)) => {
                *kept = Some(reader);
                return Outcome::Page(Box::new(page));
            }
            Ok(Err(e)) => {
                return Outcome::Unread(Unread::Limits(format!("its reader answers nonsense: {e}")));
            }
            Err(e) => e,
        };
        match (killed, closed) {
            (Some(Killed::Stopped), _) | (_, true) => Outcome::Unread(Unread::Stopped),
            (Some(Killed::TooSlow), _) => Outcome::Unread(Unread::Limits(format!(
                "it takes longer than {} ([limits] document_time)",
                crate::units::Span(self.limits.time)
            ))),
            (None, false) => match reader.end() {
                Ok(status) => self.ended(status),
                Err(_) => Outcome::Lost(why.to_string()),
            },
        }
    }

    fn start(&self) -> io::Result<Reader> {
        let mut tried = 0;
        loop {
            match Reader::start(&self.program, &self.limits) {
                Ok(reader) => return Ok(reader),
                Err(e) if tried + 1 >= STARTS => return Err(e),
                Err(_) => tried += 1,
            }
            std::thread::sleep(START_PAUSE);
        }
    }

    /// A child ended by itself before it gave the page.
    #[cfg(unix)]
    fn ended(&self, status: ExitStatus) -> Outcome {
        use rustix::process::Signal;
        use std::os::unix::process::ExitStatusExt;
        let limits = |why: String| Outcome::Unread(Unread::Limits(why));
        let is = |signal: Signal| status.signal() == Some(signal.as_raw());
        if is(Signal::XCPU) {
            let time = crate::units::Span(self.limits.time);
            return limits(format!("it takes more than {time} of the processor ([limits] document_time)"));
        }
        if is(Signal::ABORT) || is(Signal::SEGV) || is(Signal::BUS) {
            let memory = crate::units::Size(self.limits.memory);
            return limits(format!(
                "it needs more than {memory} of memory ([limits] document_memory), or its reader broke down \
                 ({status})"
            ));
        }
        Outcome::Lost(format!("its reader was ended by something else ({status})"))
    }

    #[cfg(not(unix))]
    fn ended(&self, status: ExitStatus) -> Outcome {
        Outcome::Unread(Unread::Limits(format!("its reader broke down ({status})")))
    }

    /// The watch: kills children whose time is over.
    fn keep_watch(&self) {
        let mut state = self.state();
        while !state.closed {
            let now = Instant::now();
            let stop_at = state.stop_at;
            let stopped = stop_at.is_some_and(|at| at <= now);
            let mut next: Option<Instant> = stop_at.filter(|at| *at > now);
            for busy in state.busy.values_mut().filter(|b| b.killed.is_none()) {
                if stopped || busy.until <= now {
                    busy.killed = Some(if stopped { Killed::Stopped } else { Killed::TooSlow });
                    busy.process.kill();
                } else {
                    next = Some(next.map_or(busy.until, |n| n.min(busy.until)));
                }
            }
            if stopped && !state.waiting.is_empty() {
                let all: Vec<Job> = state.waiting.drain(..).collect();
                drop(state);
                all.into_iter().for_each(|job| job.answer.give(Err(Unread::Stopped)));
                state = self.state();
                continue;
            }
            state = match next {
                Some(at) => {
                    let wait = at.saturating_duration_since(Instant::now());
                    self.watch.wait_timeout(state, wait).unwrap_or_else(PoisonError::into_inner).0
                }
                None => self.watch.wait(state).unwrap_or_else(PoisonError::into_inner),
            };
        }
    }
}

/// What came of a document.
enum Outcome {
    Page(Box<Page>),
    Unread(Unread),
    /// The child is gone, and not by the document's fault as far as can be told.
    Lost(String),
}
