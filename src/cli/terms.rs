//! `gleaner terms PAGES…`: terms suggested from example pages, picked by the user, put into the topic file.

use super::picker::pick;
use super::setup::{self, FetchFlags};
use crate::pages::{PageSourceArgs, Pages, doc};
use crate::text::{save, strip_controls, things};
use clap::Args as ClapArgs;
use console::style;
use crawl::config::Config;
use focus::text::{Doc, TextOptions};
use focus::topic::edit::TopicFile;
use focus::topic::generate::{self, Generated, Known, LONGEST, Options, Rank, SHOWN, Suggestion};
use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use types::Problem;

const EXAMPLES: &str = "\
Examples:
  gleaner terms https://www.example.edu/db101/ https://www.example.org/sql/syllabus.html
  gleaner terms good1.html good2.html --background other/ --into db.toml
  gleaner terms db1.html db2.html --genre-pages any-syllabus1.html any-syllabus2.html --rank frequency
  gleaner terms --collection db --into db.toml         from the pages labelled with `gleaner label`

In a terminal, --into asks which of the suggestions to take; otherwise all of them are taken. Into a pipe, each line is
set<TAB>term<TAB>occurrences<TAB>pages<TAB>score; the sets are genre, content and url.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Pages that are wanted: URLs or files (of a --collection: those labelled relevant, unless named)
    pages: Vec<String>,
    /// Pages of the right kind, whatever they are about
    #[arg(long, value_name = "URL|FILE", num_args = 1..)]
    genre_pages: Vec<String>,
    /// Pages that are not wanted, to compare with: URLs, files or folders of files
    #[arg(long, value_name = "URL|FILE|DIR", num_args = 1..)]
    background: Vec<String>,
    /// Rank by log-odds against the background (default, when there is one) or by frequency
    #[arg(long, value_name = "log-odds|frequency")]
    rank: Option<String>,
    /// Most genre terms suggested
    #[arg(long, value_name = "N", default_value_t = 20)]
    genre_terms: usize,
    /// Most content terms suggested
    #[arg(long, value_name = "N", default_value_t = SHOWN)]
    content_terms: usize,
    /// Most words of the pages' addresses suggested
    #[arg(long, value_name = "N", default_value_t = 6)]
    url_terms: usize,
    /// Longest phrase, in words (1 to 3)
    #[arg(long, value_name = "N", default_value_t = LONGEST, value_parser = words)]
    words: usize,
    /// Add the terms to this topic file; its comments and order stay as they are
    #[arg(long, value_name = "TOPIC.toml")]
    into: Option<PathBuf>,
    /// Take all suggestions, ask nothing
    #[arg(long)]
    yes: bool,
    #[command(flatten)]
    from: PageSourceArgs,
    #[command(flatten)]
    fetch: FetchFlags,
    /// The suggestions, as JSON
    #[arg(long)]
    json: bool,
}

fn words(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|n| (1..=LONGEST).contains(n)).ok_or(format!("a number from 1 to {LONGEST}"))
}

/// Background pages taken of a collection, a web or a folder: evenly spread when there are more.
const BACKGROUND: usize = 1000;

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let rank = rank(args.rank.as_deref())?;
    let mut flags = toml::Table::new();
    args.fetch.lay(&mut flags);
    // The topic file's own fetch settings (contact, proxy) apply; without one, the flags alone.
    let config = match &args.into {
        Some(path) => setup::load(Some(path), flags)?.config,
        None => Config::load("", "the command line", flags)?.config,
    };
    let source = Pages::open(&args.from, &config)?;
    let reader = Readers::new(&source);
    let mut names = args.pages.clone();
    if names.is_empty() && args.genre_pages.is_empty() {
        names = labelled(&source)?;
    }
    let mut failed = 0;
    let relevant = reader.docs(&names, &mut failed);
    let genre = reader.docs(&args.genre_pages, &mut failed);
    if relevant.is_empty() && genre.is_empty() {
        return Err(
            Problem::nothing("no example page could be read").hint("name files or URLs of pages you want")
        );
    }
    let background = reader.background(&args.background, &names, &args.genre_pages, &mut failed)?;
    let contrast = !background.is_empty() || (!genre.is_empty() && !relevant.is_empty());
    // Who asks for the paper's ranking gets the paper's.
    let tidy = rank != Some(Rank::Frequency);
    let rank = match rank {
        Some(Rank::LogOdds) if !contrast => {
            return Err(Problem::usage("--rank log-odds needs something to compare with").hint(
                "give pages that are not wanted with --background (files, URLs or a folder), or use --rank \
                 frequency",
            ));
        }
        Some(rank) => rank,
        None if contrast => Rank::LogOdds,
        None => {
            eprintln!(
                "{} ranked by frequency; --background with pages that are not wanted gives better terms",
                style("note:").cyan().for_stderr()
            );
            Rank::Frequency
        }
    };
    let (genre_terms, content_terms, url) = (args.genre_terms, args.content_terms, args.url_terms);
    let options = Options {
        rank,
        genre: genre_terms,
        content: content_terms,
        url,
        words: args.words,
        tidy,
        sure: false,
    };
    let generated = generate::generate(
        &genre.iter().collect::<Vec<_>>(),
        &relevant.iter().collect::<Vec<_>>(),
        &background.iter().collect::<Vec<_>>(),
        Known { subject: &subject(&config), terms: &known(&config) },
        &options,
    );
    if generated.genre.is_empty() && generated.content.is_empty() {
        eprintln!("nothing to suggest: the pages have no terms of their own that the topic does not have");
    }
    let ask = !args.yes && std::io::stdin().is_terminal() && std::io::stderr().is_terminal();
    if args.json {
        print_json(&generated);
    } else if args.into.is_some() && ask && std::io::stdout().is_terminal() {
        // They are shown to be ticked.
    } else if std::io::stdout().is_terminal() {
        show("genre", &generated.genre);
        show("content", &generated.content);
        show("url", &generated.url);
    } else {
        plain("genre", &generated.genre);
        plain("content", &generated.content);
        plain("url", &generated.url);
    }
    if let Some(path) = &args.into {
        into(path, &config, &generated, ask)?;
    }
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn rank(name: Option<&str>) -> Result<Option<Rank>, Problem> {
    Ok(match name {
        None => None,
        Some("log-odds") => Some(Rank::LogOdds),
        Some("frequency") => Some(Rank::Frequency),
        Some(other) => {
            return Err(Problem::usage(format!("--rank {other}: there is no such ranking"))
                .hint("log-odds (against the background) or frequency (the paper's)"));
        }
    })
}

