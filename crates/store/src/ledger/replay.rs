//! Rebuilds the order in memory by replaying the log.

use super::codec::{self, Admit, FRAME_HEAD, In, Kind, Settled, Sight};
use super::{Ledger, Log, Options, page};
use frontier::{NewUrl, Order, RobotsState, State};
use types::{Fingerprint, Outcome, Problem, UrlId};

/// Read at a time. A frame that is larger is read whole.
const CHUNK: usize = 4 << 20;

/// How a run over the log ended.
enum End {
    /// At its last byte.
    Whole,
    /// At this offset: what follows was being written when the process or the machine stopped.
    Torn(u64),
    /// At this offset, though what follows it was durable later: the disk lost something.
    Damaged(u64),
}

/// What a newer version wrote in a way that this one cannot read: what it is, its format, and the newest
/// known one.
fn newer(kind: Kind, payload: &[u8]) -> Option<(&'static str, u32, u32)> {
    let (what, found, known) = match kind {
        Kind::Meta => ("a ledger", In(payload).u32()?, codec::FORMAT),
        Kind::Page => {
            let version = page::after_head(payload).and_then(|b| b.first().copied())?;
            ("a page", u32::from(version), u32::from(page::VERSION))
        }
        _ => return None,
    };
    (found > known).then_some((what, found, known))
}

impl<L: Log> Ledger<L> {
    /// Takes in what is in the log, from the newest usable checkpoint on. `true` when the last run ended in
    /// order. Whoever writes refuses a damaged log and cuts off a commit that was not finished.
    pub(super) fn load(&mut self, options: &Options, writes: bool) -> Result<bool, Problem> {
        self.load_checkpoint(options);
        let (torn, broken) = match self.replay_tail()? {
            End::Whole => (None, None),
            End::Torn(at) => (Some(at), None),
            End::Damaged(at) => (None, Some(at)),
        };
        if let Some(damage) = self.find_damage(broken) {
            if writes {
                return Err(damage.problem(&self.log.name()));
            }
            self.damage = Some(damage);
        }
        if let Some(at) = torn {
            self.torn = self.log.len() - at;
            if writes {
                self.log.truncate(at).map_err(|e| self.io("write", &e))?;
                // A checkpoint of what was just cut off must never be believed.
                for pos in self.log.checkpoints().unwrap_or_default() {
                    if pos > at {
                        self.log.remove_checkpoint(pos).map_err(|e| self.io("write", &e))?;
                    }
                }
            }
        }
        Ok(self.closed)
    }

    /// Reads on from `base`. `true` when there was something new.
    pub(super) fn follow(&mut self) -> Result<bool, Problem> {
        self.log.refresh().map_err(|e| self.io("read", &e))?;
        let before = self.base;
        self.replay_tail()?;
        Ok(self.base > before)
    }

    fn replay_tail(&mut self) -> Result<End, Problem> {
        let end = self.log.len();
        let mut buffer: Vec<u8> = Vec::new();
        // Offset of the first byte of `buffer`, and how much of it is used up.
        let (mut start, mut used) = (self.base, 0);
        while self.base < end {
            let mut rest = buffer.get(used..).unwrap_or_default();
            let want = match codec::frame_head(rest, self.base) {
                Some((len, _)) => FRAME_HEAD + len,
                None if rest.len() >= FRAME_HEAD => return self.judge_end(self.base),
                None => FRAME_HEAD,
            };
            if rest.len() < want {
                if self.base + want as u64 > end {
                    return self.judge_end(self.base);
                }
                start += used as u64;
                used = 0;
                let size = want.max(CHUNK).min((end - start) as usize);
                buffer.resize(size, 0);
                let n = self.log.read_at(start, &mut buffer).map_err(|e| self.io("read", &e))?;
                buffer.truncate(n);
                if n < want.min(size) {
                    return self.judge_end(self.base);
                }
                continue;
            }
            rest = &rest[..want];
            let body = &rest[FRAME_HEAD..];
            if !codec::body_is_whole(body) {
                return self.judge_end(self.base);
            }
            self.replay_frame(body)?;
            self.last_frame = self.base;
            self.base += want as u64;
            used += want;
        }
        Ok(End::Whole)
    }

    /// A frame at `bad` is not whole. If a whole one comes after it and says that the log was durable beyond
    /// `bad`, this is damage; otherwise it is the end that a crash tore off (blocks may reach a disk in any
    /// order).
    fn judge_end(&self, bad: u64) -> Result<End, Problem> {
        let end = self.log.len();
        let mut at = bad + 1;
        let mut buffer = vec![0; CHUNK + FRAME_HEAD];
        while at + FRAME_HEAD as u64 <= end {
            let n = self.log.read_at(at, &mut buffer).map_err(|e| self.io("read", &e))?;
            let Some(last) = n.checked_sub(FRAME_HEAD) else { break };
            for i in 0..=last {
                let offset = at + i as u64;
                if let Some((len, synced)) = codec::frame_head(&buffer[i..n], offset)
                    && synced > bad
                    && self.frame_is_whole(offset, len)
                {
                    return Ok(End::Damaged(bad));
                }
            }
            at += last as u64 + 1;
        }
        Ok(End::Torn(bad))
    }

