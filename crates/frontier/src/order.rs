//! The order in memory: facts about URLs and hosts. Who is served next is in `schedule`.

use crate::entry::{Entry, GONE, Info, LEASED, NONE, OUTCOMES, PENDING, SETTLED, State, code_of, outcome_of};
use crate::guards;
use crate::heap::{Heap, NOWHERE, Node};
use crate::host::{Clock, Host, HostInfo, HostState, RobotsState};
use crate::limits::{Limits, Refusal};
use crate::schedule::{HeldLease, IpState, Lanes};
use crate::shares::InFlight;
use hashbrown::HashTable;
use std::collections::{BTreeSet, BinaryHeap, HashMap};
use std::hash::{BuildHasher, RandomState};
use std::net::IpAddr;
use types::{Candidate, Fingerprint, LinkKind, Millis, Outcome, Priority, Target, Ties, UrlId};

/// How many sightings of a pending URL are remembered.
pub const SOURCES_KEPT: u8 = 8;

/// "Until nothing else is left", as a time to wait for.
pub(crate) const ASIDE: u64 = u64::MAX;

/// A URL on its way into the order.
#[derive(Clone, Copy, Debug)]
pub struct NewUrl<'a> {
    /// The canonical URL.
    pub url: &'a str,
    /// Its name under the collection's key.
    pub print: Fingerprint,
    /// Of its record in the log.
    pub offset: u64,
    /// Number of its host.
    pub host: u32,
    /// The page it was found on; `None` for seeds.
    pub parent: Option<UrlId>,
    /// Links from the seed.
    pub depth: u16,
    /// Links since its host was entered.
    pub site_depth: u16,
    /// As in [`types::Candidate::hops`].
    pub hops: u8,
    /// The strategy's score.
    pub priority: Priority,
    /// Version of the model that scored it.
    pub model: u32,
    /// The step (lease number) after which it is forgotten.
    pub expires: Option<u64>,
}

/// How many URLs are in which state.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// URLs that wait.
    pub pending: u64,
    /// URLs with a lease that is out.
    pub leased: u64,
    pub(crate) settled: [u64; OUTCOMES],
}

impl Counts {
    /// URLs that ended, whatever the outcome.
    pub fn settled(&self) -> u64 {
        self.settled.iter().sum()
    }
    /// Settled with this outcome (all statuses of `HttpError` together).
    pub fn of(&self, outcome: Outcome) -> u64 {
        self.settled[code_of(outcome).0 as usize]
    }
}

/// The frontier in memory.
pub struct Order {
    pub(crate) limits: Limits,
    pub(crate) ties: Ties,
    pub(crate) key: (u64, u64),
    pub(crate) entries: Vec<Entry>,
    /// Where each URL is in its host's queue.
    pub(crate) pos: Vec<u32>,
    /// The seen set: ids by fingerprint.
    pub(crate) seen: HashTable<u32>,
    pub(crate) indexed: bool,
    pub(crate) hosts: Vec<Host>,
    names: HashTable<u32>,
    hasher: RandomState,
    pub(crate) ready: Lanes,
    /// Ready hosts that are not known to be quick. Empty without [`Limits::shares`].
    pub(crate) unproven: Lanes,
    /// Hosts that are free again soon, by their best URL: what patience looks at. Empty without it.
    pub(crate) resting: Lanes,
    pub(crate) waiting: BTreeSet<(u64, u32)>,
    pub(crate) backing_off: u64,
    /// URLs that wait for another try: by time, and the time by URL.
    pub(crate) delayed: BTreeSet<(u64, u32)>,
    pub(crate) delayed_at: HashMap<u32, u64>,
    /// URLs with a time to live: by step, and the step by URL.
    pub(crate) expiry: BTreeSet<(u64, u32)>,
    pub(crate) expires_at: HashMap<u32, u64>,
    pub(crate) leases: HashMap<u32, HeldLease>,
    pub(crate) lease_expiry: BTreeSet<(u64, u32)>,
    pub(crate) ips: HashMap<IpAddr, IpState>,
    pub(crate) in_use: InFlight,
    /// How often a guard's group was met (query variants of a path, calendar pages of a host).
    pub(crate) groups: HashMap<u64, u32>,
    pub(crate) counts: Counts,
    /// Number of the last lease.
    pub(crate) step: u64,
    /// The latest time heard of.
    pub(crate) now: u64,
    /// Queues are built. While a log is replayed they are not.
    pub(crate) live: bool,
    pub(crate) returned: u64,
}

