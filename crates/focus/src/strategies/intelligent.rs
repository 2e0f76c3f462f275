//! Strategy `intelligent`: learns during the crawl which properties wanted pages have before they are fetched
//! (Aggarwal, Al-Garawi, Yu 2001; Pappas et al. 2012, Batsakis, §2.3).

#[path = "intelligent_share.rs"]
mod share;

use super::{
    Because, Model, Parts, Reason, Rescore, Revised, Scored, Strategy, StrategyEntry, StrategySetup, Visit,
    Wants,
};
use crate::options;
use crate::text::Token;
use crate::text::vector::Plain;
use learn::bytes::{Reader, Writer, damaged};
use serde::Deserialize;
use std::collections::HashMap;
use types::{Priority, Problem, Source, Url, UrlId};

pub(super) const ENTRY: StrategyEntry = StrategyEntry {
    name: "intelligent",
    summary: "learns which words around, URL tokens, parents and siblings go with wanted pages",
    doc: "\
## What it does
Whatever the judge calls relevant is the predicate. For every property a page has before it is fetched, the crawl counts how many
pages with it turned out relevant. The interest ratio of a property is the share of relevant pages among those with it, divided by
their share among all; ten pseudo-pages of the average kind are added to every count, so that a property seen once says little. Four
kinds of properties: the words of the pages that link to it, the tokens of its URL, whether those pages are relevant, and how
many of its fetched siblings (other links of those pages) are. The priority is the weighted sum of the logarithms of all ratios.
Pending URLs are scored again with what has been learnt since when they come near the top.

## When it helps
When you cannot say how wanted pages are linked: sites with telling URLs, lists of wanted pages, topics that link to themselves. It
finds out which of these holds.

## When it hurts
Until the first relevant page it is breadth-first. Words are counted as if independent, so long pages shout.

## Options
`content`, `url`, `link`, `sibling` = 1: weights of the four kinds · `pseudo` = 10 pseudo-pages · `words` = 100: so many of a
page's words count, the most frequent · `significance` = 0: only properties whose share differs from the average by so many
standard deviations count (the source uses 2).

## Source
Aggarwal, Al-Garawi, Yu: Intelligent crawling on the World Wide Web with arbitrary predicates, 2001; Pappas et al. 2012, §II, Batsakis, §2.3.",
    build,
};

#[derive(Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Options {
    content: f64,
    url: f64,
    link: f64,
    sibling: f64,
    pseudo: f64,
    words: usize,
    significance: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            content: 1.0,
            url: 1.0,
            link: 1.0,
            sibling: 1.0,
            pseudo: 10.0,
            words: 100,
            significance: 0.0,
        }
    }
}

/// Seeds come before everything: sums of logarithms have no top.
const SEEDS: u8 = 1;
const EVIDENCE: u8 = 1;
/// So many tokens of a URL count.
const MOST_TOKENS: usize = 32;
/// So many of the pages that link to a URL count.
const MOST_PARENTS: usize = 8;
/// More properties than this and the rarest are forgotten.
const MOST_PROPERTIES: usize = 1_000_000;
/// Pages whose words are remembered for their links' sake; then the oldest half is forgotten.
const MOST_PAGES: usize = 200_000;

/// Pages with a property, and relevant ones among them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Seen {
    all: u32,
    relevant: u32,
}

impl Seen {
    fn add(&mut self, relevant: bool) {
        self.all = self.all.saturating_add(1);
        self.relevant = self.relevant.saturating_add(u32::from(relevant));
    }
}

/// Properties by hash, bounded.
#[derive(Clone, Debug, Default, PartialEq)]
struct Table(HashMap<u32, Seen, Plain>);

impl Table {
    fn add(&mut self, property: u32, relevant: bool) {
        self.0.entry(property).or_default().add(relevant);
    }
    fn bound(&mut self) {
        let mut least = 1;
        while self.0.len() > MOST_PROPERTIES {
            self.0.retain(|_, s| s.all > least);
            least += 1;
        }
    }
    fn write(&self, w: &mut Writer) {
        let mut entries: Vec<(u32, Seen)> = self.0.iter().map(|(k, s)| (*k, *s)).collect();
        entries.sort_unstable_by_key(|e| e.0);
        w.var(entries.len() as u64);
        for (k, s) in entries {
            w.u32(k).var(u64::from(s.all)).var(u64::from(s.relevant));
        }
    }
    fn read(r: &mut Reader) -> Result<Table, Problem> {
        let mut t = Table::default();
        for _ in 0..r.var()? {
            let k = r.u32()?;
            t.0.insert(k, read_seen(r)?);
        }
        Ok(t)
    }
}

