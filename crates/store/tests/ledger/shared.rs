//! What only a shared ledger can do: several workers on one crawl, taking over, handing over, being cut off.

use frontier::Limits;
use gleaner_store::SharedOptions;
use std::path::Path;
use std::time::Duration;

pub use crate::postgres::server;

/// A worker of the crawl that is named after the folder, in time that is made up.
pub fn shared(dir: &Path, worker: &str, limits: Limits) -> SharedOptions {
    let crawl = dir.file_name().unwrap().to_string_lossy();
    let url = server().unwrap().url();
    SharedOptions {
        key: Some((1, 2)),
        database_time: false,
        commit_within: Duration::ZERO,
        ..SharedOptions::new(&url, &crawl, worker, dir.join(worker), limits)
    }
}

use crate::harness::*;
use bytes::Bytes;
use frontier::{Frontier, Next, Pick, State};
use gleaner_store::archive::{ArchiveSettings, Archiver, Depot, Objects, PageNote, WarcReader};
use gleaner_store::{Fleet, Journal, Records, Shared, SharedReader, Which};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Instant;
use types::{
    Candidate, Millis, Outcome, Priority, Problem, Rescored, RobotsAnswer, Settle, StateKey, Task, Turn,
    UrlId,
};

/// Looks after all workers until `done` (or panics).
fn until(
    now: u64,
    workers: &mut [&mut Shared],
    what: &str,
    mut done: impl FnMut(&mut [&mut Shared]) -> bool,
) {
    let end = Instant::now() + Duration::from_secs(30);
    while !done(workers) {
        assert!(Instant::now() < end, "waited in vain: {what}");
        for w in workers.iter_mut() {
            w.maintain(Millis(now), &best).unwrap();
            w.check().unwrap();
        }
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn has(w: &Shared, text: &str) -> bool {
    w.find(&url(text)).unwrap().and_then(|id| w.entry(id).unwrap()).is_some_and(|e| e.host.is_some())
}

/// `n` hosts of as many domains, seeded by one worker.
fn seeded(w: &mut Shared, n: usize) -> Vec<String> {
    let urls: Vec<String> = (0..n).map(|i| format!("http://d{i}.example{i}.org/")).collect();
    for u in &urls {
        w.seed(seed(u, 1.0), Millis(0)).unwrap();
    }
    w.sync().unwrap();
    urls
}

pub fn reader(dir: &Path) -> SharedReader {
    let crawl = dir.file_name().unwrap().to_string_lossy();
    SharedReader::open(&server().unwrap().url(), Some(&crawl)).unwrap()
}

#[test]
fn workers_share_the_hosts_and_mail_each_other_what_is_not_theirs() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    let urls = seeded(&mut a, 40);
    let mut b = Shared::open(shared(dir.path(), "b", quick()), Millis(0)).unwrap();
    assert_eq!(b.stats().unwrap().urls, 0, "nothing is free yet");
    until(0, &mut [&mut a, &mut b], "the shards are shared out", |w| {
        w[1].stats().unwrap().urls > 0 && w[0].stats().unwrap().urls < 40
    });
    until(0, &mut [&mut a, &mut b], "all of them", |w| {
        w[0].stats().unwrap().urls + w[1].stats().unwrap().urls == 40
    });
    for u in &urls {
        assert!(has(&a, u) != has(&b, u), "{u} is with exactly one of them");
        assert_eq!(
            a.find(&url(u)).unwrap(),
            b.find(&url(u)).unwrap(),
            "{u} has the same number for everyone"
        );
    }
    // A page of one links to hosts of both, known and new.
    let new: Vec<String> = (100..140).map(|i| format!("http://d{i}.example{i}.org/x")).collect();
    let links: Vec<Candidate> = new.iter().chain(&urls).map(|u| link(u, 2.0)).collect();
    let asked = a.statements();
    let known = |w: &Shared| new.iter().filter(|u| w.target(&url(u)) != types::Target::New).count();
    assert_eq!(known(&a), 0, "nobody has seen them");
    let (page, applied) = a.visit(0, &links);
    assert!(applied.sent > 20 && applied.admitted > 5, "{applied:?}");
    assert_eq!(known(&a), 40, "what was seen here is known here, whoever has it");
    // Every link of every page is looked up: the database must not be asked for it.
    assert!(a.statements() - asked < 10, "{} statements", a.statements() - asked);
    a.sync().unwrap();
    // What came by mail is named to the loop, which knows what the user wants of its hosts.
    let end = Instant::now() + Duration::from_secs(30);
    let mut mailed = Vec::new();
    while mailed.len() < applied.sent as usize {
        assert!(Instant::now() < end, "{mailed:?} of {applied:?}");
        mailed.extend(b.maintain(Millis(0), &best).unwrap().unwrap_or_default().mailed);
        std::thread::sleep(Duration::from_millis(20));
    }
    assert!(mailed.iter().all(|id| b.entry(*id).unwrap().is_some_and(|e| e.host.is_some())));
    until(0, &mut [&mut a, &mut b], "the mail is taken in", |w| {
        w[0].stats().unwrap().urls + w[1].stats().unwrap().urls == 80
    });
    for u in &new {
        assert!(has(&a, u) != has(&b, u), "{u}");
    }
    // Merged where they were known: by whoever has them.
    let of_b = urls.iter().find(|u| has(&b, u)).unwrap();
    let id = b.find(&url(of_b)).unwrap().unwrap();
    assert_eq!(b.entry(id).unwrap().unwrap().priority, Priority::key_only(2.0));
    let sources = b.sources(id).unwrap();
    assert_eq!((sources.len(), sources[1].parent), (2, Some(page.id)));
    // Where it was found is asked of the database, since the parent is not here.
    assert_eq!(b.url(page.id).unwrap().as_str(), page.url.as_str());
    assert_eq!(b.record(page.id).unwrap().unwrap().url, page.url.as_str());
    // Of many at once with one question, however many.
    let asked = b.statements();
    let texts = b.urls(&[page.id, UrlId(9_999)]).unwrap();
    assert_eq!((texts.len(), texts[&page.id].as_str()), (1, page.url.as_str()));
    let found = b.all_sources(&[page.id, id, UrlId(9_999)]).unwrap();
    assert_eq!((found.len(), found[&page.id].len(), found[&id].len()), (2, 1, 2));
    assert_eq!(b.statements() - asked, 2);
    let r = reader(dir.path());
    r.check().unwrap();
    assert_eq!(r.children(page.id).unwrap().len(), 80);
    assert_eq!((r.stats().unwrap().urls, r.stats().unwrap().pages, r.workers().unwrap().len()), (80, 1, 2));

    // Siblings: what a visit says of its siblings reaches those of the other worker.
    let child = leased(a.lease(Millis(0), Pick::Best).unwrap());
    let siblings = a.siblings(child.id).unwrap();
    if child.parent == Some(page.id) {
        assert!(siblings.len() > 20, "{} siblings", siblings.len());
    }
    let low = Priority::key_only(-3.0);
    let rescore = siblings.iter().map(|&id| Rescored { id, priority: low, model: 7, cause: Some(child.id) });
    let turn = Turn { rescore: rescore.collect(), ..done(child.id, Outcome::Fetched, 0) };
    a.apply(turn, &best).unwrap();
    a.rescore_far_siblings(child.id, low, 7).unwrap();
    a.sync().unwrap();
    if child.parent == Some(page.id) {
        let far = new.iter().find(|u| has(&b, u)).unwrap();
        until(0, &mut [&mut a, &mut b], "the new priority arrives", |w| {
            let id = w[1].find(&url(far)).unwrap().unwrap();
            w[1].entry(id).unwrap().unwrap().priority == low
        });
    }

    // One leaves in order: the other has everything, at once.
    let pending = a.stats().unwrap().pending + b.stats().unwrap().pending;
    b.close().unwrap();
    until(0, &mut [&mut a], "the rest is taken over", |w| w[0].stats().unwrap().pending == pending);
    a.check().unwrap();
}

#[test]
fn a_worker_that_slept_through_its_lease_has_lost_it() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let short = |name: &str| SharedOptions {
        lease: Duration::from_millis(1500),
        ..shared(dir.path(), name, Limits { delay_ms: 100, use_robots: false, ..Limits::default() })
    };
    let mut a = Shared::open(short("a"), Millis(0)).unwrap();
    let urls = seeded(&mut a, 10);
    let lease = leased(a.lease(Millis(0), Pick::Best).unwrap());
    assert!(a.gate().is_open() && a.holds(lease.id));
    // Its renewals stop, as if the process was stopped.
    a.stop_renewing();
    let mut b = Shared::open(short("b"), Millis(1_000)).unwrap();
    assert_eq!(b.stats().unwrap().urls, 0);
    let started = Instant::now();
    until(5_000, &mut [&mut b], "the shards of the dead are taken over", |w| {
        w[0].stats().unwrap().urls == 10
    });
    assert!(started.elapsed() < Duration::from_secs(7), "{:?}", started.elapsed());
    assert!(!a.gate().is_open(), "no request may be sent any more");
    // All hosts rest: any of them may have been contacted a moment ago.
    assert!(matches!(b.lease(Millis(5_050), Pick::Best).unwrap(), Next::Wait { .. }));
    assert_eq!(b.stats().unwrap().leased, 0);
    assert!(b.lease_at(5_200).is_some());

    // The sleeper wakes: what it fetched is not accepted, not even its state.
    let before = reader(dir.path()).stats().unwrap();
    let turn = Turn {
        record: Some(record(lease.id, lease.url.as_str())),
        state: vec![(StateKey::Answers, false, vec![1])],
        ..done(lease.id, Outcome::Fetched, 10)
    };
    a.apply(turn, &best).unwrap();
    a.sync().unwrap();
    assert!(!a.holds(lease.id), "and it knows");
    let r = reader(dir.path());
    assert_eq!(r.stats().unwrap().outcomes, before.outcomes);
    assert_eq!((r.stats().unwrap().pages, r.record(lease.id).unwrap()), (0, None));
    // It joins anew and gets its share.
    let news = a.maintain(Millis(6_000), &best).unwrap().unwrap_or_default();
    assert!(news.rejoined);
    until(6_000, &mut [&mut a, &mut b], "shared out again", |w| {
        w[0].stats().unwrap().urls > 0 && w[0].stats().unwrap().urls + w[1].stats().unwrap().urls == 10
    });
    for u in &urls {
        assert!(has(&a, u) != has(&b, u), "{u}");
    }
    reader(dir.path()).check().unwrap();
}

