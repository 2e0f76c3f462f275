//! Pages → a finished segment of the index, byte for byte the one that tantivy would write.
//!
//! tantivy asks its table of words for every word of a text, and that table fits into no cache. Here a page's
//! words are gathered first, in a table that does: the large one is asked once for each different word of the
//! page. What stands where is written down page after page, and turned around when the segment is written.

use super::Fields;
use super::words::each_word;
use tantivy::directory::TerminatingWrite;
use tantivy::fastfield::FastFieldsWriter;
use tantivy::fieldnorm::{FieldNormReaders, FieldNormsSerializer, FieldNormsWriter};
use tantivy::index::{SegmentComponent, SegmentMeta};
use tantivy::postings::InvertedIndexSerializer;
use tantivy::schema::Field;
use tantivy::store::StoreWriter;
use tantivy::tokenizer::TextAnalyzer;
use tantivy::{TantivyDocument, TantivyError};

/// What is indexed of a page.
pub(super) struct Document {
    pub id: u64,
    pub url: String,
    pub host: String,
    pub title: String,
    pub text: String,
    pub language: String,
}

/// Pages that are not written yet. Keeps its memory from segment to segment.
pub(super) struct Pages {
    fields: Fields,
    analyzer: TextAnalyzer,
    ids: Vec<u64>,
    norms: FieldNormsWriter,
    /// By field, in the order of the schema; the ids are apart.
    inverted: [Inverted; 5],
    page: PageWords,
}

