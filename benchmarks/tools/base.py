"""Interface of a tool in a comparison, and its installation in separate folders."""

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
    """A tool is not available here; the message is the reason, which the table shows."""


@dataclass(frozen=True)
class Found:
    """Seconds of one run without start-up, and the number of changed rows that it found."""

    seconds: float
    changes: int


class Tool(ABC):
    """A tool that finds the changes of a table since its last run.

    Attributes:
        name: Its name in the table of results.
        start_up: Seconds of its command without work; subtracted from the time of a run.
    """

    name: str
    start_up = 0.0

    @abstractmethod
    def setup(self) -> str:
        """Install the tool and run it a first time; return its name and version.

        Raises:
            Unavailable: It is not available here.
        """

    def catch_up(self) -> None:  # noqa: B027
        """Bring the tool's own data up to date with the table; not timed."""

    @abstractmethod
    def run(self) -> Found:
        """Find the changes of the table, timed."""

    def cleanup(self) -> None:  # noqa: B027
        """Remove files of `setup` outside the run's folder and server."""


def environment(name: str, requirements: Sequence[str]) -> Path:
    """Return the `bin` folder of an environment with `requirements`, in the user's cache.

    Raises:
        Unavailable: They cannot be installed.
    """
    digest = hashlib.sha256(repr((sys.version, *requirements)).encode()).hexdigest()[:12]
    place = _cache() / f"{name}-{digest}"
    programs = place / "bin"
    if not (place / "complete").exists():
        shutil.rmtree(place, ignore_errors=True)
        pip = [str(programs / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        _install([sys.executable, "-m", "venv", str(place)])
        _install([*pip, *requirements])
        (place / "complete").touch()
    return programs


def unpacked(packages: Sequence[str]) -> Path:
    """Unpack Debian `packages` into the user's cache, not installed; return the folder.

    Raises:
        Unavailable: They are not available on this machine.
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
    """Return the output of a command, run without PYTHONPATH.

    Raises:
        RuntimeError: It failed; the message has the end of its output.
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
        end = " | ".join((done.stdout + done.stderr).strip().splitlines()[-8:])
        raise RuntimeError(f"{Path(command[0]).name} ended with {done.returncode}: {end}")
    return done.stdout


def _install(command: Sequence[str], cwd: Path | None = None) -> None:
    try:
        output(command, cwd=cwd)
    except (OSError, RuntimeError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"not installed: {str(error)[:300]}") from error


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "qbcd-benchmarks"