#[test]
fn clocks_and_robots_move_with_the_host() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let limits = || Limits { delay_ms: 100, ..Limits::default() };
    let mut a = Shared::open(shared(dir.path(), "a", limits()), Millis(0)).unwrap();
    a.seed(seed("http://slow.example/", 1.0), Millis(0)).unwrap();
    a.seed(seed("http://slow.example/2", 0.5), Millis(0)).unwrap();
    let robots = leased(a.lease(Millis(0), Pick::Best).unwrap());
    assert_eq!(robots.task, Task::Robots);
    let answer = RobotsAnswer {
        status: 200,
        body: b"User-agent: *\nDisallow: /private".to_vec(),
        fetched: Millis(0),
        expires: Millis(1_000_000),
    };
    let mut turn =
        Turn { host: contact(0), ..Turn::new(Settle::Robots { id: robots.id, answer: answer.clone() }) };
    turn.host.crawl_delay = Some(3_000);
    a.apply(turn, &best).unwrap();
    let lease = leased(a.lease(Millis(3_000), Pick::Best).unwrap());
    // "Come back in ten minutes."
    let mut turn =
        Turn { host: contact(3_010), ..Turn::new(Settle::Retry { id: lease.id, not_before: Millis(4_000) }) };
    turn.host.not_before = Some(Millis(603_010));
    a.apply(turn, &best).unwrap();
    // An urgent fact does not wait for the next batch; then the worker is gone without a word.
    a.commit().unwrap();
    a.stop_renewing();
    drop(a);
    let mut b = Shared::open(shared(dir.path(), "a", limits()), Millis(10_000)).unwrap();
    assert_eq!(b.stats().unwrap().urls, 2, "the same folder: its shards are taken at once");
    assert_eq!(b.robots("slow.example").unwrap(), Some(answer));
    assert!(b.lease_at(600_000).is_none(), "Retry-After holds for whoever comes next");
    let lease = b.lease_at(603_010).unwrap();
    assert_eq!((lease.task, lease.attempt), (Task::Page, 1));
    b.apply(done(lease.id, Outcome::Fetched, 603_020), &best).unwrap();
    assert!(b.lease_at(606_000).is_none(), "and so does Crawl-delay");
    assert_eq!(b.lease_at(606_020).map(|l| l.attempt), Some(0));
}

