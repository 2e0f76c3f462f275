//! `gleaner threshold TOPIC.toml`: where the line between relevant and not could be drawn, by every estimator
//! of Siqueira. `gleaner threshold DIR`: what a collection would be at other lines (`lines.rs`).

use super::lines;
use super::setup::{self, FetchFlags};
use super::terms::spread;
use crate::pages::{PageSourceArgs, Pages, doc};
use crate::text::{save, shorten, strip_controls};
use clap::Args as ClapArgs;
use console::style;
use crawl::collection::{Collection, TopicParts};
use crawl::config::Config;
use crawl::reader::Reader;
use eval::labels::Seeds;
use focus::topic::edit::TopicFile;
use focus::topic::threshold::{Estimator, Subset, quantile, random_subsets};
use learn::rng::Rng;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use types::{Assessment, LinkKind, Problem};

const EXAMPLES: &str = "\
Examples:
  gleaner threshold db                                        a collection: how many pages at other lines, and which
  gleaner threshold db --write 0.7                            this line from now on
  gleaner threshold db.toml                                   from the seeds in the topic file
  gleaner threshold db.toml --seeds found.tsv                 from search results (see `gleaner seeds`)
  gleaner threshold course.toml --web webs/webkb --seeds webs/webkb/seeds.tsv#four_departments
  gleaner threshold db.toml --collection db                   from what a crawl has fetched, without the network
  gleaner threshold db.toml --write kmeans                    put that number into the topic file

The estimators (mean, weighted-mean, kmeans, birch, silhouette) come from the literature and expect seeds that are
mostly relevant, such as search results. `auto` also works from entry pages, and goes on refining while it crawls.";

#[derive(ClapArgs, Debug)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Topic file, or the folder of a collection
    #[arg(value_name = "TOPIC.toml|DIR")]
    topic: PathBuf,
    /// Pages to estimate from, best first: a list (FILE or FILE#SET) or URLs (default: the topic's seeds)
    #[arg(long, value_name = "FILE[#SET]|URL", num_args = 1..)]
    seeds: Vec<String>,
    #[command(flatten)]
    from: PageSourceArgs,
    #[command(flatten)]
    fetch: FetchFlags,
    /// Put the number of this estimator, `auto`, or a number into the topic file
    #[arg(long, value_name = "ESTIMATOR|N")]
    write: Option<String>,
    /// Seed of the random subsets
    #[arg(long, value_name = "N", default_value_t = 0)]
    rng: u64,
    /// Everything, as JSON
    #[arg(long)]
    json: bool,
}

/// A page that was measured.
struct MeasuredPage {
    name: String,
    assessment: Assessment,
    similarity: f64,
}

