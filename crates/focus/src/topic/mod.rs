//! What the user asked for, resolved: terms with their presets, examples, which judge and which strategy.

mod addresses;
mod contrast;
pub mod edit;
pub mod generate;
mod nearest;
pub mod presets;
pub mod queries;
mod sections;
pub mod sentence;
pub mod threshold;

pub use nearest::{did_you_mean, distance, nearest};
pub use presets::Preset;
pub use sections::*;
pub use threshold::{Estimator, Threshold};

use crate::text::{Language, Terms, TermsBuilder, TextOptions};
use types::Problem;

/// A resolved topic.
#[derive(Clone, Debug)]
pub struct Topic {
    /// What people call the topic.
    pub name: String,
    /// What is wanted, in a sentence.
    pub description: Option<String>,
    /// The query, when the topic (also) has one.
    pub query: Option<String>,
    /// Terms of the wanted kind of page.
    pub genre: TermList,
    /// Terms of the subject.
    pub content: TermList,
    /// Terms of addresses.
    pub url: TermList,
    /// Terms that rule a page out.
    pub exclude: Vec<String>,
    /// Pages and files that show what is wanted.
    pub examples: ExamplesSection,
    /// Who decides, and where the line is.
    pub judge: JudgeConfig,
    /// Which link next.
    pub strategy: StrategyConfig,
    /// How texts are read.
    pub text: TextConfig,
}

/// The terms of one set: the user's own, and those of presets (by the page's language).
#[derive(Clone, Debug, Default)]
pub struct TermList {
    /// As the user wrote them.
    pub own: Vec<String>,
    /// Built-in lists, chosen by name.
    pub presets: Vec<&'static Preset>,
    which: ListKind,
    /// Terms of presets that do not count, lower-case.
    muted: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq)]
enum ListKind {
    #[default]
    Words,
    Urls,
}

impl TermList {
    /// Neither the user nor a preset gives a term.
    pub fn is_empty(&self) -> bool {
        self.own.is_empty() && self.presets.is_empty()
    }

    fn is_muted(&self, term: &str) -> bool {
        !self.muted.is_empty() && self.muted.contains(&term.to_lowercase())
    }

    fn mute(&mut self, term: &str) {
        let term = term.to_lowercase();
        self.own.retain(|t| t.to_lowercase() != term);
        self.muted.push(term);
    }

    /// Adds the terms to a set under construction: own terms first, then each preset's lists.
    pub fn add_to<'a>(&self, mut builder: TermsBuilder<'a>) -> TermsBuilder<'a> {
        builder = builder.terms(&self.own);
        for preset in &self.presets {
            builder = match self.which {
                // URLs are written in whatever language: all of them count.
                ListKind::Urls => {
                    let heard: Vec<&str> = preset.url.iter().copied().filter(|t| !self.is_muted(t)).collect();
                    builder.terms(&heard)
                }
                ListKind::Words => preset
                    .terms
                    .iter()
                    .flat_map(|(l, terms)| terms.iter().map(move |t| (*l, *t)))
                    .filter(|(_, t)| !self.is_muted(t))
                    .fold(builder, |b, (l, t)| b.term(t, Some(l))),
            };
        }
        builder
    }

    /// The terms that count on a page of this language, the user's own first.
    pub fn for_language(&self, language: Option<Language>, options: &TextOptions) -> Vec<String> {
        let terms = self.add_to(TermsBuilder::new(options).set("list")).build();
        let list = terms.list_for(language);
        terms.active(0, list).map(|t| terms.text(t).to_string()).collect()
    }
}

/// The `[judge]` section, resolved.
#[derive(Clone, Debug)]
pub struct JudgeConfig {
    /// Its name in the list of judges.
    pub kind: String,
    /// From which score on a page is relevant.
    pub threshold: Threshold,
    /// Set by the user, not by default.
    pub threshold_given: bool,
    /// Weights of the judges that count terms.
    pub weights: Weights,
    /// File of what it was taught.
    pub model: Option<String>,
    /// The judge's own options.
    pub options: toml::Table,
}

