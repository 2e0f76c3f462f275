//! Labels with the real program: a conversation in a terminal and in the browser, on a stopped collection, on
//! a running one and before there is any; undo, a kill between two labels, and everything that can be wrong
//! with labels. Loopback only.

use crate::common::browser::{Browser, pictures};
use crate::common::campus::{self, campus, serve};
use crate::common::dashboard::Dashboard;
use crate::common::terminal::Terminal;
use crate::common::{Ran, Running, finish, folder, gleaner};
use crate::support::postgres;
use crawl::Judgement;
use crawl::config::Config;
use crawl::reader::Reader;
use crawl::steer::stopped::StoppedCollection;
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const TOPIC: &str = "name = 'Database courses'\n[genre]\nterms = ['syllabus', 'office hours', 'grading']\n\
    [content]\nterms = ['relational model', 'query optimization']\n[fetch]\ndelay = '0s'\n";
const START: &str = "http://campus.example/";

fn crawl(dir: &Path, web: SocketAddr, more: &[&str]) -> Command {
    let mut command = gleaner();
    command.current_dir(dir).args(["crawl", "t.toml", "--seed", START, "--out", "c", "--quiet"]);
    command.args(["--resolve", &format!("*:{web}"), "--allow-private"]).args(more);
    command
}

/// The campus, crawled whole by judge `relevance`.
fn crawled(dir: &Path) -> SocketAddr {
    let web = campus();
    std::fs::write(dir.join("t.toml"), TOPIC).unwrap();
    finish(&mut crawl(dir, web, &[])).ok();
    web
}

fn label(dir: &Path, args: &[&str]) -> Ran {
    finish(gleaner().current_dir(dir).env("NO_COLOR", "1").arg("label").arg("c").args(args))
}

fn url(path: &str) -> String {
    format!("http://campus.example/{path}")
}

/// Side, probability and line of every page, as they are kept.
fn kept(dir: &Path) -> BTreeMap<String, (bool, u64)> {
    let reader = Reader::open(&dir.join("c")).unwrap();
    let page = |r: Result<types::Record, types::Problem>| {
        let r = r.unwrap();
        (r.url.clone(), (r.verdict.relevant, r.verdict.relevance.to_bits()))
    };
    reader.records(true).map(page).collect()
}

/// What the judge makes of every page, bit by bit.
fn judged(dir: &Path) -> Vec<(u32, bool, u64, u64, u32)> {
    let c = dir.join("c");
    let loaded = Config::read(&c.join("topic.toml"), toml::Table::new()).unwrap();
    let teaching = StoppedCollection::open(&c, &loaded, &|_| unreachable!("no examples")).unwrap();
    let bits = |j: Judgement| {
        let v = j.verdict;
        (j.id.0, v.relevant, v.relevance.to_bits(), v.threshold.to_bits(), v.version)
    };
    teaching.judgements().unwrap().into_iter().map(bits).collect()
}

/// Someone who labels pages in a terminal.
struct Labeller(Terminal);

impl Labeller {
    fn start(dir: &Path, command: &str) -> Labeller {
        Labeller(Terminal::start(dir, "stty cols 100 rows 40;", command))
    }

    /// Waits for the next question, and gives it.
    fn question(&mut self) -> String {
        self.0.wait("relevant? [y/n/?/u/o/q]")
    }

    fn press(&mut self, keys: &str) {
        self.0.press(keys);
    }

    /// Answers as someone who wants the pages of database courses.
    fn answer(&mut self) -> String {
        let question = self.question();
        self.press(if question.contains("campus.example/db") { "y" } else { "n" });
        question
    }

    fn end(self) -> String {
        let (code, text) = self.0.end();
        assert_eq!(code, 0, "{text}");
        text
    }
}

