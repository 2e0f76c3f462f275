//! `infospiders` by hand: inputs, learning, energy, birth and death.

use super::*;
use crate::testkit::{Docs, Web, run};
use crate::topic::Topic;

const GREEDY: &str = "[strategy]\nkind = 'infospiders'\nbeta = 0\nmutation = 0";

fn spiders(options: &str) -> InfoSpiders {
    let topic =
        Topic::from_toml(&format!("query = 'sql joins'\n[strategy]\nkind = 'infospiders'\n{options}"))
            .unwrap();
    let setup = StrategySetup::new(&topic);
    let o: Options = options::parse("test", setup.options).unwrap();
    let query = QueryVector::new(&setup);
    let keywords: Vec<u64> = query.vector().iter().map(|e| e.0).collect();
    let ancestor = Genes { list: 0, weights: vec![FIRST_WEIGHT; keywords.len()], keywords, bias: 0.0 };
    let world = World {
        agents: Vec::new(),
        ancestor,
        lists: 0,
        rng: Rng(1),
        visits: 0,
        turn: 0,
        seeds: 0,
        similarity: 0.0,
        births: 0,
        deaths: 0,
    };
    let first = world.ancestor.clone();
    InfoSpiders { o, seed: 0, query, first, world, here: (types::UrlId(u32::MAX), 1, None), changed: false }
}

#[test]
fn inputs_by_hand() {
    let web = Web::new("== http://a/\nsql one two [the sql joins](/1) three joins\n[](/2)\n");
    let doc = web.doc("/", &Default::default());
    let s = spiders("");
    let genes = &s.world.ancestor;
    let at = |word: &str| genes.keywords.binary_search(&word_hash(word)).unwrap();
    let x = s.inputs(&doc, &doc.page.links[0], genes);
    // sql: in the anchor (1), and third word before it (distance 4); joins: in the anchor, and second word
    // after it.
    assert!((x[at("sql")] - (1.0 + 1.0 / 4.0)).abs() < 1e-12);
    assert!((x[at("joins")] - (1.0 + 1.0 / 3.0)).abs() < 1e-12);
    assert!((genes.value(&x) - 0.5 * (x[0] + x[1])).abs() < 1e-12);
    // An empty anchor at the end: joins is the word before (distance 2) and the sixth … the anchor's own
    // joins is third.
    let x = s.inputs(&doc, &doc.page.links[1], genes);
    assert!((x[at("joins")] - (1.0 / 2.0 + 1.0 / 4.0)).abs() < 1e-12, "{x:?}");
    let narrow = spiders("window = 0");
    let x = narrow.inputs(&doc, &doc.page.links[1], genes);
    assert_eq!(x, [0.0, 0.0]);
    // A thousand times the same word is not a thousand times as good.
    let web = Web::new(&format!("== http://a/\n[{}](/1)\n", "sql ".repeat(1000)));
    let doc = web.doc("/", &Default::default());
    assert_eq!(s.inputs(&doc, &doc.page.links[0], genes)[at("sql")], MOST_INPUT);
}

#[test]
fn learning_by_hand() {
    let mut g = Genes { list: 0, keywords: vec![1, 2], weights: vec![0.5, 0.5], bias: 0.0 };
    // Value 0.5·1 + 0.5·0 = 0.5, target 0.9, length 1 + 1: step 0.1·0.4/2 = 0.02.
    g.learn(&[1.0, 0.0], 0.9, 0.1);
    assert!((g.bias - 0.02).abs() < 1e-12 && (g.weights[0] - 0.52).abs() < 1e-12 && g.weights[1] == 0.5);
    for _ in 0..1000 {
        g.learn(&[4.0, 4.0], 1e9, 1.0);
    }
    assert!(g.weights.iter().all(|w| *w <= MOST_WEIGHT) && g.value(&[4.0, 4.0]).is_finite());
}

#[test]
fn first_scores_by_hand() {
    let web = "== http://a/\n[sql](/1) [soup](/2)\n[x](/3)\n== /1\n== /2\n== /3\n";
    let crawl = run(web, &format!("query = 'sql'\n{GREEDY}"));
    // One keyword of weight ½, whole page in the window: at /1 in the anchor, at /2 one word away, at /3 two.
    crawl.expect_score("/1", 0.5);
    crawl.expect_score("/2", 0.5 / 2.0);
    crawl.expect_score("/3", 0.5 / 3.0);
    assert_eq!(crawl.order(), "/ /1 /2 /3");
    // The same chance for everything changes nothing; chance by URL does, and the same seed gives the same.
    let by_chance = |rng| {
        let o = crate::testkit::Options { rng, ..Default::default() };
        crate::testkit::run_with(web, "query = 'sql'\n[strategy]\nkind = 'infospiders'\nbeta = 0.5", o)
            .order()
    };
    assert_eq!(by_chance(3), by_chance(3));
    assert!((0..20).any(|rng| by_chance(rng) != "/ /1 /2 /3"));
}

