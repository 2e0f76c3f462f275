//! Who is served next: ready hosts by their best URL, waiting hosts by time, leases, addresses.

use crate::entry::{LEASED, PENDING};
use crate::heap::{Heap, NOWHERE, Node};
use crate::host::{DAY, HostState};
use crate::idle::Idle;
use crate::order::{ASIDE, Order};
use crate::traits::Peek;
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashSet};
use std::net::IpAddr;
use types::{Millis, Priority, Task, UrlId};

/// What the order decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// Fetch this.
    Lease {
        /// The URL; of a robots lease, the page that waits for the rules.
        id: UrlId,
        /// The page, or its host's robots.txt.
        task: Task,
        /// Counts leases.
        number: u64,
        /// When the lease is taken back.
        expires: Millis,
    },
    /// Nothing before `until`.
    Wait {
        /// When to ask again; [`Millis::NEVER`] when only a settled lease can change it.
        until: Millis,
        /// Why it has to wait.
        idle: Idle,
    },
    /// Nothing, and nothing will come by waiting.
    Empty(Idle),
}

/// A lease that is out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct HeldLease {
    pub task: Task,
    pub expires: u64,
    /// The address it was counted under.
    pub ip: Option<IpAddr>,
    pub since: u64,
    /// The domain it was counted under.
    pub domain: Option<u64>,
    /// Counted as one that may take long: its host is not known to be quick, or it takes long already.
    pub risky: bool,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct IpState {
    pub in_flight: u32,
    pub next_allowed: u64,
    /// Hosts that wait for a request of this address to end.
    pub parked: Vec<u32>,
}

/// Hosts whose turn may be worth waiting for that are looked at before each lease.
const LOOKED_AT: usize = 32;

/// Two runs this far apart may be so because a clock was set.
const LONG_AGO: u64 = 60_000;

/// Per lane, hosts by their best URL in it.
#[derive(Debug, Default)]
pub(crate) struct Lanes {
    /// Highest first.
    lanes: Vec<Lane>,
}

#[derive(Debug)]
pub(crate) struct Lane {
    pub lane: u8,
    pub heap: Heap,
    /// By host.
    pub pos: Vec<u32>,
}

impl Lanes {
    /// The best URL that `host` offers in `lane` is `top` (`None`: it offers nothing there).
    pub fn set(&mut self, lane: u8, host: u32, top: Option<Node>) {
        let at = self.lanes.partition_point(|l| l.lane > lane);
        if self.lanes.get(at).is_none_or(|l| l.lane != lane) {
            if top.is_none() {
                return;
            }
            self.lanes.insert(at, Lane { lane, heap: Heap::default(), pos: Vec::new() });
        }
        let l = &mut self.lanes[at];
        if l.pos.len() <= host as usize {
            l.pos.resize(host as usize + 1, NOWHERE);
        }
        let old = l.pos[host as usize];
        match top {
            Some(top) => {
                let node = Node { slot: host, ..top };
                if old == NOWHERE {
                    l.heap.push(node, &mut l.pos);
                } else if l.heap.get(old as usize) != Some(node) {
                    l.heap.update(old as usize, node, &mut l.pos);
                }
            }
            None if old != NOWHERE => {
                l.heap.remove(old as usize, &mut l.pos);
            }
            None => {}
        }
    }

    /// A host with these queues comes (with the best of each) or goes.
    pub fn put(&mut self, host: u32, queues: &[(u8, Heap)], there: bool) {
        for (lane, queue) in queues {
            self.set(*lane, host, queue.top().filter(|_| there));
        }
    }

    /// The named lane first, then the others from high to low.
    fn served(&self, first: Option<u8>) -> impl Iterator<Item = &Lane> {
        let named = self.lanes.iter().filter(move |l| Some(l.lane) == first);
        named.chain(self.lanes.iter().filter(move |l| Some(l.lane) != first))
    }

    pub fn all(&self) -> &[Lane] {
        &self.lanes
    }

    fn heap(&self, lane: u8) -> Option<&Heap> {
        self.lanes.iter().find(|l| l.lane == lane).map(|l| &l.heap)
    }
}

impl Order {
    /// The best URL that may be fetched now; it is leased by this call. See [`crate::Frontier::lease`].
    pub fn choose(&mut self, now: Millis, lane: Option<u8>) -> Choice {
        self.advance(now);
        loop {
            let Some((node, from)) = self.best_ready(lane, false) else {
                if self.take_from_aside() {
                    continue;
                }
                return self.nothing(None);
            };
            if self.held_up_by_domain(node.slot) || self.held_up_by_address(node.slot) {
                continue;
            }
            if let Some(until) = self.worth_waiting(node, from, lane) {
                return self.nothing(Some(until));
            }
            return self.lease(node);
        }
    }

