//! Findings of Pappas et al. 2012: agents that begin at search results and look for pages that contain a
//! query.

use super::assis::quoted;
use super::crawled::Run;
use super::engine::Engine;
use super::lab::{Lab, Site, Variant, over_draws};
use super::{
    Claim, Experiment, Finding, Row, TOPICS, Table, Verdict, alike, as_good, at_least, best_of, better,
    interval, lower,
};
use crate::labels::Class;
use crate::tournament::Line;
use crate::webs::{Identity, Recorded};
use learn::rng::Rng;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use types::{Canon, FetchFuture, Fetched, Millis, Problem, Request, Url, Web};

/// Seeds from the search engine.
const RESULTS: usize = 50;

const HOW: &str = "As Pappas et al.: the query is the first content term of the topic (the first genre term without one), a page is relevant when it contains the query (judge `query`), precision is the share of such pages among all that were fetched, the seeds are the first results of a search engine (our own index over the whole web). A draw takes three quarters of the results; Pappas et al. run everything ten times on the live Web.";

/// A topic as Pappas et al. have it: one query, and an engine that answers it.
struct Search<'a> {
    site: &'a Site,
    query: String,
    engine: Engine,
}

/// What is added to the query for the results of a kind: web, news, discussions.
const GENRES: [&str; 3] = [
    "",
    " AND (news OR announcement OR press OR event)",
    " AND (discussion OR forum OR newsgroup OR \"mailing list\")",
];

impl<'a> Search<'a> {
    /// `None` when the topic has no terms.
    fn of(lab: &Lab, site: &'a Site) -> Result<Option<Search<'a>>, Problem> {
        let (genre, content) = site.terms()?;
        let Some(term) = content.first().or(genre.first()) else { return Ok(None) };
        let query = format!("\"{}\"", term.replace('"', " "));
        Ok(Some(Search { site, query, engine: Engine::of(lab, site)? }))
    }

    /// Results of a kind that other kinds do not have.
    fn results(&self, n: usize) -> Result<[Vec<Url>; 3], Problem> {
        let mut seen: HashSet<Url> = HashSet::new();
        let mut lists: [Vec<Url>; 3] = Default::default();
        // The rarer kinds choose first.
        for kind in [2, 1, 0] {
            let found = self.engine.search(&format!("{}{}", self.query, GENRES[kind]), 4 * n)?;
            lists[kind] = found.into_iter().filter(|u| seen.insert(u.clone())).take(n).collect();
        }
        Ok(lists)
    }

    /// Seeds of each draw, in turn of each kind, so that every agent is dealt the results of one kind. `None`
    /// with too few results of one.
    fn dealt(&self, lab: &Lab) -> Result<Option<Vec<Vec<Url>>>, Problem> {
        let lists = self.results(RESULTS / 3 + 1)?;
        let n = lists.iter().map(Vec::len).min().unwrap_or(0);
        if n < 3 {
            return Ok(None);
        }
        let of = |rng: u64| {
            let drawn: Vec<Vec<Url>> = lists.iter().map(|l| draw(l.get(..n).unwrap_or(l), rng)).collect();
            let most = drawn.iter().map(Vec::len).min().unwrap_or(0);
            (0..most).flat_map(|i| drawn.iter().map(move |l| l[i].clone())).collect()
        };
        Ok(Some(lab.draws().into_iter().map(of).collect()))
    }

    /// Seeds of each draw from all kinds. `None` with too few results.
    fn seeds(&self, lab: &Lab) -> Result<Option<Vec<Vec<Url>>>, Problem> {
        let all = self.engine.search(&self.query, RESULTS)?;
        Ok((all.len() >= 4).then(|| lab.draws().into_iter().map(|rng| draw(&all, rng)).collect()))
    }

    fn variant(&self, name: &str, options: &str, pages: u64) -> Variant {
        let query = toml::Value::String(self.query.clone());
        Variant::new(
            name,
            &format!("[judge]\nkind = 'query'\nquery = {query}\n[strategy]\nkind = 'agents'\n{options}\n"),
        )
        .pages(pages)
    }
}

/// Three quarters of the results, in their order.
fn draw(list: &[Url], rng: u64) -> Vec<Url> {
    let mut places: Vec<usize> = (0..list.len()).collect();
    Rng(rng).shuffle(&mut places);
    places.truncate((list.len() * 3).div_ceil(4));
    places.sort_unstable();
    places.into_iter().map(|i| list[i].clone()).collect()
}

/// Share of pages that contain the query.
fn precision(order: &[Line]) -> Option<f64> {
    let found = order.iter().filter(|l| l.judged).count();
    (!order.is_empty()).then(|| found as f64 / order.len() as f64)
}

/// Hosts it has been to.
fn hosts(run: &Run) -> Option<f64> {
    let canon = Canon::exact();
    let names: HashSet<String> =
        run.order.iter().filter_map(|l| canon.parse(&l.url).ok()).map(|u| u.host_key().to_string()).collect();
    Some(names.len() as f64)
}

/// A web whose answers take time, as long as those that Pappas et al. waited for: 3–4 minutes for 150 pages,
/// one after the other.
struct Slow(Arc<dyn Recorded>);

impl Web for Slow {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        self.0.fetch(request)
    }
    fn latency(&self, url: &Url, _: Millis) -> Millis {
        let spread = xxhash_rust::xxh3::xxh3_64(url.as_str().as_bytes()) % 2000;
        Millis(400 + spread)
    }
}

