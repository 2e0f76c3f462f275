//! What people said of pages: `labels.tsv`, the rules that make labels relevant or ignored, and seed lists.
//!
//! `labels.tsv` is `url <TAB> comma-separated labels [<TAB> more columns]`. A label belongs to the page its
//! URL ends at (spellings and redirects of the web followed). A page without a label is not relevant. Two
//! lines for one page add up when they agree on nothing else. Seeds count neither way whatever their label;
//! so do pages with an ignored label. Nothing wrong in these files stops a backtest unless nothing is left;
//! everything wrong is counted.

use crate::Tally;
use crate::webs::Recorded;
use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use types::{Canon, Fingerprint, Problem, Url};

const KEY: (u64, u64) = (0x6c61_6265_6c73, 0x6576_616c);

/// Names that mean "relevant" when `--relevant-label` says nothing.
pub const RELEVANT: &[&str] = &["1", "relevant", "yes"];

/// Which labels count, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rules {
    /// Labels that make a page relevant.
    pub relevant: Vec<String>,
    /// Labels that take a page out of the count; they win over `relevant`.
    pub ignore: Vec<String>,
}

impl Default for Rules {
    fn default() -> Self {
        Rules { relevant: RELEVANT.iter().map(|s| s.to_string()).collect(), ignore: Vec::new() }
    }
}

impl Rules {
    /// From the comma-separated lists of the command line; empty = the default.
    pub fn new(relevant: &str, ignore: &str) -> Rules {
        let list = |s: &str| {
            s.split(',').map(str::trim).filter(|s| !s.is_empty()).map(String::from).collect::<Vec<_>>()
        };
        let default = Rules::default();
        let relevant = list(relevant);
        Rules {
            relevant: if relevant.is_empty() { default.relevant } else { relevant },
            ignore: list(ignore),
        }
    }

    /// Ignored beats relevant: `course,course_subpage` with `course_subpage` ignored is ignored.
    pub fn class(&self, labels: &str) -> Class {
        let has = |wanted: &[String]| labels.split(',').any(|l| wanted.iter().any(|w| w == l.trim()));
        if has(&self.ignore) {
            Class::Neutral
        } else if has(&self.relevant) {
            Class::Relevant
        } else {
            Class::Irrelevant
        }
    }
}

/// How a page counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// Counts as found.
    Relevant,
    /// Counts as wasted.
    Irrelevant,
    /// Neither way: a seed, or an ignored label. Fetching it still costs a page.
    Neutral,
}

/// The labels of a web, by final URL.
#[derive(Clone, Debug, Default)]
pub struct Labels {
    /// Distinct label columns, as written.
    columns: Vec<Box<str>>,
    pages: HashMap<Fingerprint, u32>,
    /// Pages in the order of the file.
    order: Vec<(Url, u32)>,
    /// How similar pages are to the nearest example, when that is what the labels were made of.
    similarity: HashMap<Fingerprint, f64>,
    /// Lines that could not be used.
    pub notes: Tally,
}

impl Labels {
    /// Reads a label file. A file without a usable line is a problem.
    pub fn open(path: &Path, web: &dyn Recorded) -> Result<Labels, Problem> {
        let bytes = fs::read(path).map_err(|e| Problem::io("read the labels", path, &e))?;
        let labels = Labels::parse(&String::from_utf8_lossy(&bytes), web);
        if labels.order.is_empty() {
            let p = Problem::usage(format!("no usable label in {}", path.display()));
            let why = if labels.notes.is_empty() {
                "the file is empty".to_string()
            } else {
                labels.notes.to_string()
            };
            return Err(p
                .because(why)
                .hint("a line is `url<TAB>label,label`; the URLs must be pages of the web"));
        }
        Ok(labels)
    }

