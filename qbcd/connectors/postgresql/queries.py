"""Queries of PostgreSQL, and what variant delta needs to know about them."""

from __future__ import annotations

from sqlalchemy.engine import Connection
from typing_extensions import override

from qbcd.connectors.postgresql import functions, query_columns, types, volatility
from qbcd.connectors.postgresql.rows import rows_of
from qbcd.connectors.postgresql.session import PINS
from qbcd.connectors.queries import Queries, SupportsIncrementalQueries, SupportsQueryColumns, SupportsVolatility
from qbcd.model import Table

# Pretty output has no brackets around joins; it has those that precedence needs.
_DEFINITION = """
SELECT pg_get_viewdef(c.oid, TRUE) AS text FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = %(schema)s AND c.relname = %(name)s AND c.relkind = 'v'
"""


class PostgresQueries(Queries, SupportsIncrementalQueries, SupportsQueryColumns, SupportsVolatility):
    """Queries of the user on PostgreSQL."""

    moments = volatility.MOMENTS
    steady_arguments = volatility.STEADY_ARGUMENTS
    query_trial = "try it in a session with search_path = pg_catalog: names of your own need their schema"
    plain_functions = functions.PLAIN
    written_again = functions.WRITTEN_AGAIN
    nondeterministic_calls = staticmethod(volatility.nondeterministic_calls)
    volatile_calls = staticmethod(volatility.volatile_calls)
    query_columns = staticmethod(query_columns.query_columns)
    misread = staticmethod(functions.misread)
    exact_column = staticmethod(types.exact_column)
    equality_class = staticmethod(types.equality_class)

    @override
    def view_definition(self, conn: Connection, view: Table) -> str:
        found = rows_of(conn, _DEFINITION, {"schema": view.schema, "name": view.name})
        return str(found[0]["text"] or "").strip().removesuffix(";") if found else ""

    @override
    def steady_pins(self) -> tuple[str, ...]:
        return (*PINS, "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")

    @override
    def refresh_statistics(self, table: str) -> str:
        return f"ANALYZE {table}"
