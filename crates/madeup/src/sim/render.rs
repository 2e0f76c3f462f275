//! Generated pages as HTML: real markup (navigation, main, lists, aside, footer), text drawn from the page's
//! subject, genre and language.

use super::SimWeb;
use super::layout::{About, Place, Role, Target};
use super::words::{GENRES, LANGUAGES, RELATED, SUBJECTS, rare, zipf};
use learn::rng::{Rng, unit};
use std::fmt::Write;
use types::Millis;

/// What the words of a page are drawn from.
struct Voice {
    subject: u8,
    genre: u8,
    language: usize,
    /// Dialect of the topic (drift), as a rotation of the subject's list.
    turn: usize,
    drift: f64,
    /// Share of words from the subject and from the genre.
    on_subject: f64,
    on_genre: f64,
}

impl Voice {
    fn of(web: &SimWeb, a: &About) -> Voice {
        let o = &web.layout.o;
        let s = web.layout.section(a.section);
        // How clearly a page speaks of its subject varies from page to page.
        let clear = 0.4 + 0.6 * unit(web.layout.hash(60, a.copy_of.unwrap_or(a.id) as u64, 0));
        let plain = (1.0 - o.noise).max(0.0) * clear;
        let lists = if a.role == Role::Leaf { 1.0 } else { 0.5 };
        Voice {
            subject: a.subject,
            genre: a.genre,
            language: a.language as usize % LANGUAGES.len(),
            turn: if a.subject == 0 { s.centre as usize * 11 } else { 0 },
            drift: if a.subject == 0 { o.drift } else { 0.0 },
            on_subject: 0.20 * plain * lists,
            on_genre: 0.09 * plain * lists,
        }
    }

    fn subject_term(&self, rng: &mut Rng) -> String {
        let terms = SUBJECTS[self.subject as usize % SUBJECTS.len()].terms;
        let r = zipf(rng, terms.len());
        if self.language != 0 {
            // Other languages have their own words for it.
            return rare(&LANGUAGES[self.language], 1000 + self.subject as u64, r as u64);
        }
        if rng.unit() < self.drift {
            if r.is_multiple_of(3) {
                return rare(&LANGUAGES[0], 500 + self.turn as u64, r as u64);
            }
            return terms[(r + self.turn) % terms.len()].to_string();
        }
        terms[r].to_string()
    }

    fn genre_term(&self, rng: &mut Rng) -> String {
        let terms = GENRES[self.genre as usize % GENRES.len()].terms;
        let r = zipf(rng, terms.len());
        if self.language != 0 {
            return rare(&LANGUAGES[self.language], 2000 + self.genre as u64, r as u64);
        }
        terms[r].to_string()
    }

    fn word(&self, rng: &mut Rng) -> String {
        let language = &LANGUAGES[self.language];
        let u = rng.unit();
        if u < self.on_subject {
            self.subject_term(rng)
        } else if u < self.on_subject + self.on_genre {
            self.genre_term(rng)
        } else if u < self.on_subject + self.on_genre + 0.42 {
            language.function[zipf(rng, language.function.len())].to_string()
        } else if rng.unit() < 0.12 {
            let k = zipf(rng, 4000) as u64;
            rare(language, 7, k)
        } else {
            language.general[zipf(rng, language.general.len())].to_string()
        }
    }

    fn sentence(&self, rng: &mut Rng, out: &mut String) {
        let words = 6 + rng.below(12);
        for i in 0..words {
            let w = self.word(rng);
            if i == 0 {
                out.push_str(&capital(&w));
            } else {
                out.push_str(if i == words / 2 && words > 12 { ", " } else { " " });
                out.push_str(&w);
            }
        }
        out.push_str(". ");
    }
}

fn capital(s: &str) -> String {
    let mut chars = s.chars();
    chars.next().map_or(String::new(), |c| c.to_uppercase().chain(chars).collect())
}

