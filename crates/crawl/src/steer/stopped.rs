//! Labels in a folder that nobody crawls into: the judge learns and every verdict is given again, at once,
//! from what the ledger keeps of each page. No crawl is opened: no frontier is asked, no archive and no index
//! is touched.

use crate::collection::{Collection, MakeJudge, TopicParts, earlier_judge};
use crate::config::{Config, LoadedConfig};
use crate::crawl::{JudgedPage, Judgement, Ledger, Run};
use crate::labels::Labels;
use crate::reader::Reader;
use crate::roll::Roll;
use crate::steer::inbox::Inbox;
use crate::steer::rejudging::REJUDGING;
use crate::steer::{Adjustments, Command, Effect, labelled, retried};
use crate::stored;
use focus::judges::{Judge, Reasons};
use focus::text::InLinks;
use frontier::State;
use serde::Serialize;
use std::collections::HashMap;
use std::path::Path;
use store::formats::LabelChange;
use store::{Journal, Records, Which};
use types::{Assessment, Fetched, Outcome, Problem, Record, StateKey, Url, UrlId, Verdict, Who};

/// A stopped collection that is being taught. Nobody else can write it meanwhile.
pub struct StoppedCollection {
    ledger: Box<dyn Ledger>,
    make_judge: MakeJudge,
    roll: Roll,
    /// The topic was changed and pages wait to be judged by it: what is kept of them was measured by another
    /// judge.
    waits: bool,
    inbox: Inbox,
}

impl StoppedCollection {
    /// Fails when another process has the folder. `answer` brings example pages of the topic.
    pub fn open(
        dir: &Path,
        loaded: &LoadedConfig,
        answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
    ) -> Result<StoppedCollection, Problem> {
        Collection::check_remains(dir)?;
        let options = store::Options::new(Collection::limits(&loaded.config));
        let ledger: Box<dyn Ledger> = Box::new(store::Ledger::open(dir, options, types::Millis::steady())?);
        let made = made(ledger.as_ref(), loaded, answer, first_pages(ledger.as_ref())?)?;
        let judge = (made.make_judge)()?;
        let roll = Roll::at(dir).read(
            ledger.as_ref(),
            judge.as_ref(),
            &|record| Ok(record.assessment),
            &mut |_| {},
            &mut |_| {},
        )?;
        let waits = ledger.state(REJUDGING)?.pop().as_deref() == Some(&[1]);
        let inbox = Inbox::of(dir);
        let mut stopped = StoppedCollection { ledger, make_judge: made.make_judge, roll, waits, inbox };
        stopped.read_inbox();
        Ok(stopped)
    }

    /// Obeys what other processes left in the folder's inbox.
    pub fn read_inbox(&mut self) {
        let inbox = self.inbox.clone();
        inbox.obey(|command| match command {
            Command::Retry(ids) => {
                let effect = ask_again(self.ledger.as_mut(), &ids)?;
                self.ledger.commit()?;
                self.ledger.sync()?;
                Ok(effect)
            }
            Command::Labels(said) => self.label(&said),
            _ => Err(Problem::new("nobody crawls into this folder")),
        });
    }

    /// What the user says of pages (`None` takes it back), and what came of it. It is on the disk when this
    /// returns.
    pub fn label(&mut self, said: &[(UrlId, Option<bool>)]) -> Result<Effect, Problem> {
        let mut heard =
            self.roll.hear(self.ledger.as_ref(), Who::Person, said, &|record| Ok(record.assessment))?;
        let effect = if self.waits {
            self.roll.note(self.ledger.as_mut(), &mut heard)?;
            Effect::says(format!(
                "{}; the judge learns from it when all pages have been judged by the changed topic \
                 (`gleaner rejudge`)",
                labelled(&heard.said)
            ))
        } else {
            let mut judge: Box<dyn Judge> = (self.make_judge)()?;
            let before: HashMap<UrlId, bool> = self.roll.judged.iter().map(|j| (j.id, j.relevant)).collect();
            let changes = self.roll.learn(self.ledger.as_mut(), &mut heard, judge.as_mut())?;
            let known: Vec<(UrlId, bool)> =
                changes.sides.iter().filter_map(|(id, _)| Some((*id, *before.get(id)?))).collect();
            UntoldVerdicts::note(self.ledger.as_mut(), &known)?;
            let threshold = judge.decide(&Assessment::default()).threshold;
            self.roll.effect(&heard.said, &changes, threshold)
        };
        self.ledger.commit()?;
        self.ledger.sync()?;
        Ok(effect)
    }

