//! A page with its words: what judges and strategies read. Built once per page, shared by all of them.

use super::own::{self, Line, Repeats};
use super::vector::Counts;
use super::{Language, TextOptions, Token, url_tokens, words};
use std::sync::{Arc, OnceLock};
use types::{Features, Link, Page, Span};

/// A page and its tokens.
///
/// The cheap parts are made at once; what only some strategies want ([`Parts`]) on first use, or by
/// [`Doc::prepare`]: the thread pool does that before the serial step.
pub struct Doc {
    /// As extraction made it.
    pub page: Arc<Page>,
    options: TextOptions,
    language: Option<Language>,
    body: Vec<Token>,
    title: Vec<Token>,
    url: Vec<Token>,
    leaves: OnceLock<Vec<u32>>,
    links: OnceLock<LinkWords>,
    counts: OnceLock<Counts>,
    lines: OnceLock<Vec<Line>>,
    own: OnceLock<Vec<bool>>,
    in_links: OnceLock<InLinks>,
}

/// Where a page was linked from before it was fetched. A judge may read it like a field of the page.
#[derive(Clone, Debug, Default)]
pub struct InLinks {
    /// The texts of the links.
    pub anchors: Vec<Box<str>>,
    /// What the judge kept of the pages they stand on, as far as it saw them.
    pub pages: Vec<Features>,
    /// The titles of those pages, where somebody will be told the reasons.
    pub titles: Vec<Box<str>>,
}

/// What not everybody reads of a [`Doc`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Parts {
    /// [`Doc::counts`].
    pub counts: bool,
    /// [`Doc::label`] and [`Doc::link_url`].
    pub links: bool,
    /// [`Doc::leaves`].
    pub leaves: bool,
}

impl Parts {
    /// No part.
    pub const NONE: Parts = Parts { counts: false, links: false, leaves: false };
    /// How often each word stands on the page.
    pub const COUNTS: Parts = Parts { counts: true, ..Parts::NONE };
    /// The words of link labels and addresses.
    pub const LINKS: Parts = Parts { links: true, ..Parts::NONE };
    /// Both of these.
    pub const COUNTS_AND_LINKS: Parts = Parts { counts: true, links: true, leaves: false };
    /// Every part.
    pub const ALL: Parts = Parts { counts: true, links: true, leaves: true };
}

/// Words of every link's label and URL, one flat list each.
struct LinkWords {
    labels: Vec<Token>,
    label_ends: Vec<u32>,
    urls: Vec<Token>,
    url_ends: Vec<u32>,
}

impl Doc {
    /// Tokenises title, visible text and URL.
    pub fn new(page: Arc<Page>, options: &TextOptions) -> Doc {
        let language = Language::from_code(&page.language);
        let mut body = Vec::with_capacity(page.text.len() / 6);
        options.tokenise(&page.text, language, &mut body);
        let mut title = Vec::new();
        options.tokenise(&page.title, language, &mut title);
        let mut url = Vec::new();
        if let Some(u) = &page.url {
            url_tokens(u, &mut url);
            options.stem_url(u.as_str(), &mut url);
        }
        Doc {
            page,
            options: *options,
            language,
            body,
            title,
            url,
            leaves: OnceLock::new(),
            links: OnceLock::new(),
            counts: OnceLock::new(),
            lines: OnceLock::new(),
            own: OnceLock::new(),
            in_links: OnceLock::new(),
        }
    }

    /// Makes what is otherwise made on first use.
    pub fn prepare(&self, parts: Parts) {
        if parts.leaves {
            self.leaves();
        }
        if parts.links {
            self.links();
        }
        if parts.counts {
            self.counts();
        }
    }

