//! Which settings are in force, where each comes from, and why the last run ended.

use super::Reader;
use crate::crawl::Run;
use crate::session::{InForce, Origin, Session};
use focus::topic::Threshold;
use types::Problem;

impl Reader {
    /// The last run, if there was one since the program keeps them.
    pub fn session(&self) -> Option<&Session> {
        self.session.as_ref()
    }

    /// Why the last run ended, for people. Only when none is under way.
    pub fn why_stopped(&self) -> Option<String> {
        let session = self.session.as_ref()?;
        let cut_off = || "cut off: the program was killed, or the machine stopped".to_string();
        Some(session.ended.as_ref().map_or_else(cut_off, |ended| ended.reason()))
    }

    /// The settings that people ask about, as they are in force, and where each comes from.
    pub(super) fn in_force(&self, threshold: f64) -> Result<Vec<InForce>, Problem> {
        let (limits, fetch) = (&self.config.limits, &self.config.fetch);
        let from = |section: &str, key: &str| Origin::of(section, key, &self.loaded, &self.adjustments);
        let count = |n: Option<u64>| n.map(|n| n.to_string());
        let mut all = Vec::new();
        let mut add = |name, value: Option<String>, from| {
            // What is not limited, and by nobody's wish, goes without saying.
            if value.is_some() || from != Origin::Default {
                all.push(InForce { name, value: value.unwrap_or_else(|| "none".into()), from });
            }
        };
        add("page limit", count(limits.pages), from("limits", "pages"));
        add("limit of relevant pages", count(limits.relevant), from("limits", "relevant"));
        add("time limit", limits.time.map(|t| t.to_string()), from("limits", "time"));
        add("disk limit", limits.disk.map(|s| s.to_string()), from("limits", "disk"));
        add("request limit", count(limits.requests), from("limits", "requests"));
        add("deepest link", limits.depth.map(|d| d.to_string()), from("limits", "depth"));
        add("pages per host", count(limits.per_host), from("limits", "per_host"));
        add("requests in flight", Some(fetch.concurrency.to_string()), from("fetch", "concurrency"));
        add("pause per host", Some(fetch.delay.to_string()), from("fetch", "delay"));
        let run = Run::of(&*self.source)?;
        let own = (&self.config.strategy.kind, &self.config.judge.kind);
        let ran = run.as_ref().map(|r| (r.strategy.as_str(), r.judge.as_str())).unzip();
        let defaults = (focus::strategies::DEFAULT, focus::judges::DEFAULT);
        for (name, ran, own, default) in
            [("strategy", ran.0, own.0, defaults.0), ("judge", ran.1, own.1, defaults.1)]
        {
            let own = own.as_deref();
            let now = ran.or(own).unwrap_or(default);
            let origin = match own {
                Some(own) if own == now => Origin::Topic,
                None if now == default => Origin::Default,
                _ => Origin::CommandLine,
            };
            add(name, Some(now.to_string()), origin);
        }
        if !self.verdicts.is_empty() {
            let fixed = matches!(self.config.judge.threshold, Some(Threshold::Fixed(_)));
            let origin = if fixed { Origin::Topic } else { Origin::Judge };
            add("threshold", Some(format!("{threshold:.3}")), origin);
        }
        Ok(all)
    }
}
