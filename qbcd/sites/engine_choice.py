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
    """Seconds of a poll that fetches every row, of 200 bytes, on two cores.

    Attributes:
        start: Without rows, in a process that has just begun.
        per_million: For each million of rows.
    """

    start: float
    per_million: float


# `python -m benchmarks engines --rows 1000000 --changes every` and `--rows 5000000`, PostgreSQL, 2 cores.
CORES = 2
LOCAL = Slope(0.5, 13.1)
SPARK = Slope(28.0, 13.1)
LITTLE = 128 << 20  # bytes of `local_memory`: with less, few rows are known to fit
FIT_INTO_LITTLE = 1_000_000  # rows that fitted into 64 MB; 5,000,000 did not


class RowLimit(NamedTuple):
    """The most rows for the local engine, None for any number, and the reason for the limit."""

    rows: int | None
    reason: str = "local_rows"


UNLIMITED = RowLimit(None)


def measured_limit(memory: int, threads: int, cores: int) -> RowLimit:
    """Return the number of rows up to which the local engine is faster, and has room for them.

    Work is taken to spread over more than two threads, which is not measured.

    Args:
        memory: Bytes of the local engine.
        threads: Its threads, fewer with little memory (`qbcd.local.database`).
        cores: Cores of this machine, which Spark uses all.
    """
    if memory < LITTLE:
        return RowLimit(FIT_INTO_LITTLE, "`local_memory` may be too little")
    each = LOCAL.per_million * CORES / max(threads, CORES) - SPARK.per_million * CORES / max(cores, CORES)
    rows = math.floor((SPARK.start - LOCAL.start) / each * 1_000_000) if each > 0 else None
    return RowLimit(rows, "Spark is faster")


@dataclass(frozen=True)
class EngineChoice:
    """The engine that the user wants, and the size up to which ``auto`` takes the local one.

    Attributes:
        limit: Most rows to fetch or to deliver by the local engine.
        size: Most bytes of the replica's files that the local engine reads.
        cluster: Spark's master is a cluster, so ``auto`` always takes Spark.
        why_local: The reason for ``local``, if it is not the user's choice.
    """

    engine: EngineName = "auto"
    limit: RowLimit = UNLIMITED
    size: int = DEFAULT_LOCAL_BYTES
    cluster: bool = False
    why_local: str = ""

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
        most, reason = self.limit
        rows = "" if most is None else f"{most:,} rows ({reason}) or "
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
        most, reason = self.limit
        if most is not None and rows > most:
            return f"more than {most:,} rows ({reason})"
        if size > self.size:
            return f"the replica has more than {self.size:,} bytes (local_bytes)"
        return ""