impl Order {
    /// An empty order, ready to serve. `key` is the collection's secret for fingerprints.
    pub fn new(limits: Limits, key: (u64, u64)) -> Order {
        Order { live: true, indexed: true, ..Order::asleep(limits, key) }
    }

    /// An order that only takes in facts until [`Order::wake`]: replaying is much faster without queues.
    pub fn asleep(limits: Limits, key: (u64, u64)) -> Order {
        Order {
            limits,
            ties: Ties::First,
            key,
            entries: Vec::new(),
            pos: Vec::new(),
            seen: HashTable::new(),
            indexed: false,
            hosts: Vec::new(),
            names: HashTable::new(),
            hasher: RandomState::new(),
            ready: Lanes::default(),
            unproven: Lanes::default(),
            resting: Lanes::default(),
            waiting: BTreeSet::new(),
            backing_off: 0,
            delayed: BTreeSet::new(),
            delayed_at: HashMap::new(),
            expiry: BTreeSet::new(),
            expires_at: HashMap::new(),
            leases: HashMap::new(),
            lease_expiry: BTreeSet::new(),
            ips: HashMap::new(),
            in_use: InFlight::default(),
            groups: HashMap::new(),
            counts: Counts::default(),
            step: 0,
            now: 0,
            live: false,
            returned: 0,
        }
    }