impl Pages {
    pub fn new(index: &tantivy::Index, fields: Fields, analyzer: TextAnalyzer) -> Pages {
        let words = |field| Inverted::new(field, true);
        let whole = |field| Inverted::new(field, false);
        let Fields { url, host, title, text, language, .. } = fields;
        Pages {
            fields,
            analyzer,
            ids: Vec::new(),
            norms: FieldNormsWriter::for_schema(&index.schema()),
            inverted: [words(url), whole(host), words(title), words(text), whole(language)],
            page: PageWords::default(),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    /// Bytes in use, and those that writing will take.
    pub fn memory(&self) -> usize {
        self.inverted.iter().map(Inverted::memory).sum()
    }

    pub fn add(&mut self, page: &Document) {
        let at = self.ids.len() as u32;
        self.ids.push(page.id);
        self.norms.record(at, self.fields.id, 1);
        let texts = [&page.url, &page.host, &page.title, &page.text, &page.language];
        for (inverted, text) in self.inverted.iter_mut().zip(texts) {
            let tokens = if inverted.words_apart {
                let (page, mut tokens) = (&mut self.page, 0);
                each_word(text, &mut self.analyzer, |word, position| {
                    page.add(word, position);
                    tokens += 1;
                });
                tokens
            } else {
                self.page.add(text.as_bytes(), 0);
                1
            };
            inverted.take(&mut self.page, tokens);
            self.norms.record(at, inverted.field, tokens);
        }
    }

    /// Writes all pages as one segment, and forgets them. The segment is not a part of the index yet.
    pub fn write(&mut self, index: &tantivy::Index) -> Result<SegmentMeta, TantivyError> {
        let segment = index.new_segment();
        let pages = self.ids.len() as u32;
        let mut norms = FieldNormsWriter::for_schema(&index.schema());
        std::mem::swap(&mut norms, &mut self.norms);
        norms.fill_up_to_max_doc(pages);
        let to = segment.open_write(SegmentComponent::FieldNorms)?;
        norms.serialize(FieldNormsSerializer::from_write(to)?, None)?;
        let norms = FieldNormReaders::open(segment.open_read(SegmentComponent::FieldNorms)?)?;

        let mut postings = InvertedIndexSerializer::open(&segment)?;
        self.write_ids(&mut postings, &norms)?;
        for inverted in &mut self.inverted {
            inverted.write(&mut postings, &norms)?;
        }
        postings.close()?;

        let settings = index.settings();
        let mut fast = FastFieldsWriter::from_schema_and_tokenizer_manager(
            &index.schema(),
            index.fast_field_tokenizer().clone(),
        )?;
        let mut store = StoreWriter::new(
            segment.open_write(SegmentComponent::Store)?,
            settings.docstore_compression,
            settings.docstore_blocksize,
            settings.docstore_compress_dedicated_thread,
        )?;
        for id in self.ids.drain(..) {
            let mut doc = TantivyDocument::new();
            doc.add_u64(self.fields.id, id);
            fast.add_document(&doc)?;
            store.store(&doc, &index.schema())?;
        }
        let mut to = segment.open_write(SegmentComponent::FastFields)?;
        fast.serialize(&mut to, None)?;
        to.terminate()?;
        store.close()?;

        let meta = segment.with_max_doc(pages).meta().clone();
        meta.untrack_temp_docstore();
        Ok(meta)
    }

    fn write_ids(
        &self,
        postings: &mut InvertedIndexSerializer,
        norms: &FieldNormReaders,
    ) -> Result<(), TantivyError> {
        let field = self.fields.id;
        let mut to = postings.new_field(field, self.ids.len() as u64, norms.get_field(field)?)?;
        let mut order: Vec<(u64, u32)> = self.ids.iter().copied().zip(0..).collect();
        order.sort_unstable();
        for same in order.chunk_by(|a, b| a.0 == b.0) {
            to.new_term(&same[0].0.to_be_bytes(), 0, false)?;
            same.iter().for_each(|(_, page)| to.write_doc(*page, 0, &[]));
            to.close_term()?;
        }
        to.close()?;
        Ok(())
    }
}

/// One field of many pages: first page by page, at the end word by word.
struct Inverted {
    field: Field,
    /// Its text is cut into words, and where they stand is kept. If not, the whole is one word.
    words_apart: bool,
    words: Words,
    /// On how many pages each word stands, and how many bytes say where.
    sums: Vec<Sum>,
    /// What is said of each word of one page after those of another: the page, how often the word stands
    /// there, and the distances between its places.
    said: Vec<u8>,
    /// In the same order: the word, and where what is said of it ends.
    postings: Vec<(u32, u32)>,
    pages: u32,
    tokens: u64,
}

impl Inverted {
    fn new(field: Field, words_apart: bool) -> Inverted {
        Inverted {
            field,
            words_apart,
            words: Words::default(),
            sums: Vec::new(),
            said: Vec::new(),
            postings: Vec::new(),
            pages: 0,
            tokens: 0,
        }
    }

    fn memory(&self) -> usize {
        // What is said is there twice while it is turned around.
        2 * self.said.len() + 8 * self.postings.len() + self.words.memory()
    }

    /// Takes the words of one page.
    fn take(&mut self, page: &mut PageWords, tokens: u32) {
        for (n, head) in page.heads.iter().enumerate() {
            let start = self.said.len();
            put(&mut self.said, self.pages);
            put(&mut self.said, head.times);
            let (mut at, mut before) = (head.first, 0);
            while let Some((position, next)) = page.places.get(at as usize) {
                put(&mut self.said, position - before);
                (at, before) = (*next, *position);
            }
            let (word, new) = self.words.number(head.key, page.words.get(n as u32));
            let bytes = (self.said.len() - start) as u32;
            match self.sums.get_mut(word as usize) {
                Some(sum) if !new => (sum.pages, sum.bytes) = (sum.pages + 1, sum.bytes + bytes),
                _ => self.sums.push(Sum { pages: 1, bytes }),
            }
            self.postings.push((word, self.said.len() as u32));
        }
        self.pages += 1;
        self.tokens += u64::from(tokens);
        page.clear();
    }

    fn write(
        &mut self,
        postings: &mut InvertedIndexSerializer,
        norms: &FieldNormReaders,
    ) -> Result<(), TantivyError> {
        if !self.postings.is_empty() {
            let order = self.words.in_order();
            let by_word = self.by_word(&order);
            let mut rest = by_word.as_slice();
            let mut to = postings.new_field(self.field, self.tokens, norms.get_field(self.field)?)?;
            let mut distances = Vec::new();
            for word in order {
                let pages = self.sums.get(word as usize).map_or(0, |sum| sum.pages);
                let known = if self.words_apart { pages } else { 0 };
                to.new_term(self.words.get(word), known, self.words_apart)?;
                for _ in 0..pages {
                    let (page, times) = (take(&mut rest), take(&mut rest));
                    distances.clear();
                    distances.extend((0..times).map(|_| take(&mut rest)));
                    match self.words_apart {
                        true => to.write_doc(page, times, &distances),
                        false => to.write_doc(page, 0, &[]),
                    }
                }
                to.close_term()?;
            }
            to.close()?;
        }
        self.words.clear();
        self.sums.clear();
        self.said.clear();
        self.postings.clear();
        (self.pages, self.tokens) = (0, 0);
        Ok(())
    }

    /// What is said, word by word in this order instead of page by page. It is read once from front to end,
    /// and put where there is room for it: what is written need not be waited for.
    fn by_word(&self, order: &[u32]) -> Vec<u8> {
        let mut next = vec![0; self.sums.len()];
        let mut start = 0;
        for word in order {
            if let (Some(next), Some(sum)) = (next.get_mut(*word as usize), self.sums.get(*word as usize)) {
                *next = start as usize;
                start += sum.bytes;
            }
        }
        let mut by_word = vec![0; self.said.len()];
        let mut from = 0;
        for (word, end) in &self.postings {
            let said = self.said.get(from..*end as usize).unwrap_or(&[]);
            if let Some(next) = next.get_mut(*word as usize) {
                if let Some(room) = by_word.get_mut(*next..*next + said.len()) {
                    // Most are three or four bytes: a call for each would cost more than they do.
                    room.iter_mut().zip(said).for_each(|(to, from)| *to = *from);
                }
                *next += said.len();
            }
            from = *end as usize;
        }
        by_word
    }
}

/// Of a word.
struct Sum {
    pages: u32,
    bytes: u32,
}

/// The words of one text, each with its places.
#[derive(Default)]
struct PageWords {
    words: Words,
    heads: Vec<Head>,
    /// A position, and where the next one of the same word is.
    places: Vec<(u32, u32)>,
}

/// A word of a text.
struct Head {
    key: u64,
    times: u32,
    first: u32,
    last: u32,
}

/// No place follows.
const NONE: u32 = u32::MAX;

impl PageWords {
    fn add(&mut self, word: &[u8], position: u32) {
        let key = key(word);
        let at = self.places.len() as u32;
        self.places.push((position, NONE));
        let (n, _) = self.words.number(key, word);
        match self.heads.get_mut(n as usize) {
            Some(head) => {
                if let Some(last) = self.places.get_mut(head.last as usize) {
                    last.1 = at;
                }
                head.last = at;
                head.times += 1;
            }
            None => self.heads.push(Head { key, times: 1, first: at, last: at }),
        }
    }

    fn clear(&mut self) {
        self.words.clear();
        self.heads.clear();
        self.places.clear();
    }
}

/// Different words, numbered as they come.
#[derive(Default)]
struct Words {
    slots: Vec<Slot>,
    /// Slots of other rounds are free: so it is emptied without a look at them.
    round: u32,
    /// Where each word ends.
    ends: Vec<u32>,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy, Default)]
struct Slot {
    key: u64,
    number: u32,
    round: u32,
}

impl Words {
    /// The number of a word, and if it is new.
    #[inline]
    fn number(&mut self, key: u64, word: &[u8]) -> (u32, bool) {
        if self.slots.len() <= 2 * self.ends.len() {
            self.grow();
        }
        let mask = self.slots.len() - 1;
        let mut at = place(key) & mask;
        while let Some(slot) = self.slots.get(at).copied().filter(|s| s.round == self.round) {
            if slot.key == key && (is_all_of(key) || self.get(slot.number) == word) {
                return (slot.number, false);
            }
            at = (at + 1) & mask;
        }
        let number = self.ends.len() as u32;
        if let Some(slot) = self.slots.get_mut(at) {
            *slot = Slot { key, number, round: self.round };
        }
        self.bytes.extend_from_slice(word);
        self.ends.push(self.bytes.len() as u32);
        (number, true)
    }