#[test]
fn models_are_exchanged_and_a_newcomer_starts_from_the_most_experienced() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    a.put_state(StateKey::Strategy, false, b"whole").unwrap();
    a.put_state(StateKey::Strategy, true, b"change").unwrap();
    a.put_state(StateKey::Judge, false, b"mine").unwrap();
    seeded(&mut a, 5);
    a.visit(0, &[]);
    a.publish(b"before anyone came".to_vec());
    a.sync().unwrap();
    let mut b = Shared::open(shared(dir.path(), "b", quick()), Millis(0)).unwrap();
    assert_eq!(b.state(StateKey::Strategy).unwrap(), [b"whole".to_vec(), b"change".to_vec()]);
    assert!(b.state(StateKey::Judge).unwrap().is_empty(), "thresholds are each worker's own");
    until(0, &mut [&mut a, &mut b], "they see each other", |w| w[1].stats().unwrap().urls > 0);
    for delta in [&b"one"[..], b"two"] {
        a.publish(delta.to_vec());
        a.sync().unwrap();
    }
    let mut got = Vec::new();
    let end = Instant::now() + Duration::from_secs(10);
    while got.len() < 2 && Instant::now() < end {
        let news = b.maintain(Millis(0), &best).unwrap().unwrap_or_default();
        got.extend(news.deltas);
        if news.workers > 0 {
            assert_eq!((news.workers, news.pages), (2, 1));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(got, [b"one".to_vec(), b"two".to_vec()], "each once, in order");
    // Left in order and come back: what was learnt in the slot is there again.
    a.close().unwrap();
    drop(a);
    let a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    assert_eq!(a.state(StateKey::Judge).unwrap(), [b"mine".to_vec()]);
}

#[test]
fn all_is_done_only_when_all_are_done() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    seeded(&mut a, 8);
    let mut b = Shared::open(shared(dir.path(), "b", quick()), Millis(0)).unwrap();
    until(0, &mut [&mut a, &mut b], "both have some", |w| {
        w[0].stats().unwrap().urls > 0 && w[1].stats().unwrap().urls > 0
    });
    until(0, &mut [&mut a, &mut b], "all", |w| w[0].stats().unwrap().urls + w[1].stats().unwrap().urls == 8);
    while let Some(lease) = a.lease_at(0) {
        a.apply(done(lease.id, Outcome::Fetched, 0), &best).unwrap();
    }
    assert!(matches!(a.lease(Millis(0), Pick::Best).unwrap(), Next::Wait { .. }), "the other is still at it");
    while b.stats().unwrap().pending > 1 {
        let lease = b.lease_at(0).unwrap();
        b.apply(done(lease.id, Outcome::Fetched, 0), &best).unwrap();
    }
    // Its last page leads back to the first worker.
    let lease = b.lease_at(0).unwrap();
    let far = |i| link(&format!("http://f{i}.example{i}.net/"), 0.5);
    let add: Vec<Candidate> = (0..20).map(|i| Candidate { parent: Some(lease.id), ..far(i) }).collect();
    let applied = b.apply(Turn { add, ..done(lease.id, Outcome::Fetched, 0) }, &best).unwrap();
    assert!(applied.sent > 0 && applied.admitted > 0);
    b.sync().unwrap();
    while let Some(lease) = b.lease_at(0) {
        b.apply(done(lease.id, Outcome::Fetched, 0), &best).unwrap();
    }
    assert!(matches!(b.lease(Millis(0), Pick::Best).unwrap(), Next::Wait { .. }), "there is mail under way");
    until(0, &mut [&mut a, &mut b], "it is delivered", |w| w[0].stats().unwrap().pending > 0);
    while let Some(lease) = a.lease_at(0) {
        a.apply(done(lease.id, Outcome::Fetched, 0), &best).unwrap();
    }
    until(0, &mut [&mut a, &mut b], "now they are", |w| {
        matches!(w[0].lease(Millis(0), Pick::Best).unwrap(), Next::Empty(_))
            && matches!(w[1].lease(Millis(0), Pick::Best).unwrap(), Next::Empty(_))
    });
    let r = reader(dir.path());
    r.check().unwrap();
    assert_eq!((r.stats().unwrap().pending, r.stats().unwrap().urls), (0, 28));
    assert_eq!(r.entry(UrlId(0)).unwrap().unwrap().state, State::Settled(Outcome::Fetched));
}

