"""Writes WARC files with warcio, for our reader's tests: chunked, compressed, WARC/1.0 and 1.1, plain and gzip.

    python make_warc.py FOLDER
"""

import gzip
import sys
from io import BytesIO
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

BODY = b"<p>words words words words</p>"


def chunked(body):
    half = len(body) // 2
    pieces = [body[:half], body[half:]]
    return b"".join(b"%x\r\n%s\r\n" % (len(p), p) for p in pieces) + b"0\r\n\r\n"


def write(path, version, compress):
    with open(path, "wb") as out:
        writer = WARCWriter(out, gzip=compress, warc_version=version)
        writer.write_record(writer.create_warcinfo_record(path.name, {"software": "make_warc.py"}))
        zipped = gzip.compress(BODY)
        for name, extra, body in [
            ("plain", [], BODY),
            ("chunked", [("Transfer-Encoding", "chunked")], chunked(BODY)),
            ("gzip", [("Content-Encoding", "gzip")], zipped),
            ("chunked-gzip", [("Transfer-Encoding", "chunked"), ("Content-Encoding", "gzip")], chunked(zipped)),
        ]:
            headers = StatusAndHeaders("200 OK", [("Content-Type", "text/html"), *extra], protocol="HTTP/1.1")
            url = f"http://example.org/{name}"
            writer.write_record(
                writer.create_warc_record(url, "response", payload=BytesIO(body), http_headers=headers)
            )
        writer.write_record(
            writer.create_revisit_record(
                "http://example.org/again",
                digest="sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
                refers_to_uri="http://example.org/plain",
                refers_to_date="2026-01-01T00:00:00Z",
            )
        )


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    write(folder / "chunked.warc.gz", "WARC/1.1", True)
    write(folder / "plain.warc", "WARC/1.1", False)
    write(folder / "old.warc.gz", "WARC/1.0", True)
