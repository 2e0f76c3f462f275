//! Markdown: a document per page with its metadata in front (YAML), each in a file of its own or one after
//! another.

use super::{Column, Exporter, Format, Options, Output, Row, Value, cannot_write, page_id};
use std::fs;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use types::Problem;

/// What stands in front of a page, unless columns are named.
pub const FRONT_MATTER: &[&str] = &[
    "url",
    "title",
    "description",
    "language",
    "relevant",
    "score",
    "fetched",
    "media_type",
    "digest",
    "label",
    "label_by",
    "authors",
    "published",
    "modified",
    "kind",
    "publisher",
];
/// These are the document itself.
const BODY: &[&str] = &["text", "markdown"];
/// Of a page's address in the name of its file, in characters.
const LONGEST_NAME: usize = 60;

pub const FORMAT: Format = Format {
    name: "markdown",
    summary: "the pages' own text with headings, lists and links, and metadata in front",
    extension: "md",
    binary: false,
    needs_markdown: true,
    folder: Some(|dir, options| {
        fs::create_dir_all(&dir).map_err(|e| Problem::io("write", &dir, &e))?;
        Ok(Box::new(Folder { dir, columns: options.columns_or(FRONT_MATTER, BODY) }))
    }),
    beside: None,
    open: |out, options| Ok(Box::new(Stream::new(out, options))),
};

/// One after another.
struct Stream {
    out: BufWriter<Output>,
    columns: Vec<&'static Column>,
    first: bool,
}

impl Stream {
    fn new(out: Output, options: &Options) -> Stream {
        let columns = options.columns_or(FRONT_MATTER, BODY);
        Stream { out: BufWriter::new(out), columns, first: true }
    }
}

impl Exporter for Stream {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let gap = if std::mem::take(&mut self.first) { "" } else { "\n" };
        write!(self.out, "{gap}{}", document(row, &self.columns)).map_err(cannot_write)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Problem> {
        self.out.flush().map_err(cannot_write)
    }
}

/// `HOST/address-id.md`. The name of a page stays the same, so the next export writes over it.
struct Folder {
    dir: PathBuf,
    columns: Vec<&'static Column>,
}

impl Exporter for Folder {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let (host, name) = names(&row.record.url);
        let dir = self.dir.join(host);
        fs::create_dir_all(&dir).map_err(|e| Problem::io("write", &dir, &e))?;
        let path = dir.join(name);
        fs::write(&path, document(row, &self.columns)).map_err(|e| Problem::io("write", &path, &e))
    }

    fn finish(self: Box<Self>) -> Result<(), Problem> {
        Ok(())
    }
}

/// The folder and the file of a page. Addresses come from the Web: nothing but letters, digits and hyphens.
fn names(url: &str) -> (String, String) {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    let plain = |s: &str, keep: &[char]| {
        let mut out = String::new();
        for c in s.chars().take(4 * LONGEST_NAME) {
            match c {
                c if c.is_ascii_alphanumeric() || keep.contains(&c) => out.push(c.to_ascii_lowercase()),
                _ if out.ends_with('-') || out.is_empty() => {}
                _ => out.push('-'),
            }
            if out.len() >= LONGEST_NAME {
                break;
            }
        }
        out.trim_matches(['-', '.']).to_string()
    };
    let (host, path) = (plain(host, &['.']), plain(path, &[]));
    let host = if host.is_empty() { "page".to_string() } else { host };
    let id = page_id(url);
    (host, if path.is_empty() { format!("{id}.md") } else { format!("{path}-{id}.md") })
}

fn document(row: &Row, columns: &[&'static Column]) -> String {
    let mut out = String::from("---\n");
    for column in columns {
        let value = match (column.get)(row) {
            Value::Missing => continue,
            Value::Text(s) if s.is_empty() => continue,
            Value::Text(s) => quoted(&s),
            // JSON is YAML.
            other => other.to_json().to_string(),
        };
        out += &format!("{}: {value}\n", column.name);
    }
    out += "---\n\n";
    out += row.markdown.unwrap_or(&row.record.text);
    out += "\n";
    out
}

/// A double-quoted scalar of YAML.
fn quoted(s: &str) -> String {
    let mut out = String::from("\"");
    for c in s.chars() {
        match c {
            '"' => out += "\\\"",
            '\\' => out += "\\\\",
            '\n' => out += "\\n",
            '\t' => out += "\\t",
            c if c.is_control()
                || matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}') =>
            {
                out += &format!("\\u{:04X}", c as u32);
            }
            c => out.push(c),
        }
    }
    out + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_stay_in_the_folder() {
        let (host, name) = names("http://www.example.org:8080/a/../../Etc/passwd?x=1");
        assert_eq!(host, "www.example.org-8080");
        assert!(name.starts_with("a-etc-passwd-x-1-") && name.ends_with(".md"), "{name}");
        let (host, name) = names("http://../");
        assert_eq!(host, "page");
        assert!(!name.contains(['/', '\\']) && name.len() == 19, "{name}");
        assert_ne!(names("http://a/x").1, names("http://a/X").1, "two pages, two files");
    }

    #[test]
    fn front_matter_is_quoted() {
        assert_eq!(quoted("a \"b\" \\ \n\u{7f}: #"), r#""a \"b\" \\ \n\u007F: #""#);
    }
}
