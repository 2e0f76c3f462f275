//! The settings of a crawl: one typed struct, read once. A typo is an error that names the nearest key.
//!
//! Two steps: what the user wrote ([`Config`], the topic file with the command line's flags laid over it)
//! becomes what the program uses (`Topic`, `Scope`, `frontier::Limits`, `fetch::Settings`). Defaults are in
//! one place: the `Default` of each section (`sections.rs`).

mod places;
mod sections;

pub use places::Places;
pub use sections::{
    ArchiveSection, Fetch, Limits, LoginSection, NotifySection, Proxies, Render, Rules, ScopeSection, Seeds,
    TeacherSection,
};

use crate::session::Origin;
use focus::topic::{
    ContentSection, ExamplesSection, ExcludeSection, GenreSection, JudgeSection, Sections, StrategySection,
    TextSection, Topic, UrlSection, presets,
};
use places::explain;
use sections::{
    LEAST_DOCUMENT_MEMORY, LEAST_DOCUMENT_TIME, LEAST_RENDER_MEMORY, LEAST_RENDER_TIME, MOST_RENDER_TABS,
};
use serde::{Deserialize, Serialize};
use std::path::Path;
use types::Problem;

/// The topic file. All parts are optional except a name (or query) and something that says what is wanted.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Config {
    /// What the collection is called.
    pub name: Option<String>,
    /// What is wanted, in a sentence.
    pub description: Option<String>,
    /// The shortest topic: words and "phrases" that a wanted page contains.
    pub query: Option<String>,
    /// Kinds of page that are wanted.
    pub genre: GenreSection,
    /// Words of the subject.
    pub content: ContentSection,
    /// Words of addresses.
    pub url: UrlSection,
    /// Words that rule a page out.
    pub exclude: ExcludeSection,
    /// Pages that are, or are not, what is wanted.
    pub examples: ExamplesSection,
    /// Who decides whether a page is wanted.
    pub judge: JudgeSection,
    /// Who decides which link is next.
    pub strategy: StrategySection,
    /// Where to start.
    pub seeds: Seeds,
    /// What may be fetched at all.
    pub scope: ScopeSection,
    /// When to stop, and how much is taken of a host or a page.
    pub limits: Limits,
    /// How fast, and with which manners.
    pub fetch: Fetch,
    /// What is kept of answers.
    pub archive: ArchiveSection,
    /// How words are made from text.
    pub text: TextSection,
    /// A language model that answers questions about pages.
    pub teacher: TeacherSection,
    /// Who is told of what is new.
    pub notify: NotifySection,
    /// Where in which file it all stands, for messages.
    #[serde(skip)]
    pub places: Places,
}

/// Least that `[limits] disk` can be: less would hold no page.
const LEAST_DISK: u64 = 2_000_000;

/// A configuration with the origin of its values.
#[derive(Clone, Debug)]
pub struct LoadedConfig {
    /// The file with the flags laid over it.
    pub config: Config,
    /// The topic file's text, to be kept with the collection; made from the flags when there is no file.
    pub text: String,
    file: toml::Table,
    flags: toml::Table,
}

impl Config {
    /// From the text of a topic file (`name` is how errors call it), with the flags of a command line, as a
    /// table of the same shape, laid over it.
    pub fn load(text: &str, name: &str, flags: toml::Table) -> Result<LoadedConfig, Problem> {
        // First alone, so that errors have a place; then merged.
        let places = Places::of(text, name);
        let alone: Config = toml::from_str(text).map_err(|e| explain(&e, text, &places))?;
        presets::find_all(&alone.genre.preset.0).map_err(|p| places.put(p))?;
        let file: toml::Table = toml::from_str(text).map_err(|e| explain(&e, text, &places))?;
        let mut merged = file.clone();
        lay_over(&mut merged, &flags);
        let mut config: Config = merged.try_into().map_err(|e: toml::de::Error| {
            Problem::usage(format!("the command line does not fit the settings: {}", e.message()))
        })?;
        config.places = places;
        config.check()?;
        presets::find_all(&config.genre.preset.0)?;
        let text = if text.trim().is_empty() { flags.to_string() } else { text.to_string() };
        Ok(LoadedConfig { config, text, file, flags })
    }

