"""What is counted of rows while they are written, so that they need not be looked at again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as F

from qbcd.sites.lake.replica.schema import UNTRAVELLED

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OPS = ("d", "u", "c", "r")


class RowChecksum:
    """Count and sum of digests of rows, taken while they are written: no second look at them is needed."""

    def __init__(self) -> None:
        self._observed = Observation()

    def observe(self, rows: DataFrame) -> DataFrame:
        """`rows`, to be evaluated once."""
        counted = ["count(1) AS n", "count(digest) AS d", "sum(CAST(digest AS DECIMAL(38,0))) AS s"]
        counted += [f"max({UNTRAVELLED}) AS u"] if UNTRAVELLED in rows.columns else []
        return rows.observe(self._observed, *map(F.expr, counted))

    def read(self) -> tuple[int, int | None]:
        """(rows, sum of digests) once the rows were evaluated; no sum where a digest is missing."""
        found = self._observed.get
        return int(found["n"]), int(found["s"] or 0) if found["n"] == found["d"] else None

    def untravelled(self) -> list[int]:
        """The positions of the columns of one row, if any, that hold a value no typed sink can take; as `read`."""
        return [int(p) for p in (self._observed.get.get("u") or "").split(",") if p]


def total(taken: Iterable[RowChecksum]) -> tuple[int, int | None]:
    """(rows, sum of digests) of all together; no sum where a digest is missing."""
    found = [one.read() for one in taken]
    sums = [checksum for _, checksum in found if checksum is not None]
    return sum(rows for rows, _ in found), sum(sums) if len(sums) == len(found) else None


class EventCounts:
    """Events by op, counted while a batch is written.

    Args:
        unfit: Conditions by position of a column; of which of them some event fulfils one is told.
    """

    def __init__(self, unfit: Mapping[int, str] | None = None) -> None:
        self._observed, self._unfit = Observation(), dict(unfit or {})

    def observe(self, batch: DataFrame) -> DataFrame:
        """`batch`, to be evaluated once."""
        counted = {op: f"op = '{op}'" for op in OPS} | {f"u{i}": condition for i, condition in self._unfit.items()}
        told = (f"count(CASE WHEN {condition} THEN 1 END) AS {name}" for name, condition in counted.items())
        return batch.observe(self._observed, *map(F.expr, told))

    def read(self) -> dict[str, int]:
        """Op -> number of events, of ops that there are, once the batch was written."""
        found = self._observed.get
        return {op: int(found[op]) for op in OPS if found[op]}

    def unfit(self) -> list[int]:
        """The positions whose condition was fulfilled, once the batch was written."""
        found = self._observed.get
        return [i for i in self._unfit if found[f"u{i}"]]
