//! Findings of Assis 2008 about the order of crawls: queueing policies, and the crawler with an SVM.

use super::assis::OWN_HOSTS;
use super::crawled::Run;
use super::elsewhere::Elsewhere;
use super::lab::{Lab, Variant, by_variant, over_draws};
use super::{Claim, Experiment, Finding, Row, TOPICS, Table, at_least, better, lower};
use crate::labels::Class;
use crate::tournament::Line;
use std::time::Duration;
use types::Problem;

/// Assis's crawler: hosts of the seeds, depth 7, 200 links, whatever the order; ten requests at once, a
/// second between two to the same host.
fn as_assis_crawled(name: &str, judge: &str, strategy: &str) -> Variant {
    Variant {
        concurrency: 10,
        delay: Duration::from_secs(1),
        ..Variant::new(name, &format!("{OWN_HOSTS}{judge}[strategy]\n{strategy}\n"))
    }
}

const GENRE: &str = "[judge]\nkind = 'genre'\n";

/// Share of the relevant pages found after a share of the visits. Both of what this crawl fetched in the end:
/// the seeds' hosts are all there is.
fn found_after(order: &[Line], share: f64) -> Option<f64> {
    let is = |l: &&Line| l.class == Class::Relevant;
    let all = order.iter().filter(is).count();
    let n = (order.len() as f64 * share).round() as usize;
    (all > 0).then(|| order.iter().take(n).filter(is).count() as f64 / all as f64)
}

/// Share of the visits until a share of the relevant pages was found.
fn visits_until(order: &[Line], percent: usize) -> Option<f64> {
    let hits: Vec<bool> = order.iter().map(|l| l.class == Class::Relevant).collect();
    let all = hits.iter().filter(|h| **h).count();
    let n = crate::metrics::search_length(&hits, all, percent)?;
    Some(n as f64 / hits.len() as f64)
}

/// Area under [`found_after`]: 0.5 is chance.
fn area(order: &[Line]) -> Option<f64> {
    let n = order.len() as f64;
    let at: Vec<f64> = order
        .iter()
        .enumerate()
        .filter(|(_, l)| l.class == Class::Relevant)
        .map(|(i, _)| 1.0 - (i as f64 + 0.5) / n)
        .collect();
    (!at.is_empty()).then(|| crate::stats::mean(&at))
}

pub(super) const POLICIES: Experiment = Experiment {
    name: "policies",
    claim: "FS-2 finds 90 % of the relevant pages within 60 % of the visits; PS is worst early; a change threshold helps; FS beats PFS below 30 %; PFS is best for full recall",
    source: "Assis 2008, Fig. 4.3, 4.7",
    turn: 0,
    run: policies,
};

