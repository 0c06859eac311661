"""Views that a query reads: what they stand for by the catalog, and what stands behind them.

A definition is part of what a query means. It is remembered with the stream's shape, and a stream whose views stand for
something else now is stopped, as by a changed table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlalchemy.engine import Connection
from sqlglot.errors import SqlglotError

from qbcd.catalog.source import Session, Source
from qbcd.connectors import Connector
from qbcd.connectors.queries import SupportsVolatility
from qbcd.errors import ConfigError, SchemaChanged
from qbcd.model import StreamPlan, Table
from qbcd.queries import Unfit, parse_view, words_of


class Views:
    """Looks into views, through views over views.

    Args:
        source: Where they are.
        session: An open session on it.
        stream: For errors.
    """

    def __init__(self, source: Source, session: Session, stream: str) -> None:
        self._source, self._session, self._stream = source, session, stream
        self._behind: dict[tuple[str, str], Table] = {}

    def into(self, table: Table) -> Table:
        """The table; of a view with its definition and what it reads, where the source tells that and it can be read.

        Raises:
            SchemaChanged: It was dropped a moment ago.
        """
        connector = self._source.connector
        definition = connector.queries.view_definition(self._session.connection, table) if table.kind == "view" else ""
        if not definition:
            return table
        try:
            bases = parse_view(definition, connector.dialect).bases
        except Unfit:  # said where it matters: by `remarks_on_views`, and by variant delta
            bases = ()
        names = [(base.schema, base.name) for base in bases]
        if not self._look_behind(table, [name for name in dict.fromkeys(names) if name not in self._behind]):
            return table
        return replace(table, definition=definition, bases=tuple(self._behind[name] for name in names))

    def _look_behind(self, view: Table, names: Sequence[tuple[str, str]]) -> bool:
        """Looks up what a view reads; whether the role is shown that there is such a thing."""
        conn, connector = self._session.connection, self._source.connector
        for name, table in zip(names, connector.catalog.probe_tables(conn, names), strict=True):
            if table is None and connector.hides_tables:
                return False
            if table is None:
                raise SchemaChanged(
                    f"view {view.label} was changed a moment ago", stream=self._stream, remedy="poll again"
                )
            self._behind[name] = self.into(replace(table, grant=_grant(connector, conn, table)))
        return True


def _grant(connector: Connector, conn: Connection, table: Table) -> str:
    rights = connector.catalog.privileges(conn, table, (), "")
    lacking = [] if rights.schema_usage else [connector.ddl.usage_grant(table.schema, rights.role)]
    lacking += [] if rights.lock else [connector.ddl.select_grant(table, rights.role)]
    return "; ".join(lacking)


def check_views(source: Source, session: Session, plan: StreamPlan) -> None:
    """Check that the views of a plan are still the same in this transaction, which keeps DDL from them.

    Raises:
        SchemaChanged: They do not: one was replaced since the plan was made.
    """
    for view in plan.table.reads:
        if view.definition and source.connector.queries.view_definition(session.connection, view) != view.definition:
            told = f"view {view.label}, which the query reads, was changed a moment ago"
            raise SchemaChanged(told, stream=plan.stream, remedy="poll again")


def check_steady_views(connector: Connector, conn: Connection, table: Table, *, stream: str, place: str = "") -> None:
    """Refuses views that use the time, chance or who asks, as the text of a query may not either.

    Raises:
        ConfigError: One does.
    """
    for name, definition in table.views.items():
        try:
            words = words_of(definition, connector.dialect)
        except SqlglotError:  # `remarks_on_views` says so
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
