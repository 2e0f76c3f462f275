//! Lines for the `_bulk` API of OpenSearch and Elasticsearch, with a mapping beside them.
//!
//! The name of a document is made from the page's address: what is sent again replaces what is there.

use super::{Column, Exporter, Format, Kind, Options, Output, Row, cannot_write, page_id};
use serde_json::{Map, Value as Json, json};
use std::io::{BufWriter, Write};
use types::Problem;

pub const FORMAT: Format = Format {
    name: "bulk",
    summary: "lines for the _bulk API of OpenSearch and Elasticsearch, with a mapping",
    extension: "ndjson",
    binary: false,
    needs_markdown: false,
    folder: None,
    beside: Some(("mapping.json", mapping)),
    open: |out, options| Ok(Box::new(Bulk { out: BufWriter::new(out), columns: options.columns() })),
};

/// Columns that are searched by word; the others are taken as they are.
const WORDS: &[&str] = &["title", "description", "text", "markdown"];
/// Longer values are kept but not indexed: Lucene takes no term of more than 32,766 bytes.
const LONGEST_TERM: u32 = 8_191;

struct Bulk {
    out: BufWriter<Output>,
    columns: Vec<&'static Column>,
}

impl Exporter for Bulk {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let document: Map<String, Json> =
            self.columns.iter().map(|c| (c.name.to_string(), (c.get)(row).to_json())).collect();
        let action = json!({ "index": { "_id": page_id(&row.record.url) } });
        writeln!(self.out, "{action}\n{}", Json::Object(document)).map_err(cannot_write)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Problem> {
        self.out.flush().map_err(cannot_write)
    }
}

/// For `PUT /INDEX`.
fn mapping(options: &Options) -> String {
    let field = |column: &Column| match column.kind {
        Kind::Text if WORDS.contains(&column.name) => json!({ "type": "text" }),
        Kind::Text => json!({ "type": "keyword", "ignore_above": LONGEST_TERM }),
        Kind::Integer => json!({ "type": "long" }),
        Kind::Float => json!({ "type": "double" }),
        Kind::Flag => json!({ "type": "boolean" }),
        Kind::Time => json!({ "type": "date" }),
        Kind::Map => json!({ "type": "object", "dynamic": true }),
    };
    let columns = options.columns();
    let properties: Map<String, Json> = columns.iter().map(|c| (c.name.to_string(), field(c))).collect();
    format!("{:#}\n", json!({ "mappings": { "dynamic": false, "properties": properties } }))
}
