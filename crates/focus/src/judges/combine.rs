//! Judges made of judges: `all`, `any`, `weighted`.

use super::{Judge, JudgeEntry, JudgeSetup, Measure, Needs, Thresholded, find};
use crate::text::Doc;
use crate::topic::{Threshold, Topic, WeightsSection};
use learn::bytes::{Reader, Writer, damaged};
use serde::Deserialize;
use types::{Assessment, Features, Hit, Label, Part, Problem, Verdict};

pub(super) const ALL_OF: JudgeEntry = JudgeEntry {
    name: "all",
    summary: "relevant only if every one of several judges says so",
    doc: "\
## What it does
Asks several judges; relevant = all of them agree. The score is the lowest of theirs, each put on a scale on which its own
threshold is one half.

## When it helps
A good soft judge and a hard condition: `genre` and a `regex` on the URL.

## When it hurts
Every judge's misses add up: recall suffers.

## Options
`of` = names of judges · a table per judge with its own options and threshold: `[judge.regex]` `url = \"…\"`.

## Source
Ours.",
    build: |setup| Ok(Box::new(Combined { judges: subs(setup)?, all: true })),
};

pub(super) const ANY_OF: JudgeEntry = JudgeEntry {
    name: "any",
    summary: "relevant if one of several judges says so",
    doc: "\
## What it does
Asks several judges; relevant = at least one says so. The score is the highest of theirs, each put on a scale on which its
own threshold is one half.

## When it helps
Wanted pages come in several shapes, each with a judge that knows it.

## When it hurts
Every judge's false alarms add up: precision suffers.

## Options
`of` = names of judges · a table per judge with its own options and threshold: `[judge.query]` `query = \"…\"`.

## Source
Ours.",
    build: |setup| Ok(Box::new(Combined { judges: subs(setup)?, all: false })),
};

pub(super) const WEIGHTED: JudgeEntry = JudgeEntry {
    name: "weighted",
    summary: "the weighted mean of several judges' scores, against one threshold",
    doc: "\
## What it does
Score = weighted mean of the judges' scores; relevant from the threshold on.

## When it helps
Several weak signs of the same thing.

## When it hurts
Scores of different judges are on different scales; one that is always high only shifts the mean.

## Options
`of` = names of judges · `shares` = { genre = 2, query = 1 } (default 1 each) · `threshold` as for `genre` · a table per
judge with its own options.

## Source
Ours.",
    build: build_weighted,
};

#[derive(Deserialize)]
struct Options {
    #[serde(default)]
    of: Vec<String>,
    #[serde(default)]
    shares: toml::Table,
    #[serde(flatten)]
    each: toml::Table,
}

struct Sub {
    name: &'static str,
    judge: Box<dyn Judge>,
    share: f64,
}

/// The judges named in `of`, each with its own table of options.
fn subs(setup: &JudgeSetup) -> Result<Vec<Sub>, Problem> {
    let kind = &setup.topic.judge.kind;
    let o: Options = setup.options.clone().try_into().map_err(|e: toml::de::Error| {
        Problem::usage(format!("an option of judge `{kind}` is not right")).because(e.message())
    })?;
    if o.of.is_empty() {
        return Err(Problem::usage(format!("judge `{kind}` needs judges to ask"))
            .hint("add `of = [\"genre\", \"query\"]` to [judge]"));
    }
    for key in o.each.keys().chain(o.shares.keys()) {
        if !o.of.contains(key) {
            let known: Vec<&str> = o.of.iter().map(String::as_str).chain(["of", "shares"]).collect();
            return Err(Problem::usage(format!("[judge] {key}: judge `{kind}` does not ask `{key}`"))
                .hint(crate::topic::did_you_mean(key, &known)));
        }
    }
    let mut out: Vec<Sub> = Vec::new();
    for name in &o.of {
        let entry = find(name)?;
        if out.iter().any(|s| s.name == entry.name) {
            return Err(Problem::usage(format!("[judge] of: `{name}` is named twice")));
        }
        let topic = sub_topic(setup.topic, entry.name, o.each.get(name))?;
        let judge = (entry.build)(&JudgeSetup { topic: &topic, options: &topic.judge.options, ..*setup })?;
        let share = match o.shares.get(name) {
            None => 1.0,
            Some(v) => v
                .as_float()
                .or(v.as_integer().map(|i| i as f64))
                .filter(|s| s.is_finite() && *s >= 0.0)
                .ok_or_else(|| {
                    Problem::usage(format!("[judge] shares: `{name}` must be a number, 0 or more"))
                })?,
        };
        out.push(Sub { name: entry.name, judge, share });
    }
    if out.iter().all(|s| s.share == 0.0) {
        return Err(Problem::usage("[judge] shares: at least one must be more than 0"));
    }
    Ok(out)
}

