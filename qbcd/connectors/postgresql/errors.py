"""One message for each error of a PostgreSQL driver.

A server's message may contain rows in its detail, and a driver's may contain the connection string. So only the first
line of the primary message is shown.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sqlalchemy.exc import DBAPIError
from typing_extensions import override

from qbcd.connectors.error_templates import (
    Errors,
    Maker,
    full,
    locked,
    no_database,
    no_session,
    no_unicode,
    pooled,
    read_only,
    schema,
    timed_out,
    unreachable,
)
from qbcd.connectors.facts import quoted
from qbcd.connectors.postgresql.expressions import DIALECT
from qbcd.errors import MissingPrivilege, QbcdError, Refused, RowsTooWide, SourceError

_JDBC = re.compile(r"PSQLException: (?:ERROR|FATAL|PANIC): ([^\n]*)|PSQLException: ([^\n]*)")
_DENIED = re.compile(
    r"permission denied for (?:(?P<schema>schema)|table|view|relation|materialized view|foreign table) (?P<name>.+)"
)
_LEVEL = re.compile(r"^(?:.*?:\s)?(?:ERROR|FATAL|PANIC):\s+")


def _row_security(message: str, stream: str, source: str) -> QbcdError:
    return Refused(
        f"source {source}: row-level security would hide rows: {message}",
        remedy="ALTER ROLE .. BYPASSRLS, or capture a view that selects the visible rows",
        stream=stream,
    )


def _privilege(message: str, stream: str, source: str) -> QbcdError:
    remedy = "grant the role the right that the message names"
    if denied := _DENIED.search(message):
        right = "USAGE ON SCHEMA" if denied["schema"] else "SELECT ON"
        remedy = (
            f"GRANT {right} {quoted(denied['name'], DIALECT)} TO the user of the source's url; ALL if it is qbcd's own"
        )
    return MissingPrivilege(f"source {source}: {message}", remedy=remedy, stream=stream)


def _login(message: str, stream: str, source: str) -> QbcdError:
    remedy = "check the user and the password of the source, and the server's pg_hba.conf"
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def _snapshot(message: str, stream: str, source: str) -> QbcdError:
    remedy = (
        "the session that held the snapshot ended, as a standby ends those that its replay waits for, by its "
        "max_standby_streaming_delay; the next poll starts again"
    )
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def _standby(message: str, stream: str, source: str) -> QbcdError:
    remedy = (
        "the next poll starts again; if this happens often, set hot_standby_feedback on the standby, raise its "
        "max_standby_streaming_delay, or poll the primary"
    )
    return SourceError(f"source {source}: {message}", remedy=remedy, stream=stream)


def _wide(message: str, stream: str, source: str) -> QbcdError:
    remedy = "set a lower jdbc.fetchsize of the source, or raise spark.driver.memory"
    return RowsTooWide(
        f"source {source}: the rows of one request are too wide: {message}", remedy=remedy, stream=stream
    )


def _ended(message: str, stream: str, source: str) -> QbcdError:
    remedy = (
        "the server restarted, or it ended the session: by an administrator, by a time limit, or as a standby whose "
        "replay waited for it (max_standby_streaming_delay); its log says which; the next poll starts again"
    )
    return SourceError(f"source {source} cannot be reached any more: {message}", remedy=remedy, stream=stream)


def _between(message: str, stream: str, source: str) -> QbcdError:
    remedy = "the server starts, stops or recovers; the next poll tries again"
    return SourceError(f"source {source} cannot be reached: {message}", remedy=remedy, stream=stream)


_STATES: Mapping[str, Maker] = {
    "3D000": no_database,
    "42501": _privilege,
    "42P01": schema,
    "42703": schema,
    "3F000": schema,
    "57014": timed_out,
    "55P03": locked,
    "40P01": locked,
    "40001": locked,
    "22021": no_unicode,
    "22P05": no_unicode,
    "25006": read_only,
    "53100": full,
    "53300": unreachable,
    "57P01": _ended,
    "57P02": _ended,
    "57P03": _between,
}
_STATE_CLASSES: Mapping[str, Maker] = {"28": _login, "08": unreachable, "57P": unreachable}
# Classes of errors of the session, of locks, of full disks and of the server itself: a retry may succeed.
_PASSING = ("08", "25", "28", "3D", "40", "53", "54", "55P03", "57", "58", "F0", "XX")
# Messages whose SQLSTATE has other meanings too.
_SPECIAL: tuple[tuple[str, Maker], ...] = (
    (r"unsupported startup parameter", pooled),
    (r"timeout expired|Connection attempt timed out", no_session),
    (r"row-level security policy", _row_security),
    (r"invalid snapshot identifier|could not import the requested snapshot|snapshot \".*\" does not exist", _snapshot),
    (r"conflict with recovery", _standby),
    (r"exceeded maxResultBuffer limit|Ran out of memory retrieving query results", _wide),
    (r"Invalid character data was found", no_unicode),  # the JDBC driver's, which shows no more
    (r"during recovery", read_only),  # then only writes of ours can fail
)
# Before a session exists, the driver has no SQLSTATE; Spark passes on only the text.
_WORDS: tuple[tuple[str, Maker], ...] = (
    (r"password authentication failed|no password supplied|no pg_hba\.conf entry|authentication failed", _login),
    (r"role \".*\" (does not exist|is not permitted to log in)", _login),
    (r"database \".*\" does not exist", no_database),
    (r"permission denied", _privilege),
    (r"(column|relation|schema) .* does not exist", schema),
    (r"canceling statement due to (statement timeout|user request)", timed_out),
    (r"canceling statement due to lock timeout|deadlock detected|could not serialize access", locked),
    (r"No space left on device", full),
    # libpq does not report why the server ended a session between two statements
    (r"closed the connection unexpectedly|terminating connection", _ended),
    (r"database system is (starting up|shutting down|in recovery mode|not .*accepting connections)", _between),
    (r"connection|could not translate host name|timeout expired|timed out|SSL|certificate", unreachable),
)


def primary_message(error: BaseException) -> str:
    """Return the first line of an error's message, without detail and severity."""
    primary = getattr(getattr(error, "diag", None), "message_primary", None)
    text = str(primary or error).strip()
    found = _JDBC.search(text)
    if found and not primary:
        text = found.group(1) or found.group(2)
    return _LEVEL.sub("", text.splitlines()[0]) if text else type(error).__name__


class PostgresErrors(Errors):
    """Errors by SQLSTATE."""

    special = _SPECIAL
    codes = _STATES
    code_classes = _STATE_CLASSES
    words = _WORDS

    @override
    def read(self, error: BaseException) -> tuple[str, str]:
        state = str(getattr(error, "pgcode", None) or getattr(error, "sqlstate", None) or "")
        return state, primary_message(error)

    @override
    def is_write_rejected(self, error: DBAPIError) -> bool:
        """A trigger may reject with almost any SQLSTATE."""
        state = str(getattr(error.orig, "pgcode", None) or "")
        return bool(state) and not state.startswith(_PASSING)
