//! A language model as teacher: it is asked about the pages that a person would be asked about
//! ([`focus::ask`]), in batches, beside the crawl, and its answers are labels, marked as the model's. A
//! person's label always counts more.
//!
//! ```text
//! desk (the loop)          which pages, what may be sent, budget, answers → labels
//!   │  prompt (pure)       pages become quoted data between boundaries that nobody can guess
//!   ▼
//! client (its own thread)  POST …/chat/completions, time-out, back-off, retries
//!   │  answer (pure)       what of the reply is an answer: page numbers and yes, no or unsure
//!   ▼
//! history                  what was answered and spent, in the ledger
//! ```
//!
//! Whatever the endpoint does (down, slow, over quota, nonsense), the crawl goes on with what it has and says
//! so once.

mod answer;
mod client;
mod desk;
mod history;
mod prompt;

pub use answer::object;
pub use client::{Client, Cost, Failed};
pub use desk::{AskResult, Lesson};
pub(crate) use desk::{Teaching, UNARCHIVED};
pub use history::TeacherSpending;
pub use prompt::clean;

use crate::config::TeacherSection;
use serde::Serialize;
use types::{Canon, Problem, Url};

/// Where the key is; nowhere else.
pub const KEY: &str = "GLEANER_TEACHER_KEY";

/// How the teacher stands: for progress, status and report.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Usage {
    /// Name of the model, as the endpoint knows it.
    pub model: String,
    /// Host key of the endpoint.
    pub host: String,
    /// What was spent over all runs.
    pub spent: TeacherSpending,
    /// Requests it may cost; `teacher.calls` of the topic file.
    pub calls: u64,
    /// Tokens it may cost; `teacher.tokens` of the topic file.
    pub tokens: u64,
    /// What is wrong with it, if anything.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<String>,
}

impl Usage {
    /// Of a collection that is not being crawled. `None`: there is no teacher, and there never was.
    pub fn of(section: &TeacherSection, spent: TeacherSpending) -> Option<Usage> {
        if section.url.is_none() && spent == TeacherSpending::default() {
            return None;
        }
        let host = section.url.as_deref().and_then(|u| address(u).ok()).map(|u| u.host_key().to_string());
        Some(Usage {
            model: section.model.clone().unwrap_or_default(),
            host: host.unwrap_or_default(),
            spent,
            calls: section.calls,
            tokens: section.tokens,
            trouble: None,
        })
    }
}

/// May this be a key's name in a file?
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_lowercase().replace(['-', '_'], "");
    ["key", "apikey", "token", "secret", "password", "authorization", "bearer"].contains(&name.as_str())
}