impl Recorded for Slow {
    fn answer(&self, url: &Url) -> Fetched {
        self.0.answer(url)
    }
    fn resolve(&self, url: &Url) -> Option<Url> {
        self.0.resolve(url)
    }
    fn pages(&self) -> usize {
        self.0.pages()
    }
    fn page(&self, n: usize) -> Option<Url> {
        self.0.page(n)
    }
    fn identity(&self) -> Identity {
        self.0.identity()
    }
    fn is_trap(&self, url: &Url) -> bool {
        self.0.is_trap(url)
    }
    fn is_endless(&self) -> bool {
        self.0.is_endless()
    }
    fn notes(&self) -> &crate::Tally {
        self.0.notes()
    }
}

pub(super) const AGENTS: Experiment = Experiment {
    name: "agents",
    claim: "precision is steady from 1 to 12 requests at once and time falls; disambiguation cuts irrelevant pages; three agents explore more widely, one agent with the same seeds is more precise",
    source: "Pappas et al. 2012, §V.A, C, D, Fig. 3, 5, 7",
    turn: 0,
    run: agents,
};

/// Requests at once.
const AT_ONCE: [usize; 5] = [1, 2, 4, 8, 12];
/// Pages of a crawl: Fig. 3, Fig. 5, and Fig. 7 (which has no number).
const PAGES: [u64; 3] = [150, 1000, 500];
/// Steps after which a link is forgotten; 0: never.
const LIFETIMES: [u32; 4] = [0, 20, 100, 400];

