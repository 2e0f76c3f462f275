//! Steering a shared crawl from anywhere: what is asked of all workers, and what came of it.
//!
//! ```text
//!  who asks (Helm)     one transaction: the next number, the command, what all commands add up to (`wanted`, `label`),
//!                      seeds into the outboxes of their shards
//!  each worker         sees the newest number in the question it asks anyway ([`Shared::look_around`]), reads what is new,
//!                      and commits what came of it together with its effects
//!  who joins           reads what it all adds up to, and needs no command
//! ```
//! Because a command is part of `wanted` from the moment it is there, its row is only news: it may be dropped
//! when every living worker has done it, and a worker that finds some of them gone reads `wanted` instead.

use super::db::{Db, Step};
use super::open::{CrawlRow, choose};
use super::rows::param;
use super::{Shared, id64, post, seat, shard_of, url_id};
use crate::fleet::{Done, SharedCommand, Wanted};
use std::collections::HashSet;
use std::time::Duration;
use tokio_postgres::types::ToSql;
use types::{Label, Problem, Url, UrlId, Who};

/// Commands that are kept although everyone has done them, to be looked at.
pub(super) const KEPT: i64 = 100;
/// Commands that are kept for workers that have not done them; those that come later read what they add up
/// to.
pub(super) const MOST_KEPT: i64 = 2_000;
/// Commands of a crawl that nobody needs any more; with `MOST_KEPT` and `KEPT`.
pub(super) const FORGET_COMMANDS: &str = "
    DELETE FROM gleaner.command c USING gleaner.steering s WHERE c.crawl = $1 AND s.crawl = $1 AND (
      c.n <= s.n - $2::int8 OR (c.n <= s.n - $3::int8 AND c.n <= coalesce((SELECT min(applied) FROM gleaner.worker
        WHERE crawl = $1 AND incarnation > 0 AND expires >= now()), c.n)))";
/// Commands that a worker reads at once.
const AT_ONCE: i64 = 100;
/// A database that restarts is waited for; people do not wait much longer.
const PATIENCE: Duration = Duration::from_secs(10);
/// A letter of what came of a command is no novel.
const LONGEST: usize = 500;

/// From here commands are given to a shared crawl.
pub struct Helm {
    db: Db,
    crawl: CrawlRow,
}

/// A command as it is given. All of it counts, or nothing.
pub struct Given<'a> {
    /// Name of the command; the store does not know what it means.
    pub kind: &'a str,
    /// JSON.
    pub payload: &'a str,
    /// Who gives it, for people.
    pub who: &'a str,
    /// Labels that it says (`None` takes one back).
    pub labels: &'a [(UrlId, Option<bool>)],
    /// URLs for the workers that have their hosts.
    pub seeds: &'a [Url],
}

/// How far a command has come.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reached {
    /// Workers that have done it, of those that are alive (or were, when they did it).
    pub applied: usize,
    /// Workers it is meant for.
    pub of: usize,
    /// What the workers say it changed, all together.
    pub changed: u64,
    /// What they said, in the order of their slots.
    pub texts: Vec<String>,
    /// Why some could not do it.
    pub failures: Vec<String>,
}

/// A command that was given.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct CommandInfo {
    /// Number of the command.
    pub n: u64,
    /// Name of the command.
    pub kind: String,
    /// JSON; of a longer list only how long it is.
    pub payload: String,
    /// Who gave it.
    pub who: String,
    /// Milliseconds since 1970.
    pub given: u64,
    /// Workers that have done it.
    pub applied: u64,
    /// Workers it is meant for.
    pub of: u64,
    /// What the workers say it changed, all together.
    pub changed: u64,
    /// Why some worker could not do it.
    pub failure: Option<String>,
}

impl Helm {
    /// The crawl of this name; without one, the only crawl there is.
    pub fn open(url: &str, crawl: Option<&str>) -> Result<Helm, Problem> {
        let db = Db::connect(url, Duration::from_secs(10), PATIENCE)?;
        let (_, crawl) = choose(&db, crawl)?;
        Ok(Helm { db, crawl })
    }

    /// Gives a command. `fold` makes of what all commands so far add up to what they add up to with this one,
    /// whose number it is told; when it refuses, nothing was given.
    pub fn give(
        &self,
        given: &Given,
        fold: &dyn Fn(u64, &str) -> Result<String, Problem>,
    ) -> Result<u64, Problem> {
        let begun = self.db.run(async { self.db.client().batch_execute("BEGIN").await });
        begun.map_err(|e| self.refused(&e))?;
        let done = self.write(given, fold);
        let end = if done.is_ok() { "COMMIT" } else { "ROLLBACK" };
        let ended = self.db.run(async { self.db.client().batch_execute(end).await });
        let n = done?;
        ended.map_err(|e| self.refused(&e))?;
        Ok(n)
    }

