//! Crawls that run in this process: started here, or the one of `gleaner crawl --serve`.

use super::reply::Refusal;
use crawl::collection::Collection;
use crawl::config::LoadedConfig;
use crawl::live;
use crawl::steer::{Command, Effect, Order, Settings};
use crawl::{Event, Progress};
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use types::{Problem, Url};

/// A command that is not answered within this long: the loop is busy with something large.
const PATIENCE: Duration = Duration::from_secs(30);
/// A stopped collection that was opened for a label stays open for the next one this long.
const LINGER: Duration = Duration::from_secs(15);

/// Crawls that may run at once, unless told otherwise. Each has threads, an index and a ledger of its own.
pub const CRAWLS: usize = 4;

pub struct Jobs {
    jobs: Mutex<BTreeMap<String, Arc<Job>>>,
    most: AtomicUsize,
}

impl Default for Jobs {
    fn default() -> Jobs {
        Jobs { jobs: Mutex::default(), most: AtomicUsize::new(CRAWLS) }
    }
}

/// One crawl.
pub struct Job {
    orders: Mutex<Sender<Order>>,
    now: Mutex<JobStatus>,
    /// Opened to be corrected, not to fetch.
    editing: bool,
}

/// What a collection is opened for.
pub enum Task {
    /// To be corrected, not to fetch.
    Edit,
    Crawl {
        seeds: Vec<Url>,
        /// To go by, from the first page on.
        settings: Option<Box<Settings>>,
    },
}

/// How it stands.
#[derive(Clone)]
pub struct JobStatus {
    pub phase: Phase,
    pub progress: Option<Progress>,
    asked: Instant,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Phase {
    Starting,
    Running,
    Paused,
    Stopping,
    Ended,
    Failed(Problem),
}

fn locked<T>(m: &Mutex<T>) -> MutexGuard<'_, T> {
    m.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Job {
    pub fn new(editing: bool) -> (Arc<Job>, Receiver<Order>) {
        let (orders, taken) = mpsc::channel();
        let now = JobStatus { phase: Phase::Starting, progress: None, asked: Instant::now() };
        (Arc::new(Job { orders: Mutex::new(orders), now: Mutex::new(now), editing }), taken)
    }

    pub fn now(&self) -> JobStatus {
        locked(&self.now).clone()
    }
    pub fn is_over(&self) -> bool {
        matches!(locked(&self.now).phase, Phase::Ended | Phase::Failed(_))
    }
    pub fn is_editing(&self) -> bool {
        self.editing
    }
    /// For whoever stops it by other means (Ctrl-C).
    pub fn orders(&self) -> Sender<Order> {
        locked(&self.orders).clone()
    }

    /// The crawl is over and its collection closed.
    pub fn end(&self) {
        locked(&self.now).phase = Phase::Ended;
    }

    /// Takes note of what the crawl tells. Called by the crawl's own thread, so it only notes.
    pub fn event(&self, event: &Event) {
        let mut now = locked(&self.now);
        match event {
            Event::Started { .. } if !self.editing => now.phase = Phase::Running,
            Event::Started { .. } => now.phase = Phase::Paused,
            Event::Progress(p) => now.progress = Some((**p).clone()),
            Event::Finished { progress, .. } => {
                now.progress = Some((**progress).clone());
                // Over only when the ledger is closed as well.
                now.phase = Phase::Stopping;
            }
            _ => {}
        }
    }

    /// Asks the loop and waits for what came of it.
    pub fn ask(&self, command: Command) -> Result<Effect, Problem> {
        let (reply, answer) = mpsc::channel();
        let phase = match &command {
            Command::Stop => Some(Phase::Stopping),
            Command::Pause => Some(Phase::Paused),
            Command::Resume => Some(Phase::Running),
            _ => None,
        };
        locked(&self.now).asked = Instant::now();
        let gone = || Problem::new("the crawl has ended").hint("look at the collection again");
        self.orders().send(Order { command, reply: Some(reply) }).map_err(|_| gone())?;
        let effect = answer.recv_timeout(PATIENCE).map_err(|e| match e {
            mpsc::RecvTimeoutError::Timeout => {
                Problem::new("the crawl has not answered yet").hint("it will do it as soon as it can")
            }
            mpsc::RecvTimeoutError::Disconnected => gone(),
        })??;
        if let Some(phase) = phase {
            let mut now = locked(&self.now);
            if !matches!(now.phase, Phase::Ended | Phase::Failed(_)) {
                now.phase = phase;
            }
        }
        Ok(effect)
    }
}

impl Jobs {
    /// How many crawls may run at once; and, beside them, how many collections may be open for corrections.
    pub fn set_most(&self, most: usize) {
        self.most.store(most, Ordering::Relaxed);
    }

