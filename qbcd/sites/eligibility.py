"""Whether a table and a role can carry a strategy of the source's own site: looked at by `check` and before `prepare`.

What a poll must not go on without is looked at by each poll too, where it is read (`windows`).
"""

from __future__ import annotations

from collections.abc import Callable

from sqlalchemy.engine import Connection
from sqlalchemy.exc import DBAPIError

from qbcd.catalog.source import Session, Source
from qbcd.connectors.base import Connector
from qbcd.connectors.catalog import SupportsIndexes, SupportsTableWrites
from qbcd.connectors.queries import SupportsQueryColumns
from qbcd.connectors.watermarks import SupportsSystemMarks, SupportsWatermarks
from qbcd.errors import ConfigError, MissingPrivilege, Refused, UnsafeWatermark
from qbcd.model import StreamPlan
from qbcd.sites.watermark import refuse_blind
from qbcd.sql import check_steady
from qbcd.strategies import (
    Atdi,
    ByRanges,
    InSource,
    Strategy,
    Tdi,
    Tlcs,
    VbdCompare,
    VbdDelta,
    Watermarked,
    why_not_delta,
)
from qbcd.strategies.watermarked import serves
from qbcd.watermark import Window

Place = Callable[[str], str]
STORED = ("table", "partitioned")
ANY_WINDOW = Window("1970-01-01 00:00:00.000000", "1970-01-01 00:00:01.000000")
ANY_NUMBERS = Window("0", "1")


def refuse_unfit(source: Source, session: Session, strategy: InSource, place: Place) -> None:
    """Refuses what cannot work, before anything is made.

    Raises:
        UnsafeWatermark: Time-stamps of this source are no watermark for this role.
        MissingPrivilege: The role lacks a right that the options need.
        Refused: The table cannot be read as the strategy reads it.
    """
    if isinstance(strategy, Watermarked) and strategy.poll_mode == "window":
        refuse_mark(source, session, strategy, place)
    if isinstance(strategy, VbdDelta):
        _refuse_otherwise(source, session, strategy, place)
        for lineage in strategy.lineages:
            if lineage.marked is not None:
                refuse_mark(source, session, lineage.marked, lambda option: place("timestamps"))
    _refuse_rights(source, session, strategy, place)
    if isinstance(strategy, ByRanges) and strategy.by_ranges and strategy.plan.table.kind in STORED:
        _refuse_unordered(source, session, strategy, place)


def _refuse_otherwise(source: Source, session: Session, strategy: VbdDelta, place: Place) -> None:
    """Refuses a query whose result is of other columns where it is written with views in their places."""
    connector, conn, plan = source.connector, session.connection, strategy.plan
    written = strategy.skeleton.prepared.tree.sql(dialect=connector.dialect)
    try:
        ours, theirs = (
            connector.require(SupportsQueryColumns).query_columns(conn, written),
            connector.require(SupportsQueryColumns).query_columns(conn, plan.table.query),
        )
        told = [(c.name, c.sql_type, c.collation) for c in ours], [(c.name, c.sql_type, c.collation) for c in theirs]
        problem = "" if told[0] == told[1] else f"the source takes its columns for {told[0]}, and not {told[1]}"
    except DBAPIError as error:
        problem = source.explain(error, plan.stream).what
    if problem:
        raise Refused(
            f"variant delta cannot write the query in the form that it needs: {problem}",
            stream=plan.stream,
            where=place("variant"),
            remedy="take variant compare or checksum",
        )


def refuse_mark(source: Source, session: Session, strategy: Watermarked, place: Place) -> None:
    """Refuses a time-stamp that is no watermark for this role or in this source, and a restriction that moves alone."""
    connector, conn, plan = source.connector, session.connection, strategy.plan
    check_steady(conn, connector, plan, place=place("where"))
    if strategy.system:
        problem = connector.require(SupportsSystemMarks).system_mark_problem(conn, "", plan.table)
        if problem:
            raise UnsafeWatermark(
                problem, stream=plan.stream, where=place("timestamp"), remedy="use a time-stamp column, or id_rcs"
            )
        return
    refuse_blind(source, session, plan, connector.require(SupportsWatermarks).high_water(conn).blind)
    if strategy.kind == "counter":
        _refuse_counter(source, session, strategy, place)
    elif plan.option("counter"):
        raise ConfigError(
            f"time-stamp {strategy.names[0]!r} is no counter",
            stream=plan.stream,
            where=place("counter"),
            remedy="remove `counter`",
        )


