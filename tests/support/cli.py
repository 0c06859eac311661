"""The command line, run in the test's own process, and what it printed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import qbcd
from qbcd.cli import main

# In the order of `qbcd --help`.
COMMANDS = (
    "init",
    "discover",
    "check",
    "advise",
    "explain",
    "prepare",
    "run",
    "status",
    "report",
    "changes",
    "subscriptions",
    "verify",
    "diff",
    "join",
    "retire",
    "skip",
    "resend",
    "reset",
    "replay",
    "schema",
    "spark",
    "demo",
)
_COLOUR = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


@dataclass(frozen=True)
class Ran:
    """The result of a run: exit code, and stdout and stderr without colors."""

    code: int
    out: str
    err: str

    @property
    def data(self) -> Any:
        """Stdout as a single JSON value."""
        return json.loads(self.out)

    @property
    def lines(self) -> list[Any]:
        """Stdout as JSON values, one per line."""
        return [json.loads(line) for line in self.out.splitlines()]


class Cli:
    """A caller of the command line, which behaves as the console script."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *arguments: str) -> Ran:
        self._capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        printed = self._capsys.readouterr()
        code = ended.value.code
        assert code is None or isinstance(code, int)
        return Ran(code or 0, _COLOUR.sub("", printed.out), _COLOUR.sub("", printed.err))


def spawn(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    """Start ``python -m qbcd`` as a process of its own in `folder`, with nothing on stdin."""
    root = str(Path(qbcd.__file__).resolve().parents[1])
    path = os.pathsep.join(part for part in (root, os.environ.get("PYTHONPATH", "")) if part)
    return subprocess.Popen(
        [sys.executable, "-m", "qbcd", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def finished(process: subprocess.Popen[str], timeout: float = 60.0) -> Ran:
    """Wait for the end of a spawned process."""
    out, err = process.communicate(timeout=timeout)
    return Ran(process.returncode, out, err)
