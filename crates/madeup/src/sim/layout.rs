//! Where everything is in a generated web: hosts, sections, pages, their subjects, and which page links
//! where.
//!
//! Only hosts and sections (about one per forty pages) are kept in tables; every property of a page is
//! computed from the seed and its number when somebody asks.
//!
//! Sections stand on a *ring* of meaning: neighbours on the ring are about similar things and link to each
//! other. Hosts occupy mostly one stretch of it. The topic has centres on the ring; its density falls by
//! `locality` with every step away from the nearest one.

use super::options::Options;
use super::words::{GENRES, RELATED, SUBJECTS};
use learn::rng::{mix, unit};

#[derive(Clone, Copy, Debug)]
pub struct Section {
    /// First page; the section's list.
    pub start: u32,
    pub len: u32,
    pub host: u32,
    /// Place on the ring.
    pub ring: u32,
    pub subject: u8,
    pub genre: u8,
    pub language: u8,
    /// Number of the nearest centre of the topic: decides the dialect under drift.
    pub centre: u16,
    /// Share of its pages that are relevant.
    pub density: f32,
}

#[derive(Clone, Copy, Debug)]
pub struct Host {
    pub first_section: u32,
    pub sections: u32,
    pub trapped: bool,
}

pub struct Layout {
    pub o: Options,
    pub sections: Vec<Section>,
    pub hosts: Vec<Host>,
    /// Section at each place of the ring.
    ring: Vec<u32>,
}

/// What a page is, computed on demand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct About {
    /// Number of the page in its web.
    pub id: u32,
    /// Number of its section; a host has several.
    pub section: u32,
    /// Place in its section; 0 is the list.
    pub place: u32,
    /// What the page is for.
    pub role: Role,
    /// Number of its subject.
    pub subject: u8,
    /// Number of its genre.
    pub genre: u8,
    /// Number of its language; the topic is in 0.
    pub language: u8,
    /// Is it what the topic asks for?
    pub relevant: bool,
    /// The page it nearly repeats.
    pub copy_of: Option<u32>,
}

/// What a generated page is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The first page of a host: it links to the sections.
    Home,
    /// The first page of a section: it links to the others.
    List,
    /// The n-th page of a tunnel, from 1.
    Tunnel(u32),
    /// Has the content.
    Leaf,
}

/// Where a link leads.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    Page(u32),
    /// An old address that redirects to the page.
    Moved(u32),
    /// An address where nothing is.
    Gone(u32),
    /// Into a trap of the host: path and query.
    Trap(String),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    Nav,
    /// The list of a section.
    List,
    /// Inside running text.
    Content,
    /// "Related" at the end.
    Aside,
}

const AVERAGE: u32 = 40;
/// Lists of sections form a tree of this width on each host.
const FAN: u32 = 8;

impl Layout {
    pub fn new(o: Options) -> Layout {
        let seed = o.seed;
        let hash = |a: u64, b: u64| mix(mix(seed ^ a.wrapping_mul(0xa076_1d64_78bd_642f)) ^ b);
        // Sections of 20–60 pages, dealt out to hosts of very different sizes.
        let hosts = o.hosts.max(1);
        let weight = |h: u32| {
            let rank = hash(1, h as u64) % hosts as u64;
            1.0 / libm::pow(rank as f64 + 3.0, 0.7)
        };
        let total: f64 = (0..hosts).map(weight).sum();
        let (mut sections, mut list): (Vec<Section>, Vec<Host>) = (Vec::new(), Vec::new());
        let (mut start, mut owed) = (0u32, 0.0);
        for h in 0..hosts {
            let first_section = sections.len() as u32;
            owed += weight(h) / total * o.pages as f64;
            // Every host has at least a few pages; the last one takes what is left.
            let left = o.pages - start;
            let others = (hosts - h - 1).saturating_mul(4);
            let end = if h + 1 == hosts {
                o.pages
            } else {
                (owed as u32).clamp(start + 4, start + left.saturating_sub(others).max(4)).min(o.pages)
            };
            while start < end {
                let size = AVERAGE / 2 + (hash(2, sections.len() as u64) % AVERAGE as u64) as u32;
                let rest = end - start;
                // No crumbs: a short rest joins the section before the end.
                let len = if rest < size + AVERAGE / 2 { rest } else { size };
                sections.push(Section {
                    start,
                    len,
                    host: h,
                    ring: 0,
                    subject: 0,
                    genre: 0,
                    language: 0,
                    centre: 0,
                    density: 0.0,
                });
                start += len;
            }
            let trapped = unit(hash(3, h as u64)) < o.traps;
            list.push(Host { first_section, sections: sections.len() as u32 - first_section, trapped });
        }
        let mut layout = Layout { o, sections, hosts: list, ring: Vec::new() };
        layout.place_on_ring();
        layout.spread_topic();
        layout
    }

