//! Names to addresses: asked for in the background, remembered, and shared out fairly among domains (ADR 17).
//!
//! The operating system's resolver (`getaddrinfo`) does the work, because it honours `/etc/hosts`, nsswitch,
//! search domains and whatever else the container or office network needs. It blocks, so each look-up has a
//! thread of its own, apart from everything else, and [`Turns`] bounds how many there are in all and of one
//! registrable domain. A look-up goes on when nobody waits for it any more: its answer is there when the name
//! is asked for again.
//!
//! ```text
//!  lookup ──► known? ──► the answer
//!               │ no
//!               ▼
//!           in turn of its domain ──► a thread asks; its time limit starts here
//!               │ not soon enough
//!               ▼
//!           "come back later": nobody's failure
//! ```

use std::collections::{HashMap, VecDeque};
use std::future::Future;
use std::net::{IpAddr, ToSocketAddrs};
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tokio::sync::{oneshot, watch};
use tokio::time::Instant;

/// The future of a look-up: addresses, the preferred one first, or why there are none.
pub type ResolveFuture<'a> = Pin<Box<dyn Future<Output = Result<Vec<IpAddr>, String>> + Send + 'a>>;

/// Looks up a host name. The error is a text for people.
pub trait Resolve: Send + Sync {
    /// The addresses of a name.
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a>;
}

/// The operating system's resolver. Each look-up has a thread of its own.
#[derive(Clone, Copy, Debug, Default)]
pub struct System;

/// Enough for `getaddrinfo` and the modules that nsswitch loads into it.
const STACK: usize = 512 << 10;

impl Resolve for System {
    fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
        let (tell, told) = oneshot::channel();
        let name = host.to_string();
        let look_up = move || {
            let found = (name.as_str(), 0u16).to_socket_addrs();
            let _ = tell.send(found.map(|a| a.map(|a| a.ip()).collect()).map_err(|e| e.to_string()));
        };
        let thread =
            std::thread::Builder::new().name("gleaner-names".into()).stack_size(STACK).spawn(look_up);
        Box::pin(async move {
            thread.map_err(|e| format!("no thread for the look-up: {e}"))?;
            told.await.unwrap_or_else(|_| Err("the look-up was cut off".into()))
        })
    }
}

type Answer = Result<Arc<[IpAddr]>, String>;

/// Why a look-up gave no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum NoAddress {
    /// There is none, or nobody says. The text is for people.
    Failed(String),
    /// It is still being asked for, or waits for its turn. Ask again after this long.
    Later(Duration),
}

/// What is known of a name, and until when it is believed.
#[derive(Clone)]
struct Known {
    expires: Instant,
    answer: Answer,
}

/// A name that was asked for.
#[derive(Clone)]
struct Slot {
    asked: Instant,
    /// `None` until there is an answer.
    known: watch::Receiver<Option<Known>>,
    /// Addresses from before, for as long as it is asked for again (RFC 8767).
    stale: Option<Arc<[IpAddr]>>,
}

impl Slot {
    /// The addresses that were good until now.
    fn last_good(&self) -> Option<Arc<[IpAddr]>> {
        match &*self.known.borrow() {
            Some(known) => known.answer.clone().ok(),
            None => self.stale.clone(),
        }
    }
}

/// Remembers answers, and asks once for a name that many want at the same time.
pub(crate) struct Names {
    shared: Arc<Shared>,
    /// How long a caller waits for one name; `None` = as long as it takes.
    patience: Option<Duration>,
}

struct Shared {
    resolver: Arc<dyn Resolve>,
    slots: Mutex<HashMap<Box<str>, Slot>>,
    turns: Arc<Turns>,
    /// Time limit of one look-up, from the moment it is its turn.
    limit: Duration,
    /// Names without an answer so far.
    open: AtomicUsize,
}

