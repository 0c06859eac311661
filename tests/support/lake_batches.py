"""Drawn batches for sinks in a lake format, whose names may have no space, and the rows that their tables must have."""

from __future__ import annotations

import json
import shutil
import struct
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from typing_extensions import override

from qbcd.common import hooks
from qbcd.errors import DeliveryError, SinkConflict
from qbcd.local.arrow import arrow_type
from qbcd.model import Travel
from qbcd.sinks.lake.lake_sink import LakeSink
from tests.support.table_batches import FORMS, KEY, DrawnTable, MadeBatch, Row, State, pieces

SPACED, PLAIN, ESCAPED = "Note %s", "Note%s", "Note_x25s"  # the last one in files of Iceberg
COLUMNS: tuple[tuple[str, Travel], ...] = tuple((PLAIN if name == SPACED else name, form) for name, form in FORMS)


def _plain(row: Row | None) -> Row | None:
    """Return a row without spaces in names, and with the value that a 32-bit float has."""
    if row is None:
        return None
    ratio = row["ratio"]
    exact = None if ratio is None else struct.unpack("f", struct.pack("f", ratio))[0]
    return {PLAIN if name == SPACED else name: value for name, value in {**row, "ratio": exact}.items()}


def lake_batches(seed: int, count: int, **facts: Any) -> Iterator[tuple[MadeBatch, State]]:
    """Yield batches of a drawn table, each with the rows after it."""
    for batch, state in pieces(DrawnTable(seed), count, **facts):
        events = [
            {**one, "before": _plain(one["before"]), "after": _plain(one["after"])}
            | {"changed": one["changed"] and [PLAIN if name == SPACED else name for name in one["changed"]]}
            for one in batch.made
        ]
        rows = {key: _plain(row) or {} for key, row in state.items()}
        yield MadeBatch(replace(batch.header, columns=COLUMNS), events), rows


def keyed(rows: list[Mapping[str, Any]]) -> State:
    """Return rows as a reader has them, by key, with the captured columns only."""
    found = {tuple(row[name] for name in KEY): {name: row[name] for name, _ in COLUMNS} for row in rows}
    assert len(found) == len(rows)
    return found


class Lake:
    """A place of tables in a lake format, read without qbcd."""

    kind = "delta"

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._entries: dict[Path, list[Any]] = {}

    def sink(self, **options: Any) -> LakeSink:
        from qbcd.sinks.lake.delta import DeltaSink

        return DeltaSink("copy", self.folder, **options)

    def _table(self, name: str) -> Any:
        from deltalake import DeltaTable

        return DeltaTable(self.folder / name)

    def rows(self, name: str = "public_orders") -> list[Any]:
        """Return the rows as a reader finds them."""
        rows: list[Any] = self._table(name).to_pyarrow_table().to_pylist()
        return rows

    def files(self, name: str) -> list[str]:
        """Return the table's files by the entries of its log alone, without the library."""
        files: dict[str, None] = {}
        for entry in sorted((self.folder / name / "_delta_log").glob("*.json")):
            if entry not in self._entries:
                self._entries[entry] = [json.loads(line) for line in entry.read_text(encoding="utf-8").splitlines()]
            actions = self._entries[entry]
            for one in actions:
                if "remove" in one:
                    del files[one["remove"]["path"]]
            files.update({one["add"]["path"]: None for one in actions if "add" in one})
        return [str(self.folder / name / file) for file in files]

    def rows_by_duckdb(self, name: str = "public_orders") -> list[Any]:
        """Return the rows as DuckDB reads them from the table's files."""
        with duckdb.connect() as connection:
            files = self.files(name)
            found = connection.sql("SELECT * FROM read_parquet(?, union_by_name = true)", params=[files])
            names = [PLAIN if name == ESCAPED else name for name in found.columns]
            rows: list[Any] = found.to_arrow_table().rename_columns(names).to_pylist()
        return rows

    def record(self, name: str = "public_orders") -> tuple[int, int]:
        """Return epoch and number of the last batch, by the table's own record."""
        table = self._table(name)
        return tuple(table.transaction_version(f"qbcd::orders:copy{end}") for end in (":epoch", ""))

    def commits(self, name: str = "public_orders") -> list[int]:
        """Return the numbers of the batches by the table's history, oldest first."""
        history = self._table(name).history()
        return [int(one["qbcd.batch_seq"]) for one in reversed(history) if "qbcd.batch_seq" in one]

    def create(self, name: str, schema: pa.Schema, part: Any = (), rows: int = 0) -> None:
        """Create a table as another program does."""
        from deltalake import DeltaTable, write_deltalake

        DeltaTable.create(self.folder / name, schema, partition_by=list(part) or None)
        if rows:
            write_deltalake(
                self.folder / name, pa.table([pa.nulls(rows, one.type) for one in schema], schema=schema), mode="append"
            )

    def add_column(self, name: str, column: pa.Field[Any]) -> None:
        """Add a column, as another program does."""
        from deltalake import Schema

        self._table(name).alter.add_columns(Schema.from_arrow(pa.schema([column])).fields)

    def note(self, name: str, number: int) -> dict[tuple[Any, ...], int]:
        """Set a column `mine` of all rows, as another program does; return its values by key."""
        rows = self.rows(name)
        found = {tuple(row[one] for one in KEY): hash((row["id"], number)) for row in rows}
        noted = [{**row, "mine": found[tuple(row[one] for one in KEY)]} for row in rows]
        self._overwrite(name, noted)
        return found

    def _overwrite(self, name: str, rows: list[Any]) -> None:
        from deltalake import write_deltalake

        table = self._table(name)
        write_deltalake(table, pa.Table.from_pylist(rows, pa.schema(table.schema())), mode="overwrite")

    def exists(self, name: str = "public_orders") -> bool:
        return (self.folder / name / "_delta_log").exists()

    def drop(self, name: str) -> None:
        shutil.rmtree(self.folder / name)
        self._entries.clear()

    def arrow(self, travel: Travel) -> pa.DataType:
        return arrow_type(travel)


