"""qbcd's own tables of a stream in the source, in either wing.

Prepare or a DBA creates them, later they are altered, and reset drops them. A wing says which tables (`OwnTable`) and
how its statements run: `Run` runs repeatable ones under the stream's lease.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Protocol

from sqlalchemy.engine import Connection

from qbcd.catalog.source import Source
from qbcd.connectors.base import Connector
from qbcd.errors import MissingPrivilege
from qbcd.model import StreamPlan
from qbcd.sites import eligibility
from qbcd.strategies import InSource, Watermarked
from qbcd.strategies.in_source import OwnTable, own_tables, sql_name

Run = Callable[[Sequence[str]], None]


class HasOwnTables(Protocol):
    """A strategy with tables of its own in the source."""

    def tables(self) -> list[OwnTable]:
        """Return the tables."""

    def ddl(self) -> list[str]:
        """Return CREATE TABLE statements of them, in the same order; repeatable."""


# -- create ------------------------------------------------------------------------------------------------------------
def creation(source: Source, conn: Connection, stream: str, strategy: HasOwnTables) -> tuple[list[str], list[str]]:
    """Return statements that drop tables of an unfinished `prepare`, and create missing ones.

    Tables are dropped if one of them has other columns or types. A DBA's tables outlive a reset.
    """
    tables = strategy.tables()
    present = dict(zip(tables, source.connector.catalog.probe_tables(conn, [t.name for t in tables]), strict=True))
    drops = []
    if any(found and not table.is_like(found, source.connector.ddl.column_type) for table, found in present.items()):
        names = {*own_tables(source.schema, stream), *(table.name for table in tables)}
        drops, present = [_drop(source.connector, name) for name in sorted(names)], {}
    # IF NOT EXISTS needs the right to create even if a DBA has created the table
    made = zip(tables, strategy.ddl(), strict=True)
    return drops, [statement for table, statement in made if not present.get(table)]


def exist(source: Source, conn: Connection, strategy: HasOwnTables) -> bool:
    """Return True if all tables exist, also if a DBA created them."""
    return all(source.connector.catalog.probe_tables(conn, [table.name for table in strategy.tables()]))


@contextmanager
def explaining_rights(source: Source, stream: str, otherwise: str) -> Iterator[None]:
    """In the block, add to errors the choices of a role that may not create tables.

    `otherwise` is one of the choices.
    """
    try:
        yield
    except MissingPrivilege as error:
        raise MissingPrivilege(
            f"no right to create tables in schema {source.schema} of source {source.name} ({error.what})",
            stream=stream,
            remedy=f"qbcd prepare {stream} --dry-run prints the DDL for a DBA; {otherwise}",
        ) from error


def alter(run: Run, stream: str, statements: Sequence[str]) -> None:
    """Run ALTER TABLE or DROP TABLE statements.

    Raises:
        MissingPrivilege: A DBA owns the tables; the remedy has the statements.
    """
    if not statements:
        return
    try:
        run(statements)
    except MissingPrivilege as error:
        raise MissingPrivilege(
            f"no right to alter qbcd's own tables, whose columns have changed ({error.what})",
            stream=stream,
            remedy=f"let their owner run: {'; '.join(statements)}",
        ) from error


# -- for a DBA ---------------------------------------------------------------------------------------------------------
def ddl(
    source: Source,
    conn: Connection,
    plan: StreamPlan,
    strategy: HasOwnTables,
    writes: InSource,
    watermarks: Sequence[Watermarked] = (),
) -> list[str]:
    """Return the DDL of the tables and the grants that polls need.

    Args:
        writes: The strategy whose statements write the source.
    """
    from qbcd.catalog.query_table import rights_of

    connector = source.connector
    role = rights_of(connector, conn, plan.table, [c.name for c in plan.captured], source.schema).role
    return [
        *strategy.ddl(),
        *connector.ddl.grants(source.schema, role),
        *eligibility.grants(connector, conn, writes, watermarks, role),
    ]


# -- reset -------------------------------------------------------------------------------------------------------------
def remove(source: Source, stream: str, run: Run, more: Sequence[tuple[str, str]] = ()) -> None:
    """Drop the tables of a stream; empty those that a DBA owns.

    Args:
        stream: The stream; a reset knows no plan.
        more: Names of further tables that it may have.
    """
    try:
        run([_drop(source.connector, table) for table in _existing(source, stream, more)])
    except MissingPrivilege:
        run([f"DELETE FROM {sql_name(source.connector, table)}" for table in _existing(source, stream, more)])


def _existing(source: Source, stream: str, more: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    names = [*own_tables(source.schema, stream), *more]
    with source.read(stream) as session:
        found = source.connector.catalog.probe_tables(session.connection, names)
    return [name for name, table in zip(names, found, strict=True) if table]


def _drop(connector: Connector, table: tuple[str, str]) -> str:
    return f"DROP TABLE IF EXISTS {sql_name(connector, table)}"
