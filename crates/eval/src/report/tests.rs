use super::*;
use crate::labels::Class;
use crate::metrics::{Step, Truth, measure, sweep};
use crate::results::{Run, RunTiming};
use learn::rng::Rng;

/// A made-up tournament: strategies that find relevant pages earlier or later.
pub fn sample(topics: usize) -> Report {
    let strategies = [
        ("adaptive", 4.0),
        ("apprentice", 3.0),
        ("best-first", 2.2),
        ("genre", 2.8),
        ("anchor", 1.9),
        ("shark", 1.7),
        ("hmm", 1.5),
        ("fish", 1.3),
        ("page-rank", 1.1),
        ("infospiders", 1.2),
        ("random", 1.0),
        ("breadth-first", 0.9),
    ];
    let names = ["webkb-course", "webkb-faculty", "docs-changelog", "docs-planning", "webkb-project"];
    let mut report = Report { title: "Which strategy finds it first?".into(), ..Report::default() };
    let (mut runs, mut timing) = (Vec::new(), Vec::new());
    for (t, topic) in names.iter().take(topics).enumerate() {
        let truth = Truth { reachable: 4600, relevant: 300 + 100 * t, budget: None };
        let make = |power: f64, seed: u64, stop: usize| {
            let mut rng = Rng(seed);
            let mut left = truth.relevant as f64;
            let order: Vec<Step> = (0..stop)
                .map(|n| {
                    let p = (power * left / (truth.reachable - n) as f64).min(0.97);
                    let hit = rng.unit() < p && left > 0.0;
                    left -= hit as u8 as f64;
                    let score = (if hit { 0.55 } else { 0.25 }) + 0.4 * (rng.unit() - 0.5);
                    Step {
                        class: if hit { Class::Relevant } else { Class::Irrelevant },
                        judged: score > 0.42,
                        score,
                    }
                })
                .collect();
            order
        };
        let best = measure(&make(60.0, 9 + t as u64, truth.reachable), &truth);
        for (s, (strategy, power)) in strategies.iter().enumerate() {
            for rng in 1..=3 {
                let order = make(
                    *power,
                    (t * 1000 + s * 10) as u64 + rng,
                    if s == 6 { 2500 } else { truth.reachable },
                );
                let m = measure(&order, &truth);
                if rng == 1 {
                    report.harvest_rate.push(StrategyCurve {
                        topic: topic.to_string(),
                        strategy: strategy.to_string(),
                        points: m.harvest_rate.clone(),
                    });
                    if s == 0 {
                        report.sweeps.push((topic.to_string(), sweep(&order)));
                    }
                }
                runs.push(Run::new(topic, strategy, rng, &truth, &m, best.auc));
                let us = 90.0 + 40.0 * s as f64;
                timing.push(RunTiming {
                    topic: topic.to_string(),
                    strategy: strategy.to_string(),
                    rng,
                    pages: 4600,
                    links: 40_000,
                    seconds: 0.5,
                    us_per_page: us,
                    us_per_link: us / 9.0,
                    ..Default::default()
                });
            }
        }
        report.oracle.push(TopicCurve { topic: topic.to_string(), points: best.recall });
    }
    report.results = Results::new("/webs/webkb", runs);
    report.timing = Some(Timing { web: "/webs/webkb".into(), threads: 2, seconds: 61.4, runs: timing });
    report.settings = vec![
        ("concurrency".into(), "1".into()),
        ("delay".into(), "0 s".into()),
        ("judge".into(), "genre".into()),
    ];
    report.notes = vec!["3 × label of a URL that is not in the web (first: http://a.org/<b>)".into()];
    report
}

