//! Parquet, zstd-compressed, through the low-level column writers: no Arrow, and one row group in memory at a
//! time.

use super::{Column, Exporter, Format, Kind, Output, Row, Value, cannot_write};
use parquet::basic::{Compression, LogicalType, Repetition, TimeUnit, Type as Physical, ZstdLevel};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use std::sync::Arc;
use types::Problem;

pub const FORMAT: Format = Format {
    name: "parquet",
    summary: "Apache Parquet (zstd), for data frames and SQL engines",
    extension: "parquet",
    needs_markdown: false,
    folder: None,
    beside: None,
    binary: true,
    open: |out, options| {
        let made = Parquet::new(out, options.columns(), GROUP_ROWS, GROUP_BYTES);
        Ok(Box::new(made.map_err(cannot_write)?))
    },
};

/// A row group is written when it has this many rows or bytes: what an export holds in memory.
const GROUP_ROWS: usize = 20_000;
const GROUP_BYTES: usize = 32 << 20;

/// The buffered values of one column. `levels` are definition levels: 1 = present, 0 = missing.
#[derive(Default)]
struct Buffer {
    levels: Vec<i16>,
    /// Maps only: 0 = first entry of a row, 1 = a further one.
    repeats: Vec<i16>,
    texts: Vec<ByteArray>,
    integers: Vec<i64>,
    floats: Vec<f64>,
    flags: Vec<bool>,
}

pub(super) struct Parquet {
    writer: SerializedFileWriter<Output>,
    columns: Vec<(&'static Column, Buffer)>,
    rows: usize,
    bytes: usize,
    max_rows: usize,
    max_bytes: usize,
}

impl Parquet {
    pub(super) fn new(
        out: Output,
        columns: Vec<&'static Column>,
        max_rows: usize,
        max_bytes: usize,
    ) -> Result<Parquet, ParquetError> {
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(concat!("gleaner ", env!("CARGO_PKG_VERSION")).into())
            .set_statistics_truncate_length(Some(64))
            .build();
        let writer = SerializedFileWriter::new(out, Arc::new(schema(&columns)?), Arc::new(properties))?;
        let columns = columns.into_iter().map(|c| (c, Buffer::default())).collect();
        Ok(Parquet { writer, columns, rows: 0, bytes: 0, max_rows, max_bytes })
    }

    fn push(&mut self, row: &Row) {
        for (column, buffer) in &mut self.columns {
            let value = (column.get)(row);
            if let Value::Map(pairs) = &value {
                for (i, (name, number)) in pairs.iter().enumerate() {
                    buffer.levels.push(1);
                    buffer.repeats.push(i16::from(i > 0));
                    buffer.texts.push(ByteArray::from(name.as_bytes().to_vec()));
                    buffer.floats.push(*number);
                    self.bytes += name.len() + 16;
                }
                if pairs.is_empty() {
                    buffer.levels.push(0);
                    buffer.repeats.push(0);
                }
                continue;
            }
            buffer.levels.push(i16::from(value != Value::Missing));
            match value {
                Value::Text(text) => {
                    self.bytes += text.len();
                    buffer.texts.push(ByteArray::from(text.into_owned().into_bytes()));
                }
                Value::Integer(n) => buffer.integers.push(n),
                Value::Float(x) => buffer.floats.push(x),
                Value::Flag(b) => buffer.flags.push(b),
                Value::Time(at) => buffer.integers.push(i64::try_from(at.0).unwrap_or(i64::MAX)),
                Value::Missing | Value::Map(_) => {}
            }
            self.bytes += 16;
        }
        self.rows += 1;
    }

    fn write_group(&mut self) -> Result<(), ParquetError> {
        if self.rows == 0 {
            return Ok(());
        }
        let mut group = self.writer.next_row_group()?;
        for (column, buffer) in &mut self.columns {
            let buffer = std::mem::take(buffer);
            write_column(&mut group, column.kind, &buffer)?;
        }
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }
}

fn write_column(
    group: &mut SerializedRowGroupWriter<'_, Output>,
    kind: Kind,
    b: &Buffer,
) -> Result<(), ParquetError> {
    let missing = || ParquetError::General("schema and columns disagree".into());
    let levels = Some(b.levels.as_slice());
    let mut leaf = group.next_column()?.ok_or_else(missing)?;
    match kind {
        Kind::Text => leaf.typed::<ByteArrayType>().write_batch(&b.texts, levels, None)?,
        Kind::Integer | Kind::Time => leaf.typed::<Int64Type>().write_batch(&b.integers, levels, None)?,
        Kind::Float => leaf.typed::<DoubleType>().write_batch(&b.floats, levels, None)?,
        Kind::Flag => leaf.typed::<BoolType>().write_batch(&b.flags, levels, None)?,
        Kind::Map => {
            leaf.typed::<ByteArrayType>().write_batch(&b.texts, levels, Some(&b.repeats))?;
            leaf.close()?;
            leaf = group.next_column()?.ok_or_else(missing)?;
            leaf.typed::<DoubleType>().write_batch(&b.floats, levels, Some(&b.repeats))?
        }
    };
    leaf.close()
}

/// Every column may be missing; a map is there with no entries instead.
fn schema(columns: &[&Column]) -> Result<Type, ParquetError> {
    let leaf = |name: &str, physical, logical, repetition| {
        Type::primitive_type_builder(name, physical)
            .with_logical_type(logical)
            .with_repetition(repetition)
            .build()
            .map(Arc::new)
    };
    let mut fields = Vec::new();
    for column in columns {
        let optional = Repetition::OPTIONAL;
        fields.push(match column.kind {
            Kind::Text => leaf(column.name, Physical::BYTE_ARRAY, Some(LogicalType::String), optional)?,
            Kind::Integer => leaf(column.name, Physical::INT64, None, optional)?,
            Kind::Float => leaf(column.name, Physical::DOUBLE, None, optional)?,
            Kind::Flag => leaf(column.name, Physical::BOOLEAN, None, optional)?,
            Kind::Time => {
                let utc = LogicalType::timestamp(true, TimeUnit::MILLIS);
                leaf(column.name, Physical::INT64, Some(utc), optional)?
            }
            Kind::Map => {
                let key = leaf("key", Physical::BYTE_ARRAY, Some(LogicalType::String), Repetition::REQUIRED)?;
                let value = leaf("value", Physical::DOUBLE, None, Repetition::REQUIRED)?;
                let entries = Type::group_type_builder("key_value")
                    .with_repetition(Repetition::REPEATED)
                    .with_fields(vec![key, value])
                    .build()?;
                let map = Type::group_type_builder(column.name)
                    .with_repetition(Repetition::REQUIRED)
                    .with_logical_type(Some(LogicalType::Map))
                    .with_fields(vec![Arc::new(entries)])
                    .build()?;
                Arc::new(map)
            }
        });
    }
    Type::group_type_builder("page").with_fields(fields).build()
}

impl Exporter for Parquet {
    fn write(&mut self, row: &Row) -> Result<(), Problem> {
        self.push(row);
        if self.rows >= self.max_rows || self.bytes >= self.max_bytes {
            self.write_group().map_err(cannot_write)?;
        }
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> Result<(), Problem> {
        self.write_group().map_err(cannot_write)?;
        self.writer.finish().map_err(cannot_write)?;
        // The footer may still be in a buffer of the output's own.
        std::io::Write::flush(self.writer.inner_mut()).map_err(cannot_write)
    }
}
