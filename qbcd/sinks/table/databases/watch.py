"""A thread that asks the server during a long wait if it works on the statement still.

A silent connection and a long statement look alike to the client. The server knows the difference, and a second session
asks it: so a silent target is found within a minute, while a healthy statement may take as long as its limits allow.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy.exc import SQLAlchemyError

from qbcd.common import waits
from qbcd.connectors.wait_limits import wait_of

EVERY_S = 15.0  # seconds between two looks at the wait in progress
SURE = 2  # answers in a row: a result may be on its way when the first one comes


@contextmanager
def watched(connection: Any, is_at_work: Callable[[], bool]) -> Iterator[None]:
    """In the block, end a wait of `connection` if the server does not work on its statement.

    Args:
        connection: The driver's connection.
        is_at_work: Asks the server in another session; it raises the driver's error if the server does not answer.
    """
    ended = threading.Event()
    watch = threading.Thread(target=_watch, args=(connection, is_at_work, ended), name="qbcd-sink", daemon=True)
    watch.start()
    try:
        yield
    finally:
        ended.set()


def _watch(connection: Any, is_at_work: Callable[[], bool], ended: threading.Event) -> None:
    seen: tuple[waits.Wait | None, float] = (None, 0.0)
    idle, began = 0, 0.0
    while not ended.wait(EVERY_S):
        wait = wait_of(connection)
        if wait is None or (wait, wait.until) != seen:  # a paused wait, or one with progress, has another end
            seen, idle, began = (wait, wait.until if wait else 0.0), 0, time.monotonic() - EVERY_S
            continue
        if wait.until == math.inf:
            continue
        try:
            problem = "" if is_at_work() else "the server does not work on the statement any more"
        except SQLAlchemyError:
            problem = "the server does not answer another session either"
        idle = idle + 1 if problem else 0
        if idle >= SURE:
            waits.expire(wait, f"no answer for {time.monotonic() - began:.0f} s, and {problem}")
