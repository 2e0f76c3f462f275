//! Machines that stop, disks that lose, fill up and lie.

use crate::harness::*;
use frontier::{Frontier, Limits, Next, Pick, State};
use gleaner_store::ledger::{Ledger, Options};
use gleaner_store::{Journal, Records};
use types::{
    Candidate, HostUpdate, Millis, Outcome, Priority, Problem, Rescored, Settle, StateKey, Turn, UrlId,
    Verdict,
};

fn limits() -> Limits {
    Limits { delay_ms: 100, use_robots: false, max_attempts: 2, ..Limits::default() }
}

/// Everything a ledger holds that must survive: URLs with state, priority and sightings; hosts; records;
/// state.
fn summary(l: &Ledger<CrashLog>) -> String {
    let mut out = String::new();
    for id in (0..l.stats().unwrap().urls as u32).map(UrlId) {
        let info = l.entry(id).unwrap().unwrap();
        let state = if info.state == State::Leased { State::Pending } else { info.state };
        let sources: Vec<_> =
            l.sources(id).unwrap().into_iter().map(|s| (s.parent, s.priority, s.evidence)).collect();
        let children = l.children(id).unwrap();
        let url = l.url(id).unwrap();
        out += &format!(
            "{id:?} {url} {state:?} {:?} {} {sources:?} {children:?}\n",
            info.priority, info.attempts
        );
    }
    for h in l.hosts().unwrap().into_iter() {
        out += &format!("{} {} {:?}\n", h.name, h.clock.pages, h.clock.ip);
    }
    out += &format!("{:?}\n", l.pages(0).map(|p| p.unwrap().0).collect::<Vec<_>>());
    out += &format!("{:?} {:?}", l.revised().unwrap(), l.state(StateKey::Counts).unwrap());
    out
}

/// A little crawl with some of everything, one commit per turn. Returns the log, and after each commit its
/// length and what the ledger held.
fn crawl(log: &CrashLog, options: Options) -> Vec<(usize, String)> {
    let mut l = Ledger::on(log.clone(), options, Millis(0)).unwrap();
    let len = || log.disk().bytes.len();
    let mut commits = vec![(len(), summary(&l))];
    for i in 0..4 {
        l.seed(seed(&format!("http://s{i}/"), 1.0), Millis(0)).unwrap();
    }
    l.commit().unwrap();
    commits.push((len(), summary(&l)));
    for turn in 0u32..16 {
        let now = u64::from(turn) * 200;
        let Next::Lease(lease) = l.lease(Millis(now), Pick::Best).unwrap() else { break };
        let new = |i: u32| {
            link(&format!("http://h{}/{turn}/{i}", (turn + i) % 5), f64::from((turn * 7 + i * 3) % 10) / 10.0)
        };
        let mut add: Vec<Candidate> = (0..3).map(new).collect();
        add.push(link("http://hub/", f64::from(turn) / 20.0));
        add.push(Candidate { ttl: Some(2), ..link(&format!("http://brief/{turn}"), 0.0) });
        add.iter_mut().for_each(|c| c.parent = Some(lease.id));
        let settle = match turn % 5 {
            3 => Settle::Retry { id: lease.id, not_before: Millis(now + 300) },
            4 => Settle::Done { id: lease.id, outcome: Outcome::HttpError(404) },
            _ => Settle::Done { id: lease.id, outcome: Outcome::Fetched },
        };
        let fetched = matches!(settle, Settle::Done { outcome: Outcome::Fetched, .. });
        let mut t = Turn { add, host: contact(now), ..Turn::new(settle) };
        t.host.failed = Some(turn % 5 == 3);
        t.record = fetched.then(|| record(lease.id, lease.url.as_str()));
        t.state = vec![(StateKey::Counts, turn % 4 != 0, vec![turn as u8; 3])];
        if turn > 2 {
            let priority = Priority::new((turn % 2) as u8, f64::from(turn));
            t.rescore = vec![Rescored { id: UrlId(turn), priority, model: turn, cause: Some(lease.id) }];
            t.revised = vec![(UrlId(0), Verdict { relevant: true, version: turn, ..Verdict::default() })];
        }
        l.apply(t, &best).unwrap();
        l.commit().unwrap();
        l.check().unwrap();
        commits.push((len(), summary(&l)));
    }
    commits
}

fn synced() -> CrashLog {
    let log = CrashLog::default();
    log.disk().always = true;
    log
}