/// What the topic is about, as far as it says so.
pub fn subject(config: &Config) -> Vec<String> {
    config.topic().map_or_else(|_| config.content.terms.clone(), |t| t.content.own)
}

/// A preset's URL words count only while the topic has none of its own: they join the first that are added.
pub fn with_preset_words(config: &Config, words: Vec<String>) -> Vec<String> {
    let Ok(topic) = config.topic() else { return words };
    if words.is_empty() {
        return words;
    }
    let preset = topic.url.presets.iter().flat_map(|p| p.url.iter().map(|w| w.to_string()));
    let mut out: Vec<String> = preset.collect();
    out.extend(words);
    let mut seen = HashSet::new();
    out.retain(|w| seen.insert(w.clone()));
    out
}

/// Terms the topic has already, in every language.
pub fn known(config: &Config) -> Vec<String> {
    let Ok(topic) = config.topic() else { return Vec::new() };
    let mut out = topic.genre.own.clone();
    out.extend(topic.content.own.iter().cloned());
    for preset in &topic.genre.presets {
        out.extend(preset.terms.iter().flat_map(|(_, terms)| terms.iter().map(|t| t.to_string())));
    }
    out
}

/// The pages of a collection that the user has called relevant.
fn labelled(source: &Pages) -> Result<Vec<String>, Problem> {
    let Some(reader) = source.reader() else {
        return Err(Problem::usage("no pages to take terms from")
            .hint("name URLs or files of pages you want, or a --collection with labelled pages"));
    };
    let yes: Vec<String> =
        reader.labels().iter().filter(|(_, yes)| *yes).filter_map(|(id, _)| reader.url(id)).collect();
    if yes.is_empty() {
        return Err(Problem::nothing(format!(
            "no page of {} is labelled \
                                             relevant",
            reader.dir().display()
        ))
        .hint(
            "label some with `gleaner label DIR URL… --yes`, or name pages of the collection on the command \
             line",
        ));
    }
    Ok(yes)
}

/// Reads pages into documents. Terms are suggested as they are written: no stemming, whatever the topic does.
pub struct Readers<'a> {
    source: &'a Pages,
    options: extract::Options,
    text: TextOptions,
}

impl Readers<'_> {
    pub fn new(source: &Pages) -> Readers<'_> {
        let options = extract::Options { canon: source.canon().clone(), ..extract::Options::default() };
        Readers { source, options, text: TextOptions::default() }
    }

    /// Every page that can be read; the others are said and counted.
    pub fn docs(&self, names: &[String], failed: &mut usize) -> Vec<Doc> {
        let mut out = Vec::new();
        for name in names {
            match self.source.page(name).and_then(|f| doc(&f, &self.options, &self.text)) {
                Ok(doc) => out.push(doc),
                Err(problem) => {
                    *failed += 1;
                    eprintln!("{} {problem}", style("warning:").yellow().for_stderr());
                }
            }
        }
        out
    }

    /// What to compare with: what was named, or other pages of the collection or web.
    pub fn background(
        &self,
        named: &[String],
        pages: &[String],
        genre: &[String],
        failed: &mut usize,
    ) -> Result<Vec<Doc>, Problem> {
        if !named.is_empty() {
            let mut names = Vec::new();
            for name in named {
                if Path::new(name).is_dir() {
                    names.extend(spread(files(Path::new(name))?, BACKGROUND));
                } else {
                    names.push(name.clone());
                }
            }
            return Ok(self.docs(&names, failed));
        }
        let used: HashSet<&String> = pages.iter().chain(genre).collect();
        if let Some(reader) = self.source.reader() {
            let labels = reader.labels();
            let mut names = Vec::new();
            for record in reader.records(true) {
                let record = record?;
                if !used.contains(&record.url) && labels.get(record.id) != Some(true) {
                    names.push(record.url);
                }
            }
            return Ok(self.docs(&spread(names, BACKGROUND), failed));
        }
        let Some(web) = self.source.web() else { return Ok(Vec::new()) };
        let step = (web.pages() / BACKGROUND).max(1);
        let names: Vec<String> =
            (0..web.pages()).step_by(step).filter_map(|n| web.page(n)).map(|u| u.to_string()).collect();
        let names = names.into_iter().filter(|n| !used.contains(n));
        // Pictures and the like in a web's list are no background, and no failure.
        let read = |n: String| self.source.page(&n).and_then(|f| doc(&f, &self.options, &self.text)).ok();
        Ok(names.filter_map(read).collect())
    }
}

