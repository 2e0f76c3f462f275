//! When a batch goes to the database. Without more ado, unless pages in it are still on their way to a
//! bucket: then it is sealed (what is in it is fixed), and sent when the bucket has them. The loop goes on
//! meanwhile, and fills the next one.
//!
//! ```text
//!  happens …  ──► facts ── seal ──► sealed ── safe? ──► one transaction
//!                            └► uploads: everything appended so far, a ticket
//! ```
//! What others must know at once (a host that is about to be contacted, one that asked to be left alone, how
//! much of the budget is spent) is told ahead of it.

use super::Shared;
use super::db::Step;
use super::membership::Kept;
use super::rows::param;
use super::scratch::Facts;
use super::ship::Draft;
use crate::archive::Uploads;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::{Duration, Instant};
use types::{Priority, Problem};

/// Pages wait no longer than this for company when someone has nothing to do, or waits for an answer.
const SHORT_HOLD: Duration = Duration::from_millis(500);

/// What goes to the database: the batch that is being filled, the one that waits, and how far it came.
pub(super) struct Outgoing {
    pub draft: Draft,
    /// A batch that waits for the archive's bucket.
    sealed: Option<Sealed>,
    archive: Option<Ahead>,
    /// What the database says of how this worker stands.
    announced: Standing,
    /// The last batch that was committed.
    batch: i64,
    /// What is waiting to be committed must not wait (a host asked to be left alone).
    pub urgent: bool,
    sent_at: Instant,
    /// Hosts with smaller numbers are known to everyone.
    pub hosts_sent: u32,
    /// Next row of each named state; and what it will be after the batch that is being sent.
    pub state_rows: HashMap<String, i64>,
    pub next_state_rows: HashMap<String, i64>,
    pub deltas_sent: i64,
}

impl Outgoing {
    /// Of a worker that has just joined.
    pub fn new(kept: &Kept) -> Outgoing {
        Outgoing {
            draft: Draft::default(),
            sealed: None,
            archive: None,
            announced: Standing::at_first(kept),
            batch: 0,
            urgent: false,
            sent_at: Instant::now(),
            hosts_sent: 0,
            state_rows: HashMap::new(),
            next_state_rows: HashMap::new(),
            deltas_sent: 0,
        }
    }

    /// The worker joins anew: nothing of what was not committed is left.
    pub fn begin_anew(&mut self, kept: &Kept) {
        *self = Outgoing { archive: self.archive.take(), ..Outgoing::new(kept) };
    }
}

/// An archive that must be written first.
pub(super) struct Ahead {
    uploads: Arc<Uploads>,
    /// How long pages wait for company: objects should not be too small.
    every: Duration,
}

/// A batch whose content is fixed.
pub(super) struct Sealed {
    steps: Vec<Step>,
    touched: BTreeSet<i16>,
    standing: Standing,
    ticket: Option<u64>,
    pub facts: Facts,
    pub out: Draft,
}

/// How a worker stands, for the others.
#[derive(Clone, Copy, Debug, Default)]
struct Standing {
    pages: i64,
    relevant: i64,
    step: i64,
    in_flight: i64,
    idle: bool,
    watermark: Option<Priority>,
}

impl Standing {
    /// Of a worker that has just joined.
    fn at_first(kept: &Kept) -> Standing {
        Standing { pages: kept.pages, relevant: kept.relevant, step: kept.step as i64, ..Standing::default() }
    }
}

impl Shared {
    /// From now on nothing is committed whose pages are not in the archive's bucket. Pages wait for up to
    /// `every` for others to go with them.
    pub fn archive_first(&mut self, uploads: Arc<Uploads>, every: Duration) {
        self.outgoing.archive = Some(Ahead { uploads, every });
    }

    /// Is anything waiting for the bucket?
    pub(super) fn is_holding(&self) -> bool {
        self.outgoing.sealed.is_some() || self.outgoing.archive.as_ref().is_some_and(|a| a.uploads.is_busy())
    }

    /// What was done and is not committed, the newest first.
    pub(super) fn uncommitted(&self) -> impl Iterator<Item = (&Facts, &Draft)> {
        let sealed = self.outgoing.sealed.as_ref().map(|s| (&s.facts, &s.out));
        std::iter::once((&self.inner.log().facts, &self.outgoing.draft)).chain(sealed)
    }

    /// Sends everything. When the database or the bucket is away it is waited for; when the claim is gone, so
    /// is the batch.
    pub(super) fn ship(&mut self) -> Result<(), Problem> {
        self.send_sealed(true)?;
        self.seal()?;
        self.send_sealed(true)
    }

