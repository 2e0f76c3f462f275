//! A judge trained on pages of a web in a string.

use super::{Example, ExampleKind, Judge, JudgeSetup, TaxonomyPage, build};
use crate::testkit::{Docs, Web};
use crate::topic::Topic;
use std::sync::Arc;
use types::{Assessment, Problem, Verdict};

pub(super) struct Trained {
    pub web: Web,
    pub topic: Topic,
    pub judge: Box<dyn Judge>,
}

impl Trained {
    pub fn of(&self, path: &str) -> (Assessment, Verdict) {
        let a = self.judge.assess(&self.web.doc(path, &self.topic.text.options));
        let v = self.judge.decide(&a);
        (a, v)
    }
}

fn make(
    web: &str,
    topic: &str,
    relevant: &[&str],
    irrelevant: &[&str],
    taxonomy: &[(&str, &str)],
) -> Result<Trained, Problem> {
    let web = Web::new(web);
    let text = format!("name = 'test'\nquery = 'unused'\n{topic}");
    let topic = Topic::from_toml(&crate::testkit::judged_by_genre(&text))?;
    let doc = |path: &str| Arc::new(web.doc(path, &topic.text.options));
    let mut examples = Vec::new();
    for (list, kind) in [(relevant, ExampleKind::Relevant), (irrelevant, ExampleKind::Irrelevant)] {
        examples.extend(list.iter().map(|p| Example { doc: doc(p), kind }));
    }
    let taxonomy: Vec<TaxonomyPage> =
        taxonomy.iter().map(|(class, p)| TaxonomyPage { path: class.to_string(), doc: doc(p) }).collect();
    let setup = JudgeSetup { examples: &examples, taxonomy: &taxonomy, ..JudgeSetup::new(&topic) };
    let judge = build(&setup)?;
    Ok(Trained { web, topic, judge })
}

pub(super) fn judge(web: &str, topic: &str, relevant: &[&str], irrelevant: &[&str]) -> Trained {
    make(web, topic, relevant, irrelevant, &[]).unwrap_or_else(|p| panic!("{p}"))
}

pub(super) fn with_taxonomy(web: &str, topic: &str, taxonomy: &[(&str, &str)]) -> Result<Trained, String> {
    make(web, topic, &[], &[], taxonomy).map_err(|p| p.to_string())
}

/// What is said when it cannot be made.
pub(super) fn problem(web: &str, topic: &str, relevant: &[&str], irrelevant: &[&str]) -> String {
    match make(web, topic, relevant, irrelevant, &[]) {
        Ok(_) => panic!("this should not work"),
        Err(p) => p.to_string(),
    }
}