class IcebergLake(Lake):
    """Tables of a catalog in SQLite."""

    kind = "iceberg"

    @property
    def catalog(self) -> dict[str, str]:
        return {"type": "sql", "uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": f"file://{self.folder}"}

    @override
    def sink(self, **options: Any) -> LakeSink:
        from qbcd.sinks.lake.iceberg import IcebergSink

        return IcebergSink("copy", self.catalog, **options)

    @cached_property
    def _loaded(self) -> Any:
        from pyiceberg.catalog import load_catalog

        return load_catalog("default", **self.catalog)

    @override
    def _table(self, name: str) -> Any:
        return self._loaded.load_table(("qbcd", name))

    @override
    def rows(self, name: str = "public_orders") -> list[Any]:
        rows: list[Any] = self._table(name).scan().to_arrow().to_pylist()
        return rows

    @override
    def files(self, name: str) -> list[str]:
        return [one.file.file_path.removeprefix("file://") for one in self._table(name).scan().plan_files()]

    @override
    def record(self, name: str = "public_orders") -> tuple[int, int]:
        found = self._table(name).properties
        return int(found["qbcd.epoch"]), int(found["qbcd.batch_seq"])

    @override
    def commits(self, name: str = "public_orders") -> list[int]:
        """Return the numbers of the batches by the snapshots; one commit has several of them."""
        found = [int(one.summary.additional_properties["qbcd.batch_seq"]) for one in self._table(name).snapshots()]
        return [number for number, _ in groupby(found)]

    @override
    def create(self, name: str, schema: pa.Schema, part: Any = (), rows: int = 0) -> None:
        catalog = self._loaded
        catalog.create_namespace_if_not_exists("qbcd")
        made = catalog.create_table(("qbcd", name), schema)
        with made.update_spec() as spec:
            for column in part:
                spec.add_identity(column)
        if rows:
            made.append(pa.table([pa.nulls(rows, one.type) for one in schema], schema=schema))

    @override
    def add_column(self, name: str, column: pa.Field[Any]) -> None:
        with self._table(name).update_schema() as update:
            update.union_by_name(pa.schema([column]))

    @override
    def _overwrite(self, name: str, rows: list[Any]) -> None:
        table = self._table(name)
        table.overwrite(pa.Table.from_pylist(rows, table.schema().as_arrow()))

    @override
    def exists(self, name: str = "public_orders") -> bool:
        return bool((self.folder / "catalog.db").exists() and self._loaded.table_exists(("qbcd", name)))

    @override
    def drop(self, name: str) -> None:
        self._loaded.drop_table(("qbcd", name))


def overtaken(slow: LakeSink, fast: LakeSink, first: MadeBatch, *later: MadeBatch) -> None:
    """Let another writer commit later batches while one is about to commit the next.

    The first one is refused. When it tries again, its batch is there.
    """
    slow.write(first)

    def overtake() -> None:
        hooks.register("mid_publish", None)
        for batch in later:
            fast.write(batch)

    hooks.register("mid_publish", overtake)
    with pytest.raises(DeliveryError, match="another process has committed"):
        slow.write(later[0])
    with pytest.raises(SinkConflict, match="later than") if later[1:] else nullcontext():
        slow.write(later[0])


def lake_of(kind: str, folder: Path) -> Lake:
    """Return a place for tables."""
    return {"delta": Lake, "iceberg": IcebergLake}[kind](folder)
