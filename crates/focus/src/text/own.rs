//! A page's own text: its lines without navigation, headers, footers and asides, and without the menus that
//! stand on many pages of its host.
//!
//! [`Repeats`] remembers, per host, how many pages a line stood on. A line is part of a menu when it stood on
//! several earlier pages and either is long or has two neighbours of the same kind: a heading such as "Office
//! hours" that every course page has stands alone between lines of the page's own, and stays.

use super::Token;
use super::vector::Plain;
use std::collections::HashMap;
use types::{Page, Region, Span};

/// A line that stood on fewer earlier pages of the host is the page's own.
const FEWEST_PAGES: u32 = 3;
/// So is one that stood on less than one page in this many.
const ONE_IN: u32 = 20;
/// So many repeated lines in a row are a menu.
const MENU: usize = 3;
/// A repeated line of so many words is not the page's own, wherever it stands.
const LONG: usize = 8;
/// Regions are not believed when so many words of long lines stand in headers, footers, asides and
/// navigation, and at most one in `FEW` of that outside: a page may open a header and never close it.
const PROSE: usize = 60;
const FEW: usize = 5;
/// Pages of one host that are learnt from: a menu is known long before.
const PAGES_PER_HOST: u32 = 200;
/// Lines remembered per host. When they are full, lines seen once are forgotten.
const LINES_PER_HOST: usize = 1_000;
/// Lines remembered of all hosts. When they are full, the host met longest ago is forgotten.
const LINES: usize = 1_000_000;

/// One line of a page's text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    /// Where it is in the page's text.
    pub span: Span,
    /// Role of the part of the page it stands in.
    pub region: Region,
    /// Of its words; numbers count as one another, so that a date is no new line.
    pub hash: u32,
    words: u16,
}

/// The lines of a page that hold a word; `body` is its tokens.
pub fn lines(page: &Page, body: &[Token]) -> Vec<Line> {
    let mut out = Vec::new();
    let mut blocks = page.blocks.iter().peekable();
    let mut region = Region::Body;
    let (mut start, mut rest) = (0, body);
    for text in page.text.split_inclusive('\n') {
        while let Some(block) = blocks.next_if(|b| b.span.start as usize <= start) {
            region = block.region;
        }
        let end = start + text.len();
        let n = rest.iter().take_while(|t| (t.start as usize) < end).count();
        let (words, later) = rest.split_at(n);
        if n > 0 {
            let (hash, words) = (fingerprint(words, &page.text), u16::try_from(n).unwrap_or(u16::MAX));
            out.push(Line { span: Span::new(start, end), region, hash, words });
        }
        (start, rest) = (end, later);
    }
    out
}

/// Of the words of a line. Every number is as good as another.
fn fingerprint(words: &[Token], text: &str) -> u32 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for word in words {
        let first = text.as_bytes().get(word.start as usize).copied().unwrap_or(0);
        let word = if first.is_ascii_digit() { 0 } else { word.hash };
        hash = (hash.rotate_left(5) ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }
    (hash >> 32) as u32
}

/// Is what stands outside the page's body little, or no prose?
fn regions_are_believable(lines: &[Line]) -> bool {
    let words = |of: &dyn Fn(&Line) -> bool| -> usize {
        lines.iter().filter(|l| of(l)).map(|l| usize::from(l.words)).sum()
    };
    let outside = words(&|l| l.region != Region::Body && usize::from(l.words) >= LONG);
    outside < PROSE || FEW * words(&|l| l.region == Region::Body) > outside
}

/// Is a line that stood on `n` of a host's pages part of a menu?
fn is_menu(n: u32, pages: u32) -> bool {
    n >= FEWEST_PAGES && n * ONE_IN >= pages
}

/// What stands on the pages of each host.
#[derive(Default)]
pub struct Repeats {
    hosts: HashMap<u64, Host>,
    lines: usize,
    met: u64,
}

#[derive(Default)]
struct Host {
    pages: u32,
    /// Line → pages it stood on.
    lines: HashMap<u32, u16, Plain>,
    last_met: u64,
}