    /// As `load`, from a file.
    pub fn read(path: &Path, flags: toml::Table) -> Result<LoadedConfig, Problem> {
        let text = std::fs::read_to_string(path).map_err(|e| {
            let p = Problem::io("read the topic file", path, &e);
            match e.kind() {
                std::io::ErrorKind::NotFound => p.hint("`gleaner new` writes one"),
                std::io::ErrorKind::InvalidData => p.hint(
                    "it is no text: put the topic file there again; for a collection, \
                     `gleaner repair DIR TOPIC.toml` takes another one",
                ),
                _ => p,
            }
        })?;
        Config::load(&text, &path.display().to_string(), flags)
    }

    /// What the user wants.
    pub fn topic(&self) -> Result<Topic, Problem> {
        let topic = Topic::from_sections(Sections {
            name: self.name.clone(),
            description: self.description.clone(),
            query: self.query.clone(),
            genre: self.genre.clone(),
            content: self.content.clone(),
            url: self.url.clone(),
            exclude: self.exclude.clone(),
            examples: self.examples.clone(),
            judge: self.judge.clone(),
            strategy: self.strategy.clone(),
            text: self.text.clone(),
        });
        topic.map_err(|p| self.places.put(p))
    }

    /// What the collection is called.
    pub fn title(&self) -> &str {
        self.name.as_deref().or(self.query.as_deref()).unwrap_or("collection")
    }

    fn check(&self) -> Result<(), Problem> {
        let at = |what: &str| self.places.put(Problem::usage(what));
        if self.fetch.concurrency == 0 {
            return Err(at("[fetch] concurrency = 0 would fetch nothing").hint("use 1 or more"));
        }
        if self.fetch.per_host_in_flight == 0 {
            return Err(at("[fetch] per_host_in_flight = 0 would fetch nothing").hint("use 1 or more"));
        }
        if self.fetch.per_domain_in_flight == Some(0) || self.fetch.per_address_in_flight == Some(0) {
            return Err(at("[fetch] 0 requests in flight per domain or address would fetch nothing")
                .hint("use 1 or more, or leave per_domain_in_flight and per_address_in_flight out"));
        }
        if !(0.0..=0.9).contains(&self.fetch.quick_share) {
            return Err(at("[fetch] quick_share must be between 0 and 0.9")
                .hint("0.5 keeps half of the requests for hosts that are quick; new hosts need the rest"));
        }
        if self.limits.requests == Some(0) {
            return Err(
                at("[limits] requests = 0 would fetch nothing").hint("leave it out, or use 1 or more")
            );
        }
        if !(0.0..=1.0).contains(&self.limits.sitemap_share) {
            return Err(at("[limits] sitemap_share must be between 0 and 1")
                .hint("0.25 lets every fourth request of a host be one for a sitemap"));
        }
        if self.limits.pages == Some(0) || self.limits.relevant == Some(0) {
            return Err(at("[limits] a limit of 0 pages leaves nothing to do")
                .hint("leave the limit out, or use 1 or more"));
        }
        if self.limits.disk.is_some_and(|most| most.0 < LEAST_DISK) {
            return Err(
                at("[limits] disk is less than a collection takes").hint("leave it out, or use 2MB or more")
            );
        }
        if self.limits.per_host == Some(0) {
            return Err(
                at("[limits] per_host = 0 would fetch nothing").hint("leave it out, or use 1 or more")
            );
        }
        if self.limits.links_per_page == 0 {
            return Err(at("[limits] links_per_page = 0 would follow no link").hint("use 1 or more"));
        }
        let shares = [self.limits.render_share, self.limits.render_time_share];
        if !shares.iter().all(|share| (0.0..=1.0).contains(share)) {
            return Err(at("[limits] render_share and render_time_share must be between 0 and 1")
                .hint("1 is no budget, 0.1 a tenth of the pages or of the time"));
        }
        if !(0.0..=1.0).contains(&self.limits.expand_min) {
            return Err(at("[limits] expand_min must be between 0 and 1"));
        }
        if !(0.0..=1.0).contains(&self.limits.patience_share) {
            return Err(at("[limits] patience_share must be between 0 and 1").hint(
                "0.5 waits when what could be fetched now is worth less than half of what is waited for",
            ));
        }
        if self.limits.document_time.0 < LEAST_DOCUMENT_TIME {
            return Err(at("[limits] document_time is too short to read anything").hint("use 1s or more"));
        }
        if self.limits.document_memory.0 < LEAST_DOCUMENT_MEMORY {
            return Err(
                at("[limits] document_memory is too little to read anything").hint("use 64MiB or more")
            );
        }
        if self.limits.document_readers == 0 {
            return Err(at("[limits] document_readers = 0 would read no document")
                .hint("use 1 or more; [scope] file_types keeps documents out"));
        }
        if self.limits.render_time.0 < LEAST_RENDER_TIME {
            return Err(at("[limits] render_time is too short to show anything").hint("use 1s or more"));
        }
        if self.limits.render_memory.0 < LEAST_RENDER_MEMORY {
            return Err(
                at("[limits] render_memory is too little to show anything").hint("use 128MiB or more")
            );
        }
        if !(1..=MOST_RENDER_TABS).contains(&self.limits.render_tabs) {
            return Err(at(&format!("[limits] render_tabs = {} makes no sense", self.limits.render_tabs))
                .hint("use 1 to 64; [fetch] render = \"never\" shows no page in a browser"));
        }
        if self.fetch.attempts == 0 {
            return Err(at("[fetch] attempts = 0 would fetch nothing").hint("use 1 or more"));
        }
        self.archive.mode.parse::<store::files::Mode>().map_err(|p| self.places.put(p))?;
        if let Some(to) = &self.archive.to {
            store::s3::Address::parse(to).map_err(|p| self.places.put(p))?;
        }
        crate::teacher::check(&self.teacher).map_err(|p| self.places.put(p))?;
        self.notify.check().map_err(|p| self.places.put(p))?;
        crate::scope::Scope::new(&self.scope, &[])?;
        Ok(())
    }
}