    /// The best URL of one lane that may be fetched now; it is leased by this call.
    pub fn choose_only(&mut self, now: Millis, lane: u8) -> Choice {
        self.advance(now);
        loop {
            let Some((node, _)) = self.best_ready(Some(lane), true) else { return self.nothing(None) };
            if !self.held_up_by_domain(node.slot) && !self.held_up_by_address(node.slot) {
                return self.lease(node);
            }
        }
    }

    /// The best URL of the ready host that `rank` puts highest (`None`: not that one). It is leased by this
    /// call.
    pub fn choose_host(&mut self, now: Millis, rank: &dyn Fn(&str) -> Option<u64>) -> Choice {
        self.advance(now);
        let floor = self.limits.floor.unwrap_or(f64::NEG_INFINITY);
        let mut best: Option<(u64, Priority, Node)> = None;
        for l in self.ready.all().iter().chain(self.unproven.all()) {
            for node in l.heap.nodes().iter().filter(|n| n.key >= floor) {
                if self.domain_is_full(node.slot) || self.address_wait(node.slot).is_some() {
                    continue;
                }
                let Some(rank) = rank(&self.hosts[node.slot as usize].name) else { continue };
                let new = (rank, Priority::new(l.lane, node.key));
                let wins =
                    best.is_none_or(|(r, p, n)| new > (r, p) || (new == (r, p) && node.place < n.place));
                if wins {
                    best = Some((new.0, new.1, *node));
                }
            }
        }
        match best {
            Some((_, _, node)) => self.lease(node),
            None => self.nothing(None),
        }
    }

    /// The best of the ready hosts, and the lane it is in. Of those that are not known to be quick only while
    /// they may have more requests.
    fn best_ready(&mut self, lane: Option<u8>, only: bool) -> Option<(Node, u8)> {
        let floor = self.limits.floor.unwrap_or(f64::NEG_INFINITY);
        let first = |list: &Lanes| {
            let served = list.served(lane).filter(|l| !only || Some(l.lane) == lane);
            served.into_iter().find_map(|l| {
                let is_wanted = |n: &Node| n.key >= floor || l.lane == Priority::REVISIT;
                l.heap.top().filter(is_wanted).map(|n| (n, l.lane))
            })
        };
        loop {
            let quick = first(&self.ready);
            let other = if self.has_room_for_unproven() { first(&self.unproven) } else { None };
            let best = match (quick, other) {
                (Some(a), Some(b)) => {
                    let served = |l: u8| (Some(l) == lane, l);
                    let by_lane = served(a.1).cmp(&served(b.1));
                    Some(if by_lane.is_gt() || (by_lane.is_eq() && a.0.beats(&b.0)) { a } else { b })
                }
                (a, b) => a.or(b),
            };
            if best.is_some() || !self.release_stranded() {
                return best;
            }
        }
    }

    /// Nothing else is left, not even in flight: the next URL that was set aside gets its turn, alone.
    fn take_from_aside(&mut self) -> bool {
        let Some(&(ASIDE, id)) = self.delayed.first() else { return false };
        if !self.leases.is_empty() || !self.waiting.is_empty() {
            return false;
        }
        self.delayed.remove(&(ASIDE, id));
        self.delayed_at.remove(&id);
        self.enqueue(id);
        true
    }

    /// The best `k` URLs that could be leased now, best first.
    pub fn peek(&mut self, now: Millis, lane: Option<u8>, k: usize) -> Vec<Peek> {
        self.best_of(now, lane, k, |_| true)
    }

    /// As `peek`, without those of one lane.
    pub fn peek_without(&mut self, now: Millis, lane: u8, k: usize) -> Vec<Peek> {
        self.best_of(now, None, k, |l| l != lane)
    }

