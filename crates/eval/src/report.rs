//! `report.html` of a backtest: one file, no network, light and dark, readable when printed.

use crate::metrics::{BUDGETS, SweepPoint, best_threshold};
use crate::results::{ALL, LessonMeans, Results, Summary, Timing};
use crate::stats::Paired;
use look::{Chart, Lines, Page, Ranked, Ranking, Series, Unit, escape, number, with_code};
use std::fmt::Write;

/// Everything the report shows. Only `results` is needed; the rest appears when it is there.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Heading and title of the page.
    pub title: String,
    /// What the backtest measured.
    pub results: Results,
    /// What was measured with a clock.
    pub timing: Option<Timing>,
    /// Recall of the oracle, per topic (one rng stands for all).
    pub oracle: Vec<TopicCurve>,
    /// Share of relevant pages among the last ones, per topic and strategy.
    pub harvest_rate: Vec<StrategyCurve>,
    /// Mean loss against a critic, per topic and strategy (Chakrabarti et al. 2002).
    pub loss: Vec<StrategyCurve>,
    /// Threshold sweep of the judge, per topic.
    pub sweeps: Vec<(String, Vec<SweepPoint>)>,
    /// How the backtest was run, as shown to people.
    pub settings: Vec<(String, String)>,
    /// Warnings and counts of what was skipped.
    pub notes: Vec<String>,
}

/// A curve of one topic.
#[derive(Clone, Debug)]
pub struct TopicCurve {
    /// Name of the topic.
    pub topic: String,
    /// `(pages fetched, value)`.
    pub points: Vec<(usize, f64)>,
}

/// A curve of one strategy on one topic.
#[derive(Clone, Debug)]
pub struct StrategyCurve {
    /// Name of the topic.
    pub topic: String,
    /// Name of the strategy.
    pub strategy: String,
    /// `(pages fetched, value)`.
    pub points: Vec<(usize, f64)>,
}

/// What to do when there is nothing to tell chance from.
pub const ONE_DRAW: &str = "One draw: add `--rng 0..4` to tell a difference from chance.";

/// The columns of the table of all numbers.
const NUMBERS: [&str; 15] = [
    "strategy",
    "auc",
    "95 % interval",
    "found in 100",
    "250",
    "500",
    "1,000",
    "2,000",
    "normalised",
    "recall",
    "harvest",
    "50 % after",
    "90 % after",
    "judge F1",
    "crawls",
];

/// Most strategies in a chart of curves that cross.
const CROSSING: usize = 6;

impl Report {
    /// The whole page, styles and scripts included.
    pub fn html(&self) -> String {
        let mut out = Page::new(&self.title);
        out.header(&format!(
            "Backtest of {} on {} · Gleaner {}",
            count(self.results.strategies().len(), "strategy", "strategies"),
            self.results.web,
            env!("CARGO_PKG_VERSION")
        ));
        self.cards(&mut out);
        if !self.notes.is_empty() {
            let _ = out.write_str("<div class=\"alert\"><ul>\n");
            for n in &self.notes {
                let _ = writeln!(out, "<li>{}</li>", escape(n));
            }
            let _ = out.write_str("</ul></div>\n");
        }
        self.ranking(&mut out);
        self.recall(&mut out);
        self.curves(
            "Harvest rate over time",
            "harvest rate",
            &self.harvest_rate,
            "Share of relevant pages among the last ones fetched: the window is 5 % of the crawl. A focused \
             crawl starts high and runs dry when everything was found.",
            &mut out,
        );
        self.curves(
            "Loss",
            "loss",
            &self.loss,
            "One minus the mean grade the critic gives to the pages fetched; lower is better.",
            &mut out,
        );
        self.sweep(&mut out);
        self.taught(&mut out);
        self.pairs(&mut out);
        self.time(&mut out);
        self.tables(&mut out);
        self.how(&mut out);
        out.finish()
    }

