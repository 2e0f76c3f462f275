//! Generated webs: `sim:NAME?pages=…&hosts=…&topic-share=…&seed=…`.
//!
//! Deterministic from the seed, up to millions of pages without keeping any: a page's subject, text and links
//! are computed from its number when it is asked for. The web also knows its labels, writes a topic file and
//! names seeds.

mod layout;
mod living;
mod options;
mod render;
mod words;

use crate::fetched::{bare, page, redirect};
use crate::reply::{Answer, Ask, Reply};
use layout::Layout;
pub use layout::{About, Role};
pub use living::{Clock, DAY, Life};
pub use options::{KNOBS, Options, PRESETS, Preset};
use std::fmt::Write;
use types::{Canon, FetchFuture, Fetched, Problem, Request, Url, Web};
use words::{GENRES, SUBJECTS};

/// Raise when the same options give other pages.
const GENERATOR: u32 = 1;

/// A generated web. No page is kept: each is computed when it is asked for.
pub struct SimWeb {
    layout: Layout,
    clock: Clock,
}

/// What a URL of a generated web is.
#[derive(Debug, PartialEq)]
enum Spot {
    Page(u32),
    /// Redirects to the page.
    Moved(u32),
    Trap(u32),
    /// The new pages of a host.
    Feed(u32),
    Nothing,
}

impl SimWeb {
    /// Opens `sim:NAME[?options]`.
    pub fn open(spec: &str) -> Result<SimWeb, Problem> {
        Ok(SimWeb::new(Options::parse(spec)?))
    }

    /// The same options give the same web.
    pub fn new(options: Options) -> SimWeb {
        SimWeb { layout: Layout::new(options), clock: Clock::default() }
    }

    /// It is as late as this clock says; else it stays as it began.
    pub fn at_time_of(mut self, clock: &Clock) -> SimWeb {
        self.clock = clock.clone();
        self
    }

    /// What the web was made from.
    pub fn options(&self) -> &Options {
        &self.layout.o
    }

    /// What page `id` is.
    pub fn about(&self, id: u32) -> About {
        self.layout.about(id.min(self.layout.o.pages.saturating_sub(1)))
    }

    /// Number of hosts.
    pub fn hosts(&self) -> usize {
        self.layout.hosts.len()
    }

    /// Name of a host; `.example` is reserved, so that no such host exists.
    pub fn host_name(&self, host: u32) -> String {
        let h = self.layout.hash(70, host as u64, 0);
        format!("{}{host}.example", words::rare(&words::LANGUAGES[0], 9, h % 400))
    }

    fn host_of(&self, url: &Url) -> Option<u32> {
        let name = url.host();
        let digits = name.strip_suffix(".example")?.trim_start_matches(|c: char| !c.is_ascii_digit());
        let host: u32 = digits.parse().ok()?;
        (url.port().is_none() && (host as usize) < self.hosts() && self.host_name(host) == name)
            .then_some(host)
    }

    /// Path of a page on its host.
    fn path(&self, id: u32) -> String {
        let a = self.layout.about(id);
        let s = self.layout.section(a.section);
        let first = self.layout.hosts.get(s.host as usize).map_or(0, |h| h.first_section);
        let local = a.section - first;
        let folder = if local == 0 {
            "/".to_string()
        } else {
            format!("/{}-{local}/", SUBJECTS[s.subject as usize % SUBJECTS.len()].slug)
        };
        if a.place == 0 {
            return folder;
        }
        // Half of the addresses tell the genre.
        let h = self.layout.hash(71, id as u64, 0);
        let slug = match h % 4 {
            0 | 1 => GENRES[a.genre as usize % GENRES.len()].slug.to_string(),
            2 => SUBJECTS[a.subject as usize % SUBJECTS.len()].slug.to_string(),
            _ => words::rare(&words::LANGUAGES[0], 12, h >> 8),
        };
        format!("{folder}{slug}-{id}.html")
    }

    /// Address of a page as seen from a host: short on the same one.
    fn href(&self, from_host: u32, id: u32) -> String {
        let host = self.layout.section(self.layout.section_of(id)).host;
        if host == from_host {
            self.path(id)
        } else {
            format!("http://{}{}", self.host_name(host), self.path(id))
        }
    }

    fn address(&self, id: u32) -> String {
        self.href(u32::MAX, id)
    }

