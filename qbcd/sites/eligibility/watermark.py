"""Checks of a timestamp: is it safe, and cheap to read.

Conditions that may change later are checked by each poll too (`qbcd.sites.watermark`).
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from qbcd.catalog.source import Session, Source
from qbcd.connectors.base import Connector
from qbcd.connectors.catalog import SupportsIndexes
from qbcd.connectors.facts import Counter
from qbcd.connectors.watermarks import SupportsSystemMarks, SupportsWatermarks
from qbcd.errors import ConfigError, UnsafeWatermark
from qbcd.model import StreamPlan
from qbcd.sites.eligibility.index import STORED
from qbcd.sites.eligibility.values import Place, explained_grant
from qbcd.sites.watermark import FIRST_COUNTER, FIRST_INSTANT, read_high_water, refuse_blind
from qbcd.sql import check_steady
from qbcd.strategies import Watermarked
from qbcd.strategies.watermarked import serves


def refuse_unsafe_watermark(source: Source, session: Session, strategy: Watermarked, place: Place) -> None:
    """Refuse a timestamp that is no watermark for this role or source.

    A restriction whose result changes by itself is refused too.

    Raises:
        UnsafeWatermark: It is none.
        ConfigError: Option ``counter`` does not fit the column.
    """
    connector, conn, plan = source.connector, session.connection, strategy.plan
    check_steady(conn, connector, plan, place=place("where"))
    if strategy.system:
        problem = connector.require(SupportsSystemMarks).system_mark_problem(conn, "", plan.table)
        if problem:
            raise UnsafeWatermark(
                problem, stream=plan.stream, where=place("timestamp"), remedy="use a timestamp column, or id_rcs"
            )
        return
    refuse_blind(source, session, plan, read_high_water(source, session, plan))
    if strategy.kind == "counter":
        _refuse_counter(source, session, strategy, place)
    elif plan.option("counter"):
        raise ConfigError(
            f"timestamp {strategy.names[0]!r} is no counter",
            stream=plan.stream,
            where=place("counter"),
            remedy="remove `counter`",
        )


def _refuse_counter(source: Source, session: Session, strategy: Watermarked, place: Place) -> None:
    """Refuse numbers that come out of order, and numbers that look like a version of each row.

    See docs/design/protocol.md#rule-7, #rule-8.
    """
    plan, origins = strategy.plan, _origins(source, session, strategy)
    for column, origin in zip(strategy.timestamps, origins, strict=True):
        if origin.refused:
            raise UnsafeWatermark(
                f"column {column.name!r} is no watermark: {origin.refused}",
                stream=plan.stream,
                where=place("timestamp"),
                remedy="use a timestamp column, or id_rcs, mds or id",
            )
    if _proven(origins) or plan.option("counter"):
        return
    seen, names = session.one(strategy.repeated()), strategy.names
    what = f"column {names[0]!r}" if len(names) == 1 else f"coalesce({', '.join(names)})"
    if int(seen.rows_seen) and not int(seen.values_seen):
        raise UnsafeWatermark(
            f"{what} is NULL in every row: it shows no change",
            stream=plan.stream,
            where=place("timestamp"),
            remedy="name a column that each insert and update sets",
        )
    if int(seen.rows_seen) > 1 and seen.values_seen < seen.rows_seen and int(seen.greatest or 0) < int(seen.rows_seen):
        raise UnsafeWatermark(
            f"{what} holds {seen.values_seen} different values up to {seen.greatest} in "
            f"{seen.rows_seen} rows: it looks like a version of each row, which does not grow over the whole table",
            stream=plan.stream,
            where=place("timestamp"),
            remedy="if every change takes a number larger than all before it in the table, say  counter: table"
            if _may_be_promised(plan)
            else "use a timestamp column, or id_rcs, mds or id",
        )


def _origins(source: Source, session: Session, strategy: Watermarked) -> list[Counter]:
    watermarks = source.connector.require(SupportsWatermarks)
    return [watermarks.counter_problem(session.connection, strategy.plan.table, c) for c in strategy.timestamps]


def _proven(origins: Sequence[Counter]) -> bool:
    """Return True if the numbers are proven to grow.

    Those of several columns never are: each grows by itself.
    """
    return len(origins) == 1 and origins[0].proven


def _may_be_promised(plan: StreamPlan) -> bool:
    """Return True if the strategy lets the user guarantee that a counter grows.

    It then has the option for that.
    """
    return "counter" in dict(plan.options)


def _counter_remark(source: Source, session: Session, strategy: Watermarked) -> list[str]:
    """Return the remark that nothing proves a counter to grow over the whole table, if so."""
    if strategy.kind != "counter" or strategy.plan.option("counter"):
        return []
    if _proven(_origins(source, session, strategy)):
        return []
    promise = "; `counter: table` says that each takes a larger one" if _may_be_promised(strategy.plan) else ""
    return [
        f"nothing proves that {', '.join(strategy.names)}, an integer, grows over the whole table: a change that takes "
        f"a number not larger than all before it is missed{promise}"
    ]


# -- cost --------------------------------------------------------------------------------------------------------------
def watermark_remarks(source: Source, session: Session, strategy: Watermarked) -> list[str]:
    """Return remarks on polls that work, but cost the source more than they need to."""
    plan = strategy.plan
    if strategy.system:
        return ["no index can serve xmin: each poll reads the whole table"]
    table = plan.table
    indexes = source.connector.require(SupportsIndexes).indexes(session.connection, table)
    found = _hidden_sessions(source, session, plan)
    if table.kind in STORED and not serves(strategy, indexes):
        found.append(
            f"no index begins with {strategy.names[0]}: each poll reads the whole table "
            f"(qbcd prepare {plan.stream} --dry-run prints the index)"
        )
    elif strategy.covering:
        found += _not_index_only(source, session, strategy)
    found += _counter_remark(source, session, strategy)
    if strategy.nullable:
        found.append(f"{strategy.names[0]} may be NULL; rows without it are read at each poll")
    return found


def _hidden_sessions(source: Source, session: Session, plan: StreamPlan) -> list[str]:
    """Return the remark that polls are refused while other sessions are open, if so."""
    connector, conn = source.connector, session.connection
    if plan.option("lag") is not None or connector.require(SupportsWatermarks).sees_sessions(conn):
        return []
    role = connector.catalog.privileges(conn, plan.table, (), "").role
    grant = connector.require(SupportsWatermarks).sessions_grant(role)
    return [f"role {role} may not see other sessions: polls are refused while any are open ({grant})"]


def _not_index_only(source: Source, session: Session, strategy: Watermarked) -> list[str]:
    """Return the remark that a poll does not read the covering index alone, if so."""
    window = FIRST_COUNTER if strategy.kind == "counter" else FIRST_INSTANT
    problem = source.connector.require(SupportsIndexes).index_only(
        session.connection, strategy.plan.table, strategy.window_text(window)
    )
    return [f"polls are not answered by an index alone: {problem}"] if problem else []


# -- grants ------------------------------------------------------------------------------------------------------------
def session_grants(connector: Connector, conn: Connection, strategy: Watermarked, role: str) -> list[str]:
    """Return the GRANT to see other sessions, which a watermark needs.

    The server's own row versions need none.
    """
    if strategy.system:
        return []
    why = "to see transactions of other sessions, for the watermark"
    return [
        explained_grant(
            connector.require(SupportsWatermarks).sessions_grant(role),
            why,
            granted=connector.require(SupportsWatermarks).sees_sessions(conn),
        )
    ]


def suggestions(source: Source, session: Session, strategy: Watermarked) -> list[str]:
    """Return statements that a DBA may run for a stream that only reads its source.

    They are the GRANT of its watermark, and an index unless one serves already. Each is below a comment that says why.
    """
    connector, conn, table = source.connector, session.connection, strategy.plan.table
    role = connector.catalog.privileges(conn, table, (), "").role
    look_up = connector.require(SupportsIndexes).indexes
    missing = strategy.missing_indexes(lambda one: look_up(conn, one)) if table.kind in STORED else []
    return [
        *session_grants(connector, conn, strategy, role),
        *(f"-- recommended: without it each poll reads the whole table\n{index}" for index in missing),
    ]