impl Names {
    const GOOD_FOR: Duration = Duration::from_secs(300);
    const BAD_FOR: Duration = Duration::from_secs(30);
    const CAPACITY: usize = 50_000;
    /// With this many names open, patience is halved; with twice as many it is a third.
    const HALVES_PATIENCE: usize = 8;
    /// A name that is not known yet is asked for again after this long: as long as it has been open, within
    /// bounds.
    const SOONEST: Duration = Duration::from_secs(1);
    const LATEST: Duration = Duration::from_secs(5);

    pub fn new(resolver: Arc<dyn Resolve>, limit: Duration, patience: Option<Duration>) -> Names {
        let (slots, turns, open) = (Mutex::default(), Arc::default(), AtomicUsize::new(0));
        Names { shared: Arc::new(Shared { resolver, slots, turns, limit, open }), patience }
    }

    pub async fn lookup(&self, host: &str) -> Result<Arc<[IpAddr]>, NoAddress> {
        let mut slot = self.slot(host)?;
        let (asked, stale) = (slot.asked, slot.stale.take());
        let known = slot.known.wait_for(Option::is_some);
        let known = match self.patience {
            None => known.await,
            // The more names nobody answers for, the less time each of them may take from those who wait.
            Some(most) => {
                let open = self.shared.open.load(Ordering::Relaxed);
                let most = most.div_f64(1.0 + open as f64 / Names::HALVES_PATIENCE as f64);
                match tokio::time::timeout_at(asked + most, known).await {
                    Ok(known) => known,
                    // Not soon enough: the addresses from before will do.
                    Err(_) => {
                        let wait = asked.elapsed().clamp(Names::SOONEST, Names::LATEST);
                        return stale.ok_or(NoAddress::Later(wait));
                    }
                }
            }
        };
        match known.ok().and_then(|known| known.as_ref().map(|k| k.answer.clone())) {
            Some(answer) => answer.map_err(NoAddress::Failed),
            None => Err(NoAddress::Failed("the look-up was cut off".into())),
        }
    }

    /// Nothing at those addresses answered: ask again next time.
    pub fn forget(&self, host: &str) {
        self.shared.slots().remove(host);
    }

    /// The name's slot. A new one is asked for, unless its domain is given up for now or too much waits
    /// already.
    fn slot(&self, host: &str) -> Result<Slot, NoAddress> {
        let now = Instant::now();
        let usable = |slot: &Slot| match &*slot.known.borrow() {
            Some(known) => known.expires > now,
            // Whoever asks is gone when the runtime it ran on is.
            None => slot.known.has_changed().is_ok(),
        };
        let mut slots = self.shared.slots();
        if let Some(slot) = slots.get(host)
            && usable(slot)
        {
            return Ok(slot.clone());
        }
        let stale = slots.get(host).and_then(Slot::last_good);
        let turn = self.shared.turns.join(types::domain_of(host))?;
        if slots.len() >= Names::CAPACITY {
            slots.retain(|_, slot| usable(slot));
            // A crawl that meets so many hosts within minutes does not come back to them soon.
            if slots.len() >= Names::CAPACITY {
                slots.clear();
            }
        }
        let (tell, known) = watch::channel(None);
        let slot = Slot { asked: now, known, stale };
        slots.insert(host.into(), slot.clone());
        tokio::spawn(ask(self.shared.clone(), host.into(), turn, tell));
        Ok(slot)
    }
}

