"""Interface of a tool in a comparison, and its installation: in its own folders, never among qbcd's packages."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

TIMEOUT = 3600.0  # seconds for one command of a tool


class Unavailable(Exception):
    """A tool cannot be had here; the message says why, and stands in the table."""


@dataclass(frozen=True)
class Found:
    """Seconds of one run without its start-up, and the number of changed rows that it found."""

    seconds: float
    changes: int


class Tool(ABC):
    """A tool that finds what changed in a table since the last look.

    Attributes:
        name: As the table of results has it.
        start_up: Seconds that its command takes when there is nothing to do; left out of what a run took.
    """

    name: str
    start_up = 0.0

    @abstractmethod
    def setup(self) -> str:
        """Installs the tool and takes its first look; returns what was installed, with its version.

        Raises:
            Unavailable: It cannot be had here.
        """

    def catch_up(self) -> None:  # noqa: B027
        """Brings what the tool itself keeps of the table to the table as it is now; not timed."""

    @abstractmethod
    def run(self) -> Found:
        """One look at the table, timed."""

    def cleanup(self) -> None:  # noqa: B027
        """Removes what `setup` left outside the run's folder and server."""


def environment(name: str, requirements: Sequence[str]) -> Path:
    """The `bin` folder of a virtual environment with `requirements`, kept in the user's cache for the next run.

    Raises:
        Unavailable: They cannot be installed.
    """
    mark = hashlib.sha256(repr((sys.version, *requirements)).encode()).hexdigest()[:12]
    place = _cache() / f"{name}-{mark}"
    programs = place / "bin"
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _install([sys.executable, "-m", "venv", str(place)])
        _install([*pip, *requirements])
        (place / "complete").touch()
    return programs


def unpacked(packages: Sequence[str]) -> Path:
    """The files of Debian `packages`, unpacked in the user's cache without being installed.

    Raises:
        Unavailable: They cannot be had on this machine.
    """
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise Unavailable("no packages of Debian on this machine")
    place = _cache() / f"debian-{packages[0]}"
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir(parents=True)
        for package in packages:
            _install(["apt-get", "download", "-qq", package], cwd=place)
        for archive in sorted(place.glob("*.deb")):
            _install(["dpkg-deb", "--extract", str(archive), str(place)])
        (place / "complete").touch()
    return place


def output(command: Sequence[str], *, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> str:
    """Return what a command prints; its Python, if it is one, finds modules in its own environment alone.

    Raises:
        RuntimeError: It failed; with the end of what it said.
    """
    inherited = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(
        command,
        env={**inherited, **(env or {})},
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        stdin=subprocess.DEVNULL,
        check=False,
    )
    if done.returncode:
        said = " | ".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise RuntimeError(f"{Path(command[0]).name} ended with {done.returncode}: {said}")
    return done.stdout


def _install(command: Sequence[str], cwd: Path | None = None) -> None:
    try:
        output(command, cwd=cwd)
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"not installed: {str(error)[:300]}") from error


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qbcd-benchmarks"
