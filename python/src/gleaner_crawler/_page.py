"""What a collection is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any


class Page(Mapping[str, Any]):
    """A page: its columns by name, as `page["depth"]`, and the usual ones as attributes."""

    def __init__(self, columns: Mapping[str, Any]) -> None:
        self._columns = dict(columns)

    def __getitem__(self, name: str) -> Any:
        return self._columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._columns)

    def __len__(self) -> int:
        return len(self._columns)

    def __repr__(self) -> str:
        return f"Page({self._columns.get('url')!r})"

    @property
    def url(self) -> str:
        return str(self._columns["url"])

    @property
    def title(self) -> str:
        return str(self._columns["title"])

    @property
    def text(self) -> str:
        """The visible text, one line per block."""
        return str(self._columns["text"])

    @property
    def markdown(self) -> str:
        """The page's own text as Markdown; ask for it with `pages(markdown=True)`."""
        return str(self._columns["markdown"])

    @property
    def language(self) -> str:
        """ISO 639-1; empty when unknown."""
        return str(self._columns["language"])

    @property
    def score(self) -> float:
        return float(self._columns["score"])

    @property
    def relevant(self) -> bool:
        return bool(self._columns["relevant"])

    @property
    def label(self) -> bool | None:
        """What was said of it; `None`: nothing."""
        said = self._columns["label"]
        return None if said is None else bool(said)

    @property
    def fetched(self) -> datetime:
        return datetime.fromisoformat(str(self._columns["fetched"]).replace("Z", "+00:00"))


@dataclass(frozen=True)
class Chunk:
    """A piece of a page's Markdown: `markdown[start:end]`."""

    id: str
    page: str
    chunk: int
    chunks: int
    start: int
    end: int
    headings: list[str]
    text: str
    about: dict[str, Any]

    @classmethod
    def of(cls, line: Mapping[str, Any]) -> Chunk:
        """From a line of `gleaner export --format chunks`."""
        own = {name: line[name] for name in cls.__dataclass_fields__ if name != "about"}
        return cls(**own, about={name: value for name, value in line.items() if name not in own})
