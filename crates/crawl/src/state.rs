//! What a crawl has learnt, kept in the ledger: saved with the pages that taught it, taken up again by the
//! next run.

use crate::crawl::{Counts, Crawl, JudgedPage, Run};
use crate::duplicates::Duplicates;
use crate::labels::{CHOICES, Choice};
use crate::measured::Measurer;
use crate::mirrors::Mirrors;
use crate::roll::Roll;
use crate::steer::stopped::UntoldVerdicts;
use focus::strategies::Because;
use std::collections::{HashMap, HashSet};
use std::sync::PoisonError;
use store::formats::LabelChange;
use types::{Assessment, Label, Problem, StateKey, Turn, UrlId, Verdict};

/// What a strategy learned is saved once per commit, not once per page: changes of one batch overlap. No more
/// pages than this wait for it, however large a batch grows.
const UNSAVED: u32 = 64;
/// The running totals and the judge's state are saved every so many pages; what came since is rebuilt from
/// the pages.
const SAVE_EVERY: u64 = 64;
/// State: the labels the strategy was told of.
const TOLD: StateKey = StateKey::LabelsTold;
/// State: what sitemaps have cost, a line per host and change.
pub(crate) const LISTINGS: StateKey = StateKey::Listings;

impl Crawl {
    /// State that is saved with the page that caused it.
    pub(crate) fn page_state(
        &mut self,
        turn: &mut Turn,
        judged: JudgedPage,
        digest: [u8; 20],
        revised: bool,
    ) {
        turn.state.push((StateKey::Pages, true, PageLine::of(judged, digest).write()));
        // The first save, and now and then a later one, is of everything: with the batch, not here.
        if self.learning.unsaved >= UNSAVED
            && self.learning.appended.1 > 0
            && let Some(bytes) = self.strategy_changes()
        {
            turn.state.push((StateKey::Strategy, true, bytes));
        }
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        let now_and_then = self.counts.pages.is_multiple_of(SAVE_EVERY);
        if (revised || self.counts.pages == 1)
            && let Some(line) = Choice::line(self.counts.pages, self.counts.threshold, judge.explain())
        {
            turn.state.push((CHOICES, true, line));
        }
        // Saved when it changed its mind, and now and then: `restore` shows it the pages since, so it is
        // exact.
        if (revised || now_and_then)
            && let Some(bytes) = judge.save()
        {
            let mut state = self.counts.pages.to_le_bytes().to_vec();
            state.extend(bytes);
            turn.state.push((StateKey::Judge, false, state));
        }
        drop(judge);
        if now_and_then && let Ok(bytes) = serde_json::to_vec(&self.counts) {
            turn.state.push((StateKey::Counts, false, bytes));
        }
    }

    /// What the strategy learned since it was last saved, if anything.
    fn strategy_changes(&mut self) -> Option<Vec<u8>> {
        self.learning.unsaved = 0;
        let bytes = self.parts.strategy.model()?.save(false)?;
        self.learning.appended.0 += bytes.len();
        Some(bytes)
    }

    /// Adds what the strategy learned to the batch of the pages it learned it from.
    pub(crate) fn save_learned(&mut self) -> Result<(), Problem> {
        if !self.parts.rules.keep || self.learning.unsaved == 0 {
            return Ok(());
        }
        let (appended, whole) = self.learning.appended;
        // Changes are small; a whole save replaces them once they add up to several times its size.
        if whole == 0 || appended > 4 * whole + (1 << 16) {
            return self.save_strategy_now();
        }
        match self.strategy_changes() {
            Some(bytes) => self.parts.ledger.put_state(StateKey::Strategy, true, &bytes),
            None => Ok(()),
        }
    }

    /// The strategy's whole state.
    pub(crate) fn save_strategy_now(&mut self) -> Result<(), Problem> {
        if !self.parts.rules.keep {
            return Ok(());
        }
        self.learning.unsaved = 0;
        let (ledger, mut whole) = (&mut self.parts.ledger, 0);
        let Some(model) = self.parts.strategy.model() else { return Ok(()) };
        model.save_all(&mut |bytes| {
            let change = whole > 0;
            whole += bytes.len();
            ledger.put_state(StateKey::Strategy, change, &bytes)
        })?;
        if whole > 0 {
            self.learning.appended = (0, whole);
        }
        Ok(())
    }