#[test]
fn a_poor_url_is_left_while_others_have_better_ones() {
    a_poor_url_is_left(0);
    // Also while one of the others has hosts that the user wants first.
    a_poor_url_is_left(40);
}

fn a_poor_url_is_left(first: usize) {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let budget = |name: &str| SharedOptions { budget: true, ..shared(dir.path(), name, quick()) };
    let mut a = Shared::open(budget("a"), Millis(0)).unwrap();
    seeded(&mut a, 200);
    let mut b = Shared::open(budget("b"), Millis(0)).unwrap();
    until(0, &mut [&mut a, &mut b], "all", |w| {
        w[1].stats().unwrap().urls > 0 && w[0].stats().unwrap().urls + w[1].stats().unwrap().urls == 200
    });
    let wanted: Vec<Rescored> = (a.entries(Which::Pending).map(|e| e.unwrap().id).take(first))
        .map(|id| Rescored { id, priority: Priority::new(Priority::BOOSTED, 1.0), model: 1, cause: None })
        .collect();
    a.rescore(&wanted).unwrap();
    let all: Vec<UrlId> = b.entries(Which::Pending).map(|e| e.unwrap().id).collect();
    let poor: Vec<Rescored> = all
        .iter()
        .map(|&id| Rescored { id, priority: Priority::key_only(0.1), model: 1, cause: None })
        .collect();
    b.rescore(&poor).unwrap();
    // What it knew of the others is older than what they have now.
    for _ in 0..2 {
        std::thread::sleep(Duration::from_millis(350));
        a.maintain(Millis(0), &best).unwrap();
        a.sync().unwrap();
        b.maintain(Millis(0), &best).unwrap();
    }
    let mut spent = 0;
    until(0, &mut [&mut a, &mut b], "it hears of the others", |w| {
        let waits = matches!(w[1].lease(Millis(0), Pick::Best).unwrap(), Next::Wait { .. });
        spent += usize::from(!waits);
        waits
    });
    assert!(spent < 5, "{spent} poor URLs of {} were leased", all.len());
    assert!(a.lease_at(0).is_some(), "the one with the better URLs goes on");
    a.close().unwrap();
    until(0, &mut [&mut b], "nobody else is left to do better", |w| w[0].lease_at(0).is_some());
}

