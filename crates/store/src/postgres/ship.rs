//! One batch, one transaction: the rows of everything a worker did since the last one. When it is sent:
//! `seal`.

use super::db::Step;
use super::ids::Slot;
use super::post::{Child, write_children};
use super::rows::{PageRows, SightRows, UrlRows, param};
use super::scratch::{Facts, Revised};
use super::{Shard, Shared, id64};
use crate::fleet::Done;
use crate::ledger::codec;
use crate::ledger::page;
use frontier::State;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use types::{Assessment, UrlId};

/// What goes to the database beside the facts of the log.
#[derive(Default)]
pub(super) struct Draft {
    /// For other shards.
    pub outbox: Vec<(i16, Vec<u8>)>,
    /// Messages of ours that were taken in.
    pub consumed: Vec<(i16, i64)>,
    pub deltas: Vec<Vec<u8>>,
    /// Verdicts of pages whose shard is elsewhere by now.
    pub far_revised: Vec<(UrlId, Revised)>,
    /// Links of a page when some of them are of other shards.
    pub children: BTreeMap<Slot, Vec<Child>>,
    /// The worker's row says something else than what is true.
    pub news: bool,
    /// The newest command that was done, and what came of each.
    pub applied: Option<u64>,
    pub effects: Vec<(u64, Done)>,
}

impl Draft {
    pub fn is_empty(&self) -> bool {
        self.outbox.is_empty()
            && self.consumed.is_empty()
            && self.deltas.is_empty()
            && self.far_revised.is_empty()
            && self.children.is_empty()
            && !self.news
            && self.applied.is_none()
    }
}

/// Deltas of one worker that are kept for the others to read.
const DELTAS_KEPT: i64 = 512;

impl Shared {
    /// What happened, as statements, and the shards they change. Clocks and hosts are not among them: those
    /// go as they are when it is sent.
    pub(super) fn steps(&mut self) -> (Vec<Step>, BTreeSet<i16>) {
        let (mut steps, mut touched) = (Vec::with_capacity(20), BTreeSet::new());
        self.url_rows(&mut steps, &mut touched);
        self.page_rows(&mut steps, &mut touched);
        self.state_rows(&mut steps);
        self.mail_rows(&mut steps, &mut touched);
        self.steering_rows(&mut steps);
        (steps, touched)
    }

    /// `held`: per host, pages that its clock counts and that are not committed with it.
    pub(super) fn host_rows(
        &self,
        facts: &Facts,
        held: &HashMap<u32, u64>,
        steps: &mut Vec<Step>,
        touched: &mut BTreeSet<i16>,
    ) {
        let crawl = self.membership.me.crawl;
        let order = self.inner.order();
        let new: HashMap<u32, &str> =
            facts.hosts.iter().map(|(number, name)| (*number, name.as_str())).collect();
        let (mut shards, mut hosts, mut names, mut clocks) = (vec![], vec![], vec![], vec![]);
        let (mut old_shards, mut old_hosts, mut old_clocks) = (vec![], vec![], vec![]);
        for &number in &facts.clocks {
            let (Some(place), Some(mut clock)) = (self.ids.host(number), order.clock(number)) else {
                continue;
            };
            self.skew.clock_to(&mut clock);
            clock.pages = clock.pages.saturating_sub(held.get(&number).copied().unwrap_or(0));
            touched.insert(place.shard);
            match new.get(&number) {
                Some(name) => {
                    shards.push(place.shard);
                    hosts.push(id64(place.host.0));
                    names.push((*name).to_string());
                    clocks.push(clock.to_bytes().to_vec());
                }
                None => {
                    old_shards.push(place.shard);
                    old_hosts.push(id64(place.host.0));
                    old_clocks.push(clock.to_bytes().to_vec());
                }
            }
        }
        if !shards.is_empty() {
            steps.push(Step {
                sql: "INSERT INTO gleaner.host (crawl, shard, host, name, clock)
                      SELECT $1, * FROM unnest($2::int2[], $3::int8[], $4::text[], $5::bytea[])
                      ON CONFLICT (crawl, shard, host) DO UPDATE SET clock = EXCLUDED.clock",
                params: vec![param(crawl), param(shards), param(hosts), param(names), param(clocks)],
            });
        }
        if !old_shards.is_empty() {
            steps.push(Step {
                sql: "UPDATE gleaner.host h SET clock = t.clock
                      FROM unnest($2::int2[], $3::int8[], $4::bytea[]) AS t(shard, host, clock)
                      WHERE h.crawl = $1 AND h.shard = t.shard AND h.host = t.host",
                params: vec![param(crawl), param(old_shards), param(old_hosts), param(old_clocks)],
            });
        }
    }