#[test]
fn a_conversation_in_a_terminal_teaches_at_once_and_undo_restores_exactly() {
    let dir = folder();
    let d = dir.path();
    crawled(d);
    let (kept_before, judged_before) = (kept(d), judged(d));
    let mut t = Labeller::start(d, "label c");
    let first = t.question();
    for part in
        ["31 pages", "nobody crawls into this folder", "1. ", "http://campus.example/", "probability 0."]
    {
        assert!(first.contains(part), "`{part}` is missing in {first}");
    }
    assert!(first.contains("said yes to no page yet"), "{first}");
    // One answer each way, taken back again: everything is as it was, to the last bit.
    t.press("y");
    assert!(t.question().contains("1 answered, 1 yes"));
    t.press("n");
    assert!(t.question().contains("2 answered, 1 yes"));
    t.press("u");
    let again = t.question();
    assert!(again.contains("undone: label taken back") && again.contains("2. "), "{again}");
    t.press("u");
    t.question();
    t.press("u");
    assert!(t.question().contains("nothing to undo"));
    t.press("q");
    let end = t.end();
    assert!(end.contains("0 answers given now; 0 in all"), "{end}");
    assert_eq!(kept(d), kept_before);
    assert_eq!(judged(d), judged_before);

    // Skipped pages are not asked about again; after five answers it is said what changed.
    let mut t = Labeller::start(d, "label c");
    let skipped = t.question();
    let title = skipped.lines().find(|l| l.trim_start().starts_with("1. ")).unwrap().to_string();
    t.press("?");
    let mut asked = Vec::new();
    for _ in 0..5 {
        asked.push(t.answer());
    }
    assert!(!asked.concat().contains(title.trim()), "{title} was skipped");
    let told = t.question();
    assert!(told.contains("5 answered") && told.contains("changed sides by the last answers"), "{told}");
    for _ in 0..10 {
        t.answer();
    }
    let question = t.question();
    assert!(question.contains("because"), "{question}");
    t.press("q");
    let end = t.end();
    assert!(end.contains("estimate: precision ") && end.contains("recall among fetched pages"), "{end}");
    assert_ne!(judged(d), judged_before);
    // It learnt: with fifteen answers all ten courses are found, and nothing else.
    let relevant: Vec<String> = kept(d).into_iter().filter(|(_, v)| v.0).map(|(u, _)| u).collect();
    let courses: Vec<String> = (0..10).map(|i| url(&format!("db{i}"))).collect();
    assert_eq!(relevant, courses);
    // In a pipe the same command lists, as does --list in a terminal.
    let listed = label(d, &[]);
    assert_eq!(listed.ok().out.lines().count(), 15, "{listed}");
    assert!(listed.out.lines().all(|l| l.split('\t').count() == 6), "{listed}");
    let t = Labeller::start(d, "label c --list");
    assert_eq!(t.end().replace("\r\n", "\n").lines().filter(|l| l.contains('\t')).count(), 15);
}

#[test]
fn kinds_of_questions() {
    let dir = folder();
    let d = dir.path();
    crawled(d);
    let mut t = Labeller::start(d, "label c --top");
    assert!(t.question().contains("among the best"));
    t.press("q");
    t.end();
    let mut t = Labeller::start(d, "label c --near");
    assert!(t.question().contains("uncertain"));
    t.press("o");
    assert!(t.question().contains("more"), "more of the text, and the same question");
    t.press("q");
    t.end();
    // So many at random, then it ends by itself.
    let mut t = Labeller::start(d, "label c --sample 2 --all");
    for _ in 0..2 {
        assert!(t.answer().contains("drawn at random"));
    }
    assert!(t.end().contains("no page is left to ask about"));
    let listed = label(d, &["--near"]);
    assert_eq!(listed.ok().out.lines().count(), 20, "{listed}");
    label(d, &["--near", "--top"]).fails(2, &["cannot be used with"]);
    label(d, &["--yes"]).fails(2, &["which pages?"]);
}

