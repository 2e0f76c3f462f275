//! A changed topic (or new labels) applied to what a collection already has: every page is read again from
//! the archive and judged anew. Nothing is fetched.

use crate::analyse::{Analysis, Analyst};
use crate::collection::{Collection, TopicParts, write_topic};
use crate::config::LoadedConfig;
use crate::crawl::{JudgedPage, Ledger, Run};
use crate::labels::{CHOICES, Choice, Labels, Quality};
use crate::measured::{self, Measured, Measurer, NewFeatures};
use crate::roll::Roll;
use crate::scope::Scope;
use crate::state::PageLine;
use crate::stored;
use focus::judges::Judge;
use focus::topic::Topic;
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;
use std::sync::PoisonError;
use store::archive::Stacks;
use store::{FileLog, LedgerReader, Records, Revision};
use types::{Assessment, Fetched, Label, Problem, Record, StateKey, Url, UrlId, Verdict};

/// Pages read and measured at a time, on all cores.
const CHUNK: usize = 256;

/// What came of it.
#[derive(Clone, Debug, Serialize)]
pub struct Rejudged {
    /// Pages judged again.
    pub pages: usize,
    /// Pages whose bytes were not in the archive: their kept text was judged.
    pub without_archive: usize,
    /// Relevant pages before.
    pub relevant_before: usize,
    /// Relevant pages now.
    pub relevant_after: usize,
    /// Pages that became relevant, in fetch order.
    pub gained: Vec<Change>,
    /// Pages that are relevant no more, in fetch order.
    pub lost: Vec<Change>,
    /// Threshold of the judge before.
    pub threshold_before: Option<f64>,
    /// Threshold of the judge now.
    pub threshold_after: Option<f64>,
    /// How the judge came to its threshold.
    pub why: Option<String>,
    /// How the judge did on the labelled pages before.
    pub labels_before: Option<Quality>,
    /// How it does now.
    pub labels_after: Option<Quality>,
}

/// A page whose verdict changed.
#[derive(Clone, Debug, Serialize)]
pub struct Change {
    /// The page.
    #[serde(skip)]
    pub id: UrlId,
    /// Its address.
    pub url: String,
    /// Its title.
    pub title: String,
    /// Score before, 0–1.
    pub before: f64,
    /// Score now, 0–1.
    pub after: f64,
}

/// A page on its way to a new verdict.
struct PageToRejudge {
    id: UrlId,
    url: String,
    title: String,
    verdict: Verdict,
    score: f64,
    new: Assessment,
    measured: Option<Measured>,
    /// Its language is out of the topic's scope.
    foreign: bool,
}

/// Judges a collection again by `loaded`. `answer` brings example pages of the topic. With `keep` the new
/// verdicts, the judge's state and the topic become the collection's; without, nothing is written.
pub fn rejudge(
    dir: &Path,
    loaded: &LoadedConfig,
    answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
    rng: u64,
    keep: bool,
) -> Result<Rejudged, Problem> {
    let config = &loaded.config;
    let topic = config.topic()?;
    let options = store::Options::new(Collection::limits(config));
    let place = match keep {
        true => Place::Ours(store::Ledger::open(dir, options, types::Millis::steady())?),
        false => Place::Looked(store::Ledger::open_read(dir)?),
    };
    let ledger = place.ledger();
    let labels = Labels::read(ledger)?;
    let scope = Scope::new(&config.scope, &[])?;
    let lines = PageLine::newest(ledger)?;
    let mut seeds = 0;
    for line in &lines {
        seeds += usize::from(ledger.entry(line.judged.id)?.is_some_and(|e| e.parent.is_none()));
    }
    let mut made = TopicParts::new(&topic, &Collection::canon(config), answer, seeds, rng)?;
    made.analyst.documents = Collection::documents(config);
    let (mut pages, without_archive) = read_all(dir, ledger, &lines, &made.analyst, &scope)?;

    // As the crawl would have: each page is shown to the judge in the order of arrival.
    let mut judge = made.analyst.judge.write().unwrap_or_else(PoisonError::into_inner);
    let judged = |p: &PageToRejudge| JudgedPage {
        id: p.id,
        score: p.new.score,
        barred: p.new.excluded.is_some() || p.foreign,
        turned: false,
        relevant: p.verdict.relevant,
        label: labels.label(p.id),
        simhash: 0,
        copy_of: None,
    };
    let all = pages.iter().map(judged).collect();
    let roll = Roll::of(all, pages.iter_mut().map(|p| std::mem::take(&mut p.new)).collect());
    roll.show(judge.as_mut(), 0);
    let verdicts = roll.verdicts(judge.as_ref());
    pages.iter_mut().zip(roll.into_assessed()).for_each(|(page, new)| page.new = new);
    let result = compare(&mut pages, &verdicts, &labels, judge.as_ref(), without_archive);
    if let Place::Ours(mut ledger) = place {
        write(&mut ledger, &mut pages, &lines, judge.as_ref(), &topic)?;
        drop(ledger);
        write_topic(dir, &loaded.text)?;
    }
    Ok(result)
}

