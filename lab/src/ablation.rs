//! What each mechanism of `adaptive` is worth: one left out at a time, and one added at a time to the bare
//! prior. Paired over topics, because runs on one web are not independent of each other.

use crate::difference::{Difference, DifferenceChart};
use crate::kept::{self, Kept};
use eval::experiments::{
    Finding, Lab, Table, Variant, Verdict, auc, better, compare, mean, over_draws, share_until,
};
use eval::stats;
use types::Problem;

/// What is left out: parts of the strategy by name, or an option set to 0.
const WITHOUT: &[(&str, &[&str])] = &[
    ("learning", &["learn"]),
    ("prior", &["prior"]),
    ("way to others", &["ahead = 0"]),
    ("way beyond one link", &["far = 0"]),
    ("similarity head", &["similar"]),
    ("soft verdicts", &["soft"]),
    ("credit for the way", &["credit"]),
    ("search by places", &["search"]),
    ("host bonus", &["host_bonus = 0"]),
    ("all words", WORDS),
    ("anchor words", &["anchor", "pairs"]),
    ("anchor pairs", &["pairs"]),
    ("URL words", &["url"]),
    ("surroundings", &["context", "offsets"]),
    ("DOM offsets", &["offsets"]),
    ("heading", &["heading"]),
    ("title", &["title"]),
    ("tag path words", &["tags"]),
    ("place", &["place"]),
    ("all groups", GROUPS),
    ("host", &["host"]),
    ("directory", &["directory"]),
    ("tag path", &["tag_path", "host_path"]),
    ("URL shape", &["shape"]),
    ("siblings", &["siblings", "near", "list"]),
    ("re-scoring everything", &["refresh = 0"]),
    ("re-scoring before a fetch", &["lookahead = 0"]),
];

const WORDS: &[&str] = &["anchor", "pairs", "url", "context", "offsets", "heading", "title", "tags", "place"];
const GROUPS: &[&str] = &["host", "directory", "tag_path", "host_path", "shape", "siblings", "near", "list"];
/// With the parts of [`WORDS`] and [`GROUPS`], all that is off in the bare prior.
const LEARNING: &[&str] =
    &["learn", "similar", "soft", "credit", "search", "host_bonus = 0", "ahead = 0", "far = 0"];

/// What is added to the bare prior.
const ADDED: &[(&str, &[&str])] = &[
    ("similarity head", &["similar"]),
    ("soft verdicts", &["soft"]),
    ("host bonus", &["host_bonus = 0"]),
    ("groups", GROUPS),
    ("learning, no words", &["learn"]),
    ("learning anchors", &["learn", "anchor", "pairs"]),
    ("learning URLs", &["learn", "url"]),
    ("learning surroundings", &["learn", "context", "offsets"]),
    ("learning places", &["learn", "tags", "place"]),
    (
        "learning all words",
        &["learn", "anchor", "pairs", "url", "context", "offsets", "heading", "title", "tags", "place"],
    ),
    ("learning the way to others", &["learn", "ahead = 0", "far = 0"]),
];

/// `adaptive` without these parts, and with these options.
fn adaptive(name: &str, off: &[&str]) -> Variant {
    let (options, parts): (Vec<&str>, Vec<&str>) = off.iter().partition(|p| p.contains('='));
    let settings = format!("[strategy]\nkind = 'adaptive'\n{}", options.join("\n"));
    Variant { without: parts.iter().map(|p| p.to_string()).collect(), ..Variant::new(name, &settings) }
}

fn bare_with(on: &[&str]) -> Vec<&'static str> {
    let off = LEARNING.iter().chain(WORDS).chain(GROUPS);
    off.filter(|part| !on.contains(part)).copied().collect()
}

/// Values by variant and site, taken site by site: the orders of all crawls at once would not fit into
/// memory.
struct Measured {
    auc: Vec<Vec<Option<f64>>>,
    half: Vec<Vec<Option<f64>>>,
}

fn measure(lab: &Lab, kept: Option<&Kept>, variants: &[Variant]) -> Result<Measured, Problem> {
    let empty = || vec![Vec::with_capacity(lab.sites.len()); variants.len()];
    let mut out = Measured { auc: empty(), half: empty() };
    for site in &lab.sites {
        let numbers = kept::or_make(lab, kept, "ablation", site, variants, || {
            let runs = lab.crawl_site(site, variants)?;
            let of = |runs: &Vec<_>| (over_draws(runs, auc), over_draws(runs, |r| share_until(r, 50)));
            Ok(runs.iter().map(of).collect::<Vec<_>>())
        })?;
        for (i, (auc, half)) in numbers.into_iter().enumerate().take(variants.len()) {
            out.auc[i].push(auc);
            out.half[i].push(half);
        }
    }
    Ok(out)
}

/// A drawing, written beside the tables.
pub struct Figure {
    pub name: &'static str,
    pub svg: String,
}

