//! Keeping what was learnt, sharing it between workers, and saying it in words.

use super::sight::{Sight, Space};
use super::tally::{KINDS, Kind};
use super::{Adaptive, D, RELEVANT, Reason, SIMILAR, Scale, X};
use learn::bytes::{Reader, Writer, damaged};
use learn::logistic::Saving;
use types::Problem;

const STATE: u8 = 3;
/// Without ways.
const EARLIER: u8 = 2;
const DELTA: u8 = 2;

impl Adaptive {
    pub(super) fn write_state(&mut self, what: Saving) -> Vec<u8> {
        let full = matches!(what, Saving::Everything | Saving::Start);
        let mut w = Writer::default();
        w.u8(STATE).u32(self.version).u64(self.links).u64(self.since_refresh).u64(self.drought);
        self.scales.iter().for_each(|s| s.write(&mut w));
        self.model.save(what, &mut w);
        self.tally.save(full, &mut w);
        let words = if self.query.online { self.query.df.save(full) } else { None };
        w.bytes(&words.unwrap_or_default()).u8(u8::from(self.has_found));
        self.ways.save(full, &mut w);
        w.0
    }

    pub(super) fn read_state(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        let version = r.u8()?;
        if version != STATE && version != EARLIER {
            return Err(damaged());
        }
        self.version = r.u32()?;
        self.links = r.u64()?;
        self.since_refresh = r.u64()?;
        self.drought = r.u64()?;
        for scale in &mut self.scales {
            *scale = Scale::read(&mut r)?;
        }
        self.model.load(&mut r)?;
        self.tally.load(&mut r)?;
        let words = r.bytes()?;
        if self.query.online && !words.is_empty() {
            self.query.df.load(words)?;
            self.query.weigh();
        }
        if version == EARLIER {
            self.has_found = self.tally.total().relevant >= 1.0;
            return r.end();
        }
        self.has_found = r.u8()? != 0;
        self.ways.load(&mut r)?;
        r.end()
    }

    /// Weights as differences, counts as sums: both can be added to another worker's. Document frequencies
    /// are not shared: every worker sees enough pages to know how common a word is.
    pub(super) fn write_delta(&mut self) -> Option<Vec<u8>> {
        let mut w = Writer::default();
        w.u8(DELTA);
        self.model.delta(&mut w);
        self.tally.delta(&mut w);
        Some(w.0)
    }

    pub(super) fn read_delta(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        let mut r = Reader(bytes);
        if r.u8()? != DELTA {
            return Err(damaged());
        }
        self.model.apply(&mut r)?;
        self.tally.apply(&mut r)?;
        self.version = self.version.wrapping_add(1);
        r.end()
    }

    /// What each part of the evidence adds to the log odds of being relevant; the largest first, the
    /// negligible left out.
    pub(super) fn reasons(&self, s: &Sight) -> Vec<Reason> {
        let x = self.dense(&self.tally.base(), s, 1);
        let of = |f: X| self.model.dense_weight(RELEVANT, f as usize) * x[f as usize];
        let space = |space: Space| {
            let mut sum = 0.0;
            s.each_of(space, |slot, value| sum += f64::from(self.model.row(slot)[RELEVANT] * value));
            sum
        };
        let mut out: Vec<(String, f64)> = vec![
            (
                "anchor".into(),
                of(X::AnchorGenre) + of(X::AnchorContent) + space(Space::Anchor) + space(Space::Pair),
            ),
            ("URL".into(), of(X::UrlTerms) + of(X::UrlWords) + space(Space::Url)),
            (
                "words around it".into(),
                of(X::ContextGenre) + of(X::ContextContent) + space(Space::Context) + space(Space::Offset),
            ),
            ("heading".into(), of(X::Heading) + space(Space::Heading)),
            ("title of the page it is on".into(), of(X::Title) + space(Space::Title)),
            (
                "page it is on".into(),
                of(X::Parent) + of(X::ParentRelevant) + of(X::PageGenre) + of(X::PageContent),
            ),
            ("links since a relevant page".into(), of(X::Steps)),
            (
                "place in the page and the site".into(),
                space(Space::Place) + space(Space::TagPath) + of(X::SameHost) + of(X::Depth),
            ),
            ("start".into(), of(X::One)),
        ];
        for kind in Kind::ALL {
            let at = X::Lifts as usize + kind as usize;
            let value: f64 = [at, at + KINDS, at + 2 * KINDS]
                .iter()
                .filter(|i| **i < D)
                .map(|i| self.model.dense_weight(RELEVANT, *i) * x[*i])
                .sum();
            let sum = self.tally.of(kind, &s.groups);
            if sum.n > 0.0 {
                out.push((format!("{}: {:.0} of {:.0} relevant", kind.name(), sum.relevant, sum.n), value));
            }
        }
        if self.searches() {
            let base = self.tally.base();
            let like = self.tally.place(&base, &s.groups)[SIMILAR] - base.rates[SIMILAR];
            out.push(("search: pages of its directory are like the topic".into(), like));
        }
        out.retain(|(_, v)| v.abs() >= 0.05);
        out.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
        out.into_iter().map(|(label, value)| Reason { label, value }).collect()
    }
}
