//! Which URLs may be fetched at all. Checked when a link is found and again when it is leased, because
//! settings may have changed between two runs of the same collection.

use crate::config::{Rules, ScopeSection};
use crate::remove::Selector;
use regex::RegexSet;
use std::collections::HashSet;
use types::{Format, Formats, Problem, Url};

/// What may be fetched at all: hosts, domains, patterns, file types.
#[derive(Clone, Debug)]
pub struct Scope {
    hosts: Lists<HostRule>,
    domains: Lists<String>,
    allow: Option<RegexSet>,
    deny: Option<RegexSet>,
    allow_types: HashSet<String>,
    deny_types: HashSet<String>,
    documents: Formats,
    languages: Vec<String>,
    /// `Some` = only these hosts.
    seed_hosts: Option<HashSet<String>>,
    /// What was removed from the collection must not come back.
    removed: Vec<Selector>,
}

#[derive(Clone, Debug)]
struct Lists<T> {
    allow: Vec<T>,
    deny: Vec<T>,
}

impl<T> Lists<T> {
    fn new(rules: &Rules, make: impl Fn(&str) -> T) -> Lists<T> {
        let make = |list: &[String]| list.iter().map(|s| make(&s.trim().to_lowercase())).collect();
        Lists { allow: make(&rules.allow), deny: make(&rules.deny) }
    }
    fn admits(&self, matches: impl Fn(&T) -> bool) -> bool {
        (self.allow.is_empty() || self.allow.iter().any(&matches)) && !self.deny.iter().any(&matches)
    }
}

#[derive(Clone, Debug)]
enum HostRule {
    Exact(String),
    Below(String),
}

impl HostRule {
    fn new(text: &str) -> HostRule {
        match text.strip_prefix("*.") {
            Some(rest) => HostRule::Below(rest.to_string()),
            None => HostRule::Exact(text.to_string()),
        }
    }
    fn matches(&self, url: &Url) -> bool {
        match self {
            HostRule::Exact(h) => url.host() == h || url.host_key() == h,
            HostRule::Below(h) => is_below(url.host(), h),
        }
    }
}

/// `host` is `domain` or ends in `.domain`.
fn is_below(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Why a URL is out of scope; a stable word for counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutOfScope {
    /// The host is not allowed, or denied.
    Host,
    /// The registrable domain is not allowed, or denied.
    Domain,
    /// A pattern forbids the URL, or none allows it.
    Pattern,
    /// The ending of the path names a type that is not read.
    FileType,
    /// It was removed from the collection.
    Removed,
}

impl OutOfScope {
    /// The word.
    pub fn kind(self) -> &'static str {
        match self {
            OutOfScope::Host => "host",
            OutOfScope::Domain => "domain",
            OutOfScope::Pattern => "pattern",
            OutOfScope::FileType => "file-type",
            OutOfScope::Removed => "removed",
        }
    }
}

impl Scope {
    /// `seeds` matter when the section keeps to their hosts (`seed_hosts_only`).
    pub fn new(section: &ScopeSection, seeds: &[Url]) -> Result<Scope, Problem> {
        let set = |list: &[String]| -> Result<Option<RegexSet>, Problem> {
            if list.is_empty() {
                return Ok(None);
            }
            RegexSet::new(list).map(Some).map_err(|e| {
                Problem::usage(format!("[scope] patterns: not a regular expression: {e}"))
                    .hint("escape special characters with \\, as in `/courses/.*\\.html`")
            })
        };
        let types = |list: &[String]| list.iter().map(|s| s.trim_start_matches('.').to_lowercase()).collect();
        Ok(Scope {
            hosts: Lists::new(&section.hosts, HostRule::new),
            domains: Lists::new(&section.domains, |s| s.trim_start_matches("*.").to_string()),
            allow: set(&section.patterns.allow)?,
            deny: set(&section.patterns.deny)?,
            allow_types: types(&section.file_types.allow),
            deny_types: types(&section.file_types.deny),
            documents: Formats::named(&section.documents)?,
            languages: section.languages.iter().map(|l| l.to_lowercase()).collect(),
            seed_hosts: section
                .seed_hosts_only
                .then(|| seeds.iter().map(|u| u.host_key().to_string()).collect()),
            removed: Vec::new(),
        })
    }

    /// Keeps out what was removed.
    pub(crate) fn keep_out(&mut self, removed: impl IntoIterator<Item = Selector>) {
        self.removed = removed.into_iter().collect();
    }

    /// Was this URL removed from the collection?
    pub(crate) fn is_removed(&self, url: &Url) -> bool {
        self.removed.iter().any(|what| what.matches(url))
    }

    /// May this sitemap or feed be fetched? It may be packed, which a page may not.
    pub fn check_listing(&self, url: &Url) -> Result<(), OutOfScope> {
        match self.check(url) {
            Err(OutOfScope::FileType) => Ok(()),
            checked => checked,
        }
    }

