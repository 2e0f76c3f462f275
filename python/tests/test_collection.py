from __future__ import annotations

from pathlib import Path

import pytest

import gleaner_crawler as gleaner


def test_pages_are_iterated(db: gleaner.Collection) -> None:
    status = db.status()
    everything = list(db.pages(all=True, columns=["url", "score", "relevant"]))
    assert 100 <= len(everything) <= status["pages"] == 120
    pages = list(db)
    assert len(pages) == len(db) > 3
    first = pages[0]
    assert first.relevant and first.url.startswith("http") and first["status"] == 200
    assert first.fetched.tzinfo is not None and first.label is None
    best = list(db.pages(where=["score>=0.9"], columns=["url", "score"]))
    assert all(page.score >= 0.9 for page in best) and len(best) < len(pages)
    assert list(db.pages(where=["host=nowhere.example"])) == []


def test_an_iteration_may_be_left(db: gleaner.Collection) -> None:
    for page in db.pages(all=True):
        assert page.url
        break


def test_one_line_to_each_frame(db: gleaner.Collection) -> None:
    urls = [page.url for page in db]
    assert db.arrow()["url"].to_pylist() == urls
    assert list(db.pandas()["url"]) == urls
    assert db.polars()["url"].to_list() == urls
    assert db.duckdb().aggregate("count(*)").fetchall() == [(len(urls),)]
    assert db.pandas(columns=["url", "title"], where="language=en").shape[1] == 2
    assert db.pandas(all=True)["score"].between(0, 1).all()


def test_markdown_and_chunks_fit_together(db: gleaner.Collection) -> None:
    pages = {page.url: page.markdown for page in db.pages(markdown=True)}
    assert any("\n## " in text for text in pages.values())
    chunks = list(db.chunks(400))
    assert len(chunks) > len(pages)
    for chunk in chunks:
        assert pages[chunk.about["url"]][chunk.start : chunk.end] == chunk.text


def test_search_explain_and_label(db: gleaner.Collection) -> None:
    hits = db.search("databases", limit=5)
    assert hits and all("snippet" in hit for hit in hits)
    url = hits[0]["url"]
    assert db.explain(url)["path"][-1]["url"] == url
    before = len(db)
    db.label(url, relevant=False)
    assert db.labels() == {url: False}
    assert len(db) != before or url not in [page.url for page in db]
    assert url not in [page.url for page in db]
    db.label([url], relevant=None)
    assert db.labels() == {}


def test_files_of_every_kind(db: gleaner.Collection, tmp_path: Path) -> None:
    for name in ["pages.csv", "pages.jsonl.gz", "pages.rss", "pages.wacz", "pages.cdxj", "pages.ndjson"]:
        assert db.export(tmp_path / name).stat().st_size > 0, name
    assert list(db.export(tmp_path / "notes", "markdown").rglob("*.md"))


def test_problems_say_what_to_do(db: gleaner.Collection, tmp_path: Path) -> None:
    with pytest.raises(gleaner.Problem, match="is not a collection") as caught:
        gleaner.open(tmp_path)
    assert caught.value.code == 2 and caught.value.hint
    with pytest.raises(gleaner.Problem, match="is no condition"):
        list(db.pages(where=["size>1"]))
    with pytest.raises(gleaner.Problem, match="never seen"):
        db.explain("http://nowhere.example/")
    with pytest.raises(ValueError):
        gleaner.Collection()
    with pytest.raises(gleaner.Problem):
        gleaner.open(store="postgres://nobody@127.0.0.1:1/none")


def test_no_program(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GLEANER", str(tmp_path / "gleaner"))
    with pytest.raises(gleaner.Problem, match="cannot start"):
        gleaner.open(tmp_path)
    monkeypatch.delenv("GLEANER")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(gleaner.Problem, match="not found"):
        gleaner.program()