    /// What was said so far.
    pub fn labels(&self) -> Result<Labels, Problem> {
        Labels::read(self.ledger.as_ref())
    }

    /// What is known of URLs and pages.
    pub fn ledger(&self) -> &dyn Records {
        self.ledger.as_ref()
    }

    /// Pages fetched.
    pub fn pages(&self) -> usize {
        self.roll.judged.len()
    }

    /// What the judge makes of every page now, in fetch order.
    pub fn judgements(&self) -> Result<Vec<Judgement>, Problem> {
        let mut judge = (self.make_judge)()?;
        self.roll.show(judge.as_mut(), 0);
        let verdicts = self.roll.verdicts(judge.as_ref());
        let of = |(j, verdict): (&JudgedPage, Verdict)| Judgement { id: j.id, verdict, label: j.label };
        Ok(self.roll.judged.iter().zip(verdicts).map(of).collect())
    }

    /// Lets go of the folder; the next start is fast.
    pub fn close(mut self) -> Result<(), Problem> {
        self.ledger.commit()?;
        self.ledger.close()
    }
}

/// Exactly these URLs of a folder that nobody crawls into are asked for again by the next crawl.
pub fn retry(dir: &Path, config: &Config, ids: &[UrlId]) -> Result<Effect, Problem> {
    Collection::check_remains(dir)?;
    let options = store::Options::new(Collection::limits(config));
    let mut ledger = store::Ledger::open(dir, options, types::Millis::steady())?;
    let effect = ask_again(&mut ledger, ids)?;
    frontier::Frontier::commit(&mut ledger)?;
    ledger.close()?;
    Ok(effect)
}

/// Part of the next commit.
pub(super) fn ask_again(ledger: &mut dyn Ledger, ids: &[UrlId]) -> Result<Effect, Problem> {
    let mut again = 0;
    for id in ids {
        again += usize::from(ledger.ask_again(*id)?);
    }
    Ok(retried(again, ids.len()))
}

/// The judge of a collection as its last crawl had it, before it saw any page.
fn made(
    store: &(impl Records + ?Sized),
    loaded: &LoadedConfig,
    answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
    seeds: usize,
) -> Result<TopicParts, Problem> {
    let kept = earlier_judge(loaded, store)?;
    let loaded = kept.as_ref().unwrap_or(loaded);
    let adjustments = Adjustments::read(store)?;
    let config = adjustments.over(loaded)?;
    let mut topic = adjustments.topic(&config)?;
    // The command line may have chosen another judge than the topic file.
    if let Some(run) = Run::of(store)?.filter(|r| r.judge != topic.judge.kind) {
        topic.judge.kind = run.judge;
        topic.judge.options.clear();
    }
    TopicParts::new(&topic, &Collection::canon(&config), answer, seeds, 0)
}

/// What speaks for and against a page now, by a judge that has seen all pages and labels.
#[derive(Clone, Debug, Serialize)]
pub struct PageReasons {
    /// The page's own words and numbers.
    #[serde(flatten)]
    pub reasons: Reasons,
    /// The labelled page that is most like it.
    pub like_id: Option<UrlId>,
    /// That page's address.
    pub like_url: Option<String>,
    /// That page's title.
    pub like_title: Option<String>,
}

