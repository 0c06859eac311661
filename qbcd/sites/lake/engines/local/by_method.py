"""Changes found by a method of `qbcd.snapshots`, as changes of the local engine.

Both sides are Parquet files with wire values ``c0..cn``, of which the first are the key.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from typing_extensions import override

from qbcd.files.formats.parquet import BUFFER
from qbcd.local.database import LocalDatabase
from qbcd.local.dumps import identity_of
from qbcd.local.query import Query
from qbcd.model import Column, StreamPlan
from qbcd.sites.lake.engines.algebra import comparable
from qbcd.snapshots.base import ComparisonReport, Dump, Numbers, Options, joined
from qbcd.snapshots.compare import differences
from qbcd.snapshots.feeds import Sides

_ROWS = 8_192  # rows of a batch; several of each side are in memory at a time
_SAMPLES, _SAMPLED_ROWS = 4, 1024


class ParquetSide(Dump):
    """Rows of Parquet files, always in the same order.

    Args:
        files: The files, in order.
        width: Number of columns ``c0..cn``.
        keys: Number of key columns among them.
        name: Name in messages.
    """

    def __init__(self, files: Sequence[Path], width: int, keys: int, name: str) -> None:
        self._files, self.name = tuple(files), name
        self._columns = [f"c{i}" for i in range(width)]
        self.keys = tuple(self._columns[:keys])
        self.size = sum(path.stat().st_size for path in files)
        known = parquet.read_schema(files[0])
        self.rows = sum(parquet.read_metadata(path).num_rows for path in files)
        self.weight = self.rows * self._width()
        self.schema = self._stored = pa.schema([(name, known.field(name).type) for name in self._columns])
        self._padding: Mapping[int, str] = {}

    def convert(self, schema: pa.Schema, padding: Mapping[int, str]) -> None:
        """Give the rows in other types, which hold all values of the stored ones.

        Args:
            padding: By position, a text to be added to each value.
        """
        self.schema, self._padding = schema, padding

    def _width(self) -> int:
        """Return the bytes of a row in memory, by the first rows of some parts of the files."""
        rows = size = 0
        for path in self._files[:: -(-len(self._files) // _SAMPLES)]:
            with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
                groups = file.num_row_groups
                for group in range(0, groups, max(1, groups // _SAMPLES)):
                    some = file.iter_batches(_SAMPLED_ROWS, row_groups=[group], columns=self._columns)
                    batch = next(some, None)
                    rows, size = (rows + batch.num_rows, size + batch.nbytes) if batch is not None else (rows, size)
        return -(-size // max(1, rows))

    @override
    def batches(self) -> Iterator[pa.RecordBatch]:
        for path in self._files:
            with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
                for batch in file.iter_batches(batch_size=_ROWS, columns=self._columns, use_threads=False):
                    yield self._converted(batch.select(self._columns))

    @override
    def take(self, rows: Numbers) -> pa.RecordBatch:
        """Read the row groups that hold the rows."""
        found, first = list[pa.RecordBatch](), 0
        for path in self._files:
            with parquet.ParquetFile(path, buffer_size=BUFFER, pre_buffer=False) as file:
                for group in range(file.num_row_groups):
                    count = file.metadata.row_group(group).num_rows
                    low, high = np.searchsorted(rows, (first, first + count))
                    if high > low:
                        found += self._taken(file, group, rows[low:high] - first)
                    first += count
        return joined(found, self.schema)

    def _taken(self, file: parquet.ParquetFile, group: int, rows: Numbers) -> Iterator[pa.RecordBatch]:
        """Yield some rows of a row group, by their numbers in it."""
        first = 0
        for batch in file.iter_batches(_ROWS, row_groups=[group], columns=self._columns, use_threads=False):
            low, high = np.searchsorted(rows, (first, first + batch.num_rows))
            if high > low:
                yield self._converted(batch.select(self._columns).take(pa.array(rows[low:high] - first)))
            first += batch.num_rows

    def _converted(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        if self.schema.equals(self._stored) and not self._padding:
            return batch
        arrays = [array.cast(field.type) for array, field in zip(batch.columns, self.schema, strict=True)]
        for place, text in self._padding.items():
            arrays[place] = pc.binary_join_element_wise(arrays[place], text, "")
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


def sides_of(old: ParquetSide, new: ParquetSide) -> Sides:
    """Return the sizes of two sides; the width of a row is that of some rows."""
    rows = old.rows + new.rows
    return Sides(old.rows, new.rows, (old.weight + new.weight) / rows if rows else 0.0)


@dataclass(frozen=True)
class FoundChanges:
    """The changes that a method found.

    Attributes:
        rows: The changes, in a table.
        before: Old values are known; methods over digests know the keys alone, unless they fetch old rows.
    """

    rows: Query
    report: ComparisonReport
    before: bool


def changes_by(
    database: LocalDatabase, old: Dump, new: Dump, plan: StreamPlan, options: Options, range_id: int = 0
) -> FoundChanges:
    """Return the changes from `old` to `new`.

    Raises:
        ConfigError: The method cannot compare these sides.
    """
    table, chunk = database.new_name(), database.new_name()
    select, columns = _select(plan, range_id)
    made, before, found = False, True, differences(old, new, options)
    for batch in found:
        before = before and (batch.column("op")[0].as_py() == "c" or not batch.column("before").null_count)
        database.connection.register(chunk, _flat(batch, len(plan.captured), len(plan.key)))
        how = f"INSERT INTO {table}" if made else f"CREATE TABLE {table} AS"
        database.connection.execute(f"{how} {select} FROM {chunk}")
        database.connection.unregister(chunk)
        made = True
    if not made:
        database.connection.register(chunk, _nothing(new.schema, len(plan.key)))
        database.connection.execute(f"CREATE TABLE {table} AS {select} FROM {chunk}")
        database.connection.unregister(chunk)
    # equal values may have different digests: a zero with a sign
    rows = Query(f"SELECT {', '.join(columns)} FROM {table} WHERE COALESCE(changed, '?') <> ''", columns)
    return FoundChanges(rows, found.report, before)


def _select(plan: StreamPlan, range_id: int) -> tuple[str, tuple[str, ...]]:
    captured, keys = plan.captured, len(plan.key)
    images = [f"{side}_{i}" for side in "ba" for i in range(len(captured))]
    old_key = {f"b_{i}": f"CASE WHEN op <> 'c' THEN COALESCE(b_{i}, k_{i}) END" for i in range(keys)}
    values = {
        "op": "op",
        "changed": f"CASE WHEN op = 'u' AND known THEN {_changed(captured, keys)} END",
        "range_id": f"CAST({range_id:d} AS BIGINT)",
        "key_id": identity_of(plan.key, [f"k_{i}" for i in range(keys)]),
        "digest": "CAST(NULL AS BIGINT)",
        **{name: old_key.get(name, name) for name in images},
    }
    return f"SELECT {', '.join(f'{sql} AS {name}' for name, sql in values.items())}", tuple(values)


def _changed(captured: Sequence[Column], keys: int) -> str:
    positions = [
        f"CASE WHEN {comparable(c, f'b_{i}')} IS DISTINCT FROM {comparable(c, f'a_{i}')} THEN '{i}' END"
        for i, c in enumerate(captured)
        if i >= keys
    ]
    return f"concat_ws(',', {', '.join(positions)})" if positions else "''"


def _flat(batch: pa.RecordBatch, width: int, keys: int) -> pa.Table:
    """Return a batch of differences with a column for each value."""
    arrays = [batch.column("op"), batch.column("before").is_valid(), *batch.column("key").flatten()]
    names = ["op", "known", *(f"k_{i}" for i in range(keys))]
    for side, name in (("b", "before"), ("a", "after")):
        arrays += batch.column(name).flatten()
        names += [f"{side}_{i}" for i in range(width)]
    return pa.Table.from_arrays(arrays, names=names)


def _nothing(schema: pa.Schema, keys: int) -> pa.Table:
    fields = [("op", pa.string()), ("known", pa.bool_()), *((f"k_{i}", schema.field(i).type) for i in range(keys))]
    fields += [(f"{side}_{i}", field.type) for side in "ba" for i, field in enumerate(schema)]
    return pa.schema(fields).empty_table()
