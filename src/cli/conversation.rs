//! The conversation of `gleaner label DIR`: one page at a time, yes or no, and what that changes.

use crate::highlight::{passage, pieces};
use crate::labelling::LabelRoute;
use crate::text::{count, share, shorten, strip_controls, things};
use console::{Key, Term, style};
use crawl::quiz::{self, QuestionKind, Quiz};
use crawl::reader::{Reader, TeachingEffect};
use focus::ask::Question;
use std::collections::HashSet;
use std::process::ExitCode;
use types::{Hit, Problem, Record, UrlId};

/// After so many answers it is said what changed.
const ROUND: u64 = 5;
/// Bytes of the passage, and of the text when more is asked for.
const PASSAGE: usize = 420;
const MORE: usize = 2_500;

/// What the user wants to be asked about.
pub struct QuizOptions {
    pub which: QuestionKind,
    /// At most so many questions.
    pub most: Option<usize>,
    pub rng: u64,
}

struct Talk {
    term: Term,
    reader: Reader,
    quiz: Quiz,
    way: LabelRoute,
    wish: QuizOptions,
    skipped: HashSet<UrlId>,
    /// Pages answered in this conversation, with what was said of them before; the newest last.
    given: Vec<GivenAnswer>,
    /// Pages that changed sides since it was last told.
    changed: u64,
    asked: usize,
}

/// An answer of this conversation.
struct GivenAnswer {
    question: Question,
    /// What was said of the page before.
    before: Option<bool>,
    changed: u64,
}

enum Answer {
    Say(bool),
    Skip,
    Undo,
    Quit,
    /// More of the text.
    More,
}

fn answer(key: &Key) -> Option<Answer> {
    Some(match key {
        Key::Char('y' | 'Y') => Answer::Say(true),
        Key::Char('n' | 'N') => Answer::Say(false),
        Key::Char('?' | 's' | ' ') => Answer::Skip,
        Key::Char('u' | 'U') | Key::Backspace => Answer::Undo,
        Key::Char('o' | 'O') => Answer::More,
        Key::Char('q' | 'Q') | Key::Escape | Key::CtrlC | Key::Char('\u{4}') => Answer::Quit,
        _ => return None,
    })
}

/// Asks until nothing is left or the user has had enough.
pub fn converse(reader: Reader, way: LabelRoute, wish: QuizOptions) -> Result<ExitCode, Problem> {
    let mut talk = Talk {
        term: Term::stdout(),
        reader,
        quiz: Quiz::default(),
        way,
        wish,
        skipped: HashSet::new(),
        given: Vec::new(),
        changed: 0,
        asked: 0,
    };
    let talked = talk.run();
    let Talk { way, .. } = talk;
    // What was answered is kept in any case; so is the reason why it ended.
    let closed = way.close();
    talked.and(closed)?;
    Ok(ExitCode::SUCCESS)
}

impl Talk {
    fn line(&self, text: &str) -> Result<(), Problem> {
        self.term.write_line(text).map_err(|e| Problem::new("cannot use the terminal").because(e))
    }

    fn run(&mut self) -> Result<(), Problem> {
        self.quiz.update(&self.reader)?;
        let taught = self.reader.taught()?;
        let name = strip_controls(self.reader.config().title());
        self.line(&format!(
            "{}: {}, {} relevant",
            style(name).bold(),
            things(self.reader.verdicts().count() as u64, "page"),
            count(taught.relevant)
        ))?;
        self.line(&style(self.way.describe()).dim().to_string())?;
        self.line(&style("y yes · n no · ? skip · u undo · o more of the text · q quit").dim().to_string())?;
        let mut again: Option<Question> = None;
        loop {
            let question = match again.take() {
                Some(question) => Some(question),
                None if self.wish.most.is_some_and(|most| self.asked >= most) => None,
                None => self.quiz.questions(self.wish.which, 1, self.wish.rng, &self.skipped).pop(),
            };
            let Some(question) = question else {
                self.line("\nno page is left to ask about")?;
                break;
            };
            let Some(record) = self.reader.record(question.id)? else {
                self.skipped.insert(question.id);
                continue;
            };
            self.show(&record, question)?;
            match self.read_answer(&record)? {
                Answer::Say(label) => {
                    self.asked += 1;
                    self.say(question, label)?;
                    if (self.given.len() as u64).is_multiple_of(ROUND) {
                        self.tell_change()?;
                    }
                }
                Answer::Skip => {
                    self.asked += 1;
                    self.line(&style("  skipped").dim().to_string())?;
                    self.skipped.insert(record.id);
                }
                Answer::Undo => {
                    again = Some(self.undo()?.unwrap_or(question));
                }
                Answer::Quit => break,
                Answer::More => again = Some(question),
            }
        }
        self.tell_end()
    }

