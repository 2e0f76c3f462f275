//! [`Fleet`]: what the loop of one worker knows of the other workers of its crawl.

use crate::traits::Each;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use types::{Candidate, Label, Millis, Priority, Problem, StateKey, Url, UrlId, Verdict};

/// What a worker shares with the others.
pub trait Fleet {
    /// Keeps this worker a member: takes over and hands over hosts, takes in what others found. Called
    /// between any two leases; `None` when nothing was due.
    fn maintain(
        &mut self,
        now: Millis,
        merge: &dyn Fn(Priority, Priority) -> Priority,
    ) -> Result<Option<News>, Problem>;

    /// To be asked right before a request is sent: may this worker still contact the hosts it has leases of?
    fn gate(&self) -> Gate;

    /// Does a lease still count? `false`: another worker has its host by now, and the page is theirs to
    /// fetch.
    fn holds(&self, id: UrlId) -> bool;

    /// Is the URL's host this worker's? Then it may visit its pages.
    fn is_here(&self, id: UrlId) -> bool;

    /// Has this worker as many hosts as are its to have, with all their URLs?
    fn has_its_share(&self) -> bool;

    /// Every page of the crawl, in the order they were fetched.
    fn all_pages(&self) -> Result<Vec<SharedPage>, Problem>;

    /// New URLs that are found here have no smaller numbers.
    fn next_number(&self) -> Result<u32, Problem>;

    /// A piece of state as the other workers have it: those of one after those of another.
    fn others_state(&self, key: StateKey) -> Each<'_, Vec<u8>>;

    /// Gives a new priority to those links of a URL's parent page that belong to other workers.
    fn rescore_far_siblings(&mut self, of: UrlId, priority: Priority, model: u32) -> Result<(), Problem>;

    /// Hands what a model learnt to the other workers, with the next commit.
    fn publish(&mut self, delta: Vec<u8>);

    /// Admits a URL of [`News::seeds`], or not: then it is known, or out of scope. `true` when it was new.
    /// Its message is gone with the commit that admits it.
    fn take_seed(
        &mut self,
        ticket: Ticket,
        candidate: Option<Candidate>,
        now: Millis,
    ) -> Result<bool, Problem>;

    /// Does the crawl end after so many pages? Then a worker with only poor URLs leaves them to the others.
    fn set_budget(&mut self, budget: bool);

    /// What all commands so far add up to.
    fn wanted(&mut self) -> Result<Wanted, Problem>;

    /// Every command up to number `n` was done (or failed, and will not be tried again). Part of the next
    /// commit.
    fn obeyed(&mut self, n: u64, done: Option<Done>);

    /// How many pages of this worker are relevant now, after verdicts changed outside a turn.
    fn recount(&mut self, relevant: u64);

    /// The right to ask the language model.
    fn seat(&mut self) -> &mut dyn Seat;
}

/// A page of a shared crawl.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SharedPage {
    /// The page.
    pub id: UrlId,
    /// What was last said of it.
    pub verdict: Verdict,
    /// When it came.
    pub first: Millis,
    /// This worker fetched its newest version.
    pub is_own: bool,
}

/// The right to ask the language model, which one worker at a time has. What is asked is not the store's to
/// know.
pub trait Seat {
    /// What was spent so far: JSON.
    fn spent(&self) -> Result<String, Problem>;

    /// Takes the seat if it is free, and reads what was answered after number `after`. Whoever had it last
    /// leaves it to the others for a moment.
    fn take(&mut self, after: u64) -> Result<Sitting, Problem>;

    /// Keeps what will have been spent (JSON). `false`: the seat is another's by now, and nothing was kept.
    fn spend(&mut self, spent: &str) -> Result<bool, Problem>;

    /// Keeps what was answered, and tells it to all workers, as one. `false`: the seat is another's by now,
    /// and nothing was kept.
    fn give(&mut self, lesson: &Lesson) -> Result<bool, Problem>;

    /// Leaves the seat. Nobody takes it for so long.
    fn leave(&mut self, rest: Duration) -> Result<(), Problem>;
}

/// How the seat stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sitting {
    /// This worker has it now.
    pub is_ours: bool,
    /// Another worker has it.
    pub is_taken: bool,
    /// Nobody has it for now: see [`Seat::leave`].
    pub rests: bool,
    /// What was spent so far: JSON.
    pub spent: String,
    /// If it is ours: what was answered since, with its numbers.
    pub answers: Vec<(u64, Vec<u8>)>,
}

/// What the language model answered, and what the workers learn from it.
#[derive(Clone, Copy, Debug)]
pub struct Lesson<'a> {
    /// What was spent so far: JSON.
    pub spent: &'a str,
    /// What was answered, for whoever asks next.
    pub answers: &'a [u8],
    /// Labels that all workers learn from.
    pub labels: &'a [(UrlId, bool)],
    /// Name of the command that tells them.
    pub kind: &'a str,
    /// Its JSON.
    pub payload: &'a str,
    /// Who asked, for people.
    pub who: &'a str,
    /// Is the seat left with it?
    pub leaves: bool,
}

/// What other workers of the same crawl did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct News {
    /// Pages fetched by all other workers, those that are gone included.
    pub pages: u64,
    /// Of those, how many were judged relevant.
    pub relevant: u64,
    /// Requests that the other workers have out.
    pub in_flight: u64,
    /// Workers that are alive, this one included.
    pub workers: u32,
    /// What their models learnt since the last call.
    pub deltas: Vec<Vec<u8>>,
    /// This worker had lost its claim (it was cut off or stopped for too long) and has joined anew: what was
    /// not committed is gone.
    pub rejoined: bool,
    /// Pending URLs that came over from others with their hosts.
    pub taken: Vec<UrlId>,
    /// URLs of which others wrote something: they may not know what this worker knows of their hosts.
    pub mailed: Vec<UrlId>,
    /// Commands to all workers since the last call, in order.
    pub commands: Vec<SharedCommand>,
    /// Some commands are gone by now: what they add up to has to be read.
    pub missed: bool,
    /// URLs that the user named and whose hosts are this worker's; each is to be answered with `take_seed`.
    pub seeds: Vec<(Ticket, Url)>,
}

/// A message with a seed, until it is answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ticket {
    pub(crate) shard: i16,
    pub(crate) seq: i64,
}

/// One command to all workers. What it means is not the store's to know.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedCommand {
    /// Its number: each is one more than the one before.
    pub n: u64,
    /// Name of the command, as whoever gave it calls it.
    pub kind: String,
    /// JSON.
    pub payload: String,
}

/// What commands to a shared crawl add up to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Wanted {
    /// The newest command.
    pub n: u64,
    /// JSON; whoever gives commands knows what it means.
    pub json: String,
    /// Labels that hold: those of people by page, then those of the language model.
    pub labels: Vec<(UrlId, Label)>,
}

/// What came of a command.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Done {
    /// How much it changed: pages, links, or URLs, as the command has it.
    pub changed: u64,
    /// It could not be done; `text` says why.
    pub failed: bool,
    /// For people.
    pub text: String,
}

/// Until when requests may be sent. Shared with whoever sends them.
#[derive(Clone, Debug)]
pub struct Gate(Arc<Mutex<Instant>>);

impl Gate {
    /// Closed until it is opened.
    pub(crate) fn closed() -> Gate {
        Gate(Arc::new(Mutex::new(Instant::now())))
    }
    /// Requests may be sent until then.
    pub(crate) fn open_until(&self, at: Instant) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = at;
    }
    /// May a request be sent now?
    pub fn is_open(&self) -> bool {
        Instant::now() < *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
