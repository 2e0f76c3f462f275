//! What an answer means for the ledger: read it, follow it, try again, or settle it.

use std::time::Duration;
use types::{Failure, Fetched, NoText, Outcome};

/// What to do with an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// A body to extract (2xx; it may be truncated).
    Page,
    /// Not changed since the validators were given (304).
    NotModified,
    /// `location` is a URL of its own.
    Redirect,
    /// The same request may succeed later.
    Retry {
        /// What the server asked for.
        after: Option<Duration>,
        /// The trouble is with the whole host, not with this URL: its other URLs should wait too.
        host: bool,
    },
    /// Nobody was asked yet, because of a queue of our own: the URL is as it was, and may be asked for after
    /// this long.
    Postponed {
        /// Counted from the answer.
        after: Duration,
    },
    /// An HTTP error that stays.
    Error(u16),
    /// Aborted: not a type we asked for.
    Unwanted,
    /// A document that cannot be read within the limits.
    Unreadable,
    /// A document without text that could be read.
    NoText(NoText),
    /// The guard, or a URL that cannot be fetched at all.
    Refused,
    /// No HTTP answer, and trying again will not help (TLS, oversized headers).
    Unreachable,
}

impl Class {
    /// How the URL is settled if it is settled now; `None` for those whose outcome the loop decides.
    pub fn outcome(self) -> Option<Outcome> {
        match self {
            Class::Page | Class::NotModified => Some(Outcome::Fetched),
            Class::Redirect => Some(Outcome::Redirected),
            Class::Retry { .. } | Class::Postponed { .. } => None,
            Class::Error(status) => Some(Outcome::HttpError(status)),
            Class::Unwanted => Some(Outcome::Unwanted),
            Class::Unreadable => Some(Outcome::Unreadable),
            Class::NoText(NoText::Encrypted) => Some(Outcome::Encrypted),
            Class::NoText(NoText::Scanned) => Some(Outcome::Scanned),
            Class::Refused => Some(Outcome::Refused),
            Class::Unreachable => Some(Outcome::Unreachable),
        }
    }
}

/// Statuses that may go away by themselves, and whether they speak for the whole host.
const RETRY: &[(u16, bool)] = &[
    (408, false), // request timeout
    (425, false), // too early
    (429, true),  // too many requests
    (500, false), // often one broken script
    (502, true),  // bad gateway
    (503, true),  // overloaded or in maintenance
    (504, true),  // gateway timeout
    (507, false), // insufficient storage
    (509, true),  // bandwidth limit exceeded
    (520, true),  // 520–527, 530: a CDN cannot reach its origin
    (521, true),
    (522, true),
    (523, true),
    (524, true),
    (525, true),
    (527, true),
    (529, true), // overloaded
    (530, true),
    (598, true), // proxies: read timeout, connect timeout
    (599, true),
];

