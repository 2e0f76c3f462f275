use super::*;
use crate::testkit::{Crawl, Docs, run};

/// Seeds lead to lists, lists to sql pages; blogs lead nowhere. After six pages the chain is made.
const WEB: &str = "
    == http://a/
    department [one](/list1) [two](/blog1) [three](/list2) [four](/blog2)
    == /list1
    courses catalogue [g1](/g1)
    == /blog1
    holiday photos [h1](/h1)
    == /g1
    sql
    == /list2
    courses catalogue [g2](/g2)
    == /h1
    holiday
    == /blog2
    holiday photos [h2](/h2)
    == /g2
    sql
    == /h2
    holiday";

fn crawl(kind: &str, options: &str) -> Crawl {
    let topic = format!(
        "query = 'sql'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = '{kind}'\nneighbours = 1\n{options}"
    );
    run(WEB, &topic)
}

#[test]
fn epsilon_orders_by_steps_then_by_two_links() {
    let o = |one, two| ordered(one, two, 0.1);
    assert!(o(0.31, 0.9) > o(0.39, 0.2), "equal within a step: two links decide");
    assert!(o(0.41, 0.0) > o(0.39, 1.0), "a step apart: one link decides");
    assert!(o(0.0, 0.0) == 0.0 && o(1.0, 1.0) < 1.1 && o(0.35, 0.4) == o(0.35, 0.4));
}

#[test]
fn the_chain_by_hand() {
    // Best-first with nothing like `sql` on any of the first pages is breadth-first: /, /list1, /blog1,
    // /list2, /blog2, /g1 make the record. Levels: / 2, /list1 1, /blog1 3, /list2 3 (its target was never
    // visited), /blog2 3, /g1 0.
    let c = crawl("hmm", "warmup = 6\nk = 3\n");
    assert!(c.order().starts_with("/ /list1 /blog1 /list2 /blog2 /g1"), "{}", c.order());
    // K-means with three clusters: the department, the two lists, the two blogs; the fourth is relevant.
    let (dep, list, blog, good) = (0, 1, 2, 3);
    let tree = [
        (2, dep, None),
        (1, list, Some(2)),
        (3, blog, Some(2)),
        (3, list, Some(2)),
        (3, blog, Some(2)),
        (0, good, Some(1)),
    ];
    let mut h = Hmm::new(4, 4);
    h.count_tree(&tree);
    // A: from 2 to 1 once, to 3 three times; from 1 to 0 once; rows 0 and 3 were never left: uniform.
    assert_eq!((h.step_of(2, 1), h.step_of(2, 3), h.step_of(1, 0), h.step_of(3, 0)), (0.25, 0.75, 1.0, 0.25));
    assert_eq!((h.start_of(3), h.emit_of(3, blog), h.emit_of(3, list)), (0.5, 2.0 / 3.0, 1.0 / 3.0));
    // Along the path / → list: only level 2 explains the department, so α_1 = (0, 0, 1, 0);
    // then b·a: level 1: 1·¼, level 3: ⅓·¾ = ¼: half each.
    let alpha = h.next(&h.first(dep), list);
    assert_eq!(alpha, [0.0, 0.5, 0.0, 0.5]);
    let one = 0.5 * 1.0 + 0.5 * 0.25;
    let two = h.predict(&h.predict(&alpha))[0];
    c.expect_lease_key("/g2", ordered(one, two, 0.01));
    // / → blog: level 3 alone; one link: ¼.
    let alpha = h.next(&h.first(dep), blog);
    let (one, two) = h.ahead(&alpha, 0);
    assert_eq!((alpha, one), (vec![0.0, 0.0, 0.0, 1.0], 0.25));
    c.expect_lease_key("/h1", ordered(one, two, 0.01));
    // Before the training /h1 was found before /g2 with the same score; the chain turns that round.
    assert_eq!(c.order(), "/ /list1 /blog1 /list2 /blog2 /g1 /g2 /h1 /h2");
}

#[test]
fn hybrids_by_hand() {
    // The only relevant page says `sql`, so c_r is that word alone, and no list or blog is like it.
    let page = crawl("hybrid-hmm", "warmup = 6\nk = 3\n");
    page.expect_lease_key("/g2", (0.0 + 0.625) / 2.0);
    page.expect_lease_key("/h1", (0.0 + 0.25) / 2.0);
    let plain = crawl("hybrid-hmm-anchor", "warmup = 6\nk = 3\n");
    plain.expect_lease_key("/g2", (0.625 + (0.0 + 0.0) / 2.0) / 2.0);
}

