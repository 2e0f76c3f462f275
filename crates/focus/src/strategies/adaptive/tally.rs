//! What was found in each group of links: under a host, in a directory, on one tag path, among the links of
//! one page. Sums only, so that what several workers counted can be added up.

use super::AHEAD;
use super::sight::{DIRS, Groups};
use crate::text::vector::Plain;
use learn::bytes::{Reader, Writer, damaged};
use learn::logistic::HEADS;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use types::Problem;

/// Pages of a group, and the sums of what they were: relevant, similar, a way to others.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sum {
    pub n: f32,
    pub relevant: f32,
    pub similar: f32,
    pub ahead: f32,
}

/// Where on a page a judged link stood, and what it led to.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Mark {
    position: u16,
    relevant: f32,
    similar: f32,
}

/// The kinds of groups; the order is that of [`Lifts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(usize)]
pub(super) enum Kind {
    Host,
    Directory,
    TagPath,
    HostPath,
    Shape,
    Siblings,
    Near,
    List,
}
pub(super) const KINDS: usize = 8;
impl Kind {
    pub const ALL: [Kind; KINDS] = [
        Kind::Host,
        Kind::Directory,
        Kind::TagPath,
        Kind::HostPath,
        Kind::Shape,
        Kind::Siblings,
        Kind::Near,
        Kind::List,
    ];
    pub fn name(self) -> &'static str {
        match self {
            Kind::Host => "host",
            Kind::Directory => "directory",
            Kind::TagPath => "tag path",
            Kind::HostPath => "tag path on this host",
            Kind::Shape => "URL shape",
            Kind::Siblings => "siblings",
            Kind::Near => "neighbours",
            Kind::List => "list",
        }
    }
}

/// By how much each group is better (log odds) than everything: for the two heads.
pub(super) type Lifts = [[f64; HEADS]; KINDS];

/// The rates over everything, and their log odds: what lifts are lifts over.
#[derive(Clone, Copy, Debug)]
pub(super) struct Base {
    pub rates: [f64; HEADS],
    logits: [f64; HEADS],
}

/// When more groups than this are known, those with the fewest pages are forgotten.
/// (A crawl of tens of thousands of pages knows about four per page.) The memory of a long crawl stays flat
/// because of this; the table would take twice as much from 230,000 on.
const MOST_GROUPS: usize = 200_000;
/// When marks of more pages than this are kept, those of pages with the fewest are forgotten: they take ten
/// times as much as a group.
const MOST_MARKED: usize = 60_000;
/// Judged links remembered per page.
const MOST_MARKS: usize = 400;
/// A neighbour is at most so many links away.
const NEAR: u16 = 3;

#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    groups: HashMap<u32, Sum, Plain>,
    marks: HashMap<u32, Vec<Mark>, Plain>,
    total: Sum,
    /// What changed since the last save (values, not additions); `None` = nobody saves.
    unsaved: Option<Changes>,
    /// What `delta` has not told yet; `None` = nobody asked for deltas.
    untold: Option<Changes>,
    /// Something was loaded: not all that is known was counted here.
    loaded: bool,
    memo: RefCell<Memo>,
}

/// What a group's rates are, and by how much they are better than those of everything.
#[derive(Clone, Copy, Debug, Default)]
struct Rated {
    rates: [f64; HEADS],
    lift: [f64; HEADS],
}

/// Groups that were rated since anything was counted: links of one page, and those that are scored again
/// before a fetch, share most of theirs.
#[derive(Clone, Debug, Default)]
struct Memo {
    places: Vec<(u32, Kind, [u32; 2], Rated)>,
    /// Goes up whenever what was rated may have changed.
    now: u32,
    base: [f64; HEADS],
}

impl Memo {
    const SIZE: usize = 128;

    fn forget(&mut self) {
        self.now = self.now.wrapping_add(1);
        if self.now == 0 {
            self.places.clear();
        }
    }

    fn under(&mut self, base: &Base) {
        if self.places.is_empty() {
            self.places = vec![(0, Kind::Host, [0; 2], Rated::default()); Memo::SIZE];
            self.now = 1;
        }
        if self.base != base.rates {
            self.base = base.rates;
            self.forget();
        }
    }

