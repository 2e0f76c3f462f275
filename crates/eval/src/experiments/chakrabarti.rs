//! Findings of Chakrabarti et al. 2002 about features: what the words around a link, and where they stand,
//! tell of the page behind it. Links and relevances are those of a baseline crawl with a naive Bayes critic.

use super::chakrabarti_crawls::Bench;
use super::crawled::Run;
use super::lab::{Lab, Site, Variant};
use super::{Claim, Experiment, Finding, Row, Table, alike, best_of, better, interval, mean};
use crate::tournament::Line;
use crawl::collection::TopicParts;
use crawl::train::TrainingPage;
use focus::strategies::{Lesson, Strategy, Visit};
use focus::text::Doc;
use std::collections::{BTreeMap, HashMap, HashSet};
use types::{Assessment, Canon, LinkKind, Priority, Problem, Source, Url, UrlId, Verdict};

pub(super) const OFFSETS: Experiment = Experiment {
    name: "offsets",
    claim: "offset features beat the same words without offsets; accuracy levels off at d_max 4 to 6, because negatives are rejected better; topic and cocitation features hardly matter",
    source: "Chakrabarti et al. 2002, Fig. 5–8, §3.8",
    turn: 2,
    run: offsets,
};

const WINDOWS: [u32; 6] = [0, 2, 4, 5, 6, 8];

/// The pages of a crawl in the order they were fetched, with what its judge says of them.
pub(super) fn recorded(order: &[Line]) -> Vec<TrainingPage> {
    let canon = Canon::exact();
    let one = |l: &Line| {
        let url = canon.parse(&l.url).ok()?;
        let verdict = Verdict { relevant: l.judged, relevance: l.score, ..Verdict::default() };
        Some(TrainingPage {
            url,
            kind: LinkKind::Anchor,
            parent: None,
            depth: 0,
            assessment: Assessment { score: l.score, ..Assessment::default() },
            verdict,
            worthless: false,
        })
    };
    order.iter().filter_map(one).collect()
}

/// A crawl with its pages read.
struct Crawled<'a> {
    site: &'a Site,
    pages: Vec<TrainingPage>,
    docs: Vec<Option<Doc>>,
    /// Pages of these are not trained on: every third page, or every second host.
    held_out: [Vec<bool>; 2],
}

/// How right the apprentice is on links of pages it was not trained on.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Accuracy {
    right: [usize; 2],
    all: [usize; 2],
}

impl Accuracy {
    fn class(&self, high: bool) -> Option<f64> {
        let n = usize::from(high);
        (self.all[n] > 0).then(|| self.right[n] as f64 / self.all[n] as f64)
    }
    /// Of "always the larger class".
    fn majority(&self) -> Option<f64> {
        let all = self.all[0] + self.all[1];
        (all > 0).then(|| self.all[0].max(self.all[1]) as f64 / all as f64)
    }
    /// Over all links, whichever their class: the "average" of Fig. 6.
    fn micro(&self) -> Option<f64> {
        let all = self.all[0] + self.all[1];
        (all > 0).then(|| (self.right[0] + self.right[1]) as f64 / all as f64)
    }
}

/// One way to train: options of the strategy, and what is held out.
#[derive(Clone)]
struct Way {
    name: String,
    options: String,
    by_host: bool,
}

