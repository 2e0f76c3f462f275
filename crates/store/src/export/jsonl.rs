//! JSON lines: one object per page, one page per line. Missing values are `null`.

use super::{COLUMNS, Exporter, Format, Output, Row, cannot_write};
use std::io::{BufWriter, Write};
use types::Problem;

pub const FORMAT: Format = Format {
    name: "jsonl",
    summary: "one JSON object per line",
    extension: "jsonl",
    binary: false,
    open: |out, _| Ok(Box::new(JsonLines { out: BufWriter::new(out) })),
};

struct JsonLines {
    out: BufWriter<Output>,
}

impl Exporter for JsonLines {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let mut separator = "{";
        for column in COLUMNS {
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