    /// Reads `url <TAB> labels`; labels of pages that the web does not have go to `notes`.
    pub fn parse(text: &str, web: &dyn Recorded) -> Labels {
        let mut labels = Labels::default();
        for line in text.lines().filter(|l| !l.trim().is_empty()) {
            let mut columns = line.split('\t');
            let (Some(url), Some(label)) = (columns.next(), columns.next()) else {
                labels.notes.add("label line without a tab", line);
                continue;
            };
            let label = label.trim();
            if label.is_empty() {
                labels.notes.add("label line without a label", line);
                continue;
            }
            let Ok(url) = Canon::exact().parse(url) else {
                labels.notes.add("label line that names no URL", line);
                continue;
            };
            match web.resolve(&url) {
                Some(page) => labels.add(page, label, line),
                None => labels.notes.add("label of a URL that is not in the web", line),
            }
        }
        labels
    }

    /// From example pages (Batsakis): relevant is a page whose highest cosine with one of them is more than
    /// `threshold`.
    pub fn like_examples(pages: impl Iterator<Item = (Url, f64)>, threshold: f64) -> Labels {
        let mut labels = Labels::default();
        for (url, similarity) in pages {
            labels.similarity.insert(url.fingerprint(KEY), similarity);
            if similarity > threshold {
                labels.add(url, RELEVANT[1], "");
            }
        }
        labels
    }

    /// How similar a page is to the nearest example; `None` when the labels are not of that kind, or it is no
    /// page.
    pub fn similarity(&self, url: &Url) -> Option<f64> {
        self.similarity.get(&url.fingerprint(KEY)).copied()
    }

    fn add(&mut self, page: Url, label: &str, line: &str) {
        let print = page.fingerprint(KEY);
        let old = self.pages.get(&print).and_then(|&c| self.columns.get(c as usize)).cloned();
        let column = match &old {
            None => label.to_string(),
            Some(old) => {
                let new: Vec<&str> = label.split(',').filter(|l| !old.split(',').any(|o| o == *l)).collect();
                if new.is_empty() {
                    self.notes.add("page labelled twice, with the same labels", line);
                    return;
                }
                self.notes.add("page labelled twice, with different labels (all of them hold)", line);
                format!("{old},{}", new.join(","))
            }
        };
        let id = match self.columns.iter().position(|c| **c == *column) {
            Some(i) => i,
            None => {
                self.columns.push(column.into());
                self.columns.len() - 1
            }
        } as u32;
        self.pages.insert(print, id);
        if old.is_some() {
            if let Some(entry) = self.order.iter_mut().find(|(u, _)| *u == page) {
                entry.1 = id;
            }
        } else {
            self.order.push((page, id));
        }
    }

    /// Copies (`dups.tsv`: `copy <TAB> original`) without a label of their own get the original's. Returns
    /// how many.
    pub fn inherit(&mut self, dups: &str, web: &dyn Recorded) -> usize {
        let mut inherited = 0;
        for line in dups.lines().filter(|l| !l.trim().is_empty()) {
            let mut columns =
                line.split('\t').map(|u| Canon::exact().parse(u).ok().and_then(|u| web.resolve(&u)));
            let (Some(Some(copy)), Some(Some(original))) = (columns.next(), columns.next()) else {
                self.notes.add("line of dups.tsv that names no two pages of the web", line);
                continue;
            };
            if self.of(&copy).is_empty() && !self.of(&original).is_empty() {
                let label = self.of(&original).to_string();
                self.add(copy, &label, line);
                inherited += 1;
            }
        }
        inherited
    }

    /// The label column of a page, as written; empty when it has none. `url` is the page's final URL.
    pub fn of(&self, url: &Url) -> &str {
        let id = self.pages.get(&url.fingerprint(KEY));
        id.and_then(|&c| self.columns.get(c as usize)).map_or("", |c| c)
    }

    /// Number of pages with a label.
    pub fn len(&self) -> usize {
        self.order.len()
    }

    /// No page has a label.
    pub fn is_empty(&self) -> bool {
        self.order.is_empty()
    }

