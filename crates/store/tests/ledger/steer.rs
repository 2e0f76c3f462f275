//! Commands to a shared crawl: in order, to everyone, exactly once where it counts, and never many of them.

use crate::harness::*;
use crate::shared::{server, shared};
use gleaner_store::{Done, Fleet, Given, Helm, Journal, Lesson, News, Records, Shared, SharedReader};
use std::path::Path;
use std::time::{Duration, Instant};
use types::{Label, Millis, Problem, StateKey, Url, UrlId, Who};

fn helm(dir: &Path) -> Helm {
    let crawl = dir.file_name().unwrap().to_string_lossy();
    Helm::open(&server().unwrap().url(), Some(&crawl)).unwrap()
}

fn given<'a>(kind: &'a str, labels: &'a [(UrlId, Option<bool>)], seeds: &'a [Url]) -> Given<'a> {
    Given { kind, payload: "{\"a\": 1}", who: "a test\n", labels, seeds }
}

/// What all commands add up to is their numbers.
fn adding(n: u64, wanted: &str) -> Result<String, Problem> {
    let mut all: serde_json::Value = serde_json::from_str(wanted).unwrap();
    all[format!("n{n}")] = n.into();
    Ok(all.to_string())
}

/// Tends until there is something of interest.
fn news(w: &mut Shared, of_interest: impl Fn(&News) -> bool) -> News {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let news = w.maintain(Millis(0), &best).unwrap().unwrap_or_default();
        if of_interest(&news) {
            return news;
        }
        assert!(Instant::now() < end, "waited in vain: {news:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn done(text: &str) -> Option<Done> {
    Some(Done { changed: 3, failed: false, text: text.into() })
}

fn sql(dir: &Path, what: &str) -> String {
    let crawl = dir.file_name().unwrap().to_string_lossy();
    server()
        .unwrap()
        .sql(&what.replace("CRAWL", &format!("(SELECT crawl FROM gleaner.crawl WHERE name = '{crawl}')")))
}

#[test]
fn everyone_is_told_in_order_and_whoever_joins_needs_no_command() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    let mut b = Shared::open(shared(dir.path(), "b", quick()), Millis(0)).unwrap();
    assert_eq!(a.wanted().unwrap().n, 0);
    let helm = helm(dir.path());
    let labels = [(UrlId(7), Some(true)), (UrlId(8), Some(false)), (UrlId(7), Some(false))];
    assert_eq!(helm.give(&given("labels", &labels, &[]), &adding).unwrap(), 1);
    // What cannot be taken in was never given.
    let refused = helm.give(&given("nonsense", &[], &[]), &|_, _| Err(Problem::usage("no")));
    assert_eq!(refused.unwrap_err().exit_code(), 2);
    assert_eq!(helm.give(&given("labels", &[(UrlId(8), None)], &[]), &adding).unwrap(), 2);
    assert_eq!(helm.reached(2).unwrap().applied, 0);
    assert_eq!(helm.reached(2).unwrap().of, 2);
    for w in [&mut a, &mut b] {
        let told = news(w, |n| !n.commands.is_empty()).commands;
        assert_eq!(told.iter().map(|t| t.n).collect::<Vec<_>>(), [1, 2]);
        assert_eq!((told[0].kind.as_str(), told[0].payload.as_str()), ("labels", "{\"a\": 1}"));
    }
    a.obeyed(1, done("one"));
    a.obeyed(2, done("two"));
    a.sync().unwrap();
    let r = helm.reached(2).unwrap();
    assert_eq!((r.applied, r.of, r.changed, r.texts.as_slice()), (1, 2, 3, &["two".to_string()][..]));
    b.obeyed(2, Some(Done { changed: 0, failed: true, text: "b cannot\0".into() }));
    b.sync().unwrap();
    let r = helm.reached(2).unwrap();
    assert_eq!((r.applied, r.of, r.failures.as_slice()), (2, 2, &["b: b cannot ".to_string()][..]));
    // Nothing new: no further question is asked for it.
    std::thread::sleep(Duration::from_millis(350));
    let before = a.statements();
    assert!(a.maintain(Millis(0), &best).unwrap().unwrap_or_default().commands.is_empty());
    let quiet = a.statements() - before;
    assert_eq!(helm.give(&given("pause", &[], &[]), &adding).unwrap(), 3);
    std::thread::sleep(Duration::from_millis(350));
    let before = a.statements();
    assert_eq!(a.maintain(Millis(0), &best).unwrap().unwrap_or_default().commands.len(), 1);
    assert_eq!(a.statements() - before, quiet + 1, "one question more, when there is something");

    let mut c = Shared::open(shared(dir.path(), "c", quick()), Millis(0)).unwrap();
    let wanted = c.wanted().unwrap();
    assert_eq!((wanted.n, wanted.labels.as_slice()), (3, &[(UrlId(7), Label::person(false))][..]));
    let all: serde_json::Value = serde_json::from_str(&wanted.json).unwrap();
    assert_eq!(all, serde_json::json!({ "n1": 1, "n2": 2, "n3": 3 }));
    assert!(news(&mut c, |n| n.workers > 0).commands.is_empty());

    let reader = SharedReader::open(
        &server().unwrap().url(),
        Some(&dir.path().file_name().unwrap().to_string_lossy()),
    );
    let reader = reader.unwrap();
    let commands = reader.commands(2).unwrap();
    assert_eq!(commands.iter().map(|c| c.n).collect::<Vec<_>>(), [3, 2], "the newest first");
    let two = &commands[1];
    assert_eq!((two.applied, two.of, two.changed, two.who.as_str()), (2, 3, 3, "a test"));
    assert_eq!(two.failure.as_deref(), Some("b cannot "));
    // Whoever looks is not sent long lists.
    let many = Given { payload: "[[1, true], [2, true], [3, null]]", ..given("labels", &[], &[]) };
    helm.give(&many, &adding).unwrap();
    assert_eq!(reader.commands(1).unwrap()[0].payload, "3");
    assert_eq!(two.payload, "{\"a\": 1}");
    assert_eq!(reader.state(StateKey::Labels).unwrap(), [vec![7, 0, 0, 0, 0]]);
}