/// A web whose pages take their time, so that a crawl of it is still running when it is taught.
fn slow() -> SocketAddr {
    serve(|_, target, _| {
        if !target.starts_with("/db") && !target.starts_with("/art") {
            std::thread::sleep(Duration::from_millis(40));
        }
        let page = campus::page(target).or_else(|| {
            let n = target.strip_prefix("/more")?.parse::<u32>().ok()?;
            Some(campus::html("More", &format!("<a href=\"/more{}\">more</a> of the same, {n}", n + 1)))
        });
        let page = page.map(|p| p.replace("<nav>", "<nav><a href=\"/more0\">more</a> "));
        match page {
            Some(body) => (200, String::new(), "text/html; charset=utf-8", body),
            None => (404, String::new(), "text/html", "no".into()),
        }
    })
}

fn until(what: &str, done: impl Fn() -> bool) {
    let give_up = Instant::now() + Duration::from_secs(60);
    while !done() {
        assert!(Instant::now() < give_up, "not {what} after a minute");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn pages(dir: &Path) -> usize {
    Reader::open(&dir.join("c")).map_or(0, |r| r.verdicts().count())
}

#[test]
fn a_running_crawl_is_taught_through_its_inbox() {
    let dir = folder();
    let d = dir.path();
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let crawl = Running::start(&mut crawl(d, slow(), &[]));
    until("under way", || pages(d) > 31);
    let said = label(d, &[&url("art3"), "--no"]);
    assert!(said.ok().err.contains("labelled not relevant") && said.err.contains("inbox"), "{said}");
    let mut t = Labeller::start(d, "label c");
    assert!(t.question().contains("a crawl is running here"));
    t.answer();
    let next = t.answer();
    assert!(next.contains("2 answered"), "{next}");
    t.question();
    t.press("u");
    assert!(t.question().contains("undone"));
    t.press("q");
    t.end();
    let before = pages(d);
    until("still crawling", || pages(d) > before);
    // It ends in the middle of a conversation: from then on the folder is taught here.
    let mut t = Labeller::start(d, "label c");
    t.question();
    crawl.signal("INT");
    crawl.wait();
    t.answer();
    assert!(t.question().contains("3 answered"));
    t.press("q");
    t.end();
    assert_eq!(label(d, &["--list"]).ok().out.lines().count(), 3);
    assert!(std::fs::read_dir(d.join("c/inbox")).unwrap().next().is_none(), "nothing is left behind");
}

/// In a crawl that workers share answers go through the database. A worker that joins later judges by them.
#[test]
fn the_same_conversation_on_a_shared_crawl() {
    let Some(server) = postgres::server() else { return };
    let dir = folder();
    let d = dir.path();
    let web = campus();
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let store = ["--store", &server.url(), "--crawl", "taught"];
    let relevant = || -> std::collections::BTreeSet<String> {
        let all =
            finish(gleaner().args(["export", "--format", "jsonl", "--copies"]).args(store)).ok().out.clone();
        let url = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["url"].to_string();
        all.lines().map(url).collect()
    };
    finish(&mut crawl(d, web, &store)).ok();
    let mut t = Labeller::start(d, &format!("label {}", store.join(" ")));
    let first = t.question();
    assert!(first.contains("a shared crawl: answers go to its workers") && first.contains("1. "), "{first}");
    t.press("y");
    assert!(t.question().contains("1 answered, 1 yes"));
    t.press("u");
    assert!(t.question().contains("undone"));
    for n in 1..=6 {
        t.answer();
        let asked = t.question();
        assert!(asked.contains(&format!("{n} answered")), "{asked}");
    }
    t.press("q");
    assert!(t.end().contains("6 answers given now; 6 in all"));
    let list = finish(gleaner().args(["label", "--list"]).args(store)).ok().out.clone();
    assert_eq!(list.lines().count(), 6, "{list}");
    let (yes, no): (Vec<&str>, Vec<&str>) = list.lines().partition(|l| l.contains("campus.example/db"));
    assert!(!yes.is_empty() && !no.is_empty(), "{list}");
    // What was said counts, and goes on counting when a worker comes back and judges by it.
    finish(&mut crawl(d, web, &store)).ok();
    let found = relevant();
    assert!(found.iter().filter(|u| u.contains("campus.example/db")).count() >= yes.len(), "{found:?}");
    for line in no {
        let url = line.split_whitespace().find(|w| w.starts_with("http")).unwrap_or_default();
        assert!(!found.contains(&format!("\"{url}\"")), "{url} in {found:?}");
    }
}

#[test]
fn a_kill_between_two_labels_loses_none() {
    let dir = folder();
    let d = dir.path();
    crawled(d);
    for n in 1..=4 {
        let mut t = Labeller::start(d, "label c");
        t.answer();
        // Its answer was told: it is kept, whatever happens now.
        assert!(t.question().contains(&format!("{n} answered")));
        let pid = Command::new("pgrep").args(["-P", &t.0.child.id().to_string()]).output().unwrap();
        let pid = String::from_utf8(pid.stdout).unwrap();
        assert!(Command::new("kill").args(["-9", pid.trim()]).status().unwrap().success());
        t.0.child.wait().unwrap();
        assert_eq!(label(d, &["--list"]).ok().out.lines().count(), n);
    }
    // What was kept is what a folder has that was taught the same without being killed.
    let taught = kept(d);
    let labels: Vec<String> = label(d, &["--list"]).out.lines().map(|l| l.replace('\t', " ")).collect();
    let other = folder();
    crawled(other.path());
    for line in &labels {
        let mut parts = line.split(' ');
        let (page, said) = (parts.next().unwrap(), parts.next().unwrap());
        label(other.path(), &[page, if said == "yes" { "--yes" } else { "--no" }]).ok();
    }
    let sides =
        |m: &BTreeMap<String, (bool, u64)>| m.iter().map(|(u, v)| (u.clone(), v.0)).collect::<Vec<_>>();
    assert_eq!(sides(&taught), sides(&kept(other.path())));
    // The crawl goes on with what it was taught.
    finish(&mut crawl(d, campus(), &[])).ok();
    assert_eq!(sides(&kept(d)), sides(&taught));
}

#[test]
fn before_a_crawl() {
    let dir = folder();
    let d = dir.path();
    let web = campus();
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let urls: Vec<String> = (0..3).flat_map(|i| [url(&format!("db{i}")), url(&format!("art{i}"))]).collect();
    // As `gleaner seeds … > found.txt` leaves what a search engine found.
    let found: String =
        urls.iter().map(|u| format!("{u}\t1\t-\tsyllabus\tgenre\tterms\tsql\tA title\n")).collect();
    std::fs::write(d.join("found.txt"), found).unwrap();
    let command = format!("label c --topic t.toml --urls found.txt --resolve '*:{web}' --allow-private");
    let mut t = Labeller::start(d, &command);
    assert!(t.0.wait("relevant? [").contains("6 pages"), "{}", t.0.text());
    for _ in 0..6 {
        t.answer();
    }
    assert!(t.end().contains("no page is left to ask about"));
    // The crawl proper goes on from there, by what was said.
    finish(&mut crawl(d, web, &["--pages", "31"])).ok();
    let found = kept(d);
    assert_eq!(found.len(), 31);
    assert!((0..10).all(|i| found[&url(&format!("db{i}"))].0), "{found:?}");
    label(d, &["--topic", "t.toml", "--urls", "none.txt", "--list"]).ok();
    let none = finish(gleaner().current_dir(d).args(["label", "x", "--urls", "found.txt"]));
    none.fails(2, &["which topic?", "--topic"]);
}

/// Without a list it is what lies around the seeds; and what is taken back leaves no trace there either.
#[test]
fn before_a_crawl_around_the_seeds() {
    let dir = folder();
    let d = dir.path();
    let web = campus();
    let resolve = format!("*:{web}");
    std::fs::write(d.join("t.toml"), format!("{TOPIC}[seeds]\nurls = ['{START}']\n")).unwrap();
    let begun = label(d, &["--topic", "t.toml", "--pages", "12", "--resolve", &resolve, "--allow-private"]);
    assert!(begun.ok().err.contains("fetching 12 pages first"), "{begun}");
    let before = (kept(d), judged(d));
    assert_eq!(before.0.len(), 12);
    let mut t = Labeller::start(d, "label c --topic t.toml");
    assert!(t.0.wait("relevant? [").contains("12 pages"), "{}", t.0.text());
    for keys in ["y", "n", "u", "u"] {
        t.question();
        t.press(keys);
    }
    t.question();
    t.press("q");
    assert!(t.end().contains("0 in all"));
    assert_eq!((kept(d), judged(d)), before);
}

#[test]
fn labels_that_make_no_sense() {
    let dir = folder();
    let d = dir.path();
    crawled(d);
    let file = |text: &str| {
        std::fs::write(d.join("l.tsv"), text).unwrap();
        label(d, &["--from", "l.tsv"])
    };
    // Contradictions, also in another spelling: nothing is labelled.
    let both = format!("{}\tyes\n{}\tno\nHTTP://Campus.example:80/db1#top\tno\n", url("db1"), url("art1"));
    file(&both).fails(2, &["db1", "is called relevant and not relevant", "nothing was labelled"]);
    assert!(label(d, &["--list"]).ok().out.is_empty());
    // The same twice is no contradiction.
    let twice = file(&format!("{0}\tyes\n{0}\tyes\n", url("db1")));
    assert!(twice.ok().err.contains("1 page labelled"), "{twice}");
    assert!(twice.err.contains("every answer is yes"), "{twice}");
    // Unknown pages are told of; the others count.
    let some =
        file(&format!("http://elsewhere.example/\tno\n{}\tyes\n{}\tno\n", url("nowhere"), url("art1")));
    assert!(some.ok().err.contains("elsewhere.example/: this crawl never saw it"), "{some}");
    assert!(some.err.contains("1 page labelled"), "{some}");
    // A file of another collection.
    let other: String = (0..30).map(|i| format!("http://other.example/{i}\tyes\n")).collect();
    let none = file(&other);
    none.fails(1, &["never saw it", "none of the 30 pages in l.tsv is in this collection", "another one?"]);
    // All no, all yes: obeyed, and said what is missing.
    let all = |kind: &str, said: &str| -> String {
        (0..10).map(|i| format!("{}\t{said}\n", url(&format!("{kind}{i}")))).collect()
    };
    let no = file(&(all("art", "no") + &all("db", "no") + &all("news", "no")));
    assert!(no.ok().err.contains("every answer is no"), "{no}");
    assert!(kept(d).values().all(|v| !v.0), "nothing is relevant when every page is not");
    let yes = file(&(all("art", "yes") + &all("db", "yes") + &all("news", "yes")));
    assert!(yes.ok().err.contains("every answer is yes"), "{yes}");
    assert!(kept(d).iter().filter(|(_, v)| v.0).count() >= 30);
    let cleared: Vec<String> = label(d, &["--list"]).out.lines().map(|l| l.replace('\t', " ")).collect();
    assert_eq!(cleared.len(), 30);
}

#[test]
fn a_description_in_a_language_without_preset() {
    let dir = folder();
    let d = dir.path();
    let topic = "name = 'Tietokannat'\ndescription = 'Relaatiotietokantojen kurssien opinto-ohjelmat ja \
                 tehtävät'\n\
        [content]\nterms = ['relational model', 'query optimization']\n[fetch]\ndelay = '0s'\n";
    std::fs::write(d.join("t.toml"), topic).unwrap();
    finish(&mut crawl(d, campus(), &[])).ok();
    label(d, &[&url("db0"), &url("db1"), "--yes"]).ok();
    label(d, &[&url("news0"), &url("art1"), "--no"]).ok();
    let found = kept(d);
    assert!((0..10).all(|i| found[&url(&format!("db{i}"))].0), "{found:?}");
    assert!((0..10).all(|i| !found[&url(&format!("news{i}"))].0), "{found:?}");
}

#[test]
fn why_a_page_was_judged_so() {
    let dir = folder();
    let d = dir.path();
    crawled(d);
    let explain = |path: &str, more: &[&str]| {
        finish(gleaner().current_dir(d).env("NO_COLOR", "1").args(["explain", "c", &url(path)]).args(more))
    };
    let before = explain("db5", &[]);
    assert!(!before.ok().out.contains("like "), "nothing was labelled yet: {before}");
    label(d, &[&url("db1"), &url("db2"), "--yes"]).ok();
    label(d, &[&url("art1"), &url("news1"), "--no"]).ok();
    explain("db5", &[]).ok().shows(&["  for ", "relational", "that you said yes to", "campus.example/db"]);
    let art = explain("art5", &[]);
    art.ok().shows(&["  against", "that you said no to", "campus.example/art1"]);
    let json: serde_json::Value = serde_json::from_str(&explain("art5", &["--json"]).ok().out).unwrap();
    assert_eq!(json["reasons"]["like_url"], url("art1"), "{}", json["reasons"]);
    assert!(json["reasons"]["words_against"].as_array().is_some_and(|w| !w.is_empty()));
}

/// What other lines would give, and a line of one's own.
#[test]
fn another_line_is_looked_at_and_chosen() {
    let dir = folder();
    let d = dir.path();
    crawled(d);
    let threshold = |more: &[&str]| {
        finish(gleaner().current_dir(d).env("NO_COLOR", "1").args(["threshold", "c"]).args(more))
    };
    threshold(&[]).ok().shows(&[
        "Probabilities of",
        "What other lines would give",
        "← now",
        "Near 0.9",
        "campus.example",
    ]);
    label(d, &[&url("db1"), &url("db2"), "--yes"]).ok();
    label(d, &[&url("art1"), &url("news1"), "--no"]).ok();
    threshold(&[]).ok().shows(&["your labels agree"]);
    let json: serde_json::Value = serde_json::from_str(&threshold(&["--json"]).ok().out).unwrap();
    let lines = json["lines"].as_array().unwrap();
    let relevant: Vec<u64> = lines.iter().map(|l| l["relevant"].as_u64().unwrap()).collect();
    assert!(relevant.is_sorted_by(|a, b| a >= b) && relevant[0] > 0, "{relevant:?}");
    assert_eq!(lines.iter().filter(|l| l["now"] == true).count(), 1, "{json}");
    // Chosen, and obeyed by those who judge again.
    threshold(&["--write", "kmeans"]).fails(2, &["estimates from seeds"]);
    threshold(&["--write", "1.5"]).fails(2, &["not between 0 and 1"]);
    assert!(threshold(&["--write", "0.9"]).ok().err.contains("[judge] threshold = 0.9"));
    finish(gleaner().current_dir(d).args(["rejudge", "c"])).ok();
    let json: serde_json::Value = serde_json::from_str(&threshold(&["--json"]).ok().out).unwrap();
    let now = json["lines"].as_array().unwrap().iter().find(|l| l["now"] == true).unwrap();
    assert_eq!(now["line"], 0.9, "{json}");
    let status = finish(gleaner().current_dir(d).args(["status", "c", "--json"]));
    let status: serde_json::Value = serde_json::from_str(&status.ok().out).unwrap();
    assert_eq!(status["relevant"], now["relevant"], "one number everywhere");
    assert!(std::fs::read_to_string(d.join("c/report.html")).unwrap().contains("4 labelled"));
}

#[test]
fn the_same_conversation_in_the_browser() {
    let Some(mut b) = Browser::start() else { return };
    let dir = folder();
    let d = dir.path();
    crawled(d);
    let before = kept(d);
    let board = Dashboard::start(d, &["--rate", "1000"]);
    let shots = pictures("label");
    b.size(1400, 900);
    b.open(&board.url);
    b.wait("document.querySelector('nav')?.innerText.includes('Teach')");
    b.eval("location.hash = '#/c/c/teach'");
    b.wait("document.querySelector('.question .passage mark')");
    assert!(b.text().contains("Asked because"), "{}", b.text());
    let title = "document.querySelector('.question .url').innerText";
    let first = b.eval(title);
    // Keys: yes, undo, skip.
    b.key("y");
    b.wait("document.querySelector('#progress').innerText.includes('1 answered, 1 yes')");
    assert!(
        b.eval("document.querySelector('#effect').innerText").as_str().unwrap().contains("labelled relevant")
    );
    b.key("u");
    b.wait("document.querySelector('#progress').innerText.includes('0 answered, 0 yes')");
    assert_eq!(b.eval(title), first, "the page is asked about again");
    assert_eq!(kept(d), before, "undo restores exactly");
    b.key("?");
    b.wait(&format!("{title} !== {first}"));
    assert!(b.eval("document.querySelector('dialog[open]') === null").as_bool().unwrap());
    // Buttons, as fingers press them.
    let mut answered = 0;
    while answered < 12 {
        let wanted = b.eval(title).as_str().unwrap().contains("/db");
        b.click(if wanted { ".answers .yes" } else { ".answers .no" });
        answered += 1;
        b.wait(&format!("document.querySelector('#progress').innerText.startsWith('{answered} answered')"));
        b.wait("!document.querySelector('.question.busy')");
    }
    b.wait("document.querySelector('#estimate .between')");
    assert!(b.text().contains("Precision") && b.text().contains("Recall"), "{}", b.text());
    for (width, height, dark) in [(1400, 900, false), (1400, 900, true), (390, 844, false), (390, 844, true)]
    {
        b.size(width, height);
        b.dark(dark);
        b.wait("document.querySelector('.question .passage')");
        b.picture(&shots.join(format!("teach-{width}-{}.png", if dark { "dark" } else { "light" })));
    }
    assert!(
        b.eval("document.documentElement.scrollWidth <= innerWidth").as_bool().unwrap(),
        "nothing sticks out"
    );
    b.size(1400, 900);
    b.dark(false);
    // Another kind of question, and a page that says why it was judged so.
    b.eval(
        "(() => { const s = document.getElementById('which'); s.value = 'top'; s.dispatchEvent(new \
            Event('change')); })()",
    );
    b.wait("document.querySelector('.question')?.innerText.includes('among the best')");
    b.eval("location.hash = document.querySelector('.question h2 a').getAttribute('href')");
    b.wait("document.querySelector('#reasons')?.innerText.includes('that you said')");
    b.picture(&shots.join("reasons.png"));
    assert!(b.complaints.is_empty(), "{:?}", b.complaints);
    // While the dashboard has it open, the command line gets through, too; then a crawl may begin.
    let said = label(d, &[&url("news3"), "--no"]);
    said.ok();
    let labelled = label(d, &["--list"]).ok().out.lines().count();
    let near = || board.json("/api/v1/collections/c/questions?n=3&which=near");
    until("seen by the dashboard", || near()["taught"]["answered"] == labelled);
    assert_eq!(near()["questions"].as_array().map(Vec::len), Some(3), "{}", near());
    assert_eq!(board.get("/api/v1/collections/c/questions?skip=x").status, 400);
    assert_eq!(board.get("/api/v1/collections/c/questions?id=99999").status, 404);
}