    /// What is due by itself.
    pub(super) fn commit_if_due(&mut self) -> Result<(), Problem> {
        self.send_sealed(false)?;
        if !self.is_holding() {
            let due = self.outgoing.urgent || self.outgoing.sent_at.elapsed() >= self.options.commit_within;
            return if due { self.ship() } else { Ok(()) };
        }
        if self.outgoing.urgent {
            self.tell()?;
        }
        let Some(ahead) = &self.outgoing.archive else { return Ok(()) };
        ahead.uploads.check()?;
        // Whoever asked for something waits to hear of it, as do those without work for ours.
        let short = self.work.idle || self.peers.idle || self.outgoing.draft.applied.is_some();
        let hold = if short { ahead.every.min(SHORT_HOLD) } else { ahead.every };
        let waiting = ahead.uploads.waiting();
        if self.outgoing.sealed.is_none() {
            if waiting.is_none_or(|w| w >= hold) {
                self.seal()?;
                return self.send_sealed(false);
            }
        } else if waiting.is_some_and(|w| w >= 2 * ahead.every) {
            // The bucket is slower than the crawl: wait for it, rather than gather ever more that a crash
            // would lose.
            return self.send_sealed(true);
        }
        Ok(())
    }

    /// Fixes what happened so far as a batch.
    fn seal(&mut self) -> Result<(), Problem> {
        if self.membership.lost || self.outgoing.sealed.is_some() {
            return Ok(());
        }
        // The ledger's own batch first: its records become facts.
        frontier::Frontier::commit(&mut self.inner)?;
        let ticket = self.outgoing.archive.as_ref().map(|a| a.uploads.seal());
        if self.inner.log().facts.is_empty() && self.outgoing.draft.is_empty() {
            self.outgoing.sent_at = Instant::now();
            return Ok(());
        }
        let (steps, touched) = self.steps();
        let standing = self.standing();
        let sent_state = std::mem::take(&mut self.outgoing.next_state_rows);
        self.outgoing.state_rows.extend(sent_state);
        self.outgoing.deltas_sent += self.outgoing.draft.deltas.len() as i64;
        let facts = std::mem::take(&mut self.inner.log_mut().facts);
        let out = std::mem::take(&mut self.outgoing.draft);
        self.outgoing.sealed = Some(Sealed { steps, touched, standing, ticket, facts, out });
        self.outgoing.sent_at = Instant::now();
        Ok(())
    }

    fn standing(&self) -> Standing {
        Standing {
            pages: self.work.pages,
            relevant: self.work.relevant,
            step: self.inner.order().step() as i64,
            in_flight: self.inner.order().counts().leased as i64,
            idle: self.work.idle,
            watermark: self.work.watermark,
        }
    }

    /// Sends the sealed batch, if there is one and the bucket has what it speaks of. `wait` until it has.
    fn send_sealed(&mut self, wait: bool) -> Result<(), Problem> {
        let Some(sealed) = &self.outgoing.sealed else { return Ok(()) };
        if self.membership.lost {
            self.outgoing.sealed = None;
            return Ok(());
        }
        if let (Some(ticket), Some(ahead)) = (sealed.ticket, &self.outgoing.archive) {
            if wait {
                ahead.uploads.wait_for(ticket)?;
            } else if !ahead.uploads.is_safe(ticket)? {
                return Ok(());
            }
        }
        let Some(mut sealed) = self.outgoing.sealed.take() else { return Ok(()) };
        // Clocks as they are now: they may have been told since.
        let held = self.pages_by_host(&[&self.inner.log().facts]);
        let mut steps = Vec::with_capacity(sealed.steps.len() + 5);
        self.host_rows(&sealed.facts, &held, &mut steps, &mut sealed.touched);
        self.robots_rows(&sealed.facts, &mut steps, &mut sealed.touched);
        let clocks = steps.len();
        steps.append(&mut sealed.steps);
        match self.transact(sealed.standing, &sealed.touched, &mut steps) {
            Ok(true) => {}
            // Whoever has no claim joins anew: this batch is void.
            Ok(false) => return Ok(()),
            Err(e) => {
                // A later commit takes it up again.
                sealed.steps = steps.split_off(clocks.min(steps.len()));
                self.outgoing.sealed = Some(sealed);
                return Err(e);
            }
        }
        self.outgoing.announced = sealed.standing;
        self.far.pages.extend(sealed.out.children.keys().copied());
        self.outgoing.hosts_sent =
            self.outgoing.hosts_sent.max(sealed.facts.hosts.iter().map(|h| h.0 + 1).max().unwrap_or(0));
        self.outgoing.urgent &= self.is_holding();
        Ok(())
    }

    /// What must not wait for the bucket: new hosts, clocks, how this worker stands. Everything else stays as
    /// it is.
    pub(super) fn tell(&mut self) -> Result<(), Problem> {
        if self.membership.lost {
            return Ok(());
        }
        frontier::Frontier::commit(&mut self.inner)?;
        let (mut steps, mut touched) = (Vec::new(), BTreeSet::new());
        let facts: Vec<&Facts> = self.uncommitted().map(|(facts, _)| facts).collect();
        let held = self.pages_by_host(&facts);
        // The older ones first: of a host that is new there, more may be known here.
        for facts in facts.iter().rev() {
            self.host_rows(facts, &held, &mut steps, &mut touched);
        }
        let standing = Standing {
            // Pages that are not committed count as long as this worker lives.
            in_flight: self.inner.order().counts().leased as i64
                + (self.work.pages - self.outgoing.announced.pages).max(0),
            // Whoever asks whether all is done must not be told so by one whose mail is not sent.
            idle: false,
            watermark: self.work.watermark,
            ..self.outgoing.announced
        };
        if self.transact(standing, &touched, &mut steps)? {
            self.outgoing.hosts_sent = self.inner.order().host_count() as u32;
            self.outgoing.urgent = false;
        }
        Ok(())
    }

