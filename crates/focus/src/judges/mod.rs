//! Judges decide whether a page is what the user wants. One file each; everything that needs the list reads
//! [`ALL`].

mod bayes;
mod centroid;
mod combine;
mod evidence;
mod exclude;
mod genre;
mod measure;
pub(crate) mod query;
mod relevance;
mod svm;
#[cfg(test)]
mod testing;
mod threshold;
mod validate;

pub use measure::Measure;
pub use threshold::Thresholded;
pub use validate::{Accuracy, validate};

use crate::model::{ModelFile, Role};
use crate::text::{Doc, DocFreq, TextOptions};
use crate::topic::{Topic, did_you_mean};
use std::sync::Arc;
use types::{Assessment, Features, Label, Problem, Verdict};

/// Decides a page's relevance, in two steps: `assess` measures (pure, parallel), `decide` applies what is
/// known so far (serial, versioned). A verdict can be revised later from its assessment, without the page.
pub trait Judge: Send + Sync {
    /// Measures a page. Pure: many threads call it at once.
    fn assess(&self, doc: &Doc) -> Assessment;

    /// Decides under what is known now. The same assessment may get another verdict later.
    fn decide(&self, assessment: &Assessment) -> Verdict;

    /// Told of every assessment in arrival order (`label`: what was said of the page, and by whom, if
    /// anything). Returns true when earlier decisions may have changed: then `decide` is asked again for all
    /// of them.
    fn observe(&mut self, _assessment: &Assessment, _label: Option<Label>) -> bool {
        false
    }

    /// State to be kept with the collection (an automatic threshold, online idf), and back.
    fn save(&self) -> Option<Vec<u8>> {
        None
    }
    /// Takes back what `save` gave.
    fn load(&mut self, _bytes: &[u8]) -> Result<(), Problem> {
        Ok(())
    }

    /// What was chosen by itself and why ("threshold 0.31: …"), for reports; `None` when there is nothing to
    /// tell.
    fn explain(&self) -> Option<String> {
        None
    }

    /// What it needs of the pages. The answer never changes.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// What it decides on the pages it was shown, in that order, as far as it looked at them when it last
    /// made up its mind: the same as `decide` says of each, without looking again. Each comes with the
    /// features it was shown with. Judges that do not remember pages say nothing.
    fn decide_shown(&self) -> Vec<(Features, Verdict)> {
        Vec::new()
    }

    /// What speaks for and against a page it assessed, in words; `None` for judges that cannot tell. `doc` is
    /// the page.
    fn reasons(&self, _assessment: &Assessment, _doc: &Doc) -> Option<Reasons> {
        None
    }

    /// What it was trained to, for a model file; `None` for judges that are not trained.
    /// [`JudgeSetup::model`] takes it.
    fn trained(&self) -> Option<Vec<u8>> {
        None
    }
}

/// What a judge needs of the pages, besides a score for each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Needs {
    /// Whole assessments: `decide` and `observe` look at more than the score. So all of an assessment is kept
    /// for the day verdicts are given again.
    pub assessments: bool,
    /// The page without the menus of its host ([`Doc::leave_out`]). Pages are then measured in arrival order,
    /// because what repeats on a host is learnt from the pages before.
    pub own_text: bool,
    /// All pages, in order: showing them makes its state again, and [`Judge::save`] says only how.
    pub pages: bool,
}

/// What speaks for and against a page.
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Reasons {
    /// What each measure of the topic adds to the log-odds, and what was learnt adds.
    pub parts: Vec<(String, f64)>,
    /// Words that were learnt to speak for it, the strongest first.
    pub words_for: Vec<WordReason>,
    /// Words that were learnt to speak against it, the strongest first.
    pub words_against: Vec<WordReason>,
    /// The labelled page that is most like it; `None` when nothing was labelled.
    pub like: Option<Like>,
}

/// A word of a page and what it adds to the log-odds.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct WordReason {
    /// As it stands on the page.
    pub word: String,
    /// Where it stands: in a field of the page, on links to it, or on pages that link to it.
    pub field: &'static str,
    /// Positive speaks for the page.
    pub value: f64,
}

/// The labelled page that is most like it.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Like {
    /// Which of the labelled pages it was shown, in that order; `None`: an example of the topic.
    pub nth: Option<usize>,
    /// What was said of that page.
    pub label: bool,
    /// Cosine of their words, 0–1.
    pub similarity: f64,
}

/// A page the user gave as an example.
#[derive(Clone)]
pub struct Example {
    /// The page with its words.
    pub doc: Arc<Doc>,
    /// What it is an example of.
    pub kind: ExampleKind,
}

/// What an example page shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExampleKind {
    /// A page that is wanted.
    Relevant,
    /// A page that is not wanted.
    Irrelevant,
    /// Of the right kind, whatever it is about.
    Genre,
}

