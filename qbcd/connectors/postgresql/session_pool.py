"""A session pool for psycopg2: a session is reset in the round trip that begins its use."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import psycopg2
from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.pool import PoolResetState

from qbcd.connectors import session_pools

# The parts of DISCARD ALL, which itself cannot be sent together with other statements. RESET ALL sets the settings with
# which the session began.
RESET = (
    "CLOSE ALL",
    "SET SESSION AUTHORIZATION DEFAULT",
    "RESET ALL",
    "DEALLOCATE ALL",
    "UNLISTEN *",
    "SELECT pg_catalog.pg_advisory_unlock_all()",
    "DISCARD PLANS",
    "DISCARD TEMP",
    "DISCARD SEQUENCES",
)


def keep_sessions(engine: Engine, begin: Callable[[Any], Sequence[str]]) -> None:
    """See :meth:`~qbcd.connectors.sessions.SupportsSessionPool.keep_sessions`."""
    event.listen(engine, "reset", _reset)
    session_pools.keep(
        engine,
        begin=partial(_begin, begin),
        is_open=lambda connection: not connection.closed,
        number=lambda connection: int(connection.fileno()),
    )


def _reset(connection: Any, _record: object, _state: PoolResetState) -> None:
    """End a transaction that the block has left open.

    If the server has ended the session, its transaction has ended with it.
    """
    try:
        connection.rollback()
    except psycopg2.Error:
        if not connection.closed:
            raise


def _begin(statements: Callable[[Any], Sequence[str]], connection: Any, used: bool) -> None:
    connection.begin_with([*(RESET if used else ()), *statements(connection)])
