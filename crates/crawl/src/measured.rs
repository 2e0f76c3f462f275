//! What is kept of every page for judges that learn: its features, and the lines that its host's menus are
//! known by. State `features` of the ledger, one entry a page, in order of arrival. It is read when a crawl
//! is resumed.

use focus::judges::Judge;
use focus::text::{Doc, InLinks, Repeats, word_hash};
use std::collections::HashMap;
use store::Records;
use types::{Assessment, Features, Problem, Source, StateKey, Url, UrlId};

/// The state's name.
pub(crate) const FEATURES: StateKey = StateKey::Features;

/// One page's entry.
#[derive(Debug, PartialEq)]
pub(crate) struct Measured {
    pub id: UrlId,
    pub host: u64,
    pub lines: Vec<u32>,
    pub features: Vec<u8>,
}

impl Measured {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(16 + 4 * self.lines.len() + self.features.len());
        out.extend(self.id.0.to_le_bytes());
        out.extend(self.host.to_le_bytes());
        out.extend((self.lines.len() as u32).to_le_bytes());
        self.lines.iter().for_each(|l| out.extend(l.to_le_bytes()));
        out.extend_from_slice(&self.features);
        out
    }

    /// `None`: the entry is damaged.
    pub fn decode(bytes: &[u8]) -> Option<Measured> {
        let (id, rest) = bytes.split_first_chunk::<4>()?;
        let (host, rest) = rest.split_first_chunk::<8>()?;
        let (n, rest) = rest.split_first_chunk::<4>()?;
        let (lines, features) =
            rest.split_at_checked(usize::try_from(u32::from_le_bytes(*n)).ok()?.checked_mul(4)?)?;
        let line = |c: &[u8]| c.try_into().map_or(0, u32::from_le_bytes);
        Some(Measured {
            id: UrlId(u32::from_le_bytes(*id)),
            host: u64::from_le_bytes(*host),
            lines: lines.chunks_exact(4).map(line).collect(),
            features: features.to_vec(),
        })
    }
}

/// Measures pages in order of arrival, each without the menus that its host's pages before it had.
#[derive(Default)]
pub(crate) struct Measurer {
    repeats: Repeats,
}

impl Measurer {
    /// The page as the judge sees it, and what is kept of it.
    pub fn measure(
        &mut self,
        judge: &dyn Judge,
        (id, url): (UrlId, &Url),
        doc: &Doc,
        in_links: InLinks,
    ) -> (Assessment, Measured) {
        let host = word_hash(url.host_key());
        doc.leave_out(&self.repeats, host);
        doc.linked_from(in_links);
        let assessment = judge.assess(doc);
        let lines = self.repeats.meet(host, doc.lines());
        // A page of a context that is not meant teaches nothing.
        let excluded = assessment.excluded.is_some();
        let features = if excluded { Vec::new() } else { assessment.features.read() };
        (assessment, Measured { id, host, lines, features })
    }

    /// Leaves the menus of their host out of two versions of a page. The earlier one was met before, and is
    /// no page beside itself.
    pub fn leave_out_of_versions(&mut self, url: &Url, old: &Doc, new: &Doc) {
        let host = word_hash(url.host_key());
        let own = self.repeats.forget(host, old.lines());
        old.leave_out(&self.repeats, host);
        new.leave_out(&self.repeats, host);
        if let Some(own) = own {
            self.repeats.learn(host, &own);
        }
    }

    /// Measures a page that was met before: its lines are known, and not learnt twice.
    pub fn measure_again(
        &self,
        judge: &dyn Judge,
        id: UrlId,
        url: &Url,
        doc: &Doc,
    ) -> (Assessment, Measured) {
        self.leave_out(url, doc);
        let assessment = judge.assess(doc);
        let excluded = assessment.excluded.is_some();
        let features = if excluded { Vec::new() } else { assessment.features.read() };
        (assessment, Measured { id, host: word_hash(url.host_key()), lines: Vec::new(), features })
    }

    /// Leaves the menus of the page's host out of its own text, as far as they are known.
    pub fn leave_out(&self, url: &Url, doc: &Doc) {
        doc.leave_out(&self.repeats, word_hash(url.host_key()));
    }

    /// Learns the lines of a page of which no features are kept.
    pub fn meet(&mut self, url: &Url, doc: &Doc) {
        self.repeats.meet(word_hash(url.host_key()), doc.lines());
    }

    /// Takes in a page of an earlier run.
    pub fn restore(&mut self, page: &Measured) {
        self.repeats.learn(page.host, &page.lines);
    }
}

/// The links to a page as its judge reads them. `kept` has the features of the pages it saw.
pub(crate) fn in_links(sources: &[Source], kept: impl Fn(UrlId) -> Option<Features>) -> InLinks {
    InLinks {
        anchors: sources.iter().map(|s| s.anchor.clone()).filter(|a| !a.is_empty()).collect(),
        pages: sources.iter().filter_map(|s| kept(s.parent?)).collect(),
        titles: Vec::new(),
    }
}

/// The features of pages that are measured again, in order of arrival.
#[derive(Default)]
pub(crate) struct NewFeatures(HashMap<UrlId, Features>);

impl NewFeatures {
    /// The links to the next page, as they were when it was fetched: later pages do not count.
    pub fn in_links(&self, ledger: &(impl Records + ?Sized), id: UrlId) -> Result<InLinks, Problem> {
        let mut sources = ledger.sources(id)?;
        sources.retain(|s| s.parent.is_some_and(|p| self.0.contains_key(&p)));
        Ok(in_links(&sources, |id| self.0.get(&id).filter(|f| !f.is_empty()).cloned()))
    }
    /// A page was measured.
    pub fn add(&mut self, id: UrlId, assessment: &Assessment) {
        self.0.insert(id, assessment.features.clone());
    }
}

/// Rewrites the state after every page was measured again.
pub(crate) fn write_all(
    ledger: &mut dyn crate::crawl::Ledger,
    pages: impl Iterator<Item = Measured>,
) -> Result<(), Problem> {
    ledger.put_state(FEATURES, false, &[])?;
    for page in pages {
        ledger.put_state(FEATURES, true, &page.encode())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_comes_back_and_a_damaged_one_is_none() {
        let page = Measured { id: UrlId(7), host: 9, lines: vec![1, u32::MAX], features: vec![1, 2, 3] };
        let bytes = page.encode();
        assert_eq!(Measured::decode(&bytes), Some(page));
        assert!((0..24).all(|end| Measured::decode(&bytes[..end]).is_none()));
    }
}
