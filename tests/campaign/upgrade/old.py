"""Earlier versions of qbcd in environments of their own, and their processes."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from tests.packaging.test_packaging import lend_dependencies

ROOT = Path(__file__).resolve().parents[3]
SCRIPT = Path(__file__).with_name("child.py")
PATIENCE = 600.0  # seconds for one command on a busy machine


@dataclass(frozen=True)
class Release:
    """A commit whose state every later version must continue.

    Attributes:
        constants: Values with which small tables get layers, compacted segments, leaves and recent rows; by their names
            in that version.
        hooks: The module of its hook points.
    """

    commit: str
    constants: Mapping[str, float]
    hooks: str = "qbcd.hooks"


RELEASES: Mapping[str, Release] = {
    "0.1": Release(  # the last commit of version 0.1.0
        "e72e4d7e31c418400e28b071f2ba96d458bd74b5",
        {
            "qbcd.sites.upkeep.TAKEN_SEGMENTS": 0,
            "qbcd.sites.upkeep.COMPACT_BATCHES": 2,
            "qbcd.sites.leaves.LEAST_ROWS": 0,
            "qbcd.sites.leaves.LEAST_SHARE": 0,
            "qbcd.sites.leaves.LEAST_IN_LEAF": 0,
            "qbcd.sites.leaves.MOST_SHARE": 1,
            "qbcd.traces.DEAREST": 100,
            "qbcd.traces.USELESS": 100,
            "qbcd.sites.recent.LEAST_ROWS": 0,
            "qbcd.sites.recent.MOST_SHARE": 1.0,
        },
    ),
    "7ad68381": Release(  # polls by DuckDB, table sinks, dumps; before JDBC, enrichment and sets
        "7ad68381",
        {
            "qbcd.sites.lake.compaction.TAKEN_SEGMENTS": 0,
            "qbcd.sites.lake.compaction.COMPACT_BATCHES": 2,
            "qbcd.sites.lake.fetch.leaf_checksums.LEAST_ROWS": 0,
            "qbcd.sites.lake.fetch.leaf_checksums.LEAST_SHARE": 0,
            "qbcd.sites.lake.fetch.leaf_checksums.LEAST_IN_LEAF": 0,
            "qbcd.sites.lake.fetch.leaf_checksums.MOST_SHARE": 1,
            "qbcd.ranges.key_recovery.DEAREST": 100,
            "qbcd.ranges.key_recovery.USELESS": 100,
            "qbcd.sites.lake.fetch.recent_writes.LEAST_ROWS": 0,
            "qbcd.sites.lake.fetch.recent_writes.MOST_SHARE": 1.0,
        },
    ),
}


@dataclass(frozen=True)
class OldVersion:
    """An environment that has an earlier version installed.

    Attributes:
        folder: Its root.
    """

    folder: Path
    release: Release

    @classmethod
    def installed(cls, folder: Path, release: Release) -> OldVersion:
        """Install the version into `folder`; its dependencies are those of this process, by links."""
        source, environment = folder / "source", folder / "environment"
        with tarfile.open(fileobj=BytesIO(_archive(release.commit))) as archive:
            archive.extractall(source)
        _run(sys.executable, "-m", "venv", "--without-pip", environment)
        python = environment / "bin" / "python"
        lend_dependencies(python, folder / "lent")
        pip = (sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check")
        _run(*pip, "--no-deps", "--no-build-isolation", "--no-index", source)
        return cls(environment, release)

    @contextmanager
    def process(self, folder: Path) -> Iterator[OldProcess]:
        """Start a process of the version on the project in `folder`; it ends with the block."""
        spec = folder / "old.json"
        content = {
            "environment": str(self.folder),
            "project": str(folder / "qbcd.yaml"),
            "constants": dict(self.release.constants),
            "hooks": self.release.hooks,
        }
        spec.write_text(json.dumps(content), "utf-8")
        with (folder / "old.log").open("ab") as log:
            child = subprocess.Popen(
                [self.folder / "bin" / "python", "-I", SCRIPT, spec],
                cwd=folder,
                env=_environment(),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        try:
            yield OldProcess(child, folder / "old.log")
            assert child.stdin is not None
            child.stdin.close()
            assert child.wait(PATIENCE) in (0, -signal.SIGKILL), (folder / "old.log").read_text("utf-8")[-3000:]
        finally:
            child.kill()
            child.wait()


@dataclass(frozen=True)
class OldProcess:
    """A running process of the old version.

    Attributes:
        log: File of all that it prints.
    """

    child: subprocess.Popen[str]
    log: Path

    def prepare(self, *streams: str) -> dict[str, Any]:
        """Take the baselines."""
        return self._asked(do="prepare", streams=streams)

    def poll(self, *streams: str) -> dict[str, Any]:
        """Poll each stream once; return the failures of sinks by stream."""
        return self._asked(do="poll", streams=streams, kill_at=None)

    def poll_until(self, point: str, nth: int, stream: str) -> None:
        """Poll a stream in a process that dies when it reaches `point` for the nth time."""
        self._send(do="poll", streams=[stream], kill_at=[point, nth])
        code = self.child.wait(PATIENCE)
        assert code == -signal.SIGKILL, f"it ended with {code} and not at {point}: {self._printed()}"

    def _asked(self, **command: Any) -> dict[str, Any]:
        self._send(**command)
        assert self.child.stdout is not None
        ready, _, _ = select.select([self.child.stdout], [], [], PATIENCE)
        line = self.child.stdout.readline() if ready else ""
        assert line, f"the old version gave no answer to {command}: {self._printed()}"
        answer = json.loads(line)
        assert answer["errors"] == {}
        failures: dict[str, Any] = answer["failures"]
        return failures

    def _send(self, **command: Any) -> None:
        assert self.child.stdin is not None
        self.child.stdin.write(json.dumps(command) + "\n")
        self.child.stdin.flush()

    def _printed(self) -> str:
        return self.log.read_text("utf-8", "replace")[-3000:]


def _archive(commit: str) -> bytes:
    """Return the files of a commit as a tar archive.

    Skip the test without a git history; fail if it is cut short.
    """
    if not (ROOT / ".git").exists():
        pytest.skip(f"{ROOT} has no git history to take commit {commit[:8]} from")
    got = subprocess.run(["git", "-C", ROOT, "archive", "--format=tar", commit], capture_output=True, check=False)
    if got.returncode:
        pytest.fail(
            f"the git history has no commit {commit[:8]}: {got.stderr.decode().strip()}. fix: git fetch --unshallow"
        )
    return got.stdout


def _run(*command: Path | str) -> None:
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{' '.join(map(str, command))}: {done.stdout[-2000:]}{done.stderr[-2000:]}"


def _environment() -> dict[str, str]:
    """Return this process's variables without those that point Python or Spark to this checkout."""
    led = ("PYTHON", "PYSPARK_", "SPARK_", "VIRTUAL_ENV", "COVERAGE_")
    return {name: value for name, value in os.environ.items() if not name.startswith(led)}


def names(streams: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of configured streams."""
    return [stream["name"] for stream in streams]
