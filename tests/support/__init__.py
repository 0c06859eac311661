"""What several test folders share: SQL through psycopg2 (never through the code under test) and waiting."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg2
from psycopg2.extensions import connection

__all__ = ["connect", "sql", "wait_until"]


@contextmanager
def connect(url: str, *, autocommit: bool = False) -> Iterator[connection]:
    """A connection that is closed afterwards; without `autocommit` it is committed, or rolled back on an exception.

    Args:
        url: libpq URL, as :attr:`qbcd.demo.server.EmbeddedPostgres.url` and the fixture `database` give it.
        autocommit: Each statement is a transaction of its own.
    """
    conn = psycopg2.connect(url, connect_timeout=10)
    try:
        conn.autocommit = autocommit
        yield conn
        if not autocommit:
            conn.commit()
    finally:
        conn.close()  # rolls back what was not committed


def sql(url: str, text: str, params: Sequence[Any] | Mapping[str, Any] | None = None) -> list[tuple[Any, ...]]:
    """Runs `text` on a connection of its own, in autocommit; gives the rows of the last statement, or an empty list.

    Several statements in one `text` are one transaction, as libpq sends them together. With `params` a literal `%` is
    written `%%`.
    """
    with connect(url, autocommit=True) as conn, conn.cursor() as cursor:
        cursor.execute(text, params)
        return cursor.fetchall() if cursor.description else []


def wait_until(condition: Callable[[], bool], *, timeout: float = 30.0, what: str = "the condition") -> None:
    """Polls `condition` until it holds.

    Raises:
        TimeoutError: It did not hold within `timeout` seconds.
    """
    deadline = time.monotonic() + timeout
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what} did not come within {timeout:g} s")
        time.sleep(0.02)
