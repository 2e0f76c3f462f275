from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import gleaner_crawler as gleaner


@pytest.fixture(scope="module")
def server(folder: Path) -> Iterator[gleaner.Server]:
    process = subprocess.Popen(
        [gleaner.program(), "serve", str(folder.parent), "--listen", "127.0.0.1:0", "--token", "a-long-secret-for-tests"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    address = process.stdout.readline().split()[-1]
    yield gleaner.Server(address)
    process.kill()
    process.wait()


def test_a_collection_over_http(server: gleaner.Server, db: gleaner.Collection, tmp_path: Path) -> None:
    [remote] = server.collections()
    assert remote.name == "db"
    assert [page.url for page in remote] == [page.url for page in db]
    assert all(page.score >= 0.9 for page in remote.pages(where=["score>=0.9"], columns=["url", "score"]))
    assert remote.export(tmp_path / "pages.parquet", "parquet").read_bytes()[:4] == b"PAR1"
    found = remote.search("databases", limit=3)
    url = next(iter(remote)).url
    assert remote.explain(url)["url"] == url
    assert found
    assert next(iter(remote.follow()))
    assert server.call("GET", "/strategies")


def test_labels_over_http(server: gleaner.Server, db: gleaner.Collection) -> None:
    remote = server.collection("db")
    page = server.call("GET", "/collections/db/pages", {"relevant": True, "limit": 1})["pages"][0]
    remote.label(page["id"], True)
    assert db.labels() == {page["url"]: True}
    remote.label(page["id"], None)
    assert db.labels() == {}


def test_wrong_token_name_or_place(server: gleaner.Server) -> None:
    with pytest.raises(gleaner.Problem) as caught:
        gleaner.Server(server._base, "wrong").collections()
    assert caught.value.code == 401
    with pytest.raises(gleaner.Problem):
        server.collection("none").status()
    with pytest.raises(gleaner.Problem, match="cannot be reached"):
        gleaner.Server("http://127.0.0.1:1", "x").collections()
