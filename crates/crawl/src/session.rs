//! One run of a crawl: when it began, what the command line asked of it, and how it ended. The ledger keeps
//! the last one, so every reader can say which limits are in force and why nothing is fetched any more.

use crate::config::LoadedConfig;
use crate::rules::{Rules, Stop};
use crate::steer::{Adjustments, Settings};
use crate::units::{Size, Span};
use serde::{Deserialize, Serialize};
use store::{Journal, Records};
use types::{Millis, Problem, StateKey};

/// Settings of the command line that are kept. Others may hold secrets, or concern one machine only.
const KEPT: &[(&str, &[&str])] = &[
    ("limits", &["pages", "relevant", "requests", "time", "disk", "depth", "per_host"]),
    ("fetch", &["concurrency", "delay"]),
];

/// The last run of a collection.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Session {
    /// When it began, in milliseconds since 1970.
    pub began: u64,
    /// The version of the program.
    pub version: String,
    /// What the command line set, as TOML.
    pub flags: String,
    /// How it ended. `None`: it runs, or it was cut off.
    pub ended: Option<RunEnd>,
}

/// The end of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnd {
    /// When, in milliseconds since 1970.
    pub at: u64,
    /// Why.
    pub stop: Stop,
    /// The limit that was reached: pages, requests or milliseconds.
    #[serde(default)]
    pub limit: Option<u64>,
}

impl RunEnd {
    /// The end of a crawl that went by these rules.
    pub fn new(stop: Stop, rules: &Rules, at: Millis) -> RunEnd {
        let limit = match stop {
            Stop::Pages => rules.pages,
            Stop::Relevant => rules.relevant,
            Stop::Requests => rules.requests,
            Stop::Time => rules.time.map(|t| t.as_millis() as u64),
            Stop::Disk => rules.disk,
            Stop::Exhausted | Stop::User | Stop::Pauses | Stop::Refreshed | Stop::DiskFull => None,
        };
        RunEnd { at: at.0, stop, limit }
    }

    /// Why it ended, for people: the same words in the terminal, the dashboard and the report.
    pub fn reason(&self) -> String {
        let Some(limit) = self.limit else { return self.stop.reason().into() };
        match self.stop {
            Stop::Time => format!("time limit reached ({})", Span(std::time::Duration::from_millis(limit))),
            Stop::Disk => format!("{} ({})", self.stop.reason(), Size(limit)),
            _ => format!("{} ({limit})", self.stop.reason()),
        }
    }
}

impl Session {
    /// A run that begins now.
    pub fn begin(loaded: &LoadedConfig) -> Session {
        let mut flags = toml::Table::new();
        for (section, keys) in KEPT {
            let Some(given) = loaded.flags().get(*section).and_then(|s| s.as_table()) else { continue };
            let mut kept = given.clone();
            kept.retain(|key, _| keys.contains(&key));
            if !kept.is_empty() {
                flags.insert((*section).into(), kept.into());
            }
        }
        Session {
            began: Millis::now().0,
            version: env!("CARGO_PKG_VERSION").into(),
            flags: flags.to_string(),
            ended: None,
        }
    }

    /// The last run; of a shared crawl, that of the worker that began last.
    pub fn of(store: &(impl Records + ?Sized)) -> Result<Option<Session>, Problem> {
        let all = store.state(StateKey::Session)?;
        let read = all.iter().filter_map(|bytes| serde_json::from_slice::<Session>(bytes).ok());
        Ok(read.max_by_key(|session| session.began))
    }

    /// Part of the next commit.
    pub fn write(&self, store: &mut (impl Journal + ?Sized)) -> Result<(), Problem> {
        let bytes = serde_json::to_vec(self)
            .map_err(|e| Problem::new("cannot keep how the crawl was started").because(e))?;
        store.put_state(StateKey::Session, false, &bytes)
    }

