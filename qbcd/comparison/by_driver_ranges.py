"""Range checksums of two tables of which a JDBC driver reads at least one.

Both databases compute the digest that they share (`qbcd.connectors.shared_digests`), over ranges of a key of one whole
number. Each statement sees its own state: a row that is written meanwhile may be in one of them only.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from decimal import Decimal

from typing_extensions import override

from qbcd.comparison.by_ranges import RangeCounts, Side, opened, rows_that_differ
from qbcd.comparison.jdbc_operand import JdbcOperand
from qbcd.comparison.operands import TableOperand
from qbcd.comparison.tables import STREAM
from qbcd.connectors.jdbc import digests
from qbcd.connectors.shared_digests import SupportsSharedDigests
from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query, duckdb_type
from qbcd.model import Column, KeyRange
from qbcd.model.wire import wire_type
from qbcd.ranges import partition
from qbcd.ranges.integers import IntegerRanges
from qbcd.sites.eligibility import why_separate
from qbcd.spark.jdbc import explained
from qbcd.spark.jdbc_tables import JdbcSession, open_session
from qbcd.strategies import IdRcs

_WHOLE_NUMBERS = ("int16", "int32", "int64")
AT_ONCE = 4_096  # ranges of a statement
BETWEEN = -1  # id of the keys between the ranges of a statement

ComparedTable = TableOperand | JdbcOperand


def why_all_travel(tables: Sequence[ComparedTable], columns: Sequence[Sequence[Column]], keys: int) -> str:
    """Return why two tables must be read completely; empty if their databases can add up ranges.

    Args:
        columns: The compared columns of each, in the same order; the first are the key.
        keys: Number of key columns.
    """
    if keys != 1 or any(own[0].travel.kind not in _WHOLE_NUMBERS for own in columns):
        return "the key is not one whole number of up to 64 bits"
    for table, own in zip(tables, columns, strict=True):
        if why := _why_alone(table, own):
            return why
    for one, other in zip(*columns, strict=True):
        forms = [_form(table, column) for table, column in zip(tables, (one, other), strict=True)]
        if "" in forms:
            lacking = (one, other)[forms.index("")]
            return f"column {lacking.name} is {lacking.sql_type}, of which the databases compute no common digest"
        if forms[0] != forms[1]:
            return f"column {one.name} is {one.sql_type} and {other.sql_type}, with different digests of equal values"
    return ""


def _why_alone(table: ComparedTable, own: Sequence[Column]) -> str:
    """Return why a table must be read completely, whatever the other one is."""
    if isinstance(table, JdbcOperand):
        profile = table.source.profile
        if not profile.shared_digest:
            return f"{profile.product} computes no digest that another database computes too"
        is_proven = table.primary == (own[0].name,)
    else:
        connector = table.source.connector
        if not connector.supports(SupportsSharedDigests):
            return f"{connector.name} computes no digest that another database computes too"
        if table.encoding:
            return f"the encoding of the database is {table.encoding}, not UTF8"
        if why := why_separate(table):
            return why
        is_proven = table.strategy(own, 1).plan.key_is_proven
    return "" if is_proven else f"no unique index of {table.label} is known to have the key {own[0].name}"


def _form(table: ComparedTable, column: Column) -> str:
    if isinstance(table, JdbcOperand):
        return digests.shared_form(table.source.profile, column)
    return table.source.connector.require(SupportsSharedDigests).shared_form(column)


class SharedIdRcs(IdRcs):
    """Statements of ID/RCS whose checksums add up the shared digest."""

    checksum_template = "shared_digests"


class DriverSide(Side):
    """A table whose database adds up its ranges by statements of its JDBC driver.

    Args:
        columns: The compared columns; the first is the key.
        session: An open session.
    """

    def __init__(self, table: JdbcOperand, columns: Sequence[Column], session: JdbcSession) -> None:
        self._operand, self._columns, self._session = table, columns, session
        profile = table.source.profile
        self._quote, self._key = profile.quote, profile.quote(columns[0].name)

    @override
    def check_key(self) -> None:
        """Return at once: the catalog proves the key."""

    @override
    def count(self) -> int:
        [(found,)] = self._asked(f"SELECT COUNT(*) FROM {self._operand.name}")
        return int(found)

    @override
    def estimate(self) -> int:
        return self.count()

    @override
    def ranges(self, rows_per_range: int) -> list[KeyRange]:
        numbered = f"SELECT {self._key} AS k, ROW_NUMBER() OVER (ORDER BY {self._key}) - 1 AS n"
        found = self._asked(
            f"SELECT k FROM ({numbered} FROM {self._operand.name}) q "
            f"WHERE n > 0 AND MOD(n, {rows_per_range:d}) = 0 ORDER BY k"
        )
        return partition.build([(key,) for (key,) in found], first_id=1)

    @override
    def sums(self, asked: Sequence[KeyRange]) -> list[KeyRange]:
        found: dict[int, tuple[int, int]] = {}
        for start in range(0, len(asked), AT_ONCE):
            for one, rows, total in self._asked(self._sums(asked[start : start + AT_ONCE])):
                found[int(one)] = int(rows), int(Decimal(total))
        sums = [found.get(one.range_id, (0, 0)) for one in asked]
        return [replace(one, rows=rows, checksum=total) for one, (rows, total) in zip(asked, sums, strict=True)]

    def _sums(self, asked: Sequence[KeyRange]) -> str:
        profile, division = self._operand.source.profile, _division(asked)
        digest = digests.shared_digest(profile, self._columns)
        rows = (
            f"SELECT {division.of(self._key)} AS r, {digest} AS d FROM {self._operand.name} "
            f"WHERE {division.within(self._key, [one.range_id for one in asked])}"
        )
        return f"SELECT r, COUNT(*), {profile.total.replace('{digest}', 'd')} FROM ({rows}) q GROUP BY r"

    def _asked(self, select: str) -> list[tuple[str, ...]]:
        """Return the texts of the values of a small result without NULL."""
        source = self._operand.source
        found = explained(lambda: self._session.texts(select), lambda error: source.explain(error, STREAM))
        return [tuple(value or "" for value in row) for row in found]

    @override
    def rows(self, database: LocalDatabase, asked: Sequence[KeyRange]) -> Query:
        if not asked:
            return _no_rows(self._columns)
        within = _division(asked).within(self._key, [one.range_id for one in asked])
        found, _ = self._operand.load_some(database, self._columns, 1, within)
        return found


def _no_rows(columns: Sequence[Column]) -> Query:
    types = {"range_id": "BIGINT", "key_id": "BLOB", "digest": "BIGINT"}
    types |= {f"c{i}": duckdb_type(wire_type(column.travel)) for i, column in enumerate(columns)}
    listed = ", ".join(f"CAST(NULL AS {kind}) AS {name}" for name, kind in types.items())
    return Query(f"SELECT {listed} WHERE FALSE", tuple(types))


def _division(asked: Sequence[KeyRange]) -> IntegerRanges:
    """Return ranges as a division of all keys; those in none of them have the id `BETWEEN`."""
    ids: list[int] = []
    bounds: list[int] = []
    end: int | None = None  # of the range before
    for one in sorted(asked, key=lambda one: int(one.lo[0]) if one.lo else -(1 << 64)):
        lo, hi = (int(text[0]) if text else None for text in (one.lo, one.hi))
        if lo is not None and (not ids or end != lo):
            bounds += [] if end is None else [end]
            ids.append(BETWEEN)
        bounds += [] if lo is None else [lo]
        ids.append(one.range_id)
        end = hi
    if end is not None:
        bounds.append(end)
        ids.append(BETWEEN)
    return IntegerRanges(tuple(ids), tuple(bounds))


def differing_rows_by_driver(
    database: LocalDatabase, tables: Sequence[ComparedTable], columns: Sequence[Sequence[Column]]
) -> tuple[list[tuple[Query, int]], RangeCounts]:
    """Return each table's possibly different rows and its row count, and the compared ranges.

    Args:
        tables: Two tables that `why_all_travel` has no objection to.
        columns: The compared columns of each; the first is the key.
    """
    with ExitStack() as stack:
        sides = [stack.enter_context(_opened(one, own)) for one, own in zip(tables, columns, strict=True)]
        return rows_that_differ(database, sides, "key")


@contextmanager
def _opened(table: ComparedTable, columns: Sequence[Column]) -> Iterator[Side]:
    if isinstance(table, JdbcOperand):
        with open_session(table.java, table.source) as session:
            yield DriverSide(table, columns, session)
        return
    plan = table.strategy(columns, 1).plan
    with opened(table, SharedIdRcs(table.source.connector, plan)) as side:
        yield side
