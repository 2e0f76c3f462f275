//! What came of visiting pages again: state `visits` of the ledger, one entry a visit, in the order they
//! ended. A collection whose pages were visited once has none.

use crate::crawl::Ledger;
use serde::Serialize;
use std::collections::HashMap;
use store::{Each, Records};
use types::{Millis, Problem, StateKey, UrlId};

/// The state's name.
pub(crate) const VISITS: StateKey = StateKey::Visits;
/// The first byte of an entry.
const FORMAT: u8 = 1;

/// What a visit found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Found {
    /// The server says that it is as before (304).
    NotModified,
    /// The same bytes.
    SamePayload,
    /// Other bytes, the same text: a clock, a menu, an advert.
    SameText,
    /// Its own text is another.
    Changed,
    /// It is not there any more. That was asked twice.
    Gone,
    /// It leads to another address.
    Moved,
    /// Nobody knows: no answer, or an error that may pass.
    NoAnswer,
    /// robots.txt, or the topic's scope, forbids it by now.
    Denied,
}

impl Found {
    const ALL: [Found; 8] = [
        Found::NotModified,
        Found::SamePayload,
        Found::SameText,
        Found::Changed,
        Found::Gone,
        Found::Moved,
        Found::NoAnswer,
        Found::Denied,
    ];

    /// For people.
    pub fn name(self) -> &'static str {
        match self {
            Found::NotModified => "not modified",
            Found::SamePayload => "the same",
            Found::SameText => "the same text",
            Found::Changed => "changed",
            Found::Gone => "gone",
            Found::Moved => "moved",
            Found::NoAnswer => "no answer",
            Found::Denied => "not allowed",
        }
    }

    /// The page was seen, and is where it was.
    pub fn is_there(self) -> bool {
        !matches!(self, Found::Gone | Found::Moved | Found::NoAnswer | Found::Denied)
    }
}

/// A visit to a page that was known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageVisit {
    /// The page.
    pub id: UrlId,
    /// When it was asked for.
    pub at: Millis,
    /// What came of it.
    pub found: Found,
    /// HTTP status; 0 without an answer.
    pub status: u16,
    /// Words that are new.
    pub added: u32,
    /// Words that are gone.
    pub removed: u32,
    /// Of a change, the difference; of a page that moved, where to; of one without an answer, why.
    pub text: String,
}

impl PageVisit {
    pub(crate) fn encode(&self) -> Vec<u8> {
        let found = Found::ALL.iter().position(|f| *f == self.found).unwrap_or(0);
        let mut out = vec![FORMAT];
        out.extend(self.id.0.to_le_bytes());
        out.extend(self.at.0.to_le_bytes());
        out.push(found as u8);
        out.extend(self.status.to_le_bytes());
        out.extend(self.added.to_le_bytes());
        out.extend(self.removed.to_le_bytes());
        out.extend(self.text.as_bytes());
        out
    }

    /// `None`: damaged, or of a newer version.
    pub(crate) fn decode(bytes: &[u8]) -> Option<PageVisit> {
        let (_, rest) = bytes.split_first().filter(|(format, _)| **format == FORMAT)?;
        let (id, rest) = rest.split_first_chunk::<4>()?;
        let (at, rest) = rest.split_first_chunk::<8>()?;
        let (found, rest) = rest.split_first()?;
        let (status, rest) = rest.split_first_chunk::<2>()?;
        let (added, rest) = rest.split_first_chunk::<4>()?;
        let (removed, text) = rest.split_first_chunk::<4>()?;
        Some(PageVisit {
            id: UrlId(u32::from_le_bytes(*id)),
            at: Millis(u64::from_le_bytes(*at)),
            found: *Found::ALL.get(usize::from(*found))?,
            status: u16::from_le_bytes(*status),
            added: u32::from_le_bytes(*added),
            removed: u32::from_le_bytes(*removed),
            text: String::from_utf8_lossy(text).into_owned(),
        })
    }
}

/// Every visit that is kept, in order. There may be many: the texts are large.
pub(crate) fn each(store: &(impl Records + ?Sized)) -> impl Iterator<Item = Result<PageVisit, Problem>> + '_ {
    store.each_state(VISITS).filter_map(|entry| match entry {
        Ok(entry) => PageVisit::decode(&entry).map(Ok),
        Err(problem) => Some(Err(problem)),
    })
}

/// Every visit of all workers; the visits to one page are in order.
pub(crate) fn of_all(ledger: &dyn Ledger) -> Each<'_, PageVisit> {
    let Some(fleet) = ledger.fleet() else { return Box::new(each(ledger)) };
    let mut all = Vec::new();
    for entry in ledger.each_state(VISITS).chain(fleet.others_state(VISITS)) {
        match entry {
            // The texts are large, and nobody asks for them here.
            Ok(entry) => {
                all.extend(PageVisit::decode(&entry).map(|v| PageVisit { text: String::new(), ..v }))
            }
            Err(problem) => return Box::new(std::iter::once(Err(problem))),
        }
    }
    all.sort_by_key(|visit| visit.at);
    Box::new(all.into_iter().map(Ok))
}

/// When each page was last visited again, and what was found.
pub(crate) fn last(ledger: &dyn Ledger) -> Result<HashMap<UrlId, (Millis, Found)>, Problem> {
    let mut last = HashMap::new();
    for visit in of_all(ledger) {
        let visit = visit?;
        last.insert(visit.id, (visit.at, visit.found));
    }
    Ok(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_and_a_damaged_one_is_none() {
        for found in Found::ALL {
            let visit = PageVisit {
                id: UrlId(9),
                at: Millis(1 << 41),
                found,
                status: 404,
                added: 7,
                removed: 1 << 20,
                text: "+ä\n".into(),
            };
            assert_eq!(PageVisit::decode(&visit.encode()), Some(visit.clone()));
            assert!((0..24).all(|end| PageVisit::decode(&visit.encode()[..end]).is_none()));
        }
        assert_eq!(PageVisit::decode(&[2; 60]), None, "another format");
    }
}
