"""Tables that appear or go while patterns capture a source: reported once, or captured.

A new table of an entry with ``new_tables: capture`` is prepared here. It is in the record as captured only after that,
so that a process that was killed in between prepares it when it runs again.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from qbcd.error_messages import one_message
from qbcd.errors import QbcdError
from qbcd.project import ProjectParts
from qbcd.roster.roster import Roster
from qbcd.run import prepare_stream
from qbcd.stream import Report, Stream

T = TypeVar("T")
log = logging.getLogger("qbcd")
LIST_EVERY_S = 60.0  # between two questions of a job about the tables of its sources

Change = Literal["new", "capturing", "dropped"]


@dataclass(frozen=True)
class TableChange:
    """A table that has appeared, or that does not exist any more."""

    change: Change
    stream: str
    table: str

    @property
    def text(self) -> str:
        """The change in one sentence, with the remedy if a person must decide."""
        if self.change == "capturing":
            return f"table {self.table} is new: it is captured from now on"
        if self.change == "new":
            return (
                f"table {self.table} is new and not captured "
                f"(qbcd prepare {self.stream} captures it; or add it to `exclude` of the pattern)"
            )
        return (
            f"table {self.table} does not exist any more, or the role may not see it; it is not polled "
            f"(qbcd reset {self.stream} forgets it)"
        )


@dataclass
class TableEvents:
    """The reports of a job about tables of patterns; called from the threads of sources.

    Attributes:
        on_change: A table has appeared or gone.
        on_problem: A pattern or a table cannot be captured.
        on_prepared: A new table was prepared, with the report.
        on_stream: One more stream is polled from now on.
    """

    on_change: Callable[[TableChange], None] = lambda change: log.warning("stream %s: %s", change.stream, change.text)
    on_problem: Callable[[QbcdError], None] = lambda error: log.warning("%s", error)
    on_prepared: Callable[[str, Report], None] = lambda stream, report: None
    on_stream: Callable[[Stream], None] = lambda stream: None


class TableWatch:
    """The tables of a project's patterns during one job.

    Args:
        events: What is reported.
    """

    def __init__(self, parts: ProjectParts, events: TableEvents) -> None:
        self._parts, self._events = parts, events
        self._lock, self._listing = threading.Lock(), threading.Lock()
        self._said: set[str] = set()  # problems and changes of this job
        self._asked = time.monotonic()
        self._streams: list[str] = []

    def streams(self) -> list[str]:
        """Return the streams to poll, after new tables were reported or captured."""
        roster = self._parts.streams.roster()
        self._report(roster)
        waiting = self._capture(roster)
        self._streams = [name for name in roster.streams if name not in waiting]
        return self._streams

    def renewed(self, source: str, polled: Collection[str]) -> list[str] | None:
        """Return the streams of a source if they differ from `polled`; None if they are the same.

        All sources are asked for their tables once in a while.
        """
        if self._listing.acquire(blocking=False):  # otherwise another thread asks now
            try:
                if time.monotonic() - self._asked >= LIST_EVERY_S:
                    self._parts.streams.roster(again=True)
                    self.streams()
                    self._asked = time.monotonic()
            finally:
                self._listing.release()
        roster = self._parts.streams.roster()
        names = [name for name in self._streams if (found := roster.find(name)) and found.source == source]
        return None if set(names) == set(polled) else names

    def _report(self, roster: Roster) -> None:
        """Report what was not reported yet, and record it."""
        for problem in roster.problems:
            self._say_once(str(problem), self._events.on_problem, problem)
        reported = [name for name in roster.appeared if name in roster.new]
        for name in reported:
            self._events.on_change(TableChange("new", name, _table(roster, name)))
        for name in roster.unreported:
            one = roster.dropped[name]
            self._events.on_change(TableChange("dropped", name, f"{one.schema}.{one.name}"))
        gone = [replace(roster.dropped[name], state="gone") for name in roster.unreported]
        self._parts.streams.known_tables.put([*roster.as_known(reported, "reported"), *gone])
        roster.appeared = [name for name in roster.appeared if name in roster.streams]
        roster.unreported.clear()

    def _capture(self, roster: Roster) -> set[str]:
        """Prepare new tables that are to be captured; return those that could not be prepared."""
        failed = set()
        for name in roster.appeared:
            change = TableChange("capturing", name, _table(roster, name))
            self._say_once(change.text, self._events.on_change, change)
            if not self._prepared(name):
                failed.add(name)
        roster.appeared = [name for name in roster.appeared if name in failed]
        return failed

    def _prepared(self, name: str) -> bool:
        try:
            stream = self._parts.open_stream(name)
            with one_message(stream):
                report = prepare_stream(stream)
        except QbcdError as error:
            error.stream = error.stream or name
            self._say_once(str(error), self._events.on_problem, error)
            return False
        self._parts.streams.capture([name])
        self._events.on_prepared(name, report)
        return True

    def _say_once(self, text: str, say: Callable[[T], None], about: T) -> None:
        with self._lock:
            if text in self._said:
                return
            self._said.add(text)
        say(about)


def _table(roster: Roster, name: str) -> str:
    found = roster.find(name)
    assert found is not None
    return f"{found.table_schema}.{found.table_name}"
