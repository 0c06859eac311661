"""Who holds the project's Spark session, starts it, and stops it.

A session costs seconds, so it is started only when rows must travel.
"""

from __future__ import annotations

import logging
import os
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

from qbcd.config.masking import credentials_masked
from qbcd.errors import Refused, SparkFailed
from qbcd.spark import class_data_sharing
from qbcd.spark.drivers import user_cache
from qbcd.spark.session import (
    ONE_TASK,
    SparkSettings,
    adopt_session,
    create_session,
    forget_session,
    is_alive,
    running_session,
    sibling,
)

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import SparkSession

log = logging.getLogger("qbcd")
# Parquet's pages are skipped that have no row of any of so many ranges. Spark makes a tree of them as deep as they are
# many, and goes down it: a thousand overflow a task's stack.
_PAGES = {"spark.sql.parquet.pushdown.inFilterThreshold": "100"}
# For jobs of a few rows, where compiling code and planning exchanges costs more than running them.
SMALL: Mapping[str, str] = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.shuffle.partitions": "1",
    **_PAGES,
    **ONE_TASK,
}
SMALL_ROWS = 5_000  # up to which rows are few in this sense
# For jobs whose size is known before: planning them anew after every exchange costs more than it finds out. Their
# exchanges have a partition for each core.
MIDDLE: Mapping[str, str] = {"spark.sql.adaptive.enabled": "false", **_PAGES, **ONE_TASK}
MIDDLE_ROWS = 5_000_000
_GOES_ON = "the next poll starts another and goes on from here; if it ran out of memory, raise spark.driver.memory"
_ANOTHER = "hand in another: qbcd.open(.., spark=..)"
_STOPPED = "the Spark session handed in has stopped"
_SIZES = ((SMALL_ROWS, SMALL), (MIDDLE_ROWS, MIDDLE))


class SparkProvider:
    """Holds the project's session: handed in, found running in this process, or started on first use.

    Args:
        settings: Master and settings of a session that has to be started.
        drivers: Finds the driver jars; called only when a session is started.
        driver_classes: What a session made by others must be able to load.
        session: A session handed in by the user.
        masked: Takes secrets out of Spark's words.

    Attributes:
        starting: Makes the context in which a session is started, which takes seconds.
        uses: How often :meth:`get` has returned a session.
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
        self._handed_in = session
        self._masked = masked
        self._session: SparkSession | None = None
        self._ours = False
        self._siblings: dict[int, SparkSession] = {}
        self._rows: int | None = None
        self._lock = threading.Lock()
        self.starting: Callable[[], AbstractContextManager[None]] = nullcontext
        self.uses = 0

    @property
    def local_folder(self) -> str:
        """The folder in which Spark keeps what does not fit into memory."""
        named = os.environ.get("SPARK_LOCAL_DIRS") or self._settings.conf.get("spark.local.dir")
        return named or tempfile.gettempdir()

    @property
    def started(self) -> bool:
        """Return True if :meth:`get` has returned a session that is still held."""
        return self._session is not None

    def failure(self) -> SparkFailed | None:
        """The error to report if the session that was returned has died since; None while it lives."""
        if self._session is None or is_alive(self._session):
            return None
        remedy = _ANOTHER if self._session is self._handed_in else _GOES_ON
        return SparkFailed("Spark has died: its Java process is gone, or its context was stopped", remedy=remedy)

    @contextmanager
    def for_rows(self, rows: int) -> Iterator[None]:
        """While it lasts, `get` gives the session that suits about so many rows; frames of two are never joined."""
        before, self._rows = self._rows, rows
        try:
            yield
        finally:
            self._rows = before

    def get(self) -> SparkSession:
        """The session; starts or adopts it on first use. For so many rows another of the same context, see `for_rows`.

        Raises:
            QbcdError: As :func:`create_session` and :func:`adopt_session` say, or the finder of the drivers.
        """
        with self._lock:
            if self._session is not None and not is_alive(self._session):
                self._bury(self._session)
            if self._session is None:
                self._session, self._ours = self._of_others(), False
                if self._session is None:
                    with self.starting():
                        self._session = create_session(
                            self._settings, self._drivers(), cache=user_cache(), masked=self._masked
                        )
                    self._ours = True
            self.uses += 1
            for most, settings in _SIZES:
                if self._rows is not None and self._rows <= most:
                    if most not in self._siblings:
                        self._siblings[most] = sibling(self._session, settings)
                    return self._siblings[most]
            return self._session

    def look(self) -> None:
        """Looks at the session that others made, if there is one; starts nothing.

        Raises:
            Refused: It is none that could be used.
        """
        with self._lock:
            if self._session in (None, self._handed_in):
                self._of_others()

    def _of_others(self) -> SparkSession | None:
        """The session handed in, or the one that runs in this process already; None where there is neither."""
        if self._handed_in is None:
            found = running_session()
        elif is_alive(self._handed_in):
            found = self._handed_in
        else:
            raise Refused(_STOPPED, remedy=_ANOTHER)
        return None if found is None else adopt_session(found, self._classes)

    def _bury(self, session: SparkSession) -> None:
        """Another takes the place of a session that has died, unless the user handed it in."""
        if session is self._handed_in:
            raise Refused(_STOPPED, remedy=_ANOTHER)
        log.warning("the Spark session has died; another one is started")
        self._session, self._siblings = None, {}
        forget_session(session)

    def stop(self) -> None:
        """Lets the session go; stops it only if this provider started it."""
        with self._lock:
            session, self._session, self._siblings = self._session, None, {}
            if session is None or not self._ours:
                return
            if not is_alive(session):
                forget_session(session)
                return
            if sys.exc_info()[0] is None:  # whoever is interrupted will not wait
                class_data_sharing.save(session)
            session.stop() if is_alive(session) else forget_session(session)  # a full disk ends Java while it writes