    /// May this URL be fetched?
    pub fn check(&self, url: &Url) -> Result<(), OutOfScope> {
        if self.is_removed(url) {
            return Err(OutOfScope::Removed);
        }
        if let Some(hosts) = &self.seed_hosts
            && !hosts.contains(url.host_key())
        {
            return Err(OutOfScope::Host);
        }
        if !self.hosts.admits(|rule| rule.matches(url)) {
            return Err(OutOfScope::Host);
        }
        if !self.domains.admits(|d| is_below(url.host(), d)) {
            return Err(OutOfScope::Domain);
        }
        if let Some(ext) = extension(url.path()) {
            let ext = ext.to_ascii_lowercase();
            let allowed = self.allow_types.is_empty() || self.allow_types.contains(&ext);
            let read = Format::of_extension(&ext).is_none_or(|f| self.documents.has(f.kind));
            if !allowed || !read || (self.deny_types.contains(&ext) && !self.allow_types.contains(&ext)) {
                return Err(OutOfScope::FileType);
            }
        }
        if self.allow.as_ref().is_some_and(|set| !set.is_match(url.as_str())) {
            return Err(OutOfScope::Pattern);
        }
        if self.deny.as_ref().is_some_and(|set| set.is_match(url.as_str())) {
            return Err(OutOfScope::Pattern);
        }
        Ok(())
    }

    /// Is a page in this language (empty = unknown) wanted?
    pub fn speaks(&self, language: &str) -> bool {
        self.languages.is_empty() || language.is_empty() || self.languages.iter().any(|l| l == language)
    }
}

/// The extension of the last path segment: `pdf` of `/a/b.PDF` (as written).
fn extension(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let (stem, ext) = name.rsplit_once('.')?;
    let plain =
        !stem.is_empty() && (1..=5).contains(&ext.len()) && ext.bytes().all(|b| b.is_ascii_alphanumeric());
    plain.then_some(ext)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Canon;

    fn url(s: &str) -> Url {
        Canon::default().parse(s).unwrap()
    }

    fn check(toml: &str, u: &str) -> Result<(), OutOfScope> {
        let section: ScopeSection = toml::from_str(toml).unwrap();
        Scope::new(&section, &[url("http://seed.org/")]).unwrap().check(&url(u))
    }

    #[test]
    fn documents_are_read_unless_switched_off() {
        for name in ["pdf", "docx", "pptx", "xlsx", "odt", "odp", "ods", "epub", "rtf", "md", "txt"] {
            assert_eq!(check("", &format!("http://a.org/x.{name}")), Ok(()), "{name}");
        }
        assert_eq!(check("", "http://a.org/x.doc"), Err(OutOfScope::FileType), "it cannot be read");
        let some = "documents = [\"pdf\", \"docx\"]";
        assert_eq!(check(some, "http://a.org/x.DOCX"), Ok(()));
        assert_eq!(check(some, "http://a.org/x.epub"), Err(OutOfScope::FileType));
        assert_eq!(check(some, "http://a.org/x.html"), Ok(()));
        assert_eq!(check("documents = []", "http://a.org/x.pdf"), Err(OutOfScope::FileType));
        let section: ScopeSection = toml::from_str("documents = [\"word\"]").unwrap();
        let e = Scope::new(&section, &[]).unwrap_err().to_string();
        assert!(e.contains("`word` is no kind of document") && e.contains("docx"), "{e}");
    }

    #[test]
    fn hosts_domains_patterns_types() {
        assert_eq!(check("", "http://a.org/x.html"), Ok(()));
        assert_eq!(check("", "http://a.org/x.JPG"), Err(OutOfScope::FileType));
        assert_eq!(check("", "http://a.org/v1.2/notes"), Ok(()));
        assert_eq!(check("seed_hosts_only = true", "http://a.org/"), Err(OutOfScope::Host));
        assert_eq!(check("seed_hosts_only = true", "http://seed.org/a"), Ok(()));
        assert_eq!(check("hosts = [\"*.a.org\"]", "http://x.a.org/"), Ok(()));
        assert_eq!(check("hosts = [\"*.a.org\"]", "http://a.org/"), Ok(()));
        assert_eq!(check("hosts = [\"*.a.org\"]", "http://ba.org/"), Err(OutOfScope::Host));
        assert_eq!(check("hosts = { deny = [\"a.org\"] }", "http://a.org/"), Err(OutOfScope::Host));
        assert_eq!(check("domains = [\"edu\"]", "http://cs.x.edu/"), Ok(()));
        assert_eq!(check("domains = [\"edu\"]", "http://cs.x.com/"), Err(OutOfScope::Domain));
        assert_eq!(
            check("patterns = { deny = [\"/private/\"] }", "http://a.org/private/x"),
            Err(OutOfScope::Pattern)
        );
        assert_eq!(check("patterns = [\"/pub/\"]", "http://a.org/x"), Err(OutOfScope::Pattern));
        assert_eq!(
            check("file_types = { allow = [\"html\"] }", "http://a.org/x.php"),
            Err(OutOfScope::FileType)
        );
    }
}
