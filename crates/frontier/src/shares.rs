//! How the requests in flight are shared out: what a domain may have, and what is kept for hosts that are
//! quick.
//!
//! A host that hangs, or sends a byte now and then, holds a request for as long as a fetch may take. One
//! domain can have any number of such hosts, so a domain has a share; and any number of domains can have
//! them, so a part of all requests is kept for hosts whose last answer came soon. Without
//! [`Limits::shares`](crate::Limits::shares) nothing here counts.

use crate::host::HostState;
use crate::limits::Shares;
use crate::order::Order;
use crate::schedule::HeldLease;
use std::collections::{BTreeSet, HashMap, VecDeque};
use types::{Millis, Priority};

/// Domains with requests in flight, and what else has to be known to share the requests out.
#[derive(Debug, Default)]
pub(crate) struct InFlight {
    domains: HashMap<u64, Domain>,
    /// Hosts with something queued or in flight, per domain.
    work: HashMap<u64, u32>,
    /// Quick ones among them.
    quick: u32,
    /// Leases of hosts that are not known to be quick, and those that take long already.
    risky: u32,
    /// Leases by the time they began; those that ended may still be here.
    young: VecDeque<(u64, u32)>,
    /// When hosts were last looked for that wait for nobody.
    swept: u64,
}

#[derive(Debug, Default)]
struct Domain {
    in_flight: u32,
    /// Hosts that wait for one of its requests to end.
    parked: BTreeSet<u32>,
}

/// How often hosts are looked for that wait for nobody.
const SWEEP_MS: u64 = 1_000;

impl Order {
    /// Requests that one domain may have now.
    fn per_domain(&self, s: Shares) -> u32 {
        let fair = s.slots / (self.in_use.work.len() as u32).max(1);
        s.per_domain.max(fair).max(self.limits.per_host_in_flight).max(1)
    }

    pub(crate) fn domain_is_full(&self, host: u32) -> bool {
        let Some(s) = self.limits.shares else { return false };
        let domain = self.in_use.domains.get(&self.hosts[host as usize].domain);
        domain.is_some_and(|d| d.in_flight >= self.per_domain(s))
    }

    pub(crate) fn held_up_by_domain(&mut self, host: u32) -> bool {
        if !self.domain_is_full(host) {
            return false;
        }
        let domain = self.hosts[host as usize].domain;
        self.in_use.domains.entry(domain).or_default().parked.insert(host);
        self.move_to(host, HostState::Parked);
        true
    }

    /// May a host that is not known to be quick have a request now?
    pub(crate) fn has_room_for_unproven(&self) -> bool {
        self.limits.shares.is_none_or(|s| {
            let kept = s.for_quick.min(self.in_use.quick);
            self.in_use.risky < s.slots.saturating_sub(kept).max(1)
        })
    }

    pub(crate) fn begin_share(&mut self, id: u32, host: u32, held: &mut HeldLease) {
        if self.limits.shares.is_none() {
            return;
        }
        let h = &self.hosts[host as usize];
        (held.domain, held.risky) = (Some(h.domain), !h.quick);
        self.in_use.domains.entry(h.domain).or_default().in_flight += 1;
        self.in_use.risky += u32::from(held.risky);
        self.in_use.young.push_back((held.since, id));
    }

    /// `finished`: when the host answered (or did not), if it was asked.
    pub(crate) fn end_share(&mut self, host: u32, held: &HeldLease, finished: Option<Millis>) {
        let Some(s) = self.limits.shares else { return };
        self.in_use.risky -= u32::from(held.risky).min(self.in_use.risky);
        if let Some(d) = held.domain.and_then(|domain| self.in_use.domains.get_mut(&domain)) {
            d.in_flight = d.in_flight.saturating_sub(1);
        }
        if let Some(at) = finished {
            self.set_quick(host, at.0.saturating_sub(held.since) <= s.quick_ms);
        }
        self.release_parked(held.domain);
    }

    /// Leases that take long: their hosts are not quick, whatever they were.
    pub(crate) fn age_leases(&mut self) {
        let Some(s) = self.limits.shares else { return };
        while let Some(&(since, id)) = self.in_use.young.front()
            && since.saturating_add(s.quick_ms) < self.now
        {
            self.in_use.young.pop_front();
            let Some(held) = self.leases.get_mut(&id).filter(|l| l.since == since) else { continue };
            if !std::mem::replace(&mut held.risky, true) {
                self.in_use.risky += 1;
            }
            self.set_quick(self.entries[id as usize].host, false);
        }
        if self.now >= self.in_use.swept.saturating_add(SWEEP_MS) {
            self.in_use.swept = self.now;
            self.release_stranded();
        }
    }

    pub(crate) fn set_quick(&mut self, host: u32, quick: bool) {
        let h = &mut self.hosts[host as usize];
        if h.quick == quick {
            return;
        }
        h.quick = quick;
        if self.limits.shares.is_none() {
            return;
        }
        let (from, to) = match quick {
            true => (&mut self.unproven, &mut self.ready),
            false => (&mut self.ready, &mut self.unproven),
        };
        if h.place == HostState::Ready {
            from.put(host, &h.queues, false);
            to.put(host, &h.queues, true);
        }
        if h.works {
            let n = &mut self.in_use.quick;
            *n = if quick { *n + 1 } else { n.saturating_sub(1) };
        }
    }

