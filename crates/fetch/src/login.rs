//! What is sent to some hosts only: headers, passwords, tokens. These are secrets: they are in no copy of a
//! request, in no message and in no `Debug` output.

use crate::proxy::basic;
use hyper::header::{HeaderName, HeaderValue};
use types::{Problem, Url};

/// Headers for the hosts of a pattern.
#[derive(Clone, Default)]
pub struct Login {
    /// `www.example.org`, `www.example.org:8080`, or `*.example.org` for the domain and all below it.
    pub host: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
}

impl std::fmt::Debug for Login {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Login").field("host", &self.host).finish_non_exhaustive()
    }
}

impl Login {
    /// For `host`, without any header yet.
    pub fn new(host: &str) -> Login {
        Login { host: host.trim().to_ascii_lowercase(), headers: Vec::new() }
    }

    /// With a user name and a password.
    pub fn with_basic(self, user: &str, password: &str) -> Login {
        let value = basic(user.as_bytes(), password.as_bytes());
        self.with_header("Authorization", &value)
    }

    /// With a token.
    pub fn with_bearer(self, token: &str) -> Login {
        self.with_header("Authorization", &format!("Bearer {token}"))
    }

    /// With one header more.
    pub fn with_header(mut self, name: &str, value: &str) -> Login {
        self.headers.push((name.into(), value.into()));
        self
    }

    fn is_for(&self, url: &Url) -> bool {
        match self.host.strip_prefix("*.") {
            Some(domain) => {
                url.host().strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
            None => url.host() == self.host || url.host_key() == self.host,
        }
    }
}

/// Logins, ready to be sent.
pub(crate) struct Logins(Vec<(Login, Vec<(HeaderName, HeaderValue)>)>);

impl Logins {
    pub fn new(all: &[Login]) -> Result<Logins, Problem> {
        let ready = |login: &Login| {
            let headers = login.headers.iter().map(|(name, value)| {
                let bad = || {
                    Problem::usage(format!(
                        "the header `{}` for {} cannot be sent",
                        name.escape_debug(),
                        login.host
                    ))
                };
                let name = HeaderName::try_from(name.as_str()).map_err(|_| bad())?;
                let mut value = HeaderValue::try_from(value.as_str()).map_err(|_| bad())?;
                value.set_sensitive(true);
                Ok((name, value))
            });
            Ok((Login { headers: Vec::new(), ..login.clone() }, headers.collect::<Result<_, Problem>>()?))
        };
        all.iter().map(ready).collect::<Result<_, Problem>>().map(Logins)
    }

    /// The headers for a request to this URL.
    pub fn headers<'a>(&'a self, url: &'a Url) -> impl Iterator<Item = &'a (HeaderName, HeaderValue)> {
        self.0.iter().filter(|(login, _)| login.is_for(url)).flat_map(|(_, headers)| headers)
    }
}
