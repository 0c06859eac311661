"""Volatile calls on MariaDB and MySQL: time, random values, the session, stored functions."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy.engine import Connection

_BARE = frozenset(
    {
        "current_date",
        "current_time",
        "current_timestamp",
        "localtime",
        "localtimestamp",
        "utc_date",
        "utc_time",
        "utc_timestamp",
        "current_user",
        "current_role",
    }
)
_CALLED = frozenset(
    {
        "now",
        "sysdate",
        "curdate",
        "curtime",
        "unix_timestamp",
        "rand",
        "random_bytes",
        "uuid",
        "uuid_short",
        "sys_guid",
        "connection_id",
        "last_insert_id",
        "row_count",
        "found_rows",
        "user",
        "session_user",
        "system_user",
        "database",
        "schema",
        "version",
        "sleep",
        "get_lock",
        "is_free_lock",
        "is_used_lock",
        "release_lock",
        "benchmark",
        "nextval",
        "lastval",
        "setval",
        "load_file",
        *_BARE,
    }
)
STEADY_ARGUMENTS = {"unix_timestamp": 1}
_CHANCE = frozenset({"rand", "random_bytes", "uuid", "uuid_short", "sys_guid", "sysdate", "nextval", "sleep"})
_STORED = """
SELECT DISTINCT lower(routine_name) FROM information_schema.routines
WHERE routine_type = 'FUNCTION' AND (is_deterministic = 'NO' OR sql_data_access <> 'NO SQL')
"""


def nondeterministic_calls(conn: Connection, words: Sequence[str]) -> list[str]:
    """See :meth:`~qbcd.connectors.queries.Queries.nondeterministic_calls`."""
    return [word[:-1] for word in words if word.endswith("(") and word[:-1] in _CHANCE]


def volatile_calls(conn: Connection, words: Sequence[str]) -> list[str]:
    """See :meth:`~qbcd.connectors.queries.SupportsVolatility.volatile_calls`."""
    called = {word[:-1] for word in words if word.endswith("(")}
    stored = {str(row[0]) for row in conn.exec_driver_sql(_STORED)} & called
    found = (_CALLED & called) | stored
    return [word.rstrip("(") for word in words if word[0] == "@" or word in _BARE or word.rstrip("(") in found]
