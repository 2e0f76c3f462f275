//! The sections of a topic file that say what is wanted, as the user writes them. The crawl's configuration
//! puts them into its own struct beside `[seeds]`, `[scope]`, `[limits]` and `[fetch]`; unknown keys are
//! errors everywhere.

use super::{IdfSource, TextConfig, Threshold, Weights, did_you_mean};
use crate::text::{Language, TextOptions};
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};
use std::fmt;
use types::Problem;

/// All of them together.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct Sections {
    /// What people call the topic.
    pub name: Option<String>,
    /// What is wanted, in a sentence. Judge `relevance` reads it.
    pub description: Option<String>,
    /// The shortest topic: words, "phrases", AND, OR, NOT. Its words become content terms.
    pub query: Option<String>,
    /// What kind of page.
    pub genre: GenreSection,
    /// What it is about.
    pub content: ContentSection,
    /// Words in the URLs of wanted pages.
    pub url: UrlSection,
    /// Contexts that are not meant.
    pub exclude: ExcludeSection,
    /// Pages that show what is wanted.
    pub examples: ExamplesSection,
    /// Who decides, and where the line is.
    pub judge: JudgeSection,
    /// Which link next.
    pub strategy: StrategySection,
    /// How texts are read.
    pub text: TextSection,
}

/// `[genre]`: what kind of page.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct GenreSection {
    /// Built-in lists, by name: `"syllabus"` or `["news", "blog"]`. `gleaner genres` shows them.
    pub preset: OneOrMany,
    /// Words and phrases pages of this kind contain.
    pub terms: Vec<String>,
    /// Use the preset's URL words when `[url] terms` gives none.
    pub url: bool,
}

impl Default for GenreSection {
    fn default() -> Self {
        GenreSection { preset: OneOrMany::default(), terms: Vec::new(), url: true }
    }
}

/// `[content]`: what it is about.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContentSection {
    /// Words and phrases of the subject.
    pub terms: Vec<String>,
}

/// `[url]`: words in the URLs of wanted pages.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct UrlSection {
    /// Words and phrases, matched against the words of an address.
    pub terms: Vec<String>,
}

/// `[exclude]`: contexts that are not meant. A page with one of these terms is not relevant, its links are
/// not followed.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExcludeSection {
    /// Words and phrases, matched as whole words.
    pub terms: Vec<String>,
}

/// `[examples]`: URLs or files.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct ExamplesSection {
    /// Pages that are wanted.
    pub relevant: Vec<String>,
    /// Pages that are not.
    pub irrelevant: Vec<String>,
    /// Pages of the right kind, whatever they are about.
    pub genre: Vec<String>,
}

/// `[judge]`: who decides, and where the line is. Further keys are the judge's own options, checked by it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct JudgeSection {
    /// A name of `gleaner judges`.
    pub kind: Option<String>,
    /// `"auto"`, a number from 0 to 1, or how to estimate it: `"mean"`, `"weighted-mean"`, `"kmeans"`,
    /// `"birch"`, `"silhouette"`.
    pub threshold: Option<Threshold>,
    /// Weights of the judges `genre` and `terms`.
    pub weights: Option<WeightsSection>,
    /// A file of `gleaner train`: the judge as it was trained, instead of examples.
    pub model: Option<String>,
    /// The judge's own options.
    #[serde(flatten)]
    pub options: toml::Table,
}

/// `weights = { genre = 5, content = 5, combined = 7, url = 3 }`; those left out keep their defaults.
#[derive(Clone, Copy, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct WeightsSection {
    /// Weight of genre terms.
    pub genre: Option<f64>,
    /// Weight of content terms.
    pub content: Option<f64>,
    /// Weight of both together.
    pub combined: Option<f64>,
    /// Weight of address terms.
    pub url: Option<f64>,
}

impl WeightsSection {
    pub(crate) fn resolve(self) -> Result<Weights, Problem> {
        let d = Weights::default();
        let w = Weights {
            genre: self.genre.unwrap_or(d.genre),
            content: self.content.unwrap_or(d.content),
            combined: self.combined.unwrap_or(d.combined),
            url: self.url.unwrap_or(d.url),
        };
        let fine = |v: f64| v.is_finite() && v >= 0.0;
        if ![w.genre, w.content, w.combined, w.url].into_iter().all(fine)
            || w.genre + w.content <= 0.0
            || w.combined + w.url <= 0.0
        {
            return Err(Problem::usage("[judge] weights: each must be 0 or more, and each pair not both 0")
                .hint("the defaults are { genre = 5, content = 5, combined = 7, url = 3 }"));
        }
        Ok(w)
    }
}

