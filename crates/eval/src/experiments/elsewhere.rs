//! What trained judges learn from: pages of sites that the crawl does not visit. The sources train on other
//! collections than they crawl (Assis: other sites; Chakrabarti et al.: a directory's examples).

use super::lab::{Lab, Site};
use crate::labels::Class;
use crawl::collection::{TopicParts, TrainingMaterial};
use focus::judges::{self, TaxonomyPage};
use focus::model::{ModelFile, Part, Role};
use focus::topic::JudgeSection;
use learn::rng::Rng;
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use types::{Canon, Problem, Url};

/// With fewer relevant pages elsewhere nothing is trained.
const LEAST: usize = 10;

/// Chakrabarti et al.: at most so many examples of a class.
const MOST: usize = 300;

/// Pages of the topic that a crawl of Chakrabarti et al. begins at.
const STARTS: usize = 30;

/// The class of the wanted pages in the taxonomy of [`Elsewhere::critic`].
const WANTED: &str = "wanted";

/// Pages outside the crawl.
pub(super) struct Elsewhere {
    /// Of the topic.
    pub relevant: Vec<Url>,
    /// Not of it, with the first of their labels.
    pub others: Vec<(Url, String)>,
    /// Settings that keep the crawl away from them; empty when its links do not lead there.
    pub scope: String,
    /// The pages of the crawl, breadth-first.
    pub reached: Vec<Url>,
}

impl Elsewhere {
    /// Pages that the seeds do not reach. When too few of them are relevant, hosts without a seed are kept
    /// out of the crawl, every second one. `None` when that leaves too few relevant pages on either side.
    pub fn of(lab: &Lab, site: &Site) -> Result<Option<Elsewhere>, Problem> {
        let found = Elsewhere::outside(lab, site, "", false)?;
        if found.relevant.len() >= LEAST {
            return Ok(Some(found));
        }
        let of_seeds: HashSet<String> = site.seeds.iter().map(|u| u.host().to_string()).collect();
        let hosts: BTreeMap<u64, String> = found
            .reached
            .iter()
            .map(|u| u.host())
            .filter(|h| !of_seeds.contains(*h))
            .map(|h| (xxhash_rust::xxh3::xxh3_64(h.as_bytes()), h.to_string()))
            .collect();
        let away: Vec<toml::Value> = hosts.into_values().step_by(2).map(toml::Value::String).collect();
        if away.is_empty() {
            return Ok(None);
        }
        let scope = format!("[scope]\nhosts = {{ deny = {} }}\n", toml::Value::Array(away));
        let found = Elsewhere::outside(lab, site, &scope, false)?;
        let inside = found.reached.iter().filter(|u| site.class(u) == Class::Relevant).count();
        Ok((found.relevant.len() >= LEAST && inside >= LEAST).then_some(found))
    }

    /// Where crawls of Chakrabarti et al. begin: at examples of the topic (§3.5), here such as the crawl can
    /// reach from the entry pages. One list per draw.
    pub fn starts(&self, lab: &Lab, site: &Site) -> Vec<Vec<Url>> {
        let inside = self.reached.iter().filter(|u| site.class(u) == Class::Relevant);
        let mut relevant: Vec<Url> = inside.cloned().collect();
        relevant.sort();
        let draw = |rng: u64| {
            let mut list = relevant.clone();
            Rng(rng).shuffle(&mut list);
            // More would leave nothing to be found.
            list.truncate(STARTS.min(relevant.len().div_ceil(4)));
            list
        };
        lab.draws().into_iter().map(draw).collect()
    }

    /// Pages of other hosts than a crawl with these settings visits.
    pub fn on_other_hosts(lab: &Lab, site: &Site, settings: &str) -> Result<Elsewhere, Problem> {
        Elsewhere::outside(lab, site, settings, true)
    }

