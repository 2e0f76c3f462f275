//! A topic drafted from a sentence, as in `gleaner new "syllabi of database courses, not tutorials"`: by a
//! language model when one is named, and else as far as rules go.

use super::new::Answers;
use crawl::config::Config;
use crawl::teacher::{Client, Cost, clean};
use focus::topic::presets;
use focus::topic::sentence::Sentence;
use serde_json::{Value, json};
use types::Problem;

/// Longest sentence.
const LONGEST: usize = 1_000;
/// Longest term and query.
const TERM: usize = 60;
const QUERY: usize = 120;
/// Most of each.
const TERMS: usize = 12;
const NEGATIVES: usize = 8;
const QUERIES: usize = 6;
/// Requests for one draft.
const CALLS: u32 = 3;

/// What is made of a sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Draft {
    pub description: String,
    pub genre: Option<String>,
    pub subject: Vec<String>,
    /// Phrases that wanted pages do not have: pages with them are dropped.
    pub exclude: Vec<String>,
    /// Not wanted, but words that wanted pages may have all the same.
    pub not: Vec<String>,
    pub queries: Vec<String>,
}

impl Draft {
    /// By rules alone: the kind of page by the presets' names, the rest is the subject.
    pub fn by_rules(sentence: &str) -> Draft {
        let s = Sentence::read(sentence);
        let quote = |t: &String| if t.contains(' ') { format!("\"{t}\"") } else { t.clone() };
        let subject: Vec<String> = s.subject.iter().map(quote).collect();
        let minus: String = s.not.iter().map(|n| format!(" -{}", quote(n))).collect();
        let mut queries = Vec::new();
        let mut kinds = vec![s.kind.clone()];
        kinds.extend(s.genre.map(|g| g.replace('-', " ")));
        let preset = s.genre.and_then(|g| presets::all().iter().find(|p| p.name == g));
        kinds.extend(
            preset.and_then(|p| p.list(None).iter().find(|t| t.contains(' '))).map(|t| quote(&t.to_string())),
        );
        for kind in kinds {
            let query = format!("{kind} {}{minus}", subject.join(" ")).trim().to_string();
            if !queries.contains(&query) && !query.is_empty() {
                queries.push(query);
            }
        }
        let (exclude, not) = s.unwanted();
        Draft {
            description: clean(sentence, LONGEST),
            genre: s.genre.map(str::to_string),
            subject: s.subject,
            exclude,
            not,
            queries,
        }
    }

    /// By the language model of the settings; `None` when none is named.
    pub fn by_model(sentence: &str, config: &Config) -> Result<Option<Draft>, Problem> {
        let settings = crawl::collection::Collection::fetch_settings(config)?;
        let Some(client) = Client::new(&config.teacher, &settings)? else { return Ok(None) };
        let genres: Vec<String> =
            presets::all().iter().map(|p| format!("{}: {}", p.name, p.summary)).collect();
        let system = format!(
            "You help a person to set up a focused Web crawler. The person says in a sentence which pages \
             they want. Draft:\n\
             - description: what is wanted and what is not, in one or two clear sentences, in the person's \
             language\n\
             - genre: the kind of page, one of the names below, or \"\" when none fits\n\
             - subject: up to {TERMS} words and short phrases (one to three words each, lower case) that \
             pages about this subject \
             contain and others rarely do; no words of the kind of page, no names of people, no numbers\n\
             - exclude: up to {NEGATIVES} phrases that only unwanted pages contain; a page with one of them \
             is dropped, so none that a \
             wanted page might contain; may be empty\n\
             - queries: up to {QUERIES} queries for a search engine that find wanted pages, or pages that \
             list them\n\n\
             Kinds of pages:\n{}\n\nAnswer with JSON only, with exactly these five keys.",
            genres.join("\n")
        );
        let names: Vec<&str> = presets::all().iter().map(|p| p.name).chain([""]).collect();
        let list = |most: usize| json!({ "type": "array", "maxItems": most, "items": { "type": "string" } });
        let schema = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["description", "genre", "subject", "exclude", "queries"],
            "properties": {
                "description": { "type": "string" },
                "genre": { "type": "string", "enum": names },
                "subject": list(TERMS),
                "exclude": list(NEGATIVES),
                "queries": list(QUERIES),
            },
        });
        let mut cost = Cost::default();
        let drafted =
            client.chat(&system, &clean(sentence, LONGEST), ("topic", &schema), CALLS, &mut cost, &read);
        let drafted = drafted.map_err(|failed| {
            Problem::new("the language model gives no draft")
                .because(crate::text::strip_controls(&failed.why))
        })?;
        Ok(Some(Draft { description: or(drafted.description, clean(sentence, LONGEST)), ..drafted }))
    }

    /// Into the answers, where nothing was said otherwise.
    pub fn lay(self, a: &mut Answers) {
        if a.subject.is_empty() {
            a.subject = self.subject;
        }
        a.genre = a.genre.take().or(self.genre);
        a.description = self.description;
        a.exclude = self.exclude;
        a.not = self.not;
        a.queries = self.queries;
    }

    /// For people.
    pub fn lines(&self) -> Vec<String> {
        let list = |what: &str, items: &[String]| {
            (!items.is_empty()).then(|| format!("{what:<11}{}", items.join(", ")))
        };
        let genre: Vec<String> = self.genre.iter().cloned().collect();
        let queries = self.queries.iter().map(|q| format!("{:<11}{q}", "search"));
        let mut out: Vec<String> = [
            list("kind", &genre),
            list("subject", &self.subject),
            list("not", &[self.exclude.clone(), self.not.clone()].concat()),
        ]
        .into_iter()
        .flatten()
        .collect();
        out.extend(queries);
        out
    }
}