/// The collection, to be written or only looked at.
enum Place {
    Ours(store::Ledger<FileLog>),
    Looked(LedgerReader),
}

impl Place {
    fn ledger(&self) -> &store::Ledger<FileLog> {
        match self {
            Place::Ours(ledger) => ledger,
            Place::Looked(reader) => reader,
        }
    }
}

/// Every page measured by the new topic, in fetch order; and how many were not in the archive.
fn read_all(
    dir: &Path,
    ledger: &dyn Records,
    lines: &[PageLine],
    analyst: &Analyst,
    scope: &Scope,
) -> Result<(Vec<PageToRejudge>, usize), Problem> {
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let mut out = Vec::with_capacity(lines.len());
    let mut without_archive = 0;
    let (mut measurer, mut again) = (Measurer::default(), NewFeatures::default());
    let archive = Stacks::new(Some(Collection::warc_dir(dir))).reading_on();
    for chunk in lines.chunks(CHUNK) {
        let mut waiting: Vec<(Record, Fetched)> = Vec::with_capacity(chunk.len());
        for line in chunk {
            let Some(record) = ledger.record(line.judged.id)? else { continue };
            let answer = stored::answer(&archive, ledger, &record)?;
            without_archive += usize::from(!answer.from_archive);
            waiting.push((record, answer.fetched));
        }
        let share = waiting.len().div_ceil(threads).max(1);
        let read = |(_, fetched): &(Record, Fetched)| analyst.analyse(fetched);
        let analysed: Vec<Vec<Option<Analysis>>> = std::thread::scope(|s| {
            let parts: Vec<_> =
                waiting.chunks(share).map(|part| s.spawn(move || part.iter().map(read).collect())).collect();
            parts.into_iter().map(|p| p.join().unwrap_or_default()).collect()
        });
        let analysed: Vec<Option<Analysis>> = analysed.into_iter().flatten().collect();
        if analysed.len() != waiting.len() {
            return Err(Problem::new("a page could not be judged again").hint("nothing was changed"));
        }
        let judge = analyst.judge.read().unwrap_or_else(PoisonError::into_inner);
        for ((record, fetched), analysis) in waiting.into_iter().zip(analysed) {
            // A page that can no longer be read (another version of the reader) keeps what was known of it.
            let (new, measured, language) = match analysis {
                Some(Analysis { doc, assessment: Some(new), .. }) => (new, None, doc.page.language.clone()),
                Some(Analysis { doc, .. }) => {
                    let links = again.in_links(ledger, record.id)?;
                    let page = (record.id, &fetched.url);
                    let (new, measured) = measurer.measure(judge.as_ref(), page, &doc, links);
                    again.add(record.id, &new);
                    (new, Some(measured), doc.page.language.clone())
                }
                None => (record.assessment.clone(), None, record.language.clone()),
            };
            out.push(PageToRejudge {
                id: record.id,
                title: record.title,
                verdict: record.verdict,
                score: record.assessment.score,
                new,
                measured,
                foreign: !scope.speaks(&language),
                url: record.url,
            });
        }
    }
    Ok((out, without_archive))
}

