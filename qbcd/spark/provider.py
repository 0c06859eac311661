"""The owner of the project's Spark session: it starts and stops the session.

A start takes seconds, so it happens only when rows must travel.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from qbcd.config.masking import credentials_masked
from qbcd.errors import Refused, SparkFailed
from qbcd.spark import class_data_sharing
from qbcd.spark.drivers import user_cache
from qbcd.spark.jvm_start import is_out_of_memory
from qbcd.spark.session import (
    SparkSettings,
    adopt_session,
    create_session,
    driver_memory,
    fit_to,
    forget_session,
    is_alive,
    launch,
    running_java,
    running_session,
    sibling,
)
from qbcd.spark.time_limit import UNLIMITED

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

T = TypeVar("T")
log = logging.getLogger("qbcd")
_CONTINUES = "the next poll starts a new one and continues; if it ran out of memory, raise spark.driver.memory"
_ANOTHER = "pass another: qbcd.open(.., spark=..)"
_STOPPED = "the Spark session passed to qbcd has stopped"


class _OfThread(threading.local):
    """One thread's use of Spark: open `turn` blocks, a `working` block, the next work."""

    blocks = 0
    has_turn = False
    uses = 0
    works = False
    reason = ""
    rows: int | None = None


@dataclass
class SparkUse:
    """The use of Spark by one thread in a block: if there was any, and why."""

    used: bool = False
    why: str = ""


