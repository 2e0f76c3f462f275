//! Preparing a topic with the real program: terms, thresholds, labels, and judging again. Loopback only.

use crate::common::campus::*;

#[test]
fn thresholds_of_a_recorded_web() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let mut seeds = db_urls(10).join("\n");
    seeds += "\nhttp://campus.example/news1.html\n";
    std::fs::write(d.join("seeds.txt"), &seeds).unwrap();
    let ran = fine(d, &["threshold", "t.toml", "--web", "web", "--seeds", "seeds.txt", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["pages"].as_array().unwrap().len(), 11);
    // 11 ways to choose seeds, 5 estimators.
    let estimates = json["estimates"].as_array().unwrap();
    assert_eq!(estimates.len(), 55);
    let of = |seeds: &str, estimator: &str| {
        let found = estimates.iter().find(|e| e["seeds"] == seeds && e["estimator"] == estimator).unwrap();
        found["threshold"].as_f64().unwrap()
    };
    let best = json["pages"][0]["similarity"].as_f64().unwrap();
    assert!(best > 0.3, "{best}");
    // Ten pages alike and one of nothing: two-means finds the ten.
    assert!((of("all", "kmeans") - best).abs() < 0.1);
    assert!(of("last 25 %", "mean") <= of("first 25 %", "mean"));
    let auto = json["auto"]["threshold"].as_f64().unwrap();
    assert!((0.05..0.95).contains(&auto), "{auto}");

    // For people: bars, a plot, the table, what auto does and why.
    let ran = fine(d, &["threshold", "t.toml", "--web", "web", "--seeds", "seeds.txt"]);
    for part in [
        "11 seed pages",
        "silhouette",
        "iqr",
        "random 75 %",
        "▲",
        "auto would choose",
        "http://campus.example/db0.html",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    // Entry pages say nothing, and that is said.
    let news: Vec<String> = (0..4).map(|i| format!("http://campus.example/news{i}.html")).collect();
    let mut args = vec!["threshold", "t.toml", "--web", "web", "--seeds"];
    args.extend(news.iter().map(String::as_str));
    let ran = fine(d, &args);
    assert!(ran.out.contains("anything in common"), "{}", ran.out);
}

#[test]
fn a_threshold_is_written_and_nothing_else_changes() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let mut args = vec!["threshold", "t.toml", "--web", "web", "--write", "kmeans", "--seeds"];
    let urls = db_urls(5);
    args.extend(urls.iter().map(String::as_str));
    fine(d, &args);
    let text = std::fs::read_to_string(d.join("t.toml")).unwrap();
    let number: f64 = text
        .lines()
        .find_map(|l| l.strip_prefix("threshold = "))
        .and_then(|l| l.split_whitespace().next())
        .unwrap()
        .parse()
        .unwrap();
    assert_eq!(text, TOPIC.replace("\"auto\"", &format!("{number:?}")));
    fine(d, &["config", "t.toml"]);
}

#[test]
fn threshold_errors_tell_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let ran = gleaner(d, &["threshold", "t.toml"]);
    assert_eq!(ran.code, 4, "{}", ran.err);
    assert!(ran.err.contains("no seeds") && ran.err.contains("--seeds"), "{}", ran.err);
    let ran = gleaner(d, &["threshold", "t.toml", "--seeds", "http://x.example/", "--write", "kmean"]);
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("did you mean `kmeans`"), "{}", ran.err);
    let ran = gleaner(d, &["threshold", "t.toml", "--web", "nowhere"]);
    assert!(ran.code == 2 && ran.err.contains("there is no web at nowhere"), "{}", ran.err);
    let ran = gleaner(d, &["threshold", "missing.toml"]);
    assert!(ran.code != 0 && ran.err.contains("missing.toml"), "{}", ran.err);
}

