//! Many pages from anywhere: files, the live web, a recorded web, a collection.

use clap::Args;
use crawl::collection::Collection;
use crawl::config::Config;
use crawl::documents::Documents;
use crawl::reader::Reader;
use crawl::stored;
use eval::webs::{self, Recorded};
use fetch::Http;
use focus::text::{Doc, TextOptions};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use types::{Canon, Fetched, Format, Millis, PageKind, Payload, Problem, Request, Url, UrlId, Web};

/// Where pages are taken from instead of the live web.
#[derive(Args, Debug, Default, Clone)]
pub struct PageSourceArgs {
    /// Take pages from this recorded web instead of the live one
    #[arg(long, value_name = "PATH", conflicts_with = "collection")]
    pub web: Option<String>,
    /// Take pages from this collection, without fetching anything
    #[arg(long, value_name = "DIR")]
    pub collection: Option<PathBuf>,
}

/// A source of pages.
pub struct Pages {
    place: Place,
    live: LiveWeb,
    canon: Canon,
    redirects: u8,
}

enum Place {
    Live,
    Web(Arc<dyn Recorded>),
    Collection(Box<Reader>),
}

/// The live web, politely: one request at a time, a pause per host.
struct LiveWeb {
    web: Http,
    runtime: tokio::runtime::Runtime,
    delay: std::time::Duration,
    last: RefCell<HashMap<String, Instant>>,
}

impl LiveWeb {
    fn answer(&self, url: &Url) -> Fetched {
        let host = url.host_key().to_string();
        let waited = self.last.borrow().get(&host).map(Instant::elapsed);
        if let Some(waited) = waited
            && waited < self.delay
        {
            std::thread::sleep(self.delay - waited);
        }
        let fetched = self.runtime.block_on(self.web.fetch(&Request::page(url.clone())));
        self.last.borrow_mut().insert(host, Instant::now());
        fetched
    }
}

impl Pages {
    /// `config`: the topic's settings, or the flags' alone.
    pub fn open(from: &PageSourceArgs, config: &Config) -> Result<Pages, Problem> {
        let place = match (&from.web, &from.collection) {
            (Some(spec), _) => {
                if !spec.starts_with("sim:") && !Path::new(spec).exists() {
                    return Err(Problem::usage(format!("there is no web at {spec}"))
                        .hint("name a folder HOST/PATH…, a WARC file or a folder of them"));
                }
                Place::Web(webs::open(spec, eval::cache::default_folder().as_deref())?.web)
            }
            (None, Some(dir)) => Place::Collection(Box::new(Reader::open(dir)?)),
            (None, None) => Place::Live,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| Problem::new("cannot start the network").because(e))?;
        let live = LiveWeb {
            web: Http::new(Collection::fetch_settings(config)?)?,
            runtime,
            delay: config.fetch.delay.0,
            last: RefCell::default(),
        };
        let canon = match &place {
            Place::Web(_) => Canon::exact(),
            _ => Collection::canon(config),
        };
        Ok(Pages { place, live, canon, redirects: config.limits.redirects })
    }

    pub fn canon(&self) -> &Canon {
        &self.canon
    }
    pub fn web(&self) -> Option<&dyn Recorded> {
        match &self.place {
            Place::Web(web) => Some(web.as_ref()),
            _ => None,
        }
    }
    pub fn reader(&self) -> Option<&Reader> {
        match &self.place {
            Place::Collection(reader) => Some(reader),
            _ => None,
        }
    }

    /// One hop.
    pub fn answer(&self, url: &Url) -> Result<Fetched, Problem> {
        match &self.place {
            Place::Live => Ok(self.live.answer(url)),
            Place::Web(web) => Ok(web.answer(url)),
            Place::Collection(reader) => match reader.ledger().find(url)? {
                Some(id) => self.stored(reader, id),
                None => Ok(missing(url)),
            },
        }
    }

    fn stored(&self, reader: &Reader, id: UrlId) -> Result<Fetched, Problem> {
        match reader.record(id)? {
            Some(record) => Ok(stored::answer(reader.archive(), &**reader.ledger(), &record)?.fetched),
            None => Ok(missing(&reader.ledger().url(id)?)),
        }
    }

    /// For example pages of a topic: those that a collection does not have are fetched.
    pub fn answer_or_fetch(&self, url: &Url) -> Result<Fetched, Problem> {
        let found = self.answer(url)?;
        let absent = matches!(self.place, Place::Collection(_)) && found.status == 404;
        Ok(if absent { self.live.answer(url) } else { found })
    }

