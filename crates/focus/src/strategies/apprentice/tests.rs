use super::features::mix;
use super::*;
use crate::judges::{self, JudgeSetup};
use crate::testkit::{self, Web, check, run};
use crate::text::{Doc, TextOptions, word_hash};
use crate::topic::Topic;
use std::sync::Arc;

const ONLINE: &str =
    "query = 'sql'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = 'apprentice'\nwarmup = 4\nbatch = 1\n";

/// Two link lists; `good` stands before links to sql pages, `bad` before the others.
const WEB: &str = "
    == http://a/
    good [one](/g1)
    bad [two](/b1)
    [more](/list)
    == /g1
    sql
    == /b1
    soup
    == /list
    bad [x](/b2)
    good [y](/g2)
    == /b2
    == /g2
    sql
    ";

#[test]
fn offsets_of_the_window() {
    let web = Web::new("== http://a/\nmaple\nbirch the [oak pine](/1) cedar\nwillow [elm](/2)\n");
    let doc = web.doc("/", &TextOptions::default());
    let window = Window { d_max: 2, offsets: true, topic: false, cocitation: true };
    // Leaves: maple 0, birch the 1, oak pine 2, cedar 3, willow 4, elm 5.
    let e = Reading::of_doc(window, &doc, 0.25).link(0, &doc.page.links[0]);
    let expected = [("maple", -2), ("birch", -1), ("oak", 0), ("pine", 0), ("cedar", 1), ("willow", 2)];
    let mut expected: Vec<u32> = expected.iter().map(|(w, d)| mix(word_hash(w), *d)).collect();
    expected.sort_unstable();
    assert_eq!(e.features, expected);
    assert_eq!((e.relevance, e.beside.len()), (0.25, 0));
    let wide = Window { d_max: 3, ..window };
    let e = Reading::of_doc(wide, &doc, 0.0).link(0, &doc.page.links[0]);
    assert_eq!(e.beside, [(target(&web.url("/2")), 3)]);
    assert_eq!(Evidence::read(&e.write()), Some(e));
    // Without offsets the same words are all at 0.
    let flat = Window { offsets: false, ..window };
    let e = Reading::of_doc(flat, &doc, 0.0).link(0, &doc.page.links[0]);
    assert!(e.features.contains(&mix(word_hash("maple"), 0)));
}

#[test]
fn long_neighbourhoods_stay_below_a_kilobyte() {
    let words: String = (0..3000).map(|i| format!("word{i} ")).collect();
    let web = Web::new(&format!("== http://a/\n{words} [x](/1) {words}\n"));
    let doc = web.doc("/", &TextOptions::default());
    let window = Window { d_max: 5, offsets: true, topic: true, cocitation: true };
    let e = Reading::of_doc(window, &doc, 1.0).link(0, &doc.page.links[0]);
    assert!(e.features.len() > 100 && e.write().len() <= 1024, "{}", e.write().len());
    // The nearest were kept: the link's own, the words just before and just after it.
    for (w, d) in [("x", 0), ("word2999", -1), ("word0", 1)] {
        assert!(e.features.contains(&mix(word_hash(w), d)), "{w}");
    }
}

