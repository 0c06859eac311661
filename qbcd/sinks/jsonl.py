"""Sink `jsonl`: a file of JSON lines for each batch, in the order in which its events are to be read.

``PATH/<stream>/<epoch>-<batch_seq, 12 digits>.jsonl``, with the batch's fingerprint and size beside it in a hidden
file. A name without a leading dot is a complete batch.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from qbcd import hooks
from qbcd.model import BatchHeader
from qbcd.sinks.base import Sink, SinkBatch
from qbcd.sinks.files import (
    UNMARKED,
    check_folder,
    delivery,
    locked,
    make_folder,
    read_json,
    remove,
    sweep,
    sync,
    write_json,
)
from qbcd.spark.paths import to_write

EVENTS_PER_PART = 100_000


class JsonlSink(Sink):
    """Writes JSON lines under `path`, a local or shared folder that driver and executors see alike."""

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(name)
        self.path = path

    def check(self) -> None:
        """See :meth:`Sink.check`."""
        check_folder(self.name, self.path)

    def check_stream(self, stream: str) -> None:
        """See :meth:`Sink.check_stream`."""
        check_folder(self.name, self.path / stream)

    def file_of(self, header: BatchHeader) -> Path:
        """Where the batch's lines stand."""
        return self.path / header.stream / f"{header.epoch}-{header.seq:012d}.jsonl"

    def write(self, batch: SinkBatch) -> None:
        """See :meth:`Sink.write`."""
        header = batch.header
        target = self.file_of(header)
        with delivery(self.name, header.stream, target.parent):
            make_folder(target.parent)
            with locked(target.parent):
                if self._complete(header, target):
                    return
                # of two live attempts the later goes on, and the other one's delivery fails
                sweep(target.parent.glob(".*.tmp"))
            attempt = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
            try:
                lines = self._write_lines(batch, attempt)
                hooks.reach("mid_publish")
                self._finish(header, lines, target)
            finally:
                remove(attempt)

    def _write_lines(self, batch: SinkBatch, attempt: Path) -> Path:
        """Writes the lines into the folder `attempt`: Spark in parts, never a part in memory, joined here in order."""
        ordered = batch.ordered(EVENTS_PER_PART).lines.select("line")
        ordered.write.options(**UNMARKED).text(to_write(attempt), lineSep="\n")
        os.chmod(attempt, 0o700)
        whole, count = attempt / "lines", 0
        with os.fdopen(os.open(whole, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            for part in sorted(attempt.glob("part-*")):
                with part.open("rb") as lines:
                    while data := lines.read(1 << 20):
                        count += data.count(b"\n")
                        file.write(data)
                part.unlink()
            file.flush()
            os.fsync(file.fileno())
        if count != batch.header.size:
            raise self.incomplete(batch.header, str(attempt), count)
        return whole

    def _finish(self, header: BatchHeader, lines: Path, target: Path) -> None:
        """Gives the attempt its name, unless another publisher completed the batch meanwhile."""
        with locked(target.parent):
            if self._complete(header, target):
                return
            # What stands there without a fitting sidecar is torn; it goes before the sidecar would vouch for it.
            remove(target)
            note = {"fingerprint": header.fingerprint, "events": header.size, "bytes": lines.stat().st_size}
            write_json(_sidecar(target), note)
            os.rename(lines, target)
            sync(target.parent)

    def _complete(self, header: BatchHeader, target: Path) -> bool:
        """Whether `target` holds this batch in full; another batch's complete file is an error."""
        note = read_json(_sidecar(target))
        if note is None or not target.is_file():
            return False
        if note.get("fingerprint") != header.fingerprint:
            raise self.conflict(header, str(target), str(note.get("fingerprint")))
        return target.stat().st_size == note.get("bytes")


def _sidecar(target: Path) -> Path:
    return target.with_name(f".{target.name}.fingerprint")
