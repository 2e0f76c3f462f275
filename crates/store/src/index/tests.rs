use super::*;
use proptest::prelude::*;
use std::collections::BTreeMap;
use types::{Assessment, LinkKind, Verdict};

fn record(id: u32, url: &str, title: &str, text: &str) -> Record {
    Record {
        id: UrlId(id),
        url: url.into(),
        parent: None,
        kind: LinkKind::Anchor,
        depth: 1,
        status: 200,
        media_type: "text/html".into(),
        charset: "UTF-8".into(),
        language: "en".into(),
        title: title.into(),
        description: String::new(),
        text: text.into(),
        links: 0,
        fetched: Millis(1),
        elapsed_ms: 1,
        bytes: 1,
        truncated: None,
        assessment: Assessment::default(),
        verdict: Verdict::default(),
        digest: String::new(),
        simhash: 0,
        duplicate_of: None,
        near_duplicate_of: None,
        archive: None,
        etag: None,
        last_modified: None,
        noindex: false,
        about: types::About::default(),
    }
}

fn sample(dir: &Path) -> Index {
    let mut index = Index::open_or_create(dir).unwrap();
    for r in [
        record(
            1,
            "http://db.example.org/syllabus",
            "Database course",
            "The relational model and query optimization.",
        ),
        record(
            2,
            "http://cs.example.org/~ann/",
            "Ann",
            "I teach query languages; the plan of a query is a tree. Café.",
        ),
        record(70, "http://zh.example.org/x", "数据库", "关系数据库的查询优化"),
    ] {
        index.add(&r).unwrap();
    }
    index.commit().unwrap();
    index
}

/// Found by `fuzz/run query`: a field that there is not is no damage of the index.
#[test]
fn any_field_may_be_asked_for() {
    let dir = tempfile::tempdir().unwrap();
    let index = sample(dir.path());
    for query in [":*", "nothing:*", "nothing:[a TO b]", "nothing:x"] {
        let found = index.search(query, 10, 0, &|_| true);
        assert!(found.is_ok(), "{query}: {}", found.unwrap_err());
    }
}

fn ids(index: &Index, query: &str) -> Vec<u32> {
    index.search(query, 10, 0, &|_| true).unwrap().iter().map(|f| f.id.0).collect()
}

#[test]
fn finds_words_phrases_fields() {
    let dir = tempfile::tempdir().unwrap();
    let index = sample(dir.path());
    assert_eq!(ids(&index, "relational"), [1]);
    assert_eq!(ids(&index, "QUERY optimization"), [1], "all words");
    assert_eq!(ids(&index, "relational tree"), [1, 2], "none has both: any");
    assert_eq!(ids(&index, "\"query languages\""), [2]);
    assert_eq!(ids(&index, "\"languages query\""), [0u32; 0], "a phrase is not loosened");
    assert_eq!(ids(&index, "query -relational"), [2]);
    assert_eq!(ids(&index, "title:ann"), [2]);
    assert_eq!(ids(&index, "host:db.example.org"), [1]);
    assert_eq!(ids(&index, "syllabus"), [1], "words of the URL");
    assert_eq!(ids(&index, "cafe"), [2], "accents folded");
    assert_eq!(ids(&index, "数据"), [70]);
    assert!(ids(&index, "据数").is_empty(), "the characters, but not in this order");
    assert_eq!(ids(&index, "据 数"), [70], "two words");
    assert_eq!(ids(&index, "http://db.example.org/syllabus")[0], 1);
    assert!(ids(&index, "nothinglikethis").is_empty());
}

#[test]
fn filter_limit_offset() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open_or_create(dir.path()).unwrap();
    for id in 0..500 {
        index.add(&record(id, "http://e.org/", "same", "same words")).unwrap();
    }
    index.commit().unwrap();
    let rare = |id: UrlId| id.0 % 100 == 7;
    let found: Vec<u32> = index.search("words", 3, 1, &rare).unwrap().iter().map(|f| f.id.0).collect();
    assert_eq!(found, [107, 207, 307], "the window grows until the filter is satisfied; ties by id");
    assert!(index.search("words", 0, 0, &rare).unwrap().is_empty());
    assert!(index.search("words", usize::MAX, usize::MAX, &rare).unwrap().is_empty());
    assert_eq!(index.search("words", usize::MAX, 0, &rare).unwrap().len(), 5);
}

