//! Brings ledgers together in a new one: all of one, a part of one, or several. Every URL gets a number of
//! its own there; what refers to it is written with that number. The ledgers are only read.
//!
//! | a URL in several ledgers | what becomes of it |
//! |---|---|
//! | a page in more than one | one page; every version, the oldest first |
//! | a page in one of them | that page |
//! | answered otherwise in one, waiting in another | as it was answered |
//! | waiting in one, given up unasked in another | waits |
//! | waiting in several | waits, with the best priority |

use super::codec::{self, Admit, FRAME_HEAD, Kind, Out, Seen, Settled, Sight};
use super::log::LOG;
use super::mark::{LAST, MARK, Mark};
use super::query::Link;
use super::{FileLog, Ledger, page, random_key};
use crate::files;
use crate::traits::{Records, Which};
use frontier::{Clock, Info, SOURCES_KEPT, State};
use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::{BufWriter, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use types::{
    ArchiveRef, Fingerprint, LinkKind, Millis, Outcome, Priority, Problem, Record, Rescored, StateKey, UrlId,
};

/// A frame is closed when it has grown to this.
const FRAME: usize = 4 << 20;
/// No number.
const NOT_TAKEN: u32 = u32::MAX;

/// Does a URL come along?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Take {
    /// No, and nothing refers to it.
    No,
    /// As it is.
    Yes,
    /// Its address only, as out of scope: it was removed.
    Address,
}

/// A ledger with what is taken of it.
pub struct Part<'a> {
    /// Read to its last commit.
    pub ledger: &'a Ledger<FileLog>,
    /// For each URL, by its number.
    pub takes: Vec<Take>,
}

/// A version of a page as it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlacedVersion {
    /// Its number in the new ledger.
    pub id: UrlId,
    /// Which ledger it comes from.
    pub part: usize,
    /// Its number there.
    pub was: UrlId,
    /// When it was fetched.
    pub fetched: Millis,
    /// Of its payload.
    pub digest: String,
    /// Its URL was fetched in several ledgers.
    pub shared: bool,
    /// It asks not to be indexed.
    pub noindex: bool,
    /// Its answer was archived, and is in no archive now.
    pub lost: bool,
}

/// Ledgers with the numbers that their URLs get.
pub struct Gather<'a> {
    parts: Vec<Part<'a>>,
    /// Of each part, the new number of every URL.
    numbers: Vec<Vec<u32>>,
    /// Of each new number, the part where it was found first and its number there.
    first: Vec<(usize, UrlId)>,
    /// The other parts that have it.
    more: HashMap<UrlId, Vec<(usize, UrlId)>>,
}

impl<'a> Gather<'a> {
    /// Numbers the URLs that come along: part by part, in the order they were found.
    pub fn new(parts: Vec<Part<'a>>) -> Result<Gather<'a>, Problem> {
        let mut gather =
            Gather { parts: Vec::new(), numbers: Vec::new(), first: Vec::new(), more: HashMap::new() };
        let mut known: HashMap<Fingerprint, UrlId> = HashMap::new();
        let key = random_key();
        for (n, part) in parts.iter().enumerate() {
            let mut numbers = vec![NOT_TAKEN; part.takes.len()];
            for (i, number) in numbers.iter_mut().enumerate() {
                if part.takes.get(i).is_none_or(|t| *t == Take::No) {
                    continue;
                }
                let was = UrlId(i as u32);
                let print = part.ledger.url(was)?.fingerprint(key);
                let next = UrlId(gather.first.len() as u32);
                let id = *known.entry(print).or_insert(next);
                if id == next {
                    gather.first.push((n, was));
                } else {
                    gather.more.entry(id).or_default().push((n, was));
                }
                *number = id.0;
            }
            gather.numbers.push(numbers);
        }
        gather.parts = parts;
        Ok(gather)
    }

    /// The number that a URL of a part gets.
    pub fn number(&self, part: usize, id: UrlId) -> Option<UrlId> {
        let number = *self.numbers.get(part)?.get(id.0 as usize)?;
        (number != NOT_TAKEN).then_some(UrlId(number))
    }

    /// The same of a URL of which more than the address comes along.
    pub fn kept(&self, part: usize, id: UrlId) -> Option<UrlId> {
        self.number(part, id).filter(|_| self.take(part, id) == Take::Yes)
    }

    /// URLs that come along.
    pub fn urls(&self) -> u64 {
        self.first.len() as u64
    }

    fn take(&self, part: usize, id: UrlId) -> Take {
        let take = self.parts.get(part).and_then(|p| p.takes.get(id.0 as usize));
        take.copied().unwrap_or(Take::No)
    }

    fn ledger(&self, part: usize) -> Option<&'a Ledger<FileLog>> {
        self.parts.get(part).map(|p| p.ledger)
    }