fn read_seen(r: &mut Reader) -> Result<Seen, Problem> {
    let number = |v: u64| u32::try_from(v).map_err(|_| damaged());
    let s = Seen { all: number(r.var()?)?, relevant: number(r.var()?)? };
    if s.relevant > s.all { Err(damaged()) } else { Ok(s) }
}

/// What is remembered of a fetched page for the sake of its links.
#[derive(Clone, Debug, Default, PartialEq)]
struct Parent {
    /// Its words (hashes), ascending.
    words: Box<[u32]>,
    relevant: bool,
    /// Its links that have been fetched.
    children: Seen,
}

/// Everything learnt.
#[derive(Clone, Debug, Default, PartialEq)]
struct Knowledge {
    pages: Seen,
    words: Table,
    tokens: Table,
    /// Pages with an irrelevant and with a relevant parent (a page counts once per parent).
    links: [Seen; 2],
    parents: HashMap<u32, Parent, Plain>,
}

/// One fetched page, as it is learnt from and saved.
struct Observation {
    id: u32,
    relevant: bool,
    words: Box<[u32]>,
    tokens: Vec<u32>,
    parents: Vec<u32>,
}

struct Intelligent {
    o: Options,
    known: Knowledge,
    /// Observations since the last save, as bytes; `None` = the next save must hold everything.
    log: Option<Writer>,
    /// What other workers know of it; `None` = nothing yet.
    told: Option<share::Sums>,
}

fn build(setup: &StrategySetup) -> Result<Box<dyn Strategy>, Problem> {
    let o: Options = options::parse("strategy `intelligent`", setup.options)?;
    let fine = |v: f64| v.is_finite() && (0.0..=1e6).contains(&v);
    if ![o.content, o.url, o.link, o.sibling, o.significance].into_iter().all(fine)
        || !fine(o.pseudo)
        || o.pseudo < 0.001
    {
        return Err(Problem::usage(
            "strategy `intelligent`: weights and significance are numbers, 0 or more, pseudo at least 0.001",
        ));
    }
    Ok(Box::new(Intelligent { o, known: Knowledge::default(), log: None, told: None }))
}

impl Knowledge {
    fn learn(&mut self, o: Observation) {
        self.pages.add(o.relevant);
        let mut words: Vec<u32> = Vec::new();
        for id in &o.parents {
            let Some(parent) = self.parents.get_mut(id) else { continue };
            parent.children.add(o.relevant);
            self.links[usize::from(parent.relevant)].add(o.relevant);
            words.extend(parent.words.iter());
        }
        words.sort_unstable();
        words.dedup();
        words.into_iter().for_each(|w| self.words.add(w, o.relevant));
        o.tokens.iter().for_each(|t| self.tokens.add(*t, o.relevant));
        self.words.bound();
        self.tokens.bound();
        let parent = Parent { words: o.words, relevant: o.relevant, children: Seen::default() };
        self.parents.insert(o.id, parent);
        if self.parents.len() > MOST_PAGES {
            // Ids grow in the order of discovery.
            let mut ids: Vec<u32> = self.parents.keys().copied().collect();
            ids.sort_unstable();
            let middle = ids.get(ids.len() / 2).copied().unwrap_or(0);
            self.parents.retain(|id, _| *id >= middle);
        }
    }
}

impl Observation {
    fn write(&self, w: &mut Writer) {
        w.u32(self.id).u8(u8::from(self.relevant));
        for list in [&self.words[..], &self.tokens, &self.parents] {
            w.var(list.len() as u64);
            list.iter().for_each(|v| {
                w.u32(*v);
            });
        }
    }
    fn read(r: &mut Reader) -> Result<Observation, Problem> {
        let (id, relevant) = (r.u32()?, r.u8()? == 1);
        let mut list = || (0..r.var()?).map(|_| r.u32()).collect::<Result<Vec<u32>, Problem>>();
        Ok(Observation { id, relevant, words: list()?.into(), tokens: list()?, parents: list()? })
    }
}

/// The four sums of logarithms, not yet weighted.
#[derive(Clone, Copy, Debug, Default)]
struct Logs {
    content: f64,
    url: f64,
    link: f64,
    sibling: f64,
}