fn policies(lab: &Lab) -> Result<Finding, Problem> {
    let lab = &lab.narrow().at_most(TOPICS);
    let names = ["FS-1", "FS-2", "PS", "PFS-1", "PFS-2", "breadth-first"];
    let policy = |n: &&str| match *n {
        "breadth-first" => as_assis_crawled(n, GENRE, "kind = 'breadth-first'"),
        n => as_assis_crawled(n, GENRE, &format!("kind = 'genre'\npolicy = '{n}'")),
    };
    let variants: Vec<Variant> = names.iter().map(policy).collect();
    let alone: Vec<Variant> =
        variants.iter().map(|v| Variant { concurrency: 1, delay: Duration::ZERO, ..v.clone() }).collect();
    let runs = lab.crawl(&variants)?;
    let at = |share: f64| by_variant(&runs, |r| found_after(&r.order, share));
    let (tenth, fifth, late) = (at(0.1), at(0.2), at(0.6));
    let (half, full) = (
        by_variant(&runs, |r| visits_until(&r.order, 50)),
        by_variant(&runs, |r| visits_until(&r.order, 100)),
    );
    let together = by_variant(&runs, |r| area(&r.order));
    let one_by_one = by_variant(&lab.crawl(&alone)?, |r| area(&r.order));
    // Of two rows, topic by topic.
    let both =
        |a: &Row, b: &Row| -> Row { a.iter().zip(b).map(|(a, b)| Some(((*a)? + (*b)?) / 2.0)).collect() };
    let early = |n: usize| both(&tenth[n], &fifth[n]);
    let (fs, pfs) = (both(&early(0), &early(1)), both(&early(3), &early(4)));
    let (first, second) = (both(&early(0), &early(3)), both(&early(1), &early(4)));
    let last = both(&full[0], &full[1]);
    let pages_apart = "Other sites: four departments of 1997 and documentation, not five Brazilian universities. Perhaps their relevant pages stand less often in one list.";
    let claims = vec![
        at_least("FS-2 finds 90 % of the relevant pages within 60 % of the visits", &late[1], 0.9)
            .figure("at least 90 % on all topics")
            .why(pages_apart),
        better(("FS-2", &together[1]), ("breadth-first", &together[5]))
            .what("FS-2 is better than no policy (area under the curve)")
            .figure("not drawn")
            .why("Without a policy the queue is first come, first served."),
        better(("FS-2", &one_by_one[1]), ("breadth-first", &one_by_one[5]))
            .what("the same with one request at a time")
            .figure("not done")
            .why("Ten at once is what Assis's crawler did."),
        better(("the others", &both(&fs, &pfs)), ("PS", &early(2)))
            .what("PS is worse than the policies with siblings when few pages are visited (10 and 20 %)")
            .figure("\"much worse\", one topic")
            .why("Assis shows one topic (databases) and one crawl."),
        better(("FS", &fs), ("PFS", &pfs))
            .what("below 30 % of the visits FS is better than PFS")
            .figure("better, one topic"),
        better(("FS-2 and PFS-2", &second), ("FS-1 and PFS-1", &first))
            .what("a change threshold (0.20) helps")
            .figure("better in general, one topic"),
        lower(("PFS", &both(&full[3], &full[4])), ("FS", &last))
            .what("PFS needs fewer visits than FS for full recall")
            .figure("fewer, one topic")
            .why("Full recall hangs on the last page that is found."),
    ];
    let tables = vec![
        Table::of(lab, "Relevant pages found after 10 % of the visits.", &names, &tenth),
        Table::of(lab, "After 20 %.", &names, &fifth),
        Table::of(lab, "After 60 %.", &names, &late),
        Table::of(lab, "Share of the visits until half of them were found.", &names, &half),
        Table::of(lab, "Until all were found.", &names, &full),
        Table::of(
            lab,
            "Area under the curve (0.5 = chance). Ten requests at once, polite.",
            &names,
            &together,
        ),
        Table::of(lab, "One request at a time.", &names, &one_by_one),
    ];
    Ok(Finding::of(
        claims,
        tables,
        "As Assis: narrow topics, judge `genre`, pages of the seeds' hosts to depth 7 and 200 links a page for every crawler, ten requests at once, a second apart per host. Which of equal links goes first is chance (`ties`), because Assis names no rule and answers come in any order.",
    ))
}

pub(super) const CRAWLERS: Experiment = Experiment {
    name: "crawlers",
    claim: "fewer visits per relevant page retrieved than the SVM crawler; sibling queueing helps the SVM crawler too",
    source: "Assis 2008, Fig. 4.5, 4.6, Tab. 4.5",
    turn: 1,
    run: crawlers,
};

/// Visits until the last page was retrieved that the crawler itself takes for relevant and that is, per such
/// page. Each judge decides as in Assis: terms at their best threshold on the topic, the SVM at 0.5.
fn visits_per_retrieved(order: &[Line], threshold: f64) -> Option<f64> {
    let retrieved = |l: &Line| l.class == Class::Relevant && l.score >= threshold;
    let last = order.iter().rposition(retrieved)?;
    let n = order.iter().filter(|l| retrieved(l)).count();
    Some((last + 1) as f64 / n as f64)
}

/// The threshold with the best F1 on what the crawl fetched.
fn own_best(order: &[Line]) -> f64 {
    let pages: Vec<super::lab::Judged> = order
        .iter()
        .filter(|l| l.class != Class::Neutral)
        .map(|l| super::lab::Judged { relevant: l.class == Class::Relevant, score: l.score })
        .collect();
    super::lab::best_f1(&pages).map_or(0.0, |b| b.1)
}