    fn outside(lab: &Lab, site: &Site, scope: &str, other_hosts: bool) -> Result<Elsewhere, Problem> {
        let reached = lab.reached(site, scope)?;
        let inside: HashSet<&Url> = reached.iter().collect();
        let visited: HashSet<&str> = reached.iter().map(|u| u.host()).filter(|_| other_hosts).collect();
        let (mut relevant, mut others) = (Vec::new(), Vec::new());
        let pages = (0..site.web.pages()).filter_map(|n| site.web.page(n));
        for url in pages.filter(|u| !inside.contains(u) && !visited.contains(u.host())) {
            match site.class(&url) {
                Class::Relevant => relevant.push(url),
                Class::Irrelevant => {
                    let label = site.labels.of(&url).split(',').next().unwrap_or("").trim();
                    let label = if label.is_empty() { "other" } else { label };
                    others.push((url.clone(), label.to_string()));
                }
                Class::Neutral => {}
            }
        }
        Ok(Elsewhere { relevant, others, scope: scope.to_string(), reached })
    }

    /// Settings with an SVM trained on 40 relevant and 200 other pages, as draw `rng` has them (Assis: 30 or
    /// more, and far more others). It is trained once. `None` with too few of either.
    pub fn svm(&self, lab: &Lab, site: &Site, rng: u64) -> Result<Option<String>, Problem> {
        let (yes, no) = self.examples(40, 200, rng);
        if yes.len() < 5 || no.len() < 5 {
            return Ok(None);
        }
        let file = lab.scratch.join(format!("svm-{}-{rng}.model", plain(&site.name)));
        if !file.exists() {
            (lab.progress)(&format!("{}: training an SVM", site.name));
            let mut config = site.config.clone();
            config.judge = JudgeSection { kind: Some("svm".into()), ..JudgeSection::default() };
            (config.examples.relevant, config.examples.irrelevant) = (yes, no);
            let topic = config.topic()?;
            let book = TrainingMaterial::read(&topic, &Canon::exact(), &|url| Ok(site.web.answer(url)))?;
            let judge = judges::build(&book.setup(&topic, rng))?;
            let Some(body) = judge.trained() else { return Ok(None) };
            keep_model(&file, Part::new(Role::Judge, "svm", String::new(), &topic.text.options, body))?;
        }
        let file = toml::Value::String(file.display().to_string());
        Ok(Some(format!("[judge]\nkind = 'svm'\nthreshold = 0.5\nmodel = {file}\n")))
    }

    /// So many examples of both kinds, as draw `rng` has it.
    pub fn examples(&self, yes: usize, no: usize, rng: u64) -> (Vec<String>, Vec<String>) {
        let mut relevant: Vec<String> = self.relevant.iter().map(Url::to_string).collect();
        let mut others: Vec<String> = self.others.iter().map(|o| o.0.to_string()).collect();
        Rng(rng).shuffle(&mut relevant);
        Rng(rng).shuffle(&mut others);
        relevant.truncate(yes);
        others.truncate(no);
        (relevant, others)
    }

    /// Settings with a naive Bayes judge over the taxonomy of these pages: the wanted ones are one class, the
    /// others a class per label, each of at most 300 examples. It is trained once. `None` when there is only
    /// one class.
    pub fn critic(&self, lab: &Lab, site: &Site) -> Result<Option<String>, Problem> {
        let file = lab.scratch.join(format!("critic-{}.model", plain(&site.name)));
        if !file.exists() && !self.train_critic(lab, site, &file)? {
            return Ok(None);
        }
        let file = toml::Value::String(file.display().to_string());
        Ok(Some(format!("{}[judge]\nkind = 'bayes'\nthreshold = 0.5\nmodel = {file}\n", self.scope)))
    }

