//! The language of a text, when the markup does not say.

use crate::meta::iso_639_1;

/// Characters looked at: enough for a sure answer, little enough to cost nothing beside parsing.
const SAMPLE: usize = 600;
/// With less there is no telling.
const LEAST: usize = 24;

/// ISO 639-1 code, or empty.
pub fn detect<'a>(pieces: impl Iterator<Item = &'a str>) -> &'static str {
    let mut sample = String::with_capacity(2 * SAMPLE);
    let mut room = SAMPLE;
    for piece in pieces {
        let end = piece.char_indices().nth(room).map_or(piece.len(), |(i, _)| i);
        let taken = piece.get(..end).unwrap_or_default();
        sample.push_str(taken);
        sample.push(' ');
        room = room.saturating_sub(taken.chars().count() + 1);
        if room == 0 {
            break;
        }
    }
    if sample.trim().len() < LEAST {
        return "";
    }
    if is_english(&sample) {
        return "en";
    }
    match whatlang::detect(&sample) {
        Some(info) if info.is_reliable() || (sample.len() > 200 && info.confidence() > 0.5) => {
            iso_639_1(info.lang().code())
        }
        _ => "",
    }
}

/// English is the common case and easy to be sure of: a sixth of any running text are a few words that hardly occur
/// in other languages. Trigram statistics would cost as much as parsing a small page.
fn is_english(text: &str) -> bool {
    const WORDS: [&str; 17] = [
        "the", "and", "of", "is", "this", "that", "with", "for", "are", "you", "will", "from", "which", "be",
        "by", "or", "to",
    ];
    let (mut words, mut hits) = (0, 0);
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|w| !w.is_empty()) {
        words += 1;
        hits += usize::from(word.len() <= 5 && WORDS.iter().any(|w| w.eq_ignore_ascii_case(word)));
    }
    hits >= 6 && hits * 6 >= words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_languages() {
        let of = |s: &str| detect([s].into_iter());
        assert_eq!(
            of(
                "This course is an introduction to the design of database systems and to the languages that are used \
                for querying them."
            ),
            "en"
        );
        assert_eq!(
            of(
                "Die Vorlesung behandelt den Entwurf von Datenbanken und die Sprachen, mit denen man sie abfragt. \
                Vorkenntnisse werden nicht vorausgesetzt."
            ),
            "de"
        );
        assert_eq!(
            of(
                "Ce cours présente la conception des bases de données ainsi que les langages d'interrogation. Aucune \
                connaissance préalable n'est requise."
            ),
            "fr"
        );
        assert_eq!(of("Программа курса по базам данных: лекции, семинары и экзамен в конце семестра."), "ru");
        assert_eq!(of("これは日本語の文章です。データベースの講義についてのページ。"), "ja");
        assert_eq!(of("x"), "");
        assert_eq!(of("12 34 56 78 90 12 34 56 78 90 12 34"), "");
    }
}
