//! The teacher beside a crawl: which pages it is asked about, what of them may be sent, what its answers
//! change. All of it on the loop's thread, except for the talk with the server.

use super::Usage;
use super::answer::TeacherAnswer;
use super::client::{ANSWER_TOKENS, Client, Cost, Failed};
use super::history::{Answers, TeacherSpending};
use super::prompt::{Excerpt, Prompt, TopicSummary};
use crate::config::{Config, TeacherSection};
use crate::crawl::Crawl;
use crate::events::Event;
use crate::steer::Command;
use crate::stored;
use focus::ask::{self, Candidate};
use focus::topic::Topic;
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};
use store::{Fleet, Records};
use types::{Problem, Record, StateKey, UrlId, Verdict, Who};

/// Pages fetched before the first question.
const FIRST: f64 = 40.0;
/// Pages at one round, as a multiple of those at the round before, at most.
const GROWTH: f64 = 2.0;
/// Pages of a crawl when nobody knows how long it will be.
const USUAL: u64 = 5_000;
/// After a failure the server is left alone for so long, twice as long after each, up to the last.
const REST: Duration = Duration::from_secs(15);
const LONGEST_REST: Duration = Duration::from_secs(10 * 60);
/// When there was nothing to ask, look again after so many pages.
const LOOK_AGAIN: u64 = 20;
/// Between two looks whether it is this worker's turn.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Rounds of choosing for one batch: some of the chosen may not be sent.
const CHOICES: usize = 10;

/// State: pages that are not in the archive although they do not ask for that (`noarchive`). Others that are
/// not there may have asked for it, and are not sent.
pub(crate) const UNARCHIVED: StateKey = StateKey::Unarchived;

/// A model that is asked while a collection is open.
pub struct Teaching {
    section: TeacherSection,
    wanted: TopicSummary,
    host: String,
    is_near: bool,
    spent: TeacherSpending,
    answers: Answers,
    client: Arc<Client>,
    to: Sender<(Prompt, u32)>,
    from: Receiver<BatchResult>,
    /// What is being asked.
    out: Option<Batch>,
    /// The pages of the crawl as far as they were looked at, in its order, without verdicts.
    faces: Vec<Candidate>,
    /// Pages that are not sent, or were not answered in this run.
    skipped: HashSet<UrlId>,
    /// Pages that the crawl ends with, if that is known.
    pages: Option<u64>,
    /// Nothing was left to ask when there were so many pages.
    nothing_at: Option<u64>,
    trouble: Option<String>,
    failures: u32,
    rest_until: Option<Instant>,
    for_good: bool,
    told_trouble: bool,
    told_spent: bool,
    rng: u64,
    /// Of a shared crawl: the workers take turns.
    turns: Option<Turns>,
}

/// What a worker knows of the others' questions. Budget and answers are in the crawl's store, and whoever
/// asks has the seat ([`store::Seat`]).
#[derive(Default)]
struct Turns {
    /// The newest answers that were read.
    read: u64,
    /// When it was last looked whether the seat is free.
    looked: Option<Instant>,
}

/// Pages that are being asked about, with the numbers of their texts.
struct Batch {
    pages: Vec<(UrlId, u64)>,
    /// What was spent before.
    before: TeacherSpending,
}

struct BatchResult {
    said: Result<Vec<Option<TeacherAnswer>>, Failed>,
    cost: Cost,
}

/// What became of the wish to ask.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum AskResult {
    /// So many pages are being asked about.
    Pages(usize),
    /// The answer was known: nobody was asked.
    Known(Lesson),
    /// There is no teacher, or no page to ask about.
    Nothing,
    /// The budget is used up.
    Spent,
    /// Another worker of the crawl asks just now.
    Waiting,
    /// The server is left alone for now, or for good.
    Trouble(String),
}

/// What came of one batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lesson {
    /// Pages asked about.
    pub questions: usize,
    /// Pages it calls wanted.
    pub yes: usize,
    /// Pages it calls unwanted.
    pub no: usize,
    /// Pages it cannot tell.
    pub unsure: usize,
    /// What it changed, for people.
    pub text: String,
    /// There was no answer.
    pub failed: Option<String>,
}

