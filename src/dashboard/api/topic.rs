//! Topics: what a collection's says, and whether a new one makes sense.

use super::super::App;
use super::super::reply::{Refusal, Reply};
use super::super::route::Call;
use crawl::config::Config;
use focus::judges::JudgeSetup;
use focus::strategies::StrategySetup;
use focus::topic::sentence::Sentence;
use focus::topic::{TermList, Topic, presets};
use serde::Deserialize;
use serde_json::{Value, json};
use types::Problem;

pub fn of_collection(app: &App, call: &Call) -> Result<Reply, Refusal> {
    let volume = app.shelf.get(call.text("collection").unwrap_or(""))?;
    let view = volume.view()?;
    let text = view.reader.topic_text();
    let config = view.reader.config();
    let topic = view.reader.topic()?;
    Ok(Reply::json(&json!({ "text": text, "meaning": meaning(config, &topic) })))
}

fn terms(list: &TermList, topic: &Topic) -> Value {
    let all = list.for_language(None, &topic.text.options);
    let presets: Vec<&str> = list.presets.iter().map(|p| p.name).collect();
    json!({ "own": list.own, "all": all, "presets": presets })
}

/// What the settings come to.
pub fn meaning(config: &Config, topic: &Topic) -> Value {
    let l = &config.limits;
    json!({
        "name": topic.name,
        "description": config.description,
        "examples": config.examples.relevant,
        "query": topic.query,
        "genre": terms(&topic.genre, topic),
        "content": terms(&topic.content, topic),
        "url": terms(&topic.url, topic),
        "exclude": topic.exclude,
        "judge": topic.judge.kind,
        "strategy": topic.strategy.kind,
        "seeds": config.seeds.urls,
        "limits": {
            "pages": l.pages, "relevant": l.relevant, "time_ms": l.time.map(|t| t.0.as_millis() as u64),
            "depth": l.depth, "per_host": l.per_host,
        },
        "fetch": {
            "concurrency": config.fetch.concurrency, "delay_ms": config.fetch.delay.0.as_millis() as u64,
            "contact": config.fetch.contact,
        },
    })
}

fn choices(list: impl Iterator<Item = (&'static str, &'static str)>) -> Result<Reply, Refusal> {
    let list: Vec<Value> = list.map(|(name, summary)| json!({ "name": name, "summary": summary })).collect();
    Ok(Reply::json(&json!({ "choices": list })))
}

pub fn strategies(_: &App, _: &Call) -> Result<Reply, Refusal> {
    choices(focus::strategies::ALL.iter().map(|e| (e.name, e.summary)))
}
pub fn judges(_: &App, _: &Call) -> Result<Reply, Refusal> {
    choices(focus::judges::ALL.iter().map(|e| (e.name, e.summary)))
}
pub fn genres(_: &App, _: &Call) -> Result<Reply, Refusal> {
    choices(presets::all().iter().map(|p| (p.name, p.summary)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct TopicText {
    topic: String,
}

/// Reads a topic as a crawl would. Files and example pages that it names are not opened: the text may come
/// from anywhere.
pub fn read(text: &str) -> Result<(Config, Topic), Problem> {
    let config = Config::load(text, "topic.toml", toml::Table::new())?.config;
    from_outside(&config)?;
    let topic = config.topic()?;
    focus::judges::find(&topic.judge.kind)?;
    focus::strategies::find(&topic.strategy.kind)?;
    if topic.examples.relevant.is_empty()
        && topic.examples.irrelevant.is_empty()
        && topic.examples.genre.is_empty()
    {
        // Judges that learn need their examples; the others say by being built whether their options fit.
        focus::judges::build(&JudgeSetup::new(&topic))?;
        focus::strategies::build(&StrategySetup::new(&topic))?;
    }
    Ok((config, topic))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wish {
    sentence: String,
}

/// A sentence in parts: the kind of page, the subject, what is not wanted. By rules alone; nothing is asked
/// elsewhere.
pub fn draft(_: &App, call: &Call) -> Result<Reply, Refusal> {
    let Wish { sentence } = call.body()?;
    let read = Sentence::read(&sentence);
    let wanted = sentence.split([',', ';', '.']).next().unwrap_or("").trim();
    let mut letters = wanted.chars();
    let name = letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect());
    Ok(Reply::json(&json!({
        "name": name, "genre": read.genre, "subject": read.subject, "exclude": read.unwanted().0,
    })))
}

pub fn problem(p: &Problem) -> Value {
    json!({ "what": p.what(), "because": p.cause(), "hint": p.next_step() })
}

pub fn check(_: &App, call: &Call) -> Result<Reply, Refusal> {
    let TopicText { topic } = call.body()?;
    Ok(Reply::json(&match read(&topic) {
        Ok((config, topic)) => json!({ "ok": true, "problem": null, "meaning": meaning(&config, &topic) }),
        Err(p) => json!({ "ok": false, "problem": problem(&p), "meaning": null }),
    }))
}

/// A topic that came over the network may not open files of this machine, nor lift the guard against inner
/// addresses.
fn from_outside(config: &Config) -> Result<(), Problem> {
    let refuse = |what: &str| {
        Err(Problem::usage(format!("{what} cannot be set from the dashboard"))
            .hint("start such a crawl with `gleaner crawl`, or give the option to `gleaner serve`"))
    };
    let url = |s: &String| s.starts_with("http://") || s.starts_with("https://");
    let e = &config.examples;
    if ![&e.relevant, &e.irrelevant, &e.genre].into_iter().flatten().all(url) {
        return refuse("[examples] that are files");
    }
    // It would be given this machine's key, and may be inside its network.
    if config.teacher.url.is_some() {
        return refuse("[teacher] url");
    }
    if !config.seeds.files.is_empty() {
        return refuse("[seeds] files");
    }
    if config.text.wordnet.is_some()
        || config.text.idf.as_deref().is_some_and(|i| !matches!(i, "one" | "online"))
    {
        return refuse("[text] with files");
    }
    let f = &config.fetch;
    let ways = !f.resolve.is_empty() || !f.proxy.0.is_empty();
    // Files and variables of whoever runs the server are nobody else's.
    let secrets = f.cookies_file.is_some() || !f.logins.is_empty();
    if f.allow_private || ways || secrets || !f.robots {
        return refuse("[fetch] allow_private, resolve, proxy, cookies_file, logins or robots");
    }
    if config.judge.model.is_some() || config.strategy.model.is_some() {
        return refuse("[judge] or [strategy] model");
    }
    if names_files(&config.judge.options) || names_files(&config.strategy.options) {
        return refuse("options that name files");
    }
    Ok(())
}

/// Options of judges and strategies may name files as well; which ones, only they know. Judges may be made of
/// others, each with options of its own.
fn names_files(options: &toml::Table) -> bool {
    fn path_like(v: &toml::Value) -> bool {
        match v {
            toml::Value::String(s) => s.contains(['/', '\\']) || s.starts_with('.'),
            toml::Value::Array(all) => all.iter().any(path_like),
            toml::Value::Table(t) => names_files(t),
            _ => false,
        }
    }
    options.iter().any(|(k, v)| matches!(k.as_str(), "taxonomy" | "file" | "model") || path_like(v))
}
