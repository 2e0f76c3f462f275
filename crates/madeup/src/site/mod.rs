//! The generated web of `gleaner demo`: some forty made-up hosts and, in its full size, about two thousand
//! pages, all a pure function of a seed. It holds everything a crawler meets outside: see `oddities.rs` for
//! the list.
//!
//! What is asked for is *Syllabi of database courses* ([`TOPIC`]); [`Site::relevant`] knows the right answer.

mod oddities;
mod plan;
mod render;
mod sites;
mod text;
mod words;

#[cfg(test)]
mod tests;

use crate::reply::{Answer, Ask, Behaviour, Reply, escape};
use oddities::{mirror, plant};
use plan::{CopyOf, Host, LinkTarget, Manner, NodeId, Plan, Quirk, Robots, Trap};
use sites::{Catalogue, DepartmentSize, campus, catalogue, department};
use std::collections::{HashSet, VecDeque};
use std::fmt::Write;
use text::{Genre, Rng, upper_first};
use words::{CAMPUS_NAMES, DATABASES, NAME_HEADS, NAME_TAILS};

/// The demo's topic file: what a user would write.
pub const TOPIC: &str = r#"# The topic of `gleaner demo`: a genre (syllabi) and a content (databases).
name = "Syllabi of database courses"

[genre]
preset = "syllabus"

[content]
terms = [
  "relational model", "sql", "normalization", "query optimization", "relational algebra", "transactions",
  "concurrency control", "entity relationship", "functional dependencies", "schema design", "joins", "nosql",
  "modelo relacional", "algebra relacional", "relationenalgebra", "algebre relationnelle",
]

[url]
terms = ["course", "courses", "syllabus", "database", "databases", "db"]

[seeds]
urls = [
  "http://directory.campusweb.example/",
  "http://cs.northfield.example/",
  "http://links.teachers.example/",
  "http://www.dailyledger.example/",
]
"#;

/// To be added to [`TOPIC`]: a judge whose verdicts on this web are right and do not move, for tests.
pub const STRICT: &str = "\n[judge]\nkind = \"genre\"\nthreshold = 0.47\n";

/// The seeds of [`TOPIC`]: hubs, none of them relevant.
pub const SEEDS: &[&str] = &[
    "http://directory.campusweb.example/",
    "http://cs.northfield.example/",
    "http://links.teachers.example/",
    "http://www.dailyledger.example/",
];

/// How large the demo's web is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Size {
    /// About 550 pages, everything planted included: quick tests.
    Small,
    /// About 2,000 pages: the demo.
    #[default]
    Full,
    /// About this many pages (never fewer than what is planted on purpose, some 550).
    Pages(usize),
}

/// The web of `gleaner demo`.
pub struct Site {
    plan: Plan,
}

/// Pages that do not depend on the number of universities, and those that come with each.
const FIXED: usize = 480;
const PER_UNIVERSITY: usize = 77;

impl Site {
    /// The same seed and size give the same web.
    pub fn new(seed: u64, size: Size) -> Site {
        let (universities, filler) = match size {
            Size::Small => (1, 1),
            Size::Full => (6, 8),
            Size::Pages(n) => (n.saturating_sub(FIXED).div_ceil(PER_UNIVERSITY).max(1), 1),
        };
        Site { plan: build(seed, universities, filler) }
    }

    /// Number of pages, traps not counted (they have no end).
    pub fn pages(&self) -> usize {
        self.plan.nodes.len()
    }

    /// Names of all hosts.
    pub fn hosts(&self) -> Vec<&str> {
        self.plan.hosts.iter().map(|h| h.name.as_str()).collect()
    }

    /// The answer for a URL after any passing trouble: hosts that fail or refuse at first ([`Answer::answer`]
    /// has the numbers of earlier requests) are fine by then.
    pub fn answer(&self, host: &str, path_and_query: &str) -> Reply {
        Answer::answer(
            self,
            &Ask { host, path: path_and_query, earlier: u32::MAX, earlier_on_host: u32::MAX },
        )
    }

    /// The right answer: every page that is a syllabus of a database course and that a polite crawler can
    /// reach from [`SEEDS`] (mirrored and earlier editions included; pages that ask not to be indexed are
    /// not). Sorted.
    pub fn relevant(&self) -> Vec<String> {
        let mut urls: Vec<String> = self
            .reachable()
            .into_iter()
            .filter(|&id| self.is_relevant(id))
            .map(|id| self.plan.url(id))
            .collect();
        urls.sort();
        urls
    }

