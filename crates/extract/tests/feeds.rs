//! Sitemaps and feeds.

use gleaner_extract::{Options, extract};
use std::io::Write;
use types::{Canon, LinkKind, Page, PageKind};

fn read(content_type: Option<&str>, body: &[u8]) -> Page {
    let url = Canon::default().parse("http://example.org/sitemap.xml").unwrap();
    extract(&url, content_type, None, body, &Options::default())
}

fn hrefs(page: &Page) -> Vec<&str> {
    page.links.iter().map(|l| l.url.as_str()).collect()
}

const URLSET: &str = "<?xml version='1.0' encoding='UTF-8'?>
<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9' xmlns:news='n' xmlns:image='i'>
 <url><loc> http://example.org/a?x=1&amp;y=2 </loc><lastmod>2020-01-01</lastmod>
  <image:image><image:loc>http://example.org/i.png</image:loc></image:image></url>
 <url><loc><![CDATA[http://example.org/b]]></loc><news:news><news:title>News &amp; more</news:title></news:news></url>
 <url><loc>mailto:x</loc></url><url></url>
</urlset>";

#[test]
fn sitemap() {
    let p = read(Some("application/xml"), URLSET.as_bytes());
    assert_eq!(p.kind, PageKind::Sitemap);
    assert_eq!(hrefs(&p), ["http://example.org/a?x=1&y=2", "http://example.org/b"]);
    assert!(p.links.iter().all(|l| l.kind == LinkKind::Sitemap));
    assert_eq!(&*p.links[1].label, "News & more");
    assert_eq!(p.anchor(&p.links[1]), "News & more");
    assert!(!p.cut);
}

#[test]
fn sitemap_index_and_text_and_gzip() {
    let index = "<sitemapindex><sitemap><loc>http://example.org/s1.xml.gz</loc></sitemap></sitemapindex>";
    assert_eq!(hrefs(&read(Some("text/xml"), index.as_bytes())), ["http://example.org/s1.xml.gz"]);
    let text = "http://example.org/a\r\nhttp://example.org/b\n\n";
    assert_eq!(
        hrefs(&read(Some("text/plain"), text.as_bytes())),
        ["http://example.org/a", "http://example.org/b"]
    );
    let mut zip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    zip.write_all(URLSET.as_bytes()).unwrap();
    let zip = zip.finish().unwrap();
    for content_type in [None, Some("application/x-gzip"), Some("application/gzip"), Some("application/xml")]
    {
        assert_eq!(read(content_type, &zip).links.len(), 2, "{content_type:?}");
    }
    // A file that breaks off gives what was there.
    let p = read(None, &zip[..zip.len() - 20]);
    assert_eq!(p.kind, PageKind::Sitemap);
}

#[test]
fn a_sitemap_may_hold_more_links_than_a_page() {
    let urls: String = (0..5_000).map(|i| format!("<url><loc>http://example.org/{i}</loc></url>")).collect();
    assert_eq!(read(Some("text/xml"), format!("<urlset>{urls}</urlset>").as_bytes()).links.len(), 5_000);
}

#[test]
fn broken_xml_gives_what_was_read() {
    let p = read(Some("text/xml"), b"<urlset><url><loc>http://example.org/a</loc></url><url><loc>http://e");
    assert_eq!(hrefs(&p), ["http://example.org/a"]);
    let p = read(Some("text/xml"), b"<urlset><url><loc>http://example.org/a&b=1</loc></wrong></url>");
    assert_eq!(p.links.len(), 1);
    read(Some("text/xml"), b"<urlset><url <<<< &&&& ]]> <![CDATA[ <!-- <?");
}

#[test]
fn rss() {
    let p = read(
        Some("application/rss+xml"),
        "<rss version='2.0' xmlns:content='c' xmlns:atom='a'><channel><title>The \
         &lt;b&gt;News&lt;/b&gt;</title>
         <link>http://example.org/</link><description>All of it</description><language>en-us</language>
         <atom:link href='http://example.org/feed' rel='self'/>
         <item><title>First &amp;amp; best</title><link>http://example.org/1</link>
          <description><![CDATA[<p>Some <b>bold</b> text &amp; more.</p>]]></description></item>
         <item><title>Second</title><guid>http://example.org/2</guid></item>
         <item><title>Third</title><guid isPermaLink='false'>http://example.org/3</guid></item>
        </channel></rss>"
            .as_bytes(),
    );
    assert_eq!((p.kind, p.title.as_str(), p.description.as_str()), (PageKind::Feed, "The News", "All of it"));
    assert_eq!(p.language, "en");
    assert_eq!(hrefs(&p), ["http://example.org/1", "http://example.org/2"]);
    assert_eq!(&*p.links[0].label, "First & best");
    assert_eq!(p.context(&p.links[0]), "First & best\nSome bold text & more.");
    assert_eq!(p.text, "First & best\nSome bold text & more.\nSecond\nThird");
    assert_eq!(p.leaves[p.links[1].first_leaf as usize].span.of(&p.text), "Second");
}

#[test]
fn atom() {
    let p = read(
        Some("application/atom+xml"),
        "<feed xmlns='http://www.w3.org/2005/Atom'><title>Blog</title><link href='/' rel='alternate'/>
         <entry><title type='html'>A &lt;i&gt;post&lt;/i&gt;</title><link rel='edit' href='/edit'/>
          <link href='/post?a=1&amp;b=2'/><summary>About it</summary></entry></feed>"
            .as_bytes(),
    );
    assert_eq!(p.title, "Blog");
    assert_eq!(hrefs(&p), ["http://example.org/post?a=1&b=2"]);
    assert_eq!((p.links[0].kind, &*p.links[0].label), (LinkKind::Feed, "A post"));
}