pub fn run(lab: &Lab, kept: Option<&Kept>) -> Result<(Finding, Vec<Figure>), Problem> {
    let mut variants = vec![adaptive("adaptive", &[]), adaptive("prior alone", &bare_with(&[]))];
    variants.extend(WITHOUT.iter().map(|(name, off)| adaptive(&format!("without {name}"), off)));
    variants.extend(ADDED.iter().map(|(name, on)| adaptive(&format!("prior and {name}"), &bare_with(on))));
    let m = measure(lab, kept, &variants)?;
    let first_added = 2 + WITHOUT.len();
    let (left_out, added): (Vec<usize>, Vec<usize>) = (2..variants.len()).partition(|i| *i < first_added);

    let mut claims = Vec::new();
    for i in &left_out {
        let mut claim = better(("with it", &m.auc[0]), (&variants[*i].name, &m.auc[*i]));
        claim.what = format!("{} it is worse", variants[*i].name);
        claims.push(claim);
    }
    let tables = vec![
        table(lab, "One left out at a time: area under the recall curve.", &variants, &m, 0, &left_out),
        table(
            lab,
            "One added at a time to the prior alone: area under the recall curve.",
            &variants,
            &m,
            1,
            &added,
        ),
    ];
    let figures = vec![
        figure("ablation-without", "What leaving one mechanism out costs", &variants, &m, 0, &left_out),
        figure("ablation-with", "What one mechanism alone adds to the prior", &variants, &m, 1, &added),
    ];
    let why = "Mechanisms overlap: what is lost without one is less than what it adds alone, because others \
               step in. Tests are over topics (draws of the seeds are averaged first); \
               with so many comparisons, one in twenty below p = 0.05 is chance.";
    let mut finding = Finding::of(claims, tables, why);
    if lab.sites.len() < 6 {
        finding.outcome = Verdict::Undecided;
        finding.how.push_str(" Fewer than six topics: no test can show anything.");
    }
    Ok((finding, figures))
}

/// The rows `which`, compared with the row `base`.
fn table(lab: &Lab, title: &str, variants: &[Variant], m: &Measured, base: usize, which: &[usize]) -> Table {
    let mut t = Table::over(lab, title);
    t.head.extend(["L50", "difference", "better", "worse", "Wilcoxon p"].map(String::from));
    for i in std::iter::once(&base).chain(which) {
        t.row(&variants[*i].name, &m.auc[*i]);
        let p = compare(&m.auc[*i], &m.auc[base]);
        let more = [mean(&m.half[*i]), p.difference, p.wins as f64, p.losses as f64, p.wilcoxon_p];
        if let Some((_, cells)) = t.rows.last_mut() {
            cells.extend(more.map(Some));
        }
    }
    t
}

fn figure(
    id: &'static str,
    title: &str,
    variants: &[Variant],
    m: &Measured,
    base: usize,
    which: &[usize],
) -> Figure {
    let mut rows: Vec<Difference> = which
        .iter()
        .map(|i| {
            let pairs = m.auc[*i].iter().zip(&m.auc[base]);
            let d: Vec<f64> = pairs.filter_map(|(a, b)| Some((*a)? - (*b)?)).collect();
            let interval = stats::bootstrap(&d, 2000, 0);
            Difference {
                label: variants[*i].name.clone(),
                value: interval.mean,
                low: interval.low,
                high: interval.high,
            }
        })
        .collect();
    rows.sort_by(|a, b| a.value.total_cmp(&b.value));
    let chart = DifferenceChart {
        title: title.into(),
        desc: format!(
            "difference in mean AUC over {} topics, with 95 % bootstrap intervals over topics",
            m.auc[base].len()
        ),
        rows,
    };
    Figure { name: id, svg: chart.svg() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use focus::strategies::{self, StrategySetup};

    /// A switch that does not exist, or none that is left on, would make the table say nothing.
    #[test]
    fn every_variant_is_a_strategy_of_its_own() {
        let config = crawl::config::Config::load(
            "name = 'x'\n[content]\nterms = ['x']\n",
            "a test",
            toml::Table::new(),
        );
        let topic = config.unwrap().config.topic().unwrap();
        let mut seen = std::collections::BTreeSet::new();
        let left_out = WITHOUT.iter().map(|(_, off)| off.to_vec());
        let added = ADDED.iter().map(|(_, on)| bare_with(on));
        for off in left_out.chain(added).chain([bare_with(&[]), Vec::new()]) {
            let variant = adaptive("x", &off);
            let strategy = toml::from_str::<toml::Table>(&variant.settings).unwrap().remove("strategy");
            let mut options = strategy.and_then(|s| s.as_table().cloned()).unwrap();
            options.remove("kind");
            let mut topic = topic.clone();
            topic.strategy.without = variant.without;
            let setup = StrategySetup { options: &options, ..StrategySetup::new(&topic) };
            assert!((strategies::find("adaptive").unwrap().build)(&setup).is_ok(), "{off:?}");
            assert!(seen.insert(off));
        }
    }

    #[test]
    fn what_is_added_is_off_in_the_bare_prior() {
        for part in ADDED.iter().flat_map(|(_, on)| *on) {
            assert!(bare_with(&[]).contains(part), "{part}");
        }
    }
}
