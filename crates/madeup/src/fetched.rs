//! Answers of webs that need no server.

use types::{Fetched, Millis, Payload, Url};

/// An answer without a body.
pub fn bare(url: &Url, status: u16) -> Fetched {
    let mut f = Fetched::empty(url.clone(), Millis(0));
    f.status = status;
    f
}

/// A redirect to `to`.
pub fn redirect(url: &Url, status: u16, to: &str) -> Fetched {
    let mut f = bare(url, status);
    f.headers.push(("location".into(), to.to_string()));
    f.location = Some(to.to_string());
    f
}

/// A page.
pub fn page(url: &Url, content_type: &str, body: Vec<u8>) -> Fetched {
    let mut f = bare(url, 200);
    if !content_type.is_empty() {
        f.headers.push(("content-type".into(), content_type.to_string()));
    }
    f.wire_bytes = body.len() as u64;
    f.payload = Payload::plain(body);
    f
}
