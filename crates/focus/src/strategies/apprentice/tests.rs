use super::features::mix;
use super::*;
use crate::testkit::{self, Docs, Web, check, run};
use crate::text::{TextOptions, word_hash};
use crate::topic::Topic;
use types::{Assessment, Verdict};

const ONLINE: &str = "query = 'sql'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = 'apprentice'\nwarmup = 4\n\
                      batch = 1\nsplit = 0.5\n";

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
    // /, /g1 (high), /b1 (low), /list (low) are fetched in order; at the fourth page it takes over. batch =
    // 1: every parent was fetched in an earlier batch. Leaves of /: good 0, one 1, bad 2, two 3, more 4.
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
        check(
            &WEB.replace("sql", "soup"),
            &ONLINE.replace("split = 0.5", &format!("split = {split}")),
            "/ /g1 /b1 /list /b2 /g2",
        );
    }
    check(WEB, &ONLINE.replace("split = 0.5", "split = 'median'"), "/ /g1 /b1 /list /g2 /b2");
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

/// The page the only link of the web's first page leads to, with this made of its assessment.
fn seen(parts: &[(&str, f64)]) -> (Web, Assessment) {
    let parts =
        parts.iter().map(|(name, value)| types::Part { name: (*name).into(), value: *value }).collect();
    (Web::new("== http://a/\nx [y](/1)\n"), Assessment { parts, ..Assessment::default() })
}

fn topic_features(parts: &[(&str, f64)]) -> Vec<u32> {
    let (web, assessment) = seen(parts);
    let topic = Topic::from_toml("query = 'sql'").unwrap();
    let doc = web.doc("/", &topic.text.options);
    let url = web.url("/");
    let visit = Visit {
        id: UrlId(0),
        url: &url,
        kind: LinkKind::Seed,
        doc: &doc,
        assessment: &assessment,
        verdict: Default::default(),
        parent: None,
        depth: 0,
        site_depth: 0,
        priority: Priority::LOWEST,
        evidence: &[],
        sources: &[],
        targets: &[],
        n: 1,
        worthless: false,
    };
    let with = |topic| {
        let window = Window { d_max: 5, offsets: true, topic, cocitation: false };
        Reading::of_visit(window, &visit).link(0, &doc.page.links[0]).features
    };
    let plain = with(false);
    with(true).into_iter().filter(|f| !plain.contains(f)).collect()
}

#[test]
fn topics_of_the_page_are_features_with_all_their_prefixes() {
    // Three classes count: Sci/Bio gives itself and Sci, Sci/Maths itself and (again) Sci, Art itself. The
    // fourth is too improbable to be among them.
    let parts = [("Pr(Sci/Bio)", 0.5), ("Pr(Sci/Maths)", 0.3), ("Pr(Art)", 0.15), ("Pr(News)", 0.05)];
    let mine = topic_features(&parts);
    assert_eq!(mine.len(), 4, "Sci, Sci/Bio, Sci/Maths, Art");
    // A page of another leaf shares the prefix, and only that; a page of the inner node is the prefix.
    let other = topic_features(&[("Pr(Sci/Physics)", 1.0)]);
    assert_eq!((other.len(), other.iter().filter(|f| mine.contains(f)).count()), (2, 1));
    let inner = topic_features(&[("Pr(Sci)", 1.0)]);
    assert!(inner.len() == 1 && mine.contains(&inner[0]));
    // Nothing is known, or nothing is probable: no features.
    assert!(topic_features(&[]).is_empty() && topic_features(&[("Pr(Art)", 0.0)]).is_empty());
}

#[test]
fn cocitation_by_hand() {
    // Two links beside it are judged, one is not: ⟨high, −1⟩ and ⟨low, 2⟩.
    let e = Evidence { beside: vec![(7, -1), (8, 2), (9, 1)], ..Evidence::default() };
    let judged = HashMap::from([(7, true), (8, false)]);
    let features = e.counted(&judged);
    assert_eq!(features.len(), 2);
    // The same sides the other way round are other features; so is another offset.
    let turned = e.counted(&HashMap::from([(7, false), (8, true)]));
    assert!(features.iter().all(|f| !turned.contains(f)));
    let moved = Evidence { beside: vec![(7, -2)], ..Evidence::default() }.counted(&judged);
    assert!(!features.contains(&moved[0]));
}

