//! What the loop does with each [`Command`], between two turns. Everything that can fail comes first; then what changed is
//! kept in the ledger, so a crawl that is taken up again keeps it.

use crate::analyse::Analyst;
use crate::collection::{Collection, Made, MakeJudge};
use crate::config::Loaded;
use crate::control::{Adjustments, BOOSTED, Command, Effect, HostRule, Settings, boosted, plain};
use crate::crawl::{Crawl, Stop};
use crate::events::Event;
use crate::labels::Who;
use crate::measured::{self, Measured, Measurer};
use crate::mirrors::last;
use crate::roll::Heard;
use crate::state::PageLine;
use crate::stored;
use crate::visit::final_verdict;
use focus::judges::Judge;
use focus::strategies::Rescore;
use frontier::{Info, State};
use std::collections::HashSet;
use std::sync::PoisonError;
use std::time::{Duration, Instant};
use store::archive::Stacks;
use store::{Revision, Which};
use types::{Assessment, Fetched, Millis, Problem, Record, Rescored, StateKey, Url, UrlId, domain_of};

/// What steering needs to know of a collection.
pub(crate) struct Steering {
    /// Where the pages are, byte for byte.
    pub archive: Stacks,
    pub loaded: Loaded,
    pub analyst: Analyst,
    pub seeds: usize,
    pub rng: u64,
    /// Brings example pages of a changed topic.
    pub answer: Box<dyn Fn(&Url) -> Result<Fetched, Problem> + Send>,
}

/// All pages being judged again by a changed topic, a few at a time. The old judge goes on until the new one has seen
/// everything.
pub(crate) struct Rejudging {
    judge: Box<dyn Judge>,
    measurer: Measurer,
    /// In fetch order, as far as it got.
    done: Vec<New>,
}

struct New {
    id: UrlId,
    assessment: Assessment,
    measured: Option<Measured>,
    barred: bool,
    digest: [u8; 20],
}

/// Judging again takes at most this much of the loop's time at once.
const SLICE: Duration = Duration::from_millis(40);

/// State in the ledger: 1 while pages wait to be judged again, so that a crawl that was stopped meanwhile goes on with it.
pub(crate) const REJUDGING: StateKey = StateKey::Rejudging;

impl Crawl {
    /// Labels are told to a judge made by this one: it has to be as it was before it saw any page.
    pub fn taught_by(mut self, make_judge: MakeJudge) -> Crawl {
        self.make_judge = Some(make_judge);
        self
    }

    fn new_judge(&self) -> Result<Box<dyn Judge>, Problem> {
        self.make_judge.as_ref().ok_or_else(not_steerable)?()
    }

    pub(crate) fn steered_by(mut self, steering: Steering) -> Result<Crawl, Problem> {
        if self.is_rejudging()? {
            let judge = self.new_judge()?;
            self.rejudging = Some(Rejudging { judge, measurer: Measurer::default(), done: Vec::new() });
        }
        self.steering = Some(steering);
        Ok(self)
    }

    /// Does what it is told and says what came of it.
    pub fn obey(&mut self, command: Command, now: Millis) -> Result<Effect, Problem> {
        let effect = match command {
            Command::Stop => {
                self.stop(Stop::User);
                Effect::says("stopping: what is under way is finished first")
            }
            Command::Pause => {
                self.pause(true);
                Effect::says("paused")
            }
            Command::Resume => {
                self.pause(false);
                Effect::says("going on")
            }
            Command::Seeds(urls) => self.more_seeds(&urls, now)?,
            Command::Settings(settings) => self.change(&settings)?,
            Command::Host { host, rule } => self.rule(&host, rule)?,
            Command::Labels(said) => self.label(Who::Person, &said)?,
        };
        self.commit()?;
        Ok(effect)
    }

    /// Obeys what other processes left in the collection's inbox: labels, nothing else.
    pub fn read_inbox(&mut self, now: Millis) -> Result<(), Problem> {
        let Some(inbox) = self.inbox.clone() else { return Ok(()) };
        for order in inbox.waiting() {
            let done = match order.command() {
                Ok(command @ Command::Labels(_)) => self.obey(command, now).and_then(|effect| {
                    self.sync()?;
                    Ok(effect)
                }),
                Ok(_) => Err(Problem::new("only labels are taken from an inbox")),
                Err(problem) => Err(problem),
            };
            order.done(&done);
        }
        Ok(())
    }