fn agents(lab: &Lab) -> Result<Finding, Problem> {
    let lab = &lab.at_most(TOPICS);
    let mut parallel: [Vec<Row>; 2] = std::array::from_fn(|_| vec![Vec::new(); AT_ONCE.len()]);
    let mut teams: [Vec<Row>; 2] = std::array::from_fn(|_| vec![Vec::new(); 2]);
    let mut lifetimes: Vec<Row> = vec![Vec::new(); LIFETIMES.len()];
    let mut contexts: Vec<Row> = vec![Vec::new(); 4];
    for site in &lab.sites {
        let search = Search::of(lab, site)?;
        let seeds = search.as_ref().map(|s| s.seeds(lab)).transpose()?.flatten();
        let (Some(search), Some(seeds)) = (search, seeds) else {
            let rows = parallel.iter_mut().flatten().chain(teams.iter_mut().flatten());
            rows.chain(&mut lifetimes).chain(&mut contexts).for_each(|r| r.push(None));
            continue;
        };
        // One agent, answers that take time.
        let slow = Site { web: Arc::new(Slow(site.web.clone())), ..site.clone() };
        let variants: Vec<Variant> = AT_ONCE
            .iter()
            .map(|n| Variant {
                concurrency: *n,
                ..search.variant(&format!("{n} at once"), "agents = 1", PAGES[0])
            })
            .collect();
        let runs = lab.crawl_from(&slow, &variants, &seeds)?;
        for (n, runs) in runs.iter().enumerate() {
            parallel[0][n].push(over_draws(runs, |r| precision(&r.order)));
            parallel[1][n].push(over_draws(runs, |r| Some(r.virtual_ms as f64 / 1e3)));
        }
        // Three agents with the results of one kind each, and one with all of them.
        let dealt = search.dealt(lab)?;
        let teamed = match &dealt {
            Some(dealt) => {
                let of = |n: u32| search.variant(&format!("{n} agents"), &format!("agents = {n}"), PAGES[2]);
                Some(lab.crawl_from(site, &[of(3), of(1)], dealt)?)
            }
            None => None,
        };
        for n in 0..2 {
            let runs = teamed.as_ref().map(|t| &t[n]);
            teams[0][n].push(runs.and_then(|r| over_draws(r, |r| precision(&r.order))));
            teams[1][n].push(runs.and_then(|r| over_draws(r, hosts)));
        }
        let variants: Vec<Variant> = LIFETIMES
            .iter()
            .map(|ttl| search.variant(&format!("{ttl} steps"), &format!("agents = 1\nttl = {ttl}"), PAGES[2]))
            .collect();
        for (row, runs) in lifetimes.iter_mut().zip(lab.crawl_from(site, &variants, &seeds)?) {
            row.push(over_draws(&runs, |r| precision(&r.order)));
        }
        let of_contexts = disambiguated(lab, &search, &seeds)?;
        for (row, value) in contexts.iter_mut().zip(of_contexts) {
            row.push(value);
        }
    }
    let times: Row =
        parallel[1][0].iter().zip(&parallel[1][4]).map(|(a, b)| Some((*a)? / (*b)?.max(1e-9))).collect();
    let at_once: Vec<String> = AT_ONCE.iter().map(|n| format!("{n} at once")).collect();
    let lives: Vec<String> = LIFETIMES
        .iter()
        .map(|n| if *n == 0 { "never forgotten".into() } else { format!("forgotten after {n} steps") })
        .collect();
    let team = ["three agents, a kind of results each", "one agent, all results"];
    let claims = vec![
        alike((&at_once[4], &parallel[0][4]), (&at_once[0], &parallel[0][0]), 0.03)
            .what("precision is steady from 1 to 12 requests at once (within 3 points)")
            .figure("steady, or rising"),
        at_least("twelve requests at once are six times as fast", &times, 6.0)
            .figure("3–4 minutes to 30 seconds: 6–8 times")
            .why("Answers take 0.4 to 2.4 seconds on the virtual clock, which makes one after the other as slow as theirs."),
        better((team[1], &teams[0][1]), (team[0], &teams[0][0]))
            .what("one agent with all seeds is more precise than three with a part each")
            .figure("higher (one query)"),
        better((team[0], &teams[1][0]), (team[1], &teams[1][1]))
            .what("three agents explore more widely (hosts visited)")
            .figure("greater diversity, no number")
            .why("Perhaps most hosts come with the seeds, which are the same."),
        better(("with excluded contexts", &contexts[0]), ("without", &contexts[1]))
            .what("excluding the terms of wrong contexts raises precision")
            .figure("clearly higher (one query)")
            .why("Here precision is by label, because contexts are meant; the terms are words of false alarms on half of the pages, measured on the other half. A person who knows the contexts does better."),
        lower(("irrelevant pages with it", &contexts[2]), ("without", &contexts[3]))
            .what("it cuts the number of irrelevant pages let through")
            .figure("\"decrease dramatically\""),
        as_good((&lives[1], &lifetimes[1]), (&lives[0], &lifetimes[0]), 0.01)
            .what("forgetting links (after 20 steps) does precision no harm")
            .figure("not measured")
            .why("Links that are forgotten are fewer pages fetched: more of them are the seeds, which all contain the query."),
    ];
    let tables = vec![
        Table::of(lab, "Precision of 150 pages, one agent.", &at_once, &parallel[0]),
        Table::of(lab, "Seconds on the virtual clock.", &at_once, &parallel[1]),
        Table::of(lab, "Precision of 500 pages.", &team, &teams[0]),
        Table::of(lab, "Hosts visited.", &team, &teams[1]),
        Table::of(lab, "Precision of 500 pages, one agent, by the lifetime of links.", &lives, &lifetimes),
        Table::of(
            lab,
            "Of what the judge lets through (1,000 pages): precision by label, and irrelevant pages.",
            &["with excluded contexts", "without", "irrelevant with", "irrelevant without"],
            &contexts,
        ),
    ];
    Ok(Finding::of(claims, tables, HOW))
}

