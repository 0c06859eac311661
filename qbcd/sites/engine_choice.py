"""The choice of the engine for a step or a delivery.

It is DuckDB in this process (``local``), or Spark.
"""

from __future__ import annotations

from dataclasses import dataclass

from qbcd.config.models import DEFAULT_LOCAL_BYTES, DEFAULT_LOCAL_ROWS
from qbcd.config.streams import EngineName


@dataclass(frozen=True)
class EngineChoice:
    """The engine that the user wants, and the size up to which ``auto`` takes the local one.

    Attributes:
        rows: Most rows to fetch or to deliver by the local engine.
        size: Most bytes of the replica's files that the local engine reads.
        cluster: Spark's master is a cluster, so ``auto`` always takes Spark.
        why_local: The reason for ``local``, if it is not the user's choice.
    """

    engine: EngineName = "auto"
    rows: int = DEFAULT_LOCAL_ROWS
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
        return f"local; Spark beyond {self.rows:,} rows or {self.size >> 20:,} MB of the replica's files"

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
        if rows > self.rows:
            return f"more than {self.rows:,} rows (local_rows)"
        if size > self.size:
            return f"the replica has more than {self.size:,} bytes (local_bytes)"
        return ""
