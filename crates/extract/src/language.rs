//! The language of a text, when the markup does not say.
//!
//! Two questions in turn. Which language's small words are these? They make up a sixth of running text,
//! hardly occur in other languages, and looking them up costs next to nothing. Only when that does not settle
//! it (a script without such words, languages with the same ones) are trigram statistics asked, which cost as
//! much as parsing a small page and which call a list of names French; their answer must fit what the small
//! words say.

use crate::meta::iso_639_1;

/// Bytes looked at: enough for a sure answer, little enough to cost nothing beside parsing.
const SAMPLE: usize = 800;
/// With less there is no telling.
const LEAST: usize = 24;

const LANGUAGES: [(&str, &str); 18] = [
    ("en", "the and of is this that with for are you will from which be by or to not have can it"),
    ("de", "der die und das ist nicht von mit den ein eine für auf dem des sich auch werden im zu"),
    ("fr", "le la les des et est dans une pour que du en sur qui pas au avec ou sont ce"),
    ("es", "el los las de que en una por con para es del se como al su más la"),
    ("pt", "de que não uma para com os as do da em no por mais ao na um dos um"),
    ("it", "il di che della per una con sono gli nel non del è le dei la un alla"),
    ("nl", "de het een van en niet met voor zijn op te dat is aan in door worden"),
    ("sv", "och att det som en är på för av inte med till den ett"),
    ("da", "og at det som en er på for af ikke med til den et der"),
    ("no", "og at det som en er på for av ikke med til den et"),
    ("pl", "na się jest nie do że oraz są przez dla"),
    ("cs", "na se je že pro do jako nebo jsou který"),
    ("fi", "ja on ei että se ovat sekä tai joka oli"),
    ("hu", "az és hogy nem egy is meg van vagy"),
    ("tr", "ve bir bu için ile olarak da de gibi"),
    ("ro", "și de în la cu pe care este din nu un"),
    ("ca", "el la els de que per amb una és les dels del"),
    ("id", "yang dan di dengan untuk ini dari pada adalah tidak"),
];

/// ISO 639-1 code, or empty.
pub fn detect<'a>(pieces: impl Iterator<Item = &'a str>) -> &'static str {
    let mut sample = String::with_capacity(SAMPLE + 64);
    let mut room = SAMPLE;
    for piece in pieces {
        let taken = &piece[..piece.floor_char_boundary(room)];
        sample.push_str(taken);
        sample.push(' ');
        room = room.saturating_sub(taken.len() + 1);
        if room == 0 {
            break;
        }
    }
    if sample.trim().len() < LEAST {
        return "";
    }
    let small = SmallWords::of(&sample);
    small.settled().unwrap_or_else(|| small.check(&sample))
}

struct SmallWords {
    words: usize,
    hits: [usize; LANGUAGES.len()],
    /// Letters outside ASCII.
    other: usize,
    letters: usize,
}

impl SmallWords {
    fn of(text: &str) -> SmallWords {
        let mut s = SmallWords { words: 0, hits: [0; LANGUAGES.len()], other: 0, letters: 0 };
        let (mut key, mut length) = (0u64, 0);
        // By bytes: the words that matter are short and plain. The blank ends the last word.
        for b in text.bytes().chain([b' ']) {
            if b.is_ascii_alphanumeric() || b >= 0x80 {
                key = key << 8 | u64::from(b.to_ascii_lowercase());
                length += 1;
                // First bytes of letters; not those of dashes, quotes and bullets.
                s.other += usize::from(b >= 0xc3 && b != 0xe2);
            } else if length > 0 {
                s.words += 1;
                s.letters += length;
                if length <= 8 {
                    s.count(key);
                }
                (key, length) = (0, 0);
            }
        }
        s
    }

    #[inline]
    fn count(&mut self, key: u64) {
        let mut set = languages(key);
        while set != 0 {
            self.hits[set.trailing_zeros() as usize] += 1;
            set &= set - 1;
        }
    }

    /// The best language, and how often the best and the second best occur.
    fn best(&self) -> (usize, usize, usize) {
        let (mut best, mut first, mut second) = (0, 0, 0);
        for (i, &n) in self.hits.iter().enumerate() {
            if n > first {
                (best, second, first) = (i, first, n);
            } else if n > second {
                second = n;
            }
        }
        (best, first, second)
    }

