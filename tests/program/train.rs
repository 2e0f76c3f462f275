//! `gleaner train` through the real program: judges from examples and taxonomies, strategies from a finished
//! crawl, and what another crawl or a backtest makes of the model.

use crate::common;
use crate::common::{Ran, file, finish, folder, run, serve};
use madeup::Server;
use std::fs;
use std::path::{Path, PathBuf};

/// Writes pages below a folder.
fn pages(dir: &Path, list: &[(&str, &str)]) {
    for (name, text) in list {
        let path = dir.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, format!("<html><body><p>{text}</p></body></html>")).unwrap();
    }
}

fn examples(dir: &Path) {
    pages(
        dir,
        &[
            ("good/1.html", "sql joins and relational algebra"),
            ("good/2.html", "sql indexes, query plans"),
            ("good/deep/3.html", "sql joins, transactions"),
            ("bad/1.html", "soup with onions"),
            ("bad/2.html", "stew, soup and bread"),
            ("bad/3.html", "onions and stew"),
            ("new-good.html", "relational algebra and sql transactions"),
            ("new-bad.html", "bread with onions"),
        ],
    );
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_string()
}

#[test]
fn judges_from_folders_of_examples() {
    let dir = folder();
    examples(dir.path());
    let at = |name: &str| text(&dir.path().join(name));
    let topic = file(dir.path(), "t.toml", "name = 'db'\n[content]\nterms = ['unused']\n");
    for kind in ["bayes", "svm"] {
        let model = at(&format!("{kind}.model"));
        let args =
            ["train", "--judge", kind, "--relevant", &at("good"), "--irrelevant", &at("bad"), "-o", &model];
        run(args).ok().shows(&[&format!("judge `{kind}`"), "left-out examples judged right", "wrote"]);
        // The topic names another judge: the model decides.
        let judged = run([
            "judge",
            &text(&topic),
            "--model",
            &model,
            "--json",
            &at("new-good.html"),
            &at("new-bad.html"),
        ]);
        judged.ok();
        let verdicts: Vec<serde_json::Value> =
            judged.out.lines().map(|l| serde_json::from_str(l).unwrap()).collect();
        assert_eq!(verdicts.len(), 2);
        assert!(
            verdicts[0]["assessment"]["score"].as_f64() > verdicts[1]["assessment"]["score"].as_f64(),
            "{kind}"
        );
        assert_eq!(verdicts[0]["verdict"]["relevant"], true, "{kind}");
        assert_eq!(verdicts[1]["verdict"]["relevant"], false, "{kind}");
        // In the topic file it works the same way.
        let own = format!("name = 'db'\n[judge]\nkind = '{kind}'\nmodel = '{model}'\n");
        let own = file(dir.path(), "own.toml", &own);
        let again = run(["judge", &text(&own), "--json", &at("new-good.html"), &at("new-bad.html")]);
        assert_eq!(again.ok().out, judged.out, "{kind}");
    }
}

#[test]
fn a_judge_from_a_taxonomy() {
    let dir = folder();
    let tree = dir.path().join("tree");
    pages(
        &tree,
        &[
            ("Sci/Bio/1.html", "cells and genes"),
            ("Sci/Bio/2.html", "genes of cells"),
            ("Sci/Maths/1.html", "proof of a theorem"),
            ("Sci/Maths/2.html", "theorem and lemma"),
            ("Cooking/1.html", "soup and bread"),
            ("Cooking/2.html", "bread and onions"),
        ],
    );
    pages(dir.path(), &[("p.html", "a theorem about cells and genes"), ("q.html", "onions, soup")]);
    let topic = |least: u32| {
        let text_of = format!("name = 'bio'\n[judge]\nkind = 'bayes'\nleast = {least}\n");
        file(dir.path(), &format!("t{least}.toml"), &text_of)
    };
    let (tree, model) = (text(&tree), text(&dir.path().join("bio.model")));
    let train = |least: u32, focus: &str| {
        run(["train", &text(&topic(least)), "--taxonomy", &tree, "--focus", focus, "-o", &model])
    };
    train(1, "Sci/Bio").ok().shows(&["+Sci/Bio: 2", "Sci/Maths: 2", "Cooking: 2"]);
    let judge = |t: &Path| {
        let ran = run([
            "judge",
            &text(t),
            "--model",
            &model,
            "--json",
            &text(&dir.path().join("p.html")),
            &text(&dir.path().join("q.html")),
        ]);
        ran.ok()
            .out
            .lines()
            .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["verdict"]["relevant"] == true)
            .collect::<Vec<_>>()
    };
    assert_eq!(judge(&topic(1)), [true, false]);
    // S1's preparation: leaves with fewer than `least` pages are joined with their parent.
    train(3, "Sci").ok().shows(&["+Sci: 4"]);
    train(3, "Sci/Bio").fails(2, &["fewer than 3 examples", "hint"]);
    train(1, "Sci/Bi").fails(2, &["did you mean `Sci/Bio`"]);
}

