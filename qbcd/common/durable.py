"""Durable files: their data survives a machine crash (docs/design/protocol.md#rule-5)."""

from __future__ import annotations

import errno
import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO


def sync(path: Path) -> None:
    """Flush a file or a folder to the disk."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def replaceable(path: Path) -> Path:
    """Return the file that `path` leads to, which a new file may replace.

    Raises:
        OSError: It is a device or a pipe, such as `/dev/null`, which root would replace by a file.
    """
    path = path.resolve()
    if path.exists() and not path.is_file():
        raise OSError(errno.EINVAL, "not a regular file", str(path))
    return path


def replace_text(path: Path, text: str) -> None:
    """Replace a file durably; a reader sees the old or the new content, never a part.

    Raises:
        OSError: It cannot be written; the old content stays.
    """
    with _attempt(path) as attempt, attempt.open("w", encoding="utf-8") as file:
        _write(file, text)


def rewrite_text(path: Path, text: str) -> None:
    """Replace the text of a file of the user durably.

    Its owner and mode stay, and a link leads to it as before.

    Raises:
        OSError: It cannot be written; the old content stays.
    """
    status = path.stat()
    with _attempt(path) as attempt:
        handle = os.open(attempt, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), _owned(file, status))
            _write(file, text)


@contextmanager
def _attempt(path: Path) -> Iterator[Path]:
    """Yield a new name next to a file; what the block writes there replaces the file."""
    path = replaceable(path)
    attempt = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
    try:
        yield attempt
        os.replace(attempt, path)
    except BaseException:
        attempt.unlink(missing_ok=True)
        raise
    sync(path.parent)


def _owned(file: TextIO, wanted: os.stat_result) -> int:
    """Give a file the owner and group of another one, as far as allowed; return its mode."""
    mode = stat.S_IMODE(wanted.st_mode)
    for owner in (wanted.st_uid, -1):
        try:
            os.fchown(file.fileno(), owner, wanted.st_gid)
        except PermissionError:
            continue
        return mode
    return mode & ~stat.S_IRWXG  # another group


def _write(file: TextIO, text: str) -> None:
    file.write(text)
    file.flush()
    os.fsync(file.fileno())