    /// A random number that belongs to `(kind, a, b)`.
    pub fn hash(&self, kind: u64, a: u64, b: u64) -> u64 {
        let k = mix(self.o.seed ^ kind.wrapping_mul(0xa076_1d64_78bd_642f));
        mix(mix(k ^ a.wrapping_mul(0x9e37_79b9_7f4a_7c15)) ^ b.wrapping_mul(0xd6e8_feb8_6659_fd93))
    }

    fn chance(&self, kind: u64, a: u64, b: u64, p: f64) -> bool {
        unit(self.hash(kind, a, b)) < p
    }

    fn place_on_ring(&mut self) {
        let key = |l: &Layout, s: usize| {
            let host = l.sections.get(s).map_or(0, |s| s.host) as u64;
            unit(l.hash(10, host, 0)) + 0.12 * unit(l.hash(11, s as u64, 0))
        };
        let mut ring: Vec<(f64, u32)> = (0..self.sections.len()).map(|s| (key(self, s), s as u32)).collect();
        ring.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
        self.ring = ring.into_iter().map(|(_, s)| s).collect();
        for (place, &s) in self.ring.iter().enumerate() {
            if let Some(section) = self.sections.get_mut(s as usize) {
                section.ring = place as u32;
            }
        }
    }

    fn spread_topic(&mut self) {
        let places = self.ring.len() as u64;
        let wanted = self.o.topic_share * self.o.pages as f64;
        let centres = ((wanted / self.o.cluster).ceil() as u64).clamp(1, places.max(1));
        // Centres in regular distances with some play.
        let stride = places as f64 / centres as f64;
        let mut at: Vec<f64> =
            (0..centres).map(|c| (c as f64 + 0.15 + 0.7 * unit(self.hash(20, c, 0))) * stride).collect();
        at.sort_by(f64::total_cmp);
        let nearest = |place: f64| {
            let i = at.partition_point(|c| *c < place);
            let gap = |j: usize| at.get(j).map(|c| ((c - place).abs(), j));
            let wrapped = [gap(i), i.checked_sub(1).and_then(gap)].into_iter().flatten();
            wrapped.min_by(|a, b| a.0.total_cmp(&b.0)).unwrap_or((f64::MAX, 0))
        };
        let mut strength = vec![0.0; self.sections.len()];
        for (s, strength) in strength.iter_mut().enumerate() {
            let place = self.sections[s].ring as f64;
            let (distance, centre) = nearest(place);
            let steps = libm::floor(distance);
            let left = libm::pow(self.o.locality.max(1e-9), steps);
            let block = self.hash(21, self.sections[s].ring as u64 / 9, 0);
            let (h22, h23, h24) =
                (self.hash(22, s as u64, 0), self.hash(23, s as u64, 0), self.hash(24, s as u64, 0));
            let section = &mut self.sections[s];
            section.centre = centre as u16;
            let far = SUBJECTS.len() as u64 - 1 - RELATED;
            section.subject = if left > 0.4 {
                0
            } else if left > 0.02 {
                1 + (block % RELATED) as u8
            } else {
                (1 + RELATED + block % far) as u8
            };
            // Sections about the topic are in its language; others in any.
            let foreign = self.o.languages > 1 && unit(h22) < 0.4 && left <= 0.6;
            section.language = if foreign { (1 + h23 % (self.o.languages as u64 - 1)) as u8 } else { 0 };
            section.genre = (1 + h24 % (GENRES.len() as u64 - 1)) as u8;
            let room = section.len.saturating_sub(1 + self.o.tunnel);
            *strength = if section.language == 0 && room > 0 && left > 1e-4 { left } else { 0.0 };
        }
        // The factor that makes the expected number of relevant pages what was asked for.
        let expected = |k: f64| -> f64 {
            self.sections
                .iter()
                .zip(&strength)
                .map(|(s, w)| (w * k).min(0.9) * s.len.saturating_sub(1 + self.o.tunnel) as f64)
                .sum()
        };
        let (mut low, mut high) = (0.0, 1e6);
        for _ in 0..100 {
            let k = (low + high) / 2.0;
            if expected(k) < wanted { low = k } else { high = k }
        }
        for (section, w) in self.sections.iter_mut().zip(&strength) {
            section.density = (w * low).min(0.9) as f32;
        }
    }

    pub fn section_of(&self, id: u32) -> u32 {
        (self.sections.partition_point(|s| s.start <= id) as u32).saturating_sub(1)
    }

    pub fn section(&self, s: u32) -> Section {
        self.sections[(s as usize).min(self.sections.len() - 1)]
    }

