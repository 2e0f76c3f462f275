//! Queries for a search engine, made of a topic's terms: the ten heuristics of Siqueira et al., §2.1 (from
//! Mangaravite et al. 2014), by which they find seed pages.

use super::distance;
use types::Problem;

/// How a query is made of the genre and the content terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Builder {
    /// All terms, joined by OR.
    UnionOr,
    /// All terms.
    Union,
    /// The first genre term and the first content term, joined by OR.
    UnionFirstOr,
    /// The first genre term and the first content term: the best in Siqueira et al.
    UnionFirst,
    /// All terms, joined by AND.
    Intersection,
    /// The first genre term and the first content term, joined by AND.
    IntersectionFirst,
    /// The content terms.
    JustContent,
    /// The content terms, joined by OR.
    JustContentOr,
    /// The genre terms.
    JustGenre,
    /// The genre terms, joined by OR.
    JustGenreOr,
}

impl Builder {
    /// In the order of Siqueira et al.
    pub const ALL: [Builder; 10] = [
        Builder::UnionOr,
        Builder::Union,
        Builder::UnionFirstOr,
        Builder::UnionFirst,
        Builder::Intersection,
        Builder::IntersectionFirst,
        Builder::JustContent,
        Builder::JustContentOr,
        Builder::JustGenre,
        Builder::JustGenreOr,
    ];

    /// The name in Siqueira et al.
    pub fn name(self) -> &'static str {
        match self {
            Builder::UnionOr => "unionOR",
            Builder::Union => "union",
            Builder::UnionFirstOr => "unionFirstOR",
            Builder::UnionFirst => "unionFirst",
            Builder::Intersection => "intersection",
            Builder::IntersectionFirst => "intersectionFirst",
            Builder::JustContent => "justContent",
            Builder::JustContentOr => "justContentOR",
            Builder::JustGenre => "justGenre",
            Builder::JustGenreOr => "justGenreOR",
        }
    }

    /// By name, whatever the case.
    pub fn named(name: &str) -> Result<Builder, Problem> {
        let name = name.trim();
        let find = |name: &str| Builder::ALL.into_iter().find(|b| b.name().eq_ignore_ascii_case(name));
        find(name).ok_or_else(|| {
            // Not `nearest`: every second name begins with another, and would lose to it.
            let near = Builder::ALL.into_iter().min_by_key(|b| distance(name, b.name()));
            let near = near.filter(|b| distance(name, b.name()) <= 3);
            let near = near.map_or(String::new(), |b| format!("did you mean `{}`? ", b.name()));
            Problem::usage(format!("there is no query builder `{name}`"))
                .hint(format!("{near}The builders are {}", Builder::ALL.map(Builder::name).join(", ")))
        })
    }

    /// The query; `None` when the terms it is made of are missing. A builder of both kinds makes do with one
    /// when the topic has no other.
    pub fn query(self, genre: &[String], content: &[String]) -> Option<String> {
        use Builder::*;
        let first = |list: &[String]| list.iter().find_map(|t| phrase(t)).into_iter().collect::<Vec<_>>();
        let all = |list: &[String]| list.iter().filter_map(|t| phrase(t)).collect::<Vec<_>>();
        let mut terms = match self {
            UnionOr | Union | Intersection => [all(genre), all(content)].concat(),
            UnionFirstOr | UnionFirst | IntersectionFirst => [first(genre), first(content)].concat(),
            JustContent | JustContentOr => all(content),
            JustGenre | JustGenreOr => all(genre),
        };
        let mut seen = Vec::new();
        terms.retain(|t| {
            let key = t.to_lowercase();
            let new = !seen.contains(&key);
            if new {
                seen.push(key);
            }
            new
        });
        let by = match self {
            UnionOr | UnionFirstOr | JustContentOr | JustGenreOr => " OR ",
            Intersection | IntersectionFirst => " AND ",
            Union | UnionFirst | JustContent | JustGenre => " ",
        };
        (!terms.is_empty()).then(|| terms.join(by))
    }

    /// The query within `most` characters: the last terms of the longer list are left out until it fits. Also
    /// how many were. `None` when there is no term, or not one that fits.
    pub fn query_within(self, genre: &[String], content: &[String], most: usize) -> Option<(String, usize)> {
        let (mut g, mut c) = (genre, content);
        let mut left_out = 0;
        loop {
            let query = self.query(g, c)?;
            if query.chars().count() <= most {
                return Some((query, left_out));
            }
            use Builder::*;
            let from_genre = match self {
                JustGenre | JustGenreOr => true,
                JustContent | JustContentOr => false,
                _ => g.len() > c.len(),
            };
            let list = if from_genre { &mut g } else { &mut c };
            *list = list.split_last()?.1;
            left_out += 1;
        }
    }
}