    /// What is known of a group, or what `make` says of it.
    fn get(&mut self, base: &Base, kind: Kind, key: [u32; 2], make: impl FnOnce() -> [f64; HEADS]) -> Rated {
        let mixed = (u64::from(key[0]) << 32 | u64::from(key[1])).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let at = (mixed >> 57) as usize ^ (kind as usize) << 3;
        let Some(place) = self.places.get_mut(at % Memo::SIZE) else { return base.rated(make()) };
        if (place.0, place.1, place.2) != (self.now, kind, key) {
            *place = (self.now, kind, key, base.rated(make()));
        }
        place.3
    }
}

impl Base {
    fn rated(&self, rates: [f64; HEADS]) -> Rated {
        let lift = match rates == self.rates {
            true => [0.0; HEADS],
            false => [0, 1, 2].map(|h: usize| logit(rates[h]) - self.logits[h]),
        };
        Rated { rates, lift }
    }
}

/// Sums and marks added since some moment.
#[derive(Clone, Debug, Default)]
struct Changes {
    /// Groups that were forgotten, before any of the others were added.
    gone: BTreeSet<u32>,
    sums: BTreeMap<u32, Sum>,
    marks: Vec<(u32, Mark)>,
    total: Sum,
}

impl Sum {
    fn add(&mut self, other: Sum) {
        self.n += other.n;
        self.relevant += other.relevant;
        self.similar += other.similar;
        self.ahead += other.ahead;
    }
    /// The two rates, drawn to `to` as if `m` more pages had been like it.
    fn shrunk(self, m: f64, to: [f64; HEADS]) -> [f64; HEADS] {
        let n = f64::from(self.n) + m;
        [
            (f64::from(self.relevant) + m * to[0]) / n,
            (f64::from(self.similar) + m * to[1]) / n,
            (f64::from(self.ahead) + m * to[2]) / n,
        ]
    }
    fn write(self, w: &mut Writer) {
        w.u32(self.n.to_bits())
            .u32(self.relevant.to_bits())
            .u32(self.similar.to_bits())
            .u32(self.ahead.to_bits());
    }
    fn read(r: &mut Reader) -> Result<Sum, Problem> {
        let mut value = || {
            let v = f32::from_bits(r.u32()?);
            if v.is_finite() { Ok(v) } else { Err(damaged()) }
        };
        Ok(Sum { n: value()?, relevant: value()?, similar: value()?, ahead: value()? })
    }
}

pub(super) fn logit(p: f64) -> f64 {
    let p = p.clamp(1e-6, 1.0 - 1e-6);
    libm::log(p / (1.0 - p))
}

impl Tally {
    pub fn total(&self) -> Sum {
        self.total
    }
    /// Rates over everything, with a cautious start: 5 % relevant, 20 % similar.
    pub fn rates(&self) -> [f64; HEADS] {
        self.total.shrunk(10.0, [0.05, 0.2, 0.1])
    }
    pub fn base(&self) -> Base {
        let rates = self.rates();
        Base { rates, logits: rates.map(logit) }
    }
    pub fn sum(&self, key: u32) -> Sum {
        self.groups.get(&key).copied().unwrap_or_default()
    }

    /// Pages and the relevant among them of each kind of group, for people.
    pub fn of(&self, kind: Kind, g: &Groups) -> Sum {
        match kind {
            Kind::Host => self.sum(g.host),
            Kind::Directory => {
                self.sum(g.dirs.get(usize::from(g.depth).wrapping_sub(1)).copied().unwrap_or(0))
            }
            Kind::TagPath => self.sum(g.tag_path),
            Kind::HostPath => self.sum(g.host_path),
            Kind::Shape => self.sum(g.shape),
            Kind::Siblings => self.sum(g.parent),
            Kind::List => self.sum(g.list),
            Kind::Near => self.near(g),
        }
    }

    fn near(&self, g: &Groups) -> Sum {
        let mut out = Sum::default();
        let marks = self.marks.get(&g.parent).map_or(&[][..], |v| v);
        let first = marks.partition_point(|m| m.position.saturating_add(NEAR) < g.position);
        for m in marks.iter().skip(first).take_while(|m| m.position <= g.position.saturating_add(NEAR)) {
            if m.position != g.position {
                out.add(Sum { n: 1.0, relevant: m.relevant, similar: m.similar, ahead: m.relevant });
            }
        }
        out
    }

