//! JSON lines: one object per page, one page per line. Missing values are `null`.

use super::{Column, Exporter, Format, Output, Row, cannot_write};
use std::io::{BufWriter, Write};
use types::Problem;

pub const FORMAT: Format = Format {
    name: "jsonl",
    summary: "one JSON object per line",
    extension: "jsonl",
    needs_markdown: false,
    folder: None,
    beside: None,
    binary: false,
    open: |out, options| Ok(Box::new(JsonLines { out: BufWriter::new(out), columns: options.columns() })),
};

struct JsonLines {
    out: BufWriter<Output>,
    columns: Vec<&'static Column>,
}

impl Exporter for JsonLines {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let mut separator = "{";
        for column in &self.columns {
            let value = (column.get)(row).to_json();
            // Written field by field so that the columns keep their order.
            write!(self.out, "{separator}\"{}\":{value}", column.name).map_err(cannot_write)?;
            separator = ",";
        }
        self.out.write_all(b"}\n").map_err(cannot_write)
    }

    fn finish(mut self: Box<Self>) -> Result<(), Problem> {
        self.out.flush().map_err(cannot_write)
    }
}
