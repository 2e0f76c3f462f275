//! The sum of all commands that a crawl was given. The ledger keeps it, and it is laid over the topic file
//! when the crawl goes on.
//!
//! Of two settings the command line's counts before one that was changed while the crawl ran, and that before
//! the topic file's.

use super::command::{Command, HostRule, NewTerm, Settings, TermSet};
use crate::config::{Config, LoadedConfig};
use crate::units::Span;
use focus::topic::Topic;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::time::Duration;
use store::{Journal, Records};
use types::{Priority, Problem, StateKey};

/// Everything that was changed while running, as the ledger keeps it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Adjustments {
    /// Limits, pace, terms and options that are in force instead of the topic file's.
    pub settings: Settings,
    /// Hosts that are treated differently, by host key.
    pub hosts: BTreeMap<String, HostRule>,
    /// Of a shared crawl: whoever joins waits until it goes on.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub paused: bool,
    /// Of a shared crawl: the number of the command that last stopped it. Whoever joined before that ends.
    #[serde(skip_serializing_if = "is_zero")]
    pub stopped: u64,
    /// What a newer version wrote, and this one does not know: kept as it is for those who do.
    #[serde(flatten)]
    pub unknown: BTreeMap<String, serde_json::Value>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

/// Name of the state in the ledger.
const STATE: StateKey = StateKey::Control;
/// Terms and hosts that can be said in one collection.
const MOST: usize = 10_000;
/// Longest term.
const LONGEST_TERM: usize = 200;

impl Adjustments {
    /// Reads what is in force; the default when nothing was ever changed.
    pub fn read(store: &(impl Records + ?Sized)) -> Result<Adjustments, Problem> {
        let bytes = store.state(STATE)?.pop();
        Ok(bytes.and_then(|b| serde_json::from_slice(&b).ok()).unwrap_or_default())
    }

    /// Of a shared crawl: what others wrote, perhaps by another version.
    pub fn parse(json: &str) -> Result<Adjustments, Problem> {
        serde_json::from_str(json).map_err(|e| {
            Problem::new("what was changed while the crawl ran is written by a newer version of the program")
                .because(e)
                .hint("update gleaner on this machine; all workers of a crawl should run the same version")
        })
    }

    /// Part of the store's next commit.
    pub fn write(&self, store: &mut (impl Journal + ?Sized)) -> Result<(), Problem> {
        let bytes =
            serde_json::to_vec(self).map_err(|e| Problem::new("cannot keep what was changed").because(e))?;
        store.put_state(STATE, false, &bytes)
    }

    /// Is what is judged, or how links are ordered, another than the topic file says?
    pub fn change_the_topic(&self) -> bool {
        self.differ_in_topic(&Adjustments::default())
    }

    /// All but what changes the topic.
    pub fn without_topic(&self) -> Adjustments {
        let mut rest = self.clone();
        rest.settings.add_terms.clear();
        rest.settings.mute_terms.clear();
        rest.settings.strategy = None;
        rest
    }

    /// Do these judge pages, or order links, in another way than those?
    pub fn differ_in_topic(&self, other: &Adjustments) -> bool {
        let (a, b) = (&self.settings, &other.settings);
        (&a.add_terms, &a.mute_terms, &a.strategy) != (&b.add_terms, &b.mute_terms, &b.strategy)
    }

    /// What this and command number `n` add up to. Labels and seeds are kept elsewhere.
    pub fn take_in(&mut self, n: u64, command: &Command) -> Result<(), Problem> {
        match command {
            Command::Pause => self.paused = true,
            Command::Resume => self.paused = false,
            // Whoever starts it again wants it to go on.
            Command::Stop => (self.stopped, self.paused) = (n, false),
            Command::Settings(new) => self.add(new)?,
            Command::Host { host, rule } => self.rule(&host.to_lowercase(), *rule)?,
            Command::Seeds(_) | Command::Labels(_) | Command::Lessons(_) | Command::Retry(_) => {}
        }
        Ok(())
    }