    fn more_seeds(&mut self, urls: &[Url], now: Millis) -> Result<Effect, Problem> {
        let changed = self.seed(urls, now)?;
        let text = match (changed, urls.len()) {
            (0, _) => "no new seed: all of them are known already, or out of the topic's scope".to_string(),
            (1, 1) => "1 seed added".into(),
            (n, all) if n == all => format!("{n} seeds added"),
            (n, all) => format!("{n} of {all} seeds added; the others are known or out of scope"),
        };
        Ok(Effect { text, changed, ..Effect::default() })
    }

    fn rule(&mut self, host: &str, rule: HostRule) -> Result<Effect, Problem> {
        let host = host.to_lowercase();
        let mut adjustments = self.adjustments.clone();
        adjustments.rule(&host, rule)?;
        adjustments.write(self.parts.ledger.as_mut())?;
        self.adjustments = adjustments;
        let n = self.move_pending(&host, rule)?;
        Ok(Effect { text: rule.told(&host, n as u64), changed: n, ..Effect::default() })
    }

    /// A host's pending URLs get the place that its rule gives them.
    pub(crate) fn move_pending(&mut self, host: &str, rule: HostRule) -> Result<usize, Problem> {
        let pending = self.pending_on(&self.parts.ledger.find_host(host)?.into_iter().collect())?;
        if rule != HostRule::Block {
            self.place(&pending)?;
        }
        Ok(pending.len())
    }

    fn pending_on(&self, hosts: &HashSet<u32>) -> Result<Vec<UrlId>, Problem> {
        if hosts.is_empty() {
            return Ok(Vec::new());
        }
        self.pending_if(|entry| entry.host.is_some_and(|h| hosts.contains(&h)))
    }

    /// The pending URLs of which this is true.
    fn pending_if(&self, wanted: impl Fn(&Info) -> bool) -> Result<Vec<UrlId>, Problem> {
        let pending = self.parts.ledger.entries(Which::Pending);
        let wanted = pending.filter(|entry| entry.as_ref().map_or(true, &wanted));
        wanted.map(|entry| entry.map(|e| e.id)).collect()
    }

    /// Gives pending URLs the priority they have under the present model and rules. How many have one.
    fn place(&mut self, ids: &[UrlId]) -> Result<usize, Problem> {
        let mut moved = Vec::with_capacity(ids.len());
        for id in ids {
            moved.extend(self.priority_now(*id)?);
        }
        self.parts.ledger.rescore(&moved)?;
        Ok(moved.len())
    }

    /// Pending URLs that are not where the rule of their host puts them: of all (`None`), or of some. Those who had them,
    /// or sent them, may not have heard what the user wants, or not any more.
    pub(crate) fn put_in_place(&mut self, which: Option<&[UrlId]>) -> Result<usize, Problem> {
        if which.is_some_and(<[UrlId]>::is_empty) {
            return Ok(0);
        }
        let ledger = &self.parts.ledger;
        let rules = self.adjustments.hosts.iter().filter(|(_, rule)| **rule == HostRule::Boost);
        let mut first: HashSet<u32> = HashSet::new();
        for (host, _) in rules {
            first.extend(ledger.find_host(host)?);
        }
        let is_astray = |e: &Info| {
            let is_first = e.priority.lane == BOOSTED;
            e.state == State::Pending && is_first != e.host.is_some_and(|h| first.contains(&h))
        };
        let mut astray = Vec::new();
        match which {
            None => astray = self.pending_if(is_astray)?,
            Some(some) => {
                for id in some {
                    astray.extend(ledger.entry(*id)?.filter(is_astray).map(|e| e.id));
                }
            }
        }
        self.place(&astray)
    }

    /// A pending URL's priority under the present model and rules.
    fn priority_now(&mut self, id: UrlId) -> Result<Option<Rescored>, Problem> {
        if let Some(rescored) = self.rescored(id, None)? {
            return Ok(Some(rescored));
        }
        // The strategy does not score again: what it said of the best sighting stands.
        let best = self.parts.ledger.sources(id)?.iter().map(|s| plain(s.priority)).max();
        let model = self.parts.strategy.model();
        let Some(priority) = best else { return Ok(None) };
        let priority = self.with_rule(id, priority)?;
        Ok(Some(Rescored { id, priority, model, cause: None }))
    }

