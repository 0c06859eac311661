"""Sink `jsonl`: one file of JSON lines per batch, events in the order of their ordinals.

The file is ``PATH/<stream>/<epoch>-<batch_seq, 12 digits>.jsonl``. A hidden file next to it has the batch's fingerprint
and size. A file whose name has no leading dot is a complete batch.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, Literal

from typing_extensions import override

from qbcd.durable import sync
from qbcd.model import BatchHeader
from qbcd.sinks.base import SinkBatch
from qbcd.sinks.files import UNMARKED, locked, remove, write_json
from qbcd.sinks.folder import FileOptions, FolderSink
from qbcd.sinks.stored.json_files import LINES, JsonFiles
from qbcd.spark.paths import to_write

EVENTS_PER_PART = 100_000


class JsonlOptions(FileOptions):
    """A file of JSON lines per batch under `path`."""

    type: Literal["jsonl"]


class JsonlSink(FolderSink):
    """A sink that writes one file of JSON lines per batch."""

    options_class = JsonlOptions
    attempts = ".*.tmp"
    format = JsonFiles()

    @override
    def target_of(self, header: BatchHeader) -> Path:
        """See :meth:`FolderSink.target_of`."""
        return self.path / header.folder / f"{header.epoch}-{header.seq:012d}.jsonl"

    @override
    def note_of(self, target: Path) -> Path:
        """See :meth:`FolderSink.note_of`."""
        return target.with_name(f".{target.name}.fingerprint")

    @override
    def new_attempt(self, target: Path) -> Path:
        """See :meth:`FolderSink.new_attempt`."""
        return target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")

    @override
    def measure(self, target: Path) -> Mapping[str, Any]:
        """See :meth:`FolderSink.measure`."""
        return {"bytes": target.stat().st_size if target.is_file() else -1}

    @override
    def fill(self, batch: SinkBatch, attempt: Path) -> Mapping[str, Any]:
        """Write the lines into the folder `attempt`."""
        whole = attempt / LINES
        count = _write_pieces(batch, whole) if batch.is_local else _write_parts(batch, attempt)
        if count != batch.header.size:
            raise self.incomplete(batch.header, str(attempt), count)
        return self.measure(whole)

    @override
    def publish(self, header: BatchHeader, attempt: Path, note: Mapping[str, Any]) -> None:
        """See :meth:`FolderSink.publish`."""
        target = self.target_of(header)
        with locked(target.parent, self.lock_timeout):
            if self.is_complete(header, target):
                return
            # A file without a matching note is incomplete. Remove it first: with the new note it would seem complete.
            remove(target)
            write_json(self.note_of(target), note)
            os.rename(attempt / LINES, target)
            sync(target.parent)


def _write_pieces(batch: SinkBatch, whole: Path) -> int:
    """Write the lines to the file `whole`, in this process; return their number."""
    whole.parent.mkdir(mode=0o700)
    count = 0
    with _new_file(whole) as file:
        for lines in batch.json_lines():
            file.write("\n".join([*lines, ""]).encode())
            count += len(lines)
    return count


def _write_parts(batch: SinkBatch, attempt: Path) -> int:
    """Let Spark write parts into the folder `attempt`, and concatenate them in order; return the number of lines."""
    ordered = batch.ordered(EVENTS_PER_PART).lines.select("line")
    ordered.write.options(**UNMARKED).text(to_write(attempt), lineSep="\n")
    os.chmod(attempt, 0o700)
    count = 0
    with _new_file(attempt / LINES) as file:
        for part in sorted(attempt.glob("part-*")):
            with part.open("rb") as lines:
                while data := lines.read(1 << 20):
                    count += data.count(b"\n")
                    file.write(data)
            part.unlink()
    return count


@contextmanager
def _new_file(path: Path) -> Iterator[BinaryIO]:
    """A new file, durable after the block, readable by the owner alone."""
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        yield file
        file.flush()
        os.fsync(file.fileno())
