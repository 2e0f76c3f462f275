//! The shared ledger at size: admission, settling, re-scoring, take-over, and what the tables weigh.
//!
//! ```text
//! cargo bench -p gleaner-store --bench postgres -- 1000000 [SETTLE]     # URLs, and how many of them are settled
//! ```
//! Starts a PostgreSQL of its own (durable: `fsync = on`) in /tmp. One line per measurement.

#[path = "../../../tests/support/postgres.rs"]
mod postgres;

use frontier::{Frontier, Limits, Next, Pick};
use gleaner_store::{Fleet, Journal, Records, Shared, SharedOptions, Which};
use std::time::{Duration, Instant};
use types::{
    Candidate, Canon, HostUpdate, LinkKind, Millis, Outcome, Priority, Rescored, Settle, Turn, UrlId,
};

const LINKS: usize = 200;
/// Of the best URLs: they must be next in line again soon after a worker is gone.
const FIRST: usize = 1_000;

fn link(n: u64, parent: Option<UrlId>) -> Candidate {
    // A few thousand domains, some far larger than others, as on the Web.
    let domain = (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 40) % 20_000;
    let domain = domain * domain / 20_000;
    let text = format!("http://www.site{domain}.example{}.org/a/page/of/some/length/{n}.html", domain % 300);
    Candidate {
        url: Canon::exact().parse(&text).expect("a URL"),
        parent,
        kind: if parent.is_some() { LinkKind::Anchor } else { LinkKind::Seed },
        depth: 1,
        site_depth: 1,
        hops: 0,
        priority: Priority::key_only(
            ((n.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 11) as f64) / (1u64 << 53) as f64,
        ),
        evidence: vec![7; 60],
        model: 1,
        ttl: None,
        anchor: "a text of a usual length".into(),
    }
}

fn rate(what: &str, n: u64, t: Duration) {
    println!("{what}: {n} in {:.1} s = {:.0} per second", t.as_secs_f64(), n as f64 / t.as_secs_f64());
}

