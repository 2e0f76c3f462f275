//! The link graph of the generated web: hosts, pages, links and what is odd about them. No text yet: a page's
//! words are written when it is asked for, so that a plan of a hundred thousand pages stays small.

use super::text::{Genre, Rng};
use std::collections::HashMap;

pub type HostId = u32;
pub type NodeId = u32;

#[derive(Clone, Debug, Default)]
pub struct Plan {
    pub seed: u64,
    pub hosts: Vec<Host>,
    pub nodes: Vec<Node>,
    // Looked up only, never iterated: a map's order must not reach an answer.
    host_by_name: HashMap<String, HostId>,
    node_by_path: HashMap<(HostId, String), NodeId>,
}

#[derive(Clone, Debug)]
pub struct Host {
    pub name: String,
    /// Who runs it, for people: `Northfield University`.
    pub institution: String,
    pub layout: Layout,
    /// The navigation that stands on every page of the host.
    pub nav: Vec<OutLink>,
    pub robots: Robots,
    /// Pages named in `sitemap.xml`.
    pub sitemap: Vec<NodeId>,
    /// Answers take between these many milliseconds.
    pub slow: Option<(u64, u64)>,
    pub manner: Manner,
    pub gzip: bool,
}

/// How the pages of a host are marked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// `header`, `nav`, `main`, `footer`.
    Modern,
    /// `div`s with classes.
    Divs,
    /// Tables, upper-case tags, unclosed `li` and `p`.
    Nineties,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Robots {
    Rules {
        disallow: Vec<&'static str>,
        allow: Vec<&'static str>,
        delay: Option<u32>,
    },
    /// 404: everything is allowed.
    Missing,
    /// 503: everything is forbidden.
    Unavailable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Manner {
    Plain,
    /// The first requests are answered 429 with `Retry-After: 1`.
    BusyAtFirst(u32),
    /// Unknown pages answer 200 with an apology.
    SoftNotFound,
    Trap(Trap),
}

/// Hosts without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Trap {
    /// A month links to the months around it and to its days.
    Calendar,
    /// Every page hands out a new session id in its links' paths.
    Sessions,
    /// Folders in folders in folders.
    Depths,
}