    /// A host has something to fetch, or has not any more.
    pub(crate) fn count_work(&mut self, host: u32) {
        if self.limits.shares.is_none() {
            return;
        }
        let h = &mut self.hosts[host as usize];
        let works = h.queued > 0 || h.in_flight > 0;
        if std::mem::replace(&mut h.works, works) == works {
            return;
        }
        let n = self.in_use.work.entry(h.domain).or_default();
        if works {
            *n += 1;
            self.in_use.quick += u32::from(h.quick);
        } else {
            *n = n.saturating_sub(1);
            if *n == 0 {
                self.in_use.work.remove(&h.domain);
            }
            self.in_use.quick -= u32::from(h.quick).min(self.in_use.quick);
        }
    }

    /// When a domain may have more requests: the best of its hosts that wait for that are ready again, as
    /// many as there is room for and at least the best of each lane.
    pub(crate) fn release_parked(&mut self, domain: Option<u64>) {
        let (Some(s), Some(domain)) = (self.limits.shares, domain) else { return };
        let most = self.per_domain(s);
        let Some(d) = self.in_use.domains.get_mut(&domain) else { return };
        if d.parked.is_empty() {
            if d.in_flight == 0 {
                self.in_use.domains.remove(&domain);
            }
            return;
        }
        if d.in_flight >= most {
            return;
        }
        let room = (most - d.in_flight) as usize;
        let hosts = &self.hosts;
        d.parked.retain(|&h| hosts[h as usize].place == HostState::Parked);
        let mut tops: Vec<(Priority, std::cmp::Reverse<u32>, u32)> = (d.parked.iter())
            .flat_map(|&h| {
                let queues = hosts[h as usize].queues.iter();
                queues.filter_map(move |(lane, q)| {
                    let top = q.top()?;
                    Some((Priority::new(*lane, top.key), std::cmp::Reverse(top.place), h))
                })
            })
            .collect();
        if tops.len() > room {
            tops.sort_unstable_by(|a, b| b.cmp(a));
        }
        let mut lane = None;
        let mut free = Vec::new();
        for (i, (priority, _, host)) in tops.into_iter().enumerate() {
            if i < room || lane != Some(priority.lane) {
                free.push(host);
            }
            lane = Some(priority.lane);
        }
        for host in &free {
            d.parked.remove(host);
        }
        for host in free {
            self.place(host);
        }
    }

    /// Hosts that wait for a request of their domain to end though it could have more. (Whoever was released
    /// in their stead was not served.) `true` when there were any.
    pub(crate) fn release_stranded(&mut self) -> bool {
        let Some(s) = self.limits.shares else { return false };
        let most = self.per_domain(s);
        let with_room =
            |(domain, d): (&u64, &Domain)| (d.in_flight < most && !d.parked.is_empty()).then_some(*domain);
        let mut stranded: Vec<u64> = self.in_use.domains.iter().filter_map(with_room).collect();
        stranded.sort_unstable();
        let before = self.ready_hosts();
        stranded.into_iter().for_each(|domain| self.release_parked(Some(domain)));
        self.ready_hosts() > before
    }

    fn ready_hosts(&self) -> usize {
        let lanes = self.ready.all().iter().chain(self.unproven.all());
        lanes.map(|l| l.heap.len()).sum()
    }

    /// The limits began, or ceased, to have shares: everything is counted anew. What is in flight is not
    /// counted.
    pub(crate) fn recount_shares(&mut self) {
        self.in_use = InFlight::default();
        for held in self.leases.values_mut() {
            (held.domain, held.risky) = (None, false);
        }
        if !self.live {
            return;
        }
        for host in 0..self.hosts.len() as u32 {
            let h = &mut self.hosts[host as usize];
            h.works = false;
            if h.place == HostState::Ready {
                self.ready.put(host, &h.queues, false);
                self.unproven.put(host, &h.queues, false);
                h.place = HostState::Out;
            } else if h.place == HostState::Parked {
                h.place = HostState::Out;
            }
            self.place(host);
        }
    }

    pub(crate) fn check_shares(&self) -> Result<(), String> {
        let s = &self.in_use;
        let domains: u32 = s.domains.values().map(|d| d.in_flight).sum();
        let counted = self.leases.values().filter(|l| l.domain.is_some()).count() as u32;
        let risky = self.leases.values().filter(|l| l.risky).count() as u32;
        let works = |quick: bool| self.hosts.iter().filter(|h| h.works && (h.quick || !quick)).count() as u32;
        for (what, met, kept) in [
            ("in flight by domain", counted, domains),
            ("risky", risky, s.risky),
            ("hosts with work", works(false), s.work.values().sum()),
            ("quick hosts with work", works(true), s.quick),
        ] {
            if self.limits.shares.is_some() && met != kept {
                return Err(format!("{what}: {met}, {kept} counted"));
            }
        }
        Ok(())
    }
}