#[test]
fn cocited_with_a_good_page() {
    // No words at all: only the judged links beside tell. On / the link to /g1 stands beside /g2, and that to
    // /b1 beside /b2. Once /g1 is known to be good and /b1 not, whoever stands beside a good one is worth
    // more.
    let web = "
        == http://a/
        [?](/g1) [?](/g2)
        !!
        !!
        !!
        !!
        !!
        !!
        [?](/b1) [?](/b2)
        !!
        !!
        !!
        !!
        !!
        !!
        [?](/g1) [?](/x)
        !!
        !!
        !!
        !!
        !!
        !!
        [?](/b1) [?](/y)
        == /g1
        sql
        == /b1
        == /g2
        sql
        == /b2
        == /y
        == /x
        ";
    let topic = ONLINE.replace("warmup = 4", "warmup = 5");
    let with = run(web, &format!("{topic}cocitation = true\n"));
    let place = |c: &testkit::Crawl, name: &str| c.order().split(' ').position(|p| p == name).unwrap();
    assert!(place(&with, "/x") < place(&with, "/y"), "{}", with.order());
    // Without the feature the two are told apart by nothing: the first found comes first.
    let without = run(&web.replace("(/x)", "(/t)").replace("(/y)", "(/x)").replace("(/t)", "(/y)"), &topic);
    assert!(place(&without, "/y") < place(&without, "/x"), "{}", without.order());
    let with = run(
        &web.replace("(/x)", "(/t)").replace("(/y)", "(/x)").replace("(/t)", "(/y)"),
        &format!("{topic}cocitation = true\n"),
    );
    assert!(place(&with, "/y") < place(&with, "/x"));
}

#[test]
fn a_revised_verdict_is_learnt_the_other_way() {
    let t = Topic::from_toml(
        "query = 'sql'\n[strategy]\nkind = 'apprentice'\nsplit = 'verdict'\nwarmup = 1\nbatch = 1",
    )
    .unwrap();
    let mut s = build(&StrategySetup::new(&t)).unwrap();
    let web = Web::new("== http://a/\ngood [y](/1) bad [z](/2)\n== /1\n== /2\n");
    let doc = web.doc("/", &t.text.options);
    let assessment = Assessment::default();
    let source = |feature: u32| Source {
        parent: Some(UrlId(9)),
        kind: LinkKind::Anchor,
        priority: Priority::key_only(0.0),
        evidence: Evidence { features: vec![feature], ..Evidence::default() }.write(),
        anchor: "".into(),
    };
    let verdict = |relevant| Verdict { relevant, ..Verdict::default() };
    let mut tell = |id: u32, feature: u32, relevant: bool| {
        let url = web.url(&format!("/{id}"));
        let sources = [source(feature)];
        let visit = Visit {
            id: UrlId(id),
            url: &url,
            kind: LinkKind::Anchor,
            doc: &doc,
            assessment: &assessment,
            verdict: verdict(relevant),
            parent: Some(UrlId(9)),
            depth: 1,
            site_depth: 1,
            priority: Priority::LOWEST,
            evidence: &[],
            sources: &sources,
            targets: &[],
            n: u64::from(id),
            worthless: false,
        };
        s.learn(&visit);
    };
    // Feature 5 led to a good page, feature 6 to a bad one.
    tell(1, 5, true);
    tell(2, 6, false);
    let odds = |s: &mut Box<dyn crate::strategies::Strategy>, f: u32| s.rescore(&[source(f)]).unwrap().key();
    // One document each, |T| = 2, one token each: θ(5|high) = 2/3, θ(5|low) = 1/3.
    assert!((odds(&mut s, 5) - 2.0f64.ln()).abs() < 1e-12);
    assert!((odds(&mut s, 6) + 2.0f64.ln()).abs() < 1e-12);
    // Both verdicts are turned around: so are the odds.
    for (id, feature, relevant) in [(1, 5, false), (2, 6, true)] {
        let (url, sources) = (web.url(&format!("/{id}")), [source(feature)]);
        s.model().unwrap().revise(&[Revised {
            id: UrlId(id),
            url: &url,
            verdict: verdict(relevant),
            sources: &sources,
            because: crate::strategies::Because::User,
        }]);
    }
    assert!((odds(&mut s, 5) + 2.0f64.ln()).abs() < 1e-12);
    assert!((odds(&mut s, 6) - 2.0f64.ln()).abs() < 1e-12);
}

#[test]
fn damaged_evidence_and_states_are_no_panic() {
    let t = Topic::from_toml("query = 'x'\n[strategy]\nkind = 'apprentice'").unwrap();
    let mut s = build(&StrategySetup::new(&t)).unwrap();
    let good = s.model().unwrap().save(true).unwrap();
    for n in 0..good.len() {
        assert!(s.model().unwrap().load(&good[..n]).is_err(), "{n}");
    }
    let e = Evidence { relevance: 0.5, features: vec![3, 3, 900], beside: vec![(1, -2)] }.write();
    for n in 0..e.len() {
        let _ = Evidence::read(&e[..n]);
    }
    assert!(s.explain(&e[..3], Priority::LOWEST).len() == 1);
}
