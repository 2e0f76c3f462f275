//! The widest sets of rows of a batch, column by column, as `unnest` takes them.

use super::db::{Param, Step};

pub(super) fn param(value: impl tokio_postgres::types::ToSql + Sync + Send + 'static) -> Param {
    Box::new(value)
}

#[derive(Default)]
pub(super) struct UrlRows {
    pub shard: Vec<i16>,
    pub id: Vec<i64>,
    pub host: Vec<i64>,
    pub print0: Vec<i64>,
    pub print1: Vec<i64>,
    pub parent: Vec<Option<i64>>,
    pub cause: Vec<Option<i64>>,
    pub key: Vec<f64>,
    pub not_before: Vec<Option<i64>>,
    pub expires: Vec<Option<i64>>,
    pub model: Vec<i64>,
    pub depth: Vec<i32>,
    pub site_depth: Vec<i32>,
    pub status: Vec<i32>,
    pub state: Vec<i16>,
    pub lane: Vec<i16>,
    pub hops: Vec<i16>,
    pub attempts: Vec<i16>,
}

impl UrlRows {
    pub fn insert(self, crawl: i32) -> Step {
        Step {
            sql: "INSERT INTO gleaner.url (crawl, shard, id, host, print0, print1, parent, cause, key, not_before, expires,
                         model, depth, site_depth, status, state, lane, hops, attempts)
                  SELECT $1, * FROM unnest($2::int2[], $3::int8[], $4::int8[], $5::int8[], $6::int8[], $7::int8[], $8::int8[],
                         $9::float8[], $10::int8[], $11::int8[], $12::int8[], $13::int4[], $14::int4[], $15::int4[],
                         $16::int2[], $17::int2[], $18::int2[], $19::int2[])
                  ON CONFLICT (crawl, shard, id) DO UPDATE SET parent = EXCLUDED.parent, cause = EXCLUDED.cause,
                    key = EXCLUDED.key, not_before = EXCLUDED.not_before, expires = EXCLUDED.expires,
                    model = EXCLUDED.model, depth = EXCLUDED.depth, site_depth = EXCLUDED.site_depth,
                    status = EXCLUDED.status, state = EXCLUDED.state, lane = EXCLUDED.lane, hops = EXCLUDED.hops,
                    attempts = EXCLUDED.attempts",
            params: vec![
                param(crawl),
                param(self.shard),
                param(self.id),
                param(self.host),
                param(self.print0),
                param(self.print1),
                param(self.parent),
                param(self.cause),
                param(self.key),
                param(self.not_before),
                param(self.expires),
                param(self.model),
                param(self.depth),
                param(self.site_depth),
                param(self.status),
                param(self.state),
                param(self.lane),
                param(self.hops),
                param(self.attempts),
            ],
        }
    }

    pub fn update(self, crawl: i32) -> Step {
        Step {
            sql: "UPDATE gleaner.url u SET cause = t.cause, key = t.key, not_before = t.not_before, expires = t.expires,
                         model = t.model, status = t.status, state = t.state, lane = t.lane, attempts = t.attempts
                  FROM unnest($2::int2[], $3::int8[], $4::int8[], $5::float8[], $6::int8[], $7::int8[], $8::int8[],
                              $9::int4[], $10::int2[], $11::int2[], $12::int2[])
                       AS t(shard, id, cause, key, not_before, expires, model, status, state, lane, attempts)
                  WHERE u.crawl = $1 AND u.shard = t.shard AND u.id = t.id",
            params: vec![
                param(crawl),
                param(self.shard),
                param(self.id),
                param(self.cause),
                param(self.key),
                param(self.not_before),
                param(self.expires),
                param(self.model),
                param(self.status),
                param(self.state),
                param(self.lane),
                param(self.attempts),
            ],
        }
    }
}

#[derive(Default)]
pub(super) struct SightRows {
    pub shard: Vec<i16>,
    pub id: Vec<i64>,
    pub n: Vec<i16>,
    pub parent: Vec<Option<i64>>,
    pub parent_shard: Vec<Option<i16>>,
    pub kind: Vec<i16>,
    pub lane: Vec<i16>,
    pub key: Vec<f64>,
    pub url: Vec<Option<String>>,
    pub anchor: Vec<String>,
    pub evidence: Vec<Vec<u8>>,
}

impl SightRows {
    pub fn insert(self, crawl: i32) -> Step {
        Step {
            sql: "INSERT INTO gleaner.sight (crawl, shard, id, n, parent, parent_shard, kind, lane, key, url, anchor, evidence)
                  SELECT $1, * FROM unnest($2::int2[], $3::int8[], $4::int2[], $5::int8[], $6::int2[], $7::int2[], $8::int2[],
                         $9::float8[], $10::text[], $11::text[], $12::bytea[])
                  ON CONFLICT (crawl, shard, id, n) DO NOTHING",
            params: vec![
                param(crawl),
                param(self.shard),
                param(self.id),
                param(self.n),
                param(self.parent),
                param(self.parent_shard),
                param(self.kind),
                param(self.lane),
                param(self.key),
                param(self.url),
                param(self.anchor),
                param(self.evidence),
            ],
        }
    }
}

#[derive(Default)]
pub(super) struct PageRows {
    pub shards: Vec<i16>,
    pub ids: Vec<i64>,
    pub epochs: Vec<i64>,
    pub scores: Vec<f64>,
    pub relevant: Vec<bool>,
    pub relevance: Vec<f64>,
    pub threshold: Vec<f64>,
    pub version: Vec<i64>,
    pub records: Vec<Vec<u8>>,
}
