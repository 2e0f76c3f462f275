//! Reads of a collection: URLs, sightings, pages, hosts and state, from the order in memory and from the log.

use super::codec::{self, Admit, Kind, Settled, Sight};
use super::{Ledger, Log, page};
use crate::fleet::Fleet;
use crate::traits::{Each, Journal, Records, Revision, Stats, Storage, Which};
use frontier::{Counts, HostInfo, Info};
use std::ops::ControlFlow;
use types::{
    Assessment, LinkKind, Outcome, Problem, Record, RobotsAnswer, Source, StateKey, Url, UrlId, Verdict,
    Version,
};

/// One link of a URL's chain of records.
pub(super) enum Link<'a> {
    Admit(Admit<'a>),
    Sight(Sight<'a>),
    Settle(Settled),
    Page(&'a [u8]),
    /// A later verdict and, as bytes, the assessment it rests on when that changed too.
    Revise(Verdict, Option<&'a [u8]>),
}

/// A URL's chain is at most its sources, a few tries and its verdicts; a longer one is damage that points in
/// circles.
const LONGEST_CHAIN: usize = 100_000;

/// What a lease needs from the log.
pub(super) struct LeaseFacts {
    pub url: Url,
    pub kind: LinkKind,
    pub evidence: Vec<u8>,
}

impl<L: Log> Ledger<L> {
    /// Walks the records of a URL, newest first, until `each` breaks.
    pub(super) fn chain<T>(
        &self,
        id: UrlId,
        mut each: impl FnMut(u64, Link<'_>) -> ControlFlow<T>,
    ) -> Result<Option<T>, Problem> {
        let Some(mut at) = self.order.offset(id) else { return Err(self.unknown(id)) };
        for _ in 0..LONGEST_CHAIN {
            let (flow, prev) = self.read(at, |kind, bytes| {
                let (link, of, prev) = match kind {
                    Kind::Admit => Admit::get(bytes).map(|a| (Link::Admit(a), a.id, None))?,
                    Kind::Sight => Sight::get(bytes).map(|s| (Link::Sight(s), s.id, Some(s.prev)))?,
                    Kind::Settle => Settled::get(bytes)
                        .map(|s| (s.id, s.prev, s))
                        .map(|(id, prev, s)| (Link::Settle(s), id, Some(prev)))?,
                    Kind::Page => {
                        page::page_head(bytes).map(|(id, prev)| (Link::Page(bytes), id, Some(prev)))?
                    }
                    Kind::Revise => {
                        let rest = codec::get_revise_rest(bytes);
                        codec::get_revise(bytes)
                            .map(|(id, prev, v)| (Link::Revise(v, rest), id, Some(prev)))?
                    }
                    _ => return None,
                };
                (of == id).then(|| (each(at, link), prev))
            })?;
            match (flow, prev) {
                (ControlFlow::Break(found), _) => return Ok(Some(found)),
                (ControlFlow::Continue(()), Some(prev)) if prev < at => at = prev,
                (ControlFlow::Continue(()), Some(_)) => return Err(self.damaged(at)),
                (ControlFlow::Continue(()), None) => return Ok(None),
            }
        }
        Err(self.damaged(at))
    }

    pub(super) fn unknown(&self, id: UrlId) -> Problem {
        Problem::new(format!("there is no URL number {} in {}", id.0, self.log.name()))
    }

    /// The URL, how it was first found, and the evidence of its best sighting.
    pub(super) fn known(&self, id: UrlId) -> Result<LeaseFacts, Problem> {
        let mut best: Option<(types::Priority, Vec<u8>)> = None;
        // Newest first, so an equal one that was found earlier takes over.
        let mut offer = |seen: &codec::Seen<'_>| {
            if best.as_ref().is_none_or(|(p, _)| seen.priority >= *p) {
                best = Some((seen.priority, seen.evidence.to_vec()));
            }
        };
        let found = self.chain(id, |at, link| match link {
            Link::Admit(a) => {
                offer(&a.seen);
                ControlFlow::Break((at, a.url.to_string(), a.seen.kind))
            }
            Link::Sight(s) => {
                offer(&s.seen);
                ControlFlow::Continue(())
            }
            _ => ControlFlow::Continue(()),
        })?;
        let Some((at, text, kind)) = found else { return Err(self.unknown(id)) };
        Ok(LeaseFacts {
            url: self.parse_url(id, at, &text)?,
            kind,
            evidence: best.map(|b| b.1).unwrap_or_default(),
        })
    }

    /// The pages in this log, in the order they were fetched.
    pub(crate) fn pages_here(&self) -> impl Iterator<Item = UrlId> + '_ {
        let head = |kind, bytes: &[u8]| (kind == Kind::Page).then(|| page::page_head(bytes)).flatten();
        self.pages.iter().filter_map(move |&at| self.read(at, head).ok()).map(|(id, _)| id)
    }

    /// Makes the next start fast.
    pub fn checkpoint(&mut self) -> Result<(), Problem> {
        self.write_batch()?;
        self.write_checkpoint()
    }

    /// Which version of a page is the newest here.
    pub(super) fn version(&self, id: UrlId) -> Result<Version, Problem> {
        let record = self.page_of(id)?.map(|(_, record)| record);
        let of = |r: Record| Version { etag: r.etag, last_modified: r.last_modified, digest: r.digest };
        Ok(record.map_or_else(Version::default, of))
    }

    /// The page record with the newest verdict, and where it is.
    fn page_of(&self, id: UrlId) -> Result<Option<(u64, Record)>, Problem> {
        let (mut newest, mut assessed) = (None, None);
        let found = self.chain(id, |at, link| match link {
            Link::Revise(v, rest) => {
                newest.get_or_insert(v);
                if let Some(rest) = rest {
                    assessed.get_or_insert_with(|| (at, postcard::from_bytes::<Assessment>(rest).ok()));
                }
                ControlFlow::Continue(())
            }
            Link::Page(bytes) => ControlFlow::Break((at, page::get_page(bytes))),
            _ => ControlFlow::Continue(()),
        })?;
        let Some((at, record)) = found else { return Ok(None) };
        let mut record = record.ok_or_else(|| self.damaged(at))?;
        if let Some(v) = newest {
            record.verdict = v;
        }
        if let Some((at, assessment)) = assessed {
            record.assessment = assessment.ok_or_else(|| self.damaged(at))?;
        }
        Ok(Some((at, record)))
    }
}

impl<L: Log> Records for Ledger<L> {
    fn find(&self, url: &Url) -> Result<Option<UrlId>, Problem> {
        Ok(self.order.find(url.fingerprint(self.order.key())))
    }

    fn url(&self, id: UrlId) -> Result<Url, Problem> {
        Ok(self.known(id)?.url)
    }

    fn entry(&self, id: UrlId) -> Result<Option<Info>, Problem> {
        Ok(self.order.info(id))
    }

    fn entries(&self, which: Which) -> Each<'_, Info> {
        let all = (0..self.order.len() as u32).filter_map(|i| self.order.info(UrlId(i)));
        match which {
            Which::All => Box::new(all.map(Ok)),
            Which::Pending => Box::new(self.order.pending().filter_map(|id| self.order.info(id)).map(Ok)),
        }
    }

    fn sources(&self, id: UrlId) -> Result<Vec<Source>, Problem> {
        let Some(newest) = self.order.offset(id) else { return Err(self.unknown(id)) };
        self.recent.get(id, newest, |known| {
            let mut out = Vec::new();
            self.chain(id, |at, link| {
                if known == Some(at) {
                    return ControlFlow::Break(());
                }
                match link {
                    Link::Admit(a) => out.push(a.seen.source()),
                    Link::Sight(s) => out.push(s.seen.source()),
                    _ => {}
                }
                ControlFlow::Continue(())
            })?;
            out.reverse();
            Ok(out)
        })
    }

    fn children(&self, id: UrlId) -> Result<Vec<UrlId>, Problem> {
        let found = self.chain(id, |_, link| match link {
            Link::Settle(s) => ControlFlow::Break(s.children),
            _ => ControlFlow::Continue(()),
        })?;
        Ok(found.unwrap_or_default())
    }

    fn record(&self, id: UrlId) -> Result<Option<Record>, Problem> {
        if self.order.info(id).is_none() {
            return Ok(None);
        }
        Ok(self.page_of(id)?.map(|(_, record)| record))
    }

    fn versions(&self, id: UrlId) -> Result<Vec<Record>, Problem> {
        let Some(newest) = self.record(id)? else { return Ok(Vec::new()) };
        let (mut all, mut damaged) = (Vec::new(), None);
        self.chain(id, |at, link| {
            if let Link::Page(bytes) = link {
                match page::get_page(bytes) {
                    Some(record) => all.push(record),
                    None => damaged = Some(at),
                }
            }
            ControlFlow::<()>::Continue(())
        })?;
        if let Some(at) = damaged {
            return Err(self.damaged(at));
        }
        // With what was last said of it.
        if let Some(first) = all.first_mut() {
            *first = newest;
        }
        Ok(all)
    }

    fn pages(&self, from: usize) -> Each<'_, (Record, Info)> {
        let pages = self.pages.get(from..).unwrap_or_default();
        Box::new(pages.iter().filter_map(move |&offset| {
            let read = || {
                let head =
                    |kind, bytes: &[u8]| (kind == Kind::Page).then(|| page::page_head(bytes)).flatten();
                let (id, _) = self.read(offset, head)?;
                // A page that was fetched again is given once, in its newest form.
                let page = self.page_of(id)?.filter(|(at, _)| *at == offset);
                Ok(page.and_then(|(_, record)| Some((record, self.order.info(id)?))))
            };
            read().transpose()
        }))
    }

    fn revised(&self) -> Result<Vec<(UrlId, Verdict)>, Problem> {
        let newest = |&id: &u32| {
            let verdict = self.chain(UrlId(id), |_, link| match link {
                Link::Revise(v, _) => ControlFlow::Break(Some(v)),
                // Fetched again since: the record's own verdict is newer.
                Link::Page(_) => ControlFlow::Break(None),
                _ => ControlFlow::Continue(()),
            });
            verdict.map(|v| v.flatten().map(|v| (UrlId(id), v))).transpose()
        };
        self.revised.iter().filter_map(newest).collect()
    }

    fn hosts(&self) -> Result<Vec<HostInfo>, Problem> {
        Ok((0..self.order.host_count() as u32).filter_map(|h| self.order.host_info(h)).collect())
    }

    fn find_host(&self, name: &str) -> Result<Option<u32>, Problem> {
        Ok(self.order.find_host(name))
    }

    fn host_name(&self, number: u32) -> Result<Option<String>, Problem> {
        Ok(self.order.host_info(number).map(|h| h.name))
    }

    fn robots(&self, host_key: &str) -> Result<Option<RobotsAnswer>, Problem> {
        let state = self.order.find_host(host_key).and_then(|h| self.order.robots(h));
        let Some(offset) = state.map(|s| s.offset).filter(|&at| at > 0) else { return Ok(None) };
        let answer = |kind, bytes: &[u8]| (kind == Kind::Robots).then(|| codec::get_robots(bytes)).flatten();
        self.read(offset, answer).map(|(_, answer)| Some(answer))
    }

    fn state(&self, key: StateKey) -> Result<Vec<Vec<u8>>, Problem> {
        self.each_state(key).collect()
    }

    fn each_state(&self, key: StateKey) -> Each<'_, Vec<u8>> {
        Box::new(self.state_places(key).iter().map(|&at| self.state_at(at)))
    }

    fn stats(&self) -> Result<Stats, Problem> {
        let counts = self.order.counts();
        Ok(Stats {
            urls: counts.pending + counts.leased + counts.settled(),
            pending: counts.pending,
            leased: counts.leased,
            settled: counts.settled(),
            outcomes: outcomes(&counts),
            pages: (self.pages.len() as u64).saturating_sub(self.superseded),
            versions: self.pages.len() as u64,
            hosts: self.order.hosts_here(),
            leases: self.order.step(),
            returned: self.order.returned(),
            log_bytes: self.base,
            bytes_written: self.written,
            torn_bytes: self.torn,
        })
    }

    fn check(&self) -> Result<(), Problem> {
        let wrong = |e: String| Problem::new(format!("{} is inconsistent", self.log.name())).because(e);
        self.order.check().map_err(wrong)
    }
}