impl Teaching {
    /// `None` when the settings name no teacher.
    pub fn new(
        config: &Config,
        topic: &Topic,
        settings: &fetch::Settings,
        store: &(impl Records + ?Sized),
        rng: u64,
    ) -> Result<Option<Teaching>, Problem> {
        let section = config.teacher.clone();
        let Some(client) = Client::new(&section, settings)? else { return Ok(None) };
        let address = super::address(section.url.as_deref().unwrap_or_default())?;
        let client = Arc::new(client);
        let (to, jobs) = mpsc::channel::<(Prompt, u32)>();
        let (done, from) = mpsc::channel();
        let asked = client.clone();
        std::thread::Builder::new()
            .name("gleaner-teacher".into())
            .spawn(move || {
                for (prompt, calls) in jobs {
                    let mut cost = Cost::default();
                    let said = asked.ask(&prompt, calls, &mut cost);
                    if done.send(BatchResult { said, cost }).is_err() {
                        break;
                    }
                }
            })
            .map_err(|e| Problem::new("cannot start a thread for the teacher").because(e))?;
        Ok(Some(Teaching {
            wanted: TopicSummary::of(topic),
            host: address.host_key().to_string(),
            is_near: fetch::guard::is_near(&address),
            spent: TeacherSpending::read(store)?,
            answers: Answers::read(store)?,
            client,
            to,
            from,
            out: None,
            faces: Vec::new(),
            skipped: HashSet::new(),
            pages: config.limits.pages,
            nothing_at: None,
            trouble: None,
            failures: 0,
            rest_until: None,
            for_good: false,
            told_trouble: false,
            told_spent: false,
            section,
            rng,
            turns: None,
        }))
    }

    /// Of a shared crawl: one worker asks at a time, within one budget.
    pub(crate) fn in_turns(mut self, fleet: &mut dyn Fleet) -> Result<Teaching, Problem> {
        self.spent = TeacherSpending::parse(fleet.seat().spent()?.as_bytes());
        self.turns = Some(Turns::default());
        Ok(self)
    }

    /// Is it time to look whether the seat is free?
    fn may_look(&self) -> bool {
        let looked = self.turns.as_ref().and_then(|turns| turns.looked);
        looked.is_none_or(|at| at.elapsed() >= LOOK_EVERY)
    }

    /// What is sent where, and how much.
    pub fn announcement(&self) -> String {
        let t = &self.section;
        let has_key = std::env::var(super::KEY).is_ok_and(|k| !k.trim().is_empty());
        let url = t.url.as_deref().unwrap_or_default();
        let key = match (has_key, url.starts_with("https:") || self.is_near) {
            (false, _) => String::new(),
            (true, true) => format!(" The key of {} goes with them.", super::KEY),
            (true, false) => {
                format!(" The key of {} goes with them, and nothing is encrypted: use https.", super::KEY)
            }
        };
        let turns = match self.turns {
            Some(_) => "; the workers of this crawl take turns",
            None => "",
        };
        format!(
            "the model `{}` at {} is asked about the pages that teach the judge most. Sent are the topic \
             and, of each such page, \
             its address, its title and the first {} characters of its text, {} pages at a time; at most {} \
             requests and {} tokens \
             for this collection ({} and {} used){turns}. Pages that say `noarchive` are not sent.{key}",
            t.model.as_deref().unwrap_or_default(),
            self.host,
            t.text,
            t.batch,
            t.calls,
            t.tokens,
            self.spent.calls,
            self.spent.tokens
        )
    }

    /// The topic was changed: another thing is wanted.
    pub(crate) fn wish(&mut self, topic: &Topic) {
        self.wanted = TopicSummary::of(topic);
        self.nothing_at = None;
    }

    pub fn usage(&self) -> Usage {
        Usage {
            model: self.section.model.clone().unwrap_or_default(),
            host: self.host.clone(),
            spent: self.spent,
            calls: self.section.calls,
            tokens: self.section.tokens,
            trouble: self.trouble.clone(),
        }
    }

