//! What one worker tells another: a URL it found, or a new priority for one. Messages lie in the outbox of
//! the shard they are about until its owner takes them in, in the transaction that applies them: each exactly
//! once.

use crate::ledger::codec::{self, In, Out};
use types::{Candidate, Canon, Fingerprint, Priority, Url, UrlId};

const SIGHTING: u8 = 1;
const RESCORE: u8 = 2;
const SEED: u8 = 3;

#[derive(Debug)]
pub(super) enum Message {
    Sighting {
        candidate: Candidate,
        /// Of the page it was found on.
        parent_shard: Option<i16>,
    },
    Rescore {
        print: Fingerprint,
        priority: Priority,
        model: u32,
        cause: Option<UrlId>,
    },
    /// A URL the user named: what it is worth is its owner's to say.
    Seed {
        url: Url,
    },
}

pub(super) fn seed(url: &Url) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(1 + url.as_str().len());
    let mut o = Out::new(&mut bytes);
    o.u8(SEED);
    o.rest(url.as_str().as_bytes());
    bytes
}

pub(super) fn sighting(c: &Candidate, parent_shard: Option<i16>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(64 + c.url.as_str().len() + c.evidence.len());
    let mut o = Out::new(&mut bytes);
    o.u8(SIGHTING);
    o.var(parent_shard.map_or(0, |s| s as u64 + 1));
    o.id(c.parent);
    o.u8(codec::kind_code(c.kind));
    o.var(u64::from(c.depth));
    o.var(u64::from(c.site_depth));
    o.u8(c.hops);
    o.priority(c.priority);
    o.var(u64::from(c.model));
    o.var(c.ttl.map_or(0, |t| u64::from(t) + 1));
    o.bytes(c.url.as_str().as_bytes());
    o.bytes(c.anchor.as_bytes());
    o.rest(&c.evidence);
    bytes
}

/// The new priority of a URL that is known by its fingerprint only.
pub(super) fn rescore(print: Fingerprint, priority: Priority, model: u32, cause: Option<UrlId>) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(40);
    let mut o = Out::new(&mut bytes);
    o.u8(RESCORE);
    o.u64(print.0);
    o.u64(print.1);
    o.priority(priority);
    o.var(u64::from(model));
    o.id(cause);
    bytes
}

/// `None` for what no version of this program wrote.
pub(super) fn read(bytes: &[u8]) -> Option<Message> {
    // Canonical already; whatever made it so may have allowed any length.
    let canon = Canon { drop_params: Vec::new(), max_length: usize::MAX };
    let mut r = In(bytes);
    match r.u8()? {
        SIGHTING => {
            let parent_shard = r.var()?.checked_sub(1).and_then(|s| i16::try_from(s).ok());
            let (parent, kind) = (r.id()?, codec::kind_of(r.u8()?));
            let (depth, site_depth) = (u16::try_from(r.var()?).ok()?, u16::try_from(r.var()?).ok()?);
            let (hops, priority) = (r.u8()?, r.priority()?);
            let model = u32::try_from(r.var()?).ok()?;
            let ttl = r.var()?.checked_sub(1).and_then(|t| u32::try_from(t).ok());
            let url = canon.parse(r.text()?).ok()?;
            let anchor = r.text()?.into();
            let evidence = r.0.to_vec();
            let candidate = Candidate {
                url,
                parent,
                kind,
                depth,
                site_depth,
                hops,
                priority,
                evidence,
                model,
                ttl,
                anchor,
            };
            Some(Message::Sighting { candidate, parent_shard })
        }
        RESCORE => Some(Message::Rescore {
            print: Fingerprint(r.u64()?, r.u64()?),
            priority: r.priority()?,
            model: u32::try_from(r.var()?).ok()?,
            cause: r.id()?,
        }),
        SEED => Some(Message::Seed { url: canon.parse(std::str::from_utf8(r.0).ok()?).ok()? }),
        _ => None,
    }
}

/// A link of a page, as its row remembers it: by number when its shard was here, else by fingerprint.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    Known(UrlId),
    Far { shard: i16, print: Fingerprint },
}

pub(super) fn write_children(children: &[Child]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(children.len() * 10);
    let mut o = Out::new(&mut bytes);
    for child in children {
        match child {
            Child::Known(id) => {
                o.u8(0);
                o.u32(id.0);
            }
            Child::Far { shard, print } => {
                o.u8(1);
                o.var(*shard as u64);
                o.u64(print.0);
                o.u64(print.1);
            }
        }
    }
    bytes
}

pub(super) fn read_children(bytes: &[u8]) -> Option<Vec<Child>> {
    let mut r = In(bytes);
    let mut out = Vec::new();
    while !r.0.is_empty() {
        out.push(match r.u8()? {
            0 => Child::Known(r.url_id()?),
            1 => Child::Far { shard: i16::try_from(r.var()?).ok()?, print: Fingerprint(r.u64()?, r.u64()?) },
            _ => return None,
        });
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::LinkKind;

    #[test]
    fn messages_round_trip_and_nonsense_is_none() {
        let c = Candidate {
            url: Canon::exact().parse("http://a.example/x?y=1").unwrap(),
            parent: Some(UrlId(7)),
            kind: LinkKind::Redirect,
            depth: 300,
            site_depth: 2,
            hops: 1,
            priority: Priority::new(3, -0.5),
            evidence: vec![0, 255],
            model: 9,
            ttl: Some(0),
            anchor: "über".into(),
        };
        let bytes = sighting(&c, Some(255));
        match read(&bytes) {
            Some(Message::Sighting { candidate, parent_shard: Some(255) }) => {
                assert_eq!(format!("{candidate:?}"), format!("{c:?}"));
            }
            other => panic!("{other:?}"),
        }
        for n in 0..bytes.len() {
            // Cut anywhere, it is a shorter evidence or nothing, never a panic.
            let _ = read(&bytes[..n]);
        }
        let bytes = rescore(Fingerprint(1, 2), Priority::key_only(0.25), 4, None);
        assert!(matches!(
            read(&bytes),
            Some(Message::Rescore { print: Fingerprint(1, 2), model: 4, cause: None, .. })
        ));
        let url = Canon::exact().parse("http://a.example/x?y=1").unwrap();
        assert!(matches!(read(&seed(&url)), Some(Message::Seed { url: read }) if read == url));
        assert!(read(&[3]).is_none() && read(&[3, 0xff, b'x']).is_none());
        assert!(read(&[]).is_none() && read(&[9]).is_none());
        let children = [Child::Known(UrlId(5)), Child::Far { shard: 200, print: Fingerprint(3, 4) }];
        assert_eq!(read_children(&write_children(&children)).unwrap(), children);
        assert_eq!(read_children(&[7]), None);
    }
}