    fn best_of(&mut self, now: Millis, lane: Option<u8>, k: usize, counts: impl Fn(u8) -> bool) -> Vec<Peek> {
        self.advance(now);
        let floor = self.limits.floor.unwrap_or(f64::NEG_INFINITY);
        let mut out = Vec::with_capacity(k.min(1024));
        let mut lanes: Vec<u8> = self.ready.served(lane).map(|l| l.lane).collect();
        for l in self.unproven.served(lane).map(|l| l.lane) {
            if !lanes.contains(&l) {
                lanes.push(l);
            }
        }
        lanes.sort_by_key(|&l| Reverse((Some(l) == lane, l)));
        for l in lanes.into_iter().filter(|l| counts(*l)) {
            // Walks down the heaps of hosts and the heaps of their URLs at once, touching O(k) nodes.
            let heaps = [self.ready.heap(l), self.unproven.heap(l)];
            let mut open = BinaryHeap::new();
            let host_node = |list: usize, at: usize| {
                let node = heaps[list].and_then(|heap| heap.get(at))?;
                Some(Seen { node, host: node.slot, of_host: Some((list, at)), at: 0 })
            };
            open.extend((0..heaps.len()).filter_map(|list| host_node(list, 0)));
            while out.len() < k
                && let Some(seen) = open.pop()
                && seen.node.key >= floor
            {
                if let Some((list, at)) = seen.of_host {
                    open.extend(Heap::children(at).filter_map(|at| host_node(list, at)));
                    if self.domain_is_full(seen.host) || self.address_wait(seen.host).is_some() {
                        continue;
                    }
                }
                if let Some(queue) = self.hosts[seen.host as usize].queue(l) {
                    let child =
                        |at| queue.get(at).map(|n| Seen { node: n, host: seen.host, of_host: None, at });
                    open.extend(Heap::children(seen.at).filter_map(child));
                }
                let id = self.ties.url(seen.node.place);
                let e = &self.entries[id as usize];
                out.push(Peek { id: UrlId(id), priority: e.priority(), model: e.model });
            }
            if out.len() >= k {
                break;
            }
        }
        out
    }

    /// A lease ends (the caller then says how: `settle`, `retry`, `release`). `contacted`: until when, if it
    /// was.
    pub fn end_lease(&mut self, id: UrlId, finished: Option<Millis>) -> Option<Task> {
        let held = self.leases.remove(&id.0)?;
        self.lease_expiry.remove(&(held.expires, id.0));
        let host = self.entries[id.0 as usize].host;
        let h = &mut self.hosts[host as usize];
        h.in_flight = h.in_flight.saturating_sub(1);
        if held.task == Task::Robots {
            h.robots_lease = false;
        }
        if let Some(ip) = held.ip {
            self.free_address(ip, finished);
        }
        self.end_share(host, &held, finished);
        self.place(host);
        Some(held.task)
    }

    /// Brings everything whose time has come to where it can be chosen.
    fn advance(&mut self, now: Millis) {
        self.now = self.now.max(now.0);
        self.age_leases();
        while let Some(&(at, id)) = self.lease_expiry.first()
            && at <= self.now
        {
            let (id, host) = (UrlId(id), self.entries[id as usize].host);
            self.end_lease(id, Some(Millis(self.now)));
            self.release(id);
            self.returned += 1;
            // The fetch may have happened, or may still be going on.
            let h = &mut self.hosts[host as usize];
            let delay = h.clock.delay(&self.limits);
            h.clock.push_back(self.now, delay);
            self.place(host);
        }
        while let Some(&(at, id)) = self.delayed.first()
            && at <= self.now
        {
            self.delayed.remove(&(at, id));
            self.delayed_at.remove(&id);
            self.enqueue(id);
        }
        while let Some(&(at, host)) = self.waiting.first()
            && at <= self.now
        {
            self.waiting.remove(&(at, host));
            self.hosts[host as usize].place = HostState::Out;
            self.count_back_off(host, false);
            self.place(host);
        }
    }

    fn lease(&mut self, node: Node) -> Choice {
        let (id, host) = (self.ties.url(node.place), node.slot);
        let h = &mut self.hosts[host as usize];
        let task =
            if self.limits.use_robots && h.robots.expires <= self.now { Task::Robots } else { Task::Page };
        h.in_flight += 1;
        h.robots_lease = task == Task::Robots;
        let ip = self.limits.per_ip_in_flight.and_then(|_| shared_address(h.clock.ip));
        if let Some(ip) = ip {
            self.ips.entry(ip).or_default().in_flight += 1;
        }
        let expires = self.now.saturating_add(self.limits.lease_ms);
        let mut held = HeldLease { task, expires, ip, since: self.now, domain: None, risky: false };
        self.begin_share(id, host, &mut held);
        self.leases.insert(id, held);
        self.lease_expiry.insert((expires, id));
        self.step += 1;
        if task == Task::Page {
            // Out of the ready lanes in one step, before its queue changes.
            self.place(host);
            self.dequeue(id);
            self.entries[id as usize].phase = LEASED;
            self.counts.pending -= 1;
            self.counts.leased += 1;
        }
        self.place(host);
        self.release_parked(held.domain);
        Choice::Lease { id: UrlId(id), task, number: self.step, expires: Millis(expires) }
    }

