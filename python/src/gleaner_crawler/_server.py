"""A dashboard (`gleaner serve`) on this machine or another, over its REST API."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qs, quote, urlencode, urlsplit
from urllib.request import Request, urlopen

from ._page import Page
from ._program import Problem


class Server:
    """A dashboard. `token` may also stand in the address, as the program prints it (`http://…/?token=…`)."""

    def __init__(self, address: str, token: str | None = None, *, timeout: float = 60) -> None:
        parts = urlsplit(address)
        self._base = f"{parts.scheme}://{parts.netloc}"
        self._token = token or parse_qs(parts.query).get("token", [""])[0]
        self._timeout = timeout

    def call(self, method: str, path: str, query: dict[str, Any] | None = None, body: Any = None) -> Any:
        """One request of the API: `server.call("GET", "/strategies")`. `None` for an empty answer."""
        with self._open(method, path, query, body) as answer:
            text = answer.read()
        return json.loads(text) if text.strip() else None

    def _open(self, method: str, path: str, query: dict[str, Any] | None = None, body: Any = None) -> Any:
        wanted = {name: value for name, value in (query or {}).items() if value is not None}
        said = {name: str(v).lower() if isinstance(v, bool) else str(v) for name, v in wanted.items()}
        url = f"{self._base}/api/v1{path}" + (f"?{urlencode(said)}" if said else "")
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self._token}"}
        if data is not None:
            headers["Content-Type"] = "application/json"
        request = Request(url, data=data, method=method, headers=headers)
        try:
            return urlopen(request, timeout=self._timeout)
        except HTTPError as error:
            raise _problem(error) from None
        except URLError as error:
            raise Problem(f"{self._base} cannot be reached: {error.reason}", "is `gleaner serve` running there?") from None

    def collections(self) -> list[RemoteCollection]:
        """The collections that are there."""
        found = self.call("GET", "/collections")["collections"]
        return [RemoteCollection(self, str(one["name"])) for one in found]

    def collection(self, name: str) -> RemoteCollection:
        """One of them."""
        return RemoteCollection(self, name)


def _problem(error: HTTPError) -> Problem:
    text = error.read().decode("utf-8", "replace")
    try:
        said = json.loads(text)
        said = said.get("error", said)
        what, hint = (said, None) if isinstance(said, str) else (said.get("what") or said.get("message"), said.get("hint"))
    except (ValueError, AttributeError):
        what, hint = text.strip(), None
    return Problem(str(what or f"the server answered {error.code}"), hint, error.code)


class RemoteCollection:
    """A collection behind a dashboard."""

    def __init__(self, server: Server, name: str) -> None:
        self.name = name
        self._server = server
        self._path = f"/collections/{quote(name, safe='')}"

    def __repr__(self) -> str:
        return f"RemoteCollection({self.name!r})"

    def status(self) -> dict[str, Any]:
        """How it stands."""
        return dict(self._server.call("GET", self._path))

    def pages(self, **chosen: Any) -> Iterator[Page]:
        """The relevant pages with all columns, one after another. Takes `where`, `since`, `columns`, `all`, `copies`."""
        with self._server._open("GET", f"{self._path}/export", {"format": "jsonl", **_query(chosen)}) as answer:
            for line in answer:
                yield Page(json.loads(line))

    def __iter__(self) -> Iterator[Page]:
        return self.pages()

    def export(self, path: str | os.PathLike[str], format: str = "jsonl", **chosen: Any) -> Path:
        """Downloads it as a file."""
        query = {"format": format, **_query(chosen)}
        with self._server._open("GET", f"{self._path}/export", query) as answer, open(path, "wb") as file:
            shutil.copyfileobj(answer, file)
        return Path(path)

    def search(self, query: str, **more: Any) -> dict[str, Any]:
        """Ranked full-text search with snippets and facets."""
        return dict(self._server.call("GET", f"{self._path}/search", {"q": query, **more}))

    def explain(self, url: str) -> dict[str, Any]:
        """Why a URL was fetched, or why not yet."""
        return dict(self._server.call("GET", f"{self._path}/explain", {"url": url}))

    def label(self, id: int, relevant: bool | None) -> Any:
        """Says of a page (by its number, as `search` tells it) that it is relevant or not; `None` takes that back."""
        return self._server.call("PUT", f"{self._path}/pages/{id}/label", body={"label": relevant})

    def control(self, action: str) -> Any:
        """`start`, `pause`, `resume` or `stop`."""
        return self._server.call("POST", f"{self._path}/control", body={"action": action})

    def follow(self) -> Iterator[dict[str, Any]]:
        """How it stands, again and again, while somebody listens."""
        with self._server._open("GET", f"{self._path}/live") as answer:
            for line in answer:
                if line.startswith(b"data:"):
                    yield json.loads(line[5:])


def _query(chosen: dict[str, Any]) -> dict[str, Any]:
    query = dict(chosen)
    where, columns = query.pop("where", None), query.pop("columns", None)
    if where is not None:
        query["where"] = where if isinstance(where, str) else ";".join(where)
    if columns is not None:
        query["columns"] = columns if isinstance(columns, str) else ",".join(columns)
    return query
