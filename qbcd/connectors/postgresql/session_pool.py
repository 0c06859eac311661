"""A session pool for psycopg2: reset on return, health check on checkout.

A statement costs a round trip to the source, and a poll has a dozen sessions; so the health check sends none. If the
server has ended a session, its message about that has arrived and can be read.
"""

from __future__ import annotations

import select
import time
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry, PoolResetState

MOST_REST = 20.0  # seconds; after a longer time a firewall may have dropped the session silently
RESET = "DISCARD ALL"  # outside a transaction; then the session is as new
_RETURNED = "qbcd_returned"


def keep_sessions(engine: Engine) -> None:
    """See :meth:`~qbcd.connectors.sessions.SupportsSessionPool.keep_sessions`."""
    event.listen(engine, "reset", _reset)
    event.listen(engine, "checkin", _returned)
    event.listen(engine, "checkout", _checked_out)


def _reset(connection: Any, _record: object, state: PoolResetState) -> None:
    connection.rollback()
    if state.terminate_only:
        return
    # To the driver's defaults, for which it sends no statement.
    connection.set_session(isolation_level="DEFAULT", readonly="DEFAULT", autocommit=False)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute(RESET)
    connection.autocommit = False


def _returned(_connection: Any, record: ConnectionPoolEntry) -> None:
    record.info[_RETURNED] = time.monotonic()


def _checked_out(connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    returned = record.info.pop(_RETURNED, None)
    if returned is None:  # a new session
        return
    if connection.closed or time.monotonic() - returned > MOST_REST or _has_message(connection):
        raise DisconnectionError("the session may have ended")  # SQLAlchemy opens another one


def _has_message(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))