fn offsets(lab: &Lab) -> Result<Finding, Problem> {
    let lab = &lab.broad();
    let way = |name: String, options: String, by_host: bool| Way { name, options, by_host };
    let mut ways: Vec<Way> = Vec::new();
    for on in [true, false] {
        for d in WINDOWS {
            let name = format!("d_max = {d}{}", if on { "" } else { ", no offsets" });
            ways.push(way(name, format!("d_max = {d}\noffsets = {on}"), false));
        }
    }
    let extra = ways.len();
    ways.push(way("d_max = 5, topic features".into(), "topic = true".into(), false));
    ways.push(way("d_max = 5, cocitation".into(), "cocitation = true".into(), false));
    ways.push(way("trained on other hosts".into(), String::new(), true));
    ways.push(way("on other hosts, no offsets".into(), "offsets = false".into(), true));
    let mut rows: [Vec<Row>; 3] = std::array::from_fn(|_| vec![Vec::new(); ways.len()]);
    let distances: Vec<i64> = (-FAR..=FAR).collect();
    let mut gains: Vec<Row> = vec![Vec::new(); distances.len()];
    let mut relevances: Vec<Row> = vec![Vec::new(); 10];
    let mut majority: Row = Vec::new();
    for site in &lab.sites {
        let draws = Links::of_each_draw(lab, site, &ways)?;
        let over_draws = |value: &dyn Fn(&Links) -> Option<f64>| {
            let known: Vec<f64> = draws.iter().filter_map(value).collect();
            (!known.is_empty()).then(|| crate::stats::mean(&known))
        };
        let [micro, negative, positive] = &mut rows;
        for (n, ((micro, negative), positive)) in micro.iter_mut().zip(negative).zip(positive).enumerate() {
            micro.push(over_draws(&|l| l.accuracy[n].micro()));
            negative.push(over_draws(&|l| l.accuracy[n].class(false)));
            positive.push(over_draws(&|l| l.accuracy[n].class(true)));
        }
        majority.push(over_draws(&|l| l.accuracy[0].majority()));
        for (row, d) in gains.iter_mut().zip(&distances) {
            row.push(over_draws(&|l| l.gain.get(d).copied()));
        }
        for (n, row) in relevances.iter_mut().enumerate() {
            row.push(over_draws(&|l| Some(l.relevances[n])));
        }
    }
    let names: Vec<&str> = ways.iter().map(|w| w.name.as_str()).collect();
    let [micro, negative, positive] = &rows;
    let with = &micro[..WINDOWS.len()];
    let window = |d: u32| WINDOWS.iter().position(|w| *w == d).unwrap_or(0);
    let five = window(5);
    let without = WINDOWS.len() + five;
    let near: Row = over(&gains, |d| d.abs() <= 2);
    let far: Row = over(&gains, |d| d.abs() > 5);
    let claims = vec![
        better((names[five], &with[five]), (names[without], &micro[without]))
            .what("offset features beat the same words without offsets (d_max = 5)")
            .figure("84 against 78 % (one topic)"),
        better((names[five], &with[five]), (names[0], &with[0]))
            .what("a window of 5 is better than the link's own words")
            .figure("up to 10 points")
            .why("Perhaps anchors of 1997 name what is behind them more often."),
        alike((names[window(8)], &with[window(8)]), (names[five], &with[five]), 0.01)
            .what("beyond 5 there is no more to gain (within a point)")
            .figure("levels off or falls beyond 5–7"),
        best_of("the best d_max is 4 to 6", &names[..WINDOWS.len()], with, best_between(with, 4, 6))
            .figure("4 or 5 chosen")
            .why("Perhaps because few sites, each with one style, are learnt from."),
        better((names[five], &negative[five]), (names[0], &negative[0]))
            .what("the gain is on negatives")
            .figure("the whole gain; positives lose a little"),
        better(("near", &near), ("far", &far))
            .what("terms within two leaves carry more information than terms six and more away")
            .figure("lower, in a sawtooth, and flat from 5 on"),
        alike((names[extra], &micro[extra]), (names[five], &with[five]), 0.02)
            .what("topic features change little (within 2 points)")
            .figure("+1 to +2 points"),
        alike((names[extra + 1], &micro[extra + 1]), (names[five], &with[five]), 0.01)
            .what("cocitation features change nothing (within a point)")
            .figure("not to any appreciable extent"),
        better((names[extra + 2], &micro[extra + 2]), ("always the larger class", &majority))
            .what("what is learnt holds on sites it was not learnt on")
            .figure("\"generalizable learning\", not measured apart")
            .why("Trained on the pages of every second host, tested on the others; against always saying the larger class."),
        better((names[extra + 2], &micro[extra + 2]), (names[extra + 3], &micro[extra + 3]))
            .what("offsets help on other sites, too")
            .figure("not measured apart"),
        bimodal(&relevances),
    ];
    let tables = vec![
        Table::of(lab, "Links of held-out pages predicted right (micro-average).", &names, micro),
        Table::of(lab, "Of those that lead to low pages.", &names, negative),
        Table::of(lab, "Of those that lead to high pages.", &names, positive),
        Table::of(lab, "Always the larger class.", &["right"], std::slice::from_ref(&majority)),
        Table::of(
            lab,
            "Mean information gain (thousandths of a bit) of terms at each offset.",
            &distances.iter().map(|d| format!("d = {d}")).collect::<Vec<_>>(),
            &gains,
        ),
        Table::of(
            lab,
            "Pages of the baseline crawl by relevance.",
            &(0..10).map(|n| format!("0.{n} to {:.1}", (n + 1) as f64 / 10.0)).collect::<Vec<_>>(),
            &relevances,
        ),
    ];
    Ok(Finding::of(
        claims,
        tables,
        "As Chakrabarti et al.: the critic is naive Bayes over a taxonomy (a class per label), trained on pages that the crawl does not reach; topics of which any order loses more than half are left out, as in `apprentice`; the apprentice learns from the links of a baseline crawl driven by it (20 % of the web, from examples of the topic, one per draw of them), split at the median; accuracy is that on links of pages it was not trained on (every third page).",
    ))
}

