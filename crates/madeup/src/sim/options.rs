//! Names and knobs of generated webs: `sim:NAME?knob=value&…`.

use types::Problem;

/// Everything that shapes a generated web.
#[derive(Clone, Debug, PartialEq)]
pub struct Options {
    /// Name of the preset it began with.
    pub name: String,
    /// Pages, traps left out.
    pub pages: u32,
    /// Hosts that share the pages.
    pub hosts: u32,
    /// Share of relevant pages.
    pub topic_share: f64,
    /// Decides everything that is left to chance.
    pub seed: u64,
    /// How much of the topic's density is left one semantic step further away.
    pub locality: f64,
    /// Relevant pages around one centre of the topic, about.
    pub cluster: f64,
    /// Share of a relevant page's content links that lead to relevant pages near by.
    pub cite: f64,
    /// Irrelevant pages in a row between a section's list and its relevant pages.
    pub tunnel: u32,
    /// Links of the template, on every page of a host.
    pub nav: u32,
    /// Share of links whose anchor promises the topic and does not keep it (or hides it).
    pub mislead: f64,
    /// Share of links that say only "click here".
    pub vague: f64,
    /// Share of the topic's words that differ from one centre to the next.
    pub drift: f64,
    /// Share of hosts with endless calendars, listings and paths.
    pub traps: f64,
    /// Share of pages that nearly repeat another.
    pub duplicates: f64,
    /// Languages, 1 to 5; the topic is in the first.
    pub languages: u32,
    /// Share of words that have nothing to do with the page's subject, beyond the usual.
    pub noise: f64,
    /// Share of links that lead through a redirect.
    pub redirects: f64,
    /// Share of links that lead nowhere.
    pub broken: f64,
    /// Seeds that are handed out.
    pub seeds: u32,
    /// Changes of a leaf a day, on average.
    pub change: f64,
    /// Share of the leaves that come after the web began.
    pub born: f64,
    /// Share of the leaves that go again.
    pub die: f64,
    /// Over how many days they come and go.
    pub days: f64,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            name: "mixed".into(),
            pages: 10_000,
            hosts: 100,
            topic_share: 0.05,
            seed: 1,
            locality: 0.5,
            cluster: 100.0,
            cite: 0.35,
            tunnel: 0,
            nav: 8,
            mislead: 0.02,
            vague: 0.1,
            drift: 0.0,
            traps: 0.0,
            duplicates: 0.0,
            languages: 1,
            noise: 0.1,
            redirects: 0.02,
            broken: 0.02,
            seeds: 4,
            change: 0.0,
            born: 0.0,
            die: 0.0,
            days: 60.0,
        }
    }
}

/// A generated web with a name: `sim:NAME`.
pub struct Preset {
    /// What follows `sim:`.
    pub name: &'static str,
    /// One line for people.
    pub summary: &'static str,
    set: fn(&mut Options),
}

/// Every generated web there is.
pub const PRESETS: &[Preset] = &[
    Preset {
        name: "campus",
        summary: "few large hosts, each with its own corner of the topic; relevant pages cite each other",
        set: |o| {
            (o.hosts, o.topic_share, o.cluster, o.locality) = (20, 0.05, 30.0, 0.3);
        },
    },
    Preset {
        name: "hubs",
        summary: "relevant pages are listed by irrelevant hubs and never link to each other (the pattern of Assis)",
        set: |o| {
            (o.cite, o.topic_share, o.locality, o.cluster) = (0.0, 0.05, 0.3, 30.0);
        },
    },
    Preset {
        name: "tunnel",
        summary: "relevant pages lie three irrelevant pages behind anything that hints at them",
        set: |o| {
            (o.tunnel, o.cite, o.topic_share) = (3, 0.1, 0.03);
        },
    },
    Preset {
        name: "rare",
        summary: "one page in 300 is relevant",
        set: |o| {
            (o.topic_share, o.cluster, o.hosts) = (1.0 / 300.0, 8.0, 200);
        },
    },
    Preset {
        name: "drift",
        summary: "the topic's vocabulary changes from one corner of the web to the next",
        set: |o| {
            (o.drift, o.cluster) = (0.7, 50.0);
        },
    },
    Preset {
        name: "traps",
        summary: "half of the hosts have endless calendars, listings and paths",
        set: |o| {
            (o.traps, o.hosts) = (0.5, 60);
        },
    },
    Preset {
        name: "mislead",
        summary: "a quarter of the anchors promise what is not there, another quarter says nothing",
        set: |o| {
            (o.mislead, o.vague) = (0.25, 0.25);
        },
    },
    Preset {
        name: "template",
        summary: "forty navigation links on every page, few in the content",
        set: |o| {
            (o.nav, o.cite) = (40, 0.4);
        },
    },
    Preset {
        name: "copies",
        summary: "every fifth page nearly repeats another",
        set: |o| {
            o.duplicates = 0.2;
        },
    },
    Preset {
        name: "tongues",
        summary: "five languages; only one of them is wanted",
        set: |o| {
            o.languages = 5;
        },
    },
    Preset {
        name: "mixed",
        summary: "a little of everything",
        set: |o| {
            (o.traps, o.duplicates, o.languages, o.drift, o.mislead) = (0.1, 0.03, 3, 0.2, 0.05);
        },
    },
];

