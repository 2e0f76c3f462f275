//! What pages say of themselves, from the page to the export, the filters and the dashboard.

use crate::common::dashboard::Dashboard;
use crate::common::{crawl, file, finish, folder, gleaner, run, serve};
use serde_json::{Value, json};

const WEB: &str = "== http://a.example/
<title>Start</title><p>A course list. <a href='/course'>course</a> <a href='/thesis'>thesis</a> <a href='/plain'>plain</a>
== http://a.example/course
<title>Databases</title><script type='application/ld+json'>{\"@type\":\"Course\",\"name\":\"Databases\",\"provider\":{\"name\":\"Northfield\"},\"datePublished\":\"2026-03-05\",\"dateModified\":\"2026-04-01\",\"author\":[{\"name\":\"Ada Lovelace\"},{\"name\":\"\u{1b}[31mC. Babbage\"}]}</script><p>A course on databases.
== http://a.example/thesis
<title>On joins</title><meta name=citation_author content='Hopper, Grace'><meta name=citation_date content=2024/05><meta name=citation_dissertation_institution content='Uni X'><p>A thesis on joins, and on the course of it.
== http://a.example/plain
<title>Plain</title><p>Nothing is said of this course.
";

#[test]
fn what_pages_say_of_themselves_is_kept_shown_and_asked_for() {
    let server = serve(WEB);
    let dir = folder();
    let topic = file(dir.path(), "t.toml", "name = 'x'\nquery = 'course'\n[fetch]\ndelay = '0s'\n");
    let out = dir.path().join("out");
    finish(crawl(&server, &topic, &out).args(["--seed", "http://a.example/"])).ok();
    let folder = out.display().to_string();
    let export = |args: &[&str]| {
        let ran = run([&["export", "--all", &folder], args].concat());
        ran.ok().out.clone()
    };
    let pages = |args: &[&str]| -> Vec<Value> {
        export(args).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let all = pages(&[]);
    let of = |path: &str| all.iter().find(|p| p["url"].as_str().unwrap().ends_with(path)).unwrap().clone();
    let fields = |page: &Value| {
        ["authors", "published", "modified", "kind", "publisher"].map(|name| page[name].clone())
    };
    let course = of("/course");
    assert!(course["authors"].as_str().unwrap().starts_with("Ada Lovelace; "), "{course}");
    assert_eq!(
        fields(&course)[1..],
        [json!("2026-03-05"), json!("2026-04-01"), json!("Course"), json!("Northfield")]
    );
    let thesis = [json!("Hopper, Grace"), json!("2024-05"), Value::Null, json!("Thesis"), json!("Uni X")];
    assert_eq!(fields(&of("/thesis")), thesis);
    assert_eq!(fields(&of("/plain")), [(); 5].map(|()| Value::Null));
    // Filters.
    for (condition, paths) in [
        ("author=hopper", &["/thesis"][..]),
        ("kind=course", &["/course"]),
        ("publisher=north", &["/course"]),
        ("published>=2026", &["/course"]),
        ("published<2026-03-01", &["/thesis"]),
        ("modified>2026-03", &["/course"]),
        ("kind=Book", &[]),
    ] {
        let found: Vec<String> =
            pages(&["--where", condition]).iter().map(|p| p["url"].as_str().unwrap().to_string()).collect();
        let wanted: Vec<String> = paths.iter().map(|p| format!("http://a.example{p}")).collect();
        assert_eq!(found, wanted, "{condition}");
    }
    run(["export", &folder, "--where", "published>=soon"])
        .fails(2, &["`published>=soon` is no condition", "kind=Course"]);
    // Tables and documents.
    let csv = export(&["--format", "csv", "--columns", "authors,published,kind"]);
    assert!(csv.contains("\"Hopper, Grace\",2024-05,Thesis"), "{csv}");
    let markdown = export(&["--format", "markdown"]);
    assert!(
        markdown.contains("published: \"2026-03-05\"\n") && markdown.contains("kind: \"Thesis\"\n"),
        "{markdown}"
    );
    // For people: without the colours that a page wants to bring.
    let explained = run(["explain", &folder, "http://a.example/course"]);
    explained.ok().shows(&["authors   Ada Lovelace; ", "published 2026-03-05", "publisher Northfield"]);
    assert!(!explained.out.contains('\u{1b}'), "{explained}");
    let plain = run(["explain", &folder, "http://a.example/plain"]);
    assert!(!plain.ok().out.contains("authors"), "{plain}");
    let json: Value =
        serde_json::from_str(&run(["explain", &folder, "http://a.example/thesis", "--json"]).ok().out)
            .unwrap();
    assert_eq!(json["record"]["about"]["authors"], json!(["Hopper, Grace"]));
    let page = file(dir.path(), "page.html", "<title>T</title><meta name=author content=Ada><p>text");
    let mut command = gleaner();
    let extracted = finish(command.arg("extract").arg(&page).arg("--json"));
    let extracted: Value = serde_json::from_str(&extracted.ok().out).unwrap();
    assert_eq!(extracted["about"]["authors"], json!(["Ada"]));
    // The dashboard: a page's own words, and facets of a search.
    let d = Dashboard::start(dir.path(), &[]);
    let list = d.json("/api/v1/collections/out/pages");
    let id = |path: &str| {
        let pages = list["pages"].as_array().unwrap();
        pages.iter().find(|p| p["url"].as_str().unwrap().ends_with(path)).unwrap()["id"].clone()
    };
    let shown = d.json(&format!("/api/v1/collections/out/pages/{}", id("/thesis")));
    assert_eq!(shown["about"]["publisher"], "Uni X");
    let search = |more: &str| d.json(&format!("/api/v1/collections/out/search?q=course&all=true{more}"));
    let facets = search("")["facets"].clone();
    let values = |name: &str| {
        let facet = facets.as_array().unwrap().iter().find(|f| f["name"] == name).unwrap();
        facet["values"].as_array().unwrap().iter().map(|v| v["value"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(
        (values("kind"), values("year")),
        (vec![json!("Course"), json!("Thesis")], vec![json!("2024"), json!("2026")])
    );
    let found = search("&year=2024");
    assert_eq!(found["results"].as_array().unwrap().len(), 1, "{found}");
    assert_eq!(search("&kind=Book")["results"].as_array().unwrap().len(), 0);
}
