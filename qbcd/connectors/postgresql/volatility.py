"""Volatile calls on PostgreSQL: time, random values, the session, volatile functions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

from qbcd.connectors.postgresql.rows import rows_of

# Stable in the catalog: their value is fixed within a statement, and may differ in the next.
_BARE = frozenset(
    {
        "current_date",
        "current_time",
        "current_timestamp",
        "localtime",
        "localtimestamp",
        "current_user",
        "session_user",
        "user",
        "current_role",
        "current_catalog",
        "current_schema",
    }
)
_CALLED = frozenset(
    {
        "now",
        "transaction_timestamp",
        "statement_timestamp",
        "current_setting",
        "current_schemas",
        "current_query",
        "current_database",
        "pg_backend_pid",
        "txid_current_snapshot",
        "pg_current_snapshot",
        "pg_typeof",
        "age",
        "inet_client_addr",
        "inet_server_addr",
        "has_table_privilege",
        "version",
        *_BARE,
    }
)
STEADY_ARGUMENTS = {"age": 2}
# Of the server's functions those that are volatile; of the user's those that are not immutable.
_VOLATILE = """
SELECT DISTINCT p.proname::text AS name FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
WHERE p.proname = ANY(%(names)s) AND (p.provolatile = 'v' OR n.nspname <> 'pg_catalog' AND p.provolatile <> 'i')
"""
# Not of the user's: VOLATILE is the default there, and proves nothing.
_CHANCE = """
SELECT DISTINCT proname::text AS name FROM pg_proc
WHERE proname = ANY(%(names)s) AND provolatile = 'v' AND pronamespace = 'pg_catalog'::regnamespace
"""
MOMENTS = frozenset(
    {"now", "today", "tomorrow", "yesterday"}
)  # texts that mean the present time if they are read as a time


def nondeterministic_calls(conn: Connection, words: Sequence[str]) -> list[str]:
    """See :meth:`~qbcd.connectors.queries.Queries.nondeterministic_calls`."""
    found = {row["name"] for row in rows_of(conn, _CHANCE, {"names": [w[:-1] for w in words if w.endswith("(")]})}
    return [word.rstrip("(") for word in words if word.rstrip("(") in found]


_OPERATORS = """
SELECT DISTINCT n.nspname::text AS schema, o.oprname::text AS name FROM pg_operator o
JOIN pg_namespace n ON n.oid = o.oprnamespace JOIN pg_proc p ON p.oid = o.oprcode
WHERE o.oprname = ANY(%(names)s) AND n.nspname <> 'pg_catalog' AND p.provolatile <> 'i'
"""


def _operators(conn: Connection, words: Sequence[str]) -> list[str]:
    """Return the ``operator(schema.name`` words whose function is not declared immutable."""
    named = {word: word.removeprefix("operator(").replace('"', "").rpartition(".") for word in words}
    rows = rows_of(conn, _OPERATORS, {"names": [name for _, _, name in named.values()]}) if named else []
    found = {(row["schema"], row["name"]) for row in rows}
    return [f"{word})" for word, (schema, _, name) in named.items() if (schema, name) in found]


def volatile_calls(conn: Connection, words: Sequence[str]) -> list[str]:
    """See :meth:`~qbcd.connectors.queries.SupportsVolatility.volatile_calls`."""
    called = [word[:-1] for word in words if word.endswith("(")]
    found = {row["name"] for row in rows_of(conn, _VOLATILE, {"names": called})} | (_CALLED & set(called))
    moving = [word.rstrip("(") for word in words if word in _BARE or word.rstrip("(") in found]
    return [*_operators(conn, [word for word in words if word.startswith("operator(")]), *moving]
