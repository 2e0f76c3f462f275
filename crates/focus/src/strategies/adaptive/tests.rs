//! Tests of the whole strategy; its parts are tested where they are.

use crate::testkit::{Docs, Options, run, run_with};

fn visit<'a>(url: &'a types::Url, doc: &'a crate::text::Doc) -> super::Visit<'a> {
    static NOTHING: std::sync::LazyLock<types::Assessment> = std::sync::LazyLock::new(Default::default);
    super::Visit {
        id: types::UrlId(0),
        url,
        kind: types::LinkKind::Seed,
        doc,
        assessment: &NOTHING,
        verdict: Default::default(),
        parent: None,
        depth: 0,
        site_depth: 0,
        priority: types::Priority::key_only(0.0),
        evidence: &[],
        sources: &[],
        targets: &[],
        n: 1,
        worthless: false,
    }
}

const TOPIC: &str = "query = 'sql'\n[judge]\nthreshold = 0.3\n[strategy]\nkind = 'adaptive'\n";

#[test]
fn before_anything_is_learnt_it_is_a_best_first() {
    // The anchor that names the topic goes first. Its page is relevant, which speaks for its own link and for
    // its siblings (one of one judged): both come before the last.
    let crawl = run("== http://a/\n[soup](/1) [sql](/2)\n== /1\n== /2\nsql sql [more](/4)\n== /4\n", TOPIC);
    assert!(crawl.order().starts_with("/ /2 "), "{}", crawl.order());
}

/// Two lists of links with anchors that say nothing: one leads to good pages, the other never does. After a
/// few of each the good list is preferred, which the prior alone cannot do.
#[test]
fn it_learns_which_list_is_good() {
    let mut web = String::from("== http://a/\n[poor](/p/) [good](/g/)\n== /p/\n");
    (0..20).for_each(|i| web += &format!("[x{i}](/p/{i}) "));
    web += "\n== /g/\n";
    (0..20).for_each(|i| web += &format!("[y{i}](/g/{i}) "));
    (0..20).for_each(|i| web += &format!("\n== /p/{i}\nsoup and bread"));
    (0..20).for_each(|i| web += &format!("\n== /g/{i}\nsql sql sql"));
    web += "\n";
    let found_in = |without: &'static [&'static str]| {
        let order = run_with(&web, TOPIC, Options { without, ..Options::default() }).order();
        let first: Vec<&str> = order.split(' ').take(25).collect();
        first.iter().filter(|u| u.starts_with("/g/") && u.len() > 3).count()
    };
    let learning = found_in(&[]);
    let frozen = found_in(&[
        "learn",
        "host",
        "directory",
        "tag_path",
        "host_path",
        "shape",
        "siblings",
        "near",
        "list",
    ]);
    assert!(learning >= 17, "{learning} of the first 25");
    assert!(learning > frozen, "{learning} with learning, {frozen} without");
}

#[test]
fn it_says_why() {
    let crawl = run("== http://a/\n[sql](/courses/1) [soup](/2)\n== /courses/1\nsql\n== /2\n", TOPIC);
    assert_eq!(crawl.order(), "/ /courses/1 /2");
}

/// Lists are found under the word `contents`, never under the words of the topic, and are not relevant
/// themselves: only looking at what they lead to shows that the next one is worth more than pages that are
/// sometimes relevant.
#[test]
fn it_learns_which_words_announce_lists_of_relevant_pages() {
    let mut web = String::from("== http://a/\n");
    (0..12).for_each(|i| web += &format!("[contents](/list{i}) [bread {i}](/d{i}) [sql soup {i}](/s{i}) "));
    for i in 0..12 {
        web += &format!("\n== /list{i}\nnothing here ");
        (0..6).for_each(|k| web += &format!("[sql {i} {k}](/good{i}-{k}) "));
        (0..6).for_each(|k| web += &format!("\n== /good{i}-{k}\nsql sql sql"));
        web += &format!("\n== /d{i}\nbread");
        let text = if i % 3 == 0 { "sql sql sql" } else { "soup" };
        web += &format!("\n== /s{i}\n{text}");
    }
    web += "\n";
    let found = |options: &str| {
        let order = run(&web, &format!("{TOPIC}{options}")).order();
        order.split(' ').take(50).filter(|u| u.starts_with("/good")).count()
    };
    let (ahead, not) = (found(""), found("ahead = 0\n"));
    assert!(ahead > not, "{ahead} relevant pages of lists among the first 50 with it, {not} without");
}

