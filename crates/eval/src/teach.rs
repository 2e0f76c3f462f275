//! Labels play the person: how good verdicts become with how many answers (`gleaner backtest --teach`).
//!
//! One crawl per number of labels. Questions are chosen as for a person ([`focus::ask`]) and the answers go
//! the way of a live crawl's labels ([`crawl::steer::Command::Labels`]): the judge learns, verdicts are given
//! again, the strategy is told, what is pending is scored again.
//!
//! * **When.** In rounds of [`ROUND`] questions, because a person answers a few at a time and the next ones
//!   should depend on the answers. The first round is after [`FIRST`] pages; from round to round the number
//!   of pages grows by a constant factor, at most [`GROWTH`], such that the last round is at half of the
//!   pages that the crawl can fetch. Few labels are all given early: they are worth most while most of the
//!   crawl is still to come.
//! * **About what.** About a random half of the pages only, by a hash of URL and draw. Seeds and pages with
//!   an ignored label are not asked about.
//! * **Measured** on the *other* half, where no answer can be bought; only `f1_all` is over all pages, with
//!   the answers in place of the verdicts, because that is what a user takes home.
//! * **Wrong answers**: a share of the pages, by another hash, is answered with the opposite.

use crate::labels::Class;
use crate::metrics::Decision;
use crate::results::{Calibration, Lesson};
use crawl::steer::Command;
use crawl::{Crawl, Judgement};
use focus::ask::{self, Candidate};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use types::{Millis, Problem, Url, UrlId, Verdict};

/// Questions asked at a time.
pub const ROUND: usize = 5;
/// Pages fetched before the first question.
pub const FIRST: usize = 40;
/// Pages at one round, as a multiple of those at the round before, at most.
pub const GROWTH: f64 = 2.0;
/// A judge that gives a page at least this probability is sure of it.
pub const SURE: f64 = 0.8;

/// How many labels are given, and how many of them are wrong.
#[derive(Clone, Debug, PartialEq)]
pub struct Teach {
    /// Ascending; the first is 0.
    pub labels: Vec<usize>,
    /// Share of the answers that are wrong, 0–1.
    pub wrong: f64,
}

/// How it was done, for those who read the results.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Teaching {
    /// Labels given, one crawl for each number.
    pub labels: Vec<usize>,
    /// Share of the answers that were wrong.
    pub wrong: f64,
    /// Questions asked at a time.
    pub questions_per_round: usize,
    /// Pages fetched before the first question.
    pub first_round_after_pages: usize,
    /// Factor between the numbers of pages of two rounds.
    pub pages_grow_at_most_by: f64,
    /// The procedure in words.
    pub how: String,
}

/// Most labels of one crawl: a person does not give more.
const MOST: usize = 100_000;

impl Teach {
    /// From `--teach` and `--wrong`.
    pub fn parse(list: &str, wrong: f64) -> Result<Teach, Problem> {
        let bad = |why: String| {
            Problem::usage(format!("--teach {list}: {why}"))
                .hint("numbers of labels, fewest first, as in --teach 0,10,20,40")
        };
        let mut labels: Vec<usize> = vec![0];
        for (i, text) in list.split(',').map(str::trim).enumerate() {
            let n: usize = text.parse().map_err(|_| bad(format!("`{text}` is not a number of labels")))?;
            if n > MOST {
                return Err(bad(format!("{n} labels are more than the {MOST} that can be asked for")));
            }
            match labels.last() {
                Some(0) if n == 0 && i == 0 => {}
                Some(&before) if n <= before => {
                    return Err(bad(format!("{n} comes after {before}")));
                }
                _ => labels.push(n),
            }
        }
        if !(0.0..=1.0).contains(&wrong) {
            return Err(Problem::usage(format!("--wrong {wrong}: must be from 0 to 1"))
                .hint("the share of answers that are wrong, as in --wrong 0.1"));
        }
        Ok(Teach { labels, wrong })
    }

