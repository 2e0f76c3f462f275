use super::links::Sets;
use super::*;
use crate::testkit::{Options as Run, check, run, run_with};
use crate::text::vector::log_tf;
use crate::text::word_hash;
use crate::topic::Topic;
use types::UrlId;

const ONE: &str = "query = 'nothing'\n[strategy]\nkind = 'agents'\nagents = 1\n";

#[test]
fn the_table_by_hand() {
    let words = |w: &[(&str, u32)]| {
        crate::text::Counts::from_pairs(w.iter().map(|(w, n)| (word_hash(w), *n)).collect())
    };
    let mut a = Agent::new(TableKind::Static, 2, 50.0, 0.6);
    a.deal();
    a.deal();
    let (one, two) = (words(&[("audi", 3), ("car", 1)]), words(&[("audi", 1), ("shop", 1), ("car", 1)]));
    assert!(!a.learn(UrlId(0), true, &one));
    assert!(a.weights().is_empty() && a.similarity(&one).is_none());
    assert!(a.learn(UrlId(1), true, &two));
    // N = 2: audi and car in both (idf 1), shop in one (ln(3/2) + 1).
    let shop = 1.5f64.ln() + 1.0;
    let audi = log_tf(3) + log_tf(1);
    // w: audi 1 + ln(1 + ln 3) + 1, car 2, shop 1.405: the two heaviest are the table.
    assert!(audi > 2.0 && shop < 2.0);
    let mut expected = vec![(word_hash("audi"), 1.0), (word_hash("car"), 2.0 / audi)];
    expected.sort_by_key(|e| e.0);
    let close = |a: f64, b: f64| assert!((a - b).abs() < 1e-12, "{a} {b}");
    for (got, want) in a.weights().iter().zip(&expected) {
        assert_eq!(got.0, want.0);
        close(got.1, want.1);
    }
    // cos(P, TSWT) of the second page.
    let (x, y, car) = (1.0, 1.0, 2.0 / audi);
    let cosine = (x + y * car) / ((x * x + y * y + shop * shop).sqrt() * (1.0 + car * car).sqrt());
    close(a.similarity(&two).unwrap(), cosine);
    assert_eq!(a.similarity(&crate::text::Counts::default()), Some(0.0));
    // Σ W / |TSWT|.
    let set = |w: &str| vec![word_hash(w) as u32];
    close(a.words_score(&set("car")), car / 2.0);
    assert_eq!(a.words_score(&set("shop")), 0.0);
    // The words stay, the weights move on with every page.
    assert!(!a.learn(UrlId(2), false, &words(&[("shop", 9), ("car", 9)])));
    let idf = |n: f64| (4.0f64 / (n + 1.0)).ln() + 1.0;
    let (audi, car) = (audi * idf(2.0), (2.0 + log_tf(9)) * idf(3.0));
    let max = audi.max(car);
    close(a.words_score(&set("car")), car / max / 2.0);
    close(a.words_score(&set("audi")), audi / max / 2.0);
}

#[test]
fn a_dynamic_table_grows_by_similar_pages() {
    let words = |w: &[&str]| crate::text::Counts::from_pairs(w.iter().map(|w| (word_hash(w), 1)).collect());
    let mut a = Agent::new(TableKind::Dynamic, 2, 50.0, 0.6);
    a.deal();
    assert!(a.learn(UrlId(0), true, &words(&["audi", "quattro"])));
    a.learn(UrlId(1), false, &words(&["soup", "stew"]));
    assert_eq!(a.weights().len(), 2);
    // Three words, half of them: one, the heaviest: `engine`, the only one met for the first time.
    a.learn(UrlId(2), false, &words(&["audi", "quattro", "engine"]));
    assert_eq!(a.weights().len(), 3);
    assert!(a.weights().iter().any(|w| w.0 == word_hash("engine")));
    let mut fixed = Agent::new(TableKind::Static, 2, 50.0, 0.0);
    fixed.deal();
    fixed.learn(UrlId(0), true, &words(&["audi", "quattro"]));
    fixed.learn(UrlId(2), false, &words(&["audi", "quattro", "engine"]));
    assert_eq!(fixed.weights().len(), 2);
}

