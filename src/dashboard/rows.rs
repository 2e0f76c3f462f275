//! What the tables need of every page, in memory: some 60 bytes each. Texts and titles stay on disk.

use crawl::events::Curve;
use crawl::reader::Reader;
use frontier::State;
use std::collections::HashMap;
use types::{Problem, UrlId};

pub struct Row {
    pub id: UrlId,
    pub score: f32,
    pub host: u32,
    pub language: u16,
    pub relevant: bool,
    /// A relevant page that it is a copy of is in the collection, too.
    pub folded: bool,
    pub label: Option<bool>,
    pub fetched: u64,
    /// Genre terms of the topic that it has, as numbers of [`Rows::word`].
    pub genre: Box<[u16]>,
    /// What it says that it is (`Course`), and the year it says it is of; a word, or the empty one.
    pub kind: u16,
    pub year: u16,
}

/// What a host gave so far.
#[derive(Clone, Copy, Default)]
pub struct HostTally {
    pub pages: u32,
    pub relevant: u32,
    pub score: f64,
}

#[derive(Default)]
pub struct Rows {
    rows: Vec<Row>,
    at: HashMap<UrlId, u32>,
    /// Records read so far.
    read: usize,
    words: Words,
    hosts: Vec<HostTally>,
    /// Folded copies of a page.
    copies: HashMap<UrlId, u32>,
    pub relevant: u64,
    /// Relevant pages against pages, in fetch order.
    pub curve: Curve,
    pub labelled: u64,
}

/// Languages and genre terms by number.
#[derive(Default)]
struct Words {
    names: Vec<String>,
    at: HashMap<String, u16>,
}

impl Words {
    fn number(&mut self, name: &str) -> Option<u16> {
        if let Some(n) = self.at.get(name) {
            return Some(*n);
        }
        let n = u16::try_from(self.names.len()).ok()?;
        self.names.push(name.to_string());
        self.at.insert(name.to_string(), n);
        Some(n)
    }
}

/// Genre terms kept of a page.
const GENRE_TERMS: usize = 8;

/// Which pages are wanted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    pub relevant: Option<bool>,
    pub host: Option<String>,
    pub language: Option<String>,
    pub genre: Option<String>,
    /// What the page says that it is.
    pub kind: Option<String>,
    /// The year that it says it was published in.
    pub year: Option<String>,
    pub min_score: Option<f64>,
    pub max_score: Option<f64>,
    pub label: Option<Label>,
    /// Without copies of relevant pages that pass as well.
    pub folded: bool,
    /// Fetched in this stretch of time (milliseconds).
    pub fetched: Option<(u64, u64)>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Label {
    Is(bool),
    Any,
    None,
}

/// A filter with its names looked up; `None` = nothing can pass.
pub struct ReadyFilter {
    filter: Filter,
    host: Option<u32>,
    language: Option<u16>,
    genre: Option<u16>,
    kind: Option<u16>,
    year: Option<u16>,
}

impl Rows {
    /// Takes in the pages that came since, and the newest verdicts of all.
    pub fn update(&mut self, reader: &Reader) -> Result<(), Problem> {
        let ledger = reader.ledger();
        let total = usize::try_from(ledger.stats()?.pages).unwrap_or(usize::MAX);
        for page in ledger.pages(self.read) {
            let (r, entry) = page?;
            // A reader numbers every host it meets.
            let Some(host) = entry.host else { continue };
            let genre = r.assessment.hits.iter().filter(|h| h.set == "genre").take(GENRE_TERMS);
            let genre: Vec<u16> = genre.filter_map(|h| self.words.number(&h.term)).collect();
            let year = r.about.published.get(..4).unwrap_or("");
            let nothing = self.words.number("").unwrap_or(0);
            let row = Row {
                id: r.id,
                score: r.assessment.score as f32,
                host,
                language: self.words.number(&r.language).unwrap_or(0),
                relevant: false,
                folded: false,
                label: None,
                fetched: r.fetched.0,
                genre: genre.into(),
                kind: self.words.number(&r.about.kind).unwrap_or(nothing),
                year: self.words.number(year).unwrap_or(nothing),
            };
            match self.at.get(&r.id) {
                Some(&i) => self.rows[i as usize] = row,
                None => {
                    self.at.insert(r.id, self.rows.len() as u32);
                    self.rows.push(row);
                }
            }
        }
        self.read = total;
        self.count(reader)
    }

