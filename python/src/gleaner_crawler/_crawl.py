"""A crawl that runs."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any

from ._collection import Collection
from ._program import Problem, start


def crawl(
    topic: str | os.PathLike[str] | None = None,
    *,
    out: str | os.PathLike[str],
    seeds: Iterable[str] = (),
    pages: int | None = None,
    relevant: int | None = None,
    time: str | None = None,
    **options: Any,
) -> Crawl:
    """Starts a crawl of a topic file into a folder, or goes on with it.

    Further options are those of `gleaner crawl`: `strategy="adaptive"`, `contact="you@example.org"`, `delay="1s"`,
    `allow_private=True`, `resolve=["*:127.0.0.1:8080"]`; instead of a topic file, `subject`, `genre` or `query`.
    """
    args = ["crawl", *([str(topic)] if topic is not None else []), "--out", str(out), "--json"]
    for url in seeds:
        args += ["--seed", url]
    options = {"pages": pages, "relevant": relevant, "time": time, **options}
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        values = value if isinstance(value, (list, tuple)) else [value]
        for one in values:
            if one is True:
                args.append(flag)
            elif one is not None and one is not False:
                args += [flag, str(one)]
    return Crawl(args, Path(out))


class Crawl:
    """A crawl that was started. Iterate to follow its events; leave the `with` block to stop it."""

    def __init__(self, args: list[str], out: Path) -> None:
        self._err = tempfile.TemporaryFile("w+", encoding="utf-8")
        self._process = start(args, stderr=self._err)
        self._out = out
        #: The last event of kind `progress` or `finished`.
        self.progress: dict[str, Any] = {}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Events while they come: `{"event": "page", "url": …}`, `miss`, `progress`, `finished` …"""
        assert self._process.stdout is not None
        for line in self._process.stdout:
            event: dict[str, Any] = json.loads(line)
            if event.get("event") in ("progress", "finished"):
                self.progress = event
            yield event
        self._check(self._process.wait())

    def wait(self) -> Collection:
        """Follows it to its end, and opens what it made."""
        for _ in self:
            pass
        return self.collection

    def stop(self) -> Collection:
        """Asks it to end in order: nothing that was fetched is lost, and the same command goes on."""
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
        assert self._process.stdout is not None
        for _ in self._process.stdout:
            pass
        self._check(self._process.wait())
        return self.collection

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def collection(self) -> Collection:
        """Its pages, which may be read while it runs."""
        return Collection(self._out)

    def _check(self, code: int) -> None:
        # 3: stopped, 4: nothing (more) to fetch. Both leave a collection.
        if code not in (0, 3, 4):
            self._err.seek(0)
            raise Problem.of(self._err.read(), code)

    def __enter__(self) -> Crawl:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)
            try:
                self._process.communicate(timeout=60)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.communicate()
        elif self._process.stdout is not None:
            self._process.stdout.close()
        self._err.close()
