"""Drawn batches for sinks in a lake format, whose names may have no space, and the rows that their tables must have."""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from qbcd.local.arrow import arrow_type
from qbcd.model import Travel
from qbcd.sinks.lake.lake_sink import LakeSink
from tests.support.table_batches import FORMS, KEY, DrawnTable, MadeBatch, Row, State, pieces

SPACED, PLAIN = "Note %s", "Note%s"
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

    def drop(self, name: str) -> None:
        shutil.rmtree(self.folder / name)

    def arrow(self, travel: Travel) -> pa.DataType:
        return arrow_type(travel)


def lake_of(kind: str, folder: Path) -> Lake:
    """Return a place for tables."""
    return {"delta": Lake}[kind](folder)
