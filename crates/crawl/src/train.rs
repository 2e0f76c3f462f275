//! Trains a strategy on a finished crawl: shows it the pages in the order in which they were fetched
//! (Chakrabarti's offline training, Batsakis's recorded visits). What the strategy learns is its model.
//!
//! The pages come from a collection's archive, a recorded web or files.

use focus::strategies::{Lesson, Strategy, Training, Visit};
use focus::text::Doc;
use std::collections::{HashMap, HashSet};
use types::{Assessment, LinkKind, Priority, Problem, Source, Target, Url, UrlId, Verdict};

/// Sightings of one URL that are kept.
const MOST_SOURCES: usize = 32;

/// A page of a finished crawl. What comes after is numbered higher.
#[derive(Clone, Debug)]
pub struct TrainingPage {
    /// Canonical address.
    pub url: Url,
    /// How the parent refers to it.
    pub kind: LinkKind,
    /// Index of the page it was found on; it comes earlier.
    pub parent: Option<usize>,
    /// Links from the seed.
    pub depth: u16,
    /// What the judge measured.
    pub assessment: Assessment,
    /// What the judge decided.
    pub verdict: Verdict,
    /// A duplicate or an error page.
    pub worthless: bool,
}

/// What came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TrainingCounts {
    /// Pages learnt from.
    pub pages: usize,
    /// Of those, how many are relevant.
    pub relevant: usize,
    /// Pages whose text could not be had again.
    pub missing: usize,
    /// Links from one page of the crawl to another.
    pub links: usize,
}

/// Shows the pages to the strategy. `read` brings a page's text; what it cannot bring is left out.
pub fn teach(
    strategy: &mut dyn Strategy,
    crawl: &[TrainingPage],
    read: &mut dyn FnMut(&TrainingPage) -> Result<Option<Doc>, Problem>,
) -> Result<TrainingCounts, Problem> {
    let lessons: Vec<Lesson> =
        crawl.iter().map(|p| Lesson { url: p.url.clone(), verdict: p.verdict }).collect();
    let at: HashMap<&Url, usize> = crawl.iter().enumerate().map(|(i, p)| (&p.url, i)).collect();
    let training = strategy.model().map_or(Training::Replay, |m| m.begin_training(&lessons));
    let mut taught = TrainingCounts::default();
    let mut sightings: HashMap<usize, Vec<Source>> = HashMap::new();
    // Links that lead out of the record.
    let mut beyond: HashSet<Url> = HashSet::new();
    if training == Training::Replay {
        for (i, page) in crawl.iter().enumerate().filter(|(_, p)| p.kind == LinkKind::Seed) {
            let seed = strategy.seed(&page.url);
            sightings.entry(i).or_default().push(Source {
                parent: None,
                kind: LinkKind::Seed,
                priority: seed.priority,
                evidence: seed.evidence,
                anchor: "".into(),
            });
        }
    }
    for (i, page) in crawl.iter().enumerate() {
        let Some(doc) = read(page)? else {
            taught.missing += 1;
            continue;
        };
        taught.pages += 1;
        taught.relevant += usize::from(page.verdict.relevant);
        let sources = sightings.remove(&i).unwrap_or_default();
        let best = sources.iter().rev().max_by_key(|s| s.priority);
        let (priority, evidence) =
            best.map_or((Priority::key_only(0.0), Vec::new()), |s| (s.priority, s.evidence.clone()));
        // Known then: fetched before, or named by a page before.
        let targets: Vec<Target> = doc
            .page
            .links
            .iter()
            .map(|l| match at.get(&l.url) {
                Some(&target) if target <= i => Target::Closed,
                Some(target) if sightings.contains_key(target) => Target::Open,
                None if beyond.contains(&l.url) => Target::Open,
                _ => Target::New,
            })
            .collect();
        let visit = Visit {
            id: number(i),
            url: &page.url,
            kind: page.kind,
            doc: &doc,
            assessment: &page.assessment,
            verdict: page.verdict,
            parent: page.parent.map(number),
            depth: page.depth,
            site_depth: page.depth,
            priority,
            evidence: &evidence,
            sources: &sources,
            targets: &targets,
            n: taught.pages as u64,
            worthless: page.worthless,
        };
        if training == Training::Replay {
            strategy.learn(&visit);
        }
        let scores = strategy.score(&visit);
        beyond.extend(doc.page.links.iter().filter(|l| !at.contains_key(&l.url)).map(|l| l.url.clone()));
        for (link, scored) in doc.page.links.iter().zip(scores) {
            let (Some(scored), Some(&target)) = (scored, at.get(&link.url)) else { continue };
            if target == i {
                continue;
            }
            taught.links += 1;
            if training == Training::Links {
                if let (Some(model), Some(lesson)) = (strategy.model(), lessons.get(target)) {
                    model.train_on_link(&scored.evidence, lesson);
                }
            } else if target > i {
                let list = sightings.entry(target).or_default();
                if list.len() < MOST_SOURCES {
                    list.push(Source {
                        parent: Some(number(i)),
                        kind: link.kind,
                        priority: scored.priority,
                        evidence: scored.evidence,
                        anchor: "".into(),
                    });
                }
            }
        }
    }
    Ok(taught)
}

