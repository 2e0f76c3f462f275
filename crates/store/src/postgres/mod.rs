//! A crawl on many machines: PostgreSQL keeps the truth, each worker keeps the order of its own share in memory.
//!
//! * The hosts of a crawl are spread over 256 **shards** by their registrable domain. A worker **claims** shards
//!   (`claim`), loads what is known of them (`load`; the best first if that is much: `arrive`) into a ledger of its own
//!   (`scratch`: the same code as the embedded one), and serves the crawl's loop from there. No query is made to lease a
//!   URL.
//! * Everything that happened since goes to the database as **one transaction per batch** (`ship`), which holds only if
//!   the claim does. Sent twice, it counts once. With an archive in a bucket it waits for the bucket first (`seal`).
//! * A URL of a shard that is not here, or not all of it, goes to that shard's **outbox** (`post`); its owner takes it in.
//! * Who reads (`reader`) needs no claim and sees whatever is committed. Who steers (`steer`) writes commands that every
//!   worker follows.
//!
//! Why so, and not a queue in a table: `docs/adr/0011-postgres-ledger.md`. How to run it: `docs/scale.md`.

mod arrive;
mod claim;
mod db;
mod fleet;
mod ids;
mod load;
mod look;
mod open;
mod post;
mod reader;
mod rows;
mod schema;
mod scratch;
mod seal;
mod ship;
mod steer;
mod tls;
mod worker;

pub use reader::{Judged, SharedReader, WorkerInfo};
pub use steer::{CommandInfo, Given, Helm, Reached};

use crate::fleet::{Gate, Ticket};
use crate::ledger::Ledger;
use arrive::Arriving;
use claim::{Heart, Member, Owned};
use db::Db;
use frontier::{Clock, Limits};
use ids::Ids;
use post::Child;
use scratch::Scratch;
use seal::{Ahead, Sealed, Standing};
use ship::Outgoing;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};
use types::{Fingerprint, Millis, Priority, Url, UrlId};

/// How a worker joins a shared crawl.
#[derive(Clone, Debug)]
pub struct SharedOptions {
    /// `postgres://user:password@host:port/database`
    pub url: String,
    /// The crawl's name; several crawls share a database.
    pub crawl: String,
    /// The topic file, kept with the crawl.
    pub topic: String,
    /// This worker's own name: must not change as long as its folder is the same.
    pub worker: String,
    /// A folder of its own for what need not survive.
    pub scratch: PathBuf,
    pub limits: Limits,
    /// The secret of the fingerprints of a new crawl (an old one keeps its own); `None` = chosen at random.
    pub key: Option<(u64, u64)>,
    /// A worker that is not heard of for this long has lost its shards.
    pub lease: Duration,
    /// How long a database that is away is waited for.
    pub patience: Duration,
    /// At most this long between what happened and its commit.
    pub commit_within: Duration,
    /// Times are kept by the database's clock, so that workers whose clocks differ agree. Off only in tests, whose time is
    /// made up.
    pub database_time: bool,
    /// The crawl stops after so many pages: a worker that has only poor URLs leaves them to the others.
    pub budget: bool,
    /// When the shards that are taken at a time have more URLs than this together they are loaded while the crawl goes on,
    /// the best URLs first.
    pub load_at_once: u32,
}

impl SharedOptions {
    pub fn new(url: &str, crawl: &str, worker: &str, scratch: PathBuf, limits: Limits) -> SharedOptions {
        SharedOptions {
            url: url.into(),
            crawl: crawl.into(),
            topic: String::new(),
            worker: worker.into(),
            scratch,
            limits,
            key: None,
            lease: Duration::from_secs(30),
            patience: Duration::from_secs(120),
            commit_within: Duration::from_millis(200),
            database_time: true,
            budget: false,
            load_at_once: LOAD_AT_ONCE,
        }
    }
}

/// So many URLs are loaded before a worker goes on: that takes a second or so.
pub const LOAD_AT_ONCE: u32 = 100_000;

/// Shards of a new crawl.
pub(crate) const SHARDS: i16 = 256;

