//! What an agent sees of a link: the words of anchor, URL and surrounding text, and how much of each genre is
//! in them.

use super::knowledge::Agent;
use crate::text::{Doc, Terms, TermsBuilder, TextOptions, Token};
use crate::topic::Preset;
use learn::bytes::{Reader, Writer};
use types::{Link, Span};

/// Most words kept of a link's anchor, URL and text: together with the rest below 1 KB.
const MOST_ANCHOR: usize = 24;
const MOST_URL: usize = 24;
const MOST_TEXT: usize = 90;
const MOST_GENRES: usize = 8;
const VERSION: u8 = 1;

/// Distinct words, sorted, by the lower half of their hashes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sets {
    pub anchor: Vec<u32>,
    pub url: Vec<u32>,
    pub text: Vec<u32>,
}

/// What a link keeps, to be scored again.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Evidence {
    pub agent: u8,
    /// Cosine of its page with the agent's table; nothing when there was no table yet.
    pub parent: Option<f64>,
    /// For each genre: of the link's own words, and of its page.
    pub genres: Vec<(f64, f64)>,
    pub sets: Sets,
}

impl Evidence {
    pub fn write(&self) -> Vec<u8> {
        let n = self.sets.anchor.len() + self.sets.url.len() + self.sets.text.len();
        let mut w = Writer(Vec::with_capacity(24 + 16 * self.genres.len() + 4 * n));
        w.u8(VERSION).u8(self.agent).u8(u8::from(self.parent.is_some())).f64(self.parent.unwrap_or(0.0));
        w.var(self.genres.len() as u64);
        for (own, page) in &self.genres {
            w.f64(*own).f64(*page);
        }
        for set in [&self.sets.anchor, &self.sets.url, &self.sets.text] {
            w.var(set.len() as u64);
            let mut last = 0;
            for h in set {
                w.var(u64::from(h - last));
                last = *h;
            }
        }
        w.0
    }

    pub fn read(bytes: &[u8]) -> Option<Evidence> {
        let mut r = Reader(bytes);
        if r.u8().ok()? != VERSION {
            return None;
        }
        let agent = r.u8().ok()?;
        let known = r.u8().ok()? == 1;
        let parent = Some(r.f64().ok()?).filter(|_| known);
        let mut genres = Vec::new();
        for _ in 0..r.var().ok()?.min(MOST_GENRES as u64) {
            genres.push((r.f64().ok()?, r.f64().ok()?));
        }
        let mut set = || {
            let n = usize::try_from(r.var().ok()?).ok().filter(|n| *n <= bytes.len())?;
            let mut out = Vec::with_capacity(n);
            let mut last = 0u32;
            for _ in 0..n {
                last = last.checked_add(u32::try_from(r.var().ok()?).ok()?)?;
                out.push(last);
            }
            Some(out)
        };
        let sets = Sets { anchor: set()?, url: set()?, text: set()? };
        Some(Evidence { agent, parent, genres, sets })
    }
}

/// The keyword lists of the genres that count.
pub struct Genres {
    terms: Terms,
    names: Vec<&'static str>,
}

impl Genres {
    /// The user's own terms are a genre; so is each preset.
    pub fn new(own: &[String], presets: &[&'static Preset], options: &TextOptions) -> Genres {
        let mut builder = TermsBuilder::new(options);
        let mut names = Vec::new();
        if !own.is_empty() {
            builder = builder.set("own").terms(own);
            names.push("own");
        }
        for preset in presets.iter().take(MOST_GENRES - names.len()) {
            builder = builder.set(preset.name);
            for (language, terms) in &preset.terms {
                builder = terms.iter().fold(builder, |b, t| b.term(t, Some(*language)));
            }
            names.push(preset.name);
        }
        Genres { terms: builder.build(), names }
    }
    pub fn len(&self) -> usize {
        self.names.len()
    }
    pub fn name(&self, genre: usize) -> &'static str {
        self.names.get(genre).copied().unwrap_or("")
    }

