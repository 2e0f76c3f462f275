//! The frontier at a moment: how much waits where, the best of it, and how many relevant pages may still be
//! in it.

use crawl::reader::Reader;
use frontier::HostInfo;
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::{Duration, Instant};
use store::Which;
use types::{Millis, Priority, Problem, UrlId};

/// Best URLs kept.
pub const BEST: usize = 500;
/// Bars of the frontier by score.
const BARS: usize = 24;

#[derive(Default)]
pub struct Queue {
    /// Best first.
    pub best: Vec<(Priority, UrlId)>,
    pub pending: u64,
    /// Pending URLs and their best priority, by host.
    pub hosts: Vec<(u32, f64)>,
    pub bars: Vec<Bar>,
    pub states: HostStates,
    at: Option<Instant>,
    took: Duration,
}

/// Pending URLs with a priority from `from` to `to`.
pub struct Bar {
    pub from: f64,
    pub to: f64,
    pub urls: u64,
}

#[derive(Clone, Copy, Default)]
pub struct HostStates {
    pub active: u64,
    pub waiting: u64,
    pub blocked: u64,
    pub idle: u64,
}

impl Queue {
    /// Looks again when it is due. A look at millions of URLs takes its time, so it is done the more rarely.
    pub fn update(&mut self, reader: &Reader) -> Result<(), Problem> {
        let pause = (20 * self.took).max(Duration::from_secs(1));
        if self.at.is_some_and(|at| at.elapsed() < pause) {
            return Ok(());
        }
        let begun = Instant::now();
        self.look(reader)?;
        self.took = begun.elapsed();
        self.at = Some(Instant::now());
        Ok(())
    }

    fn look(&mut self, reader: &Reader) -> Result<(), Problem> {
        let ledger = reader.ledger();
        let mut hosts = vec![(0u32, f64::NEG_INFINITY); ledger.stats()?.hosts];
        let mut best: BinaryHeap<Reverse<(Priority, Reverse<UrlId>)>> = BinaryHeap::new();
        let mut keys: Vec<f32> = Vec::new();
        for info in ledger.entries(Which::Pending) {
            let info = info?;
            let key = info.priority.key();
            keys.push(key as f32);
            if let Some(h) = info.host.and_then(|h| hosts.get_mut(h as usize)) {
                h.0 += 1;
                h.1 = h.1.max(key);
            }
            // First found first among equals.
            let place = Reverse((info.priority, Reverse(info.id)));
            if best.len() < BEST {
                best.push(place);
            } else if best.peek().is_some_and(|worst| place < *worst) {
                best.pop();
                best.push(place);
            }
        }
        let mut best: Vec<_> = best.into_iter().map(|Reverse((p, Reverse(id)))| (p, id)).collect();
        best.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
        self.best = best;
        self.pending = keys.len() as u64;
        self.hosts = hosts;
        self.bars = bars(&keys);
        self.states = self.states_of(reader)?;
        Ok(())
    }

    fn states_of(&self, reader: &Reader) -> Result<HostStates, Problem> {
        let now = Millis::steady();
        let mut out = HostStates::default();
        for (i, host) in reader.ledger().hosts()?.iter().enumerate() {
            let pending = self.hosts.get(i).map_or(0, |h| h.0);
            match host_state(host, pending, now) {
                "blocked" => out.blocked += 1,
                "waiting" | "backing off" => out.waiting += 1,
                "ready" => out.active += 1,
                _ => out.idle += 1,
            }
        }
        Ok(out)
    }
}

/// One word for where a host stands, as far as the ledger tells.
pub fn host_state(host: &HostInfo, pending: u32, now: Millis) -> &'static str {
    let clock = &host.clock;
    if clock.closed_until > now.0 || host.robots.failed() {
        "blocked"
    } else if pending == 0 {
        "idle"
    } else if clock.failures > 0 && clock.next_allowed > now.0 {
        "backing off"
    } else if clock.next_allowed > now.0 {
        "waiting"
    } else {
        "ready"
    }
}

/// The outermost hundredth at each end (a seed with a priority of 100) goes into the outermost bars.
fn bars(keys: &[f32]) -> Vec<Bar> {
    let finite = || keys.iter().copied().filter(|k| k.is_finite());
    let mut sorted: Vec<f32> = finite().collect();
    if sorted.is_empty() {
        return Vec::new();
    }
    let mut at = |i: usize| f64::from(*sorted.select_nth_unstable_by(i, f32::total_cmp).1);
    let edge = keys.len() / 100;
    let last = finite().count() - 1;
    let (low, high) = (at(edge.min(last)), at(last.saturating_sub(edge)));
    let finite = || finite().map(|k| f64::from(k).clamp(low, high));
    let width = ((high - low) / BARS as f64).max(f64::MIN_POSITIVE);
    let mut counts = [0u64; BARS];
    for k in finite() {
        counts[(((k - low) / width) as usize).min(BARS - 1)] += 1;
    }
    if high == low {
        return vec![Bar { from: low, to: high, urls: counts.iter().sum() }];
    }
    (0..BARS)
        .map(|i| Bar { from: low + i as f64 * width, to: low + (i + 1) as f64 * width, urls: counts[i] })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_hold_every_url() {
        let keys = [0.0, 0.1, 0.5, 1.0, f32::NEG_INFINITY];
        let bars = bars(&keys);
        assert_eq!(bars.len(), BARS);
        assert_eq!(bars.iter().map(|b| b.urls).sum::<u64>(), 4);
        assert_eq!((bars[0].urls, bars[BARS - 1].urls), (1, 1));
        assert_eq!(super::bars(&[0.5, 0.5]).len(), 1);
        assert!(super::bars(&[]).is_empty());
    }
}
