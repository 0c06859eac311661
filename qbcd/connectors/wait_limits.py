"""The limit of each wait of a driver for its server, by the watchdog of `qbcd.common.waits`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from qbcd.common import waits

CONNECT_TIMEOUT = 10.0  # seconds, if the driver is given none


@dataclass(frozen=True)
class WaitLimit:
    """The limit of each wait of a connection.

    Attributes:
        seconds: Longest duration of a statement, as the client sees it.
        option: The user's name of it, for messages.
        owner: The owner of the waits, for `qbcd.common.waits.interrupt`.
    """

    seconds: float
    option: str
    owner: object = None


class Silence(Exception):
    """The server did not answer in time; the text says for how long, and which option limits it."""


def silence_below(error: BaseException) -> Silence | None:
    """Return the silence that caused an error.

    It is the error's own, the driver's, or that of an error before it.

    What cleans up after a silence fails too, and hides it.
    """
    one: BaseException | None = error
    for _ in range(20):
        found = getattr(one, "orig", None) or one
        if one is None or isinstance(found, Silence):
            return found if isinstance(found, Silence) else None
        one = one.__cause__ or one.__context__
    return None


@contextmanager
def limited(
    wait: AbstractContextManager[waits.Wait], silence: Callable[[str], Exception], connection: Any = None
) -> Iterator[waits.Wait]:
    """In the block, replace the driver's error about a socket that the watchdog has shut down.

    `connection` has the wait in progress as its attribute `wait`.
    """
    ended = None
    try:
        with wait as ended:
            if connection is not None:
                connection.wait = ended
            yield ended
    except Exception as error:
        if ended is not None and ended.ended:
            raise silence(ended.ended) from error
        raise
    finally:
        if connection is not None:
            connection.wait = None


def wait_of(connection: Any) -> waits.Wait | None:
    """Return the wait in progress of a driver's connection, if it has one that is limited."""
    found = getattr(connection, "wait", None)
    return found if isinstance(found, waits.Wait) else None


def reason_of(limit: WaitLimit) -> str:
    """Return the text of a silence; `{s}` is the duration in seconds."""
    return f"no answer for {{s}} s ({limit.option})"