    /// Strategies, best first: by mean auc, over topics when there are several.
    fn ranked(&self) -> Vec<(&str, Option<f64>)> {
        let topic = self.overall();
        let mut list: Vec<(&str, Option<f64>)> = self
            .results
            .strategies()
            .into_iter()
            .map(|s| (s, self.results.summary_of(&topic, s).and_then(|x| x.auc_mean)))
            .collect();
        list.sort_by(|a, b| b.1.unwrap_or(-1.0).total_cmp(&a.1.unwrap_or(-1.0)).then(a.0.cmp(b.0)));
        list
    }

    /// The topic that stands for all.
    fn overall(&self) -> String {
        match self.results.topics().as_slice() {
            [one] => one.to_string(),
            _ => ALL.to_string(),
        }
    }

    /// A strategy keeps its colour through the whole report: that of its rank.
    fn colour(&self, strategy: &str) -> usize {
        self.ranked().iter().position(|(s, _)| *s == strategy).unwrap_or(0)
    }

    fn cards(&self, out: &mut Page) {
        let ranked = self.ranked();
        let r = &self.results;
        let reachable = r.runs.iter().map(|x| x.reachable).max().unwrap_or(0);
        let best = ranked.first().map_or("–", |x| x.0);
        let auc = ranked.first().and_then(|x| x.1);
        let oracle: Vec<f64> = r.runs.iter().filter_map(|x| x.oracle_auc).collect();
        let oracle = (!oracle.is_empty()).then(|| crate::stats::mean(&oracle));
        let three = |v: Option<f64>| v.map_or("–".into(), |v| format!("{v:.3}"));
        let whole = |n: usize| number(n as f64, Unit::Count);
        let cards = [
            (three(auc), "area under recall", format!("{best}, the best")),
            (three(oracle), "the oracle’s", String::new()),
            (whole(reachable), "pages reachable", String::new()),
            (whole(ranked.len()), plural(ranked.len(), "strategy", "strategies"), String::new()),
            (whole(r.topics().len()), plural(r.topics().len(), "topic", "topics"), String::new()),
            (whole(r.runs.len()), plural(r.runs.len(), "crawl", "crawls"), String::new()),
        ];
        out.cards(&cards);
    }

    fn ranking(&self, out: &mut Page) {
        let topic = self.overall();
        let row = |(i, (s, _)): (usize, &(&str, Option<f64>))| {
            let x = self.results.summary_of(&topic, s)?;
            let value = x.auc_mean?;
            let interval = x.auc_low.zip(x.auc_high).filter(|(l, h)| h - l > 1e-9).unzip();
            let note = Some(format!("{value:.3}"));
            Some(Ranked { name: s.to_string(), value, low: interval.0, high: interval.1, note, colour: i })
        };
        let rows: Vec<Ranked> = self.ranked().iter().enumerate().filter_map(row).collect();
        if rows.is_empty() {
            return;
        }
        let several = rows.iter().any(|r| r.low.is_some());
        out.open("Ranking");
        out.chart(Chart::Ranking(Ranking {
            label: "Area under recall".into(),
            x: "area under recall".into(),
            unit: Unit::Number,
            top: Some(1.0),
            rows,
        }));
        out.close(&format!(
            "Area under recall against the share of reachable pages fetched: 0.5 is chance, 1 would be \
                 all relevant pages at once. {}",
            match (several, topic == ALL) {
                (false, _) => ONE_DRAW,
                (true, true) => "Whiskers are 95 % intervals over topics.",
                (true, false) => "Whiskers are 95 % intervals over random seeds.",
            }
        ));
    }