    pub(crate) fn save_counts(&mut self) -> Result<(), Problem> {
        let bytes = serde_json::to_vec(&self.counts)
            .map_err(|e| Problem::new("cannot save the totals").because(e))?;
        self.parts.ledger.put_state(StateKey::Counts, false, &bytes)
    }

    /// Takes up the state of an earlier run.
    pub(crate) fn restore(&mut self) -> Result<(), Problem> {
        let ledger = &self.parts.ledger;
        if let Some(bytes) = ledger.state(StateKey::Counts)?.into_iter().next_back() {
            self.counts = serde_json::from_slice::<Counts>(&bytes).unwrap_or_default();
        }
        for lines in ledger.state(LISTINGS)? {
            self.hosts.listings.restore(&lines);
        }
        let last = Run::of(ledger.as_ref())?;
        let same = |mine: &str, kept: fn(&Run) -> &str| last.as_ref().is_none_or(|r| kept(r) == mine);
        let mut judge_state = None;
        if same(&self.parts.judge_name, |r| &r.judge) {
            judge_state = ledger.state(StateKey::Judge)?.into_iter().next_back();
        }
        if same(&self.parts.strategy_name, |r| &r.strategy) {
            for bytes in ledger.state(StateKey::Strategy)? {
                self.parts.strategy.model().map_or(Ok(()), |m| m.load(&bytes))?;
            }
        }
        // The totals are saved now and then; the pages themselves are exact.
        self.read_pages()?;
        self.count_pages();
        let mut judge = self.parts.judge.write().unwrap_or_else(PoisonError::into_inner);
        let mut known = 0;
        if let Some((n, bytes)) = judge_state.as_deref().and_then(|b| b.split_first_chunk::<8>()) {
            judge.load(bytes)?;
            known = if judge.needs().pages { 0 } else { u64::from_le_bytes(*n) };
        }
        self.judging.roll.show(judge.as_mut(), usize::try_from(known).unwrap_or(usize::MAX));
        if judge_state.is_none() {
            // Else they are in what was saved: with every label the judge is saved too.
            self.judging.roll.show_lessons(judge.as_mut());
        }
        self.counts.threshold = judge.decide(&Assessment::default()).threshold;
        drop(judge);
        self.learning.labels_told = self.parts.ledger.state(TOLD)?.pop().unwrap_or_default();
        self.tell_untold()?;
        self.tell_labels()
    }

    /// What was committed is older than what this process has learnt: the strategy's state is kept whole,
    /// with what it was told of labels.
    pub(crate) fn save_learned_whole(&mut self) -> Result<(), Problem> {
        self.save_strategy_now()?;
        if self.parts.rules.keep {
            self.parts.ledger.put_state(TOLD, false, &self.learning.labels_told)?;
        }
        Ok(())
    }

    /// The pages as the ledger has them, with what was last said of them; and what the user said of others'.
    pub(crate) fn read_pages(&mut self) -> Result<(), Problem> {
        let (mut duplicates, mut measurer) = (Duplicates::default(), Measurer::default());
        let mut mirrors = Mirrors::default();
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        let ledger = &self.parts.ledger;
        let mut names: HashMap<u32, String> = HashMap::new();
        for host in ledger.hosts()? {
            names.extend(ledger.find_host(&host.name)?.map(|number| (number, host.name)));
        }
        let mut unread = Ok(());
        let mut host = |id: UrlId| match ledger.entry(id) {
            Ok(entry) => names.get(&entry?.host?).map(String::as_str),
            Err(problem) => {
                unread = Err(problem);
                None
            }
        };
        let roll = self.parts.folder.as_deref().map_or_else(Roll::default, Roll::at).read(
            ledger.as_ref(),
            judge.as_ref(),
            &|record| self.lesson(record),
            &mut |page| {
                duplicates.meet(page.judged.id, page.digest, page.judged.simhash);
                if let Some(name) = host(page.judged.id) {
                    mirrors.met(name, page.copy_of.and_then(&mut host));
                }
            },
            &mut |page| measurer.restore(page),
        )?;
        drop(judge);
        unread?;
        (self.judging.roll, self.judging.duplicates, self.judging.measurer) = (roll, duplicates, measurer);
        self.judging.mirrors = mirrors;
        Ok(())
    }

    /// Verdicts that labels changed while nobody crawled: the strategy has learnt from the old ones.
    fn tell_untold(&mut self) -> Result<(), Problem> {
        let untold = UntoldVerdicts::read(self.parts.ledger.as_ref())?;
        if untold.is_empty() {
            return Ok(());
        }
        let changed = self.changed_since(&untold);
        self.tell_revised(&changed, Because::Labels)?;
        UntoldVerdicts::clear(self.parts.ledger.as_mut())?;
        if changed.is_empty() { Ok(()) } else { self.score_again() }
    }

