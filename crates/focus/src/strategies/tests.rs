//! Tests over the whole list: whatever is added to `ALL` is held to these.

use super::*;
use crate::testkit::{Options, run_with};
use std::collections::HashSet;

/// Options a strategy cannot do without, for the tests below.
fn topic(name: &str) -> String {
    format!(
        "name = 'databases'\n[genre]\nterms = ['syllabus', 'office hours']\n[content]\nterms = ['sql', 'relational algebra']\n[url]\nterms = ['course']\n[judge]\nthreshold = 0.2\n[strategy]\nkind = '{name}'"
    )
}

/// Lists, hubs, dead links, a cycle, another host, odd pages: empty, no links, no anchors, no words.
const WEB: &str = "
    == http://a/ seed
    title: Department
    [Courses](/courses \"all courses\") [People](/people) [](/empty) [gone](/gone) [home](/)
    == /courses
    # Our courses
    [Databases: sql and relational algebra](/course/db) [Cooking](/course/cook) [Office hours](/hours)
    nav| [home](/) [People](/people)
    == /people
    [Ann](http://b/ann) [Bob](http://b/bob)
    == /empty
    == /course/db
    Syllabus: sql, relational algebra. Office hours: Monday. [Homework](/course/db/hw)
    == /course/cook
    Syllabus: soup. [Recipes](/course/cook/r)
    == /hours
    Office hours of everybody
    == /course/db/hw
    sql sql sql [](/course/db) [?!](/odd)
    == /course/cook/r
    == /odd
    ?! ... --
    == http://b/ann
    lang: zz
    Ann teaches sql. [Her course](http://a/course/db) [Her list](http://b/list)
    == http://b/bob
    == http://b/list
    [x](http://a/course/db) [y](http://a/hours) [z](http://c/nowhere)
    ";

#[test]
fn the_list_is_in_order() {
    let mut seen = HashSet::new();
    for e in ALL {
        assert!(seen.insert(e.name), "{} twice", e.name);
        assert!(!e.summary.is_empty() && !e.summary.ends_with('.'), "{}", e.name);
        let mut rest = e.doc;
        for h in HEADINGS {
            let at = rest.find(h).unwrap_or_else(|| panic!("{}: `{h}` is missing or out of order", e.name));
            rest = &rest[at + h.len()..];
            let text = rest.split("\n## ").next().unwrap_or("");
            assert!(text.trim().len() >= 4, "{}: nothing under `{h}`", e.name);
        }
    }
    assert!(find(DEFAULT).is_ok());
    assert!(find("best-frist").err().unwrap().to_string().contains("did you mean `best-first`?"));
}

#[test]
fn every_strategy_fetches_everything_once_and_twice_the_same() {
    for e in ALL {
        let one = run_with(WEB, &topic(e.name), Options { rng: 7, ..Options::default() });
        let two = run_with(WEB, &topic(e.name), Options { rng: 7, ..Options::default() });
        assert_eq!(one.order(), two.order(), "{}", e.name);
        let urls: HashSet<_> = one.steps.iter().map(|s| s.url.clone()).collect();
        assert_eq!(urls.len(), one.steps.len(), "{}", e.name);
        assert!(one.steps.len() >= 10, "{}: only {}", e.name, one.order());
    }
}

#[test]
fn every_strategy_goes_on_after_a_restart_as_if_nothing_had_happened() {
    for e in ALL {
        let whole = run_with(WEB, &topic(e.name), Options { rng: 7, ..Options::default() });
        for at in 1..whole.steps.len() {
            let resumed =
                run_with(WEB, &topic(e.name), Options { rng: 7, restart_at: at, ..Options::default() });
            assert_eq!(resumed.order(), whole.order(), "{} restarted after {at}", e.name);
            for (a, b) in whole.steps.iter().zip(&resumed.steps) {
                assert_eq!(a.priority, b.priority, "{} restarted after {at}: {}", e.name, a.url);
            }
        }
    }
}

#[test]
fn an_unknown_option_names_the_nearest() {
    for (kind, option, hint) in [
        ("genre", "polcy = 'PS'", "`policy`"),
        ("best-first", "m = 2", "known: n"),
        ("breadth-first", "x = 1", "no options"),
    ] {
        let t = Topic::from_toml(&format!("query = 'x'\n[strategy]\nkind = '{kind}'\n{option}")).unwrap();
        let message = build(&StrategySetup::new(&t)).err().unwrap().to_string();
        assert!(message.contains(hint), "{message}");
    }
    for wrong in ["policy = 'XS'", "change = 2", "change = 'often'", "links = -1"] {
        let t = Topic::from_toml(&format!("query = 'x'\n[strategy]\nkind = 'genre'\n{wrong}")).unwrap();
        assert!(build(&StrategySetup::new(&t)).is_err(), "{wrong}");
    }
}