/// Where questions go: the address with `chat/completions` behind it, unless it is there already.
pub fn address(text: &str) -> Result<Url, Problem> {
    let bad = |why: &str| {
        Problem::usage(format!("[teacher] url = \"{}\": {why}", text.escape_debug()))
            .hint("as in http://localhost:11434/v1 (Ollama) or https://api.example.com/v1")
    };
    let mut url = url::Url::parse(text.trim()).map_err(|_| bad("it is not a URL"))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(bad("it is not a URL of http or https"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        // The text is not repeated: it has a password in it.
        return Err(Problem::usage("[teacher] url: a key does not belong into a file")
            .hint(format!("put it into the environment: {KEY}=…")));
    }
    let secret = url.query_pairs().find(|(name, _)| is_secret(name)).map(|(name, _)| name.into_owned());
    if let Some(name) = secret {
        return Err(Problem::usage(format!("[teacher] url: a key does not belong into a file (`{name}=`)"))
            .hint(format!("put it into the environment: {KEY}=…")));
    }
    let path = url.path().trim_end_matches('/').to_string();
    if !path.ends_with("/chat/completions") {
        let base = if path.is_empty() { "/v1" } else { path.as_str() };
        url.set_path(&format!("{base}/chat/completions"));
    }
    url.set_fragment(None);
    Canon::exact().parse(url.as_str()).map_err(|_| bad("it is not a URL of http or https"))
}

/// Does the section make sense?
pub(crate) fn check(t: &TeacherSection) -> Result<(), Problem> {
    let bad = |what: &str| Problem::usage(format!("[teacher] {what}"));
    match (&t.url, &t.model) {
        (Some(_), None) => {
            return Err(bad("url without model: which model shall be asked?")
                .hint("set model = \"…\" to a name that the server knows"));
        }
        (None, Some(_)) => {
            return Err(bad("model without url: where is it?")
                .hint("set url = \"…\", as in http://localhost:11434/v1"));
        }
        (Some(url), Some(_)) => {
            address(url)?;
        }
        (None, None) => {}
    }
    if t.calls == 0 || t.tokens == 0 {
        return Err(bad("calls or tokens = 0 would ask nothing").hint("leave url and model out instead"));
    }
    if !(1..=50).contains(&t.batch) {
        return Err(bad("batch must be from 1 to 50").hint("5 pages in one request are a good choice"));
    }
    if t.every == Some(0) {
        return Err(bad("every = 0 would never stop asking").hint("use 1 or more, or leave it out"));
    }
    if !(200..=50_000).contains(&t.text) {
        return Err(bad("text must be from 200 to 50,000 characters"));
    }
    if t.timeout.0.is_zero() {
        return Err(bad("timeout = 0 would not wait for any answer").hint("60s is a good choice"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    #[test]
    fn addresses() {
        for (text, to) in [
            ("http://localhost:11434/v1", "http://localhost:11434/v1/chat/completions"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/v1/chat/completions"),
            ("https://api.example.com/v1/", "https://api.example.com/v1/chat/completions"),
            (
                "https://a.example/x/chat/completions?api-version=3",
                "https://a.example/x/chat/completions?api-version=3",
            ),
        ] {
            assert_eq!(address(text).unwrap().as_str(), to);
        }
        for text in ["", "localhost", "ftp://a.example/", "file:///etc/passwd"] {
            assert!(address(text).unwrap_err().to_string().contains("[teacher] url"), "{text}");
        }
    }

    #[test]
    fn a_key_in_a_file_is_refused_and_not_repeated() {
        for text in [
            "[teacher]\nkey = \"sk-hunter2\"\n",
            "[teacher]\napi_key = \"sk-hunter2\"\n",
            "[teacher]\nurl = \"https://u:sk-hunter2@a.example/v1\"\nmodel = \"m\"\n",
            "[teacher]\nurl = \"https://a.example/v1?api-key=sk-hunter2\"\nmodel = \"m\"\n",
        ] {
            let problem = Config::load(text, "t.toml", toml::Table::new()).unwrap_err().to_string();
            assert!(problem.contains("does not belong into a file"), "{problem}");
            assert!(problem.contains(KEY) && problem.contains("t.toml:2:1"), "{problem}");
            assert!(!problem.contains("hunter2"), "{problem}");
        }
    }

    #[test]
    fn sections_that_make_no_sense() {
        for (text, says) in [
            ("url = \"http://localhost/v1\"", "which model"),
            ("model = \"m\"", "where is it"),
            ("calls = 0", "ask nothing"),
            ("batch = 0", "from 1 to 50"),
            ("every = 0", "never stop"),
            ("text = 1", "from 200"),
            ("timeout = \"0s\"", "would not wait"),
            ("modle = \"m\"", "did you mean `model`?"),
        ] {
            let problem = Config::load(&format!("[teacher]\n{text}\n"), "t.toml", toml::Table::new());
            let problem = problem.unwrap_err().to_string();
            assert!(problem.contains(says) && problem.contains("t.toml:"), "{text}: {problem}");
        }
        assert!(Config::load("", "t.toml", toml::Table::new()).unwrap().config.teacher.url.is_none());
    }
}
