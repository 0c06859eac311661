"""Run tests in a copy of the tree, in a process of their own."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
COPIED = ("qbcd", "tests", "docs", "examples", "docker", "tools", "pyproject.toml", "Makefile", "README.md")
SKIPPED = shutil.ignore_patterns("__pycache__", "*.egg-info", ".pytest_cache", ".hypothesis")
LONGEST = 600.0  # seconds of a killer on a busy machine; beyond it the run hangs
OF_PYTEST = ("PYTEST_", "PYSPARK_GATEWAY_", "COV_")  # variables of the run around it
FAILED, INVALID = 1, "SyntaxError|IndentationError|ImportError|ModuleNotFoundError|NameError|UnboundLocalError"
_LINE = re.compile(r"^(PASSED|FAILED|SKIPPED|ERROR)\s+(.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Result:
    """The outcome of a run of tests.

    Attributes:
        status: Exit status of pytest; None if the run was ended because it hangs.
        output: Its output.
    """

    status: int | None
    output: str

    def lines(self, word: str) -> list[str]:
        """Return the rest of the lines of pytest's summary that begin with `word`."""
        return [rest for found, rest in _LINE.findall(self.output) if found == word]

    def count(self, test: str, word: str) -> int:
        """Return the number of cases of `test` with this outcome."""
        return sum(_is_case(rest.split(" - ")[0], test) for rest in self.lines(word))

    @property
    def is_skip(self) -> bool:
        """True if tests ended well and all of them were skipped."""
        return self.status == 0 and bool(self.lines("SKIPPED")) and not self.lines("PASSED")

    @property
    def reason(self) -> str:
        """The first line of the first failure, in pytest's words."""
        found = re.search(r"^E\s+(.*)", self.output, re.MULTILINE)
        return found[1] if found else ""


def _is_case(nodeid: str, test: str) -> bool:
    return nodeid == test or nodeid.startswith(f"{test}[")


def copy_of(source: Path, target: Path) -> Path:
    """Copy what tests need from the tree `source` to the new folder `target`."""
    target.mkdir(parents=True)
    for name in COPIED:
        path = source / name
        if path.is_dir():
            shutil.copytree(path, target / name, symlinks=True, ignore=SKIPPED if source == ROOT else None)
        elif path.exists():
            shutil.copy2(path, target / name)
    return target


def run(tree: Path, tests: Sequence[str], *options: str, limit: float = LONGEST) -> Result:
    """Run `tests` in the tree, which is imported instead of an installed qbcd, also by child processes."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith(OF_PYTEST)}
    environ["PYTHONPATH"] = str(tree)
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-n0",
        "-q",
        "-rA",
        "--color=no",
        "-p",
        "no:cacheprovider",
        *options,
        *tests,
    ]
    process = subprocess.Popen(
        command,
        cwd=tree,
        env=environ,
        text=True,
        errors="replace",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        output = process.communicate(timeout=limit)[0]
    except subprocess.TimeoutExpired:
        return Result(None, _ended(process))
    except BaseException:
        _ended(process)
        raise
    return Result(process.returncode, output)


def _ended(process: subprocess.Popen[str]) -> str:
    """End a run with all its processes; its servers end with their owner. Return its output."""
    for number in (signal.SIGINT, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
            return process.communicate(timeout=20)[0]
        except subprocess.TimeoutExpired:
            continue
        except ProcessLookupError:
            break
    return ""


def why_not_killed(result: Result, killer: str) -> str:
    """Return why the run of a killer with a mutant does not count as killed; empty if it does.

    Only the killer's own failure counts: no error of collection or of a fixture, and no bug that Python reports.
    """
    if result.status is None:
        return f"it hangs longer than {LONGEST:g} s"
    failures = [line for line in result.lines("FAILED") if _is_case(line.split(" - ")[0], killer)]
    if result.status != FAILED or not failures:
        return f"pytest ended with status {result.status}, and not because this test failed"
    invalid = re.search(rf"^E\s+({INVALID})\b.*", result.output, re.MULTILINE)
    return f"the mutant is no valid Python: {invalid[0]}" if invalid else ""
