//! `gleaner seeds TOPIC.toml --engine …`: seed pages from a search engine, by the query builders of Siqueira.

use super::reach::{self, Reach};
use super::setup::{self, FetchFlags};
use crate::engines::{self, Hits, SearchEngine, WEB, section_of};
use crate::text::{save, shorten, strip_controls, things};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::Collection;
use crawl::config::Config;
use focus::text::Language;
use focus::topic::Topic;
use focus::topic::edit::TopicFile;
use focus::topic::queries::Builder;
use std::collections::HashSet;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use types::{Canon, Problem, Url};

const EXAMPLES: &str = "\
Examples:
  gleaner seeds db.toml --engine searxng:http://localhost:8888 --into db.toml
  gleaner seeds db.toml --engine 'searxng:http://127.0.0.1:7700/?token=…'    what `gleaner serve DIR` has printed
  gleaner seeds db.toml --engine brave --builder unionFirst,justContent --limit 40 > found.tsv
  gleaner seeds db.toml --engine 'rss:https://example.org/search?q={searchTerms}&format=rss'
  gleaner seeds db.toml --engine collection:other-db       from what another crawl has indexed
  gleaner seeds db.toml --queries                          only show the queries

Each result is fetched once, as robots.txt allows, and left out when it cannot be had (--no-check keeps all). Engines
that keep news, discussions, papers or software apart (SearXNG; Brave the first two) are asked for those too when the
topic has a genre of that kind, or with --sections.

Keys come from the environment: BRAVE_API_KEY; GOOGLE_API_KEY and GOOGLE_CX. Into a pipe, each line is
url<TAB>rank<TAB>status<TAB>genre<TAB>section<TAB>builder<TAB>query<TAB>title, which `--seeds FILE` reads.

Builders: unionOR, union, unionFirstOR, unionFirst (default), intersection, intersectionFirst, justContent,
justContentOR, justGenre, justGenreOR, or `all`.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Topic file
    #[arg(value_name = "TOPIC.toml")]
    topic: PathBuf,
    /// searxng:URL, brave, google, rss:URL with {searchTerms}, or collection:DIR
    #[arg(long, value_name = "ENGINE", required_unless_present = "queries")]
    engine: Option<String>,
    /// How queries are made of the terms, separated by commas, or `all`
    #[arg(long, value_name = "NAME", default_value = "unionFirst")]
    builder: String,
    /// Most seeds in all
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..))]
    limit: u16,
    /// Language of a preset's terms (en, pt, es, de, fr)
    #[arg(long, value_name = "CODE", default_value = "en")]
    language: String,
    /// Sections of the engine to ask, separated by commas: web, news, discussions, papers, software
    #[arg(long, value_name = "a,b")]
    sections: Option<String>,
    /// Do not fetch the results to see whether they can be had
    #[arg(long)]
    no_check: bool,
    /// Add the seeds to this topic file
    #[arg(long, value_name = "TOPIC.toml")]
    into: Option<PathBuf>,
    /// Show the queries, ask nobody
    #[arg(long)]
    queries: bool,
    #[command(flatten)]
    fetch: FetchFlags,
    /// One JSON object per seed
    #[arg(long)]
    json: bool,
}

/// One query and where it comes from.
struct Query {
    /// The genre it is about, when the topic has several.
    genre: String,
    section: &'static str,
    builder: Builder,
    text: String,
}