    /// Exact copies: `(copy, original)`.
    pub fn mirrored(&self) -> Vec<(String, String)> {
        self.pairs(|copy| match copy {
            CopyOf::Exactly(original) => Some(original),
            _ => None,
        })
    }

    /// Near-duplicates: `(earlier edition, current page)`.
    pub fn editions(&self) -> Vec<(String, String)> {
        self.pairs(|copy| match copy {
            CopyOf::Nearly(original) => Some(original),
            _ => None,
        })
    }

    fn pairs(&self, of: impl Fn(CopyOf) -> Option<NodeId>) -> Vec<(String, String)> {
        let nodes = self.plan.nodes.iter().zip(0..);
        nodes
            .filter_map(|(n, id)| of(n.copy).map(|original| (self.plan.url(id), self.plan.url(original))))
            .collect()
    }

    pub(super) fn is_relevant(&self, id: NodeId) -> bool {
        let Some(node) = self.plan.nodes.get(id as usize) else { return false };
        let answers = !matches!(
            node.quirk,
            Quirk::Status(_) | Quirk::Redirect(..) | Quirk::Cut | Quirk::Drop | Quirk::Empty
        );
        node.genre == Genre::Syllabus && node.subject == DATABASES && answers && !node.noindex
    }

    /// Pages a polite crawler reaches: robots rules, `nofollow` and failures respected, sitemaps read.
    fn reachable(&self) -> Vec<NodeId> {
        let plan = &self.plan;
        let mut seen: HashSet<NodeId> = HashSet::new();
        let mut hosts_seen: HashSet<u32> = HashSet::new();
        let mut queue: VecDeque<NodeId> = SEEDS.iter().filter_map(|s| self.find(s)).collect();
        let mut out = Vec::new();
        while let Some(id) = queue.pop_front() {
            let Some(node) = plan.nodes.get(id as usize) else { continue };
            let Some(host) = plan.hosts.get(node.host as usize) else { continue };
            if !host.robots.allows(&node.path) || !seen.insert(id) {
                continue;
            }
            out.push(id);
            if hosts_seen.insert(node.host) {
                queue.extend(&host.sitemap);
            }
            if matches!(node.quirk, Quirk::Status(_) | Quirk::Cut | Quirk::Drop) || node.nofollow {
                continue;
            }
            let nav = if matches!(node.copy, CopyOf::Exactly(_)) { &[][..] } else { &host.nav[..] };
            queue.extend(node.links.iter().chain(nav).filter(|l| !l.nofollow).filter_map(|l| l.to.node()));
        }
        out
    }

    fn find(&self, url: &str) -> Option<NodeId> {
        let rest = url.strip_prefix("http://")?;
        let slash = rest.find('/')?;
        let (host, path) = rest.split_at(slash);
        self.plan.find(self.plan.find_host(host)?, path)
    }

    fn sitemap(&self, host: &Host) -> Reply {
        let mut out = String::from(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<urlset \
             xmlns=\"http://www.sitemaps.org/schemas/sitemap/0.9\">\n",
        );
        for &id in &host.sitemap {
            let _ = writeln!(
                out,
                "  <url><loc>{}</loc><lastmod>2026-11-01</lastmod></url>",
                escape(&self.plan.url(id))
            );
        }
        out.push_str("</urlset>\n");
        Reply::new(200, "application/xml", out)
    }

    fn delay(&self, host: &Host, path: &str) -> u64 {
        host.slow.map_or(0, |(from, to)| {
            from + Rng::named(self.plan.seed, path).below((to.saturating_sub(from) + 1) as usize) as u64
        })
    }