/// Precision (by label) of what is let through, and irrelevant pages, with and without excluded terms; on the
/// half of the pages that they were not chosen on.
fn disambiguated(lab: &Lab, search: &Search, seeds: &[Vec<Url>]) -> Result<[Option<f64>; 4], Problem> {
    let site = search.site;
    let plain = lab.crawl_from(site, &[search.variant("plain", "agents = 1", PAGES[1])], seeds)?;
    let Some(first) = plain.first().and_then(|r| r.first()) else { return Ok([None; 4]) };
    let terms = wrong_words(lab, site, first)?;
    let mut with = search.variant("excluding", "agents = 1", PAGES[1]);
    with.settings.push_str(&format!("[exclude]\nterms = {}\n", quoted(&terms)));
    let excluding = lab.crawl_from(site, &[with], seeds)?;
    // Search results count here: they are pages like any other.
    let kept = |r: &Run| -> (usize, usize) {
        let canon = Canon::exact();
        let said = r.order.iter().filter(|l| l.judged && odd(&l.url));
        let classes: Vec<Class> = said
            .filter_map(|l| canon.parse(&l.url).ok())
            .map(|u| site.rules.class(site.labels.of(&u)))
            .collect();
        let of = |class: Class| classes.iter().filter(|c| **c == class).count();
        (of(Class::Relevant), of(Class::Irrelevant))
    };
    let share = |r: &Run| {
        let (right, wrong) = kept(r);
        (right + wrong > 0).then(|| right as f64 / (right + wrong) as f64)
    };
    let (a, b) = (excluding.first().map_or(&[][..], |r| r), plain.first().map_or(&[][..], |r| r));
    Ok([
        over_draws(a, share),
        over_draws(b, share),
        over_draws(a, |r| Some(kept(r).1 as f64)),
        over_draws(b, |r| Some(kept(r).1 as f64)),
    ])
}

fn odd(url: &str) -> bool {
    xxhash_rust::xxh3::xxh3_64(url.as_bytes()) & 1 == 1
}