    /// After how many pages the next batch is due.
    fn due(&self) -> u64 {
        let n = self.spent.questions.div_ceil(self.section.batch as u64);
        due(n, self.section.calls, self.section.every, self.pages)
    }

    fn is_resting(&self) -> bool {
        self.for_good || self.rest_until.is_some_and(|until| Instant::now() < until)
    }

    /// Is there enough left for one more request like this?
    fn can_afford(&self, tokens: u64) -> bool {
        self.spent.calls < self.section.calls
            && self.spent.tokens.saturating_add(tokens) <= self.section.tokens
    }
}

impl Drop for Teaching {
    fn drop(&mut self) {
        self.client.stop();
    }
}

/// After how many pages batch number `n` (from 0) of `calls` is due. Few are asked for early: they are worth
/// most while most of the crawl is still to come.
fn due(n: u64, calls: u64, every: Option<u64>, pages: Option<u64>) -> u64 {
    if let Some(every) = every {
        return every.saturating_mul(n + 1);
    }
    let last = (pages.unwrap_or(USUAL) as f64 / 2.0).max(1.0);
    let first = FIRST.min(last);
    let growth = match calls {
        0 | 1 => 1.0,
        n => libm::pow(last / first, 1.0 / (n - 1) as f64).clamp(1.0, GROWTH),
    };
    libm::round(first * libm::pow(growth, n.min(1_000) as f64)) as u64
}

impl Crawl {
    pub(crate) fn asking(mut self, teaching: Option<Teaching>) -> Crawl {
        self.teaching = teaching.map(Box::new);
        self
    }

    /// The language model that is asked, if one is.
    pub fn teaching(&self) -> Option<&Teaching> {
        self.teaching.as_deref()
    }

    /// How long the end of the crawl waits for answers.
    pub fn teacher_wait(&self) -> Duration {
        self.teaching.as_ref().map_or(Duration::ZERO, |t| t.section.wait.0)
    }

    /// Between two turns: takes what was answered, and asks when it is time.
    pub fn teach_some(&mut self) -> Result<(), Problem> {
        let Some(t) = &self.teaching else { return Ok(()) };
        if t.out.is_some() {
            self.take_lesson(Duration::ZERO)?;
            return Ok(());
        }
        let again = t.nothing_at.is_none_or(|at| self.counts.pages >= at.saturating_add(LOOK_AGAIN));
        let may = !self.is_paused() && !t.is_resting() && !t.told_spent && t.may_look();
        if may && again && self.pages_of_all() >= t.due() {
            self.with_teaching(|crawl, t| crawl.ask_with(t, true)).unwrap_or(Ok(AskResult::Nothing))?;
        }
        Ok(())
    }

    /// Pages that were fetched, by all workers of a shared crawl.
    fn pages_of_all(&self) -> u64 {
        self.counts.pages + self.fleet.news.pages
    }

    /// Asks about the next pages, whether it is time or not. The answer comes with [`Crawl::take_lesson`].
    pub fn ask_teacher(&mut self) -> Result<AskResult, Problem> {
        self.with_teaching(|crawl, t| crawl.ask_with(t, false)).unwrap_or(Ok(AskResult::Nothing))
    }

    /// Lends the teacher out, beside the crawl. `None`: there is none.
    fn with_teaching<T>(&mut self, act: impl FnOnce(&mut Crawl, &mut Teaching) -> T) -> Option<T> {
        let mut t = self.teaching.take()?;
        let done = act(self, &mut t);
        self.teaching = Some(t);
        Some(done)
    }

    fn ask_with(&mut self, t: &mut Teaching, when_due: bool) -> Result<AskResult, Problem> {
        if let Some(batch) = &t.out {
            return Ok(AskResult::Pages(batch.pages.len()));
        }
        if t.is_resting() {
            return Ok(AskResult::Trouble(t.trouble.clone().unwrap_or_default()));
        }
        if let Some(refused) = self.take_seat(t)? {
            return Ok(refused);
        }
        // By what the others have asked meanwhile it may be too early.
        let asked = match when_due && self.pages_of_all() < t.due() {
            true => AskResult::Nothing,
            false => self.ask_seated(t)?,
        };
        if t.out.is_none() {
            self.leave_seat(t, Duration::ZERO)?;
        }
        Ok(asked)
    }

