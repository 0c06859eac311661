"""Durable files in local folders: unique temporary names, fsync, a lock per folder.

A publisher may be paused at any point while another one takes over. So each attempt writes to its own name. The check
for a complete batch and the rename happen together under the folder's lock: no other publisher can complete a batch
between the two, so a complete batch is never removed.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import tempfile
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Any

from qbcd.common.durable import sync
from qbcd.errors import DeliveryError
from qbcd.spark.jdbc import is_of_files, jdbc_failure, spark_failure

LOCK = ".lock"
LOCK_TIMEOUT = timedelta(seconds=60)
NAP = 0.02  # seconds between two attempts to lock
# Without Spark's marker file of a complete folder, which is not used here and costs two runs of `chmod`.
UNMARKED = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


def make_folder(folder: Path) -> None:
    """Create `folder` and its missing parents, mode 0700, durably."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
        sync(path.parent)


def sync_tree(folder: Path) -> None:
    """Flush everything in `folder`, files before the folders that name them."""
    for parent, _, files in os.walk(folder, topdown=False):
        for name in files:
            sync(Path(parent, name))
        sync(Path(parent))


def write_json(path: Path, data: Any) -> None:
    """Replace the file `path` durably; a reader sees the old or the new content, never a part."""
    attempt = path.with_name(f".{path.name.lstrip('.')}.{uuid.uuid4().hex}.tmp")
    with attempt.open("w", encoding="utf-8") as file:
        json.dump(data, file, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    os.replace(attempt, path)
    sync(path.parent)


def read_json(path: Path) -> dict[str, Any] | None:
    """Return the JSON object in `path`, or None if it is missing or incomplete."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return data if isinstance(data, dict) else None


@contextmanager
def locked(folder: Path, timeout: timedelta = LOCK_TIMEOUT) -> Iterator[None]:
    """Hold the folder's lock; the kernel releases it when a process dies.

    Raises:
        TimeoutError: Another process, perhaps a paused one, has held it for `timeout`.
    """
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        _lock(handle, timeout.total_seconds(), folder / LOCK)
        yield
    finally:
        os.close(handle)


def _lock(handle: int, seconds: float, path: Path) -> None:
    until = time.monotonic() + seconds
    while True:
        with suppress(BlockingIOError):
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return
        if time.monotonic() > until:
            problem = f"another process has held this lock for {seconds:g} s (lock_timeout of the sink)"
            raise TimeoutError(errno.ETIMEDOUT, problem, str(path))
        time.sleep(NAP)


def remove(path: Path) -> None:
    """Remove a file or a whole folder, if it exists; other processes may remove parts of it too."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    with suppress(FileNotFoundError):
        for part in list(path.iterdir()):
            remove(part)
        path.rmdir()


def sweep(leftovers: Iterable[Path]) -> None:
    """Remove the files of dead attempts.

    The Java of a killed process continues for a moment: a folder into which it still writes is left for a later sweep.
    """
    for leftover in leftovers:
        try:
            remove(leftover)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise


def remove_checksums(folder: Path) -> None:
    """Remove the files with checksums that Spark writes next to its files."""
    for checksum in folder.glob(".*.crc"):
        checksum.unlink(missing_ok=True)


REMEDY = "check the path, its owner and the free space"


@contextmanager
def delivery(sink: str, stream: str, folder: Path) -> Iterator[None]:
    """In the block, turn errors of the file system or of Spark into one message of the sink.

    A database's error passes unchanged: rows may come from the source, and its connector explains the error.
    """
    try:
        yield
    except OSError as error:
        raise DeliveryError(
            f"sink {sink}: {error.strerror or error}: {error.filename or folder}",
            remedy=f"{REMEDY}; the batch stays pending",
            stream=stream,
        ) from error
    except Exception as error:
        message = spark_failure(error)
        if message is None or jdbc_failure(error) is not None:
            raise
        remedy = f"{REMEDY}; " if is_of_files(message) else ""
        raise DeliveryError(
            f"sink {sink}: {folder}: {message}", remedy=f"{remedy}the batch stays pending", stream=stream
        ) from error


def compares_without_case(folder: Path) -> bool:
    """Return True if names in `folder` are compared without case.

    If the folder does not exist, its nearest existing parent decides.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    for path in (existing, *existing.parents):
        if path.name != path.name.swapcase():
            swapped = path.with_name(path.name.swapcase())
            return swapped.exists() and swapped.samefile(path)
    return False


def check_folder(sink: str, folder: Path) -> None:
    """Check that files can be written and renamed in `folder` or its nearest existing parent.

    The files of the check are removed.

    Raises:
        DeliveryError: They cannot be written.
    """
    existing = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".qbcd-check-", dir=existing) as probe:
            write_json(Path(probe) / "probe", {})
    except OSError as error:
        problem = f"sink {sink}: folder {existing} cannot be written: {error.strerror or error}"
        raise DeliveryError(problem, remedy=REMEDY) from error
