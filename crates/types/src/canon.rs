//! URL canonicalisation: WHATWG parsing, then the few rewritings that never change what a server answers in
//! practice (fragment, default port, dot segments, case of percent escapes, session ids, tracking
//! parameters). A fragment that is a route of an application (`#/courses`) stays: [`Url::without_route`].

use crate::url::{Url, UrlError};
use std::borrow::Cow;

/// Query parameters that track the reader and never select the page. `*` at the end matches any rest.
pub const TRACKING: &[&str] = &[
    "utm_*",
    "gclid",
    "gclsrc",
    "dclid",
    "fbclid",
    "msclkid",
    "yclid",
    "twclid",
    "igshid",
    "mc_cid",
    "mc_eid",
    "_ga",
    "_gl",
    "_hsenc",
    "_hsmi",
    "mkt_tok",
    "vero_id",
    "oly_enc_id",
    "oly_anon_id",
    "wickedid",
    "spm",
    "scm",
];

/// Parameters (and `;name=` path suffixes) that carry a session.
pub const SESSION: &[&str] = &[
    "phpsessid",
    "jsessionid",
    "aspsessionid*",
    "asp.net_sessionid",
    "cfid",
    "cftoken",
    "sessionid",
    "zenid",
];

/// How URLs are made canonical. One per crawl, from its settings.
#[derive(Clone, Debug)]
pub struct Canon {
    /// Lower-case names of query parameters to drop; `*` at the end matches any rest.
    pub drop_params: Vec<String>,
    /// Longest URL accepted, in bytes after canonicalisation.
    pub max_length: usize,
}

impl Default for Canon {
    fn default() -> Self {
        let drop_params = TRACKING.iter().chain(SESSION).map(|s| s.to_string()).collect();
        Canon { drop_params, max_length: 2_000 }
    }
}

impl Canon {
    /// No parameter is dropped (recorded webs name pages exactly).
    pub fn exact() -> Canon {
        Canon { drop_params: Vec::new(), max_length: 8_000 }
    }

    /// A whole URL; `example.org/x` without a scheme is not one.
    pub fn parse(&self, text: &str) -> Result<Url, UrlError> {
        let parsed = url::Url::parse(text.trim()).map_err(|e| UrlError::Malformed(e.to_string()))?;
        self.finish(parsed)
    }

    /// A URL as people type it: a missing scheme means `https://`.
    pub fn parse_typed(&self, text: &str) -> Result<Url, UrlError> {
        let text = text.trim();
        if text.contains("://") || text.starts_with("mailto:") {
            return self.parse(text);
        }
        self.parse(&format!("https://{text}"))
    }

    /// An `href` found on a page whose base is `base`.
    pub fn join(&self, base: &Url, href: &str) -> Result<Url, UrlError> {
        let parsed = base.0.join(href.trim()).map_err(|e| UrlError::Malformed(e.to_string()))?;
        self.finish(parsed)
    }

    fn finish(&self, mut u: url::Url) -> Result<Url, UrlError> {
        if !matches!(u.scheme(), "http" | "https") {
            return Err(UrlError::Scheme(u.scheme().to_string()));
        }
        if u.host_str().is_none_or(str::is_empty) {
            return Err(UrlError::Malformed("no host".into()));
        }
        if let Some(fragment) = u.fragment() {
            match is_route(fragment).then(|| normalise_escapes(fragment)) {
                None => u.set_fragment(None),
                Some(Cow::Owned(route)) => u.set_fragment(Some(&route)),
                Some(Cow::Borrowed(_)) => {}
            }
        }
        if !u.username().is_empty() || u.password().is_some() {
            // Credentials in a link are never ours to use.
            let _ = u.set_username("");
            let _ = u.set_password(None);
        }
        if let Some(host) = u.host_str()
            && host.ends_with('.')
        {
            let host = host.trim_end_matches('.').to_string();
            if u.set_host(Some(&host)).is_err() {
                return Err(UrlError::Malformed("bad host".into()));
            }
        }
        if let Cow::Owned(path) = self.clean_path(u.path()) {
            u.set_path(&path);
        }
        if let Some(q) = u.query() {
            match self.clean_query(q) {
                None => u.set_query(None),
                Some(Cow::Owned(q)) => u.set_query(Some(&q)),
                Some(Cow::Borrowed(_)) => {}
            }
        }
        if u.as_str().len() > self.max_length {
            return Err(UrlError::TooLong(u.as_str().len()));
        }
        Ok(Url(u))
    }

