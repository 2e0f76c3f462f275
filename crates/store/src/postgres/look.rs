//! Single facts of a crawl, straight from the tables: for readers, and for workers that need one of another's
//! shards.

use super::db::Db;
use super::load::{kind, priority};
use super::post::{Child, read_children};
use super::{id32, id64, url_id};
use crate::ledger::codec;
use crate::ledger::page;
use crate::traits::Each;
use frontier::{Info, State};
use std::collections::HashMap;
use tokio_postgres::Row;
use types::{Canon, Fingerprint, Problem, Record, Source, Url, UrlId, Verdict};

/// Where one URL of a crawl is looked up.
pub(super) struct Look<'a> {
    pub db: &'a Db,
    pub crawl: i32,
    pub id: UrlId,
    /// The shard it is in, if that is known.
    pub shard: Option<i16>,
    /// How many there are: all are looked through when it is not (256 look-ups instead of one).
    pub shards: i16,
}

impl Look<'_> {
    /// Asks for `crawl = $1 AND shard = ANY($2) AND id = $3`.
    fn rows(&self, sql: &'static str) -> Result<Vec<Row>, Problem> {
        let shards = self.shard.map_or_else(|| (0..self.shards).collect(), |s| vec![s]);
        self.db.ask(sql, &[&self.crawl, &shards, &id64(self.id.0)])
    }

    pub fn url(&self) -> Result<Option<Url>, Problem> {
        let rows = self.rows(
            "SELECT url FROM gleaner.sight WHERE crawl = $1 AND shard = ANY($2) AND id = $3 AND n = 0",
        )?;
        Ok(rows.first().and_then(|r| r.get::<_, Option<&str>>(0)).and_then(|t| canon().parse(t).ok()))
    }

    pub fn sources(&self) -> Result<Vec<Source>, Problem> {
        let rows = self.rows(
            "SELECT parent, kind, lane, key, anchor, evidence FROM gleaner.sight
             WHERE crawl = $1 AND shard = ANY($2) AND id = $3 ORDER BY n",
        )?;
        Ok(rows.iter().map(source_from).collect())
    }

    pub fn entry(&self) -> Result<Option<Info>, Problem> {
        let rows = self.rows(
            "SELECT id, state, status, lane, key, model, parent, cause, depth, site_depth, hops, attempts, host
             FROM gleaner.url WHERE crawl = $1 AND shard = ANY($2) AND id = $3",
        )?;
        Ok(rows.first().map(|r| info_from(r, 0)))
    }

    pub fn record(&self) -> Result<Option<Record>, Problem> {
        let rows = self.rows(
            "SELECT record, relevant, relevance, threshold, version, assessment FROM gleaner.page
             WHERE crawl = $1 AND shard = ANY($2) AND id = $3",
        )?;
        rows.first().map(record_from).transpose()
    }

    /// Earlier versions of the page, the newest first.
    pub fn past(&self) -> Result<Vec<Record>, Problem> {
        let rows = self.rows(
            "SELECT record, relevant, relevance, threshold, version, assessment FROM gleaner.past
             WHERE crawl = $1 AND shard = ANY($2) AND id = $3 ORDER BY n DESC",
        )?;
        rows.iter().map(record_from).collect()
    }

    pub fn children(&self) -> Result<Vec<Child>, Problem> {
        let rows =
            self.rows("SELECT children FROM gleaner.link WHERE crawl = $1 AND shard = ANY($2) AND id = $3")?;
        Ok(rows.first().and_then(|r| read_children(r.get(0))).unwrap_or_default())
    }
}

/// From the columns `parent, kind, lane, key, anchor, evidence`.
fn source_from(r: &Row) -> Source {
    Source {
        parent: r.get::<_, Option<i64>>(0).map(url_id),
        kind: kind(r.get(1)),
        priority: priority(r.get(2), r.get(3)),
        anchor: r.get::<_, &str>(4).into(),
        evidence: r.get(5),
    }
}

/// Pages that are asked for at once.
const AT_ONCE: usize = 500;
/// The same, when their records come too.
pub(super) const PIECE: usize = 200;