#[test]
fn online_by_hand() {
    let crawl = run(WEB, ONLINE);
    // Before training: the critic's relevance of the page the link stands on.
    crawl.expect_score("/g1", 0.0);
    crawl.expect_score("/list", 0.0);
    // /, /g1 (high), /b1 (low), /list (low) are fetched in order; at the fourth page it takes over. batch = 1: every
    // parent was fetched in an earlier batch. Leaves of /: good 0, one 1, bad 2, two 3, more 4.
    let docs: [(&[(&str, i64)], bool); 3] = [
        (&[("good", -1), ("one", 0), ("bad", 1), ("two", 2), ("more", 3)], true),
        (&[("good", -3), ("one", -2), ("bad", -1), ("two", 0), ("more", 1)], false),
        (&[("good", -4), ("one", -3), ("bad", -2), ("two", -1), ("more", 0)], false),
    ];
    // Fifteen distinct pairs; 5 tokens high, 10 low.
    let (t, high, low) = (15.0f64, 5.0, 10.0);
    let odds = |features: &[(&str, i64)]| {
        let mut z = (1.0f64 / 3.0).ln() - (2.0f64 / 3.0).ln();
        for f in features {
            let n = |class: bool| docs.iter().filter(|d| d.1 == class && d.0.contains(f)).count() as f64;
            if n(true) + n(false) > 0.0 {
                z += ((1.0 + n(true)) / (t + high)).ln() - ((1.0 + n(false)) / (t + low)).ln();
            }
        }
        z
    };
    // /list: bad 0, x 1, good 2, y 3.
    crawl.expect_score("/b2", odds(&[("bad", -1), ("x", 0), ("good", 1), ("y", 2)]));
    crawl.expect_score("/g2", odds(&[("bad", -3), ("x", -2), ("good", -1), ("y", 0)]));
    assert_eq!(crawl.order(), "/ /g1 /b1 /list /g2 /b2");
    // The critic alone takes them as they stand.
    check(WEB, &ONLINE.replace("warmup = 4", "warmup = 99"), "/ /g1 /b1 /list /b2 /g2");
}

#[test]
fn taking_over_scores_the_whole_frontier_again() {
    // /b2 and /g2 are found before anything was learnt, with the same score.
    let web = "
        == http://a/
        good [one](/g1)
        bad [two](/b1)
        gap gap
        gap
        gap
        gap
        bad [x](/b2)
        good [y](/g2)
        == /g1
        sql
        == /b1
        == /b2
        == /g2
        sql";
    let trained = ONLINE.replace("warmup = 4", "warmup = 3");
    check(web, &trained, "/ /g1 /b1 /g2 /b2");
    check(web, &ONLINE.replace("warmup = 4", "warmup = 99"), "/ /g1 /b1 /b2 /g2");
}

#[test]
fn one_class_leaves_the_critic_in_charge() {
    let crawl = run(&WEB.replace("sql", "soup"), ONLINE);
    assert_eq!(crawl.order(), "/ /g1 /b1 /list /b2 /g2");
    crawl.expect_lease_key("/g2", 0.0);
    // The same web, split at the judge's decision or at the median, still has one class only.
    for split in ["'verdict'", "'median'"] {
        check(&WEB.replace("sql", "soup"), &format!("{ONLINE}split = {split}\n"), "/ /g1 /b1 /list /b2 /g2");
    }
    check(WEB, &format!("{ONLINE}split = 'median'\n"), "/ /g1 /b1 /list /g2 /b2");
}

#[test]
fn a_parent_of_the_same_batch_does_not_teach() {
    // One batch of all pages: no pair is old enough.
    check(WEB, &ONLINE.replace("batch = 1", "batch = 100"), "/ /g1 /b1 /list /b2 /g2");
}

#[test]
fn recall_stays_within_the_list() {
    let topic = format!("{ONLINE}mode = 'recall'\nurls = ['http://a/g1', 'http://a/list', 'http://a/g2']\n");
    check(WEB, &topic, "/ /g1 /list /g2");
    for (wrong, hint) in [
        ("mode = 'recall'", "needs a list"),
        ("urls = ['http://a/']", "only for mode"),
        ("mode = 'recall'\nurls = ['a b']", "is not a URL"),
        ("split = 0", "above 0"),
        ("d_max = 1000", "at most 100"),
    ] {
        let t = Topic::from_toml(&format!("query = 'x'\n[strategy]\nkind = 'apprentice'\n{wrong}")).unwrap();
        let message = build(&StrategySetup::new(&t)).err().unwrap().to_string();
        assert!(message.contains(hint), "{message}");
    }
}

