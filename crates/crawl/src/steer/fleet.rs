//! Steering a crawl that several workers share, from both ends.
//!
//! Whoever steers ([`FleetCommand`]: the dashboard, `gleaner label`) writes a command into the shared store,
//! where it is at once part of what the crawl wants. Each worker's loop is told of it by its ledger, obeys it
//! as it would obey one of its own process ([`Crawl::obey`]), and says what came of it. A worker that joins,
//! or was away for too long, makes up the difference between what its slot last knew and what the crawl
//! wants.

use crate::crawl::{Crawl, Ledger};
use crate::labels::Labels;
use crate::reader::Reader;
use crate::remove::Removal;
use crate::rules::Stop;
use crate::steer::rejudging::REJUDGING;
use crate::steer::{
    Adjustments, Command, Effect, HostRule, Workers, labelled, merged, retried, verdicts_changed,
};
use focus::judges::{self, JudgeSetup};
use focus::strategies::{self, StrategySetup};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::time::{Duration, Instant};
use store::{Done, Gate, Given, Helm, News, Reached, SharedCommand, Ticket, Wanted};
use types::{Label, Millis, Priority, Problem, StateKey, Url, UrlId, Who};

// ---- a worker's end ---------------------------------------------------------------------------------------

/// Brings what the slot kept of commands up to what the crawl wants, before anything is made of it.
pub(crate) fn update_adjustments(ledger: &mut dyn Ledger, new: &Adjustments) -> Result<(), Problem> {
    let kept = Adjustments::read(ledger)?;
    if *new != kept {
        if new.differ_in_topic(&kept) && !ledger.state(StateKey::Pages)?.is_empty() {
            ledger.put_state(REJUDGING, false, &[1])?;
        }
        new.write(ledger)?;
    }
    Ok(())
}

/// It is about something that was asked before the newest command, to which it is told.
fn failure(when: &str, problem: &Problem) -> Done {
    tracing::warn!(%problem, "what was changed could not be taken over");
    Done { changed: 0, failed: true, text: format!("{when}: {problem}") }
}

/// Kinds of commands, as they are written.
const SEEDS: &str = "seeds";
const LABELS: &str = "labels";
const LESSONS: &str = "lessons";

fn parse(told: &SharedCommand) -> Result<Command, Problem> {
    let strange = |e| {
        Problem::new(format!("this version does not know the command `{}`", told.kind))
            .because(e)
            .hint("update gleaner on this machine")
    };
    let payload: serde_json::Value = serde_json::from_str(&told.payload).map_err(strange)?;
    let mut whole = serde_json::json!({ "kind": told.kind });
    if !payload.is_null() {
        whole["payload"] = payload;
    }
    serde_json::from_value(whole).map_err(strange)
}

/// How often the other workers are told what the model learnt.
const TELL_EVERY: Duration = Duration::from_secs(2);

impl Crawl {
    /// Of a shared crawl: does what is due, and learns what the other workers learnt.
    pub fn maintain_membership(&mut self, now: Millis) -> Result<(), Problem> {
        let strategy = &self.parts.strategy;
        let merge = |old: Priority, new: Priority| merged(old, new, |a, b| strategy.merge(a, b));
        let Some(fleet) = self.parts.ledger.fleet_mut() else { return Ok(()) };
        let Some(mut news) = fleet.maintain(now, &merge)? else { return Ok(()) };
        for delta in std::mem::take(&mut news.deltas) {
            if let Some(Err(e)) = self.parts.strategy.model().map(|m| m.apply(&delta)) {
                // Of a worker with another strategy or version; ours is as good as before.
                tracing::warn!(problem = %e, "another worker's model cannot be read");
            }
        }
        if news.rejoined {
            // What was saved bit by bit since the last commit is lost.
            self.save_learned_whole()?;
        }
        // Asked for even when alone, so that a worker that joins is told only what it cannot have read.
        if now.since(self.fleet.told) >= TELL_EVERY {
            self.fleet.told = now;
            let delta = self.parts.strategy.model().and_then(|m| m.delta());
            if let (Some(delta), Some(fleet)) = (delta, self.parts.ledger.fleet_mut()) {
                fleet.publish(delta);
            }
        }
        self.take_seeds(std::mem::take(&mut news.seeds), now)?;
        self.apply_commands(&mut news, now)?;
        let touched = [std::mem::take(&mut news.taken), std::mem::take(&mut news.mailed)].concat();
        self.put_in_place(Some(&touched))?;
        self.fleet.news = news;
        Ok(())
    }

