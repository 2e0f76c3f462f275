//! CSV by RFC 4180: a header line, CRLF line ends, UTF-8, cells quoted when they must be.

use super::{Column, Exporter, Format, Output, Row, cannot_write};
use std::io::{BufWriter, Write};
use types::Problem;

pub const FORMAT: Format = Format {
    name: "csv",
    summary: "comma-separated values with a header line",
    extension: "csv",
    needs_markdown: false,
    folder: None,
    beside: None,
    binary: false,
    open: |out, options| {
        let columns = options.columns();
        let mut csv = Csv { out: BufWriter::new(out), raw: options.raw, columns: columns.clone() };
        csv.line(columns.iter().map(|c| c.name.into()))?;
        Ok(Box::new(csv))
    },
};

struct Csv {
    out: BufWriter<Output>,
    raw: bool,
    columns: Vec<&'static Column>,
}

/// Would a spreadsheet take this cell for a formula? Numbers with a sign are numbers.
fn is_formula(cell: &str) -> bool {
    cell.starts_with(['=', '+', '-', '@', '\t', '\r', '\n', '＝', '＋', '－', '＠'])
        && cell.parse::<f64>().is_err()
}

impl Csv {
    fn line<'a>(&mut self, cells: impl Iterator<Item = std::borrow::Cow<'a, str>>) -> Result<(), Problem> {
        for (i, cell) in cells.enumerate() {
            if i > 0 {
                self.out.write_all(b",").map_err(cannot_write)?;
            }
            self.cell(&cell).map_err(cannot_write)?;
        }
        self.out.write_all(b"\r\n").map_err(cannot_write)
    }

    fn cell(&mut self, cell: &str) -> std::io::Result<()> {
        let guard = if !self.raw && is_formula(cell) { "'" } else { "" };
        // NUL breaks most readers, and no text needs it.
        let plain =
            !cell.contains(['"', ',', '\r', '\n', '\0']) && !cell.starts_with(' ') && !cell.ends_with(' ');
        if plain {
            return write!(self.out, "{guard}{cell}");
        }
        write!(self.out, "\"{guard}{}\"", cell.replace('"', "\"\"").replace('\0', ""))
    }
}

impl Exporter for Csv {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        let values: Vec<_> = self.columns.iter().map(|c| (c.get)(row)).collect();
        self.line(values.iter().map(|v| v.to_cell()))
    }

    fn finish(mut self: Box<Self>) -> Result<(), Problem> {
        self.out.flush().map_err(cannot_write)
    }
}
