//! The conversation of `gleaner new`: what is wanted, what kind, examples, where to start; and a look at what came of it.

use super::new::Answers;
use super::pages::{Pages, doc};
use super::picker;
use super::text::{shorten, strip_controls};
use console::style;
use crawl::collection::Made;
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

    fn question(&mut self, text: &str, help: &str) -> Result<String, Problem> {
        let _ = write!(
            self.out,
            "\n{}\n  {}\n> ",
            style(text).bold().for_stderr(),
            style(help).dim().for_stderr()
        );
        let _ = self.out.flush();
        let mut line = String::new();
        let n = self
            .input
            .read_line(&mut line)
            .map_err(|e| Problem::new("cannot read your answer").because(e))?;
        if n == 0 {
            return Err(Problem::usage("no answer").hint("nothing was written"));
        }
        Ok(line.trim().to_string())
    }

    pub fn pick(&mut self, what: &str, items: &[String]) -> Result<Vec<usize>, Problem> {
        picker::pick(what, items, self.keys, &mut self.input, &mut self.out)
    }

    fn say(&mut self, text: &str) {
        let _ = writeln!(self.out, "{text}");
    }
}

fn list(text: &str) -> Vec<String> {
    text.split(',').map(|t| t.trim().to_string()).filter(|t| !t.is_empty()).collect()
}

/// Addresses, separated by commas or blanks.
fn addresses(text: &str) -> Vec<String> {
    text.split([',', ' ', '\t']).filter(|t| !t.is_empty()).map(str::to_string).collect()
}

/// Asks for what the flags have not said.
pub fn ask(a: &mut Answers, talk: &mut Talk) -> Result<(), Problem> {
    if a.subject.is_empty() && a.query.is_none() {
        a.subject = list(&talk.question(
            "What are the pages about?",
            "words and phrases, separated by commas, e.g. relational model, sql, query optimization; empty for anything",
        )?);
    }
    let genres: Vec<&str> = focus::topic::presets::all().iter().map(|p| p.name).collect();
    while a.genre.is_none() {
        let help = format!("one of {}; empty for any kind", genres.join(", "));
        let genre = talk.question("What kind of page?", &help)?;
        if genre.is_empty() {
            break;
        }
        match focus::topic::presets::find_all(std::slice::from_ref(&genre)) {
            Ok(_) => a.genre = Some(genre),
            Err(problem) => talk.say(&problem.to_string()),
        }
    }
    if a.examples.is_empty() {
        a.examples = addresses(&talk.question(
            "Do you know pages like those you want?",
            "URLs or files, best three to ten, separated by blanks: terms are taken from them; empty if none",
        )?);
    }
    if a.subject.is_empty() && a.query.is_none() && a.genre.is_none() && a.examples.is_empty() {
        return Err(Problem::usage("a topic needs a subject, a kind of page, or examples")
            .hint("nothing was written; run `gleaner new` again"));
    }
    if a.seeds.is_empty() && a.engine.is_none() {
        let answer = talk.question(
            "Where to start?",
            "URLs of pages that list or link to what you want; or a search engine: searxng:URL, brave, google, \
             rss:URL, collection:DIR; empty for later",
        )?;
        let kind = answer.split(':').next().unwrap_or("");
        if crate::engines::NAMES.contains(&kind) {
            a.engine = Some(answer);
        } else {
            a.seeds = addresses(&answer);
        }
    }
    if a.name.is_empty() {
        a.name = talk.question("What shall the collection be called?", "empty: made from your answers")?;
    }
    Ok(())
}

/// Judges the examples and seeds by the new topic, and says what that means. Only for looking at: nothing fails here.
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
    let analyst = Made::new(&config.topic()?, pages.canon(), &answer, names.len(), 0)?.analyst;
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
    eprintln!("  {relevant} of {} relevant; {}\n", assessed.len(), judge.explain().unwrap_or_default());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn talk(said: &'static str) -> Talk {
        Talk { input: Box::new(said.as_bytes()), out: Box::new(std::io::sink()), keys: false }
    }

    #[test]
    fn a_conversation() {
        let mut a = Answers::default();
        ask(
            &mut a,
            &mut talk("sql, b-trees\nsylabus\nsyllabus\nx.html, y.html\nsearxng:http://e.org\nMine\n"),
        )
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
        ask(&mut a, &mut talk("\nhttp://a.org/ http://b.org/\n\n")).unwrap();
        assert_eq!(a.seeds, ["http://a.org/", "http://b.org/"]);
        // Nothing is no topic; nobody is no answer.
        assert!(ask(&mut Answers::default(), &mut talk("\n\n\n")).is_err());
        assert!(ask(&mut Answers::default(), &mut talk("sql\n")).is_err());
    }
}