    /// Settings that `new` changes in vain, because the command line says otherwise.
    pub fn overruled(new: &Settings, loaded: &LoadedConfig) -> Vec<&'static str> {
        let mut asked = Vec::new();
        if new.limits.is_some() {
            asked.extend([
                ("limits", "pages", "--pages"),
                ("limits", "relevant", "--relevant"),
                ("limits", "time", "--time"),
            ]);
        }
        if let Some(pace) = &new.fetch {
            asked.extend(pace.concurrency.map(|_| ("fetch", "concurrency", "--concurrency")));
            asked.extend(pace.delay_ms.map(|_| ("fetch", "delay", "--delay")));
        }
        asked
            .into_iter()
            .filter(|(section, key, _)| loaded.is_flag(section, key))
            .map(|(.., flag)| flag)
            .collect()
    }

    /// Takes in new settings.
    pub fn add(&mut self, new: &Settings) -> Result<(), Problem> {
        let mut all = self.settings.clone();
        if let Some(limits) = &new.limits {
            if limits.pages == Some(0) || limits.relevant == Some(0) {
                return Err(Problem::usage("a limit of 0 pages leaves nothing to do")
                    .hint("leave it empty for no limit"));
            }
            all.limits = Some(limits.clone());
        }
        if let Some(pace) = &new.fetch {
            if pace.concurrency == Some(0) {
                return Err(Problem::usage("0 requests in flight would fetch nothing")
                    .hint("pause the crawl instead"));
            }
            let kept = all.fetch.get_or_insert_default();
            kept.concurrency = pace.concurrency.or(kept.concurrency);
            kept.delay_ms = pace.delay_ms.or(kept.delay_ms);
        }
        for t in &new.add_terms {
            let term = t.term.trim();
            if term.is_empty() || term.len() > LONGEST_TERM {
                return Err(Problem::usage(format!("a term has 1 to {LONGEST_TERM} bytes")));
            }
            let t = NewTerm { set: t.set, term: term.into() };
            all.mute_terms.retain(|m| *m != t.term);
            if !all.add_terms.contains(&t) {
                all.add_terms.push(t);
            }
        }
        for term in &new.mute_terms {
            all.add_terms.retain(|t| t.term != *term);
            if !all.mute_terms.contains(term) {
                all.mute_terms.push(term.clone());
            }
        }
        if all.add_terms.len() + all.mute_terms.len() > MOST {
            return Err(Problem::usage("too many terms were changed").hint("put them into the topic file"));
        }
        if let Some(text) = &new.strategy {
            toml::from_str::<toml::Table>(text)
                .map_err(|e| Problem::usage("the strategy's options are not TOML").because(e.message()))?;
            all.strategy = Some(text.clone());
        }
        self.settings = all;
        Ok(())
    }

    /// Sets what is wanted of a host. A host that would be one too many is refused.
    pub fn rule(&mut self, host: &str, rule: HostRule) -> Result<(), Problem> {
        match rule {
            HostRule::None => {
                self.hosts.remove(host);
            }
            _ if self.hosts.len() >= MOST => {
                return Err(Problem::usage("too many hosts have a rule")
                    .hint("use [scope] hosts and domains of the topic file"));
            }
            _ => {
                self.hosts.insert(host.to_string(), rule);
            }
        }
        Ok(())
    }

    /// What is wanted of a host.
    pub fn rule_of(&self, host: &str) -> HostRule {
        self.hosts.get(host).copied().unwrap_or_default()
    }

    /// The settings with the changes laid over them. What the command line says stands.
    pub fn over(&self, loaded: &LoadedConfig) -> Result<Config, Problem> {
        let mut config = loaded.config.clone();
        let free = |section: &str, key: &str| !loaded.is_flag(section, key);
        if let Some(limits) = &self.settings.limits {
            if free("limits", "pages") {
                config.limits.pages = limits.pages;
            }
            if free("limits", "relevant") {
                config.limits.relevant = limits.relevant;
            }
            if free("limits", "time") {
                config.limits.time = limits.time_ms.map(|ms| Span(Duration::from_millis(ms)));
            }
        }
        if let Some(pace) = &self.settings.fetch {
            if let Some(n) = pace.concurrency.filter(|_| free("fetch", "concurrency")) {
                config.fetch.concurrency = n.max(1);
            }
            if let Some(ms) = pace.delay_ms.filter(|_| free("fetch", "delay")) {
                config.fetch.delay = Span(Duration::from_millis(ms));
            }
        }
        if let Some(text) = &self.settings.strategy {
            let options = toml::from_str::<toml::Table>(text)
                .map_err(|e| Problem::usage("the strategy's options are not TOML").because(e.message()))?;
            for (key, value) in options {
                // Another strategy altogether is another crawl: its state would be lost.
                if key != "kind" {
                    config.strategy.options.insert(key, value);
                }
            }
        }
        for t in &self.settings.add_terms {
            let list = match t.set {
                TermSet::Genre => &mut config.genre.terms,
                TermSet::Content => &mut config.content.terms,
                TermSet::Url => &mut config.url.terms,
                TermSet::Exclude => &mut config.exclude.terms,
            };
            if !list.contains(&t.term) {
                list.push(t.term.clone());
            }
        }
        Ok(config)
    }

    /// The topic of such settings, without the muted terms.
    pub fn topic(&self, config: &Config) -> Result<Topic, Problem> {
        let mut topic = config.topic()?;
        for term in &self.settings.mute_terms {
            topic.mute(term);
        }
        Ok(topic)
    }
}