    pub fn about(&self, id: u32) -> About {
        let section = self.section_of(id);
        let s = self.section(section);
        let place = id.saturating_sub(s.start);
        let tunnel = if s.density > 0.0 { self.o.tunnel.min(s.len.saturating_sub(2)) } else { 0 };
        let first = self.hosts.get(s.host as usize).map_or(0, |h| h.first_section);
        let role = match place {
            0 if section == first => Role::Home,
            0 => Role::List,
            p if p <= tunnel => Role::Tunnel(p),
            _ => Role::Leaf,
        };
        let is = |kind: u64, p: f64| self.chance(kind, id as u64, 0, p);
        if role == Role::Leaf && place > tunnel + 2 && is(30, self.o.duplicates) {
            let earlier = tunnel + 1 + (self.hash(31, id as u64, 0) % (place - tunnel - 1) as u64) as u32;
            // A copy of a copy is a copy of its original: one step back is enough to be told.
            let original = self.about(s.start + earlier);
            let of = original.copy_of.unwrap_or(original.id);
            return About { id, section, place, role, copy_of: Some(of), ..self.about(of) };
        }
        let relevant = role == Role::Leaf && is(32, s.density as f64);
        let pick = |kind: u64, n: u64| self.hash(kind, id as u64, 0) % n;
        let subject = match role {
            _ if relevant => 0,
            Role::Home => s.subject,
            Role::List => s.subject,
            // A tunnel shows nothing of what is behind it.
            Role::Tunnel(_) => (1 + RELATED + pick(33, SUBJECTS.len() as u64 - 1 - RELATED)) as u8,
            Role::Leaf if is(34, 0.75) => s.subject,
            Role::Leaf => pick(35, SUBJECTS.len() as u64) as u8,
        };
        let mut genre = match role {
            _ if relevant => 0,
            Role::Leaf if is(36, 0.6) => s.genre,
            Role::Leaf => pick(37, GENRES.len() as u64) as u8,
            _ => 3,
        };
        if genre == 0 && subject == 0 && !relevant {
            // On the subject, but another genre: that is what makes the topic hard.
            genre = (1 + pick(38, GENRES.len() as u64 - 1)) as u8;
        }
        About {
            id,
            section,
            place,
            role,
            subject,
            genre,
            language: if relevant { 0 } else { s.language },
            relevant,
            copy_of: None,
        }
    }

    /// Every link of a page, in page order.
    pub fn links(&self, a: &About) -> Vec<(Place, Target)> {
        let mut out = Vec::new();
        let s = self.section(a.section);
        let Some(host) = self.hosts.get(s.host as usize).copied() else { return out };
        let home = self.section(host.first_section).start;
        let id = a.id as u64;
        // Lists and tunnels are what makes everything reachable: their links hold.
        let solid = a.role != Role::Leaf;
        let mut add = |place: Place, page: u32| {
            if page != a.id {
                out.push((place, self.detour(id, page, solid)));
            }
        };
        // Template: the same on every page of the host.
        add(Place::Nav, home);
        for i in 1..=self.o.nav.min(host.sections.saturating_sub(1)) {
            add(Place::Nav, self.section(host.first_section + i).start);
        }
        // Small hosts fill their template with single pages.
        let few = self.o.nav.saturating_sub(host.sections.saturating_sub(1));
        for i in 1..=few.min(6).min(self.section(host.first_section).len.saturating_sub(1)) {
            let page = self.about(home + i);
            if !page.relevant && page.role == Role::Leaf {
                add(Place::Nav, home + i);
            }
        }
        if a.role != Role::Home {
            add(Place::Nav, s.start);
        }
        match a.role {
            Role::Home | Role::List => self.list_links(a, &s, &host, &mut add),
            Role::Tunnel(n) => {
                let tunnel = self.o.tunnel.min(s.len.saturating_sub(2));
                if n < tunnel {
                    add(Place::Content, s.start + n + 1);
                } else {
                    for p in tunnel + 1..s.len {
                        let page = s.start + p;
                        if self.about(page).relevant {
                            add(Place::List, page);
                        }
                    }
                }
                for i in 0..3 {
                    add(Place::Content, self.anywhere(id, i));
                }
            }
            Role::Leaf => self.leaf_links(a, &s, &mut add),
        }
        if host.trapped {
            self.trap_doors(a, &mut out);
        }
        out
    }