    /// Does a lease still count? Of a shared crawl another worker may have its host by now.
    pub(crate) fn holds(&self, id: UrlId) -> bool {
        self.parts.ledger.fleet().is_none_or(|fleet| fleet.holds(id))
    }

    /// Of a shared crawl: to be asked before each request is sent.
    pub fn gate(&self) -> Option<Gate> {
        self.parts.ledger.fleet().map(|fleet| fleet.gate())
    }

    /// Just joined: the settings are what the crawl wants (but for what could not be taken over); now the
    /// rest of it.
    pub(crate) fn join_fleet(&mut self, wanted: Wanted, failed: Option<Problem>) -> Result<(), Problem> {
        self.pause(self.steer.adjustments.paused);
        self.learn_labels(&wanted.labels)?;
        self.done_up_to(wanted.n, failed.map(|problem| failure("while joining", &problem)));
        Ok(())
    }

    /// Does what was asked of all workers, and says what came of it.
    pub(crate) fn apply_commands(&mut self, news: &mut News, now: Millis) -> Result<(), Problem> {
        if news.rejoined {
            self.rejoin()?;
        } else if news.missed {
            self.catch_up()?;
        }
        for told in std::mem::take(&mut news.commands) {
            if told.n <= self.fleet.obeyed {
                continue;
            }
            let done = match parse(&told) {
                // They are in the mail of whoever has their hosts.
                _ if told.kind == SEEDS => Ok(Effect::says("seeds are taken by whoever has their hosts")),
                Ok(command) => self.obey(command, now),
                Err(problem) => Err(problem),
            };
            let done = match done {
                Ok(e) => Done { changed: e.changed as u64, failed: false, text: e.text },
                Err(problem) => {
                    // If it is the disk or the database, the loop will meet it soon enough itself.
                    tracing::warn!(%problem, command = told.kind, "a command could not be obeyed");
                    Done { changed: 0, failed: true, text: problem.to_string() }
                }
            };
            self.done_up_to(told.n, Some(done));
        }
        Ok(())
    }

    /// What was done since the last commit is void. Pages whose commit was refused were never fetched:
    /// whoever has their host by now fetches them. Labels were not learnt, nor verdicts revised; and should
    /// the slot be another one, so are its pages. All of it is read as the ledger has it, and judged again.
    /// Only the strategy remembers, and is told what is different from what it knew.
    fn rejoin(&mut self) -> Result<(), Problem> {
        let before: HashMap<UrlId, bool> =
            self.judging.roll.judged.iter().map(|j| (j.id, j.relevant)).collect();
        // What was removed while it was away stays out.
        let removed = Removal::list(self.parts.ledger.as_ref())?;
        self.parts.scope.keep_out(removed.into_iter().map(|r| r.what));
        self.read_pages()?;
        if self.judging.rejudging.is_some() {
            // What was judged so far is counted by places in the list of pages.
            self.begin_rejudging()?;
        }
        let wanted = self.catch_up_settings()?;
        let mut heard = 0;
        for who in [Who::Person, Who::Model] {
            let said = wanted.as_ref().map_or(Ok(Vec::new()), |(w, _)| self.unheard(who, &w.labels))?;
            heard += said.len();
            if !said.is_empty()
                && let Err(problem) = self.note_labels(who, &said)
            {
                tracing::warn!(%problem, "labels could not be learnt");
            }
        }
        self.recount()?;
        // Else all verdicts are given again at its end, by another judge.
        if self.judging.rejudging.is_none() {
            self.judge_anew()?;
        }
        let changed = self.changed_since(&before);
        self.tell_revised(&changed, self.judging.roll.because())?;
        self.tell_labels()?;
        if heard > 0 || !changed.is_empty() {
            self.score_again()?;
        }
        if let Some((wanted, done)) = wanted {
            self.done_up_to(wanted.n, done);
        }
        self.commit()
    }

    /// Makes up the difference to what the crawl wants: some commands are gone.
    pub(crate) fn catch_up(&mut self) -> Result<(), Problem> {
        if let Some((wanted, done)) = self.catch_up_settings()? {
            self.learn_labels(&wanted.labels)?;
            self.done_up_to(wanted.n, done);
        }
        Ok(())
    }

