//! SHA-1 as the archive world uses it: a name for identical payloads, not a seal against forgery.

use sha1::{Digest as _, Sha1};

/// The SHA-1 of some bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
pub struct Digest(pub [u8; 20]);

/// The digest of a page's payload: the body as it was sent (content-encoded, without transfer-encoding). This
/// is what `WARC-Payload-Digest` and [`types::Record::digest`] hold.
pub fn payload_digest(wire: &[u8]) -> Digest {
    Digest::of(&[wire])
}

/// Lower-case hex.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |d: u8| char::from_digit(u32::from(d), 16).unwrap_or('0');
    bytes.iter().flat_map(|b| [digit(b >> 4), digit(b & 15)]).collect()
}

impl Digest {
    /// Of the concatenation of the pieces.
    pub fn of(pieces: &[&[u8]]) -> Digest {
        let mut sha = Sha1::new();
        for piece in pieces {
            sha.update(piece);
        }
        Digest(sha.finalize().into())
    }

    /// Lower-case hex, as records and exports show it.
    pub fn hex(&self) -> String {
        hex(&self.0)
    }

    /// Reads 40 hexadecimal digits; `None` for anything else.
    pub fn from_hex(text: &str) -> Option<Digest> {
        let bytes = text.as_bytes();
        if bytes.len() != 40 {
            return None;
        }
        let mut out = [0; 20];
        for (slot, pair) in out.iter_mut().zip(bytes.chunks_exact(2)) {
            let nibble = |b: u8| (b as char).to_digit(16);
            *slot = (nibble(pair[0])? << 4 | nibble(pair[1])?) as u8;
        }
        Some(Digest(out))
    }

    /// As WARC headers write it: `sha1:`, then base 32 or hexadecimal digits. `None`: another kind of digest.
    pub fn from_header(text: &str) -> Option<Digest> {
        let (kind, value) = text.split_once(':')?;
        let value = value.trim().trim_end_matches('=');
        if !kind.trim().eq_ignore_ascii_case("sha1") {
            return None;
        }
        if value.len() == 40 {
            return Digest::from_hex(&value.to_ascii_lowercase());
        }
        let letters = value.as_bytes().first_chunk::<32>().filter(|_| value.len() == 32)?;
        let mut out = [0; 20];
        for (five, eight) in out.chunks_exact_mut(5).zip(letters.chunks_exact(8)) {
            let mut bits = 0u64;
            for letter in eight {
                let digit = match letter.to_ascii_uppercase() {
                    l @ b'A'..=b'Z' => l - b'A',
                    d @ b'2'..=b'7' => d - b'2' + 26,
                    _ => return None,
                };
                bits = bits << 5 | u64::from(digit);
            }
            five.copy_from_slice(&bits.to_be_bytes()[3..]);
        }
        Some(Digest(out))
    }

    /// RFC 4648 base 32, the spelling WARC tools compare as text. 20 bytes need no padding.
    pub fn base32(&self) -> String {
        const ALPHABET: &[u8; 32] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
        let mut out = String::with_capacity(32);
        for five in self.0.chunks_exact(5) {
            let bits = five.iter().fold(0u64, |bits, &b| bits << 8 | u64::from(b));
            for shift in (0..8).rev() {
                out.push(ALPHABET[(bits >> (shift * 5) & 31) as usize] as char);
            }
        }
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_digests() {
        // Both spellings of SHA-1 of nothing are well known from WARC files.
        assert_eq!(payload_digest(b"").base32(), "3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        assert_eq!(payload_digest(b"").hex(), "da39a3ee5e6b4b0d3255bfef95601890afd80709");
        assert_eq!(payload_digest(b"abc").hex(), "a9993e364706816aba3e25717850c26c9cd0d89d");
        assert_eq!(Digest::of(&[b"a", b"", b"bc"]), payload_digest(b"abc"));
        assert_eq!(Digest::from_hex(&payload_digest(b"abc").hex()), Some(payload_digest(b"abc")));
        assert_eq!(Digest::from_hex("zz"), None);
        for bytes in [&b""[..], b"abc", b"\xff\0"] {
            let digest = payload_digest(bytes);
            assert_eq!(Digest::from_header(&format!("sha1:{}", digest.base32())), Some(digest));
            assert_eq!(Digest::from_header(&format!("SHA1:{}", digest.hex())), Some(digest));
        }
        for wrong in [
            "",
            "sha1:",
            "sha1:1",
            "md5:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBY1",
        ] {
            assert_eq!(Digest::from_header(wrong), None, "{wrong}");
        }
        assert_eq!(Digest::from_hex(&"g".repeat(40)), None);
    }
}
