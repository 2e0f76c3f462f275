//! A WordNet of a dozen synsets, worked out by hand.

use super::*;
use std::sync::Arc;

/// entity ← animal ← {dog, cat}; entity ← artifact ← {car = automobile, box}; dog ← Rex (an instance); move ←
/// run, and two verbs in a circle; good = well (adjective and adverb).
const FILES: &[(&str, &str)] = &[
    (
        "data.noun",
        "  1 This is the licence.
00000100 03 n 01 entity 0 000 | that which is
00000200 05 n 02 animal 0 beast 0 001 @ 00000100 n 0000 | living
00000300 05 n 03 dog 0 domestic_dog 0 hound 1 002 @ 00000200 n 0000 ~ 00000400 n 0000 | it | barks
00000400 18 n 01 Rex 0 001 @i 00000300 n 0000 | the king
00000500 05 n 01 cat 0 001 @ 00000200 n 0000 | it purrs
00000600 06 n 01 artifact 0 001 @ 00000100 n 0000 | made
00000700 06 n 02 car 0 automobile 0 002 @ 00000600 n 0000 @ 99999999 n 0000 | a pointer to nowhere
00000800 06 n 02 box 0 boxful 0 001 @ 00000600 n 0000 | holds
00000900 05 n 01 dog 1 001 @ 00000600 n 0000 | andiron
",
    ),
    (
        "index.noun",
        "  1 This is the licence.
animal n 1 2 @ ~ 1 0 00000200
artifact n 1 1 @ 1 0 00000600
automobile n 1 1 @ 1 0 00000700
beast n 1 1 @ 1 0 00000200
box n 1 1 @ 1 0 00000800
boxful n 1 1 @ 1 0 00000800
car n 1 1 @ 1 0 00000700
cat n 1 1 @ 1 0 00000500
dog n 2 2 @ ~ 2 1 00000300 00000900
domestic_dog n 1 1 @ 1 0 00000300
entity n 1 0 1 0 00000100
hound n 1 1 @ 1 0 00000300
rex n 1 1 @i 1 0 00000400
",
    ),
    (
        "data.verb",
        "00000100 30 v 01 move 0 000 01 + 08 00 | go
00000200 30 v 02 run 0 rush 0 001 @ 00000100 v 0000 01 + 08 00 | fast
00000300 30 v 01 inhibit 0 001 @ 00000400 v 0000 00 | a circle
00000400 30 v 01 restrain 0 001 @ 00000300 v 0000 00 | a circle
",
    ),
    (
        "index.verb",
        "inhibit v 1 1 @ 1 0 00000300
move v 1 0 1 0 00000100
restrain v 1 1 @ 1 0 00000400
run v 1 1 @ 1 0 00000200
rush v 1 1 @ 1 0 00000200
",
    ),
    ("data.adj", "00000100 00 a 02 good 0 well(p) 0 000 | fine\n"),
    ("index.adj", "good a 1 0 1 0 00000100\nwell a 1 0 1 0 00000100\n"),
    ("data.adv", "00000100 02 r 01 well 0 000 | finely\n"),
    ("index.adv", "well r 1 0 1 0 00000100\n"),
    ("noun.exc", "kine cow\nbeasties beast\n"),
    ("verb.exc", "ran run\n"),
    ("adj.exc", "best good\n"),
];

fn read(name: &str) -> Option<Vec<u8>> {
    FILES.iter().find(|f| f.0 == name).map(|f| f.1.as_bytes().to_vec())
}
fn net() -> WordNet {
    WordNet::from_files(read).unwrap()
}

#[test]
fn sizes_and_synsets() {
    let net = net();
    assert_eq!((net.words(), net.synsets()), (20, 15));
    let dog = net.lookup("dog");
    assert_eq!(dog.len(), 2);
    assert_eq!(net.members(dog[0]).collect::<Vec<_>>(), ["dog", "domestic dog", "hound"]);
    assert_eq!((net.depth(dog[0]), net.depth(dog[1])), (2, 2));
    assert_eq!(net.depth(net.lookup("Rex")[0]), 3);
    assert_eq!(net.pos(dog[0]), Some(Pos::Noun));
    assert_eq!(net.pos(Synset(99)), None);
    assert_eq!(net.synonyms("dogs"), ["domestic dog", "hound"]);
    assert_eq!(net.synonyms("well"), ["good"]);
    assert!(net.synonyms("nothing").is_empty());
    // The circle has a depth all the same.
    assert_eq!(net.depth(net.lookup("inhibit")[0]) + net.depth(net.lookup("restrain")[0]), 1);
}

#[test]
fn forms() {
    let net = net();
    let base = |w: &str, p| net.base_forms(w, p);
    assert_eq!(base("Dogs", Pos::Noun), ["dog"]);
    assert_eq!(base("boxes", Pos::Noun), ["box"]);
    assert_eq!(base("boxesful", Pos::Noun), ["boxful"]);
    assert_eq!(base("beasties", Pos::Noun), ["beast"]);
    assert_eq!(base("domestic_dogs", Pos::Noun), ["domestic dog"]);
    assert!(
        base("kine", Pos::Noun).is_empty()
            && base("s", Pos::Noun).is_empty()
            && base("", Pos::Verb).is_empty()
    );
    assert_eq!(base("ran", Pos::Verb), ["run"]);
    assert_eq!(base("moving", Pos::Verb), ["move"]);
    assert_eq!(base("rushes", Pos::Verb), ["rush"]);
    assert_eq!(base("best", Pos::Adjective), ["good"]);
    assert!(base(&"x".repeat(1 << 20), Pos::Noun).is_empty());
}

