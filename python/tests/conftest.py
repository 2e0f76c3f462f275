"""A small web to crawl and a collection of it, made once by the real program."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import gleaner_crawler as gleaner

TOPIC = """
name = "database syllabi"
query = 'databases OR "relational model" OR sql'

[genre]
preset = "syllabus"

[seeds]
urls = ["http://directory.campusweb.example/"]
"""


@pytest.fixture(scope="session")
def web() -> Iterator[str]:
    """The demo's web, served; says where."""
    server = subprocess.Popen(
        [gleaner.program(), "demo", "--serve-only", "--listen", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert server.stdout is not None
    yield server.stdout.readline().strip()
    server.kill()
    server.wait()


@pytest.fixture(scope="session")
def topic(tmp_path_factory: pytest.TempPathFactory, web: str) -> Path:
    path = tmp_path_factory.mktemp("topic") / "db.toml"
    path.write_text(TOPIC + f'\n[fetch]\ndelay = "5ms"\nallow_private = true\nresolve = ["*:{web}"]\n')
    return path


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory, topic: Path) -> Path:
    out = tmp_path_factory.mktemp("collections") / "db"
    gleaner.crawl(topic, out=out, pages=120).wait()
    return out


@pytest.fixture
def db(folder: Path) -> gleaner.Collection:
    return gleaner.open(folder)
