//! A POST of JSON, signed as [Standard Webhooks](https://www.standardwebhooks.com) has it:
//! `webhook-signature: v1,base64(HMAC-SHA256(secret, "id.timestamp.body"))`. The time is that of the try, so
//! that a receiver may refuse old ones; the number stays.

use super::{Failed, Letter};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use crawl::collection::Collection;
use crawl::config::Config;
use fetch::post::Endpoint;
use ring::hmac;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use types::{Canon, Millis, Problem};

/// Where the secret is.
const SECRET: &str = "GLEANER_WEBHOOK_SECRET";
/// Of an answer nothing is needed but its status.
const MOST: usize = 4 << 10;

pub struct Webhook {
    endpoint: Endpoint,
    key: hmac::Key,
    runtime: Runtime,
}

impl Webhook {
    /// `None`: the topic names none.
    pub fn of(config: &Config) -> Result<Option<Webhook>, Problem> {
        let Some(address) = &config.notify.webhook else { return Ok(None) };
        let url = Canon::exact()
            .parse(address)
            .map_err(|e| Problem::usage(format!("[notify] webhook = \"{address}\"")).because(e))?;
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| Problem::new("cannot start the network").because(e))?;
        let endpoint = Endpoint::new(url, &Collection::fetch_settings(config)?, None)?;
        Ok(Some(Webhook { endpoint, key: key()?, runtime }))
    }

    pub fn send(&self, letter: &Letter, limit: Duration) -> Result<(), Failed> {
        let time = Millis::now().0 / 1_000;
        let headers = [
            ("webhook-id", letter.id.clone()),
            ("webhook-timestamp", time.to_string()),
            ("webhook-signature", sign(&self.key, &letter.id, time, &letter.body)),
        ];
        let body = letter.body.clone().into_bytes();
        let reply = self.runtime.block_on(self.endpoint.post_with(body, &headers, MOST, limit));
        let reply = reply.map_err(|e| Failed { why: e.to_string(), for_good: false, wait: None })?;
        let failed = |why: String, for_good| Err(Failed { why, for_good, wait: reply.retry_after });
        match reply.status {
            200..=299 => Ok(()),
            300..=399 => failed(format!("status {}: redirects are not followed", reply.status), true),
            408 | 425 | 429 => failed(format!("status {}", reply.status), false),
            400..=499 => failed(format!("status {}", reply.status), true),
            status => failed(format!("status {status}"), false),
        }
    }
}

fn sign(key: &hmac::Key, id: &str, time: u64, body: &str) -> String {
    let signed = hmac::sign(key, format!("{id}.{time}.{body}").as_bytes());
    format!("v1,{}", STANDARD.encode(signed))
}

fn key() -> Result<hmac::Key, Problem> {
    let secret = std::env::var(SECRET).unwrap_or_default();
    let secret = secret.trim();
    let hint = format!("the receiver checks with it who writes: {SECRET}=… (whsec_ and base64, or any text)");
    if secret.is_empty() {
        return Err(Problem::usage(format!("{SECRET} is not set")).hint(hint));
    }
    let bytes = match secret.strip_prefix("whsec_") {
        Some(text) => STANDARD
            .decode(text)
            .map_err(|_| Problem::usage(format!("{SECRET} is not base64 behind whsec_")).hint(hint))?,
        None => secret.as_bytes().to_vec(),
    };
    Ok(hmac::Key::new(hmac::HMAC_SHA256, &bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signature_is_that_of_the_specification() {
        // The example of standardwebhooks' own test suite.
        let secret = STANDARD.decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw").unwrap();
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        let said = sign(&key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330, "{\"test\": 2432232314}");
        assert_eq!(said, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }
}
