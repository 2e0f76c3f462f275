//! How good is a trained judge on examples it has not seen? Cross-validation over the examples, as
//! Chakrabarti et al. 2002 report accuracy: on the positives, on the negatives, and over all
//! (micro-average).

use super::{Example, ExampleKind, JudgeSetup, TaxonomyPage, build};
use learn::svm::stratified;
use learn::taxonomy::is_under;
use types::Problem;

/// Examples judged right when left out, of how many.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accuracy {
    /// Right, and all, of the relevant examples.
    pub positives: (usize, usize),
    /// Right, and all, of the others.
    pub negatives: (usize, usize),
}

impl Accuracy {
    fn note(&mut self, positive: bool, judged: bool) {
        let side = if positive { &mut self.positives } else { &mut self.negatives };
        side.0 += usize::from(positive == judged);
        side.1 += 1;
    }
    /// Share judged right, over all.
    pub fn micro(&self) -> f64 {
        share((self.positives.0 + self.negatives.0, self.positives.1 + self.negatives.1))
    }
}

impl std::fmt::Display for Accuracy {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "{:.1} % of left-out examples judged right ({:.1} % of the wanted, {:.1} % of the others)",
            100.0 * self.micro(),
            100.0 * share(self.positives),
            100.0 * share(self.negatives)
        )
    }
}

fn share((right, all): (usize, usize)) -> f64 {
    if all == 0 { 0.0 } else { right as f64 / all as f64 }
}

/// Trains on all folds but one and judges that one, for each; `None` with too few examples of either kind.
pub fn validate(setup: &JudgeSetup, folds: usize, focus: &[String]) -> Result<Option<Accuracy>, Problem> {
    let taxonomy = !setup.taxonomy.is_empty();
    let examples: Vec<&Example> = setup.examples.iter().filter(|e| e.kind != ExampleKind::Genre).collect();
    let wanted: Vec<bool> = if taxonomy {
        setup.taxonomy.iter().map(|p| focus.iter().any(|f| is_under(&p.path, f))).collect()
    } else {
        examples.iter().map(|e| e.kind == ExampleKind::Relevant).collect()
    };
    let positives = wanted.iter().filter(|w| **w).count();
    let folds = folds.min(positives).min(wanted.len() - positives);
    if folds < 2 {
        return Ok(None);
    }
    let fold = stratified(&wanted, folds, setup.rng);
    let mut accuracy = Accuracy::default();
    for out in 0..folds {
        let kept = |i: usize| fold.get(i).is_some_and(|f| *f != out);
        let (pages, shown): (Vec<TaxonomyPage>, Vec<Example>) = if taxonomy {
            let pages = setup.taxonomy.iter().enumerate().filter(|(i, _)| kept(*i));
            (pages.map(|e| e.1.clone()).collect(), Vec::new())
        } else {
            let shown = examples.iter().enumerate().filter(|(i, _)| kept(*i));
            (Vec::new(), shown.map(|e| (*e.1).clone()).collect())
        };
        let judge = build(&JudgeSetup { examples: &shown, taxonomy: &pages, model: None, ..*setup })?;
        for (i, positive) in wanted.iter().enumerate().filter(|(i, _)| !kept(*i)) {
            let doc = if taxonomy {
                setup.taxonomy.get(i).map(|p| &p.doc)
            } else {
                examples.get(i).map(|e| &e.doc)
            };
            if let Some(doc) = doc {
                accuracy.note(*positive, judge.decide(&judge.assess(doc)).relevant);
            }
        }
    }
    Ok(Some(accuracy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testkit::{Docs, Web};
    use crate::topic::Topic;
    use std::sync::Arc;

    #[test]
    fn left_out_examples_are_judged() {
        let web = Web::new(
            "== http://a/1\nsql joins\n== /2\nsql index\n== /3\nsql\n== /4\nsoup\n== /5\nsoup stew\n== /6\n\
             stew\n== /odd\nsoup\n",
        );
        let topic = Topic::from_toml("query = 'x'\n[judge]\nkind = 'bayes'\nthreshold = 0.5").unwrap();
        let of = |paths: &[(&str, bool)]| -> Vec<Example> {
            let kind = |yes| if yes { ExampleKind::Relevant } else { ExampleKind::Irrelevant };
            let one = |(p, yes): &(&str, bool)| Example {
                doc: Arc::new(web.doc(p, &topic.text.options)),
                kind: kind(*yes),
            };
            paths.iter().map(one).collect()
        };
        let good = [("/1", true), ("/2", true), ("/3", true), ("/4", false), ("/5", false), ("/6", false)];
        let run = |examples: &[Example]| {
            validate(&JudgeSetup { examples, ..JudgeSetup::new(&topic) }, 3, &[]).unwrap()
        };
        assert_eq!(run(&of(&good)), Some(Accuracy { positives: (3, 3), negatives: (3, 3) }));
        // One that is labelled wrongly is judged wrongly, whichever fold it is in.
        let bad: Vec<(&str, bool)> = good.into_iter().chain([("/odd", true)]).collect();
        let a = run(&of(&bad)).unwrap();
        assert_eq!((a.positives, a.negatives.1), ((3, 4), 3));
        // Nothing can be left out of one example.
        assert_eq!(run(&of(&good[2..])), None);
        assert_eq!(run(&[]), None);
    }
}