/// What a judge is made from.
#[derive(Clone, Copy)]
pub struct JudgeSetup<'a> {
    /// What the user asked for.
    pub topic: &'a Topic,
    /// The judge's own options (`[judge]` without `kind`, `threshold`, `weights`).
    pub options: &'a toml::Table,
    /// The background collection, when `[text] idf` names a file.
    pub idf: Option<&'a DocFreq>,
    /// The example pages, read.
    pub examples: &'a [Example],
    /// How many seeds the crawl starts from: so many of the first pages observed are seeds. 0 = unknown.
    pub seeds: usize,
    /// Seed of all its randomness.
    pub rng: u64,
    /// The pages of the folder that `bayes` names as its `taxonomy`, read.
    pub taxonomy: &'a [TaxonomyPage],
    /// What judges were trained to before, for those that are trained.
    pub model: Option<&'a ModelFile>,
}

/// A page of a topic taxonomy.
#[derive(Clone)]
pub struct TaxonomyPage {
    /// The topic, as `Science/Biology`.
    pub path: String,
    /// The page with its words.
    pub doc: Arc<Doc>,
}

impl<'a> JudgeSetup<'a> {
    /// From a topic alone: no background collection, no examples.
    pub fn new(topic: &'a Topic) -> JudgeSetup<'a> {
        JudgeSetup {
            topic,
            options: &topic.judge.options,
            idf: None,
            examples: &[],
            seeds: 0,
            rng: 0,
            taxonomy: &[],
            model: None,
        }
    }
    /// What the judge of this name was trained to.
    fn trained(&self, kind: &str) -> Result<Option<&'a [u8]>, Problem> {
        let part = self.model.and_then(|m| m.find(Role::Judge, kind));
        part.map(|p| p.body_for(self.text())).transpose()
    }
    /// How texts are read.
    pub fn text(&self) -> &'a TextOptions {
        &self.topic.text.options
    }
}

/// A judge by name.
pub struct JudgeEntry {
    /// As `[judge] kind` names it.
    pub name: &'static str,
    /// One line for lists.
    pub summary: &'static str,
    /// Markdown with the headings of [`crate::strategies::HEADINGS`].
    pub doc: &'static str,
    /// Makes one; a problem names the option that is wrong.
    pub build: fn(&JudgeSetup) -> Result<Box<dyn Judge>, Problem>,
}

/// Does the judge of this name give probabilities, which change for every page with whatever it learns?
/// Others' scores of a page stay.
pub fn gives_probabilities(name: &str) -> bool {
    name == relevance::ENTRY.name
}

/// The judge of a topic that names none.
pub const DEFAULT: &str = "relevance";

/// Every judge.
pub const ALL: &[JudgeEntry] = &[
    relevance::ENTRY,
    genre::GENRE,
    genre::TERMS,
    centroid::ENTRY,
    bayes::ENTRY,
    svm::ENTRY,
    query::QUERY,
    query::REGEX,
    combine::ALL_OF,
    combine::ANY_OF,
    combine::WEIGHTED,
];

/// The judge of this name, or a problem with the nearest names.
pub fn find(name: &str) -> Result<&'static JudgeEntry, Problem> {
    ALL.iter().find(|e| e.name == name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|e| e.name).collect();
        Problem::usage(format!("there is no judge `{name}`")).hint(did_you_mean(name, &known))
    })
}

/// The topic's judge, with its `exclude` terms on top.
pub fn build(setup: &JudgeSetup) -> Result<Box<dyn Judge>, Problem> {
    if let Some(model) = setup.model {
        usable(model, &setup.topic.judge.kind, setup.options)?;
    }
    let inner = (find(&setup.topic.judge.kind)?.build)(setup)?;
    Ok(exclude::over(inner, setup))
}

/// Judges that learn from examples beforehand: `gleaner train` makes model files of them.
pub const TRAINED: &[&str] = &["relevance", "bayes", "svm"];

/// A model that the chosen judge (or one of those it asks) does not know is a mistake.
fn usable(model: &ModelFile, kind: &str, options: &toml::Table) -> Result<(), Problem> {
    let asked = options.get("of").and_then(|o| o.as_array()).into_iter().flatten().filter_map(|v| v.as_str());
    if asked.chain([kind]).any(|k| model.find(Role::Judge, k).is_some()) {
        return Ok(());
    }
    let has: Vec<String> = model.parts.iter().map(|p| format!("{} `{}`", p.role.name(), p.kind)).collect();
    let problem =
        Problem::usage(format!("the model has nothing for judge `{kind}`, but for {}", has.join(", ")));
    Err(match model.parts.iter().find(|p| p.role == Role::Judge) {
        Some(p) => problem.hint(format!("set [judge] kind = \"{}\"", p.kind)),
        None => problem.hint("name a model of a judge, or put this one under [strategy] model"),
    })
}

/// For judges that have none of their own.
fn no_options(setup: &JudgeSetup) -> Result<(), Problem> {
    crate::options::parse::<crate::options::NoOptions>(
        &format!("judge `{}`", setup.topic.judge.kind),
        setup.options,
    )?;
    Ok(())
}

/// Relevant and irrelevant examples with words; a message when one kind is missing.
fn two_classes<'a>(
    name: &str,
    setup: &JudgeSetup<'a>,
) -> Result<(Vec<&'a Example>, Vec<&'a Example>), Problem> {
    bayes::both(name, setup.examples)
}

#[cfg(test)]
mod tests;