    /// Never ahead of the batch: the sitemaps that a robots.txt names are in it, and nobody asks a host again
    /// whose answer is known.
    pub(super) fn robots_rows(&self, facts: &Facts, steps: &mut Vec<Step>, touched: &mut BTreeSet<Shard>) {
        let crawl = self.membership.me.crawl;
        let (mut shards, mut hosts, mut statuses) = (vec![], vec![], vec![]);
        let (mut fetched, mut expires, mut bodies) = (vec![], vec![], vec![]);
        for (number, answer) in &facts.robots {
            let Some(place) = self.ids.host(*number) else { continue };
            touched.insert(place.shard);
            shards.push(place.shard);
            hosts.push(id64(place.host.0));
            statuses.push(i32::from(answer.status));
            fetched.push(self.skew.to_db(answer.fetched));
            expires.push(self.skew.to_db(answer.expires));
            bodies.push(answer.body.clone());
        }
        if !shards.is_empty() {
            steps.push(Step {
                sql: "INSERT INTO gleaner.robots (crawl, shard, host, status, fetched, expires, body)
                      SELECT $1, * FROM unnest($2::int2[], $3::int8[], $4::int4[], $5::int8[], $6::int8[], $7::bytea[])
                      ON CONFLICT (crawl, shard, host) DO UPDATE SET status = EXCLUDED.status,
                        fetched = EXCLUDED.fetched, expires = EXCLUDED.expires, body = EXCLUDED.body",
                params: vec![
                    param(crawl),
                    param(shards),
                    param(hosts),
                    param(statuses),
                    param(fetched),
                    param(expires),
                    param(bodies),
                ],
            });
        }
    }

    fn url_rows(&mut self, steps: &mut Vec<Step>, touched: &mut BTreeSet<i16>) {
        let crawl = self.membership.me.crawl;
        let order = self.inner.order();
        let facts = &self.inner.log().facts;
        let (mut new, mut old) = (UrlRows::default(), UrlRows::default());
        let mut sights = SightRows::default();
        let (mut revived_shards, mut revived) = (vec![], vec![]);
        for (&slot, touch) in &facts.urls {
            let inner = slot.inner();
            let (Some(info), Some(global)) = (order.info(inner), self.ids.global(slot)) else { continue };
            let (Some(place), Some(print)) = (self.ids.host_of(slot), order.print(inner)) else { continue };
            touched.insert(place.shard);
            let rows = if touch.admitted.is_some() { &mut new } else { &mut old };
            // A visit to a known page is no state of it.
            let (state, status) = match order.ended_before(inner).map_or(info.state, State::Settled) {
                State::Pending | State::Leased => (0, 0),
                State::Settled(outcome) => {
                    let (code, status) = codec::outcome_code(outcome);
                    (i16::from(code) + 1, i32::from(status))
                }
            };
            rows.shard.push(place.shard);
            rows.id.push(id64(global.0));
            rows.host.push(id64(place.host.0));
            rows.print0.push(print.0 as i64);
            rows.print1.push(print.1 as i64);
            rows.parent.push(info.parent.map(|p| id64(p.0)));
            rows.cause.push(info.cause.map(|c| id64(c.0)));
            rows.key.push(info.priority.key());
            rows.not_before.push(order.not_before(inner).map(|t| self.skew.to_db(types::Millis(t))));
            rows.expires.push(order.expires(inner).map(|e| e as i64));
            rows.model.push(id64(info.model));
            rows.depth.push(i32::from(info.depth));
            rows.site_depth.push(i32::from(info.site_depth));
            rows.status.push(status);
            rows.state.push(state);
            rows.lane.push(i16::from(info.priority.lane));
            rows.hops.push(i16::from(info.hops));
            rows.attempts.push(i16::from(info.attempts));
            if touch.revived {
                revived_shards.push(place.shard);
                revived.push(id64(global.0));
            }
            // The order counts all sightings; the last ones are these.
            let first = i16::from(order.sources_kept(inner)).saturating_sub(touch.sights.len() as i16);
            for (i, s) in touch.sights.iter().enumerate() {
                sights.shard.push(place.shard);
                sights.id.push(id64(global.0));
                sights.n.push(first + i as i16);
                sights.parent.push(s.parent.map(|p| id64(p.0)));
                sights.parent_shard.push(s.parent.and_then(|p| self.ids.shard_of(p)));
                sights.kind.push(i16::from(codec::kind_code(s.kind)));
                sights.lane.push(i16::from(s.priority.lane));
                sights.key.push(s.priority.key());
                sights.url.push(if i == 0 { touch.admitted.clone() } else { None });
                // PostgreSQL has no text with a zero in it.
                sights.anchor.push(s.anchor.replace('\0', " "));
                sights.evidence.push(s.evidence.clone());
            }
        }
        if !revived.is_empty() {
            steps.push(Step {
                sql: "DELETE FROM gleaner.sight s USING unnest($2::int2[], $3::int8[]) AS t(shard, id)
                      WHERE s.crawl = $1 AND s.shard = t.shard AND s.id = t.id",
                params: vec![param(crawl), param(revived_shards), param(revived)],
            });
        }
        if !new.id.is_empty() {
            steps.push(new.insert(crawl));
        }
        if !old.id.is_empty() {
            steps.push(old.update(crawl));
        }
        if !sights.id.is_empty() {
            steps.push(sights.insert(crawl));
        }
    }