    fn done_up_to(&mut self, n: u64, done: Option<Done>) {
        self.fleet.obeyed = n;
        if let Some(fleet) = self.parts.ledger.fleet_mut() {
            fleet.obeyed(n, done);
        }
    }

    /// All but the labels; what could not be taken over, if anything.
    fn catch_up_settings(&mut self) -> Result<Option<(Wanted, Option<Done>)>, Problem> {
        let Some(fleet) = self.parts.ledger.fleet_mut() else { return Ok(None) };
        let wanted = fleet.wanted()?;
        let new = Adjustments::parse(&wanted.json)?;
        if new.stopped > self.fleet.obeyed {
            self.stop(Stop::User);
        }
        self.pause(new.paused);
        let old = self.steer.adjustments.clone();
        // Judging again may have begun, or ended, in what is void.
        let again =
            self.is_rejudging()? || new.differ_in_topic(&Adjustments::read(self.parts.ledger.as_ref())?);
        let mut done = None;
        match self.adopt(new.clone()) {
            Ok(_) => {
                if again || self.judging.rejudging.is_some() {
                    self.begin_rejudging()?;
                }
                if old.hosts != new.hosts {
                    self.put_in_place(None)?;
                }
            }
            Err(problem) => done = Some(failure("while catching up", &problem)),
        }
        Ok(Some((wanted, done)))
    }

    /// What was said of pages, and this worker does not know; and what was taken back.
    fn unheard(&self, who: Who, wanted: &[(UrlId, Label)]) -> Result<Vec<(UrlId, Option<bool>)>, Problem> {
        let kept: BTreeMap<UrlId, bool> = Labels::read(self.parts.ledger.as_ref())?.by(who).collect();
        let said = wanted.iter().filter(|(_, label)| label.who == who);
        let wanted: BTreeMap<UrlId, bool> = said.map(|(id, label)| (*id, label.relevant)).collect();
        let gone = kept.keys().filter(|id| !wanted.contains_key(id)).map(|id| (*id, None));
        let new = wanted.iter().filter(|(id, l)| kept.get(id) != Some(l)).map(|(id, l)| (*id, Some(*l)));
        Ok(gone.chain(new).collect())
    }

    fn learn_labels(&mut self, wanted: &[(UrlId, Label)]) -> Result<(), Problem> {
        for who in [Who::Person, Who::Model] {
            let said = self.unheard(who, wanted)?;
            if !said.is_empty()
                && let Err(problem) = self.label(who, &said)
            {
                tracing::warn!(%problem, "labels could not be learnt");
            }
        }
        Ok(())
    }

    /// Seeds that were named to all workers and whose hosts are this one's.
    pub(crate) fn take_seeds(&mut self, seeds: Vec<(Ticket, Url)>, now: Millis) -> Result<(), Problem> {
        if seeds.is_empty() {
            return Ok(());
        }
        for (ticket, url) in seeds {
            let candidate = match self.parts.scope.check(&url) {
                Err(why) => {
                    self.counts.refuse(&format!("scope: {}", why.kind()), 1);
                    None
                }
                Ok(()) if self.parts.ledger.find(&url)?.is_some() => None,
                Ok(()) => Some(self.as_seed(&url)),
            };
            if let Some(fleet) = self.parts.ledger.fleet_mut() {
                fleet.take_seed(ticket, candidate, now)?;
            }
        }
        self.save_strategy_now()?;
        self.parts.ledger.commit()
    }
}

// ---- the end of whoever steers ----------------------------------------------------------------------------

/// Whom a command is for, and who gives it.
#[derive(Clone, Debug)]
pub struct Address<'a> {
    /// `postgres://…`
    pub store: &'a str,
    /// Name of the crawl.
    pub crawl: &'a str,
    /// For people: who gave it, and from where.
    pub who: &'a str,
    /// How long the workers are waited for.
    pub patience: Duration,
}

/// Between two looks at what the workers did.
const LOOK_EVERY: Duration = Duration::from_millis(80);

/// A command that makes sense for a shared crawl.
pub struct FleetCommand {
    command: Command,
    /// What the page will be, after a label.
    relevant: Option<bool>,
}