#[test]
fn replaces_removes_and_survives_reopening() {
    let dir = tempfile::tempdir().unwrap();
    {
        let mut index = sample(dir.path());
        index
            .add(&record(1, "http://db.example.org/syllabus", "Database course", "Now about gardening."))
            .unwrap();
        index.remove(UrlId(2)).unwrap();
        index.commit().unwrap();
        index.add(&record(99, "http://lost.example.org/", "lost", "never committed")).unwrap();
        assert!(index.contains(UrlId(99)));
        // Dropped without commit, as by a crash.
    }
    let index = Index::open_or_create(dir.path()).unwrap();
    assert!(index.was_reset().is_none());
    assert_eq!(ids(&index, "gardening"), [1]);
    assert!(ids(&index, "relational").is_empty());
    assert!(ids(&index, "languages").is_empty());
    assert!(index.contains(UrlId(1)) && !index.contains(UrlId(2)) && !index.contains(UrlId(99)));
    assert_eq!((index.last_id(), index.len()), (Some(UrlId(70)), 2));
    index.verify().unwrap();
}

#[test]
fn one_writer_many_readers() {
    let dir = tempfile::tempdir().unwrap();
    let mut writing = sample(dir.path());
    let mut second = Index::open(dir.path()).unwrap();
    assert_eq!(ids(&second, "relational"), [1], "searching works while another writes");
    writing.add(&record(4, "http://e.org/", "", "fresh")).unwrap();
    writing.commit().unwrap();
    second.refresh().unwrap();
    assert_eq!(ids(&second, "fresh"), [4], "and reads on");
    let refused = second.add(&record(5, "http://e.org/", "", "")).unwrap_err().to_string();
    assert!(refused.contains("another process"), "{refused}");
}

#[test]
fn a_failed_commit_forgets_only_what_was_not_committed() {
    let parent = tempfile::tempdir().unwrap();
    let (dir, away) = (parent.path().join("index"), parent.path().join("away"));
    let mut index = sample(&dir);
    index.add(&record(5, "http://e.org/", "", "later")).unwrap();
    fs::rename(&dir, &away).unwrap();
    assert!(index.commit().unwrap_err().to_string().contains("cannot commit the search index"));
    assert!(!index.contains(UrlId(5)), "to be added again");
    assert_eq!(ids(&index, "relational"), [1], "what was committed can still be searched");

    fs::rename(&away, &dir).unwrap();
    index.add(&record(5, "http://e.org/", "", "later")).unwrap();
    index.commit().unwrap();
    assert_eq!((ids(&index, "later"), ids(&index, "relational")), (vec![5], vec![1]));
}

#[test]
fn commits_when_due() {
    let dir = tempfile::tempdir().unwrap();
    let policy = CommitPolicy { documents: 3, after: Duration::from_secs(10) };
    let mut index = Index::open_or_create(dir.path()).unwrap().with_policy(policy);
    assert!(!index.commit_if_due(Millis(0)).unwrap());
    index.add(&record(1, "http://e.org/", "", "one")).unwrap();
    assert!(!index.commit_if_due(Millis(1_000)).unwrap());
    assert!(!index.commit_if_due(Millis(10_999)).unwrap());
    assert!(index.commit_if_due(Millis(11_000)).unwrap(), "ten seconds after the first");
    for id in 2..5 {
        index.add(&record(id, "http://e.org/", "", "more")).unwrap();
    }
    assert!(index.commit_if_due(Millis(11_001)).unwrap(), "three documents");
    assert_eq!(ids(&index, "more"), [2, 3, 4]);
}