#[test]
fn bad_input_is_explained() {
    let dir = folder();
    examples(dir.path());
    let at = |name: &str| text(&dir.path().join(name));
    run(["train", "--judge", "genre"]).fails(2, &["judge `genre` is not trained", "--judge bayes"]);
    run(["train", "--judge", "bays"]).fails(2, &["did you mean `bayes`"]);
    run(["train", "--judge", "bayes", "--relevant", &at("good")]).fails(2, &["irrelevant"]);
    run(["train", "--judge", "svm", "--relevant", &at("nothing-here.html"), "--irrelevant", &at("bad")])
        .fails(2, &["nothing-here.html"]);
    fs::create_dir_all(dir.path().join("none")).unwrap();
    run(["train", "--judge", "svm", "--relevant", &at("none"), "--irrelevant", &at("bad")])
        .fails(2, &["no files in"]);
    run(["train", "--from", &at("good")]).fails(2, &["is not a collection"]);
    let topic = text(&file(dir.path(), "t.toml", "name = 'x'\n[content]\nterms = ['sql']\n"));
    let visits = file(dir.path(), "visits.tsv", "not a url at all\n");
    run(["train", &topic, "--strategy", "hmm", "--browse", &text(&visits)])
        .fails(2, &["visits.tsv:1", "hint"]);
    run(["train", "--strategy", "hmm", "--browse", &text(&visits)]).fails(2, &["topic file"]);
    // Files that are no models, damaged models, models for somebody else.
    run(["judge", &topic, "--model", &at("good/1.html"), &at("good/1.html")])
        .fails(2, &["is not a model file", "gleaner train"]);
    run(["judge", &topic, "--model", &at("missing.model"), &at("good/1.html")])
        .fails(1, &["missing.model", "gleaner train"]);
    let model = at("b.model");
    run(["train", "--judge", "bayes", "--relevant", &at("good"), "--irrelevant", &at("bad"), "-o", &model])
        .ok();
    let mut bytes = fs::read(&model).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 0xff;
    fs::write(dir.path().join("broken.model"), bytes).unwrap();
    run(["judge", &topic, "--model", &at("broken.model"), &at("good/1.html")]).fails(1, &["damaged"]);
    let stemmed = file(dir.path(), "s.toml", "name = 'x'\n[content]\nterms = ['sql']\n[text]\nstem = true\n");
    run(["judge", &text(&stemmed), "--model", &model, &at("good/1.html")])
        .fails(2, &["no stemming", "stem = \"en\""]);
    run(["judge", &topic, "--judge", "svm", "--model", &model, &at("good/1.html")])
        .fails(2, &["judge `svm`", "kind = \"bayes\""]);
}

