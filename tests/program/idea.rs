//! From an idea to a collection, offline and with nothing but the commands: a web is crawled and indexed,
//! `gleaner serve` is the search engine over it, `terms` and `seeds` make a topic, and a focused crawl with
//! it finds what was meant.

use crate::common::dashboard::Dashboard;
use crate::common::{Ran, file, finish, folder, gleaner};
use madeup::{Log, SEEDS, Server, Site, Size};
use std::collections::HashSet;
use std::path::Path;

/// Everything is wanted: what `gleaner serve` will search in.
const ALL: &str = "name = 'Everything'\nquery = 'page'\n[fetch]\ndelay = '1ms'\n";

/// What a course on databases teaches, in the words of this web.
const TAUGHT: &[&str] = &[
    "relational",
    "normalization",
    "query optimization",
    "transactions",
    "concurrency control",
    "schema design",
    "functional dependencies",
    "crash recovery",
    "entity relationship diagrams",
];

fn at(dir: &Path, web: &Server, args: &[&str]) -> Ran {
    let mut command = gleaner();
    command.args(args).args(["--resolve", &web.resolve(), "--allow-private"]).current_dir(dir);
    finish(&mut command)
}

/// The relevant pages of a collection.
fn found(dir: &Path, collection: &str) -> HashSet<String> {
    let ran =
        finish(gleaner().args(["export", collection, "--format", "jsonl", "--copies"]).current_dir(dir));
    let url = |l: &str| -> String {
        let record: serde_json::Value = serde_json::from_str(l).unwrap();
        record["url"].as_str().unwrap().to_string()
    };
    ran.ok().out.lines().map(url).collect()
}

/// Recall and precision of what was called relevant, and how many of it are wanted.
fn quality(found: &HashSet<String>, wanted: &HashSet<String>) -> ((f64, f64), usize) {
    let hits = found.intersection(wanted).count();
    ((hits as f64 / wanted.len() as f64, hits as f64 / found.len() as f64), hits)
}

fn pages(dir: &Path, collection: &str) -> u64 {
    let ran = finish(gleaner().args(["status", collection, "--json"]).current_dir(dir));
    let status: serde_json::Value = serde_json::from_str(&ran.ok().out).unwrap();
    status["pages"].as_u64().unwrap_or_else(|| panic!("no pages: {status}"))
}

#[test]
fn from_an_idea_to_a_collection_through_our_own_search_engine() {
    let dir = folder();
    let d = dir.path();
    let site = Site::new(1, Size::Pages(900));
    // In English, as the idea is; this web has syllabi in four more languages.
    let wanted: HashSet<String> = site.relevant().into_iter().filter(|u| !u.contains("/cursos/")).collect();
    let web = Server::start(site, "127.0.0.1:0".parse().unwrap(), Log::off()).unwrap();

    // Indexed whole.
    file(d, "all.toml", ALL);
    let mut args = vec!["crawl", "all.toml", "--out", "shelf/all", "--strategy", "breadth-first"];
    args.extend(["--pages", "1500", "--quiet"]);
    args.extend(SEEDS.iter().flat_map(|s| ["--seed", *s]));
    at(d, &web, &args).ok();
    let engine = Dashboard::start(&d.join("shelf"), &[]);

    // The idea, and what a search for it shows: three results of different hosts are taken as examples.
    let search = engine.json("/search?q=databases+syllabus&format=json&all=1");
    let results = search["results"].as_array().unwrap();
    let known: Vec<&str> = results.iter().map(|r| r["url"].as_str().unwrap()).collect();
    let mut hosts = HashSet::new();
    let host = |u: &str| u.split('/').nth(2).unwrap_or("").to_string();
    let examples: Vec<&str> = known
        .iter()
        .filter(|u| wanted.contains(**u) && !u.ends_with(".pdf") && hosts.insert(host(u)))
        .take(3)
        .copied()
        .collect();
    assert_eq!(examples.len(), 3, "{known:?}");
    let mut args = vec!["new", "--subject", "databases", "--genre", "syllabus", "--terms", "0"];
    args.extend(["--name", "Databases", "-o", "db.toml", "--examples"]);
    args.extend(&examples);
    at(d, &web, &args).ok();
    let mut args = vec!["terms", "--collection", "shelf/all", "--into", "db.toml", "--yes"];
    args.extend(&examples);
    at(d, &web, &args).ok();

    // The address of the engine is what `gleaner serve` has printed; unread pages are to be found too.
    let address = format!("searxng:{}&all=1", engine.url);
    let args = ["seeds", "db.toml", "--engine", &address, "--limit", "20", "--into", "db.toml"];
    let seeds = at(d, &web, &args);
    assert!(seeds.ok().err.contains("added 20 seeds to db.toml"), "{seeds}");
    let relevant_seeds = seeds.out.lines().filter(|l| wanted.contains(l.split('\t').next().unwrap())).count();
    assert!(relevant_seeds >= 10, "of twenty results most are what was meant: {seeds}");
    let text = std::fs::read_to_string(d.join("db.toml")).unwrap();
    assert!(text.contains("# A topic for `gleaner crawl`"), "comments stay: {text}");
    for part in ["preset = \"syllabus\"", "\"databases\""] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Which examples the search shows first depends on the order of the crawl, and so does which of these
    // they name.
    let taught = TAUGHT.iter().filter(|t| text.contains(**t)).count();
    assert!(taught >= 3, "{taught} of {TAUGHT:?}\n{text}");
    assert!(!text.contains(&engine.token), "{text}");

    // Results are leaves of the web: a directory among the seeds leads to hosts that the engine did not name.
    let mut args = vec!["crawl", "db.toml", "--out", "shelf/db", "--seed", SEEDS[0]];
    args.extend(["--pages", "800", "--delay", "1ms", "--quiet"]);
    at(d, &web, &args).ok();
    let (before, hits) = quality(&found(d, "shelf/db"), &wanted);
    assert!(before.0 >= 0.75 && before.1 >= 0.65, "recall and precision {before:?} ({hits} pages)");
    // Four of what was called relevant are right, four are not, says the user: home pages and homework of
    // such courses.
    let all = found(d, "shelf/db");
    let mut right: Vec<&String> = all.intersection(&wanted).collect();
    let mut wrong: Vec<&String> = all.difference(&wanted).collect();
    right.sort();
    wrong.sort();
    for (pages, answer) in [(right, "--yes"), (wrong, "--no")] {
        let pages = pages.iter().take(4).map(|u| u.as_str());
        finish(gleaner().args(["label", "shelf/db", answer]).args(pages).current_dir(d)).ok();
    }
    at(d, &web, &["rejudge", "shelf/db"]).ok();
    let found = found(d, "shelf/db");
    let ((recall, precision), hits) = quality(&found, &wanted);
    let fetched = pages(d, "shelf/db");
    assert!(fetched <= 800, "{fetched}");
    println!("{hits} of {} wanted, {} called relevant, {fetched} fetched", wanted.len(), found.len());
    assert!(recall >= 0.7 && precision >= 0.8, "recall {recall:.2}, precision {precision:.2} ({hits} pages)");
    // More than the engine gave: the crawl has found pages that were neither seeds nor examples.
    assert!(hits > 2 * relevant_seeds, "{hits} found, {relevant_seeds} of them seeds");
    // And the engine finds in the new collection what belongs to it.
    let again = engine.json("/search?q=relational+syllabus&format=json&collection=db");
    let first = again["results"][0]["url"].as_str().unwrap_or_else(|| panic!("{again}"));
    assert!(found.contains(first), "{again}");
}
