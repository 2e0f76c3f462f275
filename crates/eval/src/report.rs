//! `report.html` of a backtest: one file, no network, light and dark, readable when printed.

use crate::metrics::{BUDGETS, SweepPoint, best_threshold};
use crate::plot::{self, Bar, BarChart, Format, LineChart, Look, Series, escape, number};
use crate::results::{ALL, LessonMeans, Results, Summary, Timing};
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
    /// Mean loss against a critic, per topic and strategy (S1).
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

/// Most strategies in a chart of curves that cross.
const CROSSING: usize = 6;

/// The look of a report page; charts bring their own ([`plot::STYLE`]).
pub const STYLE: &str = "
*{box-sizing:border-box}html{background:var(--paper);color:var(--ink)}body{font:16px/1.55 system-ui,-apple-system,Segoe UI,sans-serif;max-width:1060px;margin:0 auto;padding:2.5rem 1.25rem 4rem}
h1{font-size:1.9rem;line-height:1.2;margin:0 0 .3rem;letter-spacing:-.01em}h2{font-size:1.25rem;margin:2.6rem 0 .4rem}p{margin:.3rem 0 .9rem;max-width:46rem}.soft{color:var(--soft)}
a{color:var(--c0)}.cards{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:.75rem;margin:1.4rem 0}.card{border:1px solid var(--line);border-radius:10px;padding:.8rem 1rem}
.card b{display:block;font-size:1.45rem;line-height:1.25;font-variant-numeric:tabular-nums;overflow-wrap:anywhere}.card span{color:var(--soft);font-size:.85rem}
figure{margin:1rem 0 1.6rem;padding:1rem;border:1px solid var(--line);border-radius:10px}figcaption{color:var(--soft);font-size:.88rem;margin-top:.6rem}
.grid{display:grid;grid-template-columns:repeat(auto-fill,minmax(270px,1fr));gap:1rem}.legend{display:flex;flex-wrap:wrap;gap:.2rem 1rem;font-size:.85rem;color:var(--soft);padding:0;margin:.6rem 0 0;list-style:none}
.legend svg{width:26px;height:8px;vertical-align:middle;margin-right:.35rem}.legend path{stroke-width:2.5;fill:none}.legend .ref{stroke:var(--soft);stroke-dasharray:5 4}.legend .d1{stroke-dasharray:7 4}.legend .d2{stroke-dasharray:2 4}.legend .d3{stroke-dasharray:9 3 2 3}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}th,td{padding:.42rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}
th:first-child,td:first-child,td.left,th.left{text-align:left}thead th{border-bottom:2px solid var(--line);vertical-align:bottom}th button{all:unset;cursor:pointer;font-weight:600}th button:focus-visible{outline:2px solid var(--c0);outline-offset:2px}
th[aria-sort=ascending] button::after{content:' ↑'}th[aria-sort=descending] button::after{content:' ↓'}tbody tr:hover{background:color-mix(in srgb,var(--c0) 7%,transparent)}tr.best td{font-weight:650}
.notes{border-left:3px solid var(--c4);padding:.2rem 0 .2rem .9rem;margin:1rem 0}.notes li{overflow-wrap:anywhere}dl{display:grid;grid-template-columns:max-content 1fr;gap:.25rem 1.2rem;font-size:.9rem}dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
details{margin:.6rem 0}summary{cursor:pointer;color:var(--soft)}
@media print{body{max-width:none;padding:0;font-size:11pt}figure,.card,tr{break-inside:avoid}h2{break-after:avoid}th button{font-weight:600}.scroll{overflow:visible}}
";

/// Sorts a table when one of its heads is clicked; numbers by value, the rest as text.
pub const SCRIPT: &str = "
for(const t of document.querySelectorAll('table.sort')){const heads=[...t.tHead.rows[0].cells];heads.forEach((h,i)=>h.querySelector('button')?.addEventListener('click',()=>{
const up=h.getAttribute('aria-sort')==='descending';heads.forEach(x=>x.removeAttribute('aria-sort'));h.setAttribute('aria-sort',up?'ascending':'descending');
const key=r=>{const c=r.cells[i],v=c.dataset.v??c.textContent;return v!==''&&Number.isFinite(+v)?+v:v};
const rows=[...t.tBodies[0].rows].sort((a,b)=>{const x=key(a),y=key(b);return (typeof x==='number'&&typeof y==='number'?x-y:String(x).localeCompare(String(y)))*(up?1:-1)});
t.tBodies[0].append(...rows)}))}
";