fn crawlers(lab: &Lab) -> Result<Finding, Problem> {
    let lab = &lab.narrow().at_most(TOPICS);
    let names = ["genre FS-2", "SVM crawler", "SVM crawler, siblings"];
    let mut visits: Vec<Row> = vec![Vec::new(); names.len()];
    let mut areas: Vec<Row> = vec![Vec::new(); names.len()];
    let mut retrieved: Vec<Row> = vec![Vec::new(); names.len()];
    for site in &lab.sites {
        let elsewhere = Elsewhere::on_other_hosts(lab, site, OWN_HOSTS)?;
        let inside = elsewhere.reached.iter().filter(|u| site.class(u) == Class::Relevant).count();
        let svm = if inside >= 5 { elsewhere.svm(lab, site, 0)? } else { None };
        let Some(svm) = svm else {
            visits.iter_mut().chain(&mut areas).chain(&mut retrieved).for_each(|r| r.push(None));
            continue;
        };
        let variants = [
            as_assis_crawled(names[0], GENRE, "kind = 'genre'\npolicy = 'FS-2'"),
            as_assis_crawled(names[1], &svm, "kind = 'classifier'"),
            as_assis_crawled(names[2], &svm, "kind = 'classifier'\nqueue = 'siblings'"),
        ];
        let runs = lab.crawl_site(site, &variants)?;
        for n in 0..names.len() {
            let line = |r: &Run| if n == 0 { own_best(&r.order) } else { 0.5 };
            visits[n].push(over_draws(&runs[n], |r| visits_per_retrieved(&r.order, line(r))));
            areas[n].push(over_draws(&runs[n], |r| area(&r.order)));
            retrieved[n].push(over_draws(&runs[n], |r| {
                let right = |l: &&Line| l.class == Class::Relevant;
                let all = r.order.iter().filter(right).count();
                let kept = r.order.iter().filter(right).filter(|l| l.score >= line(r)).count();
                (all > 0).then(|| kept as f64 / all as f64)
            }));
        }
    }
    let claims = vec![
        lower((names[0], &visits[0]), (names[1], &visits[1]))
            .what("fewer visits per relevant page retrieved than the SVM crawler")
            .figure("85–1105 against 173–9178: 2 to 8 times fewer")
            .why("The number is mostly how many relevant pages the judge lets through; the SVM here knows 200 other pages, Assis's 500,000."),
        better((names[0], &areas[0]), (names[1], &areas[1]))
            .what("it converges to all relevant pages sooner (area under the curve)")
            .figure("better on all topics")
            .why("Order alone, whatever the judge lets through."),
        lower((names[2], &visits[2]), (names[1], &visits[1]))
            .what("sibling queueing lowers the SVM crawler's visits per relevant page")
            .figure("3–49 % fewer"),
        better((names[2], &areas[2]), (names[1], &areas[1]))
            .what("sibling queueing finds relevant pages sooner (area under the curve)")
            .figure("better on all topics"),
        Claim::not_tested("hours instead of days", "It is about programs of 2008.").figure("3–4 hours against 3–4 days"),
    ];
    let tables = vec![
        Table::of(
            lab,
            "Visits until the last relevant page was retrieved, per page retrieved.",
            &names,
            &visits,
        ),
        Table::of(lab, "Share of the relevant pages that the judge lets through.", &names, &retrieved),
        Table::of(lab, "Area under the curve of relevant pages found (0.5 = chance).", &names, &areas),
    ];
    Ok(Finding::of(
        claims,
        tables,
        "As Assis: narrow topics, the SVM trained on other sites, terms at their best threshold, caps, ten polite requests at once.",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::lab::testing::lines;

    #[test]
    fn measures_by_hand() {
        // Relevant at 2 and 4 of 5; the second has a low score.
        let run = lines("-+-+-", &[0.1, 0.9, 0.2, 0.3, 0.1]);
        assert_eq!(found_after(&run, 0.4), Some(0.5));
        assert_eq!(found_after(&run, 0.8), Some(1.0));
        assert_eq!(visits_until(&run, 50), Some(0.4));
        assert_eq!(visits_until(&run, 100), Some(0.8));
        // (1 − 1.5/5 + 1 − 3.5/5) / 2 = 0.5.
        assert!((area(&run).unwrap() - 0.5).abs() < 1e-12);
        assert_eq!(visits_per_retrieved(&run, 0.5), Some(2.0));
        assert_eq!(visits_per_retrieved(&run, 0.25), Some(2.0), "four visits, two pages");
        assert_eq!(visits_per_retrieved(&run, 0.95), None);
        // At 0.21–0.3 both and nothing else is let through.
        let best = own_best(&run);
        assert!(best > 0.2 && best <= 0.3, "{best}");
        assert_eq!(found_after(&lines("--", &[0.0, 0.0]), 1.0), None);
    }
}