/// What `fetched` means.
pub fn classify(fetched: &Fetched) -> Class {
    if let Some(failure) = &fetched.failure {
        return match failure {
            Failure::Unwanted(_) => Class::Unwanted,
            Failure::Unreadable(_) => Class::Unreadable,
            Failure::NoText(why) => Class::NoText(*why),
            Failure::Guarded(_) | Failure::Unsupported(_) => Class::Refused,
            Failure::Tls(_) | Failure::TooLarge(_) => Class::Unreachable,
            Failure::Postponed(_) => {
                Class::Postponed { after: fetched.retry_after.unwrap_or(Duration::from_secs(1)) }
            }
            // A name, connection, silence or slowness is the host's; a broken answer may be this page's.
            Failure::Dns(_) | Failure::Connect(_) | Failure::Timeout(_) | Failure::Slow(_) => {
                Class::Retry { after: fetched.retry_after, host: true }
            }
            Failure::Protocol(_) => Class::Retry { after: fetched.retry_after, host: false },
        };
    }
    match fetched.status {
        // There is nothing to read in these.
        204 | 205 => Class::Error(fetched.status),
        200..=299 => Class::Page,
        304 => Class::NotModified,
        _ if fetched.is_redirect() => Class::Redirect,
        status => match RETRY.iter().find(|(s, _)| *s == status) {
            Some((_, host)) => Class::Retry { after: fetched.retry_after, host: *host },
            None => Class::Error(status),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Canon, Millis, Truncation};

    fn answer(status: u16) -> Fetched {
        let url = Canon::default().parse("http://example.org/").unwrap();
        Fetched { status, ..Fetched::empty(url, Millis(0)) }
    }

    #[test]
    fn statuses() {
        let retry = |host| Class::Retry { after: None, host };
        let table = [
            (200, Class::Page),
            (203, Class::Page),
            (206, Class::Page),
            (204, Class::Error(204)),
            (205, Class::Error(205)),
            (304, Class::NotModified),
            (300, Class::Error(300)),
            (301, Class::Error(301)), // no location
            (305, Class::Error(305)),
            (400, Class::Error(400)),
            (401, Class::Error(401)),
            (403, Class::Error(403)),
            (404, Class::Error(404)),
            (406, Class::Error(406)),
            (408, retry(false)),
            (410, Class::Error(410)),
            (425, retry(false)),
            (429, retry(true)),
            (451, Class::Error(451)),
            (500, retry(false)),
            (501, Class::Error(501)),
            (502, retry(true)),
            (503, retry(true)),
            (504, retry(true)),
            (505, Class::Error(505)),
            (511, Class::Error(511)),
            (522, retry(true)),
            (526, Class::Error(526)), // the origin's certificate is bad
            (999, Class::Error(999)),
            (0, Class::Error(0)),
        ];
        for (status, class) in table {
            assert_eq!(classify(&answer(status)), class, "{status}");
        }
        for status in [301, 302, 303, 307, 308] {
            let redirect = Fetched { location: Some("http://x.example/".into()), ..answer(status) };
            assert_eq!(classify(&redirect), Class::Redirect, "{status}");
        }
    }

    #[test]
    fn failures() {
        let s = String::new;
        let table = [
            (Failure::Dns(s()), Class::Retry { after: None, host: true }),
            (Failure::Connect(s()), Class::Retry { after: None, host: true }),
            (Failure::Timeout(s()), Class::Retry { after: None, host: true }),
            (Failure::Slow(s()), Class::Retry { after: None, host: true }),
            (Failure::Protocol(s()), Class::Retry { after: None, host: false }),
            (Failure::Postponed(s()), Class::Postponed { after: Duration::from_secs(1) }),
            (Failure::Tls(s()), Class::Unreachable),
            (Failure::TooLarge(s()), Class::Unreachable),
            (Failure::Guarded(s()), Class::Refused),
            (Failure::Unsupported(s()), Class::Refused),
            (Failure::Unwanted(s()), Class::Unwanted),
            (Failure::Unreadable(s()), Class::Unreadable),
            (Failure::NoText(NoText::Scanned), Class::NoText(NoText::Scanned)),
        ];
        for (failure, class) in table {
            let transient = failure.is_transient();
            let again = matches!(class, Class::Retry { .. } | Class::Postponed { .. });
            assert_eq!(again, transient, "{failure:?}: both must agree");
            // The failure decides even when a status came before it.
            assert_eq!(classify(&Fetched { failure: Some(failure), ..answer(200) }), class);
        }
    }

    #[test]
    fn details() {
        let after = Some(Duration::from_secs(90));
        let busy = Fetched { retry_after: after, ..answer(503) };
        assert_eq!(classify(&busy), Class::Retry { after, host: true });
        // Half a page is a page.
        assert_eq!(classify(&Fetched { truncated: Some(Truncation::Time), ..answer(200) }), Class::Page);
        assert_eq!(Class::Error(404).outcome(), Some(Outcome::HttpError(404)));
        assert_eq!(Class::Retry { after: None, host: false }.outcome(), None);
        // Every status has a class, none panics.
        for status in 0..=u16::MAX {
            classify(&answer(status));
        }
    }
}