fn best_between(rows: &[Row], from: u32, to: u32) -> usize {
    let inside = (0..WINDOWS.len()).filter(|n| (from..=to).contains(&WINDOWS[*n]));
    inside.max_by(|a, b| mean(&rows[*a]).total_cmp(&mean(&rows[*b]))).unwrap_or(0)
}

/// The mean of the rows of some distances, topic by topic.
fn over(gains: &[Row], of: impl Fn(i64) -> bool) -> Row {
    let sites = gains.first().map_or(0, Vec::len);
    let which: Vec<&Row> = gains.iter().zip(-FAR..=FAR).filter(|(_, d)| of(*d)).map(|(r, _)| r).collect();
    (0..sites)
        .map(|s| {
            let values: Vec<f64> = which.iter().filter_map(|r| r[s]).collect();
            (!values.is_empty()).then(|| crate::stats::mean(&values))
        })
        .collect()
}

/// Most pages are below 0.1 or above 0.9.
fn bimodal(relevances: &[Row]) -> Claim {
    let sites = relevances.first().map_or(0, Vec::len);
    let ends: Row = (0..sites)
        .map(|s| Some(relevances.first()?.get(s).copied()?? + relevances.last()?.get(s).copied()??))
        .collect();
    let i = interval(&ends);
    let ours = match i.n {
        0 => super::NO_VALUE.into(),
        _ => format!("{:.0} % below 0.1 or above 0.9", 100.0 * i.mean),
    };
    Claim {
        ours,
        ..super::at_least("the critic's relevances are near 0 or 1 (nine of ten pages)", &ends, 0.9)
    }
    .figure("\"strongly bimodal\"")
}

/// What the links of one baseline crawl say.
struct Links {
    /// Of each way to train.
    accuracy: Vec<Accuracy>,
    /// See [`Crawled::gain_by_distance`].
    gain: BTreeMap<i64, f64>,
    /// Shares of the pages by tenths of relevance.
    relevances: [f64; 10],
}

impl Links {
    /// One per draw of the seeds; none without a critic.
    fn of_each_draw(lab: &Lab, site: &Site, ways: &[Way]) -> Result<Vec<Links>, Problem> {
        let Some(bench) = Bench::of(lab, site)? else { return Ok(Vec::new()) };
        let mut out = Vec::new();
        for run in bench.baselines(lab)? {
            let crawled = Crawled::of(lab, site, &bench.critic, &run)?;
            if crawled.pages.is_empty() {
                continue;
            }
            (lab.progress)(&format!("{}: training {} apprentices", site.name, ways.len()));
            let accuracy = lab.each(ways, |way| crawled.accuracy(way));
            out.push(Links {
                accuracy: accuracy.into_iter().collect::<Result<_, Problem>>()?,
                gain: crawled.gain_by_distance(),
                relevances: crawled.relevances(),
            });
        }
        Ok(out)
    }
}