impl FleetCommand {
    /// Looks whether it makes sense. `reader` is the crawl as it was a moment ago.
    pub fn new(reader: &Reader, command: Command) -> Result<FleetCommand, Problem> {
        let alive = reader.ledger().workers()?.len();
        let idle = |action: &str| {
            Problem::new(format!("no worker of this crawl is running: there is nothing to {action}"))
                .hint("`gleaner crawl … --store …` starts one, on any machine")
        };
        let mut asked = FleetCommand { command, relevant: None };
        match &asked.command {
            Command::Stop if alive == 0 => return Err(idle("stop")),
            Command::Pause if alive == 0 => return Err(idle("pause")),
            Command::Resume if alive == 0 && !reader.adjustments().paused => return Err(idle("resume")),
            Command::Stop | Command::Pause | Command::Resume => {}
            Command::Host { .. } | Command::Seeds(_) => {}
            Command::Settings(_) => check_settings(reader, &asked.command)?,
            Command::Retry(_) => {
                return Err(Problem::new(
                    "the workers of a shared crawl cannot be told to ask for URLs again yet",
                )
                .hint("`gleaner steer --store … seed URL` asks again for one that gave no answer"));
            }
            Command::Lessons(_) => {
                return Err(Problem::new("only the workers of a shared crawl ask its language model"));
            }
            Command::Labels(said) => {
                asked.relevant = match said.as_slice() {
                    [(_, Some(label))] => Some(*label),
                    // Taken back: the judge's own word counts again.
                    [(id, None)] => reader.ledger().record(*id)?.map(|r| r.verdict.relevant),
                    _ => None,
                }
            }
        }
        Ok(asked)
    }

    /// Gives it to all workers, now and later, and waits a moment for what comes of it.
    pub fn give(&self, to: &Address) -> Result<Effect, Problem> {
        let helm = Helm::open(to.store, Some(to.crawl))?;
        let mut command = self.command.clone();
        let mut known = 0;
        if let Command::Seeds(urls) = &mut command {
            let all: BTreeSet<Url> = urls.drain(..).collect();
            let all: Vec<Url> = all.into_iter().collect();
            let old = helm.known(&all)?;
            known = old.len();
            urls.extend(all.into_iter().filter(|u| !old.contains(u)));
            if urls.is_empty() {
                return Ok(Effect::says("no new seed: all of them are known already"));
            }
        }
        let (mut seeds, mut labels): (&[Url], &[(UrlId, Option<bool>)]) = (&[], &[]);
        match &command {
            Command::Seeds(urls) => seeds = urls,
            Command::Labels(said) => labels = said,
            _ => {}
        }
        let wire = serde_json::to_value(&command)
            .map_err(|e| Problem::new("a command cannot be sent").because(e))?;
        let kind = wire["kind"].as_str().unwrap_or_default();
        // The seeds themselves are in the mail.
        let payload = match seeds {
            [] | [_] => wire["payload"].to_string(),
            many => many.len().to_string(),
        };
        let given = Given { kind, payload: &payload, who: to.who, labels, seeds };
        let n = helm.give(&given, &|n, wanted| {
            let mut all = Adjustments::parse(wanted)?;
            all.take_in(n, &command)?;
            serde_json::to_string(&all).map_err(|e| Problem::new("cannot keep what was changed").because(e))
        })?;
        let give_up = Instant::now() + to.patience;
        let mut reached = helm.reached(n)?;
        while reached.applied < reached.of && Instant::now() < give_up {
            std::thread::sleep(LOOK_EVERY);
            reached = helm.reached(n)?;
        }
        Ok(Effect {
            text: describe(&command, &reached, known),
            changed: if seeds.is_empty() { reached.changed as usize } else { seeds.len() },
            relevant: self.relevant,
            workers: Some(Workers { applied: reached.applied, of: reached.of }),
        })
    }
}