    /// What the pages of a link's directory are like, whatever the link says. Few pages say little: every
    /// rate is drawn to that of the next larger group.
    pub fn place(&self, base: &Base, g: &Groups) -> [f64; HEADS] {
        let mut dir = self.sum(g.host).shrunk(5.0, base.rates);
        for d in g.dirs.iter().take(usize::from(g.depth).min(DIRS)) {
            let sum = self.sum(*d);
            if sum.n == 0.0 {
                break;
            }
            dir = sum.shrunk(3.0, dir);
        }
        dir
    }

    /// How much better than everything each of the link's groups is.
    pub fn lifts(&self, base: &Base, g: &Groups) -> Lifts {
        let mut memo = self.memo.borrow_mut();
        memo.under(base);
        let sum = |key: u32| self.sum(key);
        let zero = base.rates;
        let host = memo.get(base, Kind::Host, [g.host, 0], || sum(g.host).shrunk(5.0, zero));
        // The smallest directory names the others.
        let depth = usize::from(g.depth).min(DIRS);
        let dir = match depth.checked_sub(1).and_then(|last| g.dirs.get(last)) {
            Some(dir) => memo.get(base, Kind::Directory, [*dir, g.host], || self.place(base, g)),
            None => host,
        };
        let path = memo.get(base, Kind::TagPath, [g.tag_path, 0], || sum(g.tag_path).shrunk(5.0, zero));
        let on_host = [g.host_path, g.tag_path];
        let host_path = memo.get(base, Kind::HostPath, on_host, || sum(g.host_path).shrunk(3.0, path.rates));
        let shape = memo.get(base, Kind::Shape, [g.shape, 0], || sum(g.shape).shrunk(3.0, zero));
        let siblings = memo.get(base, Kind::Siblings, [g.parent, 0], || sum(g.parent).shrunk(2.0, zero));
        let on_page = [g.list, g.parent];
        let list = memo.get(base, Kind::List, on_page, || sum(g.list).shrunk(2.0, siblings.rates));
        let marks = self.near(g);
        let nearest = || {
            let mut near = marks.shrunk(1.5, list.rates);
            near[AHEAD] = list.rates[AHEAD];
            near
        };
        let near = match marks == Sum::default() {
            true => memo.get(base, Kind::Near, on_page, nearest),
            false => base.rated(nearest()),
        };
        [host, dir, path, host_path, shape, siblings, near, list].map(|group| group.lift)
    }

    /// One more page: once for what is the URL's own, once per page that links to it.
    pub fn add(&mut self, own: &Groups, found_on: &[Groups], relevant: f32, similar: f32) {
        // Until its links have been looked at, what it leads to is what it is.
        let sum = Sum { n: 1.0, relevant, similar, ahead: relevant };
        self.count(own, found_on, sum, Some(Mark { position: 0, relevant, similar }));
    }

    /// What it leads to turned out better than what it is, by so much.
    pub fn ahead(&mut self, own: &Groups, found_on: &[Groups], more: f32) {
        self.count(own, found_on, Sum { ahead: more, ..Sum::default() }, None);
    }

    /// A page that was counted is by so much more relevant than it was thought to be.
    pub fn correct(&mut self, own: &Groups, found_on: &[Groups], by: f32) {
        self.count(own, found_on, Sum { relevant: by, ahead: by, ..Sum::default() }, None);
    }

    fn count(&mut self, own: &Groups, found_on: &[Groups], sum: Sum, mark: Option<Mark>) {
        let mut changes = Changes { total: sum, ..Changes::default() };
        let put = |changes: &mut Changes, key: u32| changes.sums.entry(key).or_default().add(sum);
        put(&mut changes, own.host);
        for d in own.dirs.iter().take(usize::from(own.depth).min(DIRS)) {
            put(&mut changes, *d);
        }
        put(&mut changes, own.shape);
        for (i, g) in found_on.iter().enumerate() {
            let earlier = found_on.get(..i).unwrap_or(&[]);
            if !earlier.iter().any(|e| e.parent == g.parent) {
                put(&mut changes, g.parent);
                if let Some(mark) = mark {
                    changes.marks.push((g.parent, Mark { position: g.position, ..mark }));
                }
            }
            if !earlier.iter().any(|e| e.list == g.list) {
                put(&mut changes, g.list);
            }
            if !earlier.iter().any(|e| e.tag_path == g.tag_path) {
                put(&mut changes, g.tag_path);
            }
            if !earlier.iter().any(|e| e.host_path == g.host_path) {
                put(&mut changes, g.host_path);
            }
        }
        self.merge(&changes, true);
    }

