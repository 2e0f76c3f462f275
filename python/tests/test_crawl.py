from __future__ import annotations

from pathlib import Path

import pytest

import gleaner_crawler as gleaner


def test_a_crawl_is_followed(topic: Path, tmp_path: Path) -> None:
    with gleaner.crawl(topic, out=tmp_path / "db", pages=20) as crawl:
        events = list(crawl)
    kinds = [event["event"] for event in events]
    assert kinds[0] == "started" and kinds[-1] == "finished" and kinds.count("page") == 20
    assert not crawl.running
    assert crawl.collection.status()["pages"] == 20
    # The same command goes on.
    assert gleaner.crawl(topic, out=tmp_path / "db", pages=25).wait().status()["pages"] == 25


def test_a_crawl_is_stopped_and_loses_nothing(topic: Path, tmp_path: Path) -> None:
    with gleaner.crawl(topic, out=tmp_path / "db", delay="50ms") as crawl:
        seen = 0
        for event in crawl:
            seen += event["event"] == "page"
            if seen >= 5:
                break
        assert crawl.running
        collection = crawl.stop()
    assert collection.status()["pages"] >= 5


def test_what_is_wrong_is_said(topic: Path, tmp_path: Path) -> None:
    with pytest.raises(gleaner.Problem, match="--pages"):
        gleaner.crawl(topic, out=tmp_path / "db", pages="many").wait()
    with pytest.raises(gleaner.Problem) as caught:
        gleaner.crawl(tmp_path / "none.toml", out=tmp_path / "db").wait()
    assert caught.value.code in (1, 2)


def test_backtests_are_frames(tmp_path: Path) -> None:
    topic = tmp_path / "topic.toml"
    topic.write_text('name = "databases"\nquery = "databases"\n')
    result = gleaner.backtest(
        web="sim:campus?pages=600", topics=[topic], out=tmp_path / "results", strategies=["breadth-first", "best-first"], pages=200
    )
    summary = result.pandas()
    assert set(summary["strategy"]) == {"breadth-first", "best-first"}
    assert summary["auc_mean"].between(0, 1).all()
    assert result.polars("runs").height == 2
    curves = result.pandas("curves")
    assert curves.groupby("strategy")["recall"].max().le(1).all()
    topic_name = result.runs[0]["topic"]
    assert result.order(topic_name, "best-first")[0]["n"] == 1
    with pytest.raises(ValueError):
        result.pandas("tables")
    with pytest.raises(gleaner.Problem, match="holds no results"):
        gleaner.Backtest(tmp_path)