#[test]
fn terms_from_files_into_a_topic_with_its_comments_kept() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    std::fs::write(d.join("t.toml"), TOPIC).unwrap();
    let file = |k: &str, i: u32| format!("web/campus.example/{k}{i}.html");
    let (a, b, c) = (file("db", 0), file("db", 1), file("db", 2));
    std::fs::create_dir(d.join("other")).unwrap();
    for i in 0..10 {
        std::fs::copy(d.join(file("news", i)), d.join(format!("other/{i}.html"))).unwrap();
        std::fs::copy(d.join(file("art", i)), d.join(format!("other/art{i}.html"))).unwrap();
    }
    let ran = fine(d, &["terms", &a, &b, &c, "--background", "other", "--into", "t.toml"]);
    // Into a pipe: tabs. What the topic has is not suggested again; nor are menus, footers and what others
    // say too.
    let terms: Vec<&str> = ran.out.lines().map(|l| l.split('\t').nth(1).unwrap()).collect();
    assert!(terms.contains(&"transaction processing"), "{}", ran.out);
    for wrong in
        ["relational model", "campus portal", "portal", "department", "office hours", "the", "syllabus"]
    {
        assert!(!terms.contains(&wrong), "{wrong}: {}", ran.out);
    }
    assert!(ran.out.lines().all(|l| l.starts_with("content\t") && l.split('\t').count() == 5), "{}", ran.out);
    let text = std::fs::read_to_string(d.join("t.toml")).unwrap();
    let mut old = TOPIC.lines();
    // Every old line is there, in order.
    let mut wanted = old.next();
    for line in text.lines() {
        if Some(line) == wanted {
            wanted = old.next();
        }
    }
    assert_eq!(wanted, None, "{text}");
    assert!(text.contains("    \"transaction processing\",\n"), "{text}");
    // Again: nothing new.
    let again = fine(d, &["terms", &a, &b, &c, "--background", "other", "--into", "t.toml"]);
    let after = std::fs::read_to_string(d.join("t.toml")).unwrap();
    assert!(!again.out.contains("transaction processing"), "{}", again.out);
    assert!(after.starts_with(text.split("\"transaction processing\"").next().unwrap()));
}

#[test]
fn terms_by_the_papers_frequency() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    folder_web(d);
    let urls = db_urls(3);
    let mut args =
        vec!["terms", "--web", "web", "--rank", "frequency", "--content-terms", "6", "--genre-terms", "3"];
    args.extend([
        "--genre-pages",
        "http://campus.example/art1.html",
        "http://campus.example/art2.html",
        "--json",
    ]);
    args.push("--");
    args.extend(urls.iter().map(String::as_str));
    let ran = fine(d, &args);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    let list = |set: &str| -> Vec<String> {
        json[set].as_array().unwrap().iter().map(|t| t["term"].as_str().unwrap().to_string()).collect()
    };
    let (genre, content) = (list("genre"), list("content"));
    assert_eq!((genre.len(), content.len()), (3, 6));
    assert!(content.contains(&"relational model".to_string()), "{content:?}");
    assert!(genre.iter().all(|g| !content.contains(g)), "{genre:?} {content:?}");
    let counts: Vec<u64> =
        json["content"].as_array().unwrap().iter().map(|t| t["count"].as_u64().unwrap()).collect();
    assert!(counts.is_sorted_by(|a, b| a >= b), "{counts:?}");
}

#[test]
fn terms_errors_tell_what_to_do() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    let ran = gleaner(d, &["terms"]);
    assert!(ran.code == 2 && ran.err.contains("no pages to take terms from"), "{}", ran.err);
    std::fs::write(d.join("a.html"), "<p>the relational model</p>").unwrap();
    let ran = gleaner(d, &["terms", "a.html", "--rank", "log-odds"]);
    assert!(ran.code == 2 && ran.err.contains("--background"), "{}", ran.err);
    let ran = gleaner(d, &["terms", "a.html", "--rank", "best"]);
    assert!(ran.code == 2 && ran.err.contains("frequency"), "{}", ran.err);
    let ran = gleaner(d, &["terms", "a.html", "--into", "none.toml"]);
    assert!(ran.code != 0 && ran.err.contains("gleaner new"), "{}", ran.err);
    let ran = gleaner(d, &["terms", "missing.html"]);
    assert!(ran.code != 0 && ran.err.contains("missing.html"), "{}", ran.err);
    // Without a background, by frequency, and it says so.
    let ran = fine(d, &["terms", "a.html"]);
    assert!(
        ran.err.contains("--background") && ran.out.contains("relational model"),
        "{}{}",
        ran.out,
        ran.err
    );
}

