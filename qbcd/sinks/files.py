"""Durable files for the sinks that write folders: unique temporary names, fsync, one short critical section a stream.

A publisher may be paused at any point while another takes over. So rows go to a name of the attempt's own, and only
the look at what is there together with the rename holds the folder's lock: nobody else can complete a batch between
the two, hence nobody removes a complete one.
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import tempfile
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from qbcd.durable import sync
from qbcd.errors import DeliveryError
from qbcd.spark.jdbc import is_of_files, jdbc_failure, spark_failure

LOCK = ".lock"
# Of a write by Spark: without its mark of a complete folder, which tells nothing here and takes two runs of `chmod`.
UNMARKED = {"mapreduce.fileoutputcommitter.marksuccessfuljobs": "false"}


def make_folder(folder: Path) -> None:
    """Creates `folder` and its missing parents, mode 0700, durably."""
    missing = [path for path in (folder, *folder.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(mode=0o700, exist_ok=True)
        sync(path.parent)


def sync_tree(folder: Path) -> None:
    """Flushes everything in `folder`, files before the folders that name them."""
    for parent, _, files in os.walk(folder, topdown=False):
        for name in files:
            sync(Path(parent, name))
        sync(Path(parent))


def write_json(path: Path, data: Any) -> None:
    """Replaces the file `path` durably; a reader sees the old or the new content, never a part."""
    attempt = path.with_name(f".{path.name.lstrip('.')}.{uuid.uuid4().hex}.tmp")
    with attempt.open("w", encoding="utf-8") as file:
        json.dump(data, file, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    os.replace(attempt, path)
    sync(path.parent)


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object in `path`, or None where there is none or it is torn."""
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    return data if isinstance(data, dict) else None


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the folder's lock; the kernel takes it from a process that dies."""
    handle = os.open(folder / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def remove(path: Path) -> None:
    """Removes a file or a whole folder, if it is there; goes on where somebody else removes parts of it meanwhile."""
    if not path.is_dir() or path.is_symlink():
        path.unlink(missing_ok=True)
        return
    with suppress(FileNotFoundError):
        for part in list(path.iterdir()):
            remove(part)
        path.rmdir()


def sweep(leftovers: Iterable[Path]) -> None:
    """Removes what dead attempts left.

    Where a process was killed, its Java goes on for a moment: what that still writes to is for a later sweep.
    """
    for leftover in leftovers:
        try:
            remove(leftover)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise


REMEDY = "check the path, its owner and the free space"


@contextmanager
def delivery(sink: str, stream: str, folder: Path) -> Iterator[None]:
    """Turns an error of the file system or of Spark, while files are made in `folder`, into the sink's one message.

    A database's error passes as it is: the rows may come from the source, and its connector knows what to say.
    """
    try:
        yield
    except OSError as error:
        raise DeliveryError(
            f"sink {sink}: {error.strerror or error}: {error.filename or ''}".rstrip(": "),
            remedy=f"{REMEDY}; the batch stays pending",
            stream=stream,
        ) from error
    except Exception as error:
        said = spark_failure(error)
        if said is None or jdbc_failure(error) is not None:
            raise
        remedy = f"{REMEDY}; " if is_of_files(said) else ""
        raise DeliveryError(
            f"sink {sink}: {folder}: {said}", remedy=f"{remedy}the batch stays pending", stream=stream
        ) from error


def check_folder(sink: str, folder: Path) -> None:
    """Proves that files can be made and renamed in `folder`, or in its nearest existing parent; leaves nothing behind.

    Raises:
        DeliveryError: They cannot.
    """
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryDirectory(prefix=".qbcd-check-", dir=there) as probe:
            write_json(Path(probe) / "probe", {})
    except OSError as error:
        told = f"sink {sink}: folder {there} cannot be written: {error.strerror or error}"
        raise DeliveryError(told, remedy=REMEDY) from error
