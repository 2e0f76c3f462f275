//! A crawl on many machines: PostgreSQL keeps the truth, each worker keeps the order of its own share in
//! memory.
//!
//! * The hosts of a crawl are spread over 256 **shards** by their registrable domain. A worker **claims**
//!   shards (`takeover`, as long as it is a member: `membership`), loads what is known of them (`load`; the
//!   best first if that is much: `arrive`) into a ledger of its own (`scratch`: the same code as the embedded
//!   one), and serves the crawl's loop from there (`worker`). No query is made to lease a URL.
//! * Everything that happened since goes to the database as **one transaction per batch** (`ship`), which
//!   holds only if the claim does. Sent twice, it counts once. With an archive in a bucket it waits for the
//!   bucket first (`seal`).
//! * A URL of a shard that is not here, or not all of it, goes to that shard's **outbox** (`post`); its owner
//!   takes it in (`peers`).
//! * Who reads (`reader`) needs no claim and sees whatever is committed. Who steers (`steer`) writes commands
//!   that every worker follows. One worker at a time may ask the language model (`seat`).
//!
//! Why so, and not a queue in a table: `docs/adr/0011-postgres-ledger.md`. How to run it: `docs/scale.md`.

mod arrive;
mod db;
mod ids;
mod load;
mod look;
mod membership;
mod open;
mod peers;
mod pooler;
mod post;
mod reader;
mod remove;
mod rows;
mod schema;
mod scratch;
mod seal;
mod seat;
mod ship;
mod steer;
mod takeover;
mod tls;
mod worker;

pub use db::check_address;
pub use reader::{Judged, SharedReader, WorkerInfo};
pub use remove::{Going, Moved, Named, Remover, Without};
pub use steer::{CommandInfo, Given, Helm, Reached};

use crate::ledger::Ledger;
use db::Db;
use frontier::{Clock, Limits};
use ids::Ids;
use membership::Membership;
use peers::Peers;
use scratch::Scratch;
use seal::Outgoing;
use std::path::PathBuf;
use std::time::Duration;
use takeover::Shards;
use types::{Fingerprint, Millis, Priority, UrlId};
use worker::Far;

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
    /// What the frontier's decisions depend on.
    pub limits: Limits,
    /// The secret of the fingerprints of a new crawl (an old one keeps its own); `None` = chosen at random.
    pub key: Option<(u64, u64)>,
    /// A worker that is not heard of for this long has lost its shards.
    pub lease: Duration,
    /// How long a database that is away is waited for.
    pub patience: Duration,
    /// At most this long between what happened and its commit.
    pub commit_within: Duration,
    /// Times are kept by the database's clock, so that workers whose clocks differ agree. Off only in tests,
    /// whose time is made up.
    pub database_time: bool,
    /// The crawl stops after so many pages: a worker that has only poor URLs leaves them to the others.
    pub budget: bool,
    /// When the shards that are taken at a time have more URLs than this together they are loaded while the
    /// crawl goes on, the best URLs first.
    pub load_at_once: u32,
}

impl SharedOptions {
    /// The defaults, for one worker of one crawl.
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
    /// Which shard a host is in.
    spread: Spread,
    skew: Skew,
    /// The ledger of the shards that are here.
    inner: Ledger<Scratch>,
    /// The crawl's numbers of what is in it.
    ids: Ids,
    membership: Membership,
    shards: Shards,
    outgoing: Outgoing,
    peers: Peers,
    far: Far,
    work: Work,
    /// There was something before this worker joined.
    resumed: bool,
}

/// A part of the hosts.
type Shard = i16;

/// How the hosts of a crawl are spread over shards.
#[derive(Clone, Copy)]
struct Spread {
    /// The secret of the fingerprints.
    key: (u64, u64),
    shards: Shard,
}

impl Spread {
    fn shard_of(self, host_key: &str) -> Shard {
        shard_of(host_key, self.key, self.shards)
    }
}

/// How far this worker's own work has come.
#[derive(Default)]
struct Work {
    pages: i64,
    relevant: i64,
    /// Nothing to fetch and nothing in flight.
    idle: bool,
    /// As many URLs as it can fetch soon are at least this good.
    watermark: Option<Priority>,
    most_in_flight: usize,
}

/// The number of a URL as the tables have it.
fn id64(id: u32) -> i64 {
    i64::from(id)
}
fn id32(id: i64) -> u32 {
    u32::try_from(id).unwrap_or(u32::MAX)
}
fn url_id(id: i64) -> UrlId {
    UrlId(id32(id))
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
    use std::collections::HashSet;

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
