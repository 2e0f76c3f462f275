//! The findings of the source documents, each as something that can be run on recorded or generated webs. One
//! list, [`ALL`]; `gleaner experiment NAME` runs one and says honestly whether the finding holds here.
//!
//! A finding is broken into parts that are either so or not; all of them: it holds, some: partly, none: it
//! does not. What counts as "better" is the mean over topics *and* more topics won than lost.

mod agents;
mod apprentice;
mod judging;
mod lab;
mod ordering;
pub mod suite;
mod untestable;

pub use lab::{Lab, Site, Variant, auc, over_draws, share_until};

use std::fmt::Write;
use types::Problem;

/// A finding and how it is looked into.
pub struct Experiment {
    /// As the user names it on the command line.
    pub name: &'static str,
    /// What the source says.
    pub claim: &'static str,
    /// Author, year and section.
    pub source: &'static str,
    /// Crawls what it needs and compares.
    pub run: fn(&Lab) -> Result<Finding, Problem>,
}

/// Every experiment, in the order of the specification.
pub const ALL: &[Experiment] = &[
    judging::JUDGES,
    ordering::POLICIES,
    judging::IDF,
    judging::FEW_TERMS,
    ordering::LINK_CONTEXT,
    judging::THRESHOLDS,
    ordering::BEST_FIRST,
    ordering::WORDNET,
    ordering::HMM,
    apprentice::OFFSETS,
    apprentice::LOSS,
    agents::AGENTS,
    apprentice::RECALL,
    ordering::CRAWLERS,
    untestable::GENERATED_TERMS,
    untestable::EXPERT_TERMS,
    untestable::SEED_QUERIES,
    untestable::SHARED_DOMAINS,
];

/// The experiment of this name, or a problem with the nearest names.
pub fn find(name: &str) -> Result<&'static Experiment, Problem> {
    ALL.iter().find(|e| e.name == name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|e| e.name).collect();
        Problem::usage(format!("there is no experiment `{name}`"))
            .hint(focus::topic::did_you_mean(name, &known))
    })
}

/// Whether a source's claim holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// Every part of the claim holds.
    Holds,
    /// Some parts hold.
    Partly,
    /// No part holds.
    DoesNotHold,
    /// It cannot be looked into with recorded webs.
    NotTestable,
}

impl Outcome {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Outcome::Holds => "holds",
            Outcome::Partly => "holds in part",
            Outcome::DoesNotHold => "does not hold",
            Outcome::NotTestable => "cannot be tested here",
        }
    }
}

/// One part of a finding: what was claimed, whether it is so, and the numbers.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Claim {
    /// The part of the source's claim.
    pub what: String,
    /// The numbers agree with it.
    pub holds: bool,
    /// What was measured, in one line.
    pub numbers: String,
}

/// Numbers by variant (rows) and topic (columns).
#[derive(Clone, Debug, Default, PartialEq, serde::Serialize)]
pub struct Table {
    /// What the numbers are.
    pub title: String,
    /// Names of the columns, without that of the rows.
    pub head: Vec<String>,
    /// Name and numbers of each row; `None` is shown as a dash.
    pub rows: Vec<(String, Vec<Option<f64>>)>,
}

impl Table {
    /// A column per site and their mean.
    pub fn over(lab: &Lab, title: &str) -> Table {
        let head = lab.sites.iter().map(|s| s.name.clone()).chain(["mean".to_string()]).collect();
        Table { title: title.into(), head, rows: Vec::new() }
    }

    /// Adds a row and the mean of its numbers.
    pub fn row(&mut self, name: &str, values: &[Option<f64>]) {
        let known: Vec<f64> = values.iter().copied().flatten().collect();
        let mean = (!known.is_empty()).then(|| crate::stats::mean(&known));
        self.rows.push((name.into(), values.iter().copied().chain([mean]).collect()));
    }

    /// As a Markdown table with its title.
    pub fn markdown(&self) -> String {
        let mut out = format!("{}\n\n| |", self.title);
        for h in &self.head {
            let _ = write!(out, " {h} |");
        }
        let _ = write!(out, "\n|---|{}\n", "---|".repeat(self.head.len()));
        for (name, values) in &self.rows {
            let _ = write!(out, "| {name} |");
            for v in values {
                let _ = write!(out, " {} |", v.map_or("–".into(), |v| format!("{v:.3}")));
            }
            out.push('\n');
        }
        out
    }
}

/// What came out.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct Finding {
    /// What the parts come to.
    pub outcome: Outcome,
    /// The parts of the claim.
    pub claims: Vec<Claim>,
    /// The numbers behind them.
    pub tables: Vec<Table>,
    /// Why it is so, and what to keep in mind.
    pub why: String,
}