    /// Drops what the command line said of these settings.
    pub fn yield_to(&mut self, new: &Settings) {
        let mut flags = self.flags();
        let mut drop = |section: &str, keys: &[&str]| {
            if let Some(table) = flags.get_mut(section).and_then(|s| s.as_table_mut()) {
                table.retain(|key, _| !keys.contains(&key));
            }
        };
        if new.limits.is_some() {
            drop("limits", &["pages", "relevant", "time"]);
        }
        if let Some(pace) = &new.fetch {
            let keys = [pace.concurrency.map(|_| "concurrency"), pace.delay_ms.map(|_| "delay")];
            drop("fetch", &keys.into_iter().flatten().collect::<Vec<_>>());
        }
        self.flags = flags.to_string();
    }

    /// The command line's settings as a table. One that cannot be read is none.
    pub fn flags(&self) -> toml::Table {
        self.flags.parse().unwrap_or_default()
    }
}

/// Where a setting comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The command line of the last run.
    CommandLine,
    /// It was changed while a crawl ran, or between two.
    Changed,
    /// The topic file.
    Topic,
    /// The judge chose it by what it saw.
    Judge,
    /// Nobody said anything.
    Default,
}

impl Serialize for Origin {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        s.serialize_str(self.name())
    }
}

impl Origin {
    /// Where a setting of this crawl comes from: the order of who is right.
    pub fn of(section: &str, key: &str, loaded: &LoadedConfig, adjustments: &Adjustments) -> Origin {
        let settings = &adjustments.settings;
        let pace = settings.fetch.as_ref();
        let changed = match (section, key) {
            ("limits", "pages" | "relevant" | "time") => settings.limits.is_some(),
            ("fetch", "concurrency") => pace.is_some_and(|p| p.concurrency.is_some()),
            ("fetch", "delay") => pace.is_some_and(|p| p.delay_ms.is_some()),
            _ => false,
        };
        match loaded.origin(Some(section), key) {
            Origin::CommandLine => Origin::CommandLine,
            _ if changed => Origin::Changed,
            written => written,
        }
    }

    /// The word for people.
    pub fn name(self) -> &'static str {
        match self {
            Origin::CommandLine => "command line",
            Origin::Changed => "changed here",
            Origin::Topic => "topic file",
            Origin::Judge => "chosen by the judge",
            Origin::Default => "default",
        }
    }
}

/// One setting that is in force.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct InForce {
    pub name: &'static str,
    pub value: String,
    pub from: Origin,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn a_session_keeps_limits_and_pace_and_no_secret() {
        let flags = "[limits]\npages = 7\n[fetch]\ndelay = '5ms'\nproxy = 'http://me:secret@proxy'\n";
        let loaded = Config::load("query = 'x'", "t.toml", toml::from_str(flags).unwrap()).unwrap();
        let session = Session::begin(&loaded);
        assert!(!session.flags.contains("secret"), "{}", session.flags);
        let again = Config::load("query = 'x'", "t.toml", session.flags()).unwrap();
        assert_eq!(again.config.limits.pages, Some(7));
        assert_eq!(again.config.fetch.delay.0.as_millis(), 5);
    }

    #[test]
    fn an_end_names_its_limit() {
        let rules =
            Rules { pages: Some(300), time: Some(std::time::Duration::from_secs(90)), ..Rules::default() };
        let says = |stop| RunEnd::new(stop, &rules, Millis(1)).reason();
        assert_eq!(says(Stop::Pages), "page limit reached (300)");
        assert_eq!(says(Stop::Time), "time limit reached (90s)");
        assert_eq!(says(Stop::User), "stopped by the user");
    }

    #[test]
    fn who_is_right() {
        let flags = toml::from_str("[limits]\npages = 7").unwrap();
        let file = "query = 'x'\n[limits]\npages = 1\nrelevant = 2\n[fetch]\ndelay = '1s'\n";
        let loaded = Config::load(file, "t.toml", flags).unwrap();
        let settings = r#"{"limits":{"pages":100,"relevant":9,"time_ms":null}}"#;
        let mut adjustments = Adjustments::default();
        adjustments.add(&serde_json::from_str(settings).unwrap()).unwrap();
        let from = |section, key| Origin::of(section, key, &loaded, &adjustments);
        assert_eq!(from("limits", "pages"), Origin::CommandLine);
        assert_eq!(from("limits", "relevant"), Origin::Changed);
        assert_eq!(from("fetch", "delay"), Origin::Topic);
        assert_eq!(from("fetch", "concurrency"), Origin::Default);
    }
}
