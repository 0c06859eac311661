"""Sink `parquet`: one folder of typed events per batch.

The files are ``PATH/<stream>/epoch=<e>/batch_seq=<n>/*.parquet`` and ``_SUCCESS``, which contains the batch's
fingerprint. A folder without ``_SUCCESS`` is not a batch. Rows are written to another folder first, which is then
renamed.
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal

from pyarrow import parquet
from typing_extensions import override

from qbcd.config.sink_options import Policy
from qbcd.durable import sync
from qbcd.errors import DeliveryError
from qbcd.model import BatchHeader
from qbcd.model.value_limits import Unsupported, ValueLimits
from qbcd.sinks.base import SinkBatch
from qbcd.sinks.files import UNMARKED, locked, make_folder, remove, sync_tree, write_json
from qbcd.sinks.folder import FileOptions, FolderSink
from qbcd.sinks.stored.file_format import EVENTS_PER_FILE
from qbcd.sinks.stored.parquet_files import MARKER, ParquetFiles, row_groups
from qbcd.spark.parquet_options import ROW_CHECKS
from qbcd.spark.paths import to_write


class ParquetOptions(FileOptions):
    """A folder of Parquet files per batch under `path`.

    Attributes:
        unsupported: Values that no type has: stop before they are committed, write NULL, or write all values of such
            columns as texts.
    """

    type: Literal["parquet"]
    unsupported: Policy = "refuse"


class ParquetSink(FolderSink):
    """A sink that writes one folder of Parquet files per batch.

    Args:
        name: The sink's name.
        path: As for every sink of files.
        unsupported: The policy for values that no type of Parquet has.
        files: Other options of :class:`FolderSink`.
    """

    options_class = ParquetOptions
    typed = has_policy = True
    attempts = "_tmp-*"
    format = ParquetFiles()

    def __init__(self, name: str, path: Path | str, *, unsupported: Unsupported = "refuse", **files: Any) -> None:
        super().__init__(name, path, **files)
        self.limits = ValueLimits(policy=unsupported)

    @override
    def write(self, batch: SinkBatch) -> None:
        """See :meth:`Sink.write`."""
        super().write(batch if self.limits.policy == "refuse" else batch.fitted(self.limits.policy))

    @override
    def target_of(self, header: BatchHeader) -> Path:
        """See :meth:`FolderSink.target_of`."""
        return self.path / header.folder / f"epoch={header.epoch}" / f"batch_seq={header.seq}"

    @override
    def note_of(self, target: Path) -> Path:
        """See :meth:`FolderSink.note_of`."""
        return target / MARKER

    @override
    def new_attempt(self, target: Path) -> Path:
        """See :meth:`FolderSink.new_attempt`."""
        return target.parent.parent / f"_tmp-{uuid.uuid4().hex}"

    @override
    def measure(self, target: Path) -> Mapping[str, Any]:
        """Return the sizes of the files, by name."""
        return {"files": {file.name: file.stat().st_size for file in target.glob("*.parquet")}}

    @override
    def fill(self, batch: SinkBatch, attempt: Path) -> Mapping[str, Any]:
        """Write the rows, in the order of their ordinals within and across the files."""
        if batch.is_local:
            _write_files(batch, attempt)
        else:
            _distinct_names(batch, self.name)
            # qbcd's own marker is written when everything is on the disk.
            batch.ordered(EVENTS_PER_FILE).events.write.options(**UNMARKED, **ROW_CHECKS).parquet(to_write(attempt))
        measured = self.measure(attempt)  # before the count, which therefore includes all of these files
        found = sum(parquet.read_metadata(attempt / name).num_rows for name in measured["files"])
        if found != batch.header.size:
            raise self.incomplete(batch.header, str(attempt), found)
        return measured

    @override
    def publish(self, header: BatchHeader, attempt: Path, note: Mapping[str, Any]) -> None:
        """Rename the attempt, unless another publisher has completed the batch or removed its files.

        Args:
            header: The batch.
            attempt: Folder of the attempt.
            note: The note, with the files that were counted, of which some may have been removed since.
        """
        root, target = self.path / header.folder, self.target_of(header)
        with locked(root, self.lock_timeout):
            if self.is_complete(header, target):
                return
        for checksum in attempt.glob(".*.crc"):
            checksum.unlink(missing_ok=True)
        os.chmod(attempt, 0o700)
        sync_tree(attempt)
        write_json(self.note_of(attempt), note)
        make_folder(target.parent)
        with locked(root, self.lock_timeout):
            if self.is_complete(header, target):
                return
            if not self.is_complete(header, attempt):
                raise DeliveryError(
                    f"sink {self.name}: another publisher has taken over batch {header.number} and "
                    f"removed files of {attempt}",
                    remedy="the batch stays pending",
                    stream=header.stream,
                )
            remove(target)
            os.rename(attempt, target)
            sync(target.parent)


def _write_files(batch: SinkBatch, attempt: Path) -> None:
    """Write the rows in this process, to files of at most :data:`EVENTS_PER_FILE` rows."""
    attempt.mkdir(mode=0o700)
    with batch.arrow() as reader, ExitStack() as opened:
        room = number = 0
        for rows in row_groups(reader):
            while rows.num_rows:
                if not room:
                    opened.close()
                    path, room, number = attempt / f"part-{number:05d}.snappy.parquet", EVENTS_PER_FILE, number + 1
                    writer = opened.enter_context(
                        parquet.ParquetWriter(path, reader.schema, compression="snappy", write_page_checksum=True)
                    )
                fits = rows.slice(0, room)
                writer.write_table(fits)
                rows, room = rows.slice(fits.num_rows), room - fits.num_rows


def _distinct_names(batch: SinkBatch, sink: str) -> None:
    """Refuse names of columns that differ only in case, if a user's session ignores case."""
    names = [name for name, _ in batch.header.columns]
    sensitive = batch.staged.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    if not sensitive and len({name.lower() for name in names}) < len(names):
        raise DeliveryError(
            f"sink {sink}: column names differ only in case, and the Spark session ignores case",
            remedy='spark.conf.set("spark.sql.caseSensitive", "true")',
            stream=batch.header.stream,
        )
