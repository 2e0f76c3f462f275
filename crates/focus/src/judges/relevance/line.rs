//! Where the line is drawn between pages called relevant and others, given their probabilities.

/// What the line is chosen for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Aim {
    /// The largest F1 that the probabilities let expect.
    Best,
    /// As many pages as possible, this share of them right.
    Precision(f64),
    /// As few pages as possible, with this share of what is wanted.
    Recall(f64),
    /// The user's own line.
    Fixed(f64),
}

/// The line is not drawn below: where nothing is likely, nothing is relevant.
const LOWEST: f64 = 0.2;
/// Nor above, however sure the judge is: what is more likely than not is relevant.
const HIGHEST: f64 = 0.5;

/// The line for these probabilities, and the F1 to expect from it.
pub(super) fn draw(aim: Aim, mut probabilities: Vec<f64>) -> (f64, f64) {
    probabilities.sort_unstable_by(|a, b| b.total_cmp(a));
    let all: f64 = probabilities.iter().sum();
    let expected = |line: f64| {
        let taken = probabilities.iter().take_while(|p| **p >= line);
        let (n, right) = taken.fold((0.0, 0.0), |(n, right), p| (n + 1.0, right + p));
        if n + all > 0.0 { 2.0 * right / (n + all) } else { 0.0 }
    };
    let line = match aim {
        Aim::Fixed(line) => line,
        Aim::Best => {
            let (mut right, mut best) = (0.0, (HIGHEST, 0.0));
            for (i, p) in probabilities.iter().enumerate() {
                right += p;
                let f1 = 2.0 * right / (i as f64 + 1.0 + all);
                if f1 > best.1 {
                    best = (*p, f1);
                }
            }
            best.0.clamp(LOWEST, HIGHEST)
        }
        Aim::Precision(wanted) => {
            let (mut right, mut line) = (0.0, wanted);
            for (i, p) in probabilities.iter().enumerate() {
                right += p;
                if right / (i as f64 + 1.0) >= wanted {
                    line = line.min(*p);
                }
            }
            line
        }
        Aim::Recall(wanted) => {
            let (mut right, mut line) = (0.0, HIGHEST);
            for p in &probabilities {
                if right >= wanted * all {
                    break;
                }
                right += p;
                line = *p;
            }
            line.min(HIGHEST)
        }
    };
    (line, expected(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_line_by_hand() {
        // Taken one by one: 2·0.9/(1+1.8) = 0.64, 2·1.5/(2+1.8) = 0.79, 2·1.8/(3+1.8) = 0.75.
        let (line, f1) = draw(Aim::Best, vec![0.3, 0.9, 0.6]);
        assert_eq!(line, 0.5, "0.6 is more likely than not");
        assert!((f1 - 3.0 / 3.8).abs() < 1e-12);
        let (line, _) = draw(Aim::Best, vec![0.45, 0.3, 0.01]);
        assert_eq!(line, 0.3);
        assert_eq!(draw(Aim::Best, vec![0.02; 50]).0, LOWEST, "nothing is likely");
        assert_eq!(draw(Aim::Best, vec![]), (HIGHEST, 0.0));
    }

    #[test]
    fn precision_and_recall_as_asked() {
        let pages = || vec![0.99, 0.9, 0.5, 0.1, 0.01];
        // 0.99, 1.89/2 = 0.945, 2.39/3 = 0.797.
        assert_eq!(draw(Aim::Precision(0.9), pages()).0, 0.9);
        assert_eq!(draw(Aim::Precision(0.95), pages()).0, 0.95);
        // All 2.5: 0.99 + 0.9 = 1.89 is 76 %, with 0.5 it is 96 %.
        assert_eq!(draw(Aim::Recall(0.9), pages()).0, 0.5);
        assert_eq!(draw(Aim::Recall(0.97), pages()).0, 0.1);
    }
}