    fn write(
        &self,
        given: &Given,
        fold: &dyn Fn(u64, &str) -> Result<String, Problem>,
    ) -> Result<u64, Problem> {
        let crawl = self.crawl.crawl;
        // Never sent twice: a line that is cut ends the transaction.
        let ask =
            |sql, params: &[&(dyn ToSql + Sync)]| self.db.query(sql, params).map_err(|e| self.refused(&e));
        let rows =
            ask("SELECT n, wanted::text FROM gleaner.steering WHERE crawl = $1 FOR UPDATE", &[&crawl])?;
        let Some((n, wanted)) = rows.first().map(|r| (r.get::<_, i64>(0) + 1, r.get::<_, String>(1))) else {
            return Err(Problem::new("this crawl has no row of its own for commands")
                .hint("`gleaner crawl … --store …` of this version makes it"));
        };
        let wanted = fold(n as u64, &wanted)?;
        for text in [given.payload, wanted.as_str()] {
            if text.contains("\\u0000") {
                return Err(Problem::usage("a text with a zero byte in it cannot be kept"));
            }
        }
        ask(
            "UPDATE gleaner.steering SET n = $2, wanted = $3::text::jsonb WHERE crawl = $1",
            &[&crawl, &n, &wanted],
        )?;
        let who: String = given.who.chars().filter(|c| !c.is_control()).take(200).collect();
        ask(
            "INSERT INTO gleaner.command (crawl, n, kind, payload, who) VALUES ($1, $2, $3, $4::text::jsonb, $5)",
            &[&crawl, &n, &given.kind, &given.payload, &who],
        )?;
        if !given.labels.is_empty() {
            // Of one page the last word counts.
            let last: std::collections::BTreeMap<UrlId, Option<bool>> =
                given.labels.iter().copied().collect();
            let gone: Vec<i64> = last.iter().filter(|l| l.1.is_none()).map(|l| id64(l.0.0)).collect();
            let (ids, said): (Vec<i64>, Vec<bool>) =
                last.iter().filter_map(|(id, l)| Some((id64(id.0), (*l)?))).unzip();
            if !gone.is_empty() {
                // Who takes back what they did not say takes back what the language model said.
                ask(
                    "DELETE FROM gleaner.lesson WHERE crawl = $1 AND id = ANY($2) AND NOT EXISTS
                       (SELECT 1 FROM gleaner.label l WHERE l.crawl = $1 AND l.id = lesson.id)",
                    &[&crawl, &gone],
                )?;
                ask("DELETE FROM gleaner.label WHERE crawl = $1 AND id = ANY($2)", &[&crawl, &gone])?;
            }
            ask(
                "INSERT INTO gleaner.label (crawl, id, relevant) SELECT $1, * FROM unnest($2::int8[], $3::bool[])
                 ON CONFLICT (crawl, id) DO UPDATE SET relevant = EXCLUDED.relevant",
                &[&crawl, &ids, &said],
            )?;
        }
        if !given.seeds.is_empty() {
            let shard = |u: &Url| shard_of(u.host_key(), self.crawl.key, self.crawl.shards);
            let (shards, messages): (Vec<i16>, Vec<Vec<u8>>) =
                given.seeds.iter().map(|u| (shard(u), post::seed(u))).unzip();
            ask(
                "INSERT INTO gleaner.outbox (crawl, shard, message)
                 SELECT $1, * FROM unnest($2::int2[], $3::bytea[])",
                &[&crawl, &shards, &messages],
            )?;
        }
        ask(FORGET_COMMANDS, &[&crawl, &MOST_KEPT, &KEPT])?;
        ask(
            "DELETE FROM gleaner.effect WHERE crawl = $1 AND n <
               (SELECT min(n) FROM gleaner.command WHERE crawl = $1)",
            &[&crawl],
        )?;
        Ok(n as u64)
    }

