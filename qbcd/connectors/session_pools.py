"""The frame of session pools: health check on checkout, and the statements that begin a use.

A statement costs a round trip to the source, and a poll has several transactions; so the health check sends none. If
the server has ended a session, its message about that has arrived and can be read. The reset of the use before, and
what begins the new one, are sent together.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable
from typing import Any

from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.exc import DisconnectionError
from sqlalchemy.pool import ConnectionPoolEntry

MOST_REST = 20.0  # seconds; after a longer time a firewall may have dropped the session silently
_RETURNED = "qbcd_returned"


def keep(
    engine: Engine, *, begin: Callable[[Any, bool], None], is_open: Callable[[Any], bool], number: Callable[[Any], int]
) -> None:
    """Check the sessions of a pooled `engine` on checkout, and begin each use.

    Args:
        begin: Begins a use of the driver's connection; the flag says if the session was used before.
        is_open: Returns False if the driver knows that the connection has ended.
        number: Returns the file descriptor of the connection's socket.
    """

    def check_out(connection: Any, record: ConnectionPoolEntry, _proxy: object) -> None:
        returned = record.info.pop(_RETURNED, None)
        if returned is not None:
            rested = time.monotonic() - returned > MOST_REST
            if rested or not is_open(connection) or _has_message(number(connection)):
                raise DisconnectionError("the session may have ended")  # SQLAlchemy opens another one
        begin(connection, returned is not None)

    event.listen(engine, "checkin", _returned)
    event.listen(engine, "checkout", check_out)


def _returned(_connection: Any, record: ConnectionPoolEntry) -> None:
    record.info[_RETURNED] = time.monotonic()


def _has_message(descriptor: int) -> bool:
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))