    /// The priority with what the user wants of its host.
    pub(crate) fn with_rule(&mut self, id: UrlId, p: types::Priority) -> Result<types::Priority, Problem> {
        // What another worker has it puts where it belongs, and may not even have a number here.
        if !self.has_rules() || !self.holds(id) {
            return Ok(plain(p));
        }
        if self.adjustments.hosts.is_empty() {
            let host = self.parts.ledger.entry(id)?.and_then(|e| e.host);
            let Some(host) = host else { return Ok(plain(p)) };
            let ledger = &self.parts.ledger;
            let name = || ledger.url(id).map(|url| url.host_key().to_string());
            let waits = self.mirrors.is_mirror_numbered(host, name)?;
            return Ok(if waits { last(plain(p)) } else { plain(p) });
        }
        let url = self.parts.ledger.url(id)?;
        Ok(self.with_rule_of(&url, p))
    }

    pub(crate) fn with_rule_of(&self, url: &Url, p: types::Priority) -> types::Priority {
        match self.adjustments.rule_of(url.host_key()) {
            HostRule::Boost => boosted(p),
            _ if self.mirrors.is_mirror(url.host_key()) => last(plain(p)),
            _ => plain(p),
        }
    }

    /// Do some hosts go first, or last?
    pub(crate) fn has_rules(&self) -> bool {
        !self.adjustments.hosts.is_empty() || self.mirrors.any()
    }

    /// A page came; the same stands under `original`, if anywhere. Pending URLs of a host that shows itself a mirror go last,
    /// and go back if it was none.
    pub(crate) fn watch_for_mirrors(&mut self, url: &Url, original: Option<UrlId>) -> Result<(), Problem> {
        let ledger = &self.parts.ledger;
        let original = original.filter(|id| self.holds(*id)).map(|id| ledger.url(id)).transpose()?;
        let host = url.host_key();
        if !self.mirrors.met(host, original.as_ref().map(Url::host_key)) {
            return Ok(());
        }
        tracing::info!(host, mirror = self.mirrors.is_mirror(host), "the same pages stand on another host");
        let domain = domain_of(host);
        let mut of_domain: HashSet<u32> = HashSet::new();
        for host in self.parts.ledger.hosts()?.iter().filter(|h| domain_of(&h.name) == domain) {
            of_domain.extend(self.parts.ledger.find_host(&host.name)?);
        }
        let pending = self.pending_on(&of_domain)?;
        self.place(&pending)?;
        Ok(())
    }

    pub(crate) fn is_blocked(&self, url: &Url) -> bool {
        self.adjustments.rule_of(url.host_key()) == HostRule::Block
    }

    fn change(&mut self, new: &Settings) -> Result<Effect, Problem> {
        let mut adjustments = self.adjustments.clone();
        adjustments.add(new)?;
        let mut effect = self.adopt(adjustments)?;
        let overruled = match &self.steering {
            Some(steering) => Adjustments::overruled(new, &steering.loaded),
            None => Vec::new(),
        };
        if !overruled.is_empty() {
            effect.text += &format!("; the command line ({}) stands", overruled.join(", "));
        }
        Ok(effect)
    }