    /// Drops each `;jsessionid=…` and normalises percent escapes.
    fn clean_path<'a>(&self, path: &'a str) -> Cow<'a, str> {
        let mut path = normalise_escapes(path);
        let mut from = 0;
        while !self.drop_params.is_empty()
            && let Some(semi) = path[from..].find(';').map(|at| from + at)
        {
            let name = path[semi + 1..].split(['=', '/', ';']).next().unwrap_or("").to_ascii_lowercase();
            from = semi + 1;
            if self.drops(&name) {
                let rest = path[semi..].find('/').map_or("", |slash| &path[semi + slash..]);
                path = Cow::Owned(format!("{}{rest}", &path[..semi]));
                from = semi;
            }
        }
        path
    }

    /// `None` when nothing is left of the query.
    fn clean_query<'a>(&self, query: &'a str) -> Option<Cow<'a, str>> {
        let dropped = |pair: &str| {
            let name = pair.split('=').next().unwrap_or("");
            // Compared without allocating in the usual case of a short, plain name.
            !self.drop_params.is_empty() && self.drops(&name.to_ascii_lowercase())
        };
        let keep = |pair: &&str| !pair.is_empty() && !dropped(pair);
        // First: an escape may hide a name.
        let query = normalise_escapes(query);
        if query.is_empty() {
            return None;
        }
        if query.split('&').all(|p| keep(&p)) {
            return Some(query);
        }
        let kept: Vec<&str> = query.split('&').filter(keep).collect();
        if kept.is_empty() {
            return None;
        }
        Some(Cow::Owned(kept.join("&")))
    }

    fn drops(&self, name: &str) -> bool {
        self.drop_params.iter().any(|p| match p.strip_suffix('*') {
            Some(prefix) => name.starts_with(prefix),
            None => name == p,
        })
    }
}

/// Does a fragment name a view of an application, as `#/courses/12` and `#!courses` do? Such an address is
/// kept: what its reader sees is another page. All other fragments are places on a page.
fn is_route(fragment: &str) -> bool {
    match fragment.strip_prefix('!') {
        Some(rest) => !matches!(rest, "" | "/"),
        None => fragment.len() > 1 && fragment.starts_with('/'),
    }
}