    /// Mean recall over the runs of a topic and strategy, at 101 shares of the reachable pages.
    fn mean_recall(&self, topic: &str, strategy: &str) -> Vec<(f64, f64)> {
        let runs: Vec<_> = self
            .results
            .runs
            .iter()
            .filter(|r| r.topic == topic && r.strategy == strategy && r.relevant_reachable > 0)
            .collect();
        if runs.is_empty() {
            return Vec::new();
        }
        (0..=100)
            .map(|i| {
                let x = i as f64 / 100.0;
                let sum: f64 = runs.iter().map(|r| at(&r.recall, x * r.reachable as f64)).sum();
                (x, sum / runs.len() as f64)
            })
            .collect()
    }

    fn recall(&self, out: &mut Page) {
        let topics = self.results.topics();
        let ranked = self.ranked();
        if ranked.is_empty() {
            return;
        }
        let base = |title: &str, series: Vec<Series>| Lines {
            label: format!("Recall of each strategy on {title} against the share of reachable pages fetched"),
            x: "of the reachable pages fetched".into(),
            y: "recall".into(),
            x_unit: Unit::Percent,
            unit: Unit::Percent,
            top: Some(1.0),
            key: true,
            series,
        };
        let oracle = |topic: &str| -> Option<Vec<(f64, f64)>> {
            let curve = self.oracle.iter().find(|o| o.topic == topic)?;
            let reachable = self.results.runs.iter().find(|r| r.topic == topic)?.reachable.max(1) as f64;
            Some((0..=100).map(|i| i as f64 / 100.0).map(|x| (x, at(&curve.points, x * reachable))).collect())
        };
        let references = |oracle: Option<Vec<(f64, f64)>>| {
            let chance = Series::reference("chance", vec![(0.0, 0.0), (1.0, 1.0)]).dashed();
            oracle.map(|o| Series::reference("oracle", o)).into_iter().chain([chance])
        };
        let lines = |curve: &dyn Fn(&str) -> Vec<(f64, f64)>| -> Vec<Series> {
            let series = |(i, (s, _)): (usize, &(&str, _))| Series::new(*s, curve(s), i);
            ranked.iter().enumerate().map(series).filter(|s| !s.points.is_empty()).collect()
        };
        // All topics together: the mean of the topics' curves.
        let mut series = lines(&|s| {
            let of = topics.iter().map(|t| self.mean_recall(t, s)).filter(|c| !c.is_empty());
            mean_of(&of.collect::<Vec<_>>())
        });
        let oracles: Vec<_> = topics.iter().filter_map(|t| oracle(t)).collect();
        series.extend(references((!oracles.is_empty()).then(|| mean_of(&oracles))));
        out.open("Recall");
        out.chart(Chart::Lines(base(if let [one] = topics[..] { one } else { "all topics" }, series)));
        out.close(
            "How much of what there was to find was found after how many pages. The oracle is the best \
             order we can compute with labels and links known (an order that could really happen), chance a \
             random \
             order of all reachable pages.",
        );
        if topics.len() < 2 {
            return;
        }
        out.open("Recall per topic");
        let _ = out.write_str("<div class=\"many\">\n");
        for topic in &topics {
            let mut series = lines(&|s| self.mean_recall(topic, s));
            series.extend(references(oracle(topic)));
            small(out, topic, base(topic, series));
        }
        let _ = out.write_str("</div>\n");
        self.legend(usize::MAX, true, out);
        out.close("");
    }

    /// The names of the lines of several small charts.
    fn legend(&self, most: usize, references: bool, out: &mut Page) {
        let ranked = self.ranked();
        let named = ranked.iter().enumerate().take(most).map(|(i, (s, _))| (key(i), *s));
        let more = references.then(|| ("k-ref".to_string(), "oracle (above), chance (below)"));
        legend(named.chain(more), out);
    }