    pub fn get(&self, name: &str) -> Option<Arc<Job>> {
        locked(&self.jobs).get(name).cloned()
    }

    /// A crawl that someone else runs (`gleaner crawl --serve`).
    pub fn add(&self, name: &str, job: Arc<Job>) {
        locked(&self.jobs).insert(name.to_string(), job);
    }

    /// Starts a crawl in a folder, or opens it for corrections only: then it closes by itself.
    pub fn start(
        &self,
        name: &str,
        dir: PathBuf,
        loaded: LoadedConfig,
        task: Task,
    ) -> Result<Arc<Job>, Refusal> {
        let editing = matches!(task, Task::Edit);
        let mut jobs = locked(&self.jobs);
        if jobs.get(name).is_some_and(|j| !j.is_over()) {
            let problem = Problem::new("a crawl of this collection is running already");
            return Err(Refusal::conflict(problem));
        }
        let most = self.most.load(Ordering::Relaxed);
        if jobs.values().filter(|j| !j.is_over() && j.editing == editing).count() >= most {
            return Err(full(most, editing));
        }
        let (job, orders) = Job::new(editing);
        let runner = job.clone();
        std::thread::Builder::new()
            .name("crawl".into())
            .spawn(move || {
                let result = run(&runner, &dir, &loaded, task, &orders);
                locked(&runner.now).phase = result.map_or_else(Phase::Failed, |()| Phase::Ended);
            })
            .map_err(|e| Refusal::conflict(Problem::new("cannot start a thread for the crawl").because(e)))?;
        jobs.insert(name.to_string(), job.clone());
        Ok(job)
    }

    /// Stops everything and waits: the process is about to end.
    pub fn stop_all(&self) {
        let all: Vec<Arc<Job>> = locked(&self.jobs).values().cloned().collect();
        for job in &all {
            let _ = job.orders().send(Command::Stop.into());
        }
        let until = Instant::now() + PATIENCE;
        while all.iter().any(|j| !j.is_over()) && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

fn full(most: usize, editing: bool) -> Refusal {
    let problem = match editing {
        true => Problem::new(format!("{most} collections are being corrected here already"))
            .hint("try again in half a minute; each closes by itself"),
        false => Problem::new(format!("{most} crawls run here already, and that is the limit"))
            .hint("stop one or wait for one to end; `gleaner serve --crawls N` allows more"),
    };
    Refusal::new(429, problem).with("retry-after", "30")
}

fn run(
    job: &Arc<Job>,
    dir: &std::path::Path,
    loaded: &LoadedConfig,
    task: Task,
    orders: &Receiver<Order>,
) -> Result<(), Problem> {
    let (seeds, settings) = match task {
        Task::Crawl { seeds, settings } => (seeds, settings),
        Task::Edit => (Vec::new(), None),
    };
    let mut open = Collection::open(dir, loaded, &seeds, 0)?;
    for note in &open.notes {
        tracing::warn!(note, "on opening the collection");
    }
    let told = job.clone();
    open.crawl.on_event(move |event: &Event| told.event(event));
    if job.editing {
        let watched = job.clone();
        let timer = std::thread::Builder::new().name("crawl-linger".into()).spawn(move || {
            while !watched.is_over() {
                std::thread::sleep(Duration::from_millis(200));
                if locked(&watched.now).asked.elapsed() > LINGER {
                    let _ = watched.orders().send(Command::Stop.into());
                }
            }
        });
        timer.map_err(|e| Problem::new("cannot start a thread").because(e))?;
    }
    match job.editing {
        true => open.start_paused(),
        false => {
            let now = types::Millis::steady();
            if let Some(settings) = settings {
                open.crawl.obey(Command::Settings(settings), now)?;
            }
            open.start(&seeds, now)?;
        }
    }
    live::run(&mut open.crawl, open.web.clone(), open.analyst.clone(), orders)?;
    drop(open);
    crate::report::write(dir)
}
