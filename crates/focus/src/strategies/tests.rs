//! Tests over the whole list: whatever is added to `ALL` is held to these.

use super::*;
use crate::testkit::{Docs, Options, run_with};
use crate::text::Doc;
use std::collections::HashSet;
use types::Assessment;

/// Options a strategy cannot do without, for the tests below.
fn topic(name: &str) -> String {
    format!(
        "name = 'databases'\n[genre]\nterms = ['syllabus', 'office hours']\n[content]\n\
         terms = ['sql', 'relational algebra']\n[url]\nterms = ['course']\n[judge]\nthreshold = 0.2\n\
         [strategy]\nkind = '{name}'"
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
    // Switches of the laboratory are no settings.
    for option in ["learn = false", "host = false", "step = 0.1", "misses = true"] {
        let t = Topic::from_toml(&format!("query = 'x'\n[strategy]\nkind = 'adaptive'\n{option}")).unwrap();
        let message = build(&StrategySetup::new(&t)).err().unwrap().to_string();
        assert!(
            message.contains("no longer has the option") && message.contains("remove the line"),
            "{message}"
        );
    }
    for wrong in ["policy = 'XS'", "change = 2", "change = 'often'", "links = -1"] {
        let t = Topic::from_toml(&format!("query = 'x'\n[strategy]\nkind = 'genre'\n{wrong}")).unwrap();
        assert!(build(&StrategySetup::new(&t)).is_err(), "{wrong}");
    }
}

#[test]
fn every_strategy_that_learnt_can_teach_another_crawl() {
    let mut learners = Vec::new();
    for e in ALL {
        let t = Topic::from_toml(&topic(e.name)).unwrap();
        let net = crate::testkit::small_wordnet();
        let make = || build(&StrategySetup { wordnet: Some(&net), ..StrategySetup::new(&t) }).unwrap();
        // Learns a little, with the real numbers of a crawl.
        let mut first = make();
        for bytes in run_with(WEB, &topic(e.name), Options::default()).learnt {
            first.model().unwrap().load(&bytes).unwrap();
        }
        let Some(bytes) = first.model().and_then(|m| m.export()) else { continue };
        learners.push(e.name);
        let mut other = make();
        other.model().unwrap().import(&bytes).unwrap_or_else(|p| panic!("{}: {p}", e.name));
        // What is imported is what is exported again, survives a save, and damage is told.
        assert_eq!(other.model().unwrap().export(), Some(bytes.clone()), "{}", e.name);
        let mut third = make();
        if let Some(saved) = other.model().unwrap().save(true) {
            third.model().unwrap().load(&saved).unwrap();
            assert_eq!(third.model().unwrap().export(), Some(bytes.clone()), "{} after a save", e.name);
            let mut fourth = make();
            other.model().unwrap().save_all(&mut |piece| fourth.model().unwrap().load(&piece)).unwrap();
            assert_eq!(
                fourth.model().unwrap().export(),
                Some(bytes.clone()),
                "{} after a save in pieces",
                e.name
            );
        }
        let cut = bytes.len() / 2;
        assert!(make().model().unwrap().import(&bytes[..cut]).is_err(), "{}", e.name);
    }
    for name in [
        "adaptive",
        "apprentice",
        "hmm",
        "hybrid-hmm",
        "context-graph",
        "intelligent",
        "agents",
        "infospiders",
    ] {
        assert!(learners.contains(&name), "{name} taught nothing: {learners:?}");
    }
}

#[test]
fn workers_that_share_what_they_learnt_know_the_same() {
    // Half of the pages each, told to one another: as if one had seen them all. (A median would be each
    // worker's own.)
    for (name, links) in [("apprentice", true), ("intelligent", true)] {
        let t = Topic::from_toml(&format!(
            "{}\n{}",
            topic(name),
            if name == "apprentice" { "batch = 1\nwarmup = 1\nsplit = 0.2" } else { "" }
        ))
        .unwrap();
        let make = || build(&StrategySetup::new(&t)).unwrap();
        let web = crate::testkit::Web::new(WEB);
        let judge = crate::judges::build(&crate::judges::JudgeSetup::new(&t)).unwrap();
        let (mut a, mut b, mut alone) = (make(), make(), make());
        let urls: Vec<Url> = web.pages.keys().cloned().collect();
        for (i, url) in urls.iter().enumerate() {
            let doc = web.doc(url.as_str(), &t.text.options);
            let assessment = judge.assess(&doc);
            let hub = web.doc("/courses", &t.text.options);
            let hub_assessment = judge.assess(&hub);
            let hub_url = web.url("/courses");
            let evidence = |s: &mut Box<dyn Strategy>| {
                let visit = visit(UrlId(500), &hub_url, &hub, &hub_assessment, &[]);
                s.score(&visit).swap_remove(i % 3).map(|s| s.evidence).unwrap_or_default()
            };
            let half = if i % 2 == 0 { &mut a } else { &mut b };
            for s in [half, &mut alone] {
                let source = Source {
                    parent: links.then_some(UrlId(500)),
                    kind: LinkKind::Anchor,
                    priority: Priority::key_only(0.0),
                    evidence: evidence(s),
                    anchor: "".into(),
                };
                s.learn(&visit(UrlId(i as u32), url, &doc, &assessment, &[source]));
            }
        }
        let (da, db) = (a.model().unwrap().delta(), b.model().unwrap().delta());
        a.model().unwrap().apply(&db.unwrap()).unwrap();
        b.model().unwrap().apply(&da.unwrap()).unwrap();
        assert!(
            a.model().unwrap().delta().is_none() && b.model().unwrap().delta().is_none(),
            "{name}: what others said is not told again"
        );
        // One more page for all of them: the apprentice takes over with a page.
        let more = web.doc("/hours", &t.text.options);
        let (assessment, url) = (judge.assess(&more), web.url("/hours"));
        for s in [&mut a, &mut b, &mut alone] {
            s.learn(&visit(UrlId(800), &url, &more, &assessment, &[]));
        }
        // Asked about links of a page none of them knows, they say the same.
        let doc = web.doc("/people", &t.text.options);
        let (assessment, url) = (judge.assess(&doc), web.url("/people"));
        let page = visit(UrlId(900), &url, &doc, &assessment, &[]);
        let expected = alone.score(&page);
        assert_eq!((a.score(&page), b.score(&page)), (expected.clone(), expected), "{name}");
    }
}

fn visit<'a>(
    id: UrlId,
    url: &'a Url,
    doc: &'a Doc,
    assessment: &'a Assessment,
    sources: &'a [Source],
) -> Visit<'a> {
    Visit {
        id,
        url,
        kind: LinkKind::Anchor,
        doc,
        assessment,
        verdict: Verdict {
            relevant: assessment.score >= 0.2,
            relevance: assessment.score,
            ..Verdict::default()
        },
        parent: None,
        depth: 0,
        site_depth: 0,
        priority: Priority::key_only(0.0),
        evidence: &[],
        sources,
        targets: &[],
        n: 1,
        worthless: false,
    }
}

