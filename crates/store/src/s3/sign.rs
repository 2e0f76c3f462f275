//! Signature Version 4: how a request proves whose it is, and that its body is whole.

use super::address::Keys;
use crate::archive::date::compact;
use crate::archive::digest::hex;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use ring::{digest, hmac};
use types::Millis;

/// A request before it is signed. The path is escaped already; names of headers are lower-case.
pub(super) struct Unsigned<'a> {
    pub method: &'a str,
    pub path: &'a str,
    /// Names and values, not escaped.
    pub query: &'a [(&'a str, &'a str)],
    pub headers: Vec<(&'a str, String)>,
    /// Of the body, in hex.
    pub payload: &'a str,
}

/// The headers to send, `authorization` among them.
pub(super) fn sign(
    mut request: Unsigned<'_>,
    keys: &Keys,
    region: &str,
    at: Millis,
) -> Vec<(String, String)> {
    // 20261115045316123 → 20261115T045316Z
    let stamp = compact(at);
    let (day, time) = (stamp.get(..8).unwrap_or_default(), stamp.get(8..14).unwrap_or_default());
    let stamp = format!("{day}T{time}Z");
    request.headers.push(("x-amz-date", stamp.clone()));
    request.headers.push(("x-amz-content-sha256", request.payload.to_string()));
    if let Some(token) = &keys.token {
        request.headers.push(("x-amz-security-token", token.clone()));
    }
    request.headers.sort();

    let names: Vec<&str> = request.headers.iter().map(|(n, _)| *n).collect();
    let names = names.join(";");
    let mut whole = format!("{}\n{}\n{}\n", request.method, request.path, query(request.query));
    for (name, value) in &request.headers {
        whole.push_str(&format!("{name}:{}\n", value.trim()));
    }
    whole.push_str(&format!("\n{names}\n{}", request.payload));

    let scope = format!("{day}/{region}/s3/aws4_request");
    let text = format!("AWS4-HMAC-SHA256\n{stamp}\n{scope}\n{}", sha256(whole.as_bytes()));
    let mut key = hmac_sha256(format!("AWS4{}", keys.secret).as_bytes(), day.as_bytes());
    for part in [region, "s3", "aws4_request"] {
        key = hmac_sha256(key.as_ref(), part.as_bytes());
    }
    let signature = hex(hmac_sha256(key.as_ref(), text.as_bytes()).as_ref());
    let proof = format!(
        "AWS4-HMAC-SHA256 Credential={}/{scope},SignedHeaders={names},Signature={signature}",
        keys.id
    );
    let mut headers: Vec<(String, String)> =
        request.headers.into_iter().map(|(n, v)| (n.to_string(), v)).collect();
    headers.push(("authorization".into(), proof));
    headers
}

fn hmac_sha256(key: &[u8], text: &[u8]) -> hmac::Tag {
    hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), text)
}

pub(super) fn sha256(bytes: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, bytes).as_ref())
}

/// As the signature wants it, and as it is sent: sorted and escaped.
pub(super) fn query(pairs: &[(&str, &str)]) -> String {
    let mut pairs: Vec<String> =
        pairs.iter().map(|(n, v)| format!("{}={}", escaped(n), escaped(v))).collect();
    pairs.sort();
    pairs.join("&")
}

/// What a signature leaves as it is.
const PLAIN: AsciiSet = NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// The same in a path.
const PATH: AsciiSet = PLAIN.remove(b'/');

pub(super) fn escaped(text: &str) -> String {
    utf8_percent_encode(text, &PLAIN).to_string()
}

pub(super) fn escaped_path(text: &str) -> String {
    utf8_percent_encode(text, &PATH).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Amazon's own worked examples ("Examples: signature calculations", S3 API reference).
    fn signature(
        method: &str,
        path: &str,
        pairs: &[(&str, &str)],
        headers: &[(&'static str, &str)],
        body: &[u8],
    ) -> String {
        let keys = Keys {
            id: "AKIAIOSFODNN7EXAMPLE".into(),
            secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            token: None,
        };
        let mut headers: Vec<(&str, String)> = headers.iter().map(|(n, v)| (*n, v.to_string())).collect();
        headers.push(("host", "examplebucket.s3.amazonaws.com".into()));
        let (path, payload) = (escaped_path(path), sha256(body));
        let unsigned = Unsigned { method, path: &path, query: pairs, headers, payload: &payload };
        // 2013-05-24T00:00:00Z
        let signed = sign(unsigned, &keys, "us-east-1", Millis(1_369_353_600_000));
        let (_, proof) = signed.iter().find(|(n, _)| n == "authorization").unwrap();
        proof.rsplit_once('=').unwrap().1.to_string()
    }

    #[test]
    fn signs_as_the_published_examples_do() {
        assert_eq!(
            signature("GET", "/test.txt", &[], &[("range", "bytes=0-9")], b""),
            "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41"
        );
        assert_eq!(
            signature(
                "PUT",
                "/test$file.text",
                &[],
                &[("date", "Fri, 24 May 2013 00:00:00 GMT"), ("x-amz-storage-class", "REDUCED_REDUNDANCY")],
                b"Welcome to Amazon S3."
            ),
            "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd"
        );
        assert_eq!(
            signature("GET", "/", &[("lifecycle", "")], &[], b""),
            "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543"
        );
        assert_eq!(
            signature("GET", "/", &[("prefix", "J"), ("max-keys", "2")], &[], b""),
            "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7"
        );
    }
}