/// The topic as one of the judges sees it: its own options, and its own threshold and weights if it has them.
fn sub_topic(topic: &Topic, name: &str, table: Option<&toml::Value>) -> Result<Topic, Problem> {
    let mut topic = topic.clone();
    topic.judge.kind = name.to_string();
    let mut options = match table {
        None => toml::Table::new(),
        Some(toml::Value::Table(t)) => t.clone(),
        Some(_) => return Err(Problem::usage(format!("[judge] {name} must be a table of options"))),
    };
    let bad =
        |e: toml::de::Error| Problem::usage(format!("[judge.{name}] is not right")).because(e.message());
    if let Some(t) = options.remove("threshold") {
        topic.judge.threshold = t.try_into::<Threshold>().map_err(bad)?;
        topic.judge.threshold_given = true;
    }
    if let Some(w) = options.remove("weights") {
        topic.judge.weights = w.try_into::<WeightsSection>().map_err(bad)?.resolve()?;
    }
    topic.judge.options = options;
    Ok(topic)
}

/// One assessment that holds those of all judges, their names before every part and hit. Where one of them
/// remembers pages, all of it is in the features: nothing else of it will be kept.
fn assess(judges: &[Sub], doc: &Doc) -> Assessment {
    let mut out = Assessment::default();
    let all: Vec<Assessment> = judges.iter().map(|sub| sub.judge.assess(doc)).collect();
    if needs(judges).pages {
        out.features = Features::of(&packed(&all));
    }
    for (sub, a) in judges.iter().zip(all) {
        out.parts.push(Part { name: sub.name.into(), value: a.score });
        out.parts.extend(a.parts.into_iter().map(|p| Part { name: format!("{}/{}", sub.name, p.name), ..p }));
        out.hits.extend(a.hits.into_iter().map(|h| Hit { set: format!("{}/{}", sub.name, h.set), ..h }));
    }
    out
}

/// The assessments of all judges are in the parts, so those are always needed.
fn needs(judges: &[Sub]) -> Needs {
    let any = |need: fn(Needs) -> bool| judges.iter().any(|s| need(s.judge.needs()));
    Needs { assessments: true, own_text: any(|n| n.own_text), pages: any(|n| n.pages) }
}

fn packed(all: &[Assessment]) -> Vec<u8> {
    let mut w = Writer::default();
    for a in all {
        w.f64(a.score).var(a.parts.len() as u64);
        for part in &a.parts {
            w.bytes(part.name.as_bytes()).f64(part.value);
        }
        w.var(a.hits.len() as u64);
        for hit in &a.hits {
            w.bytes(hit.set.as_bytes()).bytes(hit.term.as_bytes()).var(u64::from(hit.count));
        }
        w.bytes(&a.features.read());
    }
    w.0
}

/// The assessments of so many judges.
fn unpacked(bytes: &[u8], judges: usize) -> Result<Vec<Assessment>, Problem> {
    let mut r = Reader(bytes);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut out = Vec::new();
    for _ in 0..judges {
        let mut a = Assessment { score: r.f64()?, ..Assessment::default() };
        for _ in 0..r.var()? {
            a.parts.push(Part { name: text(r.bytes()?), value: r.f64()? });
        }
        for _ in 0..r.var()? {
            a.hits.push(Hit { set: text(r.bytes()?), term: text(r.bytes()?), count: r.var()? as u32 });
        }
        a.features = Features::of(r.bytes()?);
        out.push(a);
    }
    r.end()?;
    Ok(out)
}

/// The judges' own assessments back out of it.
fn each_own(judges: &[Sub], a: &Assessment) -> Vec<Assessment> {
    match unpacked(&a.features.read(), judges.len()) {
        Ok(all) => all,
        Err(_) => judges.iter().map(|sub| own(sub.name, a)).collect(),
    }
}

/// One of them, by the names of its parts and hits.
fn own(name: &str, a: &Assessment) -> Assessment {
    let strip = |s: &str| s.strip_prefix(name).and_then(|s| s.strip_prefix('/')).map(str::to_string);
    Assessment {
        score: a.part(name).unwrap_or(0.0),
        parts: a.parts.iter().filter_map(|p| Some(Part { name: strip(&p.name)?, value: p.value })).collect(),
        hits: a.hits.iter().filter_map(|h| Some(Hit { set: strip(&h.set)?, ..h.clone() })).collect(),
        ..Assessment::default()
    }
}