impl Intelligent {
    /// A property's interest ratio: `(relevant + 10·b)/(all + 10) / b`, b the share of relevant pages among
    /// all.
    fn ratio(&self, seen: Seen) -> f64 {
        let pages = self.known.pages;
        if pages.relevant == 0 || seen.all == 0 {
            return 1.0;
        }
        let b = f64::from(pages.relevant) / f64::from(pages.all);
        let (all, relevant) = (f64::from(seen.all), f64::from(seen.relevant));
        if self.o.significance > 0.0 {
            let deviation = libm::sqrt(b * (1.0 - b) / all);
            if (relevant / all - b).abs() < self.o.significance * deviation {
                return 1.0;
            }
        }
        (relevant + self.o.pseudo * b) / (all + self.o.pseudo) / b
    }

    fn interest(&self, seen: Seen) -> f64 {
        libm::log(self.ratio(seen))
    }

    /// The sum of the logarithms of the properties' ratios.
    fn of_table(&self, table: &Table, properties: &[u32]) -> f64 {
        let mut sum = 0.0;
        // One logarithm for several: a ratio lies between 1e-13 and 1e10, so the product of sixteen is a
        // number yet.
        for some in properties.chunks(16) {
            let seen = |p: &u32| table.0.get(p).copied().unwrap_or_default();
            sum += libm::log(some.iter().map(|p| self.ratio(seen(p))).product());
        }
        sum
    }

    /// What the pages that link to a URL say of it.
    fn around(&self, parents: &[u32]) -> Logs {
        let mut logs = Logs::default();
        let mut siblings = Seen::default();
        let mut words: Vec<u32> = Vec::new();
        let mut of_one: &[u32] = &[];
        let mut n = 0;
        for p in parents.iter().filter_map(|id| self.known.parents.get(id)) {
            logs.link += self.interest(self.known.links[usize::from(p.relevant)]);
            siblings.all = siblings.all.saturating_add(p.children.all);
            siblings.relevant = siblings.relevant.saturating_add(p.children.relevant);
            n += 1;
            match n {
                1 => of_one = &p.words,
                2 => words = of_one.iter().chain(p.words.iter()).copied().collect(),
                _ => words.extend(p.words.iter()),
            }
        }
        words.sort_unstable();
        words.dedup();
        logs.content = self.of_table(&self.known.words, if n == 1 { of_one } else { &words });
        logs.sibling = self.interest(siblings);
        logs
    }

    fn key(&self, l: &Logs) -> f64 {
        self.o.content * l.content + self.o.url * l.url + self.o.link * l.link + self.o.sibling * l.sibling
    }
}

fn tokens_of(tokens: &[Token]) -> Vec<u32> {
    let mut out: Vec<u32> = tokens.iter().map(|t| t.hash as u32).take(MOST_TOKENS).collect();
    out.sort_unstable();
    out.dedup();
    out
}

fn evidence(tokens: &[u32]) -> Vec<u8> {
    let mut w = Writer::default();
    w.u8(EVIDENCE).u8(tokens.len() as u8);
    tokens.iter().for_each(|t| {
        w.u32(*t);
    });
    w.0
}

fn read_evidence(bytes: &[u8]) -> Option<Vec<u32>> {
    let mut r = Reader(bytes);
    if r.u8().ok()? != EVIDENCE {
        return None;
    }
    (0..r.u8().ok()?).map(|_| r.u32().ok()).collect()
}

fn parents_of(sources: &[Source]) -> Vec<u32> {
    let mut out: Vec<u32> = Vec::new();
    for UrlId(id) in sources.iter().filter_map(|s| s.parent) {
        if out.len() < MOST_PARENTS && !out.contains(&id) {
            out.push(id);
        }
    }
    out
}

impl Strategy for Intelligent {
    fn wants(&self) -> Wants {
        Wants { lookahead: 16, ..Wants::SOURCES.and(Parts::COUNTS_AND_LINKS) }
    }

    fn seed(&mut self, _: &Url) -> Scored {
        Scored { priority: Priority::new(SEEDS, 0.0), evidence: Vec::new(), ttl: None }
    }