/// Weights of Assis 2008, Algorithm 2: GW, CW, GCW, UW.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Weights {
    /// GW: terms of the kind of page.
    pub genre: f64,
    /// CW: terms of the subject.
    pub content: f64,
    /// GCW: both together.
    pub combined: f64,
    /// UW: terms of addresses.
    pub url: f64,
}

impl Default for Weights {
    fn default() -> Self {
        Weights { genre: 5.0, content: 5.0, combined: 7.0, url: 3.0 }
    }
}

/// The `[strategy]` section, resolved.
#[derive(Clone, Debug)]
pub struct StrategyConfig {
    /// Its name in the list of strategies.
    pub kind: String,
    /// File of what it was taught.
    pub model: Option<String>,
    /// Parts of the strategy that the laboratory switches off. No topic file can.
    #[doc(hidden)]
    pub without: Vec<String>,
    /// The strategy's own options.
    pub options: toml::Table,
}

/// How texts are read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextConfig {
    /// Where the weights of terms come from.
    pub idf: IdfSource,
    /// Which words count as one, and which as none.
    pub options: TextOptions,
    /// Folder of the WordNet database, for the strategies that use it.
    pub wordnet: Option<String>,
}

/// Where the weights of the topic's terms come from.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum IdfSource {
    /// Every term weighs 1 (Assis 2008 shows it is as good).
    #[default]
    One,
    /// From the pages crawled so far.
    Online,
    /// From a background collection: path of a file read by [`crate::text::DocFreq::from_text`].
    File(String),
}

impl Topic {
    /// Resolves what the user wrote.
    pub fn from_sections(s: Sections) -> Result<Topic, Problem> {
        let name = s.name.map(|n| n.trim().to_string()).filter(|n| !n.is_empty());
        let query = s.query.map(|q| q.trim().to_string()).filter(|q| !q.is_empty());
        let description = s.description.map(|d| d.trim().to_string()).filter(|d| !d.is_empty());
        let name = name.or_else(|| query.clone()).ok_or_else(|| {
            Problem::usage("the topic has no name")
                .hint("add a line like `name = \"Syllabi of database courses\"` at the top")
        })?;

        let presets = presets::find_all(&s.genre.preset.0)?;
        let genre = TermList { own: clean(s.genre.terms), presets: presets.clone(), ..TermList::default() };
        let mut content = TermList { own: clean(s.content.terms), ..TermList::default() };
        let mut url = TermList { own: clean(s.url.terms), which: ListKind::Urls, ..TermList::default() };
        let own_url = !url.own.is_empty();
        if let Some(q) = &query {
            let terms = crate::judges::query::terms_of(q)?;
            content.own.extend(terms.content);
            url.own.extend(terms.url);
        }
        if s.genre.url && !own_url {
            // A preset's URL words stand in for the user's; they never dilute them.
            url.presets = presets;
        }
        let examples = ExamplesSection {
            relevant: clean(s.examples.relevant),
            irrelevant: clean(s.examples.irrelevant),
            genre: clean(s.examples.genre),
        };
        // A taxonomy or a trained judge needs no terms to know what is wanted.
        let has_examples = !examples.relevant.is_empty()
            || !examples.genre.is_empty()
            || s.judge.model.is_some()
            || s.judge.options.contains_key("taxonomy");
        if genre.is_empty() && content.is_empty() && !has_examples && query.is_none() {
            return Err(Problem::usage(format!("topic \"{name}\" does not say what is wanted")).hint(
                "give at least one of: `[genre] preset` or `terms` (what kind of page), `[content] terms` \
                 (what it is about), `[examples] relevant`, or `query = \"…\"`",
            ));
        }

        let judge = JudgeConfig {
            kind: s.judge.kind.unwrap_or_else(|| crate::judges::DEFAULT.to_string()),
            threshold_given: s.judge.threshold.is_some(),
            threshold: s.judge.threshold.unwrap_or_default(),
            weights: s.judge.weights.unwrap_or_default().resolve()?,
            model: s.judge.model.filter(|m| !m.trim().is_empty()),
            options: s.judge.options,
        };
        let strategy = StrategyConfig {
            kind: s.strategy.kind.unwrap_or_else(|| crate::strategies::DEFAULT.to_string()),
            model: s.strategy.model.filter(|m| !m.trim().is_empty()),
            without: s.strategy.without,
            options: s.strategy.options,
        };
        let text = s.text.resolve()?;
        Ok(Topic {
            name,
            description,
            query,
            genre,
            content,
            url,
            exclude: clean(s.exclude.terms),
            examples,
            judge,
            strategy,
            text,
        })
    }