    fn curves(&self, title: &str, y: &str, curves: &[StrategyCurve], caption: &str, out: &mut Page) {
        let mut topics: Vec<&str> = curves.iter().map(|c| c.topic.as_str()).collect();
        topics.sort_unstable();
        topics.dedup();
        if topics.is_empty() {
            return;
        }
        let chart = |topic: &str| {
            // These curves cross each other all the time: more than a few cannot be read.
            let mut mine: Vec<(usize, &StrategyCurve)> = curves
                .iter()
                .filter(|x| x.topic == *topic)
                .map(|x| (self.colour(&x.strategy), x))
                .filter(|(rank, _)| *rank < CROSSING)
                .collect();
            mine.sort_by_key(|(i, _)| *i);
            let series = mine.into_iter().map(|(i, x)| {
                let points = x.points.iter().map(|(n, v)| (*n as f64, *v)).collect();
                Series::new(&x.strategy, points, i)
            });
            Lines {
                label: format!("{title} on {topic}, per strategy, against pages fetched"),
                x: "pages fetched".into(),
                y: y.into(),
                unit: Unit::Percent,
                top: Some(1.0),
                key: true,
                series: series.filter(|s| !s.points.is_empty()).collect(),
                ..Lines::default()
            }
        };
        out.open(title);
        if let [one] = topics[..] {
            out.chart(Chart::Lines(chart(one)));
        } else {
            let _ = out.write_str("<div class=\"many\">\n");
            topics.iter().for_each(|topic| small(out, topic, chart(topic)));
            let _ = out.write_str("</div>\n");
            self.legend(CROSSING, false, out);
        }
        let few = if self.ranked().len() > CROSSING {
            format!(" The {CROSSING} best strategies are shown.")
        } else {
            String::new()
        };
        out.close(&format!("{caption}{few}"));
    }

    fn sweep(&self, out: &mut Page) {
        if self.sweeps.is_empty() {
            return;
        }
        out.open("Judge: threshold sweep");
        let _ = out.write_str("<div class=\"many\">\n");
        for (topic, points) in &self.sweeps {
            let best = best_threshold(points);
            let said = best.map_or(String::new(), |b| {
                format!(": best F1 {:.2} at {:.2}", b.decision.f1.unwrap_or(0.0), b.threshold)
            });
            let of = |name: &str, colour: usize, f: &dyn Fn(&SweepPoint) -> Option<f64>| {
                Series::new(
                    name,
                    points.iter().filter_map(|p| f(p).map(|v| (p.threshold, v))).collect(),
                    colour,
                )
            };
            let chart = Lines {
                label: format!("Precision, recall and F1 of the judge on {topic} by threshold{said}"),
                x: "threshold".into(),
                y: "precision, recall, F1".into(),
                x_unit: Unit::Number,
                unit: Unit::Number,
                top: Some(1.0),
                key: true,
                series: vec![
                    of("F1", 0, &|p| p.decision.f1),
                    of("precision", 1, &|p| p.decision.precision),
                    of("recall", 2, &|p| p.decision.recall),
                ],
            };
            small(out, &format!("{topic}{said}"), chart);
        }
        let _ = out.write_str("</div>\n");
        let names = ["F1", "precision", "recall"].into_iter().enumerate();
        legend(names.map(|(i, name)| (key(i), name)), out);
        out.close(
            "What the judge’s score is worth as a yes or no, against the labels of the pages \
             that were fetched.",
        );
    }

