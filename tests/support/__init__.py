"""Helpers of several test folders: SQL, waiting, ports.

SQL runs through the native driver, never through the code under test.
"""

from __future__ import annotations

import socket
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tests.support.places import Row, place_of

__all__ = ["connect", "free_port", "no_sessions", "sql", "wait_until"]


def connect(url: str, *, autocommit: bool = False) -> AbstractContextManager[Any]:
    """Yield a connection; without `autocommit`, commit it, or roll back on an exception.

    Args:
        url: As the fixture `database` returns it.
        autocommit: Each statement is a transaction of its own.
    """
    return place_of(url).connect(autocommit=autocommit)


def sql(url: str, text: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> list[Row]:
    """Run `text` in one transaction; see :meth:`tests.support.places.Place.sql`."""
    return place_of(url).sql(text, params)


def wait_until(condition: Callable[[], bool], *, timeout: float = 30.0, what: str = "the condition") -> None:
    """Poll `condition` until it is true.

    Raises:
        TimeoutError: It was not true within `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come within {timeout:g} s")
        time.sleep(0.02)


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def no_sessions(url: str) -> bool:
    """Return True if no session of qbcd is left in a PostgreSQL database.

    A session adds to the server's statistics when it ends.
    """
    query = "SELECT 1 FROM pg_stat_activity WHERE application_name LIKE 'qbcd%' AND datname = current_database()"
    return not sql(url, query)