    /// Labelled pages with their labels, in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = (&Url, &str)> {
        self.order.iter().map(|(u, c)| (u, self.columns.get(*c as usize).map_or("", |c| c)))
    }

    /// A usage error when the rules name a label that occurs nowhere: most likely a typo.
    pub fn check(&self, rules: &Rules) -> Result<(), Problem> {
        let known = |l: &String| self.columns.iter().any(|c| c.split(',').any(|k| k.trim() == l));
        if rules.relevant.iter().any(known) {
            return Ok(());
        }
        let mut names: Vec<&str> = self.columns.iter().flat_map(|c| c.split(',')).map(str::trim).collect();
        names.sort_unstable();
        names.dedup();
        let shown = names.iter().take(20).copied().collect::<Vec<_>>().join(", ");
        Err(Problem::usage(format!("no page has the label `{}`", rules.relevant.join("` or `")))
            .hint(format!("choose with --relevant-label; the labels are {shown}")))
    }
}

/// Seeds from `FILE[#SET]`: a `seeds.tsv` (`set <TAB> url`) or a plain list, one URL a line, `#` comments.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seeds {
    /// In the order of the file.
    pub urls: Vec<Url>,
    /// Lines that could not be used.
    pub notes: Tally,
}

impl Seeds {
    /// Reads a seed file, or one set of it.
    pub fn open(spec: &str) -> Result<Seeds, Problem> {
        let (path, set) = match spec.rsplit_once('#') {
            // A file may have a # in its name.
            Some((path, set)) if !Path::new(spec).exists() => (PathBuf::from(path), Some(set)),
            _ => (PathBuf::from(spec), None),
        };
        let bytes = fs::read(&path).map_err(|e| Problem::io("read the seeds", &path, &e))?;
        let text = String::from_utf8_lossy(&bytes);
        // Some editors begin every file with a mark of its encoding.
        Seeds::parse(text.trim_start_matches('\u{feff}'), set, &path.display().to_string())
    }

    /// Reads the text of a seed file; `name` is for messages.
    pub fn parse(text: &str, set: Option<&str>, name: &str) -> Result<Seeds, Problem> {
        let mut seeds = Seeds::default();
        let mut sets: Vec<&str> = Vec::new();
        for line in text.lines().map(str::trim_end).filter(|l| !l.is_empty() && !l.starts_with('#')) {
            let url = match line.split_once('\t') {
                Some((of, url)) if !of.contains("://") => {
                    if !sets.contains(&of) {
                        sets.push(of);
                    }
                    if set.is_some_and(|s| s != of) {
                        continue;
                    }
                    url.split('\t').next().unwrap_or(url)
                }
                Some((url, _)) => url,
                None => line,
            };
            match Canon::exact().parse_typed(url.trim()) {
                Ok(url) if seeds.urls.contains(&url) => seeds.notes.add("seed listed twice", line),
                Ok(url) => seeds.urls.push(url),
                Err(_) => seeds.notes.add("seed that is no URL", line),
            }
        }
        let named = sets.join(", ");
        match set {
            Some(set) if !sets.contains(&set) => {
                let p = Problem::usage(format!("no set `{set}` in {name}"));
                Err(if sets.is_empty() {
                    p.hint("the file has no sets: leave the # out")
                } else {
                    p.hint(format!("its sets are {named}"))
                })
            }
            None if sets.len() > 1 => Err(Problem::usage(format!("{name} has several sets of seeds"))
                .hint(format!("choose one: {name}#{} (of {named})", sets[0]))),
            _ if seeds.urls.is_empty() => {
                let p = Problem::nothing(format!("no seed in {name}"));
                let p = if seeds.notes.is_empty() { p } else { p.because(&seeds.notes) };
                Err(p.hint("one URL a line, or `set<TAB>url`"))
            }
            _ => Ok(seeds),
        }
    }