    fn learn(&mut self, visit: &Visit) -> Rescore {
        let mut words: Vec<(u64, u32)> = visit.doc.counts().iter().collect();
        words.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut words: Vec<u32> = words.into_iter().take(self.o.words).map(|w| w.0 as u32).collect();
        words.sort_unstable();
        words.dedup();
        let o = Observation {
            id: visit.id.0,
            // A copy of a page we have is not what the user wants.
            relevant: visit.verdict.relevant && !visit.worthless,
            words: words.into(),
            tokens: tokens_of(visit.doc.url()),
            parents: parents_of(visit.sources),
        };
        if let Some(log) = &mut self.log {
            o.write(log);
            if log.0.len() > 64 << 20 {
                // Nobody saves.
                self.log = None;
            }
        }
        self.known.learn(o);
        Rescore::Stale
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let around = self.around(&[visit.id.0]);
        let links = 0..visit.doc.page.links.len();
        let one = |i: usize| {
            let tokens = tokens_of(visit.doc.link_url(i));
            let logs = Logs { url: self.of_table(&self.known.tokens, &tokens), ..around };
            Some(Scored {
                priority: Priority::key_only(self.key(&logs)),
                evidence: evidence(&tokens),
                ttl: None,
            })
        };
        links.map(one).collect()
    }

    fn rescore(&mut self, sources: &[Source]) -> Option<Priority> {
        let lane = sources.iter().map(|s| s.priority.lane).max()?;
        let tokens = sources.iter().find_map(|s| read_evidence(&s.evidence))?;
        let mut logs = self.around(&parents_of(sources));
        logs.url = self.of_table(&self.known.tokens, &tokens);
        Some(Priority::new(lane, self.key(&logs)))
    }

    fn explain(&self, evidence: &[u8], priority: Priority) -> Vec<Reason> {
        let Some(tokens) = read_evidence(evidence) else { return Vec::new() };
        let url = self.o.url * self.of_table(&self.known.tokens, &tokens);
        let reason = |label: &str, value: f64| Reason { label: label.into(), value };
        vec![
            reason("tokens of its URL", url),
            reason("words, relevance and other links of the pages it is on", priority.key() - url),
        ]
    }

    fn model(&mut self) -> Option<&mut dyn Model> {
        Some(self)
    }
}

impl Model for Intelligent {
    fn version(&self) -> u32 {
        self.known.pages.all
    }

    fn revise(&mut self, pages: &[Revised]) {
        pages.iter().filter(|p| p.because == Because::User).for_each(|p| self.turn(p));
    }

    fn save(&mut self, full: bool) -> Option<Vec<u8>> {
        let log = self.log.replace(Writer::default()).filter(|_| !full);
        let mut w = Writer::default();
        match log {
            Some(log) if log.0.is_empty() => return None,
            Some(log) => {
                w.u8(0);
                w.0.extend(log.0);
            }
            None => {
                let k = &self.known;
                w.u8(1);
                for s in [k.pages, k.links[0], k.links[1]] {
                    w.var(u64::from(s.all)).var(u64::from(s.relevant));
                }
                k.words.write(&mut w);
                k.tokens.write(&mut w);
                let mut ids: Vec<u32> = k.parents.keys().copied().collect();
                ids.sort_unstable();
                w.var(ids.len() as u64);
                for (id, p) in ids.iter().filter_map(|id| Some((id, k.parents.get(id)?))) {
                    w.u32(*id).u8(u8::from(p.relevant));
                    w.var(u64::from(p.children.all)).var(u64::from(p.children.relevant));
                    w.var(p.words.len() as u64);
                    p.words.iter().for_each(|v| {
                        w.u32(*v);
                    });
                }
            }
        }
        Some(w.0)
    }

    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        match r.u8()? {
            0 => {
                while !r.0.is_empty() {
                    self.known.learn(Observation::read(&mut r)?);
                }
            }
            1 => {
                let mut k = Knowledge { pages: read_seen(&mut r)?, ..Knowledge::default() };
                k.links = [read_seen(&mut r)?, read_seen(&mut r)?];
                k.words = Table::read(&mut r)?;
                k.tokens = Table::read(&mut r)?;
                for _ in 0..r.var()? {
                    let (id, relevant) = (r.u32()?, r.u8()? == 1);
                    let children = read_seen(&mut r)?;
                    let words = (0..r.var()?).map(|_| r.u32()).collect::<Result<Box<[u32]>, Problem>>()?;
                    k.parents.insert(id, Parent { words, relevant, children });
                }
                r.end()?;
                self.known = k;
            }
            _ => return Err(damaged()),
        }
        // What was saved was told before, or is others' already.
        self.told = None;
        self.log = Some(Writer::default());
        Ok(())
    }

    fn export(&mut self) -> Option<Vec<u8>> {
        self.write_model()
    }

    fn import(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.read_model(bytes)
    }

    fn delta(&mut self) -> Option<Vec<u8>> {
        self.write_delta()
    }

    fn apply(&mut self, delta: &[u8]) -> Result<(), Problem> {
        self.read_delta(delta)
    }
}