    /// `false` when there is only one class.
    fn train_critic(&self, lab: &Lab, site: &Site, file: &Path) -> Result<bool, Problem> {
        (lab.progress)(&format!("{}: training a critic", site.name));
        let mut config = site.config.clone();
        config.judge = JudgeSection {
            kind: Some("bayes".into()),
            options: toml::toml! {
                focus = "wanted"
                least = 1
            },
            ..JudgeSection::default()
        };
        let topic = config.topic()?;
        let analyst = lab.analyst(site, &site.config)?;
        let wanted = self.relevant.iter().map(|u| (u, WANTED));
        let pages: Vec<(&Url, &str)> = wanted.chain(self.others.iter().map(|o| (&o.0, &*o.1))).collect();
        let kept = sampled(&pages);
        let taxonomy: Vec<TaxonomyPage> = lab
            .each(&kept, |(url, path)| {
                let (doc, _) = analyst.read(&site.web.answer(url))?;
                Some(TaxonomyPage { path: (*path).to_string(), doc: Arc::new(doc) })
            })
            .into_iter()
            .flatten()
            .collect();
        if taxonomy.iter().all(|p| p.path == WANTED) {
            return Ok(false);
        }
        let book = TrainingMaterial { examples: Vec::new(), taxonomy, idf: None };
        let judge = judges::build(&book.setup(&topic, 0))?;
        let Some(body) = judge.trained() else { return Ok(false) };
        let part = Part::new(Role::Judge, "bayes", String::new(), &topic.text.options, body);
        keep_model(file, part)?;
        Ok(true)
    }
}

/// At most [`MOST`] pages of each class, spread over it.
fn sampled<'a>(pages: &[(&'a Url, &'a str)]) -> Vec<(&'a Url, &'a str)> {
    let mut classes: BTreeMap<&str, Vec<&Url>> = BTreeMap::new();
    for (url, path) in pages {
        classes.entry(path).or_default().push(url);
    }
    let mut out = Vec::new();
    for (path, mut urls) in classes {
        Rng(0).shuffle(&mut urls);
        out.extend(urls.into_iter().take(MOST).map(|u| (u, path)));
    }
    out
}

fn keep_model(file: &Path, part: Part) -> Result<(), Problem> {
    std::fs::write(file, ModelFile { parts: vec![part] }.write()).map_err(|e| Problem::io("write", file, &e))
}

/// A name as a file can have it.
pub(super) fn plain(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' }).collect()
}

/// A strategy taught with a finished crawl, once, as the name of its model file; `None` when it learnt
/// nothing. `name` tells its file from others.
pub(super) fn taught(
    lab: &Lab,
    site: &Site,
    settings: &str,
    pages: &[crawl::train::TrainingPage],
    name: &str,
) -> Result<Option<String>, Problem> {
    let of: Vec<(&Url, f64, bool)> =
        pages.iter().map(|p| (&p.url, p.verdict.relevance, p.verdict.relevant)).collect();
    let what = xxhash_rust::xxh3::xxh3_64(format!("{settings} {of:?}").as_bytes());
    let file = lab.scratch.join(format!("{}-{}-{what:x}.model", plain(name), plain(&site.name)));
    let quoted = toml::Value::String(file.display().to_string()).to_string();
    if file.exists() {
        return Ok(Some(quoted));
    }
    let config = super::Variant::new(name, settings).config(site)?;
    let topic = config.topic()?;
    let mut made = TopicParts::new(&topic, &Canon::exact(), &|url| Ok(site.web.answer(url)), 0, 0)?;
    let analyst = made.analyst.clone();
    crawl::train::teach(made.strategy.as_mut(), pages, &mut |p| {
        Ok(analyst.read(&site.web.answer(&p.url)).map(|d| d.0))
    })?;
    let Some(body) = made.strategy.model().and_then(|m| m.export()) else { return Ok(None) };
    let part = Part::new(Role::Strategy, &topic.strategy.kind, String::new(), &topic.text.options, body);
    keep_model(&file, part)?;
    Ok(Some(quoted))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_are_capped_and_stay_apart() {
        let url = |n: usize| Canon::exact().parse(&format!("http://a.org/{n}")).unwrap();
        let urls: Vec<Url> = (0..400).map(url).collect();
        let pages: Vec<(&Url, &str)> =
            urls.iter().enumerate().map(|(n, u)| (u, if n < 390 { "a" } else { "b" })).collect();
        let kept = sampled(&pages);
        let of = |path: &str| kept.iter().filter(|p| p.1 == path).count();
        assert_eq!((of("a"), of("b"), kept.len()), (300, 10, 310));
        // Not the first ones only.
        assert!(kept.iter().any(|p| p.0.path() == "/389") || kept.iter().any(|p| p.0.path() == "/380"));
        assert_eq!(plain("a b/c-1"), "a_b_c-1");
    }
}