/// What comes piece by piece, one by one; it ends after the first failure.
pub(super) fn in_pieces<'a, T: 'a>(
    mut next: impl FnMut() -> Result<Option<Vec<T>>, Problem> + 'a,
) -> Each<'a, T> {
    let mut piece = Vec::new().into_iter();
    let mut ended = false;
    Box::new(std::iter::from_fn(move || {
        while piece.len() == 0 && !ended {
            match next() {
                Ok(Some(more)) => piece = more.into_iter(),
                Ok(None) => ended = true,
                Err(e) => {
                    ended = true;
                    return Some(Err(e));
                }
            }
        }
        piece.next().map(Ok)
    }))
}

/// For [`in_pieces`], what is there as a whole.
pub(super) fn once<T>(all: Result<Vec<T>, Problem>) -> impl FnMut() -> Result<Option<Vec<T>>, Problem> {
    let mut all = Some(all);
    move || all.take().transpose()
}

/// What was removed from a crawl, in order.
pub(super) fn removed(db: &Db, crawl: i32) -> Result<Vec<Vec<u8>>, Problem> {
    let rows = db.ask("SELECT bytes FROM gleaner.removed WHERE crawl = $1 ORDER BY n", &[&crawl])?;
    Ok(rows.iter().map(|r| r.get(0)).collect())
}

/// The records of pages, whatever their shards.
pub(super) fn records_of(db: &Db, crawl: i32, ids: &[UrlId]) -> Result<HashMap<UrlId, Record>, Problem> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let numbers: Vec<i64> = ids.iter().map(|id| id64(id.0)).collect();
    let rows = db.ask(
        "SELECT record, relevant, relevance, threshold, version, assessment, id FROM gleaner.page
         WHERE crawl = $1 AND id = ANY($2)",
        &[&crawl, &numbers],
    )?;
    let one = |r: &Row| {
        let id = url_id(r.get(6));
        Ok((id, Record { id, ..record_from(r)? }))
    };
    rows.iter().map(one).collect()
}

/// Where pages were found, whatever their shards.
pub(super) fn sources_of(
    db: &Db,
    crawl: i32,
    pages: &[UrlId],
    all: &mut HashMap<UrlId, Vec<Source>>,
) -> Result<(), Problem> {
    for some in pages.chunks(AT_ONCE) {
        let numbers: Vec<i64> = some.iter().map(|id| id64(id.0)).collect();
        let rows = db.ask(
            "SELECT s.parent, s.kind, s.lane, s.key, s.anchor, s.evidence, s.id FROM gleaner.page p
             JOIN gleaner.sight s ON s.crawl = p.crawl AND s.shard = p.shard AND s.id = p.id
             WHERE p.crawl = $1 AND p.id = ANY($2) ORDER BY s.id, s.n",
            &[&crawl, &numbers],
        )?;
        for r in &rows {
            all.entry(url_id(r.get(6))).or_default().push(source_from(r));
        }
    }
    Ok(())
}

/// The URLs of pages, whatever their shards.
pub(super) fn urls_of(
    db: &Db,
    crawl: i32,
    pages: &[UrlId],
    all: &mut HashMap<UrlId, Url>,
) -> Result<(), Problem> {
    for some in pages.chunks(AT_ONCE) {
        let numbers: Vec<i64> = some.iter().map(|id| id64(id.0)).collect();
        let rows = db.ask(
            "SELECT s.id, s.url FROM gleaner.page p
             JOIN gleaner.sight s ON s.crawl = p.crawl AND s.shard = p.shard AND s.id = p.id
             WHERE p.crawl = $1 AND p.id = ANY($2) AND s.n = 0",
            &[&crawl, &numbers],
        )?;
        for r in &rows {
            let url = r.get::<_, Option<&str>>(1).and_then(|text| canon().parse(text).ok());
            all.extend(url.map(|url| (url_id(r.get(0)), url)));
        }
    }
    Ok(())
}

fn canon() -> Canon {
    Canon { drop_params: Vec::new(), max_length: usize::MAX }
}