#[test]
fn the_line_to_the_database_is_encrypted_and_the_server_is_who_it_says() {
    let authority = || {
        let mut p = rcgen::CertificateParams::new(Vec::<String>::new()).unwrap();
        p.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        let key = rcgen::KeyPair::generate().unwrap();
        let certificate = p.self_signed(&key).unwrap().pem();
        (certificate, rcgen::Issuer::new(p, key))
    };
    let ((trusted, issuer), (stranger, _)) = (authority(), authority());
    let key = rcgen::KeyPair::generate().unwrap();
    let named = rcgen::CertificateParams::new(vec!["localhost".to_string()]).unwrap();
    let certificate = named.signed_by(&key, &issuer).unwrap().pem();
    let Some(server) = crate::postgres::Server::start_with_tls(&certificate, &key.serialize_pem()) else {
        return;
    };

    let dir = tempfile::tempdir().unwrap();
    let file = |name: &str, pem: &str| {
        let path = dir.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.display().to_string()
    };
    let (trusted, stranger) = (file("trusted.pem", &trusted), file("stranger.pem", &stranger));
    let empty = file("empty.pem", "");
    let address =
        |host: &str, options: &str| format!("postgres://gleaner@{host}:{}/postgres?{options}", server.port);
    // A reader gets as far as to find no crawl, or not even there.
    let says =
        |address: &str| SharedReader::open(address, None).err().map(|p| p.to_string()).unwrap_or_default();
    let none = "no crawl in this database";
    let full = |roots: &str| format!("sslmode=verify-full&sslrootcert={roots}");
    for fine in ["", "sslmode=disable", "sslmode=prefer", "sslmode=require"] {
        assert!(
            says(&address("127.0.0.1", fine)).contains(none),
            "{fine}: {}",
            says(&address("127.0.0.1", fine))
        );
    }
    assert!(
        says(&address("localhost", &full(&trusted))).contains(none),
        "{}",
        says(&address("localhost", &full(&trusted)))
    );
    for (host, options) in [
        ("localhost", full(&stranger)),
        // Not the name in the certificate.
        ("127.0.0.1", full(&trusted)),
        // Of no public authority.
        ("localhost", "sslmode=verify-full".to_string()),
    ] {
        let told = says(&address(host, &options));
        assert!(told.contains("cannot connect") && told.contains("certificate"), "{host} {options}: {told}");
    }
    assert!(says(&address("localhost", &full(&empty))).contains("no certificate in it"));
    // The whole of a worker's life over it.
    let options = SharedOptions {
        url: address("localhost", &full(&trusted)),
        ..shared(dir.path(), "a", Limits::none())
    };
    let mut a = Shared::open(options, Millis(0)).unwrap();
    seeded(&mut a, 3);
    a.close().unwrap();
    let kind = server.sql("SELECT count(*) FROM gleaner.url");
    assert_eq!(kind, "3");
    // A server without TLS is not spoken to in the clear when that was ruled out.
    let Some(plain) = crate::postgres::server() else { return };
    let told = says(&format!("{}?sslmode=require", plain.url()));
    assert!(told.contains("cannot connect"), "{told}");
}

