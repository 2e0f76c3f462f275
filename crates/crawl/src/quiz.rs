//! Which pages of a collection to ask about: [`focus::ask`] over what a reader sees. The terminal and the
//! dashboard ask the same questions.

use crate::reader::Reader;
use focus::ask::{self, Candidate, Question, Reason};
use std::collections::{HashMap, HashSet};
use types::{Problem, UrlId, Verdict};

/// Stored probabilities may be off by this much.
const OFF: f64 = 0.02;

/// Which questions are wanted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QuestionKind {
    /// Those that teach most.
    #[default]
    Best,
    /// Closest to the line.
    Near,
    /// What the judge likes best.
    Top,
    /// Drawn at random from the relevant pages.
    Relevant,
    /// Drawn at random from all pages.
    Any,
}

/// The pages of a collection as candidates for questions.
#[derive(Default)]
pub struct Quiz {
    candidates: Vec<Candidate>,
    /// Is the page called relevant?
    relevant: Vec<bool>,
    at: HashMap<UrlId, usize>,
}

impl Quiz {
    /// Takes in what changed since: new pages, probabilities, labels.
    pub fn update(&mut self, reader: &Reader) -> Result<(), Problem> {
        let line = reader.threshold()?;
        for (id, standing, simhash) in reader.standings() {
            let i = match self.at.get(&id) {
                Some(&i) => i,
                None => {
                    let Ok(url) = reader.ledger().url(id) else { continue };
                    let verdict = Verdict { threshold: line, ..Verdict::default() };
                    self.at.insert(id, self.candidates.len());
                    self.candidates.push(Candidate::new(id, &url, verdict, simhash, None));
                    self.relevant.push(false);
                    self.candidates.len() - 1
                }
            };
            if let (Some(c), Some(relevant)) = (self.candidates.get_mut(i), self.relevant.get_mut(i)) {
                // Well above the line and not relevant: ruled out by a term or its language. Nothing to ask.
                let barred = !standing.relevant && standing.relevance >= line + OFF;
                c.relevance = if barred { 0.0 } else { standing.relevance };
                (c.line, c.label, *relevant) = (line, standing.label, standing.relevant);
            }
        }
        Ok(())
    }

    /// At most `n`, the most useful first; none about those in `skipped`.
    pub fn questions(
        &self,
        which: QuestionKind,
        n: usize,
        rng: u64,
        skipped: &HashSet<UrlId>,
    ) -> Vec<Question> {
        let wanted = |(c, relevant): &(&Candidate, &bool)| {
            !skipped.contains(&c.id) && (which != QuestionKind::Relevant || **relevant || c.label.is_some())
        };
        let left: Vec<Candidate> =
            self.candidates.iter().zip(&self.relevant).filter(wanted).map(|(c, _)| *c).collect();
        match which {
            QuestionKind::Best => ask::questions(&left, n, rng),
            QuestionKind::Near => ask::questions_for(&left, Reason::Uncertain, n, rng),
            QuestionKind::Top => ask::questions_for(&left, Reason::Top, n, rng),
            QuestionKind::Relevant | QuestionKind::Any => ask::questions_for(&left, Reason::Random, n, rng),
        }
    }
}

/// Why a page is asked about, for people.
pub fn why(reason: Reason) -> &'static str {
    match reason {
        Reason::Uncertain => "the judge is uncertain about it",
        Reason::Top => "it is among the best the judge has",
        Reason::Random => "it was drawn at random",
        Reason::Spread => "you have said yes to no page yet, and this may be the first",
    }
}
