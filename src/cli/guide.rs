//! The conversation of `gleaner new`: what is wanted, what kind, examples, where to start; and a look at what
//! came of it.

use super::new::Answers;
use super::picker::{self, PickResult};
use crate::pages::{Pages, doc};
use crate::text::{shorten, strip_controls};
use console::{Key, Term, style};
use crawl::collection::TopicParts;
use crawl::config::Config;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use types::{Problem, Url};

/// Somebody who answers: at the terminal, or from a pipe.
pub struct Talk {
    input: Box<dyn BufRead>,
    out: Box<dyn Write>,
    keys: bool,
}

impl Talk {
    pub fn new() -> Talk {
        let stdin = std::io::stdin();
        let keys = stdin.is_terminal() && std::io::stderr().is_terminal();
        Talk { input: Box::new(BufReader::new(stdin)), out: Box::new(std::io::stderr()), keys }
    }

    /// One line. `before` is what was answered the last time: it can be changed.
    fn question(&mut self, text: &str, help: &str, before: &str) -> Result<TextAnswer, Problem> {
        let esc = if self.keys { "; Esc goes back" } else { "" };
        let _ = writeln!(self.out, "\n{}", style(text).bold().for_stderr());
        self.help(&format!("{help}{esc}"));
        let _ = write!(self.out, "> ");
        let _ = self.out.flush();
        if self.keys {
            return edit(before);
        }
        match self.line()? {
            None => Err(Problem::usage("no answer").hint("nothing was written")),
            Some(line) if line == "\u{1b}" => Ok(TextAnswer::Back),
            Some(line) => Ok(TextAnswer::Text(line)),
        }
    }

    /// What goes with a question; on a terminal no word is cut at its edge.
    fn help(&mut self, text: &str) {
        let width =
            if self.keys { usize::from(Term::stderr().size().1).clamp(40, 120) - 3 } else { usize::MAX };
        for line in wrapped(text, width) {
            let _ = writeln!(self.out, "  {}", style(line).dim().for_stderr());
        }
    }

    /// A line of a pipe; `None` at its end.
    fn line(&mut self) -> Result<Option<String>, Problem> {
        let mut line = String::new();
        let n = self
            .input
            .read_line(&mut line)
            .map_err(|e| Problem::new("cannot read your answer").because(e))?;
        Ok((n > 0).then(|| line.trim().to_string()))
    }

    /// An offer: yes, no, or back. Nobody there is a no.
    pub fn offer(&mut self, text: &str, help: &str) -> Result<Reply, Problem> {
        loop {
            let esc = if self.keys { ", Esc goes back" } else { "" };
            let _ = writeln!(self.out, "\n{}", style(text).bold().for_stderr());
            self.help(&format!("{help}{esc}"));
            let _ = write!(self.out, "[y/n] ");
            let _ = self.out.flush();
            match self.key_or_line()?.as_str() {
                "y" | "yes" => return Ok(Reply::Yes),
                "n" | "no" | "" => return Ok(Reply::No),
                "\u{1b}" => return Ok(Reply::Back),
                _ => {}
            }
        }
    }

    /// Is this page wanted?
    pub fn is_wanted(&mut self, n: usize, of: usize, lines: &[String]) -> Result<Reply, Problem> {
        loop {
            let _ = writeln!(self.out, "\n{}", style(format!("{n} of {of}")).dim().for_stderr());
            for line in lines {
                let _ = writeln!(self.out, "  {line}");
            }
            let esc = if self.keys { ", Esc back, q enough" } else { ", q enough" };
            let _ = write!(self.out, "wanted? [y]es [n]o [s]kip{esc}: ");
            let _ = self.out.flush();
            match self.key_or_line()?.as_str() {
                "y" | "yes" => return Ok(Reply::Yes),
                "n" | "no" => return Ok(Reply::No),
                "s" | "skip" | "?" => return Ok(Reply::Skip),
                "\u{1b}" => return Ok(Reply::Back),
                "q" | "" => return Ok(Reply::Enough),
                _ => {}
            }
        }
    }

