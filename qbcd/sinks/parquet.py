"""Sink `parquet`: a folder of typed events for each batch.

``PATH/<stream>/epoch=<e>/batch_seq=<n>/*.parquet`` with ``_SUCCESS``, which holds the batch's fingerprint. A folder
without it is no batch. The rows are written beside it first and get their name in one rename.
"""

from __future__ import annotations

import os
import uuid
from pathlib import Path

from qbcd import hooks
from qbcd.errors import DeliveryError
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
    sync_tree,
    write_json,
)
from qbcd.spark.paths import to_read, to_write

MARKER = "_SUCCESS"
EVENTS_PER_FILE = 250_000


class ParquetSink(Sink):
    """Writes Parquet under `path`, a local or shared folder that driver and executors see alike."""

    typed = True

    def __init__(self, name: str, path: Path) -> None:
        super().__init__(name)
        self.path = path

    def check(self) -> None:
        """See :meth:`Sink.check`."""
        check_folder(self.name, self.path)

    def check_stream(self, stream: str) -> None:
        """See :meth:`Sink.check_stream`."""
        check_folder(self.name, self.path / stream)

    def folder_of(self, header: BatchHeader) -> Path:
        """Where the batch's files stand."""
        return self.path / header.stream / f"epoch={header.epoch}" / f"batch_seq={header.seq}"

    def write(self, batch: SinkBatch) -> None:
        """See :meth:`Sink.write`."""
        header = batch.header
        root, target = self.path / header.stream, self.folder_of(header)
        with delivery(self.name, header.stream, root):
            make_folder(root)
            with locked(root):
                if self._complete(header, target):
                    return
                # Of two live attempts the later goes on, and the other one's delivery fails.
                sweep(root.glob("_tmp-*"))
            attempt = root / f"_tmp-{uuid.uuid4().hex}"
            try:
                files = self._write_rows(batch, attempt)
                hooks.reach("mid_publish")
                self._finish(header, root, attempt, target, files)
            finally:
                remove(attempt)

    def _write_rows(self, batch: SinkBatch, attempt: Path) -> dict[str, int]:
        """The rows, in the order of their ordinals within and across the files; the files' sizes, by name."""
        _distinct_names(batch, self.name)
        # Our own marker comes when everything is on the disk.
        batch.ordered(EVENTS_PER_FILE).events.write.options(**UNMARKED).parquet(to_write(attempt))
        files = _sizes(attempt)  # before the count, which thereby speaks of all of them
        found = batch.staged.sparkSession.read.parquet(to_read(attempt)).count() if files else 0
        if found != batch.header.size:
            raise self.incomplete(batch.header, str(attempt), found)
        return files

    def _finish(self, header: BatchHeader, root: Path, attempt: Path, target: Path, files: dict[str, int]) -> None:
        """Gives the attempt its name, unless another publisher completed the batch meanwhile, or has swept some of it.

        Args:
            files: The files that were counted. The marker names these, not what is left of them by now.
        """
        with locked(root):
            if self._complete(header, target):
                return
        for checksum in attempt.glob(".*.crc"):
            checksum.unlink(missing_ok=True)
        os.chmod(attempt, 0o700)
        sync_tree(attempt)
        note = {"fingerprint": header.fingerprint, "events": header.size, "files": files}
        write_json(attempt / MARKER, note)
        make_folder(target.parent)
        with locked(root):
            if self._complete(header, target):
                return
            if not self._complete(header, attempt):
                raise DeliveryError(
                    f"sink {self.name}: another publisher has taken batch {header.epoch}/{header.seq} over, and "
                    f"removed files of {attempt}",
                    remedy="the batch stays pending",
                    stream=header.stream,
                )
            remove(target)
            os.rename(attempt, target)
            sync(target.parent)

    def _complete(self, header: BatchHeader, target: Path) -> bool:
        """Whether `target` holds this batch in full; another batch's complete folder is an error."""
        note = read_json(target / MARKER)
        if note is None:
            return False
        if note.get("fingerprint") != header.fingerprint:
            raise self.conflict(header, str(target), str(note.get("fingerprint")))
        return _sizes(target) == note.get("files")


def _sizes(folder: Path) -> dict[str, int]:
    return {file.name: file.stat().st_size for file in folder.glob("*.parquet")}


def _distinct_names(batch: SinkBatch, sink: str) -> None:
    """Columns that differ only in case need a session that tells them apart; ours does, one handed in may not."""
    names = [name for name, _ in batch.header.columns]
    sensitive = batch.staged.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    if not sensitive and len({name.lower() for name in names}) < len(names):
        raise DeliveryError(
            f"sink {sink}: column names differ only in case, and the Spark session does not tell them apart",
            remedy='spark.conf.set("spark.sql.caseSensitive", "true")',
            stream=batch.header.stream,
        )