#[test]
fn whatever_is_cut_off_the_rest_is_there_and_whole() {
    let log = synced();
    let commits = crawl(&log, options(limits()));
    assert!(commits.len() > 14);
    let bytes = log.disk().bytes.clone();
    for cut in 0..=bytes.len() {
        // Every commit boundary and its neighbours, and a sample of what is between.
        let near = commits.iter().any(|(len, _)| len.abs_diff(cut) <= 17);
        if !near && cut % 97 != 0 {
            continue;
        }
        let crashed = CrashLog::of(&bytes[..cut]);
        let l = open(&crashed, limits(), 10_000);
        l.check().unwrap();
        match commits.iter().rev().find(|(len, _)| *len <= cut) {
            Some((len, before)) => {
                assert_eq!(&summary(&l), before, "cut at {cut}");
                assert_eq!(l.stats().unwrap().torn_bytes, (cut - len) as u64);
            }
            None => assert_eq!(l.stats().unwrap().urls, 0),
        }
    }
}

#[test]
fn after_a_crash_the_crawl_goes_on_and_survives_the_next_one() {
    let log = synced();
    crawl(&log, options(limits()));
    for round in 0..12 {
        let now = 10_000 + round * 1_000;
        let mut l = open(&log, limits(), now);
        l.check().unwrap();
        let before = l.stats().unwrap();
        let (lease, _) = l.visit(now + 500, &[link(&format!("http://new/{round}"), 0.3)]);
        l.commit().unwrap();
        l.lease(Millis(now + 500), Pick::Best).unwrap();
        let settled = l.entry(lease.id).unwrap().unwrap().state;
        drop(l);
        log.crash(round as usize * 5);
        let l = open(&log, limits(), now + 600);
        assert_eq!(l.entry(lease.id).unwrap().unwrap().state, settled);
        assert_eq!(
            (l.stats().unwrap().urls, l.stats().unwrap().leased),
            (before.urls + 1, 0),
            "leases are pending again"
        );
    }
}

#[test]
fn a_commit_that_was_not_synced_is_lost_whole_or_not_at_all() {
    let log = CrashLog::default();
    let mut l = open(&log, limits(), 0);
    l.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    l.seed(seed("http://b/", 1.0), Millis(0)).unwrap();
    l.commit().unwrap();
    l.sync().unwrap();
    l.visit(0, &[link("http://c/", 0.5), link("http://d/", 0.5)]);
    l.commit().unwrap();
    drop(l);
    let disk = log.disk().clone();
    for survive in 0..=disk.bytes.len() - disk.synced {
        let crashed = CrashLog::of(&disk.bytes);
        crashed.disk().synced = disk.synced;
        crashed.crash(survive);
        let l = open(&crashed, limits(), 0);
        let all = survive == disk.bytes.len() - disk.synced;
        let expected = if all { (4, 3, 1) } else { (2, 2, 0) };
        assert_eq!(
            (l.stats().unwrap().urls, l.stats().unwrap().pending, l.stats().unwrap().pages),
            expected,
            "{survive}"
        );
        l.check().unwrap();
    }
}

#[test]
fn blocks_may_reach_the_disk_in_any_order() {
    // Nothing was synced after the opening: a hole in the middle is a crash, not damage.
    let log = CrashLog::default();
    let commits = crawl(&log, options(limits()));
    let (from, to) = (commits[5].0, commits[6].0);
    log.disk().bytes[from..to].fill(0);
    let l = open(&log, limits(), 10_000);
    assert_eq!(summary(&l), commits[5].1);
    assert!(l.stats().unwrap().torn_bytes > 0);
}

#[test]
fn a_damaged_middle_is_named_and_nothing_is_cut_off() {
    let log = synced();
    let commits = crawl(&log, options(limits()));
    let at = commits[5].0 + 40;
    log.disk().bytes[at] ^= 1;
    let len = log.disk().bytes.len();
    let Err(e) = Ledger::on(log.clone(), options(limits()), Millis(0)) else { panic!("not noticed") };
    let text = e.to_string();
    assert!(text.contains(&format!("crash.log is damaged at byte {}", commits[5].0)), "{text}");
    assert!(text.contains("hint: ") && text.contains("backup"), "{text}");
    assert_eq!(log.disk().bytes.len(), len, "a person decides");
}

#[test]
fn any_flipped_bit_is_an_error_or_an_earlier_commit_never_something_else() {
    let log = synced();
    let commits = crawl(&log, options(limits()));
    let bytes = log.disk().bytes.clone();
    for at in (0..bytes.len()).step_by(61) {
        let mut flipped = bytes.clone();
        flipped[at] ^= 1 << (at % 8);
        if let Ok(l) = Ledger::on(CrashLog::of(&flipped), options(limits()), Millis(0)) {
            let now = summary(&l);
            let known =
                commits.iter().any(|(len, s)| *len <= at && *s == now) || l.stats().unwrap().urls == 0;
            assert!(known, "flipped at {at}");
        }
    }
}

