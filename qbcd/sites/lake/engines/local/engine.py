"""The engine that computes in this process, with DuckDB."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from typing_extensions import override

from qbcd.errors import QbcdError
from qbcd.event_sql.duckdb import DUCKDB
from qbcd.local.arrays import binaries, int64s
from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query
from qbcd.local.source import SourceReads, fetch_rows
from qbcd.model import KeyRange, Travel
from qbcd.model.wire import Fields
from qbcd.ranges import leaves
from qbcd.ranges.recent_keys import leaf_of
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Engine
from qbcd.sites.lake.engines.local import parquet
from qbcd.sites.lake.engines.local import rows as tables
from qbcd.sites.lake.engines.local.observed import LocalEventCounts, LocalRowChecksum
from qbcd.sites.lake.engines.local.spelling import spelled
from qbcd.sites.lake.replica.schema import IDENTITY

_WIDE = pa.decimal128(38, 0)
_LEAVES = pa.schema([("range_id", pa.int64()), ("tail", pa.binary()), ("alone", pa.binary()), ("lost", _WIDE)])
_MADE: tuple[Callable[[Any], pa.Array], ...] = (int64s, binaries, binaries, lambda values: pa.array(values, _WIDE))


class LocalEngine(Engine):
    """Rows are queries of one local database."""

    name = "local"
    verifies_pages = False
    by_executors = False
    few_rows = 1_000_000

    def __init__(self, database: LocalDatabase) -> None:
        self.database = database

    # -- rows in and out ---------------------------------------------------------------------------------------------
    @override
    def fetch(self, reads: SourceReads, fields: Fields) -> Query:
        return fetch_rows(self.database, reads, fields)

    @override
    def read(self, fields: Fields, files: Sequence[Path | str]) -> Query:
        return parquet.read(self.database, fields, files)

    @override
    def write(self, rows: Query, fields: Fields, folder: Path | str, *, temporary: bool) -> int | None:
        parquet.write(self.database, rows, fields, folder, temporary=temporary)
        return None

    @override
    def run(self, rows: Query) -> list[tuple[Any, ...]]:
        return tables.fetched(self.database, rows)

    @override
    def texts(self, rows: Query) -> list[list[str]]:
        found = self.database.connection.execute(rows.sql)
        kinds = [str(kind) for _, kind, *_ in found.description]
        return [list(map(spelled, row, kinds)) for row in found.fetchall()]

    @override
    def kept(self, rows: Query) -> AbstractContextManager[Query]:
        return tables.kept(self.database, rows)

    @override
    def row_checksum(self, *, wide: bool = False) -> LocalRowChecksum:
        return LocalRowChecksum(self.database, wide=wide)

    @override
    def event_counts(self, old_values: Mapping[int, Travel]) -> LocalEventCounts:
        conditions = {i: DUCKDB.misfit(travel, f"b_{i}") for i, travel in old_values.items()}
        return LocalEventCounts(self.database, {i: condition for i, condition in conditions.items() if condition})

    @override
    def explained(self, work: Callable[[], Any], explain: Callable[[BaseException], QbcdError]) -> Any:
        return work()  # the source was read by `fetch`

    # -- rows in memory, ranges --------------------------------------------------------------------------------------
    @override
    def table(self, rows: pa.Table) -> Query:
        return tables.stored_arrow(self.database, rows)

    @override
    def in_ranges(self, rows: Query, ids: Sequence[int]) -> Query:
        return algebra.of_keys(rows, self.table(pa.table({"range_id": int64s(ids)})), on=["range_id"])

    @override
    def leaves(self, asked: Sequence[KeyRange]) -> Query:
        ranges, tails = array("q"), bytearray()  # there may be a million whole leaves: no Python object for each
        others: list[tuple[int, bytes, bytes | None, int | None]] = []
        for one in asked:
            by_key = {leaf: [key] for leaf, key in ((one.only and one.only.alone) or {}).items()}
            for named in one.only.named if one.only else ():
                by_key.setdefault(leaf_of(named.identity), []).append(named.identity)
            lost = one.only.deleted_digest if one.only else None
            requested = list(leaves.tails(one))
            whole = bytes(leaf for leaf in requested if leaf not in by_key)
            others += ((one.range_id, key[-1:], key, None) for leaf in requested for key in by_key.get(leaf, ()))
            others += ((one.range_id, b"", None, lost) for leaf in whole[:1] if leaf == 0)
            if lost is None:
                ranges.extend([one.range_id] * len(whole))
                tails += whole
            else:
                others += ((one.range_id, bytes([leaf]), None, lost) for leaf in whole)
        columns = zip(*others, strict=True) if others else ([], [], [], [])
        few = pa.Table.from_arrays([make(c) for make, c in zip(_MADE, columns, strict=True)], schema=_LEAVES)
        return self.table(pa.concat_tables([_whole(ranges, bytes(tails)), few]))

    # -- a batch -----------------------------------------------------------------------------------------------------
    @contextmanager
    @override
    def numbered(
        self, changes: Query, seq: int, rows: int, sizes: Mapping[tuple[str, int], int] | None = None
    ) -> Iterator[Query]:
        # counted as they come out of the sort: a window with an order would hold all rows
        order = ", ".join((algebra.RANK, *IDENTITY))
        in_order = Query(f"SELECT * FROM (\n{changes.sql}\n) AS changes ORDER BY {order}", changes.columns)
        yield algebra.batch_rows(in_order, seq, "ROW_NUMBER() OVER () - 1")


def _whole(ranges: array[int], tails: bytes) -> pa.Table:
    """Return rows of leaves that are requested whole, one for each byte of `tails`."""
    number = len(tails)
    ids = pa.Array.from_buffers(pa.int64(), number, [None, pa.py_buffer(ranges)])
    ends = pa.py_buffer(array("i", range(number + 1)))
    last = pa.Array.from_buffers(pa.binary(), number, [None, ends, pa.py_buffer(tails)])
    return pa.Table.from_arrays([ids, last, pa.nulls(number, pa.binary()), pa.nulls(number, _WIDE)], schema=_LEAVES)
