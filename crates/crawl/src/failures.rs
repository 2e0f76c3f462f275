//! Why and when fetches failed: state `failures` of the ledger, one entry for every try that brought no page.
//! How a URL ended is known without it; collections of earlier versions have none.

use crate::crawl::Crawl;
use std::collections::HashMap;
use store::Records;
use types::{Fetched, Millis, Problem, StateKey, UrlId};

/// The state's name.
pub(crate) const FAILURES: StateKey = StateKey::Failures;
/// The first byte of an entry.
const FORMAT: u8 = 1;
/// Words for people; longer ones are cut.
const LONGEST: usize = 300;

/// Why a try brought no page.
#[derive(Clone, Debug)]
pub(crate) struct Reason {
    /// A stable word, such as `timeout` or `http-404`.
    pub kind: String,
    /// What the network or the server said; may be empty.
    pub why: String,
}

impl Reason {
    pub fn named(kind: &str) -> Reason {
        Reason { kind: kind.into(), why: String::new() }
    }

    pub fn of(fetched: &Fetched) -> Reason {
        match &fetched.failure {
            Some(failure) => Reason { why: failure.to_string(), ..Reason::named(failure.kind()) },
            None if fetched.status >= 400 => Reason::named(&format!("http-{}", fetched.status)),
            None => Reason::named("unreadable"),
        }
    }
}

/// One try that brought no page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub id: UrlId,
    pub at: Millis,
    /// As in [`Reason`].
    pub kind: String,
    pub why: String,
}

impl Crawl {
    /// Part of the commit of the turn that it belongs to.
    pub(crate) fn note_failure(&mut self, id: UrlId, reason: &Reason, at: Millis) -> Result<(), Problem> {
        if !self.parts.rules.keep {
            return Ok(());
        }
        let Reason { kind, why } = reason.clone();
        self.parts.ledger.put_state(FAILURES, true, &Failure { id, at, kind, why }.encode())
    }
}

impl Failure {
    pub fn encode(&self) -> Vec<u8> {
        let cut = |text: &str, most: usize| text.as_bytes()[..text.floor_char_boundary(most)].to_vec();
        let kind = cut(&self.kind, usize::from(u8::MAX));
        let mut out = vec![FORMAT];
        out.extend(self.id.0.to_le_bytes());
        out.extend(self.at.0.to_le_bytes());
        out.push(kind.len() as u8);
        out.extend(kind);
        out.extend(cut(&self.why, LONGEST));
        out
    }

    /// `None`: damaged, or of a newer version.
    pub fn decode(bytes: &[u8]) -> Option<Failure> {
        let (_, rest) = bytes.split_first().filter(|(format, _)| **format == FORMAT)?;
        let (id, rest) = rest.split_first_chunk::<4>()?;
        let (at, rest) = rest.split_first_chunk::<8>()?;
        let (kind, rest) = rest.split_first()?;
        let (kind, why) = rest.split_at_checked(usize::from(*kind))?;
        Some(Failure {
            id: UrlId(u32::from_le_bytes(*id)),
            at: Millis(u64::from_le_bytes(*at)),
            kind: String::from_utf8(kind.to_vec()).ok()?,
            why: String::from_utf8_lossy(why).into_owned(),
        })
    }
}

/// What is known of the failures of a collection.
#[derive(Default)]
pub(crate) struct Failures {
    by_url: HashMap<UrlId, Tries>,
}

/// All failed tries of one URL.
pub(crate) struct Tries {
    pub first: Millis,
    pub count: u32,
    pub last: Failure,
}

impl Failures {
    pub fn read(store: &(impl Records + ?Sized)) -> Result<Failures, Problem> {
        let mut by_url: HashMap<UrlId, Tries> = HashMap::new();
        for entry in store.each_state(FAILURES) {
            let Some(failure) = Failure::decode(&entry?) else { continue };
            match by_url.get_mut(&failure.id) {
                Some(tries) => {
                    tries.count += 1;
                    tries.first = tries.first.min(failure.at);
                    // Of a shared crawl, the entries of one worker come after those of another.
                    if failure.at >= tries.last.at {
                        tries.last = failure;
                    }
                }
                None => {
                    let tries = Tries { first: failure.at, count: 1, last: failure };
                    by_url.insert(tries.last.id, tries);
                }
            }
        }
        Ok(Failures { by_url })
    }

    pub fn of(&self, id: UrlId) -> Option<&Tries> {
        self.by_url.get(&id)
    }

    pub fn is_empty(&self) -> bool {
        self.by_url.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_and_a_damaged_one_is_none() {
        let failure = Failure {
            id: UrlId(70_000),
            at: Millis(1 << 41),
            kind: "http-503".into(),
            why: "ü".repeat(LONGEST),
        };
        let read = Failure::decode(&failure.encode()).unwrap();
        assert_eq!((read.id, read.at, &read.kind), (failure.id, failure.at, &failure.kind));
        assert_eq!(read.why, "ü".repeat(LONGEST / 2), "cut between two letters");
        assert!((0..20).all(|end| Failure::decode(&failure.encode()[..end]).is_none()));
        assert_eq!(Failure::decode(&[2; 40]), None, "another format");
    }
}