impl Shared {
    fn slots(&self) -> MutexGuard<'_, HashMap<Box<str>, Slot>> {
        self.slots.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Counts a name as open while it lives.
struct Open(Arc<Shared>);

impl Open {
    fn new(shared: &Arc<Shared>) -> Open {
        shared.open.fetch_add(1, Ordering::Relaxed);
        Open(shared.clone())
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}

/// One look-up from its turn to its answer, whoever waits for it.
async fn ask(shared: Arc<Shared>, host: Box<str>, turn: Turn, tell: watch::Sender<Option<Known>>) {
    let open = Open::new(&shared);
    let publish = |answer: Result<Vec<IpAddr>, String>| {
        let lifetime = if answer.is_ok() { Names::GOOD_FOR } else { Names::BAD_FOR };
        tell.send_replace(Some(Known { expires: Instant::now() + lifetime, answer: answer.map(Arc::from) }));
    };
    let Some(seat) = turn.wait().await else { return publish(Err(given_up(types::domain_of(&host)))) };
    let began = Instant::now();
    let mut looking = pin!(shared.resolver.resolve(&host));
    match tokio::time::timeout(shared.limit, &mut looking).await {
        Ok(answer) => {
            // The system's resolver tells neither a time-out from other errors nor how it is set up: what
            // took this long was one.
            let silent = answer.is_err() && began.elapsed() >= shared.limit.min(SILENCE);
            shared.turns.learn(&seat.domain, !silent, began);
            publish(answer);
        }
        Err(_) => {
            shared.turns.learn(&seat.domain, false, began);
            publish(Err(format!("no answer within {:?}", shared.limit)));
            drop(open);
            // The thread is still busy, so its seat is taken. An address that comes late is an address.
            if let Ok(found) = looking.await {
                publish(Ok(found));
            }
        }
    }
}

fn given_up(domain: &str) -> String {
    format!("the name servers of {domain} do not answer")
}

/// An error that took at least this long is a name server that does not answer (glibc waits five seconds for
/// one).
const SILENCE: Duration = Duration::from_secs(4);

/// Who may ask, and in which order: one name of each domain in turn.
#[derive(Default)]
struct Turns(Mutex<Queue>);

#[derive(Default)]
struct Queue {
    asking: usize,
    waiting: usize,
    domains: HashMap<Box<str>, Domain>,
    /// Domains with names that wait and a free seat, in turn.
    round: VecDeque<Box<str>>,
    /// When a name was last answered for, whatever the answer.
    answered: Option<Instant>,
}

#[derive(Default)]
struct Domain {
    asking: usize,
    waiting: VecDeque<oneshot::Sender<Seat>>,
    in_round: bool,
    /// Names in a row that nobody answered for, while others were answered for.
    silent: u32,
    /// Its name servers do not answer: nothing of it is asked for until then.
    given_up: Option<Instant>,
}

/// The right to ask, or a place in the queue for it.
enum Turn {
    Now(Seat),
    Waits(oneshot::Receiver<Seat>),
}

/// The right to ask for one name of a domain. Dropped, it goes to whoever is next.
struct Seat {
    domain: Box<str>,
    turns: Arc<Turns>,
}

impl Turns {
    /// Look-ups at the same time: a thread and a socket each.
    const SEATS: usize = 512;
    /// Of one registrable domain.
    const SEATS_PER_DOMAIN: usize = 4;
    /// Names that may wait for a seat, in all and of one domain.
    const WAITING: usize = 8_192;
    const WAITING_PER_DOMAIN: usize = 256;
    /// After so many silent names in a row a domain is given up for a while.
    const SILENT: u32 = 4;
    const FIRST_REST: Duration = Duration::from_secs(60);
    const LONGEST_REST: Duration = Duration::from_secs(600);
    /// Domains remembered.
    const DOMAINS: usize = 20_000;

