//! Tests over the whole list, and each judge's formula by hand.

use super::*;
use crate::strategies::HEADINGS;
use crate::testkit::{Docs, Web};
use std::collections::HashSet;

const WEB: &str = "
    == http://a/course/db.html
    title: Syllabus
    lang: en
    Databases: sql, SQL and the relational model. Syllabus. Office hours: Monday.
    == /empty
    == /cook
    lang: en
    Soup and stew. Grading of eggs.
    == /pt
    lang: pt
    Ementa da disciplina: banco de dados, sql.
    == /mineral
    Crystal database: sql
    ";

/// Judged by `genre` unless it names another judge.
fn topic(text: &str) -> Topic {
    Topic::from_toml(&crate::testkit::judged_by_genre(text)).unwrap_or_else(|p| panic!("{p}"))
}

fn judge(t: &Topic) -> Box<dyn Judge> {
    build(&JudgeSetup::new(t)).unwrap_or_else(|p| panic!("{p}"))
}

/// With examples of both kinds, for those that need them.
fn trained(t: &Topic) -> Box<dyn Judge> {
    let web = Web::new(WEB);
    let of = |path: &str, kind| Example { doc: Arc::new(web.doc(path, &t.text.options)), kind };
    let (yes, no) = (ExampleKind::Relevant, ExampleKind::Irrelevant);
    let examples = [of("/course/db.html", yes), of("/pt", yes), of("/cook", no), of("/mineral", no)];
    build(&JudgeSetup { examples: &examples, ..JudgeSetup::new(t) }).unwrap_or_else(|p| panic!("{p}"))
}

fn assess(t: &Topic, j: &dyn Judge, path: &str) -> Assessment {
    j.assess(&Web::new(WEB).doc(path, &t.text.options))
}

fn close(a: f64, b: f64) {
    assert!((a - b).abs() < 1e-12, "{a} is not {b}");
}

const FULL: &str = "
    name = 'databases'
    [genre]
    terms = ['syllabus', 'office hours', 'grading']
    [content]
    terms = ['sql', 'relational model', 'query optimization', 'index']
    [url]
    terms = ['course', 'syllabus']
    [judge]
    threshold = 0.5
    ";

#[test]
fn the_list_is_in_order() {
    let mut seen = HashSet::new();
    for e in ALL {
        assert!(seen.insert(e.name), "{} twice", e.name);
        assert!(!e.summary.is_empty() && !e.summary.ends_with('.'), "{}", e.name);
        let mut rest = e.doc;
        for h in HEADINGS {
            let at = rest.find(h).unwrap_or_else(|| panic!("{}: `{h}` is missing or out of order", e.name));
            rest = &rest[at + h.len()..];
            assert!(
                rest.split("\n## ").next().unwrap_or("").trim().len() >= 4,
                "{}: nothing under `{h}`",
                e.name
            );
        }
    }
    assert!(find(DEFAULT).is_ok());
    assert!(find("gener").err().unwrap().to_string().contains("did you mean `genre`?"));
}

