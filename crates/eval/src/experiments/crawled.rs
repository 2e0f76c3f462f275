//! Crawls of experiments, kept in a folder: experiments share them, and a run that was killed goes on after
//! the last crawl that had ended. A crawl is known by everything it depends on: web, labels, seeds, settings,
//! models.

use super::lab::{Lab, Site, Variant};
use crate::labels::Class;
use crate::tournament::{self, Line};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};
use types::{Canon, Problem, Url};
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// What experiments look at of a crawl.
pub struct Run {
    /// Pages that count, in fetch order.
    pub order: Vec<Line>,
    /// When the last page arrived, on the virtual clock.
    pub virtual_ms: u64,
    /// Pages that the seeds reach.
    pub reachable: usize,
    /// Of those, how many are relevant; seeds never count.
    pub relevant_reachable: usize,
    /// Area under the recall curve.
    pub auc: Option<f64>,
}

impl From<tournament::Run> for Run {
    fn from(run: tournament::Run) -> Run {
        let tournament::Run { order, virtual_ms, result, .. } = run;
        let results = (result.reachable, result.relevant_reachable, result.auc);
        Run { order, virtual_ms, reachable: results.0, relevant_reachable: results.1, auc: results.2 }
    }
}

impl Run {
    /// A line of numbers, then a line per page. Floats are written so that they are read back bit by bit.
    fn write(&self) -> String {
        let auc = self.auc.map_or(String::new(), |a| a.to_string());
        let Run { virtual_ms, reachable, relevant_reachable, .. } = self;
        let mut out = format!("{virtual_ms}\t{reachable}\t{relevant_reachable}\t{auc}\n");
        for l in &self.order {
            let class = match l.class {
                Class::Relevant => '+',
                Class::Irrelevant => '-',
                Class::Neutral => '.',
            };
            let _ = writeln!(out, "{}\t{class}\t{}\t{}", l.score, u8::from(l.judged), l.url);
        }
        out
    }

    /// `None` for what is no such text. Labels are looked up again.
    fn read(text: &str, site: &Site) -> Option<Run> {
        let mut lines = text.lines();
        let head: Vec<&str> = lines.next()?.split('\t').collect();
        let [virtual_ms, reachable, relevant, auc] = head[..] else { return None };
        let line = |line: &str| {
            let mut parts = line.splitn(4, '\t');
            let score = parts.next()?.parse().ok()?;
            let class = match parts.next()? {
                "+" => Class::Relevant,
                "-" => Class::Irrelevant,
                "." => Class::Neutral,
                _ => return None,
            };
            let (judged, url) = (parts.next()? == "1", parts.next()?.to_string());
            let labels = Canon::exact().parse(&url).map_or("", |u| site.labels.of(&u)).to_string();
            Some(Line { url, score, labels, class, judged })
        };
        Some(Run {
            order: lines.map(line).collect::<Option<Vec<Line>>>()?,
            virtual_ms: virtual_ms.parse().ok()?,
            reachable: reachable.parse().ok()?,
            relevant_reachable: relevant.parse().ok()?,
            auc: if auc.is_empty() { None } else { Some(auc.parse().ok()?) },
        })
    }
}

/// A folder of texts by name, packed. What cannot be written or read is made again.
#[derive(Clone, Debug)]
pub struct Folder(PathBuf);

impl Folder {
    /// Made when the first text is kept.
    pub fn new(dir: &Path) -> Folder {
        Folder(dir.to_path_buf())
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name.get(..2).unwrap_or("_")).join(name)
    }

    fn find(&self, name: &str) -> Option<String> {
        let packed = fs::read(self.file(name)).ok()?;
        String::from_utf8(lz4_flex::decompress_size_prepended(&packed).ok()?).ok()
    }

    /// Whole or not at all, whoever else writes it.
    fn keep(&self, name: &str, text: &str) {
        let file = self.file(name);
        let part =
            file.with_extension(format!("{}-{:?}.part", std::process::id(), std::thread::current().id()));
        let _ = file.parent().map(fs::create_dir_all);
        let packed = lz4_flex::compress_prepend_size(text.as_bytes());
        let _ = fs::write(&part, packed).and_then(|()| fs::rename(&part, &file));
    }
}

/// Kept crawls of one site with one variant.
pub(super) struct Shelf<'a> {
    folder: &'a Folder,
    site: &'a Site,
    whose: String,
}