/// A bucket that takes nothing, takes everything, or has failed.
#[derive(Default)]
struct Bay {
    state: Mutex<BayState>,
    changed: Condvar,
}

#[derive(Default)]
struct BayState {
    open: bool,
    broken: bool,
    objects: Vec<(String, Vec<u8>)>,
}

impl Bay {
    fn set(&self, open: bool, broken: bool) {
        let mut state = self.state.lock().unwrap();
        (state.open, state.broken) = (open, broken);
        self.changed.notify_all();
    }
    fn objects(&self) -> Vec<(String, Vec<u8>)> {
        self.state.lock().unwrap().objects.clone()
    }
}

impl Depot for Bay {
    fn put_new(&self, name: &str, bytes: Bytes) -> Result<(), Problem> {
        let mut state = self.state.lock().unwrap();
        loop {
            if state.broken {
                return Err(Problem::new("the bucket is gone"));
            }
            if state.open {
                assert!(state.objects.iter().all(|(n, _)| n != name), "{name} twice");
                state.objects.push((name.into(), bytes.to_vec()));
                return Ok(());
            }
            state = self.changed.wait(state).unwrap();
        }
    }
    fn address(&self, name: &str) -> String {
        format!("s3://bay/{name}")
    }
}

fn archived(objects: &mut Objects, text: &str) -> types::ArchiveRef {
    let mut fetched = types::Fetched::empty(url(text), Millis(5));
    fetched.status = 200;
    fetched.payload = types::Payload::plain(text.as_bytes());
    objects.write(&fetched, &PageNote::default()).unwrap().unwrap().at
}

