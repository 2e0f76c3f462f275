//! What the loop does with each [`Command`], between two turns. Everything that can fail comes first; then
//! what changed is kept in the ledger, so a crawl that is taken up again keeps it.

use super::adjustments::Adjustments;
use super::command::{Command, Effect, Settings};
use super::stopped::ask_again;
use crate::analyse::Analyst;
use crate::collection::{Collection, MakeJudge, TopicParts};
use crate::config::LoadedConfig;
use crate::crawl::Crawl;
use crate::rules::Stop;
use crate::session::Session;
use crate::steer::rejudging::Rejudging;
use focus::judges::Judge;
use store::archive::Stacks;
use types::{Fetched, Millis, Problem, Url, Who};

/// What steering needs to know of a collection.
pub(crate) struct Steering {
    /// Where the pages are, byte for byte.
    pub archive: Stacks,
    pub loaded: LoadedConfig,
    pub analyst: Analyst,
    pub seeds: usize,
    pub rng: u64,
    /// Brings example pages of a changed topic.
    pub answer: Box<dyn Fn(&Url) -> Result<Fetched, Problem> + Send>,
}

impl Crawl {
    /// Labels are told to a judge made by this one: it has to be as it was before it saw any page.
    pub fn taught_by(mut self, make_judge: MakeJudge) -> Crawl {
        self.judging.make_judge = Some(make_judge);
        self
    }

    pub(super) fn new_judge(&self) -> Result<Box<dyn Judge>, Problem> {
        self.judging.make_judge.as_ref().ok_or_else(not_steerable)?()
    }

    pub(crate) fn steered_by(mut self, steering: Steering) -> Result<Crawl, Problem> {
        if self.is_rejudging()? {
            let judge = self.new_judge()?;
            self.judging.rejudging = Some(Rejudging::by(judge));
        }
        self.steer.collection = Some(steering);
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
            Command::Lessons(said) => self.label(Who::Model, &said)?,
            Command::Retry(ids) => ask_again(self.parts.ledger.as_mut(), &ids)?,
        };
        self.commit()?;
        Ok(effect)
    }

    /// Obeys what other processes left in the collection's inbox.
    pub fn read_inbox(&mut self, now: Millis) -> Result<(), Problem> {
        let Some(inbox) = self.steer.inbox.clone() else { return Ok(()) };
        inbox.obey(|command| {
            let effect = self.obey(command, now)?;
            self.sync()?;
            Ok(effect)
        });
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

    fn change(&mut self, new: &Settings) -> Result<Effect, Problem> {
        let mut adjustments = self.steer.adjustments.clone();
        adjustments.add(new)?;
        let mut effect = self.adopt(adjustments)?;
        // Between two runs the command line of the last one has no say over what is changed now.
        if self.pace.session.is_none()
            && let Some(mut last) = Session::of(self.parts.ledger.as_ref())?
        {
            last.yield_to(new);
            last.write(self.parts.ledger.as_mut())?;
        }
        let overruled = match &self.steer.collection {
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
        let steering = self.steer.collection.as_ref().ok_or_else(not_steerable)?;
        let config = adjustments.over(&steering.loaded)?;
        let made = match adjustments.differ_in_topic(&self.steer.adjustments) {
            true => {
                let topic = adjustments.topic(&config)?;
                let canon = Collection::canon(&config);
                let made =
                    TopicParts::new(&topic, &canon, steering.answer.as_ref(), steering.seeds, steering.rng)?;
                Some((made, topic))
            }
            false => None,
        };
        let rules = Collection::rules(&config, steering.rng);
        adjustments.write(self.parts.ledger.as_mut())?;
        self.steer.adjustments = adjustments;
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
        if let Some(bytes) = self.parts.strategy.model().and_then(|m| m.save(true))
            && made.strategy.model().is_some_and(|m| m.load(&bytes).is_err())
        {
            tracing::warn!("the strategy begins to learn anew");
        }
        self.parts.strategy = made.strategy;
        self.parts.ledger.set_ties(self.parts.strategy.wants().ties);
        self.save_strategy_now()?;
        self.judging.make_judge = Some(made.make_judge);
        self.begin_rejudging()?;
        let pages = self.judging.roll.judged.len();
        Ok(Effect {
            text: format!("changed; {pages} pages are judged again by the new terms"),
            changed: pages,
            ..Effect::default()
        })
    }
}

fn not_steerable() -> Problem {
    Problem::new("this crawl cannot be changed while it runs")
}