    /// Every ledger that has a URL, with its number there.
    fn owners(&self, id: UrlId) -> impl Iterator<Item = (usize, UrlId)> + '_ {
        let more = self.more.get(&id).into_iter().flatten();
        self.first.get(id.0 as usize).into_iter().chain(more).copied()
    }

    /// Begins the new ledger in a folder that has none.
    pub fn begin(&self, to: &Path) -> Result<Gathering<'_, 'a>, Problem> {
        let path = to.join(LOG);
        let file = files::create_new(&path).map_err(|e| Problem::io("create", &path, &e))?;
        let steps = self.parts.iter().map(|p| p.ledger.order.step()).sum();
        let mut new = Gathering {
            gather: self,
            out: BufWriter::with_capacity(1 << 20, file),
            path,
            base: 0,
            batch: vec![0; FRAME_HEAD],
            last: Vec::new(),
            at: Vec::with_capacity(self.first.len()),
            hosts: HashMap::new(),
            rescored: Vec::new(),
            host_of: Vec::with_capacity(self.first.len()),
            per_host: HashMap::new(),
            versions: 0,
            steps,
        };
        let key = random_key();
        new.put(Kind::Meta, |o| {
            o.u32(codec::FORMAT);
            o.u64(key.0);
            o.u64(key.1);
        });
        Ok(new)
    }
}

/// A new ledger that is being written: [`Gathering::urls`], [`Gathering::pages`], then state, then the end.
pub struct Gathering<'g, 'a> {
    gather: &'g Gather<'a>,
    path: PathBuf,
    out: BufWriter<File>,
    /// Where the frame at hand begins.
    base: u64,
    batch: Vec<u8>,
    last: Vec<u8>,
    /// The newest record of each URL.
    at: Vec<u64>,
    hosts: HashMap<String, u32>,
    rescored: Vec<Rescored>,
    /// Of each URL, the number of its host.
    host_of: Vec<u32>,
    /// Pages of each host, by its number.
    per_host: HashMap<u32, u64>,
    versions: u64,
    /// Leases that were given in all of them.
    steps: u64,
}

/// How a URL was found, in one ledger.
struct FoundUrl {
    depth: u16,
    site_depth: u16,
    hops: u8,
    model: u32,
    expires: Option<u64>,
    seen: Vec<Sighting>,
    children: Vec<UrlId>,
}

struct Sighting {
    parent: Option<UrlId>,
    kind: LinkKind,
    priority: Priority,
    anchor: String,
    evidence: Vec<u8>,
}

impl Gathering<'_, '_> {
    /// Every URL: how it was found, what it waits for, and how it ended unless it is a page.
    pub fn urls(&mut self) -> Result<(), Problem> {
        for n in 0..self.gather.first.len() {
            self.url(UrlId(n as u32))?;
            self.frame_if_full()?;
        }
        let all = std::mem::take(&mut self.rescored);
        for part in all.chunks(1 << 16) {
            self.put(Kind::Rescore, |o| codec::put_rescored(o, part));
            self.frame_if_full()?;
        }
        for n in 0..self.gather.first.len() {
            self.ended(UrlId(n as u32))?;
            self.frame_if_full()?;
        }
        self.clocks()
    }