    /// Puts a host where its clock, its requests in flight and its queues say it belongs.
    pub(crate) fn place(&mut self, host: u32) {
        if !self.live {
            return;
        }
        let h = &self.hosts[host as usize];
        let limits = &self.limits;
        // The pages it has had may be visited again.
        let revisits = h.queue(Priority::REVISIT).is_some_and(|q| q.len() > 0);
        let full = !revisits
            && limits.pages_per_host.is_some_and(|most| h.clock.pages + u64::from(h.in_flight) >= most);
        let mut until = h.clock.next_allowed;
        if limits.use_robots && h.robots.failed() {
            until = until.max(h.robots.expires);
        }
        let to = if h.queued == 0 {
            HostState::Out
        } else if full {
            HostState::Full
        } else if h.robots_lease || h.in_flight >= limits.per_host_in_flight {
            HostState::Held
        } else if until > self.now {
            HostState::Waiting(until)
        } else {
            HostState::Ready
        };
        self.move_to(host, to);
        self.count_work(host);
    }

    pub(crate) fn move_to(&mut self, host: u32, to: HostState) {
        let h = &mut self.hosts[host as usize];
        let from = std::mem::replace(&mut h.place, to);
        if from == to {
            return;
        }
        if std::mem::take(&mut h.rests) {
            self.resting.put(host, &h.queues, false);
        }
        let unproven = self.limits.shares.is_some() && !h.quick;
        let ready = if unproven { &mut self.unproven } else { &mut self.ready };
        match from {
            HostState::Ready => ready.put(host, &h.queues, false),
            HostState::Waiting(at) => {
                self.waiting.remove(&(at, host));
                self.count_back_off(host, false);
            }
            _ => {}
        }
        match to {
            HostState::Ready => {
                let ready = if unproven { &mut self.unproven } else { &mut self.ready };
                ready.put(host, &self.hosts[host as usize].queues, true);
            }
            HostState::Waiting(at) => {
                self.waiting.insert((at, host));
                self.count_back_off(host, self.hosts[host as usize].clock.failures > 0);
            }
            _ => {}
        }
        if self.free_soon(host).is_some() {
            let h = &mut self.hosts[host as usize];
            h.rests = true;
            self.resting.put(host, &h.queues, true);
        }
    }

    /// When a host that cannot be served now is free again, if that is soon enough for our patience.
    fn free_soon(&self, host: u32) -> Option<u64> {
        let p = self.limits.patience?;
        let h = &self.hosts[host as usize];
        let at = match h.place {
            HostState::Waiting(at) => at,
            // Nobody knows when the answer comes: a delay from now is a guess.
            HostState::Held => self.now.saturating_add(h.clock.delay(&self.limits).max(1)),
            _ => return None,
        };
        (at <= self.now.saturating_add(p.wait_ms)).then_some(at)
    }

    fn count_back_off(&mut self, host: u32, on: bool) {
        let h = &mut self.hosts[host as usize];
        if h.backing_off != on {
            h.backing_off = on;
            self.backing_off = if on { self.backing_off + 1 } else { self.backing_off.saturating_sub(1) };
        }
    }

    // ---- addresses ----------------------------------------------------------------------------------------

    /// Until when the host's address may not be contacted: `Some(None)` = until a request to it ends.
    fn address_wait(&self, host: u32) -> Option<Option<u64>> {
        let most = self.limits.per_ip_in_flight?;
        let ip = shared_address(self.hosts[host as usize].clock.ip)?;
        let state = self.ips.get(&ip)?;
        if state.in_flight >= most {
            return Some(None);
        }
        (state.next_allowed > self.now).then_some(Some(state.next_allowed))
    }

    fn held_up_by_address(&mut self, host: u32) -> bool {
        match self.address_wait(host) {
            None => false,
            Some(None) => {
                if let Some(ip) = shared_address(self.hosts[host as usize].clock.ip) {
                    self.ips.entry(ip).or_default().parked.push(host);
                }
                self.move_to(host, HostState::Parked);
                true
            }
            Some(Some(at)) => {
                self.move_to(host, HostState::Waiting(at));
                true
            }
        }
    }

