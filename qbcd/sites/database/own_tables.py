"""qbcd's own tables of a stream in the source: made at prepare, perhaps by a DBA, and dropped at reset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import table as lightweight
from sqlalchemy.engine import Connection

from qbcd.catalog.query_table import rights_of
from qbcd.connectors.base import Connector, Index
from qbcd.connectors.catalog import SupportsIndexes
from qbcd.errors import MissingPrivilege, StateConflict
from qbcd.model import StreamPlan, Table
from qbcd.sites import eligibility
from qbcd.state.bootstrap import holds_rows
from qbcd.strategies import InSource, Tdi, VbdDelta, Watermarked
from qbcd.strategies.in_source import own_tables, sql_name
from qbcd.strategies.incremental.lineage import lineage_tables

if TYPE_CHECKING:
    from qbcd.sites.database.context import DatabaseContext
    from qbcd.sites.values import LeasedStream


def create(context: DatabaseContext, plan: StreamPlan) -> None:
    """Makes schema and store, and the index that the user asks for; repeatable."""
    with context.reading() as conn:  # looked at again by each poll; here nothing is made
        context.source.connector.catalog.check_in_source(
            conn, plan.table, stream=context.stream, own=context.own_names(plan)
        )
    with _told(context, plan), context.writing() as conn:
        context.store.create(conn)
        context.store.foreign_project(conn, context.project.project_id, context.stream)
    if plan.option("create_index"):
        _make_index(context, plan)


def make_tables(context: DatabaseContext, plan: StreamPlan, held: LeasedStream) -> None:
    """Makes the stream's tables; those of an earlier prepare that was never finished go, if their columns differ.

    Under the lease, and not before: what looks unfinished may belong to a prepare that is about to commit.
    """
    strategy, connector = context.strategy(plan), context.source.connector
    tables, statements = list(zip(strategy.tables(), strategy.ddl(), strict=True)), []
    with context.reading() as conn:
        own = [table.name for table, _ in tables]
        standing = dict(zip(own, connector.catalog.probe_tables(conn, own), strict=True))
        _refuse_left(context, conn, [name for name, found in standing.items() if found])
    if any((found := standing[table.name]) and _layout(found) != table.layout for table, _ in tables):
        names = {*own_tables(context.source.schema, context.stream), *standing}
        statements, standing = [_drop(connector, name) for name in sorted(names)], {}
    # IF NOT EXISTS asks for the right to create even where a DBA has made the table
    statements += [statement for table, statement in tables if not standing.get(table.name)]
    if isinstance(strategy, VbdDelta):
        statements += strategy.indexes()
    with _told(context, plan):
        run_alone(context, statements, held)


def _refuse_left(context: DatabaseContext, conn: Connection, standing: Sequence[tuple[str, str]]) -> None:
    """Refuses a stream without baseline whose tables hold rows: its row has gone, and with it what they rest on."""
    if context.store.holds(conn, context.stream) or holds_rows(conn, [lightweight(n, schema=s) for s, n in standing]):
        raise StateConflict(
            f"its own tables in schema {context.source.schema} hold rows, though it was never prepared: its row in "
            "table stream has been deleted",
            stream=context.stream,
            remedy=f"restore it, or qbcd reset {context.stream} --discard and prepare it again; consumers must reload",
        )


def reads_alone(plan: StreamPlan) -> str:
    """What a role can take that may create nothing."""
    return f"{'variant checksum' if plan.table.query else 'strategy id_rcs'} needs only SELECT"


@contextmanager
def _told(context: DatabaseContext, plan: StreamPlan) -> Iterator[None]:
    """Says what a role without the right to create can do."""
    source = context.source
    try:
        yield
    except MissingPrivilege as error:
        raise MissingPrivilege(
            f"no right to create tables in schema {source.schema} of source {source.name} ({error.what})",
            stream=context.stream,
            remedy=f"qbcd prepare --dry-run prints the DDL for a DBA; {reads_alone(plan)}",
        ) from error


def ddl(context: DatabaseContext, plan: StreamPlan) -> list[str]:
    """All DDL that `create` runs or that a DBA may want to run: tables, rights, the index on the time-stamp."""
    connector, schema = context.source.connector, context.source.schema
    strategy = context.strategy(plan)
    with context.reading() as conn:
        role = rights_of(connector, conn, plan.table, [c.name for c in plan.captured], schema).role
        return [
            *context.store.ddl(conn),
            *strategy.ddl(),
            *connector.ddl.grants(schema, role),
            *eligibility.grants(connector, conn, strategy, role),
            *_index_ddl(strategy, lambda table: connector.require(SupportsIndexes).indexes(conn, table)),
        ]


def _index_ddl(strategy: InSource, indexes: Callable[[Table], Sequence[Index]]) -> list[str]:
    """The index that a window is read by, unless one serves, and a view that hides flagged rows from users."""
    made = []
    if isinstance(strategy, Watermarked) and strategy.marks and not strategy.has_index(indexes(strategy.plan.table)):
        made.append(strategy.index())
    if isinstance(strategy, Tdi):
        made.append(strategy.view())
    if isinstance(strategy, VbdDelta):
        made += strategy.indexes()
        marked = [lineage for lineage in strategy.lineages if lineage.marked is not None and lineage.marked.marks]
        made += [one.mark_index() for one in marked if not one.has_mark_index(indexes(one.table))]
    return made


def stands(context: DatabaseContext, plan: StreamPlan) -> bool:
    """Whether all that `prepare` makes is there, whoever made it."""
    connector = context.source.connector
    with context.reading() as conn:
        own = [table.name for table in context.strategy(plan).tables()]
        return context.store.exists(conn) and all(connector.catalog.probe_tables(conn, own))


def forget(context: DatabaseContext, held: LeasedStream) -> None:
    """Drops the stream's tables; those that a DBA made are emptied."""
    connector, tables = context.source.connector, own_tables(context.source.schema, context.stream)
    with context.reading() as conn:  # only variant delta has them, and a stream is forgotten without its plan
        tables += _standing(connector, conn, lineage_tables(context.source.schema, context.stream))
    try:
        run_alone(context, [_drop(connector, table) for table in tables], held)
    except MissingPrivilege:
        # A DBA made the tables, and they are the DBA's to drop; their rows are ours.
        with context.reading() as conn:
            standing = _standing(connector, conn, tables)
        run_alone(context, [f"DELETE FROM {sql_name(connector, table)}" for table in standing], held)


