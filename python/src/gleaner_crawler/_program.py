"""The program `gleaner`: where it is, and what it says."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any


class Problem(Exception):
    """Something went wrong. `what` says it, `hint` says what to do, `code` is the program's exit code."""

    def __init__(self, what: str, hint: str | None = None, code: int | None = None) -> None:
        super().__init__(what if hint is None else f"{what}\nhint: {hint}")
        self.what = what
        self.hint = hint
        self.code = code

    @classmethod
    def of(cls, said: str, code: int) -> Problem:
        """From what the program wrote to standard error."""
        text = said.strip()
        text = text.rsplit("error: ", 1)[-1]
        what, _, hint = text.partition("hint: ")
        return cls(what.strip() or f"gleaner ended with exit code {code}", hint.strip() or None, code)


def program() -> str:
    """The program: `GLEANER` in the environment, else beside this Python, else on `PATH`."""
    named = os.environ.get("GLEANER")
    if named:
        return named
    beside = Path(sys.executable).parent / "gleaner"
    found = str(beside) if beside.is_file() else shutil.which("gleaner")
    if found is None:
        raise Problem(
            "the program gleaner is not found", "install it, put it on PATH, or name it in the environment: GLEANER=/path"
        )
    return found


def start(args: Sequence[str], **options: Any) -> subprocess.Popen[str]:
    """Starts the program. Its output is text."""
    try:
        return subprocess.Popen(
            [program(), *args], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True, encoding="utf-8", **options
        )
    except OSError as error:
        raise Problem(f"cannot start {program()}: {error}") from error


def run(args: Sequence[str]) -> str:
    """Runs the program to its end and returns its output."""
    process = start(args, stderr=subprocess.PIPE)
    out, err = process.communicate()
    if process.returncode != 0:
        raise Problem.of(err, process.returncode)
    return out


def lines(args: Sequence[str]) -> Iterator[dict[str, Any]]:
    """What the program writes, a JSON object a line, while it comes. Whoever stops early ends the program."""
    import tempfile

    # A pipe for the errors could fill up while nobody reads it.
    with tempfile.TemporaryFile("w+", encoding="utf-8") as err:
        process = start(args, stderr=err)
        assert process.stdout is not None
        try:
            for line in process.stdout:
                yield json.loads(line)
            code = process.wait()
        finally:
            process.stdout.close()
            if process.poll() is None:
                process.terminate()
                process.wait()
        if code != 0:
            err.seek(0)
            raise Problem.of(err.read(), code)
