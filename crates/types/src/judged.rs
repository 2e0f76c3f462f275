use crate::Features;
use serde::{Deserialize, Serialize};

/// What a judge measured on a page: pure, parallel, independent of thresholds and of other pages.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Assessment {
    /// The soft score, 0–1: how much like the wanted pages this is.
    pub score: f64,
    /// The parts the score was made of, by name (`genre`, `content`, `url`, class names …).
    pub parts: Vec<Part>,
    /// The terms that matched, for people.
    pub hits: Vec<Hit>,
    /// The `exclude` term that ruled the page out.
    pub excluded: Option<String>,
    /// It is fuller of the topic's words than people write.
    #[serde(skip)]
    pub stuffed: bool,
    /// What a judge that learns keeps of the page, in a form of its own. It is not part of a record.
    #[serde(skip)]
    pub features: Features,
}

/// One named part of a score.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Part {
    /// As the judge calls it: `genre`, `content`, `url`, the name of a class.
    pub name: String,
    /// In the judge's own unit, most often 0–1.
    pub value: f64,
}

/// A term of the topic that was found on the page.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Hit {
    /// Which of the topic's sets the term belongs to (`genre`, `content`, `url` …).
    pub set: String,
    /// As the topic writes it.
    pub term: String,
    /// How often it was found.
    pub count: u32,
}

impl Assessment {
    /// The value of the part of this name.
    pub fn part(&self, name: &str) -> Option<f64> {
        self.parts.iter().find(|p| p.name == name).map(|p| p.value)
    }
}

/// The judge's decision. It may be revised later without fetching the page again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Verdict {
    /// The page is wanted: it counts as found and goes into exports.
    pub relevant: bool,
    /// 0–1; what strategies learn from. Usually the assessment's score.
    pub relevance: f64,
    /// The threshold that was applied.
    pub threshold: f64,
    /// Which version of the judge's state decided.
    pub version: u32,
}

/// Who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Who {
    /// Whoever uses the command line or the dashboard.
    Person,
    /// The language model of `[teacher]`.
    Model,
}

impl Who {
    /// As exports and the API call it.
    pub fn name(self) -> &'static str {
        match self {
            Who::Person => "person",
            Who::Model => "model",
        }
    }
}

/// What counts of a page, and who said it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Label {
    /// Is the page wanted?
    pub relevant: bool,
    /// Who said so.
    pub who: Who,
}

impl Label {
    /// A person's word.
    pub fn person(relevant: bool) -> Label {
        Label { relevant, who: Who::Person }
    }
    /// A person's word decides. A model's is evidence that the judge weighs.
    pub fn decides(self) -> Option<bool> {
        (self.who == Who::Person).then_some(self.relevant)
    }
}
