//! What the environment knows and no file of a collection may hold: passwords, tokens, keys.
//!
//! A topic file names variables, never values. They are read when a fetcher is made, and go into its requests
//! only (`fetch::Login`).

use crate::config::{Fetch, LoginSection};
use fetch::Login;
use std::path::Path;
use types::Problem;

/// Largest file of cookies.
const MOST_COOKIES: u64 = 4 << 20;

/// What is sent to some hosts only.
pub(crate) fn logins(fetch: &Fetch) -> Result<Vec<Login>, Problem> {
    fetch.logins.iter().map(|(host, section)| login(host, section)).collect()
}

fn login(host: &str, section: &LoginSection) -> Result<Login, Problem> {
    let key = |key: &str| format!("[fetch.logins.\"{host}\"] {key}");
    let mut login = Login::new(host);
    if let Some(name) = &section.basic {
        let value = variable(name, &key("basic"))?;
        let (user, password) = value.split_once(':').ok_or_else(|| {
            Problem::usage(format!("{}: the variable {name} has no colon", key("basic")))
                .hint(format!("{name}=user:password"))
        })?;
        login = login.with_basic(user, password);
    }
    if let Some(name) = &section.bearer {
        login = login.with_bearer(&variable(name, &key("bearer"))?);
    }
    for (header, name) in &section.headers {
        login = login.with_header(header, &variable(name, &key(&format!("headers.{header}")))?);
    }
    Ok(login)
}

/// Proxies; one that is written as `$NAME` is in the environment.
pub(crate) fn proxies(fetch: &Fetch) -> Result<Vec<String>, Problem> {
    let one = |text: &String| match text.strip_prefix('$') {
        Some(name) => variable(name, "[fetch] proxy"),
        None => Ok(text.clone()),
    };
    fetch.proxy.0.iter().map(one).collect()
}

/// The lines of the file of cookies; none when there is no such file in the settings.
pub(crate) fn cookies(fetch: &Fetch) -> Result<String, Problem> {
    let Some(path) = fetch.cookies_file.as_ref().map(Path::new) else { return Ok(String::new()) };
    let failed = |e: std::io::Error| Problem::io("read the file of cookies", path, &e);
    if std::fs::metadata(path).map_err(failed)?.len() > MOST_COOKIES {
        return Err(Problem::usage(format!("{} is too large for a file of cookies", path.display())));
    }
    String::from_utf8(std::fs::read(path).map_err(failed)?)
        .map_err(|_| Problem::usage(format!("{} is no text file", path.display())))
}

fn variable(name: &str, key: &str) -> Result<String, Problem> {
    let is_name = name.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_');
    if name.is_empty() || !is_name {
        // Not the value itself: it may be the secret.
        return Err(Problem::usage(format!("{key}: this is not the name of a variable"))
            .because("passwords and tokens do not belong into a file")
            .hint("put it into the environment, as in MY_TOKEN=…, and write \"MY_TOKEN\" here"));
    }
    let value = std::env::var(name).ok().filter(|value| !value.is_empty());
    value.ok_or_else(|| {
        Problem::usage(format!("{key}: the variable {name} is not set"))
            .hint(format!("set it where the crawl is started: {name}=… gleaner crawl …"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;

    fn fetch(text: &str) -> Fetch {
        Config::load(&format!("query = 'x'\n{text}"), "t.toml", toml::Table::new()).unwrap().config.fetch
    }

    #[test]
    fn values_are_in_the_environment_only() {
        let pasted = fetch("[fetch.logins.'a.example']\nbearer = 's3cret-t0ken'\n");
        let e = logins(&pasted).unwrap_err().to_string();
        assert!(e.contains("a.example") && e.contains("MY_TOKEN") && !e.contains("s3cret"), "{e}");
        let missing = fetch("[fetch.logins.'*.a.example']\nheaders = { X-Key = 'GLEANER_NOT_SET' }\n");
        let e = logins(&missing).unwrap_err().to_string();
        assert!(e.contains("GLEANER_NOT_SET is not set"), "{e}");
        let e =
            proxies(&fetch("[fetch]\nproxy = ['http://a:1', '$GLEANER_NOT_SET']\n")).unwrap_err().to_string();
        assert!(e.contains("[fetch] proxy"), "{e}");
        assert_eq!(proxies(&fetch("[fetch]\nproxy = 'http://a:1'\n")).unwrap(), ["http://a:1"]);
        // A variable that is there wherever tests run.
        let home = fetch("[fetch.logins.'a.example']\nbasic = 'PATH'\n");
        let said = logins(&home).map(|l| l.len()).map_err(|e| e.to_string());
        assert!(said == Ok(1) || said.is_err_and(|e| e.contains("no colon")));
        let e = cookies(&fetch("[fetch]\ncookies_file = '/nowhere/cookies.txt'\n")).unwrap_err().to_string();
        assert!(e.contains("/nowhere/cookies.txt"), "{e}");
    }
}