fn number(i: usize) -> UrlId {
    UrlId(u32::try_from(i).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{self, Options};
    use focus::judges::{Example, ExampleKind};
    use focus::strategies::{StrategySetup, build};
    use focus::topic::Topic;
    use madeup::WebString as Web;
    use std::sync::Arc;

    const WEB: &str = "
        == http://a/
        good [one](/g1)
        bad [two](/b1)
        gap
        gap
        gap
        gap
        gap
        good [three](/g2)
        bad [four](/b2)
        == /g1
        sql
        == /b1
        soup
        == /g2
        sql good [home](/)
        == /b2
        soup
        ";

    fn seen(web: &Web, paths: &[(&str, bool)]) -> Vec<TrainingPage> {
        let one = |(i, (path, relevant)): (usize, &(&str, bool))| TrainingPage {
            url: web.page(path).url.clone().unwrap(),
            kind: if i == 0 { LinkKind::Seed } else { LinkKind::Anchor },
            parent: (i > 0).then_some(0),
            depth: u16::from(i > 0),
            assessment: Assessment::default(),
            verdict: Verdict {
                relevant: *relevant,
                relevance: f64::from(u8::from(*relevant)),
                ..Verdict::default()
            },
            worthless: false,
        };
        paths.iter().enumerate().map(one).collect()
    }

    fn topic(kind: &str) -> Topic {
        Topic::from_toml(&format!("query = 'sql'\n[strategy]\nkind = '{kind}'")).unwrap()
    }

    /// What it learnt, asked of a link on a page of another site.
    fn order_elsewhere(kind: &str, exported: &[u8]) -> String {
        let topic = topic(kind);
        let web = Web::new("== http://z/\nbad [x](/b9)\ngood [y](/g9)\n== /b9\n== /g9\n");
        let make = || {
            let mut s = build(&StrategySetup::new(&topic)).unwrap();
            s.model().unwrap().import(exported).unwrap();
            s
        };
        testkit::crawl(web, &topic, &make, &Options::default()).order()
    }

    #[test]
    fn pairs_whichever_came_first() {
        let web = Web::new(WEB);
        let crawl = seen(&web, &[("/", false), ("/g1", true), ("/b1", false), ("/g2", true), ("/b2", false)]);
        let topic = topic("apprentice");
        let mut s = build(&StrategySetup::new(&topic)).unwrap();
        let mut read = |p: &TrainingPage| Ok(Some(Doc::new(web.page(p.url.path()), &topic.text.options)));
        let taught = teach(s.as_mut(), &crawl, &mut read).unwrap();
        // Four links of / and the one back from /g2.
        assert_eq!(taught, TrainingCounts { pages: 5, relevant: 2, missing: 0, links: 5 });
        let model = s.model().unwrap().export().unwrap();
        assert_eq!(order_elsewhere("apprentice", &model), "/ /g9 /b9");
        // Without being taught it goes by the page they stand on: both alike.
        let none = build(&StrategySetup::new(&topic)).unwrap().model().unwrap().export().unwrap();
        assert_eq!(order_elsewhere("apprentice", &none), "/ /b9 /g9");
    }

    #[test]
    fn pages_that_are_gone_are_counted() {
        let web = Web::new(WEB);
        let crawl = seen(&web, &[("/", false), ("/g1", true), ("/b1", false)]);
        let topic = topic("intelligent");
        let mut s = build(&StrategySetup::new(&topic)).unwrap();
        let mut read = |p: &TrainingPage| {
            Ok((p.url.path() != "/g1").then(|| Doc::new(web.page(p.url.path()), &topic.text.options)))
        };
        let taught = teach(s.as_mut(), &crawl, &mut read).unwrap();
        assert_eq!((taught.pages, taught.missing, taught.relevant), (2, 1, 0));
    }

    #[test]
    fn every_strategy_can_be_taught_and_taken_elsewhere() {
        let web = Web::new(WEB);
        let crawl = seen(&web, &[("/", false), ("/g1", true), ("/b1", false), ("/g2", true), ("/b2", false)]);
        for entry in focus::strategies::ALL {
            let topic = topic(entry.name);
            let net = madeup::small_wordnet();
            let setup = StrategySetup { wordnet: Some(&net), ..StrategySetup::new(&topic) };
            let mut s = build(&setup).unwrap();
            let mut read = |p: &TrainingPage| Ok(Some(Doc::new(web.page(p.url.path()), &topic.text.options)));
            teach(s.as_mut(), &crawl, &mut read).unwrap();
            if let Some(model) = s.model().and_then(|m| m.export()) {
                let mut other = build(&setup).unwrap();
                let other = other.model().unwrap();
                other.import(&model).unwrap_or_else(|p| panic!("{}: {p}", entry.name));
                assert_eq!(other.export(), Some(model), "{}", entry.name);
            }
        }
    }

    #[test]
    fn an_apprentice_learns_from_linked_examples_and_stays_as_it_is() {
        let shown = Web::new(
            "== http://a/\ngood [one](/g1)\nbad [two](/b1)\n[more](/list)\n== /g1\nsql\n== /b1\nsoup\n",
        );
        let topic = Topic::from_toml(
            "query = 'sql'\n[judge]\nthreshold = 0.5\n[strategy]\nkind = 'apprentice'\nmode = 'offline'",
        )
        .unwrap();
        let example = |(path, good): &(&str, bool)| Example {
            doc: Arc::new(Doc::new(shown.page(path), &topic.text.options)),
            kind: if *good { ExampleKind::Relevant } else { ExampleKind::Irrelevant },
        };
        let examples: Vec<Example> =
            [("/", false), ("/g1", true), ("/b1", false)].iter().map(example).collect();
        // Another site with the same habits; nothing of it is learnt.
        let order = |examples: &[Example]| {
            let web = Web::new("== http://z/\nbad [x](/b9)\ngood [y](/g9)\n== /b9\nsql\n== /g9\n");
            let make = || build(&StrategySetup { examples, ..StrategySetup::new(&topic) }).unwrap();
            testkit::crawl(web, &topic, &make, &Options::default()).order()
        };
        assert_eq!(order(&examples), "/ /g9 /b9");
        // Without examples there is nothing to go by but the critic.
        assert_eq!(order(&[]), "/ /b9 /g9");
    }
}