    /// A topic file as text. The sections that are not about the topic (`[seeds]`, `[scope]`, `[limits]`,
    /// `[fetch]`) are left to whoever crawls.
    pub fn from_toml(text: &str) -> Result<Topic, Problem> {
        let bad = |e: toml::de::Error| Problem::usage("the topic file cannot be read").because(e);
        let mut table: toml::Table = toml::from_str(text).map_err(bad)?;
        for key in ["seeds", "scope", "limits", "fetch"] {
            table.remove(key);
        }
        Topic::from_sections(table.try_into().map_err(bad)?)
    }

    /// A term counts no longer, whether the user's own or a preset's.
    pub fn mute(&mut self, term: &str) {
        for list in [&mut self.genre, &mut self.content, &mut self.url] {
            list.mute(term);
        }
        let term = term.to_lowercase();
        self.exclude.retain(|t| t.to_lowercase() != term);
    }

    /// Whether the genre terms and the content terms count. A list that the judge gives no weight beside the
    /// other tells wanted pages from none, so it should not guide a crawl either.
    pub fn counts(&self) -> [bool; 2] {
        let weights = &self.judge.weights;
        match [!self.genre.is_empty(), !self.content.is_empty()] {
            [true, true] => [weights.genre > 0.0, weights.content > 0.0],
            either => either,
        }
    }

    /// Those of the two lists that count, genre first.
    pub fn counted(&self) -> impl Iterator<Item = &TermList> {
        [&self.genre, &self.content].into_iter().zip(self.counts()).filter(|(_, c)| *c).map(|(l, _)| l)
    }

    /// Genre, content and URL terms compiled as the sets `genre`, `content` and `url`.
    pub fn terms(&self) -> Terms {
        let mut b = TermsBuilder::new(&self.text.options);
        b = self.genre.add_to(b.set("genre"));
        b = self.content.add_to(b.set("content"));
        self.url.add_to(b.set("url")).build()
    }

    /// The sets `genre` and `content` alone.
    pub fn page_terms(&self) -> Terms {
        let b = self.genre.add_to(TermsBuilder::new(&self.text.options).set("genre"));
        self.content.add_to(b.set("content")).build()
    }

    /// The set `url` alone.
    pub fn url_terms(&self) -> Terms {
        self.url.add_to(TermsBuilder::new(&self.text.options).set("url")).build()
    }

    /// Genre and content terms as one set (the ablation of Assis 2008, Tab. 4.4, and the query of Batsakis's
    /// strategies).
    pub fn merged_terms(&self) -> Terms {
        let mut b = TermsBuilder::new(&self.text.options).set("terms").terms(&self.genre.own);
        b = self.content.add_to(b);
        let presets = TermList { own: Vec::new(), ..self.genre.clone() };
        presets.add_to(b).build()
    }
}