    /// What results say about the procedure.
    pub fn told(&self) -> Teaching {
        Teaching {
            labels: self.labels.clone(),
            wrong: self.wrong,
            questions_per_round: ROUND,
            first_round_after_pages: FIRST,
            pages_grow_at_most_by: GROWTH,
            how: format!(
                "one crawl per number of labels; rounds of {ROUND} questions after {FIRST} pages and then \
                 after \
                 numbers of pages that grow by a constant factor, at most {GROWTH}, the last at half of the \
                 pages that \
                 can be fetched; asked about a random half of the pages; precision, recall, f1, brier and \
                 calibration \
                 are of the other half; f1_all is of all pages, with the labels in place of the verdicts"
            ),
        }
    }
}

/// After how many pages how many questions are asked, when `pages` can be fetched.
pub fn rounds(labels: usize, pages: usize) -> Vec<(usize, usize)> {
    let last = (pages / 2).max(1);
    let first = FIRST.min(last);
    let count = labels.div_ceil(ROUND);
    let growth = match count {
        0 | 1 => 1.0,
        n => libm::pow(last as f64 / first as f64, 1.0 / (n - 1) as f64).min(GROWTH),
    };
    let at = |i: usize| libm::round(first as f64 * libm::pow(growth, i as f64)) as usize;
    (0..count).map(|i| (at(i), ROUND.min(labels - i * ROUND))).collect()
}

/// May this page be asked about in this draw?
pub fn may_ask(url: &Url, draw: u64) -> bool {
    url.fingerprint((draw, 0x6861_6c66)).0 & 1 == 0
}

/// Is the answer of this page turned around?
pub fn is_wrong(url: &Url, draw: u64, share: f64) -> bool {
    let chance = (url.fingerprint((draw, 0x0077_726f_6e67)).0 >> 11) as f64 / (1u64 << 53) as f64;
    chance < share
}

/// A fetched page as the person sees it.
#[derive(Clone, Debug)]
pub(crate) struct FetchedPage {
    pub id: UrlId,
    pub url: Url,
    pub simhash: u64,
    pub class: Class,
}

/// The person.
pub(crate) struct Teacher {
    draw: u64,
    wrong: f64,
    /// Rounds to come, the last one first.
    rounds: Vec<(usize, usize)>,
    /// Questions that could not be asked yet, because there were too few pages.
    owed: usize,
    /// Pages that may be asked about, and the answer.
    pages: HashMap<UrlId, Page>,
    pub given: usize,
    pub yes: usize,
}

struct Page {
    /// Without a verdict.
    candidate: Candidate,
    answer: bool,
}

impl Teacher {
    /// One who gives so many labels while at most `pages` pages are fetched.
    pub fn new(labels: usize, pages: usize, draw: u64, wrong: f64) -> Teacher {
        let mut rounds = rounds(labels, pages);
        rounds.reverse();
        Teacher { draw, wrong, rounds, owed: 0, pages: HashMap::new(), given: 0, yes: 0 }
    }

    /// Shows them a page that was fetched.
    pub fn show(&mut self, page: &FetchedPage) {
        let truth = match page.class {
            Class::Relevant => true,
            Class::Irrelevant => false,
            Class::Neutral => return,
        };
        if !may_ask(&page.url, self.draw) {
            return;
        }
        let answer = truth != is_wrong(&page.url, self.draw, self.wrong);
        let candidate = Candidate::new(page.id, &page.url, Verdict::default(), page.simhash, None);
        self.pages.insert(page.id, Page { candidate, answer });
    }

    /// Is it time for questions?
    pub fn is_due(&self, crawl: &Crawl) -> bool {
        self.rounds.last().is_some_and(|(at, _)| crawl.pages() >= *at as u64)
    }

    /// Answers what is due.
    pub fn answer(&mut self, crawl: &mut Crawl, now: Millis) -> Result<(), Problem> {
        while self.is_due(crawl) {
            let Some((_, n)) = self.rounds.pop() else { break };
            self.owed += n;
            self.owed -= self.ask(crawl, self.owed, now)?;
        }
        Ok(())
    }

    /// Answers what is left when the crawl has ended.
    pub fn finish(&mut self, crawl: &mut Crawl, now: Millis) -> Result<(), Problem> {
        self.owed += self.rounds.drain(..).map(|r| r.1).sum::<usize>();
        while self.owed > 0 {
            let asked = self.ask(crawl, self.owed.min(ROUND), now)?;
            if asked == 0 {
                break;
            }
            self.owed -= asked;
        }
        Ok(())
    }