#[test]
fn commands_given_at_once_have_numbers_in_the_order_they_count() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    let threads: Vec<_> = (0..4)
        .map(|_| {
            let helm = helm(dir.path());
            std::thread::spawn(move || {
                (0..15).map(|_| helm.give(&given("pause", &[], &[]), &adding).unwrap()).collect::<Vec<_>>()
            })
        })
        .collect();
    let mut told = Vec::new();
    while told.len() < 60 {
        let n = news(&mut a, |n| !n.commands.is_empty());
        assert!(!n.missed);
        told.extend(n.commands.iter().map(|t| t.n));
    }
    let mut numbers: Vec<u64> = threads.into_iter().flat_map(|t| t.join().unwrap()).collect();
    numbers.sort();
    assert_eq!(numbers, (1..=60).collect::<Vec<_>>());
    assert_eq!(told, numbers, "none was missed, none came twice");
    let all: serde_json::Value = serde_json::from_str(&a.wanted().unwrap().json).unwrap();
    assert_eq!(all.as_object().unwrap().len(), 60, "and all of them count");
}

#[test]
fn what_was_told_and_not_done_is_still_wanted_after_a_crash() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    a.obeyed(0, None);
    a.sync().unwrap();
    let helm = helm(dir.path());
    let seeds = [url("http://one.test/"), url("http://two.test/")];
    helm.give(&given("labels", &[(UrlId(3), Some(true))], &[]), &adding).unwrap();
    helm.give(&given("seeds", &[], &seeds), &adding).unwrap();
    let n = news(&mut a, |n| n.seeds.len() == 2);
    assert_eq!(n.commands.len(), 2);
    // One seed is admitted, but nothing is committed: it dies here.
    assert!(a.take_seed(n.seeds[0].0, Some(seed(n.seeds[0].1.as_str(), 1.0)), Millis(0)).unwrap());
    a.stop_renewing();
    drop(a);

    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    assert_eq!(sql(dir.path(), "SELECT applied FROM gleaner.worker WHERE crawl = CRAWL"), "0");
    let wanted = a.wanted().unwrap();
    assert_eq!((wanted.n, wanted.labels.as_slice()), (2, &[(UrlId(3), Label::person(true))][..]));
    let n = news(&mut a, |n| !n.seeds.is_empty());
    assert_eq!(n.seeds.len(), 2, "both seeds are there again");
    for (ticket, u) in &n.seeds {
        assert!(a.take_seed(*ticket, Some(seed(u.as_str(), 1.0)), Millis(0)).unwrap());
        assert!(!a.take_seed(*ticket, Some(seed(u.as_str(), 1.0)), Millis(0)).unwrap(), "once");
    }
    a.obeyed(2, None);
    a.sync().unwrap();
    assert_eq!(sql(dir.path(), "SELECT count(*) FROM gleaner.outbox WHERE crawl = CRAWL"), "0");
    assert_eq!(sql(dir.path(), "SELECT count(*) FROM gleaner.sight WHERE crawl = CRAWL"), "2");
    assert_eq!(sql(dir.path(), "SELECT applied FROM gleaner.worker WHERE crawl = CRAWL"), "2");
    std::thread::sleep(Duration::from_millis(350));
    assert!(a.maintain(Millis(0), &best).unwrap().unwrap_or_default().seeds.is_empty());
    // One that is known, or out of scope, is answered with nothing, and its message is gone as well.
    helm.give(&given("seeds", &[], &seeds[..1]), &adding).unwrap();
    let n = news(&mut a, |n| !n.seeds.is_empty());
    assert!(!a.take_seed(n.seeds[0].0, None, Millis(0)).unwrap());
    a.sync().unwrap();
    assert_eq!(sql(dir.path(), "SELECT count(*) FROM gleaner.outbox WHERE crawl = CRAWL"), "0");
    a.check().unwrap();
}

