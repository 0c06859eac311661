"""A session pool for PyMySQL: reset by the protocol's command, one SET to begin a use.

The SET travels with the first statement. The reset takes place when a session is used again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pymysql
from pymysql.constants import SERVER_STATUS
from sqlalchemy import event
from sqlalchemy.engine import Engine
from sqlalchemy.pool import PoolResetState

from qbcd.connectors import session_pools

_SET = "SET "


def keep_sessions(engine: Engine, begin: Callable[[Any], Sequence[str]]) -> None:
    """See :meth:`~qbcd.connectors.sessions.SupportsSessionPool.keep_sessions`."""
    event.listen(engine, "reset", _reset)
    session_pools.keep(
        engine,
        begin=partial(_begin, begin),
        is_open=lambda connection: bool(connection.open),
        number=lambda connection: int(connection._sock.fileno()),
    )


def _reset(connection: Any, _record: object, state: PoolResetState) -> None:
    """End a transaction that the block has left, so that its locks end with it.

    The transaction of a session that the server has ended has ended too.
    """
    in_transaction = connection.open and connection.server_status & SERVER_STATUS.SERVER_STATUS_IN_TRANS
    if in_transaction and not state.terminate_only:
        try:
            connection.rollback()
        except pymysql.Error:
            if connection.open:
                raise


def _begin(statements: Callable[[Any], Sequence[str]], connection: Any, used: bool) -> None:
    """Set the variables of the start and of the use, with its first statement.

    The reset has undone them.
    """
    if used:
        connection.reset_session()
    texts = [*([connection.init_command] if used else ()), *statements(connection)]
    assert all(text.startswith(_SET) for text in texts)
    connection.send_with_next(_SET + ", ".join(text.removeprefix(_SET) for text in texts))
