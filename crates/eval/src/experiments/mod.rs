//! The findings of the source documents, each tested as its source tested it. One list, [`ALL`];
//! `gleaner experiment NAME` runs one, `gleaner experiment all` all of them.
//!
//! A finding is a list of claims. Each has the source's figure, ours and a [`Verdict`], which goes by the 95
//! % interval of the mean over topics. A claim whose protocol cannot be the source's is not tested, and says
//! why.

mod assis;
mod assis_crawling;
mod batsakis;
mod chakrabarti;
mod chakrabarti_crawls;
pub mod crawled;
mod elsewhere;
mod engine;
pub mod kept;
mod lab;
mod pappas;
mod siqueira;
pub mod suite;

pub use lab::{Lab, Site, Variant, auc, over_draws, share_until};

use crate::stats::{Interval, t_interval};
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use types::Problem;

/// A number per topic; `None` where there is none.
pub type Row = Vec<Option<f64>>;

/// A finding and how it is looked into.
pub struct Experiment {
    /// As the user names it on the command line.
    pub name: &'static str,
    /// What the source says.
    pub claim: &'static str,
    /// Author, year and section.
    pub source: &'static str,
    /// When it is run: 0 what the source stands on, 2 what takes longest.
    pub turn: u8,
    /// Crawls what it needs and compares.
    pub run: fn(&Lab) -> Result<Finding, Problem>,
}

/// Every experiment, in the order of the sources (S0 to S4).
pub const ALL: &[Experiment] = &[
    assis::JUDGES,
    assis::IDF,
    assis::FEW_TERMS,
    assis::GENERATED_TERMS,
    assis_crawling::POLICIES,
    assis_crawling::CRAWLERS,
    chakrabarti::OFFSETS,
    chakrabarti_crawls::LOSS,
    chakrabarti_crawls::RECALL,
    pappas::AGENTS,
    pappas::TABLES,
    pappas::BEYOND,
    batsakis::BEST_FIRST,
    batsakis::WORDNET,
    batsakis::HMM,
    siqueira::THRESHOLDS,
    siqueira::SEED_QUERIES,
    siqueira::LINK_CONTEXT,
];

/// All of them in the order in which they are run.
pub fn in_turn() -> Vec<&'static Experiment> {
    let mut all: Vec<_> = ALL.iter().collect();
    all.sort_by_key(|e| e.turn);
    all
}

/// The experiment of this name, or a problem with the nearest names.
pub fn find(name: &str) -> Result<&'static Experiment, Problem> {
    ALL.iter().find(|e| e.name == name).ok_or_else(|| {
        let known: Vec<&str> = ALL.iter().map(|e| e.name).chain(["all"]).collect();
        Problem::usage(format!("there is no experiment `{name}`"))
            .hint(focus::topic::did_you_mean(name, &known))
    })
}

/// What the numbers say of a claim, or of all claims of an experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The whole 95 % interval agrees with it.
    Holds,
    /// Of several claims some hold.
    Partly,
    /// The interval reaches to both sides.
    Undecided,
    /// The whole interval speaks against it.
    DoesNotHold,
    /// The source's protocol cannot be followed here.
    NotTested,
}

impl Verdict {
    /// For people.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::Partly => "holds in part",
            Verdict::Undecided => "undecided",
            Verdict::DoesNotHold => "does not hold",
            Verdict::NotTested => "not tested",
        }
    }

    /// "It is `bound` or more", by an interval. One value alone decides nothing.
    fn above(i: &Interval, bound: f64) -> Verdict {
        match i {
            i if i.n < 2 => Verdict::Undecided,
            i if i.low >= bound => Verdict::Holds,
            i if i.high < bound => Verdict::DoesNotHold,
            _ => Verdict::Undecided,
        }
    }

    /// What the verdicts on the claims come to.
    fn of_all(claims: &[Claim]) -> Verdict {
        let count = |v: Verdict| claims.iter().filter(|c| c.verdict == v).count();
        let tested = claims.len() - count(Verdict::NotTested);
        match (count(Verdict::Holds), count(Verdict::DoesNotHold)) {
            _ if tested == 0 => Verdict::NotTested,
            (n, _) if n == tested => Verdict::Holds,
            (0, 0) => Verdict::Undecided,
            (0, _) => Verdict::DoesNotHold,
            _ => Verdict::Partly,
        }
    }
}

/// One part of a finding.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Claim {
    /// What the source says.
    pub what: String,
    /// The source's figure.
    pub figure: String,
    /// Ours.
    pub ours: String,
    /// What the numbers say of it.
    pub verdict: Verdict,
    /// Why the figures differ, or why it was not tested.
    pub why: String,
}

