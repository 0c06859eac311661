"""Counts and checksums of rows, computed before the rows are written.

The rows are put into a table of the local database first.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query
from qbcd.sites.lake.engines import base
from qbcd.sites.lake.engines.algebra import selected
from qbcd.sites.lake.engines.local.rows import fetched, stored
from qbcd.sites.lake.replica.schema import UNTRAVELLED
from qbcd.sql.digest_sums import summands, total

OPS = ("d", "u", "c", "r")


class LocalRowChecksum(base.RowChecksum):
    """Count and sum of digests of rows; `wide` if the digests are."""

    def __init__(self, database: LocalDatabase, *, wide: bool = False) -> None:
        self._database, self._wide = database, wide
        self._rows = Query("", ())

    @override
    def observe(self, rows: Query) -> Query:
        """Return `rows`, computed once."""
        self._rows = stored(self._database, rows)
        return self._rows

    @override
    def read(self) -> tuple[int, int | None]:
        """Return (rows, sum of digests); the sum is None if a digest is missing."""
        parts = {f"s{i}": f"SUM({part})" for i, part in enumerate(summands("digest", wide=self._wide))}
        ((rows, digests, *sums),) = self._values({"n": "COUNT(*)", "digests": "COUNT(digest)", **parts})
        return rows, total(sums) if rows == digests else None

    @override
    def untravelled(self) -> list[int]:
        """Return the positions of a row's values that no typed sink can hold."""
        if UNTRAVELLED not in self._rows.columns:
            return []
        ((positions,),) = self._values({"positions": f"MAX({UNTRAVELLED})"})
        return [int(p) for p in (positions or "").split(",") if p]

    def _values(self, values: Mapping[str, str]) -> list[tuple[Any, ...]]:
        return fetched(self._database, selected(self._rows, values))


class LocalEventCounts(base.EventCounts):
    """Events by op.

    Args:
        unfit: Canonical SQL conditions by position of a column; `unfit` returns those that hold for some event.
    """

    def __init__(self, database: LocalDatabase, unfit: Mapping[int, str]) -> None:
        self._database, self._unfit = database, dict(unfit)
        self._counts: dict[str, int] = {}
        self._found: list[int] = []

    @override
    def observe(self, batch: Query) -> Query:
        """Return `batch`, computed once."""
        rows = stored(self._database, batch)
        counted = {op: f"COUNT(CASE WHEN op = '{op}' THEN 1 END)" for op in OPS}
        counted |= {f"u{i}": f"COUNT(CASE WHEN {condition} THEN 1 END)" for i, condition in self._unfit.items()}
        (numbers,) = fetched(self._database, selected(rows, counted))
        found = dict(zip(counted, numbers, strict=True))
        self._counts = {op: found[op] for op in OPS if found[op]}
        self._found = [i for i in self._unfit if found[f"u{i}"]]
        return rows

    @override
    def read(self) -> dict[str, int]:
        """Return the number of events by op, without zeros."""
        return self._counts

    @override
    def unfit(self) -> list[int]:
        """Return the positions whose condition held for some event."""
        return self._found
