//! Generated webs that change: `sim:NAME?change=…&born=…&die=…&days=…`. Pages change their text at rates of
//! their own, come and go. All of it is computed from the seed and the time: the same question gets the same
//! answer, whether the web is served or replayed.
//!
//! | knob | what it is |
//! |---|---|
//! | `change` | changes of a leaf a day, on average over all leaves |
//! | `born` | share of the leaves that come later |
//! | `die` | share of the leaves that go again |
//! | `days` | over how long they come and go |
//!
//! Rates differ by host, section, genre and page, as on the Web: three leaves in ten never change, a few do
//! several times a day. A leaf that comes is on its section's list and in its host's feed (`/feed.xml`) from
//! then on; one that went is on neither and answers 404. Links in running text are as old as the page's last
//! change.

use super::layout::{About, Place, Role, Target};
use super::{SimWeb, render};
use learn::rng::unit;
use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use types::Millis;

/// Milliseconds of a day.
pub const DAY: u64 = 86_400_000;
/// A feed has the newest pages of its host.
const NEWEST: usize = 20;
/// No page changes more often a day.
const FASTEST: f64 = 24.0;
/// Share of the leaves that never change.
const STILL: f64 = 0.3;

/// What time it is in a generated web, in milliseconds since it began. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct Clock(Arc<AtomicU64>);

impl Clock {
    /// Sets it: it may go back as well.
    pub fn set(&self, at: Millis) {
        self.0.store(at.0, Ordering::SeqCst);
    }

    /// What time it is.
    pub fn now(&self) -> Millis {
        Millis(self.0.load(Ordering::SeqCst))
    }
}

/// When a page is there. A page that never goes has `gone` at the end of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Life {
    /// It is there from now on.
    pub born: Millis,
    /// It is not there any more.
    pub gone: Millis,
}

impl Life {
    /// Is it there?
    pub fn is_at(&self, at: Millis) -> bool {
        self.born <= at && at < self.gone
    }
}

impl SimWeb {
    /// Has it a past and a future?
    pub fn is_living(&self) -> bool {
        let o = &self.layout.o;
        o.change > 0.0 || o.born > 0.0 || o.die > 0.0
    }

    /// When page `id` is there. Lists and tunnels always are: they are what makes the rest reachable.
    pub fn life(&self, id: u32) -> Life {
        let (o, always) = (&self.layout.o, Life { born: Millis(0), gone: Millis::NEVER });
        if (o.born <= 0.0 && o.die <= 0.0) || self.layout.about(id).role != Role::Leaf {
            return always;
        }
        let draw = |kind: u64| unit(self.layout.hash(kind, u64::from(id), 0));
        let span = o.days * DAY as f64;
        // Some sections are written on, others hardly.
        let busy = 2.0 * unit(self.layout.hash(80, u64::from(self.layout.section_of(id)), 0));
        let born = if draw(81) < o.born * busy { 1 + (draw(82) * span) as u64 } else { 0 };
        let gone = match draw(83) < o.die {
            true => Millis(born + DAY / 4 + (draw(84) * span) as u64),
            false => Millis::NEVER,
        };
        Life { born: Millis(born), gone }
    }

    /// Changes of a page a day.
    pub fn change_rate(&self, id: u32) -> f64 {
        let (l, a) = (&self.layout, self.layout.about(id));
        if l.o.change <= 0.0 || a.role != Role::Leaf || unit(l.hash(85, u64::from(id), 0)) < STILL {
            return 0.0;
        }
        let host = l.section(a.section).host;
        let spread = spread(l.hash(86, u64::from(host), 0), 0.8)
            * spread(l.hash(87, u64::from(a.section), 0), 0.6)
            * spread(l.hash(88, u64::from(a.genre), 0), 0.4)
            * spread(l.hash(89, u64::from(id), 0), 0.9);
        (l.o.change * spread / (1.0 - STILL)).min(FASTEST)
    }