    /// What labels make of the verdicts: a curve and a table per topic.
    fn taught(&self, out: &mut Page) {
        let mut topics = self.results.topics();
        if topics.len() > 1 {
            topics.insert(0, ALL);
        }
        let ranked = self.ranked();
        let summary =
            |topic: &str, s: &str| self.results.summary_of(topic, s).filter(|x| !x.teach.is_empty());
        if !self.results.summary.iter().any(|s| !s.teach.is_empty()) {
            return;
        }
        out.open("Verdicts by number of labels");
        let _ = out.write_str("<div class=\"many\">\n");
        for topic in &topics {
            let name = if *topic == ALL { "all topics" } else { topic };
            let mut series = Vec::new();
            for (i, (s, _)) in ranked.iter().enumerate().take(CROSSING) {
                let Some(x) = summary(topic, s) else { continue };
                let of = |f: &dyn Fn(&LessonMeans) -> Option<f64>| {
                    x.teach.iter().filter_map(|l| f(l).map(|v| (l.labels as f64, v))).collect::<Vec<_>>()
                };
                series.push(Series::new(*s, of(&|l| l.f1), i));
                series.push(Series::new(format!("{s}, with labels"), of(&|l| l.f1_all), i).dashed());
            }
            let chart = Lines {
                label: format!(
                    "F1 of the verdicts on {name} by the number of labels, and (dashed) with the labels in it"
                ),
                x: "labels".into(),
                y: "F1".into(),
                unit: Unit::Number,
                top: Some(1.0),
                key: true,
                series,
                ..Lines::default()
            };
            small(out, name, chart);
        }
        let _ = out.write_str("</div>\n");
        self.legend(CROSSING, false, out);
        out.why(&format!(
            "F1 of the judge’s verdicts on the half of the pages that nobody was asked about; dashed: \
                 on all pages, with the labels in place of verdicts (what a user takes home). {}.",
            self.results.teaching.as_ref().map_or("", |t| &t.how)
        ));
        let budgets = BUDGETS.iter().map(|n| format!("found in {}", number(*n as f64, Unit::Count)));
        let names: Vec<String> = [
            "strategy",
            "labels",
            "F1",
            "F1 with labels",
            "precision",
            "recall",
            "Brier",
            "right of p ≥ 0.8",
        ]
        .map(String::from)
        .into_iter()
        .chain(budgets)
        .collect();
        self.per_topic(&topics, out, |topic, out| {
            out.table(&names);
            for (s, _) in &ranked {
                for l in summary(topic, s).map_or(&[][..], |x| &x.teach) {
                    let _ = write!(out, "<tr><td>{}</td><td class=\"n\">{}</td>", escape(s), l.labels);
                    for v in [l.f1, l.f1_all, l.precision, l.recall, l.brier, l.sure] {
                        let _ = out.write_str(&cell(v, 3));
                    }
                    for n in BUDGETS {
                        let _ = out.write_str(&cell(l.found.get(&n).copied(), 1));
                    }
                    let _ = out.write_str("</tr>\n");
                }
            }
            out.end_table();
        });
        out.close("");
    }

    /// Something about each topic, the first one open.
    fn per_topic(&self, topics: &[&str], out: &mut Page, mut write: impl FnMut(&str, &mut Page)) {
        for (i, topic) in topics.iter().enumerate() {
            let open = if i == 0 { " open" } else { "" };
            let name = escape(if *topic == ALL { "All topics" } else { topic });
            let _ = writeln!(out, "<details{open}><summary>{name}</summary>");
            write(topic, out);
            let _ = out.write_str("</details>\n");
        }
    }

    fn pairs(&self, out: &mut Page) {
        let ranked = self.ranked();
        let chance = |p: f64| if p < 0.001 { "&lt; 0.001".to_string() } else { format!("{p:.3}") };
        let Some((best, _)) = ranked.first().filter(|_| ranked.len() > 1) else { return };
        let others: Vec<(&str, Paired)> =
            ranked.iter().skip(1).map(|(other, _)| (*other, self.results.versus(best, other))).collect();
        // One pair says nothing about chance: a test would give p = 1 whatever happened.
        let several = others.iter().any(|(_, p)| p.wins + p.losses + p.ties > 1);
        out.open("Is the difference real?");
        let _ = writeln!(
            out,
            "<p>{} against each other strategy on the same topics and seeds.{}</p>",
            escape(best),
            if several { String::new() } else { format!(" <b>{}</b>", with_code(ONE_DRAW)) }
        );
        let mut names = vec!["against", "wins", "losses", "ties", "mean difference"];
        if several {
            names.extend(["sign test p", "Wilcoxon p"]);
        }
        out.table(&names);
        for (other, p) in others {
            let _ = write!(
                out,
                "<tr><td>{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td><td class=\"n\">{}</td>\
                 <td class=\"n\" data-v=\"{:.6}\">{:+.4}</td>",
                escape(other),
                p.wins,
                p.losses,
                p.ties,
                p.difference,
                p.difference,
            );
            for value in [p.sign_p, p.wilcoxon_p].into_iter().filter(|_| several) {
                let _ = write!(out, "<td class=\"n\" data-v=\"{value:.9}\">{}</td>", chance(value));
            }
            let _ = out.write_str("</tr>\n");
        }
        out.end_table();
        out.close("");
    }