class SparkProvider:
    """The project's session: passed by the user, found in this process, or started on first use.

    Args:
        settings: Master and settings of a session that qbcd starts.
        drivers: Returns the driver jars; called only when a session is started.
        driver_classes: Classes that a session of others must be able to load.
        session: A session that the user passed.
        masked: Removes secrets from Spark's messages.

    One session serves polls of several threads, one poll at a time (:meth:`turn`): two would need twice the memory.

    Attributes:
        starting: Returns a context for the start of a session, which takes seconds.
        timeout: Longest call of a Java that this provider starts, in seconds.
        give_access: Lets a new or adopted session reach the store of the workdir.
    """

    def __init__(
        self,
        settings: SparkSettings,
        drivers: Callable[[], Sequence[Path]],
        driver_classes: Sequence[str] = (),
        session: SparkSession | None = None,
        masked: Callable[[str], str] = credentials_masked,
    ) -> None:
        self._settings = settings
        self._drivers = drivers
        self._classes = tuple(driver_classes)
        self._passed = session
        self._masked = masked
        self._session: SparkSession | None = None
        self._ours = False
        self._sibling: SparkSession | None = None
        self._lock = threading.Lock()
        self._turn = threading.Lock()
        self._mine = _OfThread()
        self.starting: Callable[[], AbstractContextManager[None]] = nullcontext
        self.timeout = UNLIMITED
        self.give_access: Callable[[SparkSession], None] = lambda session: None

    @property
    def local_folder(self) -> str:
        """The folder for Spark's data that does not fit into memory."""
        named = os.environ.get("SPARK_LOCAL_DIRS") or self._settings.conf.get("spark.local.dir")
        return named or tempfile.gettempdir()

    @property
    def on_cluster(self) -> bool:
        """True if the session's executors are other processes."""
        master = self._settings.master
        if self._passed is not None and is_alive(self._passed):
            master = self._passed.sparkContext.master or master
        return master.split("[")[0] != "local"

    @property
    def started(self) -> bool:
        """True if :meth:`get` has returned a session and :meth:`stop` was not called since."""
        return self._session is not None

    @property
    def owned(self) -> bool:
        """True if :meth:`get` has started the session itself."""
        return self._session is not None and self._ours

    def failure(self) -> SparkFailed | None:
        """Return the error to report if the session has died since :meth:`get`; None while it lives."""
        if self._session is None or is_alive(self._session):
            return None
        if self._ours and is_out_of_memory():
            return self.out_of_memory()
        remedy = _ANOTHER if self._session is self._passed else _CONTINUES
        return SparkFailed("Spark has died: its Java process ended, or its context was stopped", remedy=remedy)

    def out_of_memory(self) -> SparkFailed:
        """Return the error to report if Java ran out of memory."""
        name = "spark.driver.memory" if self._settings.master.startswith("local") else "spark.executor.memory"
        now = self._settings.conf.get(name) or (driver_memory() if name == "spark.driver.memory" else "")
        raised = f"raise {name}, now {now}" if now else f"raise {name}"
        return SparkFailed("Spark ran out of memory", remedy=f"{raised}; or set a lower jdbc.fetchsize of the source")

    @contextmanager
    def noting(self) -> Iterator[SparkUse]:
        """In the block, note if this thread uses Spark, and why; the result is complete after it."""
        mine, found = self._mine, SparkUse()
        before, mine.reason = mine.uses, ""
        try:
            yield found
        finally:
            found.used = mine.uses > before
            found.why = mine.reason if found.used else ""

    def give_reason(self, why: str, rows: int | None = None) -> None:
        """Note why this thread is about to use Spark for work that this process could do.

        The last reason counts.

        Args:
            rows: Rows of that work; None if unknown. A session that is started for it is set up for it.
        """
        self._mine.reason, self._mine.rows = why or self._mine.reason, rows

    @contextmanager
    def turn(self) -> Iterator[None]:
        """In the block, keep blocks of other threads from Spark, from the first :meth:`await_turn`.

        Until then it does not wait: most polls find no change and need no Spark.
        """
        mine = self._mine
        mine.blocks += 1
        try:
            yield
        finally:
            mine.blocks -= 1
            if not mine.blocks and mine.has_turn:
                mine.has_turn = False
                self._turn.release()

    def await_turn(self) -> None:
        """Wait until no other thread's block uses Spark or delivers; outside a block, do not wait."""
        if self._mine.blocks and not self._mine.has_turn:
            self._turn.acquire()
            self._mine.has_turn = True

    @contextmanager
    def working(self) -> Iterator[None]:
        """In the block, let `get` return a session with qbcd's settings.

        It does so also where users started the session. Frames of two different sessions must not be joined.
        """
        before, self._mine.works = self._mine.works, True
        try:
            yield
        finally:
            self._mine.works = before

    def get(self) -> SparkSession:
        """Return the session; start or adopt it on first use.

        Inside :meth:`turn` it waits for its turn. Inside :meth:`working` it may be another session of the same
        context.

        Raises:
            QbcdError: An error of :func:`create_session`, :func:`adopt_session` or `drivers`.
        """
        self.await_turn()
        with self._lock:
            if self._session is not None and not is_alive(self._session):
                self._drop(self._session)
            if self._session is None:
                self._session, self._ours = self._foreign(), False
                if self._session is None:
                    self._session, self._ours = self._start(create_session), True
                try:
                    self.give_access(self._session)
                except Refused:
                    self._session = None
                    raise
            self._mine.uses += 1
            if self._ours and self.on_cluster:
                fit_to(self._session, self._settings, self._mine.rows)
            if self._ours or not self._mine.works:
                return self._session
            if self._sibling is None:
                self._sibling = sibling(self._session)
            return self._sibling

    def java(self) -> Any:
        """Return the classes of the session's Java; if there is no session, start its Java alone.

        A few statements of a JDBC driver need no session, whose start takes most of the time. They wait for no turn.

        Raises:
            QbcdError: As :meth:`get`.
        """
        with self._lock:
            session = self._session if self._session is not None else self._foreign()
            if session is None:
                if running_java(()) is None:
                    self._start(launch)
                if (jvm := running_java(self._classes)) is not None:
                    return jvm
            elif is_alive(session):
                return session.sparkContext._jvm
        return self.get().sparkContext._jvm

    def _start(self, begin: Callable[..., T]) -> T:
        """Start Java, or a session."""
        with self.starting():
            return begin(
                self._settings,
                self._drivers(),
                cache=user_cache(),
                masked=self._masked,
                timeout=self.timeout,
                rows=self._mine.rows,
            )

    def look(self) -> None:
        """Check a session that qbcd did not start, if there is one; start nothing.

        Raises:
            Refused: It cannot be used.
        """
        with self._lock:
            if self._session in (None, self._passed):
                self._foreign()

    def _foreign(self) -> SparkSession | None:
        """Return the session that the user passed, or that runs in this process already, or None."""
        if self._passed is None:
            found = running_session()
        elif is_alive(self._passed):
            found = self._passed
        else:
            raise Refused(_STOPPED, remedy=_ANOTHER)
        return None if found is None else adopt_session(found, self._classes)

    def _drop(self, session: SparkSession) -> None:
        """Forget a session that has died, so that another can be started.

        Raises:
            Refused: The user passed it.
        """
        if session is self._passed:
            raise Refused(_STOPPED, remedy=_ANOTHER)
        log.warning("the Spark session has died; another one is started")
        self._session = self._sibling = None
        forget_session(session)

    def stop(self) -> None:
        """Release the session; stop it only if this provider started it."""
        with self._lock:
            session, self._session, self._sibling = self._session, None, None
            if session is None or not self._ours:
                return
            if not is_alive(session):
                forget_session(session)
                return
            if sys.exc_info()[0] is None:  # not after an error or interrupt, since it takes seconds
                class_data_sharing.save(session)
            session.stop() if is_alive(session) else forget_session(session)  # a full disk can end Java during `save`