impl LoadedConfig {
    /// Was this set on the command line?
    pub fn is_flag(&self, section: &str, key: &str) -> bool {
        has(&self.flags, section, key)
    }

    /// Who says this key of a section, or of the file itself: the command line, the topic file, nobody.
    pub fn origin(&self, section: Option<&str>, key: &str) -> Origin {
        let says = |t: &toml::Table| section.map_or(t.contains_key(key), |section| has(t, section, key));
        match (says(&self.flags), says(&self.file)) {
            (true, _) => Origin::CommandLine,
            (false, true) => Origin::Topic,
            (false, false) => Origin::Default,
        }
    }

    /// What the command line set.
    pub fn flags(&self) -> &toml::Table {
        &self.flags
    }

    /// The same topic file under another command line.
    pub fn with_flags(&self, flags: toml::Table) -> Result<LoadedConfig, Problem> {
        let mut again = Config::load(&self.text, "topic.toml", flags)?;
        again.config.places = self.config.places.clone();
        Ok(again)
    }

    /// Every setting with its value and where it came from, one per line, as TOML.
    pub fn describe(&self) -> String {
        let mut out = String::new();
        let Ok(toml::Value::Table(all)) = toml::Value::try_from(&self.config) else { return out };
        let lines = |out: &mut String, section: Option<&str>, table: &toml::Table| {
            for (key, value) in table.iter().filter(|(_, v)| section.is_some() || !v.is_table()) {
                let text = format!("{key} = {value}");
                out.push_str(&format!("{text:<60} # {}\n", self.origin(section, key).name()));
            }
        };
        lines(&mut out, None, &all);
        for (name, value) in &all {
            if let toml::Value::Table(table) = value {
                out.push_str(&format!("\n[{name}]\n"));
                lines(&mut out, Some(name), table);
            }
        }
        out
    }
}

fn has(table: &toml::Table, section: &str, key: &str) -> bool {
    table.get(section).and_then(|s| s.as_table()).is_some_and(|t| t.contains_key(key))
}

