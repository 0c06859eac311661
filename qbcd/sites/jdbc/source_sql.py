"""Statements of a stream for a source with a JDBC driver alone, in the SQL of its profile."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qbcd.catalog.jdbc import JdbcSource
from qbcd.connectors.jdbc import digests
from qbcd.connectors.jdbc.digests import HashedValue
from qbcd.errors import Refused
from qbcd.local.travelled import DIGEST, RANGE, SHOWN, Division
from qbcd.model import Column, StreamPlan
from qbcd.ranges.integers import IntegerRanges
from qbcd.strategies import WholeRows

# facts of a column: SQL of its value, Spark's type of it, and that it is the database's own text of another type
READ, SPARK, AS_TEXT = "read", "spark", "as_text"
WIDTH = "width"  # fact of a column: bytes of a value, at most about


def value_of(source: JdbcSource, column: Column) -> str:
    """Return SQL of a column's value."""
    return column.fact(READ).replace("{c}", source.profile.quote(column.name))


def hashed(source: JdbcSource, columns: Sequence[Column]) -> list[HashedValue]:
    """Return the values of columns for the digest of a row."""
    return [HashedValue(c.name, c.base_type, c.fact(SPARK), value_of(source, c)) for c in columns]


def select_of(source: JdbcSource, plan: StreamPlan, columns: Sequence[Column] | None = None) -> str:
    """Return the SELECT of all captured rows, whose columns are c0..cn.

    Args:
        columns: These only; None: all captured ones.

    Raises:
        Refused: A name cannot be quoted.
    """
    return _select(source, plan, _values(source, plan, plan.captured if columns is None else columns))


def rows_of(source: JdbcSource, plan: StreamPlan, division: Division | None, ids: Sequence[int] | None) -> str:
    """Return the SELECT of captured rows.

    If the database digests them, they have their digest, and their hash bucket, if there are any.

    Args:
        division: The ranges; None for an integer key at the baseline.
        ids: Ids of the ranges to read; None for all, as always with hash buckets that the database does not know.
    """
    added_up, outputs = WholeRows(plan).added_up, _values(source, plan, plan.captured)
    if added_up:
        outputs.append((_digest(source, plan), DIGEST))
    if division is None:
        return _select(source, plan, outputs)
    if isinstance(division, IntegerRanges):
        key = plan.key[0]
        within = "" if ids is None else division.within(value_of(source, key), ids, nulls=key.nullable)
        return _select(source, plan, outputs, within)
    if not added_up:
        return _select(source, plan, outputs)
    rows = _select(source, plan, [*outputs, (_range(source, plan, division), RANGE)])
    if ids is None:
        return rows
    chosen = ", ".join(f"{one:d}" for one in ids)
    return f"SELECT * FROM (\n{rows}\n) q WHERE {source.profile.quote(RANGE)} IN ({chosen})"


def window_of(source: JdbcSource, plan: StreamPlan, division: Division, since: str, *, count: bool) -> str:
    """Return the SELECT of all rows since a moment, and of those without a timestamp.

    `SHOWN` says if the restriction holds. Digest and bucket are as in `rows_of`, if the database computes them.

    Args:
        since: The moment, as text in the zone of the column.
        count: Only the number of these rows.
    """
    profile = source.profile
    names = [profile.quote(name) for name in plan.option("timestamp")]
    value = f"COALESCE({', '.join(names)})" if names[1:] else names[0]
    within = f"{value} >= {profile.moment.replace('{t}', since)} OR {value} IS NULL"
    everything = replace(plan, where="")
    if count:
        return count_of(source, everything, within)
    shown = f"CASE WHEN (\n{plan.where}\n) THEN 1 ELSE 0 END" if plan.where else "1"
    outputs = [*_values(source, plan, plan.captured), (shown, SHOWN)]
    if WholeRows(plan).added_up:
        outputs.append((_digest(source, plan), DIGEST))
        outputs += [] if isinstance(division, IntegerRanges) else [(_range(source, plan, division), RANGE)]
    return _select(source, everything, outputs, within)