impl<'a> Shelf<'a> {
    /// `pages`: after how many a crawl ends.
    pub fn of(lab: &'a Lab, site: &'a Site, v: &Variant, pages: Option<u64>) -> Result<Shelf<'a>, Problem> {
        let mut settings = toml::Value::try_from(v.config(site)?)
            .map_err(|e| Problem::new(format!("experiment `{}`", v.name)).because(e))?;
        by_content(&mut settings, &lab.scratch);
        let labels: Vec<(String, &str)> = site.labels.iter().map(|(u, l)| (u.to_string(), l)).collect();
        let whose = format!(
            "{} {:x} {:x} {:?} {settings} {:?} {} {:?} {pages:?} {:?}",
            env!("CARGO_PKG_VERSION"),
            site.web.identity().state,
            xxh3_64(format!("{labels:?}").as_bytes()),
            site.rules,
            v.without,
            v.concurrency,
            v.delay,
            site.seeds,
        );
        Ok(Shelf { folder: &lab.crawls, site, whose })
    }

    fn name(&self, rng: Option<u64>) -> String {
        format!("{:032x}", xxh3_128(format!("{} {rng:?}", self.whose).as_bytes()))
    }

    pub fn find(&self, rng: Option<u64>) -> Option<Run> {
        Run::read(&self.folder.find(&self.name(rng))?, self.site)
    }

    pub fn keep(&self, rng: Option<u64>, run: &Run) {
        self.folder.keep(&self.name(rng), &run.write());
    }
}

/// Puts what is in a file of this folder in the place of its name.
fn by_content(value: &mut toml::Value, folder: &Path) {
    match value {
        toml::Value::String(s) if Path::new(s).starts_with(folder) => {
            *s = fs::read(&*s).map_or_else(|_| s.clone(), |bytes| format!("{:x}", xxh3_128(&bytes)));
        }
        toml::Value::Array(list) => list.iter_mut().for_each(|v| by_content(v, folder)),
        toml::Value::Table(table) => table.iter_mut().for_each(|(_, v)| by_content(v, folder)),
        _ => {}
    }
}