/// A title that says (mostly) what the page is.
pub fn title(web: &SimWeb, a: &About) -> String {
    let subject = &SUBJECTS[a.subject as usize % SUBJECTS.len()];
    let genre = &GENRES[a.genre as usize % GENRES.len()];
    let key = a.copy_of.unwrap_or(a.id) as u64;
    let mut rng = Rng(web.layout.hash(61, key, 0));
    let s = web.layout.section(a.section);
    let voice = Voice::of(web, a);
    let language = &LANGUAGES[voice.language];
    let name = capital(&rare(language, 3, rng.below(5000) as u64));
    match a.role {
        Role::Home => format!("{name} — {}", web.host_name(s.host)),
        Role::List => format!(
            "{} at {name}",
            if voice.language == 0 {
                subject.name.to_string()
            } else {
                capital(&voice.subject_term(&mut rng))
            }
        ),
        Role::Tunnel(n) => format!("{name}, part {n}"),
        Role::Leaf if voice.language != 0 => {
            format!("{} {} {name}", capital(&voice.subject_term(&mut rng)), voice.genre_term(&mut rng))
        }
        Role::Leaf => {
            let term = capital(&voice.subject_term(&mut rng));
            match a.genre {
                0 => format!(
                    "{} {}: {term} — {}",
                    capital(&rare(language, 4, rng.below(60) as u64)),
                    100 + rng.below(500),
                    genre.name
                ),
                1 => format!("{name}'s {}", genre.name.to_lowercase()),
                2 | 3 => format!("{term} and {} in {name}", voice.subject_term(&mut rng)),
                4 => format!("On {term} with {}", voice.subject_term(&mut rng)),
                5 => format!("{term}: {} problem", voice.subject_term(&mut rng)),
                6 => format!("{name} {term} {}", 10 + rng.below(90)),
                _ => format!("{term} {}", genre.name.to_lowercase()),
            }
        }
    }
}

/// What a link says: the title of where it leads, nothing, or a lie.
fn anchor(web: &SimWeb, from: &About, to: &About, place: Place) -> String {
    let o = &web.layout.o;
    let h = web.layout.hash(62, from.id as u64, to.id as u64);
    let u = unit(h);
    let mut rng = Rng(h);
    if place != Place::Nav {
        if u < o.mislead {
            // Irrelevant pages promise the topic, relevant ones hide it.
            let (s, g) = if to.relevant { ((1 + RELATED + h % 6) as usize, 2) } else { (0, 0) };
            let terms = SUBJECTS[s].terms;
            return format!("{} {}", capital(terms[zipf(&mut rng, terms.len())]), GENRES[g].terms[0]);
        }
        if u < o.mislead + o.vague {
            return ["click here", "more", "this page", "see", "link", "details"][(h >> 40) as usize % 6]
                .to_string();
        }
    }
    if to.role == Role::Home {
        return "Home".to_string();
    }
    title(web, to)
}

/// Where the feed of a host is.
const FEED: &str = "<link rel=\"alternate\" type=\"application/rss+xml\" href=\"/feed.xml\">\n";