    /// Of a shared crawl: takes the seat, and reads what the others were answered. What it says is why not.
    fn take_seat(&mut self, t: &mut Teaching) -> Result<Option<AskResult>, Problem> {
        let (Some(turns), Some(fleet)) = (&mut t.turns, self.parts.ledger.fleet_mut()) else {
            return Ok(None);
        };
        let sitting = fleet.seat().take(turns.read)?;
        turns.looked = Some(Instant::now());
        t.spent = TeacherSpending::parse(sitting.spent.as_bytes());
        for (n, entry) in &sitting.answers {
            t.answers.take_in(entry);
            turns.read = *n;
        }
        Ok(match (sitting.is_ours, sitting.rests) {
            (true, _) => None,
            (false, true) => Some(AskResult::Trouble("another worker had no answer from it just now".into())),
            // What another worker is answered for the last of it is still to come.
            (false, false) if !t.can_afford(0) && !sitting.is_taken => Some(AskResult::Spent),
            (false, false) => Some(AskResult::Waiting),
        })
    }

    /// Of a shared crawl: another worker may ask, after so long.
    fn leave_seat(&mut self, t: &Teaching, rest: Duration) -> Result<(), Problem> {
        match (&t.turns, self.parts.ledger.fleet_mut()) {
            (Some(_), Some(fleet)) => fleet.seat().leave(rest),
            _ => Ok(()),
        }
    }

    /// Keeps what is spent. `false`: another worker of a shared crawl asks by now.
    fn keep_spent(&mut self, t: &Teaching) -> Result<bool, Problem> {
        if t.turns.is_some()
            && let Some(fleet) = self.parts.ledger.fleet_mut()
        {
            return fleet.seat().spend(&t.spent.json()?);
        }
        t.spent.write(self.parts.ledger.as_mut())?;
        Ok(true)
    }

    fn ask_seated(&mut self, t: &mut Teaching) -> Result<AskResult, Problem> {
        let (pages, known) = self.choose(t)?;
        if !known.is_empty() {
            let lesson = self.learn(t, &known, false)?;
            if pages.is_empty() {
                return Ok(AskResult::Known(lesson));
            }
        }
        if pages.is_empty() {
            t.nothing_at = Some(self.counts.pages);
            return Ok(AskResult::Nothing);
        }
        t.nothing_at = None;
        let excerpts: Vec<Excerpt> = pages.iter().map(|(_, e)| e.clone()).collect();
        let prompt = Prompt::new(&t.wanted, &excerpts);
        if !t.can_afford(prompt.tokens() + ANSWER_TOKENS) {
            if !t.told_spent {
                t.told_spent = true;
                let text = format!(
                    "the budget is used up: {} of {} requests, {} of {} tokens; the crawl goes on with what \
                     was learnt",
                    t.spent.calls, t.section.calls, t.spent.tokens, t.section.tokens
                );
                self.emit(Event::Teacher { text });
            }
            return Ok(AskResult::Spent);
        }
        let pages: Vec<(UrlId, u64)> = pages.iter().map(|(id, e)| (*id, e.hash())).collect();
        let n = pages.len();
        let before = t.spent;
        // Spent before it is sent: whatever happens now, it is not spent twice.
        t.spent.calls += 1;
        t.spent.tokens += prompt.tokens();
        if !self.keep_spent(t)? {
            t.spent = before;
            return Ok(AskResult::Waiting);
        }
        let left = u32::try_from(t.section.calls - before.calls).unwrap_or(u32::MAX);
        t.out = Some(Batch { pages, before });
        if t.to.send((prompt, left)).is_err() {
            t.out = None;
            t.for_good = true;
            return Ok(AskResult::Trouble("its thread has ended".into()));
        }
        Ok(AskResult::Pages(n))
    }