    /// The language, when it is one we know.
    pub fn language(&self) -> Option<Language> {
        self.language
    }
    /// Tokens of the visible text.
    pub fn body(&self) -> &[Token] {
        &self.body
    }
    /// Tokens of the title.
    pub fn title(&self) -> &[Token] {
        &self.title
    }
    /// Tokens of the page's own URL.
    pub fn url(&self) -> &[Token] {
        &self.url
    }
    /// What counts as the page's words: title and visible text. Phrases do not cross from one to the other.
    pub fn page_words(&self) -> [&[Token]; 2] {
        [&self.title, &self.body]
    }
    /// How often each word that is not a stopword stands on the page (title included).
    pub fn counts(&self) -> &Counts {
        self.counts.get_or_init(|| Counts::of(&self.page_words()))
    }

    /// The lines of the text that hold a word.
    pub fn lines(&self) -> &[Line] {
        self.lines.get_or_init(|| own::lines(&self.page, &self.body))
    }
    /// Leaves the menus of the page's host out of [`Doc::own_lines`]. Has no effect once these were read.
    pub fn leave_out(&self, repeats: &Repeats, host: u64) {
        self.own.get_or_init(|| repeats.own(host, self.lines()));
    }
    /// The lines that are the page's own: without navigation, and without what [`Doc::leave_out`] left out.
    /// All lines when none would be left.
    pub fn own_lines(&self) -> impl Iterator<Item = &Line> {
        let own = self.own.get_or_init(|| Repeats::default().own(0, self.lines()));
        let none = !own.contains(&true);
        self.lines().iter().zip(own).filter(move |(_, own)| **own || none).map(|(line, _)| line)
    }

    /// Says where the page was linked from. Has no effect once it was said or read.
    pub fn linked_from(&self, links: InLinks) {
        self.in_links.get_or_init(|| links);
    }
    /// Where the page was linked from, as far as that was said.
    pub fn in_links(&self) -> &InLinks {
        self.in_links.get_or_init(InLinks::default)
    }
    /// Tokens of a text about the page, in its language.
    pub fn tokens(&self, text: &str) -> Vec<Token> {
        let mut out = Vec::new();
        self.options.tokenise(text, self.language, &mut out);
        out
    }

    /// Tokens of the visible text that begin inside `span`.
    pub fn within(&self, span: Span) -> &[Token] {
        let from = self.body.partition_point(|t| t.start < span.start);
        let to = self.body.partition_point(|t| t.start < span.end);
        self.body.get(from..to).unwrap_or(&[])
    }
    /// Tokens of the link's visible text.
    pub fn anchor(&self, link: &Link) -> &[Token] {
        self.within(link.anchor)
    }
    /// The sentence(s) around the link, its anchor included.
    pub fn context(&self, link: &Link) -> &[Token] {
        self.within(link.context)
    }
    /// The nearest heading before the link.
    pub fn heading(&self, link: &Link) -> &[Token] {
        let heading = link.heading.and_then(|h| self.page.headings.get(h as usize));
        heading.map_or(&[], |h| self.within(h.span))
    }
    /// Tokens of what is said of the `i`th link but not shown: `title`, `alt` …
    pub fn label(&self, i: usize) -> &[Token] {
        let links = self.links();
        piece(&links.labels, &links.label_ends, i)
    }
    /// Tokens of the `i`th link's URL.
    pub fn link_url(&self, i: usize) -> &[Token] {
        let links = self.links();
        piece(&links.urls, &links.url_ends, i)
    }

    /// The DOM leaf of each body token, as an index into [`Page::leaves`]; a token outside every
    /// leaf belongs to the nearest one before it.
    pub fn leaves(&self) -> &[u32] {
        self.leaves.get_or_init(|| {
            // Leaves without text have empty spans anywhere: only those with text own tokens.
            let mut starts: Vec<(u32, u32)> = Vec::with_capacity(self.page.leaves.len());
            for (number, leaf) in self.page.leaves.iter().enumerate() {
                if !leaf.span.is_empty() {
                    starts.push((leaf.span.start, number as u32));
                }
            }
            starts.sort_unstable();
            let mut at = 0;
            let mut owner = starts.first().map_or(0, |s| s.1);
            let of = |t: &Token| {
                while let Some(&(start, number)) = starts.get(at)
                    && start <= t.start
                {
                    owner = number;
                    at += 1;
                }
                owner
            };
            self.body.iter().map(of).collect()
        })
    }