/// Without blanks around and without empty strings: an empty list is the same as an absent one.
fn clean(list: Vec<String>) -> Vec<String> {
    list.into_iter().map(|t| t.trim().to_string()).filter(|t| !t.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topic(text: &str) -> Result<Topic, String> {
        Topic::from_toml(text).map_err(|p| p.to_string())
    }

    #[test]
    fn a_list_without_weight_does_not_count_beside_the_other() {
        let topic = |text: &str| topic(&format!("name = 't'\n{text}")).unwrap();
        let (genre, content) = ("[genre]\nterms = ['a']\n", "[content]\nterms = ['b']\n");
        let none = "[judge]\nweights = { genre = 0, content = 10 }";
        assert_eq!(topic(&format!("{genre}{content}")).counts(), [true, true]);
        assert_eq!(topic(&format!("{genre}{content}{none}")).counts(), [false, true]);
        assert_eq!(topic(&format!("{genre}{none}")).counts(), [true, false]);
        let t = topic(&format!("{genre}{content}{none}"));
        assert_eq!(t.counted().map(|l| l.own.clone()).collect::<Vec<_>>(), [["b"]]);
    }

    #[test]
    fn the_shortest_topics() {
        let t = topic("query = '\"operating systems\" nachos'").unwrap();
        assert_eq!(t.name, "\"operating systems\" nachos");
        assert_eq!(t.content.own, ["operating systems", "nachos"]);
        assert_eq!(t.judge.kind, "relevance");
        assert!(topic("name = 'x'\n[genre]\npreset = 'syllabus'").unwrap().genre.own.is_empty());
        assert!(topic("name = 'x'\n[examples]\nrelevant = ['http://e.org/']").is_ok());
    }

    #[test]
    fn what_is_no_topic() {
        let message = |text: &str| topic(text).map(|t| t.name).unwrap_err();
        assert!(message("[content]\nterms = ['x']").contains("no name"));
        assert!(message("name = 'x'\n[content]\nterms = ['', ' ']").contains("does not say what is wanted"));
        assert!(message("name = 'x'\n[genre]\npreset = 'sylabus'").contains("syllabus"));
        assert!(message("name = 'x'\nquery = 'y'\n[judge]\nthreshold = 1.5").contains("between 0 and 1"));
        assert!(
            message("name = 'x'\nquery = 'y'\n[judge]\nthreshold = 'kmean'")
                .contains("did you mean `kmeans`")
        );
        assert!(message("name = 'x'\nquery = 'y'\n[content]\nterm = []").contains("unknown field `term`"));
        assert!(message("name = 'x'\nquery = 'y'\n[judge]\nweights = { genre = -1 }").contains("weights"));
        assert!(message("name = 'x'\nquery = 'y'\n[text]\nstem = 'xx'").contains("stem"));
    }

    #[test]
    fn everything_at_once() {
        let t = topic(
            "name = 'n'
            [genre]
            preset = ['syllabus']
            terms = ['office hours', '']
            [content]
            terms = ['sql']
            [url]
            terms = ['course']
            [exclude]
            terms = ['crystal database']
            [judge]
            threshold = 'silhouette'
            weights = { genre = 4, content = 6 }
            [strategy]
            kind = 'genre'
            policy = 'PS'
            [text]
            idf = 'online'
            stem = true
            [seeds]
            urls = []",
        )
        .unwrap();
        assert_eq!(t.genre.own, ["office hours"]);
        assert_eq!(t.judge.threshold, Threshold::Estimated(Estimator::Silhouette));
        assert_eq!(t.judge.weights, Weights { genre: 4.0, content: 6.0, combined: 7.0, url: 3.0 });
        assert_eq!(t.strategy.options.get("policy").and_then(|v| v.as_str()), Some("PS"));
        assert_eq!((t.text.idf.clone(), t.text.options.stem), (IdfSource::Online, Some(Language::English)));
        // The user's URL words are not diluted by the preset's.
        assert!(t.url.presets.is_empty());
    }

    #[test]
    fn the_page_language_selects_the_preset_list() {
        let t = topic("name = 'n'\n[genre]\npreset = 'syllabus'\nterms = ['nachos']").unwrap();
        let list = |l| t.genre.for_language(l, &t.text.options);
        let (en, pt) = (list(Some(Language::English)), list(Some(Language::Portuguese)));
        assert!(en.contains(&"syllabus".to_string()) && en.first().is_some_and(|t| t == "nachos"));
        assert!(pt.contains(&"ementa".to_string()) && !pt.contains(&"syllabus".to_string()));
        assert_eq!(list(None), en);
    }
}