    fn static_page(&self, host_id: u32, host: &Host, ask: &Ask) -> Option<Reply> {
        let (path, query) = ask.path.split_once('?').map_or((ask.path, None), |(p, q)| (p, Some(q)));
        // Parameters that do not select a page are ignored, as most servers do.
        let selects = |q: &str| q.split('&').filter(|p| !p.starts_with("utm_")).collect::<Vec<_>>().join("&");
        let exact = query.map(|q| format!("{path}?{}", selects(q)));
        let found =
            exact.and_then(|exact| self.plan.find(host_id, &exact)).or_else(|| self.plan.find(host_id, path));
        if let Some(id) = found {
            let mut reply = render::page(&self.plan, id);
            match self.plan.nodes.get(id as usize).map(|n| &n.quirk) {
                Some(Quirk::Cut) => reply.behaviour = Behaviour::Cut(reply.body.len() / 2),
                Some(Quirk::Drop) => reply.behaviour = Behaviour::Drop,
                Some(Quirk::FailsOnce) if ask.earlier == 0 => {
                    reply =
                        Reply { status: 503, ..Reply::html("<h1>Overloaded</h1>") }.with("retry-after", "1");
                }
                _ => {}
            }
            return Some(reply);
        }
        // A folder without its slash, as most servers answer it; the query goes along.
        let folder = format!("{path}/");
        if self.plan.find(host_id, &folder).is_some() {
            let query = query.map_or(String::new(), |q| format!("?{q}"));
            return Some(Reply::redirect(301, &format!("{folder}{query}")));
        }
        (host.manner == Manner::SoftNotFound).then(|| {
            let body = format!(
                "<html><head><title>{}</title></head><body><h1>Sorry!</h1><p>The page you are looking for \
                 may have been moved or \
                 deleted. Please use the navigation or the search.</p><p><a \
                 href=\"/\">Home</a></p></body></html>",
                escape(&host.institution)
            );
            Reply::html(body)
        })
    }
}

impl Answer for Site {
    fn answer(&self, ask: &Ask) -> Reply {
        let Some(host_id) = self.plan.find_host(ask.host) else {
            return Reply::text(421, format!("no host `{}` in this web\n", ask.host));
        };
        let Some(host) = self.plan.hosts.get(host_id as usize) else { return Reply::not_found() };
        let mut reply = if ask.path == "/robots.txt" {
            robots_txt(host)
        } else if matches!(host.manner, Manner::BusyAtFirst(n) if ask.earlier_on_host < n) {
            Reply::text(429, "too many requests, slow down\n").with("retry-after", "1")
        } else if ask.path == "/sitemap.xml" && !host.sitemap.is_empty() {
            self.sitemap(host)
        } else if let Manner::Trap(trap) = host.manner {
            trap_page(self.plan.seed, trap, host, ask.path)
        } else {
            self.static_page(host_id, host, ask).unwrap_or_else(Reply::not_found)
        };
        reply.delay_ms = self.delay(host, ask.path);
        reply
    }
}

fn robots_txt(host: &Host) -> Reply {
    match &host.robots {
        Robots::Missing => Reply::not_found(),
        Robots::Unavailable => Reply::text(503, "Service unavailable\n"),
        Robots::Rules { disallow, allow, delay } => {
            let mut out =
                format!("# {}\nUser-agent: badbot\nDisallow: /\n\nUser-agent: *\n", host.institution);
            for rule in disallow {
                let _ = writeln!(out, "Disallow: {rule}");
            }
            for rule in allow {
                let _ = writeln!(out, "Allow: {rule}");
            }
            if let Some(seconds) = delay {
                let _ = writeln!(out, "Crawl-delay: {seconds}");
            }
            if !host.sitemap.is_empty() {
                let _ = writeln!(out, "\nSitemap: http://{}/sitemap.xml", host.name);
            }
            Reply::text(200, out)
        }
    }
}