/// A term as engines read it: phrases in quotes.
fn phrase(term: &str) -> Option<String> {
    let clean = term.replace(['"', '\u{201c}', '\u{201d}'], " ");
    let words: Vec<&str> = clean.split_whitespace().collect();
    match words.as_slice() {
        [] => None,
        [one] => Some((*one).to_string()),
        many => Some(format!("\"{}\"", many.join(" "))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(terms: &[&str]) -> Vec<String> {
        terms.iter().map(|t| t.to_string()).collect()
    }

    /// The terms of Siqueira et al., Tab. 1, database syllabi.
    fn syllabi() -> (Vec<String>, Vec<String>) {
        let genre =
            ["syllabus", "course", "tentative schedule", "class", "works", "required text", "textbooks"];
        let content = [
            "data model",
            "relational model",
            "entity-relationship",
            "relational algebra",
            "relational calculus",
        ];
        (list(&genre), list(&content))
    }

    #[test]
    fn the_ten_builders_on_the_terms_of_the_paper() {
        let (genre, content) = syllabi();
        let query = |b: Builder| b.query(&genre, &content).unwrap();
        let g = [
            "syllabus",
            "course",
            "\"tentative schedule\"",
            "class",
            "works",
            "\"required text\"",
            "textbooks",
        ];
        let c = [
            "\"data model\"",
            "\"relational model\"",
            "entity-relationship",
            "\"relational algebra\"",
            "\"relational calculus\"",
        ];
        let both = [&g[..], &c[..]].concat();
        assert_eq!(query(Builder::UnionOr), both.join(" OR "));
        assert_eq!(query(Builder::Union), both.join(" "));
        assert_eq!(query(Builder::UnionFirstOr), "syllabus OR \"data model\"");
        assert_eq!(query(Builder::UnionFirst), "syllabus \"data model\"");
        assert_eq!(query(Builder::Intersection), both.join(" AND "));
        assert_eq!(query(Builder::IntersectionFirst), "syllabus AND \"data model\"");
        assert_eq!(query(Builder::JustContent), c.join(" "));
        assert_eq!(query(Builder::JustContentOr), c.join(" OR "));
        assert_eq!(query(Builder::JustGenre), g.join(" "));
        assert_eq!(query(Builder::JustGenreOr), g.join(" OR "));
    }

    #[test]
    fn missing_terms() {
        let one = list(&["sql"]);
        assert_eq!(Builder::UnionFirst.query(&[], &one).as_deref(), Some("sql"));
        assert_eq!(Builder::JustGenre.query(&[], &one), None);
        assert_eq!(Builder::Union.query(&[], &[]), None);
        assert_eq!(Builder::Union.query(&list(&["", " \" "]), &[]), None);
        // The same term twice is one; quotes inside cannot break out.
        assert_eq!(
            Builder::Union.query(&one, &list(&["SQL", "a \"b\" c"])).as_deref(),
            Some("sql \"a b c\"")
        );
    }

    #[test]
    fn names() {
        for b in Builder::ALL {
            assert_eq!(Builder::named(b.name()).unwrap(), b);
            assert_eq!(Builder::named(&b.name().to_lowercase()).unwrap(), b);
        }
        assert!(Builder::named("unionFrist").unwrap_err().to_string().contains("unionFirst"));
    }

    #[test]
    fn long_queries_lose_their_last_terms() {
        let (genre, content) = syllabi();
        let whole = Builder::Union.query(&genre, &content).unwrap();
        assert_eq!(Builder::Union.query_within(&genre, &content, 1_000), Some((whole, 0)));
        let (short, left) = Builder::Union.query_within(&genre, &content, 60).unwrap();
        assert!(short.chars().count() <= 60 && left > 0, "{short}");
        assert!(short.starts_with("syllabus course") && short.contains("\"data model\""), "{short}");
        assert_eq!(Builder::JustContent.query_within(&genre, &content, 3), None);
    }
}