    fn list_links(&self, a: &About, s: &Section, host: &Host, add: &mut dyn FnMut(Place, u32)) {
        let local = a.section - host.first_section;
        for child in local * FAN + 1..=local * FAN + FAN {
            if child < host.sections {
                add(Place::List, self.section(host.first_section + child).start);
            }
        }
        let hidden = self.o.tunnel > 0 && s.density > 0.0;
        for p in 1..s.len {
            let page = s.start + p;
            let about = self.about(page);
            let shown = match about.role {
                Role::Tunnel(n) => n == 1,
                _ => !(hidden && about.relevant),
            };
            if shown {
                add(Place::List, page);
            }
        }
        // Neighbours in meaning, and one or two places far away.
        for step in [1i64, -1, 2, -2] {
            add(Place::Aside, self.section(self.on_ring(s.ring, step)).start);
        }
        for i in 0..1 + self.hash(40, a.id as u64, 0) % 2 {
            let far = self.hash(41, a.id as u64, i) % self.sections.len() as u64;
            add(Place::Aside, self.section(far as u32).start);
        }
    }

    fn leaf_links(&self, a: &About, s: &Section, add: &mut dyn FnMut(Place, u32)) {
        let id = a.id as u64;
        let count = 2 + self.hash(42, id, 0) % 6;
        for i in 0..count {
            let u = unit(self.hash(43, id, i));
            let close = a.relevant || a.subject == 0;
            if close && u < self.o.cite {
                // Somewhere near by, to a relevant page if one of a few tries hits one.
                let near = self.section(self.on_ring(s.ring, self.hop(id, i)));
                let tries = (0..6).map(|t| self.in_section(&near, self.hash(44, id, i * 8 + t)));
                let found = tries.clone().find(|p| self.about(*p).relevant);
                if let Some(page) = found.or_else(|| tries.clone().next()) {
                    add(Place::Content, page);
                }
            } else if u < self.o.cite + (1.0 - self.o.cite) * 0.4 {
                let page = self.in_section(s, self.hash(45, id, i));
                if !self.is_avoided(a, page) {
                    add(Place::Content, page);
                }
            } else if u < self.o.cite + (1.0 - self.o.cite) * 0.7 {
                let near = self.section(self.on_ring(s.ring, self.hop(id, i)));
                let page = if i % 3 == 0 { near.start } else { self.in_section(&near, self.hash(46, id, i)) };
                if !self.is_avoided(a, page) {
                    add(Place::Content, page);
                }
            } else {
                add(Place::Content, self.anywhere(id, i));
            }
        }
    }

    /// Where relevant pages do not cite each other, they do not do it by chance either.
    fn is_avoided(&self, from: &About, page: u32) -> bool {
        self.is_hidden(page) || self.o.cite == 0.0 && from.relevant && self.about(page).relevant
    }

    /// Relevant pages of a web with tunnels are found through them (or by a citation), not by chance.
    fn is_hidden(&self, page: u32) -> bool {
        self.o.tunnel > 0
            && (self.about(page).relevant || matches!(self.about(page).role, Role::Tunnel(n) if n > 1))
    }

    /// A page far away that gives nothing away: a list, or an irrelevant page.
    fn anywhere(&self, id: u64, i: u64) -> u32 {
        let page = (self.hash(47, id, i) % self.o.pages as u64) as u32;
        let a = self.about(page);
        if a.relevant || matches!(a.role, Role::Tunnel(_)) { self.section(a.section).start } else { page }
    }

    /// Steps on the ring: mostly few.
    fn hop(&self, id: u64, i: u64) -> i64 {
        let h = self.hash(48, id, i);
        let steps = (h % 64).trailing_zeros().min(4) as i64;
        if h >> 32 & 1 == 0 { steps } else { -steps }
    }

    fn on_ring(&self, place: u32, steps: i64) -> u32 {
        let n = self.ring.len() as i64;
        let at = (place as i64 + steps).rem_euclid(n.max(1));
        self.ring.get(at as usize).copied().unwrap_or(0)
    }

    fn in_section(&self, s: &Section, hash: u64) -> u32 {
        s.start + (hash % s.len.max(1) as u64) as u32
    }

    /// Some links take the old address; some, unless `solid`, lead nowhere.
    fn detour(&self, from: u64, page: u32, solid: bool) -> Target {
        let u = unit(self.hash(49, from, page as u64));
        if u < self.o.broken && !solid {
            Target::Gone(page)
        } else if u >= self.o.broken && u < self.o.broken + self.o.redirects {
            Target::Moved(page)
        } else {
            Target::Page(page)
        }
    }

    fn trap_doors(&self, a: &About, out: &mut Vec<(Place, Target)>) {
        let h = self.hash(50, a.id as u64, 0);
        match h % 3 {
            0 => out.push((
                Place::Nav,
                Target::Trap(format!("/calendar/{}/{:02}/", 1990 + h / 8 % 60, 1 + h / 512 % 12)),
            )),
            1 => out.push((Place::Nav, Target::Trap(format!("/browse?sort=name&page={}", 1 + h / 8 % 50)))),
            _ => out.push((Place::Nav, Target::Trap("/loop/here/".to_string()))),
        }
    }
}
