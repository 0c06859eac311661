"""qbcd's own tables of a stream in the source: created by prepare or a DBA, dropped by reset."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import table as lightweight
from sqlalchemy.engine import Connection

from qbcd.connectors.base import Connector
from qbcd.connectors.catalog import SupportsIndexes
from qbcd.errors import MissingPrivilege, StateConflict
from qbcd.model import StreamPlan, Table
from qbcd.sites import eligibility
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.values import LeasedStream
from qbcd.state.bootstrap import holds_rows
from qbcd.strategies.in_source import own_tables, sql_name

if TYPE_CHECKING:
    from qbcd.strategies import Watermarked


# -- create ------------------------------------------------------------------------------------------------------------
def create(context: DatabaseContext, plan: StreamPlan) -> None:
    """Create schema and store, and the index that the user wants; repeatable."""
    with context.reading() as conn:  # each poll checks this too; here nothing is created yet
        context.source.connector.catalog.check_in_source(
            conn, plan.table, stream=context.stream, own=context.own_names(plan)
        )
    with _explaining_rights(context, plan), context.writing() as conn:
        context.store.create(conn)
        context.store.foreign_project(conn, context.project.project_id, context.stream)
    if plan.option("create_index"):
        _create_index(context, plan)


def create_tables(context: DatabaseContext, plan: StreamPlan, leased: LeasedStream) -> None:
    """Create the stream's tables.

    Tables of an unfinished `prepare` are dropped first if their columns differ.

    Call it under the lease: tables that look unfinished may belong to a `prepare` that is about to commit.
    """
    strategy, connector = context.strategy(plan), context.source.connector
    tables, statements = list(zip(strategy.tables(), strategy.ddl(), strict=True)), []
    with context.reading() as conn:
        own = [table.name for table, _ in tables]
        present = dict(zip(own, connector.catalog.probe_tables(conn, own), strict=True))
        _refuse_orphaned(context, conn, [name for name, found in present.items() if found])
    if any((found := present[table.name]) and _layout(found) != table.layout for table, _ in tables):
        names = {*own_tables(context.source.schema, context.stream), *present}
        statements, present = [_drop(connector, name) for name in sorted(names)], {}
    # IF NOT EXISTS needs the right to create even if a DBA has created the table
    statements += [statement for table, statement in tables if not present.get(table.name)]
    statements += strategy.indexes()
    with _explaining_rights(context, plan):
        run_alone(context, statements, leased)


def _refuse_orphaned(context: DatabaseContext, conn: Connection, present: Sequence[tuple[str, str]]) -> None:
    """Refuse tables with rows of a stream without baseline: its row was deleted."""
    if context.store.holds(conn, context.stream) or holds_rows(conn, [lightweight(n, schema=s) for s, n in present]):
        raise StateConflict(
            f"its own tables in schema {context.source.schema} hold rows, though it was never prepared: its row in "
            "table stream has been deleted",
            stream=context.stream,
            remedy=f"restore it, or qbcd reset {context.stream} --discard and prepare it again; consumers must reload",
        )


def _create_index(context: DatabaseContext, plan: StreamPlan) -> None:
    connector = context.source.connector
    try:
        with context.source.write(context.stream) as session:
            for statement in context.strategy(plan).missing_indexes(
                lambda table: connector.require(SupportsIndexes).indexes(session.connection, table)
            ):
                session.run(statement)
    except MissingPrivilege as error:
        raise MissingPrivilege(
            f"no right to create the index ({error.what})",
            stream=context.stream,
            remedy=f"qbcd prepare {context.stream} --dry-run prints it for a DBA; once it is there, it is used",
        ) from error


@contextmanager
def _explaining_rights(context: DatabaseContext, plan: StreamPlan) -> Iterator[None]:
    """Add to errors the choices of a role without the right to create tables."""
    source = context.source
    try:
        yield
    except MissingPrivilege as error:
        raise MissingPrivilege(
            f"no right to create tables in schema {source.schema} of source {source.name} ({error.what})",
            stream=context.stream,
            remedy=f"qbcd prepare --dry-run prints the DDL for a DBA; {select_only_choice(plan)}",
        ) from error


def select_only_choice(plan: StreamPlan) -> str:
    """Return the sentence that names a strategy or variant for a role that may create nothing."""
    return f"{'variant checksum' if plan.table.query else 'strategy id_rcs'} needs only SELECT"


# -- for a DBA ---------------------------------------------------------------------------------------------------------
def ddl(context: DatabaseContext, plan: StreamPlan, watermarks: Sequence[Watermarked]) -> list[str]:
    """Return all DDL that `create` runs or that a DBA may want to run.

    These are tables, grants, indexes and a view.

    Args:
        context: The stream's.
        plan: Its plan.
        watermarks: The stream's timestamps.
    """
    connector, schema = context.source.connector, context.source.schema
    strategy = context.strategy(plan)
    from qbcd.catalog.query_table import rights_of

    with context.reading() as conn:
        role = rights_of(connector, conn, plan.table, [c.name for c in plan.captured], schema).role
        return [
            *context.store.ddl(conn),
            *strategy.ddl(),
            *connector.ddl.grants(schema, role),
            *eligibility.grants(connector, conn, strategy, watermarks, role),
            *strategy.indexes(),
            *strategy.missing_indexes(lambda table: connector.require(SupportsIndexes).indexes(conn, table)),
            *strategy.views(),
        ]


def exist(context: DatabaseContext, plan: StreamPlan) -> bool:
    """Return True if everything that `prepare` creates exists, also if a DBA created it."""
    connector = context.source.connector
    with context.reading() as conn:
        own = [table.name for table in context.strategy(plan).tables()]
        return context.store.exists(conn) and all(connector.catalog.probe_tables(conn, own))


# -- reset -------------------------------------------------------------------------------------------------------------
def forget(context: DatabaseContext, leased: LeasedStream) -> None:
    """Drop the stream's tables; empty those that a DBA created."""
    connector, tables = context.source.connector, own_tables(context.source.schema, context.stream)
    from qbcd.strategies.incremental.lineage import lineage_tables

    with context.reading() as conn:  # only variant delta has lineages, and a reset knows no plan
        tables += _existing(connector, conn, lineage_tables(context.source.schema, context.stream))
    try:
        run_alone(context, [_drop(connector, table) for table in tables], leased)
    except MissingPrivilege:
        # A DBA owns the tables, so only their rows are deleted.
        with context.reading() as conn:
            existing = _existing(connector, conn, tables)
        run_alone(context, [f"DELETE FROM {sql_name(connector, table)}" for table in existing], leased)


def _existing(connector: Connector, conn: Connection, names: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [name for name, table in zip(names, connector.catalog.probe_tables(conn, names), strict=True) if table]


def _drop(connector: Connector, table: tuple[str, str]) -> str:
    return f"DROP TABLE IF EXISTS {sql_name(connector, table)}"


def _layout(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(c.name for c in table.columns), table.primary_key


def run_alone(context: DatabaseContext, statements: Sequence[str], leased: LeasedStream) -> None:
    """Run repeatable statements in a transaction while another session locks the stream's row.

    DDL may commit by itself and would release the row after the first statement. A poller that took over the stream
    then would meet the other statements.
    """
    with context.writing() as guard:
        context.lock(guard, leased.row)
        with context.source.write(context.stream) as session:
            for statement in statements:
                leased.keeper.check()
                session.run(statement)