    /// Times at which a page changes, in order, without an end: a Poisson process. None if it never does.
    pub fn change_times(&self, id: u32) -> impl Iterator<Item = Millis> + '_ {
        let (rate, born) = (self.change_rate(id), self.life(id).born.0 as f64);
        let gap =
            move |n: u64| -libm::log(1.0 - unit(self.layout.hash(90, u64::from(id), n))) / rate * DAY as f64;
        let times = (0u64..).scan(born, move |at, n| {
            *at += gap(n);
            Some(Millis(*at as u64))
        });
        times.take(if rate > 0.0 { usize::MAX } else { 0 })
    }

    /// How often a page has changed by then, and when last (else: when it came).
    pub fn version(&self, id: u32, at: Millis) -> (u32, Millis) {
        let before = self.change_times(id).take_while(|t| *t <= at);
        before.fold((0, self.life(id).born), |(n, _), t| (n + 1, t))
    }

    /// The pages that a page links to at a time, in page order; of those that are there or, in running text,
    /// were there when it was written.
    pub fn links_at(&self, id: u32, at: Millis) -> Vec<u32> {
        let links = self.links_of(&self.layout.about(id), at);
        let page = |(_, target)| match target {
            Target::Page(page) | Target::Moved(page) => Some(page),
            Target::Gone(_) | Target::Trap(_) => None,
        };
        links.into_iter().filter_map(page).collect()
    }

    pub(super) fn links_of(&self, a: &About, at: Millis) -> Vec<(Place, Target)> {
        let mut links = self.layout.links(a);
        if !self.is_living() {
            return links;
        }
        let written = if a.role == Role::Leaf { self.version(a.id, at).1 } else { at };
        links.retain(|(place, target)| {
            let (Target::Page(to) | Target::Moved(to)) = target else { return true };
            let when = if *place == Place::List { at } else { written };
            self.life(*to).is_at(when)
        });
        links
    }

    /// The newest pages of a host at a time, newest first: what its feed has.
    pub fn newest(&self, host: u32, at: Millis) -> Vec<u32> {
        let Some(h) = self.layout.hosts.get(host as usize) else { return Vec::new() };
        let last = self.layout.section(h.first_section + h.sections.saturating_sub(1));
        let pages = self.layout.section(h.first_section).start..last.start + last.len;
        let here = |id: u32| Some((self.life(id), id)).filter(|(life, _)| life.born.0 > 0 && life.is_at(at));
        let mut born: Vec<(Life, u32)> = pages.filter_map(here).collect();
        born.sort_by_key(|(life, id)| (std::cmp::Reverse(life.born), *id));
        born.into_iter().take(NEWEST).map(|(_, id)| id).collect()
    }

    /// The host of a page.
    pub fn host_of_page(&self, id: u32) -> u32 {
        self.layout.section(self.layout.section_of(id)).host
    }

    /// The feed of a host, as RSS.
    pub(super) fn feed(&self, host: u32, at: Millis) -> String {
        let name = self.host_name(host);
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<rss version=\"2.0\"><channel><title>{name}</title>\
             <link>http://{name}/</link><description>New pages</description>\n"
        );
        for id in self.newest(host, at) {
            let (title, link) = (render::title(self, &self.layout.about(id)), self.address(id));
            let _ = writeln!(
                out,
                "<item><title>{}</title><link>{}</link></item>",
                render::escape(&title),
                render::escape(&link)
            );
        }
        out.push_str("</channel></rss>\n");
        out
    }
}

/// A factor with mean 1 whose logarithm has this deviation, about.
fn spread(hash: u64, deviation: f64) -> f64 {
    // The sum of twelve uniform numbers is nearly normal.
    let normal = (0..12).map(|i| unit(learn::rng::mix(hash ^ i))).sum::<f64>() - 6.0;
    libm::exp(deviation * normal - deviation * deviation / 2.0)
}