#[test]
fn page_and_anchor_by_hand() {
    // Found after the training: the blog's next page says `sql` in an anchor.
    let web = WEB
        .replace("== /g1\n    sql", "== /g1\n    sql joins")
        .replace("== /h1\n    holiday", "== /h1\n    holiday [sql](/z)\n    == /z");
    let topic = "name = 'n'\n[content]\nterms = ['sql', 'joins']\n[judge]\nthreshold = 0.9\n[strategy]\n\
                 kind = 'hybrid-hmm-anchor'\nneighbours = 1\nwarmup = 6\nk = 3\n";
    let c = run(&web, topic);
    // c_r = (sql, joins), both in one of six pages. In /h1 `holiday` is in two of six.
    let idf = |n: f64| (7.0f64 / (n + 1.0)).ln() + 1.0;
    let (s, h) = (idf(1.0), idf(2.0));
    let anchor = 1.0 / 2.0f64.sqrt();
    let page = s / (s * s + h * h).sqrt() / 2.0f64.sqrt();
    // /h1 is nearest to the relevant page, so it must be at level 0, which was never left: every level is as
    // likely next.
    c.expect_score("/z", (0.25 + (page + anchor) / 2.0) / 2.0);
}

#[test]
fn odd_records() {
    // Nothing relevant, no terms found, X-means, a warm-up of one page, pages without words: no panic, all
    // fetched.
    for kind in ["hmm", "hybrid-hmm", "hybrid-hmm-anchor"] {
        for options in
            ["warmup = 1", "warmup = 3\nclusters = 'xmeans'", "warmup = 1000", "warmup = 4\nlevels = 2"]
        {
            let topic = format!(
                "query = 'nothing'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = '{kind}'\n{options}"
            );
            let c = run(&WEB.replace("holiday", "?!"), &topic);
            assert_eq!(c.steps.len(), 9, "{kind} {options}");
            assert!(c.steps.iter().all(|s| s.priority.key().is_finite()));
        }
    }
    for wrong in ["k = 0", "levels = 1", "epsilon = 0", "warmup = 100000", "clusters = 'some'"] {
        let t = crate::topic::Topic::from_toml(&format!("query = 'x'\n[strategy]\nkind = 'hmm'\n{wrong}"))
            .unwrap();
        assert!(Chain::build(&StrategySetup::new(&t), Mix::Alone).is_err(), "{wrong}");
    }
}

#[test]
fn examples_that_lead_to_targets_are_the_record() {
    use crate::judges::{Example, ExampleKind};
    use crate::testkit::Web;
    let web = Web::new(WEB);
    let topic =
        crate::topic::Topic::from_toml("query = 'sql'\n[strategy]\nkind = 'hmm'\nneighbours = 1\nk = 3")
            .unwrap();
    let example =
        |path: &str, kind| Example { doc: std::sync::Arc::new(web.doc(path, &topic.text.options)), kind };
    let (good, bad) = (ExampleKind::Relevant, ExampleKind::Irrelevant);
    let examples = [example("/", bad), example("/list1", bad), example("/g1", good), example("/blog1", bad)];
    let setup = StrategySetup { examples: &examples, ..StrategySetup::new(&topic) };
    let mut s = Chain::build(&setup, Mix::Alone).unwrap();
    assert_eq!((s.version(), s.model().unwrap().save(true)), (1, None));
    // Relevant ones alone tell nothing of the way to them.
    let setup = StrategySetup { examples: &examples[2..3], ..StrategySetup::new(&topic) };
    assert_eq!(Chain::build(&setup, Mix::Alone).unwrap().version(), 0);
}

#[test]
fn damaged_evidence_and_states_are_no_panic() {
    let late = Late { alpha: vec![0.5, 0.5], page: 0.1, anchor: 0.2 };
    let bytes = Late::write(&late.alpha, late.page, late.anchor);
    assert_eq!(Late::read(&bytes, 2), Some(late));
    assert_eq!(Late::read(&bytes, 3), None);
    assert!((0..bytes.len()).all(|n| Late::read(&bytes[..n], 2).is_none()));
    let t = crate::topic::Topic::from_toml("query = 'x'\n[strategy]\nkind = 'hmm'").unwrap();
    let mut s = Chain::build(&StrategySetup::new(&t), Mix::Alone).unwrap();
    let good = s.model().unwrap().save(true).unwrap();
    assert!((0..good.len()).all(|n| s.model().unwrap().load(&good[..n]).is_err()));
    s.model().unwrap().load(&good).unwrap();
}
