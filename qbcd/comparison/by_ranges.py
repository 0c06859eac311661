"""Find rows in which two tables may differ: compare range checksums, read dirty ranges.

The bounds of ranges come from one table. Each server compares them with its own rows, so each row of a table is in one
range. If a row is in another range of the other table, the sums of both ranges differ, and it is read from both.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial

from typing_extensions import override

from qbcd.common.side_by_side import side_by_side
from qbcd.comparison.operands import TableOperand
from qbcd.comparison.tables import STREAM
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query
from qbcd.local.source import SourceReads, fetch_rows
from qbcd.model import Column, KeyRange
from qbcd.ranges import hash_buckets, partition
from qbcd.sites import check_key
from qbcd.sites.eligibility import Kind, kind_for
from qbcd.sites.lake.checksums import SessionsOfSnapshot, added_up, all_rows
from qbcd.sites.lake.replica.schema import row_fields
from qbcd.strategies import IdRcs

FINE = 128  # rows of a fine range, whose rows are read if it is dirty
GROUP = 16  # fine ranges of a coarse one
MOST = 65_536  # fine ranges
SAMPLED = 8  # coarse ranges whose fine ranges say if most rows differ
CONNECTIONS = 2  # of each database, if its sessions share a snapshot
SUM_BYTES = 40  # of a count and a checksum


@dataclass
class RangeCounts:
    """The ranges of a comparison: their kind, how many were compared, and how many were dirty."""

    kind: Kind = "key"
    compared: int = 0
    dirty: int = 0


class Side(ABC):
    """One of both tables, whose database adds up ranges of its rows."""

    @abstractmethod
    def check_key(self) -> None:
        """Check that keys are unique and not NULL.

        Raises:
            UnsafeKey: They are not.
        """

    @abstractmethod
    def count(self) -> int:
        """Return the number of rows."""

    @abstractmethod
    def estimate(self) -> int:
        """Return the number of rows by the server's statistics, or counted if there are none."""

    @abstractmethod
    def ranges(self, rows_per_range: int) -> list[KeyRange]:
        """Return the ranges between keys of the table."""

    @abstractmethod
    def sums(self, asked: Sequence[KeyRange]) -> list[KeyRange]:
        """Return the ranges with count and checksum."""

    @abstractmethod
    def rows(self, database: LocalDatabase, asked: Sequence[KeyRange]) -> Query:
        """Read the rows of some ranges into a table of `database`; all have range 1."""


class TableSide(Side):
    """A table in one state, read by its connector.

    Args:
        sessions: Sessions that see the state.
    """

    def __init__(self, table: TableOperand, strategy: IdRcs, sessions: SessionsOfSnapshot) -> None:
        self.table, self.strategy, self._sessions = table, strategy, sessions
        self._connections = CONNECTIONS if sessions.snapshot else 1

    @override
    def check_key(self) -> None:
        self.table.source.count_for(STREAM)
        check_key(self._sessions.session, self.strategy)

    @override
    def count(self) -> int:
        return int(self._sessions.session.one(self.strategy.partitioning.row_count()).n)

    @override
    def estimate(self) -> int:
        known = self.strategy.plan.table.rows
        return known if known > 0 else self.count()

    @override
    def ranges(self, rows_per_range: int) -> list[KeyRange]:
        partitioning = self.strategy.partitioning
        statement = partitioning.bounds(rows_per_range)
        found = self._sessions.session.rows(statement) if statement else []
        return partitioning.ranges(found, rows_per_range, 1, MOST)

    @override
    def sums(self, asked: Sequence[KeyRange]) -> list[KeyRange]:
        self.table.source.count_for(STREAM)  # each side has a thread
        partitioning = self.strategy.partitioning
        rows = self._sessions.gather(partitioning.passes(asked, self._connections), all_rows)
        self.table.amount.bytes += SUM_BYTES * len(rows)
        return added_up(rows, asked, partitioning, STREAM)

    @override
    def rows(self, database: LocalDatabase, asked: Sequence[KeyRange]) -> Query:
        readers = partition.readers(asked, self._connections)
        query = partial(self.strategy.images, typed=False)
        reads = SourceReads(
            self.table.source,
            STREAM,
            self.strategy.partitioning.shared(query, asked, readers) if asked else [],
            snapshot=self._sessions.snapshot,
            at_once=readers,
            session=None if self._sessions.snapshot else self._sessions.session,
            amount=self.table.amount,
        )
        found = fetch_rows(database, reads, row_fields(self.strategy.plan))
        listed = ", ".join("CAST(1 AS BIGINT) AS range_id" if n == "range_id" else n for n in found.columns)
        return Query(f"SELECT {listed} FROM ({found.sql})", found.columns)


