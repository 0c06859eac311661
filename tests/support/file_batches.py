"""Batches for sinks of files, stores that die at a chosen step, and a consumer that reads what is visible."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO

import duckdb
from pyarrow import fs
from typing_extensions import override

from qbcd.model import BatchHeader
from qbcd.sinks.folder import FolderSink
from qbcd.sinks.stored.file_format import Number
from qbcd.stores.local import LocalStore
from qbcd.stores.remote import RemoteStore
from tests.support.table_batches import EPOCH, DrawnTable, MadeBatch, Row, batch_of

STREAM = "orders"
Seen = list[tuple[int, int, int]]  # epoch, number and ordinal of events, as a consumer reads them


class FileBatch(MadeBatch):
    """A batch that gives its events as lines too, and is small enough for this process."""

    def __init__(self, header: BatchHeader, events: list[Row]) -> None:
        super().__init__(header, events)
        self.is_local = True

    @override
    def json_lines(self) -> Iterator[list[str]]:
        for event in self.made:
            yield [json.dumps(event, default=str, sort_keys=True)]


def batches(count: int, seed: int = 1, first: int = 1, **facts: Any) -> list[FileBatch]:
    """Return a baseline and changes of a drawn table."""
    table = DrawnTable(seed, rows=4)
    made: list[FileBatch] = []
    events = table.baseline()
    while len(made) < count:
        if events:
            whole = batch_of(events, first + len(made), **facts)
            made.append(FileBatch(whole.header, whole.made))
        events = table.change()
    return made


def target_of(sink: FolderSink, header: BatchHeader) -> Path:
    """Return the path of a batch in a local folder."""
    return sink.path / sink.format.name_of(header.folder, Number.of(header))


def expected(made: list[FileBatch]) -> Seen:
    """Return the events of batches, in order."""
    return [(b.header.epoch, b.header.seq, n) for b in made for n in range(b.header.size)]


def _seen(event_id: str) -> tuple[int, int, int]:
    epoch, seq, ordinal = event_id.split(":")[1:]
    return int(epoch), int(seq), int(ordinal)


def read_jsonl(folder: Path) -> Seen:
    """Read all visible files, in the order of their names, as consumers do."""
    found: Seen = []
    for path in sorted(folder.glob(f"{STREAM}/[!.]*.jsonl")):
        text = path.read_text("utf-8")
        assert text.endswith("\n"), f"{path} is cut"
        found += [_seen(json.loads(line)["event_id"]) for line in text.splitlines()]
    return found


def read_parquet(folder: Path) -> Seen:
    """Read all complete folders, in the order of their numbers, files in the order of their names."""
    found: Seen = []
    done = [path.parent for path in folder.glob(f"{STREAM}/epoch=*/batch_seq=*/_SUCCESS")]
    for batch in sorted(done, key=lambda path: [int(n) for n in re.findall(r"=([0-9]+)", str(path))[-2:]]):
        files = sorted(map(str, batch.glob("*.parquet")))
        assert files, f"{batch} has no files"
        for file in files:
            facts = Path(file).stat()
            found += _events_in(file, facts.st_ino, facts.st_mtime_ns)
    return found


@lru_cache
def _events_in(file: str, *version: int) -> Seen:
    """Return the events of a Parquet file, read once in each version."""
    with duckdb.connect() as connection:
        return [
            _seen(event_id)
            for (event_id,) in connection.execute("SELECT event_id FROM read_parquet(?)", [file]).fetchall()
        ]


READERS: dict[str, Callable[[Path], Seen]] = {"jsonl": read_jsonl, "parquet": read_parquet}


class Killed(BaseException):
    """The process died."""


class Life:
    """Counts the steps of a process, dies at one of them, and takes no step after that.

    Attributes:
        steps: Steps taken.
        before_step: Called before each.
    """

    def __init__(self, last: int = -1) -> None:
        self.steps, self._last = 0, last
        self.before_step: Callable[[], None] = lambda: None

    def step(self) -> None:
        if 0 <= self._last <= self.steps:
            raise Killed
        self.before_step()
        self.steps += 1


class MortalFolder(LocalStore):
    """A local store whose process may die before each change."""

    life: Life

    @contextmanager
    @override
    def new_file(self, name: str) -> Iterator[BinaryIO]:
        self.life.step()
        with super().new_file(name) as file:
            yield file

    @override
    def move(self, source: str, target: str) -> None:
        self.life.step()
        super().move(source, target)

    @override
    def delete(self, name: str) -> None:
        self.life.step()
        super().delete(name)

    @override
    def delete_folder(self, folder: str) -> None:
        self.life.step()
        super().delete_folder(folder)

    @override
    def publish_folder(self, attempt: str, target: str, marker: tuple[str, bytes]) -> None:
        self.life.step()
        super().publish_folder(attempt, target, marker)

    @override
    def retire_folder(self, folder: str, marker: str, attempt: str) -> None:
        self.life.step()
        super().retire_folder(folder, marker, attempt)


class Bucket:
    """An object store in a local folder: no folders to create, no rename of folders, each object whole.

    The process that uses it may die before each request that changes something.
    """

    type_name = "s3"
    _CHANGES = ("move", "delete_file", "delete_dir", "open_output_stream")

    def __init__(self, folder: Path, life: Life) -> None:
        folder.mkdir(exist_ok=True)
        self._fs, self._life = fs.SubTreeFileSystem(str(folder), fs.LocalFileSystem()), life

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._fs, name)
        if name not in self._CHANGES:
            return found

        def change(path: str, *rest: str) -> Any:
            self._life.step()
            for one in (path, *rest):
                self._fs.create_dir(one.rpartition("/")[0], recursive=True)
            return found(path, *rest)

        return change


def bucket_store(folder: Path, life: Life) -> RemoteStore:
    """Return a store in a bucket that is `folder`."""
    filesystem: Any = Bucket(folder, life)
    return RemoteStore("s3://lake", {}, filesystem)


__all__ = [
    "EPOCH",
    "READERS",
    "STREAM",
    "Bucket",
    "FileBatch",
    "Killed",
    "Life",
    "MortalFolder",
    "Seen",
    "batches",
    "bucket_store",
    "expected",
]
