"""Folders of a run: temporary files in memory, and a cache without Java's archive.

For its database alone, a test makes and removes some hundred files; on a disk that takes longer than the rest of most
tests.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import MutableMapping
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 4 << 30  # bytes: servers, databases and folders of three processes
REST = 6 << 30  # bytes for Java and Python


def use_memory(environ: MutableMapping[str, str]) -> None:
    """Put temporary files into memory; respect `TMPDIR`, and use the disk if memory is short."""
    if "TMPDIR" not in environ and _free(MEMORY) >= ROOM and _available() >= ROOM + REST:
        environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # tempfile reads TMPDIR once


def _free(folder: Path) -> int:
    """Return the free bytes of a folder that we can use; 0 without one."""
    if not os.access(folder, os.W_OK | os.X_OK) or not hasattr(os, "statvfs"):
        return 0
    found = os.statvfs(folder)
    runs_programs = not found.f_flag & getattr(os, "ST_NOEXEC", 0)  # a test copies a server's programs
    return found.f_bavail * found.f_frsize if runs_programs else 0


def _available() -> int:
    """Return the bytes of available memory; 0 if the system does not report them."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) << 10 for line in lines if line.startswith("MemAvailable:")), 0)


def use_cache_without_archive(environ: MutableMapping[str, str], cache: Path) -> Path:
    """Give processes of the run a cache that has the user's drivers and servers, under a path with a blank.

    Java uses no archive of classes on such a path. So none is written, which would take longer than most tests, and
    each run behaves alike, whatever is in the user's cache.

    Returns:
        The new cache; the caller removes it.
    """
    made = Path(tempfile.mkdtemp(prefix="qbcd cache "))
    (made / "qbcd").mkdir()
    for name in ("jars", "ivy", "servers"):
        (cache / name).mkdir(parents=True, exist_ok=True)
        (made / "qbcd" / name).symlink_to(cache / name)
    environ["XDG_CACHE_HOME"] = str(made)
    return made


def remove(cache: Path) -> None:
    """Remove the folder that `use_cache_without_archive` made; the user's drivers stay."""
    shutil.rmtree(cache, ignore_errors=True)
