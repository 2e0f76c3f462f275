//! Plain text → [`Page`]: one leaf, lines kept. Markdown → HTML → [`Page`].

use crate::text::Text;
use crate::{Options, charset, html, office};
use pulldown_cmark::{Event, Options as Dialect, Parser, Tag, TagEnd};
use types::{Block, Leaf, Page, PageKind, Region, Span, Url};

/// Longest title taken from a first line.
const MAX_TITLE: usize = 200;

pub fn plain(url: &Url, content_type: Option<&str>, body: &[u8], options: &Options, page: Page) -> Page {
    // Collapsing never makes text longer, decoding at most three times as long.
    let part = body.get(..options.max_text.saturating_mul(4).max(1 << 16)).unwrap_or(body);
    let (text, charset) = charset::decode(part, content_type, url.host());
    let page = Page { kind: PageKind::Text, charset: charset.into(), cut: part.len() < body.len(), ..page };
    from_text(&text, options, page)
}

/// A page whose text is `text`, as one leaf in one block.
pub fn from_text(text: &str, options: &Options, mut page: Page) -> Page {
    let mut out = Text::new(options.max_text);
    let span = out.push(text, true);
    page.cut |= out.full;
    page.text = out.finish();
    if !span.is_empty() {
        page.blocks.push(Block { span: Span::new(0, page.text.len()), region: Region::Body });
        page.leaves.push(Leaf { span });
    }
    if page.title.is_empty() {
        let line = page.text.lines().next().unwrap_or("");
        page.title = line[..line.floor_char_boundary(MAX_TITLE)].to_string();
    }
    html::finish(&mut page, options);
    page
}

/// Text with the marks of Markdown, read as the HTML it stands for. A `title:` in front of it is its title.
pub fn markdown(url: &Url, content_type: Option<&str>, body: &[u8], options: &Options, page: Page) -> Page {
    let limit = office::markup_limit(options);
    let part = body.get(..limit).unwrap_or(body);
    let (text, charset) = charset::decode(part, content_type, url.host());
    let mut page =
        Page { kind: PageKind::Markdown, charset: charset.into(), cut: part.len() < body.len(), ..page };
    let dialect = Dialect::ENABLE_TABLES
        | Dialect::ENABLE_FOOTNOTES
        | Dialect::ENABLE_STRIKETHROUGH
        | Dialect::ENABLE_TASKLISTS
        | Dialect::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let mut in_front = false;
    let mut title = String::new();
    let events = Parser::new_ext(&text, dialect).filter(|event| {
        match event {
            Event::Start(Tag::MetadataBlock(_)) => in_front = true,
            Event::End(TagEnd::MetadataBlock(_)) => in_front = false,
            Event::Text(text) if in_front => {
                let line = text.lines().find_map(|l| l.strip_prefix("title:"));
                title = line.unwrap_or("").trim().trim_matches(['"', '\'']).to_string();
            }
            _ => return !in_front,
        }
        false
    });
    let mut markup = String::new();
    pulldown_cmark::html::push_html(&mut markup, events);
    page.title = crate::text::collapsed(&title, MAX_TITLE);
    office::from_markup(&markup, url, options, page)
}