    /// A host was contacted at this address until `finished`. (At the first contact the lease did not know
    /// it.)
    pub fn contacted(&mut self, ip: IpAddr, finished: Millis) {
        if self.limits.per_ip_in_flight.is_some() && shared_address(Some(ip)).is_some() {
            let state = self.ips.entry(ip).or_default();
            state.next_allowed =
                state.next_allowed.max(finished.0.saturating_add(self.limits.per_ip_delay_ms));
        }
    }

    fn free_address(&mut self, ip: IpAddr, finished: Option<Millis>) {
        let delay = self.limits.per_ip_delay_ms;
        let Some(state) = self.ips.get_mut(&ip) else { return };
        state.in_flight = state.in_flight.saturating_sub(1);
        if let Some(at) = finished {
            state.next_allowed = state.next_allowed.max(at.0.saturating_add(delay));
        }
        for host in std::mem::take(&mut state.parked) {
            if self.hosts[host as usize].place == HostState::Parked {
                self.place(host);
            }
        }
    }

    // ---- waiting ------------------------------------------------------------------------------------------

    /// Patience: when something clearly better than `ready` becomes free soon, until when to wait.
    fn worth_waiting(&self, ready: Node, from: u8, named: Option<u8>) -> Option<u64> {
        let p = self.limits.patience?;
        for lane in self.resting.served(named) {
            let beats = |n: &Node| lane.lane != from || (n.key > 0.0 && ready.key < p.share * n.key);
            // Seeds are fetched anyway: that is no choice between better and worse.
            let found = |n: &Node| self.entries[self.ties.url(n.place) as usize].depth > 0;
            let mut best = lane.heap.best().take(LOOKED_AT).take_while(beats).filter(found);
            if let Some(at) = best.find_map(|n| self.free_soon(n.slot)) {
                // Others may be free before it: whoever comes first is looked at then.
                return Some(self.waiting.first().map_or(at, |w| w.0.min(at)));
            }
            if lane.lane == from {
                break;
            }
        }
        None
    }

    fn nothing(&self, patient_until: Option<u64>) -> Choice {
        let firsts = [
            patient_until,
            self.waiting.first().map(|w| w.0),
            self.delayed.first().map(|d| d.0),
            self.lease_expiry.first().map(|l| l.0),
        ];
        let until = patient_until.or_else(|| firsts.into_iter().flatten().min());
        let mut idle = Idle {
            pending: self.counts.pending,
            hosts_waiting: self.waiting.len() as u64,
            hosts_backing_off: self.backing_off,
            hosts_in_flight: self
                .leases
                .keys()
                .map(|&id| self.entries[id as usize].host)
                .collect::<HashSet<_>>()
                .len() as u64,
            retries: self.delayed.len() as u64,
            urls_below_floor: 0,
            hosts_held_back: 0,
            patient: patient_until.is_some(),
            next_in_ms: until.filter(|&at| at != u64::MAX).map(|at| at.saturating_sub(self.now)),
        };
        if patient_until.is_none() {
            // Whatever is still ready is below the floor, or has to leave the requests to quick hosts.
            let below = |l: &Lane| -> u64 {
                let queue_len =
                    |n: &Node| self.hosts[n.slot as usize].queue(l.lane).map_or(0, Heap::len) as u64;
                l.heap.nodes().iter().map(queue_len).sum()
            };
            idle.urls_below_floor = self.ready.all().iter().map(below).sum();
            if self.has_room_for_unproven() {
                idle.urls_below_floor += self.unproven.all().iter().map(below).sum::<u64>();
            } else {
                idle.hosts_held_back = self.unproven.all().iter().map(|l| l.heap.len() as u64).sum();
            }
        }
        match until {
            Some(at) => Choice::Wait { until: Millis(at), idle },
            None => Choice::Empty(idle),
        }
    }

    // ---- starting -----------------------------------------------------------------------------------------

    /// Builds the seen set, so that [`Order::find`] works.
    pub fn index(&mut self) {
        if !self.indexed {
            self.seen = seen_set(&self.entries);
            self.indexed = true;
        }
    }