    /// The normalised spelling of a body token (before stemming).
    pub fn word(&self, token: Token) -> String {
        words::normalise(token.span().of(&self.page.text))
    }

    fn links(&self) -> &LinkWords {
        self.links.get_or_init(|| {
            let n = self.page.links.len();
            let mut w = LinkWords {
                labels: Vec::new(),
                label_ends: Vec::with_capacity(n),
                urls: Vec::with_capacity(n * 6),
                url_ends: Vec::with_capacity(n),
            };
            for link in &self.page.links {
                self.options.tokenise(&link.label, self.language, &mut w.labels);
                w.label_ends.push(w.labels.len() as u32);
                let from = w.urls.len();
                url_tokens(&link.url, &mut w.urls);
                self.options.stem_url(link.url.as_str(), w.urls.get_mut(from..).unwrap_or(&mut []));
                w.url_ends.push(w.urls.len() as u32);
            }
            w
        })
    }
}

fn piece<'a>(tokens: &'a [Token], ends: &[u32], i: usize) -> &'a [Token] {
    let start = if i == 0 { 0 } else { ends.get(i - 1).copied().unwrap_or(0) };
    let end = ends.get(i).copied().unwrap_or(start);
    tokens.get(start as usize..end as usize).unwrap_or(&[])
}

#[cfg(test)]
mod tests {
    use super::*;
    use types::{Leaf, LinkKind, Region, Rel};

    fn page() -> Page {
        let text = "The Courses\nSee operating systems here.";
        let canon = types::Canon::exact();
        let anchor = text.find("operating").unwrap();
        Page {
            url: canon.parse("http://e.org/Courses/").ok(),
            language: "en".into(),
            title: "All courses".into(),
            text: text.into(),
            leaves: vec![
                Leaf { span: Span::new(0, 11) },
                Leaf { span: Span::default() },
                Leaf { span: Span::new(12, anchor - 1) },
                Leaf { span: Span::new(anchor, anchor + 17) },
                Leaf { span: Span::new(anchor + 17, text.len()) },
            ],
            links: vec![types::Link {
                url: canon.parse("http://e.org/os").unwrap(),
                kind: LinkKind::Anchor,
                anchor: Span::new(anchor, anchor + 17),
                label: "Course page".into(),
                rel: Rel::default(),
                region: Region::Body,
                context: Span::new(12, text.len()),
                heading: None,
                path: 0,
                first_leaf: 3,
                last_leaf: 3,
            }],
            ..Page::default()
        }
    }

    fn spell(doc: &Doc, tokens: &[Token]) -> Vec<String> {
        tokens.iter().map(|t| doc.word(*t)).collect()
    }

    #[test]
    fn parts_of_a_page() {
        let doc = Doc::new(Arc::new(page()), &TextOptions::default());
        let link = &doc.page.links[0];
        assert_eq!(spell(&doc, doc.anchor(link)), ["operating", "systems"]);
        assert_eq!(spell(&doc, doc.context(link)), ["see", "operating", "systems", "here"]);
        assert_eq!(doc.leaves(), [0, 0, 2, 3, 3, 4]);
        assert_eq!(doc.label(0).len(), 2);
        assert_eq!(doc.link_url(0).len(), 3);
        assert_eq!(doc.label(9).len(), 0);
        assert!(doc.body()[0].is_stop());
        // `courses` twice (title and text); `the`, `all` and `here` are stopwords.
        assert_eq!(doc.counts().get(words::word_hash("courses")), 2);
        assert_eq!(doc.counts().len(), 4);
    }

    #[test]
    fn an_empty_page_is_a_page() {
        let doc = Doc::new(Arc::new(Page::default()), &TextOptions::default());
        doc.prepare(Parts::ALL);
        assert!(doc.body().is_empty() && doc.counts().is_empty() && doc.leaves().is_empty());
        assert!(doc.within(Span::new(5, 2)).is_empty());
    }

    #[test]
    fn shared_between_threads() {
        fn shared<T: Send + Sync>() {}
        shared::<Doc>();
    }
}