    /// A file or a URL, redirects followed; a Problem when it is not a page.
    pub fn page(&self, name: &str) -> Result<Fetched, Problem> {
        if !name.contains("://") && Path::new(name).is_file() {
            return file(Path::new(name));
        }
        not_a_missing_file(name)?;
        let mut url = self.canon.parse_typed(name).map_err(|e| {
            Problem::usage(format!("`{name}` is neither a file nor a URL"))
                .because(e)
                .hint("name a file, or a URL like https://www.example.org/")
        })?;
        for _ in 0..=self.redirects {
            let fetched = self.answer(&url)?;
            if fetched.is_redirect()
                && let Some(Ok(target)) = fetched.location.as_deref().map(|l| self.canon.join(&url, l))
            {
                url = target;
                continue;
            }
            if let Some(failure) = &fetched.failure {
                return Err(Problem::new(format!("cannot fetch {url}"))
                    .because(failure)
                    .hint(guard_hint(failure)));
            }
            if (200..300).contains(&fetched.status) {
                return Ok(fetched);
            }
            return Err(match &self.place {
                Place::Live => Problem::new(format!("{url} answered with status {}", fetched.status))
                    .hint("`gleaner fetch URL` shows every hop and header"),
                Place::Web(_) => Problem::new(format!("{url} is not in the recorded web")),
                Place::Collection(r) => Problem::new(format!("{url} is not a page of {}", r.dir().display()))
                    .hint("`gleaner export DIR --all` lists its pages"),
            });
        }
        Err(Problem::new(format!("{name} redirects without end")))
    }
}

fn missing(url: &Url) -> Fetched {
    let mut fetched = Fetched::empty(url.clone(), Millis(0));
    fetched.status = 404;
    fetched
}

/// The page of an answer, with its words.
pub fn doc(fetched: &Fetched, options: &extract::Options, text: &TextOptions) -> Result<Doc, Problem> {
    let page = match &fetched.payload {
        Payload::Page(page) => page.clone(),
        payload => {
            let page = Documents::usual().read(
                &fetched.url,
                fetched.header("content-type"),
                fetched.header("x-robots-tag"),
                payload.decoded(),
                options,
            );
            Arc::new(page.map_err(|e| Problem::new(format!("cannot read {}", fetched.url)).because(e))?)
        }
    };
    if page.kind == PageKind::Opaque {
        return Err(Problem::new(format!("{} is not a page that can be read", fetched.url)).because(
            match fetched.media_type().as_str() {
                "" => "its type is not known".to_string(),
                media => format!("its type is {media}"),
            },
        ));
    }
    Ok(Doc::new(page, text))
}

/// What is meant to be a file and is none must not be looked for on the Web.
pub fn not_a_missing_file(text: &str) -> Result<(), Problem> {
    let path = Path::new(text);
    if text.contains("://") || !(looks_like_a_path(text) || path.exists()) {
        return Ok(());
    }
    let what = match path.is_dir() {
        true => format!("`{text}` is a folder"),
        false if path.exists() => format!("`{text}` is not an ordinary file"),
        false => format!("there is no file `{text}`"),
    };
    Err(Problem::usage(what).hint("check the path; a URL begins with http:// or https://"))
}

/// `example.org/page.html` may be either; nobody means a host by `/tmp/page.html`, `./page` or `page.html`.
fn looks_like_a_path(text: &str) -> bool {
    const ENDINGS: &[&str] = &["html", "htm", "xhtml", "xml"];
    let ending = Path::new(text).extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
    let known = ENDINGS.contains(&ending.as_str()) || Format::of_extension(&ending).is_some();
    let bare = !text.contains(['/', ':']) && known;
    bare || ["/", "./", "../", "~"].iter().any(|start| text.starts_with(start))
}

pub fn guard_hint(failure: &types::Failure) -> &'static str {
    match failure {
        types::Failure::Guarded(_) => {
            "this address is not on the public internet; --allow-private lifts the guard"
        }
        types::Failure::Dns(_) => "check the spelling of the host name and your connection",
        _ => "`gleaner fetch URL` shows every hop and header",
    }
}

pub fn file(path: &Path) -> Result<Fetched, Problem> {
    let bytes = std::fs::read(path).map_err(|e| Problem::io("read", path, &e))?;
    let name = path.file_name().map_or_else(|| "file".into(), |n| n.to_string_lossy());
    let url: Url = Canon::default()
        .parse("http://localhost/")
        .and_then(|base| Canon::default().join(&base, &name.replace(['?', '#', '%', ':'], "-")))
        .map_err(|e| Problem::new(format!("cannot name {}", path.display())).because(e))?;
    let content_type =
        match path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase().as_str() {
            "html" | "htm" => "text/html",
            "xhtml" => "application/xhtml+xml",
            "xml" => "application/xml",
            ending => Format::of_extension(ending).and_then(|f| f.media_types.first()).unwrap_or(&""),
        };
    let mut fetched = Fetched::empty(url, Millis(0));
    fetched.status = 200;
    if !content_type.is_empty() {
        fetched.headers.push(("content-type".into(), content_type.into()));
    }
    fetched.wire_bytes = bytes.len() as u64;
    fetched.payload = Payload::plain(bytes);
    Ok(fetched)
}