    fn page_rows(&mut self, steps: &mut Vec<Step>, touched: &mut BTreeSet<i16>) {
        let crawl = self.membership.me.crawl;
        let facts = &self.inner.log().facts;
        let (mut rows, mut between) = (PageRows::default(), PageRows::default());
        let (mut known_shards, mut known) = (vec![], vec![]);
        let newest: HashMap<Slot, usize> = facts.pages.iter().enumerate().map(|(i, p)| (p.0, i)).collect();
        for (i, (slot, payload)) in facts.pages.iter().enumerate() {
            let (Some(place), Some(global)) = (self.ids.host_of(*slot), self.ids.global(*slot)) else {
                continue;
            };
            let Some(body) = page::after_head(payload) else { continue };
            let Some((record, _)) = page::fields(body) else { continue };
            touched.insert(place.shard);
            let is_newest = newest.get(slot) == Some(&i);
            let to = if is_newest { &mut rows } else { &mut between };
            to.shards.push(place.shard);
            to.ids.push(id64(global.0));
            to.epochs.push(self.shards.owned.get(&place.shard).copied().unwrap_or(-1));
            to.scores.push(record.assessment.score);
            to.relevant.push(record.verdict.relevant);
            to.relevance.push(record.verdict.relevance);
            to.threshold.push(record.verdict.threshold);
            to.version.push(id64(record.verdict.version));
            to.records.push(body.to_vec());
            if is_newest && facts.known.contains(slot) {
                known_shards.push(place.shard);
                known.push(id64(global.0));
            }
        }
        let versions = known.len() as i64;
        if versions > 0 {
            // What was known until now is kept, with what was last said of it.
            steps.push(Step {
                sql: "INSERT INTO gleaner.past
                        (crawl, shard, id, relevant, relevance, threshold, version, record, assessment)
                      SELECT $1, p.shard, p.id, p.relevant, p.relevance, p.threshold, p.version,
                             p.record, p.assessment
                      FROM unnest($2::int2[], $3::int8[]) AS t(shard, id)
                      JOIN gleaner.page p ON p.crawl = $1 AND p.shard = t.shard AND p.id = t.id",
                params: vec![param(crawl), param(known_shards), param(known)],
            });
        }
        if !between.ids.is_empty() {
            // Versions that came and went since the last commit.
            steps.push(Step {
                sql: "INSERT INTO gleaner.past
                        (crawl, shard, id, relevant, relevance, threshold, version, record)
                      SELECT $1, * FROM unnest($2::int2[], $3::int8[], $4::bool[], $5::float8[],
                                               $6::float8[], $7::int8[], $8::bytea[])",
                params: vec![
                    param(crawl),
                    param(between.shards),
                    param(between.ids),
                    param(between.relevant),
                    param(between.relevance),
                    param(between.threshold),
                    param(between.version),
                    param(between.records),
                ],
            });
        }
        if !rows.ids.is_empty() {
            // A page keeps its place among those that were fetched.
            steps.push(Step {
                sql: "INSERT INTO gleaner.page (crawl, slot, shard, id, epoch, score, relevant, relevance, threshold, version, record)
                      SELECT $1, $2, * FROM unnest($3::int2[], $4::int8[], $5::int8[], $6::float8[], $7::bool[], $8::float8[],
                                                   $9::float8[], $10::int8[], $11::bytea[])
                      ON CONFLICT (crawl, shard, id) DO UPDATE SET slot = EXCLUDED.slot, epoch = EXCLUDED.epoch,
                        score = EXCLUDED.score, relevant = EXCLUDED.relevant, relevance = EXCLUDED.relevance,
                        threshold = EXCLUDED.threshold, version = EXCLUDED.version, record = EXCLUDED.record,
                        assessment = NULL, revised = false, stored = clock_timestamp(),
                        first = coalesce(page.first, page.stored)",
                params: vec![
                    param(crawl),
                    param(self.membership.me.slot),
                    param(rows.shards),
                    param(rows.ids),
                    param(rows.epochs),
                    param(rows.scores),
                    param(rows.relevant),
                    param(rows.relevance),
                    param(rows.threshold),
                    param(rows.version),
                    param(rows.records),
                ],
            });
        }
        if versions > 0 {
            steps.push(self.revisions_row(versions));
        }
        let (mut shards, mut ids, mut lists) = (vec![], vec![], vec![]);
        let known = |c: &Slot| self.ids.global(*c).map(Child::Known);
        for (slot, children) in &facts.links {
            if self.outgoing.draft.children.contains_key(slot) {
                continue;
            }
            let (Some(place), Some(global)) = (self.ids.host_of(*slot), self.ids.global(*slot)) else {
                continue;
            };
            shards.push(place.shard);
            ids.push(id64(global.0));
            lists.push(write_children(&children.iter().filter_map(known).collect::<Vec<_>>()));
        }
        for (slot, children) in &self.outgoing.draft.children {
            let (Some(place), Some(global)) = (self.ids.host_of(*slot), self.ids.global(*slot)) else {
                continue;
            };
            shards.push(place.shard);
            ids.push(id64(global.0));
            lists.push(write_children(children));
        }
        touched.extend(&shards);
        if !ids.is_empty() {
            steps.push(Step {
                sql: "INSERT INTO gleaner.link (crawl, shard, id, children)
                      SELECT $1, * FROM unnest($2::int2[], $3::int8[], $4::bytea[])
                      ON CONFLICT (crawl, shard, id) DO UPDATE SET children = EXCLUDED.children",
                params: vec![param(crawl), param(shards), param(ids), param(lists)],
            });
        }
        let here = facts
            .revised
            .iter()
            .filter_map(|(slot, r)| Some((self.ids.host_of(*slot)?.shard, self.ids.global(*slot)?, r)));
        let far = self
            .outgoing
            .draft
            .far_revised
            .iter()
            .filter_map(|(id, r)| Some((self.ids.shard_of(*id)?, *id, r)));
        let revised: Vec<(Shard, UrlId, &Revised)> = here.chain(far).collect();
        if !revised.is_empty() {
            let score = |r: &Revised| {
                let bytes = r.assessment.as_ref()?;
                postcard::from_bytes::<Assessment>(bytes).ok().map(|a| a.score)
            };
            steps.push(Step {
                sql: "UPDATE gleaner.page p SET relevant = t.relevant, relevance = t.relevance,
                             threshold = t.threshold, version = t.version, revised = true,
                             score = coalesce(t.score, p.score), assessment = coalesce(t.assessment, p.assessment)
                      FROM unnest($2::int2[], $3::int8[], $4::bool[], $5::float8[], $6::float8[], $7::int8[],
                                  $8::float8[], $9::bytea[])
                           AS t(shard, id, relevant, relevance, threshold, version, score, assessment)
                      WHERE p.crawl = $1 AND p.shard = t.shard AND p.id = t.id",
                params: vec![
                    param(crawl),
                    param(revised.iter().map(|r| r.0).collect::<Vec<_>>()),
                    param(revised.iter().map(|r| id64(r.1.0)).collect::<Vec<_>>()),
                    param(revised.iter().map(|r| r.2.verdict.relevant).collect::<Vec<_>>()),
                    param(revised.iter().map(|r| r.2.verdict.relevance).collect::<Vec<_>>()),
                    param(revised.iter().map(|r| r.2.verdict.threshold).collect::<Vec<_>>()),
                    param(revised.iter().map(|r| id64(r.2.verdict.version)).collect::<Vec<_>>()),
                    param(revised.iter().map(|r| score(r.2)).collect::<Vec<_>>()),
                    param(revised.iter().map(|r| r.2.assessment.clone()).collect::<Vec<_>>()),
                ],
            });
            steps.push(self.revisions_row(revised.len() as i64));
        }
    }

