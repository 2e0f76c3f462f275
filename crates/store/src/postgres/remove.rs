//! Takes pages out of a crawl, for good: their records and earlier versions, the words of links that stood on
//! them, and what every state says of them. The URLs stay, as out of scope.
//!
//! It is one transaction. While it lasts nobody joins the crawl, and nobody takes its shards; a worker that
//! is alive is not waited for, it is told to the user.

use super::db::Db;
use super::look::record_from;
use super::open::{CrawlRow, choose};
use super::post::{self, Message};
use super::{id64, url_id};
use crate::ledger::{codec, page};
use frontier::State;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;
use types::{ArchiveRef, Canon, Outcome, Problem, Record, StateKey, Url, UrlId};

/// The archive is written again while the transaction is open: the server must not end it for that.
const SILENCE: Duration = Duration::from_secs(12 * 3_600);
const PATIENCE: Duration = Duration::from_secs(10);
/// Rows that are read at once.
const PIECE: i64 = 500;

/// A crawl from which pages are removed. Dropped before [`Remover::commit`], nothing is changed.
pub struct Remover {
    db: Db,
    crawl: CrawlRow,
    name: String,
}

/// A URL that may be meant.
pub struct Named {
    /// Its number.
    pub id: UrlId,
    /// As the crawl spells it.
    pub url: Url,
    /// How it stands.
    pub state: State,
    shard: i16,
}

/// A version of a page that goes.
pub struct Going {
    /// With its place in the archive.
    pub record: Record,
    /// The newest one.
    pub is_page: bool,
}

/// Where an answer is now that stood somewhere else.
pub type Moved<'a> = &'a dyn Fn(&ArchiveRef) -> Option<ArchiveRef>;
/// A piece of state without what it says of pages that go; `None`: nothing is left.
pub type Without<'a> = &'a dyn Fn(&str, &[u8]) -> Option<Vec<u8>>;

impl Remover {
    /// Begins: from here on nobody joins the crawl. Fails when a worker is alive.
    pub fn begin(url: &str, name: Option<&str>) -> Result<Remover, Problem> {
        let db = Db::connect(url, SILENCE, PATIENCE)?;
        let (name, crawl) = choose(&db, name)?;
        let remover = Remover { db, crawl, name };
        let begun = remover.db.run(async { remover.db.client().batch_execute("BEGIN").await });
        begun.map_err(|e| remover.db.problem("write to", &e))?;
        let crawl = remover.crawl.crawl;
        remover.read("SELECT 1 FROM gleaner.crawl WHERE crawl = $1 FOR UPDATE", &[&crawl])?;
        remover
            .read("SELECT shard FROM gleaner.shard WHERE crawl = $1 ORDER BY shard FOR UPDATE", &[&crawl])?;
        let alive = remover.read(
            "SELECT name FROM gleaner.worker
             WHERE crawl = $1 AND incarnation > 0 AND expires >= now() ORDER BY slot",
            &[&crawl],
        )?;
        let names: Vec<&str> = alive.iter().map(|r| r.get(0)).collect();
        if !names.is_empty() {
            let what = format!("workers of `{}` are running: {}", remover.name, names.join(", "));
            return Err(Problem::new(what).because("they have in memory what is to go").hint(
                "`gleaner steer --store … stop` ends them (a killed one counts until its lease runs out); \
                 then run this again",
            ));
        }
        Ok(remover)
    }

