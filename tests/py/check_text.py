"""Reads a CSV and a JSON lines export of the same pages with Python's own modules and compares them.

    python check_text.py FILE.csv FILE.jsonl ROWS
"""

import csv
import json
import sys

csv.field_size_limit(1 << 30)


def fail(message):
    print(f"check_text: {message}", file=sys.stderr)
    sys.exit(1)


def main(csv_path, json_path, rows):
    with open(csv_path, newline="", encoding="utf-8") as lines:
        cells = list(csv.DictReader(lines, strict=True))
    with open(json_path, encoding="utf-8") as lines:
        objects = [json.loads(line) for line in lines]
    if not len(cells) == len(objects) == rows:
        fail(f"{len(cells)} rows of CSV, {len(objects)} of JSON, {rows} expected")
    for cell, wanted in zip(cells, objects):
        if list(cell) != list(wanted):
            fail(f"columns {list(cell)} and {list(wanted)}")
        for name, value in wanted.items():
            text = cell[name]
            if value is None:
                same = text == ""
            elif isinstance(value, bool):
                same = text == ("true" if value else "false")
            elif isinstance(value, (int, float)):
                same = float(text) == value
            elif isinstance(value, str):
                # CSV keeps no NUL; everything else must survive quotes, commas and line ends.
                same = text == value.replace("\0", "")
            else:
                same = json.loads(text) == value
            if not same:
                fail(f"{wanted['url']}: {name} is {text!r} and {value!r}")
    print(f"{rows} rows, {len(objects[0]) if objects else 0} columns")


if __name__ == "__main__":
    if len(sys.argv) != 4:
        fail("usage: check_text.py FILE.csv FILE.jsonl ROWS")
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]))