impl<'a> Crawled<'a> {
    fn of(lab: &Lab, site: &'a Site, critic: &str, run: &Run) -> Result<Crawled<'a>, Problem> {
        let mut pages = recorded(&run.order);
        let urls: Vec<Url> = pages.iter().map(|p| p.url.clone()).collect();
        // The names of the critic's classes are the topic features.
        let assessed = lab.assess(site, &Variant::new("critic", critic), &urls, 0)?;
        for (page, a) in pages.iter_mut().zip(assessed) {
            page.assessment = a.unwrap_or_default();
        }
        let analyst = lab.analyst(site, &site.config)?;
        let docs = lab.each(&urls, |u| analyst.read(&site.web.answer(u)).map(|d| d.0));
        let mut hosts: Vec<&str> =
            urls.iter().map(|u| u.host()).collect::<HashSet<_>>().into_iter().collect();
        hosts.sort_by_key(|h| xxhash_rust::xxh3::xxh3_64(h.as_bytes()));
        let second: HashSet<&str> = hosts.into_iter().skip(1).step_by(2).collect();
        let by_host = urls.iter().map(|u| second.contains(u.host())).collect();
        let by_page = (0..urls.len()).map(|i| i % 3 == 2).collect();
        Ok(Crawled { site, pages, docs, held_out: [by_page, by_host] })
    }

    fn relevances(&self) -> [f64; 10] {
        let mut out = [0.0; 10];
        for page in &self.pages {
            out[((page.verdict.relevance * 10.0) as usize).min(9)] += 1.0 / self.pages.len() as f64;
        }
        out
    }

    /// The step (of 256, as the apprentice counts) in the middle of all relevances: above it is high.
    fn median(&self) -> usize {
        let mut all: Vec<usize> = self.pages.iter().map(|p| step(p.verdict.relevance)).collect();
        all.sort_unstable();
        all.get(all.len().saturating_sub(1) / 2).copied().unwrap_or(0)
    }

    /// Every link from one page to another: (page, link, target).
    fn links(&self) -> Vec<(usize, usize, usize)> {
        let at: HashMap<&Url, usize> = self.pages.iter().enumerate().map(|(i, p)| (&p.url, i)).collect();
        let mut out = Vec::new();
        for (i, doc) in self.docs.iter().enumerate() {
            let Some(doc) = doc else { continue };
            for (l, link) in doc.page.links.iter().enumerate() {
                if let Some(&target) = at.get(&link.url).filter(|t| **t != i) {
                    out.push((i, l, target));
                }
            }
        }
        out
    }

    fn accuracy(&self, way: &Way) -> Result<Accuracy, Problem> {
        let settings =
            format!("[strategy]\nkind = 'apprentice'\nmode = 'offline'\nsplit = 'median'\n{}", way.options);
        let topic = Variant::new(&way.name, &settings).config(self.site)?.topic()?;
        let mut made = TopicParts::new(&topic, &Canon::exact(), &|url| Ok(self.site.web.answer(url)), 0, 0)?;
        let strategy = made.strategy.as_mut();
        let held_out = &self.held_out[usize::from(way.by_host)];
        let lessons: Vec<Lesson> =
            self.pages.iter().map(|p| Lesson { url: p.url.clone(), verdict: p.verdict }).collect();
        // What was judged is known of pages that are trained on only.
        let known: Vec<Lesson> =
            lessons.iter().zip(held_out).filter(|(_, out)| !**out).map(|(l, _)| l.clone()).collect();
        strategy.model().map(|m| m.begin_training(&known));
        let median = self.median();
        let links = self.links();
        let mut accuracy = Accuracy::default();
        for testing in [false, true] {
            let mut scored: (usize, Vec<_>) = (usize::MAX, Vec::new());
            for &(i, l, target) in links.iter().filter(|(i, _, _)| held_out[*i] == testing) {
                if scored.0 != i {
                    let Some(doc) = &self.docs[i] else { continue };
                    scored = (i, strategy.score(&shown(i, &self.pages[i], doc)));
                }
                let Some(one) = scored.1.get(l).cloned().flatten() else { continue };
                if !testing {
                    strategy
                        .model()
                        .into_iter()
                        .for_each(|m| m.train_on_link(&one.evidence, &lessons[target]));
                    continue;
                }
                let high = step(self.pages[target].verdict.relevance) > median;
                let Some(said) = odds(strategy, one.evidence) else { continue };
                accuracy.all[usize::from(high)] += 1;
                accuracy.right[usize::from(high)] += usize::from((said > 0.0) == high);
            }
        }
        Ok(accuracy)
    }

    /// Mean mutual information of ⟨word, offset⟩ with high or low, by offset; in thousandths of a bit.
    fn gain_by_distance(&self) -> BTreeMap<i64, f64> {
        let median = self.median();
        let mut with: HashMap<(u64, i64), [f64; 2]> = HashMap::new();
        let mut all = [0.0; 2];
        for (i, l, target) in self.links() {
            let Some(doc) = &self.docs[i] else { continue };
            let Some(link) = doc.page.links.get(l) else { continue };
            let high = usize::from(step(self.pages[target].verdict.relevance) > median);
            all[high] += 1.0;
            for pair in around(doc, link) {
                with.entry(pair).or_default()[high] += 1.0;
            }
        }
        let mut sums: BTreeMap<i64, (f64, f64)> = BTreeMap::new();
        // A sum must not depend on the order of a hash map.
        let mut sorted: Vec<_> = with.into_iter().collect();
        sorted.sort_by_key(|(pair, _)| *pair);
        for ((_, d), counts) in sorted.iter().filter(|(_, c)| c[0] + c[1] >= 2.0) {
            let sum = sums.entry(*d).or_default();
            sum.0 += information(*counts, all);
            sum.1 += 1.0;
        }
        sums.into_iter().map(|(d, (sum, n))| (d, 1000.0 * sum / n)).collect()
    }
}

/// Offsets that are looked at for the information gain.
const FAR: i64 = 8;

fn step(relevance: f64) -> usize {
    (relevance.clamp(0.0, 1.0) * 256.0) as usize
}

/// The different ⟨word, offset⟩ pairs around a link.
fn around(doc: &Doc, link: &types::Link) -> HashSet<(u64, i64)> {
    let (first, last) = (i64::from(link.first_leaf), i64::from(link.last_leaf.max(link.first_leaf)));
    let leaves = doc.leaves();
    let (low, high) =
        (u32::try_from(first - FAR).unwrap_or(0), u32::try_from(last + FAR).unwrap_or(u32::MAX));
    let (from, to) = (leaves.partition_point(|l| *l < low), leaves.partition_point(|l| *l <= high));
    let body = doc.body();
    (from..to)
        .filter_map(|n| {
            let (leaf, token) = (i64::from(*leaves.get(n)?), body.get(n).filter(|t| !t.is_stop())?);
            let d = if leaf < first { leaf - first } else { (leaf - last).max(0) };
            Some((token.hash, d))
        })
        .collect()
}

/// Mutual information in bits between "the feature is there" and the class: `with` of each class that has it,
/// of `all`.
fn information(with: [f64; 2], all: [f64; 2]) -> f64 {
    let n = all[0] + all[1];
    let has = with[0] + with[1];
    let term = |joint: f64, margin: f64, class: f64| {
        if joint <= 0.0 { 0.0 } else { joint / n * libm::log2(joint * n / (margin * class)) }
    };
    let mut sum = 0.0;
    for c in 0..2 {
        sum += term(with[c], has, all[c]) + term(all[c] - with[c], n - has, all[c]);
    }
    sum.max(0.0)
}

/// The apprentice's log-odds that a link leads to a high page.
pub(super) fn odds(strategy: &mut dyn Strategy, evidence: Vec<u8>) -> Option<f64> {
    let source = Source {
        parent: Some(UrlId(0)),
        kind: LinkKind::Anchor,
        priority: Priority::key_only(0.0),
        evidence,
        anchor: "".into(),
    };
    strategy.rescore(&[source]).map(|p| p.key())
}

pub(super) fn shown<'a>(i: usize, page: &'a TrainingPage, doc: &'a Doc) -> Visit<'a> {
    Visit {
        id: UrlId(i as u32),
        url: &page.url,
        kind: page.kind,
        doc,
        assessment: &page.assessment,
        verdict: page.verdict,
        parent: None,
        depth: 0,
        site_depth: 0,
        priority: Priority::key_only(0.0),
        evidence: &[],
        sources: &[],
        targets: &[],
        n: i as u64 + 1,
        worthless: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accuracy_by_hand() {
        // 90 low links, 81 right; 10 high ones, 5 right.
        let a = Accuracy { right: [81, 5], all: [90, 10] };
        assert_eq!((a.class(false), a.class(true), a.micro()), (Some(0.9), Some(0.5), Some(0.86)));
        assert_eq!(Accuracy::default().micro(), None);
    }

    #[test]
    fn information_by_hand() {
        // A feature that half of the links have, exactly the high ones: one bit. One that says nothing: none.
        assert!((information([0.0, 50.0], [50.0, 50.0]) - 1.0).abs() < 1e-12);
        assert!(information([25.0, 25.0], [50.0, 50.0]).abs() < 1e-12);
        // Joint 10, 40 / 40, 10 of 100: 1 − H(0.2) = 1 − 0.7219 bits.
        assert!((information([10.0, 40.0], [50.0, 50.0]) - 0.278_071_9).abs() < 1e-6);
    }

    #[test]
    fn pairs_around_a_link() {
        let web = madeup::WebString::new("== http://a/\nstone\n\nriver [inside](/x)\ncloud\n== /x\n");
        let doc = Doc::new(web.page("/"), &focus::text::TextOptions::default());
        let link = doc.page.links.first().unwrap();
        let pairs = around(&doc, link);
        let at = |word: &str| {
            let hash = focus::text::TextOptions::default().tokens(word).first().unwrap().hash;
            pairs.iter().find(|p| p.0 == hash).map(|p| p.1)
        };
        assert_eq!(at("inside"), Some(0));
        assert!(at("river").is_some_and(|d| d < 0) && at("cloud").is_some_and(|d| d > 0), "{pairs:?}");
    }
}