#[test]
fn old_commands_go_and_whoever_missed_some_is_told_so() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    let helm = helm(dir.path());
    let count = |table: &str| -> u64 {
        sql(dir.path(), &format!("SELECT count(*) FROM gleaner.{table} WHERE crawl = CRAWL")).parse().unwrap()
    };
    for _ in 0..150 {
        helm.give(&given("pause", &[], &[]), &|_, w| Ok(w.into())).unwrap();
    }
    assert_eq!(count("command"), 150, "as long as someone has not done them they stay");
    let mut last = 0;
    while last < 150 {
        for told in news(&mut a, |n| !n.commands.is_empty()).commands {
            last = told.n;
            a.obeyed(last, done("fine"));
        }
    }
    a.sync().unwrap();
    assert_eq!(count("effect"), 150);
    helm.give(&given("pause", &[], &[]), &|_, w| Ok(w.into())).unwrap();
    assert_eq!(count("command"), 100, "the newest hundred, to be looked at");
    assert!(count("effect") <= 100);
    // Nobody reads for a long time: they do not pile up for ever, and what they add up to is read instead.
    sql(dir.path(), "UPDATE gleaner.steering SET n = n + 5000 WHERE crawl = CRAWL");
    let newest = helm.give(&given("pause", &[], &[]), &|_, w| Ok(w.into())).unwrap();
    assert_eq!(newest, 5_152);
    assert_eq!(count("command"), 1);
    let n = news(&mut a, |n| n.missed);
    assert!(n.commands.is_empty());
    assert_eq!(a.wanted().unwrap().n, 5_152);
    a.obeyed(5_152, None);
    a.sync().unwrap();
    assert_eq!(helm.reached(5_152).unwrap().applied, 1);
    std::thread::sleep(Duration::from_millis(350));
    assert!(!a.maintain(Millis(0), &best).unwrap().unwrap_or_default().missed);
}