impl Repeats {
    /// Which of a page's lines are its own, given the pages of this host before it.
    pub fn own(&self, host: u64, lines: &[Line]) -> Vec<bool> {
        let known = self.hosts.get(&host);
        let repeated = |line: &Line| {
            known.is_some_and(|h| is_menu(h.lines.get(&line.hash).map_or(0, |n| u32::from(*n)), h.pages))
        };
        let believed = regions_are_believable(lines);
        let aside = |l: &Line| believed && l.region != Region::Body;
        let again: Vec<bool> = lines.iter().map(|l| aside(l) || repeated(l)).collect();
        let mut own = vec![true; lines.len()];
        let mut run = 0;
        for i in 0..=lines.len() {
            if again.get(i) == Some(&true) {
                run += 1;
                continue;
            }
            for at in i - run..i {
                let Some(line) = lines.get(at) else { continue };
                let alone = !aside(line) && run < MENU && usize::from(line.words) < LONG;
                if let Some(o) = own.get_mut(at) {
                    *o = alone;
                }
            }
            run = 0;
        }
        own
    }

    /// Remembers a page's lines. Returns those that were learnt from, for [`Repeats::learn`] after a restart.
    pub fn meet(&mut self, host: u64, lines: &[Line]) -> Vec<u32> {
        let mut hashes: Vec<u32> =
            lines.iter().filter(|l| l.region == Region::Body).map(|l| l.hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.truncate(LINES_PER_HOST);
        if self.hosts.get(&host).is_some_and(|h| h.pages >= PAGES_PER_HOST) {
            hashes.clear();
        }
        self.learn(host, &hashes);
        hashes
    }

    /// Takes a page's lines out again, so that it can be compared with the other pages of its host. Returns
    /// what to give to [`Repeats::learn`] afterwards; `None`: nobody knows whether it was learnt from.
    pub fn forget(&mut self, host: u64, lines: &[Line]) -> Option<Vec<u32>> {
        let h = self.hosts.get_mut(&host).filter(|h| (1..PAGES_PER_HOST).contains(&h.pages))?;
        h.pages -= 1;
        let mut hashes: Vec<u32> =
            lines.iter().filter(|l| l.region == Region::Body).map(|l| l.hash).collect();
        hashes.sort_unstable();
        hashes.dedup();
        hashes.retain(|hash| match h.lines.get_mut(hash) {
            Some(pages) if *pages > 0 => {
                *pages -= 1;
                true
            }
            _ => false,
        });
        Some(hashes)
    }

    /// Takes in the distinct lines of one page.
    pub fn learn(&mut self, host: u64, hashes: &[u32]) {
        self.met += 1;
        let h = self.hosts.entry(host).or_default();
        h.last_met = self.met;
        if h.pages >= PAGES_PER_HOST {
            return;
        }
        h.pages += 1;
        let before = h.lines.len();
        for hash in hashes {
            if h.lines.len() >= LINES_PER_HOST && !h.lines.contains_key(hash) {
                h.lines.retain(|_, pages| *pages > 1);
            }
            if h.lines.len() < LINES_PER_HOST || h.lines.contains_key(hash) {
                let pages = h.lines.entry(*hash).or_default();
                *pages = pages.saturating_add(1);
            }
        }
        if h.pages == PAGES_PER_HOST {
            // Nothing more is learnt of it: only its menus are asked for from now on.
            h.lines.retain(|_, pages| is_menu(u32::from(*pages), PAGES_PER_HOST));
            h.lines.shrink_to_fit();
        }
        self.lines = self.lines + h.lines.len() - before;
        while self.lines > LINES {
            let oldest = self.hosts.iter().min_by_key(|(_, h)| h.last_met).map(|(host, _)| *host);
            let Some(gone) = oldest.and_then(|host| self.hosts.remove(&host)) else { break };
            self.lines -= gone.lines.len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::Block;

    fn page(text: &str, nav: usize) -> Page {
        let block = |start, end, region| Block { span: Span::new(start, end), region };
        Page {
            text: text.into(),
            blocks: vec![block(0, nav, Region::Nav), block(nav, text.len(), Region::Body)],
            ..Page::default()
        }
    }

    fn lines(page: &Page) -> Vec<Line> {
        super::lines(page, &crate::text::TextOptions::default().tokens(&page.text))
    }

    fn own_text(repeats: &Repeats, page: &Page) -> Vec<String> {
        let lines = lines(page);
        let own = repeats.own(1, &lines);
        let kept = lines.iter().zip(own).filter(|(_, own)| *own);
        kept.map(|(l, _)| l.span.of(&page.text).trim().to_string()).collect()
    }

    /// A header that is never closed holds the whole page.
    #[test]
    fn regions_are_not_believed_when_all_prose_is_outside_the_body() {
        let prose = "one two three four five six seven eight nine ten\n".repeat(8);
        let p = page(&format!("{prose}Back home\n"), prose.len());
        assert_eq!(own_text(&Repeats::default(), &p).len(), 9);
        // A menu of short lines stays a menu, however long it is; so does a long header above a longer text.
        let menu = "Home\nCourses\n".repeat(60);
        assert_eq!(own_text(&Repeats::default(), &page(&format!("{menu}Hello\n"), menu.len())), ["Hello"]);
        let p = page(&format!("{prose}{prose}"), prose.len());
        assert_eq!(own_text(&Repeats::default(), &p).len(), 8);
    }

    #[test]
    fn a_page_is_taken_out_and_put_back() {
        let mut repeats = Repeats::default();
        let p = page("Home\nPeople\nCourses\nCS one\n", 0);
        for _ in 0..3 {
            repeats.meet(1, &lines(&p));
        }
        assert_eq!(own_text(&repeats, &p), Vec::<String>::new(), "all of it stood on three pages");
        let own = repeats.forget(1, &lines(&p)).unwrap();
        assert_eq!((own.len(), own_text(&repeats, &p).len()), (4, 4), "on two others only");
        repeats.learn(1, &own);
        assert_eq!(own_text(&repeats, &p), Vec::<String>::new());
        assert_eq!(repeats.forget(2, &lines(&p)), None, "a host that nobody met");
        let strange = page("Something else\n", 0);
        assert_eq!(repeats.forget(1, &lines(&strange)), Some(Vec::new()));
    }

    /// After its last page that is learnt from, a host's menus are as they were, and all else is let go.
    #[test]
    fn of_a_host_that_is_known_only_menus_are_kept() {
        let mut repeats = Repeats::default();
        let text =
            |n: u32| page(&format!("Home\nPeople\nCourses\nOnly on page {}\n", "x".repeat(n as usize)), 0);
        for n in 1..PAGES_PER_HOST {
            repeats.meet(1, &lines(&text(n)));
        }
        let before = own_text(&repeats, &text(7));
        assert_eq!(repeats.lines, PAGES_PER_HOST as usize + 2);
        repeats.meet(1, &lines(&text(PAGES_PER_HOST)));
        assert_eq!((repeats.lines, own_text(&repeats, &text(7))), (3, before));
    }

    #[test]
    fn navigation_is_not_the_page() {
        let p = page("Home Courses\nCS 1\nSyllabus\n", 13);
        assert_eq!(own_text(&Repeats::default(), &p), ["CS 1", "Syllabus"]);
    }

    #[test]
    fn a_menu_is_known_after_three_pages_and_a_heading_is_not_a_menu() {
        let mut repeats = Repeats::default();
        let text = |n: usize| {
            format!("Home\nPeople\nCourses\nCourse {}\nOffice hours\nRoom {}\n", "x".repeat(n), "y".repeat(n))
        };
        for n in 1..=3 {
            let p = page(&text(n), 0);
            assert_eq!(own_text(&repeats, &p).len(), 6, "page {n}");
            repeats.meet(1, &lines(&p));
        }
        let fourth = page(&text(4), 0);
        assert_eq!(own_text(&repeats, &fourth), ["Course xxxx", "Office hours", "Room yyyy"]);
        // Another host's pages are its own.
        assert!(repeats.own(2, &lines(&fourth)).iter().all(|own| *own));
    }

    #[test]
    fn a_long_line_that_repeats_is_not_the_page_and_a_date_is_no_new_line() {
        let mut repeats = Repeats::default();
        for n in 1..=3 {
            repeats.meet(
                1,
                &lines(&page(&format!("This page was last changed by the webmaster on {n} May\n"), 0)),
            );
        }
        let p = page("Home of robots\nThis page was last changed by the webmaster on 4 May\n", 0);
        assert_eq!(own_text(&repeats, &p), ["Home of robots"]);
    }

    #[test]
    fn what_is_remembered_is_bounded_and_the_same_after_a_restart() {
        let mut a = Repeats::default();
        let mut b = Repeats::default();
        for n in 0..300u32 {
            let text: String =
                (0..50).map(|i| format!("line {} of {}\n", "a".repeat(i), "b".repeat(n as usize))).collect();
            b.learn(7, &a.meet(7, &lines(&page(&text, 0))));
        }
        assert!(a.hosts[&7].lines.len() <= LINES_PER_HOST && a.hosts[&7].pages == PAGES_PER_HOST);
        assert_eq!(a.hosts[&7].lines, b.hosts[&7].lines);
        assert_eq!(a.lines, b.lines);
    }
}