/// One worker of a shared crawl. See the module.
pub struct Shared {
    options: SharedOptions,
    db: Db,
    me: Member,
    key: (u64, u64),
    shards: i16,
    owned: Owned,
    heart: Option<Heart>,
    gate: Gate,
    skew: Skew,
    inner: Ledger<Scratch>,
    ids: Ids,
    out: Outgoing,
    /// A batch that waits for the archive's bucket.
    sealed: Option<Sealed>,
    ahead: Option<Ahead>,
    /// What the database says of how this worker stands.
    told: Standing,
    /// The last batch that was committed.
    batch: i64,
    /// The claim is gone: everything since the last commit is void.
    lost: bool,
    /// What is waiting to be committed must not wait (a host asked to be left alone).
    urgent: bool,
    shipped_at: Instant,
    tended_at: Instant,
    hosts_shipped: u32,
    /// Next row of each named state; and what it will be after the batch that is being sent.
    state_n: HashMap<String, i64>,
    next_state: HashMap<String, i64>,
    delta_n: i64,
    /// Per slot of another worker: the last delta of it that was read.
    deltas_read: HashMap<i32, i64>,
    /// Shards that are not all here yet.
    arriving: Vec<Arriving>,
    arrivals_taken_at: Instant,
    hinted_at: Option<Instant>,
    /// Shards whose last owner did not give them up in order: until then their hosts rest.
    rests: BTreeMap<i16, Instant>,
    /// Slots from, up to: these came from the database, where their records are. In order.
    loaded: Vec<(u32, u32)>,
    /// URLs of shards that are not (all) here that were sighted here of late.
    far_known: HashSet<u64>,
    /// Pages with links to other shards.
    far_pages: HashSet<u32>,
    /// The links beside a URL that were asked for last.
    beside: Mutex<Option<(UrlId, Vec<Child>)>>,
    /// Text of far URLs that were asked for.
    far_urls: Mutex<HashMap<u32, Url>>,
    pages: i64,
    relevant: i64,
    idle: bool,
    watermark: Option<Priority>,
    /// Of the others: nothing worse than this is worth the budget now.
    others_watermark: Option<Priority>,
    /// One of them has nothing to do.
    others_idle: bool,
    workers: u32,
    most_in_flight: usize,
    resumed: bool,
    /// The last command that the loop was told of.
    steered: u64,
    /// Messages with seeds that the loop was told of and has not answered.
    asked_seeds: Vec<Ticket>,
    /// The shards of this slot's pages of earlier runs were asked for.
    own_pages_known: bool,
    /// The loop was told of what was loaded into slots below this.
    loads_told: u32,
}

/// The number of a URL as the tables have it.
fn id64(id: u32) -> i64 {
    i64::from(id)
}
fn id32(id: i64) -> u32 {
    u32::try_from(id).unwrap_or(u32::MAX)
}

/// The shard of a host.
fn shard_of(host_key: &str, key: (u64, u64), shards: i16) -> i16 {
    let n = shards.max(1) as u64;
    (Fingerprint::of(types::domain_of(host_key), key).0 % n) as i16
}

/// The database's clock minus ours, and how wrong that may be.
#[derive(Clone, Copy, Debug, Default)]
struct Skew {
    by: i64,
    error: u64,
}

impl Skew {
    fn shift(t: u64, by: i64) -> u64 {
        // "Never asked" and "never" are no times.
        if t == 0 || t == u64::MAX { t } else { t.saturating_add_signed(by).max(1) }
    }
    fn to_db(self, t: Millis) -> i64 {
        i64::try_from(Self::shift(t.0, self.by)).unwrap_or(i64::MAX)
    }
    fn of_db(self, t: i64) -> Millis {
        if t == i64::MAX { Millis::NEVER } else { Millis(Self::shift(t.max(0) as u64, -self.by)) }
    }
    fn clock_to(self, c: &mut Clock) {
        c.next_allowed = Self::shift(c.next_allowed, self.by);
        c.closed_until = Self::shift(c.closed_until, self.by);
    }
    fn clock_from(self, c: &mut Clock) {
        c.next_allowed = Self::shift(c.next_allowed, -self.by);
        if c.next_allowed > 0 {
            // Rather too late than too early: ours may be wrong, and so may that of whoever wrote it.
            c.next_allowed = c.next_allowed.saturating_add(2 * self.error);
            c.wait_ms = c.wait_ms.saturating_add(2 * self.error);
        }
        c.closed_until = Self::shift(c.closed_until, -self.by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_go_to_the_database_and_back() {
        let skew = Skew { by: -5_000, error: 0 };
        for t in [Millis(0), Millis(10_000), Millis::NEVER] {
            assert_eq!(skew.of_db(skew.to_db(t)), t);
        }
        let mut c = Clock { next_allowed: 20_000, closed_until: 0, ..Clock::default() };
        skew.clock_to(&mut c);
        assert_eq!((c.next_allowed, c.closed_until), (15_000, 0));
        // A worker whose clock is 2 s behind the database's waits as long as everyone else.
        Skew { by: 2_000, error: 3 }.clock_from(&mut c);
        assert_eq!(c.next_allowed, 13_006);
    }

    #[test]
    fn hosts_of_a_domain_share_a_shard_and_domains_spread() {
        let at = |h: &str| shard_of(h, (1, 2), SHARDS);
        assert_eq!(at("www.example.co.uk:81"), at("example.co.uk"));
        let different: HashSet<i16> = (0..2_000).map(|i| at(&format!("h{i}.example{i}.org"))).collect();
        assert!(different.len() > 240, "{}", different.len());
    }
}
