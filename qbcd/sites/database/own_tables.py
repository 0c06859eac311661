"""Tables of a stream of the database wing.

Each change of them is made while the stream's row is locked.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import TYPE_CHECKING

from sqlalchemy import table as lightweight
from sqlalchemy.engine import Connection

from qbcd.connectors.catalog import SupportsIndexes
from qbcd.errors import MissingPrivilege, StateConflict, UnsupportedPrimitive
from qbcd.model import StreamPlan
from qbcd.sites import own_tables
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.values import LeasedStream
from qbcd.state.bootstrap import holds_rows
from qbcd.state.dialects import keeps_state

if TYPE_CHECKING:
    from qbcd.strategies import Watermarked


# -- create ------------------------------------------------------------------------------------------------------------
def create(context: DatabaseContext, plan: StreamPlan) -> None:
    """Create schema and store, and the index that the user wants; repeatable."""
    with context.reading() as conn:  # each poll checks this too; here nothing is created yet
        if not keeps_state(conn):
            raise UnsupportedPrimitive(context.source.connector.name, "tables of qbcd's own")
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
    strategy, source = context.strategy(plan), context.source
    with context.reading() as conn:
        own = [table.name for table in strategy.tables()]
        found = source.connector.catalog.probe_tables(conn, own)
        _refuse_orphaned(context, conn, [name for name, table in zip(own, found, strict=True) if table])
        drops, made = own_tables.creation(source, conn, context.stream, strategy)
    own_tables.alter(partial(run_alone, context, leased), context.stream, drops)
    with _explaining_rights(context, plan):
        run_alone(context, leased, [*made, *strategy.indexes()])


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


def _explaining_rights(context: DatabaseContext, plan: StreamPlan) -> AbstractContextManager[None]:
    return own_tables.explaining_rights(context.source, context.stream, select_only_choice(plan))


def select_only_choice(plan: StreamPlan) -> str:
    """Return the sentence that names a strategy or variant for a role that may create nothing."""
    return f"{'variant checksum' if plan.table.query else 'strategy id_rcs'} needs only SELECT"


# -- for a DBA ---------------------------------------------------------------------------------------------------------
def ddl(context: DatabaseContext, plan: StreamPlan, watermarks: Sequence[Watermarked]) -> list[str]:
    """Return all DDL that `create` runs or that a DBA may want to run.

    These are tables, grants, indexes and a view.
    """
    connector, strategy = context.source.connector, context.strategy(plan)
    with context.reading() as conn:
        return [
            *context.store.ddl(conn),
            *own_tables.ddl(context.source, conn, plan, strategy, strategy, watermarks),
            *strategy.indexes(),
            *strategy.missing_indexes(lambda table: connector.require(SupportsIndexes).indexes(conn, table)),
            *strategy.views(),
        ]


def exist(context: DatabaseContext, plan: StreamPlan) -> bool:
    """Return True if everything that `prepare` creates exists, also if a DBA created it."""
    with context.reading() as conn:
        return context.store.exists(conn) and own_tables.exist(context.source, conn, context.strategy(plan))


# -- reset -------------------------------------------------------------------------------------------------------------
def forget(context: DatabaseContext, leased: LeasedStream) -> None:
    """Drop the stream's tables; empty those that a DBA created."""
    from qbcd.strategies.incremental.lineage import lineage_tables

    more = lineage_tables(context.source.schema, context.stream)  # of variant delta alone; a reset knows no plan
    own_tables.remove(context.source, context.stream, partial(run_alone, context, leased), more)


def run_alone(context: DatabaseContext, leased: LeasedStream, statements: Sequence[str]) -> None:
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