/// Upper-case hex digits, and escapes of unreserved characters undone (RFC 3986 §6.2.2): `%7euser` = `~user`.
fn normalise_escapes(s: &str) -> Cow<'_, str> {
    if !s.contains('%') {
        return Cow::Borrowed(s);
    }
    let bytes = s.as_bytes();
    let mut out = String::with_capacity(s.len());
    let mut rest = 0;
    let mut i = 0;
    while let Some(p) = s[i..].find('%') {
        i += p;
        let hex = bytes.get(i + 1..i + 3).filter(|h| h.iter().all(u8::is_ascii_hexdigit));
        let Some(hex) = hex else {
            i += 1;
            continue;
        };
        let value = |b: u8| (b as char).to_digit(16).unwrap_or(0) as u8;
        let byte = value(hex[0]) << 4 | value(hex[1]);
        out.push_str(&s[rest..i]);
        // Undone, it would complete an escape that is none: `%%37e` is not `%7e`.
        let completes = byte.is_ascii_hexdigit() && out.as_bytes().iter().rev().take(2).any(|b| *b == b'%');
        if !completes && (byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~')) {
            out.push(byte as char);
        } else {
            out.push('%');
            out.push(hex[0].to_ascii_uppercase() as char);
            out.push(hex[1].to_ascii_uppercase() as char);
        }
        i += 3;
        rest = i;
    }
    out.push_str(&s[rest..]);
    if out == s { Cow::Borrowed(s) } else { Cow::Owned(out) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn canon(s: &str) -> String {
        Canon::default().parse(s).map_or_else(|e| format!("error: {e}"), |u| u.to_string())
    }

    #[test]
    fn spellings_of_one_page() {
        let table = [
            ("HTTP://Example.COM/", "http://example.com/"),
            ("http://example.com", "http://example.com/"),
            ("http://example.com:80/a", "http://example.com/a"),
            ("https://example.com:443/a", "https://example.com/a"),
            ("http://example.com:8080/a", "http://example.com:8080/a"),
            ("http://example.com/a/./b/../c", "http://example.com/a/c"),
            ("http://example.com/../../a", "http://example.com/a"),
            ("http://example.com/a#part", "http://example.com/a"),
            ("http://example.com/a#/courses/%7e1?x=1", "http://example.com/a#/courses/~1?x=1"),
            ("http://example.com/#!courses", "http://example.com/#!courses"),
            ("http://example.com/#/", "http://example.com/"),
            ("http://example.com/#!/", "http://example.com/"),
            ("http://example.com/#!", "http://example.com/"),
            ("http://example.com/#", "http://example.com/"),
            ("http://example.com/#:~:text=/a", "http://example.com/"),
            ("http://example.com/%7euser/%e9", "http://example.com/~user/%E9"),
            ("http://example.com/a%2fb", "http://example.com/a%2Fb"),
            ("http://example.com/a b", "http://example.com/a%20b"),
            ("http://example.com/100%", "http://example.com/100%"),
            ("http://bücher.example/", "http://xn--bcher-kva.example/"),
            ("http://example.com./a", "http://example.com/a"),
            ("http://me:secret@example.com/", "http://example.com/"),
            ("http://example.com/?", "http://example.com/"),
            ("http://example.com/?b=2&a=1", "http://example.com/?b=2&a=1"),
            ("http://example.com/?utm_source=x&id=7&fbclid=y", "http://example.com/?id=7"),
            ("http://example.com/?PHPSESSID=abc", "http://example.com/"),
            ("http://example.com/x;jsessionid=12?id=1", "http://example.com/x?id=1"),
            ("http://example.com/x;v=2/y", "http://example.com/x;v=2/y"),
            // Found by fuzz/run: once more made another page of these.
            ("http://example.com/a;jsessionid=1/b;v=3;jsessionid=2", "http://example.com/a/b;v=3"),
            ("http://example.com/%%37e", "http://example.com/%%37e"),
            ("http://example.com/%4%31", "http://example.com/%4%31"),
            ("http://example.com/?%6asessionid=1&id=7", "http://example.com/?id=7"),
            ("  http://example.com/\t", "http://example.com/"),
            ("http:\\\\example.com\\a", "http://example.com/a"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            ("http://[::1]:80/", "http://[::1]/"),
        ];
        for (from, to) in table {
            assert_eq!(canon(from), to, "{from}");
        }
    }

    #[test]
    fn what_is_not_for_us() {
        assert!(canon("mailto:a@b.c").contains("only http and https"));
        assert!(canon("javascript:alert(1)").contains("only http and https"));
        assert!(canon("http://").starts_with("error"));
        assert!(canon("no scheme").starts_with("error"));
        assert!(matches!(
            Canon::default().parse(&format!("http://e.org/{}", "a".repeat(3000))),
            Err(UrlError::TooLong(_))
        ));
    }

    #[test]
    fn host_key_and_domain() {
        let u = Canon::default().parse("http://www.cs.example.co.uk:8080/x?y").unwrap();
        assert_eq!(u.host_key(), "www.cs.example.co.uk:8080");
        assert_eq!(u.domain(), "example.co.uk");
        assert_eq!(u.without_scheme(), "www.cs.example.co.uk:8080/x?y");
        assert_eq!(u.robots_txt().as_str(), "http://www.cs.example.co.uk:8080/robots.txt");
        let route = Canon::default().parse("http://e.org/a?b#/c").unwrap();
        assert_eq!(route.route(), Some("/c"));
        assert_eq!(route.robots_txt().as_str(), "http://e.org/robots.txt");
        assert_eq!(route.without_route().as_str(), "http://e.org/a?b");
    }

    #[test]
    fn addresses_are_their_own_domain() {
        for (host, domain) in [
            ("www.example.co.uk:8080", "example.co.uk"),
            ("example.org", "example.org"),
            ("192.0.2.7", "192.0.2.7"),
            ("192.0.2.7:81", "192.0.2.7"),
            ("[::1]", "[::1]"),
            ("[2001:db8::2]:81", "[2001:db8::2]:81"),
            ("localhost", "localhost"),
            ("", ""),
        ] {
            assert_eq!(crate::domain_of(host), domain, "{host}");
        }
        assert_eq!(Canon::default().parse("http://192.0.2.7/").unwrap().domain(), "192.0.2.7");
    }

    #[test]
    fn dots_are_no_host() {
        for url in ["http://./", "http://../x", "http://.:80/"] {
            assert!(matches!(Canon::default().parse(url), Err(UrlError::Malformed(_))), "{url}");
        }
    }

    proptest! {
        #[test]
        fn canonical_is_a_fixed_point(s in "(http|https)://[a-z.]{1,12}(:[0-9]{1,4})?/[ -~]{0,40}") {
            if let Ok(once) = Canon::default().parse(&s) {
                let twice = Canon::default().parse(once.as_str()).unwrap();
                prop_assert_eq!(once, twice);
            }
        }

        #[test]
        fn anything_is_survived(s in "\\PC{0,60}") {
            let base = Canon::default().parse("http://example.org/a/b").unwrap();
            let _ = Canon::default().parse(&s);
            let _ = Canon::default().join(&base, &s);
        }
    }
}