    /// What decisions depend on.
    pub fn limits(&self) -> &Limits {
        &self.limits
    }
    /// Decisions read them; nothing that is kept depends on them.
    pub fn set_limits(&mut self, limits: Limits) {
        let recount = self.limits.shares.is_some() != limits.shares.is_some();
        self.limits = limits;
        if recount {
            self.recount_shares();
        }
    }
    /// Another rule for URLs of the same priority, from now on.
    pub fn set_ties(&mut self, ties: Ties) {
        if ties == self.ties {
            return;
        }
        let queued: Vec<u32> =
            (0..self.pos.len() as u32).filter(|id| self.pos[*id as usize] != NOWHERE).collect();
        queued.iter().for_each(|id| self.dequeue(*id));
        self.ties = ties;
        queued.into_iter().for_each(|id| self.enqueue(id));
    }
    /// The secret of the fingerprints.
    pub fn key(&self) -> (u64, u64) {
        self.key
    }
    /// URLs ever admitted.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// No URL was ever admitted.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// How many URLs are in which state.
    pub fn counts(&self) -> Counts {
        self.counts
    }
    /// Leases given so far, those of robots.txt included; the clock of time-to-live.
    pub fn step(&self) -> u64 {
        self.step
    }
    /// Hosts ever met; the next one gets this number.
    pub fn host_count(&self) -> usize {
        self.hosts.len()
    }
    /// Hosts that are here: those another worker took over are not.
    pub fn hosts_here(&self) -> usize {
        self.names.len()
    }
    /// Leases that are out, those of robots.txt included.
    pub fn in_flight(&self) -> usize {
        self.leases.len()
    }
    /// URLs with a lease that is out, in no particular order.
    pub fn leased(&self) -> impl Iterator<Item = UrlId> + '_ {
        self.leases.keys().map(|&id| UrlId(id))
    }
    /// Leases that ran out and went back to pending.
    pub fn returned(&self) -> u64 {
        self.returned
    }
    /// Milliseconds; the latest time this order was told.
    pub fn now(&self) -> u64 {
        self.now
    }
    /// It is at least this late.
    pub fn start_at(&mut self, now: Millis) {
        self.now = self.now.max(now.0);
    }

    // ---- URLs: questions ----------------------------------------------------------------------------------

    /// Only after [`Order::index`] (or in an order that is awake).
    pub fn find(&self, print: Fingerprint) -> Option<UrlId> {
        let entries = &self.entries;
        self.seen.find(print.0, |&id| entries[id as usize].print == print).map(|&id| UrlId(id))
    }

    /// What is known of a URL; `None` when it is not here.
    pub fn info(&self, id: UrlId) -> Option<Info> {
        let e = self.entries.get(id.0 as usize).filter(|e| e.phase != GONE)?;
        let some = |id: u32| (id != NONE).then_some(UrlId(id));
        Some(Info {
            id,
            state: e.state(),
            priority: e.priority(),
            model: e.model,
            parent: some(e.parent),
            cause: some(e.cause),
            depth: e.depth,
            site_depth: e.site_depth,
            hops: e.hops,
            attempts: e.attempts,
            host: Some(e.host),
        })
    }

    /// Where the newest log record of a URL is.
    pub fn offset(&self, id: UrlId) -> Option<u64> {
        self.entries.get(id.0 as usize).map(|e| e.offset)
    }
    /// The URL's fingerprint.
    pub fn print(&self, id: UrlId) -> Option<Fingerprint> {
        self.entries.get(id.0 as usize).map(|e| e.print)
    }
    /// How many sightings of a URL are kept in the log.
    pub fn sources_kept(&self, id: UrlId) -> u8 {
        self.entries.get(id.0 as usize).map_or(0, |e| e.sources)
    }
    /// A pending URL that waits for another try: until when.
    pub fn not_before(&self, id: UrlId) -> Option<u64> {
        self.delayed_at.get(&id.0).copied().filter(|at| *at != ASIDE)
    }
    /// The step after which a URL is forgotten, if it has a time to live.
    pub fn expires(&self, id: UrlId) -> Option<u64> {
        self.expires_at.get(&id.0).copied()
    }
    /// The number of a URL's host.
    pub fn host_of(&self, id: UrlId) -> Option<u32> {
        self.entries.get(id.0 as usize).filter(|e| e.phase != GONE).map(|e| e.host)
    }
    /// Pending, or leased (a lease may return).
    pub fn is_open(&self, id: UrlId) -> bool {
        self.entries.get(id.0 as usize).is_some_and(|e| matches!(e.phase, PENDING | LEASED))
    }
    /// What is known of a URL.
    pub fn target(&self, print: Fingerprint) -> Target {
        match self.find(print) {
            None => Target::New,
            // One that was forgotten may come again.
            Some(id) if self.is_open(id) || self.is_forgotten(id) => Target::Open,
            Some(_) => Target::Closed,
        }
    }
    /// How a URL that is visited again ended before.
    pub fn ended_before(&self, id: UrlId) -> Option<Outcome> {
        let e = self.entries.get(id.0 as usize).filter(|e| e.again)?;
        Some(outcome_of(e.outcome, e.status))
    }
    /// Is it open only to be visited again?
    pub fn is_revisit(&self, id: UrlId) -> bool {
        self.entries.get(id.0 as usize).is_some_and(|e| e.again)
    }
    /// URLs that wait for their first visit, by number.
    pub fn pending(&self) -> impl Iterator<Item = UrlId> + '_ {
        let waits = |e: &Entry| e.phase == PENDING && !e.again;
        self.entries.iter().enumerate().filter(move |(_, e)| waits(e)).map(|(i, _)| UrlId(i as u32))
    }

    /// Why a URL that is not in the order may not enter it. `host`: if known. `now`: of the page it was found
    /// on.
    pub fn refuse(&self, c: &Candidate, host: Option<u32>, now: u64) -> Option<Refusal> {
        let l = &self.limits;
        let url = c.url.as_str();
        if url.len() > l.url_length {
            return Some(Refusal::UrlLength);
        }
        if self.entries.len() >= NONE as usize - 1 {
            return Some(Refusal::Full);
        }
        if c.kind == LinkKind::Seed {
            // What the user named is wanted, wherever it is.
            return None;
        }
        if l.depth.is_some_and(|most| c.depth > most) {
            return Some(Refusal::Depth);
        }
        if l.site_depth.is_some_and(|most| c.site_depth > most) {
            return Some(Refusal::SiteDepth);
        }
        if let Some(h) = host.and_then(|h| self.hosts.get(h as usize)) {
            if h.clock.closed_until > now {
                return Some(Refusal::HostClosed);
            }
            if l.pages_per_host.is_some_and(|most| h.clock.pages >= most) {
                return Some(Refusal::HostFull);
            }
        }
        let met = |group: Option<u64>| group.and_then(|g| self.groups.get(&g)).copied().unwrap_or(0);
        if host.is_none()
            && l.hosts_per_domain
                .is_some_and(|most| met(Some(guards::domain_group(c.url.host_key(), self.key))) >= most)
        {
            return Some(Refusal::HostsPerDomain);
        }
        if l.path_repeat.is_some_and(|most| guards::repeats(url, most)) {
            return Some(Refusal::PathRepeat);
        }
        // A URL that belongs to no such group is as any other, whatever the limit.
        let beyond = |most: Option<u32>, group: Option<u64>| {
            group.is_some() && most.is_some_and(|most| met(group) >= most)
        };
        if beyond(l.query_variants, guards::query_group(url, self.key)) {
            return Some(Refusal::QueryVariants);
        }
        if beyond(l.calendar_pages, guards::calendar_group(url, self.key)) {
            return Some(Refusal::Calendar);
        }
        None
    }

    // ---- URLs: facts --------------------------------------------------------------------------------------

    /// A new URL. Its id is the next one.
    pub fn insert(&mut self, fresh: &NewUrl<'_>) -> UrlId {
        let id = self.entries.len() as u32;
        self.entries.push(entry_of(fresh));
        self.pos.push(NOWHERE);
        if self.indexed {
            let entries = &self.entries;
            self.seen.insert_unique(fresh.print.0, id, |&id| entries[id as usize].print.0);
        }
        let groups = [guards::query_group(fresh.url, self.key), guards::calendar_group(fresh.url, self.key)];
        for group in groups.into_iter().flatten() {
            *self.groups.entry(group).or_default() += 1;
        }
        self.counts.pending += 1;
        self.set_expiry(id, fresh.expires);
        self.enqueue(id);
        UrlId(id)
    }

    /// A forgotten URL was found again: it starts anew under its old id.
    pub fn revive(&mut self, id: UrlId, fresh: &NewUrl<'_>) {
        let i = id.0 as usize;
        if i >= self.entries.len() {
            return;
        }
        self.leave(id.0);
        self.entries[i] = entry_of(fresh);
        self.counts.pending += 1;
        self.set_expiry(id.0, fresh.expires);
        self.enqueue(id.0);
    }

    /// A known URL was seen again; `priority` is the merged one. `offset`: the sighting's record, if it is
    /// remembered.
    pub fn sight(
        &mut self,
        id: UrlId,
        offset: Option<u64>,
        priority: Priority,
        model: u32,
        expires: Option<u64>,
    ) {
        let Some(e) = self.entries.get_mut(id.0 as usize) else { return };
        if let Some(offset) = offset {
            e.offset = offset;
            e.sources = e.sources.saturating_add(1);
        }
        e.model = model;
        // A sighting that never expires keeps the URL; else the later of the two ends counts.
        let old = self.expires_at.get(&id.0).copied();
        let expires = old.and_then(|old| expires.map(|new| new.max(old)));
        self.set_expiry(id.0, expires);
        self.reorder(id.0, priority);
    }

    /// Gives a URL that is not settled a new priority. `cause` is the page whose visit changed it.
    pub fn rescore(&mut self, id: UrlId, priority: Priority, model: u32, cause: Option<UrlId>) {
        if !self.is_open(id) {
            return;
        }
        let e = &mut self.entries[id.0 as usize];
        e.model = model;
        e.cause = cause.map_or(NONE, |c| c.0);
        self.reorder(id.0, priority);
    }

    /// The newest log record of a URL is now at `offset`.
    pub fn set_offset(&mut self, id: UrlId, offset: u64) {
        if let Some(e) = self.entries.get_mut(id.0 as usize) {
            e.offset = offset;
        }
    }

    /// Ends a URL, whatever state it is in.
    pub fn settle(&mut self, id: UrlId, outcome: Outcome) {
        if id.0 as usize >= self.entries.len() {
            return;
        }
        self.leave(id.0);
        let (code, status) = code_of(outcome);
        let e = &mut self.entries[id.0 as usize];
        (e.phase, e.outcome, e.status, e.again) = (SETTLED, code, status, false);
        self.counts.settled[code as usize] += 1;
        self.set_expiry(id.0, None);
    }

    /// A URL that ended waits for another visit, with all its tries. `false`: it has not ended.
    pub fn revisit(&mut self, id: UrlId, priority: Priority) -> bool {
        if self.entries.get(id.0 as usize).is_none_or(|e| e.phase != SETTLED) {
            return false;
        }
        self.leave(id.0);
        let e = &mut self.entries[id.0 as usize];
        (e.phase, e.again, e.attempts) = (PENDING, true, 0);
        (e.lane, e.key) = (priority.lane, priority.key());
        self.counts.pending += 1;
        self.enqueue(id.0);
        true
    }

    /// A visit ends, and the URL stands as it did before.
    pub fn end_revisit(&mut self, id: UrlId) {
        let Some(e) = self.entries.get(id.0 as usize).copied().filter(|e| e.again) else { return };
        self.settle(id, outcome_of(e.outcome, e.status));
    }

    /// Back to pending, not before the given time; counts an attempt.
    pub fn retry(&mut self, id: UrlId, not_before: u64) {
        if id.0 as usize >= self.entries.len() {
            return;
        }
        self.leave(id.0);
        let e = &mut self.entries[id.0 as usize];
        e.phase = PENDING;
        e.attempts = e.attempts.saturating_add(1);
        self.counts.pending += 1;
        if not_before > self.now || !self.live {
            self.delayed.insert((not_before, id.0));
            self.delayed_at.insert(id.0, not_before);
        } else {
            self.enqueue(id.0);
        }
    }

    /// A URL that ended is pending again, as if it had never been tried.
    pub fn restart(&mut self, id: UrlId) {
        self.retry(id, 0);
        if let Some(e) = self.entries.get_mut(id.0 as usize) {
            e.attempts = 0;
        }
    }

    /// A lease goes back to pending, untouched but for the time before which it is not leased again. (That is
    /// not written down: the next run may try at once.)
    pub fn defer(&mut self, id: UrlId, until: Millis) {
        if self.entries.get(id.0 as usize).is_some_and(|e| e.phase == LEASED) && until.0 > self.now {
            self.leave(id.0);
            self.entries[id.0 as usize].phase = PENDING;
            self.counts.pending += 1;
            self.delayed.insert((until.0, id.0));
            self.delayed_at.insert(id.0, until.0);
        } else {
            self.release(id);
        }
    }

    /// A lease goes back to pending, untouched.
    pub fn release(&mut self, id: UrlId) {
        if self.entries.get(id.0 as usize).is_some_and(|e| e.phase == LEASED) {
            self.leave(id.0);
            self.entries[id.0 as usize].phase = PENDING;
            self.counts.pending += 1;
            self.enqueue(id.0);
        }
    }

    /// A pending URL waits until nothing else can be fetched and nothing is in flight. Not kept: whoever
    /// starts the order again decides again.
    pub fn set_aside(&mut self, id: UrlId) {
        if self.entries.get(id.0 as usize).is_some_and(|e| e.phase == PENDING) {
            self.leave(id.0);
            self.counts.pending += 1;
            self.delayed.insert((ASIDE, id.0));
            self.delayed_at.insert(id.0, ASIDE);
        }
    }

    /// The lease counter was at least here before a crash.
    pub fn at_step(&mut self, step: u64) {
        self.step = self.step.max(step);
    }

    /// Pending URLs whose time to live is over.
    pub fn expired(&mut self) -> Vec<UrlId> {
        let mut out = Vec::new();
        while let Some(&(step, id)) = self.expiry.first()
            && step <= self.step
        {
            self.set_expiry(id, None);
            if self.entries[id as usize].phase == PENDING {
                out.push(UrlId(id));
            }
        }
        out
    }

    /// The worst `n` pending URLs, first found first.
    pub fn worst(&self, n: usize) -> Vec<UrlId> {
        let mut all: Vec<u32> = self.pending().map(|id| id.0).collect();
        let n = n.min(all.len());
        if n == 0 {
            return Vec::new();
        }
        let rank = |id: &u32| {
            let e = &self.entries[*id as usize];
            (e.priority(), std::cmp::Reverse(*id))
        };
        all.select_nth_unstable_by(n - 1, |a, b| rank(a).cmp(&rank(b)));
        all.truncate(n);
        all.sort_unstable();
        all.into_iter().map(UrlId).collect()
    }

    /// The best `k` URLs that are queued, best first, whether their hosts may be contacted now or not.
    pub fn best(&self, k: usize) -> Vec<UrlId> {
        let rank = |host: usize, lane: u8, at: usize, node: Node| {
            (Priority::new(lane, node.key), std::cmp::Reverse(node.place), host, at)
        };
        // The first of every host; then what stands behind the best of these.
        let mut open: BinaryHeap<_> = (self.hosts.iter().enumerate())
            .flat_map(|(host, h)| {
                h.queues.iter().filter_map(move |(lane, q)| Some(rank(host, *lane, 0, q.top()?)))
            })
            .collect();
        let mut out = Vec::with_capacity(k.min(open.len()));
        while out.len() < k
            && let Some((priority, std::cmp::Reverse(place), host, at)) = open.pop()
        {
            out.push(UrlId(self.ties.url(place)));
            let queue = self.hosts[host].queue(priority.lane);
            let behind = |at| queue.and_then(|q| q.get(at)).map(|node| rank(host, priority.lane, at, node));
            open.extend(Heap::children(at).filter_map(behind));
        }
        out
    }

    /// Every pending URL of a host, first found first.
    pub fn pending_of(&self, host: u32) -> Vec<UrlId> {
        let Some(h) = self.hosts.get(host as usize) else { return Vec::new() };
        let queued = h.queues.iter().flat_map(|(_, q)| q.nodes().iter().map(|n| n.slot));
        let delayed = self.delayed_at.keys().copied().filter(|&id| self.entries[id as usize].host == host);
        let mut all: Vec<UrlId> = queued.chain(delayed).map(UrlId).collect();
        all.sort_unstable();
        all
    }

    // ---- hosts --------------------------------------------------------------------------------------------

    /// The number of a host by its key.
    pub fn find_host(&self, name: &str) -> Option<u32> {
        let hosts = &self.hosts;
        self.names.find(self.hasher.hash_one(name), |&h| &*hosts[h as usize].name == name).copied()
    }

    /// A new host; its number is the next one.
    pub fn add_host(&mut self, name: &str) -> u32 {
        let id = self.hosts.len() as u32;
        let domain = guards::share_group(name, self.key);
        self.hosts.push(Host { name: name.into(), domain, ..Host::default() });
        let (hosts, hasher) = (&self.hosts, &self.hasher);
        self.names.insert_unique(hasher.hash_one(name), id, |&h| hasher.hash_one(&*hosts[h as usize].name));
        *self.groups.entry(guards::domain_group(name, self.key)).or_default() += 1;
        id
    }

    /// When a host may be contacted again.
    pub fn clock(&self, host: u32) -> Option<Clock> {
        self.hosts.get(host as usize).map(|h| h.clock)
    }
    /// What is known of a host's robots.txt.
    pub fn robots(&self, host: u32) -> Option<RobotsState> {
        self.hosts.get(host as usize).map(|h| h.robots)
    }
    /// All about a host, for people; `None` when it is not here.
    pub fn host_info(&self, host: u32) -> Option<HostInfo> {
        self.hosts.get(host as usize).filter(|h| !h.name.is_empty()).map(|h| HostInfo {
            name: h.name.to_string(),
            clock: h.clock,
            robots: h.robots,
            in_flight: h.in_flight,
            pending: h.queued,
            state: h.place,
        })
    }

    /// A fact: replaces a host's clock.
    pub fn set_clock(&mut self, host: u32, clock: Clock) {
        if let Some(h) = self.hosts.get_mut(host as usize) {
            h.clock = clock;
            if clock.failures > 0 {
                self.set_quick(host, false);
            }
            self.place(host);
        }
    }

    /// A fact: replaces what is known of a host's robots.txt.
    pub fn set_robots(&mut self, host: u32, robots: RobotsState) {
        if let Some(h) = self.hosts.get_mut(host as usize) {
            h.robots = robots;
            self.place(host);
        }
    }

    /// Forgets hosts and all their URLs, as if they had never been there: another worker has them from now
    /// on. Their numbers are not used again. (What the trap guards counted of them stays counted.)
    pub fn evict(&mut self, gone: &dyn Fn(u32) -> bool) {
        for id in 0..self.entries.len() as u32 {
            let e = self.entries[id as usize];
            if e.phase == GONE || !gone(e.host) {
                continue;
            }
            self.end_lease(UrlId(id), None);
            self.set_expiry(id, None);
            self.leave(id);
            if let Ok(found) = self.seen.find_entry(e.print.0, |&other| other == id) {
                found.remove();
            }
            let e = &mut self.entries[id as usize];
            (e.phase, e.again) = (GONE, false);
        }
        for host in 0..self.hosts.len() as u32 {
            let name = &self.hosts[host as usize].name;
            if name.is_empty() || !gone(host) {
                continue;
            }
            let hash = self.hasher.hash_one(&**name);
            if let Some(n) = self.groups.get_mut(&guards::domain_group(name, self.key)) {
                *n = n.saturating_sub(1);
            }
            if let Ok(found) = self.names.find_entry(hash, |&other| other == host) {
                found.remove();
            }
            self.place(host);
            self.hosts[host as usize] = Host::default();
        }
    }

    // ---- inside -------------------------------------------------------------------------------------------

    fn set_expiry(&mut self, id: u32, at: Option<u64>) {
        let old = match at {
            Some(at) => self.expires_at.insert(id, at),
            // Nearly no URL has a time to live: do not even hash.
            None if self.expires_at.is_empty() => None,
            None => self.expires_at.remove(&id),
        };
        if let Some(old) = old {
            self.expiry.remove(&(old, id));
        }
        if let Some(at) = at {
            self.expiry.insert((at, id));
        }
    }

    /// Takes a URL out of wherever its phase puts it.
    fn leave(&mut self, id: u32) {
        let e = self.entries[id as usize];
        match e.phase {
            PENDING => {
                self.counts.pending -= 1;
                self.dequeue(id);
                if !self.delayed_at.is_empty()
                    && let Some(at) = self.delayed_at.remove(&id)
                {
                    self.delayed.remove(&(at, id));
                }
            }
            LEASED => self.counts.leased -= 1,
            _ => self.counts.settled[(e.outcome as usize).min(OUTCOMES - 1)] -= 1,
        }
    }

    pub(crate) fn enqueue(&mut self, id: u32) {
        if !self.live {
            return;
        }
        let e = self.entries[id as usize];
        let place = self.ties.place(id);
        let host = &mut self.hosts[e.host as usize];
        host.queue_mut(e.lane).push(Node { key: e.key, place, slot: id }, &mut self.pos);
        host.queued += 1;
        self.queue_changed(e.host, e.lane);
    }

    pub(crate) fn dequeue(&mut self, id: u32) {
        let at = self.pos[id as usize];
        if at == NOWHERE {
            return;
        }
        let e = self.entries[id as usize];
        let host = &mut self.hosts[e.host as usize];
        host.queue_mut(e.lane).remove(at as usize, &mut self.pos);
        host.queued -= 1;
        self.queue_changed(e.host, e.lane);
    }

    fn reorder(&mut self, id: u32, priority: Priority) {
        let e = self.entries[id as usize];
        if e.priority() == priority {
            return;
        }
        let at = self.pos[id as usize];
        if at == NOWHERE || priority.lane != e.lane {
            let queued = at != NOWHERE;
            self.dequeue(id);
            let e = &mut self.entries[id as usize];
            (e.lane, e.key) = (priority.lane, priority.key());
            if queued {
                self.enqueue(id);
            }
            return;
        }
        self.entries[id as usize].key = priority.key();
        let node = Node { key: priority.key(), place: self.ties.place(id), slot: id };
        self.hosts[e.host as usize].queue_mut(e.lane).update(at as usize, node, &mut self.pos);
        self.queue_changed(e.host, e.lane);
    }

    fn queue_changed(&mut self, host: u32, lane: u8) {
        let h = &self.hosts[host as usize];
        match h.place {
            HostState::Ready if h.queued > 0 => {
                let top = h.queue(lane).and_then(|q| q.top());
                let unproven = self.limits.shares.is_some() && !h.quick;
                if unproven { &mut self.unproven } else { &mut self.ready }.set(lane, host, top);
            }
            HostState::Out => self.place(host),
            _ if h.queued == 0 => self.place(host),
            _ if h.rests => {
                let top = h.queue(lane).and_then(|q| q.top());
                self.resting.set(lane, host, top);
            }
            _ => {}
        }
    }
}

fn entry_of(fresh: &NewUrl<'_>) -> Entry {
    Entry {
        print: fresh.print,
        key: fresh.priority.key(),
        offset: fresh.offset,
        host: fresh.host,
        parent: fresh.parent.map_or(NONE, |p| p.0),
        model: fresh.model,
        cause: NONE,
        depth: fresh.depth,
        site_depth: fresh.site_depth,
        status: 0,
        lane: fresh.priority.lane,
        phase: PENDING,
        attempts: 0,
        sources: 1,
        outcome: 0,
        hops: fresh.hops,
        again: false,
    }
}

impl Order {
    /// Is it settled as forgotten? Such a URL may be admitted again.
    pub fn is_forgotten(&self, id: UrlId) -> bool {
        self.entries.get(id.0 as usize).is_some_and(|e| e.state() == State::Settled(Outcome::Dropped))
    }

    /// Did it end without an answer?
    pub fn is_unanswered(&self, id: UrlId) -> bool {
        self.entries.get(id.0 as usize).is_some_and(|e| e.state().is_unanswered())
    }
}