    fn merge(&mut self, changes: &Changes, ours: bool) {
        self.memo.get_mut().forget();
        self.total.add(changes.total);
        for (key, sum) in &changes.sums {
            let s = self.groups.entry(*key).or_default();
            s.add(*sum);
            // Saves hold values, not additions: sums of floats in another order would not be the same.
            if let Some(unsaved) = &mut self.unsaved {
                unsaved.sums.insert(*key, *s);
            }
        }
        for (parent, mark) in &changes.marks {
            let list = self.marks.entry(*parent).or_default();
            if list.len() < MOST_MARKS {
                let at = list.partition_point(|m| m.position <= mark.position);
                list.insert(at, *mark);
                if let Some(unsaved) = &mut self.unsaved {
                    unsaved.marks.push((*parent, *mark));
                }
            }
        }
        if let Some(untold) = self.untold.as_mut().filter(|_| ours) {
            untold.total.add(changes.total);
            for (key, sum) in &changes.sums {
                untold.sums.entry(*key).or_default().add(*sum);
            }
            untold.marks.extend_from_slice(&changes.marks);
        }
        self.bound();
    }

    fn bound(&mut self) {
        let mut least = 1.0;
        while self.groups.len() > MOST_GROUPS {
            let few = self.groups.iter().filter(|(_, s)| s.n <= least).map(|(key, _)| *key).collect();
            self.forget(few);
            least *= 2.0;
        }
        let mut least = 1;
        while self.marks.len() > MOST_MARKED {
            let few = self.marks.iter().filter(|(_, m)| m.len() <= least).map(|(key, _)| *key).collect();
            self.forget(few);
            least *= 2;
        }
    }

    /// Groups, and the marks of the pages they stand for.
    fn forget(&mut self, keys: Vec<u32>) {
        for key in &keys {
            self.groups.remove(key);
            self.marks.remove(key);
        }
        if let Some(unsaved) = &mut self.unsaved {
            unsaved.marks.retain(|(key, _)| self.marks.contains_key(key));
            unsaved.sums.retain(|key, _| self.groups.contains_key(key));
            unsaved.gone.extend(keys);
        }
    }

    /// Everything, or what changed since the last save; the first save is of everything.
    pub fn save(&mut self, full: bool, w: &mut Writer) {
        let unsaved = self.unsaved.replace(Changes::default());
        let changes = unsaved.filter(|_| !full);
        w.u8(u8::from(changes.is_none()));
        self.total.write(w);
        match changes {
            Some(changes) => {
                // What is gone comes first, as groups without a page: some may have been met again since.
                w.var((changes.gone.len() + changes.sums.len()) as u64);
                changes.gone.iter().for_each(|key| write_sum(*key, Sum::default(), w));
                changes.sums.iter().for_each(|(key, sum)| write_sum(*key, *sum, w));
                write_marks(&changes.marks, w);
            }
            None => self.write_everything(w),
        }
    }

    /// As [`Tally::everything`], written without a copy of it: that would be the largest thing in memory.
    fn write_everything(&self, w: &mut Writer) {
        let mut keys: Vec<u32> = self.groups.keys().copied().collect();
        keys.sort_unstable();
        let marks: usize = self.marks.values().map(Vec::len).sum();
        w.0.reserve_exact(keys.len() * (4 + size_of::<Sum>()) + marks * (4 + 3 + 8) + 32);
        w.var(keys.len() as u64);
        for key in &keys {
            w.u32(*key);
            self.sum(*key).write(w);
        }
        keys.clear();
        keys.extend(self.marks.keys());
        keys.sort_unstable();
        w.var(marks as u64);
        for key in &keys {
            self.marks.get(key).into_iter().flatten().for_each(|m| write_mark(*key, m, w));
        }
    }

    fn everything(&self) -> Changes {
        let marks: BTreeMap<u32, &Vec<Mark>> = self.marks.iter().map(|(k, m)| (*k, m)).collect();
        Changes {
            gone: BTreeSet::new(),
            total: self.total,
            sums: self.groups.iter().map(|(k, s)| (*k, *s)).collect(),
            marks: marks.iter().flat_map(|(k, v)| v.iter().map(|m| (*k, *m))).collect(),
        }
    }