#[test]
fn every_judge_is_sane_on_odd_pages_and_keeps_its_state() {
    let options = [
        ("regex", "any = 'sql'"),
        ("svm", "c = [1]\ngamma = [0.5]"),
        ("all", "of = ['genre', 'query']"),
        ("any", "of = ['genre', 'query']"),
        ("weighted", "of = ['genre', 'query']"),
    ];
    for e in ALL {
        let own = options.iter().find(|o| o.0 == e.name).map_or("", |o| o.1);
        let t = topic(&format!(
            "query = 'sql'\n[genre]\nterms = ['syllabus']\n[text]\nidf = 'online'\n[judge]\nkind = '{}'\n\
             {own}",
            e.name
        ));
        let mut j = trained(&t);
        let web = Web::new(WEB);
        let docs: Vec<Doc> = web.pages.keys().map(|u| web.doc(u.as_str(), &t.text.options)).collect();
        for doc in docs.iter().cycle().take(30) {
            let a = j.assess(doc);
            assert!((0.0..=1.0).contains(&a.score), "{}: {}", e.name, a.score);
            let v = j.decide(&a);
            assert!(
                (0.0..=1.0).contains(&v.relevance) && (0.0..=1.0).contains(&v.threshold),
                "{}: {v:?}",
                e.name
            );
            j.observe(&a, None);
        }
        let mut back = trained(&t);
        if let Some(bytes) = j.save() {
            back.load(&bytes).unwrap();
            for n in 0..bytes.len() {
                assert!(trained(&t).load(&bytes[..n]).is_err(), "{}: cut at {n}", e.name);
            }
        }
        if j.needs().pages {
            // Its state is the pages themselves.
            docs.iter().cycle().take(30).for_each(|doc| {
                let a = back.assess(doc);
                back.observe(&a, None);
            });
        }
        for doc in &docs {
            let a = j.assess(doc);
            assert_eq!(a, back.assess(doc), "{}", e.name);
            assert_eq!(j.decide(&a), back.decide(&a), "{}", e.name);
        }
        assert_eq!(j.save(), back.save(), "{}", e.name);
    }
}

#[test]
fn genre_by_hand() {
    let t = topic(FULL);
    let j = judge(&t);
    let a = assess(&t, j.as_ref(), "/course/db.html");
    // Genre: syllabus 2 (title and text), office hours 1, grading 0: f = (1, ½, 0).
    let g = 1.5 / (1.25f64.sqrt() * 3.0f64.sqrt());
    // Content: sql 2, relational model 1, two absent: f = (1, ½, 0, 0).
    let c = 1.5 / (1.25f64.sqrt() * 4.0f64.sqrt());
    // URL: course 1, syllabus 0.
    let u = 1.0 / 2.0f64.sqrt();
    let comb = (5.0 * g + 5.0 * c) / 10.0;
    close(a.part("genre").unwrap(), g);
    close(a.part("content").unwrap(), c);
    close(a.part("combined").unwrap(), comb);
    close(a.part("url").unwrap(), u);
    close(a.score, (7.0 * comb + 3.0 * u) / 10.0);
    let hit = |set: &str, term: &str| a.hits.iter().find(|h| h.set == set && h.term == term).map(|h| h.count);
    assert_eq!(
        (hit("genre", "syllabus"), hit("content", "sql"), hit("url", "course")),
        (Some(2), Some(2), Some(1))
    );
    assert_eq!(hit("content", "index"), None);
    let v = j.decide(&a);
    assert!(v.relevant && v.threshold == 0.5 && v.relevance == a.score);
    assert_eq!(assess(&t, j.as_ref(), "/empty").score, 0.0);
}

#[test]
fn absent_sets_are_left_out_of_their_means() {
    let one = |text: &str| {
        let t = topic(text);
        assess(&t, judge(&t).as_ref(), "/course/db.html").score
    };
    let g = 1.5 / (1.25f64.sqrt() * 3.0f64.sqrt());
    let c = 1.0;
    close(
        one("name = 'n'\n[genre]\nterms = ['syllabus', 'office hours', 'grading']\n[content]\nterms = []"),
        g,
    );
    close(one("name = 'n'\n[content]\nterms = ['sql']"), c);
    close(
        one("name = 'n'\n[genre]\nterms = ['syllabus', 'office hours', 'grading']\n[content]\n\
             terms = ['sql']\n[judge]\nweights = { genre = 4, content = 6 }"),
        (4.0 * g + 6.0 * c) / 10.0,
    );
    // Content alone with URL terms: final = (7·c + 3·u)/10.
    close(
        one("name = 'n'\n[content]\nterms = ['sql']\n[url]\nterms = ['course', 'x']"),
        (7.0 + 3.0 / 2.0f64.sqrt()) / 10.0,
    );
}

