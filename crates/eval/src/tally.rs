//! Counts of what was skipped and why, with the first example of each: bad lines are never silent and never
//! fatal.

use std::fmt;

/// Counts of what was skipped or odd, by kind, with an example of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    entries: Vec<Entry>,
}

/// One kind of thing that was skipped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What it is, in words (`label of a URL that is not in the web`).
    pub what: &'static str,
    /// How often it was met.
    pub count: u64,
    /// The first one met.
    pub first: String,
}

/// An example is shown to people; a megabyte of it would not be.
const EXAMPLE: usize = 160;

impl Tally {
    /// Nothing met yet.
    pub const fn new() -> Tally {
        Tally { entries: Vec::new() }
    }
    /// Counts one more; the first example of a kind is kept, shortened.
    pub fn add(&mut self, what: &'static str, example: impl fmt::Display) {
        if let Some(e) = self.entries.iter_mut().find(|e| e.what == what) {
            e.count += 1;
            return;
        }
        let mut first = example.to_string();
        if first.len() > EXAMPLE {
            let cut = (0..=EXAMPLE).rev().find(|&i| first.is_char_boundary(i)).unwrap_or(0);
            first.truncate(cut);
            first.push('…');
        }
        self.entries.push(Entry { what, count: 1, first });
    }

    /// How often this kind was met.
    pub fn count(&self, what: &str) -> u64 {
        self.entries.iter().find(|e| e.what == what).map_or(0, |e| e.count)
    }

    /// Nothing was skipped.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Kinds in the order they were met.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Adds the counts of another.
    pub fn merge(&mut self, other: &Tally) {
        for o in &other.entries {
            match self.entries.iter_mut().find(|e| e.what == o.what) {
                Some(e) => e.count += o.count,
                None => self.entries.push(o.clone()),
            }
        }
    }
}

/// One line each: `12 × label of a URL that is not in the web (first: http://…)`.
impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, e) in self.entries.iter().enumerate() {
            if i > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{} × {} (first: {})", e.count, e.what, e.first)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_keeps_the_first_example() {
        let mut t = Tally::default();
        assert!(t.is_empty());
        t.add("bad line", "one");
        t.add("bad line", "two");
        t.add("unknown URL", "ä".repeat(500));
        assert_eq!(t.count("bad line"), 2);
        assert_eq!(t.count("nothing"), 0);
        let shown = t.to_string();
        assert!(shown.starts_with("2 × bad line (first: one)\n1 × unknown URL (first: ää"));
        assert!(shown.len() < 300);
        let mut u = t.clone();
        u.merge(&t);
        assert_eq!(u.count("bad line"), 4);
    }
}
