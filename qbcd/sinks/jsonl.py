"""Sink `jsonl`: a file of JSON lines for each batch, in the order in which its events are to be read.

``PATH/<stream>/<epoch>-<batch_seq, 12 digits>.jsonl``, with the batch's fingerprint and size beside it in a hidden
file. A name without a leading dot is a complete batch.
"""

from __future__ import annotations

import hashlib
import os
import uuid
from pathlib import Path

from qbcd import hooks
from qbcd.model import BatchHeader
from qbcd.sinks.base import Sink, SinkBatch
from qbcd.sinks.files import check_folder, delivery, locked, make_folder, read_json, remove, sync, write_json


class JsonlSink(Sink):
    """Writes JSON lines under `path`, a local or shared folder."""

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(name)
        self.path = path

    def check(self) -> None:
        """See :meth:`Sink.check`."""
        check_folder(self.name, self.path)

    def file_of(self, header: BatchHeader) -> Path:
        """Where the batch's lines stand."""
        return self.path / header.stream / f"{header.epoch}-{header.seq:012d}.jsonl"

    def write(self, batch: SinkBatch) -> None:
        """See :meth:`Sink.write`."""
        header = batch.header
        target = self.file_of(header)
        with delivery(self.name, header.stream):
            make_folder(target.parent)
            with locked(target.parent):
                if self._complete(header, target):
                    return
                _sweep(target.parent)
            attempt = target.with_name(f".{target.name}.{uuid.uuid4().hex}.tmp")
            try:
                size, digest = _write_lines(batch, attempt)
                hooks.reach("mid_publish")
                self._finish(header, attempt, target, size, digest)
            finally:
                attempt.unlink(missing_ok=True)

    def _finish(self, header: BatchHeader, attempt: Path, target: Path, size: int, digest: str) -> None:
        """Gives the attempt its name, unless another publisher completed the batch meanwhile."""
        with locked(target.parent):
            if self._complete(header, target):
                return
            # What stands there without a fitting sidecar is torn; it goes before the sidecar would vouch for it.
            remove(target)
            note = {"fingerprint": header.fingerprint, "events": header.size, "bytes": size, "sha256": digest}
            write_json(_sidecar(target), note)
            os.rename(attempt, target)
            sync(target.parent)

    def _complete(self, header: BatchHeader, target: Path) -> bool:
        """Whether `target` holds this batch in full; another batch's complete file is an error."""
        note = read_json(_sidecar(target))
        if note is None or not target.is_file():
            return False
        if note.get("fingerprint") != header.fingerprint:
            raise self.conflict(header, str(target), str(note.get("fingerprint")))
        return target.stat().st_size == note.get("bytes")


def _write_lines(batch: SinkBatch, attempt: Path) -> tuple[int, str]:
    """Writes the lines in order, one partition in memory at a time; returns size and SHA-256."""
    size, digest = 0, hashlib.sha256()
    handle = os.open(attempt, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(handle, "wb", buffering=1 << 20) as file:
        for row in batch.lines.orderBy("ordinal").select("line").toLocalIterator():
            data = row[0].encode("utf-8") + b"\n"
            file.write(data)
            digest.update(data)
            size += len(data)
        file.flush()
        os.fsync(file.fileno())
    return size, digest.hexdigest()


def _sidecar(target: Path) -> Path:
    return target.with_name(f".{target.name}.fingerprint")


def _sweep(folder: Path) -> None:
    """Removes what dead attempts left; of two live ones the later goes on, and the other one's delivery fails."""
    for leftover in folder.glob(".*.tmp"):
        leftover.unlink(missing_ok=True)