    /// Which of these URLs the crawl knows already: one question for all of them.
    pub fn known(&self, urls: &[Url]) -> Result<HashSet<Url>, Problem> {
        let c = &self.crawl;
        let shards: Vec<i16> = urls.iter().map(|u| shard_of(u.host_key(), c.key, c.shards)).collect();
        let prints = urls.iter().map(|u| u.fingerprint(c.key));
        let (first, second): (Vec<i64>, Vec<i64>) = prints.map(|p| (p.0 as i64, p.1 as i64)).unzip();
        let rows = self.db.ask(
            "SELECT t.i FROM unnest($2::int2[], $3::int8[], $4::int8[]) WITH ORDINALITY AS t(shard, a, b, i)
             JOIN gleaner.url u ON u.crawl = $1 AND u.shard = t.shard AND u.print0 = t.a AND u.print1 = t.b",
            &[&c.crawl, &shards, &first, &second],
        )?;
        let at = |i: i64| urls.get(usize::try_from(i).ok()?.checked_sub(1)?).cloned();
        Ok(rows.iter().filter_map(|r| at(r.get(0))).collect())
    }

    /// How far a command has come by now.
    pub fn reached(&self, n: u64) -> Result<Reached, Problem> {
        let rows = self.db.ask(
            "SELECT w.applied >= $2, e.changed, e.failed, e.text, w.name FROM gleaner.worker w
             LEFT JOIN gleaner.effect e ON e.crawl = w.crawl AND e.slot = w.slot AND e.n = $2
             WHERE w.crawl = $1 AND (e.n IS NOT NULL OR (w.incarnation > 0 AND w.expires >= now()))
             ORDER BY w.slot",
            &[&self.crawl.crawl, &(n as i64)],
        )?;
        let mut reached = Reached { of: rows.len(), ..Reached::default() };
        for r in &rows {
            reached.applied += usize::from(r.get::<_, bool>(0));
            let Some(text) = r.get::<_, Option<String>>(3) else { continue };
            reached.changed += r.get::<_, i64>(1).max(0) as u64;
            if r.get(2) {
                reached.failures.push(format!("{}: {text}", r.get::<_, String>(4)));
            } else {
                reached.texts.push(text);
            }
        }
        Ok(reached)
    }

    fn refused(&self, e: &tokio_postgres::Error) -> Problem {
        let problem = self.db.problem("write to", e);
        match e.code() {
            Some(c) if *c == tokio_postgres::error::SqlState::INSUFFICIENT_PRIVILEGE => problem
                .hint("this role may only look; docs/scale.md says what a role needs to steer (\"Role\")"),
            _ => problem,
        }
    }
}

/// The commands that are still there, the newest first.
pub(super) fn commands(db: &Db, crawl: i32, most: i64) -> Result<Vec<CommandInfo>, Problem> {
    let rows = db.ask(
        "SELECT c.n, c.kind,
                CASE WHEN jsonb_typeof(c.payload) = 'array' AND jsonb_array_length(c.payload) > 1
                     THEN jsonb_array_length(c.payload)::text ELSE c.payload::text END,
                c.who, (extract(epoch FROM c.given) * 1000)::int8, o.applied, o.alive, o.changed, o.failure
         FROM (SELECT * FROM gleaner.command WHERE crawl = $1 ORDER BY n DESC LIMIT $2) AS c
         CROSS JOIN LATERAL (
           SELECT count(*) FILTER (WHERE w.applied >= c.n) AS applied, count(*) AS alive,
                  coalesce(sum(e.changed), 0)::int8 AS changed, max(e.text) FILTER (WHERE e.failed) AS failure
           FROM gleaner.worker w
           LEFT JOIN gleaner.effect e ON e.crawl = $1 AND e.n = c.n AND e.slot = w.slot
           WHERE w.crawl = $1 AND ((w.incarnation > 0 AND w.expires >= now()) OR e.n IS NOT NULL)) AS o
         ORDER BY c.n DESC",
        &[&crawl, &most],
    )?;
    let number = |r: &tokio_postgres::Row, at: usize| r.get::<_, i64>(at).max(0) as u64;
    let info = |r: &tokio_postgres::Row| CommandInfo {
        n: number(r, 0),
        kind: r.get(1),
        payload: r.get(2),
        who: r.get(3),
        given: number(r, 4),
        applied: number(r, 5),
        of: number(r, 6),
        changed: number(r, 7),
        failure: r.get(8),
    };
    Ok(rows.iter().map(info).collect())
}

/// What all commands so far add up to.
pub(super) fn wanted_json(db: &Db, crawl: i32) -> Result<(u64, String), Problem> {
    let rows = db.ask("SELECT n, wanted::text FROM gleaner.steering WHERE crawl = $1", &[&crawl])?;
    Ok(rows.first().map_or((0, "{}".into()), |r| (r.get::<_, i64>(0).max(0) as u64, r.get(1))))
}

