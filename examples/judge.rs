//! A judge of your own, beside the built-in one of a generated topic.
//!
//!     cargo run --example judge

use crawl::config::Config;
use eval::labels::Labels;
use eval::tournament::Plan;
use eval::webs::{self, Opened};
use focus::judges::Judge;
use focus::text::Doc;
use types::{Assessment, Part, Problem, Verdict};

/// A page is relevant if its text names enough of these words.
struct Words(&'static [&'static str]);

impl Judge for Words {
    /// Measures a page; runs on many threads. The parts are shown by `gleaner explain`.
    fn assess(&self, doc: &Doc) -> Assessment {
        let text = doc.page.text.to_lowercase();
        let found = self.0.iter().filter(|word| text.contains(*word));
        let parts: Vec<Part> = found.map(|word| Part { name: (*word).into(), value: 1.0 }).collect();
        Assessment { score: parts.len() as f64 / self.0.len() as f64, parts, ..Assessment::default() }
    }

    /// Decides; may be asked again when the judge has learnt something.
    fn decide(&self, assessment: &Assessment) -> Verdict {
        let threshold = 0.5;
        let relevance = assessment.score;
        Verdict { relevant: relevance >= threshold, relevance, threshold, version: 0 }
    }
}

/// F1 of the topic's judge and of ours, against the labels.
pub fn compare() -> Result<(f64, f64), Problem> {
    let Opened { web, sim } = webs::open("sim:campus?pages=400", None)?;
    let sim = sim.ok_or_else(|| Problem::new("not a generated web"))?;
    let labels = Labels::parse(&sim.labels_tsv(false), web.as_ref());
    let config = Config::load(&sim.topic_toml(), "the generated topic", toml::Table::new())?.config;
    let plan = |own| Plan {
        topics: vec![("campus".into(), config.clone())],
        strategies: vec!["breadth-first".into()],
        labels: Some(&labels),
        seeds: sim.seeds(),
        own,
        ..Plan::on(web.as_ref())
    };
    let f1 = |plan: Plan| Ok(plan.run(&|_, _, _| {})?.runs[0].result.judge.f1.unwrap_or(0.0));
    let ours = || Words(&["syllabus", "database", "exam", "query"]);
    Ok((f1(plan(None))?, f1(plan(Some(&|made| made.with_judge(ours))))?))
}

pub fn main() -> Result<(), Problem> {
    let (built_in, ours) = compare()?;
    println!("F1: built-in {built_in:.3}, ours {ours:.3}");
    Ok(())
}
