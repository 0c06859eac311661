"""A thread with a bounded queue, for what is sent while polls go on."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")
MOST_WAITING = 1000  # items; further ones are dropped
END_S = 10.0  # longest wait at the end of a job for items that are not sent yet


class Background(Generic[T]):
    """A thread that sends items in order. Nobody waits for it, except at the end.

    Args:
        send: Sends one item, from the thread; must raise nothing.
        dropped: Called from :meth:`put` with an item for which the queue has no room.

    Attributes:
        stopped: Set when nobody waits any longer; `send` should return soon.
    """

    def __init__(self, name: str, send: Callable[[T], None], dropped: Callable[[T], None]) -> None:
        self._send, self._dropped = send, dropped
        self._queue: queue.Queue[T | None] = queue.Queue()
        self.stopped = threading.Event()
        self._thread = threading.Thread(target=self._work, name=name, daemon=True)
        self._thread.start()

    def put(self, item: T) -> None:
        """Add an item to the queue, or drop it."""
        if self._queue.qsize() >= MOST_WAITING:
            self._dropped(item)
        else:
            self._queue.put_nowait(item)

    def end(self) -> None:
        """Let the thread end after the items in the queue."""
        self._queue.put_nowait(None)

    def join(self, seconds: float) -> bool:
        """Wait for the thread, then let it stop; return True if it has sent everything."""
        self._thread.join(seconds)
        self.stopped.set()
        return not self._thread.is_alive()

    def _work(self) -> None:
        while (item := self._queue.get()) is not None and not self.stopped.is_set():
            self._send(item)