/// Pages of hosts that have no end. Any path has an answer.
fn trap_page(seed: u64, trap: Trap, host: &Host, path: &str) -> Reply {
    let parts: Vec<&str> = path.split(['/', '?']).filter(|p| !p.is_empty()).collect();
    let mut links: Vec<(String, String)> = Vec::new();
    let title = match trap {
        Trap::Calendar => {
            let number = |i: usize, default: i64| {
                parts
                    .get(i)
                    .and_then(|p| p.parse().ok())
                    .filter(|n| (1..=99_999).contains(n))
                    .unwrap_or(default)
            };
            let (year, month) = (number(0, 2026), number(1, 1).clamp(1, 12));
            for step in [-1, 1] {
                let at = year * 12 + (month - 1) + step;
                links.push((
                    format!("/{}/{:02}/", at.div_euclid(12), at.rem_euclid(12) + 1),
                    if step < 0 { "Previous month" } else { "Next month" }.into(),
                ));
            }
            for day in 1..=28 {
                links.push((format!("/{year}/{month:02}/{day:02}/"), day.to_string()));
            }
            links.push((format!("/{year}/{month:02}/?view=week"), "Week view".into()));
            format!("Events in {year}-{month:02}")
        }
        Trap::Sessions => {
            let mut rng = Rng::named(seed, path);
            for topic in 1..=6 {
                links.push((format!("/s/{:08x}/topic/{topic}", rng.next() as u32), format!("Topic {topic}")));
            }
            format!("Forum: topic {}", parts.last().copied().unwrap_or("overview"))
        }
        Trap::Depths => {
            for folder in ["data/", "backup/"] {
                links.push((folder.to_string(), folder.to_string()));
            }
            links.push(("../".into(), "Parent directory".into()));
            format!("Index of {}", parts.join("/"))
        }
    };
    let mut out = format!(
        "<!DOCTYPE html><html><head><title>{t}</title></head><body><h1>{t}</h1><p>{}</p><ul>\n",
        escape(&host.institution),
        t = escape(&title)
    );
    for (href, anchor) in links {
        let _ = writeln!(out, "<li><a href=\"{}\">{}</a></li>", escape(&href), escape(&anchor));
    }
    out.push_str("</ul></body></html>\n");
    Reply::html(out)
}

fn build(seed: u64, universities: usize, filler: usize) -> Plan {
    let mut plan = Plan::new(seed);
    let directory = plan.host("directory.campusweb.example", "Campus web directory");
    let root = plan.page(directory, "/", Genre::Hub, 1, "Universities and colleges of the world");
    let computing = plan.page(directory, "/computing.html", Genre::Hub, 1, "Courses in computer science");
    plan.nav(directory, LinkTarget::Node(root), "Directory");
    plan.nav(directory, LinkTarget::Node(computing), "Courses in computer science");
    let mut first = None;
    let mut second = None;
    let mut shelf = root;
    for i in 0..universities {
        // A directory page lists a hundred universities.
        if i > 0 && i % 100 == 0 {
            let page = plan.page(
                directory,
                &format!("/page{}.html", i / 100 + 1),
                Genre::Hub,
                1,
                "Universities, continued",
            );
            plan.link(shelf, page, "More universities");
            shelf = page;
        }
        let name = university(i);
        let institution = format!("{} University", upper_first(&name));
        let cs = plan.host(&format!("cs.{name}.example"), &institution);
        let dept =
            department(&mut plan, cs, DepartmentSize { courses: 14, databases: 3, faculty: 6, editions: 2 });
        let www = plan.host(&format!("www.{name}.example"), &institution);
        let home = campus(&mut plan, www, &[(dept.home, "Department of Computer Science")], filler);
        plan.nav(cs, LinkTarget::Node(home), &institution);
        plan.link(shelf, home, &institution);
        plan.link(computing, dept.courses, &format!("Computer science courses, {institution}"));
        first = first.or(Some(cs));
        if i <= 1 {
            second = Some((cs, dept.courses));
        }
    }
    let doors = plant(&mut plan, first.unwrap_or(directory));
    for (page, what) in &doors {
        plan.link(root, *page, what);
    }
    let mut homes = Vec::new();
    let catalogues: &[(&str, &str, Catalogue)] = &[
        (
            "www.dailyledger.example",
            "The Daily Ledger",
            Catalogue {
                genre: Genre::News,
                title: "The Daily Ledger",
                section: "/{s}/",
                page: "/{s}/story-{i}.html",
                pages: 15 * filler,
            },
        ),
        (
            "www.techcourier.example",
            "Tech Courier",
            Catalogue {
                genre: Genre::News,
                title: "Tech Courier",
                section: "/topics/{s}",
                page: "/2026/{i}",
                pages: 12 * filler,
            },
        ),
        (
            "jobs.careerhall.example",
            "Career Hall",
            Catalogue {
                genre: Genre::Job,
                title: "Career Hall: jobs",
                section: "/jobs/{s}/",
                page: "/job?id={i}",
                pages: 12 * filler,
            },
        ),
        (
            "shop.bytebarn.example",
            "Byte Barn",
            Catalogue {
                genre: Genre::Product,
                title: "Byte Barn",
                section: "/c/{s}",
                page: "/p/{s}/{i}",
                pages: 12 * filler,
            },
        ),
        (
            "docs.tabledb.example",
            "TableDB documentation",
            Catalogue {
                genre: Genre::Doc,
                title: "TableDB documentation",
                section: "/manual/{s}/",
                page: "/manual/{s}/{i}.html",
                pages: 12 * filler,
            },
        ),
        (
            "papers.openarchive.example",
            "Open Archive",
            Catalogue {
                genre: Genre::Paper,
                title: "Open Archive of papers",
                section: "/list/{s}",
                page: "/abs/{i}",
                pages: 12 * filler,
            },
        ),
        (
            "blog.querycat.example",
            "Query Cat",
            Catalogue {
                genre: Genre::Blog,
                title: "Query Cat, a blog",
                section: "/tag/{s}",
                page: "/2026/{s}-{i}/",
                pages: 7 * filler,
            },
        ),
        (
            "ana.notebook.example",
            "Ana's notebook",
            Catalogue {
                genre: Genre::Blog,
                title: "Ana's notebook",
                section: "/about/{s}",
                page: "/posts/{i}.html",
                pages: 7 * filler,
            },
        ),
    ];
    for (name, institution, what) in catalogues {
        let host = plan.host(name, institution);
        let (home, pages) = catalogue(&mut plan, host, what);
        if what.genre == Genre::Job {
            plan.host_mut(host, |h| {
                h.robots = Robots::Rules { disallow: vec!["/apply"], allow: Vec::new(), delay: None }
            });
            for (i, page) in pages.iter().enumerate() {
                plan.raw(*page, &format!("/apply?job={i}"), "Apply now");
            }
        }
        if what.genre == Genre::Product {
            // The same list in every order: query-string duplicates.
            for sort in ["price", "name", "rating"] {
                plan.raw(home, &format!("/?sort={sort}"), &format!("Sort by {sort}"));
            }
        }
        if what.genre == Genre::Paper {
            for (i, page) in pages.iter().enumerate().filter(|(i, _)| i % 4 == 0) {
                let pdf = plan.odd(
                    host,
                    &format!("/pdf/{}.pdf", 1000 + i),
                    Genre::Paper,
                    i % 5,
                    "Full text",
                    Quirk::Pdf,
                );
                plan.link(*page, pdf, "Full text (PDF)");
            }
        }
        homes.push((home, institution.to_string()));
    }
    teachers(&mut plan, &doors, &homes, second);
    plan
}