/// A seed and what found it.
struct Seed {
    url: Url,
    title: String,
    /// Place in the results of its query, from 1.
    rank: usize,
    query: usize,
    reach: Option<Reach>,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let mut flags = toml::Table::new();
    args.fetch.lay(&mut flags);
    let config = setup::load(Some(&args.topic), flags)?.config;
    let topic = config.topic()?;
    let builders = builders(&args.builder)?;
    let language = Language::from_code(&args.language).ok_or_else(|| {
        Problem::usage(format!("--language {}: unknown", args.language)).hint("en, pt, es, de or fr")
    })?;
    let engine = match (&args.engine, args.queries) {
        (Some(spec), false) => Some(engines::open(spec, &config)?),
        _ => None,
    };
    let longest = engine.as_ref().map_or(2_000, |e| e.longest_query());
    let sections = sections(args.sections.as_deref(), engine.as_deref())?;
    let queries = queries(&topic, &builders, language, longest, &sections)?;
    let Some(engine) = engine else {
        for q in &queries {
            println!("{}\t{}\t{}\t{}", q.genre, q.section, q.builder.name(), strip_controls(&q.text));
        }
        return Ok(ExitCode::SUCCESS);
    };
    let limit = usize::from(args.limit);
    let (seeds, failed) = gather(engine.as_ref(), &queries, limit, &config, !args.no_check)?;
    output(&args, &seeds, &queries, &engine.name());
    if let Some(path) = &args.into {
        add(path, &seeds)?;
    }
    Ok(if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Asks, and leaves out what cannot be had.
fn gather(
    engine: &dyn SearchEngine,
    queries: &[Query],
    limit: usize,
    config: &Config,
    check: bool,
) -> Result<(Vec<Seed>, bool), Problem> {
    let (mut seeds, failed) = ask(engine, queries, limit, &Collection::canon(config))?;
    if check && engine.live() {
        let urls: Vec<Url> = seeds.iter().map(|s| s.url.clone()).collect();
        let answers = reach::check(&urls, config)?;
        for (seed, answer) in seeds.iter_mut().zip(answers) {
            seed.reach = Some(answer);
        }
        for s in &seeds {
            if let Some(Reach::Failed(why)) = &s.reach {
                eprintln!("{} {}: {why}", style("left out:").yellow().for_stderr(), s.url);
            }
        }
        seeds.retain(|s| !matches!(s.reach, Some(Reach::Failed(_))));
        if seeds.is_empty() {
            return Err(Problem::nothing("none of the results could be fetched")
                .hint("`gleaner fetch URL` shows what one answers; --no-check keeps them all"));
        }
    }
    Ok((seeds, failed))
}

/// Seeds for a topic in the usual way: (URL, title), best first.
pub fn usual(
    spec: &str,
    config: &Config,
    more: &[String],
    limit: usize,
) -> Result<Vec<(String, String)>, Problem> {
    let engine = engines::open(spec, config)?;
    let sections = Sections { list: engine.sections().to_vec(), named: false };
    let builders = [Builder::UnionFirst, Builder::JustContent];
    let mut queries =
        queries(&config.topic()?, &builders, Language::English, engine.longest_query(), &sections)?;
    // Those that were drafted with the topic.
    queries.extend(more.iter().map(|text| Query {
        genre: String::new(),
        section: WEB,
        builder: Builder::UnionFirst,
        text: text.clone(),
    }));
    let (seeds, _) = gather(engine.as_ref(), &queries, limit, config, true)?;
    Ok(seeds.into_iter().map(|s| (s.url.to_string(), s.title)).collect())
}

fn builders(text: &str) -> Result<Vec<Builder>, Problem> {
    if text.trim().eq_ignore_ascii_case("all") {
        return Ok(Builder::ALL.to_vec());
    }
    let mut out: Vec<Builder> = Vec::new();
    for name in text.split(',').filter(|n| !n.trim().is_empty()) {
        let builder = Builder::named(name)?;
        if !out.contains(&builder) {
            out.push(builder);
        }
    }
    if out.is_empty() {
        return Err(Problem::usage("no query builder").hint("the usual one is --builder unionFirst"));
    }
    Ok(out)
}

/// Which sections may be asked, and whether for every genre (they were named) or only where they fit.
struct Sections {
    list: Vec<&'static str>,
    named: bool,
}

fn sections(named: Option<&str>, engine: Option<&dyn SearchEngine>) -> Result<Sections, Problem> {
    let known = engine.map_or(engines::SECTIONS, |e| e.sections());
    let Some(text) = named else { return Ok(Sections { list: known.to_vec(), named: false }) };
    let mut list = Vec::new();
    for name in text.split(',').map(str::trim).filter(|n| !n.is_empty()) {
        let Some(section) = known.iter().find(|k| k.eq_ignore_ascii_case(name)) else {
            let who = engine.map_or("no engine".into(), |e| e.name());
            return Err(Problem::usage(format!("--sections {name}: {who} does not keep that apart"))
                .hint(format!("it has {}", known.join(", "))));
        };
        if !list.contains(section) {
            list.push(*section);
        }
    }
    if list.is_empty() {
        return Err(Problem::usage("--sections names none").hint(format!("one of {}", known.join(", "))));
    }
    Ok(Sections { list, named: true })
}

/// The queries: every builder for each genre of the topic (Pappas asks per genre), in the sections where it
/// may be found.
fn queries(
    topic: &Topic,
    builders: &[Builder],
    language: Language,
    longest: usize,
    sections: &Sections,
) -> Result<Vec<Query>, Problem> {
    let content = topic.content.for_language(Some(language), &topic.text.options);
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    if topic.genre.presets.len() > 1 {
        for preset in &topic.genre.presets {
            let list = preset.list(Some(language)).iter().map(|t| t.to_string());
            groups.push((preset.name.to_string(), topic.genre.own.iter().cloned().chain(list).collect()));
        }
    } else {
        let name = topic.genre.presets.first().map_or(String::new(), |p| p.name.to_string());
        groups.push((name, topic.genre.for_language(Some(language), &topic.text.options)));
    }
    let mut out: Vec<Query> = Vec::new();
    for (genre, terms) in &groups {
        for builder in builders {
            let Some((text, left_out)) = builder.query_within(terms, &content, longest) else { continue };
            if left_out > 0 {
                eprintln!(
                    "{} {}: {left_out} terms left out, the engine takes {longest} characters",
                    style("note:").cyan().for_stderr(),
                    builder.name()
                );
            }
            for section in &sections.list {
                let fits = sections.named || *section == WEB || section_of(genre) == Some(*section);
                // justContent is the same for every genre.
                if fits && !out.iter().any(|q| q.text == text && q.section == *section) {
                    let (genre, text) = (genre.clone(), text.clone());
                    out.push(Query { genre, section, builder: *builder, text });
                }
            }
        }
    }
    if out.is_empty() {
        let names: Vec<&str> = builders.iter().map(|b| b.name()).collect();
        return Err(Problem::nothing(format!("the topic has no terms for {}", names.join(", "))).hint(
            "add terms under [content] or [genre] (`gleaner terms` suggests some), or use another --builder",
        ));
    }
    Ok(out)
}

/// Asks every query; results best first, each page once. A query that fails is said; all of them failing is
/// an error.
fn ask(
    engine: &dyn SearchEngine,
    queries: &[Query],
    limit: usize,
    canon: &Canon,
) -> Result<(Vec<Seed>, bool), Problem> {
    let mut all: Vec<Seed> = Vec::new();
    let mut first_problem = None;
    let mut answered = false;
    for (number, query) in queries.iter().enumerate() {
        let mut hits = Hits::new(limit, canon.clone());
        match engine.search(&query.text, query.section, &mut hits) {
            Ok(()) => {
                answered = true;
                if hits.count() == 0 {
                    eprintln!("{} nothing found for: {}", style("note:").cyan().for_stderr(), query.text);
                }
                all.extend(hits.into_vec().into_iter().map(|h| Seed {
                    url: h.url,
                    title: h.title,
                    rank: h.rank,
                    query: number,
                    reach: None,
                }));
            }
            Err(problem) => {
                if queries.len() > 1 {
                    eprintln!(
                        "{} {}: {problem}",
                        style("warning:").yellow().for_stderr(),
                        query.builder.name()
                    );
                }
                first_problem.get_or_insert(problem);
            }
        }
    }
    if let (false, Some(problem)) = (answered, first_problem.clone()) {
        return Err(problem);
    }
    if all.is_empty() {
        return Err(Problem::nothing(format!("{} found nothing", engine.name())).hint(
            "try --builder justContent or --builder unionOR, or shorter terms; --queries shows what is asked",
        ));
    }
    // The best of every query first; the order of the queries breaks ties.
    all.sort_by_key(|s| (s.rank, s.query));
    let mut known = HashSet::new();
    all.retain(|s| known.insert(s.url.clone()));
    all.truncate(limit);
    Ok((all, first_problem.is_some()))
}

fn output(args: &Args, seeds: &[Seed], queries: &[Query], engine: &str) {
    let terminal = std::io::stdout().is_terminal() && !args.json;
    if terminal {
        eprintln!("{} from {engine}", things(seeds.len() as u64, "seed"));
    }
    let mut heading = String::new();
    for s in grouped(seeds, queries, terminal) {
        let Some(q) = queries.get(s.query) else { continue };
        if terminal {
            let of =
                [q.genre.as_str(), q.section].iter().filter(|t| !t.is_empty()).copied().collect::<Vec<_>>();
            let of = of.join(", ");
            if of != heading {
                println!("{}", style(&of).bold());
                heading = of;
            }
        }
        let status = match s.reach {
            Some(Reach::Fine(status)) => status.to_string(),
            _ => "-".into(),
        };
        let title = shorten(&strip_controls(&s.title), 100);
        let line = if args.json {
            serde_json::json!({
                "url": s.url.as_str(), "title": s.title, "rank": s.rank, "genre": q.genre, "section": q.section,
                "builder": q.builder.name(), "query": q.text,
                "status": match s.reach { Some(Reach::Fine(status)) => Some(status), _ => None },
            })
            .to_string()
        } else if terminal {
            let by = format!("{} of {}", s.rank, q.text);
            format!("{}\n    {title}  {}", style(s.url.as_str()).cyan(), style(shorten(&by, 80)).dim())
        } else {
            let (builder, query) = (q.builder.name(), strip_controls(&q.text));
            format!(
                "{}\t{}\t{status}\t{}\t{}\t{builder}\t{query}\t{title}",
                s.url, s.rank, q.genre, q.section
            )
        };
        println!("{line}");
    }
}

/// For people, by genre and section; for programs, the best of every query first.
fn grouped<'a>(seeds: &'a [Seed], queries: &[Query], terminal: bool) -> Vec<&'a Seed> {
    let mut out: Vec<&Seed> = seeds.iter().collect();
    if terminal {
        out.sort_by_key(|s| queries.get(s.query).map(|q| (q.genre.clone(), q.section)));
    }
    out
}

fn add(path: &Path, seeds: &[Seed]) -> Result<(), Problem> {
    let text = std::fs::read_to_string(path).map_err(|e| Problem::io("read", path, &e))?;
    let mut file = TopicFile::parse(&text, &path.display().to_string())?;
    let urls: Vec<String> = seeds.iter().map(|s| s.url.to_string()).collect();
    let added = file.add_strings("seeds", "urls", &urls)?;
    if added > 0 {
        save(path, &file.text())?;
    }
    eprintln!("added {} to {}", things(added as u64, "seed"), path.display());
    Ok(())
}
