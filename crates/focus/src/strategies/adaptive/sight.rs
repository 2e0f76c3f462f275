//! What is remembered of a link: its evidence. Everything that does not change while it waits (words around
//! it, groups it belongs to, similarities to the topic) in at most 700 bytes, enough to score it again under
//! any later model.

use learn::bytes::Reader;
use learn::logistic::{Hashed, SLOT_MASK};
use types::Problem;

/// Layout version of the evidence.
const VERSION: u8 = 1;
/// Bytes before the directories.
const HEAD: usize = 4 + 6 * 4 + 2 + 1;

/// Where a hashed feature comes from. The order is that of the evidence; never reorder without a new version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Anchor,
    Pair,
    Url,
    Context,
    Offset,
    Heading,
    Title,
    TagPath,
    Place,
}

impl Space {
    pub const ALL: [Space; 9] = [
        Space::Anchor,
        Space::Pair,
        Space::Url,
        Space::Context,
        Space::Offset,
        Space::Heading,
        Space::Title,
        Space::TagPath,
        Space::Place,
    ];
    /// Most features kept of each.
    pub const fn most(self) -> usize {
        match self {
            Space::Anchor => 16,
            Space::Pair => 8,
            Space::Url => 16,
            Space::Context | Space::Offset => 24,
            Space::Heading | Space::Title => 8,
            Space::TagPath => 10,
            Space::Place => 8,
        }
    }
    /// Where a feature of this space is kept, with its sign.
    pub fn slot(self, hash: u64) -> u32 {
        let mixed = (hash ^ ((self as u64 + 1) << 56)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        ((mixed >> 44) as u32 & SLOT_MASK) | if mixed & (1 << 30) == 0 { 0 } else { SIGN }
    }
    /// Length of the space's vector: how loud it may be beside the others.
    pub const fn scale(self) -> f64 {
        match self {
            Space::Anchor | Space::Url => 1.0,
            Space::Pair | Space::Context | Space::Offset | Space::Heading | Space::TagPath => 0.7,
            Space::Title | Space::Place => 0.5,
        }
    }
}

pub(super) const SPACES: usize = Space::ALL.len();
/// Most hashed features of a link.
pub(super) const MOST: usize = {
    let mut n = 0;
    let mut i = 0;
    while i < SPACES {
        n += Space::ALL[i].most();
        i += 1;
    }
    n
};

/// Directories of a URL that are told apart, from the host downwards.
pub(super) const DIRS: usize = 4;

/// Similarities that are measured once, when the link is found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[repr(usize)]
pub(super) enum Sim {
    /// Soft relevance of the page it stands on, by the judge.
    Parent,
    /// Similarity of that page to the genre and to the content terms, by our own count.
    PageGenre,
    PageContent,
    AnchorGenre,
    AnchorContent,
    ContextGenre,
    ContextContent,
    Heading,
    Title,
    UrlTerms,
    UrlWords,
}
pub(super) const SIMS: usize = 11;

/// The groups a link belongs to, as keys into the statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Groups {
    pub host: u32,
    pub dirs: [u32; DIRS],
    /// How many of `dirs` are used.
    pub depth: u8,
    pub shape: u32,
    pub tag_path: u32,
    pub host_path: u32,
    /// The page it stands on, and where on it.
    pub parent: u32,
    pub position: u16,
    /// The page and the tag path together: one list of a page.
    pub list: u32,
}

/// The evidence of one sighting.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sight {
    pub groups: Groups,
    pub sims: [f32; SIMS],
    pub same_host: bool,
    pub parent_relevant: bool,
    /// Links since the last relevant page.
    pub steps: u8,
    /// Links from the seed.
    pub depth: u8,
    pub slots: [u32; MOST],
    pub counts: [u8; SPACES],
}

impl Default for Sight {
    fn default() -> Self {
        Sight {
            groups: Groups::default(),
            sims: [0.0; SIMS],
            same_host: false,
            parent_relevant: false,
            steps: 0,
            depth: 0,
            slots: [0; MOST],
            counts: [0; SPACES],
        }
    }
}

const fn starts() -> [usize; SPACES] {
    let mut out = [0; SPACES];
    let mut i = 1;
    while i < SPACES {
        out[i] = out[i - 1] + Space::ALL[i - 1].most();
        i += 1;
    }
    out
}
const STARTS: [usize; SPACES] = starts();

/// Bit that carries a feature's sign: two features that share a slot cancel as often as they add.
const SIGN: u32 = 1 << 23;

impl Hashed for Sight {
    #[inline]
    fn each(&self, mut f: impl FnMut(usize, f32)) {
        for space in Space::ALL {
            self.each_of(space, &mut f);
        }
    }
}

impl Sight {
    pub fn sim(&self, sim: Sim) -> f64 {
        f64::from(self.sims[sim as usize])
    }
    pub fn set(&mut self, sim: Sim, value: f64) {
        self.sims[sim as usize] = value as f32;
    }

    /// Adds a feature, unless it is there already or the space is full. `hash` is well mixed.
    pub fn add(&mut self, space: Space, hash: u64) {
        let s = space as usize;
        let n = usize::from(self.counts[s]);
        if n >= space.most() {
            return;
        }
        let slot = space.slot(hash);
        let Some(used) = self.slots.get(STARTS[s]..STARTS[s] + n) else { return };
        if used.contains(&slot) {
            return;
        }
        if let Some(free) = self.slots.get_mut(STARTS[s] + n) {
            *free = slot;
            self.counts[s] += 1;
        }
    }
    pub fn clear(&mut self, space: Space) {
        self.counts[space as usize] = 0;
    }

