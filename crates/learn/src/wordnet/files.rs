//! The files of a WordNet 3.x folder (wndb(5WN)): `index.POS` says which synsets a word has, `data.POS` what
//! a synset is, `POS.exc` lists irregular forms.

use super::{Builder, Pos, missing, spelled};
use std::collections::HashMap;
use types::Problem;

const NAMES: [(&str, Pos); 4] =
    [("noun", Pos::Noun), ("verb", Pos::Verb), ("adj", Pos::Adjective), ("adv", Pos::Adverb)];

fn bad(file: &str, line: usize, why: &str) -> Problem {
    Problem::new(format!("{file}, line {}: {why}", line + 1))
        .because("this is not a file of a WordNet 3.x database, or it is damaged")
        .hint("install it again: `apt-get install --reinstall wordnet-base`")
}

/// Numbers synsets in the order of the data files. The licence at the top of each file starts with blanks.
pub(super) fn read(mut read: impl FnMut(&str) -> Option<Vec<u8>>) -> Result<Builder, Problem> {
    let mut b = Builder::default();
    // Offset in a data file → number. Looked up only, never walked.
    let mut numbers: [HashMap<u32, u32>; 4] = Default::default();
    let mut pointers: Vec<(u32, Pos, u32)> = Vec::new();
    for (name, pos) in NAMES {
        let file = format!("data.{name}");
        let bytes = read(&file).ok_or_else(|| missing(&file))?;
        for (n, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            if line.starts_with(' ') || line.trim().is_empty() {
                continue;
            }
            let number = b.synsets.len() as u32;
            let (offset, words, up) = data_line(line).map_err(|why| bad(&file, n, why))?;
            numbers[pos.index()].insert(offset, number);
            b.synsets.push((pos, words));
            pointers.extend(up.into_iter().map(|(pos, offset)| (number, pos, offset)));
        }
    }
    b.hypernyms = vec![Vec::new(); b.synsets.len()];
    for (from, pos, offset) in pointers {
        // A pointer to nowhere is a loss of one connection, not of the database.
        if let (Some(to), Some(up)) = (numbers[pos.index()].get(&offset), b.hypernyms.get_mut(from as usize))
        {
            up.push(*to);
        }
    }
    for (name, pos) in NAMES {
        let file = format!("index.{name}");
        let bytes = read(&file).ok_or_else(|| missing(&file))?;
        for (n, line) in String::from_utf8_lossy(&bytes).lines().enumerate() {
            if line.starts_with(' ') || line.trim().is_empty() {
                continue;
            }
            let (word, offsets) = index_line(line).map_err(|why| bad(&file, n, why))?;
            let synsets = offsets.iter().filter_map(|o| numbers[pos.index()].get(o).copied()).collect();
            b.senses.insert((word, pos), synsets);
        }
        // Some editions come without lists of exceptions: then only the rules work.
        let exceptions = read(&format!("{name}.exc")).unwrap_or_default();
        for line in String::from_utf8_lossy(&exceptions).lines() {
            let mut forms = line.split_whitespace().map(spelled);
            if let Some(form) = forms.next() {
                let bases = b.exceptions[pos.index()].entry(form.into()).or_default();
                bases.extend(forms.map(Into::into));
            }
        }
    }
    Ok(b)
}

/// `offset lex_filenum ss_type w_cnt word lex_id […] p_cnt [symbol offset pos source/target …] … | gloss`
fn data_line(line: &str) -> Result<(u32, Vec<String>, Vec<(Pos, u32)>), &'static str> {
    let mut fields = line.split('|').next().unwrap_or("").split_whitespace();
    let offset = fields.next().and_then(|o| o.parse().ok()).ok_or("the offset is not a number")?;
    let (_, _) = (fields.next(), fields.next());
    let words = fields
        .next()
        .and_then(|n| u32::from_str_radix(n, 16).ok())
        .ok_or("the number of words is not one")?;
    let mut spellings = Vec::new();
    for _ in 0..words {
        let word = fields.next().ok_or("a word is missing")?;
        fields.next().ok_or("a word has no number")?;
        // Adjectives may end with a marker of where they stand: `galore(ip)`.
        let word = word.split('(').next().filter(|w| !w.is_empty()).unwrap_or(word);
        let word = spelled(word);
        if !spellings.contains(&word) {
            spellings.push(word);
        }
    }
    let pointers: u32 =
        fields.next().and_then(|n| n.parse().ok()).ok_or("the number of pointers is not one")?;
    let mut up = Vec::new();
    for _ in 0..pointers {
        let (symbol, target, pos, _) =
            (fields.next(), fields.next(), fields.next(), fields.next().ok_or("a pointer is cut off")?);
        if let (Some("@" | "@i"), Some(target), Some(pos)) =
            (symbol, target.and_then(|t| t.parse().ok()), pos.and_then(Pos::of))
        {
            up.push((pos, target));
        }
    }
    Ok((offset, spellings, up))
}

/// `lemma pos synset_cnt p_cnt [symbol …] sense_cnt tagsense_cnt offset […]`
fn index_line(line: &str) -> Result<(String, Vec<u32>), &'static str> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [word, _, count, pointers, rest @ ..] = fields.as_slice() else { return Err("fields are missing") };
    let count: usize = count.parse().map_err(|_| "the number of synsets is not one")?;
    let pointers: usize = pointers.parse().map_err(|_| "the number of pointers is not one")?;
    let offsets =
        rest.get(pointers.saturating_add(2)..).filter(|o| o.len() >= count).ok_or("offsets are missing")?;
    let offsets: Result<Vec<u32>, _> = offsets.iter().take(count).map(|o| o.parse()).collect();
    Ok((spelled(word), offsets.map_err(|_| "an offset is not a number")?))
}