    fn ask(&mut self, crawl: &mut Crawl, n: usize, now: Millis) -> Result<usize, Problem> {
        let candidate = |j: Judgement| {
            let known = self.pages.get(&j.id)?.candidate;
            let barred = !j.verdict.relevant && j.verdict.relevance >= j.verdict.threshold;
            let relevance = if barred { 0.0 } else { j.verdict.relevance };
            Some(Candidate {
                relevance,
                line: j.verdict.threshold,
                label: j.label.map(|l| l.relevant),
                ..known
            })
        };
        let candidates: Vec<Candidate> = crawl.judgements().into_iter().filter_map(candidate).collect();
        let questions = ask::questions(&candidates, n, self.draw);
        let mut said = Vec::with_capacity(questions.len());
        for q in &questions {
            let Some(page) = self.pages.get(&q.id) else { continue };
            said.push((q.id, Some(page.answer)));
            self.yes += usize::from(page.answer);
        }
        self.given += said.len();
        let asked = said.len();
        if asked > 0 {
            crawl.obey(Command::Labels(said), now)?;
        }
        Ok(asked)
    }
}

/// What the verdicts are worth after so many labels. `pages` in fetch order, with what is thought of each in
/// the end.
pub(crate) fn lesson<'a>(
    labels: usize,
    draw: u64,
    pages: impl Iterator<Item = (&'a FetchedPage, Judgement)>,
) -> Lesson {
    let (mut other, mut all) = (Vec::new(), Vec::new());
    let (mut error, mut sure) = (0.0, Calibration::default());
    for (page, j) in pages {
        let truth = match page.class {
            Class::Relevant => true,
            Class::Irrelevant => false,
            Class::Neutral => continue,
        };
        all.push((j.label.map_or(j.verdict.relevant, |l| l.relevant), truth));
        if may_ask(&page.url, draw) {
            continue;
        }
        other.push((j.verdict.relevant, truth));
        let p = if j.verdict.relevance.is_nan() { 0.0 } else { j.verdict.relevance.clamp(0.0, 1.0) };
        let miss = p - f64::from(u8::from(truth));
        error += miss * miss;
        if p >= SURE {
            sure.pages += 1;
            sure.right += usize::from(truth);
        }
    }
    let brier = (!other.is_empty()).then(|| error / other.len() as f64);
    let decision = Decision::of(other.into_iter());
    Lesson {
        labels,
        precision: decision.precision,
        recall: decision.recall,
        f1: decision.f1,
        f1_all: Decision::of(all.into_iter()).f1,
        brier,
        calibration: sure,
        ..Lesson::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Canon;

    fn url(text: &str) -> Url {
        Canon::exact().parse(text).unwrap()
    }

    #[test]
    fn rounds_grow_and_end_by_half_of_the_web() {
        assert_eq!(rounds(0, 1000), []);
        assert_eq!(rounds(3, 1000), [(40, 3)]);
        assert_eq!(rounds(10, 5000), [(40, 5), (80, 5)]);
        assert_eq!(rounds(20, 5000), [(40, 5), (80, 5), (160, 5), (320, 5)]);
        // 40·g⁷ = 2,500: g = 1.805.
        let many = rounds(40, 5000);
        assert_eq!((many.len(), many[0], many[1], many[7]), (8, (40, 5), (72, 5), (2500, 5)));
        assert!(rounds(160, 4603).is_sorted() && rounds(160, 4603).last() == Some(&(2301, 5)));
        // A small web: by half of it all the same.
        assert_eq!(rounds(12, 30), [(15, 5), (15, 5), (15, 2)]);
        assert_eq!(rounds(7, 0), [(1, 5), (1, 2)]);
    }

    #[test]
    fn lists_of_labels() {
        let labels = |list: &str| Teach::parse(list, 0.0).map(|t| t.labels);
        assert_eq!(labels("0,10, 20").unwrap(), [0, 10, 20]);
        // Without labels it is always run.
        assert_eq!(labels("10").unwrap(), [0, 10]);
        assert_eq!(labels("0").unwrap(), [0]);
        for (list, says) in [
            ("ten", "`ten` is not a number"),
            ("20,10", "10 comes after 20"),
            ("10,10", "10 comes after 10"),
            ("10,0", "0 comes after 10"),
            ("0,0", "0 comes after 0"),
            ("", "`` is not a number"),
            ("-1", "`-1` is not"),
            ("999999999", "more than"),
        ] {
            let problem = labels(list).unwrap_err();
            assert!(problem.exit_code() == 2 && problem.to_string().contains(says), "{list}: {problem}");
        }
        for wrong in [2.0, -0.1, f64::NAN] {
            assert!(Teach::parse("10", wrong).unwrap_err().to_string().contains("--wrong"), "{wrong}");
        }
    }

    #[test]
    fn half_of_the_pages_and_a_share_of_the_answers() {
        let urls: Vec<Url> = (0..4000).map(|i| url(&format!("http://h{}.org/{i}", i % 7))).collect();
        let count = |of: &dyn Fn(&Url) -> bool| urls.iter().filter(|u| of(u)).count();
        // Binomial: 2,000 ± 5·32, 400 ± 5·19, and of one half's 2,000 again a tenth.
        assert!((1840..2160).contains(&count(&|u| may_ask(u, 3))));
        assert!((305..495).contains(&count(&|u| is_wrong(u, 3, 0.1))));
        assert!((135..265).contains(&count(&|u| may_ask(u, 3) && is_wrong(u, 3, 0.1))));
        assert_eq!((count(&|u| is_wrong(u, 3, 0.0)), count(&|u| is_wrong(u, 3, 1.0))), (0, 4000));
        // Another draw, another half.
        assert!((840..1160).contains(&count(&|u| may_ask(u, 3) && may_ask(u, 4))));
    }

    #[test]
    fn measured_on_the_other_half() {
        // The first four pages that may be asked about, and the first six that may not.
        let urls = || (0..100).map(|i| url(&format!("http://a.org/{i}")));
        let asked: Vec<Url> = urls().filter(|u| may_ask(u, 1)).take(4).collect();
        let other: Vec<Url> = urls().filter(|u| !may_ask(u, 1)).take(6).collect();
        let page = |url: &Url, class, relevance: f64, label| {
            let verdict = Verdict { relevant: relevance >= 0.5, relevance, threshold: 0.5, version: 0 };
            let seen = FetchedPage { id: UrlId(0), url: url.clone(), simhash: 0, class };
            (seen, Judgement { id: UrlId(0), verdict, label: Option::map(label, types::Label::person) })
        };
        use Class::*;
        let pages = [
            // A label that the judge did not take in, one that it did, two pages without.
            page(&asked[0], Relevant, 0.1, Some(true)),
            page(&asked[1], Irrelevant, 0.2, Some(false)),
            page(&asked[2], Irrelevant, 0.9, None),
            page(&asked[3], Relevant, 0.7, None),
            page(&other[0], Relevant, 0.9, None),
            page(&other[1], Irrelevant, 0.8, None),
            page(&other[2], Relevant, 0.4, None),
            page(&other[3], Irrelevant, 0.0, None),
            page(&other[4], Neutral, 1.0, None),
            page(&other[5], Relevant, 0.6, None),
        ];
        let l = lesson(2, 1, pages.iter().map(|(s, j)| (s, *j)));
        let near = |a: Option<f64>, b: f64| assert!((a.unwrap() - b).abs() < 1e-12, "{a:?} {b}");
        // Other half: said 0.9 0.8 0.6, right 2; relevant 3. F1 = 4/6.
        near(l.precision, 2.0 / 3.0);
        near(l.recall, 2.0 / 3.0);
        near(l.f1, 2.0 / 3.0);
        // All: said 5 + the label, minus none = 0(label), 2, 3 | 0, 1, 5: six, right 4; relevant 5. F1 =
        // 8/11.
        near(l.f1_all, 8.0 / 11.0);
        // (0.1² + 0.8² + 0.6² + 0² + 0.4²) / 5 = (0.01 + 0.64 + 0.36 + 0.16) / 5.
        near(l.brier, 1.17 / 5.0);
        assert_eq!(l.calibration, Calibration { pages: 2, right: 1 });
        let none = lesson(0, 1, [].into_iter());
        assert_eq!((none.f1, none.brier, none.f1_all), (None, None, None));
    }
}