    /// Goes on by other settings. Of hosts' rules only what is new is obeyed; see `move_pending`.
    pub(crate) fn adopt(&mut self, adjustments: Adjustments) -> Result<Effect, Problem> {
        let steering = self.steering.as_ref().ok_or_else(not_steerable)?;
        let config = adjustments.over(&steering.loaded)?;
        let made = match adjustments.differ_in_topic(&self.adjustments) {
            true => {
                let topic = adjustments.topic(&config)?;
                let canon = Collection::canon(&config);
                let made = Made::new(&topic, &canon, steering.answer.as_ref(), steering.seeds, steering.rng)?;
                Some((made, topic))
            }
            false => None,
        };
        let rules = Collection::rules(&config, steering.rng);
        adjustments.write(self.parts.ledger.as_mut())?;
        self.adjustments = adjustments;
        self.parts.rules = rules;
        self.parts.ledger.set_limits(Collection::limits(&config));
        if let Some(fleet) = self.parts.ledger.fleet_mut() {
            fleet.set_budget(Collection::has_budget(&config));
        }
        let Some((mut made, topic)) = made else { return Ok(Effect::says("changed")) };
        if let Some(teaching) = &mut self.teaching {
            teaching.wish(&topic);
        }
        // What was learnt goes over, when the new one can read it.
        if let Some(bytes) = self.parts.strategy.save(true)
            && made.strategy.load(&bytes).is_err()
        {
            tracing::warn!("the strategy begins to learn anew");
        }
        self.parts.strategy = made.strategy;
        self.save_strategy_now()?;
        self.make_judge = Some(made.make_judge);
        self.begin_rejudging()?;
        let pages = self.roll.judged.len();
        Ok(Effect {
            text: format!("changed; {pages} pages are judged again by the new terms"),
            changed: pages,
            ..Effect::default()
        })
    }

    /// Are pages waiting to be judged again, by what is kept?
    pub(crate) fn is_rejudging(&self) -> Result<bool, Problem> {
        Ok(self.parts.ledger.state(REJUDGING)?.pop().as_deref() == Some(&[1]))
    }

    /// Every page is judged again, from the first one on.
    pub(crate) fn begin_rejudging(&mut self) -> Result<(), Problem> {
        let judge = self.new_judge()?;
        self.parts.ledger.put_state(REJUDGING, false, &[1])?;
        let done = Vec::with_capacity(self.roll.judged.len());
        self.rejudging = Some(Rejudging { judge, measurer: Measurer::default(), done });
        Ok(())
    }

    /// Goes on judging pages again, for a moment. `true` while there is more to do.
    pub fn rejudge_some(&mut self) -> Result<bool, Problem> {
        let Some(mut r) = self.rejudging.take() else { return Ok(false) };
        let Some(steering) = &self.steering else { return Ok(false) };
        let begun = Instant::now();
        while r.done.len() < self.roll.judged.len() {
            if begun.elapsed() >= SLICE {
                self.rejudging = Some(r);
                return Ok(true);
            }
            let old = self.roll.judged[r.done.len()];
            let record = self.parts.ledger.record(old.id)?;
            let Some(record) = record else {
                return Err(Problem::new(format!("the record of URL number {} is gone", old.id.0)));
            };
            let answer = stored::answer(&steering.archive, self.parts.ledger.as_ref(), &record)?;
            let doc = steering.analyst.read(&answer.fetched).map(|(doc, _)| doc);
            // A page that can no longer be read keeps what was known of it.
            let (assessment, measured, language) = match &doc {
                Some(doc) if r.judge.reads_own_text() => {
                    let (a, m) = r.measurer.measure(r.judge.as_ref(), old.id, &answer.fetched.url, doc);
                    (a, Some(m), doc.page.language.as_str())
                }
                Some(doc) => (r.judge.assess(doc), None, doc.page.language.as_str()),
                None => (record.assessment.clone(), None, record.language.as_str()),
            };
            let barred = assessment.excluded.is_some() || !self.parts.scope.speaks(language);
            let digest = store::archive::Digest::from_hex(&record.digest).map_or([0; 20], |d| d.0);
            r.done.push(New { id: old.id, assessment, measured, barred, digest });
        }
        self.take_over(r)?;
        Ok(false)
    }