/// Gives the new verdicts and says what they change.
fn compare(
    pages: &mut [PageToRejudge],
    verdicts: &[Verdict],
    labels: &Labels,
    judge: &dyn Judge,
    without_archive: usize,
) -> Rejudged {
    let mut r = Rejudged {
        pages: pages.len(),
        without_archive,
        relevant_before: 0,
        relevant_after: 0,
        gained: Vec::new(),
        lost: Vec::new(),
        threshold_before: pages.last().map(|p| p.verdict.threshold),
        threshold_after: None,
        why: judge.explain(),
        labels_before: None,
        labels_after: None,
    };
    let (mut before, mut after) = (Vec::new(), Vec::new());
    for (page, verdict) in pages.iter_mut().zip(verdicts) {
        let old = std::mem::replace(&mut page.verdict, *verdict);
        if page.measured.is_some() {
            page.new.score = page.verdict.relevance;
        }
        r.threshold_after = Some(page.verdict.threshold);
        let label = labels.get(page.id);
        if let Some(l) = label {
            before.push((l, old.relevant));
            after.push((l, page.verdict.relevant));
        }
        let decided = labels.label(page.id).and_then(Label::decides);
        let (was, is) = (decided.unwrap_or(old.relevant), decided.unwrap_or(page.verdict.relevant));
        r.relevant_before += usize::from(was);
        r.relevant_after += usize::from(is);
        if was != is {
            let change = Change {
                id: page.id,
                url: page.url.clone(),
                title: page.title.clone(),
                before: page.score,
                after: page.new.score,
            };
            if is { r.gained.push(change) } else { r.lost.push(change) }
        }
    }
    if !before.is_empty() {
        (r.labels_before, r.labels_after) = (Some(Quality::of(before)), Some(Quality::of(after)));
    }
    r
}

/// One commit (of a very large collection, several): the new assessments and verdicts, the judge's state, and
/// what a resumed crawl knows of the pages.
fn write(
    ledger: &mut dyn Ledger,
    pages: &mut [PageToRejudge],
    lines: &[PageLine],
    judge: &dyn Judge,
    topic: &Topic,
) -> Result<(), Problem> {
    measured::write_all(ledger, pages.iter_mut().filter_map(|p| p.measured.take()))?;
    let new: HashMap<UrlId, &PageToRejudge> = pages.iter().map(|p| (p.id, p)).collect();
    for part in pages.chunks(CHUNK) {
        let new =
            |p: &PageToRejudge| Revision { id: p.id, verdict: p.verdict, assessment: Some(p.new.clone()) };
        ledger.revise(&part.iter().map(new).collect::<Vec<_>>())?;
    }
    ledger.put_state(StateKey::Pages, false, &[])?;
    for line in lines {
        let mut judged = line.judged;
        if let Some(page) = new.get(&judged.id) {
            judged.score = page.new.score;
            judged.barred = page.new.excluded.is_some() || page.foreign;
            judged.turned = false;
            judged.relevant = page.verdict.relevant;
        }
        ledger.put_state(StateKey::Pages, true, &PageLine { judged, ..*line }.write())?;
    }
    if let Some(bytes) = judge.save() {
        let mut state = (lines.len() as u64).to_le_bytes().to_vec();
        state.extend(bytes);
        ledger.put_state(StateKey::Judge, false, &state)?;
    }
    let threshold = judge.decide(&Assessment::default()).threshold;
    if let Some(line) = Choice::line(lines.len() as u64, threshold, judge.explain()) {
        ledger.put_state(CHOICES, true, &line)?;
    }
    // The next run takes up the state of this judge, and the strategy's as it was left.
    if let Some(mut run) = Run::of(ledger)? {
        run.judge = topic.judge.kind.clone();
        let bytes =
            serde_json::to_vec(&run).map_err(|e| Problem::new("cannot save the judge's name").because(e))?;
        ledger.put_state(StateKey::Run, false, &bytes)?;
    }
    ledger.commit()?;
    ledger.close()
}