def clock_of(source: JdbcSource) -> str:
    """Return the query for the database's clock, as text in UTC."""
    profile = source.profile
    return f"SELECT {profile.clock} AS {profile.quote('c0')}{profile.from_nothing}"


def sums_of(source: JdbcSource, plan: StreamPlan, division: Division) -> str:
    """Return the query for the sums of each range with rows.

    They are its id, its rows, the sum of their digests, and the rows whose key is NULL.
    """
    nulls = " OR ".join(f"{value_of(source, c)} IS NULL" for c in plan.key)
    null = f"CASE WHEN {nulls} THEN 1 ELSE 0 END" if nulls else "0"
    rows = _select(
        source, plan, [(_range(source, plan, division), RANGE), (_digest(source, plan), DIGEST), (null, "n")]
    )
    quote = source.profile.quote
    total = source.profile.total.replace("{digest}", quote(DIGEST))
    found = f"{quote(RANGE)} AS {quote('c0')}, COUNT(*) AS {quote('c1')}, {total} AS {quote('c2')}"
    return f"SELECT {found}, SUM({quote('n')}) AS {quote('c3')} FROM (\n{rows}\n) q GROUP BY {quote(RANGE)}"


def total_of(source: JdbcSource, plan: StreamPlan) -> str:
    """Return the query for the number of all captured rows, and the sum of their digests."""
    quote = source.profile.quote
    total = source.profile.total.replace("{digest}", quote(DIGEST))
    rows = _select(source, plan, [(_digest(source, plan), DIGEST)])
    return f"SELECT COUNT(*) AS {quote('c0')}, {total} AS {quote('c1')} FROM (\n{rows}\n) q"


def count_of(source: JdbcSource, plan: StreamPlan, within: str = "") -> str:
    """Return the query for the number of captured rows, under a further condition."""
    quote = source.profile.quote
    return f"SELECT COUNT(*) AS {quote('c0')} FROM (\n{_select(source, plan, [('1', 'n')], within)}\n) q"


def fingerprint(source: JdbcSource, plan: StreamPlan) -> str:
    """Return the fingerprint of the database's row digest; empty if it cannot compute one."""
    values = hashed(source, plan.captured)
    return "" if digests.problem(source.profile, values) else digests.fingerprint(source.profile, values)


def _values(source: JdbcSource, plan: StreamPlan, columns: Sequence[Column]) -> list[tuple[str, str]]:
    try:
        return [(value_of(source, c), f"c{i}") for i, c in enumerate(columns)]
    except ValueError as error:
        raise Refused(str(error), stream=plan.stream, remedy="capture a view with other names") from None


def _digest(source: JdbcSource, plan: StreamPlan) -> str:
    return digests.digest(source.profile, hashed(source, plan.captured))


def _range(source: JdbcSource, plan: StreamPlan, division: Division) -> str:
    if isinstance(division, IntegerRanges):
        return division.of(value_of(source, plan.key[0]))
    values = hashed(source, plan.key or plan.captured)  # rows without a key are found by all their values
    return digests.bucket(source.profile, values, division.first, division.count)


def _select(source: JdbcSource, plan: StreamPlan, outputs: Sequence[tuple[str, str]], within: str = "") -> str:
    """Return a SELECT of captured rows.

    Args:
        outputs: SQL and name of each column.
        within: A further condition.
    """
    profile = source.profile
    try:
        table = profile.quoted_table(plan.table.schema, plan.table.name) if not plan.table.query else ""
    except ValueError as error:
        raise Refused(str(error), stream=plan.stream, remedy="capture a view with other names") from None
    rows = f"(\n{plan.table.query}\n) q" if plan.table.query else table
    conditions = [*([f"(\n{plan.where}\n)"] if plan.where else []), *([f"({within})"] if within else [])]
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    listed = ", ".join(f"{value} AS {profile.quote(name)}" for value, name in outputs)
    return f"SELECT {listed} FROM {rows}{where}"
