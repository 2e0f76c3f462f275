"""A collection on this machine or in a shared database."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._page import Chunk, Page
from ._program import lines, run

if TYPE_CHECKING:
    import duckdb
    import pandas
    import polars
    import pyarrow


def open(folder: str | os.PathLike[str] | None = None, *, store: str | None = None, crawl: str | None = None) -> Collection:
    """Opens the collection in a folder, or a crawl in a PostgreSQL database (`store`, and `crawl` if it has several).

    It may be read while a crawl writes to it.
    """
    collection = Collection(folder, store=store, crawl=crawl)
    collection.status()
    return collection


class Collection:
    """The pages of one crawl."""

    def __init__(
        self, folder: str | os.PathLike[str] | None = None, *, store: str | None = None, crawl: str | None = None
    ) -> None:
        if (folder is None) == (store is None):
            raise ValueError("name either a folder or a store")
        self.folder = None if folder is None else Path(folder)
        self._place = [str(folder)] if folder is not None else ["--store", str(store)]
        if crawl is not None:
            self._place += ["--crawl", crawl]

    def __repr__(self) -> str:
        return f"Collection({str(self.folder) if self.folder else self._place[1:]!r})"

    def status(self) -> dict[str, Any]:
        """How it stands: pages, relevant pages, what waits, errors, settings."""
        return dict(json.loads(run(["status", *self._place, "--json"])))

    def __len__(self) -> int:
        """Relevant pages; copies count once."""
        return int(self.status()["relevant"])

    def _chosen(
        self, where: Iterable[str], since: str | None, columns: Sequence[str] | None, all: bool, copies: bool
    ) -> list[str]:
        args = ["export", *self._place]
        for condition in [where] if isinstance(where, str) else where:
            args += ["--where", condition]
        args += ["--since", since] if since is not None else []
        args += ["--columns", ",".join(columns)] if columns is not None else []
        args += ["--all"] if all else []
        args += ["--copies"] if copies else []
        return args

    def pages(
        self,
        *,
        where: Iterable[str] = (),
        since: str | None = None,
        columns: Sequence[str] | None = None,
        all: bool = False,
        copies: bool = False,
        markdown: bool = False,
    ) -> Iterator[Page]:
        """The relevant pages, one after another (`all`: every page).

        `where` has conditions such as `language=en`, `host=*.example.org`, `score>=0.8`, `label=yes`; `since` is `7d` or
        a day. With `markdown` the column of that name is there.
        """
        if markdown and columns is None:
            columns = [*COLUMNS, "markdown"]
        elif markdown and columns is not None and "markdown" not in columns:
            columns = [*columns, "markdown"]
        return map(Page, lines([*self._chosen(where, since, columns, all, copies), "--format", "jsonl"]))

    def __iter__(self) -> Iterator[Page]:
        return self.pages()

    def chunks(
        self, size: int = 2000, overlap: int = 0, *, where: Iterable[str] = (), since: str | None = None
    ) -> Iterator[Chunk]:
        """Pieces of the pages' Markdown for a language model, of at most `size` characters."""
        args = self._chosen(where, since, None, False, False)
        args += ["--format", "chunks", "--chunk-size", str(size), "--chunk-overlap", str(overlap)]
        return map(Chunk.of, lines(args))

    def export(
        self,
        path: str | os.PathLike[str],
        format: str | None = None,
        *,
        where: Iterable[str] = (),
        since: str | None = None,
        columns: Sequence[str] | None = None,
        all: bool = False,
        copies: bool = False,
    ) -> Path:
        """Writes a file (or a folder of Markdown files) in any format of `gleaner export`; by its name, if none is said."""
        args = self._chosen(where, since, columns, all, copies)
        args += ["--format", format] if format is not None else []
        run([*args, "--output", str(path)])
        return Path(path)

    def arrow(self, **chosen: Any) -> pyarrow.Table:
        """The pages as an Arrow table. Takes what `pages` takes to choose them."""
        import pyarrow.parquet

        markdown = chosen.pop("markdown", False)
        if markdown:
            chosen["columns"] = [*(chosen.get("columns") or COLUMNS), "markdown"]
        with tempfile.TemporaryDirectory(prefix="gleaner-") as folder:
            path = self.export(Path(folder) / "pages.parquet", "parquet", **chosen)
            return pyarrow.parquet.read_table(path)

    def pandas(self, **chosen: Any) -> pandas.DataFrame:
        """The pages as a pandas frame."""
        return self.arrow(**chosen).to_pandas()

    def polars(self, **chosen: Any) -> polars.DataFrame:
        """The pages as a Polars frame."""
        import polars

        return polars.from_arrow(self.arrow(**chosen))

    def duckdb(self, **chosen: Any) -> duckdb.DuckDBPyRelation:
        """The pages as a DuckDB relation: `db.duckdb().filter("score > 0.9").aggregate("language, count(*)")`."""
        import duckdb

        return duckdb.from_arrow(self.arrow(**chosen))

    def search(self, query: str, *, limit: int = 10, all: bool = False) -> list[dict[str, Any]]:
        """The best pages for words, "phrases", `-not`, `title:word`, each with a snippet."""
        # A query may begin with a hyphen.
        args = ["search", "--json", "--limit", str(limit), *(["--all"] if all else [])]
        if self.folder is None:
            return list(lines([*args, *self._place, "--", query]))
        return list(lines([*args, "--", str(self.folder), query]))

    def explain(self, url: str) -> dict[str, Any]:
        """Why a page was fetched, and how it was judged."""
        place = self._place if self.folder is None else [str(self.folder)]
        return dict(json.loads(run(["explain", "--json", *place, url])))

    def label(self, urls: str | Iterable[str], relevant: bool | None) -> None:
        """Says of pages that they are relevant, or not; `None` takes that back. The judge learns from it at once."""
        flag = {True: "--yes", False: "--no", None: "--clear"}[relevant]
        chosen = [urls] if isinstance(urls, str) else list(urls)
        run(["label", *self._place, flag, *chosen])

    def labels(self) -> dict[str, bool]:
        """What was said of pages, by address."""
        pages = self.pages(where=["label=any"], columns=["url", "label"], all=True, copies=True)
        return {page.url: bool(page["label"]) for page in pages}


#: The usual columns of a page, in the order of the files.
COLUMNS = (
    "url title description text language relevant relevance threshold score score_parts parent depth fetched status "
    "media_type bytes digest simhash duplicate_of near_duplicate_of archive_file archive_offset label label_by"
).split()