    /// A key, where there are keys; else a line, and nothing at the end of the pipe.
    fn key_or_line(&mut self) -> Result<String, Problem> {
        if !self.keys {
            return Ok(self.line()?.unwrap_or_default().to_lowercase());
        }
        let term = Term::stderr();
        let key = term.read_key_raw().map_err(|e| Problem::new("cannot use the terminal").because(e))?;
        let said = match key {
            Key::Char(c) => c.to_lowercase().to_string(),
            Key::Escape => "\u{1b}".into(),
            Key::Enter => String::new(),
            Key::CtrlC => return Err(given_up()),
            _ => "no such key".into(),
        };
        let _ = term.write_line(said.trim_matches('\u{1b}'));
        Ok(said)
    }

    pub fn pick(&mut self, what: &str, items: &[String], ticked: &[bool]) -> Result<PickResult, Problem> {
        picker::pick_or_back(what, items, ticked, true, self.keys, &mut self.input, &mut self.out)
    }

    pub fn say(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }
}

/// The words in lines of `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        let fits = |line: &&mut String| line.chars().count() + 1 + word.chars().count() <= width;
        match lines.last_mut().filter(fits) {
            Some(line) => {
                line.push(' ');
                line.push_str(word);
            }
            None => lines.push(word.to_string()),
        }
    }
    lines
}

/// An answer, or that the step before shall be asked again.
#[derive(Debug, PartialEq, Eq)]
enum TextAnswer {
    Text(String),
    Back,
}

/// What is said to an offer, or of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reply {
    Yes,
    No,
    Skip,
    Back,
    Enough,
}

fn given_up() -> Problem {
    Problem::usage("given up").hint("nothing was written")
}

/// A line typed at a terminal, with what was there before to be changed.
fn edit(before: &str) -> Result<TextAnswer, Problem> {
    let term = Term::stderr();
    let io = |e: std::io::Error| Problem::new("cannot use the terminal").because(e);
    let mut line = before.to_string();
    term.write_str(&line).map_err(io)?;
    loop {
        match term.read_key_raw().map_err(io)? {
            Key::Enter => {
                term.write_line("").map_err(io)?;
                return Ok(TextAnswer::Text(line.trim().to_string()));
            }
            Key::Escape => {
                term.write_line("").map_err(io)?;
                return Ok(TextAnswer::Back);
            }
            Key::CtrlC => return Err(given_up()),
            Key::Backspace => {
                if let Some(c) = line.pop() {
                    term.clear_chars(console::measure_text_width(&c.to_string())).map_err(io)?;
                }
            }
            Key::Char(c) if !c.is_control() => {
                line.push(c);
                term.write_str(&c.to_string()).map_err(io)?;
            }
            _ => {}
        }
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(|t| t.trim().to_string()).filter(|t| !t.is_empty()).collect()
}

/// Addresses, separated by commas or blanks.
fn addresses(text: &str) -> Vec<String> {
    text.split([',', ' ', '\t']).filter(|t| !t.is_empty()).map(str::to_string).collect()
}

/// What can be asked, in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    Subject,
    Genre,
    Examples,
    Start,
    Name,
}

impl Step {
    /// What the flags have not said.
    pub fn open(a: &Answers) -> Vec<Step> {
        let all = [
            (Step::Subject, a.subject.is_empty() && a.query.is_none()),
            (Step::Genre, a.genre.is_none()),
            (Step::Examples, a.examples.is_empty()),
            (Step::Start, a.seeds.is_empty() && a.engine.is_none()),
            (Step::Name, a.name.is_empty()),
        ];
        all.into_iter().filter(|(_, open)| *open).map(|(step, _)| step).collect()
    }
}

