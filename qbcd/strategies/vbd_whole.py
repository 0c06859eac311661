"""VBD, variants `compare` and `checksum` (Carnes & Hanson 4): the whole result of a query is compared at each poll.

The query is a derived table wherever a statement names a table, so that the result is compared by the strategies for
tables: variant `compare` is MDS over it (the paper's sixth, docs/paper.md#vbd), `checksum` is ID/RCS over it (the
fifth). Both compute the whole result at each poll, in the source.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.connectors.base import Index
from qbcd.strategies.base import Estimate
from qbcd.strategies.id_rcs import IdRcs
from qbcd.strategies.in_source import Columns
from qbcd.strategies.incremental.delta_query import ONE
from qbcd.strategies.mds import Mds


class VbdCompare(Mds):
    """Statements of variant compare: a replica of the result in the source, one statement that compares."""

    name = "vbd"
    needs = "SELECT on what the query reads; a key; a schema of qbcd's own in the source, with room for the result"

    @property
    def label(self) -> str:
        """With its variant."""
        return "vbd, variant compare"

    @property
    def _key_names(self) -> Columns:
        """Of the replica's table; that of one row has the same key for each row, so that it takes no second one."""
        return super()._key_names or (ONE,)

    def _replica_columns(self) -> list[tuple[str, str]]:
        only = [] if self.plan.key else [(ONE, "integer DEFAULT 1")]
        return [*super()._replica_columns(), *only]

    def estimate(self, indexes: Sequence[Index] = ()) -> Estimate:
        """B + M: the pages of what the query reads, each taken once, and the copy; what its joins cost is not known."""
        told = "B + M, variant compare: B are the pages of the query's tables, each taken once, M of the copy unknown"
        return Estimate(self.plan.table.pages, -1, told, "nothing")


class VbdChecksum(IdRcs):
    """Statements of variant checksum: checksums of ranges of the result, its replica under Spark."""

    name = "vbd"
    needs = "SELECT on what the query reads, and nothing else"

    @property
    def label(self) -> str:
        """With its variant."""
        return "vbd, variant checksum"

    def estimate(self, indexes: Sequence[Index] = ()) -> Estimate:
        """B: the pages of what the query reads, each taken once; what its joins cost is not known."""
        told = "B, variant checksum: the pages of the query's tables, each taken once"
        return Estimate(self.plan.table.pages, -1, told, "count and checksum of each range")

    def warnings(self) -> list[str]:
        """Ranges of the key are cheap only where the source takes them into the query."""
        if self.partitioning.hashed:
            return []
        return [
            "`buckets: key` computes the query once for each range, unless the source can take a range of the key into "
            "it (an index under the key, no aggregate above it); `buckets: hash` computes it once a poll"
        ]

    def _scattered(self) -> bool:
        """Ranges of the hash answer for all by one computation of the query."""
        return True