#[test]
fn merged_terms_by_hand() {
    let t = topic(
        &FULL
            .replace("[judge]", "[judge]\nkind = 'terms'")
            .replace("terms = ['course', 'syllabus']", "terms = []"),
    );
    let a = assess(&t, judge(&t).as_ref(), "/course/db.html");
    // Of seven terms: syllabus 2, office hours 1, sql 2, relational model 1.
    close(a.score, (1.0 + 0.5 + 1.0 + 0.5) / (2.5f64.sqrt() * 7.0f64.sqrt()));
    close(a.part("terms").unwrap(), a.score);
}

#[test]
fn a_presets_list_follows_the_page() {
    let t = topic("name = 'n'\n[genre]\npreset = 'syllabus'\nurl = false\n[judge]\nthreshold = 0.1");
    let j = judge(&t);
    let a = assess(&t, j.as_ref(), "/pt");
    let found: Vec<&str> = a.hits.iter().map(|h| h.term.as_str()).collect();
    assert_eq!(found, ["ementa", "disciplina"]);
    let n =
        crate::topic::presets::find("syllabus").unwrap().list(Some(crate::text::Language::Portuguese)).len();
    close(a.score, 2.0 / (2.0f64.sqrt() * (n as f64).sqrt()));
    assert_eq!(a.part("list:pt"), Some(n as f64));
    assert!(assess(&t, j.as_ref(), "/course/db.html").part("list:en").is_some());
}

#[test]
fn idf_by_hand() {
    // From a file: N = 9; sql in 4, relational model in 0 (never seen).
    let df = DocFreq::from_text("documents\t9\nsql\t4\n", &TextOptions::default()).unwrap();
    let t = topic("name = 'n'\n[content]\nterms = ['sql', 'relational model']\n[text]\nidf = 'counts.tsv'");
    let j = build(&JudgeSetup { idf: Some(&df), ..JudgeSetup::new(&t) }).unwrap();
    let (i1, i2) = ((10.0f64 / 5.0).ln() + 1.0, 10.0f64.ln() + 1.0);
    let (w1, w2) = (i1, 0.5 * i2);
    let expected = (w1 * i1 + w2 * i2) / ((w1 * w1 + w2 * w2).sqrt() * (i1 * i1 + i2 * i2).sqrt());
    close(assess(&t, j.as_ref(), "/course/db.html").score, expected);
    assert!(build(&JudgeSetup::new(&t)).is_err(), "a file that was not read");

    // Online: after the three pages below N = 3, sql in 2 and relational model in 1.
    let t = topic(
        "name = 'n'\n[content]\nterms = ['sql', 'relational model']\n[text]\nidf = 'online'\n[judge]\n\
         threshold = 0.4",
    );
    let mut j = judge(&t);
    let a = assess(&t, j.as_ref(), "/course/db.html");
    close(j.decide(&a).relevance, 1.5 / (1.25f64.sqrt() * 2.0f64.sqrt()));
    for path in ["/course/db.html", "/pt", "/cook"] {
        j.observe(&assess(&t, j.as_ref(), path), None);
    }
    let (i1, i2) = ((4.0f64 / 3.0).ln() + 1.0, (4.0f64 / 2.0).ln() + 1.0);
    let (w1, w2) = (i1, 0.5 * i2);
    let expected = (w1 * i1 + w2 * i2) / ((w1 * w1 + w2 * w2).sqrt() * (i1 * i1 + i2 * i2).sqrt());
    close(j.decide(&a).relevance, expected);
}

#[test]
fn excluded_pages_are_never_relevant() {
    let t = topic("query = 'sql'\n[judge]\nthreshold = 0.1\n[exclude]\nterms = ['crystal database', 'crys']");
    let j = judge(&t);
    let a = assess(&t, j.as_ref(), "/mineral");
    assert_eq!(a.excluded.as_deref(), Some("crystal database"));
    let v = j.decide(&a);
    assert!(!v.relevant && v.relevance == 0.0 && a.score > 0.9);
    assert!(j.decide(&assess(&t, j.as_ref(), "/pt")).relevant);
}