    fn count(&mut self, reader: &Reader) -> Result<(), Problem> {
        self.hosts.clear();
        self.hosts.resize(reader.ledger().stats()?.hosts, HostTally::default());
        (self.relevant, self.labelled) = (0, 0);
        self.copies.clear();
        self.curve = Curve::default();
        for (n, row) in self.rows.iter_mut().enumerate() {
            row.relevant = reader.is_relevant(row.id);
            row.label = reader.labels().get(row.id);
            row.score = reader.score(row.id).map_or(row.score, |s| s as f32);
            let counted = reader.is_counted(row.id);
            self.relevant += u64::from(counted);
            row.folded = row.relevant && !counted;
            if row.folded
                && let Some(original) = reader.copy_of(row.id)
            {
                *self.copies.entry(original).or_default() += 1;
            }
            self.curve.push(n as u64 + 1, self.relevant);
            self.labelled += u64::from(row.label.is_some());
            if let Some(t) = self.hosts.get_mut(row.host as usize) {
                t.pages += 1;
                t.relevant += u32::from(row.relevant);
                t.score += f64::from(row.score);
            }
        }
        Ok(())
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }
    pub fn all(&self) -> &[Row] {
        &self.rows
    }
    pub fn get(&self, id: UrlId) -> Option<&Row> {
        self.at.get(&id).and_then(|&i| self.rows.get(i as usize))
    }
    /// How many copies of it are folded into it.
    pub fn copies(&self, id: UrlId) -> u32 {
        self.copies.get(&id).copied().unwrap_or(0)
    }
    /// The best relevant pages, copies folded.
    pub fn best(&self, most: usize) -> Vec<UrlId> {
        let mut best: Vec<(f32, UrlId)> =
            self.rows.iter().filter(|r| r.relevant && !r.folded).map(|r| (r.score, r.id)).collect();
        let order = |a: &(f32, UrlId), b: &(f32, UrlId)| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1));
        if best.len() > most {
            best.select_nth_unstable_by(most, order);
            best.truncate(most);
        }
        best.sort_by(order);
        best.into_iter().map(|(_, id)| id).collect()
    }
    pub fn word(&self, n: u16) -> &str {
        self.words.names.get(usize::from(n)).map_or("", String::as_str)
    }
    pub fn host(&self, host: u32) -> HostTally {
        self.hosts.get(host as usize).copied().unwrap_or_default()
    }

    /// Makes a filter ready; `None` when a name in it does not occur, so that nothing passes.
    pub fn pass(&self, filter: Filter, reader: &Reader) -> Result<Option<ReadyFilter>, Problem> {
        let host = match &filter.host {
            Some(name) => reader.ledger().find_host(name)?.map(Some),
            None => Some(None),
        };
        let word = |name: &Option<String>| match name {
            Some(name) => self.words.at.get(name.as_str()).map(|n| Some(*n)),
            None => Some(None),
        };
        let names = (host, word(&filter.language), word(&filter.genre));
        let (Some(host), Some(language), Some(genre)) = names else { return Ok(None) };
        let (Some(kind), Some(year)) = (word(&filter.kind), word(&filter.year)) else { return Ok(None) };
        Ok(Some(ReadyFilter { filter, host, language, genre, kind, year }))
    }
}

impl ReadyFilter {
    pub fn admits(&self, row: &Row) -> bool {
        let f = &self.filter;
        let score = f64::from(row.score);
        f.relevant.is_none_or(|r| r == row.relevant)
            && !(f.folded && row.folded)
            && self.host.is_none_or(|h| h == row.host)
            && self.language.is_none_or(|l| l == row.language)
            && self.genre.is_none_or(|g| row.genre.contains(&g))
            && self.kind.is_none_or(|k| k == row.kind)
            && self.year.is_none_or(|y| y == row.year)
            && f.min_score.is_none_or(|s| score >= s - 5e-7)
            && f.max_score.is_none_or(|s| score <= s + 5e-7)
            && f.fetched.is_none_or(|(from, to)| (from..to).contains(&row.fetched))
            && f.label.is_none_or(|l| match l {
                Label::Is(said) => row.label == Some(said),
                Label::Any => row.label.is_some(),
                Label::None => row.label.is_none(),
            })
    }
}

/// Words for the state of a URL.
pub fn state_name(state: State) -> &'static str {
    match state {
        State::Pending => "pending",
        State::Leased => "leased",
        State::Settled(_) => "settled",
    }
}
