"""A DuckDB database of one poll or one delivery.

It is in memory, limited, and spills into the workdir.
"""

from __future__ import annotations

import os
import shutil
import socket
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from qbcd.local.errors import MORE_MEMORY

SPILL = "spill"  # folder in the workdir
THREADS = 4  # at most: polls of several sources may run in this process
_PER_THREAD = 64 << 20  # bytes of the limit for each thread: each holds row groups that DuckDB cannot spill


def threads_for(memory: int) -> int:
    """Return the number of threads of a database that holds at most `memory` bytes."""
    return max(1, min(THREADS, os.cpu_count() or 1, memory // _PER_THREAD))


class LocalDatabase:
    """An in-memory database of one thread; its rows beyond the limit are spilled into a folder.

    Args:
        memory: Most bytes that DuckDB holds in memory.
        folder: The folder for spilled rows; DuckDB creates it when it needs it, in a folder that exists.
    """

    def __init__(self, memory: int, folder: Path) -> None:
        import duckdb  # a poll without changed rows needs no DuckDB

        settings: dict[str, str | bool | int | float | list[str]] = {
            "memory_limit": f"{memory}B",
            "temp_directory": str(folder),
            "threads": threads_for(memory),
            "preserve_insertion_order": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        }
        self.connection = duckdb.connect(":memory:", config=settings)
        self.connection.execute("SET TimeZone = 'UTC'")  # it is not known before its extension is loaded
        self.connection.execute("SET enable_progress_bar = false")  # by default on stdout, where Python has no script
        self._names = 0

    def new_name(self) -> str:
        """Return a name that no table or view of this database has."""
        self._names += 1
        return f"qbcd_{self._names}"

    def close(self) -> None:
        """Drop everything."""
        self.connection.close()


class LocalProvider:
    """Opens local databases of a project.

    Args:
        workdir: The project's workdir, into which they spill.
        memory: Most bytes that each of them holds in memory.
        more: The way to give them more memory, for messages.
    """

    def __init__(self, workdir: Path, memory: int, more: str = MORE_MEMORY) -> None:
        self.workdir, self._folder, self._memory, self.more = workdir, workdir / SPILL, memory, more

    @contextmanager
    def open(self) -> Iterator[LocalDatabase]:
        """A database for the block; its spilled rows are removed after it."""
        self._sweep()
        folder = self._folder / f"{socket.gethostname()}-{os.getpid()}-{uuid.uuid4().hex}"
        with suppress(OSError):  # a workdir that is only read; DuckDB says so if it must spill
            self._folder.mkdir(parents=True, exist_ok=True)  # DuckDB creates the last folder of a path only
        database = LocalDatabase(self._memory, folder)
        try:
            yield database
        finally:
            database.close()
            shutil.rmtree(folder, ignore_errors=True)

    def _sweep(self) -> None:
        """Remove the spilled rows of processes of this host that were killed."""
        if not self._folder.is_dir():
            return
        for folder in self._folder.glob(f"{socket.gethostname()}-*"):
            process = folder.name.rsplit("-", 2)[1]
            if process.isdigit() and not _is_alive(int(process)):
                shutil.rmtree(folder, ignore_errors=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
