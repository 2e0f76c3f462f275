//! ZIP files as WACZ wants them: entries are stored, not compressed, so that a reader finds a record inside
//! by its offset.
//!
//! [`ZipWriter`] never goes back, so its output may be a pipe: the size of an entry stands behind it and in
//! the directory at the end, always as 64 bits. [`ZipReader`] reads what others wrote, stored or deflated,
//! and believes the directory alone.

use flate2::read::DeflateDecoder;
use ring::digest::{Context, SHA256};
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;
use types::Problem;

const LOCAL: u32 = 0x0403_4b50;
const DIRECTORY: u32 = 0x0201_4b50;
const BEHIND: u32 = 0x0807_4b50;
const END: u32 = 0x0605_4b50;
const END_64: u32 = 0x0606_4b50;
const LOCATOR_64: u32 = 0x0706_4b50;
/// Version 4.5: sizes of 64 bits.
const VERSION: u16 = 45;
/// Sizes stand behind the contents; names are UTF-8.
const FLAGS: u16 = 1 << 3 | 1 << 11;
/// The field with sizes of 64 bits.
const SIZES_64: u16 = 1;
/// 1980-01-01: an entry says nothing of when it was made.
const DAY: u16 = 1 << 5 | 1;

/// An entry that was written.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Path inside the file.
    pub name: String,
    /// Size of the contents.
    pub bytes: u64,
    /// `sha256:…`
    pub hash: String,
    crc: u32,
    offset: u64,
}

/// Writes a ZIP file from front to back.
pub struct ZipWriter<W: Write> {
    out: W,
    at: u64,
    entries: Vec<Entry>,
    open: Option<Open>,
}

struct Open {
    name: String,
    offset: u64,
    bytes: u64,
    crc: crc32fast::Hasher,
    hash: Context,
}

impl<W: Write> ZipWriter<W> {
    /// Nothing is written yet.
    pub fn new(out: W) -> ZipWriter<W> {
        ZipWriter { out, at: 0, entries: Vec::new(), open: None }
    }

    /// Begins an entry. What is written from now on is its contents.
    pub fn begin(&mut self, name: &str) -> io::Result<()> {
        self.end()?;
        let offset = self.at;
        let mut head = Vec::with_capacity(64 + name.len());
        head.extend(LOCAL.to_le_bytes());
        // Version, flags, stored, time, day.
        [VERSION, FLAGS, 0, 0, DAY].iter().for_each(|n| head.extend(n.to_le_bytes()));
        head.extend(0u32.to_le_bytes());
        [u32::MAX; 2].iter().for_each(|n| head.extend(n.to_le_bytes()));
        [name.len() as u16, 20].iter().for_each(|n| head.extend(n.to_le_bytes()));
        head.extend(name.as_bytes());
        [SIZES_64, 16].iter().for_each(|n| head.extend(n.to_le_bytes()));
        head.extend([0; 16]);
        self.put(&head)?;
        let hash = Context::new(&SHA256);
        self.open = Some(Open { name: name.into(), offset, bytes: 0, crc: crc32fast::Hasher::new(), hash });
        Ok(())
    }

    /// Bytes of the present entry.
    pub fn position(&self) -> u64 {
        self.open.as_ref().map_or(0, |o| o.bytes)
    }

    /// Entries that are whole.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// Ends the present entry, if there is one.
    pub fn end(&mut self) -> io::Result<()> {
        let Some(open) = self.open.take() else { return Ok(()) };
        let crc = open.crc.finalize();
        let mut tail = Vec::with_capacity(24);
        [BEHIND, crc].iter().for_each(|n| tail.extend(n.to_le_bytes()));
        [open.bytes; 2].iter().for_each(|n| tail.extend(n.to_le_bytes()));
        self.put(&tail)?;
        let hash = format!("sha256:{}", crate::archive::digest::hex(open.hash.finish().as_ref()));
        self.entries.push(Entry { name: open.name, bytes: open.bytes, hash, crc, offset: open.offset });
        Ok(())
    }

    /// An entry in one piece.
    pub fn entry(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.begin(name)?;
        self.write_all(bytes)?;
        self.end()
    }