/// States of all judges, one after the other.
fn save(judges: &[Sub]) -> Option<Vec<u8>> {
    if needs(judges).pages {
        // Every page will be shown again.
        return None;
    }
    let states: Vec<Option<Vec<u8>>> = judges.iter().map(|s| s.judge.save()).collect();
    if states.iter().all(Option::is_none) {
        return None;
    }
    let mut w = Writer::default();
    for state in &states {
        w.bytes(state.as_deref().unwrap_or(&[]));
    }
    Some(w.0)
}

fn load(judges: &mut [Sub], bytes: &[u8]) -> Result<(), Problem> {
    let mut r = Reader(bytes);
    for sub in judges {
        let state = r.bytes()?;
        if !state.is_empty() {
            sub.judge.load(state)?;
        }
    }
    if r.end().is_err() { Err(damaged()) } else { Ok(()) }
}

fn explain(judges: &[Sub]) -> Option<String> {
    let all: Vec<String> =
        judges.iter().filter_map(|s| Some(format!("{}: {}", s.name, s.judge.explain()?))).collect();
    (!all.is_empty()).then(|| all.join("; "))
}

/// `all` and `any`.
struct Combined {
    judges: Vec<Sub>,
    all: bool,
}

/// A score on the scale on which the judge's threshold is one half.
fn rescaled(v: &Verdict) -> f64 {
    let (r, t) = (v.relevance.clamp(0.0, 1.0), v.threshold.clamp(0.0, 1.0));
    let scaled =
        if r < t { 0.5 * r / t } else { 0.5 + if t < 1.0 { 0.5 * (r - t) / (1.0 - t) } else { 0.5 } };
    // What the judge decided counts, should it be by more than the threshold.
    if v.relevant { scaled.max(0.5) } else { scaled.min(0.5 - f64::EPSILON) }
}

impl Judge for Combined {
    fn assess(&self, doc: &Doc) -> Assessment {
        let mut a = assess(&self.judges, doc);
        a.score = self.decide(&a).relevance;
        a
    }
    fn decide(&self, a: &Assessment) -> Verdict {
        let mut out =
            Verdict { relevance: if self.all { 1.0 } else { 0.0 }, threshold: 0.5, ..Verdict::default() };
        for (sub, own) in self.judges.iter().zip(each_own(&self.judges, a)) {
            let v = sub.judge.decide(&own);
            let r = rescaled(&v);
            out.relevance = if self.all { out.relevance.min(r) } else { out.relevance.max(r) };
            out.version = out.version.wrapping_add(v.version);
        }
        out.relevant = out.relevance >= 0.5;
        out
    }
    fn observe(&mut self, a: &Assessment, label: Option<Label>) -> bool {
        let each = each_own(&self.judges, a);
        let judges = self.judges.iter_mut().zip(&each);
        judges.fold(false, |changed, (sub, own)| sub.judge.observe(own, label) | changed)
    }
    fn save(&self) -> Option<Vec<u8>> {
        save(&self.judges)
    }
    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        load(&mut self.judges, bytes)
    }
    fn explain(&self) -> Option<String> {
        explain(&self.judges)
    }
    fn needs(&self) -> Needs {
        needs(&self.judges)
    }
}

fn build_weighted(setup: &JudgeSetup) -> Result<Box<dyn Judge>, Problem> {
    Ok(Thresholded::over(Weighted(subs(setup)?), setup))
}

struct Weighted(Vec<Sub>);

impl Weighted {
    /// Of the judges' scores, in their order.
    fn mean(&self, scores: impl Iterator<Item = f64>) -> f64 {
        let total: f64 = self.0.iter().map(|s| s.share).sum();
        let sum: f64 = self.0.iter().zip(scores).map(|(s, score)| s.share * score).sum();
        if total > 0.0 { sum / total } else { 0.0 }
    }
}

impl Measure for Weighted {
    fn assess(&self, doc: &Doc) -> Assessment {
        let mut a = assess(&self.0, doc);
        a.score = self.mean(self.0.iter().map(|s| a.part(s.name).unwrap_or(0.0)));
        a
    }
    fn relevance(&self, a: &Assessment) -> f64 {
        let each = each_own(&self.0, a);
        self.mean(self.0.iter().zip(&each).map(|(s, own)| s.judge.decide(own).relevance))
    }
    fn observe(&mut self, a: &Assessment) -> bool {
        // The judges' own thresholds do not count here, only what they learn about scores. Labels draw the
        // one line.
        let each = each_own(&self.0, a);
        self.0.iter_mut().zip(&each).for_each(|(s, own)| {
            s.judge.observe(own, None);
        });
        false
    }
    fn needs(&self) -> Needs {
        needs(&self.0)
    }
    fn save(&self) -> Vec<u8> {
        save(&self.0).unwrap_or_default()
    }
    fn load(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        if bytes.is_empty() { Ok(()) } else { load(&mut self.0, bytes) }
    }
}