/// What was asked, in a few words. Of long lists the payload may be their length.
pub fn in_words(kind: &str, payload: &str) -> String {
    if let Ok(n) = payload.parse::<u64>() {
        match kind {
            SEEDS => return format!("add {n} seeds"),
            LABELS => return format!("{n} labels"),
            LESSONS => return format!("the language model answered about {n} pages"),
            _ => {}
        }
    }
    match parse(&SharedCommand { n: 0, kind: kind.into(), payload: payload.into() }) {
        Ok(Command::Seeds(urls)) => match urls.as_slice() {
            [one] => format!("add the seed {one}"),
            all => format!("add {} seeds", all.len()),
        },
        Ok(Command::Host { host, rule: HostRule::Block }) => format!("block {host}"),
        Ok(Command::Host { host, rule: HostRule::Boost }) => format!("{host} first"),
        Ok(Command::Host { host, rule: HostRule::None }) => format!("{host} as any other"),
        Ok(Command::Labels(said)) => match said.as_slice() {
            [(id, Some(true))] => format!("page {} is relevant", id.0),
            [(id, Some(false))] => format!("page {} is not relevant", id.0),
            [(id, None)] => format!("page {}: label taken back", id.0),
            all => format!("{} labels", all.len()),
        },
        Ok(Command::Lessons(said)) => match said.len() {
            1 => "the language model answered about 1 page".into(),
            n => format!("the language model answered about {n} pages"),
        },
        Ok(Command::Settings(s)) => {
            let terms = |n: usize, what: &str| (n > 0).then(|| format!("{n} terms {what}"));
            let parts = [
                s.limits.is_some().then(|| "limits".to_string()),
                s.fetch.is_some().then(|| "pace".to_string()),
                terms(s.add_terms.len(), "added"),
                terms(s.mute_terms.len(), "muted"),
                s.strategy.is_some().then(|| "options of the strategy".to_string()),
            ];
            format!("change: {}", parts.into_iter().flatten().collect::<Vec<_>>().join(", "))
        }
        _ => kind.to_string(),
    }
}

/// What no worker could do is not asked of any: it would be kept for all that join later.
fn check_settings(reader: &Reader, command: &Command) -> Result<(), Problem> {
    let mut new = reader.adjustments().clone();
    new.take_in(0, command)?;
    if !new.differ_in_topic(reader.adjustments()) {
        return Ok(());
    }
    let made = |a: &Adjustments| -> Result<(), Problem> {
        // The strategy first: its options are looked at before what it needs.
        let topic = a.topic(&reader.config_with(a)?)?;
        strategies::build(&StrategySetup::new(&topic))?;
        judges::build(&JudgeSetup::new(&topic))?;
        Ok(())
    };
    match (made(&new), made(reader.adjustments())) {
        // Some need example pages or files that only the workers have, with this command as without it.
        (Err(problem), Err(before)) if problem.to_string() == before.to_string() => Ok(()),
        (made, _) => made,
    }
}