#[test]
fn queries() {
    let yes = |q: &str, path: &str| {
        let t = topic(&format!("name = 'n'\nquery = '''{q}'''\n[judge]\nkind = 'query'"));
        let j = judge(&t);
        j.decide(&assess(&t, j.as_ref(), path)).relevant
    };
    let db = "/course/db.html";
    for (q, expected) in [
        ("sql", true),
        ("sql syllabus", true),
        ("sql soup", false),
        ("sql OR soup", true),
        ("sql AND NOT soup", true),
        ("sql -soup", true),
        ("sql NOT \"relational model\"", false),
        ("\"relational model\"", true),
        ("\"model relational\"", false),
        ("(soup OR stew) AND sql", false),
        ("(soup OR sql) AND (syllabus OR stew)", true),
        ("title:syllabus", true),
        ("title:sql", false),
        ("text:SQL url:course", true),
        ("url:\"course db\"", true),
        ("soup, sql", true),
        ("NOT soup", true),
    ] {
        assert_eq!(yes(q, db), expected, "{q}");
    }
    assert!(!yes("sql", "/empty"));
    for bad in ["(sql", "sql)", "\"sql", "!!", "AND OR"] {
        assert!(query::Query::parse(bad).is_err(), "{bad}");
    }
    assert!(query::Query::parse(&"(".repeat(10_000)).is_err());
}

#[test]
fn terms_of_queries() {
    let terms = |q: &str| {
        let t = query::terms_of(q).unwrap();
        (t.content.join("|"), t.url.join("|"))
    };
    assert_eq!(
        terms("\"operating systems\" the nachos NOT windows"),
        ("operating systems|nachos".into(), "".into())
    );
    assert_eq!(
        terms("operating systems, virtual memory"),
        ("operating systems|virtual memory".into(), "".into())
    );
    assert_eq!(terms("sql url:course (title:index OR sql)"), ("sql|index".into(), "course".into()));
}

#[test]
fn patterns() {
    let t =
        topic("name = 'n'\nquery = 'x'\n[judge]\nkind = 'regex'\nurl = '/course/\\w+'\ntext = 'sql.*model'");
    let j = judge(&t);
    let a = assess(&t, j.as_ref(), "/course/db.html");
    assert!(j.decide(&a).relevant && a.score == 1.0 && a.hits.len() == 2);
    let a = assess(&t, j.as_ref(), "/pt");
    assert!(!j.decide(&a).relevant);
    for bad in ["url = '('", "", "path = 'x'"] {
        let t = topic(&format!("name = 'n'\nquery = 'x'\n[judge]\nkind = 'regex'\n{bad}"));
        assert!(build(&JudgeSetup::new(&t)).is_err(), "{bad}");
    }
}

/// Of a page only the features and the score are kept for judges that remember pages: a combination decides
/// by them as by the whole assessment, and what `relevance` learns from labels counts in it.
#[test]
fn a_combination_keeps_what_relevance_needs() {
    for kind in ["all", "any", "weighted"] {
        let t = topic(&format!(
            "name = 'n'\n[content]\nterms = ['sql', 'soup']\n[judge]\nkind = '{kind}'\n\
             of = ['relevance', 'regex']\n[judge.regex]\nurl = 'course'"
        ));
        let mut j = judge(&t);
        assert!(j.needs().pages && j.needs().own_text && j.save().is_none(), "{kind}");
        let paths = ["/course/db.html", "/pt", "/empty"];
        let kept = |a: &Assessment| Assessment {
            score: a.score,
            features: a.features.clone(),
            ..Assessment::default()
        };
        let pages: Vec<Assessment> = paths.iter().map(|p| assess(&t, j.as_ref(), p)).collect();
        let before: Vec<Verdict> = pages.iter().map(|a| j.decide(a)).collect();
        for (a, was) in pages.iter().zip(&before) {
            assert!(!a.features.is_empty());
            assert_eq!(j.decide(&kept(a)), *was, "{kind}");
        }
        for _ in 0..3 {
            j.observe(&kept(&pages[0]), Some(types::Label::person(true)));
            j.observe(&kept(&pages[1]), Some(types::Label::person(false)));
        }
        // The pattern says nothing of the page that is not wanted: of the two `relevance` says more, and now
        // less than before.
        let now = j.decide(&kept(&pages[1]));
        if kind == "any" {
            assert!(now.relevance < before[1].relevance, "{kind}: {now:?} {:?}", before[1]);
        }
        assert_eq!(j.decide(&pages[1]), now, "{kind}");
    }
}

