"""qbcd's own tables of a stream in the source: made at prepare, perhaps by a DBA, and dropped at reset."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import table as lightweight
from sqlalchemy.engine import Connection

from qbcd.catalog.query_table import rights_of
from qbcd.connectors.base import Connector, Index
from qbcd.errors import MissingPrivilege, StateConflict
from qbcd.model import StreamPlan, Table
from qbcd.sites import eligibility
from qbcd.state.bootstrap import holds_rows
from qbcd.strategies import InSource, Tdi, VbdDelta, Watermarked
from qbcd.strategies.in_source import own_tables, sql_name
from qbcd.strategies.incremental.lineage import lineage_tables

if TYPE_CHECKING:
    from qbcd.sites.base import Site
    from qbcd.sites.database.site import DatabaseSite
    from qbcd.sites.values import LeasedStream


def create(site: DatabaseSite, plan: StreamPlan) -> None:
    """Makes schema and store, and the index that the user asks for; repeatable."""
    with site.reading() as conn:  # looked at again by each poll; here nothing is made
        site.source.connector.check_in_source(conn, plan.table, stream=site.stream, own=own_names(site, plan))
    with _told(site, plan), site.writing() as conn:
        site.store.create(conn)
        site.store.foreign_project(conn, site.project.project_id, site.stream)
    if plan.option("create_index"):
        _make_index(site, plan)


def make_tables(site: DatabaseSite, plan: StreamPlan, held: LeasedStream) -> None:
    """Makes the stream's tables; those of an earlier prepare that was never finished go, if their columns differ.

    Under the lease, and not before: what looks unfinished may belong to a prepare that is about to commit.
    """
    strategy, connector = site.strategy(plan), site.source.connector
    tables, statements = list(zip(strategy.tables(), strategy.ddl(), strict=True)), []
    with site.reading() as conn:
        own = [table.name for table, _ in tables]
        standing = dict(zip(own, connector.probe_tables(conn, own), strict=True))
        _refuse_left(site, conn, [name for name, found in standing.items() if found])
    if any((found := standing[table.name]) and _layout(found) != table.layout for table, _ in tables):
        names = {*own_tables(site.source.schema, site.stream), *standing}
        statements, standing = [_drop(connector, name) for name in sorted(names)], {}
    # IF NOT EXISTS asks for the right to create even where a DBA has made the table
    statements += [statement for table, statement in tables if not standing.get(table.name)]
    if isinstance(strategy, VbdDelta):
        statements += strategy.indexes()
    with _told(site, plan):
        run_alone(site, statements, held)


def _refuse_left(site: DatabaseSite, conn: Connection, standing: Sequence[tuple[str, str]]) -> None:
    """Refuses a stream without baseline whose tables hold rows: its row has gone, and with it what they rest on."""
    if site.store.holds(conn, site.stream) or holds_rows(conn, [lightweight(n, schema=s) for s, n in standing]):
        raise StateConflict(
            f"its own tables in schema {site.source.schema} hold rows, though it was never prepared: its row in table "
            "stream has been deleted",
            stream=site.stream,
            remedy=f"restore it, or qbcd reset {site.stream} --discard and prepare it again; consumers must reload",
        )


def own_names(site: Site, plan: StreamPlan) -> list[str]:
    """The schema of qbcd, and the names of all tables in it that a step of the stream moves together."""
    strategy = site.strategy(plan)
    assert isinstance(strategy, InSource)
    store = [table.name for table in site.store.tables.metadata.tables.values()]
    return [site.source.schema, *store, *(table.name[1] for table in strategy.tables())]


def reads_alone(plan: StreamPlan) -> str:
    """What a role can take that may create nothing."""
    return f"{'variant checksum' if plan.table.query else 'strategy id_rcs'} needs only SELECT"


@contextmanager
def _told(site: DatabaseSite, plan: StreamPlan) -> Iterator[None]:
    """Says what a role without the right to create can do."""
    source = site.source
    try:
        yield
    except MissingPrivilege as error:
        raise MissingPrivilege(
            f"no right to create tables in schema {source.schema} of source {source.name} ({error.what})",
            stream=site.stream,
            remedy=f"qbcd prepare --dry-run prints the DDL for a DBA; {reads_alone(plan)}",
        ) from error


def ddl(site: DatabaseSite, plan: StreamPlan) -> list[str]:
    """All DDL that `create` runs or that a DBA may want to run: tables, rights, the index on the time-stamp."""
    connector, schema = site.source.connector, site.source.schema
    strategy = site.strategy(plan)
    with site.reading() as conn:
        role = rights_of(connector, conn, plan.table, [c.name for c in plan.captured], schema).role
        return [
            *site.store.ddl(conn),
            *strategy.ddl(),
            *connector.grants(schema, role),
            *eligibility.grants(connector, conn, strategy, role),
            *_index_ddl(strategy, lambda table: connector.indexes(conn, table)),
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


def stands(site: DatabaseSite, plan: StreamPlan) -> bool:
    """Whether all that `prepare` makes is there, whoever made it."""
    connector = site.source.connector
    with site.reading() as conn:
        own = [table.name for table in site.strategy(plan).tables()]
        return site.store.exists(conn) and all(connector.probe_tables(conn, own))


def forget(site: DatabaseSite, held: LeasedStream) -> None:
    """Drops the stream's tables; those that a DBA made are emptied."""
    connector, tables = site.source.connector, own_tables(site.source.schema, site.stream)
    with site.reading() as conn:  # only variant delta has them, and a stream is forgotten without its plan
        tables += _standing(connector, conn, lineage_tables(site.source.schema, site.stream))
    try:
        run_alone(site, [_drop(connector, table) for table in tables], held)
    except MissingPrivilege:
        # A DBA made the tables, and they are the DBA's to drop; their rows are ours.
        with site.reading() as conn:
            standing = _standing(connector, conn, tables)
        run_alone(site, [f"DELETE FROM {sql_name(connector, table)}" for table in standing], held)


def _standing(connector: Connector, conn: Connection, names: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    return [name for name, table in zip(names, connector.probe_tables(conn, names), strict=True) if table]


def _drop(connector: Connector, table: tuple[str, str]) -> str:
    return f"DROP TABLE IF EXISTS {sql_name(connector, table)}"


def _layout(table: Table) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return tuple(c.name for c in table.columns), table.primary_key


def _make_index(site: DatabaseSite, plan: StreamPlan) -> None:
    strategy = site.strategy(plan)
    assert isinstance(strategy, Watermarked)
    try:
        with site.source.write(site.stream) as session:
            if not strategy.has_index(site.source.connector.indexes(session.connection, plan.table)):
                session.run(strategy.index())
    except MissingPrivilege as error:
        raise MissingPrivilege(
            f"no right to create the index ({error.what})",
            stream=site.stream,
            remedy=f"qbcd prepare {site.stream} --dry-run prints it for a DBA; once it is there, it is used",
        ) from error


def run_alone(site: DatabaseSite, statements: Sequence[str], held: LeasedStream) -> None:
    """Runs repeatable statements in a transaction of their own, while another session holds the stream's row.

    DDL may commit by itself, and would let the row go with the first statement: whoever had taken the stream over by
    then would meet the others.
    """
    row = held.row
    with site.writing() as guard:
        site.store.lock(guard, site.stream, site.project.project_id, row.version, row.fencing_token)
        with site.source.write(site.stream) as session:
            for statement in statements:
                held.keeper.check()
                session.run(statement)
