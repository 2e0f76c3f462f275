//! WN-LMF, the XML form of the Global WordNet Association: `LexicalEntry` (a lemma, its irregular forms, its
//! senses) and `Synset` (with relations to others).

use super::{Builder, Pos, spelled};
use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};
use std::collections::HashMap;
use types::Problem;

fn bad(why: impl std::fmt::Display) -> Problem {
    Problem::new("the WordNet file is not WN-LMF XML").because(why).hint(
        "unpack it first if it is compressed; or use a WordNet 3.x folder: `apt-get install \
               wordnet-base`, `wordnet = \"/usr/share/wordnet\"` under `[text]`",
    )
}

fn attribute(e: &BytesStart, name: &str) -> Option<String> {
    let a = e.try_get_attribute(name).ok()??;
    // Names and spellings have the five entities of XML at most; others stay as they are written.
    let raw = a.value.into_owned();
    Some(quick_xml::escape::unescape(&raw).map(|s| s.into_owned()).unwrap_or(raw))
}

/// A synset may be used before it is described: its number is given when it is first named.
#[derive(Default)]
struct Numbers(HashMap<String, u32>);

impl Numbers {
    fn of(&mut self, id: String, b: &mut Builder) -> u32 {
        *self.0.entry(id).or_insert_with(|| {
            b.synsets.push((Pos::Noun, Vec::new()));
            b.hypernyms.push(Vec::new());
            b.synsets.len() as u32 - 1
        })
    }
}

pub(super) fn read(xml: &[u8]) -> Result<Builder, Problem> {
    let text = std::str::from_utf8(xml).map_err(bad)?;
    let mut reader = Reader::from_str(text);
    let (mut b, mut numbers) = (Builder::default(), Numbers::default());
    let mut entry: Option<(String, Pos)> = None;
    let mut synset: Option<u32> = None;
    loop {
        match reader.read_event().map_err(bad)? {
            Event::Eof => break,
            Event::Start(e) | Event::Empty(e) => match e.name().as_ref() {
                "Lemma" => {
                    let pos = attribute(&e, "partOfSpeech").and_then(|p| Pos::of(&p));
                    entry = attribute(&e, "writtenForm").map(|w| spelled(&w)).zip(pos);
                }
                "Form" => {
                    if let (Some((lemma, pos)), Some(form)) = (&entry, attribute(&e, "writtenForm")) {
                        let bases = b.exceptions[pos.index()].entry(spelled(&form).into()).or_default();
                        bases.push(lemma.as_str().into());
                    }
                }
                "Sense" => {
                    if let (Some((lemma, pos)), Some(id)) = (&entry, attribute(&e, "synset")) {
                        let number = numbers.of(id, &mut b);
                        let senses = b.senses.entry((lemma.clone(), *pos)).or_default();
                        if !senses.contains(&number) {
                            senses.push(number);
                        }
                        if let Some(s) = b.synsets.get_mut(number as usize) {
                            s.0 = *pos;
                            if !s.1.contains(lemma) {
                                s.1.push(lemma.clone());
                            }
                        }
                    }
                }
                "Synset" => {
                    synset = attribute(&e, "id").map(|id| numbers.of(id, &mut b));
                    let pos = attribute(&e, "partOfSpeech").and_then(|p| Pos::of(&p));
                    if let (Some(s), Some(pos)) = (synset.and_then(|s| b.synsets.get_mut(s as usize)), pos) {
                        s.0 = pos;
                    }
                }
                "SynsetRelation" => {
                    let kind = attribute(&e, "relType");
                    if matches!(kind.as_deref(), Some("hypernym" | "instance_hypernym"))
                        && let (Some(from), Some(id)) = (synset, attribute(&e, "target"))
                    {
                        let to = numbers.of(id, &mut b);
                        b.hypernyms.get_mut(from as usize).into_iter().for_each(|up| up.push(to));
                    }
                }
                _ => {}
            },
            Event::End(e) => match e.name().as_ref() {
                "LexicalEntry" => entry = None,
                "Synset" => synset = None,
                _ => {}
            },
            _ => {}
        }
    }
    if b.senses.is_empty() {
        return Err(bad("it has no LexicalEntry with a Lemma and a Sense"));
    }
    Ok(b)
}