def _refuse_counter(source: Source, session: Session, strategy: Watermarked, place: Place) -> None:
    """Refuses numbers that come out of order, and those that look like a version of each row.

    See docs/design/protocol.md#rule-7, #rule-8.
    """
    plan, column = strategy.plan, strategy.marks[0]
    told = source.connector.require(SupportsWatermarks).counter_problem(session.connection, plan.table, column)
    if told.refused:
        raise UnsafeWatermark(
            f"column {column.name!r} is no watermark: {told.refused}",
            stream=plan.stream,
            where=place("timestamp"),
            remedy="use a time-stamp column, or id_rcs, mds or id",
        )
    if told.vouched or plan.option("counter"):
        return
    seen = session.one(strategy.repeated())
    if int(seen.rows_seen) and not int(seen.values_seen):
        raise UnsafeWatermark(
            f"column {column.name!r} is NULL in every row: it tells of no change",
            stream=plan.stream,
            where=place("timestamp"),
            remedy="name a column that each insert and update sets",
        )
    if int(seen.rows_seen) > 1 and seen.values_seen < seen.rows_seen and int(seen.greatest or 0) < int(seen.rows_seen):
        raise UnsafeWatermark(
            f"column {column.name!r} holds {seen.values_seen} different values up to {seen.greatest} in "
            f"{seen.rows_seen} rows: it looks like a version of each row, which does not grow over the whole table",
            stream=plan.stream,
            where=place("timestamp"),
            remedy="if every change takes a number larger than all before it in the table, say  counter: table",
        )


def _refuse_rights(source: Source, session: Session, strategy: InSource, place: Place) -> None:
    connector, conn, table = source.connector, session.connection, strategy.plan.table
    lacking, option = "", "type"
    if isinstance(strategy, Tdi) and strategy.purges:
        lacking, option = connector.require(SupportsTableWrites).write_rights(conn, table, delete=True), "purge"
    elif isinstance(strategy, Tlcs) and strategy.column:
        lacking, option = (
            connector.require(SupportsTableWrites).write_rights(conn, table, update=[strategy.column]),
            "checksum_column",
        )
    if not lacking and isinstance(strategy, Tdi) and strategy.plan.option("create_index"):
        lacking, option = connector.require(SupportsIndexes).index_right(conn, table), "create_index"
    if lacking:
        raise MissingPrivilege(
            f"{lacking}, which option {option} needs",
            stream=strategy.plan.stream,
            where=place(option),
            remedy="grant it, or take the option out",
        )


def _refuse_unordered(source: Source, session: Session, strategy: InSource, place: Place) -> None:
    """Refuses a key without an index in its order: each range would read the whole table."""
    plan = strategy.plan
    first = plan.key[0].name
    indexes = source.connector.require(SupportsIndexes).indexes(session.connection, plan.table)
    if any(i.ordered and not i.partial and i.columns[:1] == (first,) for i in indexes):
        return
    other = next((i.name for i in indexes if i.columns[:1] == (first,)), "")
    why = f"index {other} cannot answer an interval of keys" if other else f"no index begins with {first}"
    raise Refused(
        f"key ({', '.join(c.name for c in plan.key)}) of {plan.table.schema}.{plan.table.name} has no index in its "
        f"order ({why}), so that each range would read the whole table",
        stream=plan.stream,
        where=place("type"),
        remedy="create one, or use mds or id_rcs",
    )


# -- what is dearer than it needs to be --------------------------------------------------------------------------------
def _blind_later(source: Source, session: Session, plan: StreamPlan) -> list[str]:
    """That other sessions, of which none may be open now, will hide how far time-stamps are complete."""
    connector, conn = source.connector, session.connection
    if plan.option("lag") is not None or connector.require(SupportsWatermarks).sees_sessions(conn):
        return []
    role = connector.catalog.privileges(conn, plan.table, (), "").role
    grant = connector.require(SupportsWatermarks).sessions_grant(role)
    return [f"role {role} may not see other sessions: polls are refused while any are open ({grant})"]