    #[cold]
    fn grow(&mut self) {
        let size = (4 * self.ends.len()).max(1024).next_power_of_two();
        let before = std::mem::replace(&mut self.slots, vec![Slot::default(); size]);
        let round = std::mem::replace(&mut self.round, 1);
        for slot in before.into_iter().filter(|s| s.round == round && round > 0) {
            let mut at = place(slot.key) & (size - 1);
            while self.slots.get(at).is_some_and(|s| s.round == 1) {
                at = (at + 1) & (size - 1);
            }
            if let Some(free) = self.slots.get_mut(at) {
                *free = Slot { round: 1, ..slot };
            }
        }
    }

    fn get(&self, number: u32) -> &[u8] {
        let number = number as usize;
        let start = number.checked_sub(1).and_then(|n| self.ends.get(n)).map_or(0, |end| *end as usize);
        self.ends.get(number).and_then(|end| self.bytes.get(start..*end as usize)).unwrap_or(&[])
    }

    /// The numbers of all words, in the order of their bytes.
    fn in_order(&self) -> Vec<u32> {
        // Most differ in the first eight bytes: only the others are looked at where they are.
        let beginning = |word: &[u8]| {
            let mut first = [0; 8];
            first.iter_mut().zip(word).for_each(|(to, from)| *to = *from);
            u64::from_be_bytes(first)
        };
        let mut order: Vec<(u64, u32)> =
            (0..self.ends.len() as u32).map(|n| (beginning(self.get(n)), n)).collect();
        order.sort_unstable_by(|a, b| a.0.cmp(&b.0).then_with(|| self.get(a.1).cmp(self.get(b.1))));
        order.into_iter().map(|(_, n)| n).collect()
    }

