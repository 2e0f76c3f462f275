//! Which bucket, on whose account: `s3://BUCKET/PREFIX`, and the environment variables that every S3 tool
//! reads.

use std::fmt;
use types::Problem;
use url::Url;

/// A place in a bucket. Who may use it, and on which server it is, is not part of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// Name of the bucket.
    pub bucket: String,
    /// Without slashes at its ends; may be empty.
    pub prefix: String,
}

impl Address {
    /// Does this name a place in a bucket at all?
    pub fn is_one(text: &str) -> bool {
        text.starts_with("s3://")
    }

    /// Reads `s3://BUCKET/PREFIX`.
    pub fn parse(text: &str) -> Result<Address, Problem> {
        // What is wrong is not repeated: someone may have written a secret into it.
        let wrong = |why: &str| {
            Err(Problem::usage("the address of the archive cannot be understood").because(why).hint(
                "write s3://BUCKET/PREFIX; keys and the server's address come from AWS_ACCESS_KEY_ID, \
                 AWS_SECRET_ACCESS_KEY, AWS_REGION and AWS_ENDPOINT_URL",
            ))
        };
        let Some(rest) = text.strip_prefix("s3://") else {
            return wrong("it does not begin with s3://");
        };
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        if bucket.contains(['@', ':']) {
            return wrong("it holds a user, a password or a port");
        }
        let letter = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'_');
        if !(3..=255).contains(&bucket.len()) || !bucket.bytes().all(letter) || bucket.contains("..") {
            return wrong("a bucket's name has 3 letters or more, of a-z, 0-9, `.` and `-`");
        }
        let prefix = prefix.trim_matches('/');
        if prefix.len() > 500 || prefix.chars().any(char::is_control) || prefix.contains(['?', '#']) {
            return wrong("its prefix is too long, or has control characters, `?` or `#` in it");
        }
        if prefix.split('/').any(|part| matches!(part, "." | ".."))
            || (!prefix.is_empty() && prefix.split('/').any(str::is_empty))
        {
            return wrong("its prefix has an empty part, `.` or `..` in it");
        }
        Ok(Address { bucket: bucket.into(), prefix: prefix.into() })
    }

    /// The key of an object in this place.
    pub fn key(&self, name: &str) -> String {
        if self.prefix.is_empty() { name.into() } else { format!("{}/{name}", self.prefix) }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "s3://{}", self.bucket)?;
        if self.prefix.is_empty() { Ok(()) } else { write!(f, "/{}", self.prefix) }
    }
}

/// The server, and how buckets are named there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Endpoint {
    pub https: bool,
    pub host: String,
    pub port: u16,
    /// Before the bucket's name; ends without a slash.
    pub path: String,
    /// `/bucket/key` instead of `bucket.host/key`: everywhere but at Amazon.
    pub path_style: bool,
}

impl Endpoint {
    fn parse(text: &str) -> Result<Endpoint, Problem> {
        let wrong = || {
            Problem::usage("AWS_ENDPOINT_URL is not the address of a server")
                .hint("write it as https://HOST or http://HOST:PORT")
        };
        let url = Url::parse(text).map_err(|_| wrong())?;
        let https = match url.scheme() {
            "https" => true,
            "http" => false,
            _ => return Err(wrong()),
        };
        if !url.username().is_empty() || url.password().is_some() || url.query().is_some() {
            return Err(wrong());
        }
        let host = url.host_str().filter(|h| !h.is_empty()).ok_or_else(wrong)?.to_string();
        let port = url.port_or_known_default().ok_or_else(wrong)?;
        let path = url.path().trim_end_matches('/').to_string();
        Ok(Endpoint { https, host, port, path, path_style: true })
    }

    /// Amazon's own.
    fn amazon(region: &str, bucket: &str) -> Endpoint {
        let china = if region.starts_with("cn-") { ".cn" } else { "" };
        let host = format!("s3.{region}.amazonaws.com{china}");
        // Certificates are for one label before it, so a bucket with dots goes into the path.
        let path_style = bucket.contains('.') || bucket.contains('_');
        let host = if path_style { host } else { format!("{bucket}.{host}") };
        Endpoint { https: true, host, port: 443, path: String::new(), path_style }
    }

    /// As a `Host` header says it.
    pub fn authority(&self) -> String {
        let usual = if self.https { 443 } else { 80 };
        if self.port == usual { self.host.clone() } else { format!("{}:{}", self.host, self.port) }
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = if self.https { "https" } else { "http" };
        write!(f, "{scheme}://{}{}", self.authority(), self.path)
    }
}

/// On whose behalf. Never shown, never written anywhere.
#[derive(Clone)]
pub(super) struct Keys {
    pub id: String,
    pub secret: String,
    pub token: Option<String>,
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(…)")
    }
}

/// Everything that the environment says.
#[derive(Clone, Debug)]
pub struct Account {
    pub(super) keys: Keys,
    pub(super) region: String,
    endpoint: Option<Endpoint>,
    /// A PEM file of authorities to believe instead of the public ones.
    pub(super) authorities: Option<String>,
}