    /// Whoever reads along sees by it that what was read before is out of date.
    fn revisions_row(&self, more: i64) -> Step {
        Step {
            sql: "UPDATE gleaner.worker SET revisions = revisions + $3 WHERE crawl = $1 AND slot = $2",
            params: vec![param(self.membership.me.crawl), param(self.membership.me.slot), param(more)],
        }
    }

    /// A whole state is row 0, each change after it the next row.
    fn state_rows(&mut self, steps: &mut Vec<Step>) {
        let facts = &self.inner.log().facts;
        let mut rows: BTreeMap<(&str, i64), &[u8]> = BTreeMap::new();
        let mut whole: BTreeSet<&str> = BTreeSet::new();
        let mut next: HashMap<String, i64> = HashMap::new();
        for (name, change, bytes) in &facts.state {
            let at = next.get(name).or_else(|| self.outgoing.state_rows.get(name)).copied().unwrap_or(1);
            if *change {
                rows.insert((name, at), bytes);
                next.insert(name.clone(), at + 1);
            } else {
                rows.retain(|(n, _), _| n != name);
                rows.insert((name, 0), bytes);
                whole.insert(name);
                next.insert(name.clone(), 1);
            }
        }
        let crawl = self.membership.me.crawl;
        // Most whole states never had a change appended: nothing to delete.
        let stale: Vec<String> = whole
            .into_iter()
            .filter(|name| self.outgoing.state_rows.get(*name).is_some_and(|n| *n > 1))
            .map(str::to_string)
            .collect();
        if !stale.is_empty() {
            steps.push(Step {
                sql: "DELETE FROM gleaner.state WHERE crawl = $1 AND slot = $2 AND name = ANY($3) AND n > 0",
                params: vec![param(crawl), param(self.membership.me.slot), param(stale)],
            });
        }
        if !rows.is_empty() {
            steps.push(Step {
                sql: "INSERT INTO gleaner.state (crawl, slot, name, n, bytes)
                      SELECT $1, $2, * FROM unnest($3::text[], $4::int8[], $5::bytea[])
                      ON CONFLICT (crawl, slot, name, n) DO UPDATE SET bytes = EXCLUDED.bytes",
                params: vec![
                    param(crawl),
                    param(self.membership.me.slot),
                    param(rows.keys().map(|k| k.0.to_string()).collect::<Vec<_>>()),
                    param(rows.keys().map(|k| k.1).collect::<Vec<_>>()),
                    param(rows.values().map(|b| b.to_vec()).collect::<Vec<_>>()),
                ],
            });
        }
        self.outgoing.next_state_rows = next;
    }

