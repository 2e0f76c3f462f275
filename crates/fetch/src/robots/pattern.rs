//! Paths of rules: `*` stands for anything, `$` at the end for the end.

use std::borrow::Cow;
use std::fmt::Write;

/// A rule's path in the one spelling that both rules and URLs are brought to: escapes of unreserved
/// characters undone, other escapes in upper case, everything that is not a plain URL character escaped. `*`
/// and `$` that are meant literally are `%2A` and `%24` in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pattern {
    text: Box<str>,
    to_end: bool,
}

impl Pattern {
    /// `None` for an empty path, which rules nothing.
    pub fn new(path: &[u8]) -> Option<Pattern> {
        let (path, to_end) = match path.strip_suffix(b"$") {
            Some(rest) => (rest, true),
            None => (path, false),
        };
        let mut text = String::with_capacity(path.len());
        for part in path.split_inclusive(|&b| b == b'*') {
            let (literal, star) = part.strip_suffix(b"*").map_or((part, false), |l| (l, true));
            normalise(literal, &mut text);
            // `**` means no more than `*`.
            if star && !text.ends_with('*') {
                text.push('*');
            }
        }
        (!text.is_empty() || to_end).then(|| Pattern { text: text.into(), to_end })
    }

    /// Matches whatever it is compared with.
    pub fn everything() -> Pattern {
        Pattern { text: "*".into(), to_end: false }
    }

    /// How specific it is: the longest matching rule decides.
    pub fn length(&self) -> usize {
        self.text.len() + usize::from(self.to_end)
    }

    pub fn text(&self) -> &str {
        &self.text
    }

    /// Ends with `$`.
    pub fn is_to_end(&self) -> bool {
        self.to_end
    }

    /// The pattern that matches all this one does and is no longer than `most`.
    pub fn cut(&self, most: usize) -> Pattern {
        if self.length() <= most {
            return self.clone();
        }
        let mut text = self.text.get(..most.min(self.text.len())).unwrap_or("");
        // Half an escape would be another character.
        if let Some(at) = text.rfind('%').filter(|at| at + 3 > text.len()) {
            text = text.get(..at).unwrap_or("");
        }
        // Everything begins with the empty text, but a rule needs one character.
        match text {
            "" => Pattern::everything(),
            _ => Pattern { text: text.into(), to_end: false },
        }
    }
}

/// Does a pattern match a target as [`normalise_target`] gives it? Taking the leftmost place for each literal
/// is enough when `*` is the only wildcard, so there is no backtracking.
pub fn matches(text: &str, to_end: bool, target: &str) -> bool {
    let mut literals = text.split('*');
    let first = literals.next().unwrap_or("");
    let Some(mut rest) = target.strip_prefix(first) else { return false };
    let mut literals = literals.peekable();
    if literals.peek().is_none() {
        return !to_end || rest.is_empty();
    }
    while let Some(literal) = literals.next() {
        if to_end && literals.peek().is_none() {
            return rest.ends_with(literal);
        }
        match rest.find(literal) {
            Some(at) => rest = rest.get(at + literal.len()..).unwrap_or(""),
            None => return false,
        }
    }
    true
}

/// Path and query of a URL in the spelling of patterns.
pub fn normalise_target(target: &str) -> Cow<'_, str> {
    if target.bytes().all(is_plain) {
        return Cow::Borrowed(target);
    }
    let mut out = String::with_capacity(target.len() + 16);
    normalise(target.as_bytes(), &mut out);
    Cow::Owned(out)
}

fn is_unreserved(b: u8) -> bool {
    b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_' | b'~')
}

/// Stands for itself in the common spelling.
fn is_plain(b: u8) -> bool {
    is_unreserved(b) || b"/?=&;:@!'()+,#[]|".contains(&b)
}