    fn queue(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn join(self: &Arc<Turns>, name: &str) -> Result<Turn, NoAddress> {
        let mut queue = self.queue();
        let q = &mut *queue;
        if q.domains.len() >= Turns::DOMAINS {
            let now = Instant::now();
            q.domains.retain(|_, d| {
                d.asking > 0 || !d.waiting.is_empty() || d.given_up.is_some_and(|until| until > now)
            });
        }
        let domain = q.domains.entry(name.into()).or_default();
        if domain.given_up.is_some_and(|until| until > Instant::now()) {
            return Err(NoAddress::Failed(given_up(name)));
        }
        if q.asking < Turns::SEATS && domain.asking < domain.seats() {
            domain.asking += 1;
            q.asking += 1;
            return Ok(Turn::Now(Seat { domain: name.into(), turns: self.clone() }));
        }
        if q.waiting >= Turns::WAITING || domain.waiting.len() >= Turns::WAITING_PER_DOMAIN {
            return Err(NoAddress::Later(Names::LATEST));
        }
        let (seat, place) = oneshot::channel();
        domain.waiting.push_back(seat);
        q.waiting += 1;
        q.enlist(name);
        Ok(Turn::Waits(place))
    }

    /// A look-up of `name` that began then was answered, or not.
    fn learn(&self, name: &str, answered: bool, began: Instant) {
        let mut queue = self.queue();
        let q = &mut *queue;
        let now = Instant::now();
        // When nobody answers for any name, it is our own network, not this domain.
        let others = q.answered.is_some_and(|at| at >= began);
        if answered {
            q.answered = Some(now);
        }
        let Some(domain) = q.domains.get_mut(name) else { return };
        if answered {
            (domain.silent, domain.given_up) = (0, None);
        } else if others {
            domain.silent = domain.silent.saturating_add(1);
            if let Some(more) = domain.silent.checked_sub(Turns::SILENT) {
                let rest = Turns::FIRST_REST.saturating_mul(1 << more.min(8)).min(Turns::LONGEST_REST);
                domain.given_up = Some(now + rest);
                // Those that wait are told so.
                q.waiting = q.waiting.saturating_sub(domain.waiting.len());
                domain.waiting.clear();
            }
        }
    }

    /// A seat of this domain is free again: whoever is next gets it.
    fn leave(self: &Arc<Turns>, name: &str) {
        let mut queue = self.queue();
        let q = &mut *queue;
        q.asking = q.asking.saturating_sub(1);
        if let Some(domain) = q.domains.get_mut(name) {
            domain.asking = domain.asking.saturating_sub(1);
            if domain.asking == 0 && domain.waiting.is_empty() && domain.silent == 0 {
                q.domains.remove(name);
            }
        }
        q.enlist(name);
        let mut unwanted = Vec::new();
        while q.asking < Turns::SEATS
            && let Some(name) = q.round.pop_front()
        {
            let Some(domain) = q.domains.get_mut(&name) else { continue };
            domain.in_round = false;
            if domain.asking >= domain.seats() {
                continue;
            }
            let Some(next) = domain.waiting.pop_front() else { continue };
            q.waiting = q.waiting.saturating_sub(1);
            domain.asking += 1;
            q.asking += 1;
            q.enlist(&name);
            // A seat that nobody takes must be left again, but not while the queue is locked.
            unwanted.extend(next.send(Seat { domain: name, turns: self.clone() }).err());
        }
        drop(queue);
        drop(unwanted);
    }
}

impl Queue {
    /// Puts a domain into the round if it has names that wait and a free seat.
    fn enlist(&mut self, name: &str) {
        if let Some(domain) = self.domains.get_mut(name)
            && !domain.in_round
            && !domain.waiting.is_empty()
            && domain.asking < domain.seats()
        {
            domain.in_round = true;
            self.round.push_back(name.into());
        }
    }
}

impl Domain {
    /// A domain with silent names may ask for one at a time.
    fn seats(&self) -> usize {
        if self.silent > 0 { 1 } else { Turns::SEATS_PER_DOMAIN }
    }
}

impl Turn {
    /// Waits for the seat. `None`: the domain was given up meanwhile.
    async fn wait(self) -> Option<Seat> {
        match self {
            Turn::Now(seat) => Some(seat),
            Turn::Waits(place) => place.await.ok(),
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.turns.leave(&self.domain);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMIT: Duration = Duration::from_secs(10);

    /// Counts who asks. Names under `dead.example` and `dead-N.example` get no answer for a minute.
    #[derive(Default)]
    struct Server {
        asked: AtomicUsize,
        asking: AtomicUsize,
        most: AtomicUsize,
    }

    impl Resolve for Server {
        fn resolve<'a>(&'a self, host: &'a str) -> ResolveFuture<'a> {
            Box::pin(async move {
                self.asked.fetch_add(1, Ordering::SeqCst);
                let asking = self.asking.fetch_add(1, Ordering::SeqCst) + 1;
                self.most.fetch_max(asking, Ordering::SeqCst);
                let dead = types::domain_of(host).starts_with("dead");
                tokio::time::sleep(if dead { 6 * LIMIT } else { Duration::from_millis(10) }).await;
                self.asking.fetch_sub(1, Ordering::SeqCst);
                if dead || host == "bad" {
                    Err("no such host".into())
                } else {
                    Ok(vec![IpAddr::from([1; 4])])
                }
            })
        }
    }

    fn patient() -> (Arc<Server>, Names) {
        let server = Arc::new(Server::default());
        (server.clone(), Names::new(server, LIMIT, None))
    }

    fn hurried() -> (Arc<Server>, Names) {
        let server = Arc::new(Server::default());
        (server.clone(), Names::new(server, LIMIT, Some(Duration::from_secs(1))))
    }

    fn asked(server: &Server) -> usize {
        server.asked.load(Ordering::SeqCst)
    }

    #[tokio::test(start_paused = true)]
    async fn asks_once_while_it_is_fresh() {
        let (server, names) = patient();
        let (a, b) = tokio::join!(names.lookup("good"), names.lookup("good"));
        assert!(a.is_ok() && a == b);
        assert!(names.lookup("good").await.is_ok());
        assert_eq!(asked(&server), 1);
        tokio::time::sleep(Names::GOOD_FOR).await;
        assert!(names.lookup("good").await.is_ok());
        assert_eq!(asked(&server), 2);
        names.forget("good");
        assert!(names.lookup("good").await.is_ok());
        assert_eq!(asked(&server), 3, "forgotten");
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_from_before_will_do_while_it_is_asked_again() {
        struct Once(AtomicUsize);
        impl Resolve for Once {
            fn resolve<'a>(&'a self, _: &'a str) -> ResolveFuture<'a> {
                Box::pin(async move {
                    if self.0.fetch_add(1, Ordering::SeqCst) > 0 {
                        std::future::pending::<()>().await;
                    }
                    Ok(vec![IpAddr::from([1; 4])])
                })
            }
        }
        let names = Names::new(Arc::new(Once(AtomicUsize::new(0))), LIMIT, Some(Duration::from_secs(1)));
        let first = names.lookup("good").await;
        assert!(first.is_ok());
        tokio::time::sleep(Names::GOOD_FOR).await;
        assert_eq!(names.lookup("good").await, first);
        tokio::time::sleep(LIMIT).await;
        assert!(matches!(names.lookup("good").await, Err(NoAddress::Failed(_))), "until its time is over");
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_remembered_for_less_long() {
        let (server, names) = patient();
        assert_eq!(names.lookup("bad").await, Err(NoAddress::Failed("no such host".into())));
        assert!(names.lookup("bad").await.is_err());
        assert_eq!(asked(&server), 1);
        tokio::time::sleep(Names::BAD_FOR).await;
        assert!(names.lookup("bad").await.is_err());
        assert_eq!(asked(&server), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn bounded() {
        let (_, names) = patient();
        for n in 0..Names::CAPACITY + 10 {
            let _ = names.lookup(&format!("{n}.example")).await;
        }
        assert!(names.shared.slots().len() <= Names::CAPACITY);
        assert!(names.shared.turns.queue().domains.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_cancelled_lookup_goes_on_and_its_answer_is_kept() {
        let (server, names) = patient();
        let cancelled = tokio::time::timeout(Duration::from_millis(1), names.lookup("good")).await;
        assert!(cancelled.is_err());
        assert!(names.lookup("good").await.is_ok());
        assert_eq!(asked(&server), 1);
    }

    /// One wildcard domain: a few seats are all it gets, whoever else asks is served at once.
    #[tokio::test(start_paused = true)]
    async fn one_domain_cannot_take_every_seat() {
        let (server, names) = hurried();
        for n in 0..1_000 {
            let got = names.lookup(&format!("x{n}.dead.example")).await;
            assert!(matches!(got, Err(NoAddress::Later(_))), "{n}: {got:?}");
        }
        assert_eq!(asked(&server), Turns::SEATS_PER_DOMAIN);
        assert!(names.shared.turns.queue().waiting <= Turns::WAITING_PER_DOMAIN);
        let began = Instant::now();
        for n in 0..100 {
            // Patience is short by now; the answer is there when the name is asked for again.
            let host = format!("www.good{n}.example");
            if names.lookup(&host).await.is_err() {
                tokio::time::sleep(Duration::from_millis(10)).await;
                assert!(names.lookup(&host).await.is_ok(), "{host}");
            }
        }
        assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    }

    #[tokio::test(start_paused = true)]
    async fn the_queue_is_no_part_of_the_time_limit_and_domains_take_turns() {
        let (server, names) = patient();
        let names = Arc::new(names);
        // More domains that never answer than there are seats, and one name that does, behind them.
        let mut dead = Vec::new();
        for n in 0..Turns::SEATS + 50 {
            let names = names.clone();
            dead.push(tokio::spawn(async move {
                let began = Instant::now();
                (names.lookup(&format!("x.dead-{n}.example")).await, began.elapsed())
            }));
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
        assert!(names.lookup("good.example").await.is_ok(), "it waited for a seat, and was not late");
        assert_eq!(server.most.load(Ordering::SeqCst), Turns::SEATS);
        for asked in dead {
            let (answer, took) = asked.await.unwrap();
            assert!(matches!(&answer, Err(NoAddress::Failed(why)) if why.contains("10s")), "{answer:?}");
            assert!(took >= LIMIT);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_domain_whose_servers_are_silent_is_given_up_for_a_while() {
        let (server, names) = patient();
        let names = Arc::new(names);
        let other = names.clone();
        // Others are answered for all the time: it is not our network.
        let busy = tokio::spawn(async move {
            for n in 0.. {
                let _ = other.lookup(&format!("n{n}.example")).await;
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
        let before = Instant::now();
        let all = (0..100).map(|n| {
            let names = names.clone();
            tokio::spawn(async move { names.lookup(&format!("x{n}.dead.example")).await })
        });
        for answer in all.collect::<Vec<_>>() {
            assert!(matches!(answer.await.unwrap(), Err(NoAddress::Failed(_))));
        }
        assert!(before.elapsed() < 2 * LIMIT, "{:?}", before.elapsed());
        busy.abort();
        // At once, and nobody is asked.
        let (asked_before, before) = (asked(&server), Instant::now());
        let refused = names.lookup("another.dead.example").await;
        assert!(
            matches!(&refused, Err(NoAddress::Failed(why)) if why.contains("do not answer")),
            "{refused:?}"
        );
        assert_eq!((asked(&server), before.elapsed()), (asked_before, Duration::ZERO));
        // And later again.
        tokio::time::sleep(Turns::LONGEST_REST).await;
        assert!(names.lookup("another.dead.example").await.is_err());
        assert_eq!(asked(&server), asked_before + 1);
    }

    #[tokio::test(start_paused = true)]
    async fn when_nobody_answers_no_domain_is_to_blame() {
        let (server, names) = patient();
        for n in 0..8 {
            assert!(names.lookup(&format!("x{n}.dead.example")).await.is_err());
        }
        assert_eq!(asked(&server), 8, "each was asked for");
    }

    #[tokio::test]
    async fn the_system_knows_localhost() {
        let addresses = System.resolve("localhost").await.unwrap();
        assert!(addresses.iter().all(|a| a.is_loopback()) && !addresses.is_empty(), "{addresses:?}");
    }
}