fn lay_over(base: &mut toml::Table, over: &toml::Table) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (Some(toml::Value::Table(b)), toml::Value::Table(o)) => lay_over(b, o),
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(text: &str) -> String {
        Config::load(text, "t.toml", toml::Table::new()).unwrap_err().to_string()
    }

    #[test]
    fn a_typo_names_the_nearest_key_with_its_place() {
        let e = error("name = \"x\"\n[limits]\npagse = 3\n");
        assert!(e.contains("t.toml:3:1: unknown key `pagse`"), "{e}");
        assert!(e.contains("did you mean `pages`?"), "{e}");
    }

    #[test]
    fn a_wrong_type_says_where() {
        let e = error("name = \"x\"\n[limits]\npages = \"many\"\n");
        assert!(e.contains("t.toml:3:9"), "{e}");
        let e = error("[fetch]\ndelay = 5\n");
        assert!(e.contains("unit"), "{e}");
        let e = error("[fetch\ndelay = 5\n");
        assert!(e.contains("t.toml:1:"), "{e}");
    }

    #[test]
    fn a_topic_that_makes_no_sense_says_where_and_what_to_do() {
        let topic = |text: &str| {
            let loaded = Config::load(text, "t.toml", toml::Table::new());
            loaded.and_then(|l| l.config.topic()).map(|t| t.name).unwrap_err().to_string()
        };
        for (text, place, fix) in [
            ("name = \"x\"\n\n[genre]\npreset = \"sylabus\"\n", "t.toml:4:1: ", "did you mean `syllabus`?"),
            ("# mine\nname = \"x\"\n", "t.toml:2:1: ", "give at least one of"),
            (
                "name = \"x\"\nquery = \"y\"\n[judge]\nthreshold = 1.5\n",
                "t.toml:4:1: ",
                "threshold = \"auto\"",
            ),
            ("name = \"x\"\n[judge]\nthreshold = \"atuo\"\n", "t.toml:3:1: ", "auto"),
            (
                "name = \"x\"\n[content]\nterms = []\n[content]\nterms = []\n",
                "t.toml:4:",
                "put what belongs together",
            ),
            ("name = \"x\"\nname = \"y\"\n", "t.toml:2:1: ", "`name` is there twice"),
            ("query = \"y\"\n[text]\nstem = \"xx\"\n", "t.toml:3:1: ", "known:"),
            ("query = \"y\"\n[judge]\nweights = { genre = -1 }\n", "t.toml:3:1: ", "the defaults are"),
        ] {
            let e = topic(text);
            assert!(e.contains(place) && e.contains(fix), "{text}\n{e}");
        }
    }

    #[test]
    fn contradictions_are_refused() {
        assert!(error("[fetch]\nconcurrency = 0\n").contains("would fetch nothing"));
        assert!(error("[limits]\npages = 0\n").contains("nothing to do"));
        assert!(error("[limits]\npatience_share = 2.0\n").contains("between 0 and 1"));
        assert!(error("[limits]\nrender_share = 2.0\n").contains("between 0 and 1"));
        assert!(error("[scope]\npatterns = [\"(\"]\n").contains("pattern"));
    }

    #[test]
    fn flags_lie_over_the_file_and_origins_are_known() {
        let mut flags = toml::Table::new();
        let mut limits = toml::Table::new();
        limits.insert("pages".into(), 7.into());
        flags.insert("limits".into(), limits.into());
        let l = Config::load("name = \"x\"\n[limits]\npages = 3\nrelevant = 2\n", "t.toml", flags).unwrap();
        assert_eq!(l.config.limits.pages, Some(7));
        assert_eq!(l.config.limits.relevant, Some(2));
        let text = l.describe();
        let text = &text[text.find("[limits]").unwrap()..];
        let origin = |key: &str| {
            text.lines().find(|l| l.starts_with(key)).unwrap().split("# ").nth(1).unwrap().to_string()
        };
        assert_eq!(origin("pages ="), "command line");
        assert_eq!(origin("relevant ="), "topic file");
        assert_eq!(origin("redirects ="), "default");
    }
}
