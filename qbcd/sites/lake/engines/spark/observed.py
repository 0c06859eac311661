"""Counts and checksums of rows, computed by `DataFrame.observe` while the rows are written."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as F
from typing_extensions import override

from qbcd.sites.lake.engines import base
from qbcd.sites.lake.engines.spark.rows import SPELLING, SparkRows
from qbcd.sites.lake.replica.schema import UNTRAVELLED
from qbcd.sql.digest_sums import summands, total

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

OPS = ("d", "u", "c", "r")


class SparkRowChecksum(base.RowChecksum):
    """Count and sum of digests of rows, computed while they are written.

    Args:
        frame: Returns the data frame of rows.
        wide: Digests are wide.
    """

    def __init__(self, frame: Callable[[SparkRows], DataFrame], *, wide: bool = False) -> None:
        self._frame, self._observed = frame, Observation()
        self._parts = {f"s{i}": SPELLING.text(part) for i, part in enumerate(summands("digest", wide=wide))}

    @override
    def observe(self, rows: SparkRows) -> SparkRows:
        counted = ["count(1) AS n", "count(digest) AS d", *(f"sum({p}) AS {n}" for n, p in self._parts.items())]
        counted += [f"max({UNTRAVELLED}) AS u"] if UNTRAVELLED in rows.columns else []
        return SparkRows.of(self._frame(rows).observe(self._observed, *map(F.expr, counted)))

    @override
    def read(self) -> tuple[int, int | None]:
        found = self._observed.get
        return int(found["n"]), total(found[name] for name in self._parts) if found["n"] == found["d"] else None

    @override
    def untravelled(self) -> list[int]:
        return [int(p) for p in (self._observed.get.get("u") or "").split(",") if p]


class SparkEventCounts(base.EventCounts):
    """Events by op, counted while a batch is written.

    Args:
        frame: Returns the data frame of rows.
        unfit: SQL conditions by position of a column; `unfit` returns those that hold for some event.
    """

    def __init__(self, frame: Callable[[SparkRows], DataFrame], unfit: Mapping[int, str] | None = None) -> None:
        self._frame, self._observed, self._unfit = frame, Observation(), dict(unfit or {})

    @override
    def observe(self, batch: SparkRows) -> SparkRows:
        counted = {op: f"op = '{op}'" for op in OPS} | {f"u{i}": condition for i, condition in self._unfit.items()}
        counts = (f"count(CASE WHEN {condition} THEN 1 END) AS {name}" for name, condition in counted.items())
        return SparkRows.of(self._frame(batch).observe(self._observed, *map(F.expr, counts)))

    @override
    def read(self) -> dict[str, int]:
        found = self._observed.get
        return {op: int(found[op]) for op in OPS if found[op]}

    @override
    def unfit(self) -> list[int]:
        """Return the positions whose condition held for some event, after the batch was written."""
        found = self._observed.get
        return [i for i in self._unfit if found[f"u{i}"]]