/// A crawl whose strategy can be looked into: visits in order, each (similarity wanted, lane).
fn live(s: &mut InfoSpiders, pages: &[(&str, u8)]) {
    let text = TextOptions::default();
    for (i, (body, lane)) in pages.iter().enumerate() {
        let web = Web::new(&format!("== http://a/{i}\n{body}\n"));
        let url = web.url(&format!("/{i}"));
        let doc = web.doc(&format!("/{i}"), &text);
        let visit = Visit {
            id: types::UrlId(i as u32),
            url: &url,
            kind: types::LinkKind::Anchor,
            doc: &doc,
            assessment: &Default::default(),
            verdict: Default::default(),
            parent: None,
            depth: 0,
            site_depth: 0,
            priority: Priority::new(*lane, 0.0),
            evidence: &[],
            sources: &[],
            targets: &[],
            n: i as u64 + 1,
            worthless: false,
        };
        s.learn(&visit);
        assert_eq!(s.score(&visit).len(), doc.page.links.len());
    }
}

use crate::text::TextOptions;

#[test]
fn energy_birth_and_death_by_hand() {
    let mut s = spiders("mutation = 0\nagents = 3");
    // Nothing found anywhere: life costs nothing.
    live(&mut s, &[("soup", SEEDS), ("stew", 1)]);
    assert_eq!((s.world.agents.len(), s.world.agents[0].energy, s.world.agents[0].pages), (1, 0.5, 2));
    // The first similarity c: the mean is c/3, the benefit 3, energy 0.5 + 3 − 1 = 2.5 ≥ 1: it splits, 1.25
    // each.
    live(&mut s, &[("sql joins joins", 1)]);
    let energies: Vec<f64> = s.world.agents.iter().map(|a| a.energy).collect();
    assert!(energies.iter().all(|e| (e - 1.25).abs() < 1e-9) && energies.len() == 2, "{energies:?}");
    // A poor page takes 1 from the second agent, the next one kills it.
    live(&mut s, &[("soup", 2)]);
    assert!((s.world.agents[1].energy - 0.25).abs() < 1e-9);
    live(&mut s, &[("soup", 2)]);
    assert_eq!((s.world.agents.len(), s.world.deaths), (1, 1));
    // A link of its lane is fetched after all: somebody is born there, at 0.5 − 1: and dies at once. Its
    // links stay in its lane.
    live(&mut s, &[("soup [x](/x)", 2)]);
    assert_eq!((s.world.agents.len(), s.world.deaths, s.here.1), (1, 2, 2));
    // Turns: one agent, so always its lane; a seed that waits is started in every second turn.
    assert_eq!(s.next_lane(), Some(1));
    let url = types::Canon::exact().parse("http://a/seed").unwrap();
    s.seed(&url);
    let turns: Vec<Option<u8>> = (0..4)
        .map(|_| {
            s.world.turn += 1;
            s.next_lane()
        })
        .collect();
    assert_eq!(turns.iter().filter(|l| **l == Some(SEEDS)).count(), 2);
}

#[test]
fn offspring_learn_the_words_of_the_page() {
    let mut s = spiders("mutation = 0\nagents = 2");
    live(&mut s, &[("soup", SEEDS), ("sql joins index index index", 1)]);
    assert_eq!(s.world.agents.len(), 2);
    let (old, new) = (&s.world.agents[0].genes, &s.world.agents[1].genes);
    assert!(!old.keywords.contains(&word_hash("index")) && new.keywords.contains(&word_hash("index")));
    assert!(old.list != new.list && new.keywords.is_sorted());
    // Both lanes are taken: no more offspring, and no more energy than to split at.
    live(&mut s, &[("sql joins", 1)]);
    assert_eq!((s.world.agents.len(), s.world.agents[0].energy), (2, 1.0));
}

#[test]
fn who_has_no_links_starves() {
    let mut s = spiders("cost = 0\nsplit = 1000\nagents = 2");
    live(&mut s, &[("soup", 1), ("soup", 2)]);
    let many: Vec<(&str, u8)> = (0..28).map(|_| ("soup", 1)).collect();
    live(&mut s, &many);
    assert_eq!(s.world.agents.len(), 2);
    live(&mut s, &[("soup", 1)]);
    assert_eq!((s.world.agents.len(), s.world.agents[0].lane), (1, 1));
}

#[test]
fn a_topic_without_words_is_a_topic() {
    let web = "== http://a/\n[x](/1) [](/2)\n== /1\n== /2\n";
    let crawl = run(web, &format!("name = 'n'\n[content]\nterms = ['zzz']\n{GREEDY}"));
    assert_eq!(crawl.order(), "/ /1 /2");
    for wrong in ["agents = 0", "agents = 201", "discount = 1.0", "rate = 2", "energy = -1"] {
        let t = Topic::from_toml(&format!("query = 'x'\n[strategy]\nkind = 'infospiders'\n{wrong}")).unwrap();
        assert!(build(&StrategySetup::new(&t)).is_err(), "{wrong}");
    }
}