pub(super) fn find(db: &Db, crawl: i32, shard: i16, print: Fingerprint) -> Result<Option<UrlId>, Problem> {
    let rows = db.ask(
        "SELECT id FROM gleaner.url WHERE crawl = $1 AND shard = $2 AND print0 = $3 AND print1 = $4",
        &[&crawl, &shard, &(print.0 as i64), &(print.1 as i64)],
    )?;
    Ok(rows.first().map(|r| url_id(r.get(0))))
}

/// From the columns `id, state, status, lane, key, model, parent, cause, depth, site_depth, hops, attempts,
/// host`; the host is the database's number of it.
pub(super) fn info_from(r: &Row, at: usize) -> Info {
    let some = |i: usize| r.get::<_, Option<i64>>(at + i).map(url_id);
    let small = |i: usize| u16::try_from(r.get::<_, i32>(at + i)).unwrap_or(u16::MAX);
    let tiny = |i: usize| u8::try_from(r.get::<_, i16>(at + i)).unwrap_or(u8::MAX);
    Info {
        id: url_id(r.get(at)),
        state: state_of(r.get(at + 1), small(2)),
        priority: priority(r.get(at + 3), r.get(at + 4)),
        model: id32(r.get(at + 5)),
        parent: some(6),
        cause: some(7),
        depth: small(8),
        site_depth: small(9),
        hops: tiny(10),
        attempts: tiny(11),
        host: Some(id32(r.get(at + 12))),
    }
}

fn state_of(code: i16, status: u16) -> State {
    match u8::try_from(code - 1).ok().and_then(|c| codec::outcome_of(c, status)) {
        Some(outcome) => State::Settled(outcome),
        None => State::Pending,
    }
}

pub(super) fn verdict_of(r: &Row, at: usize) -> Verdict {
    Verdict {
        relevant: r.get(at),
        relevance: r.get(at + 1),
        threshold: r.get(at + 2),
        version: id32(r.get(at + 3)),
    }
}

/// From the columns `record, relevant, relevance, threshold, version, assessment`.
pub(super) fn record_from(r: &Row) -> Result<Record, Problem> {
    let damaged = || {
        Problem::new("a page's record in the database cannot be read")
            .because("what is there is not what was written")
            .hint("update gleaner if a newer version writes to this crawl; else restore the database from a backup")
    };
    let mut record = page::get_body(r.get(0)).ok_or_else(damaged)?;
    record.verdict = verdict_of(r, 1);
    if let Some(bytes) = r.get::<_, Option<&[u8]>>(5) {
        record.assessment = postcard::from_bytes(bytes).map_err(|_| damaged())?;
    }
    Ok(record)
}

/// The numbers of links that were kept by fingerprint; those never admitted have none.
pub(super) fn resolve(db: &Db, crawl: i32, children: &[Child]) -> Result<Vec<UrlId>, Problem> {
    let far: Vec<(i16, Fingerprint)> = children
        .iter()
        .filter_map(|c| match c {
            Child::Far { shard, print } => Some((*shard, *print)),
            Child::Known(_) => None,
        })
        .collect();
    let mut found: HashMap<Fingerprint, UrlId> = HashMap::new();
    if !far.is_empty() {
        let rows = db.ask(
            "SELECT u.print0, u.print1, u.id FROM gleaner.url u
             JOIN unnest($2::int2[], $3::int8[], $4::int8[]) AS t(shard, print0, print1)
               ON u.shard = t.shard AND u.print0 = t.print0 AND u.print1 = t.print1 WHERE u.crawl = $1",
            &[
                &crawl,
                &far.iter().map(|f| f.0).collect::<Vec<i16>>(),
                &far.iter().map(|f| f.1.0 as i64).collect::<Vec<i64>>(),
                &far.iter().map(|f| f.1.1 as i64).collect::<Vec<i64>>(),
            ],
        )?;
        for r in rows {
            let print = Fingerprint(r.get::<_, i64>(0) as u64, r.get::<_, i64>(1) as u64);
            found.insert(print, url_id(r.get(2)));
        }
    }
    let number = |c: &Child| match c {
        Child::Known(id) => Some(*id),
        Child::Far { print, .. } => found.get(print).copied(),
    };
    Ok(children.iter().filter_map(number).collect())
}