/// No terms, no anchors, pages without words, pages without links: nothing to go by, and nothing breaks.
#[test]
fn every_strategy_is_sane_with_nothing_to_go_by() {
    let web = "
        == http://a/ seed
        [](/1) [](/2) [?](/3)
        == /1
        ?! ...
        == /2
        [](/4)
        == /3
        [](/1) [](/5)
        == /4
        == /5
        soup
        ";
    let worded = web.replace("?! ...", "sql sql").replace("== /4\n", "== /4\nsql\n");
    for e in ALL {
        for (terms, pages) in [("'?!'", web), ("'?!'", &worded), ("'sql'", web)] {
            let topic = format!(
                "name = 'x'\n[content]\nterms = [{terms}]\n[judge]\nkind = 'regex'\nany = 'sql'\n\
                 [strategy]\nkind = '{}'",
                e.name
            );
            // The crawl itself asserts that every score is a number and every piece of evidence small.
            let crawl = run_with(pages, &topic, Options { rng: 1, ..Options::default() });
            // Fish-Search alone gives up, after three pages without food.
            let least = if e.name == "fish" { 4 } else { 6 };
            assert!(crawl.steps.len() >= least, "{} with {terms}: {}", e.name, crawl.order());
        }
    }
}

/// Strategies that keep verdicts take them back: the record of `hmm` and `context-graph`, the counts of
/// `intelligent`.
#[test]
fn revised_verdicts_change_what_was_learnt() {
    for name in ["intelligent", "hmm", "context-graph"] {
        let t = Topic::from_toml(&format!("query = 'sql'\n[strategy]\nkind = '{name}'")).unwrap();
        let web = crate::testkit::Web::new(
            "== http://a/\n[g](/good/1) [b](/bad/1)\n== /good/1\nalpha\n== /bad/1\nbeta\n",
        );
        let learn = |verdicts: [bool; 2], revise: bool| {
            let mut s = build(&StrategySetup::new(&t)).unwrap();
            let hub = web.doc("/", &t.text.options);
            let nothing = Assessment::default();
            let start = web.url("/");
            let page = visit(UrlId(0), &start, &hub, &nothing, &[]);
            s.learn(&page);
            let links = s.score(&page);
            let source = |n: usize| Source {
                parent: Some(UrlId(0)),
                kind: LinkKind::Anchor,
                priority: Priority::key_only(0.0),
                evidence: links[n].as_ref().map(|l| l.evidence.clone()).unwrap_or_default(),
                anchor: "".into(),
            };
            for (n, path) in ["/good/1", "/bad/1"].iter().enumerate() {
                let (url, doc, sources) = (web.url(path), web.doc(path, &t.text.options), [source(n)]);
                let relevant = verdicts[n] != revise;
                let mut v = visit(UrlId(n as u32 + 1), &url, &doc, &nothing, &sources);
                v.verdict.relevant = relevant;
                v.parent = Some(UrlId(0));
                s.learn(&v);
            }
            if revise {
                for (n, path) in ["/good/1", "/bad/1"].iter().enumerate() {
                    let (url, sources) = (web.url(path), [source(n)]);
                    let verdict = Verdict { relevant: verdicts[n], ..Verdict::default() };
                    s.model().unwrap().revise(&[Revised {
                        id: UrlId(n as u32 + 1),
                        url: &url,
                        verdict,
                        sources: &sources,
                        because: crate::strategies::Because::User,
                    }]);
                }
            }
            // What another crawl would learn of it is all there is to know.
            (s.model().unwrap().export().unwrap(), s)
        };
        let (straight, _) = learn([true, false], false);
        let (revised, mut s) = learn([true, false], true);
        let (wrong, _) = learn([false, true], false);
        assert_eq!(straight, revised, "{name}");
        assert_ne!(straight, wrong, "{name}");
        // And it is kept: a restart after the revision knows it too.
        let saved = s.model().unwrap().save(false).unwrap();
        let mut again = build(&StrategySetup::new(&t)).unwrap();
        again.model().unwrap().load(&saved).unwrap();
        assert_eq!(again.model().unwrap().export(), Some(revised), "{name}");
    }
}
