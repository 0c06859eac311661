"""The engine that computes in this process, with DuckDB."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

from qbcd.errors import QbcdError
from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query
from qbcd.local.source import SourceReads, fetch_rows
from qbcd.local.typed import misfit
from qbcd.model import KeyRange, Travel
from qbcd.model.wire import Fields
from qbcd.sites.lake.engines.base import Engine
from qbcd.sites.lake.engines.local import diff, layers, parquet
from qbcd.sites.lake.engines.local import rows as shapes
from qbcd.sites.lake.engines.local.observed import LocalEventCounts, LocalRowChecksum
from qbcd.sites.lake.engines.local.rows import fetched, selected


class LocalEngine(Engine):
    """Rows are queries of one local database.

    Args:
        database: The database of this work.
    """

    name = "local"
    verifies_pages = False
    few_rows = 1_000_000

    def __init__(self, database: LocalDatabase) -> None:
        self.database = database

    # -- rows in and out ---------------------------------------------------------------------------------------------
    def fetch(self, reads: SourceReads, fields: Fields) -> Query:
        return fetch_rows(self.database, reads, fields)

    def read(self, fields: Fields, files: Sequence[Path]) -> Query:
        return parquet.read(self.database, fields, files)

    def write(self, rows: Query, fields: Fields, folder: Path, *, temporary: bool) -> None:
        parquet.write(self.database, rows, fields, folder, temporary=temporary)

    def explained(self, work: Callable[[], Any], explain: Callable[[BaseException], QbcdError]) -> Any:
        return work()  # the source was read by `fetch`

    no_rows = staticmethod(shapes.no_rows)
    union = staticmethod(shapes.union)

    def kept(self, rows: Query) -> AbstractContextManager[Query]:
        return shapes.kept(self.database, rows)

    def row_checksum(self) -> LocalRowChecksum:
        return LocalRowChecksum(self.database)

    def event_counts(self, old_values: Mapping[int, Travel]) -> LocalEventCounts:
        conditions = {i: misfit(travel, f"b_{i}") for i, travel in old_values.items()}
        return LocalEventCounts(self.database, {i: condition for i, condition in conditions.items() if condition})

    # -- the replica -------------------------------------------------------------------------------------------------
    def in_ranges(self, rows: Query, ids: Sequence[int]) -> Query:
        return diff.in_ranges(self.database, rows, ids)

    def together(self, parts: Sequence[Query], *, alone: bool = False) -> Query:
        return shapes.union(parts)

    def merged(
        self, base: Query, deltas: Query | None, asked: Sequence[KeyRange], *, changed: int, one: bool, alone: bool
    ) -> Query:
        return layers.merged(self.database, base, deltas, asked, one=one)

    def renumbered(self, rows: Query, ids: Mapping[int, int]) -> Query:
        return diff.renumbered(self.database, rows, ids)

    def last_batches(self, batches: Query) -> dict[int, int]:
        return diff.last_batches(self.database, batches)

    # -- a stage -----------------------------------------------------------------------------------------------------
    identified = staticmethod(diff.identified)
    aligned = staticmethod(diff.aligned)

    def sums(self, rows: Query, digest_column: str = "digest") -> dict[int, tuple[int, int | None]]:
        return diff.sums(self.database, rows, digest_column)

    def has_duplicates(self, stage: Query) -> bool:
        return diff.has_duplicates(self.database, stage)

    def one_row(self, rows: Query, columns: Sequence[str], where: str) -> tuple[Any, ...] | None:
        found = fetched(self.database, selected(rows, {f"v{i}": name for i, name in enumerate(columns)}, where, most=1))
        return found[0] if found else None

    def untravelled(self, stage: Query) -> list[int]:
        return diff.untravelled(self.database, stage)

    # -- comparisons -------------------------------------------------------------------------------------------------
    differences = staticmethod(diff.differences)
    settled_differences = staticmethod(diff.settled_differences)
    settled_keys = staticmethod(diff.settled_keys)
    changed_fingerprints = staticmethod(diff.changed_fingerprints)
    deleted = staticmethod(diff.deleted)
    baseline = staticmethod(diff.baseline)

    window_differences = staticmethod(diff.window_differences)
    changed_pairs = staticmethod(diff.changed_pairs)

    def changed_keys(self, changed: Query, names: Sequence[str], most: int) -> list[tuple[str, ...]]:
        return diff.changed_keys(self.database, changed, names, most)

    # -- changes -----------------------------------------------------------------------------------------------------
    with_reason = staticmethod(diff.with_reason)
    of_keys = staticmethod(shapes.of_keys)
    without_keys = staticmethod(shapes.without_keys)
    paired = staticmethod(diff.paired)

    def without_deletes(self, changes: Query) -> Query:
        return diff.without_deletes(changes)

    def deletes(self, changes: Query) -> Query:
        return diff.deletes(changes)

    def with_ranges_of(self, rows: Query, keys: Query, range_ids: Sequence[int]) -> Query:
        return diff.with_ranges_of(self.database, rows, keys, range_ids)

    @contextmanager
    def numbered(
        self, changes: Query, seq: int, rows: int, sizes: Mapping[tuple[str, int], int] | None = None
    ) -> Iterator[Query]:
        yield diff.numbered(changes, seq)

    # -- results -----------------------------------------------------------------------------------------------------
    def groups(self, changes: Query) -> dict[tuple[str, int], int]:
        return diff.groups(self.database, changes)

    def growth(self, changes: Query) -> dict[int, tuple[int, int]]:
        return diff.growth(self.database, changes)

    def range_ids(self, changes: Query) -> set[int]:
        return diff.range_ids(self.database, changes)

    def differing_ranges(self, replica: Query, fingerprints: Query) -> set[int]:
        return diff.differing_ranges(self.database, replica, fingerprints)

    def listed(self, changes: Query, key: int, most: int) -> list[tuple[str, str]]:
        return diff.listed(self.database, changes, key, most)
