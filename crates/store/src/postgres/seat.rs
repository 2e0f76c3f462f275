//! The seat of whoever asks the language model: of all workers of a crawl one at a time has it, and what it
//! costs comes out of one budget.
//!
//! ```text
//! take    free, or its holder is no longer a member, and whoever had it last lets the others go first
//! spend   before a request is sent: only while the seat is ours
//! give    what was spent, what was answered and what is to be learnt from it: one transaction, only while the seat is ours
//! leave   nothing to ask, or no answer: for so long nobody asks
//! ```
//! A worker that dies in the seat loses it with its claim (`membership`): nothing renews the seat by itself.

use super::Shared;
use super::db::Step;
use super::rows::param;
use super::steer::{FORGET_COMMANDS, KEPT, MOST_KEPT};
use super::{id64, url_id};
use crate::fleet::{Lesson, Seat, Sitting};
use std::time::Duration;
use types::{Label, Problem, UrlId, Who};

/// Whoever had the seat last leaves it to the others for so long.
const COURTESY: Duration = Duration::from_secs(2);

impl Shared {
    /// The first step of a transaction that counts only while the seat is ours.
    fn while_seated(&self, sql: &'static str, more: Vec<super::db::Param>) -> Step {
        let me = &self.membership.me;
        let mut params = vec![param(me.crawl), param(me.incarnation)];
        params.extend(more);
        Step { sql, params }
    }

    /// `false`: the seat is another's by now, and nothing was written.
    fn seated(&self, steps: &[Step]) -> Result<bool, Problem> {
        let done = self.db.patiently(|| self.db.transact(steps, &[Some(1)]));
        done.map_err(|e| self.db.problem("write to", &e))
    }
}

impl Seat for Shared {
    fn spent(&self) -> Result<String, Problem> {
        let bytes = spent(&self.db, self.membership.me.crawl)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn take(&mut self, after: u64) -> Result<Sitting, Problem> {
        let me = &self.membership.me;
        let rows = self.db.ask(
            "WITH taken AS (
               UPDATE gleaner.teacher t SET owner = $2
               WHERE crawl = $1 AND rest_until <= now()
                 AND EXISTS (SELECT 1 FROM gleaner.worker w
                             WHERE w.crawl = $1 AND w.incarnation = $2 AND w.expires >= now())
                 AND (owner = $2 OR NOT EXISTS (SELECT 1 FROM gleaner.worker w
                             WHERE w.crawl = $1 AND w.incarnation = t.owner AND w.expires >= now()))
                 AND (owner IS NOT NULL OR last IS DISTINCT FROM $3
                      OR left_at < now() - $4 * interval '1 millisecond'
                      OR NOT EXISTS (SELECT 1 FROM gleaner.worker w WHERE w.crawl = $1 AND w.slot <> $3
                                     AND w.incarnation > 0 AND w.expires >= now()))
               RETURNING 1)
             SELECT spent::text, EXISTS (SELECT 1 FROM taken), rest_until > now(),
                    EXISTS (SELECT 1 FROM gleaner.worker w WHERE w.crawl = $1 AND w.incarnation = t.owner
                            AND w.incarnation <> $2 AND w.expires >= now())
             FROM gleaner.teacher t WHERE crawl = $1",
            &[&me.crawl, &me.incarnation, &me.slot, &(COURTESY.as_millis() as f64)],
        )?;
        let Some(row) = rows.first() else { return Ok(Sitting::default()) };
        let mut sitting = Sitting {
            spent: row.get(0),
            is_ours: row.get(1),
            rests: row.get(2),
            is_taken: row.get(3),
            answers: Vec::new(),
        };
        if sitting.is_ours {
            // Whoever had the seat before wrote before it left: all of it is there.
            let rows = self.db.ask(
                "SELECT n, bytes FROM gleaner.answer WHERE crawl = $1 AND n > $2 ORDER BY n",
                &[&me.crawl, &i64::try_from(after).unwrap_or(i64::MAX)],
            )?;
            sitting.answers = rows.iter().map(|r| (r.get::<_, i64>(0).max(0) as u64, r.get(1))).collect();
        }
        Ok(sitting)
    }