    /// Writes the directory.
    pub fn finish(mut self) -> io::Result<()> {
        self.end()?;
        let start = self.at;
        let mut out = Vec::new();
        for e in &self.entries {
            out.extend(DIRECTORY.to_le_bytes());
            [VERSION | 3 << 8, VERSION, FLAGS, 0, 0, DAY].iter().for_each(|n| out.extend(n.to_le_bytes()));
            out.extend(e.crc.to_le_bytes());
            [u32::MAX; 2].iter().for_each(|n| out.extend(n.to_le_bytes()));
            // Name, extra field, comment, disk, kind.
            [e.name.len() as u16, 28, 0, 0, 0].iter().for_each(|n| out.extend(n.to_le_bytes()));
            // A file that its owner may write and others may read.
            out.extend((0o100_644u32 << 16).to_le_bytes());
            out.extend(u32::MAX.to_le_bytes());
            out.extend(e.name.as_bytes());
            [SIZES_64, 24].iter().for_each(|n| out.extend(n.to_le_bytes()));
            [e.bytes, e.bytes, e.offset].iter().for_each(|n| out.extend(n.to_le_bytes()));
        }
        let (size, count) = (out.len() as u64, self.entries.len() as u64);
        out.extend(END_64.to_le_bytes());
        out.extend(44u64.to_le_bytes());
        [VERSION | 3 << 8, VERSION].iter().for_each(|n| out.extend(n.to_le_bytes()));
        out.extend([0; 8]);
        [count, count, size, start].iter().for_each(|n| out.extend(n.to_le_bytes()));
        out.extend(LOCATOR_64.to_le_bytes());
        out.extend(0u32.to_le_bytes());
        out.extend((start + size).to_le_bytes());
        out.extend(1u32.to_le_bytes());
        out.extend(END.to_le_bytes());
        out.extend([0; 4]);
        [u16::MAX; 2].iter().for_each(|n| out.extend(n.to_le_bytes()));
        [u32::MAX; 2].iter().for_each(|n| out.extend(n.to_le_bytes()));
        out.extend(0u16.to_le_bytes());
        self.put(&out)?;
        self.out.flush()
    }

    fn put(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.at += bytes.len() as u64;
        self.out.write_all(bytes)
    }
}

impl<W: Write> Write for ZipWriter<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let n = self.out.write(bytes)?;
        let written = bytes.get(..n).unwrap_or(bytes);
        self.at += n as u64;
        if let Some(open) = &mut self.open {
            open.bytes += n as u64;
            open.crc.update(written);
            open.hash.update(written);
        }
        Ok(n)
    }
    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// An entry of a file that someone else wrote.
#[derive(Clone, Debug)]
pub struct Member {
    /// As it stands there. It may lead anywhere: do not use it as a path.
    pub name: String,
    /// Size of the contents, as the directory says.
    pub bytes: u64,
    packed: u64,
    method: u16,
    offset: u64,
}

/// Reads ZIP files.
pub struct ZipReader {
    file: BufReader<File>,
    path: String,
    members: Vec<Member>,
}

/// Longest directory that is read.
const MAX_DIRECTORY: u64 = 64 << 20;

impl ZipReader {
    /// Opens a file and reads its directory.
    pub fn open(path: &Path) -> Result<ZipReader, Problem> {
        let file = File::open(path).map_err(|e| Problem::io("open", path, &e))?;
        let mut reader =
            ZipReader { file: BufReader::new(file), path: path.display().to_string(), members: Vec::new() };
        match reader.directory() {
            Ok(Some(members)) => reader.members = members,
            Ok(None) => return Err(reader.bad("its directory makes no sense")),
            Err(e) => return Err(Problem::io("read", path, &e)),
        }
        Ok(reader)
    }

    /// What is in it, in the order of the directory.
    pub fn members(&self) -> &[Member] {
        &self.members
    }

    fn bad(&self, why: impl std::fmt::Display) -> Problem {
        Problem::new(format!("{} is not a sound ZIP file", self.path))
            .because(why)
            .hint("fetch or make it again; a WACZ file is a ZIP file")
    }