/// Ten words that many false alarms and (almost) no relevant pages have.
fn wrong_words(lab: &Lab, site: &Site, run: &Run) -> Result<Vec<String>, Problem> {
    let analyst = lab.analyst(site, &site.config)?;
    let canon = Canon::exact();
    let (mut wrong, mut right) = (HashMap::<String, u32>::new(), HashMap::<String, u32>::new());
    let mut relevant = 0u32;
    for line in run.order.iter().filter(|l| l.judged && !odd(&l.url)) {
        let Ok(url) = canon.parse(&line.url) else { continue };
        let is = site.rules.class(site.labels.of(&url)) == Class::Relevant;
        let into = if is { &mut right } else { &mut wrong };
        relevant += u32::from(is);
        let Some((doc, _)) = analyst.read(&site.web.answer(&url)) else { continue };
        let words: HashSet<String> = doc
            .page
            .text
            .split(|c: char| !c.is_alphabetic())
            .filter(|w| w.chars().count() > 3)
            .map(str::to_lowercase)
            .collect();
        for w in words {
            *into.entry(w).or_default() += 1;
        }
    }
    let mut ranked: Vec<(u32, String)> = wrong
        .into_iter()
        .filter(|(w, _)| right.get(w).copied().unwrap_or(0) * 20 <= relevant)
        .map(|(w, n)| (n, w))
        .collect();
    ranked.sort_by(|a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    Ok(ranked.into_iter().take(10).map(|r| r.1).collect())
}

pub(super) const TABLES: Experiment = Experiment {
    name: "agent-tables",
    claim: "a table of 50 words is best among fixed sizes; a growing one improves with 50 % added; topic and genre summed are best",
    source: "Pappas et al. 2012, §V.E, F, Fig. 6, 8",
    turn: 1,
    run: agent_tables,
};

/// Pages of Fig. 6.
const TABLE_PAGES: u64 = 400;

fn agent_tables(lab: &Lab) -> Result<Finding, Problem> {
    let lab = &lab.at_most(TOPICS);
    let sizes = [10, 25, 50, 100, 250, 1000];
    let mut variants: Vec<(String, String)> =
        sizes.iter().map(|n| (format!("{n} words"), format!("agents = 1\nsize = {n}"))).collect();
    for similarity in [0.6, 0.8] {
        for add in [0, 10, 50, 80] {
            variants.push((
                format!("100 words, {add} % of pages above {similarity} added"),
                format!("agents = 1\ntable = 'dynamic'\nsimilarity = {similarity}\nadd = {add}"),
            ));
        }
    }
    let genres = variants.len();
    let kinds = "genres = ['news', 'discussion', 'blog']";
    for (name, options) in [
        ("topic + genre", "topic_weight = 1\ngenre_weight = 1"),
        ("0.5 topic + 0.5 genre", "topic_weight = 0.5\ngenre_weight = 0.5"),
        ("genre alone", "topic_weight = 0\ngenre_weight = 1"),
    ] {
        variants.push((name.into(), format!("agents = 1\n{kinds}\n{options}")));
    }
    let names: Vec<&str> = variants.iter().map(|v| v.0.as_str()).collect();
    let mut rows: Vec<Row> = vec![Vec::new(); variants.len()];
    for site in &lab.sites {
        let search = Search::of(lab, site)?;
        let seeds = search.as_ref().map(|s| s.seeds(lab)).transpose()?.flatten();
        let (Some(search), Some(seeds)) = (search, seeds) else {
            rows.iter_mut().for_each(|r| r.push(None));
            continue;
        };
        let list: Vec<Variant> = variants.iter().map(|(n, o)| search.variant(n, o, TABLE_PAGES)).collect();
        for (row, runs) in rows.iter_mut().zip(lab.crawl_from(site, &list, &seeds)?) {
            row.push(over_draws(&runs, |r| precision(&r.order)));
        }
    }
    let (six, eight) = (sizes.len(), sizes.len() + 4);
    let same = interval(&super::differences(&rows[genres], &rows[genres + 1]));
    let by_construction =
        if same.low == 0.0 && same.high == 0.0 { Verdict::DoesNotHold } else { Verdict::Undecided };
    let claims = vec![
        best_of("a table of 50 words is best among fixed sizes", &names[..sizes.len()], &rows[..sizes.len()], 2)
            .figure("50 of 0–1000, all genres (one query)")
            .why("Perhaps because pages of one field share their words."),
        better((names[six + 2], &rows[six + 2]), (names[six], &rows[six]))
            .what("a growing table is better with 50 % added than with nothing (pages above 0.6)")
            .figure("an improvement (one query)")
            .why("Perhaps few pages are as similar to a table as that, so that it hardly grows."),
        better((names[eight + 2], &rows[eight + 2]), (names[eight], &rows[eight]))
            .what("the same with pages above 0.8")
            .figure("an improvement (one query)"),
        better((names[genres], &rows[genres]), (names[genres + 2], &rows[genres + 2]))
            .what("topic and genre together beat the genre alone")
            .figure("higher"),
        Claim {
            verdict: by_construction,
            ..better((names[genres], &rows[genres]), (names[genres + 1], &rows[genres + 1]))
        }
        .what("the plain sum beats weights of 0.5")
        .figure("best against worst")
        .why("Half of every score is the same order: within one agent the difference cannot come from the weights."),
    ];
    let tables = vec![Table::of(lab, "Precision of 400 pages, one agent.", &names, &rows)];
    Ok(Finding::of(claims, tables, HOW))
}

pub(super) const BEYOND: Experiment = Experiment {
    name: "beyond-search",
    claim: "agents explore domains that the search engine lists beyond its own results (about 30 % of the shared domains)",
    source: "Pappas et al. 2012, §V.B, Fig. 4",
    turn: 1,
    run: beyond,
};

/// Results that the engine shows. Pappas et al. have 500 of billions; of our web that would be all that there
/// are.
const SHOWN: usize = 50;

fn beyond(lab: &Lab) -> Result<Finding, Problem> {
    let lab = &lab.at_most(TOPICS);
    let names = ["explored further", "with new pages that contain the query"];
    let mut rows: Vec<Row> = vec![Vec::new(); names.len()];
    let mut precise: Row = Vec::new();
    for site in &lab.sites {
        let search = Search::of(lab, site)?;
        let results = match &search {
            Some(s) => s.engine.search(&s.query, SHOWN)?,
            None => Vec::new(),
        };
        let news = match &search {
            Some(s) => s.results(SHOWN / 3 + 1)?[1].clone(),
            None => Vec::new(),
        };
        let (Some(search), false) = (search, news.len() < 4) else {
            rows.iter_mut().for_each(|r| r.push(None));
            precise.push(None);
            continue;
        };
        let seeds: Vec<Vec<Url>> = lab.draws().into_iter().map(|rng| draw(&news, rng)).collect();
        let runs = lab.crawl_from(site, &[search.variant("agent", "agents = 1", PAGES[2])], &seeds)?;
        let runs = runs.into_iter().next().unwrap_or_default();
        rows[0].push(over_draws(&runs, |r| explored(&r.order, &results, |_| true)));
        rows[1].push(over_draws(&runs, |r| explored(&r.order, &results, |l| l.judged)));
        precise.push(over_draws(&runs, |r| precision(&r.order)));
    }
    let claims = vec![
        at_least("the agent explores 30 % of the shared domains further", &rows[0], 0.3)
            .figure("about 30 % (one query)")
            .why("Any page beyond the results counts. The engine shows 50 results, not 500: ours knows the whole web, of which 500 would be nearly all."),
        at_least("on 30 % of them it finds new pages that contain the query", &rows[1], 0.3)
            .figure("\"a chance of discovering\" them"),
    ];
    let tables = vec![
        Table::of(lab, "Share of the domains that both have.", &names, &rows),
        Table::of(lab, "Precision of 500 pages, seeds from news.", &["one agent"], &[precise]),
    ];
    Ok(Finding::of(claims, tables, HOW))
}

/// Of the hosts of both lists, the share on which the crawl has pages (that count) beyond the results.
fn explored(order: &[Line], results: &[Url], counts: impl Fn(&Line) -> bool) -> Option<f64> {
    let canon = Canon::exact();
    let listed: HashSet<&Url> = results.iter().collect();
    let domains: HashSet<&str> = results.iter().map(|u| u.host()).collect();
    let mut shared: HashMap<String, bool> = HashMap::new();
    for line in order {
        let Some(url) = canon.parse(&line.url).ok().filter(|u| domains.contains(u.host())) else { continue };
        let more = shared.entry(url.host().to_string()).or_default();
        *more |= counts(line) && !listed.contains(&url);
    }
    (!shared.is_empty()).then(|| shared.values().filter(|m| **m).count() as f64 / shared.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::lab::testing::lines;

    fn url(s: &str) -> Url {
        Canon::exact().parse(s).unwrap()
    }

    #[test]
    fn precision_and_draws() {
        assert_eq!(precision(&lines("----", &[0.9, 0.1, 0.6, 0.0])), Some(0.5));
        assert_eq!(precision(&[]), None);
        let urls: Vec<Url> = (10..50).map(|i| url(&format!("http://a.org/{i}"))).collect();
        let one = draw(&urls, 1);
        assert_eq!(one.len(), 30);
        assert!(one.is_sorted() && one == draw(&urls, 1) && one != draw(&urls, 2));
    }

    #[test]
    fn domains_explored_further() {
        let mut order = lines("----", &[0.9, 0.9, 0.1, 0.9]);
        for (line, u) in
            order.iter_mut().zip(["http://a.org/1", "http://b.org/1", "http://b.org/2", "http://c.org/"])
        {
            line.url = u.into();
        }
        let results = [url("http://a.org/1"), url("http://b.org/1"), url("http://d.org/")];
        // a and b are shared; only b has a page beyond the results, and that one does not count.
        assert_eq!(explored(&order, &results, |_| true), Some(0.5));
        assert_eq!(explored(&order, &results, |l| l.judged), Some(0.0));
        assert_eq!(explored(&order, &[], |_| true), None);
    }
}
