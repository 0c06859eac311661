"""Folders of Parquet files, one per batch, each with the note ``_SUCCESS``.

The files are ``<stream>/epoch=<epoch>/batch_seq=<n>/*.parquet``. A folder without ``_SUCCESS`` is not a batch.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet
from typing_extensions import override

from qbcd.errors import DeliveryError
from qbcd.sinks.base import SinkBatch
from qbcd.sinks.stored.file_format import EVENTS_PER_FILE, Number, SinkFileFormat, Target, Written
from qbcd.spark.parquet_options import ROW_CHECKS
from qbcd.spark.paths import to_write
from qbcd.stores.base import Store, StoredFile, as_json
from qbcd.stores.folders import UNMARKED, remove_checksums, sync_tree

MARKER = "_SUCCESS"
ROW_GROUP = 32 << 20  # bytes
_NAME = re.compile(r"epoch=([0-9]+)/batch_seq=([0-9]+)/([^/]+)")


class ParquetFiles(SinkFileFormat):
    """See the module."""

    @override
    def name_of(self, stream: str, number: Number) -> str:
        return f"{stream}/epoch={number.epoch}/batch_seq={number.seq}"

    @override
    def note_of(self, target: str) -> str:
        return f"{target}/{MARKER}"

    @override
    def fill(self, batch: SinkBatch, store: Store, attempt: str) -> Written:
        with batch.arrow() as reader, _Parts(store, attempt) as parts:
            for rows in row_groups(reader):
                parts.write(rows)
            parts.end(reader.schema)
        return parts.written

    @override
    def fill_by_spark(self, batch: SinkBatch, folder: Path, sink: str) -> Written:
        _refuse_equal_names(batch, sink)
        # qbcd's own marker is written when everything is on the disk.
        batch.ordered(EVENTS_PER_FILE).events.write.options(**UNMARKED, **ROW_CHECKS).parquet(to_write(folder))
        sizes = {file.name: file.stat().st_size for file in folder.glob("*.parquet")}
        count = sum(parquet.read_metadata(folder / name).num_rows for name in sizes)  # of exactly these files
        remove_checksums(folder)
        os.chmod(folder, 0o700)
        sync_tree(folder)
        return Written(count, {"files": sizes})

    @override
    def merge(self, store: Store, held: Sequence[str], attempt: str) -> Written:
        with _Parts(store, attempt) as parts:
            waiting: list[pa.Table] = []
            schema = pa.schema([])
            for name in held:
                with store.open_file(name) as file, parquet.ParquetFile(file) as read:
                    schema = read.schema_arrow
                    for group in range(read.num_row_groups):
                        rows = read.read_row_group(group)
                        if waiting and waiting[0].schema != rows.schema:
                            parts.write(pa.concat_tables(waiting))
                            waiting = []
                        waiting.append(rows)
                        if sum(table.nbytes for table in waiting) >= ROW_GROUP:
                            parts.write(pa.concat_tables(waiting))
                            waiting = []
            if waiting:
                parts.write(pa.concat_tables(waiting))
            parts.end(schema)
        return parts.written

    @override
    def measure(self, files: Sequence[StoredFile]) -> Mapping[str, Any]:
        return {"files": {file.name.rpartition("/")[2]: file.size for file in files}}

    @override
    def publish(self, store: Store, attempt: str, target: str, note: Mapping[str, Any]) -> None:
        store.publish_folder(attempt, target, (MARKER, as_json(note)))

    @override
    def files_of(self, store: Store, target: str) -> list[StoredFile]:
        return [file for file in store.files_in(target) if file.name.endswith(".parquet")]

    @override
    def targets(self, store: Store, stream: str) -> list[Target]:
        found: dict[Number, list[StoredFile]] = {}
        for file in store.files_in(stream, deep=True):
            if match := _NAME.fullmatch(file.name.removeprefix(f"{stream}/")):
                found.setdefault(Number(int(match[1]), int(match[2])), []).append(file)
        return [Target(number, tuple(found[number])) for number in sorted(found)]

    @override
    def remove(self, store: Store, target: str, attempt: str) -> None:
        store.retire_folder(target, MARKER, attempt)


class _Parts(ExitStack):
    """Parquet files of an attempt, each with at most :data:`EVENTS_PER_FILE` rows of one schema."""

    def __init__(self, store: Store, attempt: str) -> None:
        super().__init__()
        self._store, self._attempt = store, attempt
        self._schema: pa.Schema | None = None
        self._writer: Any = None
        self._number = self._room = self._count = 0
        self._sizes: dict[str, int] = {}

    @property
    def written(self) -> Written:
        """The content, after the block."""
        return Written(self._count, {"files": self._sizes})

    def write(self, rows: pa.Table) -> None:
        """Append rows."""
        self._count += rows.num_rows
        while rows.num_rows:
            if not self._room or rows.schema != self._schema:
                self._begin(rows.schema)
            fits = rows.slice(0, self._room)
            self._writer.write_table(fits)
            rows, self._room = rows.slice(fits.num_rows), self._room - fits.num_rows

    def end(self, schema: pa.Schema) -> None:
        """Write a file without rows if there were none: a target without a file is incomplete."""
        if self._schema is None:
            self._begin(schema)

    def _begin(self, schema: pa.Schema) -> None:
        self.close()
        name = f"part-{self._number:05d}.snappy.parquet"
        file = self.enter_context(self._store.new_file(f"{self._attempt}/{name}"))
        self.callback(lambda: self._sizes.update({name: file.tell()}))  # between the end of the writer and of the file
        self._writer = self.enter_context(
            parquet.ParquetWriter(file, schema, compression="snappy", write_page_checksum=True)
        )
        self._schema, self._room, self._number = schema, EVENTS_PER_FILE, self._number + 1


def row_groups(reader: pa.RecordBatchReader, size: int = ROW_GROUP) -> Iterator[pa.Table]:
    """Yield the rows in pieces of about `size` bytes.

    A row group is in memory as a whole.
    """
    waiting: list[pa.RecordBatch] = []
    for piece in reader:
        waiting.append(piece)
        if sum(one.nbytes for one in waiting) >= size:
            yield pa.Table.from_batches(waiting)
            waiting = []
    if waiting:
        yield pa.Table.from_batches(waiting)


def _refuse_equal_names(batch: SinkBatch, sink: str) -> None:
    """Refuse names of columns that differ only in case, if a user's session ignores case."""
    names = [name for name, _ in batch.header.columns]
    sensitive = batch.staged.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    if not sensitive and len({name.lower() for name in names}) < len(names):
        raise DeliveryError(
            f"sink {sink}: column names differ only in case, and the Spark session ignores case",
            remedy='spark.conf.set("spark.sql.caseSensitive", "true")',
            stream=batch.header.stream,
        )