impl<L: Log> Journal for Ledger<L> {
    fn revise(&mut self, pages: &[Revision]) -> Result<(), Problem> {
        for Revision { id, verdict, assessment } in pages {
            let Some(prev) = self.order.offset(*id) else { return Err(self.unknown(*id)) };
            // Only what is no part of a turn may be cut in two: a turn rests on no new assessment.
            if assessment.is_some() && self.batch.len() > super::apply::BATCH {
                self.write_batch()?;
            }
            let rest = assessment.as_ref().map(page::assessment_bytes).transpose()?;
            let offset = self.put(Kind::Revise, |o| {
                codec::put_revise(o, *id, prev, verdict);
                o.rest(&rest.unwrap_or_default());
            });
            self.order.set_offset(*id, offset);
            self.revised.insert(id.0);
            self.revisions += 1;
        }
        Ok(())
    }

    fn put_state(&mut self, key: StateKey, change: bool, bytes: &[u8]) -> Result<(), Problem> {
        let name = key.name();
        if bytes.len() > super::apply::LARGEST {
            let what = format!("the state `{name}` is too large to keep ({} bytes)", bytes.len());
            return Err(Problem::new(what));
        }
        // What a strategy learned may be many megabytes: the batch must not double for it.
        if bytes.len() > 1 << 20 {
            self.batch.reserve_exact(bytes.len() + name.len() + 64);
        }
        let offset = self.put(Kind::State, |o| {
            o.bytes(name.as_bytes());
            o.u8(u8::from(change));
            o.rest(bytes);
        });
        self.note_state(name, change, offset);
        Ok(())
    }