#[derive(Clone, Debug)]
pub struct Node {
    pub host: HostId,
    pub path: String,
    pub title: String,
    pub genre: Genre,
    pub subject: usize,
    pub language: Option<usize>,
    pub links: Vec<OutLink>,
    pub copy: CopyOf,
    pub quirk: Quirk,
    /// `<meta name="robots">`.
    pub noindex: bool,
    pub nofollow: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyOf {
    No,
    /// The same bytes as another page.
    Exactly(NodeId),
    /// The text of another page with a few words changed (an earlier year's edition).
    Nearly(NodeId),
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutLink {
    pub to: LinkTarget,
    pub anchor: String,
    pub nofollow: bool,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkTarget {
    Node(NodeId),
    /// The same page, with tracking parameters.
    Tracked(NodeId),
    /// Any `href`, written as it is: `mailto:`, traps, dead links.
    Raw(String),
}

impl LinkTarget {
    pub fn node(&self) -> Option<NodeId> {
        match self {
            LinkTarget::Node(n) | LinkTarget::Tracked(n) => Some(*n),
            LinkTarget::Raw(_) => None,
        }
    }
}

/// What is odd about a page's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quirk {
    None,
    /// `</p>`s, `</li>`s and quotes missing, `<` in the text.
    Unclosed,
    /// `<b><i></b></i>`, a table in a paragraph, a form around everything.
    WrongNesting,
    /// Latin-1 bytes, declared by `meta` only.
    Latin1,
    /// Latin-1 bytes, declared UTF-8 by the header.
    Latin1AsUtf8,
    /// UTF-8 bytes, declared Latin-1 by `meta`.
    Utf8AsLatin1,
    Empty,
    /// Three megabytes.
    Huge,
    /// `<base href>`: the links are relative to another folder.
    Base,
    /// A frameset: the links are frames.
    Frames,
    /// `<meta http-equiv="refresh">` to the first link.
    Refresh,
    /// `status`, and `Location` as it is sent (`None`: the header is missing). The first link is where it
    /// leads.
    Redirect(u16, Option<String>),
    Status(u16),
    /// 503 the first time, fine later.
    FailsOnce,
    /// The connection breaks in the middle of the body.
    Cut,
    /// The connection is closed without an answer.
    Drop,
    Pdf,
    Image,
    /// A picture that says it is HTML.
    LyingType,
}

impl Plan {
    pub fn new(seed: u64) -> Plan {
        Plan { seed, ..Plan::default() }
    }

    pub fn host(&mut self, name: &str, institution: &str) -> HostId {
        if let Some(&id) = self.host_by_name.get(name) {
            return id;
        }
        let id = self.hosts.len() as HostId;
        let mut rng = Rng::named(self.seed, name);
        let layout = match rng.below(4) {
            0 => Layout::Nineties,
            1 => Layout::Divs,
            _ => Layout::Modern,
        };
        self.hosts.push(Host {
            name: name.to_string(),
            institution: institution.to_string(),
            layout,
            nav: Vec::new(),
            robots: Robots::Rules { disallow: vec!["/cgi-bin/"], allow: Vec::new(), delay: None },
            sitemap: Vec::new(),
            slow: None,
            manner: Manner::Plain,
            gzip: rng.below(3) == 0,
        });
        self.host_by_name.insert(name.to_string(), id);
        id
    }

    /// A page; a path that is taken gets a number, so that every page has a URL of its own.
    pub fn page(&mut self, host: HostId, path: &str, genre: Genre, subject: usize, title: &str) -> NodeId {
        let id = self.nodes.len() as NodeId;
        let wanted = path;
        let split = wanted.rfind(['.', '/']).unwrap_or(wanted.len());
        let (stem, end) = wanted.split_at(split);
        let mut path = wanted.to_string();
        let mut n = 1;
        while self.node_by_path.contains_key(&(host, path.clone())) {
            n += 1;
            path = format!("{stem}-{n}{end}");
        }
        self.node_by_path.insert((host, path.clone()), id);
        self.nodes.push(Node {
            host,
            path,
            title: title.to_string(),
            genre,
            subject,
            language: None,
            links: Vec::new(),
            copy: CopyOf::No,
            quirk: Quirk::None,
            noindex: false,
            nofollow: false,
        });
        id
    }

    /// Same, with something odd about it.
    pub fn odd(
        &mut self,
        host: HostId,
        path: &str,
        genre: Genre,
        subject: usize,
        title: &str,
        quirk: Quirk,
    ) -> NodeId {
        let id = self.page(host, path, genre, subject, title);
        self.node_mut(id, |n| n.quirk = quirk);
        id
    }

    pub fn node_mut(&mut self, id: NodeId, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get_mut(id as usize) {
            change(node);
        }
    }
    pub fn host_mut(&mut self, id: HostId, change: impl FnOnce(&mut Host)) {
        if let Some(host) = self.hosts.get_mut(id as usize) {
            change(host);
        }
    }

    pub fn link(&mut self, from: NodeId, to: NodeId, anchor: &str) {
        self.out(from, LinkTarget::Node(to), anchor);
    }
    /// With the target's title as the anchor.
    pub fn list(&mut self, from: NodeId, to: NodeId) {
        let title = self.nodes.get(to as usize).map_or(String::new(), |n| n.title.clone());
        self.out(from, LinkTarget::Node(to), &title);
    }
    pub fn raw(&mut self, from: NodeId, href: &str, anchor: &str) {
        self.out(from, LinkTarget::Raw(href.to_string()), anchor);
    }
    pub fn out(&mut self, from: NodeId, to: LinkTarget, anchor: &str) {
        self.node_mut(from, |n| n.links.push(OutLink { to, anchor: anchor.to_string(), nofollow: false }));
    }
    pub fn nav(&mut self, host: HostId, to: LinkTarget, anchor: &str) {
        self.host_mut(host, |h| h.nav.push(OutLink { to, anchor: anchor.to_string(), nofollow: false }));
    }

    pub fn find_host(&self, name: &str) -> Option<HostId> {
        self.host_by_name.get(name).copied()
    }
    pub fn find(&self, host: HostId, path: &str) -> Option<NodeId> {
        // Paths are short; a lookup per request may allocate.
        self.node_by_path.get(&(host, path.to_string())).copied()
    }

    /// The page's URL.
    pub fn url(&self, id: NodeId) -> String {
        let Some(node) = self.nodes.get(id as usize) else { return String::new() };
        let host = self.hosts.get(node.host as usize).map_or("", |h| h.name.as_str());
        format!("http://{host}{}", node.path)
    }
}

impl Robots {
    /// Is this path allowed to everybody's robots? The longest rule wins, `Allow` on a tie (RFC 9309).
    pub fn allows(&self, path: &str) -> bool {
        match self {
            Robots::Missing => true,
            Robots::Unavailable => false,
            Robots::Rules { disallow, allow, .. } => {
                let longest =
                    |rules: &[&str]| rules.iter().filter(|r| path.starts_with(**r)).map(|r| r.len()).max();
                longest(allow) >= longest(disallow)
            }
        }
    }
}
