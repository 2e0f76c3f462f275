//! The small languages inside attributes and headers: `rel`, robots directives, `refresh`, language tags.

use types::{MetaRobots, Rel};

pub fn rel(value: &str) -> Rel {
    let mut rel = Rel::default();
    for token in value.split_ascii_whitespace() {
        let is = |name: &str| token.eq_ignore_ascii_case(name);
        rel.nofollow |= is("nofollow");
        rel.ugc |= is("ugc");
        rel.sponsored |= is("sponsored");
        rel.next |= is("next");
        rel.alternate |= is("alternate");
    }
    rel
}

/// The directives of a robots `<meta>`; they add up.
pub fn robots(robots: &mut MetaRobots, content: &str) {
    for directive in content.split([',', ';']) {
        one_directive(robots, directive.trim_ascii());
    }
}

fn one_directive(robots: &mut MetaRobots, directive: &str) {
    let is = |name: &str| directive.eq_ignore_ascii_case(name);
    robots.noindex |= is("noindex") || is("none");
    robots.nofollow |= is("nofollow") || is("none");
    robots.noarchive |= is("noarchive");
}

/// `X-Robots-Tag`: as the `<meta>`, but `somebot: noindex, nofollow` speaks to `somebot` only, until the next
/// name.
pub fn robots_header(robots: &mut MetaRobots, value: &str) {
    // Directives that have a value of their own; anything else before a colon is the name of a robot.
    const VALUED: [&str; 4] = ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"];
    let mut for_us = true;
    for item in value.split(',') {
        let mut directive = item.trim_ascii();
        if let Some((name, rest)) = directive.split_once(':')
            && !VALUED.iter().any(|v| name.trim_ascii().eq_ignore_ascii_case(v))
            && name.trim_ascii().bytes().all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'*'))
        {
            for_us = name.trim_ascii() == "*";
            directive = rest.trim_ascii();
        }
        if for_us {
            one_directive(robots, directive);
        }
    }
}

/// The target of `5; url=next.html`, in its many spellings.
pub fn refresh(content: &str) -> Option<&str> {
    let rest = content.trim_ascii_start();
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if rest.len() == content.trim_ascii_start().len() {
        return None;
    }
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || matches!(c, ';' | ','));
    let mut target = rest;
    if rest.get(..3).is_some_and(|p| p.eq_ignore_ascii_case("url")) {
        let after = rest[3..].trim_ascii_start();
        if let Some(value) = after.strip_prefix('=') {
            target = value.trim_ascii_start();
        }
    }
    if let Some(quote) = target.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        target = &target[1..];
        target = target.split(quote).next().unwrap_or("");
    }
    let target = target.trim_ascii();
    (!target.is_empty()).then_some(target)
}

pub fn is_feed_type(media: &str) -> bool {
    ["application/rss+xml", "application/atom+xml", "application/rdf+xml", "application/feed+json"]
        .iter()
        .take(3)
        .any(|f| media.split(';').next().unwrap_or("").trim_ascii().eq_ignore_ascii_case(f))
}

/// ISO 639-1 code of a language tag (`en-GB`, `deu`); empty when it is none.
pub fn language_tag(tag: &str) -> String {
    let first = tag.trim_ascii().split(['-', '_', ',', ';', ' ']).next().unwrap_or("").to_ascii_lowercase();
    if !first.bytes().all(|b| b.is_ascii_lowercase()) {
        return String::new();
    }
    match first.len() {
        2 => match first.as_str() {
            // Withdrawn codes and common mistakes.
            "iw" => "he".into(),
            "in" => "id".into(),
            "ji" => "yi".into(),
            "jp" => "ja".into(),
            "cz" => "cs".into(),
            "nb" | "nn" => "no".into(),
            _ => first,
        },
        3 => iso_639_1(&first).into(),
        _ => String::new(),
    }
}