    /// What the user said of pages since the last run: the strategy learnt from the judge's verdicts and is
    /// told where they were wrong. Once: what it was told is kept, and committed with what it makes of it.
    pub(crate) fn tell_labels(&mut self) -> Result<(), Problem> {
        let before = std::mem::take(&mut self.learning.labels_told);
        let line = |id: UrlId, label: bool| LabelChange::of(id, label).to_bytes();
        let told: HashSet<&[u8]> = before.chunks_exact(5).collect();
        let (mut now, mut changed) = (Vec::new(), Vec::new());
        for j in &self.judging.roll.judged {
            let Some(label) = j.label.and_then(Label::decides) else { continue };
            now.extend(line(j.id, label));
            let turned = told.contains(&line(j.id, !label)[..]);
            if turned || (label != j.relevant && !told.contains(&line(j.id, label)[..])) {
                let relevance = f64::from(u8::from(label));
                changed.push((j.id, Verdict { relevant: label, relevance, ..Verdict::default() }));
            }
        }
        self.tell_revised(&changed, Because::User)?;
        if now != before && self.parts.rules.keep {
            self.parts.ledger.put_state(TOLD, false, &now)?;
        }
        self.learning.labels_told = now;
        Ok(())
    }
}

/// A page's entry in the `pages` state.
pub(crate) struct PageLine {
    /// As it was judged at the time.
    pub judged: JudgedPage,
    pub digest: [u8; 20],
    /// The page it is a copy of.
    pub copy_of: Option<UrlId>,
    /// Another worker fetched it first.
    pub adopted: bool,
}

/// Bytes of an entry without the page it is a copy of, which only copies have.
const LINE: usize = 41;

impl PageLine {
    pub fn of(judged: JudgedPage, digest: [u8; 20]) -> PageLine {
        PageLine { judged, digest, copy_of: judged.copy_of.map(|e| e.id), adopted: false }
    }
    pub fn write(&self) -> Vec<u8> {
        let judged = &self.judged;
        let mut line = Vec::with_capacity(LINE + 4);
        line.extend(judged.id.0.to_le_bytes());
        line.extend(judged.score.to_le_bytes());
        let flags = [judged.barred, judged.relevant, judged.turned, self.adopted];
        line.push(flags.iter().enumerate().map(|(i, flag)| u8::from(*flag) << i).sum());
        line.extend(self.digest);
        line.extend(judged.simhash.to_le_bytes());
        line.extend(self.copy_of.iter().flat_map(|id| id.0.to_le_bytes()));
        line
    }

    /// Every page in the order they came, each as it was last judged: a later version takes the place of the
    /// earlier one.
    pub fn newest(store: &(impl store::Records + ?Sized)) -> Result<Vec<PageLine>, Problem> {
        let (mut lines, mut at) = (Vec::new(), HashMap::new());
        for line in store.each_state(StateKey::Pages) {
            let Some(line) = PageLine::read(&line?) else { continue };
            match at.get(&line.judged.id).and_then(|i: &usize| lines.get_mut(*i)) {
                Some(earlier) => *earlier = line,
                None => {
                    at.insert(line.judged.id, lines.len());
                    lines.push(line);
                }
            }
        }
        Ok(lines)
    }

    /// `None`: the entry is damaged.
    pub fn read(line: &[u8]) -> Option<PageLine> {
        let (id, rest) = line.split_first_chunk::<4>()?;
        let (score, rest) = rest.split_first_chunk::<8>()?;
        let (flags, rest) = rest.split_first()?;
        let (digest, rest) = rest.split_first_chunk::<20>()?;
        let (simhash, rest) = rest.split_first_chunk::<8>()?;
        let judged = JudgedPage {
            id: UrlId(u32::from_le_bytes(*id)),
            score: f64::from_le_bytes(*score),
            barred: flags & 1 != 0,
            turned: flags & 4 != 0,
            relevant: flags & 2 != 0,
            label: None,
            copy_of: None,
            simhash: u64::from_le_bytes(*simhash),
        };
        let copy_of = rest.first_chunk::<4>().map(|id| UrlId(u32::from_le_bytes(*id)));
        Some(PageLine { judged, digest: *digest, copy_of, adopted: flags & 8 != 0 })
    }
}
