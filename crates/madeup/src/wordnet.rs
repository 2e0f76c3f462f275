//! A WordNet of a few words, for tests: as text in the format of the real one.

use learn::wordnet::WordNet;
use std::sync::Arc;

/// entity ← {animal ← {dog = hound, cat}, course = class}; sql, syllabus and everything else are not in it.
pub fn small_wordnet() -> Arc<WordNet> {
    let file = |name: &str| -> Option<&'static str> {
        Some(match name {
            "data.noun" => {
                "00000100 03 n 01 entity 0 000 | all\n00000200 05 n 01 animal 0 001 @ 00000100 n 0000 | \
                 living\n00000300 05 n 02 dog 0 hound 0 001 @ 00000200 n 0000 | barks\n\
                 00000400 05 n 01 cat 0 001 @ 00000200 n 0000 | purrs\n\
                 00000500 05 n 02 course 0 class 0 001 @ 00000100 n 0000 | teaches\n"
            }
            "index.noun" => {
                "animal n 1 1 @ 1 0 00000200\ncat n 1 1 @ 1 0 00000400\nclass n 1 1 @ 1 0 00000500\n\
                 course n 1 1 @ 1 0 00000500\ndog n 1 1 @ 1 0 00000300\nentity n 1 0 1 0 00000100\n\
                 hound n 1 1 @ 1 0 00000300\n"
            }
            "data.verb" | "data.adj" | "data.adv" | "index.verb" | "index.adj" | "index.adv" => "",
            _ => return None,
        })
    };
    let net = WordNet::from_files(|name| file(name).map(|t| t.as_bytes().to_vec()));
    Arc::new(net.expect("a WordNet in a string"))
}