    fn show(&self, record: &Record, question: Question) -> Result<(), Problem> {
        let width = usize::from(self.term.size().1).clamp(40, 110);
        let title = strip_controls(&record.title);
        let title = if title.trim().is_empty() { "(no title)".to_string() } else { title };
        let n = self.reader.labels().len() + 1;
        self.line(&format!(
            "\n{} {}",
            style(format!("{n}.")).dim(),
            style(shorten(&title, width - 5)).bold()
        ))?;
        self.line(&format!("   {}", style(strip_controls(&record.url)).cyan()))?;
        for line in marked(&record.text, &record.assessment.hits, PASSAGE, width - 6) {
            self.line(&format!("   {} {line}", style("│").dim()))?;
        }
        let verdict = if record.verdict.relevant { "relevant" } else { "not relevant" };
        self.line(&format!(
            "   {}",
            style(format!(
                "probability {:.2}, so far {verdict} · asked because {}",
                record.assessment.score,
                quiz::why(question.reason)
            ))
            .dim()
        ))
    }

    fn read_answer(&self, record: &Record) -> Result<Answer, Problem> {
        let failed = |e: std::io::Error| Problem::new("cannot read the keyboard").because(e);
        let prompt = format!("   relevant? {} ", style("[y/n/?/u/o/q]").dim());
        self.term.write_str(&prompt).map_err(failed)?;
        loop {
            let key = self.term.read_key_raw().map_err(failed)?;
            let Some(answer) = answer(&key) else { continue };
            let word = match answer {
                Answer::Say(true) => style("yes").green(),
                Answer::Say(false) => style("no").yellow(),
                Answer::Skip => style("?").dim(),
                Answer::Undo => style("undo").dim(),
                Answer::More => style("more").dim(),
                Answer::Quit => style("quit").dim(),
            };
            self.line(&word.to_string())?;
            if matches!(answer, Answer::More) {
                let width = usize::from(self.term.size().1).clamp(40, 110);
                for line in marked(&record.text, &record.assessment.hits, MORE, width - 6) {
                    self.line(&format!("   {} {line}", style("│").dim()))?;
                }
                self.term.write_str(&prompt).map_err(failed)?;
                continue;
            }
            return Ok(answer);
        }
    }

    /// The user's word, and what it changed, in one line.
    fn say(&mut self, question: Question, label: bool) -> Result<(), Problem> {
        let before = self.reader.labels().get(question.id);
        let effect = self.way.say(&self.reader, &[(question.id, Some(label))])?;
        let changed = effect.changed as u64;
        self.given.push(GivenAnswer { question, before, changed });
        self.changed += changed;
        self.look_again()?;
        let all = self.reader.labels();
        let yes = all.iter().filter(|(_, l)| *l).count() as u64;
        self.line(&format!(
            "   {}",
            style(format!("{} answered, {} yes · {}", count(all.len() as u64), count(yes), effect.text))
                .dim()
        ))
    }

    /// Takes the last answer back; the page it was about is asked about again.
    fn undo(&mut self) -> Result<Option<Question>, Problem> {
        let Some(GivenAnswer { question, before, changed }) = self.given.pop() else {
            self.line(
                &style("   nothing to undo: no answer was given in this conversation").dim().to_string(),
            )?;
            return Ok(None);
        };
        let effect = self.way.say(&self.reader, &[(question.id, before)])?;
        self.changed = self.changed.saturating_sub(changed);
        self.asked = self.asked.saturating_sub(1);
        self.look_again()?;
        self.line(&style(format!("   undone: {}", effect.text)).dim().to_string())?;
        Ok(Some(question))
    }

    fn look_again(&mut self) -> Result<(), Problem> {
        self.reader.refresh()?;
        self.quiz.update(&self.reader)
    }

    fn tell_change(&mut self) -> Result<(), Problem> {
        let taught = self.reader.taught()?;
        let changed = std::mem::take(&mut self.changed);
        for line in what_changed(&taught, changed, "the last answers") {
            self.line(&format!("   {line}"))?;
        }
        Ok(())
    }

    fn tell_end(&mut self) -> Result<(), Problem> {
        let taught = self.reader.taught()?;
        let (n, yes) = (self.given.len() as u64, taught.yes);
        self.line(&format!(
            "\n{} given now; {} in all, {} yes; {} relevant",
            things(n, "answer"),
            count(taught.answered),
            count(yes),
            things(taught.relevant, "page")
        ))?;
        let changed = std::mem::take(&mut self.changed);
        for line in what_changed(&taught, changed, "the answers since then") {
            self.line(&line)?;
        }
        Ok(())
    }
}

/// What answers changed, and how good the collection is by them.
pub fn what_changed(taught: &TeachingEffect, changed: u64, since: &str) -> Vec<String> {
    let mut out = Vec::new();
    let sides = match changed {
        0 => "no page changed sides".to_string(),
        1 => "1 page changed sides".to_string(),
        n => format!("{} pages changed sides", count(n)),
    };
    out.push(format!("{} {sides} by {since}; {} relevant now", style("↻").cyan(), count(taught.relevant)));
    out.push(estimate(taught));
    if let Some(s) = taught.settled.filter(|s| s.settled) {
        out.push(format!(
            "{} more labels would change little now: the last {} answers turned {}, and the judge was right \
             on {} of {} \
             pages it was sure of",
            style("✓").green(),
            s.answers,
            things(s.changed, "page"),
            s.right,
            s.sure
        ));
    }
    out
}