impl Report {
    /// The whole page, styles and scripts included.
    pub fn html(&self) -> String {
        let mut out = String::with_capacity(256 << 10);
        let title = escape(&self.title);
        let _ = write!(
            out,
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n<title>{title}</title>\n<style>{}{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{title}</h1>\n\
             <p class=\"soft\">Backtest of {} on <b>{}</b></p>\n</header>\n<main>\n",
            plot::STYLE,
            count(self.results.strategies().len(), "strategy", "strategies"),
            escape(&self.results.web)
        );
        self.cards(&mut out);
        if !self.notes.is_empty() {
            out.push_str("<ul class=\"notes\">\n");
            for n in &self.notes {
                let _ = writeln!(out, "<li>{}</li>", escape(n));
            }
            out.push_str("</ul>\n");
        }
        self.ranking(&mut out);
        self.recall(&mut out);
        self.curves("Harvest rate over time", "harvest", &self.harvest_rate, "Share of relevant pages among the last ones fetched: the window is 5 % of the crawl. A focused crawl starts high and runs dry when everything was found.", &mut out);
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
        let _ = write!(out, "</main>\n<script>{SCRIPT}</script>\n</body>\n</html>\n");
        out
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

    fn cards(&self, out: &mut String) {
        let ranked = self.ranked();
        let r = &self.results;
        let reachable = r.runs.iter().map(|x| x.reachable).max().unwrap_or(0);
        let best = ranked.first().map_or("–", |x| x.0);
        let auc = ranked.first().and_then(|x| x.1);
        let oracle: Vec<f64> = r.runs.iter().filter_map(|x| x.oracle_auc).collect();
        let cards = [
            (best.to_string(), "best strategy"),
            (auc.map_or("–".into(), |v| format!("{v:.3}")), "its mean area under recall"),
            (
                if oracle.is_empty() { "–".into() } else { format!("{:.3}", crate::stats::mean(&oracle)) },
                "the oracle’s",
            ),
            (number(reachable as f64, Format::Plain), "pages reachable"),
            (number(r.topics().len() as f64, Format::Plain), "topics"),
            (number(r.runs.len() as f64, Format::Plain), "crawls"),
        ];
        out.push_str("<div class=\"cards\">\n");
        for (value, label) in cards {
            let _ = writeln!(out, "<div class=\"card\"><b>{}</b><span>{label}</span></div>", escape(&value));
        }
        out.push_str("</div>\n");
    }

    fn ranking(&self, out: &mut String) {
        let topic = self.overall();
        let bars: Vec<Bar> = self
            .ranked()
            .iter()
            .enumerate()
            .filter_map(|(i, (s, _))| {
                let x = self.results.summary_of(&topic, s)?;
                let value = x.auc_mean?;
                let interval = x.auc_low.zip(x.auc_high).filter(|(l, h)| h - l > 1e-9);
                Some(Bar {
                    label: s.to_string(),
                    value,
                    interval,
                    colour: i,
                    note: Some(format!("{value:.3}")),
                })
            })
            .collect();
        if bars.is_empty() {
            return;
        }
        let desc = bars.iter().map(|b| format!("{} {:.3}", b.label, b.value)).collect::<Vec<_>>().join(", ");
        let chart = BarChart {
            id: "rank".into(),
            title: "Area under recall".into(),
            desc,
            format: Format::Plain,
            max: Some(1.0),
            bars,
        };
        let _ = write!(
            out,
            "<h2>Ranking</h2>\n<figure>{}<figcaption>Area under recall against the share of reachable pages fetched: 0.5 is chance, 1 would be all relevant pages at once. \
             Whiskers are 95 % intervals{}.</figcaption></figure>\n",
            chart.svg(),
            if topic == ALL { " over topics" } else { " over random seeds" }
        );
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

    fn recall(&self, out: &mut String) {
        let topics = self.results.topics();
        let ranked = self.ranked();
        if ranked.is_empty() {
            return;
        }
        let base = |id: String, title: &str| {
            let mut c = LineChart::new(
                id,
                title,
                format!("Recall of each strategy on {title} against the share of reachable pages fetched"),
            );
            c.x_label = "share of reachable pages fetched".into();
            c.y_label = "recall".into();
            (c.x_format, c.y_format) = (Format::Percent, Format::Percent);
            (c.x_max, c.y_max) = (Some(1.0), Some(1.0));
            c
        };
        let oracle = |topic: &str| -> Option<Vec<(f64, f64)>> {
            let curve = self.oracle.iter().find(|o| o.topic == topic)?;
            let reachable = self.results.runs.iter().find(|r| r.topic == topic)?.reachable.max(1) as f64;
            Some((0..=100).map(|i| i as f64 / 100.0).map(|x| (x, at(&curve.points, x * reachable))).collect())
        };
        let chance = || Series::new("chance", vec![(0.0, 0.0), (1.0, 1.0)], Look::Reference);
        // All topics together: the mean of the topics' curves.
        let mut chart = base("recall".into(), if topics.len() == 1 { topics[0] } else { "all topics" });
        chart.series.push(chance());
        let oracles: Vec<_> = topics.iter().filter_map(|t| oracle(t)).collect();
        if !oracles.is_empty() {
            chart.series.push(Series::new("oracle", mean_of(&oracles), Look::Reference));
        }
        for (i, (s, _)) in ranked.iter().enumerate().rev() {
            let curves: Vec<_> =
                topics.iter().map(|t| self.mean_recall(t, s)).filter(|c| !c.is_empty()).collect();
            chart.series.push(Series::new(*s, mean_of(&curves), Look::Colour(i)));
        }
        let _ = write!(
            out,
            "<h2>Recall</h2>\n<figure>{}<figcaption>How much of what there was to find was found after how many pages. <b>oracle</b> is the best order we can compute with labels and \
             links known (an order that could really happen), <b>chance</b> a random order of all reachable pages.</figcaption></figure>\n",
            chart.svg()
        );
        if topics.len() < 2 {
            return;
        }
        out.push_str("<figure><div class=\"grid\">\n");
        for (n, topic) in topics.iter().enumerate() {
            let mut c = base(format!("recall{n}"), topic);
            c.small = true;
            c.series.push(chance());
            c.series.extend(oracle(topic).map(|o| Series::new("oracle", o, Look::Reference)));
            for (i, (s, _)) in ranked.iter().enumerate().rev() {
                c.series.push(Series::new(*s, self.mean_recall(topic, s), Look::Colour(i)));
            }
            let _ = writeln!(out, "<div>{}</div>", c.svg());
        }
        let _ = write!(
            out,
            "</div>\n{}<figcaption>Recall per topic.</figcaption></figure>\n",
            self.legend(usize::MAX, true)
        );
    }

    fn legend(&self, most: usize, references: bool) -> String {
        let mut out = String::from("<ul class=\"legend\">");
        for (i, (s, _)) in self.ranked().iter().enumerate().take(most) {
            let dash = match i / 10 % 4 {
                0 => String::new(),
                d => format!(" d{d}"),
            };
            let _ = write!(
                out,
                "<li><svg viewBox=\"0 0 26 8\" aria-hidden=\"true\"><path class=\"k{}{dash}\" d=\"M0 4H26\"/></svg>{}</li>",
                i % 10,
                escape(s)
            );
        }
        if references {
            out.push_str("<li><svg viewBox=\"0 0 26 8\" aria-hidden=\"true\"><path class=\"ref\" d=\"M0 4H26\"/></svg>oracle (above), chance (below)</li>");
        }
        out.push_str("</ul>\n");
        out
    }

    fn curves(&self, title: &str, id: &str, curves: &[StrategyCurve], caption: &str, out: &mut String) {
        let mut topics: Vec<&str> = curves.iter().map(|c| c.topic.as_str()).collect();
        topics.sort_unstable();
        topics.dedup();
        if topics.is_empty() {
            return;
        }
        let _ = writeln!(out, "<h2>{}</h2>\n<figure>", escape(title));
        let small = topics.len() > 1;
        if small {
            out.push_str("<div class=\"grid\">\n");
        }
        for (n, topic) in topics.iter().enumerate() {
            let mut c = LineChart::new(
                format!("{id}{n}"),
                *topic,
                format!("{title} on {topic}, per strategy, against pages fetched"),
            );
            (c.x_label, c.y_label, c.y_format) =
                ("pages fetched".into(), title.to_lowercase(), Format::Percent);
            c.small = small;
            // These curves cross each other all the time: more than a few cannot be read.
            let mut mine: Vec<(usize, &StrategyCurve)> = curves
                .iter()
                .filter(|x| x.topic == *topic)
                .map(|x| (self.colour(&x.strategy), x))
                .filter(|(rank, _)| *rank < CROSSING)
                .collect();
            mine.sort_by_key(|(i, _)| std::cmp::Reverse(*i));
            for (i, x) in mine {
                let points = x.points.iter().map(|(n, v)| (*n as f64, *v)).collect();
                c.series.push(Series::new(&x.strategy, points, Look::Colour(i)));
            }
            let _ = writeln!(out, "<div>{}</div>", c.svg());
        }
        if small {
            let _ = write!(out, "</div>\n{}", self.legend(CROSSING, false));
        }
        let few = if self.ranked().len() > CROSSING {
            format!(" The {CROSSING} best strategies are shown.")
        } else {
            String::new()
        };
        let _ = writeln!(out, "<figcaption>{}{few}</figcaption></figure>", escape(caption));
    }

    fn sweep(&self, out: &mut String) {
        if self.sweeps.is_empty() {
            return;
        }
        out.push_str("<h2>Judge: threshold sweep</h2>\n<figure><div class=\"grid\">\n");
        for (n, (topic, points)) in self.sweeps.iter().enumerate() {
            let best = best_threshold(points);
            let said = best.map_or(String::new(), |b| {
                format!(": best F1 {:.2} at {:.2}", b.decision.f1.unwrap_or(0.0), b.threshold)
            });
            let mut c = LineChart::new(
                format!("sweep{n}"),
                format!("{topic}{said}"),
                format!("Precision, recall and F1 of the judge on {topic} by threshold{said}"),
            );
            (c.small, c.x_max, c.y_max) = (true, Some(1.0), Some(1.0));
            let of = |f: &dyn Fn(&SweepPoint) -> Option<f64>| {
                points.iter().filter_map(|p| f(p).map(|v| (p.threshold, v))).collect::<Vec<_>>()
            };
            c.series.push(Series::new("precision", of(&|p| p.decision.precision), Look::Colour(1)));
            c.series.push(Series::new("recall", of(&|p| p.decision.recall), Look::Colour(2)));
            c.series.push(Series::new("F1", of(&|p| p.decision.f1), Look::Colour(0)));
            let _ = writeln!(out, "<div>{}</div>", c.svg());
        }
        out.push_str("</div>\n<ul class=\"legend\">");
        for (colour, name) in [(1, "precision"), (2, "recall"), (0, "F1")] {
            let _ = write!(
                out,
                "<li><svg viewBox=\"0 0 26 8\" aria-hidden=\"true\"><path class=\"k{colour}\" d=\"M0 4H26\"/></svg>{name}</li>"
            );
        }
        out.push_str("</ul><figcaption>What the judge’s score is worth as a yes or no, against the labels of the pages that were fetched.</figcaption></figure>\n");
    }

    /// What labels make of the verdicts: a curve and a table per topic.
    fn taught(&self, out: &mut String) {
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
        out.push_str("<h2>Verdicts by number of labels</h2>\n<figure><div class=\"grid\">\n");
        for (n, topic) in topics.iter().enumerate() {
            let name = if *topic == ALL { "all topics" } else { topic };
            let mut c = LineChart::new(
                format!("teach{n}"),
                name,
                format!(
                    "F1 of the verdicts on {name} by the number of labels, and (dashed) with the labels in it"
                ),
            );
            (c.small, c.y_max) = (true, Some(1.0));
            (c.x_label, c.y_label) = ("labels".into(), "F1".into());
            for (i, (s, _)) in ranked.iter().enumerate().take(CROSSING).rev() {
                let Some(x) = summary(topic, s) else { continue };
                let of = |f: &dyn Fn(&LessonMeans) -> Option<f64>| {
                    x.teach.iter().filter_map(|l| f(l).map(|v| (l.labels as f64, v))).collect::<Vec<_>>()
                };
                c.series.push(Series::new(
                    format!("{s}, with labels"),
                    of(&|l| l.f1_all),
                    Look::Colour(i + 10),
                ));
                c.series.push(Series::new(*s, of(&|l| l.f1), Look::Colour(i)));
            }
            let _ = writeln!(out, "<div>{}</div>", c.svg());
        }
        let _ = write!(
            out,
            "</div>\n{}<figcaption>F1 of the judge’s verdicts on the half of the pages that nobody was asked about; dashed: on all pages, \
             with the labels in place of verdicts (what a user takes home). {}.</figcaption></figure>\n",
            self.legend(CROSSING, false),
            escape(self.results.teaching.as_ref().map_or("", |t| &t.how))
        );
        for (i, topic) in topics.iter().enumerate() {
            let _ = write!(
                out,
                "<details{}><summary>{}</summary>\n<div class=\"scroll\"><table class=\"sort\"><thead><tr>",
                if i == 0 { " open" } else { "" },
                escape(if *topic == ALL { "All topics" } else { topic })
            );
            for h in [
                "strategy",
                "labels",
                "F1",
                "F1 with labels",
                "precision",
                "recall",
                "Brier",
                "right of p ≥ 0.8",
            ] {
                let _ = write!(out, "<th scope=\"col\"><button>{h}</button></th>");
            }
            for n in BUDGETS {
                let n = number(n as f64, Format::Plain);
                let _ = write!(out, "<th scope=\"col\"><button>found in {n}</button></th>");
            }
            out.push_str("</tr></thead><tbody>\n");
            for (s, _) in &ranked {
                for l in summary(topic, s).map_or(&[][..], |x| &x.teach) {
                    let _ = write!(out, "<tr><td>{}</td><td>{}</td>", escape(s), l.labels);
                    for v in [l.f1, l.f1_all, l.precision, l.recall, l.brier, l.sure] {
                        out.push_str(&cell(v, 3));
                    }
                    for n in BUDGETS {
                        out.push_str(&cell(l.found.get(&n).copied(), 1));
                    }
                    out.push_str("</tr>\n");
                }
            }
            out.push_str("</tbody></table></div></details>\n");
        }
    }

    fn pairs(&self, out: &mut String) {
        let ranked = self.ranked();
        let chance = |p: f64| if p < 0.001 { "&lt; 0.001".to_string() } else { format!("{p:.3}") };
        let Some((best, _)) = ranked.first().filter(|_| ranked.len() > 1) else { return };
        let _ = write!(
            out,
            "<h2>Is the difference real?</h2>\n<p>{} against each other strategy on the same topics and seeds.</p>\n<div class=\"scroll\"><table class=\"sort\"><thead><tr>",
            escape(best)
        );
        for h in ["against", "wins", "losses", "ties", "mean difference", "sign test p", "Wilcoxon p"] {
            let _ = write!(out, "<th scope=\"col\"><button>{h}</button></th>");
        }
        out.push_str("</tr></thead><tbody>\n");
        for (other, _) in ranked.iter().skip(1) {
            let p = self.results.versus(best, other);
            let _ = writeln!(
                out,
                "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td data-v=\"{:.6}\">{:+.4}</td><td data-v=\"{:.9}\">{}</td><td data-v=\"{:.9}\">{}</td></tr>",
                escape(other),
                p.wins,
                p.losses,
                p.ties,
                p.difference,
                p.difference,
                p.sign_p,
                chance(p.sign_p),
                p.wilcoxon_p,
                chance(p.wilcoxon_p)
            );
        }
        out.push_str("</tbody></table></div>\n");
    }

    fn time(&self, out: &mut String) {
        let Some(timing) = &self.timing else { return };
        let mut bars: Vec<Bar> = Vec::new();
        for (i, (s, _)) in self.ranked().iter().enumerate() {
            let mine: Vec<f64> =
                timing.runs.iter().filter(|r| r.strategy == *s).map(|r| r.us_per_page).collect();
            let links: Vec<f64> =
                timing.runs.iter().filter(|r| r.strategy == *s).map(|r| r.us_per_link).collect();
            if !mine.is_empty() {
                let (page, link) = (crate::stats::mean(&mine), crate::stats::mean(&links));
                let note = Some(format!("{page:.0} ({link:.1})"));
                bars.push(Bar { label: s.to_string(), value: page, interval: None, colour: i, note });
            }
        }
        if bars.is_empty() {
            return;
        }
        let desc = bars
            .iter()
            .map(|b| format!("{} {:.0} microseconds", b.label, b.value))
            .collect::<Vec<_>>()
            .join(", ");
        let chart = BarChart {
            id: "time".into(),
            title: "Microseconds per page".into(),
            desc,
            format: Format::Plain,
            max: None,
            bars,
        };
        let _ = write!(
            out,
            "<h2>Cost</h2>\n<figure>{}<figcaption>Microseconds of the crawl loop per page, and per link in brackets. All {} crawls took {:.1} s on {}.</figcaption></figure>\n",
            chart.svg(),
            timing.runs.len(),
            timing.seconds,
            count(timing.threads, "thread", "threads")
        );
    }

    fn tables(&self, out: &mut String) {
        let ranked = self.ranked();
        let mut topics = self.results.topics();
        if topics.len() > 1 {
            topics.insert(0, ALL);
        }
        out.push_str("<h2>Numbers</h2>\n<p>“Found” counts the relevant pages among the first 100, 250, … pages fetched (the mean over crawls): small budgets do not show in the area.</p>\n");
        for (i, topic) in topics.iter().enumerate() {
            let _ = write!(
                out,
                "<details{}><summary>{}</summary>\n<div class=\"scroll\"><table class=\"sort\"><thead><tr>",
                if i == 0 { " open" } else { "" },
                escape(if *topic == ALL { "All topics" } else { topic })
            );
            for h in [
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
            ] {
                let _ = write!(out, "<th scope=\"col\"><button>{h}</button></th>");
            }
            out.push_str("</tr></thead><tbody>\n");
            let best = ranked
                .iter()
                .filter_map(|(s, _)| self.results.summary_of(topic, s)?.auc_mean)
                .fold(f64::MIN, f64::max);
            for (s, _) in &ranked {
                if let Some(x) = self.results.summary_of(topic, s) {
                    self.row(topic, x, best, out);
                }
            }
            out.push_str("</tbody></table></div></details>\n");
        }
    }

    fn row(&self, topic: &str, x: &Summary, best: f64, out: &mut String) {
        let three = |v: Option<f64>| cell(v, 3);
        let percent = |v: Option<f64>| {
            v.map_or("<td data-v=\"-1\">–</td>".to_string(), |v| {
                format!("<td data-v=\"{v:.6}\">{:.1} %</td>", v * 100.0)
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
            all.filter(|a| !a.is_empty()).map_or("<td data-v=\"1e12\">–</td>".to_string(), |a| {
                let m = crate::stats::mean(&a);
                format!("<td data-v=\"{m:.1}\">{}</td>", number(m.round(), Format::Plain))
            })
        };
        let found: String = BUDGETS.iter().map(|n| cell(x.found_mean.get(n).copied(), 1)).collect();
        let class = if x.auc_mean.is_some_and(|v| v >= best - 1e-12) { " class=\"best\"" } else { "" };
        let interval = x.auc_low.zip(x.auc_high).filter(|(l, h)| h - l > 1e-9);
        let interval = interval.map_or("–".into(), |(l, h)| format!("{l:.3} – {h:.3}"));
        let _ = writeln!(
            out,
            "<tr{class}><td>{}</td>{}<td>{interval}</td>{found}{}{}{}{}{}{}<td>{}</td></tr>",
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

    fn how(&self, out: &mut String) {
        if self.settings.is_empty() {
            return;
        }
        out.push_str("<h2>Settings</h2>\n<dl>\n");
        for (k, v) in &self.settings {
            let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(k), escape(v));
        }
        out.push_str("</dl>\n");
    }
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
    v.map_or("<td data-v=\"-1\">–</td>".to_string(), |v| format!("<td data-v=\"{v:.6}\">{v:.digits$}</td>"))
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
    format!("{} {}", number(n as f64, Format::Plain), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests;