/// Lists in which `good` stands before links to wanted pages and `bad` before the others; on each site in
/// another order.
fn lists(host: &str, turned: bool) -> String {
    let mut web = format!("== http://{host}/\n<title>Lists</title>\n");
    for i in 0..12 {
        let (a, b) =
            (format!("<p>good <a href='/g{i}'>item</a></p>"), format!("<p>bad <a href='/b{i}'>item</a></p>"));
        // Whatever stands between two items is far enough for each to have only its own words around it.
        let gap = "<p>gap</p>".repeat(6);
        web += &if turned { format!("{b}{gap}{a}{gap}\n") } else { format!("{a}{gap}{b}{gap}\n") };
    }
    for i in 0..12 {
        web += &format!(
            "== http://{host}/g{i}\nsql and relational algebra number {i}\n== http://{host}/b{i}\n\
             soup and stew number {i}\n"
        );
    }
    web
}

/// A crawl one page at a time, so that the order is that of the strategy.
fn crawl(server: &Server, topic: &Path, out: &Path, seed: &str, more: &[&str]) -> Ran {
    let mut command = common::crawl(server, topic, out);
    command.args(["--seed", seed, "--delay", "0", "--concurrency", "1"]).args(more);
    finish(&mut command)
}

fn wanted(dir: &Path, strategy: &str) -> PathBuf {
    let text = format!(
        "name = 'db'\n[content]\nterms = ['sql', 'relational algebra']\n[judge]\nthreshold = 0.5\n\
         [strategy]\n{strategy}\n"
    );
    file(dir, "db.toml", &text)
}

/// The order in which the pages of a collection were fetched, as g (wanted) and b.
fn order(out: &Path) -> String {
    let ran = run(["export", &text(out), "--all", "--format", "jsonl"]);
    let urls =
        ran.ok().out.lines().map(|l| {
            serde_json::from_str::<serde_json::Value>(l).unwrap()["url"].as_str().unwrap().to_string()
        });
    urls.filter_map(|u| u.split('/').nth(3)?.chars().next()).collect()
}

#[test]
fn a_strategy_taught_by_one_crawl_starts_another() {
    let dir = folder();
    let topic = wanted(dir.path(), "kind = 'breadth-first'");
    let first = dir.path().join("first");
    let server = serve(&lists("one.example", false));
    crawl(&server, &topic, &first, "http://one.example/", &[]).ok();
    let model = text(&dir.path().join("a.model"));
    // Another strategy learns from what breadth-first fetched.
    run(["train", "--from", &text(&first), "--strategy", "apprentice", "-o", &model]).ok().shows(&[
        "25 pages",
        "12 of them relevant",
        "24 links between them",
        "--strategy apprentice",
    ]);
    // Elsewhere, where the bad ones come first, it knows what `good` means from the first page on.
    let server = serve(&lists("two.example", true));
    let (plain, taught) = (dir.path().join("plain"), dir.path().join("taught"));
    let online = wanted(dir.path(), "kind = 'apprentice'");
    crawl(&server, &online, &plain, "http://two.example/", &[]).ok();
    crawl(&server, &online, &taught, "http://two.example/", &["--model", &model]).ok();
    assert_eq!(order(&taught)[..12], "g".repeat(12));
    assert!(order(&plain).starts_with("bg"), "{}", order(&plain));
    // A crawl's own strategy is exported as it learnt, without its pages.
    let own = text(&dir.path().join("own.model"));
    run(["train", "--from", &text(&taught), "-o", &own])
        .ok()
        .shows(&["strategy `apprentice`: as it learnt from 25 pages"]);
    // Stopped and taken up again, it goes on as if it had not been stopped.
    let halves = dir.path().join("halves");
    crawl(&server, &online, &halves, "http://two.example/", &["--model", &model, "--pages", "7"]).ok();
    crawl(&server, &online, &halves, "http://two.example/", &["--model", &model]).ok();
    assert_eq!(order(&halves), order(&taught));
    // What does not learn has no model.
    let none = run(["train", "--from", &text(&first), "-o", &own]);
    none.fails(4, &["breadth-first", "learns nothing"]);
    // A model for another strategy is a mistake.
    let wrong = run([
        "crawl",
        &text(&online),
        "--strategy",
        "hmm",
        "--model",
        &model,
        "--seed",
        "http://two.example/",
        "--out",
        &text(&dir.path().join("x")),
        "--contact",
        "a@b.org",
    ]);
    wrong.fails(2, &["strategy `hmm`", "apprentice"]);
}