    /// The pages to ask about now, and those whose answer is known because another page has the same words.
    fn choose(
        &mut self,
        t: &mut Teaching,
    ) -> Result<(Vec<(UrlId, Excerpt)>, Vec<(UrlId, u64, TeacherAnswer)>), Problem> {
        self.look_at_new(t)?;
        let (mut pages, mut known) = (Vec::new(), Vec::new());
        let unarchived = self.unarchived()?;
        let judgements = self.judgements();
        for _ in 0..CHOICES {
            let candidates: Vec<Candidate> = judgements
                .iter()
                .zip(&t.faces)
                .filter(|(j, _)| {
                    let done = t.skipped.contains(&j.id) || t.answers.was_asked(t.wanted.hash, j.id);
                    j.label.is_some() || !done
                })
                .map(|(j, face)| {
                    let chosen = pages.iter().any(|(id, _)| *id == j.id)
                        || known.iter().any(|k: &(UrlId, _, _)| k.0 == j.id);
                    // Whatever was chosen counts as asked about.
                    face.judged(j.verdict, j.label.map(|l| l.relevant).or(chosen.then_some(false)))
                })
                .collect();
            let room = t.section.batch - pages.len();
            let questions = ask::questions(&candidates, room, t.rng.wrapping_add(t.spent.questions));
            if questions.is_empty() {
                break;
            }
            for q in questions {
                match self.excerpt(q.id, t.section.text, &unarchived)? {
                    Some(e) => match t.answers.of_text(t.wanted.hash, e.hash()) {
                        Some(said) => known.push((q.id, e.hash(), said)),
                        None => pages.push((q.id, e)),
                    },
                    None => {
                        t.skipped.insert(q.id);
                    }
                }
            }
            if pages.len() >= t.section.batch {
                break;
            }
        }
        Ok((pages, known))
    }

    /// Pages that came since the last look.
    fn look_at_new(&self, t: &mut Teaching) -> Result<(), Problem> {
        for j in self.judging.roll.judged.iter().skip(t.faces.len()) {
            let url = self.parts.ledger.url(j.id)?;
            t.faces.push(Candidate::new(j.id, &url, Verdict::default(), j.simhash, None));
        }
        Ok(())
    }

    fn unarchived(&self) -> Result<HashSet<UrlId>, Problem> {
        let lines = self.parts.ledger.state(UNARCHIVED)?;
        let ids = lines.iter().flat_map(|l| l.as_chunks::<4>().0).map(|b| UrlId(u32::from_le_bytes(*b)));
        Ok(ids.collect())
    }

    /// What may be sent of a page; `None` when nothing may, or there is nothing.
    fn excerpt(
        &self,
        id: UrlId,
        most: usize,
        unarchived: &HashSet<UrlId>,
    ) -> Result<Option<Excerpt>, Problem> {
        let Some(steering) = &self.steer.collection else { return Ok(None) };
        let Some(record) = self.parts.ledger.record(id)? else { return Ok(None) };
        // Whatever is not in the archive may have asked not to be.
        if record.archive.is_none() && !unarchived.contains(&id) {
            return Ok(None);
        }
        // A document would be read by a process of its own, which may take long: its text was kept.
        let kept = Record { archive: record.archive.clone().filter(|_| is_html(&record)), ..record };
        let answer = stored::answer(&steering.archive, self.parts.ledger.as_ref(), &kept)?;
        let Some((doc, _)) = steering.analyst.read(&answer.fetched) else { return Ok(None) };
        if doc.page.robots.noarchive {
            return Ok(None);
        }
        self.judging.measurer.leave_out(&answer.fetched.url, &doc);
        let excerpt = Excerpt::of(&doc, &kept.url, most);
        let has_text = !excerpt.text.is_empty() || !excerpt.title.is_empty();
        Ok((has_text && !excerpt.speaks).then_some(excerpt))
    }

    /// Takes what was answered, if it comes within `wait`, and learns from it.
    pub fn take_lesson(&mut self, wait: Duration) -> Result<Option<Lesson>, Problem> {
        self.with_teaching(|crawl, t| crawl.take_with(t, wait)).unwrap_or(Ok(None))
    }

