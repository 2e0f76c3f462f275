//! A cache of sightings, of the URLs they were read for last. The best pending URLs are scored again before
//! every fetch; without the cache their sightings would be collected from the log each time.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use types::{Source, UrlId};

/// Bytes in one of the two generations.
const ROOM: usize = 4 << 20;
/// About what a sighting takes beside its evidence.
const BESIDE: usize = 96;

/// The sightings of one URL.
struct UrlSightings {
    /// Its newest record when they were read. A log only grows: as long as that is its newest, this is all.
    newest: u64,
    sources: Vec<Source>,
}

/// A bounded number of URLs; those that were not asked for lately are forgotten.
#[derive(Default)]
pub(super) struct Recent(Mutex<Generations>);

#[derive(Default)]
struct Generations {
    young: HashMap<UrlId, UrlSightings>,
    old: HashMap<UrlId, UrlSightings>,
    bytes: usize,
}

impl Recent {
    /// The sightings of a URL up to `newest`. `read` gets what was known before, up to the record that is
    /// named, and brings the later ones; nothing was known: all of them.
    pub fn get<E>(
        &self,
        id: UrlId,
        newest: u64,
        read: impl FnOnce(Option<u64>) -> Result<Vec<Source>, E>,
    ) -> Result<Vec<Source>, E> {
        let mut generations = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = match generations.young.remove(&id) {
            Some(seen) => {
                generations.bytes -= seen.size();
                Some(seen)
            }
            None => generations.old.remove(&id),
        };
        let known = match known {
            Some(seen) if seen.newest == newest => seen,
            Some(mut seen) => {
                seen.sources.extend(read(Some(seen.newest))?);
                UrlSightings { newest, ..seen }
            }
            None => UrlSightings { newest, sources: read(None)? },
        };
        let sources = known.sources.clone();
        generations.keep(id, known);
        Ok(sources)
    }
}

impl Generations {
    fn keep(&mut self, id: UrlId, seen: UrlSightings) {
        let size = seen.size();
        if size > ROOM / 8 {
            return;
        }
        if self.bytes + size > ROOM {
            self.old = std::mem::take(&mut self.young);
            self.bytes = 0;
        }
        self.bytes += size;
        self.young.insert(id, seen);
    }
}

impl UrlSightings {
    fn size(&self) -> usize {
        self.sources.iter().map(|s| BESIDE + s.evidence.len() + s.anchor.len()).sum::<usize>() + BESIDE
    }
}