/// A teacher's link list: a hub into the courses, the news and the odd corners.
fn teachers(
    plan: &mut Plan,
    doors: &[(NodeId, String)],
    homes: &[(NodeId, String)],
    copied: Option<(u32, NodeId)>,
) {
    let host = plan.host("links.teachers.example", "Teachers' link list");
    let home = plan.page(host, "/", Genre::Hub, 1, "Links for teachers of computing");
    plan.nav(host, LinkTarget::Node(home), "All links");
    for (page, what) in homes {
        plan.out(home, LinkTarget::Tracked(*page), what);
    }
    for (page, what) in doors.iter().rev().take(3) {
        plan.link(home, *page, what);
    }
    if let Some((original, courses)) = copied {
        plan.out(home, LinkTarget::Tracked(courses), "A fine course list");
        let list = mirror(plan, original, courses);
        plan.link(home, list, "The same, on a mirror");
    }
    plan.raw(home, &format!("http://{}/old/lost.html", oddities::SOFT_404), "A page that is no longer there");
    plan.raw(home, "http://unknown.nowhere.example/", "A host that nobody knows");
}

fn university(i: usize) -> String {
    if let Some(name) = CAMPUS_NAMES.get(i) {
        return name.to_string();
    }
    let i = i - CAMPUS_NAMES.len();
    let (heads, tails) = (NAME_HEADS.len(), NAME_TAILS.len());
    let name = format!(
        "{}{}",
        NAME_HEADS.get(i % heads).unwrap_or(&""),
        NAME_TAILS.get(i / heads % tails).unwrap_or(&"")
    );
    let round = i / (heads * tails);
    if round == 0 { name } else { format!("{name}{round}") }
}