    /// One transaction, as the next batch. `false`: the claim is gone. `rest` is as before afterwards.
    fn transact(
        &mut self,
        standing: Standing,
        touched: &BTreeSet<i16>,
        rest: &mut Vec<Step>,
    ) -> Result<bool, Problem> {
        let batch = self.outgoing.batch + 1;
        let mut steps = Vec::with_capacity(rest.len() + 2);
        steps.push(self.standing_row(standing, batch));
        let mut checks = vec![Some(batch)];
        if !touched.is_empty() {
            steps.push(self.claim_check(touched));
            checks.push(Some(touched.len() as i64));
        }
        let head = steps.len();
        steps.append(rest);
        // In another history than this worker knows nothing of this may be written.
        let sent = self.db.patiently(|| match self.db.has_changed_history() {
            true => Ok(false),
            false => self.db.transact(&steps, &checks),
        });
        *rest = steps.split_off(head);
        let done = match sent.map_err(|e| self.db.problem("write to", &e))? {
            true => true,
            // The claim is gone, or the history changed; or the answer to an earlier try was lost, and it had
            // worked.
            false => self.committed(batch)?,
        };
        if done {
            self.outgoing.batch = batch;
        } else {
            self.membership.lost = true;
        }
        Ok(done)
    }

    fn committed(&self, batch: i64) -> Result<bool, Problem> {
        let rows = self.db.ask(
            "SELECT 1 FROM gleaner.worker WHERE crawl = $1 AND slot = $2 AND incarnation = $3 AND batch = $4",
            &[&self.membership.me.crawl, &self.membership.me.slot, &self.membership.me.incarnation, &batch],
        )?;
        Ok(!rows.is_empty())
    }

    /// "My row, my incarnation, the batch after the last", and what the others want to know.
    fn standing_row(&self, s: Standing, batch: i64) -> Step {
        Step {
            sql: "UPDATE gleaner.worker SET batch = $4::int8, step = $5, pages = $6, relevant = $7, in_flight = $8,
                         idle = $9, lane = $10, key = $11, statements = $12
                  WHERE crawl = $1 AND slot = $2 AND incarnation = $3 AND batch = $4::int8 - 1 RETURNING batch",
            params: vec![
                param(self.membership.me.crawl),
                param(self.membership.me.slot),
                param(self.membership.me.incarnation),
                param(batch),
                param(s.step),
                param(s.pages),
                param(s.relevant),
                param(s.in_flight),
                param(s.idle),
                param(s.watermark.map(|p| i16::from(p.lane))),
                param(s.watermark.map(|p| p.key())),
                param(self.db.statements() as i64),
            ],
        }
    }

    /// "These shards, these epochs, locked."
    fn claim_check(&self, touched: &BTreeSet<i16>) -> Step {
        let shards: Vec<i16> = touched.iter().copied().collect();
        let epochs: Vec<i64> =
            shards.iter().map(|s| self.shards.owned.get(s).copied().unwrap_or(-1)).collect();
        Step {
            sql: "SELECT count(*) FROM (SELECT 1 FROM gleaner.shard s
                    JOIN unnest($3::int2[], $4::int8[]) AS t(shard, epoch) ON s.shard = t.shard
                    WHERE s.crawl = $1 AND s.owner = $2 AND s.epoch = t.epoch FOR SHARE OF s) AS held",
            params: vec![
                param(self.membership.me.crawl),
                param(self.membership.me.incarnation),
                param(shards),
                param(epochs),
            ],
        }
    }

    /// How many pages of each host are in these facts: a clock that goes ahead of them must not count them.
    fn pages_by_host(&self, facts: &[&Facts]) -> HashMap<u32, u64> {
        let mut held = HashMap::new();
        for (slot, facts) in facts.iter().flat_map(|f| f.pages.iter().map(move |page| (&page.0, *f))) {
            if facts.known.contains(slot) {
                continue;
            }
            if let Some(host) = self.inner.order().host_of(slot.inner()) {
                *held.entry(host).or_default() += 1;
            }
        }
        held
    }

    /// Messages that were taken in, or handed to the loop, and are not yet deleted.
    pub(super) fn mail_taken(&self) -> Vec<i64> {
        let taken = self.uncommitted().flat_map(|(_, out)| out.consumed.iter()).map(|c| c.1);
        taken.chain(self.peers.seeds.iter().map(|ticket| ticket.seq)).collect()
    }

    /// What is told of the budget ahead of the pages that spent it.
    pub(super) fn tell_budget(&mut self) -> Result<(), Problem> {
        if self.options.budget && self.is_holding() && self.work.pages > self.outgoing.announced.pages {
            self.tell()?;
        }
        Ok(())
    }

    /// Every host must be known before it is contacted.
    pub(super) fn announce_hosts(&mut self) -> Result<(), Problem> {
        if self.is_holding() { self.tell() } else { self.ship() }
    }
}
