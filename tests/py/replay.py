"""Replays an archive with pywb, the way a web archive's readers would.

    python replay.py FOLDER FILE... < URLS

Makes a pywb collection in FOLDER out of the WARC files (or WACZ files), asks it for every URL (one per line) as it was
captured, and prints `URL<TAB>status<TAB>SHA-1 of the body` for each. `20261116181500/URL` asks for the page as it was at
that time.
"""

import contextlib
import hashlib
import os
import sys

from pywb.apps.frontendapp import FrontEndApp
from pywb.manager.manager import main as manager
from werkzeug.test import Client


def main(folder, files):
    urls = sys.stdin.read().split()
    files = [os.path.abspath(f) for f in files]
    os.chdir(folder)
    # pywb talks on standard output, which is ours.
    with contextlib.redirect_stdout(sys.stderr):
        manager(["init", "crawl"])
        unpack = ["--unpack-wacz"] if files[0].endswith(".wacz") else []
        manager(["add", "crawl", *unpack, *files])
        client = Client(FrontEndApp(config_file=None))
        rows = []
        for url in urls:
            # Who takes every encoding gets the bytes that came over the wire, which the digests are of.
            when, _, page = url.partition("/") if url[0].isdigit() else ("", "", url)
            answer = client.get(f"/crawl/{when}id_/{page}", headers={"Accept-Encoding": "gzip, br, zstd, deflate"})
            rows.append((url, answer.status_code, hashlib.sha1(answer.data).hexdigest()))
    for row in rows:
        print(*row, sep="\t")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