    /// The new judge has seen everything: its verdicts count from here on.
    fn take_over(&mut self, mut r: Rejudging) -> Result<(), Problem> {
        for (j, new) in self.roll.judged.iter().zip(&r.done) {
            r.judge.observe(&new.assessment, j.label);
        }
        self.read_lessons_again(r.judge.as_mut())?;
        let (mut changed, mut told) = (0, Vec::new());
        let mut items = Vec::with_capacity(r.done.len());
        let mut lines = Vec::with_capacity(r.done.len());
        let mut features = Vec::new();
        for (j, mut new) in self.roll.judged.iter_mut().zip(r.done) {
            let verdict = final_verdict(r.judge.decide(&new.assessment), new.barred, false);
            if new.measured.is_some() {
                new.assessment.score = verdict.relevance;
            }
            features.extend(new.measured);
            let before = j.wanted();
            (j.score, j.barred, j.turned, j.relevant) =
                (new.assessment.score, new.barred, false, verdict.relevant);
            if j.wanted() != before {
                changed += 1;
                told.push((j.id, verdict));
            }
            let (judged, copy_of) = (*j, j.copy_of.map(|e| e.id));
            lines.push(PageLine { judged, digest: new.digest, copy_of }.write());
            items.push(Revision { id: new.id, verdict, assessment: Some(new.assessment) });
        }
        self.parts.ledger.revise(&items)?;
        self.parts.ledger.put_state(StateKey::Pages, false, &[])?;
        for line in &lines {
            self.parts.ledger.put_state(StateKey::Pages, true, line)?;
        }
        measured::write_all(self.parts.ledger.as_mut(), features.into_iter())?;
        self.measurer = r.measurer;
        self.parts.ledger.put_state(REJUDGING, false, &[0])?;
        *self.parts.judge.write().unwrap_or_else(PoisonError::into_inner) = r.judge;
        self.roll.assessed = match self.by_score() {
            true => Vec::new(),
            false => items.iter().filter_map(|r| r.assessment.as_ref()).map(measured::kept).collect(),
        };
        self.tell_revised(&told, false)?;
        self.save_strategy_now()?;
        // What is being read just now was measured by the old one.
        self.measured_before = self.in_flight_numbers();
        self.recount()?;
        self.commit()?;
        self.announce_revised(changed);
        Ok(())
    }

    /// Labelled pages of other workers, measured by another judge.
    fn read_lessons_again(&mut self, judge: &mut dyn Judge) -> Result<(), Problem> {
        let Some(steering) = &self.steering else { return Ok(()) };
        let ledger = self.parts.ledger.as_ref();
        let ids: Vec<UrlId> = self.roll.lessons.keys().copied().collect();
        let lessons = &mut self.roll.lessons;
        for record in ledger.records_of(ids) {
            let record = record?;
            let answer = stored::answer(&steering.archive, ledger, &record)?;
            let doc = steering.analyst.read(&answer.fetched).map(|(doc, _)| doc);
            if let Some((assessment, _)) = lessons.get_mut(&record.id) {
                *assessment = doc.map_or(record.assessment, |doc| judge.assess(&doc));
            }
        }
        self.roll.show_lessons(judge);
        Ok(())
    }

    /// Keeps what was said of pages, those of other workers too; the judge is not told yet.
    pub(crate) fn note_labels(&mut self, who: Who, said: &[(UrlId, Option<bool>)]) -> Result<(), Problem> {
        let mut heard = self.hear(who, said)?;
        self.roll.note(self.parts.ledger.as_mut(), &mut heard)
    }

    fn hear(&self, who: Who, said: &[(UrlId, Option<bool>)]) -> Result<Heard, Problem> {
        self.roll.hear(self.parts.ledger.as_ref(), who, said, &|record| self.lesson(record))
    }

    /// A labelled page of another worker, as the judge sees it. Its features are not in its record.
    pub(crate) fn lesson(&self, record: Record) -> Result<Assessment, Problem> {
        let Some(steering) = self.steering.as_ref().filter(|_| self.remembers_pages()) else {
            return Ok(record.assessment);
        };
        let answer = stored::answer(&steering.archive, self.parts.ledger.as_ref(), &record)?;
        let doc = steering.analyst.read(&answer.fetched).map(|(doc, _)| doc);
        Ok(doc.map_or(record.assessment, |doc| steering.analyst.assess_alone(&doc)))
    }

    /// A judge that has seen every page, and every label that counts now. Verdicts that it changes are kept.
    pub(crate) fn judge_anew(&mut self) -> Result<(), Problem> {
        let mut judge = self.new_judge()?;
        self.roll.judge_anew(self.parts.ledger.as_mut(), judge.as_mut())?;
        *self.parts.judge.write().unwrap_or_else(PoisonError::into_inner) = judge;
        self.recount()
    }