/// "labelled relevant; 37 pages changed verdict; all 4 workers have done it"
fn describe(command: &Command, reached: &Reached, known: usize) -> String {
    let n = reached.changed;
    let so_far = if reached.applied < reached.of { " so far" } else { "" };
    let mut text = match command {
        Command::Stop => "stopping: each worker finishes what is under way".to_string(),
        Command::Pause => "paused".into(),
        Command::Resume => "going on".into(),
        Command::Seeds(urls) => {
            let new = if urls.len() == 1 { "1 seed".to_string() } else { format!("{} seeds", urls.len()) };
            let old = if known > 0 { format!(" ({known} known already)") } else { String::new() };
            format!("{new} handed to the workers that have the hosts{old}")
        }
        Command::Settings(_) if n > 0 => format!("changed; {n} pages are judged again by the new terms"),
        Command::Settings(_) => "changed".into(),
        Command::Host { host, rule } => rule.told(host, n),
        Command::Retry(ids) => retried(n as usize, ids.len()).text,
        Command::Lessons(said) => format!("{} answered; {}", said.len(), verdicts_changed(n)),
        Command::Labels(said) if reached.of == 0 => labelled(said),
        Command::Labels(said) => format!("{}; {}{so_far}", labelled(said), verdicts_changed(n)),
    };
    text += &match (reached.applied, reached.of) {
        (_, 0) => "; no worker is running: those that join will follow it".to_string(),
        (1, 1) => String::new(),
        (all, of) if all == of => format!("; all {of} workers have done it"),
        (some, of) => format!("; asked: {some} of {of} workers have done it so far"),
    };
    let flags: Vec<&str> = (reached.texts.iter()).filter_map(|t| Some(t.split_once("; the ")?.1)).collect();
    if let Some(flag) = flags.first() {
        text += &format!("; on {} of {} workers the {flag}", flags.len(), reached.of);
    }
    if let Some(failure) = reached.failures.first() {
        text += &format!("; {} could not: {failure}", reached.failures.len());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::steer::Settings;
    use types::Canon;

    fn told(command: &Command) -> SharedCommand {
        let wire = serde_json::to_value(command).unwrap();
        SharedCommand {
            n: 1,
            kind: wire["kind"].as_str().unwrap().into(),
            payload: wire["payload"].to_string(),
        }
    }

    #[test]
    fn commands_are_read_as_they_were_written() {
        let settings = Settings { mute_terms: vec!["a".into()], ..Settings::default() };
        for command in [
            Command::Stop,
            Command::Pause,
            Command::Resume,
            Command::Seeds(vec![Canon::exact().parse("http://a.test/x").unwrap()]),
            Command::Settings(Box::new(settings)),
            Command::Host { host: "a.test".into(), rule: HostRule::Boost },
            Command::Labels(vec![(UrlId(7), Some(true)), (UrlId(8), None)]),
            Command::Lessons(vec![(UrlId(7), Some(true))]),
        ] {
            assert_eq!(parse(&told(&command)).unwrap(), command);
        }
        let words = |kind: &str, payload: &str| in_words(kind, payload);
        assert_eq!(words("seeds", "[\"http://a.test/x\"]"), "add the seed http://a.test/x");
        assert_eq!(
            (words("seeds", "12").as_str(), words("labels", "7").as_str()),
            ("add 12 seeds", "7 labels")
        );
        assert_eq!(words("labels", "[[7, true]]"), "page 7 is relevant");
        assert_eq!(words("lessons", "[[7, true]]"), "the language model answered about 1 page");
        assert_eq!(words("lessons", "5"), "the language model answered about 5 pages");
        let strange = SharedCommand { n: 1, kind: "dance".into(), payload: "{}".into() };
        assert!(parse(&strange).unwrap_err().what().contains("dance"));
        assert!(parse(&SharedCommand { n: 1, kind: "labels".into(), payload: "7".into() }).is_err());
    }

    #[test]
    fn what_commands_add_up_to() {
        let mut a = Adjustments::default();
        a.take_in(1, &Command::Pause).unwrap();
        assert!(a.paused);
        a.take_in(2, &Command::Host { host: "A.test".into(), rule: HostRule::Block }).unwrap();
        a.take_in(3, &Command::Stop).unwrap();
        assert_eq!((a.paused, a.stopped, a.rule_of("a.test")), (false, 3, HostRule::Block));
        let again = Adjustments::parse(&serde_json::to_string(&a).unwrap()).unwrap();
        assert_eq!(again, a);
        assert!(!serde_json::to_string(&Adjustments::default()).unwrap().contains("stopped"));
        // Of a newer version: what this one does not know is still there after it changed something.
        let mut a = Adjustments::parse(r#"{"hosts": {"b.test": "boost"}, "pinned": {"c.test": 3}}"#).unwrap();
        a.take_in(4, &Command::Pause).unwrap();
        let written: serde_json::Value = serde_json::to_value(&a).unwrap();
        assert_eq!((&written["pinned"]["c.test"], &written["paused"]), (&3.into(), &true.into()));
        assert!(Adjustments::parse(r#"{"settings": {"speed": 1}}"#).is_err());
    }

    #[test]
    fn what_is_said_of_it() {
        let label = Command::Labels(vec![(UrlId(7), Some(true))]);
        let some = Reached { applied: 3, of: 4, changed: 37, ..Reached::default() };
        assert_eq!(
            describe(&label, &some, 0),
            "labelled relevant; 37 pages changed verdict so far; asked: 3 of 4 workers have done it so far"
        );
        let all = Reached { applied: 2, of: 2, changed: 1, ..Reached::default() };
        assert_eq!(
            describe(&label, &all, 0),
            "labelled relevant; 1 page changed verdict; all 2 workers have done it"
        );
        let nobody = describe(&label, &Reached::default(), 0);
        assert!(nobody.contains("no worker is running"), "{nobody}");
        let change = Command::Settings(Box::default());
        let texts = vec!["changed; the command line (--pages) stands".into(), "changed".into()];
        let flags = Reached { applied: 2, of: 2, texts, ..Reached::default() };
        let text = describe(&change, &flags, 0);
        assert!(text.ends_with("; on 1 of 2 workers the command line (--pages) stands"), "{text}");
    }
}