    fn url(&mut self, id: UrlId) -> Result<(), Problem> {
        let gather = self.gather;
        let Some(ledger) = gather.first.get(id.0 as usize).and_then(|(part, _)| gather.ledger(*part)) else {
            return Ok(());
        };
        let url = ledger.url(gather.first[id.0 as usize].1)?;
        let host = self.host(url.host_key());
        self.host_of.push(host);
        let (mut seen, mut met, mut info) = (Vec::new(), HashSet::new(), None::<(FoundUrl, Info)>);
        let mut waits: Option<(usize, Info)> = None;
        for (part, was) in gather.owners(id) {
            let Some(ledger) = gather.ledger(part) else { continue };
            let (mut found, now) = (ledger.found(was)?, ledger.order.info(was));
            let Some(now) = now else { continue };
            // The words of a link belong to the page it is on.
            for mut s in std::mem::take(&mut found.seen) {
                let parent = s.parent.map(|p| gather.number(part, p));
                if s.parent.is_some_and(|p| gather.kept(part, p).is_none()) {
                    (s.anchor, s.evidence) = (String::new(), Vec::new());
                }
                let lost = parent == Some(None);
                s.parent = parent.flatten();
                if met.insert((s.parent, s.kind, s.anchor.clone())) {
                    seen.push((lost, s));
                }
            }
            let better = |(_, i): &(usize, Info)| now.priority > i.priority;
            if !matches!(now.state, State::Settled(_)) && waits.as_ref().is_none_or(better) {
                waits = Some((part, now));
            }
            match &mut info {
                None => info = Some((found, now)),
                Some((first, _)) => {
                    first.depth = first.depth.min(found.depth);
                    first.site_depth = first.site_depth.min(found.site_depth);
                    first.hops = first.hops.min(found.hops);
                }
            }
        }
        let Some((found, now)) = info else { return Ok(()) };
        // Pages that do not come along are remembered only where nothing else says how it was found.
        if seen.iter().any(|(lost, _)| !lost) {
            seen.retain(|(lost, _)| !lost);
        }
        seen.truncate(usize::from(SOURCES_KEPT));
        let mut merged = None::<Priority>;
        for (_, s) in &seen {
            let seen = Seen {
                parent: s.parent,
                kind: s.kind,
                priority: s.priority,
                anchor: &s.anchor,
                evidence: &s.evidence,
            };
            let best = merged.map_or(s.priority, |m| m.max(s.priority));
            let offset = match merged {
                None => {
                    let alone = gather.parts.len() == 1;
                    let admit = Admit {
                        id,
                        host,
                        depth: found.depth,
                        site_depth: found.site_depth,
                        hops: found.hops,
                        model: found.model,
                        // It is counted in the leases of one ledger.
                        expires: found.expires.filter(|_| alone),
                        url: url.as_str(),
                        seen,
                    };
                    let offset = self.put(Kind::Admit, |o| admit.put(o));
                    self.at.push(offset);
                    offset
                }
                Some(_) => {
                    let prev = self.at.last().copied().unwrap_or_default();
                    let model = found.model;
                    let sight = Sight { id, prev, merged: best, model, expires: None, seen };
                    self.put(Kind::Sight, |o| sight.put(o))
                }
            };
            if let Some(at) = self.at.last_mut() {
                *at = offset;
            }
            merged = Some(best);
        }
        let (part, now) = waits.unwrap_or((gather.first[id.0 as usize].0, now));
        if merged != Some(now.priority) || now.model != found.model || now.cause.is_some() {
            let cause = now.cause.and_then(|c| gather.number(part, c));
            self.rescored.push(Rescored { id, priority: now.priority, model: now.model, cause });
        }
        Ok(())
    }

    fn host(&mut self, name: &str) -> u32 {
        if let Some(number) = self.hosts.get(name) {
            return *number;
        }
        let number = self.hosts.len() as u32;
        self.put(Kind::Host, |o| o.rest(name.as_bytes()));
        self.hosts.insert(name.to_string(), number);
        number
    }

    /// How a URL stands, unless it is a page.
    fn ended(&mut self, id: UrlId) -> Result<(), Problem> {
        let gather = self.gather;
        let mut best: Option<(u8, usize, UrlId, Info)> = None;
        let mut address = false;
        for (part, was) in gather.owners(id) {
            let Some(info) = gather.ledger(part).and_then(|l| l.order.info(was)) else { continue };
            address |= gather.take(part, was) == Take::Address;
            let rank = rank(info.state);
            if best.as_ref().is_none_or(|b| rank > b.0) {
                best = Some((rank, part, was, info));
            }
        }
        let Some((_, part, was, info)) = best else { return Ok(()) };
        let (outcome, children) = match info.state {
            _ if address => (Outcome::OutOfScope, Vec::new()),
            State::Settled(Outcome::Fetched) => {
                if let Some(host) = self.host_of.get(id.0 as usize) {
                    *self.per_host.entry(*host).or_default() += 1;
                }
                return Ok(());
            }
            State::Settled(outcome) => (outcome, self.children(part, was)?),
            State::Pending | State::Leased => {
                for _ in 0..info.attempts {
                    let step = self.steps;
                    self.put(Kind::Retry, |o| codec::put_retry(o, id, Millis(0), step, false));
                }
                return Ok(());
            }
        };
        self.settle(id, outcome, children);
        Ok(())
    }