    /// Enough small words, of one language.
    fn settled(&self) -> Option<&'static str> {
        let (best, first, second) = self.best();
        let clear = first >= 4 && first * 12 >= self.words && second * 2 <= first;
        // Lists, menus and schedules have few small words; that these are English needs less proof on the
        // web.
        let likely = best == 0 && first >= 2 && second * 2 <= first && self.other * 50 <= self.letters;
        (clear || likely).then_some(LANGUAGES[best].0)
    }

    /// Asks the statistics, and believes them when nothing speaks against it.
    fn check(&self, text: &str) -> &'static str {
        let (_, first, _) = self.best();
        // Nothing but names, numbers and code: statistics would only guess.
        if first < 2 && self.other * 50 < self.letters {
            return "";
        }
        let Some(info) = whatlang::detect(text) else { return "" };
        let code = iso_639_1(info.lang().code());
        match LANGUAGES.iter().position(|(known, _)| *known == code) {
            // A language whose small words we know must show some of them.
            Some(i) if self.hits[i] * 2 >= first && self.hits[i] > 0 => code,
            Some(_) => "",
            None if info.is_reliable() && self.other * 50 >= self.letters => code,
            None => "",
        }
    }
}

/// The languages a small word (at most eight bytes, as a number) belongs to, as bits.
fn languages(key: u64) -> u32 {
    let mut at = slot(key);
    loop {
        match TABLE[at] {
            (0, _) => return 0,
            (k, set) if k == key => return set,
            _ => at = (at + 1) % TABLE.len(),
        }
    }
}

const fn slot(key: u64) -> usize {
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize
}

/// All the small words: a hash table with open addressing, made at compile time.
static TABLE: [(u64, u32); 512] = {
    let mut table = [(0u64, 0u32); 512];
    let mut language = 0;
    while language < LANGUAGES.len() {
        let words = LANGUAGES[language].1.as_bytes();
        let (mut key, mut i) = (0u64, 0);
        while i <= words.len() {
            if i == words.len() || words[i] == b' ' {
                let mut at = slot(key);
                while table[at].0 != 0 && table[at].0 != key {
                    at = (at + 1) % table.len();
                }
                table[at] = (key, table[at].1 | 1 << language);
                key = 0;
            } else {
                key = key << 8 | words[i] as u64;
            }
            i += 1;
        }
        language += 1;
    }
    table
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn some_languages() {
        let table = [
            (
                "This course is an introduction to the design of database systems and to the languages that \
                 are used \
                 for querying them.",
                "en",
            ),
            (
                "Die Vorlesung behandelt den Entwurf von Datenbanken und die Sprachen, mit denen man sie \
                 abfragt. \
                 Vorkenntnisse werden nicht vorausgesetzt.",
                "de",
            ),
            (
                "Ce cours présente la conception des bases de données ainsi que les langages \
                 d'interrogation. Aucune \
                 connaissance préalable n'est requise.",
                "fr",
            ),
            (
                "Este curso trata del diseño de bases de datos y de los lenguajes con los que se consultan. \
                 No se \
                 requieren conocimientos previos para la asignatura.",
                "es",
            ),
            (
                "Dit vak behandelt het ontwerp van databanken en de talen waarmee ze worden bevraagd. Er is \
                 geen \
                 voorkennis nodig voor de student.",
                "nl",
            ),
            (
                "Kursen behandlar hur man utformar databaser och de språk som används för att ställa frågor \
                 till dem. \
                 Det är inte nödvändigt med förkunskaper.",
                "sv",
            ),
            ("Программа курса по базам данных: лекции, семинары и экзамен в конце семестра.", "ru"),
            ("これは日本語の文章です。データベースの講義についてのページ。", "ja"),
            ("데이터베이스 강의 계획서와 과제, 시험 일정에 대한 페이지입니다.", "ko"),
            ("Το μάθημα αυτό είναι μια εισαγωγή στις βάσεις δεδομένων.", "el"),
            // Lists: English where a little speaks for it, otherwise nothing is claimed.
            ("Department of Computer Science\nInformation for Students\nReports\nCourses\nPeople", "en"),
            ("Alberto Zubiri\nJeremy Baer\nMaria Lopez\nTim Miller\nLi Jin", ""),
            ("#include <stdio.h> int main void return 0 printf malloc", ""),
            ("12 34 56 78 90 12 34 56 78 90 12 34", ""),
            ("x", ""),
        ];
        for (text, code) in table {
            assert_eq!(detect([text].into_iter()), code, "{text}");
        }
    }

    fn pack(word: &str) -> u64 {
        word.bytes().fold(0, |key, b| key << 8 | u64::from(b))
    }

    #[test]
    fn every_small_word_is_found() {
        for (i, (code, words)) in LANGUAGES.iter().enumerate() {
            for word in words.split(' ') {
                assert!(languages(pack(word)) & 1 << i != 0, "{code} {word}");
            }
        }
        assert_eq!(languages(pack("database")), 0);
    }
}
