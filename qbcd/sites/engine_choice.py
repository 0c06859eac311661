"""The choice of the engine for a step or a delivery.

It is DuckDB in this process (``local``), or Spark. `LOCAL` and `SPARK` are measured: docs/internals/engines.md#choice.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from qbcd.config.models import DEFAULT_LOCAL_BYTES
from qbcd.config.streams import EngineName


class Slope(NamedTuple):
    """Processor seconds of a poll that fetches every row, of 200 bytes.

    Attributes:
        start: Without rows, in a process that has just begun.
        per_million: For each million of rows.
    """

    start: float
    per_million: float


# `python -m benchmarks engines --rows 1000000` and `--rows 50000`, PostgreSQL, 2 cores: 10,000 and 1,000,000 rows.
LOCAL = Slope(0.9, 10.8)
SPARK = Slope(22.0, 14.8)


def most_local_rows(threads: int, cores: int) -> int | None:
    """Return the number of rows up to which the local engine is faster; None if it always is.

    Work is taken to spread over all threads, which is measured on two cores alone.

    Args:
        threads: Threads of the local engine, fewer with little memory (`qbcd.local.database`).
        cores: Cores of this machine, which Spark uses all.
    """
    each = LOCAL.per_million / threads - SPARK.per_million / cores
    earlier = (SPARK.start - LOCAL.start) / 2  # seconds: the start of Java keeps two cores busy
    return math.floor(earlier / each * 1_000_000) if each > 0 else None


@dataclass(frozen=True)
class EngineChoice:
    """The engine that the user wants, and the size up to which ``auto`` takes the local one.

    Attributes:
        rows: Most rows to fetch or to deliver by the local engine; None for any number.
        measured: `rows` are those up to which it is faster, not the user's choice.
        size: Most bytes of the replica's files that the local engine reads.
        cluster: Spark's master is a cluster, so ``auto`` always takes Spark.
        why_local: The reason for ``local``, if it is not the user's choice.
    """

    engine: EngineName = "auto"
    rows: int | None = None
    size: int = DEFAULT_LOCAL_BYTES
    cluster: bool = False
    why_local: str = ""
    measured: bool = False

    @property
    def may_be_local(self) -> bool:
        """True if some work runs in this process."""
        return self.engine == "local" or (self.engine == "auto" and not self.cluster)

    def describe(self) -> str:
        """Return which engine does the stream's work, in words."""
        if self.engine == "local":
            return f"local ({self.why_local or 'engine: local'})"
        if not self.may_be_local:
            return f"Spark ({self.why_spark(0)})"
        rows = "" if self.rows is None else f"{self.rows:,} rows{', where it is faster,' if self.measured else ''} or "
        return f"local; Spark beyond {rows}{self.size >> 20:,} MB of the replica's files"

    def is_local(self, rows: int, size: int = 0) -> bool:
        """Return True if work of this size runs in this process.

        The size is a number of rows, and of bytes of replica files.
        """
        return not self.why_spark(rows, size)

    def why_spark(self, rows: int, size: int = 0) -> str:
        """Return the reason why Spark does work on that many rows and bytes; empty if it does not."""
        if self.engine == "local":
            return ""
        if self.engine == "spark":
            return "engine: spark"
        if self.cluster:
            return "the master is a cluster"
        if self.rows is not None and rows > self.rows:
            return f"more than {self.rows:,} rows ({'Spark is faster' if self.measured else 'local_rows'})"
        if size > self.size:
            return f"the replica has more than {self.size:,} bytes (local_bytes)"
        return ""
