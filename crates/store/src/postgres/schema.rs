//! The tables, and how they came to be.
//!
//! * Every key starts with `(crawl, shard)`: several crawls share a database, and engines that spread tables
//!   over machines can place a shard's rows together.
//! * **Narrow and hot** is apart from **wide and written once**. `url`, `host`, `shard` and `worker` rows are
//!   updated in place (no index has a column that changes, and pages are left part empty, so an update needs
//!   no new index entry and the old version is reused); `sight`, `page`, `link` are inserted and left alone.
//!   `outbox` rows live for a second or so (until their shard is all loaded, when its owner has just taken
//!   over millions of URLs).
//! * A number that is 32 bits without sign here is a `bigint` there.

/// One step each; never changed once released. `{}` nothing: plain SQL, run as one.
pub(super) const MIGRATIONS: &[&str] = &[V1, V2, V3, V4, V5, V6];

/// Serialises workers that create or migrate the schema at the same time.
pub(super) const MIGRATION_LOCK: i64 = 0x0067_6c65_616e_6572;

const V1: &str = "
CREATE TABLE gleaner.crawl (
  crawl int GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL UNIQUE,
  -- the secret of the fingerprints
  key0 bigint NOT NULL, key1 bigint NOT NULL,
  shards smallint NOT NULL,
  -- ids of URLs are handed out in blocks
  next_id bigint NOT NULL DEFAULT 0,
  topic text NOT NULL,
  created timestamptz NOT NULL DEFAULT now()
);
CREATE SEQUENCE gleaner.incarnation;
CREATE TABLE gleaner.worker (
  crawl int NOT NULL, slot int NOT NULL,
  -- who is in the slot now; every join gets a new number
  incarnation bigint NOT NULL,
  name text NOT NULL,
  expires timestamptz NOT NULL,
  -- the last batch that was committed
  batch bigint NOT NULL DEFAULT 0,
  step bigint NOT NULL DEFAULT 0,
  pages bigint NOT NULL DEFAULT 0, relevant bigint NOT NULL DEFAULT 0, in_flight bigint NOT NULL DEFAULT 0,
  -- nothing to fetch and nothing in flight
  idle bool NOT NULL DEFAULT false,
  -- the watermark: as many URLs as it can fetch soon are at least this good
  lane smallint, key float8,
  statements bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (crawl, slot)
) WITH (fillfactor = 20, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
CREATE TABLE gleaner.shard (
  crawl int NOT NULL, shard smallint NOT NULL,
  -- an incarnation; its worker's row says until when it counts
  owner bigint, epoch bigint NOT NULL DEFAULT 0,
  -- given up in order: its hosts need not rest
  clean bool NOT NULL DEFAULT true,
  PRIMARY KEY (crawl, shard)
) WITH (fillfactor = 25, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);
CREATE TABLE gleaner.epoch (
  crawl int NOT NULL, shard smallint NOT NULL, epoch bigint NOT NULL,
  owner bigint NOT NULL, slot int NOT NULL, since timestamptz NOT NULL DEFAULT clock_timestamp(),
  PRIMARY KEY (crawl, shard, epoch)
);
CREATE TABLE gleaner.host (
  crawl int NOT NULL, shard smallint NOT NULL,
  -- the id of the first URL of it
  host bigint NOT NULL,
  name text NOT NULL, clock bytea NOT NULL,
  PRIMARY KEY (crawl, shard, host)
) WITH (fillfactor = 60, autovacuum_vacuum_scale_factor = 0.05);
CREATE TABLE gleaner.robots (
  crawl int NOT NULL, shard smallint NOT NULL, host bigint NOT NULL,
  status int NOT NULL, fetched bigint NOT NULL, expires bigint NOT NULL, body bytea NOT NULL,
  PRIMARY KEY (crawl, shard, host)
);
CREATE TABLE gleaner.url (
  id bigint NOT NULL, host bigint NOT NULL,
  print0 bigint NOT NULL, print1 bigint NOT NULL,
  parent bigint, cause bigint,
  key float8 NOT NULL,
  not_before bigint, expires bigint,
  model bigint NOT NULL,
  crawl int NOT NULL,
  depth int NOT NULL, site_depth int NOT NULL, status int NOT NULL DEFAULT 0,
  shard smallint NOT NULL,
  -- 0 = pending, else settled: the outcome's code + 1
  state smallint NOT NULL DEFAULT 0,
  lane smallint NOT NULL, hops smallint NOT NULL, attempts smallint NOT NULL DEFAULT 0,
  PRIMARY KEY (crawl, shard, id),
  UNIQUE (crawl, shard, print0, print1)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_limit = 2000);
CREATE TABLE gleaner.sight (
  id bigint NOT NULL, parent bigint, key float8 NOT NULL,
  crawl int NOT NULL, shard smallint NOT NULL, n smallint NOT NULL,
  parent_shard smallint, kind smallint NOT NULL, lane smallint NOT NULL,
  -- with the first sighting only
  url text, anchor text NOT NULL, evidence bytea NOT NULL,
  PRIMARY KEY (crawl, shard, id, n)
);
CREATE TABLE gleaner.page (
  id bigint NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY,
  epoch bigint NOT NULL, score float8 NOT NULL,
  relevance float8 NOT NULL, threshold float8 NOT NULL, version bigint NOT NULL,
  crawl int NOT NULL, slot int NOT NULL, shard smallint NOT NULL,
  relevant bool NOT NULL, revised bool NOT NULL DEFAULT false,
  stored timestamptz NOT NULL DEFAULT clock_timestamp(),
  record bytea NOT NULL,
  PRIMARY KEY (crawl, shard, id)
) WITH (fillfactor = 90);
ALTER TABLE gleaner.page ALTER COLUMN record SET STORAGE EXTERNAL;
CREATE INDEX page_seq ON gleaner.page (crawl, seq);
CREATE TABLE gleaner.link (
  id bigint NOT NULL, crawl int NOT NULL, shard smallint NOT NULL, children bytea NOT NULL,
  PRIMARY KEY (crawl, shard, id)
);
CREATE TABLE gleaner.state (
  crawl int NOT NULL, slot int NOT NULL, name text NOT NULL, n bigint NOT NULL, bytes bytea NOT NULL,
  PRIMARY KEY (crawl, slot, name, n)
) WITH (autovacuum_vacuum_scale_factor = 0.05);
ALTER TABLE gleaner.state ALTER COLUMN bytes SET STORAGE EXTERNAL;
CREATE TABLE gleaner.outbox (
  crawl int NOT NULL, shard smallint NOT NULL, seq bigint GENERATED ALWAYS AS IDENTITY,
  message bytea NOT NULL,
  PRIMARY KEY (crawl, shard, seq)
) WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 5000, autovacuum_vacuum_cost_delay = 0);
CREATE TABLE gleaner.delta (
  crawl int NOT NULL, slot int NOT NULL, n bigint NOT NULL, bytes bytea NOT NULL,
  PRIMARY KEY (crawl, slot, n)
);
";

