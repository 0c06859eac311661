"""Sessions that go on for the next who asks: wiped when they are given back, looked at when they are taken again.

Each statement of this is a way to the source and back, and a poll has a dozen sessions; so one that lies there is not
asked whether it still lives. What its server would have said to that it has sent already, when it ended the session.
"""

from __future__ import annotations

import select
import time
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry, PoolResetState

MOST_REST = 20.0  # seconds, after which what lies between here and there may have forgotten a session without a word
_LEFT = "qbcd_left"


def keep(engine: Engine, wipe: str) -> None:
    """Lets the sessions of `engine`, whose driver is psycopg2, go on.

    Args:
        wipe: SQL, outside a transaction, after which a session is as it began.
    """

    def wiped(connection: Any, _record: object, state: PoolResetState) -> None:
        connection.rollback()
        if state.terminate_only:
            return
        # By the driver's defaults, which take no statement of their own to come to or to go from.
        connection.set_session(isolation_level="DEFAULT", readonly="DEFAULT", autocommit=False)
        connection.autocommit = True
        with connection.cursor() as cursor:
            cursor.execute(wipe)
        connection.autocommit = False

    event.listen(engine, "reset", wiped)
    event.listen(engine, "checkin", _left)
    event.listen(engine, "checkout", _taken)


def _left(_connection: Any, record: ConnectionPoolEntry) -> None:
    record.info[_LEFT] = time.monotonic()


def _taken(connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
    left = record.info.pop(_LEFT, None)
    if left is None:  # a new one
        return
    if connection.closed or time.monotonic() - left > MOST_REST or _has_said_something(connection):
        raise DisconnectionError("the session may have ended")  # SQLAlchemy opens another one


def _has_said_something(connection: Any) -> bool:
    looking = select.poll()
    looking.register(connection, select.POLLIN)
    return bool(looking.poll(0))
