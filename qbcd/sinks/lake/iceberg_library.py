"""Parts of `pyiceberg` as the sink needs them: conditions of keys, transactions, schemas."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import override

if TYPE_CHECKING:
    import pyarrow as pa
    from pyiceberg.expressions import BooleanExpression
    from pyiceberg.table import DataScan, Table, Transaction

KEYS_OF_A_PIECE = 5_000  # of one column; an expression of a million keys takes minutes
PAIRS_OF_A_PIECE = 500  # of keys with several columns, which are nested expressions


def keys_of_a_piece(key: Sequence[str]) -> int:
    """Return the number of keys that one condition may have."""
    return KEYS_OF_A_PIECE if len(key) == 1 else PAIRS_OF_A_PIECE


def rows_of(scan: DataScan) -> pa.RecordBatchReader:
    """Return the rows of a scan, one file after the other.

    The library's own reader has all files in memory at once.
    """
    import pyarrow as pa
    from pyiceberg.io.pyarrow import ArrowScan, schema_to_pyarrow

    schema = schema_to_pyarrow(scan.projection())
    one = ArrowScan(scan.table_metadata, scan.io, scan.projection(), scan.row_filter, scan.case_sensitive)
    found = (rows for task in scan.plan_files() for rows in one.to_record_batches([task]))
    return pa.RecordBatchReader.from_batches(schema, found).cast(schema)


def conditions(rows: Iterator[pa.RecordBatch], key: Sequence[str]) -> Iterator[BooleanExpression]:
    """Yield conditions that find the rows with the keys, each for a limited number of them."""
    from pyiceberg.expressions import AlwaysTrue

    if not key:
        if any(piece.num_rows for piece in rows):
            yield AlwaysTrue()
        return
    keys = (key_of for piece in rows for key_of in zip(*(piece.column(name).to_pylist() for name in key), strict=True))
    while piece := list(itertools.islice(keys, keys_of_a_piece(key))):
        yield _any_of(piece, key)


def _any_of(keys: Sequence[tuple[Any, ...]], names: Sequence[str]) -> BooleanExpression:
    """Return the condition that a row has one of some keys.

    Those with equal values in all columns but the last one are one list.
    """
    from pyiceberg import expressions as of

    # the library's types for these classes are those of their JSON
    every: Any = of

    grouped: dict[tuple[Any, ...], list[Any]] = {}
    for one in keys:
        grouped.setdefault(one[:-1], []).append(one[-1])
    found = []
    for first, last in grouped.items():
        equal = [every.EqualTo(name, value) for name, value in zip(names, first, strict=False)]
        found.append(every.And(every.AlwaysTrue(), every.In(names[-1], last), *equal))
    condition: BooleanExpression = every.Or(every.AlwaysFalse(), *found) if found[1:] else found[0]
    return condition


def transaction_of(table: Table) -> Transaction:
    """Return a transaction that computes its metadata once for each of its steps.

    The library computes and copies them about fifty times in a commit, in time that grows with the snapshots.
    """
    from pyiceberg.table import Transaction

    class Computed(Transaction):
        _known: tuple[int, Any] | None = None

        @property
        @override
        def table_metadata(self) -> Any:
            if self._known is None or self._known[0] != len(self._updates):
                self._known = len(self._updates), super().table_metadata
            return self._known[1]

    return Computed(table)


def plain(schema: pa.Schema) -> pa.Schema:
    """Return a schema without the format's notes and types for long values."""
    import pyarrow as pa

    return pa.schema([pa.field(one.name, _plain_type(one.type), one.nullable) for one in schema])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    import pyarrow as pa

    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(pa.field("element", _plain_type(kind.value_type)))
    return {pa.large_string(): pa.string(), pa.large_binary(): pa.binary()}.get(kind, kind)