    fn take_with(&mut self, t: &mut Teaching, wait: Duration) -> Result<Option<Lesson>, Problem> {
        if t.out.is_none() {
            return Ok(None);
        }
        let BatchResult { said, cost } = match t.from.recv_timeout(wait) {
            Ok(done) => done,
            Err(RecvTimeoutError::Timeout) => return Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                let failed = Failed { why: "its thread has ended".into(), for_good: true, wait: None };
                BatchResult { said: Err(failed), cost: Cost::default() }
            }
        };
        let Some(batch) = t.out.take() else { return Ok(None) };
        t.spent = batch.before;
        t.spent.calls += cost.calls;
        t.spent.tokens += cost.tokens;
        t.spent.failed += cost.failed;
        let said = match said {
            Ok(said) => said,
            Err(failed) => {
                self.keep_spent(t)?;
                let rest = self.note_trouble(t, &failed);
                // What one worker may not, another may: their keys are their own.
                self.leave_seat(t, if failed.for_good { Duration::ZERO } else { rest })?;
                return Ok(Some(Lesson { failed: Some(failed.why), ..Lesson::default() }));
            }
        };
        (t.failures, t.rest_until) = (0, None);
        if t.trouble.take().is_some() {
            self.emit(Event::Teacher { text: format!("{} answers again", t.host) });
        }
        let mut new = Vec::new();
        for ((id, text), said) in batch.pages.iter().zip(&said) {
            match said {
                Some(said) => new.push((*id, *text, *said)),
                None => {
                    t.skipped.insert(*id);
                }
            }
        }
        t.spent.questions += batch.pages.len() as u64;
        self.learn(t, &new, true).map(Some)
    }

    /// Keeps answers, and lets the judge learn from them as from a person's. `last`: nothing more is asked
    /// now.
    fn learn(
        &mut self,
        t: &mut Teaching,
        new: &[(UrlId, u64, TeacherAnswer)],
        last: bool,
    ) -> Result<Lesson, Problem> {
        let count = |of: TeacherAnswer| new.iter().filter(|n| n.2 == of).count();
        let (yes, no, unsure) =
            (count(TeacherAnswer::Yes), count(TeacherAnswer::No), count(TeacherAnswer::Unsure));
        t.spent.yes += yes as u64;
        t.spent.no += no as u64;
        t.spent.unsure += unsure as u64;
        let labels: Vec<(UrlId, Option<bool>)> =
            new.iter().filter_map(|(id, _, said)| Some((*id, Some(said.label()?)))).collect();
        let mut lesson = Lesson { questions: new.len(), yes, no, unsure, ..Lesson::default() };
        if t.turns.is_some() {
            let shared = self.share(t, new, labels, last)?;
            return Ok(if shared { lesson } else { Lesson::default() });
        }
        t.spent.write(self.parts.ledger.as_mut())?;
        t.answers.add(self.parts.ledger.as_mut(), t.wanted.hash, new)?;
        if !labels.is_empty() {
            lesson.text = self.label(Who::Model, &labels)?.text;
        }
        self.commit()?;
        Ok(lesson)
    }

    /// Tells all workers of a shared crawl, this one included: they learn from it as from any command.
    /// `false`: another worker asks by now, and may ask about the same pages.
    fn share(
        &mut self,
        t: &mut Teaching,
        new: &[(UrlId, u64, TeacherAnswer)],
        labels: Vec<(UrlId, Option<bool>)>,
        last: bool,
    ) -> Result<bool, Problem> {
        let Some(fleet) = self.parts.ledger.fleet_mut() else { return Ok(false) };
        let answers = Answers::entry(t.wanted.hash, new);
        let said: Vec<(UrlId, bool)> = labels.iter().filter_map(|(id, said)| Some((*id, (*said)?))).collect();
        let wire = serde_json::to_value(Command::Lessons(labels))
            .map_err(|e| Problem::new("what the teacher said cannot be sent").because(e))?;
        let model = t.section.model.as_deref().unwrap_or_default();
        let shared = fleet.seat().give(&store::Lesson {
            spent: &t.spent.json()?,
            answers: &answers,
            labels: &said,
            kind: wire["kind"].as_str().unwrap_or_default(),
            payload: &wire["payload"].to_string(),
            who: &format!("the teacher's model {model}"),
            leaves: last,
        })?;
        match shared {
            true => t.answers.take_in(&answers),
            false => tracing::warn!(host = t.host, "another worker asks the teacher: answers are lost"),
        }
        Ok(shared)
    }

    /// Do other workers ask the same teacher?
    pub(crate) fn has_fellows(&self) -> bool {
        self.fleet.news.workers > 1 && self.teaching.as_ref().is_some_and(|t| t.turns.is_some())
    }

    /// Of a shared crawl that ends: learns what was answered last.
    pub(crate) fn hear_last_lessons(&mut self) -> Result<(), Problem> {
        let is_shared = self.teaching.as_ref().is_some_and(|t| t.turns.is_some());
        if is_shared { self.catch_up() } else { Ok(()) }
    }

    /// How long the server is left alone.
    fn note_trouble(&mut self, t: &mut Teaching, failed: &Failed) -> Duration {
        t.failures += 1;
        t.for_good |= failed.for_good;
        let doubled = REST.saturating_mul(1 << (t.failures - 1).min(10)).min(LONGEST_REST);
        let rest = failed.wait.unwrap_or(Duration::ZERO).max(doubled);
        t.rest_until = Some(Instant::now() + rest);
        t.trouble = Some(failed.why.clone());
        tracing::warn!(host = t.host, why = failed.why, "the teacher gives no answer");
        if !std::mem::replace(&mut t.told_trouble, true) {
            let then = match failed.for_good {
                true => "it is not asked again in this run",
                false => "it is asked again later",
            };
            let text = format!("{}: {}; {then}, and the crawl goes on with what it has", t.host, failed.why);
            self.emit(Event::Teacher { text });
        }
        rest
    }

    /// Forgets what the model said, so that another can be asked. Labels of persons stay.
    pub fn forget_teacher(&mut self) -> Result<usize, Problem> {
        let forgotten = self.with_teaching(|crawl, t| {
            t.skipped.clear();
            t.answers.forget(crawl.parts.ledger.as_mut())
        });
        let Some(forgotten) = forgotten else { return Ok(0) };
        forgotten?;
        let labels = crate::labels::Labels::read(self.parts.ledger.as_ref())?;
        let said: Vec<(UrlId, Option<bool>)> = labels.by_model().map(|id| (id, None)).collect();
        if !said.is_empty() {
            self.label(Who::Model, &said)?;
        }
        self.commit()?;
        Ok(said.len())
    }

    /// The next request's words, without sending them.
    pub fn preview_teacher(&mut self) -> Result<Option<Prompt>, Problem> {
        let words = self.with_teaching(|crawl, t| {
            let (pages, _) = crawl.choose(t)?;
            let excerpts: Vec<Excerpt> = pages.into_iter().map(|(_, e)| e).collect();
            Ok((!excerpts.is_empty()).then(|| Prompt::new(&t.wanted, &excerpts)))
        });
        words.unwrap_or(Ok(None))
    }
}

fn is_html(record: &Record) -> bool {
    record.media_type.contains("html") || record.media_type.starts_with("text/plain")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rounds_are_spread_over_the_crawl() {
        let at = |n, pages| due(n, 60, None, pages);
        // As far as half of the pages, however many there are; at most twice as many from round to round.
        assert_eq!((at(0, Some(5_000)), at(59, Some(5_000))), (40, 2_500));
        assert_eq!((at(0, Some(30)), at(59, Some(30))), (15, 15));
        assert_eq!((due(0, 3, None, Some(100_000)), due(2, 3, None, Some(100_000))), (40, 160));
        assert_eq!((at(0, None), at(1, None), at(59, None)), (40, 43, 2_500));
        assert_eq!((due(0, 60, Some(25), Some(100)), due(3, 60, Some(25), None)), (25, 100));
        assert_eq!(due(0, 1, None, Some(0)), 1);
        assert!(due(u64::MAX / 2, 60, None, None) > 0);
    }
}