#[test]
fn combinations_by_hand() {
    let with = |kind: &str, rest: &str| {
        let t = topic(&format!(
            "name = 'n'\n[content]\nterms = ['sql', 'soup']\n[judge]\nkind = '{kind}'\n\
             of = ['genre', 'regex']\n{rest}\n[judge.genre]\nthreshold = 0.5\n[judge.regex]\nurl = 'course'"
        ));
        let j = judge(&t);
        let of = |path: &str| {
            let a = assess(&t, j.as_ref(), path);
            (j.decide(&a), a)
        };
        (of("/course/db.html"), of("/pt"), of("/empty"))
    };
    let sim = 1.0 / 2.0f64.sqrt();
    let (db, pt, empty) = with("all", "");
    // genre: 1/√2 against 0.5; regex: 1 against 0.5.
    close(db.0.relevance, 0.5 + 0.5 * (sim - 0.5) / 0.5);
    assert!(db.0.relevant && !pt.0.relevant && !empty.0.relevant);
    assert!(db.1.hits.iter().any(|h| h.set == "genre/content") && db.1.part("genre/content").is_some());
    let (db, pt, empty) = with("any", "");
    assert!(db.0.relevant && pt.0.relevant && !empty.0.relevant);
    close(pt.0.relevance, 0.5 + 0.5 * (sim - 0.5) / 0.5);
    let (db, _, empty) = with("weighted", "shares = { genre = 3, regex = 1 }\nthreshold = 0.6");
    close(db.0.relevance, (3.0 * sim + 1.0) / 4.0);
    assert!(db.0.relevant && empty.0.relevance == 0.0);
    for bad in [
        "of = []",
        "of = ['genre', 'genre']",
        "of = ['gener']",
        "of = ['genre']\nregex = { url = 'x' }",
        "of = ['genre']\nshares = { genre = -1 }",
    ] {
        let t = topic(&format!("name = 'n'\nquery = 'x'\n[judge]\nkind = 'all'\n{bad}"));
        assert!(build(&JudgeSetup::new(&t)).is_err(), "{bad}");
    }
}

#[test]
fn trained_judges_judge_the_same_from_their_model() {
    use crate::model::{ModelFile, Part, Role};
    let web = crate::testkit::Web::new(
        "== http://a/y1\nsql joins\n== /y2\nsql index\n== /n1\nsoup\n== /n2\nsoup stew\n== /p\n\
         sql soup soup\n== /empty\n",
    );
    for kind in TRAINED {
        let t = Topic::from_toml(&format!("query = 'x'\n[judge]\nkind = '{kind}'\nthreshold = 0.5")).unwrap();
        let doc = |p: &str| web.doc(p, &t.text.options);
        let example = |p: &str, kind| Example { doc: std::sync::Arc::new(doc(p)), kind };
        let examples = [
            example("/y1", ExampleKind::Relevant),
            example("/y2", ExampleKind::Relevant),
            example("/n1", ExampleKind::Irrelevant),
            example("/n2", ExampleKind::Irrelevant),
        ];
        let judge = build(&JudgeSetup { examples: &examples, ..JudgeSetup::new(&t) }).unwrap();
        let body = judge.trained().unwrap();
        let part = Part::new(Role::Judge, kind, String::new(), &t.text.options, body.clone());
        let model = ModelFile { parts: vec![part] };
        // No examples: everything is in the model.
        let again = build(&JudgeSetup { model: Some(&model), ..JudgeSetup::new(&t) }).unwrap();
        for p in ["/y1", "/y2", "/n1", "/n2", "/p", "/empty"] {
            assert_eq!(judge.assess(&doc(p)), again.assess(&doc(p)), "{kind} {p}");
        }
        assert_eq!(again.trained(), Some(body.clone()), "{kind}");
        // For another judge it is a mistake, and a damaged one is told.
        let other = topic("query = 'x'");
        let message = build(&JudgeSetup { model: Some(&model), ..JudgeSetup::new(&other) }).err().unwrap();
        assert!(message.to_string().contains(&format!("[judge] kind = \"{kind}\"")), "{message}");
        for n in 0..body.len() {
            let cut = Part::new(Role::Judge, kind, String::new(), &t.text.options, body[..n].to_vec());
            let cut = ModelFile { parts: vec![cut] };
            assert!(
                build(&JudgeSetup { model: Some(&cut), ..JudgeSetup::new(&t) }).is_err(),
                "{kind} cut at {n}"
            );
        }
    }
}