pub fn escape(s: &str) -> String {
    s.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// The page with number `a.id`, as it is at a time.
pub fn page(web: &SimWeb, a: &About, at: Millis) -> String {
    // A copy has the words of its original; only its address, its links and one paragraph are its own.
    let key = a.copy_of.unwrap_or(a.id) as u64;
    let mut rng = Rng(web.layout.hash(63, key, 0));
    let voice = Voice::of(web, a);
    let s = web.layout.section(a.section);
    let host = web.host_name(s.host);
    let heading = escape(&title(web, a));
    let genre = &GENRES[a.genre as usize % GENRES.len()];
    let links = web.links_of(a, at);
    let (version, _) = web.version(a.id, at);
    let mut html = String::with_capacity(8 * 1024);
    let language = LANGUAGES[voice.language].code;
    let _ = write!(
        html,
        "<!DOCTYPE html>\n<html lang=\"{language}\">\n<head>\n<meta charset=\"utf-8\">\n\
         <title>{heading}</title>\n\
         <link rel=\"stylesheet\" href=\"/style.css\">\n{}</head>\n<body>\n\
         <header><p class=\"site\">{}</p>\n<nav>\n<ul>\n",
        if web.is_living() { FEED } else { "" },
        escape(&host)
    );
    for (place, target) in &links {
        if *place == Place::Nav {
            let _ = writeln!(html, "<li>{}</li>", link(web, a, target, *place));
        }
    }
    let _ = write!(html, "</ul>\n</nav>\n</header>\n<main>\n<h1>{heading}</h1>\n");
    if version > 0 {
        let mut news = Rng(web.layout.hash(91, u64::from(a.id), u64::from(version)));
        html.push_str("<p class=\"news\">");
        voice.sentence(&mut news, &mut html);
        html.push_str("</p>\n");
    }
    let mut content = links.iter().filter(|(p, _)| *p == Place::Content);
    let listed: Vec<&Target> = links.iter().filter(|(p, _)| *p == Place::List).map(|(_, t)| t).collect();
    let parts = if a.role == Role::Leaf { genre.headings } else { &["Overview"] };
    for (i, part) in parts.iter().enumerate() {
        let part = if voice.language == 0 { part.to_string() } else { capital(&voice.genre_term(&mut rng)) };
        let _ = writeln!(html, "<section>\n<h2>{part}</h2>");
        for _ in 0..1 + rng.below(2) {
            html.push_str("<p>");
            for _ in 0..2 + rng.below(3) {
                voice.sentence(&mut rng, &mut html);
            }
            if let Some((_, target)) = content.next() {
                // A sentence around the link, about where it leads.
                html.push_str(&around(web, &voice, target, &mut rng));
                let _ = write!(html, " {}. ", link(web, a, target, Place::Content));
            }
            html.push_str("</p>\n");
        }
        if i == 0 && a.role == Role::Leaf && a.genre == 0 {
            schedule(&voice, &mut rng, &mut html);
        }
        html.push_str("</section>\n");
    }
    let rest: Vec<String> =
        content.map(|(_, t)| format!("<li>{}</li>", link(web, a, t, Place::Content))).collect();
    if !rest.is_empty() {
        let _ = write!(html, "<ul>\n{}\n</ul>\n", rest.join("\n"));
    }
    if !listed.is_empty() {
        html.push_str("<ul class=\"list\">\n");
        for target in listed {
            let _ = writeln!(html, "<li>{}</li>", link(web, a, target, Place::List));
        }
        html.push_str("</ul>\n");
    }
    if a.copy_of.is_some() {
        let mut own = Rng(web.layout.hash(64, a.id as u64, 0));
        html.push_str("<p class=\"version\">");
        voice.sentence(&mut own, &mut html);
        html.push_str("</p>\n");
    }
    html.push_str("</main>\n");
    let aside: Vec<String> = links
        .iter()
        .filter(|(p, _)| *p == Place::Aside)
        .map(|(p, t)| format!("<li>{}</li>", link(web, a, t, *p)))
        .collect();
    if !aside.is_empty() {
        let _ = write!(html, "<aside>\n<h2>Related</h2>\n<ul>\n{}\n</ul>\n</aside>\n", aside.join("\n"));
    }
    let _ = write!(html, "<footer><p>{} — page {}</p></footer>\n</body>\n</html>\n", escape(&host), a.id);
    html
}

/// Words before a link: of the page it leads to, when the page says so.
fn around(web: &SimWeb, voice: &Voice, target: &Target, rng: &mut Rng) -> String {
    let mut text = String::new();
    for _ in 0..3 + rng.below(4) {
        text.push_str(&voice.word(rng));
        text.push(' ');
    }
    if let Target::Page(id) | Target::Moved(id) = target
        && rng.unit() < 0.5
    {
        let to = Voice::of(web, &web.layout.about(*id));
        text.push_str(&to.subject_term(rng));
        text.push(' ');
    }
    let text = text.trim_end().to_string();
    capital(&text)
}

fn schedule(voice: &Voice, rng: &mut Rng, html: &mut String) {
    html.push_str("<table>\n<tr><th>Week</th><th>Lecture</th><th>Reading</th></tr>\n");
    for week in 1..=4 + rng.below(6) {
        let (topic, chapter) = (voice.subject_term(rng), 1 + rng.below(20));
        let _ =
            writeln!(html, "<tr><td>{week}</td><td>{}</td><td>chapter {chapter}</td></tr>", capital(&topic));
    }
    html.push_str("</table>\n");
}

fn link(web: &SimWeb, from: &About, target: &Target, place: Place) -> String {
    let host = web.layout.section(from.section).host;
    let (href, text) = match target {
        Target::Page(id) => {
            let to = web.layout.about(*id);
            (web.href(host, *id), anchor(web, from, &to, place))
        }
        Target::Moved(id) => {
            let to = web.layout.about(*id);
            let to_host = web.layout.section(to.section).host;
            (format!("http://{}/old/{id}", web.host_name(to_host)), anchor(web, from, &to, place))
        }
        Target::Gone(id) => (format!("/gone/{id}.html"), anchor(web, from, &web.layout.about(*id), place)),
        Target::Trap(path) => {
            let name = if path.starts_with("/calendar") { "Calendar" } else { "Browse all" };
            (path.clone(), name.to_string())
        }
    };
    format!("<a href=\"{}\">{}</a>", escape(&href), escape(&text))
}

/// A page of a trap: always leads on.
pub fn trap(web: &SimWeb, host: u32, path: &str, query: &str) -> Option<String> {
    let (title, next) = if let Some(rest) = path.strip_prefix("/calendar/") {
        let mut parts = rest.trim_end_matches('/').split('/');
        let year: i64 = parts.next()?.parse().ok().filter(|y| (-99_999..99_999).contains(y))?;
        let month: i64 = parts.next()?.parse().ok().filter(|m| (1..=12).contains(m))?;
        let at = |steps: i64| {
            let n = year * 12 + month - 1 + steps;
            format!("/calendar/{}/{:02}/", n.div_euclid(12), n.rem_euclid(12) + 1)
        };
        (format!("Calendar {year}-{month:02}"), vec![at(-1), at(1), at(-12), at(12)])
    } else if path == "/browse" {
        let value = |name: &str| {
            query
                .split('&')
                .find_map(|p| p.split_once('=').filter(|(n, _)| *n == name))
                .map_or("", |(_, v)| v)
                .to_string()
        };
        let page: u64 = value("page").parse().unwrap_or(1);
        let sort = value("sort");
        let filter = value("filter");
        let to = |sort: &str, page: u64, filter: &str| {
            let filter: String = filter.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
            format!("/browse?sort={sort}&page={page}&filter={filter}")
        };
        let sort = if sort.chars().all(|c| c.is_ascii_alphanumeric()) { sort } else { String::new() };
        let next = page.saturating_add(1);
        (
            format!("All entries, page {page}"),
            vec![
                to(&sort, next, &filter),
                to("date", page, &filter),
                to("name", page, &filter),
                to(&sort, 1, &format!("{filter}{}", page % 10)),
            ],
        )
    } else if path.starts_with("/loop/") {
        (
            format!("Here, {} levels down", path.matches('/').count()),
            vec![format!("{path}here/"), format!("{path}there/")],
        )
    } else {
        return None;
    };
    let mut rng = Rng(web.layout.hash(
        65,
        host as u64,
        xxhash_rust::xxh3::xxh3_64(format!("{path}?{query}").as_bytes()),
    ));
    // Traps mention whatever the host is about: that is what makes them sticky.
    let subject = web.layout.section(web.layout.hosts.get(host as usize)?.first_section).subject;
    let voice =
        Voice { subject, genre: 3, language: 0, turn: 0, drift: 0.0, on_subject: 0.1, on_genre: 0.05 };
    let mut text = String::new();
    for _ in 0..4 {
        voice.sentence(&mut rng, &mut text);
    }
    let items: Vec<String> =
        next.iter().map(|n| format!("<li><a href=\"{}\">{}</a></li>", escape(n), escape(n))).collect();
    Some(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{title}</title></head>\n\
         <body><main><h1>{title}</h1>\n\
         <p>{text}</p>\n<ul>\n{}\n</ul>\n</main></body></html>\n",
        items.join("\n")
    ))
}
