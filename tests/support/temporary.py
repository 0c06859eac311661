"""Folders of a run: temporary files in memory where there is room, a cache of qbcd's without Java's archive of classes.

A test makes and removes some hundred files for its database alone; on a disk that takes longer than most tests' work.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes: servers, databases and folders of three processes
REST = 6 << 30  # bytes: what Java and Python need


def use_memory(environ: MutableMapping[str, str]) -> None:
    """Put temporary files into memory; keep to `TMPDIR` where the user names it, to the disk where memory is short."""
    if "TMPDIR" not in environ and _free(MEMORY) >= ROOM and _available() >= ROOM + REST:
        environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # tempfile looks once


def _free(folder: Path) -> int:
    """Bytes that a folder of one's own could hold; 0 where there is none."""
    if not os.access(folder, os.W_OK | os.X_OK) or not hasattr(os, "statvfs"):
        return 0
    found = os.statvfs(folder)
    runs_programs = not found.f_flag & getattr(os, "ST_NOEXEC", 0)  # a test copies a server's programs
    return found.f_bavail * found.f_frsize if runs_programs else 0


def _available() -> int:
    """Bytes of memory that nobody needs; 0 where the system does not say so."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), 0)


def use_cache_without_archive(environ: MutableMapping[str, str], cache: Path) -> Path:
    """Give processes of the run a cache that has the user's drivers, under a path with a blank.

    Java takes no archive of classes from such a path. So none is written, which takes longer than most tests, and each
    run does the same, whatever the user's cache holds.

    Returns:
        The new cache, for the caller to remove.
    """
    made = Path(tempfile.mkdtemp(prefix="qbcd cache "))
    (made / "qbcd").mkdir()
    for name in ("jars", "ivy"):
        (cache / name).mkdir(parents=True, exist_ok=True)
        (made / "qbcd" / name).symlink_to(cache / name)
    environ["XDG_CACHE_HOME"] = str(made)
    return made


def remove(cache: Path) -> None:
    """Remove what `use_cache_without_archive` made; the user's drivers stay."""
    shutil.rmtree(cache, ignore_errors=True)