    fn children(&self, part: usize, was: UrlId) -> Result<Vec<UrlId>, Problem> {
        let Some(ledger) = self.gather.ledger(part) else { return Ok(Vec::new()) };
        let children = ledger.found(was)?.children;
        Ok(children.into_iter().filter_map(|c| self.gather.number(part, c)).collect())
    }

    fn settle(&mut self, id: UrlId, outcome: Outcome, children: Vec<UrlId>) {
        let (prev, step) = (self.place(id), self.steps);
        let offset = self.put(Kind::Settle, |o| Settled { id, prev, outcome, step, children }.put(o));
        self.note(id, offset);
    }

    fn place(&self, id: UrlId) -> u64 {
        self.at.get(id.0 as usize).copied().unwrap_or_default()
    }

    fn note(&mut self, id: UrlId, offset: u64) {
        if let Some(at) = self.at.get_mut(id.0 as usize) {
            *at = offset;
        }
    }

    /// Hosts rest as long as the one that heard of them last says; the newest robots.txt counts.
    fn clocks(&mut self) -> Result<(), Problem> {
        let mut hosts: Vec<(String, u32)> = self.hosts.iter().map(|(n, h)| (n.clone(), *h)).collect();
        hosts.sort_by_key(|(_, number)| *number);
        for (name, number) in hosts {
            let mut clock: Option<Clock> = None;
            let mut robots: Option<types::RobotsAnswer> = None;
            for part in &self.gather.parts {
                let Some(h) = part.ledger.order.find_host(&name) else { continue };
                let newest = |c: &Clock| clock.is_none_or(|known| c.next_allowed > known.next_allowed);
                clock = part.ledger.order.clock(h).filter(newest).or(clock);
                let answer = part.ledger.robots(&name)?;
                let newer =
                    |a: &types::RobotsAnswer| robots.as_ref().is_none_or(|known| a.fetched > known.fetched);
                robots = answer.filter(newer).or(robots);
            }
            if let Some(answer) = robots {
                self.put(Kind::Robots, |o| codec::put_robots(o, number, &answer));
            }
            if let Some(mut clock) = clock {
                clock.pages = self.per_host.get(&number).copied().unwrap_or(0);
                self.put(Kind::Clock, |o| codec::put_clock(o, number, &clock));
            }
            self.frame_if_full()?;
        }
        Ok(())
    }

    /// Every version of every page, the oldest first. `moved`: where an answer of a part's archive is now;
    /// `None`: it is in no archive any more. Comes after [`Gathering::urls`].
    pub fn pages(
        &mut self,
        moved: &dyn Fn(usize, &ArchiveRef) -> Option<ArchiveRef>,
    ) -> Result<Vec<PlacedVersion>, Problem> {
        let gather = self.gather;
        let mut next = vec![0; gather.parts.len()];
        let mut heads: Vec<Option<Head>> = Vec::new();
        for (part, at) in next.iter_mut().enumerate() {
            heads.push(gather.next_page(part, at)?);
        }
        let (mut out, mut met) = (Vec::new(), HashSet::new());
        loop {
            let earliest =
                heads.iter().enumerate().filter_map(|(i, h)| Some((h.as_ref()?.record.fetched, i)));
            let Some((_, part)) = earliest.min() else { break };
            let Some(head) = heads.get_mut(part).and_then(Option::take) else { break };
            if let (Some(slot), Some(at)) = (heads.get_mut(part), next.get_mut(part)) {
                *slot = gather.next_page(part, at)?;
            }
            let Some(id) = gather.kept(part, head.was) else { continue };
            let pages = |(p, was): &(usize, UrlId)| {
                let info = gather.ledger(*p).and_then(|l| l.order.info(*was));
                info.is_some_and(|i| i.state == State::Settled(Outcome::Fetched))
            };
            let shared = gather.owners(id).filter(pages).count() > 1;
            let placed = PlacedVersion {
                id,
                part,
                was: head.was,
                fetched: head.record.fetched,
                digest: head.record.digest.clone(),
                shared,
                noindex: head.record.noindex,
                lost: head.record.archive.as_ref().is_some_and(|at| moved(part, at).is_none()),
            };
            // The same answer, in a collection and in its copy.
            if shared && !met.insert((id, placed.fetched, placed.digest.clone())) {
                continue;
            }
            self.page(id, part, head, moved)?;
            out.push(placed);
            self.frame_if_full()?;
        }
        Ok(out)
    }