#[test]
fn one_worker_at_a_time_asks_the_language_model_and_spends_from_one_budget() {
    if server().is_none() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let mut a = Shared::open(shared(dir.path(), "a", quick()), Millis(0)).unwrap();
    let mut b = Shared::open(shared(dir.path(), "b", quick()), Millis(0)).unwrap();
    let lesson = |spent: &'static str, leaves| Lesson {
        spent,
        answers: b"said",
        labels: &[(UrlId(7), true), (UrlId(8), false)],
        kind: "lessons",
        payload: "[[7, true], [8, false]]",
        who: "a model",
        leaves,
    };
    let sits = |w: &mut Shared| w.seat().take(0).unwrap().is_ours;
    assert!(sits(&mut a) && sits(&mut a), "whoever has the seat keeps it");
    let sitting = b.seat().take(0).unwrap();
    assert!(!sitting.is_ours && sitting.is_taken, "{sitting:?}");
    assert!(a.seat().spend("{\"calls\": 1}").unwrap());
    assert!(!b.seat().spend("{\"calls\": 5}").unwrap(), "nothing of it is kept");
    assert!(!b.seat().give(&lesson("{\"calls\": 6}", true)).unwrap());
    assert_eq!(b.seat().spent().unwrap(), "{\"calls\": 1}");
    assert_eq!(sql(dir.path(), "SELECT count(*) FROM gleaner.answer WHERE crawl = CRAWL"), "0");
    // What was answered is told to all, as the model's word, and a person's stands above it.
    let helm = helm(dir.path());
    helm.give(&given("labels", &[(UrlId(8), Some(true))], &[]), &adding).unwrap();
    assert!(a.seat().give(&lesson("{\"calls\": 2}", true)).unwrap());
    for w in [&mut a, &mut b] {
        let told = news(w, |n| n.commands.len() == 2).commands;
        assert_eq!((told[1].n, told[1].kind.as_str()), (2, "lessons"));
        assert_eq!(told[1].payload, "[[7, true], [8, false]]");
    }
    let by_model = |relevant| Label { relevant, who: Who::Model };
    let all = [(UrlId(8), Label::person(true)), (UrlId(7), by_model(true)), (UrlId(8), by_model(false))];
    assert_eq!(b.wanted().unwrap().labels, all);
    // A person takes back what they said, then what the model said.
    for (n, left) in [(1, 2), (2, 1)] {
        helm.give(&given("labels", &[(UrlId(8), None)], &[]), &adding).unwrap();
        assert_eq!(b.wanted().unwrap().labels.len(), left, "taken back {n} times");
    }
    // The others first; then they know what was answered.
    sql(dir.path(), "UPDATE gleaner.teacher SET left_at = now() + interval '1 hour' WHERE crawl = CRAWL");
    assert!(!sits(&mut a), "it has just had it");
    let sitting = b.seat().take(0).unwrap();
    assert!(sitting.is_ours);
    assert_eq!(sitting.answers.iter().map(|(_, bytes)| bytes.as_slice()).collect::<Vec<_>>(), [b"said"]);
    assert!(b.seat().take(sitting.answers[0].0).unwrap().answers.is_empty());
    // Nobody asks while the server is left alone.
    b.seat().leave(Duration::from_secs(3600)).unwrap();
    let sitting = a.seat().take(0).unwrap();
    assert!(!sitting.is_ours && sitting.rests, "{sitting:?}");
    let done = "UPDATE gleaner.teacher SET rest_until = '-infinity' WHERE crawl = CRAWL";
    sql(dir.path(), done);
    // Whoever is gone has no seat, whatever it thinks.
    assert!(sits(&mut a));
    sql(dir.path(), "UPDATE gleaner.worker SET expires = '-infinity' WHERE crawl = CRAWL AND name = 'a'");
    assert!(!sits(&mut a));
    assert!(sits(&mut b));
    assert!(!a.seat().give(&lesson("{\"calls\": 9}", true)).unwrap());
    assert_eq!(a.seat().spent().unwrap(), "{\"calls\": 2}");
}