/// `[strategy]`: which link next. Further keys are the strategy's own options, checked by it.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(default)]
pub struct StrategySection {
    /// A name of `gleaner strategies`.
    pub kind: Option<String>,
    /// A file of `gleaner train`: what the strategy knows from the start.
    pub model: Option<String>,
    /// Parts of the strategy that the laboratory switches off. No topic file can.
    #[doc(hidden)]
    #[serde(skip)]
    pub without: Vec<String>,
    /// The strategy's own options.
    #[serde(flatten)]
    pub options: toml::Table,
}

/// `[text]`: how texts are read.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields, default)]
pub struct TextSection {
    /// Weights of terms: `"one"` (default), `"online"` (from the pages so far), or a file of document counts.
    pub idf: Option<String>,
    /// Match word stems instead of words: `true` (English) or a language code such as `"pt"`.
    pub stem: Option<Stem>,
    /// Folder of a WordNet database.
    pub wordnet: Option<String>,
}

/// Whether word stems are matched, and of which language.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(untagged)]
pub enum Stem {
    /// English, or none.
    Yes(bool),
    /// ISO 639-1 code.
    Language(String),
}

impl TextSection {
    pub(super) fn resolve(self) -> Result<TextConfig, Problem> {
        let idf = match self.idf.as_deref().map(str::trim) {
            None | Some("" | "one") => IdfSource::One,
            Some("online") => IdfSource::Online,
            Some(path) => IdfSource::File(path.to_string()),
        };
        let stem = match self.stem {
            None | Some(Stem::Yes(false)) => None,
            Some(Stem::Yes(true)) => Some(Language::English),
            Some(Stem::Language(code)) => Some(Language::from_code(&code).ok_or_else(|| {
                let known: Vec<_> = Language::ALL.iter().map(|l| l.code()).collect();
                Problem::usage(format!("[text] stem: no stemmer for `{code}`"))
                    .hint(format!("known: {}, or true for English", known.join(", ")))
            })?),
        };
        Ok(TextConfig {
            idf,
            options: TextOptions { stem },
            wordnet: self.wordnet.filter(|w| !w.trim().is_empty()),
        })
    }
}

/// A string, or a list of strings.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct OneOrMany(pub Vec<String>);

impl<'de> Deserialize<'de> for OneOrMany {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl<'de> Visitor<'de> for V {
            type Value = OneOrMany;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("a name or a list of names")
            }
            fn visit_str<E: de::Error>(self, s: &str) -> Result<OneOrMany, E> {
                Ok(OneOrMany(if s.trim().is_empty() { Vec::new() } else { vec![s.trim().to_string()] }))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut seq: A) -> Result<OneOrMany, A::Error> {
                let mut out = Vec::new();
                while let Some(s) = seq.next_element::<String>()? {
                    out.push(s);
                }
                Ok(OneOrMany(out))
            }
        }
        d.deserialize_any(V)
    }
}

impl<'de> Deserialize<'de> for Threshold {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct V;
        impl Visitor<'_> for V {
            type Value = Threshold;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str(
                    "\"auto\", a number between 0 and 1, or one of \"mean\", \"weighted-mean\", \
                             \"kmeans\", \"birch\", \"silhouette\"",
                )
            }
            fn visit_f64<E: de::Error>(self, v: f64) -> Result<Threshold, E> {
                if (0.0..=1.0).contains(&v) {
                    Ok(Threshold::Fixed(v))
                } else {
                    Err(E::custom(format!("the threshold {v} is not between 0 and 1")))
                }
            }
            fn visit_i64<E: de::Error>(self, v: i64) -> Result<Threshold, E> {
                self.visit_f64(v as f64)
            }
            fn visit_u64<E: de::Error>(self, v: u64) -> Result<Threshold, E> {
                self.visit_f64(v as f64)
            }
            fn visit_str<E: de::Error>(self, s: &str) -> Result<Threshold, E> {
                Threshold::named(s).ok_or_else(|| {
                    E::custom(format!("unknown threshold `{s}`: {}", did_you_mean(s, Threshold::NAMES)))
                })
            }
        }
        d.deserialize_any(V)
    }
}

impl Serialize for Threshold {
    fn serialize<S: serde::Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Threshold::Fixed(v) => s.serialize_f64(*v),
            named => s.serialize_str(named.name()),
        }
    }
}