#[test]
fn labels_are_kept_and_count_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    crawled(d);
    let before = status(d);
    assert_eq!(before["pages"], 31);
    assert!(before["labels"].is_null());
    let relevant = before["relevant"].as_u64().unwrap();

    fine(d, &["label", "c", "http://campus.example/news1", "http://campus.example/news2", "--yes"]);
    fine(d, &["label", "c", "http://campus.example/db1", "--no"]);
    let after = status(d);
    assert_eq!(after["relevant"].as_u64().unwrap(), relevant + 2 - 1);
    assert_eq!(after["labels"]["missed"], 2);
    assert_eq!(after["labels"]["false_relevant"], 1);
    let shown = fine(d, &["status", "c"]);
    assert!(shown.out.contains("3 labelled (2 relevant)"), "{}", shown.out);
    let exported = fine(d, &["export", "c", "--format", "jsonl"]);
    assert!(
        exported.out.contains("/news1") && !exported.out.contains("campus.example/db1\""),
        "{}",
        exported.out
    );

    // The list shows the label and the judge's own word.
    let list = fine(d, &["label", "c"]);
    assert!(list.out.contains("http://campus.example/db1\tno\tyes\t"), "{}", list.out);
    assert!(list.out.contains("http://campus.example/news1\tyes\tno\t"), "{}", list.out);
    fine(d, &["label", "c", "http://campus.example/db1", "--clear"]);
    assert_eq!(status(d)["relevant"].as_u64().unwrap(), relevant + 2);
    let explained = fine(d, &["explain", "c", "http://campus.example/news1"]);
    assert!(explained.out.contains("labelled relevant by you"), "{}", explained.out);

    // A crawl that goes on keeps them.
    let ran =
        gleaner(d, &["crawl", "--out", "c", "--allow-private", "--resolve", "*:127.0.0.1:1", "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    assert_eq!(status(d)["relevant"].as_u64().unwrap(), relevant + 2);

    let sample = fine(d, &["label", "c", "--sample", "5"]);
    assert_eq!(sample.out.lines().count(), 5);
    assert!(!sample.out.contains("/news1\t"), "labelled pages are not drawn: {}", sample.out);
}

#[test]
fn labels_from_a_file_and_their_errors() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    crawled(d);
    std::fs::write(
        d.join("l.tsv"),
        "# mine\nhttp://campus.example/db1\tyes\nhttp://campus.example/news1\tother\n\
         http://elsewhere.example/\tyes\n",
    )
    .unwrap();
    let ran = fine(d, &["label", "c", "--from", "l.tsv"]);
    assert!(ran.err.contains("2 pages labelled") && ran.err.contains("elsewhere.example"), "{}", ran.err);
    assert_eq!(status(d)["labels"]["true_relevant"], 1);

    let ran = gleaner(d, &["label", "c", "http://campus.example/db1"]);
    assert!(ran.code == 2 && ran.err.contains("--yes or --no"), "{}", ran.err);
    let ran = gleaner(d, &["label", "c", "http://campus.example/nowhere", "--yes"]);
    assert!(ran.code == 1 && ran.err.contains("never saw it"), "{}", ran.err);
    let ran = gleaner(d, &["label", "nothere", "http://campus.example/", "--yes"]);
    assert!(ran.code == 2 && ran.err.contains("is not a collection"), "{}", ran.err);
    // As some editors write files.
    std::fs::write(d.join("bom.tsv"), "\u{feff}http://campus.example/db1\tno\r\n").unwrap();
    let ran = fine(d, &["label", "c", "--from", "bom.tsv"]);
    assert!(ran.err.contains("1 page labelled"), "{}", ran.err);
    std::fs::write(d.join("bad.tsv"), "http://campus.example/db1\t\n").unwrap();
    let ran = gleaner(d, &["label", "c", "--from", "bad.tsv"]);
    assert!(ran.code == 2 && ran.err.contains("bad.tsv:1: no label after the tab"), "{}", ran.err);
    std::fs::write(d.join("bad.tsv"), "http://campus.example/db1 yes\n").unwrap();
    let ran = gleaner(d, &["label", "c", "--from", "bad.tsv"]);
    assert!(ran.code == 2 && ran.err.contains("bad.tsv:1"), "{}", ran.err);
}

