//! Model files: what a judge or a strategy was taught, to be used by another crawl. `gleaner train` writes
//! them, `[judge] model`, `[strategy] model` and `--model` name them.
//!
//! A file holds a few parts, each for one judge or strategy by name, with the way texts were read when it was
//! made: words are kept as hashes of their stems, so a model of stems is of no use to a crawl that does not
//! stem. The bytes of a part belong to the judge or strategy; they are never trusted.

use crate::text::TextOptions;
use learn::bytes::{Reader, Writer};
use types::{Fingerprint, Problem};

const MAGIC: &[u8] = b"gleaner model\n";
const VERSION: u8 = 1;
const KEY: (u64, u64) = (0x006d_6f64_656c, 0x0067_6c65_616e_6572);

/// Who a part is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A judge's part.
    Judge,
    /// A strategy's part.
    Strategy,
}

impl Role {
    /// As people read it.
    pub fn name(self) -> &'static str {
        match self {
            Role::Judge => "judge",
            Role::Strategy => "strategy",
        }
    }
}

/// What one judge or strategy was taught.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Judge or strategy.
    pub role: Role,
    /// Its name in `judges::ALL` or `strategies::ALL`.
    pub kind: String,
    /// What it was trained on, for people.
    pub note: String,
    /// How texts were read: see [`text_of`].
    pub text: String,
    /// What it learnt, in a form of its own.
    pub body: Vec<u8>,
}

impl Part {
    /// `text` is how texts were read during training; a reader compares it with its own.
    pub fn new(role: Role, kind: &str, note: String, text: &TextOptions, body: Vec<u8>) -> Part {
        Part { role, kind: kind.into(), note, text: text_of(text), body }
    }

    /// The bytes, if texts are read as they were when it was made.
    pub fn body_for(&self, text: &TextOptions) -> Result<&[u8], Problem> {
        let now = text_of(text);
        if self.text == now {
            return Ok(&self.body);
        }
        Err(Problem::usage(format!(
            "the model of {} `{}` was made with {}, this topic has {now}",
            self.role.name(),
            self.kind,
            self.text
        ))
        .hint("set [text] stem as it was, or train again"))
    }
}

/// Two topics with the same answer see the same words.
pub fn text_of(o: &TextOptions) -> String {
    o.stem.map_or("no stemming".into(), |l| format!("stem = \"{}\"", l.code()))
}

/// A file of parts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ModelFile {
    /// At most one of each role and kind.
    pub parts: Vec<Part>,
}

impl ModelFile {
    /// The part for one judge or strategy.
    pub fn find(&self, role: Role, kind: &str) -> Option<&Part> {
        self.parts.iter().find(|p| p.role == role && p.kind == kind)
    }

    /// The bytes of the file.
    pub fn write(&self) -> Vec<u8> {
        let mut w = Writer(MAGIC.to_vec());
        w.u8(VERSION).var(self.parts.len() as u64);
        for p in &self.parts {
            w.u8(u8::from(p.role == Role::Strategy));
            for text in [&p.kind, &p.note, &p.text] {
                w.bytes(text.as_bytes());
            }
            w.bytes(&p.body);
        }
        let sum = checksum(&w.0);
        w.u64(sum);
        w.0
    }

    /// `name` is how messages call the file.
    pub fn read(bytes: &[u8], name: &str) -> Result<ModelFile, Problem> {
        let Some(rest) = bytes.strip_prefix(MAGIC) else {
            return Err(Problem::usage(format!("{name} is not a model file"))
                .hint("`gleaner train` writes them; see `gleaner train --help`"));
        };
        let broken = || {
            Problem::new(format!("the model file {name} is damaged or of another version"))
                .hint("make it again with `gleaner train`")
        };
        let end = rest.len().checked_sub(8).ok_or_else(broken)?;
        let (body, sum) = rest.split_at(end);
        let whole = bytes.get(..bytes.len() - 8).unwrap_or(&[]);
        if sum != checksum(whole).to_le_bytes() {
            return Err(broken());
        }
        ModelFile::parse(body).map_err(|_| broken())
    }

    fn parse(body: &[u8]) -> Result<ModelFile, Problem> {
        let mut r = Reader(body);
        if r.u8()? != VERSION {
            return Err(learn::bytes::damaged());
        }
        let mut parts = Vec::new();
        for _ in 0..r.var()? {
            let role = if r.u8()? == 1 { Role::Strategy } else { Role::Judge };
            let mut text = || Ok::<_, Problem>(String::from_utf8_lossy(r.bytes()?).into_owned());
            let (kind, note, how) = (text()?, text()?, text()?);
            parts.push(Part { role, kind, note, text: how, body: r.bytes()?.to_vec() });
        }
        r.end()?;
        Ok(ModelFile { parts })
    }
}

fn checksum(bytes: &[u8]) -> u64 {
    Fingerprint::of_bytes(bytes, KEY).0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Language;

    #[test]
    fn there_and_back() {
        let text = TextOptions { stem: Some(Language::English) };
        let part = Part::new(Role::Strategy, "apprentice", "12 pages".into(), &text, vec![1, 2, 3]);
        let other = Part::new(Role::Judge, "bayes", String::new(), &TextOptions { stem: None }, vec![0; 300]);
        let model = ModelFile { parts: vec![part.clone(), other] };
        let bytes = model.write();
        assert_eq!(ModelFile::read(&bytes, "m").unwrap(), model);
        assert_eq!(model.find(Role::Strategy, "apprentice"), Some(&part));
        assert_eq!(model.find(Role::Judge, "apprentice"), None);
        assert_eq!(part.body_for(&text).unwrap(), [1, 2, 3]);
        let message = part.body_for(&TextOptions { stem: None }).unwrap_err().to_string();
        assert!(message.contains("stem = \"en\"") && message.contains("no stemming"), "{message}");
    }

    #[test]
    fn anything_else_is_refused() {
        let part = Part::new(Role::Judge, "svm", "n".into(), &TextOptions { stem: None }, vec![7; 40]);
        let good = ModelFile { parts: vec![part] }.write();
        for n in 0..good.len() {
            assert!(ModelFile::read(good.get(..n).unwrap_or(&[]), "m").is_err(), "cut at {n}");
            let mut bad = good.clone();
            bad[n] ^= 1;
            assert!(ModelFile::read(&bad, "m").is_err(), "changed at {n}");
        }
        assert!(ModelFile::read(b"<html>", "page").unwrap_err().to_string().contains("not a model file"));
    }
}
