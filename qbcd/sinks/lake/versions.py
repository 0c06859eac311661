"""The versions that a batch ends and begins in a history (SCD 2).

DuckDB compares the batch with the current versions of its keys, in little memory; it spills into a temporary folder.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa

from qbcd.local.arrow import pieces_of
from qbcd.local.database import LocalDatabase
from qbcd.sinks.lake.tables import LakeChange
from qbcd.sinks.table.layout import STAGE_ONLY_REMOVE, STAGE_OP
from qbcd.sql.render import quoted

MEMORY = 256 << 20
PIECE = 16_384  # rows
CLOSED = "d"  # in `STAGE_OP`, of versions that end


class Versions:
    """The changes of a history by a batch.

    Args:
        database: Has the table `s` with the rows of the batch, and `c` with the current versions.
    """

    def __init__(self, database: LocalDatabase, change: LakeChange, existing: pa.Schema) -> None:
        self._database, self._change, self._existing = database, change, existing
        self._moment = datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(milliseconds=change.record.boundary)

    def closed(self, only: Sequence[str] = ()) -> Iterator[pa.RecordBatch]:
        """Yield the versions that end, with their end; all columns of the table, or `only` some."""
        names = self._change.options.history
        schema = pa.schema([one for one in self._existing if not only or one.name in only])
        values = {name: f"c.{quoted(name)}" for name in schema.names}
        op = f"s.{quoted(STAGE_OP)}"
        values |= {names.valid_to: "?", names.is_deleted: f"{op} IS NULL OR {op} = 'd'"}
        return self._pieces(f"SELECT {_listed(values)} {self._ended}", schema)

    def unchanged(self, rows: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
        """Yield those of all rows of the table that do not end, with its columns."""
        key, end = self._change.layout.key, f"c.{quoted(self._change.options.history.valid_to)}"
        ended = ", ".join(f"c.{quoted(name)}" for name in key) or "true"
        self._database.connection.execute(f"CREATE TABLE ended AS SELECT {ended} {self._ended}")
        return _where(self._database, rows, f"{end} IS NOT NULL OR NOT EXISTS (FROM ended AS s WHERE {_same(key)})")

    def opened(self) -> Iterator[pa.RecordBatch]:
        """Yield the versions that begin, with the columns of the stream."""
        names, change = self._change.options.history, self._change
        values = {name: f"s.{quoted(name)}" for name in (*change.layout.key, *change.layout.values)}
        values |= {names.valid_from: "?", names.valid_to: "NULL::TIMESTAMPTZ", names.is_deleted: "false"}
        values |= {names.batch_seq: str(int(change.record.seq))}
        begins = f"NOT {self._removes} AND (c.{quoted(names.valid_from)} IS NULL OR {self._differs})"
        sql = f"SELECT {_listed({name: values[name] for name in change.columns.names})} "
        sql += f"FROM s LEFT JOIN c ON {_same(change.layout.key)} WHERE {begins}"
        return self._pieces(sql, change.columns)

    @property
    def _ended(self) -> str:
        """SQL for the versions that end."""
        ends = f"s.{quoted(STAGE_OP)} IS NULL OR {self._removes} OR {self._differs}"
        return f"FROM c LEFT JOIN s ON {_same(self._change.layout.key)} WHERE {ends}"

    @property
    def _removes(self) -> str:
        return f"s.{quoted(STAGE_OP)} IN ('d', '{STAGE_ONLY_REMOVE}')"

    @property
    def _differs(self) -> str:
        """SQL for another value; a column that the table does not have yet is NULL."""
        both = ((quoted(name), name in self._existing.names) for name in self._change.layout.values)
        found = [f"s.{name} IS DISTINCT FROM {f'c.{name}' if there else 'NULL'}" for name, there in both]
        return f"({' OR '.join(found) or 'false'})"

    def _pieces(self, sql: str, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        return _cast(pieces_of(self._database, sql, PIECE, [self._moment]), schema)


@contextmanager
def without_keys(
    rows: pa.RecordBatchReader, removed: pa.RecordBatchReader, key: Sequence[str]
) -> Iterator[Iterator[pa.RecordBatch]]:
    """The rows whose key is not among `removed`, for the block."""
    with _database() as database:
        _store(database, "s", removed)
        yield _where(database, rows, f"NOT EXISTS (FROM s WHERE {_same(key)})")


@contextmanager
def with_columns_of_others(
    change: LakeChange, rows: pa.RecordBatchReader, known: pa.RecordBatchReader
) -> Iterator[Iterator[pa.RecordBatch]]:
    """The rows with all columns of the table, for the block.

    Args:
        rows: Rows of a mirror, with the columns of the stream.
        known: Key and columns of others of the rows that the table has.
    """
    key, schema = change.layout.key, change.schema
    with _database() as database:
        _store(database, "s", rows)
        _store(database, "c", known, f" WHERE EXISTS (FROM s WHERE {_same(key)})")
        values = {name: f"{'c' if name in change.others else 's'}.{quoted(name)}" for name in schema.names}
        sql = f"SELECT {_listed(values)} FROM s LEFT JOIN c ON {_same(key)}"
        yield _cast(pieces_of(database, sql, PIECE), schema)


@contextmanager
def _database() -> Iterator[LocalDatabase]:
    with tempfile.TemporaryDirectory(prefix="qbcd-") as folder:
        database = LocalDatabase(MEMORY, Path(folder))
        try:
            yield database
        finally:
            database.close()


@contextmanager
def new_versions(change: LakeChange, current: pa.RecordBatchReader, existing: pa.Schema) -> Iterator[Versions]:
    """The changes of a history by a batch, for the block.

    Args:
        current: The versions without an end, in the version of the table on which the commit is based.
        existing: The columns of the table.
    """
    with _database() as database:
        _store(database, "s", pa.RecordBatchReader.from_batches(change.staged, change.rows()))
        of_batch = "" if change.replace else f" WHERE EXISTS (FROM s WHERE {_same(change.layout.key)})"
        _store(database, "c", current, of_batch)
        yield Versions(database, change, existing)


def _store(database: LocalDatabase, name: str, rows: pa.RecordBatchReader, where: str = "") -> None:
    database.connection.register("incoming", rows)
    database.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM incoming AS c{where}")
    database.connection.unregister("incoming")


def _where(database: LocalDatabase, rows: pa.RecordBatchReader, condition: str) -> Iterator[pa.RecordBatch]:
    """Yield the rows `c` that meet a condition."""
    database.connection.register("incoming", rows)
    relation: Any = database.connection.sql(f"SELECT * FROM incoming AS c WHERE {condition}")  # cursors do not see it
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    return _cast(read(PIECE), rows.schema)


def _cast(rows: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for piece in rows:
        arrays = [one.cast(field.type) for one, field in zip(piece.columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _same(key: Sequence[str]) -> str:
    return " AND ".join(f"c.{quoted(name)} = s.{quoted(name)}" for name in key) or "true"


def _listed(values: dict[str, Any]) -> str:
    return ", ".join(f"{sql} AS {quoted(name)}" for name, sql in values.items())
