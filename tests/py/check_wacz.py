"""Checks a WACZ file and an index with other people's readers.

    python check_wacz.py wacz FILE.wacz PAGES.jsonl     every line of the index leads to its record, every page is in it
    python check_wacz.py cdxj INDEX.cdxj FILE.warc.gz…   the index says what cdxj-indexer says of the same files

py-wacz's own `wacz validate` is run beside this.
"""

import gzip
import io
import json
import sys
import zipfile

from surt import surt
from warcio.archiveiterator import ArchiveIterator


def wacz(path, pages):
    with open(pages, encoding="utf-8") as lines:
        wanted = {json.loads(line)["url"] for line in lines}
    file = zipfile.ZipFile(path)
    assert file.testzip() is None
    names = file.namelist()
    assert all(info.compress_type == zipfile.ZIP_STORED for info in file.infolist())
    warc, index = file.read("archive/data.warc.gz"), file.read("indexes/index.cdx.gz")
    lines = gzip.decompress(index).decode().splitlines()
    assert lines == sorted(lines), "an index is sorted"
    found = set()
    for line in lines:
        key, time, fields = line.split(" ", 2)
        fields = json.loads(fields)
        assert key == surt(fields["url"]), (key, surt(fields["url"]))
        piece = warc[int(fields["offset"]) :][: int(fields["length"])]
        record = next(iter(ArchiveIterator(io.BytesIO(piece))))
        assert record.rec_headers["WARC-Target-URI"] == fields["url"], line
        assert "".join(c for c in record.rec_headers["WARC-Date"] if c.isdigit())[:14] == time, line
        assert record.http_headers.get_statuscode() == fields["status"], line
        found.add(fields["url"])
    # The pieces of the index can be read alone.
    parts = file.read("indexes/index.idx").decode().splitlines()
    assert parts[0].startswith("!meta 0 ")
    for part in parts[1:]:
        key, time, place = part.split(" ", 2)
        place = json.loads(place)
        piece = gzip.decompress(index[place["offset"] :][: place["length"]]).decode()
        assert piece.startswith(f"{key} {time} "), part
    listed = [json.loads(line) for line in file.read("pages/pages.jsonl").decode().splitlines()]
    assert listed[0]["format"] == "json-pages-1.0"
    assert {page["url"] for page in listed[1:]} == wanted
    assert wanted <= found
    assert "datapackage.json" in names and "datapackage-digest.json" in names
    print(f"{len(lines)} lines, {len(wanted)} pages")


def cdxj(path, files):
    from cdxj_indexer.main import CDXJIndexer

    def lines(text):
        out = {}
        for line in text.splitlines():
            key, time, fields = line.split(" ", 2)
            fields = json.loads(fields)
            fields["key"], fields["time"] = key, time
            # Others may leave the prefix out, and name no type of a revisit.
            fields["digest"] = fields.get("digest", "").removeprefix("sha1:")
            fields.pop("mime", None)
            out[fields["url"]] = {k: str(v) for k, v in fields.items()}
        return out

    theirs = io.StringIO()
    CDXJIndexer(output=theirs, inputs=files, sort=True).process_all()
    with open(path, encoding="utf-8") as file:
        ours = lines(file.read())
    theirs = lines(theirs.getvalue())
    for url, line in ours.items():
        assert line == theirs[url], (line, theirs[url])
    print(f"{len(ours)} of {len(theirs)} lines")


if __name__ == "__main__":
    if sys.argv[1] == "wacz":
        wacz(*sys.argv[2:])
    else:
        cdxj(sys.argv[2], sys.argv[3:])