fn or(text: String, other: String) -> String {
    if text.is_empty() { other } else { text }
}

/// A model's answer, checked: what does not fit is left out.
fn read(text: &str) -> Result<Draft, String> {
    let value = crawl::teacher::object(text, "subject")?;
    let list = |key: &str, longest: usize, most: usize| -> Vec<String> {
        let items = value.get(key).and_then(Value::as_array).cloned().unwrap_or_default();
        let mut out: Vec<String> = Vec::new();
        for item in items.iter().filter_map(Value::as_str) {
            let item = clean(item, longest + 1).replace('\n', " ");
            let fits =
                !item.is_empty() && item.chars().count() <= longest && item.chars().any(char::is_alphabetic);
            if fits && !out.contains(&item) && out.len() < most {
                out.push(item);
            }
        }
        out
    };
    let text = |key: &str| value.get(key).and_then(Value::as_str).unwrap_or_default();
    let genre = text("genre").trim();
    let genre =
        presets::find_all(&[genre.to_string()]).ok().and_then(|all| all.first().map(|p| p.name.to_string()));
    let mut draft = Draft {
        description: clean(text("description"), LONGEST).replace('\n', " "),
        genre: genre.filter(|_| !text("genre").trim().is_empty()),
        subject: list("subject", TERM, TERMS),
        exclude: list("exclude", TERM, NEGATIVES),
        not: Vec::new(),
        queries: list("queries", QUERY, QUERIES),
    };
    // What is wanted cannot be dropped at the same time.
    draft.exclude.retain(|e| !draft.subject.iter().any(|s| s.eq_ignore_ascii_case(e)));
    match draft.subject.is_empty() && draft.genre.is_none() {
        true => Err("it names neither a subject nor a kind of page".into()),
        false => Ok(draft),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn by_rules() {
        let d = Draft::by_rules("syllabi of database courses, not tutorials or online training videos");
        assert_eq!(
            (d.genre.as_deref(), d.subject.as_slice()),
            (Some("syllabus"), &["database".to_string()][..])
        );
        assert_eq!(
            (d.not, d.exclude),
            (vec!["tutorials".to_string()], vec!["online training videos".to_string()])
        );
        assert_eq!(d.queries[0], "syllabi database -tutorials -\"online training videos\"");
        assert_eq!(d.queries.len(), 3, "{:?}", d.queries);
        assert!(d.description.starts_with("syllabi of database courses, not"));
    }

    #[test]
    fn what_a_model_drafts_is_checked() {
        let good = r#"{"description": "Pages of courses.\u0007", "genre": "syllabus", "subject": ["sql", "sql", "query\noptimization", "", "1995"], "exclude": ["sql", "video tutorial"], "queries": ["sql syllabus"]}"#;
        let d = read(good).unwrap();
        assert_eq!((d.genre.as_deref(), d.description.as_str()), (Some("syllabus"), "Pages of courses."));
        assert_eq!(
            (d.subject, d.exclude),
            (vec!["sql".to_string(), "query optimization".into()], vec!["video tutorial".to_string()])
        );
        let odd = r#"{"description": 7, "genre": "sonnet", "subject": "sql", "exclude": {}, "queries": [1]}"#;
        assert!(read(odd).unwrap_err().contains("neither"));
        let many: Vec<String> = (0..99).map(|i| format!("term{}", "x".repeat(i))).collect();
        let d = read(&json!({ "subject": many }).to_string()).unwrap();
        assert_eq!(d.subject.len(), TERMS);
        for bad in ["", "<html>", "[]", "{\"topic\": 1}", "{\"subject\": [\"a"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