fn normalise(bytes: &[u8], out: &mut String) {
    let mut i = 0;
    while let Some(&b) = bytes.get(i) {
        let digit = |at: usize| bytes.get(at).and_then(|d| char::from(*d).to_digit(16));
        i += 1;
        if is_plain(b) {
            out.push(char::from(b));
            continue;
        }
        let escaped = match (b, digit(i), digit(i + 1)) {
            (b'%', Some(high), Some(low)) => {
                i += 2;
                (high << 4 | low) as u8
            }
            _ => b,
        };
        if is_unreserved(escaped) {
            out.push(char::from(escaped));
        } else {
            let _ = write!(out, "%{escaped:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Pattern {
        fn is_match(&self, target: &str) -> bool {
            super::matches(&self.text, self.to_end, target)
        }
    }

    fn matches(pattern: &str, target: &str) -> bool {
        Pattern::new(pattern.as_bytes()).is_some_and(|p| p.is_match(&normalise_target(target)))
    }

    #[test]
    fn wildcards() {
        let table = [
            ("/", "/anything", true),
            ("/fish", "/fish.html", true),
            ("/fish", "/Fish", false),
            ("/fish*", "/fishheads/yummy.html", true),
            ("/fish/", "/fish", false),
            ("/fish/", "/fish/salmon", true),
            ("/*.php", "/folder/filename.php?parameters", true),
            ("/*.php", "/windows.PHP", false),
            ("/*.php$", "/filename.php", true),
            ("/*.php$", "/filename.php?x", false),
            ("/*.php$", "/filename.php/", false),
            ("/*.php$", "/filename.php5", false),
            ("/fish*.php", "/fishheads/catfish.php?parameters", true),
            ("*", "/x", true),
            ("*/x", "/a/x", true),
            ("/$", "/", true),
            ("/$", "/a", false),
            ("$", "/", false),
            ("*$", "/a", true),
            ("/a$", "/a", true),
            ("/a$b", "/a$b", true),
            ("/a$b", "/a", false),
            ("/***a", "/b/a", true),
            ("/a*b*c$", "/abcbc", true),
            ("/a*bc*bc$", "/abc", false),
            ("/*aa$", "/aaa", true),
            ("/a%2Ab", "/a*b", true),
            ("/a%2Ab", "/axb", false),
            ("/a%24", "/a$", true),
            ("fish", "/fish", false),
        ];
        for (pattern, target, expected) in table {
            assert_eq!(matches(pattern, target), expected, "{pattern} on {target}");
        }
    }

    #[test]
    fn escapes() {
        let table = [
            ("/a%3cd.html", "/a%3Cd.html", true),
            ("/a%3Cd.html", "/a%3cd.html", true),
            ("/a%2fb.html", "/a%2Fb.html", true),
            ("/a%2fb.html", "/a/b.html", false),
            ("/a/b.html", "/a%2fb.html", false),
            ("/%7ejoe/index.html", "/~joe/index.html", true),
            ("/~joe/index.html", "/%7Ejoe/index.html", true),
            ("/foo/bar/ツ", "/foo/bar/%E3%83%84", true),
            ("/foo/bar/%E3%83%84", "/foo/bar/ツ", true),
            ("/foo/bar/%62%61%7A", "/foo/bar/baz", true),
            ("/a b", "/a%20b", true),
            ("/a{b}", "/a%7Bb%7D", true),
            ("/100%", "/100%", true),
            ("/100%", "/100%25", true),
            ("/?q=a|b", "/?q=a|b", true),
        ];
        for (pattern, target, expected) in table {
            assert_eq!(matches(pattern, target), expected, "{pattern} on {target}");
        }
    }

    /// The textbook definition, slow and obviously right.
    fn naive(pattern: &[u8], to_end: bool, target: &[u8]) -> bool {
        match (pattern, target) {
            ([], []) => true,
            ([], _) => !to_end,
            ([b'*', rest @ ..], _) => (0..=target.len()).any(|skip| naive(rest, to_end, &target[skip..])),
            ([p, rest @ ..], [t, target @ ..]) => p == t && naive(rest, to_end, target),
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn agrees_with_the_definition(pattern in "/[ab*]{0,8}", end in any::<bool>(), target in "/[ab]{0,10}") {
            let text = format!("{pattern}{}", if end { "$" } else { "" });
            prop_assert_eq!(matches(&text, &target), naive(pattern.as_bytes(), end, target.as_bytes()));
        }

        #[test]
        fn a_cut_pattern_matches_all_that_the_whole_one_does(
            pattern in "/?[ab*%éA5]{0,9}\\$?", most in 1usize..9, target in "/[abé*$]{0,10}",
        ) {
            if let Some(whole) = Pattern::new(pattern.as_bytes()) {
                let (cut, target) = (whole.cut(most), normalise_target(&target));
                prop_assert!(cut.length() <= whole.length().max(1) && cut.length() <= most.max(1));
                prop_assert!(!whole.is_match(&target) || cut.is_match(&target), "{whole:?} {cut:?}");
                let again = Pattern::new(cut.text.as_bytes());
                prop_assert!(cut.to_end || again.as_ref() == Some(&cut), "{cut:?}");
            }
        }

        #[test]
        fn any_bytes_are_survived(pattern in proptest::collection::vec(any::<u8>(), 0..60), target in "\\PC{0,40}") {
            if let Some(p) = Pattern::new(&pattern) {
                p.is_match(&normalise_target(&target));
            }
        }
    }
}
