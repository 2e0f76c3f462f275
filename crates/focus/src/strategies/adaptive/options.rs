//! The options of `adaptive`, and the parts of it that the laboratory can switch off.

use super::sight::{SPACES, Space};
use super::tally::{KINDS, Kind};
use serde::Deserialize;
use types::Problem;

/// What a user may set.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Options {
    /// Weight of the bonus for hosts of which little is known.
    pub host_bonus: f64,
    /// A host that gave all that was found keeps e to the minus this of its links' value.
    pub crowd: f64,
    /// How much a link's worth as a way to others counts beside its own chance.
    pub ahead: f64,
    /// How much of that worth is in turn its links' worth as a way to others.
    pub far: f64,
    /// All pending links are scored again every so many pages; 0 = never.
    pub refresh: u64,
    /// So many of the best pending links are scored again before each fetch.
    pub lookahead: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { host_bonus: 0.2, crowd: 7.0, ahead: 0.5, far: 0.5, refresh: 64, lookahead: 16 }
    }
}

impl Options {
    pub fn read(table: &toml::Table) -> Result<Options, Problem> {
        if let Some(key) = table.keys().find(|k| REMOVED.contains(&k.as_str())) {
            return Err(Problem::usage(format!("strategy `adaptive` no longer has the option `{key}`"))
                .because("it was for measuring what a part of the strategy is worth")
                .hint("remove the line; `gleaner strategies adaptive` lists the options"));
        }
        let o: Options = crate::options::parse("strategy `adaptive`", table)?;
        let numbers = [o.host_bonus, o.crowd, o.ahead, o.far];
        if numbers.iter().any(|v| !(0.0..=1000.0).contains(v)) {
            return Err(Problem::usage("an option of strategy `adaptive` is out of range")
                .hint("host_bonus, crowd, ahead and far are numbers from 0 to 1000"));
        }
        Ok(o)
    }
}

/// Names of the hashed features, in the order of [`Space::ALL`].
const SPACE_NAMES: [&str; SPACES] =
    ["anchor", "pairs", "url", "context", "offsets", "heading", "title", "tags", "place"];
/// Names of the groups, in the order of [`Kind::ALL`].
const KIND_NAMES: [&str; KINDS] =
    ["host", "directory", "tag_path", "host_path", "shape", "siblings", "near", "list"];
/// Options of version 0.1 that are gone.
const REMOVED: [&str; 32] = [
    "learn",
    "similar",
    "prior",
    "soft",
    "anchor",
    "pairs",
    "url",
    "context",
    "offsets",
    "heading",
    "title",
    "tags",
    "place",
    "host",
    "directory",
    "tag_path",
    "host_path",
    "shape",
    "siblings",
    "near",
    "list",
    "beta",
    "sources",
    "misses",
    "power",
    "floor",
    "page_prior",
    "word_prior",
    "group_prior",
    "step",
    "dense_step",
    "level",
];

/// The parts whose worth is measured. All are on, except in the laboratory.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Parts {
    /// Learn weights (off: the prior alone, with running statistics).
    pub learn: bool,
    /// The second head: similarity as a surrogate reward while relevant pages are few.
    pub similar: bool,
    /// The prior weights of the dense features.
    pub prior: bool,
    /// The soft score is a part of what the first head learns (off: the verdict alone).
    pub soft: bool,
    /// Pages on the way to a find get credit for it.
    pub credit: bool,
    /// Search by places when nothing is found.
    pub search: bool,
    spaces: [bool; SPACES],
    kinds: [bool; KINDS],
}

impl Parts {
    /// All parts but those named.
    pub fn without(names: &[String]) -> Result<Parts, Problem> {
        let [learn, similar, prior, soft, credit, search] = [true; 6];
        let (spaces, kinds) = ([true; SPACES], [true; KINDS]);
        let mut parts = Parts { learn, similar, prior, soft, credit, search, spaces, kinds };
        for name in names {
            *parts.find(name).ok_or_else(|| Problem::new(format!("`adaptive` has no part `{name}`")))? =
                false;
        }
        Ok(parts)
    }
    fn find(&mut self, name: &str) -> Option<&mut bool> {
        match name {
            "learn" => Some(&mut self.learn),
            "similar" => Some(&mut self.similar),
            "prior" => Some(&mut self.prior),
            "soft" => Some(&mut self.soft),
            "credit" => Some(&mut self.credit),
            "search" => Some(&mut self.search),
            _ => {
                let spaces = SPACE_NAMES.iter().zip(&mut self.spaces);
                spaces.chain(KIND_NAMES.iter().zip(&mut self.kinds)).find(|p| *p.0 == name).map(|p| p.1)
            }
        }
    }
    pub fn reads(&self, space: Space) -> bool {
        self.spaces[space as usize]
    }
    pub fn counts(&self, kind: Kind) -> bool {
        self.kinds[kind as usize]
    }
}