impl Finding {
    /// Counts which parts hold.
    pub fn of(claims: Vec<Claim>, tables: Vec<Table>, why: &str) -> Finding {
        let held = claims.iter().filter(|c| c.holds).count();
        let outcome = match held {
            0 => Outcome::DoesNotHold,
            n if n == claims.len() => Outcome::Holds,
            _ => Outcome::Partly,
        };
        Finding { outcome, claims, tables, why: why.into() }
    }

    fn untestable(why: &str) -> Finding {
        Finding { outcome: Outcome::NotTestable, claims: Vec::new(), tables: Vec::new(), why: why.into() }
    }
}

impl Experiment {
    /// A section of a report, with claims and tables.
    pub fn markdown(&self, finding: &Finding) -> String {
        let mut out = format!(
            "## `{}`: {}\n\n> {} ({})\n\n",
            self.name,
            finding.outcome.words(),
            self.claim,
            self.source
        );
        for c in &finding.claims {
            let _ =
                writeln!(out, "- {} **{}** — {}", if c.holds { "yes:" } else { "no:" }, c.what, c.numbers);
        }
        if !finding.claims.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "{}\n", finding.why);
        for t in &finding.tables {
            let _ = writeln!(out, "{}", t.markdown());
        }
        out
    }
}

/// Differences up to this are ties.
const TIE: f64 = 0.002;

/// "A is better than B": in the mean, and on more topics than it is worse.
pub fn better(a: (&str, &[Option<f64>]), b: (&str, &[Option<f64>])) -> Claim {
    let p = compare(a.1, b.1);
    Claim {
        what: format!("{} is better than {}", a.0, b.0),
        holds: p.difference > 0.0 && p.wins > p.losses,
        numbers: numbers(&p),
    }
}

/// "A is as good as B", give or take `margin` in the mean.
fn as_good(a: (&str, &[Option<f64>]), b: (&str, &[Option<f64>]), margin: f64) -> Claim {
    let p = compare(a.1, b.1);
    Claim {
        what: format!("{} is as good as {}", a.0, b.0),
        holds: p.difference >= -margin,
        numbers: numbers(&p),
    }
}

/// Only topics on which both are known.
pub fn compare(a: &[Option<f64>], b: &[Option<f64>]) -> crate::stats::Paired {
    let both: Vec<(f64, f64)> = a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
    crate::stats::paired(&a, &b, TIE)
}

fn numbers(p: &crate::stats::Paired) -> String {
    format!(
        "mean difference {:+.3}, better on {} topics, worse on {}, sign test p = {:.2}",
        p.difference, p.wins, p.losses, p.sign_p
    )
}

/// Over the topics that have a value.
pub fn mean(values: &[Option<f64>]) -> f64 {
    let known: Vec<f64> = values.iter().copied().flatten().collect();
    if known.is_empty() { 0.0 } else { crate::stats::mean(&known) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        let mut names: Vec<&str> = ALL.iter().map(|e| e.name).collect();
        assert!(names.iter().all(|n| find(n).is_ok()));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        assert!(find("judge").err().unwrap().to_string().contains("did you mean `judges`"));
    }

    #[test]
    fn verdicts_by_hand() {
        let (a, b) = ([Some(0.5), Some(0.7), Some(0.2)], [Some(0.4), Some(0.5), Some(0.3)]);
        // Differences 0.1, 0.2, −0.1: mean 0.0667, two of three.
        let c = better(("A", &a), ("B", &b));
        assert!(c.holds && c.numbers.starts_with("mean difference +0.067, better on 2 topics, worse on 1"));
        assert!(!better(("B", &b), ("A", &a)).holds);
        assert!(as_good(("B", &b), ("A", &a), 0.07).holds && !as_good(("B", &b), ("A", &a), 0.06).holds);
        // Better in the mean by one topic alone is not better.
        assert!(
            !better(("A", &[Some(0.9), Some(0.1), Some(0.1)]), ("B", &[Some(0.1), Some(0.2), Some(0.2)]))
                .holds
        );
        // A topic on which one of them has no value does not count.
        assert!(better(("A", &[None, Some(0.3)]), ("B", &[Some(0.9), Some(0.1)])).holds);
        let claim = |holds| Claim { what: String::new(), holds, numbers: String::new() };
        for (parts, outcome) in [
            (vec![true, true], Outcome::Holds),
            (vec![true, false], Outcome::Partly),
            (vec![false], Outcome::DoesNotHold),
        ] {
            let finding = Finding::of(parts.into_iter().map(claim).collect(), Vec::new(), "");
            assert_eq!(finding.outcome, outcome);
        }
    }
}