    fn time(&self, out: &mut Page) {
        let Some(timing) = &self.timing else { return };
        let mut rows: Vec<Ranked> = Vec::new();
        for (i, (s, _)) in self.ranked().iter().enumerate() {
            let mine = || timing.runs.iter().filter(|r| r.strategy == *s);
            if mine().next().is_some() {
                let page = crate::stats::mean(&mine().map(|r| r.us_per_page).collect::<Vec<_>>());
                let link = crate::stats::mean(&mine().map(|r| r.us_per_link).collect::<Vec<_>>());
                let note = Some(format!("{page:.0} ({link:.1})"));
                rows.push(Ranked {
                    name: s.to_string(),
                    value: page,
                    low: None,
                    high: None,
                    note,
                    colour: i,
                });
            }
        }
        if rows.is_empty() {
            return;
        }
        out.open("Cost");
        out.chart(Chart::Ranking(Ranking {
            label: "Microseconds per page (and per link)".into(),
            x: "microseconds per page".into(),
            rows,
            ..Ranking::default()
        }));
        out.close(&format!(
            "Microseconds of the crawl loop per page, and per link in brackets. \
                 All {} crawls took {:.1} s on {}.",
            timing.runs.len(),
            timing.seconds,
            count(timing.threads, "thread", "threads")
        ));
    }

    fn tables(&self, out: &mut Page) {
        let ranked = self.ranked();
        let mut topics = self.results.topics();
        if topics.len() > 1 {
            topics.insert(0, ALL);
        }
        out.open("Numbers");
        let _ = out.write_str(
            "<p>“Found” counts the relevant pages among the first 100, 250, … pages fetched (the mean over \
             crawls): small budgets do not show in the area.</p>\n",
        );
        self.per_topic(&topics, out, |topic, out| {
            out.table(&NUMBERS);
            let best = ranked
                .iter()
                .filter_map(|(s, _)| self.results.summary_of(topic, s)?.auc_mean)
                .fold(f64::MIN, f64::max);
            for (s, _) in &ranked {
                if let Some(x) = self.results.summary_of(topic, s) {
                    self.row(topic, x, best, out);
                }
            }
            out.end_table();
        });
        out.close("");
    }