#[test]
fn damage_that_a_checkpoint_hides_is_found_when_it_is_read() {
    let log = synced();
    let mut l = open(&log, limits(), 0);
    l.seed(seed("http://a/", 1.0), Millis(0)).unwrap();
    l.commit().unwrap();
    let end = log.disk().bytes.len();
    l.checkpoint().unwrap();
    drop(l);
    log.disk().bytes[end - 5] ^= 4;
    let mut l = open(&log, limits(), 0);
    let e = l.lease(Millis(1_000), Pick::Best).unwrap_err();
    assert!(e.to_string().contains("is damaged at byte"), "{e}");
    l.check().unwrap();
    assert_eq!(l.stats().unwrap().leased, 0, "the lease was given back");
}

#[test]
fn checkpoints_change_nothing_and_a_bad_one_is_ignored() {
    let log = synced();
    let commits = crawl(&log, Options { checkpoint_bytes: 4_000, ..options(limits()) });
    let (_, last) = commits.last().unwrap();
    let disk = log.disk().clone();
    let (&pos, image) = disk.checkpoints.last_key_value().expect("the log grew enough for one");
    assert!(pos > 0 && (pos as usize) < disk.bytes.len(), "there is a tail to replay");
    let opened = |change: &dyn Fn(&mut Disk)| {
        let log = CrashLog::of(&disk.bytes);
        log.disk().checkpoints = disk.checkpoints.clone();
        change(&mut log.disk());
        let l = open(&log, limits(), 10_000);
        l.check().unwrap();
        summary(&l)
    };
    assert_eq!(&opened(&|_| ()), last);
    assert_eq!(&opened(&|d| d.checkpoints.clear()), last);
    for at in (0..image.len()).step_by(37) {
        let flip = |d: &mut Disk| d.checkpoints.get_mut(&pos).unwrap()[at] ^= 0x10;
        assert_eq!(&opened(&flip), last, "flipped at {at}");
        let cut = |d: &mut Disk| d.checkpoints.get_mut(&pos).unwrap().truncate(at);
        assert_eq!(&opened(&cut), last, "cut at {at}");
    }
    // A log that was cut back behind the checkpoint, and one that went on differently since.
    let (len, before) = commits.iter().rev().find(|(len, _)| (*len as u64) < pos).unwrap();
    assert_eq!(&opened(&|d| d.bytes.truncate(*len)), before);
    let log = CrashLog::of(&disk.bytes[..*len]);
    let mut l = open(&log, limits(), 10_000);
    for i in 0..200 {
        l.seed(seed(&format!("http://else/{i}"), 0.5), Millis(0)).unwrap();
        l.commit().unwrap();
    }
    let differently = summary(&l);
    drop(l);
    log.disk().checkpoints = disk.checkpoints.clone();
    assert!(log.disk().bytes.len() as u64 > pos);
    assert_eq!(summary(&open(&log, limits(), 20_000)), differently);
}

#[test]
fn a_full_disk_is_a_problem_and_then_it_is_not() {
    let full = {
        let log = synced();
        crawl(&log, options(limits()));
        log.disk().bytes.len()
    };
    for room in (200..full).step_by(513) {
        let log = synced();
        log.disk().capacity = Some(room);
        let mut l = match Ledger::on(log.clone(), options(limits()), Millis(0)) {
            Ok(l) => l,
            Err(e) => {
                assert!(e.to_string().contains("free some space"), "{e}");
                continue;
            }
        };
        for i in 0..200 {
            l.seed(seed(&format!("http://h{}/{i}", i % 7), 0.5), Millis(0)).unwrap();
        }
        let mut now = 0;
        let failed: Problem = loop {
            if let Err(e) = l.commit() {
                break e;
            }
            l.visit(now, &[link(&format!("http://n/{now}"), 0.1)]);
            now += 200;
        };
        assert!(failed.to_string().contains("cannot write crash.log"), "{failed}");
        assert!(failed.to_string().contains("nothing is lost"), "{failed}");
        l.check().unwrap();
        assert!(l.commit().is_err(), "still full");
        let in_memory = summary(&l);
        // A crash now loses what was never committed, and nothing else.
        let copy = CrashLog::of(&log.disk().bytes);
        open(&copy, limits(), now).check().unwrap();
        // With room again everything is written.
        log.disk().capacity = None;
        l.commit().unwrap();
        assert_eq!(summary(&l), in_memory);
        drop(l);
        assert_eq!(summary(&open(&log, limits(), now)), in_memory, "room for {room}");
    }
}