/// A date as `2026-11-16`, `2026-11` or `2026`, from the many ways to write one; empty when it is none.
pub fn date(text: &str) -> String {
    let text = text.trim();
    let numbers = text.strip_prefix("D:").unwrap_or(text);
    written_in_numbers(numbers).or_else(|| written_in_words(text)).unwrap_or_default()
}

/// `2026-11-16T10:00:00Z`, `2026/11/16`, `20261116`, `2026-11`, `2026`.
fn written_in_numbers(text: &str) -> Option<String> {
    let digits = |text: &str, n: usize| {
        let digits = text.get(..n)?;
        digits.bytes().all(|b| b.is_ascii_digit()).then(|| digits.parse::<u32>().ok())?
    };
    let year = digits(text, 4).filter(|year| (1_000..3_000).contains(year))?;
    let after = |text: &str, n: usize| {
        let rest = text.get(n..).unwrap_or("");
        rest.strip_prefix(['-', '/', '.']).unwrap_or(rest).to_string()
    };
    let rest = after(text, 4);
    let Some(month) = digits(&rest, 2) else {
        return rest.trim_start_matches(['-', ' ']).is_empty().then(|| format!("{year:04}"));
    };
    if !(1..=12).contains(&month) {
        return Some(format!("{year:04}"));
    }
    let day = digits(&after(&rest, 2), 2).filter(|day| (1..=31).contains(day));
    Some(day.map_or(format!("{year:04}-{month:02}"), |day| format!("{year:04}-{month:02}-{day:02}")))
}

/// `Mon, 16 Nov 2026 10:00:00 GMT`, `November 16, 2026`, `16 November 2026`.
fn written_in_words(text: &str) -> Option<String> {
    const MONTHS: [&str; 12] =
        ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
    let (mut day, mut month, mut year) = (None, None, None);
    for word in text.split([' ', ',', '-']).filter(|word| !word.is_empty()).take(8) {
        let number = word.trim_end_matches("st").trim_end_matches("nd").trim_end_matches("rd");
        match number.trim_end_matches("th").parse::<u32>() {
            Ok(n @ 1..=31) if day.is_none() => day = Some(n),
            Ok(n @ 1_000..3_000) if year.is_none() => year = Some(n),
            Ok(_) => {}
            Err(_) if month.is_none() => {
                let start = word.get(..3).unwrap_or("").to_ascii_lowercase();
                month = MONTHS.iter().position(|m| *m == start).map(|at| at + 1);
            }
            Err(_) => {}
        }
    }
    let (month, year) = (month?, year?);
    Some(day.map_or(format!("{year:04}-{month:02}"), |day| format!("{year:04}-{month:02}-{day:02}")))
}