fn host_rows(dir: &Path, like: &str) -> String {
    let crawl = dir.file_name().unwrap().to_string_lossy();
    server().unwrap().sql(&format!(
        "SELECT count(*) FROM gleaner.host h JOIN gleaner.crawl c USING (crawl) WHERE c.name = '{crawl}' \
         AND h.name LIKE '{like}'"
    ))
}

#[test]
fn what_came_of_a_command_does_not_wait_for_company() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let bay = Arc::new(Bay::default());
    bay.set(true, false);
    let settings = ArchiveSettings { worker: "a.1".into(), ..ArchiveSettings::default() };
    let mut objects = Objects::new(bay.clone(), settings).unwrap();
    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    a.archive_first(objects.uploads(), Duration::from_secs(600));
    seeded(&mut a, 2);
    archived(&mut objects, "http://d0.example0.org/");
    a.visit(0, &[]);
    a.obeyed(7, None);
    let end = Instant::now() + Duration::from_secs(20);
    let crawl = dir.path().file_name().unwrap().to_string_lossy().into_owned();
    let applied = format!(
        "SELECT applied, pages FROM gleaner.worker JOIN gleaner.crawl c USING (crawl) WHERE c.name = \
         '{crawl}'"
    );
    while server().unwrap().sql(&applied) != "7|1" {
        assert!(Instant::now() < end, "{}", server().unwrap().sql(&applied));
        a.commit().unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A robots.txt names sitemaps. When the answer is known and they are not, nobody ever asks for them.
#[test]
fn a_robots_answer_is_not_known_before_the_sitemaps_it_names() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let bay = Arc::new(Bay::default());
    let settings = ArchiveSettings { worker: "a.1".into(), ..ArchiveSettings::default() };
    let mut objects = Objects::new(bay.clone(), settings).unwrap();
    let limits = Limits { use_robots: true, ..quick() };
    let mut a = Shared::open(shared(dir.path(), "a", limits.clone()), Millis(0)).unwrap();
    a.archive_first(objects.uploads(), Duration::from_secs(600));
    let urls = seeded(&mut a, 2);
    a.sync().unwrap();
    // Something waits for the bucket, which takes nothing.
    archived(&mut objects, "http://elsewhere.example/");
    let asked = leased(a.lease(Millis(0), Pick::Best).unwrap());
    assert_eq!(asked.task, Task::Robots);
    let answer =
        RobotsAnswer { status: 200, body: Vec::new(), fetched: Millis(0), expires: Millis(86_400_000) };
    let host = asked.url.host_key().to_string();
    let sitemap = format!("http://{host}/sitemap.xml");
    let mut turn = Turn::new(Settle::Robots { id: asked.id, answer });
    turn.add.push(link(&sitemap, 5.0));
    // It asks to be left alone, which everyone is told at once.
    (turn.host.contacted, turn.host.not_before) = (true, Some(Millis(60_000)));
    a.apply(turn, &best).unwrap();
    a.commit().unwrap();
    let r = reader(dir.path());
    let told = r.hosts().unwrap().into_iter().find(|h| h.name == host).unwrap();
    assert!(told.clock.next_allowed >= 60_000, "told ahead of the batch: {:?}", told.clock);
    assert_eq!(r.find(&url(&sitemap)).unwrap(), None, "the batch waits");
    assert_eq!(r.robots(&host).unwrap(), None, "and so does the answer");

    // Killed here, the next run asks again.
    drop((a, objects));
    let mut a = Shared::open(shared(dir.path(), "a", limits), Millis(100_000)).unwrap();
    let mut robots = Vec::new();
    while let Next::Lease(lease) = a.lease(Millis(200_000), Pick::Best).unwrap() {
        assert_eq!(lease.task, Task::Robots, "{}", lease.url);
        robots.push(lease.url.host_key().to_string());
    }
    assert!(robots.contains(&host) && robots.len() == urls.len(), "{robots:?}");
}