impl Options {
    /// Reads `sim:NAME[?knob=value&…]`.
    pub fn parse(spec: &str) -> Result<Options, Problem> {
        let rest = spec.strip_prefix("sim:").unwrap_or(spec);
        let (name, query) = rest.split_once('?').unwrap_or((rest, ""));
        let names = || PRESETS.iter().map(|p| p.name).collect::<Vec<_>>().join(", ");
        let Some(preset) = PRESETS.iter().find(|p| p.name == name) else {
            return Err(Problem::usage(format!("no generated web is called `{name}`"))
                .hint(format!("there are {}; e.g. sim:campus?pages=5000&seed=7", names())));
        };
        let mut o = Options { name: name.to_string(), ..Options::default() };
        (preset.set)(&mut o);
        for pair in query.split('&').filter(|p| !p.is_empty()) {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            o.set(key, value)?;
        }
        o.hosts = o.hosts.min(o.pages / 4).max(1);
        Ok(o)
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), Problem> {
        let bad = |want: &str| {
            Problem::usage(format!("sim:{}: `{key}={value}` is not {want}", self.name))
                .hint(format!("knobs: {}", KNOBS.join(", ")))
        };
        let whole = |low: u64, high: u64| -> Result<u64, Problem> {
            let digits = value.replace('_', "");
            let (digits, times) = match digits.strip_suffix(['k', 'K']) {
                Some(d) => (d.to_string(), 1000),
                None => (digits, 1),
            };
            let n = digits.parse::<u64>().ok().and_then(|n| n.checked_mul(times));
            n.filter(|n| (low..=high).contains(n))
                .ok_or_else(|| bad(&format!("a number from {low} to {high}")))
        };
        let share = |low: f64, high: f64| -> Result<f64, Problem> {
            let n = match value.strip_suffix('%') {
                Some(percent) => percent.parse::<f64>().map(|p| p / 100.0),
                None => value.parse::<f64>(),
            };
            n.ok()
                .filter(|n| (low..=high).contains(n))
                .ok_or_else(|| bad(&format!("a share from {low} to {high}")))
        };
        match key {
            "pages" => self.pages = whole(4, 100_000_000)? as u32,
            "hosts" => self.hosts = whole(1, 1_000_000)? as u32,
            "topic-share" => self.topic_share = share(0.0, 0.6)?,
            "seed" => self.seed = whole(0, u64::MAX)?,
            "locality" => self.locality = share(0.0, 0.99)?,
            "cluster" => self.cluster = whole(1, 1_000_000)? as f64,
            "cite" => self.cite = share(0.0, 1.0)?,
            "tunnel" => self.tunnel = whole(0, 15)? as u32,
            "nav" => self.nav = whole(0, 200)? as u32,
            "mislead" => self.mislead = share(0.0, 1.0)?,
            "vague" => self.vague = share(0.0, 1.0)?,
            "drift" => self.drift = share(0.0, 1.0)?,
            "traps" => self.traps = share(0.0, 1.0)?,
            "duplicates" => self.duplicates = share(0.0, 0.9)?,
            "languages" => self.languages = whole(1, 5)? as u32,
            "noise" => self.noise = share(0.0, 1.0)?,
            "redirects" => self.redirects = share(0.0, 1.0)?,
            "broken" => self.broken = share(0.0, 1.0)?,
            "seeds" => self.seeds = whole(1, 1000)? as u32,
            "change" => {
                let n = value.parse::<f64>().ok().filter(|n| (0.0..=24.0).contains(n));
                self.change = n.ok_or_else(|| bad("a number of changes a day from 0 to 24"))?;
            }
            "born" => self.born = share(0.0, 1.0)?,
            "die" => self.die = share(0.0, 1.0)?,
            "days" => self.days = whole(1, 3650)? as f64,
            _ => {
                return Err(Problem::usage(format!("sim:{}: unknown knob `{key}`", self.name))
                    .hint(format!("knobs: {}", KNOBS.join(", "))));
            }
        }
        Ok(())
    }
}

/// Options that may follow the name: `sim:NAME?pages=20000`.
pub const KNOBS: &[&str] = &[
    "pages",
    "hosts",
    "topic-share",
    "seed",
    "locality",
    "cluster",
    "cite",
    "tunnel",
    "nav",
    "mislead",
    "vague",
    "drift",
    "traps",
    "duplicates",
    "languages",
    "noise",
    "redirects",
    "broken",
    "seeds",
    "change",
    "born",
    "die",
    "days",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_knobs_and_mistakes() {
        let o = Options::parse("sim:rare?pages=50k&hosts=12&topic-share=0.5%&seed=9").unwrap();
        assert_eq!((o.pages, o.hosts, o.seed), (50_000, 12, 9));
        assert!((o.topic_share - 0.005).abs() < 1e-12);
        for (spec, says) in [
            ("sim:campsu", "there are campus"),
            ("sim:campus?page=3", "unknown knob `page`"),
            ("sim:campus?pages=3", "a number from 4"),
            ("sim:campus?cite=2", "a share from 0 to 1"),
            ("sim:campus?cite=NaN", "a share from 0 to 1"),
            ("sim:campus?seed=-1", "not a number"),
            ("sim:campus?change=often", "a number of changes a day"),
        ] {
            let e = Options::parse(spec).unwrap_err();
            assert!(e.to_string().contains(says) && e.exit_code() == 2, "{spec}: {e}");
        }
        for p in PRESETS {
            assert!(Options::parse(&format!("sim:{}", p.name)).is_ok() && !p.summary.is_empty());
        }
        for k in KNOBS {
            assert!(
                Options::default().set(k, "1").is_ok()
                    || Options::default().set(k, "0.5").is_ok()
                    || *k == "pages",
                "{k}"
            );
        }
    }
}