    fn sync(&mut self) -> Result<(), Problem> {
        self.log.sync().map_err(|e| self.io("write", &e))
    }

    fn close(&mut self) -> Result<(), Problem> {
        self.write_batch()?;
        if !self.closed && self.order.in_flight() == 0 {
            let at = self.order.now();
            self.put(Kind::Closed, |o| o.u64(at));
            self.write_batch()?;
            self.closed = true;
        }
        self.log.sync().map_err(|e| self.io("write", &e))?;
        self.write_checkpoint()
    }
}

impl<L: Log + Send> Storage for Ledger<L> {
    fn fleet(&self) -> Option<&dyn Fleet> {
        None
    }
    fn fleet_mut(&mut self) -> Option<&mut dyn Fleet> {
        None
    }
}

/// Every outcome by name, all statuses of an HTTP error together.
pub(crate) const OUTCOMES: [(&str, Outcome); 13] = [
    ("fetched", Outcome::Fetched),
    ("redirected", Outcome::Redirected),
    ("http-error", Outcome::HttpError(0)),
    ("unreachable", Outcome::Unreachable),
    ("robots-denied", Outcome::RobotsDenied),
    ("unwanted", Outcome::Unwanted),
    ("refused", Outcome::Refused),
    ("out-of-scope", Outcome::OutOfScope),
    ("dropped", Outcome::Dropped),
    ("document-limits", Outcome::Unreadable),
    ("crashed", Outcome::Crashed),
    ("document-encrypted", Outcome::Encrypted),
    ("document-scanned", Outcome::Scanned),
];

/// The name of an outcome, as [`Stats::outcomes`] has it.
pub fn outcome_name(outcome: Outcome) -> &'static str {
    let same = |o: &Outcome| std::mem::discriminant(o) == std::mem::discriminant(&outcome);
    OUTCOMES.iter().find(|(_, o)| same(o)).map_or("", |(name, _)| name)
}

impl Stats {
    /// URLs that ended without an answer.
    pub fn unanswered(&self) -> u64 {
        let silent = |name: &str| OUTCOMES.iter().any(|(n, outcome)| *n == name && outcome.is_no_answer());
        self.outcomes.iter().filter(|(name, _)| silent(name)).map(|(_, n)| n).sum()
    }
}

fn outcomes(counts: &Counts) -> Vec<(&'static str, u64)> {
    OUTCOMES.map(|(name, outcome)| (name, counts.of(outcome))).to_vec()
}