/// Pages judged again under another topic; readers that read on instead of anew.
const V2: &str = "
ALTER TABLE gleaner.page ADD COLUMN assessment bytea;
CREATE INDEX page_slot ON gleaner.page (crawl, slot, seq);
ALTER TABLE gleaner.worker ADD COLUMN revisions bigint NOT NULL DEFAULT 0;
";

/// Steering: what was asked of all workers, what it adds up to, and what each of them says came of it.
const V3: &str = "
CREATE TABLE gleaner.steering (
  crawl int PRIMARY KEY,
  -- the newest command; whoever gives one holds this row until it is committed, so numbers come in order
  n bigint NOT NULL DEFAULT 0,
  -- what all commands so far add up to: a worker that joins needs none of them
  wanted jsonb NOT NULL DEFAULT '{}'
);
INSERT INTO gleaner.steering (crawl) SELECT crawl FROM gleaner.crawl;
CREATE TABLE gleaner.command (
  crawl int NOT NULL, n bigint NOT NULL,
  kind text NOT NULL, payload jsonb NOT NULL,
  who text NOT NULL, given timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (crawl, n)
);
CREATE TABLE gleaner.effect (
  crawl int NOT NULL, n bigint NOT NULL, slot int NOT NULL,
  changed bigint NOT NULL, failed bool NOT NULL, text text NOT NULL,
  PRIMARY KEY (crawl, n, slot)
);
CREATE TABLE gleaner.label (
  crawl int NOT NULL, id bigint NOT NULL, relevant bool NOT NULL,
  PRIMARY KEY (crawl, id)
);
-- the newest command whose effect is committed with this slot's state
ALTER TABLE gleaner.worker ADD COLUMN applied bigint NOT NULL DEFAULT 0;
";

/// Labelled pages are looked up by number, whatever their shards.
const V4: &str = "CREATE INDEX IF NOT EXISTS page_id ON gleaner.page (crawl, id);";

/// The language model: who may ask it now, what it has cost, what it answered, and what it says of pages. A
/// person's word (`label`) stands above it.
const V5: &str = "
CREATE TABLE gleaner.teacher (
  crawl int PRIMARY KEY,
  -- an incarnation: whoever may ask now
  owner bigint,
  -- slot of whoever asked last, and when it left the seat
  last int, left_at timestamptz NOT NULL DEFAULT '-infinity',
  -- the server is left alone until then
  rest_until timestamptz NOT NULL DEFAULT '-infinity',
  spent jsonb NOT NULL DEFAULT '{}'
);
INSERT INTO gleaner.teacher (crawl) SELECT crawl FROM gleaner.crawl;
CREATE TABLE gleaner.answer (
  crawl int NOT NULL, n bigint GENERATED ALWAYS AS IDENTITY, bytes bytea NOT NULL,
  PRIMARY KEY (crawl, n)
);
CREATE TABLE gleaner.lesson (
  crawl int NOT NULL, id bigint NOT NULL, relevant bool NOT NULL,
  PRIMARY KEY (crawl, id)
);
";

/// Earlier versions of pages that were visited again, as they were when the next one came; and what was
/// removed from the crawl, which must not come back.
const V6: &str = "
CREATE TABLE gleaner.past (
  id bigint NOT NULL, n bigint GENERATED ALWAYS AS IDENTITY,
  relevance float8 NOT NULL, threshold float8 NOT NULL, version bigint NOT NULL,
  crawl int NOT NULL, shard smallint NOT NULL,
  relevant bool NOT NULL,
  -- when the next version came
  stored timestamptz NOT NULL DEFAULT clock_timestamp(),
  record bytea NOT NULL, assessment bytea,
  PRIMARY KEY (crawl, shard, id, n)
);
ALTER TABLE gleaner.past ALTER COLUMN record SET STORAGE EXTERNAL;
-- when its first version came, of one that has several
ALTER TABLE gleaner.page ADD COLUMN first timestamptz;
CREATE INDEX past_stored ON gleaner.past (crawl, stored);
CREATE TABLE gleaner.removed (
  crawl int NOT NULL, n bigint GENERATED ALWAYS AS IDENTITY, bytes bytea NOT NULL,
  PRIMARY KEY (crawl, n)
);
";