    /// URL of page `id`.
    pub fn url_of(&self, id: u32) -> Option<Url> {
        if id >= self.layout.o.pages {
            return None;
        }
        Canon::exact().parse(&self.address(id)).ok()
    }

    fn spot(&self, url: &Url) -> Spot {
        let Some(host) = self.host_of(url) else { return Spot::Nothing };
        let path = url.path();
        let entry = self.layout.hosts.get(host as usize).copied();
        let Some(entry) = entry else { return Spot::Nothing };
        let is_trap = path.starts_with("/calendar/") || path == "/browse" || path.starts_with("/loop/");
        if is_trap {
            return if entry.trapped { Spot::Trap(host) } else { Spot::Nothing };
        }
        if url.query().is_some() {
            return Spot::Nothing;
        }
        if path == "/feed.xml" {
            return if self.is_living() { Spot::Feed(host) } else { Spot::Nothing };
        }
        let here = |id: u32| {
            id < self.layout.o.pages && self.layout.section(self.layout.section_of(id)).host == host
        };
        if let Some(id) = path.strip_prefix("/old/").and_then(|n| n.parse::<u32>().ok()) {
            return if here(id) { Spot::Moved(id) } else { Spot::Nothing };
        }
        let id = if path == "/" {
            Some(self.layout.section(entry.first_section).start)
        } else if let Some(folder) = path.strip_suffix('/') {
            let local = folder.rsplit('-').next().and_then(|n| n.parse::<u32>().ok());
            local.filter(|&l| l < entry.sections).map(|l| self.layout.section(entry.first_section + l).start)
        } else {
            path.strip_suffix(".html").and_then(|p| p.rsplit('-').next()).and_then(|n| n.parse().ok())
        };
        // Only the exact address is a page: a wrong slug is not.
        match id {
            Some(id) if here(id) && self.path(id) == path => Spot::Page(id),
            _ => Spot::Nothing,
        }
    }

    /// The page's number, if the URL is one of this web's pages.
    pub fn id_of(&self, url: &Url) -> Option<u32> {
        match self.spot(url) {
            Spot::Page(id) => Some(id),
            _ => None,
        }
    }

    /// The HTML of a URL: what a server of this web would send with status 200.
    pub fn page_html(&self, url: &Url) -> Option<String> {
        let now = self.clock.now();
        match self.spot(url) {
            Spot::Page(id) if !self.life(id).is_at(now) => None,
            Spot::Page(id) => Some(render::page(self, &self.layout.about(id), now)),
            Spot::Trap(host) => render::trap(self, host, url.path(), url.query().unwrap_or("")),
            Spot::Moved(_) | Spot::Feed(_) | Spot::Nothing => None,
        }
    }

    /// Is it a page that the topic asks for?
    pub fn is_relevant(&self, url: &Url) -> bool {
        self.id_of(url).is_some_and(|id| self.layout.about(id).relevant)
    }

    /// Labels of a page: `relevant`, `duplicate`, and its subject and genre.
    pub fn label(&self, id: u32) -> String {
        let a = self.about(id);
        let mut labels = Vec::new();
        if a.relevant {
            labels.push("relevant");
        }
        if a.copy_of.is_some() {
            labels.push("duplicate");
        }
        if a.role == Role::Leaf {
            labels.push(SUBJECTS[a.subject as usize % SUBJECTS.len()].slug);
            labels.push(GENRES[a.genre as usize % GENRES.len()].slug);
        } else {
            labels.push("list");
        }
        labels.join(",")
    }