impl Account {
    /// From the environment variables that Amazon's own tools use (`AWS_ACCESS_KEY_ID` …).
    pub fn from_env() -> Result<Account, Problem> {
        Account::from(&|name| std::env::var(name).ok())
    }

    /// From anything that has values for the names of variables.
    pub fn from(get: &dyn Fn(&str) -> Option<String>) -> Result<Account, Problem> {
        let said = |name: &str| get(name).map(|v| v.trim().to_string()).filter(|v| !v.is_empty());
        let needed = |name: &str| {
            said(name).ok_or_else(|| {
                Problem::usage(format!("{name} is not set")).hint(
                    "S3-compatible storage needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY in the \
                     environment \
                     (AWS_SESSION_TOKEN, AWS_REGION and AWS_ENDPOINT_URL where they apply)",
                )
            })
        };
        let plain = |name: &str, value: String| {
            if value.bytes().all(|b| b.is_ascii_graphic()) {
                return Ok(value);
            }
            Err(Problem::usage(format!("{name} has characters in it that cannot be sent"))
                .hint("was it copied whole, and without a line end?"))
        };
        let region = said("AWS_REGION").or_else(|| said("AWS_DEFAULT_REGION"));
        let endpoint = said("AWS_ENDPOINT_URL_S3").or_else(|| said("AWS_ENDPOINT_URL"));
        let keys = Keys {
            id: plain("AWS_ACCESS_KEY_ID", needed("AWS_ACCESS_KEY_ID")?)?,
            secret: needed("AWS_SECRET_ACCESS_KEY")?,
            token: said("AWS_SESSION_TOKEN").map(|t| plain("AWS_SESSION_TOKEN", t)).transpose()?,
        };
        Ok(Account {
            keys,
            region: plain("AWS_REGION", region.unwrap_or_else(|| "us-east-1".into()))?,
            endpoint: endpoint.map(|e| Endpoint::parse(&e)).transpose()?,
            authorities: said("AWS_CA_BUNDLE"),
        })
    }

    pub(super) fn endpoint(&self, bucket: &str) -> Endpoint {
        self.endpoint.clone().unwrap_or_else(|| Endpoint::amazon(&self.region, bucket))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_buckets() {
        let a = Address::parse("s3://crawls/warc/db/").unwrap();
        assert_eq!((a.bucket.as_str(), a.prefix.as_str()), ("crawls", "warc/db"));
        assert_eq!((a.to_string(), a.key("x")), ("s3://crawls/warc/db".into(), "warc/db/x".into()));
        assert_eq!(Address::parse("s3://crawls").unwrap().key("x"), "x");
        for wrong in [
            "crawls/warc",
            "http://crawls/warc",
            "s3://",
            "s3://ab/x",
            "s3://KEY:SECRET@crawls/x",
            "s3://crawls:9000/x",
            "s3://crawls/a//b",
            "s3://crawls/../b",
            "s3://crawls/a?b",
            "s3://a..b/x",
            "s3://sch\u{f6}n/x",
        ] {
            let said = Address::parse(wrong).unwrap_err().to_string();
            assert!(said.contains("AWS_ENDPOINT_URL"), "{wrong}: {said}");
            assert!(!said.contains("SECRET@"), "{said}");
        }
    }

    fn account(of: &[(&str, &str)]) -> Result<Account, Problem> {
        let of: Vec<(String, String)> = of.iter().map(|(n, v)| (n.to_string(), v.to_string())).collect();
        Account::from(&move |name| of.iter().find(|(n, _)| n == name).map(|(_, v)| v.clone()))
    }

    #[test]
    fn the_environment_says_whose_and_where() {
        let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "very secret")];
        let amazon = account(&keys).unwrap();
        assert_eq!(amazon.endpoint("crawls").to_string(), "https://crawls.s3.us-east-1.amazonaws.com");
        assert_eq!(amazon.endpoint("a.b").to_string(), "https://s3.us-east-1.amazonaws.com");
        assert!(amazon.endpoint("a.b").path_style);
        assert!(!format!("{amazon:?}").contains("secret"), "{amazon:?}");
        let own =
            [&keys[..], &[("AWS_REGION", "de"), ("AWS_ENDPOINT_URL", "http://127.0.0.1:9000/s3/")]].concat();
        let own = account(&own).unwrap().endpoint("crawls");
        assert_eq!(own.to_string(), "http://127.0.0.1:9000/s3");
        assert!(own.path_style && !own.https);

        let missing = account(&keys[..1]).unwrap_err().to_string();
        assert!(missing.contains("AWS_SECRET_ACCESS_KEY is not set"), "{missing}");
        for wrong in ["127.0.0.1:9000", "ftp://x", "http://u:geheim@x", "http://x/?y"] {
            let with = [&keys[..], &[("AWS_ENDPOINT_URL", wrong)]].concat();
            let said = account(&with).unwrap_err().to_string();
            assert!(said.contains("AWS_ENDPOINT_URL") && !said.contains("geheim"), "{said}");
        }
        let torn = account(&[("AWS_ACCESS_KEY_ID", "i\nd"), ("AWS_SECRET_ACCESS_KEY", "x")]).unwrap_err();
        assert!(torn.to_string().contains("cannot be sent"), "{torn}");
    }
}
