"""VBD, variants `compare` and `checksum` (Carnes & Hanson 4): compare the whole result.

The query is a derived table wherever a statement names a table, so the strategies for tables compare its result:
variant `compare` is MDS over it (the paper's sixth, docs/paper.md#vbd), `checksum` is ID/RCS over it (the fifth). Both
compute the whole result in the source at each poll.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from typing_extensions import override

from qbcd.strategies.base import ReplicaContent
from qbcd.strategies.id_rcs import IdRcs
from qbcd.strategies.in_source import Columns
from qbcd.strategies.incremental.delta_query import ONE
from qbcd.strategies.mds import Mds
from qbcd.strategies.reads import Reads, TableFacts


class VbdCompare(Mds):
    """Statements of variant compare: a source replica of the result, and one comparison."""

    name = "vbd"
    statements = (29, 42)
    needs = "SELECT on what the query reads; a key; a schema of qbcd's own in the source, with room for the result"

    @property
    @override
    def label(self) -> str:
        return "vbd, variant compare"

    @property
    @override
    def _key_names(self) -> Columns:
        """The replica's key; a constant column for a result of one row, so that it has only one."""
        return super()._key_names or (ONE,)

    @override
    def _replica_columns(self) -> list[tuple[str, str]]:
        only = [] if self.plan.key else [(ONE, "integer DEFAULT 1")]
        return [*super()._replica_columns(), *only]


class VbdDigest(VbdCompare):
    """Statements of variant compare with digests in place of a copy (the paper's third).

    The digests are those of the result's rows.
    """

    keeps: ReplicaContent = "digests"
    needs = "SELECT on what the query reads; a key; a schema of qbcd's own in the source, with room for key and digest"
    sees = "every insert, update and delete, without old values, as the net change between two polls"
    misses = f"old values and the names of changed columns; {VbdCompare.misses}"

    @override
    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check that the result has a key.

        Raises:
            ConfigError: It is one row at most, whose copy takes no room.
        """
        super().check(place)
        if not self.plan.key:
            raise self._wrong("replica", place, "a result of one row has no key for a digest", "write `replica: rows`")

    @override
    def change_problem(self, *, columns: bool, where: bool) -> str:
        """Return the problem of other columns: their digests cannot be compared."""
        return "digests of other columns cannot be compared, and there are no values" if columns else ""

    @override
    def _context(self) -> dict[str, Any]:
        return {**super()._context(), "fresh": True}


class VbdChecksum(IdRcs):
    """Statements of variant checksum: range checksums of the result, with a lake replica."""

    name = "vbd"
    statements = (23, 35)
    needs = "SELECT on what the query reads, and nothing else"

    @property
    @override
    def label(self) -> str:
        return "vbd, variant checksum"

    @override
    def reads(self, facts: TableFacts) -> Reads:
        """Return B: the pages of the query's tables, each read once; costs of joins are unknown."""
        found = Reads("B", (("B", facts.pages),), lambda change: facts.pages, facts.pages)
        return self._with_checksums(found, facts)

    @override
    def warnings(self) -> list[str]:
        """Warn about ranges of the key: they are cheap only if applied inside the query."""
        if self.partitioning.hashed:
            return []
        return [
            "`buckets: key` computes the query once for each range, unless the source can take a range of the key into "
            "it (an index under the key, no aggregate above it); `buckets: hash` computes it once a poll"
        ]

    @property
    @override
    def is_scattered(self) -> bool:
        """True: with ranges of the hash, one computation of the query serves all ranges."""
        return True
