//! Labels in a folder that nobody crawls into: the judge learns and every verdict is given again, at once, from what the
//! ledger keeps of each page. No crawl is opened: no frontier is asked, no archive and no index is touched.

use crate::collection::{Collection, Made, MakeJudge, earlier_judge};
use crate::config::Loaded;
use crate::control::{Adjustments, Command, Effect, labelled};
use crate::crawl::{Ledger, Run};
use crate::inbox::Inbox;
use crate::labels::Labels;
use crate::roll::Roll;
use crate::steer::REJUDGING;
use focus::judges::Judge;
use std::collections::HashMap;
use std::path::Path;
use store::Store;
use types::{Assessment, Fetched, Problem, Url, UrlId};

/// A stopped collection that is being taught. Nobody else can write it meanwhile.
pub struct Teaching {
    ledger: Box<dyn Ledger>,
    make_judge: MakeJudge,
    roll: Roll,
    /// The topic was changed and pages wait to be judged by it: what is kept of them was measured by another judge.
    waits: bool,
    inbox: Inbox,
}

impl Teaching {
    /// Fails when another process has the folder. `answer` brings example pages of the topic.
    pub fn open(
        dir: &Path,
        loaded: &Loaded,
        answer: &dyn Fn(&Url) -> Result<Fetched, Problem>,
    ) -> Result<Teaching, Problem> {
        Collection::check_remains(dir)?;
        let options = store::Options::new(Collection::limits(&loaded.config));
        let ledger: Box<dyn Ledger> =
            Box::new(store::Ledger::open(dir, options, types::Millis::steady())?);
        let kept = earlier_judge(loaded, ledger.as_ref())?;
        let loaded = kept.as_ref().unwrap_or(loaded);
        let adjustments = Adjustments::read(ledger.as_ref())?;
        let config = adjustments.over(loaded)?;
        let mut topic = adjustments.topic(&config)?;
        // The command line may have chosen another judge than the topic file.
        if let Some(run) = Run::of(ledger.as_ref())?.filter(|r| r.judge != topic.judge.kind) {
            topic.judge.kind = run.judge;
            topic.judge.options.clear();
        }
        let seeds = first_pages(ledger.as_ref())?;
        let made = Made::new(&topic, &Collection::canon(&config), answer, seeds, 0)?;
        let judge = (made.make_judge)()?;
        let roll = Roll::read(
            ledger.as_ref(),
            judge.as_ref(),
            &|record| Ok(record.assessment),
            &mut |_, _, _| {},
            &mut |_| {},
        )?;
        let waits = ledger.state(REJUDGING)?.pop().as_deref() == Some(&[1]);
        let inbox = Inbox::of(dir);
        let mut teaching = Teaching { ledger, make_judge: made.make_judge, roll, waits, inbox };
        teaching.read_inbox();
        Ok(teaching)
    }

    /// Obeys what other processes left in the folder's inbox.
    pub fn read_inbox(&mut self) {
        for order in self.inbox.waiting() {
            let done = match order.command() {
                Ok(Command::Labels(said)) => self.say(&said),
                Ok(_) => Err(Problem::new("only labels are taken from an inbox")),
                Err(problem) => Err(problem),
            };
            order.done(&done);
        }
    }

    /// What the user says of pages (`None` takes it back), and what came of it. It is on the disk when this returns.
    pub fn say(&mut self, said: &[(UrlId, Option<bool>)]) -> Result<Effect, Problem> {
        let mut heard = self.roll.hear(self.ledger.as_ref(), said, &|record| Ok(record.assessment))?;
        let effect = if self.waits {
            self.roll.note(self.ledger.as_mut(), &mut heard)?;
            Effect::says(format!(
                "{}; the judge learns from it when all pages have been judged by the changed topic (`gleaner rejudge`)",
                labelled(&heard.said)
            ))
        } else {
            let mut judge: Box<dyn Judge> = (self.make_judge)()?;
            let before: HashMap<UrlId, bool> =
                self.roll.judged.iter().map(|j| (j.id, j.relevant)).collect();
            let changes = self.roll.learn(self.ledger.as_mut(), &mut heard, judge.as_mut())?;
            let known: Vec<(UrlId, bool)> =
                changes.sides.iter().filter_map(|(id, _)| Some((*id, *before.get(id)?))).collect();
            Untold::note(self.ledger.as_mut(), &known)?;
            self.ledger.recounted(self.roll.wanted());
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

    pub fn ledger(&self) -> &dyn Store {
        self.ledger.as_ref()
    }

    pub fn pages(&self) -> usize {
        self.roll.judged.len()
    }

    /// Lets go of the folder; the next start is fast.
    pub fn close(mut self) -> Result<(), Problem> {
        self.ledger.commit()?;
        self.ledger.close()
    }
}

/// Pages that are seeds: so many the judge is told there are.
fn first_pages(ledger: &dyn Ledger) -> Result<usize, Problem> {
    let mut seeds = 0;
    for line in ledger.state("pages")? {
        let id = crate::state::parse_page_line(&line).map(|(judged, ..)| judged.id);
        seeds += usize::from(id.and_then(|id| ledger.entry(id)).is_some_and(|e| e.parent.is_none()));
    }
    Ok(seeds)
}

/// Verdicts that labels changed while nobody crawled, as the strategy knows them: it is told when a crawl goes on.
pub(crate) struct Untold;

impl Untold {
    const STATE: &str = "verdicts-untold";

    /// Pages that changed sides, with the side they were on.
    fn note(store: &mut (impl Store + ?Sized), known: &[(UrlId, bool)]) -> Result<(), Problem> {
        if known.is_empty() {
            return Ok(());
        }
        let mut piece = Vec::with_capacity(5 * known.len());
        for (id, relevant) in known {
            piece.extend(id.0.to_le_bytes());
            piece.push(u8::from(*relevant));
        }
        store.put_state(Self::STATE, true, &piece)
    }

    /// The side that the strategy knows each of them on: the first one.
    pub fn read(store: &(impl Store + ?Sized)) -> Result<HashMap<UrlId, bool>, Problem> {
        let mut known = HashMap::new();
        for piece in store.state(Self::STATE)? {
            for &[a, b, c, d, side] in piece.as_chunks::<5>().0 {
                known.entry(UrlId(u32::from_le_bytes([a, b, c, d]))).or_insert(side == 1);
            }
        }
        Ok(known)
    }

    pub fn clear(store: &mut (impl Store + ?Sized)) -> Result<(), Problem> {
        store.put_state(Self::STATE, false, &[])
    }
}