/// At most `most` of them, evenly spread.
pub fn spread(list: Vec<String>, most: usize) -> Vec<String> {
    let step = list.len().div_ceil(most.max(1)).max(1);
    list.into_iter().step_by(step).collect()
}

/// The files below a folder, in order; hidden ones and links to elsewhere are left out.
fn files(dir: &Path) -> Result<Vec<String>, Problem> {
    const MOST: usize = 100_000;
    let mut out = Vec::new();
    let mut folders = vec![dir.to_path_buf()];
    while let Some(folder) = folders.pop() {
        let entries = std::fs::read_dir(&folder).map_err(|e| Problem::io("read the folder", &folder, &e))?;
        for entry in entries.flatten() {
            let hidden = entry.file_name().to_string_lossy().starts_with('.');
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && !hidden {
                folders.push(entry.path());
            } else if kind.is_file() && !hidden && out.len() < MOST {
                out.push(entry.path().display().to_string());
            }
        }
    }
    out.sort();
    Ok(out)
}

/// A suggestion in a list for people.
pub fn line(s: &Suggestion) -> String {
    let pages = if s.pages == 1 { "page" } else { "pages" };
    let detail = format!("×{} on {} {pages}, {:.1}", s.count, s.pages, s.score);
    format!("{:<32} {}", strip_controls(&s.term), style(detail).dim())
}

fn show(set: &str, list: &[Suggestion]) {
    if list.is_empty() {
        return;
    }
    println!("{}", style(format!("{set} terms")).bold());
    for (i, s) in list.iter().enumerate() {
        println!("  {:>3}  {}", i + 1, line(s));
    }
    println!();
}

fn plain(set: &str, list: &[Suggestion]) {
    for s in list {
        println!("{set}\t{}\t{}\t{}\t{:.3}", strip_controls(&s.term), s.count, s.pages, s.score);
    }
}

fn print_json(g: &Generated) {
    let list = |l: &[Suggestion]| -> Vec<serde_json::Value> {
        let one = |s: &Suggestion| serde_json::json!({ "term": s.term, "count": s.count, "pages": s.pages, "score": s.score });
        l.iter().map(one).collect()
    };
    println!(
        "{}",
        serde_json::json!({ "genre": list(&g.genre), "content": list(&g.content), "url": list(&g.url) })
    );
}

/// Adds what is picked (or all) to the topic file.
fn into(path: &Path, config: &Config, generated: &Generated, ask: bool) -> Result<(), Problem> {
    let text = std::fs::read_to_string(path).map_err(|e| Problem::io("read", path, &e))?;
    let mut file = TopicFile::parse(&text, &path.display().to_string())?;
    let mut added = 0;
    for (set, list) in [("genre", &generated.genre), ("content", &generated.content), ("url", &generated.url)]
    {
        let mut terms: Vec<String> = list.iter().map(|s| s.term.clone()).collect();
        if ask && !terms.is_empty() {
            let shown: Vec<String> = list.iter().map(line).collect();
            let what = format!("{set} terms");
            let chosen = pick(&what, &shown, true, &mut std::io::stdin().lock(), &mut std::io::stderr())?;
            terms = chosen.into_iter().filter_map(|i| terms.get(i).cloned()).collect();
        }
        if set == "url" {
            terms = with_preset_words(config, terms);
        }
        added += file.add_terms(set, "terms", &terms)?;
    }
    if added == 0 {
        eprintln!("nothing was added to {}", path.display());
        return Ok(());
    }
    save(path, &file.text())?;
    eprintln!("added {} to {}", things(added as u64, "term"), path.display());
    eprintln!("try it on a page:  gleaner judge {} URL", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spread_evenly() {
        let list: Vec<String> = (0..10).map(|i| i.to_string()).collect();
        assert_eq!(spread(list.clone(), 5), ["0", "2", "4", "6", "8"]);
        assert_eq!(spread(list.clone(), 100).len(), 10);
        assert_eq!(spread(Vec::new(), 5).len(), 0);
    }
}