#[test]
fn after_an_unclean_end_every_host_rests_first() {
    let slow = |now| HostUpdate { crawl_delay: Some(700), ..contact(now) };
    let log = synced();
    let mut l = open(&log, limits(), 0);
    for u in ["http://a/1", "http://a/2", "http://b/1", "http://b/2"] {
        l.seed(seed(u, 1.0), Millis(0)).unwrap();
    }
    let a = l.lease_at(0).unwrap();
    l.apply(Turn { host: slow(0), ..done(a.id, Outcome::Fetched, 0) }, &best).unwrap();
    l.commit().unwrap();
    let b = l.lease_at(4_999).unwrap();
    assert_eq!(
        b.url.as_str(),
        "http://a/2",
        "contacted, and the machine stops before anything of it is written"
    );
    drop(l);
    let mut l = open(&log, limits(), 5_000);
    assert_eq!(l.lease_at(5_000).map(|l| l.url.to_string()), None);
    assert_eq!(l.lease_at(5_100).unwrap().url.as_str(), "http://b/1", "its delay is 100");
    let Next::Wait { until, .. } = l.lease(Millis(5_100), Pick::Best).unwrap() else { panic!() };
    assert_eq!(until, Millis(5_700), "a's is 700");
}

#[test]
fn after_a_clean_end_clocks_stand_as_they_were() {
    let log = synced();
    let mut l = open(&log, limits(), 0);
    l.seed(seed("http://a/1", 1.0), Millis(0)).unwrap();
    l.seed(seed("http://a/2", 1.0), Millis(0)).unwrap();
    l.seed(seed("http://b/1", 0.5), Millis(0)).unwrap();
    let a = l.lease_at(0).unwrap();
    let host = HostUpdate { not_before: Some(Millis(60_000)), ..contact(10) };
    l.apply(Turn { host, ..done(a.id, Outcome::HttpError(429), 10) }, &best).unwrap();
    l.close().unwrap();
    drop(l);
    let mut l = open(&log, limits(), 20);
    assert_eq!(l.lease_at(20).unwrap().url.as_str(), "http://b/1", "nobody has to rest");
    assert!(l.lease_at(59_999).is_none(), "Retry-After is kept");
    assert_eq!(l.lease_at(60_000).unwrap().url.as_str(), "http://a/2");
    // Opened in order, but not closed: the next start cannot know who was contacted.
    drop(l);
    let mut l = open(&log, limits(), 60_000);
    assert!(l.lease_at(60_099).is_none());
    assert!(l.lease_at(60_100).is_some());
}

#[test]
fn a_clock_that_went_back_blocks_nobody() {
    let year = 365 * 24 * 3_600_000;
    let log = synced();
    let mut l = open(&log, limits(), year);
    for u in ["http://a/1", "http://a/2", "http://b/1", "http://b/2"] {
        l.seed(seed(u, 1.0), Millis(year)).unwrap();
    }
    let a = l.lease_at(year).unwrap();
    l.apply(done(a.id, Outcome::Fetched, year), &best).unwrap();
    let b = l.lease_at(year).unwrap();
    let retry = Settle::Retry { id: b.id, not_before: Millis(year + 5_000) };
    l.apply(Turn { host: contact(year), ..Turn::new(retry) }, &best).unwrap();
    l.close().unwrap();
    drop(l);
    let mut l = open(&log, limits(), 1_000);
    l.check().unwrap();
    assert!(l.lease_at(1_099).is_none());
    assert_eq!(l.lease_at(1_100).unwrap().url.as_str(), "http://a/2");
    assert_eq!(l.lease_at(1_100).unwrap().url.as_str(), "http://b/2");
    for id in [1, 3] {
        l.apply(done(UrlId(id), Outcome::Fetched, 1_200), &best).unwrap();
    }
    let Next::Wait { until, .. } = l.lease(Millis(2_000), Pick::Best).unwrap() else { panic!() };
    assert!(until.0 <= 1_000 + 24 * 3_600_000, "a retry is at most a day away: {until:?}");
}

#[test]
fn limits_may_change_between_runs() {
    let log = synced();
    let mut l = open(&log, limits(), 0);
    for i in 0..5 {
        l.seed(seed(&format!("http://a/{i}"), 1.0), Millis(0)).unwrap();
    }
    l.visit(0, &[]);
    l.visit(200, &[]);
    l.close().unwrap();
    drop(l);
    let mut l = open(&log, Limits { pages_per_host: Some(2), ..limits() }, 1_000);
    l.check().unwrap();
    assert!(
        matches!(l.lease(Millis(5_000), Pick::Best).unwrap(), Next::Empty(_)),
        "a has had its pages: nothing waits for ever"
    );
    assert_eq!(l.stats().unwrap().pending, 0);
}