#[test]
fn a_damaged_index_is_reset_or_a_problem() {
    type Damage = fn(&Path);
    let damages: [(&str, Damage); 4] = [
        ("garbage meta", |d| fs::write(d.join("meta.json"), "{").unwrap()),
        ("another schema", |d| {
            let meta = fs::read_to_string(d.join("meta.json")).unwrap();
            fs::write(d.join("meta.json"), meta.replace("words-1", "words-0")).unwrap();
        }),
        ("files gone", |d| remove(d, "fast")),
        ("files cut", |d| {
            for path in files(d, "fast") {
                fs::write(path, b"x").unwrap();
            }
        }),
    ];
    for (name, damage) in damages {
        let dir = tempfile::tempdir().unwrap();
        sample(dir.path()).close().unwrap();
        fs::write(dir.path().join("mine.json"), "not the index's").unwrap();
        damage(dir.path());
        let problem = Index::open(dir.path()).err().unwrap_or_else(|| panic!("{name}: opened"));
        assert!(problem.to_string().contains("hint:"), "{problem}");
        let mut index = Index::open_or_create(dir.path()).unwrap();
        assert!(index.was_reset().is_some(), "{name}");
        assert!(index.is_empty());
        index.add(&record(1, "http://e.org/", "", "again")).unwrap();
        index.commit().unwrap();
        assert_eq!(ids(&index, "again"), [1], "{name}");
        assert!(dir.path().join("mine.json").exists());
    }
    let nowhere = tempfile::tempdir().unwrap();
    assert!(Index::open(nowhere.path()).is_err());
}

fn files(dir: &Path, ending: &str) -> Vec<PathBuf> {
    let all = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    all.filter(|p| p.extension().is_some_and(|e| e == ending)).collect()
}

fn remove(dir: &Path, ending: &str) {
    for path in files(dir, ending) {
        fs::remove_file(path).unwrap();
    }
}

fn shown(query: &str, text: &str) -> String {
    snippet(query, text)
        .iter()
        .map(|s| {
            if s.highlighted {
                format!("[{}]", &text[s.range.clone()])
            } else {
                text[s.range.clone()].to_string()
            }
        })
        .collect()
}

#[test]
fn snippets() {
    assert_eq!(
        shown("query title:plan -tree", "The plan of a Query is a tree."),
        "The [plan] of a [Query] is a tree."
    );
    assert_eq!(shown("café", "Le Cafe du coin"), "Le [Cafe] du coin");
    assert_eq!(shown("查询", "关系查询"), "关系[查][询]");
    assert_eq!(shown("absent", "only this"), "only this");
    assert_eq!(shown("x", ""), "");
    let text = format!("query {} the query plan tells {}", "filler ".repeat(100), "more ".repeat(100));
    let snippet = shown("query plan", &text);
    assert!(snippet.contains("the [query] [plan] tells") && snippet.len() < 300, "{snippet}");
    assert!(!snippet.starts_with("iller"), "starts at a word");
}

#[test]
fn odd_queries_in_bounded_time() {
    let dir = tempfile::tempdir().unwrap();
    let index = sample(dir.path());
    let start = std::time::Instant::now();
    for query in [
        "(".repeat(100_000),
        "((((relational))))".repeat(50),
        "NOT ".repeat(5_000),
        "\"".repeat(999),
        "a:b:c:".repeat(3_000),
        "[* TO *]".into(),
        "*".into(),
        "relational AND (".into(),
        "x".repeat(100_000),
    ] {
        let _ = index.search(&query, 10, 0, &|_| true).unwrap();
        let _ = snippet(&query, "some text");
    }
    assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    assert_eq!(ids(&index, "relational AND ("), [1], "falls back to plain words");
    assert_eq!(ids(&index, "unknownfield:relational"), [1]);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]
    #[test]
    fn any_query_is_answered(query in "[-+*()\"'\\[\\]{}:~^/\\\\ a-c数ANDORTé<>=.,!0-9]{0,40}") {
        thread_local!(static INDEX: (tempfile::TempDir, Index) = {
            let dir = tempfile::tempdir().unwrap();
            let index = sample(dir.path());
            (dir, index)
        });
        INDEX.with(|(_, index)| index.search(&query, 10, 0, &|_| true)).unwrap();
    }

    #[test]
    fn snippets_are_cut_on_characters(query in "\\PC{0,20}", text in "\\PC{0,600}") {
        let segments = snippet(&query, &text);
        let mut at = segments.first().map_or(0, |s| s.range.start);
        for s in segments {
            prop_assert_eq!(s.range.start, at);
            prop_assert!(text.get(s.range.clone()).is_some());
            at = s.range.end;
        }
    }
}

/// The files of the only segment in a folder, by their endings.
fn segment_files(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let of_a_segment = |name: &str| !name.starts_with('.') && name != "meta.json";
    let paths = fs::read_dir(dir).unwrap().map(|e| e.unwrap().path());
    let files = paths.filter(|p| of_a_segment(p.file_name().unwrap().to_str().unwrap()));
    let ending = |p: &Path| p.extension().unwrap().to_str().unwrap().to_string();
    files.map(|p| (ending(&p), fs::read(&p).unwrap())).collect()
}