impl Claim {
    /// A claim with our figure and what it comes to.
    pub fn new(what: &str, ours: String, verdict: Verdict) -> Claim {
        Claim { what: what.into(), figure: String::new(), ours, verdict, why: String::new() }
    }
    /// One that cannot be tested as the source did.
    pub fn not_tested(what: &str, because: &str) -> Claim {
        Claim::new(what, "–".into(), Verdict::NotTested).why(because)
    }
    /// In the words of the source.
    pub fn what(self, what: &str) -> Claim {
        Claim { what: what.into(), ..self }
    }
    /// With the source's figure.
    pub fn figure(self, figure: &str) -> Claim {
        Claim { figure: figure.into(), ..self }
    }
    /// With the reason why the figures differ.
    pub fn why(self, why: &str) -> Claim {
        Claim { why: why.into(), ..self }
    }
}

/// Numbers by variant (rows) and topic (columns).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Table {
    /// What the numbers are.
    pub title: String,
    /// Names of the columns, without that of the rows.
    pub head: Vec<String>,
    /// Name and numbers of each row; `None` is shown as a dash.
    pub rows: Vec<(String, Row)>,
}

impl Table {
    /// A column per site, their mean and its 95 % interval.
    pub fn over(lab: &Lab, title: &str) -> Table {
        let last = ["mean", "from", "to"].map(String::from);
        let head = lab.sites.iter().map(|s| s.name.clone()).chain(last).collect();
        Table { title: title.into(), head, rows: Vec::new() }
    }

    /// The same with all its rows.
    pub fn of(lab: &Lab, title: &str, names: &[impl AsRef<str>], rows: &[Row]) -> Table {
        let mut table = Table::over(lab, title);
        for (name, row) in names.iter().zip(rows) {
            table.row(name.as_ref(), row);
        }
        table
    }

    /// Adds a row, the mean of its numbers and its interval.
    pub fn row(&mut self, name: &str, values: &[Option<f64>]) {
        let i = interval(values);
        let known = i.n > 0;
        let last = [known.then_some(i.mean), (i.n > 1).then_some(i.low), (i.n > 1).then_some(i.high)];
        self.rows.push((name.into(), values.iter().copied().chain(last).collect()));
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
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// What the parts come to.
    pub outcome: Verdict,
    /// The parts of the claim.
    pub claims: Vec<Claim>,
    /// The numbers behind them.
    pub tables: Vec<Table>,
    /// How it was tested, and what to keep in mind.
    pub how: String,
}

impl Finding {
    /// Adds up the verdicts.
    pub fn of(mut claims: Vec<Claim>, tables: Vec<Table>, how: &str) -> Finding {
        for claim in claims.iter_mut().filter(|c| c.ours == NO_VALUE) {
            claim.verdict = Verdict::NotTested;
            claim.why = "No topic of this suite has the pages it takes.".into();
        }
        Finding { outcome: Verdict::of_all(&claims), claims, tables, how: how.into() }
    }

    /// Topics that have a number in any of the tables.
    pub fn topics(&self) -> usize {
        // The last three columns are the mean and its interval.
        let known = |row: &Row| row.iter().rev().skip(3).flatten().count();
        self.tables.iter().flat_map(|t| t.rows.iter().map(|r| known(&r.1))).max().unwrap_or(0)
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
            let figure = if c.figure.is_empty() { String::new() } else { format!(" Source: {}.", c.figure) };
            let why = if c.why.is_empty() { String::new() } else { format!(" {}", c.why) };
            let _ = writeln!(out, "- {}: **{}** — {}.{figure}{why}", c.verdict.words(), c.what, c.ours);
        }
        if !finding.claims.is_empty() {
            out.push('\n');
        }
        let _ = writeln!(out, "{}\n", finding.how);
        for t in &finding.tables {
            let _ = writeln!(out, "{}", t.markdown());
        }
        out
    }
}

/// The one table: claim · source's figure · ours · verdict · why they differ.
pub fn claims_table(results: &[(&Experiment, &Finding)]) -> String {
    let mut out = String::from(
        "| claim | source | its figure | ours | verdict | why they differ |\n|---|---|---|---|---|---|\n",
    );
    // A bar would end the cell.
    let cell = |text: &str| text.replace('|', "\\|").replace('\n', " ");
    for (e, finding) in results {
        for c in &finding.claims {
            let _ = writeln!(
                out,
                "| {} (`{}`) | {} | {} | {} | **{}** | {} |",
                cell(&c.what),
                e.name,
                cell(e.source),
                cell(&c.figure),
                cell(&c.ours),
                c.verdict.words(),
                cell(&c.why)
            );
        }
    }
    out
}