/// Asks for these, from step number `at` on. Back at the first step is the first step again.
pub fn ask(a: &mut Answers, steps: &[Step], mut at: usize, talk: &mut Talk) -> Result<(), Problem> {
    while let Some(step) = steps.get(at) {
        at = if answer(*step, a, talk)? { at + 1 } else { at.saturating_sub(1) };
        let empty = a.subject.is_empty() && a.query.is_none() && a.genre.is_none() && a.examples.is_empty();
        if *step == Step::Examples && at > 0 && empty && steps.get(at) != Some(&Step::Genre) {
            let problem = Problem::usage("a topic needs a subject, a kind of page, or examples");
            if !talk.keys {
                return Err(problem.hint("nothing was written; run `gleaner new` again"));
            }
            talk.say(&problem.to_string());
            at = 0;
        }
    }
    Ok(())
}

/// Asks one thing. `false`: the one before shall be asked again.
fn answer(step: Step, a: &mut Answers, talk: &mut Talk) -> Result<bool, Problem> {
    let (text, help, before) = match step {
        Step::Subject => (
            "What are the pages about?",
            "words and phrases, separated by commas, e.g. relational model, sql, query optimization; empty \
             for anything"
                .to_string(),
            a.subject.join(", "),
        ),
        Step::Genre => {
            let genres: Vec<&str> = focus::topic::presets::all().iter().map(|p| p.name).collect();
            let help = format!("one of {}; ? says what they are, empty for any kind", genres.join(", "));
            ("What kind of page?", help, a.genre.clone().unwrap_or_default())
        }
        Step::Examples => (
            "Do you know pages like those you want?",
            "URLs or files, best three to ten, separated by blanks: terms are taken from them; empty if \
             none"
                .into(),
            a.examples.join(" "),
        ),
        Step::Start => (
            "Where to start?",
            "URLs of pages that list or link to what you want; or a search engine: searxng:URL, brave, \
             google, \
             rss:URL, collection:DIR; empty for later"
                .into(),
            a.engine.clone().unwrap_or_else(|| a.seeds.join(" ")),
        ),
        Step::Name => {
            ("What shall the collection be called?", "empty: made from your answers".into(), a.name.clone())
        }
    };
    loop {
        let TextAnswer::Text(said) = talk.question(text, &help, &before)? else { return Ok(false) };
        match step {
            Step::Subject => a.subject = list(&said),
            Step::Genre if said == "?" => {
                for p in focus::topic::presets::all() {
                    talk.say(&format!("  {:<24} {}", p.name, p.summary));
                }
                continue;
            }
            Step::Genre if said.is_empty() => a.genre = None,
            Step::Genre => match focus::topic::presets::find_all(std::slice::from_ref(&said)) {
                Ok(_) => a.genre = Some(said),
                Err(problem) => {
                    talk.say(&problem.to_string());
                    continue;
                }
            },
            Step::Examples => a.examples = addresses(&said),
            Step::Start => {
                let kind = said.split(':').next().unwrap_or("");
                let is_engine = crate::engines::NAMES.contains(&kind);
                a.seeds = if is_engine { Vec::new() } else { addresses(&said) };
                a.engine = is_engine.then_some(said);
            }
            Step::Name => a.name = said,
        }
        return Ok(true);
    }
}

/// Judges the examples and seeds by the new topic, and says what that means. Only for looking at: nothing
/// fails here.
pub fn try_out(config: &Config, pages: &Pages, names: &[String]) {
    if names.is_empty() {
        return;
    }
    if let Err(problem) = judge_all(config, pages, names) {
        eprintln!("{} the topic could not be tried: {problem}", style("note:").cyan().for_stderr());
    }
}