    /// Builds everything that is not kept: the seen set, queues, waiting hosts. `clean`: the last run was
    /// closed in order; else any host may have been contacted a moment ago, so each rests for its delay.
    pub fn wake(&mut self, now: Millis, clean: bool) {
        if self.live {
            return;
        }
        self.live = true;
        self.now = now.0;
        // When the last run ended, by its clock. If that was long ago, our clock may have been set ahead and
        // no time has passed: then whoever was resting rests for its delay.
        let contacts = self.hosts.iter().map(|h| h.clock.next_allowed.saturating_sub(h.clock.wait_ms));
        let ended = contacts.max().unwrap_or(0);
        let long_ago = now.0 > ended.saturating_add(LONG_AGO);
        for h in &mut self.hosts {
            let delay = h.clock.delay(&self.limits);
            let rested = clean && !(long_ago && h.clock.next_allowed > ended);
            h.clock.clamp(now.0, &self.limits);
            if !rested {
                h.clock.push_back(now.0, delay);
            }
            h.robots.clamp(now.0);
            if self.limits.per_ip_in_flight.is_some()
                && let Some(ip) = shared_address(h.clock.ip)
            {
                let finished = h.clock.next_allowed.saturating_sub(h.clock.wait_ms);
                let state = self.ips.entry(ip).or_default();
                state.next_allowed =
                    state.next_allowed.max(finished.saturating_add(self.limits.per_ip_delay_ms));
            }
        }
        // A retry was never meant to be further away than a day; the clock went back.
        let far: Vec<(u64, u32)> = self.delayed.range((now.0.saturating_add(DAY), 0)..).copied().collect();
        for (at, id) in far {
            self.delayed.remove(&(at, id));
            self.delayed.insert((now.0 + DAY, id));
            self.delayed_at.insert(id, now.0 + DAY);
        }
        let (entries, hosts, pos, delayed) =
            (&self.entries, &mut self.hosts, &mut self.pos, &self.delayed_at);
        let (indexed, ties) = (self.indexed, self.ties);
        let seen = std::thread::scope(|s| {
            // Two passes over ten million entries that do not touch each other.
            let seen = s.spawn(|| if indexed { None } else { Some(seen_set(entries)) });
            let queued = |id: usize| {
                entries[id].phase == PENDING && (delayed.is_empty() || !delayed.contains_key(&(id as u32)))
            };
            // Counted first, so that a queue is made once and in its size.
            (0..entries.len())
                .filter(|&id| queued(id))
                .for_each(|id| hosts[entries[id].host as usize].queued += 1);
            for (id, e) in entries.iter().enumerate().filter(|(id, _)| queued(*id)) {
                let h = &mut hosts[e.host as usize];
                let room = if h.queues.is_empty() { h.queued as usize } else { 0 };
                let queue = h.queue_mut(e.lane);
                queue.reserve(room);
                queue.push_unordered(Node { key: e.key, place: ties.place(id as u32), slot: id as u32 });
            }
            for h in hosts.iter_mut() {
                h.queues.iter_mut().for_each(|(_, q)| q.heapify(pos));
            }
            seen.join()
        });
        match seen {
            Ok(Some(seen)) => self.seen = seen,
            Ok(None) => {}
            Err(_) => self.seen = seen_set(&self.entries),
        }
        self.indexed = true;
        for host in 0..self.hosts.len() as u32 {
            self.place(host);
        }
    }
}

fn seen_set(entries: &[crate::entry::Entry]) -> hashbrown::HashTable<u32> {
    let mut seen = hashbrown::HashTable::with_capacity(entries.len());
    for (id, e) in entries.iter().enumerate() {
        seen.insert_unique(e.print.0, id as u32, |&id: &u32| entries[id as usize].print.0);
    }
    seen
}

/// Loopback is nobody's shared server: replays and demos put a whole web there.
fn shared_address(ip: Option<IpAddr>) -> Option<IpAddr> {
    ip.filter(|ip| !ip.is_loopback())
}

/// A node met by `peek`: of the heap of hosts (then also the first of its URLs), or of a host's URLs.
struct Seen {
    node: Node,
    host: u32,
    /// Which list of hosts, and where in it.
    of_host: Option<(usize, usize)>,
    at: usize,
}
impl PartialEq for Seen {
    fn eq(&self, other: &Seen) -> bool {
        self.node.place == other.node.place
    }
}
impl Eq for Seen {}
impl PartialOrd for Seen {
    fn partial_cmp(&self, other: &Seen) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Seen {
    fn cmp(&self, other: &Seen) -> std::cmp::Ordering {
        let rank = |s: &Seen| Priority::key_only(s.node.key);
        rank(self).cmp(&rank(other)).then(other.node.place.cmp(&self.node.place))
    }
}