#[test]
fn a_collection_teaches_a_judge() {
    let dir = folder();
    let topic = wanted(dir.path(), "kind = 'breadth-first'");
    let first = dir.path().join("first");
    let server = serve(&lists("one.example", false));
    crawl(&server, &topic, &first, "http://one.example/", &[]).ok();
    let model = text(&dir.path().join("j.model"));
    run(["train", "--from", &text(&first), "--judge", "bayes", "-o", &model])
        .ok()
        .shows(&["relevant: 12", "irrelevant: 13"]);
    pages(dir.path(), &[("p.html", "relational algebra"), ("q.html", "stew")]);
    let judged = run([
        "judge",
        &text(&topic),
        "--model",
        &model,
        "--json",
        &text(&dir.path().join("p.html")),
        &text(&dir.path().join("q.html")),
    ]);
    let relevant: Vec<bool> = judged
        .ok()
        .out
        .lines()
        .map(|l| serde_json::from_str::<serde_json::Value>(l).unwrap()["verdict"]["relevant"] == true)
        .collect();
    assert_eq!(relevant, [true, false]);
}

#[test]
fn visits_in_order_teach_a_backtest() {
    let dir = folder();
    let web = dir.path().join("web");
    pages(
        &web,
        &[
            ("a.org/index.html", "department <a href=/list.html>courses</a> <a href=/blog.html>photos</a>"),
            ("a.org/list.html", "courses courses courses <a href=/g.html>item</a>"),
            ("a.org/blog.html", "photos photos photos <a href=/b.html>item</a>"),
            ("a.org/g.html", "sql sql"),
            ("a.org/b.html", "cat"),
        ],
    );
    fs::write(web.join("seeds.tsv"), "all\thttp://a.org/\n").unwrap();
    fs::write(web.join("labels.tsv"), "http://a.org/g.html\tyes\n").unwrap();
    let topic = text(&wanted(dir.path(), "kind = 'context-graph'"));
    let visits = file(
        dir.path(),
        "visits.tsv",
        "http://a.org/\tno\nhttp://a.org/list.html\tno\nhttp://a.org/g.html\tyes\n\
         http://a.org/blog.html\tno\nhttp://a.org/gone.html\tno\n",
    );
    let model = text(&dir.path().join("c.model"));
    let (visits, web) = (text(&visits), text(&web));
    run(["train", &topic, "--browse", &visits, "--web", &web, "-o", &model]).ok().shows(&[
        "taught with 4 pages",
        "1 of them relevant",
        "1 pages could not be read again",
    ]);
    let out = dir.path().join("out");
    let mut args =
        vec!["backtest", "--web", &web, "--topic", &topic, "--strategies", "context-graph,breadth-first"];
    let o = text(&out);
    args.extend(["--out", &o, "--model", &model]);
    run(args).ok();
    let order = fs::read_to_string(out.join("order-db-context-graph-0.tsv")).unwrap();
    let urls: Vec<&str> = order.lines().map(|l| l.split('\t').nth(1).unwrap()).collect();
    // Course lists are known to lead to targets: g.html comes before b.html.
    let place = |name: &str| urls.iter().position(|u| u.ends_with(name)).unwrap();
    assert!(place("/g.html") < place("/b.html"), "{urls:?}");
    // For a strategy that does not run it is a mistake; an order of a backtest is a list of visits, too.
    run([
        "backtest",
        "--web",
        &web,
        "--topic",
        &topic,
        "--strategies",
        "shark",
        "--out",
        &o,
        "--model",
        &model,
    ])
    .fails(2, &["context-graph", "does not run"]);
    let again = text(&out.join("order-db-breadth-first-0.tsv"));
    run(["train", &topic, "--browse", &again, "--web", &web, "-o", &model])
        .ok()
        .shows(&["taught with 5 pages"]);
}