/// Random subsets are drawn so often for their interval.
const DRAWS: usize = 200;
/// Similarities shown one by one.
const SHOWN: usize = 25;

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let choice = args.write.as_deref().map(Choice::named).transpose()?;
    if args.topic.is_dir() {
        return of_collection(&args, choice);
    }
    let mut flags = toml::Table::new();
    args.fetch.lay(&mut flags);
    // What `auto` would do is asked whatever the topic file says now.
    setup::set(&mut flags, "judge", "threshold", "auto");
    let loaded = setup::load(Some(&args.topic), flags)?;
    let pages = Pages::open(&args.from, &loaded.config)?;
    let names = names(&args, &loaded.config, &pages)?;
    let topic = loaded.config.topic()?;
    let answer = |url: &types::Url| pages.answer_or_fetch(url);
    let analyst = TopicParts::new(&topic, pages.canon(), &answer, names.len(), args.rng)?.analyst;
    let mut judge = analyst.judge.write().unwrap_or_else(|e| e.into_inner());
    let mut seen: Vec<MeasuredPage> = Vec::new();
    let mut failed = 0;
    for name in &names {
        let analysed = pages
            .page(name)
            .and_then(|fetched| Ok(judge.assess(&doc(&fetched, &analyst.extract, &analyst.text)?)));
        match analysed {
            Ok(assessment) => seen.push(MeasuredPage { name: name.clone(), assessment, similarity: 0.0 }),
            Err(problem) => {
                failed += 1;
                eprintln!("{} {problem}", style("warning:").yellow().for_stderr());
            }
        }
    }
    if seen.is_empty() {
        return Err(Problem::nothing(format!("none of the {} seed pages could be read", names.len()))
            .hint("`gleaner fetch URL` shows what a seed answers"));
    }
    for s in &seen {
        judge.observe(&s.assessment, None);
    }
    // In a collection `auto` has seen more than the seeds.
    let others = others(&pages, &names)?;
    let mut observed = seen.len();
    for name in &others {
        if let Ok(d) = pages.page(name).and_then(|f| doc(&f, &analyst.extract, &analyst.text)) {
            let assessment = judge.assess(&d);
            judge.observe(&assessment, None);
            observed += 1;
        }
    }
    for s in &mut seen {
        s.similarity = judge.decide(&s.assessment).relevance;
    }
    let auto = judge.decide(&Assessment::default()).threshold;
    let why = judge.explain().unwrap_or_else(|| format!("threshold {auto:.3}"));
    let values: Vec<f64> = seen.iter().map(|s| s.similarity).collect();
    let rows = table(&values, args.rng);
    let note = advice(&values, auto);
    if args.json {
        print_json(&topic.name, &seen, &rows, auto, &why, &note, observed);
    } else {
        show(&topic.name, &seen, &rows, auto, &why, &note, observed);
    }
    if let Some(choice) = choice {
        write(&args.topic, choice, &values, auto)?;
    }
    Ok(if failed > 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Shows a collection's lines, or changes its topic file.
fn of_collection(args: &Args, choice: Option<Choice>) -> Result<ExitCode, Problem> {
    let reader = Reader::open(&args.topic)?;
    let Some(choice) = choice else {
        lines::show(&reader, args.json)?;
        return Ok(ExitCode::SUCCESS);
    };
    if let Choice::By(e) = choice {
        return Err(Problem::usage(format!("{} estimates from seeds, not from a collection", e.name()))
            .hint("give a number or `auto`, or a topic file in place of the folder"));
    }
    write(&Collection::topic_file(&args.topic), choice, &[], reader.threshold()?)?;
    eprintln!("`gleaner rejudge {}` applies it to the pages that were fetched", args.topic.display());
    Ok(ExitCode::SUCCESS)
}

#[derive(Clone, Copy)]
enum Choice {
    Auto,
    By(Estimator),
    At(f64),
}

impl Choice {
    fn named(name: &str) -> Result<Choice, Problem> {
        if name == "auto" {
            return Ok(Choice::Auto);
        }
        if let Ok(line) = name.parse::<f64>() {
            return match (0.0..=1.0).contains(&line) {
                true => Ok(Choice::At(line)),
                false => Err(Problem::usage(format!("the threshold {name} is not between 0 and 1"))),
            };
        }
        Estimator::named(name).map(Choice::By).ok_or_else(|| {
            Problem::usage(format!("there is no estimator `{name}`"))
                .hint(focus::topic::did_you_mean(name, focus::topic::Threshold::NAMES))
        })
    }
}

/// Which pages: those named, else the topic's seeds, else the web's or the collection's own.
fn names(args: &Args, config: &Config, pages: &Pages) -> Result<Vec<String>, Problem> {
    let mut out: Vec<String> = Vec::new();
    let mut files: Vec<String> = Vec::new();
    for s in &args.seeds {
        let file = s.rsplit_once('#').map_or(s.as_str(), |(file, _)| file);
        if Path::new(s).is_file() || (!s.contains("://") && Path::new(file).is_file()) {
            files.push(s.clone());
        } else {
            out.push(s.clone());
        }
    }
    if args.seeds.is_empty() {
        if let Some(reader) = pages.reader() {
            for record in reader.records(true) {
                let record = record?;
                if record.kind == LinkKind::Seed {
                    out.push(record.url);
                }
            }
        } else {
            out.extend(config.seeds.urls.iter().cloned());
            files.extend(config.seeds.files.iter().cloned());
        }
    }
    for spec in &files {
        out.extend(Seeds::open(spec)?.urls.iter().map(|u| u.to_string()));
    }
    let mut known = HashSet::new();
    out.retain(|n| known.insert(n.clone()));
    if out.is_empty() {
        return Err(Problem::nothing("there is nothing to estimate from: no seeds").hint(
            "give --seeds FILE or URLs, put urls = [\"…\"] under [seeds] in the topic file, or name a \
             --collection",
        ));
    }
    Ok(out)
}

/// Further pages of a collection, for `auto`: evenly spread when there are many.
fn others(pages: &Pages, seeds: &[String]) -> Result<Vec<String>, Problem> {
    const MOST: usize = 2_000;
    let Some(reader) = pages.reader() else { return Ok(Vec::new()) };
    let seeds: HashSet<&String> = seeds.iter().collect();
    let mut out = Vec::new();
    for record in reader.records(true) {
        let url = record?.url;
        if !seeds.contains(&url) {
            out.push(url);
        }
    }
    Ok(spread(out, MOST))
}

/// One subset of the seeds and what the five estimators make of it.
struct Row {
    subset: String,
    /// Threshold and, for random subsets, its interval.
    cells: Vec<(Estimator, Option<(f64, Option<(f64, f64)>)>)>,
}

fn table(values: &[f64], rng: u64) -> Vec<Row> {
    let mut rows = Vec::new();
    let fixed = |name: String, subset: Subset| {
        let chosen = subset.of(values, &mut Rng(rng));
        let cells = Estimator::ALL.map(|e| (e, e.estimate(&chosen).map(|t| (t, None)))).to_vec();
        Row { subset: name, cells }
    };
    rows.push(fixed("all".into(), Subset::Full));
    rows.push(fixed("iqr".into(), Subset::Iqr));
    let shares = [(0.25, 25), (0.5, 50), (0.75, 75)];
    for (share, percent) in shares {
        let cells = Estimator::ALL.map(|e| {
            let found = random_subsets(values, share, e, DRAWS, &mut Rng(rng));
            (e, found.map(|(mean, low, high)| (mean, Some((low, high)))))
        });
        rows.push(Row { subset: format!("random {percent} %"), cells: cells.to_vec() });
    }
    rows.extend(shares.map(|(share, percent)| fixed(format!("first {percent} %"), Subset::First(share))));
    rows.extend(shares.map(|(share, percent)| fixed(format!("last {percent} %"), Subset::Last(share))));
    rows
}

/// What the similarities themselves say about using them.
fn advice(values: &[f64], auto: f64) -> String {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let reach = values.iter().filter(|v| **v >= auto).count();
    let n = values.len();
    if sorted.last().is_none_or(|v| *v == 0.0) {
        return "no seed has anything in common with the topic: check its terms with `gleaner judge`".into();
    }
    if 2 * reach < n {
        return format!(
            "only {reach} of {n} seeds reach it: these look like entry pages, whose similarity says little \
             about what \
             is wanted; leave threshold = \"auto\", which goes by the pages crawled, or add pages you want \
             to [examples]"
        );
    }
    if n < 5 {
        return format!("{n} pages are few: the estimates above move much with each");
    }
    let middle = Estimator::KMeans.estimate(values).unwrap_or_else(|| quantile(&sorted, 0.5));
    format!(
        "{reach} of {n} seeds reach it, so they are mostly relevant: kmeans ({middle:.3}) was best for such \
         seeds in Siqueira et al."
    )
}

fn show(topic: &str, seen: &[MeasuredPage], rows: &[Row], auto: f64, why: &str, note: &str, observed: usize) {
    println!(
        "Similarity of {} seed pages to {}",
        seen.len(),
        style(format!("\"{}\"", strip_controls(topic))).bold()
    );
    let mut by: Vec<&MeasuredPage> = seen.iter().collect();
    by.sort_by(|a, b| b.similarity.total_cmp(&a.similarity));
    for s in by.iter().take(SHOWN) {
        println!(
            "  {:.3} {:<20} {}",
            s.similarity,
            style(bar(s.similarity, 20)).green(),
            shorten(&strip_controls(&s.name), 80)
        );
    }
    if by.len() > SHOWN {
        println!("  … and {} more, down to {:.3}", by.len() - SHOWN, by.last().map_or(0.0, |s| s.similarity));
    }
    println!();
    let full: &[(Estimator, _)] = rows.first().map_or(&[], |r| &r.cells);
    let values: Vec<f64> = seen.iter().map(|s| s.similarity).collect();
    let mut marks: Vec<(&str, f64)> =
        full.iter().filter_map(|(e, c)| c.map(|(t, _)| (e.name(), t))).collect();
    marks.push(("auto", auto));
    print!("{}", plot(&values, &marks));
    println!("\n{}", style("Thresholds by estimator and by which seeds are used").bold());
    print!("  {:<13}", "seeds");
    Estimator::ALL.iter().for_each(|e| print!(" {:>13}", e.name()));
    println!();
    for row in rows {
        print!("  {:<13}", row.subset);
        for (_, cell) in &row.cells {
            let text = match cell {
                Some((_, Some((low, high)))) => format!("{low:.3}–{high:.3}"),
                Some((t, None)) => format!("{t:.3}"),
                None => "–".into(),
            };
            print!(" {text:>13}");
        }
        println!();
    }
    println!("  (random: the range of 95 % of {DRAWS} draws; first and last: by similarity)");
    println!("\n{} {auto:.3}", style("auto would choose").bold());
    println!("  {why}; from {observed} pages now, and again while it crawls");
    println!("  {note}");
}

fn print_json(
    topic: &str,
    seen: &[MeasuredPage],
    rows: &[Row],
    auto: f64,
    why: &str,
    note: &str,
    observed: usize,
) {
    let pages: Vec<_> =
        seen.iter().map(|s| serde_json::json!({ "page": s.name, "similarity": s.similarity })).collect();
    let estimates: Vec<_> = rows
        .iter()
        .flat_map(|r| {
            r.cells.iter().map(|(e, c)| {
                let interval = c.and_then(|(_, i)| i);
                serde_json::json!({
                    "seeds": r.subset, "estimator": e.name(), "threshold": c.map(|(t, _)| t),
                    "low": interval.map(|i| i.0), "high": interval.map(|i| i.1),
                })
            })
        })
        .collect();
    let all = serde_json::json!({
        "topic": topic, "pages": pages, "estimates": estimates,
        "auto": { "threshold": auto, "why": why, "pages": observed, "note": note },
    });
    println!("{all}");
}

fn bar(value: f64, width: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (value.clamp(0.0, 1.0) * width as f64 * 8.0).round() as usize;
    let rest = EIGHTHS.get(eighths % 8).copied().unwrap_or("");
    format!("{}{rest}", "█".repeat(eighths / 8))
}

const COLUMNS: usize = 50;

/// A row of bars over the scale 0–1, and a mark below for each threshold.
pub(super) fn plot(values: &[f64], marks: &[(&str, f64)]) -> String {
    const HEIGHTS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let column = |v: f64| ((v.clamp(0.0, 1.0) * COLUMNS as f64) as usize).min(COLUMNS - 1);
    let mut counts = [0usize; COLUMNS];
    for v in values {
        if let Some(n) = counts.get_mut(column(*v)) {
            *n += 1;
        }
    }
    let most = counts.iter().copied().max().unwrap_or(0).max(1);
    let bars: String =
        counts.iter().map(|n| HEIGHTS.get((n * 8).div_ceil(most)).copied().unwrap_or('█')).collect();
    let mut out = format!("  {:<13} {}\n", "pages", bars.trim_end());
    out += &format!("  {:<13} {}\n", "", scale());
    for (name, at) in marks {
        out += &format!("  {name:<13} {}▲ {at:.3}\n", " ".repeat(column(*at)));
    }
    out
}

/// `0.0       0.2 …  1.0`
fn scale() -> String {
    let mut out = String::new();
    for tick in 0..=5 {
        let text = format!("{:.1}", f64::from(tick) / 5.0);
        let at = tick as usize * COLUMNS / 5;
        out += &" ".repeat(at.saturating_sub(out.chars().count()));
        out += &text;
    }
    out
}

fn write(path: &Path, choice: Choice, values: &[f64], auto: f64) -> Result<(), Problem> {
    let text = std::fs::read_to_string(path).map_err(|e| Problem::io("read", path, &e))?;
    let mut file = TopicFile::parse(&text, &path.display().to_string())?;
    let said = match choice {
        Choice::Auto => {
            file.set("judge", "threshold", "auto")?;
            format!("\"auto\" ({auto:.3} for now)")
        }
        Choice::At(t) => {
            file.set("judge", "threshold", t)?;
            t.to_string()
        }
        Choice::By(e) => {
            let t = e.estimate(values).unwrap_or(auto);
            let t = (t * 1000.0).round() / 1000.0;
            file.set("judge", "threshold", t)?;
            format!("{t} (by {})", e.name())
        }
    };
    save(path, &file.text())?;
    eprintln!("{}: [judge] threshold = {said}", path.display());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_plot_has_a_mark_per_threshold_under_its_column() {
        let p = plot(&[0.0, 0.5, 0.5, 1.0], &[("mean", 0.5), ("auto", 1.0)]);
        let lines: Vec<&str> = p.lines().collect();
        let bars: Vec<char> = lines[0].chars().skip(16).collect();
        assert_eq!((bars[0], bars[25], bars[49]), ('▄', '█', '▄'));
        assert_eq!(lines[2].chars().position(|c| c == '▲'), Some(16 + 25));
        assert_eq!(lines[3].chars().position(|c| c == '▲'), Some(16 + 49));
        assert!(lines[1].contains("0.0       0.2       0.4       0.6       0.8       1.0"));
        assert!(plot(&[], &[]).contains("pages"));
    }

    #[test]
    fn bars() {
        assert_eq!(bar(1.0, 4), "████");
        assert_eq!(bar(0.5, 4), "██");
        assert_eq!(bar(0.0, 4), "");
        assert_eq!(bar(f64::NAN, 4), "");
    }

    #[test]
    fn advice_tells_entry_pages_from_results() {
        assert!(advice(&[0.1, 0.1, 0.1, 0.9], 0.5).contains("entry pages"));
        assert!(advice(&[0.6, 0.7, 0.8, 0.9, 0.7], 0.5).contains("kmeans"));
        assert!(
            advice(&[0.0, 0.0], 0.5).contains("nothing in common")
                || advice(&[0.0, 0.0], 0.5).contains("no seed")
        );
        assert!(advice(&[0.9], 0.5).contains("few"));
    }

    #[test]
    fn every_subset_has_every_estimator() {
        let rows = table(&[0.1, 0.2, 0.8, 0.9], 1);
        assert_eq!(rows.len(), 11);
        assert!(rows.iter().all(|r| r.cells.len() == 5 && r.cells.iter().all(|c| c.1.is_some())));
        let one = table(&[0.4], 1);
        assert!(
            one.iter().all(|r| r.cells.iter().all(|c| c.1.is_some_and(|(t, _)| (t - 0.4).abs() < 1e-12)))
        );
    }
}
