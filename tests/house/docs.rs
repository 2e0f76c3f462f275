//! `docs/strategies.md` and `docs/judges.md` say what the program says: both are made from the lists that
//! `gleaner strategies` and `gleaner judges` read. `UPDATE_DOCS=1 cargo test -p gleaner --test house` writes
//! them anew.

use std::fmt::Write;
use std::fs;
use std::path::Path;

struct Entry {
    name: &'static str,
    summary: &'static str,
    doc: &'static str,
}

fn page(title: &str, intro: &str, default: &str, entries: &[Entry]) -> String {
    let mut out = format!(
        "<!-- Made from the source by `UPDATE_DOCS=1 cargo test -p gleaner --test house`; edit the source. \
         -->\n\n# {title}\n\n{intro}\n\n"
    );
    out += "| name | in short |\n|---|---|\n";
    for e in entries {
        let mark = if e.name == default { " (default)" } else { "" };
        let _ = writeln!(out, "| [`{0}`](#{0}){mark} | {1} |", e.name, e.summary.replace('|', "\\|"));
    }
    for e in entries {
        // Headings of an entry go one level down, below its name.
        let doc = e.doc.trim().replace("## ", "### ");
        let _ = write!(out, "\n## `{}`\n\n{}\n\n{doc}\n", e.name, e.summary);
    }
    out
}

fn check(file: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs").join(file);
    if std::env::var_os("UPDATE_DOCS").is_some() {
        fs::write(&path, text).unwrap();
        return;
    }
    let there = fs::read_to_string(&path).unwrap_or_default();
    assert!(
        there == text,
        "docs/{file} is out of date: run `UPDATE_DOCS=1 cargo test -p gleaner --test house` and commit the \
         change"
    );
}

#[test]
fn strategies() {
    let all = focus::strategies::ALL.iter();
    let entries: Vec<Entry> = all.map(|e| Entry { name: e.name, summary: e.summary, doc: e.doc }).collect();
    let intro = "A strategy decides which link is followed next. Choose one with `--strategy NAME` or in \
                 the topic file:\n\n```toml\n[strategy]\nkind = \"best-first\"\n# options of the strategy\n\
                 ```\n\n`gleaner strategies NAME` prints the same. u is the page a link stands on, a its \
                 anchor text, q the topic. [Sources](sources.md) has the documents of Assis, Chakrabarti, \
                 Pappas, Batsakis and Siqueira.";
    check("strategies.md", &page("Strategies", intro, focus::strategies::DEFAULT, &entries));
}

#[test]
fn judges() {
    let all = focus::judges::ALL.iter();
    let entries: Vec<Entry> = all.map(|e| Entry { name: e.name, summary: e.summary, doc: e.doc }).collect();
    let intro = "A judge decides whether a fetched page is what you want. Choose one in the topic file:\n\n\
                 ```toml\n[judge]\nkind = \"genre\"\nthreshold = \"auto\"\n# options of the judge\n```\n\n\
                 `gleaner judges NAME` prints the same. `[exclude] terms` work on top of any judge. \
                 [Sources](sources.md) has the documents of Assis, Chakrabarti, Pappas, Batsakis and \
                 Siqueira.";
    check("judges.md", &page("Judges", intro, focus::judges::DEFAULT, &entries));
}