def differing_rows(
    database: LocalDatabase, tables: Sequence[TableOperand], columns: Sequence[Sequence[Column]], keys: int
) -> tuple[list[tuple[Query, int]], RangeCounts]:
    """Return each table's possibly different rows and its row count, and the compared ranges.

    Args:
        database: Receives the rows.
        tables: Two tables that `why_complete` has no objection to.
        columns: The compared columns of each; the first are the key.
        keys: Number of key columns.

    Raises:
        UnsafeKey: A key that no index proves is not unique, or NULL.
    """
    kind, _ = kind_for(tables, [one.strategy(own, keys) for one, own in zip(tables, columns, strict=True)])
    with ExitStack() as stack:
        sides = [
            stack.enter_context(opened(one, one.strategy(own, keys, kind)))
            for one, own in zip(tables, columns, strict=True)
        ]
        return rows_that_differ(database, sides, kind)


def rows_that_differ(
    database: LocalDatabase, sides: Sequence[Side], kind: Kind
) -> tuple[list[tuple[Query, int]], RangeCounts]:
    """Return each side's possibly different rows and its row count, and the compared ranges.

    Raises:
        UnsafeKey: A key is not unique, or NULL.
    """
    side_by_side([side.check_key for side in sides])
    dirty, totals, counts = _dirty(sides, kind)
    return [(side.rows(database, own), total) for side, own, total in zip(sides, dirty, totals, strict=True)], counts


@contextmanager
def opened(table: TableOperand, strategy: IdRcs) -> Iterator[TableSide]:
    """Open a transaction that sees one state, and blocks DDL on the table."""
    connector = table.source.connector
    with table.source.read(STREAM) as session:
        lock = connector.sessions.lock_against_rewrite(strategy.plan.table)
        if lock:
            session.run(lock)
        shared = connector.supports(SupportsSnapshots)
        name = connector.require(SupportsSnapshots).export_snapshot(session.connection) if shared else None
        yield TableSide(table, strategy, SessionsOfSnapshot(table.source, STREAM, session, name))


def _dirty(sides: Sequence[Side], kind: Kind) -> tuple[list[list[KeyRange]], list[int], RangeCounts]:
    """Return of each side the dirty ranges and the number of all rows."""
    counts = RangeCounts(kind)
    fine = _buckets(sides) if kind == "hash" else _key_ranges(sides)
    starts = range(0, len(fine), GROUP) if kind == "key" and len(fine) > GROUP else []
    groups = [fine[start : start + GROUP] for start in starts]
    coarse = [KeyRange(number, group[0].lo, group[-1].hi) for number, group in enumerate(groups)] or fine
    found = _sums(sides, coarse, counts)
    totals = [sum(one.rows for one in own) for own in found]
    dirty = _unequal(found)
    if groups and dirty[0]:
        dirty = _parts(sides, dirty, groups, counts)
    counts.dirty = len(dirty[0])
    return dirty, totals, counts


def _key_ranges(sides: Sequence[Side]) -> list[KeyRange]:
    """Return fine ranges between keys of the larger table."""
    estimates = [side.estimate() for side in sides]
    rows = max(estimates)
    return sides[estimates.index(rows)].ranges(max(FINE, -(-rows // MOST)))


def _buckets(sides: Sequence[Side]) -> list[KeyRange]:
    """Return fine hash buckets; one scan answers for all, so there are no coarse ones."""
    rows = max(side.count() for side in sides)
    return hash_buckets.divided(hash_buckets.depth_for(rows, max(FINE, -(-rows // MOST))), first_id=1)


def _parts(
    sides: Sequence[Side], dirty: list[list[KeyRange]], groups: Sequence[list[KeyRange]], counts: RangeCounts
) -> list[list[KeyRange]]:
    """Return the dirty fine ranges of dirty coarse ones, or those if most rows seem to differ."""
    numbers = [one.range_id for one in dirty[0]]
    if len(numbers) > 2 * SAMPLED:
        sample = [part for number in numbers[:: len(numbers) // SAMPLED] for part in groups[number]]
        if 2 * len(_unequal(_sums(sides, sample, counts))[0]) > len(sample):
            return dirty
    return _unequal(_sums(sides, [part for number in numbers for part in groups[number]], counts))


def _sums(sides: Sequence[Side], asked: Sequence[KeyRange], counts: RangeCounts) -> list[list[KeyRange]]:
    """Return the ranges with counts and checksums of each side, computed at the same time."""
    found: list[list[KeyRange]] = [[], []]

    def ask(number: int) -> None:
        found[number] = sides[number].sums(asked)

    side_by_side([partial(ask, number) for number in range(len(sides))])
    counts.compared += len(asked)
    return found


def _unequal(found: Sequence[Sequence[KeyRange]]) -> list[list[KeyRange]]:
    """Return of each side the ranges whose counts or checksums are not equal."""
    old, new = found
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if (a.rows, a.checksum) != (b.rows, b.checksum)]
    return [[a for a, _ in pairs], [b for _, b in pairs]]
