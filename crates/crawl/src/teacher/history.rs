//! What the teacher was asked and what it cost, in the ledger: a crawl that is taken up again asks nothing
//! twice and spends nothing that is spent already.

use super::answer::TeacherAnswer;
use serde::{Deserialize, Serialize};
use std::collections::{HashMap, HashSet};
use store::{Journal, Records};
use types::{Problem, StateKey, UrlId};

/// State: the budget that was used, as JSON.
const SPENT: StateKey = StateKey::Teacher;
/// State: one entry per page that was asked about.
const ANSWERS: StateKey = StateKey::TeacherAnswers;

/// What was spent over all runs, and what came of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct TeacherSpending {
    /// Requests that reached the server.
    pub calls: u64,
    /// Sent and received; an estimate where the server does not say.
    pub tokens: u64,
    /// Pages asked about.
    pub questions: u64,
    /// Answers that call a page wanted.
    pub yes: u64,
    /// Answers that call a page unwanted.
    pub no: u64,
    /// Answers that cannot tell.
    pub unsure: u64,
    /// Requests without a usable answer.
    pub failed: u64,
}

impl TeacherSpending {
    /// Reads what a collection has spent.
    pub fn read(store: &(impl Records + ?Sized)) -> Result<TeacherSpending, Problem> {
        Ok(store
            .state(SPENT)?
            .pop()
            .map_or_else(TeacherSpending::default, |bytes| TeacherSpending::parse(&bytes)))
    }

    /// As it was written; of nothing, nothing.
    pub(super) fn parse(bytes: &[u8]) -> TeacherSpending {
        serde_json::from_slice(bytes).unwrap_or_default()
    }

    pub(super) fn json(&self) -> Result<String, Problem> {
        serde_json::to_string(self)
            .map_err(|e| Problem::new("cannot keep what the teacher has cost").because(e))
    }

    /// Part of the store's next commit.
    pub fn write(&self, store: &mut (impl Journal + ?Sized)) -> Result<(), Problem> {
        store.put_state(SPENT, false, self.json()?.as_bytes())
    }
}

/// What was answered, of which topic and which text.
#[derive(Clone, Debug, Default)]
pub struct Answers {
    /// Topic and text.
    said: HashMap<(u64, u64), TeacherAnswer>,
    /// Topic and page.
    asked: HashSet<(u64, UrlId)>,
}

impl Answers {
    pub fn read(store: &(impl Records + ?Sized)) -> Result<Answers, Problem> {
        let mut all = Answers::default();
        store.state(ANSWERS)?.iter().for_each(|entry| all.take_in(entry));
        Ok(all)
    }

    /// What was answered at one time, as [`Answers::entry`] writes it.
    pub fn take_in(&mut self, entry: &[u8]) {
        for line in entry.as_chunks::<21>().0 {
            if let Some((topic, id, text, said)) = parse(line) {
                self.note(topic, id, text, said);
            }
        }
    }

    /// What was answered at one time, for whoever keeps it.
    pub fn entry(topic: u64, new: &[(UrlId, u64, TeacherAnswer)]) -> Vec<u8> {
        let mut entry = Vec::with_capacity(21 * new.len());
        for (id, text, said) in new {
            entry.extend(topic.to_le_bytes());
            entry.extend(id.0.to_le_bytes());
            entry.extend(text.to_le_bytes());
            entry.push(*said as u8);
        }
        entry
    }

    /// Was this page asked about, for this topic?
    pub fn was_asked(&self, topic: u64, id: UrlId) -> bool {
        self.asked.contains(&(topic, id))
    }

    /// What was said of a page with this text.
    pub fn of_text(&self, topic: u64, text: u64) -> Option<TeacherAnswer> {
        self.said.get(&(topic, text)).copied()
    }

    /// Part of the store's next commit.
    pub fn add(
        &mut self,
        store: &mut (impl Journal + ?Sized),
        topic: u64,
        new: &[(UrlId, u64, TeacherAnswer)],
    ) -> Result<(), Problem> {
        let entry = Answers::entry(topic, new);
        store.put_state(ANSWERS, true, &entry)?;
        self.take_in(&entry);
        Ok(())
    }

    /// Forgets all of it: another model shall be asked.
    pub fn forget(&mut self, store: &mut (impl Journal + ?Sized)) -> Result<(), Problem> {
        store.put_state(ANSWERS, false, &[])?;
        *self = Answers::default();
        Ok(())
    }

    fn note(&mut self, topic: u64, id: UrlId, text: u64, said: TeacherAnswer) {
        self.said.insert((topic, text), said);
        self.asked.insert((topic, id));
    }
}

fn parse(line: &[u8; 21]) -> Option<(u64, UrlId, u64, TeacherAnswer)> {
    let (topic, rest) = line.split_first_chunk::<8>()?;
    let (id, rest) = rest.split_first_chunk::<4>()?;
    let (text, rest) = rest.split_first_chunk::<8>()?;
    let said = match rest {
        [0] => TeacherAnswer::No,
        [1] => TeacherAnswer::Yes,
        [2] => TeacherAnswer::Unsure,
        _ => return None,
    };
    Some((u64::from_le_bytes(*topic), UrlId(u32::from_le_bytes(*id)), u64::from_le_bytes(*text), said))
}

#[cfg(test)]
mod tests {
    use super::*;
    use store::Ledger;

    #[test]
    fn answers_and_costs_are_kept() {
        let mut ledger = Ledger::in_memory(frontier::Limits::default());
        let mut answers = Answers::default();
        let said = [
            (UrlId(7), 70, TeacherAnswer::Yes),
            (UrlId(8), 80, TeacherAnswer::No),
            (UrlId(9), 90, TeacherAnswer::Unsure),
        ];
        answers.add(&mut ledger, 1, &said).unwrap();
        let spent = TeacherSpending { calls: 3, tokens: 99, ..TeacherSpending::default() };
        spent.write(&mut ledger).unwrap();
        let again = Answers::read(&ledger).unwrap();
        assert_eq!(TeacherSpending::read(&ledger).unwrap(), spent);
        let of = |topic, text| again.of_text(topic, text);
        assert_eq!(
            [of(1, 70), of(1, 80), of(1, 90)],
            [Some(TeacherAnswer::Yes), Some(TeacherAnswer::No), Some(TeacherAnswer::Unsure)]
        );
        assert_eq!((of(2, 70), of(1, 71)), (None, None), "another topic, another text");
        assert!(
            again.was_asked(1, UrlId(9)) && !again.was_asked(2, UrlId(9)) && !again.was_asked(1, UrlId(10))
        );
        answers.forget(&mut ledger).unwrap();
        assert!(Answers::read(&ledger).unwrap().asked.is_empty());
    }
}