fn judge_all(config: &Config, pages: &Pages, names: &[String]) -> Result<(), Problem> {
    let answer = |url: &Url| pages.answer_or_fetch(url);
    let analyst = TopicParts::new(&config.topic()?, pages.canon(), &answer, names.len(), 0)?.analyst;
    let mut judge = analyst.judge.write().unwrap_or_else(|e| e.into_inner());
    let mut assessed = Vec::new();
    for name in names {
        match pages.page(name).and_then(|f| doc(&f, &analyst.extract, &analyst.text)) {
            Ok(doc) => assessed.push((name, judge.assess(&doc))),
            Err(problem) => eprintln!("{} {problem}", style("warning:").yellow().for_stderr()),
        }
    }
    for (_, assessment) in &assessed {
        judge.observe(assessment, None);
    }
    eprintln!("\n{}", style("These pages, by the new topic:").bold().for_stderr());
    let mut relevant = 0;
    for (name, assessment) in &assessed {
        let verdict = judge.decide(assessment);
        relevant += usize::from(verdict.relevant);
        let word = if verdict.relevant { style("relevant").green() } else { style("not     ").yellow() };
        let name = shorten(&strip_controls(name), 90);
        eprintln!("  {:.3}  {}  {name}", verdict.relevance, word.for_stderr());
    }
    eprintln!("  {relevant} of {} relevant; {}", assessed.len(), judge.explain().unwrap_or_default());
    if relevant < assessed.len() {
        eprintln!("  Pages to start from need not be relevant themselves, only lead there.");
    }
    eprintln!();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(said: &'static str) -> Talk {
        Talk { input: Box::new(said.as_bytes()), out: Box::new(std::io::sink()), keys: false }
    }

    fn asked(a: &mut Answers, said: &'static str) -> Result<(), Problem> {
        let steps = Step::open(a);
        ask(a, &steps, 0, &mut talk(said))
    }

    #[test]
    fn a_conversation() {
        let mut a = Answers::default();
        asked(&mut a, "sql, b-trees\n?\nsylabus\nsyllabus\nx.html, y.html\nsearxng:http://e.org\nMine\n")
            .unwrap();
        assert_eq!((a.subject, a.genre.as_deref()), (list("sql,b-trees"), Some("syllabus")));
        assert_eq!(
            (a.examples, a.engine.as_deref()),
            (addresses("x.html y.html"), Some("searxng:http://e.org"))
        );
        assert_eq!(a.name, "Mine");
        assert!(a.seeds.is_empty());
        // What the flags said is not asked.
        let mut a = Answers { subject: list("sql"), genre: Some("news".into()), ..Answers::default() };
        asked(&mut a, "\nhttp://a.org/ http://b.org/\n\n").unwrap();
        assert_eq!(a.seeds, ["http://a.org/", "http://b.org/"]);
        // Nothing is no topic; nobody is no answer.
        assert!(asked(&mut Answers::default(), "\n\n\n").is_err());
        assert!(asked(&mut Answers::default(), "sql\n").is_err());
    }

    #[test]
    fn back_goes_one_step_and_loses_nothing() {
        let mut a = Answers::default();
        // Back at the first question is the first question again; back from the third leads to the second.
        asked(
            &mut a,
            "\u{1b}\nsql\nnews\n\u{1b}\nsyllabus\nx.html\nhttp://a.org/\n\u{1b}\nhttp://b.org/\nMine\n",
        )
        .unwrap();
        assert_eq!((a.subject.as_slice(), a.genre.as_deref()), (&["sql".to_string()][..], Some("syllabus")));
        assert_eq!((a.seeds.as_slice(), a.name.as_str()), (&["http://b.org/".to_string()][..], "Mine"));
    }

    #[test]
    fn no_word_is_cut_at_the_edge() {
        assert_eq!(
            wrapped("one of syllabus, job-offer; Esc goes back", 16),
            ["one of syllabus,", "job-offer; Esc", "goes back"]
        );
        assert_eq!(wrapped("a-word-that-is-too-long for it", 8), ["a-word-that-is-too-long", "for it"]);
        assert_eq!(wrapped("as it was", usize::MAX), ["as it was"]);
    }

    #[test]
    fn offers_and_pages() {
        let mut t = talk("what\ny\n\u{1b}\nn\n");
        let said: Vec<Reply> = (0..4).map(|_| t.offer("Try?", "a few").unwrap()).collect();
        assert_eq!(said, [Reply::Yes, Reply::Back, Reply::No, Reply::No], "nobody is a no");
        let mut t = talk("y\nn\ns\n\u{1b}\nq\n");
        let said: Vec<Reply> = (0..6).map(|_| t.is_wanted(1, 10, &[]).unwrap()).collect();
        assert_eq!(said, [Reply::Yes, Reply::No, Reply::Skip, Reply::Back, Reply::Enough, Reply::Enough]);
    }
}