#[test]
fn the_link_score_by_hand() {
    // One seed; its words are the table: audi twice, stew, and the words of the URLs are not on the page.
    let web = "== http://a/\naudi [audi](/x/audi)\n[stew](/y)\n== /x/audi\n== /y\n";
    let crawl = run(web, ONE);
    // N = 1: every idf is 1. w: audi TFW(2), stew 1.
    let stew = 1.0 / log_tf(2);
    // The page is the table up to a factor: the cosine is 1. The sentence around the first link has `audi`
    // only.
    crawl.expect_score("/x/audi", 1.0 / 2.0 + 1.0 / 2.0 + 1.0 / 2.0 + 1.0);
    crawl.expect_score("/y", stew / 2.0 + 0.0 + stew / 2.0 + 1.0);
}

#[test]
fn genres_by_hand() {
    let web = "== http://a/\nbirch [syllabus](/x)\n[y](/grading)\n== /x\n== /grading\n";
    let topic = "name = 'n'\n[genre]\nterms = ['syllabus', 'grading']\n[strategy]\nkind = 'agents'\n\
                 agents = 1\ntopic_weight = 0\n";
    let crawl = run(web, topic);
    // The page: birch, syllabus, y, each once with idf 1; cos = 1 / (√3 · √2).
    let page = 1.0 / (3.0f64.sqrt() * 2.0f64.sqrt());
    crawl.expect_score("/x", 0.5 + 0.0 + 0.5 + page);
    crawl.expect_score("/grading", 0.0 + 0.5 + 0.0 + page);
    // Half weights rank alike and halve the score.
    let half = run(web, &format!("{topic}genre_weight = 0.5\n"));
    half.expect_score("/x", (1.0 + page) / 2.0);
}

#[test]
fn parents_add_up() {
    // Two pages link to /v, with the same words; one other page to /w. Both lists are like the table.
    let web = "
        == http://a/
        oak [one](/1) [two](/2) [three](/3)
        == /1
        oak [x](/w)
        == /2
        oak [x](/v)
        == /3
        oak [x](/v)
        == /w
        == /v
        ";
    check(web, ONE, "/ /1 /2 /3 /v /w");
}

#[test]
fn sightings_by_hand() {
    let topic =
        "name = 'n'\n[genre]\nterms = ['syllabus']\n[strategy]\nkind = 'agents'\ngenre_weight = 0.5\n";
    let t = Topic::from_toml(topic).unwrap();
    let mut s = build(&StrategySetup::new(&t)).unwrap();
    let source = |agent, page: u32, cosine, own: f64, genre: f64| Source {
        parent: Some(UrlId(page)),
        kind: LinkKind::Anchor,
        priority: Priority::new(agent, 1.0),
        evidence: Evidence { agent, parent: Some(cosine), genres: vec![(own, genre)], ..Evidence::default() }
            .write(),
        anchor: "".into(),
    };
    // Pages 1 and 2, the latter with two links to it: each page counts once, of the anchors the best.
    let sources = [source(1, 1, 0.3, 0.1, 0.2), source(2, 2, 0.4, 0.6, 0.25), source(2, 2, 0.4, 0.5, 0.25)];
    let key = (0.3 + 0.4) + 0.5 * (0.6 + (0.2 + 0.25));
    let got = s.rescore(&sources).unwrap();
    assert_eq!(got.lane, 1, "the first finder keeps it");
    assert!((got.key() - key).abs() < 1e-12);
    // Until then the sum is a bound from above, in the first finder's queue.
    assert_eq!(s.merge(Priority::new(1, 0.5), Priority::new(2, 0.75)), Priority::new(1, 1.25));
    let seed = s.seed(&t_url()).priority;
    assert_eq!(s.merge(seed, Priority::new(2, 0.75)), seed);
}

fn t_url() -> Url {
    types::Canon::exact().parse("http://a/").unwrap()
}

#[test]
fn the_table_rescores_what_was_found_before_it() {
    // Two seeds for one agent: links of the first are scored before there is a table.
    let web = "
        == http://a/ seed
        birch [p](/p)
        [oak](/q)
        == http://a/two seed
        oak oak oak
        == /p
        == /q
        ";
    let c = run(web, &format!("{ONE}size = 1\n"));
    c.expect_score("/q", 0.0);
    assert_eq!(c.order(), "/ /two /q /p");
    // The table is {oak: 1}. cos of the first page: oak once (idf 1, in both), birch and p once (idf ln(3/2)
    // + 1).
    let other = 1.5f64.ln() + 1.0;
    let page = 1.0 / (1.0 + 2.0 * other * other).sqrt();
    c.expect_lease_key("/q", 1.0 + 1.0 + page);
}