/// As `wanted_json`, and every label.
fn wanted(db: &Db, crawl: i32) -> Result<Wanted, Problem> {
    // The labels after the number: those that are newer come again as commands, which does no harm.
    let (n, json) = wanted_json(db, crawl)?;
    Ok(Wanted { n, json, labels: labels(db, crawl)? })
}

/// What people said of pages, and what the language model said.
pub(super) fn labels(db: &Db, crawl: i32) -> Result<Vec<(UrlId, Label)>, Problem> {
    let rows = db.ask("SELECT id, relevant FROM gleaner.label WHERE crawl = $1 ORDER BY id", &[&crawl])?;
    let label = |r: &tokio_postgres::Row| Label { relevant: r.get(1), who: Who::Person };
    let mut all: Vec<(UrlId, Label)> = rows.iter().map(|r| (url_id(r.get(0)), label(r))).collect();
    all.extend(seat::lessons(db, crawl)?);
    Ok(all)
}

impl Shared {
    /// The commands after the last one that was read; and whether some are gone.
    pub(super) fn read_commands(&mut self, newest: u64) -> Result<(Vec<SharedCommand>, bool), Problem> {
        if newest <= self.peers.commands_read {
            return Ok((Vec::new(), false));
        }
        let rows = self.db.ask(
            "SELECT n, kind, payload::text FROM gleaner.command WHERE crawl = $1 AND n > $2 ORDER BY n LIMIT $3",
            &[&self.membership.me.crawl, &(self.peers.commands_read as i64), &AT_ONCE],
        )?;
        let commands: Vec<SharedCommand> = rows
            .iter()
            .map(|r| SharedCommand { n: r.get::<_, i64>(0).max(0) as u64, kind: r.get(1), payload: r.get(2) })
            .collect();
        if commands.first().map(|c| c.n) != Some(self.peers.commands_read + 1) {
            return Ok((Vec::new(), true));
        }
        self.peers.commands_read = commands.last().map_or(self.peers.commands_read, |c| c.n);
        Ok((commands, false))
    }

    pub(super) fn read_wanted(&mut self) -> Result<Wanted, Problem> {
        let wanted = wanted(&self.db, self.membership.me.crawl)?;
        self.peers.commands_read = wanted.n;
        Ok(wanted)
    }

    pub(super) fn note_obeyed(&mut self, n: u64, done: Option<Done>) {
        self.outgoing.draft.applied = self.outgoing.draft.applied.max(Some(n));
        if let Some(mut done) = done {
            done.text = done.text.replace('\0', " ").chars().take(LONGEST).collect();
            self.outgoing.draft.effects.push((n, done));
        }
        // Someone waits to hear of it.
        self.outgoing.urgent = true;
    }

    /// What came of commands, in the transaction of what they changed.
    pub(super) fn steering_rows(&self, steps: &mut Vec<Step>) {
        let Some(applied) = self.outgoing.draft.applied else { return };
        let (crawl, slot) = (self.membership.me.crawl, self.membership.me.slot);
        steps.push(Step {
            sql: "UPDATE gleaner.worker SET applied = greatest(applied, $3) WHERE crawl = $1 AND slot = $2",
            params: vec![param(crawl), param(slot), param(applied as i64)],
        });
        if self.outgoing.draft.effects.is_empty() {
            return;
        }
        let of = &self.outgoing.draft.effects;
        steps.push(Step {
            // Done again after a crash, the first word stands: the second time nothing changed.
            sql: "INSERT INTO gleaner.effect (crawl, n, slot, changed, failed, text)
                  SELECT $1, t.n, $2, t.changed, t.failed, t.text
                  FROM unnest($3::int8[], $4::int8[], $5::bool[], $6::text[]) AS t(n, changed, failed, text)
                  ON CONFLICT (crawl, n, slot) DO NOTHING",
            params: vec![
                param(crawl),
                param(slot),
                param(of.iter().map(|e| e.0 as i64).collect::<Vec<_>>()),
                param(of.iter().map(|e| e.1.changed as i64).collect::<Vec<_>>()),
                param(of.iter().map(|e| e.1.failed).collect::<Vec<_>>()),
                param(of.iter().map(|e| e.1.text.clone()).collect::<Vec<_>>()),
            ],
        });
    }
}