/// `None`: there is no such page, or its judge cannot tell. Reads what the ledger keeps of every page.
pub fn reasons(
    reader: &Reader,
    answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
    id: UrlId,
) -> Result<Option<PageReasons>, Problem> {
    let store = reader.ledger();
    // Judges that remember pages do not ask how many seeds there are.
    let made = made(&**store, reader.loaded(), answer, 0)?;
    let mut judge = (made.make_judge)()?;
    if !judge.needs().pages {
        return Ok(None);
    }
    let lesson = |record: Record| Ok(record.assessment);
    let roll = Roll::default().read(&**store, judge.as_ref(), &lesson, &mut |_| {}, &mut |_| {})?;
    let Some(at) = roll.judged.iter().position(|j| j.id == id) else { return Ok(None) };
    let (Some(assessment), Some(record)) = (roll.assessment(at), store.record(id)?) else {
        return Ok(None);
    };
    roll.show(judge.as_mut(), 0);
    let fetched = stored::answer(reader.archive(), &**store, &record)?.fetched;
    let Some((doc, _)) = made.analyst.read(&fetched) else { return Ok(None) };
    doc.linked_from(in_links(&**store, id)?);
    let Some(reasons) = judge.reasons(&assessment, &doc) else { return Ok(None) };
    // As the judge was shown them.
    let is_lesson = |i: usize| roll.assessment(i).is_some_and(|a| !a.features.is_empty());
    let labelled = roll.judged.iter().enumerate().filter(|(_, j)| j.label.is_some());
    let mut lessons = labelled.filter(|(i, _)| is_lesson(*i));
    let like_id = reasons.like.and_then(|l| l.nth).and_then(|n| lessons.nth(n)).map(|(_, j)| j.id);
    let like_title = like_id.map(|id| store.record(id)).transpose()?.flatten().map(|r| r.title);
    Ok(Some(PageReasons { like_url: like_id.and_then(|id| reader.url(id)), reasons, like_id, like_title }))
}

/// A page from elsewhere, judged as the judge stands now, after all pages and labels. `None`: it cannot be
/// read.
pub fn judge(
    reader: &Reader,
    answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
    fetched: &Fetched,
) -> Result<Option<(Assessment, Verdict)>, Problem> {
    let store = reader.ledger();
    let made = made(&**store, reader.loaded(), answer, first_pages(&**store)?)?;
    let Some((doc, _)) = made.analyst.read(fetched) else { return Ok(None) };
    let mut judge = (made.make_judge)()?;
    let lesson = |record: Record| Ok(record.assessment);
    let roll = Roll::default().read(&**store, judge.as_ref(), &lesson, &mut |_| {}, &mut |_| {})?;
    roll.show(judge.as_mut(), 0);
    let assessment = judge.assess(&doc);
    let verdict = judge.decide(&assessment);
    Ok(Some((assessment, verdict)))
}

/// Where the page was linked from, in words.
fn in_links(store: &(impl Records + ?Sized), id: UrlId) -> Result<InLinks, Problem> {
    let sources = store.sources(id)?;
    let pages = store.records_of(sources.iter().filter_map(|s| s.parent).collect());
    let titles = pages.map(|r| Ok(r?.title.into())).collect::<Result<_, Problem>>()?;
    Ok(InLinks { anchors: sources.into_iter().map(|s| s.anchor).collect(), titles, pages: Vec::new() })
}

/// Pages that are seeds: so many the judge is told there are.
fn first_pages(store: &(impl Records + ?Sized)) -> Result<usize, Problem> {
    let mut first = 0;
    for entry in store.entries(Which::All) {
        let entry = entry?;
        first += usize::from(entry.parent.is_none() && entry.state == State::Settled(Outcome::Fetched));
    }
    Ok(first)
}

/// Verdicts that labels changed while nobody crawled, as the strategy knows them: it is told when a crawl
/// goes on.
pub(crate) struct UntoldVerdicts;

impl UntoldVerdicts {
    const STATE: StateKey = StateKey::VerdictsUntold;

    /// Pages that changed sides, with the side they were on.
    fn note(store: &mut (impl Journal + ?Sized), known: &[(UrlId, bool)]) -> Result<(), Problem> {
        if known.is_empty() {
            return Ok(());
        }
        let piece: Vec<u8> =
            known.iter().flat_map(|(id, side)| LabelChange::of(*id, *side).to_bytes()).collect();
        store.put_state(Self::STATE, true, &piece)
    }

    /// The side that the strategy knows each of them on: the first one.
    pub fn read(store: &(impl Records + ?Sized)) -> Result<HashMap<UrlId, bool>, Problem> {
        let mut known = HashMap::new();
        for piece in store.state(Self::STATE)? {
            for change in LabelChange::all(&piece) {
                known.entry(change.id).or_insert(change.said == Some(true));
            }
        }
        Ok(known)
    }

    pub fn clear(store: &mut (impl Journal + ?Sized)) -> Result<(), Problem> {
        store.put_state(Self::STATE, false, &[])
    }
}