    fn spend(&mut self, spent: &str) -> Result<bool, Problem> {
        self.seated(&[self.while_seated(
            "UPDATE gleaner.teacher SET spent = $3::text::jsonb WHERE crawl = $1 AND owner = $2
             RETURNING 1::int8",
            vec![param(spent.to_string())],
        )])
    }

    fn give(&mut self, lesson: &Lesson) -> Result<bool, Problem> {
        let me = &self.membership.me;
        let (ids, said): (Vec<i64>, Vec<bool>) =
            lesson.labels.iter().map(|(id, label)| (id64(id.0), *label)).unzip();
        let mut steps = vec![
            self.while_seated(
                "UPDATE gleaner.teacher SET spent = $3::text::jsonb,
                        owner = CASE WHEN $4 THEN NULL ELSE owner END, last = $5, left_at = now()
                 WHERE crawl = $1 AND owner = $2 RETURNING 1::int8",
                vec![param(lesson.spent.to_string()), param(lesson.leaves), param(me.slot)],
            ),
            Step {
                sql: "INSERT INTO gleaner.answer (crawl, bytes) VALUES ($1, $2)",
                params: vec![param(me.crawl), param(lesson.answers.to_vec())],
            },
        ];
        if !ids.is_empty() {
            steps.push(Step {
                sql: "INSERT INTO gleaner.lesson (crawl, id, relevant)
                      SELECT $1, * FROM unnest($2::int8[], $3::bool[])
                      ON CONFLICT (crawl, id) DO UPDATE SET relevant = EXCLUDED.relevant",
                params: vec![param(me.crawl), param(ids), param(said)],
            });
            steps.push(Step {
                sql: "WITH number AS (UPDATE gleaner.steering SET n = n + 1 WHERE crawl = $1 RETURNING n)
                      INSERT INTO gleaner.command (crawl, n, kind, payload, who)
                      SELECT $1, n, $2, $3::text::jsonb, $4 FROM number",
                params: vec![
                    param(me.crawl),
                    param(lesson.kind.to_string()),
                    param(lesson.payload.to_string()),
                    param(lesson.who.to_string()),
                ],
            });
            steps.push(Step {
                sql: FORGET_COMMANDS,
                params: vec![param(me.crawl), param(MOST_KEPT), param(KEPT)],
            });
        }
        self.seated(&steps)
    }

    fn leave(&mut self, rest: Duration) -> Result<(), Problem> {
        let me = &self.membership.me;
        self.db.tell(
            "UPDATE gleaner.teacher SET owner = NULL, last = $3, left_at = now(),
                    rest_until = now() + $4 * interval '1 millisecond'
             WHERE crawl = $1 AND owner = $2",
            &[&me.crawl, &me.incarnation, &me.slot, &(rest.as_millis() as f64)],
        )?;
        Ok(())
    }
}

/// What the language model has cost, as whoever asks it wrote it.
pub(super) fn spent(db: &super::Db, crawl: i32) -> Result<Vec<u8>, Problem> {
    let rows = db.ask("SELECT spent::text FROM gleaner.teacher WHERE crawl = $1", &[&crawl])?;
    Ok(rows.first().map_or_else(Vec::new, |r| r.get::<_, String>(0).into_bytes()))
}

/// What the language model said of pages.
pub(super) fn lessons(db: &super::Db, crawl: i32) -> Result<Vec<(UrlId, Label)>, Problem> {
    let rows = db.ask("SELECT id, relevant FROM gleaner.lesson WHERE crawl = $1 ORDER BY id", &[&crawl])?;
    let label = |r: &tokio_postgres::Row| Label { relevant: r.get(1), who: Who::Model };
    Ok(rows.iter().map(|r| (url_id(r.get(0)), label(r))).collect())
}