#[test]
fn a_whole_report() {
    let html = sample(5).html();
    // Look at it: EVAL_REPORT=/tmp/report.html cargo test -p gleaner-eval whole_report
    if let Some(path) = std::env::var_os("EVAL_REPORT") {
        std::fs::write(path, &html).unwrap();
    }
    for part in [
        "<h2>Ranking",
        "<h2>Recall",
        "<h2>Harvest rate",
        "<h2>Judge: threshold",
        "<h2>Is the difference",
        "<h2>Cost",
        "<h2>Numbers",
        "<h2>Settings",
        "<button>found in 100</button></th><th scope=\"col\" class=\"n\"><button>250</button>",
        "<th scope=\"col\" class=\"n\"><button>sign test p</button>",
        "Whiskers are 95 % intervals over topics.",
    ] {
        assert!(html.contains(part), "{part}");
    }
    assert!(!html.contains("NaN") && !html.contains("inf\"") && html.contains("http://a.org/&lt;b&gt;"));
    // Nothing is loaded from anywhere.
    for strange in ["src=", "href=\"http", "@import", "url(", "<link"] {
        assert!(!html.contains(strange), "{strange}");
    }
    // Every chart has its data, and its place.
    let charts = data(&html);
    assert_eq!(html.matches("data-chart=\"").count(), charts.len());
    // One per topic of recall, harvest and sweep; the ranking, all topics together, the cost.
    assert_eq!(charts.len(), 3 * 5 + 3);
    let recall = &charts[1];
    assert_eq!(
        (&recall["kind"], &recall["unit"], &recall["key"]),
        (&"lines".into(), &"percent".into(), &true.into())
    );
    let names: Vec<&str> =
        recall["values"].as_array().unwrap().iter().filter_map(|s| s["name"].as_str()).collect();
    assert_eq!((names[0], names.len()), ("adaptive", 14), "the best first, then oracle and chance");
    // Every element that is opened is closed.
    let body = &html[html.find("<main").unwrap()..html.find("</main>").unwrap()];
    for tag in ["section", "table", "tr", "details", "div", "p", "ul"] {
        let open = body.matches(&format!("<{tag}>")).count() + body.matches(&format!("<{tag} ")).count();
        assert_eq!(open, body.matches(&format!("</{tag}>")).count(), "{tag}");
    }
}

/// The charts of a report.
fn data(html: &str) -> Vec<serde_json::Value> {
    let json = html.split("id=\"data\">").nth(1).and_then(|s| s.split("</script>").next()).unwrap();
    serde_json::from_str(json).unwrap()
}

#[test]
fn one_draw_is_no_proof() {
    let mut report = sample(1);
    report.results = Results::new("w", report.results.runs.into_iter().filter(|r| r.rng == 1).collect());
    let html = report.html();
    assert_eq!(html.matches(&with_code(ONE_DRAW)).count(), 2, "at the ranking and at the pairs");
    assert!(html.contains("add <code>--rng 0..4</code>"));
    assert!(!html.contains("sign test p") && !html.contains("1.000</td>"), "no p where nothing was drawn");
    // Several topics are several pairs.
    let mut report = sample(3);
    report.results = Results::new("w", report.results.runs.into_iter().filter(|r| r.rng == 1).collect());
    assert!(report.html().contains("sign test p"));
}

#[test]
fn an_empty_and_a_small_one() {
    let empty = Report::default().html();
    assert!(empty.ends_with("</html>\n") && !empty.contains("NaN"));
    let one = sample(1).html();
    assert!(one.contains("over random seeds") && !one.contains("All topics"));
    // A topic without any relevant page: no numbers, no panic.
    let truth = Truth { reachable: 5, relevant: 0, budget: None };
    let m = measure(&[Step { class: Class::Irrelevant, judged: false, score: 0.0 }], &truth);
    let r = Report {
        results: Results::new("w", vec![Run::new("t", "a", 1, &truth, &m, None)]),
        ..Report::default()
    };
    assert!(!r.html().contains("NaN"));
}

#[test]
fn curves_between_points() {
    let points = [(0, 0.0), (10, 1.0)];
    assert_eq!(at(&points, 5.0), 0.5);
    assert_eq!(at(&points, 20.0), 1.0);
    assert_eq!(at(&[], 1.0), 0.0);
    assert_eq!(at(&[(5, 0.5)], 1.0), 0.0);
}