/// What was run: experiment · what it comes to · topics · draws · minutes that it took when it was run to its
/// end.
pub fn runs_table(results: &[(&Experiment, &Finding, Option<f64>)], draws: usize) -> String {
    let mut out =
        String::from("| experiment | comes to | topics | draws | minutes |\n|---|---|---|---|---|\n");
    for (e, finding, seconds) in results {
        let minutes = seconds.map_or("–".into(), |s| format!("{:.1}", s / 60.0));
        let (outcome, topics) = (finding.outcome.words(), finding.topics());
        let _ = writeln!(out, "| `{}` | {outcome} | {topics} | {draws} | {minutes} |", e.name);
    }
    out
}

/// Most topics of an experiment: enough for an interval, and all of them together end within hours.
const TOPICS: usize = 12;

/// In place of our figure, when no topic has one.
const NO_VALUE: &str = "no value";

/// Differences up to this are ties.
const TIE: f64 = 0.002;

/// The mean over the topics that have a value, with its 95 % interval.
pub fn interval(values: &[Option<f64>]) -> Interval {
    t_interval(&values.iter().copied().flatten().collect::<Vec<f64>>())
}

/// `0.413 (0.350–0.476)`, or as a percentage.
fn with_interval(i: &Interval) -> String {
    match i.n {
        0 => NO_VALUE.into(),
        1 => format!("{:.3} (one topic)", i.mean),
        _ => format!("{:.3} ({:.3} to {:.3})", i.mean, i.low, i.high),
    }
}

/// Pairs of topics on which both are known: A − B.
fn differences(a: &[Option<f64>], b: &[Option<f64>]) -> Row {
    a.iter().zip(b).map(|(a, b)| Some((*a)? - (*b)?)).collect()
}

/// "A is better than B": the whole interval of the difference is above 0.
pub fn better(a: (&str, &[Option<f64>]), b: (&str, &[Option<f64>])) -> Claim {
    let i = interval(&differences(a.1, b.1));
    // No difference at all is not better.
    let verdict =
        if i.n > 1 && i.low == 0.0 && i.high == 0.0 { Verdict::DoesNotHold } else { Verdict::above(&i, 0.0) };
    Claim::new(&format!("{} is better than {}", a.0, b.0), difference(a.1, b.1), verdict)
}

/// The same for numbers of which the lower is better.
fn lower(a: (&str, &[Option<f64>]), b: (&str, &[Option<f64>])) -> Claim {
    let negative = |row: &[Option<f64>]| row.iter().map(|v| v.map(|v| -v)).collect::<Row>();
    let claim = better((a.0, &negative(a.1)), (b.0, &negative(b.1)));
    Claim { ours: difference(a.1, b.1), ..claim }
}

/// "A is as good as B", give or take `margin`.
fn as_good(a: (&str, &[Option<f64>]), b: (&str, &[Option<f64>]), margin: f64) -> Claim {
    let i = interval(&differences(a.1, b.1));
    Claim::new(&format!("{} is as good as {}", a.0, b.0), difference(a.1, b.1), Verdict::above(&i, -margin))
}

/// "A and B are alike", give or take `margin` either way.
fn alike(a: (&str, &[Option<f64>]), b: (&str, &[Option<f64>]), margin: f64) -> Claim {
    let i = interval(&differences(a.1, b.1));
    let verdict = match i {
        i if i.n < 2 => Verdict::Undecided,
        i if i.low >= -margin && i.high <= margin => Verdict::Holds,
        i if i.low > margin || i.high < -margin => Verdict::DoesNotHold,
        _ => Verdict::Undecided,
    };
    Claim::new(&format!("{} and {} are alike", a.0, b.0), difference(a.1, b.1), verdict)
}

/// "It is `bound` or more".
fn at_least(what: &str, values: &[Option<f64>], bound: f64) -> Claim {
    let i = interval(values);
    Claim::new(what, with_interval(&i), Verdict::above(&i, bound))
}

/// "It is `bound` or less".
fn at_most(what: &str, values: &[Option<f64>], bound: f64) -> Claim {
    let negative: Row = values.iter().map(|v| v.map(|v| -v)).collect();
    let verdict = Verdict::above(&interval(&negative), -bound);
    Claim::new(what, with_interval(&interval(values)), verdict)
}

