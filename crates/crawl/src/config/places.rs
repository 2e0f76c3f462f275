//! Errors of a topic file: where in the file the mistake stands, and what to do about it.

use focus::topic::nearest;
use std::collections::BTreeMap;
use types::Problem;

/// A TOML error as `file:line:column: what`, with the nearest known key when one was misspelt.
pub(super) fn explain(e: &toml::de::Error, text: &str, places: &Places) -> Problem {
    let message = e.message();
    let place = match e.span() {
        // Sections with options of their own lose the place of their values.
        _ if message.contains("threshold") => places.of_key("judge", "threshold"),
        Some(span) => places.at(text, span.start),
        None => places.file.clone(),
    };
    let quoted: Vec<&str> = message.split('`').skip(1).step_by(2).collect();
    if message.starts_with("unknown field")
        && let [unknown, known @ ..] = quoted.as_slice()
    {
        let p = Problem::usage(format!("{place}: unknown key `{unknown}`"));
        if crate::teacher::is_secret(unknown) && known.contains(&"tokens") {
            return Problem::usage(format!("{place}: a key does not belong into a file (`{unknown}`)"))
                .hint(format!("put it into the environment: {}=…", crate::teacher::KEY));
        }
        return match nearest(unknown, known.iter().copied()) {
            Some(near) => p.hint(format!("did you mean `{near}`?")),
            None => p.hint(format!("known keys here: {}", known.join(", "))),
        };
    }
    let its_line = e.span().map_or("", |span| {
        let from = text.get(..span.start).and_then(|before| before.rfind('\n')).map_or(0, |i| i + 1);
        text.get(from..).and_then(|rest| rest.lines().next()).unwrap_or("").trim()
    });
    let p = Problem::usage(format!("{place}: {message}"));
    if message.contains("duplicate key") {
        let twice = e.span().and_then(|s| text.get(s)).unwrap_or("it").trim();
        return Problem::usage(format!("{place}: `{twice}` is there twice"))
            .hint("put what belongs together into one, and take the other out");
    }
    if message.contains("threshold") {
        return p.hint(
            "write threshold = \"auto\", or a number such as 0.4; `gleaner threshold` helps to find it",
        );
    }
    if toml::de::DeTable::parse(text).is_err() {
        return Problem::usage(format!("{place}: this is not TOML"))
            .because(format!("{message} (in the line `{its_line}`)"))
            .hint(
                "words stand in quotes, lists in [\"a\", \"b\"], and a section begins with its [name]; \
                 `gleaner new` writes a topic file with comments",
            );
    }
    Problem::usage(format!("{place}: the value does not fit"))
        .because(format!("{message} (in the line `{its_line}`)"))
        .hint("`gleaner config` shows every setting with a value that fits")
}

/// Where the keys of a topic file stand.
#[derive(Clone, Debug, Default)]
pub struct Places {
    file: String,
    /// (section, key) to line and column; the key is empty for the section itself, the section for the top.
    keys: BTreeMap<(String, String), (usize, usize)>,
}

impl Places {
    pub(super) fn of(text: &str, file: &str) -> Places {
        let mut keys = BTreeMap::new();
        if let Ok(table) = toml::de::DeTable::parse(text) {
            for (name, value) in table.get_ref() {
                keys.insert((String::new(), name.get_ref().to_string()), line(text, name.span().start));
                if let toml::de::DeValue::Table(section) = value.get_ref() {
                    for (key, _) in section {
                        let at = line(text, key.span().start);
                        keys.insert((name.get_ref().to_string(), key.get_ref().to_string()), at);
                    }
                }
            }
        }
        Places { file: file.to_string(), keys }
    }

    fn at(&self, text: &str, byte: usize) -> String {
        let (line, column) = line(text, byte);
        format!("{}:{line}:{column}", self.file)
    }

    fn of_key(&self, section: &str, key: &str) -> String {
        let find = |s: &str, k: &str| self.keys.get(&(s.to_string(), k.to_string()));
        match find(section, key).or_else(|| find("", section)) {
            Some((line, column)) => format!("{}:{line}:{column}", self.file),
            None => self.file.clone(),
        }
    }

    /// A problem with its place: that of the `[section] key` it begins with, or the topic's name.
    pub(super) fn put(&self, problem: Problem) -> Problem {
        if self.file.is_empty() {
            return problem;
        }
        let named = problem.what().strip_prefix('[').and_then(|rest| rest.split_once(']'));
        let place = match named {
            Some((section, rest)) => {
                let key: String =
                    rest.trim_start().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                self.of_key(section, &key)
            }
            None if self.keys.contains_key(&(String::new(), "name".to_string())) => self.of_key("", "name"),
            None => self.of_key("", "query"),
        };
        problem.at(place)
    }
}

/// Line and column, from 1, of a byte.
fn line(text: &str, byte: usize) -> (usize, usize) {
    let before = text.get(..byte.min(text.len())).unwrap_or("");
    (before.matches('\n').count() + 1, before.chars().rev().take_while(|c| *c != '\n').count() + 1)
}