#[test]
fn offline_learns_from_linked_examples_and_stays_as_it_is() {
    let shown = Web::new(WEB);
    let topic = Topic::from_toml(
        "query = 'sql'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = 'apprentice'\nmode = 'offline'",
    )
    .unwrap();
    let examples: Vec<Example> = [("/", false), ("/g1", true), ("/b1", false)]
        .iter()
        .map(|(path, good)| Example {
            doc: Arc::new(Doc::new(shown.page(path), &topic.text.options)),
            kind: if *good { ExampleKind::Relevant } else { ExampleKind::Irrelevant },
        })
        .collect();
    let setup = StrategySetup { examples: &examples, ..StrategySetup::new(&topic) };
    // Another site with the same habits; nothing of it is learnt.
    let web = Web::new("== http://z/\nbad [x](/b9)\ngood [y](/g9)\n== /b9\nsql\n== /g9\n");
    let crawl = testkit::crawl(
        &web,
        &topic.text.options,
        &|| judges::build(&JudgeSetup::new(&topic)).unwrap(),
        &|| build(&setup).unwrap(),
        &testkit::Options::default(),
    );
    assert_eq!(crawl.order(), "/ /g9 /b9");
    // Without examples there is nothing to go by but the critic.
    let crawl = testkit::crawl(
        &web,
        &topic.text.options,
        &|| judges::build(&JudgeSetup::new(&topic)).unwrap(),
        &|| build(&StrategySetup::new(&topic)).unwrap(),
        &testkit::Options::default(),
    );
    assert_eq!(crawl.order(), "/ /b9 /g9");
}

#[test]
fn several_sources_by_hand() {
    let topic = |sources: &str| {
        Topic::from_toml(&format!("query = 'sql'\n[strategy]\nkind = 'apprentice'\nsources = '{sources}'"))
            .unwrap()
    };
    let source = |relevance: f64| Source {
        parent: Some(UrlId(1)),
        kind: LinkKind::Anchor,
        priority: Priority::key_only(relevance),
        evidence: Evidence { relevance, ..Evidence::default() }.write(),
        anchor: "".into(),
    };
    let sources = [source(0.2), source(0.7), source(0.4)];
    for (name, expected) in [("max", 0.7), ("first", 0.2)] {
        let t = topic(name);
        let mut s = build(&StrategySetup::new(&t)).unwrap();
        assert_eq!(s.rescore(&sources), Some(Priority::key_only(expected)));
        let merged = s.merge(Priority::key_only(0.2), Priority::key_only(0.7));
        assert_eq!(merged, Priority::key_only(expected));
    }
}

#[test]
fn cocited_with_a_good_page() {
    // No words at all: only the judged links beside tell.
    let web = "
        == http://a/
        [?](/g1) [?](/g2)
        [!](/b1)
        == /g1
        sql [?](/g2) [?](/g3)
        == /b1
        [!](/b2)
        == /g2
        sql
        == /g3
        sql
        == /b2
        ";
    let e = Evidence { beside: vec![(7, -1), (8, 2), (9, 1)], ..Evidence::default() };
    let judged = HashMap::from([(7, true), (8, false)]);
    assert_eq!(e.counted(&judged).len(), 2);
    let crawl = run(web, &format!("{ONLINE}cocitation = true\n"));
    assert_eq!(crawl.steps.len(), 6);
}

#[test]
fn damaged_evidence_and_states_are_no_panic() {
    let t = Topic::from_toml("query = 'x'\n[strategy]\nkind = 'apprentice'").unwrap();
    let mut s = build(&StrategySetup::new(&t)).unwrap();
    let good = s.save(true).unwrap();
    for n in 0..good.len() {
        assert!(s.load(&good[..n]).is_err(), "{n}");
    }
    let e = Evidence { relevance: 0.5, features: vec![3, 3, 900], beside: vec![(1, -2)] }.write();
    for n in 0..e.len() {
        let _ = Evidence::read(&e[..n]);
    }
    assert!(s.explain(&e[..3], Priority::LOWEST).len() == 1);
}