/// "Of these it is the best": it has the highest mean, and the whole interval of its lead over the second is
/// above 0; not so when another leads by as much.
fn best_of(what: &str, names: &[impl AsRef<str>], rows: &[Row], which: usize) -> Claim {
    let by_mean = |a: &&usize, b: &&usize| mean(&rows[**a]).total_cmp(&mean(&rows[**b]));
    let all: Vec<usize> = (0..rows.len().min(names.len())).collect();
    let others: Vec<usize> = all.iter().copied().filter(|i| *i != which).collect();
    let rival = others.iter().max_by(by_mean).copied().unwrap_or(which);
    let lead = interval(&differences(&rows[which], &rows[rival]));
    if lead.n == 0 {
        return Claim::new(what, NO_VALUE.into(), Verdict::NotTested);
    }
    let name = |i: usize| names[i].as_ref();
    let verdict = better((name(which), &rows[which]), (name(rival), &rows[rival])).verdict;
    let (mine, other) = (mean(&rows[which]), mean(&rows[rival]));
    let ours = if mine >= other {
        format!("{} {mine:.3}, then {} {other:.3}", name(which), name(rival))
    } else {
        format!("best: {} {other:.3}; {} {mine:.3}", name(rival), name(which))
    };
    let ours = format!("{ours}; lead {:+.3} ({:+.3} to {:+.3})", lead.mean, lead.low, lead.high);
    Claim::new(what, ours, verdict)
}

/// Only topics on which both are known.
pub fn compare(a: &[Option<f64>], b: &[Option<f64>]) -> crate::stats::Paired {
    let both: Vec<(f64, f64)> = a.iter().zip(b).filter_map(|(a, b)| Some(((*a)?, (*b)?))).collect();
    let (a, b): (Vec<f64>, Vec<f64>) = both.into_iter().unzip();
    crate::stats::paired(&a, &b, TIE)
}

/// Both means and their difference, over the topics on which both are known.
fn difference(a: &[Option<f64>], b: &[Option<f64>]) -> String {
    let (p, i) = (compare(a, b), interval(&differences(a, b)));
    if i.n == 0 {
        return NO_VALUE.into();
    }
    let both = |x: &[Option<f64>], y: &[Option<f64>]| -> Row {
        x.iter().zip(y).map(|(x, y)| x.filter(|_| y.is_some())).collect()
    };
    format!(
        "{:.3} and {:.3}: {:+.3} ({:+.3} to {:+.3}) over {} topics, {} up, {} down",
        mean(&both(a, b)),
        mean(&both(b, a)),
        i.mean,
        i.low,
        i.high,
        i.n,
        p.wins,
        p.losses
    )
}