    pub fn load(&mut self, r: &mut Reader) -> Result<(), Problem> {
        self.memo.get_mut().forget();
        let full = r.u8()? == 1;
        self.total = Sum::read(r)?;
        if full {
            self.groups.clear();
            self.marks.clear();
        }
        for (key, sum) in read_sums(r)? {
            if sum.n == 0.0 {
                self.groups.remove(&key);
                self.marks.remove(&key);
            } else {
                self.groups.insert(key, sum);
            }
        }
        for (key, mark) in read_marks(r)? {
            let list = self.marks.entry(key).or_default();
            let at = list.partition_point(|m| m.position <= mark.position);
            list.insert(at, mark);
        }
        self.unsaved = Some(Changes::default());
        self.loaded = true;
        Ok(())
    }

    /// What was counted since the last call. The first call tells everything, unless something was loaded:
    /// then others know it already.
    pub fn delta(&mut self, w: &mut Writer) {
        let untold = match self.untold.replace(Changes::default()) {
            Some(untold) => untold,
            None if self.loaded => Changes::default(),
            None => self.everything(),
        };
        untold.total.write(w);
        write_sums(&untold.sums, w);
        write_marks(&untold.marks, w);
    }

    pub fn apply(&mut self, r: &mut Reader) -> Result<(), Problem> {
        let changes = Changes {
            gone: BTreeSet::new(),
            total: Sum::read(r)?,
            sums: read_sums(r)?.into_iter().collect(),
            marks: read_marks(r)?,
        };
        self.merge(&changes, false);
        Ok(())
    }
}

fn write_sums(sums: &BTreeMap<u32, Sum>, w: &mut Writer) {
    w.var(sums.len() as u64);
    sums.iter().for_each(|(key, sum)| write_sum(*key, *sum, w));
}

fn write_sum(key: u32, sum: Sum, w: &mut Writer) {
    w.u32(key);
    sum.write(w);
}

fn read_sums(r: &mut Reader) -> Result<Vec<(u32, Sum)>, Problem> {
    let n = r.var()?;
    let mut out = Vec::new();
    for _ in 0..n {
        out.push((r.u32()?, Sum::read(r)?));
    }
    Ok(out)
}

fn write_marks(marks: &[(u32, Mark)], w: &mut Writer) {
    w.var(marks.len() as u64);
    marks.iter().for_each(|(parent, m)| write_mark(*parent, m, w));
}

fn write_mark(parent: u32, m: &Mark, w: &mut Writer) {
    w.u32(parent).var(u64::from(m.position)).u32(m.relevant.to_bits()).u32(m.similar.to_bits());
}

fn read_marks(r: &mut Reader) -> Result<Vec<(u32, Mark)>, Problem> {
    let n = r.var()?;
    let mut out = Vec::new();
    for _ in 0..n {
        let parent = r.u32()?;
        let position = u16::try_from(r.var()?).map_err(|_| damaged())?;
        let (relevant, similar) = (f32::from_bits(r.u32()?), f32::from_bits(r.u32()?));
        if !relevant.is_finite() || !similar.is_finite() {
            return Err(damaged());
        }
        out.push((parent, Mark { position, relevant, similar }));
    }
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_many_pages_are_bounded_and_a_restart_knows_the_same() {
        let mut t = Tally::default();
        let mut saved = Writer::default();
        t.save(true, &mut saved);
        let mut whole = vec![saved.0];
        let link = |parent: u32, position: u16| Groups { parent, position, ..Groups::default() };
        for page in 0..MOST_MARKED as u32 + 500 {
            // Every hundredth page has led to three judged ones, the others to one.
            for position in 0..if page % 100 == 0 { 3 } else { 1 } {
                t.add(&Groups::default(), &[link(page + 1, position)], 0.5, 0.25);
            }
            if page % 10_000 == 0 {
                let mut w = Writer::default();
                t.save(false, &mut w);
                whole.push(w.0);
            }
        }
        assert!(t.marks.len() <= MOST_MARKED, "{}", t.marks.len());
        // The pages that led to several are still known; their neighbours count.
        assert_eq!(t.near(&link(1, 1)).n, 2.0);
        let mut w = Writer::default();
        t.save(false, &mut w);
        whole.push(w.0);
        let mut again = Tally::default();
        whole.iter().for_each(|bytes| again.load(&mut Reader(bytes)).unwrap());
        assert_eq!(again.groups, t.groups);
        assert_eq!(again.marks, t.marks);
    }
}