    /// The contents of an entry.
    pub fn contents(&mut self, member: &Member) -> Result<Box<dyn Read + '_>, Problem> {
        let at = self.start_of(member).map_err(|e| self.bad(e))?.ok_or_else(|| {
            self.bad(format!("there is nothing where `{}` should be", member.name.escape_default()))
        })?;
        if !matches!(member.method, 0 | 8) {
            let why = format!("`{}` is compressed by method {}", member.name.escape_default(), member.method);
            return Err(self.bad(why));
        }
        self.file.seek(SeekFrom::Start(at)).map_err(|e| self.bad(e))?;
        let packed = (&mut self.file).take(member.packed);
        match member.method {
            0 => Ok(Box::new(packed)),
            _ => Ok(Box::new(DeflateDecoder::new(packed).take(member.bytes))),
        }
    }

    fn start_of(&mut self, member: &Member) -> io::Result<Option<u64>> {
        let mut head = [0; 30];
        self.file.seek(SeekFrom::Start(member.offset))?;
        self.file.read_exact(&mut head)?;
        let lengths = u16_at(&head, 26).zip(u16_at(&head, 28));
        Ok(lengths
            .filter(|_| u32_at(&head, 0) == Some(LOCAL))
            .and_then(|(name, extra)| member.offset.checked_add(30 + u64::from(name) + u64::from(extra))))
    }

    fn directory(&mut self) -> io::Result<Option<Vec<Member>>> {
        let length = self.file.seek(SeekFrom::End(0))?;
        // The end mark, with a comment of up to 64 KB behind it, and what belongs before it.
        let tail_at = length.saturating_sub((64 << 10) + 22 + 20);
        let mut tail = Vec::new();
        self.file.seek(SeekFrom::Start(tail_at))?;
        (&mut self.file).take(length - tail_at).read_to_end(&mut tail)?;
        let Some(end) = tail.windows(4).rposition(|w| w == END.to_le_bytes()) else { return Ok(None) };
        let old = |at| u32_at(&tail, end + at).map(u64::from);
        let mut place = old(12).zip(old(16));
        if let Some(locator) = end.checked_sub(20)
            && u32_at(&tail, locator) == Some(LOCATOR_64)
            && let Some(at) = u64_at(&tail, locator + 8)
        {
            let mut record = [0; 56];
            self.file.seek(SeekFrom::Start(at))?;
            self.file.read_exact(&mut record)?;
            if u32_at(&record, 0) == Some(END_64) {
                place = u64_at(&record, 40).zip(u64_at(&record, 48));
            }
        }
        let Some((size, start)) = place.filter(|(size, _)| *size <= MAX_DIRECTORY) else { return Ok(None) };
        let mut bytes = Vec::new();
        self.file.seek(SeekFrom::Start(start))?;
        (&mut self.file).take(size).read_to_end(&mut bytes)?;
        let mut members = Vec::new();
        let mut rest = bytes.as_slice();
        while u32_at(rest, 0) == Some(DIRECTORY) {
            let Some((member, length)) = member(rest) else { return Ok(None) };
            members.push(member);
            rest = rest.get(length..).unwrap_or_default();
        }
        Ok(Some(members))
    }
}

fn member(bytes: &[u8]) -> Option<(Member, usize)> {
    let length = |at| u16_at(bytes, at).map(usize::from);
    let (name, extra, comment) = (length(28)?, length(30)?, length(32)?);
    let mut extras = bytes.get(46 + name..46 + name + extra)?;
    let mut member = Member {
        name: String::from_utf8_lossy(bytes.get(46..46 + name)?).into_owned(),
        bytes: u32_at(bytes, 24)?.into(),
        packed: u32_at(bytes, 20)?.into(),
        method: u16_at(bytes, 10)?,
        offset: u32_at(bytes, 42)?.into(),
    };
    while let (Some(kind), Some(size)) = (u16_at(extras, 0), u16_at(extras, 2)) {
        let field = extras.get(4..4 + usize::from(size))?;
        if kind == SIZES_64 {
            // Only what does not fit above, in this order.
            let mut at = 0;
            for slot in [&mut member.bytes, &mut member.packed, &mut member.offset] {
                if *slot == u64::from(u32::MAX) {
                    *slot = u64_at(field, at)?;
                    at += 8;
                }
            }
        }
        extras = extras.get(4 + usize::from(size)..)?;
    }
    Some((member, 46 + name + extra + comment))
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    bytes.get(at..)?.first_chunk().map(|b| u16::from_le_bytes(*b))
}
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..)?.first_chunk().map(|b| u32::from_le_bytes(*b))
}
fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|b| u64::from_le_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, Problem> {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x.zip");
        std::fs::write(&path, bytes).unwrap();
        let mut zip = ZipReader::open(&path)?;
        let mut out = Vec::new();
        for member in zip.members().to_vec() {
            let mut contents = Vec::new();
            let read = zip.contents(&member)?.take(1 << 20).read_to_end(&mut contents);
            read.map_err(|e| Problem::new("cannot read").because(e))?;
            out.push((member.name, contents));
        }
        Ok(out)
    }

    fn written() -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut zip = ZipWriter::new(&mut bytes);
        zip.begin("archive/a.warc.gz").unwrap();
        zip.write_all(b"one ").unwrap();
        zip.write_all(b"two").unwrap();
        assert_eq!(zip.position(), 7);
        zip.entry("b", b"").unwrap();
        assert_eq!(
            zip.entries()[1].hash,
            "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
        );
        zip.finish().unwrap();
        bytes
    }

    #[test]
    fn what_is_written_is_read() {
        let found = read(&written()).unwrap();
        assert_eq!(found, [("archive/a.warc.gz".into(), b"one two".to_vec()), ("b".into(), Vec::new())]);
    }

    proptest! {
        /// Damage is a problem or other contents, never a panic.
        #[test]
        fn damage(at in 0usize..400, to: u8, cut in 0usize..400) {
            let mut bytes = written();
            let n = bytes.len();
            bytes[at % n] = to;
            let _ = read(&bytes);
            let _ = read(&bytes[..cut.min(n)]);
        }
    }
}