#[cfg(test)]
mod tests {
    use crate::testkit::run;

    /// The logarithm of an interest ratio with ten pseudo-pages.
    fn log(relevant: f64, all: f64, b: f64) -> f64 {
        ((relevant + 10.0 * b) / (all + 10.0) / b).ln()
    }

    const WEB: &str = "
        == http://a/
        [g](/good/one) [p](/poor/two) [g](/good/three) [p](/poor/four)
        == /good/one
        sql
        == /good/three
        sql
        == /poor/two
        soup
        == /poor/four
        ";

    fn topic(rest: &str) -> String {
        format!("query = 'sql'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = 'intelligent'\n{rest}")
    }

    #[test]
    fn nothing_relevant_yet_is_breadth_first() {
        let crawl = run(WEB, &topic(""));
        for name in ["/good/one", "/poor/two", "/good/three", "/poor/four"] {
            crawl.expect_score(name, 0.0);
        }
    }

    #[test]
    fn url_tokens_by_hand() {
        let crawl = run(WEB, &topic("content = 0\nlink = 0\nsibling = 0"));
        // After / (irrelevant) and /good/one (relevant): b = 1/2. The host token `a` is on both: (1 + 5)/(2 +
        // 10)/½ = 1, ln 0. /good/three: good (1 of 1); three is unknown: 0.
        crawl.expect_lease_key("/good/three", log(1.0, 1.0, 0.5));
        assert_eq!(crawl.order(), "/ /good/one /good/three /poor/two /poor/four");
        // After three pages, two of them relevant: b = 2/3; a: 2 of 3, so 0 again; the rest is unknown.
        crawl.expect_lease_key("/poor/two", 0.0);
        // After four, two relevant: b = 1/2; poor: 0 of 1.
        crawl.expect_lease_key("/poor/four", log(0.0, 1.0, 0.5));
    }

    #[test]
    fn siblings_and_parents_by_hand() {
        let siblings = run(WEB, &topic("content = 0\nlink = 0\nurl = 0"));
        // At the second lease one child of / is known, relevant; b = 1/2.
        siblings.expect_lease_key("/poor/two", log(1.0, 1.0, 0.5));
        // Then one of two; b = 1/3.
        siblings.expect_lease_key("/good/three", log(1.0, 2.0, 1.0 / 3.0));
        let links = run(WEB, &topic("content = 0\nsibling = 0\nurl = 0"));
        // The parent / is irrelevant: of the pages with an irrelevant parent, one of one is relevant, then
        // one of two.
        links.expect_lease_key("/poor/two", log(1.0, 1.0, 0.5));
        links.expect_lease_key("/good/three", log(1.0, 2.0, 1.0 / 3.0));
    }

    #[test]
    fn words_of_the_linking_page_by_hand() {
        let web = "
            == http://a/ seed
            alpha [x](/1) [y](/2)
            == /1
            sql beta [z](/3)
            == /2
            alpha gamma [v](/4)
            == /3
            == /4
            ";
        let crawl = run(web, &topic("link = 0\nsibling = 0\nurl = 0"));
        // After / (no) and /1 (yes): b = 1/2. Words of / : alpha, x, y — each 1 of 1.
        let first = log(1.0, 1.0, 0.5);
        crawl.expect_lease_key("/2", 3.0 * first);
        // /3 stands on /1 with sql, beta, z, unknown so far. After /2 (no): b = 1/3; alpha, x, y: 1 of 2.
        crawl.expect_score("/3", 0.0);
        // /4 stands on /2 with alpha, gamma, v.
        crawl.expect_score("/4", log(1.0, 2.0, 1.0 / 3.0));
        // With a significance of 2 one page of two is no reason: √(b(1−b)/2) = 1/3, and |1/2 − 1/3| < 2/3.
        let strict = run(web, &topic("link = 0\nsibling = 0\nurl = 0\nsignificance = 2"));
        strict.expect_score("/4", 0.0);
    }

    #[test]
    fn everything_relevant_says_nothing() {
        let web = "== http://a/\nsql [x](/1) [y](/2)\n== /1\nsql\n== /2\nsql\n";
        let crawl = run(web, &topic(""));
        crawl.expect_lease_key("/2", 0.0);
    }
}