/// Estimated precision and recall, or what is missing for them.
pub fn estimate(taught: &TeachingEffect) -> String {
    match taught.estimate {
        Some(e) => format!(
            "estimate: precision {}, recall among fetched pages {}",
            share(&e.precision),
            share(&e.recall)
        ),
        None if taught.answered > 0 && taught.yes == taught.answered => {
            "no estimate yet: every answer is yes; the judge needs some pages that are not wanted, too".into()
        }
        None if taught.answered > 0 && taught.yes == 0 => {
            "no estimate yet: every answer is no; the judge needs at least one page that is wanted".into()
        }
        None => "no estimate yet: too few answers".into(),
    }
}

/// The best passage of a page, the topic's terms marked, in lines of `width` characters.
fn marked(text: &str, hits: &[Hit], most: usize, width: usize) -> Vec<String> {
    let text = passage(text, hits, most);
    // What stands between two spaces, as it is shown, and its width: a term and the comma behind it are one.
    let mut words: Vec<(String, usize)> = Vec::new();
    let mut is_new = true;
    for piece in pieces(text, hits) {
        let shown = strip_controls(piece.text);
        for part in shown.split_inclusive(char::is_whitespace) {
            let word = part.trim_end();
            if !word.is_empty() {
                if std::mem::take(&mut is_new) {
                    words.push((String::new(), 0));
                }
                if let Some((text, width)) = words.last_mut() {
                    match piece.set {
                        Some(_) => text.push_str(&style(word).bold().yellow().to_string()),
                        None => text.push_str(word),
                    }
                    *width += word.chars().count();
                }
            }
            is_new |= part.ends_with(char::is_whitespace);
        }
    }
    let mut lines: Vec<String> = Vec::new();
    let mut used = 0;
    for (word, n) in words {
        match lines.last_mut().filter(|_| used + 1 + n <= width) {
            Some(line) => {
                line.push(' ');
                line.push_str(&word);
                used += 1 + n;
            }
            None => {
                lines.push(word);
                used = n;
            }
        }
    }
    if lines.is_empty() {
        lines.push(style("(no text)").dim().to_string());
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crawl::answers::{Estimate, LabelStability};
    use crawl::labels::Share;

    #[test]
    fn keys() {
        assert!(matches!(answer(&Key::Char('y')), Some(Answer::Say(true))));
        assert!(matches!(answer(&Key::Char('N')), Some(Answer::Say(false))));
        assert!(matches!(answer(&Key::Char('?')), Some(Answer::Skip)));
        assert!(matches!(answer(&Key::CtrlC), Some(Answer::Quit)));
        assert!(answer(&Key::Char('x')).is_none() && answer(&Key::Enter).is_none());
    }

    #[test]
    fn what_is_said_after_some_answers() {
        let none = TeachingEffect { answered: 3, yes: 3, relevant: 7, estimate: None, settled: None };
        let said = what_changed(&none, 1, "the last answers").join("\n");
        assert!(said.contains("1 page changed sides") && said.contains("every answer is yes"), "{said}");
        assert!(estimate(&TeachingEffect { yes: 0, ..none }).contains("every answer is no"));
        let share = Share { value: 0.9, low: 0.8, high: 0.95 };
        let settled = LabelStability { answers: 10, changed: 0, sure: 9, right: 9, settled: true };
        let e = Estimate { precision: share, recall: share, relevant: 10.0 };
        let all =
            TeachingEffect { answered: 30, yes: 12, relevant: 40, estimate: Some(e), settled: Some(settled) };
        let said = what_changed(&all, 0, "the last answers").join("\n");
        assert!(
            said.contains("precision 0.90 (0.80–0.95)") && said.contains("would change little"),
            "{said}"
        );
    }

    /// Without the signs that colour it.
    fn plain(line: &str) -> String {
        let mut out = String::new();
        let mut rest = line;
        while let Some((before, sign)) = rest.split_once('\u{1b}') {
            out.push_str(before);
            rest = sign.split_once('m').map_or("", |(_, after)| after);
        }
        out + rest
    }

    #[test]
    fn lines_are_no_longer_than_the_screen_and_lose_no_word() {
        let text = "learn sql, joins and b-trees in this course ".repeat(20);
        let hit = |t: &str| Hit { set: "content".into(), term: t.into(), count: 1 };
        let hits = [hit("sql"), hit("b-trees")];
        let lines = marked(&text, &hits, 400, 50);
        assert!(lines.len() > 3);
        assert!(lines.iter().all(|l| console::measure_text_width(l) <= 50), "{lines:?}");
        let words: Vec<String> = lines
            .iter()
            .flat_map(|l| plain(l).split_whitespace().map(str::to_string).collect::<Vec<_>>())
            .collect();
        assert!(lines.iter().all(|l| !plain(l).starts_with(',')), "{lines:?}");
        let shown = passage(&text, &hits, 400);
        assert_eq!(words.join(" "), shown.split_whitespace().collect::<Vec<_>>().join(" "));
        assert_eq!(marked("", &hits, 400, 50).len(), 1);
    }
}
