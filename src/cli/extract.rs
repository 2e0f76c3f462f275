//! `gleaner extract FILE|URL`: what is read from a page.

use super::setup::FetchFlags;
use super::source;
use crate::markdown;
use crate::text::{shorten, strip_controls};
use clap::Args as ClapArgs;
use console::style;
use crawl::documents::Documents;
use focus::text::{Doc, TextOptions};
use std::process::ExitCode;
use std::sync::Arc;
use types::{About, Page, Problem};

#[derive(ClapArgs, Debug)]
#[command(
    after_help = "Examples:\n  gleaner extract page.html\n  gleaner extract https://www.example.org/ --json"
)]
pub struct Args {
    /// A file or a URL
    source: String,
    #[command(flatten)]
    fetch: FetchFlags,
    /// Everything, as JSON
    #[arg(long)]
    json: bool,
    /// The text only
    #[arg(long)]
    text: bool,
    /// The page's own text only, as judges read it: without navigation, headers, footers and asides. (In a
    /// crawl, menus that many pages of the host have are left out as well.)
    #[arg(long, conflicts_with_all = ["text", "json"])]
    own: bool,
    /// The page's own text as Markdown, with headings, lists and links
    #[arg(long, conflicts_with_all = ["text", "json", "own"])]
    markdown: bool,
}

pub fn run(args: Args) -> Result<ExitCode, Problem> {
    let fetched = source::page(&args.source, &args.fetch, None)?;
    let (content_type, body) = fetched.readable();
    let x_robots_tag = fetched.header("x-robots-tag");
    let options = extract::Options::default();
    let options = options.for_answer(&fetched);
    let page = Documents::usual().read(&fetched.url, content_type, x_robots_tag, body, &options);
    let page = page.map_err(|e| Problem::new(format!("cannot read {}", args.source)).because(e))?;
    if args.json {
        let mut json =
            serde_json::to_value(&page).map_err(|e| Problem::new("cannot write JSON").because(e))?;
        if let Some(fields) = json.as_object_mut() {
            fields.insert("own_text".into(), own_text(&page).into());
        }
        println!("{json:#}");
    } else if args.text {
        println!("{}", page.text);
    } else if args.markdown {
        println!("{}", markdown::of_page(Arc::new(page), &fetched, None));
    } else if args.own {
        println!("{}", own_text(&page));
    } else {
        show(&page);
    }
    Ok(ExitCode::SUCCESS)
}

/// What a page says of itself, where it says something.
pub fn about_lines(about: &About) -> impl Iterator<Item = (&'static str, String)> {
    let all = [
        ("authors", about.authors.join("; ")),
        ("published", about.published.clone()),
        ("modified", about.modified.clone()),
        ("kind", about.kind.clone()),
        ("publisher", about.publisher.clone()),
    ];
    all.into_iter().filter(|(_, value)| !value.is_empty()).map(|(name, value)| (name, strip_controls(&value)))
}

/// As judges read it.
fn own_text(page: &Page) -> String {
    let doc = Doc::new(Arc::new(page.clone()), &TextOptions::default());
    let lines = doc.own_lines().map(|line| line.span.of(&doc.page.text).trim_end());
    lines.collect::<Vec<_>>().join("\n")
}

fn show(page: &Page) {
    let field = |name: &str, value: &str| {
        println!("{} {}", style(format!("{name:<12}")).dim(), strip_controls(value))
    };
    field("title", &page.title);
    field("description", &page.description);
    field("format", &format!("{:?}", page.kind));
    field("charset", &page.charset);
    field("language", &page.language);
    if let Some(url) = &page.canonical {
        field("canonical", url.as_str());
    }
    if let Some(url) = &page.refresh {
        field("refresh", url.as_str());
    }
    about_lines(&page.about).for_each(|(name, value)| field(name, &value));
    field("robots", &format!("noindex={} nofollow={}", page.robots.noindex, page.robots.nofollow));
    field(
        "size",
        &format!(
            "{} characters, {} DOM leaves, {} links",
            page.text.chars().count(),
            page.leaves.len(),
            page.links.len()
        ),
    );
    if page.cut {
        field("cut", "the parser's guard stopped early");
    }
    println!("\n{}", style("headings").bold());
    for h in &page.headings {
        println!(
            "{}{}",
            "  ".repeat(usize::from(h.level)),
            shorten(&strip_controls(h.span.of(&page.text)), 90)
        );
    }
    println!("\n{}", style("links").bold());
    for link in &page.links {
        let anchor = page.anchor(link);
        let anchor = if anchor.is_empty() { &link.label } else { anchor };
        println!("  {}  {}", style(link.url.as_str()).cyan(), strip_controls(anchor));
        println!(
            "      {:?}, {:?}, leaves {}–{}, {}",
            link.kind,
            link.region,
            link.first_leaf,
            link.last_leaf,
            style(shorten(&strip_controls(page.context(link)), 100)).dim()
        );
    }
    println!("\n{}", style("text").bold());
    println!("{}", page.text.lines().map(|l| strip_controls(l) + "\n").collect::<String>());
}
