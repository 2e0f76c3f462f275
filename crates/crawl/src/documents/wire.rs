//! What the crawler and a child say to each other, over the child's standard input and output.
//!
//! ```text
//! frame    = length u32, little-endian · bytes
//! crawler  → frame: a [`Question`] as JSON · frame: the document
//! child    → frame: the [`types::Page`] as JSON
//! ```
//! One document at a time; the end of the input ends the child.

use extract::Options;
use serde::{Deserialize, Serialize};
use std::io::{self, Read, Write};
use types::{Canon, Formats, Url};

/// No document and no page is longer. A damaged length must not cost memory.
pub const LONGEST: u32 = 256 << 20;

/// A document to be read, without its bytes.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Question {
    pub url: Url,
    pub content_type: Option<String>,
    pub x_robots_tag: Option<String>,
    drop_params: Vec<String>,
    max_length: usize,
    max_links: usize,
    max_text: usize,
    detect_language: bool,
    detect_simhash: bool,
    documents: Formats,
}

impl Question {
    pub fn new(
        url: &Url,
        content_type: Option<&str>,
        x_robots_tag: Option<&str>,
        options: &Options,
    ) -> Question {
        Question {
            url: url.clone(),
            content_type: content_type.map(str::to_string),
            x_robots_tag: x_robots_tag.map(str::to_string),
            drop_params: options.canon.drop_params.clone(),
            max_length: options.canon.max_length,
            max_links: options.max_links,
            max_text: options.max_text,
            detect_language: options.detect_language,
            detect_simhash: options.detect_simhash,
            documents: options.documents,
        }
    }

    pub fn options(&self) -> Options {
        Options {
            canon: Canon { drop_params: self.drop_params.clone(), max_length: self.max_length },
            max_links: self.max_links,
            max_text: self.max_text,
            detect_language: self.detect_language,
            detect_simhash: self.detect_simhash,
            documents: self.documents,
            // Documents are never shown in a browser.
            routes: false,
        }
    }
}

pub fn send(to: &mut impl Write, bytes: &[u8]) -> io::Result<()> {
    let length = u32::try_from(bytes.len()).ok().filter(|n| *n <= LONGEST);
    let length = length.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "too long to be sent"))?;
    to.write_all(&length.to_le_bytes())?;
    to.write_all(bytes)
}

/// `None`: the other side has no more to say.
pub fn receive(from: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut head = [0; 4];
    let mut got = 0;
    while got < head.len() {
        match from.read(head.get_mut(got..).unwrap_or_default()) {
            Ok(0) if got == 0 => return Ok(None),
            Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
            Ok(n) => got += n,
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(e),
        }
    }
    let length = u32::from_le_bytes(head);
    if length > LONGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a frame of more bytes than may be"));
    }
    let mut bytes = Vec::new();
    from.take(u64::from(length)).read_to_end(&mut bytes)?;
    if bytes.len() < length as usize {
        return Err(io::ErrorKind::UnexpectedEof.into());
    }
    Ok(Some(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_arrive_whole_or_not_at_all() {
        let mut line = Vec::new();
        send(&mut line, b"one").unwrap();
        send(&mut line, b"").unwrap();
        let mut from = line.as_slice();
        assert_eq!(receive(&mut from).unwrap().as_deref(), Some(&b"one"[..]));
        assert_eq!(receive(&mut from).unwrap().as_deref(), Some(&b""[..]));
        assert_eq!(receive(&mut from).unwrap(), None);
        for cut in 1..7 {
            assert!(receive(&mut &line[..cut]).is_err(), "{cut}");
        }
        assert!(receive(&mut &[0xff, 0xff, 0xff, 0xff, 1, 2][..]).is_err(), "no memory for a length alone");
    }
}
