"""Reads a Parquet export with pyarrow and checks its shape.

    python check_parquet.py FILE ROWS
"""

import json
import os
import sys

import pyarrow as pa
import pyarrow.parquet as pq


def fail(message):
    print(f"check_parquet: {message}", file=sys.stderr)
    sys.exit(1)


def main(path, rows):
    table = pq.read_table(path)
    if table.num_rows != rows:
        fail(f"{table.num_rows} rows instead of {rows}")
    types = {field.name: field.type for field in table.schema}
    expected = {
        "url": pa.string(),
        "title": pa.string(),
        "text": pa.string(),
        "relevant": pa.bool_(),
        "score": pa.float64(),
        "depth": pa.int64(),
        "fetched": pa.timestamp("ms", tz="UTC"),
        "status": pa.int64(),
        "archive_offset": pa.int64(),
    }
    for name, wanted in expected.items():
        if types.get(name) != wanted:
            fail(f"column {name} is {types.get(name)}, not {wanted}")
    # Compared by parts, because map types carry the names of their fields with them.
    parts = types["score_parts"]
    if not (pa.types.is_map(parts) and parts.key_type == pa.string() and parts.item_type == pa.float64()):
        fail(f"column score_parts is {parts}")
    # The JSON lines of the same export, when they lie beside it, say the same.
    beside = os.path.splitext(path)[0] + ".jsonl"
    if os.path.exists(beside):
        with open(beside, encoding="utf-8") as lines:
            for row, line in zip(table.to_pylist(), lines, strict=True):
                wanted = json.loads(line)
                row["score_parts"] = dict(row["score_parts"])
                row["fetched"] = row["fetched"].isoformat(timespec="milliseconds").replace("+00:00", "Z")
                if row != wanted:
                    fail(f"{row['url']}: {row} is not {wanted}")
    print(f"{rows} rows, {len(types)} columns")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        fail("usage: check_parquet.py FILE ROWS")
    main(sys.argv[1], int(sys.argv[2]))
