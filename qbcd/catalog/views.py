"""Views that a query reads: their definitions by the catalog, and the tables that they read.

A definition is part of the meaning of a query. It is stored with the stream's shape, and a changed definition stops
the stream, like a changed table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.engine import Connection

from qbcd.catalog.source import Session, Source
from qbcd.connectors import Connector
from qbcd.connectors.queries import SupportsVolatility
from qbcd.errors import ConfigError, SchemaChanged
from qbcd.model import StreamPlan, Table
from qbcd.queries.text import Unfit


class Views:
    """Reads definitions of views, also of views over views.

    Args:
        stream: For errors.
    """

    def __init__(self, source: Source, session: Session, stream: str) -> None:
        self._source, self._session, self._stream = source, session, stream
        self._known: dict[tuple[str, str], Table] = {}

    def with_definition(self, table: Table) -> Table:
        """Return the table.

        A view gets its definition and base tables if the source shows it and qbcd can parse it.

        Raises:
            SchemaChanged: It was dropped a moment ago.
        """
        connector = self._source.connector
        definition = connector.queries.view_definition(self._session.connection, table) if table.kind == "view" else ""
        if not definition:
            return table
        try:
            from qbcd.queries import parse_view

            bases = parse_view(definition, connector.dialect).bases
        except Unfit:  # reported by `remarks_on_views`, and by variant delta
            bases = ()
        names = [(base.schema, base.name) for base in bases]
        if not self._look_up_bases(table, [name for name in dict.fromkeys(names) if name not in self._known]):
            return table
        return replace(table, definition=definition, bases=tuple(self._known[name] for name in names))

    def _look_up_bases(self, view: Table, names: Sequence[tuple[str, str]]) -> bool:
        """Look up the tables that a view reads; return False if the role may not see one of them."""
        conn, connector = self._session.connection, self._source.connector
        for name, table in zip(names, connector.catalog.probe_tables(conn, names), strict=True):
            if table is None and connector.hides_tables:
                return False
            if table is None:
                raise SchemaChanged(
                    f"view {view.label} was changed a moment ago", stream=self._stream, remedy="poll again"
                )
            self._known[name] = self.with_definition(replace(table, grant=_grant(connector, conn, table)))
        return True


def _grant(connector: Connector, conn: Connection, table: Table) -> str:
    rights = connector.catalog.privileges(conn, table, (), "")
    lacking = [] if rights.schema_usage else [connector.ddl.usage_grant(table.schema, rights.role)]
    lacking += [] if rights.lock else [connector.ddl.select_grant(table, rights.role)]
    return "; ".join(lacking)


def check_views(source: Source, session: Session, plan: StreamPlan) -> None:
    """Check that a plan's views are unchanged in this transaction, which locks them against DDL.

    Raises:
        SchemaChanged: One was replaced since the plan was made.
    """
    for view in plan.table.reads:
        if view.definition and source.connector.queries.view_definition(session.connection, view) != view.definition:
            what = f"view {view.label}, which the query reads, was changed a moment ago"
            raise SchemaChanged(what, stream=plan.stream, remedy="poll again")


def check_steady_views(connector: Connector, conn: Connection, table: Table, *, stream: str, place: str = "") -> None:
    """Refuse views that depend on the time, on chance or on the session's user.

    A query may not either.

    Raises:
        ConfigError: One does.
    """
    from sqlglot.errors import SqlglotError

    from qbcd.queries import words_of

    for name, definition in table.views.items():
        try:
            words = words_of(definition, connector.dialect)
        except SqlglotError:  # reported by `remarks_on_views`
            continue
        called = connector.require(SupportsVolatility).volatile_calls(conn, words)
        if called:
            raise ConfigError(
                f"the query reads view {name}, which uses {called[0]}, so that its result changes by itself",
                stream=stream,
                where=place,
                remedy="take it out, those who read the result can add it; or capture the view itself "
                "by id_rcs or mds, as  table: ..",
            )