    /// `Σ_{i ∈ X∩G} 1 / |G|` of some text, for each genre.
    fn of_words(&self, pieces: &[&[Token]], doc: &Doc) -> Vec<f64> {
        let mut out = vec![0.0; self.len()];
        // Most anchors and URLs have none of the words: that is soon seen.
        if out.is_empty() || self.terms.first_in(pieces).is_none() {
            return out;
        }
        let found = self.terms.count(pieces, doc.language());
        for (genre, share) in out.iter_mut().enumerate() {
            let (mut hits, mut size) = (0u32, 0u32);
            for t in self.terms.active(genre, found.language()) {
                size += 1;
                hits += u32::from(found.count(t) > 0);
            }
            *share = f64::from(hits) / f64::from(size.max(1));
        }
        out
    }

    /// Cosine of the page with each genre's words, all of weight 1. `norm`: the length of the page's vector.
    pub fn of_page(&self, doc: &Doc, agent: &Agent, norm: f64) -> Vec<f64> {
        let mut out = vec![0.0; self.len()];
        if norm <= 0.0 || out.is_empty() {
            return out;
        }
        let found = self.terms.count(&doc.page_words(), doc.language());
        for (genre, cosine) in out.iter_mut().enumerate() {
            let (mut dot, mut size) = (0.0, 0.0);
            for t in self.terms.active(genre, found.language()) {
                size += 1.0;
                let n = found.count(t);
                if n > 0 {
                    dot += crate::text::vector::log_tf(n) * agent.idf(self.terms.hash(t));
                }
            }
            if size > 0.0 {
                *cosine = (dot / (norm * libm::sqrt(size))).min(1.0);
            }
        }
        out
    }
}

/// Reads the links of one page.
pub struct Reading<'a> {
    doc: &'a Doc,
    genres: &'a Genres,
    /// The last text around a link: many links stand in one sentence.
    span: Option<Span>,
    text: Vec<u32>,
    text_genres: Vec<f64>,
    text_score: f64,
}

/// A link, read: its words, its own part of `LS_T`, and of `LS_G` for each genre.
pub struct ReadLink {
    pub sets: Sets,
    pub own: f64,
    pub genres: Vec<f64>,
}

fn set(pieces: &[&[Token]], most: usize) -> Vec<u32> {
    let words = pieces.iter().flat_map(|p| p.iter()).filter(|t| !t.is_stop());
    let mut out: Vec<u32> = words.take(most).map(|t| t.hash as u32).collect();
    out.sort_unstable();
    out.dedup();
    out
}

impl<'a> Reading<'a> {
    pub fn new(doc: &'a Doc, genres: &'a Genres) -> Reading<'a> {
        Reading { doc, genres, span: None, text: Vec::new(), text_genres: Vec::new(), text_score: 0.0 }
    }

    pub fn link(&mut self, i: usize, link: &Link, agent: &Agent) -> ReadLink {
        let doc = self.doc;
        let anchor = [doc.anchor(link), doc.label(i)];
        let url = [doc.link_url(i)];
        if self.span != Some(link.context) {
            self.span = Some(link.context);
            // A very long sentence: the words nearest before and after the anchor.
            let tokens = doc.context(link);
            let at = tokens.partition_point(|t| t.start < link.anchor.start);
            let from = if tokens.len() > MOST_TEXT { at.saturating_sub(MOST_TEXT / 2) } else { 0 };
            let to = tokens.len().min(from + 2 * MOST_TEXT);
            let near = tokens.get(from..to).unwrap_or(&[]);
            self.text = set(&[near], MOST_TEXT);
            self.text_genres = self.genres.of_words(&[near], doc);
            self.text_score = agent.words_score(&self.text);
        }
        let sets =
            Sets { anchor: set(&anchor, MOST_ANCHOR), url: set(&url, MOST_URL), text: self.text.clone() };
        let mut genres = self.genres.of_words(&anchor, doc);
        let url = self.genres.of_words(&url, doc);
        for (sum, (url, text)) in genres.iter_mut().zip(url.iter().zip(&self.text_genres)) {
            *sum += url + text;
        }
        let own = agent.words_score(&sets.anchor) + agent.words_score(&sets.url) + self.text_score;
        ReadLink { sets, own, genres }
    }
}