/// Three-letter codes (639-3, 639-2/T and /B) of languages that have a two-letter one.
pub fn iso_639_1(code: &str) -> &'static str {
    match code {
        "eng" => "en",
        "deu" | "ger" => "de",
        "fra" | "fre" => "fr",
        "spa" => "es",
        "por" => "pt",
        "ita" => "it",
        "nld" | "dut" => "nl",
        "rus" => "ru",
        "ukr" => "uk",
        "pol" => "pl",
        "ces" | "cze" => "cs",
        "slk" | "slo" => "sk",
        "slv" => "sl",
        "hrv" => "hr",
        "srp" => "sr",
        "bul" => "bg",
        "mkd" | "mac" => "mk",
        "bel" => "be",
        "ron" | "rum" => "ro",
        "hun" => "hu",
        "fin" => "fi",
        "est" => "et",
        "lav" => "lv",
        "lit" => "lt",
        "swe" => "sv",
        "dan" => "da",
        "nob" | "nor" | "nno" => "no",
        "isl" | "ice" => "is",
        "ell" | "gre" => "el",
        "tur" => "tr",
        "aze" => "az",
        "uzb" => "uz",
        "tuk" => "tk",
        "kat" | "geo" => "ka",
        "hye" | "arm" => "hy",
        "ara" => "ar",
        "heb" => "he",
        "yid" => "yi",
        "pes" | "fas" | "per" => "fa",
        "urd" => "ur",
        "hin" => "hi",
        "ben" => "bn",
        "mar" => "mr",
        "guj" => "gu",
        "pan" => "pa",
        "tam" => "ta",
        "tel" => "te",
        "kan" => "kn",
        "mal" => "ml",
        "ori" => "or",
        "nep" => "ne",
        "sin" => "si",
        "tha" => "th",
        "khm" => "km",
        "mya" | "bur" => "my",
        "vie" => "vi",
        "ind" => "id",
        "jav" => "jv",
        "tgl" => "tl",
        "cmn" | "zho" | "chi" => "zh",
        "jpn" => "ja",
        "kor" => "ko",
        "amh" => "am",
        "aka" => "ak",
        "zul" => "zu",
        "sna" => "sn",
        "afr" => "af",
        "lat" => "la",
        "epo" => "eo",
        "cat" => "ca",
        "cym" | "wel" => "cy",
        "gle" => "ga",
        "eus" | "baq" => "eu",
        "glg" => "gl",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refresh_spellings() {
        for (content, target) in [
            ("5; url=next.html", Some("next.html")),
            ("0;URL='http://e.org/a b'", Some("http://e.org/a b")),
            ("0, \"x.html\"; more", Some("x.html")),
            ("3.5 ; Url = x", Some("x")),
            ("0 x.html", Some("x.html")),
            ("0;url", Some("url")),
            ("5", None),
            ("; url=x", None),
            ("0;url=''", None),
            ("", None),
        ] {
            assert_eq!(refresh(content), target, "{content:?}");
        }
    }

    #[test]
    fn robots_tags() {
        let of = |v: &str| {
            let mut r = MetaRobots::default();
            robots_header(&mut r, v);
            (r.noindex, r.nofollow, r.noarchive)
        };
        assert_eq!(of("noindex, NoFollow"), (true, true, false));
        assert_eq!(of("none"), (true, true, false));
        assert_eq!(of("otherbot: noindex, nofollow"), (false, false, false));
        assert_eq!(of("noarchive, otherbot: noindex"), (false, false, true));
        assert_eq!(of("otherbot: noindex, *: nofollow"), (false, true, false));
        assert_eq!(of("unavailable_after: 25 Jun 2010 15:00:00 PST, noindex"), (true, false, false));
        assert_eq!(of("max-snippet: 5, noindex"), (true, false, false));
    }

    #[test]
    fn dates() {
        for (text, date_of) in [
            ("2026-11-16T10:00:00+01:00", "2026-11-16"),
            ("D:20261116100000Z", "2026-11-16"),
            ("2026/11/16", "2026-11-16"),
            ("2026-11", "2026-11"),
            ("2026", "2026"),
            ("2026-13-01", "2026"),
            ("2026-11-99", "2026-11"),
            ("Mon, 16 Nov 2026 10:00:00 GMT", "2026-11-16"),
            ("November 3rd, 2026", "2026-11-03"),
            ("16 November 2026", "2026-11-16"),
            ("May 2026", "2026-05"),
            ("yesterday", ""),
            ("20261", ""),
            ("0000-00-00", ""),
            ("日本", ""),
            ("", ""),
        ] {
            assert_eq!(date(text), date_of, "{text:?}");
        }
    }

    #[test]
    fn language_tags() {
        for (tag, code) in [
            ("en", "en"),
            ("EN-us", "en"),
            ("de_AT", "de"),
            ("deu", "de"),
            ("en, fr", "en"),
            ("x-default", ""),
            ("", ""),
            ("日本", ""),
            ("nb", "no"),
            ("zh-Hans-CN", "zh"),
            ("english", ""),
        ] {
            assert_eq!(language_tag(tag), code, "{tag:?}");
        }
    }
}
