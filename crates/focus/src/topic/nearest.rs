//! The nearest known name to a misspelt one, for error messages.

/// Damerau–Levenshtein distance (adjacent letters swapped count once), without regard to case.
pub fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).flat_map(char::to_lowercase).collect();
    let b: Vec<char> = b.chars().take(64).flat_map(char::to_lowercase).collect();
    let (mut before, mut last): (Vec<usize>, Vec<usize>) = (Vec::new(), (0..=b.len()).collect());
    for i in 1..=a.len() {
        let mut row = vec![i];
        for j in 1..=b.len() {
            let change = last[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut best = change.min(last[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(before[j - 2] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

/// The known name nearest to `name`, if it is near enough to have been meant; ties take the first.
pub fn nearest<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name = name.replace(['_', ' '], "-").to_lowercase();
    let length = name.chars().count();
    let most = (length / 3).max(1).min(length.saturating_sub(1));
    // A name cut short, or with something after it, is as near as one wrong letter.
    let prefix =
        |k: &str| length >= 3 && (k.starts_with(name.as_str()) || (k.len() >= 3 && name.starts_with(k)));
    let score = |k: &str| {
        let (d, p) = (distance(&name, k), prefix(k));
        (if p { d.min(1) } else { d }, !p)
    };
    let near = known.into_iter().map(|k| (score(&k.replace(['_', ' '], "-").to_lowercase()), k));
    near.filter(|((d, _), _)| *d <= most).min_by_key(|(s, _)| *s).map(|(_, k)| k)
}

/// The hint of an error about an unknown name: the nearest one, or all of them.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    match nearest(name, known.iter().copied()) {
        Some(k) => format!("did you mean `{k}`?"),
        None => format!("known: {}", known.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        for (a, b, d) in
            [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("ab", "ba", 1), ("Genre", "genre", 0)]
        {
            assert_eq!(distance(a, b), d, "{a} {b}");
            assert_eq!(distance(b, a), d, "{b} {a}");
        }
    }

    #[test]
    fn misspelt_names() {
        let known = ["breadth-first", "best-first", "genre", "threshold"];
        assert_eq!(nearest("treshold", known), Some("threshold"));
        assert_eq!(nearest("best_first", known), Some("best-first"));
        assert_eq!(nearest("gen", known), Some("genre"));
        assert_eq!(nearest("xyz", known), None);
        assert_eq!(did_you_mean("x", &["a", "b"]), "known: a, b");
        assert_eq!(did_you_mean("gnere", &known), "did you mean `genre`?");
    }
}