    fn mail_rows(&mut self, steps: &mut Vec<Step>, touched: &mut BTreeSet<i16>) {
        let crawl = self.membership.me.crawl;
        if !self.outgoing.draft.outbox.is_empty() {
            let (shards, messages): (Vec<i16>, Vec<Vec<u8>>) =
                self.outgoing.draft.outbox.iter().cloned().unzip();
            steps.push(Step {
                sql: "INSERT INTO gleaner.outbox (crawl, shard, message)
                      SELECT $1, * FROM unnest($2::int2[], $3::bytea[])",
                params: vec![param(crawl), param(shards), param(messages)],
            });
        }
        if !self.outgoing.draft.consumed.is_empty() {
            let (shards, seqs): (Vec<i16>, Vec<i64>) = self.outgoing.draft.consumed.iter().copied().unzip();
            touched.extend(&shards);
            steps.push(Step {
                sql: "DELETE FROM gleaner.outbox o USING unnest($2::int2[], $3::int8[]) AS t(shard, seq)
                      WHERE o.crawl = $1 AND o.shard = t.shard AND o.seq = t.seq",
                params: vec![param(crawl), param(shards), param(seqs)],
            });
        }
        if !self.outgoing.draft.deltas.is_empty() {
            let numbers: Vec<i64> = (1..=self.outgoing.draft.deltas.len() as i64)
                .map(|i| self.outgoing.deltas_sent + i)
                .collect();
            let oldest = self.outgoing.deltas_sent - DELTAS_KEPT;
            steps.push(Step {
                sql: "INSERT INTO gleaner.delta (crawl, slot, n, bytes)
                      SELECT $1, $2, * FROM unnest($3::int8[], $4::bytea[]) ON CONFLICT DO NOTHING",
                params: vec![
                    param(crawl),
                    param(self.membership.me.slot),
                    param(numbers),
                    param(self.outgoing.draft.deltas.clone()),
                ],
            });
            steps.push(Step {
                sql: "DELETE FROM gleaner.delta WHERE crawl = $1 AND slot = $2 AND n <= $3",
                params: vec![param(crawl), param(self.membership.me.slot), param(oldest)],
            });
        }
    }
}
