"""Checks WARC files with warcio: every digest, every length, unique ids, revisits that resolve.

    python check_warc.py FILE...

Prints how many records of each type there are. Exit code 1 at the first thing that is wrong.
"""

import subprocess
import sys
from collections import Counter

from warcio.archiveiterator import ArchiveIterator


def fail(message):
    print(f"check_warc: {message}", file=sys.stderr)
    sys.exit(1)


def main(files):
    if not files:
        fail("name at least one file")
    # warcio's own command, as people use it.
    check = subprocess.run(
        [sys.executable, "-m", "warcio.cli", "check", "-v", *files], capture_output=True, text=True
    )
    if check.returncode != 0:
        fail(f"warcio check failed\n{check.stdout}{check.stderr}")

    counts = Counter()
    ids = set()
    responses = {}
    revisits = []
    archived = Counter()
    for name in files:
        with open(name, "rb") as stream:
            records = ArchiveIterator(stream, check_digests="raise")
            last = None
            for number, record in enumerate(records):
                kind = record.rec_type
                headers = record.rec_headers
                if (number == 0) != (kind == "warcinfo"):
                    fail(f"{name}: record {number} is a {kind}; the first and only the first must be warcinfo")
                record_id = headers.get_header("WARC-Record-ID")
                if record_id in ids:
                    fail(f"{name}: {record_id} occurs twice")
                ids.add(record_id)
                counts[kind] += 1
                url = headers.get_header("WARC-Target-URI")
                date = headers.get_header("WARC-Date")
                digest = headers.get_header("WARC-Payload-Digest")
                if kind == "response":
                    body = record.content_stream().read()
                    said = record.http_headers.get_header("content-length")
                    if said is not None and record.http_headers.get_header("content-encoding") is None:
                        if int(said) != len(body):
                            fail(f"{name}: {url}: Content-Length {said}, body {len(body)}")
                    if record.http_headers.get_header("transfer-encoding"):
                        fail(f"{name}: {url}: transfer-encoding was kept")
                    responses[(url, date)] = digest
                elif kind == "revisit":
                    revisits.append(
                        (
                            url,
                            digest,
                            headers.get_header("WARC-Refers-To-Target-URI"),
                            headers.get_header("WARC-Refers-To-Date"),
                        )
                    )
                if kind in ("response", "revisit"):
                    archived[(url, date)] += 1
                    last = record_id
                elif kind in ("request", "metadata"):
                    if headers.get_header("WARC-Concurrent-To") != last:
                        fail(f"{name}: {kind} of {url} does not belong to the response before it")
                    record.content_stream().read()
            records.close()
    for url, digest, target, date in revisits:
        if responses.get((target, date)) != digest:
            fail(f"revisit {url}: no response of {target} at {date} with payload {digest}")
    twice = [key for key, n in archived.items() if n > 1]
    if twice:
        fail(f"archived twice: {twice[:5]}")
    print(", ".join(f"{n} {kind}" for kind, n in sorted(counts.items())))


if __name__ == "__main__":
    main(sys.argv[1:])