#[test]
fn a_taxonomy_model_takes_another_focus() {
    use crate::model::{ModelFile, Part, Role};
    let web = crate::testkit::Web::new("== http://a/b\ncell\n== /m\nproof\n== /c\nsoup\n");
    let t = |focus: &str| {
        Topic::from_toml(&format!(
            "query = 'x'\n[judge]\nkind = 'bayes'\nleast = 1\nfocus = '{focus}'\nthreshold = 0.5"
        ))
        .unwrap()
    };
    let bio = t("Sci/Bio");
    let page = |path: &str, p: &str| TaxonomyPage {
        path: path.into(),
        doc: std::sync::Arc::new(web.doc(p, &bio.text.options)),
    };
    let pages = [page("Sci/Bio", "/b"), page("Sci/Maths", "/m"), page("Cooking", "/c")];
    let judge = build(&JudgeSetup { taxonomy: &pages, ..JudgeSetup::new(&bio) }).unwrap();
    let part = Part::new(Role::Judge, "bayes", String::new(), &bio.text.options, judge.trained().unwrap());
    let model = ModelFile { parts: vec![part] };
    let relevant = |topic: &Topic, p: &str| {
        let j = build(&JudgeSetup { model: Some(&model), ..JudgeSetup::new(topic) }).unwrap();
        j.decide(&j.assess(&web.doc(p, &topic.text.options))).relevant
    };
    let science = t("Sci");
    assert!(
        relevant(&bio, "/b")
            && !relevant(&bio, "/m")
            && relevant(&science, "/m")
            && !relevant(&science, "/c")
    );
    let wrong = t("Sci/Physics");
    let message =
        build(&JudgeSetup { model: Some(&model), ..JudgeSetup::new(&wrong) }).err().unwrap().to_string();
    assert!(message.contains("no topic `Sci/Physics`"), "{message}");
}

#[test]
fn example_pages_draw_the_line_half_way() {
    let web = "
        == http://a/1
        apples pears
        == /2
        apples pears
        == /3
        apples plums quinces
        == /4
        apples
        ";
    let topic = "[content]\nterms = ['apples', 'pears', 'plums', 'quinces']";
    let line = |relevant: &[&str]| {
        let t = super::testing::judge(web, topic, relevant, &[]);
        (t.of("/4").1.threshold, t.judge.explain().unwrap_or_default())
    };
    // Two are too few to say anything.
    let (usual, why) = line(&["/1", "/2"]);
    assert!(!why.contains("example"), "{why}");
    // Only `apples` is on two other examples: each of the three scores as page 4 does.
    let (drawn, why) = line(&["/1", "/2", "/3"]);
    let one = super::testing::judge(web, topic, &[], &[]).of("/4").0.score;
    assert!((drawn - (usual + one) / 2.0).abs() < 1e-12, "{usual} {one} {drawn}");
    assert!(why.contains(&format!("example pages score without terms of their own ({one:.2})")), "{why}");
}
