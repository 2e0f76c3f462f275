//! A strategy of your own, beside a built-in one on a generated web.
//!
//!     cargo run --example strategy

use crawl::config::Config;
use eval::labels::Labels;
use eval::tournament::Plan;
use eval::webs::{self, Opened};
use focus::strategies::{Rescore, Scored, Strategy, Visit};
use std::collections::HashMap;
use types::Problem;

/// Follows links of relevant pages first, and among them those to hosts that gave relevant pages before.
#[derive(Default)]
struct GoodHosts {
    relevant: HashMap<String, u32>,
}

impl Strategy for GoodHosts {
    fn learn(&mut self, visit: &Visit) -> Rescore {
        if visit.verdict.relevant {
            *self.relevant.entry(visit.url.host().to_string()).or_default() += 1;
        }
        Rescore::Nothing
    }

    fn score(&mut self, visit: &Visit) -> Vec<Option<Scored>> {
        let links = visit.doc.page.links.iter();
        let host = |host: &str| f64::from(self.relevant.get(host).copied().unwrap_or(0));
        // A higher key is fetched earlier; `None` would mean: never follow this link.
        links.map(|link| Some(Scored::key(visit.verdict.relevance + 0.1 * host(link.url.host())))).collect()
    }
}

/// The area under the recall curve of breadth-first and of ours.
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
    let auc = |plan: Plan| Ok(plan.run(&|_, _, _| {})?.runs[0].result.auc.unwrap_or(0.0));
    Ok((auc(plan(None))?, auc(plan(Some(&|made| made.with_strategy(Box::new(GoodHosts::default())))))?))
}

pub fn main() -> Result<(), Problem> {
    let (breadth_first, ours) = compare()?;
    println!("area under the recall curve: breadth-first {breadth_first:.3}, ours {ours:.3}");
    Ok(())
}