    fn memory(&self) -> usize {
        self.slots.len() * size_of::<Slot>() + self.bytes.len() + 4 * self.ends.len()
    }

    fn clear(&mut self) {
        self.ends.clear();
        self.bytes.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.slots.clear();
        }
    }
}

/// A short word is its own key; a longer one has a hash.
#[inline]
fn key(word: &[u8]) -> u64 {
    // Bytes that are looked at twice say the same twice.
    let short = match (word.first_chunk(), word.last_chunk(), word.first_chunk(), word.last_chunk()) {
        _ if word.len() >= 8 => None,
        (Some(first), Some(last), ..) => {
            let (first, last) = (u32::from_le_bytes(*first), u32::from_le_bytes(*last));
            Some(u64::from(first) | u64::from(last) << (8 * (word.len() - 4)))
        }
        (_, _, Some(first), Some(last)) => {
            let (first, last) = (u16::from_le_bytes(*first), u16::from_le_bytes(*last));
            Some(u64::from(first) | u64::from(last) << (8 * (word.len() - 2)))
        }
        _ => Some(word.first().map_or(0, |byte| u64::from(*byte))),
    };
    if let Some(bytes) = short {
        return bytes | (word.len() as u64) << 56;
    }
    let mut hash = word.len() as u64;
    let (chunks, _) = word.as_chunks::<8>();
    // The last eight bytes may be looked at twice.
    let last = word.last_chunk::<8>();
    for chunk in chunks.iter().chain(last) {
        hash = (hash.rotate_left(23) ^ u64::from_le_bytes(*chunk)).wrapping_mul(MIX);
    }
    (hash ^ (hash >> 29)) | 0xff << 56
}

/// Is the key of a short word, which no other word has?
#[inline]
fn is_all_of(key: u64) -> bool {
    key >> 56 != 0xff
}

const MIX: u64 = 0x9e37_79b9_7f4a_7c15;

#[inline]
fn place(key: u64) -> usize {
    let mixed = key.wrapping_mul(MIX);
    ((mixed ^ (mixed >> 32)).wrapping_mul(MIX) >> 32) as usize
}

/// Seven bits a byte, the lowest first.
#[inline]
fn put(out: &mut Vec<u8>, mut n: u32) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

#[inline]
fn take(bytes: &mut &[u8]) -> u32 {
    let (mut n, mut shift) = (0, 0);
    while let Some((byte, rest)) = bytes.split_first() {
        *bytes = rest;
        n |= u32::from(byte & 0x7f) << shift;
        shift += 7;
        if byte & 0x80 == 0 || shift > 28 {
            break;
        }
    }
    n
}