    fn page(
        &mut self,
        id: UrlId,
        part: usize,
        head: Head,
        moved: &dyn Fn(usize, &ArchiveRef) -> Option<ArchiveRef>,
    ) -> Result<(), Problem> {
        let (gather, Head { was, offset, mut record, text }) = (self.gather, head);
        record.id = id;
        record.parent = record.parent.and_then(|p| gather.number(part, p));
        record.duplicate_of = record.duplicate_of.and_then(|p| gather.kept(part, p));
        record.near_duplicate_of = record.near_duplicate_of.and_then(|p| gather.kept(part, p));
        record.archive = record.archive.and_then(|at| moved(part, &at));
        let body = page::with_fields(&record, codec::In(&text)).map_err(|e| {
            Problem::new(format!("the page {} cannot be written down", record.url)).because(e)
        })?;
        let prev = self.place(id);
        let at = self.put(Kind::Page, |o| page::put_page(o, id, prev, &body));
        self.note(id, at);
        let children = self.children(part, was)?;
        self.settle(id, Outcome::Fetched, children);
        self.versions += 1;
        let Some(ledger) = gather.ledger(part) else { return Ok(()) };
        if let Some((verdict, rest)) = ledger.revised_after(was, offset)? {
            let prev = self.place(id);
            let at = self.put(Kind::Revise, |o| {
                codec::put_revise(o, id, prev, &verdict);
                o.rest(&rest);
            });
            self.note(id, at);
        }
        Ok(())
    }

    /// A piece of state.
    pub fn state(&mut self, key: StateKey, change: bool, bytes: &[u8]) -> Result<(), Problem> {
        self.put(Kind::State, |o| {
            o.bytes(key.name().as_bytes());
            o.u8(u8::from(change));
            o.rest(bytes);
        });
        self.frame_if_full()
    }

    /// Every piece of state that a part has, byte for byte, but those.
    pub fn states_of(&mut self, part: usize, but: &[StateKey]) -> Result<(), Problem> {
        let Some(ledger) = self.gather.ledger(part) else { return Ok(()) };
        for (name, places) in &ledger.states {
            if but.iter().any(|key| key.name() == name) {
                continue;
            }
            for (n, place) in places.iter().enumerate() {
                let bytes = ledger.state_at(*place)?;
                self.put(Kind::State, |o| {
                    o.bytes(name.as_bytes());
                    o.u8(u8::from(n > 0));
                    o.rest(&bytes);
                });
                self.frame_if_full()?;
            }
        }
        Ok(())
    }

    /// Versions of pages that were written.
    pub fn versions(&self) -> u64 {
        self.versions
    }

    /// All of it is durable. `closed`: the last runs ended in order.
    pub fn end(mut self, closed: bool) -> Result<u64, Problem> {
        if closed {
            self.put(Kind::Closed, |o| o.u64(Millis::now().0));
        }
        self.frame()?;
        let io = |e: std::io::Error| Problem::io("write", &self.path, &e);
        self.out.flush().map_err(io)?;
        self.out.get_ref().sync_all().map_err(io)?;
        let mark = Mark { end: self.base, pages: self.versions, last: self.last.clone() };
        let path = self.path.with_file_name(MARK);
        files::replace(&path, &mark.to_bytes()).map_err(|e| Problem::io("write", &path, &e))?;
        Ok(self.base)
    }

    fn put(&mut self, kind: Kind, write: impl FnOnce(&mut Out)) -> u64 {
        self.base + codec::record(&mut self.batch, kind, write) as u64
    }