/// The segment that tantivy makes of these pages by itself.
fn theirs(pages: &[Record]) -> BTreeMap<String, Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let (schema, fields) = schema();
    let index = tantivy::Index::create_in_dir(dir.path(), schema).unwrap();
    index.tokenizers().register(TOKENIZER, analyzer());
    let mut writer: IndexWriter = index.writer_with_num_threads(1, 60 << 20).unwrap();
    for page in pages {
        let mut doc = tantivy::TantivyDocument::new();
        doc.add_u64(fields.id, u64::from(page.id.0));
        doc.add_text(fields.url, page.url.split_once("://").map_or(page.url.as_str(), |(_, rest)| rest));
        doc.add_text(fields.host, host(&page.url));
        doc.add_text(fields.title, &page.title);
        doc.add_text(fields.text, &page.text);
        doc.add_text(fields.language, &page.language);
        writer.add_document(doc).unwrap();
    }
    writer.commit().unwrap();
    writer.wait_merging_threads().unwrap();
    segment_files(dir.path())
}

fn ours(pages: &[Record]) -> BTreeMap<String, Vec<u8>> {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open_or_create(dir.path()).unwrap();
    pages.iter().for_each(|page| index.add(page).unwrap());
    index.close().unwrap();
    segment_files(dir.path())
}

fn same_segments(pages: &[Record]) {
    let (ours, theirs) = (ours(pages), theirs(pages));
    assert_eq!(ours.keys().collect::<Vec<_>>(), theirs.keys().collect::<Vec<_>>());
    assert!(ours.len() >= 6);
    for (ending, bytes) in &ours {
        assert!(*bytes == theirs[ending], "the files .{ending} differ");
    }
}

/// More pages than a block of postings holds, words of every length, and none at all.
#[test]
fn a_segment_is_the_one_that_tantivy_would_write() {
    let mut pages = Vec::new();
    for n in 0..700u32 {
        let long = "abcdefgh".repeat(n as usize % 12);
        let many = format!("word{} ", n % 7).repeat(n as usize % 300);
        let text = format!(
            "the same {n} {} {long}x {long}y Café 数据库 {many}{}",
            n % 13,
            "z".repeat(n as usize % 80)
        );
        let url = format!("https://h{}.example.org/a/{n}?q={}", n % 5, n * 7919);
        pages.push(Record {
            language: ["", "en", "de"][n as usize % 3].into(),
            ..record(n * 3, &url, if n % 4 == 0 { "" } else { &long }, &text)
        });
    }
    same_segments(&pages);
    let empty: Vec<Record> = (1..4).map(|n| record(n, "http://e.org/", "", "")).collect();
    same_segments(&empty);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]
    #[test]
    fn any_segment_is_the_one_that_tantivy_would_write(
        texts in proptest::collection::vec(("\\PC{0,20}", "([a-f]{1,3}[ .]|[a-z0-9]{6,10} |\\PC){0,120}"), 1..30),
    ) {
        let page = |(n, (title, text)): (usize, &(String, String))| record(n as u32, "http://e.org/x", title, text);
        same_segments(&texts.iter().enumerate().map(page).collect::<Vec<_>>());
    }
}

/// Added and taken away again before anything was committed, and several segments at once.
#[test]
fn what_is_not_committed_is_replaced_and_removed() {
    let dir = tempfile::tempdir().unwrap();
    let mut index = Index::open_or_create(dir.path()).unwrap();
    for (id, text) in [(1, "first"), (2, "second"), (1, "third"), (3, "fourth"), (1, "fifth")] {
        index.add(&record(id, "http://e.org/", "", text)).unwrap();
    }
    index.remove(UrlId(3)).unwrap();
    index.commit().unwrap();
    assert_eq!(index.len(), 2);
    for (word, found) in
        [("first", vec![]), ("second", vec![2]), ("third", vec![]), ("fourth", vec![]), ("fifth", vec![1])]
    {
        assert_eq!(ids(&index, word), found, "{word}");
    }
    index.close().unwrap();
    let index = Index::open(dir.path()).unwrap();
    assert_eq!(index.len(), 2);
    index.verify().unwrap();
}