/// A label of the user's moves everything that is like the page it was given to.
#[test]
fn it_learns_from_labels() {
    use crate::strategies::{Because, Revised, Strategy, StrategySetup};
    let web = crate::testkit::Web::new("== http://a/start\n[red](/r1) [red](/r2) [blue](/b1) [blue](/b2)\n");
    let topic = crate::topic::Topic::from_toml(TOPIC).unwrap();
    let mut s = super::Adaptive::new(&StrategySetup::new(&topic)).unwrap();
    let (url, doc) = (web.url("/start"), web.doc("/start", &topic.text.options));
    let visit = visit(&url, &doc);
    s.learn(&visit);
    let source = |x: &super::Scored| types::Source {
        parent: Some(types::UrlId(0)),
        kind: types::LinkKind::Anchor,
        priority: x.priority,
        evidence: x.evidence.clone(),
        anchor: "".into(),
    };
    let sources: Vec<types::Source> = s.score(&visit).iter().flatten().map(source).collect();
    let keys = |s: &mut super::Adaptive| [1, 3].map(|i| s.rescore(&sources[i..=i]).unwrap().key());
    let before = keys(&mut s);
    assert!((before[0] - before[1]).abs() < 1e-9, "{before:?}");
    for (path, relevant, i) in [("/r1", true, 0), ("/b1", false, 2)] {
        let verdict = types::Verdict { relevant, ..Default::default() };
        let url = web.url(path);
        s.model().unwrap().revise(&[Revised {
            id: types::UrlId(i as u32 + 1),
            url: &url,
            verdict,
            sources: &sources[i..=i],
            because: Because::User,
        }]);
    }
    let after = keys(&mut s);
    assert!(after[0] > after[1] + 0.1, "{after:?}");
}

#[test]
fn the_worth_of_a_way_is_the_best_rate_behind_it() {
    let worth = super::Adaptive::worth;
    // Alone it is worth what it is.
    assert_eq!(worth(0.3, vec![]), 0.3);
    // One fetch for itself and one for each of two sure pages: 2 of 3.
    assert!((worth(0.0, vec![1.0, 0.0, 1.0]) - 2.0 / 3.0).abs() < 1e-12);
    // A poor link would only lower the rate.
    assert!((worth(0.9, vec![0.5]) - 0.9).abs() < 1e-12);
}

/// A topic told by examples only: their words take the place of terms from the first link on.
#[test]
fn example_pages_are_as_good_as_terms() {
    use crate::judges::{Example, ExampleKind};
    use crate::strategies::{Strategy, StrategySetup};
    use crate::text::Doc;
    let web = crate::testkit::Web::new(
        "== http://a/good\nsql tables joins\n== /bad\nsoup bread\n== /start\n[soup](/1) [tables](/2)\n",
    );
    let topic =
        crate::topic::Topic::from_toml("name = 'x'\n[examples]\nrelevant = ['http://a/good']\n").unwrap();
    let text = &topic.text.options;
    let example =
        |path: &str, kind| Example { doc: std::sync::Arc::new(Doc::new(web.page(path), text)), kind };
    let examples = [example("/good", ExampleKind::Relevant), example("/bad", ExampleKind::Irrelevant)];
    let setup = StrategySetup { examples: &examples, ..StrategySetup::new(&topic) };
    let mut s = super::Adaptive::new(&setup).unwrap();
    let doc = web.doc("/start", text);
    let url = web.url("/start");
    let visit = visit(&url, &doc);
    s.learn(&visit);
    let keys: Vec<f64> = s.score(&visit).into_iter().flatten().map(|x| x.priority.key()).collect();
    assert!(keys[1] > keys[0] + 0.05, "{keys:?}");
}