#[test]
fn a_changed_topic_judges_the_collection_again_without_fetching() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    crawled(d);
    let before = status(d);
    let art =
        TOPIC.replace("relational model", "oil paintings").replace("query optimization", "marble sculpture");
    // Of the right kind alone is not enough.
    let art = art.replace("\"auto\"", "0.6");
    std::fs::write(d.join("art.toml"), &art).unwrap();
    fine(d, &["label", "c", "http://campus.example/art1", "--yes"]);
    fine(d, &["label", "c", "http://campus.example/db1", "--no"]);

    let trial = fine(d, &["rejudge", "c", "art.toml", "--dry-run", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&trial.out).unwrap();
    assert_eq!((&json["pages"], &json["without_archive"]), (&31.into(), &0.into()));
    assert_eq!(std::fs::read_to_string(d.join("c/topic.toml")).unwrap(), TOPIC);
    assert_eq!(status(d)["threshold"], before["threshold"], "a trial changes nothing");

    // The server is asked nothing: there is none at this address.
    let ran = fine(d, &["rejudge", "c", "art.toml"]);
    assert!(ran.out.contains("became relevant") && ran.out.contains("relevant no more"), "{}", ran.out);
    assert!(ran.out.contains("on the pages you labelled"), "{}", ran.out);
    assert_eq!(std::fs::read_to_string(d.join("c/topic.toml")).unwrap(), art);
    let urls = |all: &str| -> Vec<String> {
        let mut list: Vec<String> = all
            .lines()
            .map(|l| {
                serde_json::from_str::<serde_json::Value>(l).unwrap()["url"].as_str().unwrap().to_string()
            })
            .collect();
        list.sort();
        list
    };
    let found = urls(&fine(d, &["export", "c", "--format", "jsonl", "--copies"]).out);
    let expected: Vec<String> = (0..10).map(|i| format!("http://campus.example/art{i}")).collect();
    assert_eq!(found, expected);
    // Reasons are the new ones.
    let explained = fine(d, &["explain", "c", "http://campus.example/art3"]);
    assert!(
        explained.out.contains("oil paintings") && !explained.out.contains("relational"),
        "{}",
        explained.out
    );
    let quality = &status(d)["labels"];
    assert_eq!((&quality["true_relevant"], &quality["true_other"]), (&1.into(), &1.into()));

    // Judging again by the same topic changes nothing, and the crawl goes on from there.
    let again: serde_json::Value = serde_json::from_str(&fine(d, &["rejudge", "c", "--json"]).out).unwrap();
    assert_eq!((again["gained"].as_array().unwrap().len(), again["lost"].as_array().unwrap().len()), (0, 0));
    let ran =
        gleaner(d, &["crawl", "--out", "c", "--allow-private", "--resolve", "*:127.0.0.1:1", "--quiet"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    // One of the ten is a near-copy of another.
    assert_eq!(status(d)["relevant"], 9);

    // Without the archive the kept text is judged.
    std::fs::rename(d.join("c/warc"), d.join("gone")).unwrap();
    let bare: serde_json::Value =
        serde_json::from_str(&fine(d, &["rejudge", "c", "t.toml", "--json"]).out).unwrap();
    assert_eq!(bare["without_archive"], 31);
    let found = urls(&fine(d, &["export", "c", "--format", "jsonl", "--copies"]).out);
    assert!(found.contains(&"http://campus.example/db3".to_string()), "{found:?}");
}

#[test]
fn a_collection_finds_seeds_terms_and_thresholds_for_a_topic() {
    let dir = tempfile::tempdir().unwrap();
    let d = dir.path();
    crawled(d);
    // Its own index as the engine.
    let ran = fine(d, &["seeds", "t.toml", "--engine", "collection:c", "--limit", "10"]);
    let urls: Vec<&str> = ran.out.lines().map(|l| l.split('\t').next().unwrap()).collect();
    assert_eq!(urls.len(), 10);
    assert!(urls.iter().all(|u| u.starts_with("http://campus.example/db")), "{urls:?}");
    // Its labelled pages as examples, the others as background.
    let ran = gleaner(d, &["terms", "--collection", "c"]);
    assert!(ran.code == 4 && ran.err.contains("gleaner label"), "{}", ran.err);
    fine(
        d,
        &[
            "label",
            "c",
            "http://campus.example/art1",
            "http://campus.example/art2",
            "http://campus.example/art3",
            "--yes",
        ],
    );
    let ran = fine(d, &["terms", "--collection", "c"]);
    assert!(ran.out.contains("\tepoch\t") || ran.out.contains("epoch"), "{}", ran.out);
    assert!(!ran.out.contains("football") && !ran.out.contains("portal"), "{}", ran.out);
    // Its pages for the threshold.
    let ran = fine(d, &["threshold", "t.toml", "--collection", "c", "--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.out).unwrap();
    assert_eq!(json["auto"]["pages"], 31);
    assert_eq!(json["pages"].as_array().unwrap().len(), 1);
}

#[test]
fn help_has_examples() {
    let dir = tempfile::tempdir().unwrap();
    for command in ["terms", "seeds", "threshold", "label", "rejudge", "new"] {
        let ran = fine(dir.path(), &[command, "--help"]);
        assert!(
            ran.out.contains("Examples:") && ran.out.contains(&format!("gleaner {command} ")),
            "{}",
            ran.out
        );
    }
}
