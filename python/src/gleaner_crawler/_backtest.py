"""Results of `gleaner backtest`."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ._program import Problem, run

if TYPE_CHECKING:
    import pandas
    import polars


def backtest(
    *,
    web: str | os.PathLike[str],
    topics: Iterable[str | os.PathLike[str]],
    out: str | os.PathLike[str],
    strategies: Iterable[str] = ("all",),
    **options: Any,
) -> Backtest:
    """Runs strategies on a recorded or generated web. Further options are those of `gleaner backtest`."""
    args = ["backtest", "--web", str(web), "--out", str(out), "--strategies", ",".join(strategies)]
    for topic in topics:
        args += ["--topic", str(topic)]
    for name, value in options.items():
        flag = "--" + name.replace("_", "-")
        if value is True:
            args.append(flag)
        elif value is not None and value is not False:
            args += [flag, str(value)]
    run(args)
    return Backtest(out)


class Backtest:
    """The folder that `gleaner backtest --out` wrote."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        path = self.folder / "results.json"
        try:
            with path.open(encoding="utf-8") as file:
                self.results: dict[str, Any] = json.load(file)
        except OSError as error:
            raise Problem(f"{self.folder} holds no results: {error}", "name the folder of gleaner backtest --out") from error
        except ValueError as error:
            raise Problem(f"{path} is damaged: {error}", "run the backtest again") from error

    @property
    def runs(self) -> list[dict[str, Any]]:
        """One row per topic, strategy and draw: pages, relevant, harvest, auc …"""
        return [flat(run) for run in self.results["runs"]]

    @property
    def summary(self) -> list[dict[str, Any]]:
        """One row per topic and strategy, with intervals."""
        return [flat(row) for row in self.results["summary"]]

    @property
    def curves(self) -> list[dict[str, Any]]:
        """Recall after so many pages: topic, strategy, rng, pages, recall."""
        return [
            {"topic": run["topic"], "strategy": run["strategy"], "rng": run["rng"], "pages": n, "recall": recall}
            for run in self.results["runs"]
            for n, recall in run["recall"]
        ]

    def order(self, topic: str, strategy: str, rng: int = 0) -> list[dict[str, Any]]:
        """The pages in the order in which a strategy fetched them: n, url, score, labels."""
        path = self.folder / f"order-{topic}-{strategy}-{rng}.tsv"
        try:
            text = path.read_text(encoding="utf-8")
        except OSError as error:
            there = ", ".join(sorted(p.name for p in self.folder.glob("order-*.tsv")))
            raise Problem(f"there is no {path.name}", f"there are: {there or 'none'}") from error
        rows = (line.split("\t") for line in text.splitlines())
        return [{"n": int(n), "url": url, "score": float(score), "labels": labels} for n, url, score, labels in rows]

    def pandas(self, table: str = "summary") -> pandas.DataFrame:
        """`summary`, `runs` or `curves` as a pandas frame."""
        import pandas

        return pandas.DataFrame(self._table(table))

    def polars(self, table: str = "summary") -> polars.DataFrame:
        """`summary`, `runs` or `curves` as a Polars frame."""
        import polars

        return polars.DataFrame(self._table(table), infer_schema_length=None)

    def _table(self, name: str) -> list[dict[str, Any]]:
        if name not in ("summary", "runs", "curves"):
            raise ValueError(f"there is no table {name!r}; tables: summary, runs, curves")
        rows: list[dict[str, Any]] = getattr(self, name)
        return rows


def flat(row: dict[str, Any]) -> dict[str, Any]:
    """Numbers inside as columns of their own (`judge.f1`); curves are left out."""
    out: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, dict):
            out.update({f"{name}.{inner}": number for inner, number in value.items()})
        elif not isinstance(value, list):
            out[name] = value
    return out