/// A boosted host's URLs go first.
pub(crate) const BOOSTED: u8 = Priority::BOOSTED;

/// A priority that goes before all others, in the order they have among themselves.
pub(crate) fn boosted(p: Priority) -> Priority {
    Priority::new(BOOSTED, p.key())
}

/// A priority as the strategy gave it, as far as that is known: which lane it was in before is not.
pub(crate) fn plain(p: Priority) -> Priority {
    if p.lane == BOOSTED { Priority::key_only(p.key()) } else { p }
}

/// What a strategy makes of two priorities of one URL, one of which may be boosted.
pub(crate) fn merged(
    old: Priority,
    new: Priority,
    merge: impl Fn(Priority, Priority) -> Priority,
) -> Priority {
    if old.lane != BOOSTED && new.lane != BOOSTED {
        return merge(old, new);
    }
    boosted(merge(plain(old), plain(new)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn loaded(text: &str, flags: &str) -> LoadedConfig {
        Config::load(text, "t.toml", toml::from_str(flags).unwrap()).unwrap()
    }
    fn settings(json: &str) -> Settings {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn the_command_line_then_what_was_changed_then_the_file() {
        let file = "name = 'x'\n[content]\nterms = ['a']\n[limits]\npages = 10\nrelevant = 5\n";
        let l = loaded(file, "[limits]\npages = 7");
        let mut a = Adjustments::default();
        a.add(&settings(
            r#"{"limits":{"pages":100,"relevant":null,"time_ms":60000},"fetch":{"delay_ms":5}}"#,
        ))
        .unwrap();
        let c = a.over(&l).unwrap();
        assert_eq!((c.limits.pages, c.limits.relevant), (Some(7), None));
        assert_eq!(c.limits.time, Some(Span(Duration::from_secs(60))));
        assert_eq!(c.fetch.delay, Span(Duration::from_millis(5)));
        assert_eq!(c.fetch.concurrency, Config::default().fetch.concurrency);
    }

    #[test]
    fn terms_come_and_go() {
        let l = loaded("name = 'x'\n[content]\nterms = ['a', 'b']\n[genre]\npreset = 'syllabus'\n", "");
        let mut a = Adjustments::default();
        a.add(&settings(r#"{"add_terms":[{"set":"content","term":" c "},{"set":"exclude","term":"d"}],"mute_terms":["a","syllabus"]}"#)).unwrap();
        let t = a.topic(&a.over(&l).unwrap()).unwrap();
        assert_eq!(t.content.own, ["b", "c"]);
        assert_eq!(t.exclude, ["d"]);
        assert!(!t.genre.for_language(None, &t.text.options).contains(&"syllabus".to_string()));
        // Muting an added term takes it back; adding a muted one too.
        a.add(&settings(r#"{"mute_terms":["c"],"add_terms":[{"set":"content","term":"a"}]}"#)).unwrap();
        let t = a.topic(&a.over(&l).unwrap()).unwrap();
        assert_eq!(t.content.own, ["a", "b"]);
        assert!(a.add(&settings(r#"{"limits":{"pages":0}}"#)).is_err());
        assert!(a.add(&settings(r#"{"strategy":"no toml"}"#)).is_err());
    }

    #[test]
    fn what_is_kept_is_read_back() {
        let mut ledger = store::Ledger::in_memory(frontier::Limits::default());
        let mut a = Adjustments::default();
        a.add(&settings(r#"{"limits":{"pages":3},"mute_terms":["x"]}"#)).unwrap();
        a.rule("a.org", HostRule::Block).unwrap();
        a.rule("b.org", HostRule::Boost).unwrap();
        a.rule("b.org", HostRule::None).unwrap();
        a.write(&mut ledger).unwrap();
        assert_eq!(Adjustments::read(&ledger).unwrap(), a);
        assert_eq!((a.rule_of("a.org"), a.rule_of("b.org")), (HostRule::Block, HostRule::None));
    }

    #[test]
    fn a_boost_survives_being_seen_again() {
        let sum = |a: Priority, b: Priority| Priority::key_only(a.key() + b.key());
        let m = merged(boosted(Priority::key_only(1.0)), Priority::key_only(2.0), sum);
        assert_eq!((m.lane, m.key()), (BOOSTED, 3.0));
        assert_eq!(merged(Priority::key_only(1.0), Priority::key_only(2.0), sum).lane, 0);
    }
}
