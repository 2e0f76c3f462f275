//! Everything that reads bytes of others, each as one function of bytes that panics when a promise is broken.
//!
//! `cargo test -p fuzz` reads the corpus (`fuzz/corpus/TARGET`) again: examples, and every input that once
//! broke something. `fuzz/run TARGET --minutes N` looks for more (docs/adr/0051-how-we-fuzz.md).

#![warn(missing_docs)]

mod files;
mod ledger;
mod net;
mod pages;
mod texts;

use std::path::PathBuf;

/// One reader, and what must hold of it.
pub struct Target {
    /// What it is called on the command line, and its folder in the corpus.
    pub name: &'static str,
    /// What is promised, for people.
    pub promise: &'static str,
    /// Panics when the promise is broken.
    pub check: fn(&[u8]),
}

/// Every target there is.
pub const ALL: &[Target] = &[
    Target { name: "html", promise: "the quick reader gives the page of the tree", check: pages::html },
    Target { name: "page", promise: "any body gives a page whose parts fit its text", check: pages::page },
    Target { name: "feed", promise: "sitemaps and feeds give links within the limits", check: pages::feed },
    Target { name: "office", promise: "any document of parts gives a page", check: pages::office },
    Target { name: "pdf", promise: "any PDF file gives a page", check: pages::pdf },
    Target {
        name: "robots",
        promise: "decides like Google's parser, also when reduced",
        check: texts::robots,
    },
    Target { name: "url", promise: "canonical is canonical, and the same place", check: texts::url },
    Target { name: "topic", promise: "a topic file is read or refused, and goes round", check: texts::topic },
    Target {
        name: "words",
        promise: "durations, sizes, dates, labels, seeds, sentences",
        check: texts::words,
    },
    Target { name: "query", promise: "any query is answered", check: texts::query },
    Target { name: "http", promise: "any answer of a server ends in one of ours", check: net::http },
    Target { name: "warc", promise: "any archive is read to its end", check: files::warc },
    Target { name: "exchange", promise: "what is archived is read back", check: files::exchange },
    Target { name: "zip", promise: "any container is read or refused", check: files::zip },
    Target { name: "model", promise: "a model file is read as written or refused", check: files::model },
    Target {
        name: "ledger",
        promise: "any ledger is read or refused, and again the same",
        check: ledger::ledger,
    },
    Target {
        name: "checkpoint",
        promise: "any checkpoint is a shortcut or is passed over",
        check: ledger::checkpoint,
    },
];

/// The target of this name.
pub fn find(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|t| t.name == name)
}

/// The folder with a target's examples and former crashers.
pub fn corpus(target: &Target) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name)
}

/// Examples that only our own writers can make, for the targets of these names.
pub fn examples() -> Vec<(&'static str, Vec<u8>)> {
    ledger::examples().into_iter().chain(files::examples()).collect()
}

/// The first byte as a choice, and what follows.
fn choice(data: &[u8]) -> (u8, &[u8]) {
    data.split_first().map_or((0, data), |(first, rest)| (*first, rest))
}
