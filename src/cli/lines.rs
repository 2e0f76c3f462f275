//! `gleaner threshold DIR`: how many pages a collection would call relevant at other lines, and which pages
//! are near each.

use super::threshold::plot;
use crate::text::{count, share, shorten, strip_controls};
use console::style;
use crawl::answers::{Answers, Estimate, PageOpinion};
use crawl::reader::Reader;
use serde::Serialize;
use types::{Problem, UrlId};

/// Lines worth looking at when scores are probabilities.
const PROBABILITIES: [f64; 4] = [0.3, 0.5, 0.7, 0.9];
/// Other scores have no natural lines: these shares of the pages that are relevant now.
const SHARES: [f64; 4] = [2.0, 1.5, 1.0, 0.5];
/// Pages shown on each side of a line.
const BESIDE: usize = 2;

/// What the collection would be at one line.
#[derive(Serialize)]
struct Candidate {
    line: f64,
    /// It is the present one.
    now: bool,
    /// Pages that would be called relevant, labels above the judge.
    relevant: usize,
    /// Pages you labelled that would be on the right side, and on the wrong one.
    right: usize,
    wrong: usize,
    estimate: Option<Estimate>,
    /// The nearest pages, best first.
    borderline: Vec<Borderline>,
}

#[derive(Serialize)]
struct Borderline {
    score: f64,
    url: String,
    title: String,
}

pub fn show(reader: &Reader, json: bool) -> Result<(), Problem> {
    let mut pages: Vec<(UrlId, PageOpinion)> = reader.standings().map(|(id, s, _)| (id, s)).collect();
    if pages.is_empty() {
        return Err(Problem::nothing(format!("{} has no pages yet", reader.dir().display()))
            .hint("`gleaner crawl` fetches some"));
    }
    pages.sort_by(|a, b| b.1.relevance.total_cmp(&a.1.relevance).then(a.0.cmp(&b.0)));
    let now = reader.threshold()?;
    let answers = reader.answers()?;
    let candidates = lines(&pages, now, reader.has_probabilities())
        .into_iter()
        .map(|line| candidate(reader, &pages, &answers, line, now))
        .collect::<Result<Vec<_>, Problem>>()?;
    let scores: Vec<f64> = pages.iter().map(|(_, s)| s.relevance).collect();
    if json {
        println!("{}", serde_json::json!({ "pages": pages.len(), "threshold": now, "lines": candidates }));
    } else {
        print(reader, &scores, now, &candidates);
    }
    Ok(())
}

/// The lines to compare, lowest first, the present one among them.
fn lines(pages: &[(UrlId, PageOpinion)], now: f64, probabilities: bool) -> Vec<f64> {
    let mut lines = vec![now];
    if probabilities {
        // One that is nearly the present line says nothing new.
        lines.extend(PROBABILITIES.iter().filter(|l| (**l - now).abs() >= 0.05));
    } else {
        let relevant = pages.iter().filter(|(_, s)| s.relevant).count().max(10);
        for share in SHARES {
            let n = (share * relevant as f64) as usize;
            lines.extend(pages.get(n.saturating_sub(1)).map(|(_, s)| s.relevance));
        }
    }
    lines.sort_by(f64::total_cmp);
    lines.dedup_by(|a, b| (*a - *b).abs() < 0.001);
    lines
}

fn candidate(
    reader: &Reader,
    pages: &[(UrlId, PageOpinion)],
    answers: &Answers,
    line: f64,
    now: f64,
) -> Result<Candidate, Problem> {
    let at = |s: &PageOpinion| PageOpinion { relevant: s.relevance >= line, ..*s };
    let relevant = reader.count_at(line, now);
    let labelled: Vec<bool> =
        pages.iter().filter_map(|(_, s)| s.label.map(|l| l == (s.relevance >= line))).collect();
    let right = labelled.iter().filter(|r| **r).count();
    let estimate = match reader.has_probabilities() {
        true => Estimate::of(pages.iter().map(|(_, s)| at(s)), &answers.at(line)),
        false => None,
    };
    let below = pages.partition_point(|(_, s)| s.relevance >= line);
    let mut borderline = Vec::new();
    for (id, s) in pages.iter().take(below + BESIDE).skip(below.saturating_sub(BESIDE)) {
        let Some(record) = reader.record(*id)? else { continue };
        borderline.push(Borderline { score: s.relevance, url: record.url, title: record.title });
    }
    Ok(Candidate {
        line,
        now: line == now,
        relevant,
        right,
        wrong: labelled.len() - right,
        estimate,
        borderline,
    })
}