    /// What the user says of pages. Those of other workers teach the judge as well as one's own.
    pub(crate) fn label(&mut self, who: Who, said: &[(UrlId, Option<bool>)]) -> Result<Effect, Problem> {
        let mut heard = self.hear(who, said)?;
        let mut judge = self.new_judge()?;
        let changes = self.roll.learn(self.parts.ledger.as_mut(), &mut heard, judge.as_mut())?;
        *self.parts.judge.write().unwrap_or_else(PoisonError::into_inner) = judge;
        self.recount()?;
        self.tell_revised(&changes.sides, false)?;
        self.tell_labels()?;
        self.score_again()?;
        if !changes.sides.is_empty() {
            self.announce_revised(changes.sides.len());
        }
        Ok(self.roll.effect(&heard.said, &changes, self.counts.threshold))
    }

    /// The strategy learnt something about old pages: what is pending is scored by it.
    pub(crate) fn score_again(&mut self) -> Result<(), Problem> {
        let moved = self.rescores(Rescore::Everything, UrlId(0))?;
        self.parts.ledger.rescore(&moved)?;
        self.save_strategy_now()
    }

    /// The totals and the judge's state after verdicts changed outside a turn.
    pub(crate) fn recount(&mut self) -> Result<(), Problem> {
        let judge = self.parts.judge.read().unwrap_or_else(PoisonError::into_inner);
        self.counts.threshold = judge.decide(&Assessment::default()).threshold;
        self.roll.keep(self.parts.ledger.as_mut(), judge.as_ref())?;
        drop(judge);
        self.count_pages();
        if let Some(fleet) = self.parts.ledger.fleet_mut() {
            fleet.recount(self.counts.relevant);
        }
        Ok(())
    }

    fn announce_revised(&mut self, pages: usize) {
        let (relevant, threshold) = (self.counts.relevant, self.counts.threshold);
        self.emit(Event::Revised { pages, relevant, threshold });
    }
}

fn not_steerable() -> Problem {
    Problem::new("this crawl cannot be changed while it runs")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sweep::tests::{Restless, crawl};
    use focus::strategies::{Scored, Strategy, Visit};
    use types::{Candidate, Priority};

    /// Never scores again.
    struct Still;

    impl Strategy for Still {
        fn score(&mut self, _: &Visit) -> Vec<Option<Scored>> {
            Vec::new()
        }
    }

    fn first(c: &Crawl) -> Vec<UrlId> {
        let ledger = &c.parts.ledger;
        let first = ledger.entries(Which::Pending).map(Result::unwrap);
        first.filter(|e| e.priority.lane == BOOSTED).map(|e| e.id).collect()
    }

    #[test]
    fn urls_of_a_host_are_where_its_rule_puts_them_whoever_had_them_before() {
        for strategy in [Box::new(Restless(1)) as Box<dyn Strategy>, Box::new(Still)] {
            let mut c = crawl(None, 300);
            c.parts.strategy = strategy;
            // The rules come from elsewhere: nobody moved anything yet.
            c.adjustments.rule("h7.example", HostRule::Boost).unwrap();
            assert_eq!(c.put_in_place(None).unwrap(), 3);
            assert_eq!(first(&c), [UrlId(7), UrlId(107), UrlId(207)]);
            assert_eq!(c.put_in_place(None).unwrap(), 0);
            // Found while its host went first, by someone who takes it for one of them.
            let url = c.parts.canon.parse("http://h7.example/new").unwrap();
            let late = Candidate { priority: boosted(Priority::key_only(0.5)), ..c.as_seed(&url) };
            assert!(c.parts.ledger.seed(late, Millis(0)).unwrap());
            c.adjustments.rule("h7.example", HostRule::None).unwrap();
            c.adjustments.rule("h8.example", HostRule::Boost).unwrap();
            assert_eq!(c.put_in_place(Some(&[UrlId(300), UrlId(8)])).unwrap(), 2, "only those");
            assert_eq!(first(&c), [UrlId(7), UrlId(8), UrlId(107), UrlId(207)]);
            assert_eq!(c.put_in_place(None).unwrap(), 5);
            assert_eq!(first(&c), [UrlId(8), UrlId(108), UrlId(208)]);
            c.adjustments.rule("h8.example", HostRule::Block).unwrap();
            c.put_in_place(None).unwrap();
            assert_eq!(first(&c), []);
        }
    }
}