    fn row(&self, topic: &str, x: &Summary, best: f64, out: &mut Page) {
        let three = |v: Option<f64>| cell(v, 3);
        let percent = |v: Option<f64>| {
            v.map_or("<td class=\"n\" data-v=\"-1\">–</td>".to_string(), |v| {
                format!("<td class=\"n\" data-v=\"{v:.6}\">{:.1} %</td>", v * 100.0)
            })
        };
        let length = |f: &dyn Fn(&crate::results::Run) -> Option<usize>| {
            let runs = self
                .results
                .runs
                .iter()
                .filter(|r| (r.topic == topic || topic == ALL) && r.strategy == x.strategy);
            let found: Vec<Option<usize>> = runs.map(f).collect();
            // A mean over the runs that got there would flatter those that did not.
            let all: Option<Vec<f64>> = found.iter().map(|n| n.map(|n| n as f64)).collect();
            all.filter(|a| !a.is_empty()).map_or(
                "<td class=\"n\" data-v=\"1e12\">–</td>".to_string(),
                |a| {
                    let m = crate::stats::mean(&a);
                    format!("<td class=\"n\" data-v=\"{m:.1}\">{}</td>", number(m.round(), Unit::Count))
                },
            )
        };
        let found: String = BUDGETS.iter().map(|n| cell(x.found_mean.get(n).copied(), 1)).collect();
        let class = if x.auc_mean.is_some_and(|v| v >= best - 1e-12) { " class=\"best\"" } else { "" };
        let interval = x.auc_low.zip(x.auc_high).filter(|(l, h)| h - l > 1e-9);
        let interval = interval.map_or("–".into(), |(l, h)| format!("{l:.3} – {h:.3}"));
        let _ = writeln!(
            out,
            "<tr{class}><td>{}</td>{}<td class=\"n\">{interval}</td>{found}{}{}{}{}{}{}\
             <td class=\"n\">{}</td></tr>",
            escape(&x.strategy),
            three(x.auc_mean),
            three(x.normalised_auc_mean),
            percent(x.recall_mean),
            percent(x.harvest_mean),
            length(&|r| r.search_length.half),
            length(&|r| r.search_length.most),
            three(x.judge_f1_mean),
            x.runs
        );
    }

    fn how(&self, out: &mut Page) {
        if self.settings.is_empty() {
            return;
        }
        out.open("Settings");
        out.list(&self.settings);
        out.close("");
    }
}

/// One of several charts side by side; its lines are named below them all.
fn small(out: &mut Page, title: &str, chart: Lines) {
    let _ = writeln!(out, "<div><h3>{}</h3>", escape(title));
    out.chart(Chart::Lines(Lines { key: false, ..chart }));
    let _ = out.write_str("</div>\n");
}

/// The class of the n-th colour, as `chart.js` has it: after eight the dashes change.
fn key(n: usize) -> String {
    match n / 8 {
        0 => format!("k{n}"),
        round => format!("k{} d{}", n % 8, 1 + (round - 1) % 3),
    }
}

fn legend<'a>(names: impl Iterator<Item = (String, &'a str)>, out: &mut Page) {
    let _ = out.write_str("<div class=\"keyline\">");
    for (class, name) in names {
        let _ = write!(out, "<span><i class=\"key {class}\"></i>{}</span>", escape(name));
    }
    let _ = out.write_str("</div>\n");
}

/// The value of a curve at x: that of the last point before it; flat after the end.
fn at(points: &[(usize, f64)], x: f64) -> f64 {
    let i = points.partition_point(|p| p.0 as f64 <= x);
    let Some(&(x0, y0)) = i.checked_sub(1).and_then(|i| points.get(i)) else { return 0.0 };
    match points.get(i) {
        Some(&(x1, y1)) if x1 > x0 => y0 + (y1 - y0) * (x - x0 as f64) / (x1 - x0) as f64,
        _ => y0,
    }
}

/// A number in a table, with so many digits after the point.
fn cell(v: Option<f64>, digits: usize) -> String {
    v.map_or("<td class=\"n\" data-v=\"-1\">–</td>".to_string(), |v| {
        format!("<td class=\"n\" data-v=\"{v:.6}\">{v:.digits$}</td>")
    })
}

/// Mean of curves with the same x values.
fn mean_of(curves: &[Vec<(f64, f64)>]) -> Vec<(f64, f64)> {
    let Some(first) = curves.first() else { return Vec::new() };
    let y = |i: usize| {
        let values: Vec<f64> = curves.iter().filter_map(|c| c.get(i).map(|p| p.1)).collect();
        crate::stats::mean(&values)
    };
    first.iter().enumerate().map(|(i, p)| (p.0, y(i))).collect()
}

fn count(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", number(n as f64, Unit::Count), plural(n, one, many))
}

fn plural<'a>(n: usize, one: &'a str, many: &'a str) -> &'a str {
    if n == 1 { one } else { many }
}

#[cfg(test)]
mod tests;