    /// Calls `f(slot, signed value)` for every feature of a space.
    #[inline]
    pub fn each_of(&self, space: Space, mut f: impl FnMut(usize, f32)) {
        let s = space as usize;
        let n = usize::from(self.counts[s]);
        if n == 0 {
            return;
        }
        let value = (space.scale() / (n as f64).sqrt()) as f32;
        for &slot in self.slots.get(STARTS[s]..STARTS[s] + n).unwrap_or(&[]) {
            f((slot & SLOT_MASK) as usize, if slot & SIGN == 0 { value } else { -value });
        }
    }

    pub fn write(&self) -> Vec<u8> {
        let g = &self.groups;
        let features: usize = self.counts.iter().map(|n| usize::from(*n)).sum();
        let mut out = Vec::with_capacity(HEAD + 4 * (DIRS + SIMS) + SPACES + 3 * features);
        let flags = u8::from(self.same_host) | u8::from(self.parent_relevant) << 1;
        out.extend([VERSION, flags, self.steps, self.depth]);
        for key in [g.host, g.shape, g.tag_path, g.host_path, g.parent, g.list] {
            out.extend(key.to_le_bytes());
        }
        out.extend(g.position.to_le_bytes());
        out.push(g.depth);
        for d in g.dirs.iter().take(usize::from(g.depth)) {
            out.extend(d.to_le_bytes());
        }
        for s in self.sims {
            out.extend(s.to_bits().to_le_bytes());
        }
        for (s, n) in self.counts.iter().enumerate() {
            out.push(*n);
            let slots = self.slots.get(STARTS[s]..STARTS[s] + usize::from(*n)).unwrap_or(&[]);
            let at = out.len();
            out.resize(at + 3 * slots.len(), 0);
            let room = out.get_mut(at..).unwrap_or_default().as_chunks_mut::<3>().0;
            for (bytes, slot) in room.iter_mut().zip(slots) {
                let [a, b, c, _] = slot.to_le_bytes();
                *bytes = [a, b, c];
            }
        }
        out
    }

    /// `steps` alone; 0 of what is not evidence.
    pub fn steps(bytes: &[u8]) -> u8 {
        match bytes {
            [VERSION, _, steps, ..] => *steps,
            _ => 0,
        }
    }

    /// Reads evidence back; what is damaged or of another version is an error, and the link keeps its score.
    pub fn read(bytes: &[u8]) -> Result<Sight, Problem> {
        let mut s = Sight::default();
        s.read_into(bytes)?;
        Ok(s)
    }

    /// As `read`, where it is: it is too large to be moved about for every link that is scored again.
    pub fn read_into(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let s = self;
        let mut r = Reader(bytes);
        if r.u8()? != VERSION {
            return Err(learn::bytes::damaged());
        }
        let flags = r.u8()?;
        (s.same_host, s.parent_relevant) = (flags & 1 != 0, flags & 2 != 0);
        (s.steps, s.depth) = (r.u8()?, r.u8()?);
        s.groups = Groups {
            host: r.u32()?,
            shape: r.u32()?,
            tag_path: r.u32()?,
            host_path: r.u32()?,
            parent: r.u32()?,
            list: r.u32()?,
            position: u16::from(r.u8()?) | u16::from(r.u8()?) << 8,
            depth: r.u8()?.min(DIRS as u8),
            dirs: [0; DIRS],
        };
        for i in 0..usize::from(s.groups.depth) {
            s.groups.dirs[i] = r.u32()?;
        }
        for sim in &mut s.sims {
            let v = f32::from_bits(r.u32()?);
            *sim = if v.is_finite() { v.clamp(-8.0, 8.0) } else { 0.0 };
        }
        for space in Space::ALL {
            let n = usize::from(r.u8()?);
            if n > space.most() {
                return Err(learn::bytes::damaged());
            }
            s.counts[space as usize] = n as u8;
            let start = STARTS[space as usize];
            let slots = s.slots.get_mut(start..start + n).ok_or_else(learn::bytes::damaged)?;
            for (slot, b) in slots.iter_mut().zip(r.take(3 * n)?.as_chunks::<3>().0) {
                *slot = u32::from_le_bytes([b[0], b[1], b[2], 0]);
            }
        }
        r.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fullest_evidence_is_small_and_comes_back() {
        let mut s = Sight { same_host: true, steps: 7, depth: 200, ..Sight::default() };
        s.groups = Groups {
            host: 1,
            dirs: [2, 3, 4, 5],
            depth: 4,
            shape: 6,
            tag_path: 7,
            host_path: 8,
            parent: u32::MAX,
            position: 65_535,
            list: 9,
        };
        for (i, space) in Space::ALL.into_iter().enumerate() {
            for n in 0..100u64 {
                s.add(space, n.wrapping_mul(0x1234_5678_9abc_def1) + i as u64);
            }
        }
        s.set(Sim::UrlWords, 0.25);
        let bytes = s.write();
        assert!(bytes.len() <= 700, "{}", bytes.len());
        assert_eq!(Sight::read(&bytes).unwrap(), s);
        let mut n = 0;
        s.each(|slot, value| {
            n += 1;
            assert!(slot <= SLOT_MASK as usize && value.abs() > 0.0);
        });
        assert_eq!(n, MOST);
    }

    #[test]
    fn damaged_evidence_is_no_evidence() {
        let bytes = Sight::default().write();
        for cut in 0..bytes.len() {
            assert!(Sight::read(&bytes[..cut]).is_err(), "{cut}");
        }
        for i in 0..bytes.len() {
            let mut b = bytes.clone();
            b[i] = 0xff;
            // Whatever it says, it is read or refused, and every number is finite.
            if let Ok(s) = Sight::read(&b) {
                assert!(s.sims.iter().all(|v| v.is_finite()));
            }
        }
        assert!(Sight::read(&[]).is_err());
    }
}