#[test]
fn seeds_are_dealt_and_agents_take_turns() {
    let web = "
        == http://a/ seed
        [1](/a1) [2](/a2)
        == http://b/ seed
        [1](http://b/b1) [2](http://b/b2)
        == http://a/a1
        == http://a/a2
        == http://b/b1
        == http://b/b2
        ";
    check(web, "query = 'x'\n[strategy]\nkind = 'agents'\nagents = 2\n", "/ b/ /a1 b/b1 /a2 b/b2");
    // One agent serves one queue.
    let one = run(web, ONE);
    assert!(one.steps.iter().all(|s| s.priority.lane == 0));
    // More agents than seeds: the idle ones do not stop the others.
    let many = run(web, "query = 'x'\n[strategy]\nkind = 'agents'\nagents = 9\n");
    assert_eq!(many.steps.len(), 6);
}

#[test]
fn waiting_too_long_is_forgotten() {
    let web = "== http://a/\noak [oak](/1)\n[oak](/2)\n[x](/3)\n== /1\n== /2\n== /3\n";
    // A link is forgotten once `ttl` other URLs were asked for.
    check(web, &format!("{ONE}ttl = 1\n"), "/ /1");
    check(web, &format!("{ONE}ttl = 2\n"), "/ /1 /2");
    check(web, &format!("{ONE}ttl = 0\n"), "/ /1 /2 /3");
}

#[test]
fn restarts_with_a_growing_table() {
    let web = "
        == http://a/ seed
        oak elm [oak](/1) [gone](/gone)
        == http://a/s seed
        oak [elm](/2)
        == /1
        oak elm ash [ash](/3)
        == /2
        oak elm [yew](/4)
        == /3
        == /4
        ";
    let topic = "query = 'x'\n[strategy]\nkind = 'agents'\nagents = 2\ntable = 'dynamic'\nsimilarity = 0.1\n";
    let whole = run(web, topic);
    for at in 1..whole.steps.len() {
        let again = run_with(web, topic, Run { restart_at: at, ..Run::default() });
        assert_eq!(again.order(), whole.order(), "{at}");
        for (a, b) in whole.steps.iter().zip(&again.steps) {
            assert_eq!(a.priority, b.priority, "{at}: {}", a.url);
        }
    }
}

#[test]
fn long_links_stay_below_a_kilobyte_and_damage_is_no_panic() {
    let words: String = (0..500).map(|i| format!("word{i} ")).collect();
    let path: String = (0..200).map(|i| format!("p{i}x-")).collect();
    let web = format!("== http://a/\n{words} [{words}](/{path}) {words}\n");
    let genres: Vec<String> = crate::topic::presets::all().iter().map(|p| format!("'{}'", p.name)).collect();
    run(&web, &format!("{ONE}genres = [{}]\n", genres.join(", ")));
    let e = Evidence {
        agent: 1,
        parent: Some(0.5),
        genres: vec![(0.1, 0.2)],
        sets: Sets { anchor: vec![1, 900], url: vec![], text: vec![u32::MAX] },
    };
    let bytes = e.write();
    assert_eq!(Evidence::read(&bytes), Some(e));
    assert!((0..bytes.len()).all(|n| Evidence::read(&bytes[..n]).is_none()));
    let t = Topic::from_toml(ONE).unwrap();
    let mut s = build(&StrategySetup::new(&t)).unwrap();
    let good = s.model().unwrap().save(true).unwrap();
    assert!((0..good.len()).all(|n| s.model().unwrap().load(&good[..n]).is_err()));
    for wrong in
        ["agents = 0", "add = 101", "similarity = 2", "size = 0", "genre_weight = -1", "genres = ['soup']"]
    {
        let text = format!("query = 'x'\n[strategy]\nkind = 'agents'\n{wrong}");
        let t = Topic::from_toml(&text).unwrap();
        assert!(build(&StrategySetup::new(&t)).is_err(), "{wrong}");
    }
}