    fn frame_is_whole(&self, offset: u64, len: usize) -> bool {
        let from = offset + FRAME_HEAD as u64;
        if from + len as u64 > self.log.len() {
            return false;
        }
        let mut body = vec![0; len];
        self.log.read_at(from, &mut body).is_ok_and(|n| n == len) && codec::body_is_whole(&body)
    }

    fn replay_frame(&mut self, body: &[u8]) -> Result<(), Problem> {
        let mut at = 0;
        while let Some((kind, payload, n)) = body.get(at..).and_then(codec::next_record_unchecked) {
            let offset = self.base + (FRAME_HEAD + at) as u64;
            let Some(kind) = Kind::of(kind) else {
                return Err(Problem::new(format!("{} was written by a newer version", self.log.name()))
                    .because(format!("record of kind {kind} at byte {offset}"))
                    .hint("update gleaner, then run the same command again"));
            };
            if let Some((what, found, known)) = newer(kind, payload) {
                return Err(Problem::new(format!("{} was written by a newer version", self.log.name()))
                    .because(format!("{what} of format {found} at byte {offset}; this version knows {known}"))
                    .hint("update gleaner, then run the same command again; nothing was changed"));
            }
            if self.replay(kind, offset, payload).is_none() {
                return Err(self.damaged(offset));
            }
            at += n;
        }
        Ok(())
    }

    fn replay(&mut self, kind: Kind, offset: u64, payload: &[u8]) -> Option<()> {
        let known = |order: &Order, id: UrlId| ((id.0 as usize) < order.len()).then_some(());
        self.closed = false;
        match kind {
            Kind::Meta => {
                let mut r = In(payload);
                if r.u32()? != codec::FORMAT {
                    return None;
                }
                self.order = Order::asleep(self.order.limits().clone(), (r.u64()?, r.u64()?));
            }
            Kind::Host => {
                let name = std::str::from_utf8(payload).ok()?;
                self.order.add_host(name);
            }
            Kind::Admit => {
                let a = Admit::get(payload)?;
                ((a.host as usize) < self.order.host_count()).then_some(())?;
                let fresh = NewUrl {
                    url: a.url,
                    print: Fingerprint::of(a.url, self.order.key()),
                    offset,
                    host: a.host,
                    parent: a.seen.parent,
                    depth: a.depth,
                    site_depth: a.site_depth,
                    hops: a.hops,
                    priority: a.seen.priority,
                    model: a.model,
                    expires: a.expires,
                };
                if a.id.0 as usize == self.order.len() {
                    self.order.insert(&fresh);
                } else {
                    known(&self.order, a.id)?;
                    self.order.revive(a.id, &fresh);
                }
            }
            Kind::Sight => {
                let s = Sight::get(payload)?;
                known(&self.order, s.id)?;
                self.order.sight(s.id, Some(offset), s.merged, s.model, s.expires);
            }
            Kind::Settle => {
                let s = Settled::get(payload)?;
                known(&self.order, s.id)?;
                self.order.settle(s.id, s.outcome);
                self.order.set_offset(s.id, offset);
                self.order.at_step(s.step);
            }
            Kind::Retry => {
                let (id, not_before, step, anew) = codec::get_retry(payload)?;
                known(&self.order, id)?;
                if anew {
                    self.order.restart(id);
                } else {
                    self.order.retry(id, not_before);
                }
                self.order.at_step(step);
            }
            Kind::Clock => {
                let (host, clock) = codec::get_clock(payload)?;
                self.order.set_clock(host, clock);
            }
            Kind::Robots => {
                let (host, a) = codec::get_robots(payload)?;
                let state =
                    RobotsState { offset, status: a.status, fetched: a.fetched.0, expires: a.expires.0 };
                self.order.set_robots(host, state);
            }
            Kind::Rescore => {
                let order = &mut self.order;
                codec::get_rescored(payload, |r| order.rescore(r.id, r.priority, r.model, r.cause))?;
            }
            Kind::Page => {
                let (id, _) = page::page_head(payload)?;
                known(&self.order, id)?;
                // A page comes before the record that its URL is settled: this one was settled before.
                let before = self.order.info(id).map(|i| i.state);
                self.superseded += u64::from(before == Some(State::Settled(Outcome::Fetched)));
                self.pages.push(offset);
                self.order.set_offset(id, offset);
            }
            Kind::Revise => {
                let (id, _, _) = codec::get_revise(payload)?;
                known(&self.order, id)?;
                self.order.set_offset(id, offset);
                self.revised.insert(id.0);
                self.revisions += 1;
            }
            Kind::State => {
                let (name, change, _) = codec::get_state(payload)?;
                self.note_state(name, change, offset);
            }
            Kind::Drop => {
                let (outcome, ids) = codec::get_drop(payload)?;
                for id in ids {
                    known(&self.order, id)?;
                    self.order.settle(id, outcome);
                }
            }
            Kind::Opened => {}
            Kind::Closed => self.closed = true,
        }
        Some(())
    }

    pub(super) fn note_state(&mut self, name: &str, change: bool, offset: u64) {
        match self.states.get_mut(name) {
            Some(offsets) => {
                if !change {
                    offsets.clear();
                }
                offsets.push(offset);
            }
            None => {
                self.states.insert(name.to_string(), vec![offset]);
            }
        }
    }
}