def _standing(connector: Connector, conn: Connection, names: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [name for name, table in zip(names, connector.catalog.probe_tables(conn, names), strict=True) if table]


def _drop(connector: Connector, table: tuple[str, str]) -> str:
    return f"DROP TABLE IF EXISTS {sql_name(connector, table)}"


def _layout(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(c.name for c in table.columns), table.primary_key


def _make_index(context: DatabaseContext, plan: StreamPlan) -> None:
    strategy = context.strategy(plan)
    assert isinstance(strategy, Watermarked)
    try:
        with context.source.write(context.stream) as session:
            if not strategy.has_index(
                context.source.connector.require(SupportsIndexes).indexes(session.connection, plan.table)
            ):
                session.run(strategy.index())
    except MissingPrivilege as error:
        raise MissingPrivilege(
            f"no right to create the index ({error.what})",
            stream=context.stream,
            remedy=f"qbcd prepare {context.stream} --dry-run prints it for a DBA; once it is there, it is used",
        ) from error


def run_alone(context: DatabaseContext, statements: Sequence[str], held: LeasedStream) -> None:
    """Runs repeatable statements in a transaction of their own, while another session holds the stream's row.

    DDL may commit by itself, and would let the row go with the first statement: whoever had taken the stream over by
    then would meet the others.
    """
    row = held.row
    with context.writing() as guard:
        context.store.lock(guard, context.stream, context.project.project_id, row.version, row.fencing_token)
        with context.source.write(context.stream) as session:
            for statement in statements:
                held.keeper.check()
                session.run(statement)