def remarks(source: Source, session: Session, strategy: InSource) -> list[str]:
    """What works, and costs more than it needs to."""
    plan = strategy.plan
    if isinstance(strategy, VbdCompare) and not isinstance(strategy, VbdDelta):
        return not_delta(strategy)
    if isinstance(strategy, VbdDelta):
        marked = [lineage.marked for lineage in strategy.lineages if lineage.marked is not None]
        return [f"{one.plan.table.label}: {told}" for one in marked for told in remarks(source, session, one)]
    if not isinstance(strategy, Watermarked) or strategy.poll_mode != "window":
        return []
    if strategy.system:
        return ["no index can serve xmin: each poll reads the whole table"]
    table = plan.table
    indexes = source.connector.require(SupportsIndexes).indexes(session.connection, table)
    found = _blind_later(source, session, plan)
    if table.kind in STORED and not serves(strategy, indexes):
        found.append(
            f"no index begins with {strategy.names[0]}: each poll reads the whole table "
            f"(qbcd prepare {plan.stream} --dry-run prints the index)"
        )
    elif isinstance(strategy, Atdi):
        found += _spoilt(source, session, strategy)
    if strategy.nullable:
        found.append(f"{strategy.names[0]} may be NULL; rows without it are read at each poll")
    return found


def not_delta(strategy: Strategy) -> list[str]:
    """Why a query that names time-stamps is not followed by them."""
    plan = strategy.plan
    if not plan.table.query or not plan.option("timestamps"):
        return []
    why = why_not_delta(strategy.connector, plan)
    if why:
        return [f"`timestamps` are of no use, since variant delta cannot follow: {why}"]
    return [
        f"`timestamps` are of no use to {strategy.label}; variant delta could follow the query where the role may make "
        "tables in qbcd's schema (`variant: delta` says what is missing; a prepared stream is reset first)"
    ]


def _spoilt(source: Source, session: Session, strategy: Atdi) -> list[str]:
    """What keeps polls from being answered by the covering index alone, by the source's own plan."""
    window = ANY_NUMBERS if strategy.kind == "counter" else ANY_WINDOW
    problem = source.connector.require(SupportsIndexes).index_only(
        session.connection, strategy.plan.table, strategy.window_text(window)
    )
    return [f"polls are not answered by an index alone: {problem}"] if problem else []


def grants(connector: Connector, conn: Connection, strategy: InSource, role: str) -> list[str]:
    """A GRANT for each right that the stream's options ask for, below a comment that says why, and whether it is held.

    Args:
        connector: The source's.
        conn: A session of the role.
        strategy: The stream's.
        role: As the server calls it.
    """
    table, found = strategy.plan.table, []
    if isinstance(strategy, Watermarked) and strategy.poll_mode == "window":
        found += sessions(connector, conn, strategy, role)
    if isinstance(strategy, VbdDelta):
        marked = [lineage.marked for lineage in strategy.lineages if lineage.marked is not None]
        found += dict.fromkeys(grant for one in marked for grant in sessions(connector, conn, one, role))
    if isinstance(strategy, Tdi) and strategy.purges:
        held = not connector.require(SupportsTableWrites).write_rights(conn, table, delete=True)
        grant = connector.require(SupportsTableWrites).write_grant(table, role, delete=True)
        found.append(_explained(grant, "to remove flagged rows, for purge", held=held))
    if isinstance(strategy, Tlcs) and strategy.column:
        held = not connector.require(SupportsTableWrites).write_rights(conn, table, update=[strategy.column])
        grant = connector.require(SupportsTableWrites).write_grant(table, role, update=[strategy.column])
        found.append(_explained(grant, "to keep the checksums, and nothing else of the table", held=held))
    return found


def sessions(connector: Connector, conn: Connection, strategy: Watermarked, role: str) -> list[str]:
    """The GRANT by which a watermark sees what other sessions do; none for the server's own versions of its rows."""
    if strategy.system:
        return []
    why = "to see transactions of other sessions, for the watermark"
    return [
        _explained(
            connector.require(SupportsWatermarks).sessions_grant(role),
            why,
            held=connector.require(SupportsWatermarks).sees_sessions(conn),
        )
    ]


def _explained(grant: str, why: str, *, held: bool) -> str:
    """The statement below its comment, whose words hold no name: a line break in one would end the comment."""
    return f"-- {why}{'; the role has this right already' if held else ''}\n{grant}"