#[test]
fn paths_by_hand() {
    let net = net();
    let path = |a: &str, b: &str| net.relation(a, b).map(|r| (r.path, r.depth));
    assert_eq!(path("car", "automobile"), Some((0, 2)));
    assert_eq!(path("dog", "cat"), Some((2, 1)));
    assert_eq!(path("Rex", "cats"), Some((3, 1)));
    // The andiron: dog and car meet in artifact.
    assert_eq!(path("dog", "car"), Some((2, 1)));
    assert_eq!(path("cat", "car"), Some((4, 0)));
    assert_eq!(path("dog", "entity"), Some((2, 0)));
    assert_eq!(path("ran", "moves"), Some((1, 0)));
    assert_eq!(path("inhibit", "restrain").unwrap().0, 1);
    assert_eq!(path("good", "well"), Some((0, 0)));
    // Absent, or in another tree.
    assert_eq!(path("dog", "unicorn"), None);
    assert_eq!(path("dog", "run"), None);
    let r = net.relation("dog", "cat").unwrap();
    assert_eq!(r.ehrig(0.5), 0.25);
    assert!((r.li(0.2, 0.6) - (-0.4f64).exp() * 0.6f64.tanh()).abs() < 1e-12);
}

#[test]
fn remembered_relations_are_the_same() {
    let net = Arc::new(net());
    let terms = ["cat", "run", "nowhere"];
    let mut r = Relations::new(net.clone(), &terms, 2);
    for word in ["dog", "cats", "rex", "dog", "xyz", "rush", "dog"] {
        let found = r.of(word);
        assert_eq!(found.len(), 3);
        for (f, t) in found.iter().zip(terms) {
            assert_eq!(*f, net.relation(word, t), "{word} {t}");
        }
    }
}

#[test]
fn remembered_synonyms_are_the_same() {
    let net = Arc::new(net());
    let mut s = Synonyms::new(net.clone(), 2);
    for word in ["dog", "dogs", "cat", "xyz", "dog", "well"] {
        assert_eq!(s.of(word).iter().map(|w| &**w).collect::<Vec<_>>(), net.synonyms(word), "{word}");
    }
}

#[test]
fn missing_and_damaged_files_are_told() {
    let e = WordNet::from_files(|n| read(n).filter(|_| n != "index.verb")).unwrap_err().to_string();
    assert!(
        e.contains("index.verb")
            && e.contains("apt-get install wordnet-base")
            && e.contains("wordnet = \"/usr/share/wordnet\""),
        "{e}"
    );
    let e = WordNet::from_files(|n| {
        if n == "data.adj" { Some(b"00000100 00 a 02 good 0 000\n".to_vec()) } else { read(n) }
    });
    assert!(e.unwrap_err().to_string().contains("data.adj, line 1"));
    let e = WordNet::from_files(|n| if n == "index.adv" { Some(b"\nwell r x\n".to_vec()) } else { read(n) });
    assert!(e.unwrap_err().to_string().contains("index.adv, line 2"));
    // Exceptions are a comfort, not a need.
    assert!(WordNet::from_files(|n| read(n).filter(|_| !n.ends_with(".exc"))).is_ok());
    assert!(WordNet::from_lmf(b"<html><p>no").is_err());
    assert!(WordNet::from_lmf(b"").unwrap_err().to_string().contains("WN-LMF"));
    assert!(WordNet::from_lmf(&[0xff, 0xfe]).is_err());
}

const LMF: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<LexicalResource><Lexicon id="t" label="t" language="en" version="1">
 <LexicalEntry id="w1"><Lemma writtenForm="dog" partOfSpeech="n"/><Form writtenForm="doggen"/>
  <Sense id="w1-1" synset="s3"/></LexicalEntry>
 <LexicalEntry id="w2"><Lemma writtenForm="cat" partOfSpeech="n"><Pronunciation>kæt</Pronunciation></Lemma><Sense id="w2-1" synset="s4"></Sense></LexicalEntry>
 <LexicalEntry id="w3"><Lemma writtenForm="Barnes &amp; Noble" partOfSpeech="n"/><Sense id="w3-1" synset="s1"/></LexicalEntry>
 <LexicalEntry id="w4"><Lemma writtenForm="domestic dog" partOfSpeech="n"/><Sense id="w4-1" synset="s3"/></LexicalEntry>
 <Synset id="s1" partOfSpeech="n"><Definition>root</Definition></Synset>
 <Synset id="s2" partOfSpeech="n"><SynsetRelation relType="hypernym" target="s1"/></Synset>
 <Synset id="s3" partOfSpeech="n"><SynsetRelation relType="hypernym" target="s2"/><SynsetRelation relType="hyponym" target="s4"/></Synset>
 <Synset id="s4" partOfSpeech="n"><SynsetRelation relType="hypernym" target="s2"/></Synset>
</Lexicon></LexicalResource>"#;

#[test]
fn lmf() {
    let net = WordNet::from_lmf(LMF.as_bytes()).unwrap();
    assert_eq!((net.words(), net.synsets()), (4, 4));
    assert_eq!(net.relation("dogs", "cat"), Some(Relation { path: 2, depth: 1 }));
    assert_eq!(net.synonyms("doggen"), ["domestic dog"]);
    assert_eq!(net.lookup("barnes & noble").len(), 1);
    assert_eq!(net.depth(net.lookup("dog")[0]), 2);
}