/// Over the topics that have a value.
pub fn mean(values: &[Option<f64>]) -> f64 {
    interval(values).mean
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_in_order() {
        let mut names: Vec<&str> = ALL.iter().map(|e| e.name).collect();
        assert!(names.iter().all(|n| find(n).is_ok() && *n != "all"));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ALL.len());
        let turn = in_turn();
        assert_eq!(turn.len(), ALL.len());
        assert!(turn.is_sorted_by_key(|e| e.turn) && turn[0].name == "judges");
        let of = |source: &str| turn.iter().position(|e| e.source.contains(source));
        let sources = ["Assis", "Chakrabarti", "Pappas", "Batsakis", "Siqueira"];
        assert!(sources.iter().all(|s| of(s).is_some_and(|n| turn[n].turn == 0)), "one of each comes first");
        assert!(find("judge").err().unwrap().to_string().contains("did you mean `judges`"));
    }

    fn row(values: &[f64]) -> Row {
        values.iter().copied().map(Some).collect()
    }

    #[test]
    fn better_by_hand() {
        let (a, b) = (row(&[0.5, 0.7, 0.6, 0.6]), row(&[0.4, 0.5, 0.5, 0.4]));
        // Differences 0.1, 0.2, 0.1, 0.2: mean 0.15, s = 0.0577, t(3) = 3.182: ± 0.0919.
        let c = better(("A", &a), ("B", &b));
        assert_eq!(c.verdict, Verdict::Holds);
        assert_eq!(c.ours, "0.600 and 0.450: +0.150 (+0.058 to +0.242) over 4 topics, 4 up, 0 down");
        assert_eq!(better(("B", &b), ("A", &a)).verdict, Verdict::DoesNotHold);
        // Better in the mean by one topic alone is not better.
        let one = better(("A", &row(&[0.9, 0.1, 0.1])), ("B", &row(&[0.1, 0.2, 0.2])));
        assert_eq!(one.verdict, Verdict::Undecided);
        // Neither is the same everywhere, nor one topic.
        assert_eq!(better(("A", &a), ("A", &a)).verdict, Verdict::DoesNotHold);
        assert_eq!(better(("A", &[Some(1.0), None]), ("B", &b)).verdict, Verdict::Undecided);
        assert_eq!(lower(("A", &b), ("B", &a)).verdict, Verdict::Holds);
    }

    #[test]
    fn margins_and_bounds_by_hand() {
        let (a, b) = (row(&[0.5, 0.6, 0.7]), row(&[0.51, 0.62, 0.71]));
        // Differences −0.01, −0.02, −0.01: mean −0.0133, ± 0.0143.
        assert_eq!(as_good(("A", &a), ("B", &b), 0.03).verdict, Verdict::Holds);
        assert_eq!(as_good(("A", &a), ("B", &b), 0.02).verdict, Verdict::Undecided);
        assert_eq!(alike(("A", &a), ("B", &b), 0.03).verdict, Verdict::Holds);
        let far = row(&[0.9, 0.95, 1.0]);
        assert_eq!(alike(("A", &a), ("F", &far), 0.03).verdict, Verdict::DoesNotHold);
        assert_eq!(at_least("x", &far, 0.8).verdict, Verdict::Holds);
        assert_eq!(at_least("x", &a, 0.9).verdict, Verdict::DoesNotHold);
        assert_eq!(at_least("x", &a, 0.6).verdict, Verdict::Undecided);
        assert_eq!(at_most("x", &a, 0.9).verdict, Verdict::Holds);
        assert_eq!(at_most("x", &far, 0.5).verdict, Verdict::DoesNotHold);
        let rows = [a.clone(), far, b];
        assert_eq!(best_of("F is best", &["A", "F", "B"], &rows, 1).verdict, Verdict::Holds);
        let c = best_of("A is best", &["A", "F", "B"], &rows, 0);
        assert_eq!(c.verdict, Verdict::DoesNotHold);
        assert!(c.ours.starts_with("best: F 0.950; A 0.600; lead -0.350"), "{}", c.ours);
    }

    #[test]
    fn what_the_claims_come_to() {
        use Verdict::*;
        for (parts, outcome) in [
            (&[Holds, Holds][..], Holds),
            (&[Holds, NotTested], Holds),
            (&[Holds, DoesNotHold], Partly),
            (&[Holds, Undecided], Partly),
            (&[DoesNotHold, Undecided], DoesNotHold),
            (&[Undecided], Undecided),
            (&[NotTested], NotTested),
            (&[], NotTested),
        ] {
            let claims = parts.iter().map(|v| Claim::new("", String::new(), *v)).collect();
            assert_eq!(Finding::of(claims, Vec::new(), "").outcome, outcome, "{parts:?}");
        }
        // Nothing to compare is no verdict, and says so.
        let none = Finding::of(vec![better(("A", &[None]), ("B", &[Some(1.0)])).why("x")], Vec::new(), "");
        assert_eq!((none.outcome, none.claims[0].verdict), (NotTested, NotTested));
        assert!(none.claims[0].why.contains("No topic"), "{none:?}");
    }

    #[test]
    fn what_was_run_by_hand() {
        let rows = vec![("a".to_string(), vec![Some(0.1), None, Some(0.3), Some(0.2), Some(0.0), Some(0.4)])];
        let table = Table { title: String::new(), head: Vec::new(), rows };
        let finding = Finding::of(Vec::new(), vec![table], "");
        assert_eq!((finding.topics(), Finding::of(Vec::new(), Vec::new(), "").topics()), (2, 0));
        let out = runs_table(&[(&ALL[0], &finding, Some(90.0)), (&ALL[1], &finding, None)], 5);
        let rows: Vec<&str> = out.lines().skip(2).collect();
        assert_eq!(rows, ["| `judges` | not tested | 2 | 5 | 1.5 |", "| `idf` | not tested | 2 | 5 | – |"]);
    }

    #[test]
    fn one_line_per_claim() {
        let claim = Claim::new("a | b", "0.5".into(), Verdict::Holds).figure("0.9").why("Other\npages.");
        let finding = Finding::of(vec![claim], Vec::new(), "");
        let table = claims_table(&[(&ALL[0], &finding)]);
        let last = table.lines().last().unwrap();
        assert_eq!(table.lines().count(), 3);
        assert!(
            last.starts_with("| a \\| b (`judges`) |")
                && last.contains("| 0.9 | 0.5 | **holds** | Other pages. |"),
            "{last}"
        );
    }
}