fn print(reader: &Reader, scores: &[f64], now: f64, candidates: &[Candidate]) {
    let what = if reader.has_probabilities() { "Probabilities" } else { "Scores" };
    println!(
        "{what} of {} pages by {}",
        count(scores.len() as u64),
        style(format!("\"{}\"", strip_controls(reader.config().title()))).bold()
    );
    print!("{}", plot(scores, &[("line now", now)]));
    let estimated = candidates.iter().any(|c| c.estimate.is_some());
    let labelled = candidates.iter().any(|c| c.right + c.wrong > 0);
    println!("\n{}", style("What other lines would give").bold());
    print!("  {:<6} {:>9}", "line", "relevant");
    if labelled {
        print!("  {:>24}", "your labels agree");
    }
    if estimated {
        print!("  {:>18} {:>18}", "precision, about", "recall, about");
    }
    println!();
    for c in candidates {
        print!("  {:<6.3} {:>9}", c.line, count(c.relevant as u64));
        if labelled {
            print!("  {:>24}", format!("{} of {}", c.right, c.right + c.wrong));
        }
        if let Some(e) = &c.estimate {
            print!("  {:>18} {:>18}", share(&e.precision), share(&e.recall));
        }
        println!("{}", if c.now { "   ← now" } else { "" });
    }
    for c in candidates {
        println!("\n{}", style(format!("Near {:.3}", c.line)).bold());
        for b in &c.borderline {
            let side = if b.score >= c.line { style("+").green() } else { style("−").red() };
            let title = if b.title.is_empty() { "(no title)" } else { &b.title };
            println!("  {side} {:.3} {}", b.score, shorten(&strip_controls(title), 80));
            println!("          {}", style(shorten(&strip_controls(&b.url), 90)).dim());
        }
    }
    let dir = reader.dir().display();
    println!("\n`gleaner threshold {dir} --write 0.7` puts a line into its topic file,");
    println!("`gleaner label {dir}` teaches the judge instead.");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(scores: &[f64], line: f64) -> Vec<(UrlId, PageOpinion)> {
        let standing = |s: &f64| PageOpinion { relevance: *s, relevant: *s >= line, label: None };
        scores.iter().enumerate().map(|(i, s)| (UrlId(i as u32), standing(s))).collect()
    }

    #[test]
    fn probabilities_have_round_lines_and_the_present_one() {
        assert_eq!(lines(&pages(&[0.9, 0.1], 0.5), 0.5, true), [0.3, 0.5, 0.7, 0.9]);
        assert_eq!(lines(&pages(&[0.9, 0.1], 0.31), 0.31, true), [0.31, 0.5, 0.7, 0.9]);
    }

    #[test]
    fn other_scores_have_lines_by_how_many_pages_are_above_them() {
        let scores: Vec<f64> = (0..100).map(|i| 1.0 - f64::from(i) / 100.0).collect();
        // 20 pages are relevant at 0.81: twice as many, half more, as many, half as many.
        let found = lines(&pages(&scores, 0.81), 0.81, false);
        let above = |line: f64| scores.iter().filter(|s| **s >= line).count();
        assert_eq!(found.iter().map(|l| above(*l)).collect::<Vec<_>>(), [40, 30, 20, 10]);
        assert!(lines(&pages(&[0.2], 0.5), 0.5, false).len() <= 2);
    }
}