fn main() {
    let mut args = std::env::args().skip(1).filter(|a| a != "--bench").filter_map(|a| a.parse::<u64>().ok());
    let urls = args.next().unwrap_or(50_000);
    let settle = args.next().unwrap_or(urls / 10);
    let Some(server) = postgres::Server::start(true) else {
        println!("SKIPPED: PostgreSQL is not installed");
        return;
    };
    let limits = Limits { delay_ms: 0, use_robots: false, hosts_per_domain: None, ..Limits::none() };
    let dir = std::env::temp_dir().join(format!("gleaner-bench-{}", std::process::id()));
    let options = |name: &str| SharedOptions {
        lease: Duration::from_secs(5),
        ..SharedOptions::new(&server.url(), "bench", name, dir.join(name), limits.clone())
    };
    let now = Millis(1_800_000_000_000);
    let best = |a: Priority, b: Priority| a.max(b);
    let done = |id, add| Turn {
        add,
        host: HostUpdate { contacted: true, finished: now, ..HostUpdate::default() },
        ..Turn::new(Settle::Done { id, outcome: Outcome::Fetched })
    };

    let mut a = Shared::open(options("a"), now).expect("a database");
    a.seed(link(0, None), now).expect("seeded");
    let started = Instant::now();
    let mut n = 1;
    while n < urls {
        let Next::Lease(lease) = a.lease(now, Pick::Best).expect("a lease") else {
            panic!("nothing to lease")
        };
        let add = (n..n + LINKS as u64).map(|i| link(i, Some(lease.id))).collect();
        a.apply(done(lease.id, add), &best).expect("applied");
        a.commit().expect("committed");
        a.maintain(now, &best).expect("tended");
        n += LINKS as u64;
    }
    a.sync().expect("committed");
    rate("admission (URLs, committed, one worker)", n, started.elapsed());
    sizes(&server, "after admission");

    let before = Instant::now();
    let mut settled = 0;
    while settled < settle {
        let Next::Lease(lease) = a.lease(now, Pick::Best).expect("a lease") else { break };
        a.apply(done(lease.id, Vec::new()), &best).expect("applied");
        settled += 1;
        // About a batch of a busy worker.
        if settled % 25 == 0 {
            a.sync().expect("committed");
        }
    }
    a.sync().expect("committed");
    rate("lease and settle, committed in batches of 25", settled, before.elapsed());
    sizes(&server, "after settling");

    let pending: Vec<UrlId> = a.entries(Which::Pending).map(|e| e.expect("an entry").id).collect();
    let (before, mut longest) = (Instant::now(), Duration::ZERO);
    for part in pending.chunks(5_000) {
        let chunk = Instant::now();
        let new: Vec<Rescored> = part
            .iter()
            .filter_map(|&id| a.entry(id).unwrap().map(|e| (id, e)))
            // A new model moves most a little and some a lot.
            .map(|(id, e)| {
                let key = e.priority.key() * if id.0 % 10 == 0 { 1.5 } else { 1.001 };
                Rescored { id, priority: Priority::key_only(key), model: 2, cause: None }
            })
            .collect();
        a.rescore(&new).expect("re-scored");
        a.sync().expect("committed");
        longest = longest.max(chunk.elapsed());
    }
    rate("re-scoring sweep, chunks of 5000", pending.len() as u64, before.elapsed());
    println!("longest chunk: {longest:?}");
    sizes(&server, "after re-scoring");

    // It goes on for a while; then it falls silent, and another is there.
    let until = Instant::now() + Duration::from_secs(6);
    while Instant::now() < until {
        a.maintain(now, &best).expect("tended");
        std::thread::sleep(Duration::from_millis(100));
    }
    let (total, pending) = (a.stats().unwrap().urls, a.stats().unwrap().pending);
    let rested = now.plus(Duration::from_secs(60));
    let next: Vec<UrlId> = a.peek(rested, None, FIRST).iter().map(|p| p.id).collect();
    let mut b = Shared::open(options("b"), now).expect("joins");
    a.stop_renewing();
    let end = Instant::now() + Duration::from_secs(1_800);
    while server.sql("SELECT count(*) FROM gleaner.worker WHERE expires >= now()") != "1" {
        assert!(Instant::now() < end, "the claim does not run out");
        std::thread::sleep(Duration::from_millis(20));
    }
    let expired = Instant::now();
    let (mut owned, mut first, mut longest) = (None, None, Duration::ZERO);
    let shards = "SELECT count(*) FROM gleaner.shard s JOIN gleaner.worker w ON w.incarnation = s.owner \
                  WHERE w.name = 'b'";
    while b.stats().unwrap().urls < total {
        assert!(Instant::now() < end, "not taken over: {} of {total}", b.stats().unwrap().urls);
        let t = Instant::now();
        b.maintain(now, &best).expect("tended");
        longest = longest.max(t.elapsed());
        if owned.is_none() && server.sql(shards) == "256" {
            owned = Some(expired.elapsed());
        }
        // Its hosts rest first; afterwards they are served in the order they were in before.
        if first.is_none() && b.peek(rested, None, FIRST).iter().map(|p| p.id).eq(next.iter().copied()) {
            first = Some(expired.elapsed());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    println!(
        "take-over of {total} URLs ({pending} pending) by one worker: all shards {:.1} s after the lease \
         expired, the {FIRST} best \
         URLs in line after {:.1} s, all in memory after {:.1} s; the loop waited for at most {:.2} s at a \
         time",
        owned.expect("it has all shards").as_secs_f64(),
        first.expect("the order is the same").as_secs_f64(),
        expired.elapsed().as_secs_f64(),
        longest.as_secs_f64()
    );
    assert_eq!(b.stats().unwrap().pending, pending);
    memory();
    drop((a, b));
    let _ = std::fs::remove_dir_all(dir);
}

/// Of this process, with two workers in it.
fn memory() {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    for line in status.lines().filter(|l| l.starts_with("VmHWM") || l.starts_with("VmRSS")) {
        println!("{line}");
    }
}

fn sizes(server: &postgres::Server, when: &str) {
    let rows = server.sql(
        "SELECT c.relname || ' ' || pg_relation_size(c.oid) / 1000000 || ' MB + indexes ' || \
         pg_indexes_size(c.oid) / 1000000
                || ' MB, rows ' || s.n_live_tup || ', dead ' || s.n_dead_tup || ', updates ' || s.n_tup_upd || ' (heap-only '
                || s.n_tup_hot_upd || ')'
         FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_stat_user_tables s ON s.relid = c.oid
         WHERE n.nspname = 'gleaner' AND c.relkind = 'r' AND pg_total_relation_size(c.oid) > 500000 ORDER BY 1",
    );
    println!("{when}:\n  {}", rows.replace('\n', "\n  "));
}