/// A list of pages that a crawl of these settings reaches: kept by web, settings and seeds, whatever the
/// topic.
pub(super) fn reached_once(
    lab: &Lab,
    site: &Site,
    settings: &str,
    make: impl FnOnce() -> Result<Vec<Url>, Problem>,
) -> Result<Vec<Url>, Problem> {
    let scope = toml::to_string(&site.config.scope).map_err(|e| Problem::new("scope").because(e))?;
    let limits = toml::to_string(&site.config.limits).map_err(|e| Problem::new("limits").because(e))?;
    let state = site.web.identity().state;
    let whose = format!("reached {state:x} {scope} {limits} {settings} {:?}", site.seeds);
    let name = format!("{:032x}", xxh3_128(whose.as_bytes()));
    let canon = Canon::exact();
    let read = |text: String| text.lines().map(|l| canon.parse(l).ok()).collect::<Option<Vec<Url>>>();
    if let Some(list) = lab.crawls.find(&name).and_then(read) {
        return Ok(list);
    }
    let list = make()?;
    lab.crawls.keep(&name, &list.iter().map(|u| format!("{u}\n")).collect::<String>());
    Ok(list)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::lab::Graphs;
    use crate::labels::{Labels, Rules};
    use crate::webs::SimWeb;
    use crawl::config::Config;
    use std::num::NonZeroUsize;
    use std::sync::Arc;

    fn lab(dir: &Path) -> Lab<'static> {
        let web = SimWeb::open("sim:campus?pages=150&hosts=4&seed=1").unwrap();
        let config = Config::load(&web.topic_toml(), "a test", toml::Table::new()).unwrap().config;
        let labels = Labels::parse(&web.labels_tsv(false), &web);
        let site = Site {
            name: "campus".into(),
            seeds: web.seeds(),
            config,
            labels: Arc::new(labels),
            rules: Rules::new("1,relevant,yes", ""),
            narrow: false,
            web: Arc::new(web),
        };
        Lab {
            sites: vec![site],
            rngs: vec![Some(1), Some(2)],
            threads: NonZeroUsize::MIN,
            scratch: dir.join("scratch"),
            crawls: Folder::new(&dir.join("crawls")),
            graphs: Graphs::default(),
            progress: &|_| {},
        }
    }

    fn urls(run: &Run) -> Vec<&str> {
        run.order.iter().map(|l| l.url.as_str()).collect()
    }

    #[test]
    fn a_crawl_is_read_as_it_was_written() {
        let dir = tempfile::tempdir().unwrap();
        let lab = lab(dir.path());
        let site = &lab.sites[0];
        let v = Variant::strategy("best-first");
        let first = lab.crawl_site(site, std::slice::from_ref(&v)).unwrap();
        let again = lab.crawl_site(site, std::slice::from_ref(&v)).unwrap();
        assert_eq!((first[0].len(), again[0].len()), (2, 2));
        for (a, b) in first[0].iter().zip(&again[0]) {
            assert!(a.order.len() > 50 && a.auc.is_some());
            assert_eq!(urls(a), urls(b));
            let rest = |r: &Run| (r.virtual_ms, r.reachable, r.relevant_reachable, r.auc.map(f64::to_bits));
            assert_eq!(rest(a), rest(b));
            for (a, b) in a.order.iter().zip(&b.order) {
                assert_eq!((a.score.to_bits(), a.class, a.judged), (b.score.to_bits(), b.class, b.judged));
                assert_eq!(a.labels, b.labels);
            }
        }
    }

    #[test]
    fn only_the_same_crawl_is_found_again() {
        let dir = tempfile::tempdir().unwrap();
        let lab = lab(dir.path());
        let site = &lab.sites[0];
        let v = Variant::strategy("breadth-first").pages(40);
        lab.crawl_site(site, std::slice::from_ref(&v)).unwrap();
        let found = |site: &Site, v: &Variant| {
            Shelf::of(&lab, site, v, v.pages).unwrap().find(Some(1)).map(|r| r.order.len())
        };
        assert_eq!(found(site, &v), Some(40));
        let others = [Variant::strategy("depth-first").pages(40), v.clone().pages(41)];
        assert!(others.iter().all(|v| found(site, v).is_none()));
        assert_eq!(found(site, &Variant { concurrency: 2, ..v.clone() }), None);
        let fewer = Site { seeds: site.seeds[1..].to_vec(), ..site.clone() };
        assert_eq!(found(&fewer, &v), None);
        // What was damaged is made again.
        for file in files(&dir.path().join("crawls")) {
            fs::write(&file, b"x").unwrap();
        }
        assert_eq!(found(site, &v), None);
        assert_eq!(lab.crawl_site(site, &[v]).unwrap()[0].len(), 2);
    }

    fn files(dir: &Path) -> Vec<PathBuf> {
        let below = |p: PathBuf| if p.is_dir() { files(&p) } else { vec![p] };
        fs::read_dir(dir).unwrap().flat_map(|e| below(e.unwrap().path())).collect()
    }

    #[test]
    fn models_count_by_what_is_in_them() {
        let dir = tempfile::tempdir().unwrap();
        let (a, b) = (dir.path().join("a.model"), dir.path().join("b.model"));
        fs::write(&a, "same").unwrap();
        fs::write(&b, "same").unwrap();
        let of = |file: &Path| {
            let mut value: toml::Value =
                toml::toml! { judge = { model = "" } list = ["/elsewhere/a.model"] }.into();
            value["judge"]["model"] = toml::Value::String(file.display().to_string());
            by_content(&mut value, dir.path());
            value.to_string()
        };
        assert_eq!(of(&a), of(&b));
        assert!(of(&a).contains("/elsewhere/a.model"));
        fs::write(&b, "other").unwrap();
        assert_ne!(of(&a), of(&b));
    }

    #[test]
    fn pages_that_are_reached_are_the_same_for_every_topic() {
        let dir = tempfile::tempdir().unwrap();
        let lab = lab(dir.path());
        let site = &lab.sites[0];
        let mut other = site.clone();
        other.config.content.terms = vec!["something else".into()];
        let all = lab.reached(site, "").unwrap();
        let kept = files(&dir.path().join("crawls")).len();
        assert_eq!(lab.reached(&other, "").unwrap(), all);
        assert_eq!(files(&dir.path().join("crawls")).len(), kept, "nothing was crawled for it");
        let near = lab.reached(site, "[limits]\nlinks_per_page = 2\n").unwrap();
        assert!(near.len() < all.len(), "{} of {}", near.len(), all.len());
    }

    #[test]
    fn topics_are_chosen_from_the_whole_list() {
        let dir = tempfile::tempdir().unwrap();
        let mut lab = lab(dir.path());
        let site = lab.sites.remove(0);
        lab.sites =
            (0..7).map(|n| Site { name: n.to_string(), narrow: n % 2 == 0, ..site.clone() }).collect();
        let names = |lab: &Lab| lab.sites.iter().map(|s| s.name.clone()).collect::<String>();
        assert_eq!((names(&lab.at_most(3)), names(&lab.at_most(9))), ("024".into(), "0123456".into()));
        assert_eq!((names(&lab.narrow()), names(&lab.broad())), ("0246".into(), "135".into()));
        let narrow = lab.narrow();
        assert_eq!(names(&narrow.broad()), "0246", "without a broad topic: all");
    }
}
