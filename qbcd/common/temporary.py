"""Temporary folders that a later process removes if theirs was killed."""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
import time
from contextlib import suppress
from pathlib import Path

_NEW = 60.0  # seconds in which a new folder may not be locked yet


class TemporaryFolder:
    """A temporary folder, locked as long as its process lives.

    Those of the same prefix that are not locked are removed first.

    Args:
        prefix: The first part of its name.
        parent: The folder in which it is; default: that of the system.

    Raises:
        OSError: It cannot be created.
    """

    def __init__(self, prefix: str, parent: Path | None = None) -> None:
        parent = parent or Path(tempfile.gettempdir())
        _sweep(parent, prefix)
        self.path = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
        self._handle = os.open(self.path, os.O_RDONLY)
        with suppress(OSError):  # a file system without locks; no process removes it then
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def __enter__(self) -> Path:
        return self.path

    def __exit__(self, *_: object) -> None:
        self.remove()

    def remove(self) -> None:
        """Remove the folder, if it is there."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._handle >= 0:
            os.close(self._handle)
        self._handle = -1


def _sweep(parent: Path, prefix: str) -> None:
    """Remove folders of this user that no process has locked."""
    for entry in parent.iterdir():
        if not entry.name.startswith(prefix):
            continue
        with suppress(OSError):  # locked, or removed meanwhile
            status = entry.lstat()
            recent = time.time() - status.st_mtime < _NEW
            if recent or status.st_uid != os.geteuid() or not stat.S_ISDIR(status.st_mode):
                continue
            handle = os.open(entry, os.O_RDONLY | os.O_NOFOLLOW)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(entry, ignore_errors=True)
            finally:
                os.close(handle)
