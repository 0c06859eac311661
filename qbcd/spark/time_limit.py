"""A limit on each call of qbcd's Java: Spark jobs are canceled, a hanging Java is killed.

Py4J waits for Java without a limit. All of Spark's actions are such calls.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from qbcd.common import waits
from qbcd.errors import SparkFailed

GRACE = 10.0  # seconds for a canceled call to end, before its Java is killed
CANCEL_EVERY = 0.5  # seconds; a call that plans has no job yet, and may start one after the jobs were canceled
UNLIMITED = 86_400.0  # seconds


@dataclass(frozen=True)
class _Calls:
    """The calls of one gateway to Java.

    Attributes:
        send: Py4J's own function that sends a command and waits for the answer.
        seconds: The limit of one call.
    """

    send: Callable[..., Any]
    seconds: float
    kill: Callable[[], None]

    def __call__(self, *arguments: Any, **named: Any) -> Any:
        """Send a command to Java; return its answer.

        Raises:
            SparkFailed: It did not come in time, or the poll has lost its lease.
        """
        done = threading.Event()
        wait = None
        reason = "Spark did not finish a step within {s} s (spark.timeout)"
        try:
            with waits.limited(self.seconds, partial(self._end, done), reason=reason, owner=owner_of_calls()) as wait:
                answer = self.send(*arguments, **named)
        except Exception as error:
            if wait is not None and wait.ended:
                raise _too_long(wait.ended) from error
            raise
        finally:
            done.set()
        if wait.ended:
            raise _too_long(wait.ended)
        return answer

    def _end(self, done: threading.Event) -> None:
        for work in (self._cancel, self._kill_after_grace):
            threading.Thread(target=work, args=(done,), name="qbcd-spark-end", daemon=True).start()

    def _cancel(self, done: threading.Event) -> None:
        from pyspark import SparkContext

        until = time.monotonic() + GRACE
        while (context := SparkContext._active_spark_context) is not None and time.monotonic() < until:
            with suppress(Exception), waits.at_most(GRACE):  # a Java that hangs is killed instead
                context.cancelAllJobs()
            if done.wait(CANCEL_EVERY):
                return

    def _kill_after_grace(self, done: threading.Event) -> None:
        if not done.wait(GRACE):
            self.kill()


def owner_of_calls() -> object:
    """Return the owner of this thread's calls, for `qbcd.common.waits.interrupt`."""
    return "java", threading.get_ident()


def limit_calls(gateway: Any, seconds: float, kill: Callable[[], None]) -> Callable[[], None]:
    """Limit each call of `gateway`, a connection to a Java, from now on.

    Args:
        gateway: Py4J's.
        seconds: The limit of one call.
        kill: Called if Java does not even cancel its jobs.

    Returns:
        A function that lifts the limit.
    """
    client = gateway._gateway_client
    before = client.send_command
    client.send_command = _Calls(before, seconds, kill)

    def lift() -> None:
        client.send_command = before

    return lift


def _too_long(reason: str) -> SparkFailed:
    remedy = "see Spark's lines above, or the source; if its steps need longer, raise `spark.timeout`"
    return SparkFailed(reason, remedy=remedy)