    /// Name of the crawl.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn read(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Problem> {
        // Not patiently: another connection would be outside of the transaction.
        self.db.query(sql, params).map_err(|e| self.db.problem("read from", &e))
    }

    fn write(&self, sql: &'static str, params: &[&(dyn ToSql + Sync)]) -> Result<u64, Problem> {
        self.db.execute(sql, params).map_err(|e| self.db.problem("write to", &e))
    }

    /// Every URL that is meant.
    pub fn named(&self, is_meant: &dyn Fn(&Url) -> bool) -> Result<Vec<Named>, Problem> {
        let canon = Canon { drop_params: Vec::new(), max_length: usize::MAX };
        let mut found = Vec::new();
        for shard in 0..self.crawl.shards {
            let rows = self.read(
                "SELECT s.id, s.url, u.state, u.status FROM gleaner.sight s
                 JOIN gleaner.url u ON u.crawl = s.crawl AND u.shard = s.shard AND u.id = s.id
                 WHERE s.crawl = $1 AND s.shard = $2 AND s.n = 0 AND s.url IS NOT NULL ORDER BY s.id",
                &[&self.crawl.crawl, &shard],
            )?;
            for r in &rows {
                let Ok(url) = canon.parse(r.get(1)) else { continue };
                if is_meant(&url) {
                    let (code, status) = (r.get::<_, i16>(2), r.get::<_, i32>(3));
                    let outcome = u8::try_from(code - 1)
                        .ok()
                        .and_then(|c| codec::outcome_of(c, u16::try_from(status).unwrap_or(0)));
                    let state = outcome.map_or(State::Pending, State::Settled);
                    found.push(Named { id: url_id(r.get(0)), url, state, shard });
                }
            }
        }
        Ok(found)
    }

    /// Every version of the pages among them.
    pub fn versions(&self, gone: &[Named]) -> Result<Vec<Going>, Problem> {
        let (shards, ids) = places(gone);
        let mut all = Vec::new();
        for (is_page, sql) in [
            (
                true,
                "SELECT p.record, p.relevant, p.relevance, p.threshold, p.version, p.assessment
                 FROM unnest($2::int2[], $3::int8[]) AS t(shard, id)
                 JOIN gleaner.page p ON p.crawl = $1 AND p.shard = t.shard AND p.id = t.id ORDER BY p.seq",
            ),
            (
                false,
                "SELECT p.record, p.relevant, p.relevance, p.threshold, p.version, p.assessment
                 FROM unnest($2::int2[], $3::int8[]) AS t(shard, id)
                 JOIN gleaner.past p ON p.crawl = $1 AND p.shard = t.shard AND p.id = t.id ORDER BY p.n",
            ),
        ] {
            for r in &self.read(sql, &[&self.crawl.crawl, &shards, &ids])? {
                all.push(Going { record: Record { text: String::new(), ..record_from(r)? }, is_page });
            }
        }
        Ok(all)
    }

    /// What was removed before, in order.
    pub fn removed(&self) -> Result<Vec<Vec<u8>>, Problem> {
        let rows =
            self.read("SELECT bytes FROM gleaner.removed WHERE crawl = $1 ORDER BY n", &[&self.crawl.crawl])?;
        Ok(rows.iter().map(|r| r.get(0)).collect())
    }

    /// The secret of the archive's record ids, of any worker.
    pub fn archive_key(&self) -> Result<Option<Vec<u8>>, Problem> {
        let rows = self.read(
            "SELECT bytes FROM gleaner.state WHERE crawl = $1 AND name = $2 ORDER BY slot, n LIMIT 1",
            &[&self.crawl.crawl, &StateKey::ArchiveKey.name()],
        )?;
        Ok(rows.first().map(|r| r.get(0)))
    }

    /// Takes them out, and notes `entry` in the list of what was removed.
    pub fn remove(
        &self,
        gone: &[Named],
        without: Without<'_>,
        moved: Option<Moved<'_>>,
        entry: &[u8],
    ) -> Result<(), Problem> {
        let (shards, ids) = places(gone);
        let crawl = self.crawl.crawl;
        // Who fetched them counts them no more.
        self.write(
            "UPDATE gleaner.worker w SET pages = greatest(w.pages - t.pages, 0),
                    relevant = greatest(w.relevant - t.relevant, 0)
             FROM (SELECT p.slot, count(*) AS pages, count(*) FILTER (WHERE p.relevant) AS relevant
                   FROM unnest($2::int2[], $3::int8[]) AS g(shard, id)
                   JOIN gleaner.page p ON p.crawl = $1 AND p.shard = g.shard AND p.id = g.id
                   GROUP BY p.slot) AS t
             WHERE w.crawl = $1 AND w.slot = t.slot",
            &[&crawl, &shards, &ids],
        )?;
        for sql in [
            "DELETE FROM gleaner.past p USING unnest($2::int2[], $3::int8[]) AS t(shard, id)
             WHERE p.crawl = $1 AND p.shard = t.shard AND p.id = t.id",
            "DELETE FROM gleaner.page p USING unnest($2::int2[], $3::int8[]) AS t(shard, id)
             WHERE p.crawl = $1 AND p.shard = t.shard AND p.id = t.id",
            "DELETE FROM gleaner.link p USING unnest($2::int2[], $3::int8[]) AS t(shard, id)
             WHERE p.crawl = $1 AND p.shard = t.shard AND p.id = t.id",
        ] {
            self.write(sql, &[&crawl, &shards, &ids])?;
        }
        for sql in [
            "DELETE FROM gleaner.label WHERE crawl = $1 AND id = ANY($2)",
            "DELETE FROM gleaner.lesson WHERE crawl = $1 AND id = ANY($2)",
            // The words of links that stood on them.
            "UPDATE gleaner.sight SET anchor = '', evidence = '' WHERE crawl = $1 AND parent = ANY($2)",
        ] {
            self.write(sql, &[&crawl, &ids])?;
        }
        let (code, status) = codec::outcome_code(Outcome::OutOfScope);
        self.write(
            "UPDATE gleaner.url u SET state = $4, status = $5, attempts = 0, not_before = NULL
             FROM unnest($2::int2[], $3::int8[]) AS t(shard, id)
             WHERE u.crawl = $1 AND u.shard = t.shard AND u.id = t.id",
            &[&crawl, &shards, &ids, &(i16::from(code) + 1), &i32::from(status)],
        )?;
        self.mend_states(without)?;
        self.mend_answers(without)?;
        self.mend_mail(gone)?;
        if let Some(moved) = moved {
            self.move_archived(moved)?;
        }
        self.write("INSERT INTO gleaner.removed (crawl, bytes) VALUES ($1, $2)", &[&crawl, &entry])?;
        // Whoever reads along reads everything again.
        self.write(
            "UPDATE gleaner.worker SET revisions = revisions + 1 WHERE crawl = $1
               AND slot = (SELECT min(slot) FROM gleaner.worker WHERE crawl = $1)",
            &[&crawl],
        )?;
        Ok(())
    }

    fn mend_states(&self, without: Without<'_>) -> Result<(), Problem> {
        let crawl = self.crawl.crawl;
        let mut after = (-1i32, String::new(), -1i64);
        loop {
            let rows = self.read(
                "SELECT slot, name, n, bytes FROM gleaner.state
                 WHERE crawl = $1 AND (slot, name, n) > ($2, $3, $4) ORDER BY slot, name, n LIMIT $5",
                &[&crawl, &after.0, &after.1, &after.2, &PIECE],
            )?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = (last.get(0), last.get(1), last.get(2));
            for r in &rows {
                let (slot, name, n, bytes): (i32, &str, i64, &[u8]) =
                    (r.get(0), r.get(1), r.get(2), r.get(3));
                // The archive of a worker begins a new file in any case, and no index is kept here.
                if name == StateKey::Archive.name() || name == StateKey::Indexed.name() {
                    continue;
                }
                match without(name, bytes) {
                    Some(new) if new == bytes => {}
                    Some(new) => {
                        self.write(
                            "UPDATE gleaner.state SET bytes = $5
                             WHERE crawl = $1 AND slot = $2 AND name = $3 AND n = $4",
                            &[&crawl, &slot, &name, &n, &new],
                        )?;
                    }
                    None => {
                        self.write(
                            "DELETE FROM gleaner.state
                             WHERE crawl = $1 AND slot = $2 AND name = $3 AND n = $4",
                            &[&crawl, &slot, &name, &n],
                        )?;
                    }
                }
            }
        }
    }

    /// What the language model said of them.
    fn mend_answers(&self, without: Without<'_>) -> Result<(), Problem> {
        let crawl = self.crawl.crawl;
        let rows = self.read("SELECT n, bytes FROM gleaner.answer WHERE crawl = $1 ORDER BY n", &[&crawl])?;
        for r in &rows {
            let (n, bytes): (i64, &[u8]) = (r.get(0), r.get(1));
            let new = without(StateKey::TeacherAnswers.name(), bytes).unwrap_or_default();
            if new != bytes {
                self.write(
                    "UPDATE gleaner.answer SET bytes = $3 WHERE crawl = $1 AND n = $2",
                    &[&crawl, &n, &new],
                )?;
            }
        }
        Ok(())
    }

    /// What was found on them, or is one of them, and was not taken in yet.
    fn mend_mail(&self, gone: &[Named]) -> Result<(), Problem> {
        let crawl = self.crawl.crawl;
        let ids: BTreeMap<UrlId, ()> = gone.iter().map(|g| (g.id, ())).collect();
        let urls: HashMap<&str, ()> = gone.iter().map(|g| (g.url.as_str(), ())).collect();
        let mut after = -1i64;
        loop {
            let rows = self.read(
                "SELECT seq, shard, message FROM gleaner.outbox
                 WHERE crawl = $1 AND seq > $2 ORDER BY seq LIMIT $3",
                &[&crawl, &after, &PIECE],
            )?;
            let Some(last) = rows.last() else { return Ok(()) };
            after = last.get(0);
            for r in &rows {
                let goes = match post::read(r.get(2)) {
                    Some(Message::Sighting { candidate, .. }) => {
                        urls.contains_key(candidate.url.as_str())
                            || candidate.parent.is_some_and(|p| ids.contains_key(&p))
                    }
                    Some(Message::Seed { url }) => urls.contains_key(url.as_str()),
                    _ => false,
                };
                if goes {
                    self.write(
                        "DELETE FROM gleaner.outbox WHERE crawl = $1 AND shard = $2 AND seq = $3",
                        &[&crawl, &r.get::<_, i16>(1), &r.get::<_, i64>(0)],
                    )?;
                }
            }
        }
    }

    /// Pages that stay, and whose archive files were written again.
    fn move_archived(&self, moved: Moved<'_>) -> Result<(), Problem> {
        let crawl = self.crawl.crawl;
        for (read, write) in [
            (
                "SELECT shard, id, 0::int8, record FROM gleaner.page
                 WHERE crawl = $1 AND (shard, id, 0::int8) > ($2, $3, $4) ORDER BY shard, id LIMIT $5",
                "UPDATE gleaner.page SET record = $5
                 WHERE crawl = $1 AND shard = $2 AND id = $3 AND $4 = 0::int8",
            ),
            (
                "SELECT shard, id, n, record FROM gleaner.past
                 WHERE crawl = $1 AND (shard, id, n) > ($2, $3, $4) ORDER BY shard, id, n LIMIT $5",
                "UPDATE gleaner.past SET record = $5
                 WHERE crawl = $1 AND shard = $2 AND id = $3 AND n = $4::int8",
            ),
        ] {
            let mut after = (-1i16, -1i64, -1i64);
            loop {
                let rows = self.read(read, &[&crawl, &after.0, &after.1, &after.2, &PIECE])?;
                let Some(last) = rows.last() else { break };
                after = (last.get(0), last.get(1), last.get(2));
                for r in &rows {
                    let (shard, id, n): (i16, i64, i64) = (r.get(0), r.get(1), r.get(2));
                    let Some((record, text)) = page::fields(r.get(3)) else { continue };
                    let Some(to) = record.archive.as_ref().and_then(moved) else { continue };
                    let new = page::with_fields(&Record { archive: Some(to), ..record }, text)
                        .map_err(|e| Problem::new("a page's record cannot be written again").because(e))?;
                    self.write(write, &[&crawl, &shard, &id, &n, &new])?;
                }
            }
        }
        Ok(())
    }

    /// Ends: it is done.
    pub fn commit(self) -> Result<(), Problem> {
        let end = self.db.run(async { self.db.client().batch_execute("COMMIT").await });
        end.map_err(|e| {
            self.db
                .problem("write to", &e)
                .or_hint("run the same command again: it says whether this was done")
        })
    }
}

/// Shards and numbers, as `unnest` takes them.
fn places(gone: &[Named]) -> (Vec<i16>, Vec<i64>) {
    gone.iter().map(|g| (g.shard, id64(g.id.0))).unzip()
}