    /// Numbers of the relevant pages, copies included, in order.
    pub fn relevant(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.layout.o.pages).filter(|&id| {
            // Sections without the topic are most of a web: skip them cheaply.
            self.layout.section(self.layout.section_of(id)).density > 0.0 && self.layout.about(id).relevant
        })
    }

    /// `labels.tsv` of the relevant pages, or of all.
    pub fn labels_tsv(&self, all: bool) -> String {
        let mut out = String::new();
        let mut line = |id: u32| {
            let _ = writeln!(out, "{}\t{}", self.address(id), self.label(id));
        };
        if all {
            (0..self.layout.o.pages).for_each(&mut line);
        } else {
            self.relevant().for_each(&mut line);
        }
        out
    }

    /// Home pages to start from, irrelevant themselves.
    pub fn seeds(&self) -> Vec<Url> {
        let mut hosts: Vec<(u64, u32)> =
            (0..self.hosts() as u32).map(|h| (self.layout.hash(72, h as u64, 0), h)).collect();
        hosts.sort_unstable();
        let mut chosen: Vec<u32> =
            hosts.into_iter().take(self.layout.o.seeds as usize).map(|(_, h)| h).collect();
        chosen.sort_unstable();
        let home =
            |h: u32| self.layout.hosts.get(h as usize).map(|h| self.layout.section(h.first_section).start);
        chosen.into_iter().filter_map(home).filter_map(|id| self.url_of(id)).collect()
    }

    /// A topic file for what this web calls relevant.
    pub fn topic_toml(&self) -> String {
        let list = |terms: &[&str]| terms.iter().map(|t| format!("{t:?}")).collect::<Vec<_>>().join(", ");
        let seeds = self.seeds().iter().map(|u| format!("{:?}", u.as_str())).collect::<Vec<_>>().join(", ");
        let (subject, genre) = (&SUBJECTS[0], &GENRES[0]);
        format!(
            "name = \"Syllabi of database courses (sim:{})\"\n[genre]\nterms = [{}]\n[content]\n\
             terms = [{}]\n[url]\nterms = [{}]\n\
             [seeds]\nurls = [{seeds}]\n",
            self.layout.o.name,
            list(&genre.terms[..genre.terms.len().min(14)]),
            list(&subject.terms[..subject.terms.len().min(16)]),
            list(&[genre.slug, subject.slug]),
        )
    }
}

/// What a recorded web answers and tells of itself (see `Recorded` of crate `eval`).
impl SimWeb {
    /// The answer to one request.
    pub fn answer(&self, url: &Url) -> Fetched {
        match self.spot(url) {
            Spot::Moved(id) if self.life(id).is_at(self.clock.now()) => redirect(url, 301, &self.address(id)),
            Spot::Feed(host) => {
                page(url, "application/rss+xml", self.feed(host, self.clock.now()).into_bytes())
            }
            _ => match self.page_html(url) {
                Some(html) => page(url, "text/html; charset=utf-8", html.into_bytes()),
                None => bare(url, 404),
            },
        }
    }

    /// The page a URL ends at.
    pub fn resolve(&self, url: &Url) -> Option<Url> {
        match self.spot(url) {
            Spot::Page(_) | Spot::Trap(_) | Spot::Feed(_) => Some(url.clone()),
            Spot::Moved(id) => self.url_of(id),
            Spot::Nothing => None,
        }
    }

    /// Everything that makes it this web and no other.
    pub fn recipe(&self) -> String {
        format!("{GENERATOR} {:?}", self.layout.o)
    }

    /// Is it a page of a trap? There are endlessly many.
    pub fn is_trap(&self, url: &Url) -> bool {
        matches!(self.spot(url), Spot::Trap(_))
    }

    /// Has it traps, so that a crawl never ends by itself?
    pub fn is_endless(&self) -> bool {
        self.layout.hosts.iter().any(|h| h.trapped)
    }
}

impl Web for SimWeb {
    fn fetch<'a>(&'a self, request: &'a Request) -> FetchFuture<'a> {
        Box::pin(async move { self.answer(&request.url) })
    }
}

/// The same web behind a server. Every second host names its versions (`ETag`).
impl Answer for SimWeb {
    fn answer(&self, ask: &Ask) -> Reply {
        let Ok(url) = Canon::exact().parse(&format!("http://{}{}", ask.host, ask.path)) else {
            return Reply::not_found();
        };
        let f = SimWeb::answer(self, &url);
        if let Some(to) = &f.location {
            return Reply::redirect(f.status, to);
        }
        if f.status != 200 {
            return Reply::not_found();
        }
        let body = f.payload.decoded().to_vec();
        let tag = format!("\"{:016x}\"", xxhash_rust::xxh3::xxh3_64(&body));
        let media = f.headers.iter().find(|(name, _)| name == "content-type").map_or("", |(_, v)| v.as_str());
        let reply = Reply::new(200, media, body);
        match self.host_of(&url).is_some_and(|host| host % 2 == 0) {
            true => reply.with("etag", tag),
            false => reply,
        }
    }
}

#[cfg(test)]
mod tests;
