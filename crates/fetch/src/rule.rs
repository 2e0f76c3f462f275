//! `--resolve` rules: the user says where a host is.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;
use types::Problem;

/// Sends one host and port, or every host, to an address of the user's choice.
///
/// ```
/// use gleaner_fetch::ResolveRule;
/// let rule: ResolveRule = "example.org:443:127.0.0.1:8443".parse().unwrap();
/// assert_eq!(rule.address_for("example.org", 443), Some("127.0.0.1:8443".parse().unwrap()));
/// assert_eq!(rule.address_for("example.org", 80), None);
/// let all: ResolveRule = "*:[::1]:8080".parse().unwrap();
/// assert_eq!(all.address_for("anything.example", 80), Some("[::1]:8080".parse().unwrap()));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ResolveRule {
    /// `HOST:PORT:ADDR:PORT`
    Host {
        /// Name as it stands in the URL, lower-case.
        host: String,
        /// Port of the URL, or that of its scheme.
        port: u16,
        /// Connected to instead.
        to: SocketAddr,
    },
    /// `*:ADDR:PORT`
    Every {
        /// Connected to instead, whatever the host and port.
        to: SocketAddr,
    },
}

impl ResolveRule {
    /// Where this rule sends `host:port`, if it is about it. `host` is lower-case, as in a canonical URL.
    pub fn address_for(&self, host: &str, port: u16) -> Option<SocketAddr> {
        match self {
            ResolveRule::Host { host: h, port: p, to } => (h == host && *p == port).then_some(*to),
            ResolveRule::Every { to } => Some(*to),
        }
    }
}

impl fmt::Display for ResolveRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ResolveRule::Host { host, port, to } => write!(f, "{host}:{port}:{to}"),
            ResolveRule::Every { to } => write!(f, "*:{to}"),
        }
    }
}

impl FromStr for ResolveRule {
    type Err = Problem;

    fn from_str(text: &str) -> Result<ResolveRule, Problem> {
        let bad = |why: &str| {
            Problem::usage(format!("cannot read the resolve rule `{text}`")).because(why).hint(
                "write HOST:PORT:ADDR:PORT (`example.org:443:127.0.0.1:8443`), or *:ADDR:PORT for every host \
                 (`*:127.0.0.1:8080`); an IPv6 address goes in brackets (`*:[::1]:8080`)",
            )
        };
        let text = text.trim();
        if let Some(rest) = text.strip_prefix("*:") {
            return Ok(ResolveRule::Every { to: address(rest).map_err(bad)? });
        }
        // An IPv6 host is bracketed, as it is in a URL.
        let (host, rest) = match text.strip_prefix('[') {
            Some(inner) => {
                let (host, rest) = inner.split_once("]:").ok_or_else(|| bad("the bracket is not closed"))?;
                (format!("[{host}]"), rest)
            }
            None => {
                let (host, rest) = text.split_once(':').ok_or_else(|| bad("the port is missing"))?;
                (host.to_string(), rest)
            }
        };
        let (port, to) = rest.split_once(':').ok_or_else(|| bad("the address is missing"))?;
        let port =
            port.parse().map_err(|_| bad("the port before the address is not a number from 0 to 65535"))?;
        // The host as a canonical URL spells it (case, IDN), else the rule would never match.
        let host =
            url::Host::parse(host.trim_end_matches('.')).map_err(|e| bad(&format!("`{host}`: {e}")))?;
        Ok(ResolveRule::Host { host: host.to_string(), port, to: address(to).map_err(bad)? })
    }
}

/// `ADDR:PORT`, the address bracketed when it is IPv6.
fn address(text: &str) -> Result<SocketAddr, &'static str> {
    let (addr, port) = text.rsplit_once(':').ok_or("the port after the address is missing")?;
    let port = port.parse().map_err(|_| "the port after the address is not a number from 0 to 65535")?;
    let ip: IpAddr = match addr.strip_prefix('[').and_then(|a| a.strip_suffix(']')) {
        Some(v6) => IpAddr::V6(v6.parse().map_err(|_| "what is in brackets is not an IPv6 address")?),
        None => IpAddr::V4(
            addr.parse().map_err(|_| "the address is not an IP address (names are not looked up here)")?,
        ),
    };
    Ok(SocketAddr::new(ip, port))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms() {
        let table = [
            ("*:127.0.0.1:8080", "*:127.0.0.1:8080"),
            ("*:[::1]:8080", "*:[::1]:8080"),
            ("Example.ORG:80:10.0.0.1:81", "example.org:80:10.0.0.1:81"),
            ("bücher.example:80:10.0.0.1:81", "xn--bcher-kva.example:80:10.0.0.1:81"),
            ("example.org:443:[2001:db8::1]:444", "example.org:443:[2001:db8::1]:444"),
            ("[::2]:80:[::1]:81", "[::2]:80:[::1]:81"),
            ("example.org.:80:10.0.0.1:81", "example.org:80:10.0.0.1:81"),
        ];
        for (from, to) in table {
            assert_eq!(from.parse::<ResolveRule>().map(|r| r.to_string()), Ok(to.to_string()), "{from}");
        }
    }

    #[test]
    fn what_is_wrong_is_said() {
        let table = [
            ("", "port is missing"),
            ("example.org", "port is missing"),
            ("example.org:80", "address is missing"),
            ("example.org:80:10.0.0.1", "port after the address is missing"),
            ("example.org:99999:10.0.0.1:80", "from 0 to 65535"),
            ("example.org:80:10.0.0.1:x", "from 0 to 65535"),
            ("example.org:80:other.example:80", "not an IP address"),
            ("example.org:80:::1:80", "not an IP address"),
            ("*:[zz]:80", "not an IPv6 address"),
            ("[::1:80:[::1]:81", "address is missing"),
            ("[::1", "bracket is not closed"),
        ];
        for (from, why) in table {
            let problem = from.parse::<ResolveRule>().expect_err(from);
            assert!(problem.to_string().contains(why), "{from}: {problem}");
            assert!(problem.to_string().contains("HOST:PORT:ADDR:PORT"), "{problem}");
            assert_eq!(problem.exit_code(), 2);
        }
    }
}
