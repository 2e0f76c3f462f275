//! How much is still to be found? Relevant pages get rarer as a focused crawl goes on; how fast they do says
//! how many are left. From the harvest curve alone, so it holds for every strategy and costs nothing. This is
//! the only estimate of recall there is: the terminal, `status`, the dashboard, the report and the API all
//! show it.

use crate::labels::Share;
use serde::Serialize;

/// What is still to be found, as far as the harvest curve tells.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Outlook {
    /// The share of the relevant pages that can be reached which is found, with an 80 % interval. `None` as
    /// long as the harvest does not fall: then nobody knows.
    pub recall: Option<Share>,
    /// Relevant pages that can still be reached.
    pub remaining: Option<f64>,
    /// Share of relevant pages among the next ones.
    pub next: f64,
}

/// The crawl so far is cut into so many stretches of equal length.
const STRETCHES: usize = 6;
/// Nothing is said before so many pages.
const LEAST_PAGES: u64 = 100;
const LEAST_RELEVANT: u64 = 5;
/// Nothing is said of what is left before so many relevant pages …
const LEAST_FOUND: u64 = 10;
/// … and before the last stretch brought at most this share of what the best one did. On the orders of 20
/// topics the estimate is then off by 0.08 on average; before, by 0.3 (docs/adaptive.md).
const FALLEN: f64 = 1.0 / 3.0;
/// A harvest that falls by less than this from stretch to stretch does not fall.
const STEADY: f64 = 0.9;
/// In four of five cases what was left was between these shares of the estimate (eight topics; twelve others:
/// 78 %).
const LEFT: (f64, f64) = (0.1, 4.0);

impl Outlook {
    /// From `(pages, relevant)` points in rising order, and the URLs that are left.
    pub fn of(curve: &[(u64, u64)], pending: u64) -> Option<Outlook> {
        let (pages, relevant) = *curve.last()?;
        if pending == 0 {
            // The end: whatever can be reached was fetched.
            let all = Share { value: 1.0, low: 1.0, high: 1.0 };
            return Some(Outlook { recall: Some(all), remaining: Some(0.0), next: 0.0 });
        }
        if pages < LEAST_PAGES || relevant < LEAST_RELEVANT {
            return None;
        }
        let at = |n: f64| {
            // Verdicts may be revised later, so the curve may fall.
            let i = curve.partition_point(|(p, _)| (*p as f64) < n);
            let (p1, r1) = curve.get(i).copied().unwrap_or((pages, relevant));
            let (p0, r0) = if i == 0 { (0, 0) } else { curve[i - 1] };
            let (p0, p1, r0, r1) = (p0 as f64, p1 as f64, r0 as f64, r1 as f64);
            if p1 > p0 { r0 + (r1 - r0) * ((n - p0) / (p1 - p0)).clamp(0.0, 1.0) } else { r1 }
        };
        let length = pages as f64 / STRETCHES as f64;
        let mut sums = [0.0; 5];
        let (mut best, mut last_found) = (0.0f64, 0.0);
        let mut points = [(0.0, 0.0, 0.0); STRETCHES];
        for (i, point) in points.iter_mut().enumerate() {
            let found = (at((i + 1) as f64 * length) - at(i as f64 * length)).max(0.0);
            // Half a page: a stretch without any has a logarithm too, and little weight.
            let (x, y, w) = (i as f64, (found + 0.5).ln(), found + 0.5);
            *point = (x, y, w);
            sums[0] += w;
            sums[1] += w * x;
            sums[2] += w * y;
            best = best.max(found);
            last_found = found;
        }
        let (mx, my) = (sums[1] / sums[0], sums[2] / sums[0]);
        for (x, y, w) in points {
            sums[3] += w * (x - mx) * (x - mx);
            sums[4] += w * (x - mx) * (y - my);
        }
        let slope = if sums[3] > 0.0 { sums[4] / sums[3] } else { 0.0 };
        let falls = slope.exp();
        let last = (my + slope * ((STRETCHES - 1) as f64 - mx)).exp();
        let next = (last * falls.min(1.0) / length).min(1.0);
        if falls >= STEADY || relevant < LEAST_FOUND || last_found > FALLEN * best {
            return Some(Outlook { recall: None, remaining: None, next });
        }
        // A geometric series: each stretch brings `falls` times what the one before brought.
        let remaining = last * falls / (1.0 - falls);
        let found = |left: f64| relevant as f64 / (relevant as f64 + left);
        let recall = Share {
            value: found(remaining),
            low: found(LEFT.1 * remaining),
            high: found(LEFT.0 * remaining),
        };
        Some(Outlook { recall: Some(recall), remaining: Some(remaining), next })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 6 stretches of 100 pages with 64, 32, 16, 8, 4, 2 relevant ones: 2 more are to come in all, one of
    /// them next.
    #[test]
    fn a_harvest_that_halves_ends() {
        let mut curve = vec![];
        let (mut n, mut r) = (0, 0);
        for found in [64, 32, 16, 8, 4, 2] {
            n += 100;
            r += found;
            curve.push((n, r));
        }
        let o = Outlook::of(&curve, 500).unwrap();
        assert!((o.remaining.unwrap() - 2.0).abs() < 1.0, "{o:?}");
        let recall = o.recall.unwrap();
        assert!((recall.value - 126.0 / 128.0).abs() < 0.02, "{o:?}");
        assert!(recall.low < recall.value && recall.value < recall.high && recall.high < 1.0, "{o:?}");
        assert!((o.next - 0.01).abs() < 0.01, "{o:?}");
    }

    #[test]
    fn a_steady_harvest_has_no_end_in_sight() {
        let curve: Vec<(u64, u64)> = (1..=600).map(|n| (n, n / 3)).collect();
        let o = Outlook::of(&curve, 500).unwrap();
        assert_eq!((o.recall, o.remaining), (None, None), "{o:?}");
        assert!((o.next - 1.0 / 3.0).abs() < 0.02, "{o:?}");
    }

    #[test]
    fn an_empty_frontier_is_the_end() {
        let curve: Vec<(u64, u64)> = (1..=600).map(|n| (n, n / 3)).collect();
        let o = Outlook::of(&curve, 0).unwrap();
        assert_eq!((o.recall.map(|r| r.value), o.remaining), (Some(1.0), Some(0.0)));
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert_eq!(Outlook::of(&[], 0), None);
        assert_eq!(Outlook::of(&[(50, 20)], 9), None);
        assert_eq!(Outlook::of(&[(5000, 1)], 9), None);
        // One point, a curve that falls, repeated points: an answer, and a finite one.
        for curve in [&[(5000, 100)][..], &[(100, 50), (200, 20), (300, 40)], &[(200, 7), (200, 7)]] {
            let o = Outlook::of(curve, 9).unwrap();
            assert!(o.remaining.unwrap_or(0.0).is_finite() && o.next.is_finite(), "{o:?}");
        }
    }
}