    /// Only the seeds the web has, as they were written (the crawl follows redirects itself); the others are
    /// counted.
    pub fn inside(mut self, web: &dyn Recorded) -> Result<Seeds, Problem> {
        let notes = &mut self.notes;
        let all = self.urls.len();
        self.urls.retain(|u| {
            let found = web.resolve(u).is_some();
            if !found {
                notes.add("seed that is not in the web", u);
            }
            found
        });
        if self.urls.is_empty() {
            return Err(Problem::nothing(format!("none of the {all} seeds is in the web"))
                .because(&self.notes)
                .hint("the seeds must be URLs of this web: see its urls.tsv"));
        }
        Ok(self)
    }

    /// The 75 % (rounded, at least one) that random number `rng` draws, in the order given.
    pub fn draw(urls: &[Url], rng: u64) -> Vec<Url> {
        let keep = (urls.len() * 3 + 2) / 4;
        let keep = keep.max(1).min(urls.len());
        let mut ranked: Vec<(u64, usize)> = urls
            .iter()
            .enumerate()
            .map(|(i, u)| (xxhash_rust::xxh3::xxh3_64_with_seed(u.as_str().as_bytes(), rng), i))
            .collect();
        ranked.sort_unstable();
        let mut chosen: Vec<usize> = ranked.into_iter().take(keep).map(|(_, i)| i).collect();
        chosen.sort_unstable();
        chosen.into_iter().filter_map(|i| urls.get(i).cloned()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::webs::FolderWeb;

    fn web() -> (tempfile::TempDir, FolderWeb) {
        let dir = tempfile::tempdir().unwrap();
        for p in ["a.org/index.html", "a.org/x.html", "a.org/y.html"] {
            let path = dir.path().join(p);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, p).unwrap();
        }
        fs::write(dir.path().join("redirects.tsv"), "http://a.org/old\thttp://a.org/x.html\n").unwrap();
        let web = FolderWeb::open(dir.path()).unwrap();
        (dir, web)
    }

    fn url(s: &str) -> Url {
        Canon::exact().parse(s).unwrap()
    }

    #[test]
    fn labels_from_examples() {
        let pages = [("http://a.org/x.html", 0.8), ("http://a.org/y.html", 0.75), ("http://a.org/", 0.1)];
        let labels = Labels::like_examples(pages.iter().map(|(u, s)| (url(u), *s)), 0.75);
        let class = |u: &str| Rules::default().class(labels.of(&url(u)));
        assert_eq!(class("http://a.org/x.html"), Class::Relevant);
        assert_eq!(class("http://a.org/y.html"), Class::Irrelevant, "not more than 0.75");
        assert_eq!(labels.similarity(&url("http://a.org/")), Some(0.1));
        assert_eq!((labels.similarity(&url("http://b.org/")), labels.len()), (None, 1));
    }

    #[test]
    fn labels_belong_to_the_final_page_and_bad_lines_are_counted() {
        let (_dir, web) = web();
        let text = "http://a.org/index.html\tcourse\tmore\thttp://x\nhttps://a.org/old\tcourse,course_os\n\
                    http://a.org/x.html\tcourse\nhttp://a.org/x.html\tsub\nhttp://b.org/\tcourse\n\
                    not a url\tcourse\nno tab\n\
                    http://a.org/y.html\t\n\n";
        let mut labels = Labels::parse(text, &web);
        assert_eq!(labels.of(&url("http://a.org/")), "course");
        assert_eq!(labels.of(&url("http://a.org/x.html")), "course,course_os,sub");
        assert_eq!(labels.of(&url("http://a.org/y.html")), "");
        assert_eq!(labels.len(), 2);
        for (what, n) in [
            ("label of a URL that is not in the web", 1),
            ("label line that names no URL", 1),
            ("label line without a tab", 1),
            ("label line without a label", 1),
            ("page labelled twice, with the same labels", 1),
            ("page labelled twice, with different labels (all of them hold)", 1),
        ] {
            assert_eq!(labels.notes.count(what), n, "{what}\n{}", labels.notes);
        }
        let rules = Rules::new("course_os", "sub");
        assert_eq!(rules.class("course,course_os"), Class::Relevant);
        assert_eq!(rules.class("course,course_os,sub"), Class::Neutral);
        assert_eq!(rules.class("course"), Class::Irrelevant);
        assert_eq!(rules.class(""), Class::Irrelevant);
        assert!(labels.check(&rules).is_ok());
        let typo = labels.check(&Rules::new("curse", "")).unwrap_err().to_string();
        assert!(typo.contains("the labels are course, course_os, sub"), "{typo}");
        assert_eq!(Rules::new("", "").class("yes"), Class::Relevant);

        assert_eq!(
            labels.inherit(
                "http://a.org/y.html\thttp://a.org/\nhttp://a.org/x.html\thttp://a.org/\nbad\n",
                &web
            ),
            1
        );
        assert_eq!(labels.of(&url("http://a.org/y.html")), "course");
        assert_eq!(labels.notes.count("line of dups.tsv that names no two pages of the web"), 1);
    }

    #[test]
    fn a_label_file_with_nothing_usable_is_an_error_that_says_why() {
        let (dir, web) = web();
        let file = dir.path().join("labels.tsv");
        fs::write(&file, "http://b.org/\tcourse\n").unwrap();
        let e = Labels::open(&file, &web).unwrap_err();
        assert_eq!(e.exit_code(), 2);
        assert!(e.to_string().contains("1 × label of a URL that is not in the web"), "{e}");
        fs::write(&file, [0xff, 0xfe, 0, b'\t', b'\n']).unwrap();
        assert!(Labels::open(&file, &web).is_err());
    }

    #[test]
    fn seeds_in_both_forms() {
        let text = "one\thttp://a.org/\none\thttp://b.org/\ntwo\thttp://c.org/\n";
        let one = Seeds::parse(text, Some("one"), "f").unwrap();
        assert_eq!(one.urls, [url("http://a.org/"), url("http://b.org/")]);
        let missing = Seeds::parse(text, Some("three"), "f").unwrap_err().to_string();
        assert!(missing.contains("its sets are one, two"), "{missing}");
        assert!(Seeds::parse(text, None, "f").unwrap_err().to_string().contains("f#one"));
        let plain = Seeds::parse("# mine\nhttp://a.org/\na.org\nhttp://a.org/\n::\n", None, "f").unwrap();
        assert_eq!(plain.urls, [url("http://a.org/"), url("https://a.org/")]);
        assert_eq!(plain.notes.count("seed listed twice"), 1);
        assert_eq!(plain.notes.count("seed that is no URL"), 1);
        assert_eq!(Seeds::parse("", None, "f").unwrap_err().exit_code(), 4);
    }

    #[test]
    fn seeds_outside_the_web() {
        let (_dir, web) = web();
        let some =
            Seeds::parse("http://a.org/old\nhttp://b.org/\n", None, "f").unwrap().inside(&web).unwrap();
        assert_eq!(some.urls, [url("http://a.org/old")]);
        assert_eq!(some.notes.count("seed that is not in the web"), 1);
        let none = Seeds::parse("http://b.org/\n", None, "f").unwrap().inside(&web).unwrap_err();
        assert_eq!(none.exit_code(), 4);
    }

    #[test]
    fn a_draw_is_three_quarters_and_repeatable() {
        let urls: Vec<Url> = (0..74).map(|i| url(&format!("http://a.org/{i}"))).collect();
        let one = Seeds::draw(&urls, 1);
        assert_eq!(one.len(), 56);
        assert_eq!(one, Seeds::draw(&urls, 1));
        assert_ne!(one, Seeds::draw(&urls, 2));
        assert_eq!(Seeds::draw(&urls[..4], 9).len(), 3);
        assert_eq!(Seeds::draw(&urls[..1], 9).len(), 1);
        assert!(Seeds::draw(&[], 9).is_empty());
        let positions: Vec<usize> = one.iter().map(|u| urls.iter().position(|v| v == u).unwrap()).collect();
        assert!(positions.is_sorted());
    }
}