#[test]
fn pages_wait_for_the_bucket_and_hosts_do_not() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let bay = Arc::new(Bay::default());
    let archive = |run: &str| {
        let settings = ArchiveSettings { worker: run.into(), ..ArchiveSettings::default() };
        Objects::new(bay.clone(), settings).unwrap()
    };
    let every = Duration::from_millis(30);
    let mut objects = archive("a.1");
    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    a.archive_first(objects.uploads(), every);
    seeded(&mut a, 1);
    assert!(!objects.uploads().is_busy());

    // One page, whose bytes the bucket does not take yet, with a link to a new host.
    archived(&mut objects, "http://d0.example0.org/");
    let (page, _) = a.visit(0, &[link("http://fresh.example/", 5.0)]);
    let committed = |dir: &Path| reader(dir).stats().unwrap().pages;
    for _ in 0..20 {
        a.commit().unwrap();
        a.sync().unwrap();
        a.maintain(Millis(0), &best).unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(
        (committed(dir.path()), reader(dir.path()).stats().unwrap().urls),
        (0, 1),
        "it is not in the bucket"
    );
    assert_eq!(host_rows(dir.path(), "fresh%"), "0");
    // Here it counts as done, and what it said of its links is known.
    assert_eq!(a.record(page.id).unwrap().unwrap().url, page.url.as_str());
    assert_eq!(a.entry(page.id).unwrap().unwrap().state, State::Settled(Outcome::Fetched));
    // The new host is leased: whoever takes over must know that it was contacted.
    let lease = leased(a.lease(Millis(10_000), Pick::Best).unwrap());
    assert_eq!(lease.url.as_str(), "http://fresh.example/");
    assert_eq!((host_rows(dir.path(), "fresh%").as_str(), committed(dir.path())), ("1", 0));
    reader(dir.path()).check().unwrap();

    // Killed here, it has lost the page and nothing else: another run fetches it again.
    drop((a, objects));
    let mut objects = archive("a.2");
    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(20_000)).unwrap();
    a.archive_first(objects.uploads(), every);
    assert_eq!((a.stats().unwrap().pending, a.stats().unwrap().settled), (1, 0));
    let at = archived(&mut objects, "http://d0.example0.org/");
    let (again, _) = a.visit(40_000, &[link("http://fresh.example/", 5.0)]);
    assert_eq!(again.id, page.id, "the same URL has the same number");
    a.check().unwrap();
    for _ in 0..5 {
        a.commit().unwrap();
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(committed(dir.path()), 0);
    bay.set(true, false);
    let end = Instant::now() + Duration::from_secs(10);
    while committed(dir.path()) == 0 {
        assert!(Instant::now() < end, "it is never committed");
        a.commit().unwrap();
        std::thread::sleep(Duration::from_millis(5));
    }
    // What it refers to is there, where it says.
    let there = bay.objects();
    let (_, bytes) = there.iter().find(|(n, _)| at.file.ends_with(n.as_str())).expect("the object");
    let record = &bytes[at.offset as usize..];
    let record = WarcReader::new(record, "object", Default::default()).unwrap().next().unwrap().unwrap();
    assert_eq!((record.kind().as_str(), record.target()), ("response", Some("http://d0.example0.org/")));
    assert_eq!(
        (reader(dir.path()).stats().unwrap().urls, host_rows(dir.path(), "fresh%").as_str()),
        (2, "1")
    );
    reader(dir.path()).check().unwrap();

    // A bucket that fails ends it with a word, and nothing is committed from there on.
    bay.set(false, true);
    archived(&mut objects, "http://fresh.example/");
    a.visit(80_000, &[link("http://later.example/", 5.0)]);
    let end = Instant::now() + Duration::from_secs(10);
    let said = loop {
        assert!(Instant::now() < end, "nobody notices");
        if let Err(said) = a.commit() {
            break said;
        }
        std::thread::sleep(Duration::from_millis(5));
    };
    assert_eq!(said, Problem::new("the bucket is gone"));
    assert_eq!(a.close(), Err(Problem::new("the bucket is gone")));
    assert_eq!((committed(dir.path()), reader(dir.path()).stats().unwrap().urls), (1, 2));
}