    fn frame_if_full(&mut self) -> Result<(), Problem> {
        if self.batch.len() >= FRAME { self.frame() } else { Ok(()) }
    }

    /// Writes the frame at hand.
    fn frame(&mut self) -> Result<(), Problem> {
        if self.batch.len() > FRAME_HEAD {
            codec::seal(&mut self.batch, self.base, self.base);
            self.out.write_all(&self.batch).map_err(|e| Problem::io("write", &self.path, &e))?;
            self.base += self.batch.len() as u64;
            self.last.extend_from_slice(&self.batch);
            let from = self.last.len().saturating_sub(LAST);
            self.last.drain(..from);
            self.batch.truncate(FRAME_HEAD);
        }
        Ok(())
    }
}

/// What is known of a URL stands above what is not.
fn rank(state: State) -> u8 {
    match state {
        State::Settled(Outcome::Fetched) => 4,
        State::Settled(Outcome::Redirected) => 3,
        State::Settled(Outcome::OutOfScope | Outcome::Dropped) => 0,
        State::Settled(_) => 2,
        State::Pending | State::Leased => 1,
    }
}

/// A version of a page that is next in its ledger.
struct Head {
    was: UrlId,
    offset: u64,
    record: Record,
    /// As it is packed.
    text: Vec<u8>,
}

impl Gather<'_> {
    fn next_page(&self, part: usize, next: &mut usize) -> Result<Option<Head>, Problem> {
        let Some(ledger) = self.ledger(part) else { return Ok(None) };
        while let Some(&offset) = ledger.pages.get(*next) {
            *next += 1;
            let (was, record, text) = ledger.read(offset, |kind, bytes| {
                let (was, _) = (kind == Kind::Page).then(|| page::page_head(bytes)).flatten()?;
                let (record, text) = page::fields(page::after_head(bytes)?)?;
                Some((was, record, text.0.to_vec()))
            })?;
            if self.kept(part, was).is_some() {
                return Ok(Some(Head { was, offset, record, text }));
            }
        }
        Ok(None)
    }
}

impl Ledger<FileLog> {
    /// Every sighting of a URL, first found first, and what its page links to.
    fn found(&self, id: UrlId) -> Result<FoundUrl, Problem> {
        let (mut seen, mut children, mut admitted) = (Vec::new(), None, None);
        let sighting = |s: &Seen<'_>| Sighting {
            parent: s.parent,
            kind: s.kind,
            priority: s.priority,
            anchor: s.anchor.to_string(),
            evidence: s.evidence.to_vec(),
        };
        self.chain(id, |_, link| {
            match link {
                Link::Admit(a) => {
                    seen.push(sighting(&a.seen));
                    admitted = Some((a.depth, a.site_depth, a.hops, a.model, a.expires));
                }
                Link::Sight(s) => seen.push(sighting(&s.seen)),
                Link::Settle(s) if children.is_none() => children = Some(s.children),
                _ => {}
            }
            ControlFlow::<()>::Continue(())
        })?;
        seen.reverse();
        let (depth, site_depth, hops, model, expires) = admitted.ok_or_else(|| self.unknown(id))?;
        Ok(FoundUrl { depth, site_depth, hops, model, expires, seen, children: children.unwrap_or_default() })
    }

    /// What was last said of a version, when it was not said at once and that version is the newest.
    fn revised_after(&self, id: UrlId, version: u64) -> Result<Option<(types::Verdict, Vec<u8>)>, Problem> {
        let (mut verdict, mut rest) = (None, None);
        let newest = self.chain(id, |at, link| match link {
            Link::Revise(v, more) => {
                verdict.get_or_insert(v);
                if let Some(more) = more {
                    rest.get_or_insert_with(|| more.to_vec());
                }
                ControlFlow::Continue(())
            }
            Link::Page(_) => ControlFlow::Break(at),
            _ => ControlFlow::Continue(()),
        })?;
        Ok(verdict.filter(|_| newest == Some(version)).map(|v| (v, rest.unwrap_or_default())))
    }

    /// For each URL, by its number: does it come along?
    pub fn takes(&self, mut take: impl FnMut(&Info) -> Result<Take, Problem>) -> Result<Vec<Take>, Problem> {
        self.entries(Which::All).map(|entry| take(&entry?)).collect()
    }
}
