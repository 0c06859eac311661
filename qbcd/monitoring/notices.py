"""Changes of the state of streams from the outcomes of polls: one notice per change.

A poll that changes no state has none.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any, Literal

from qbcd.config.masking import Masking
from qbcd.errors import QbcdError, SchemaChanged, streams_named
from qbcd.polling.outcome import Outcome
from qbcd.state import UNCAPTURED
from qbcd.stream import Stream

Event = Literal["refused", "failed", "recovered", "schema_changed"]
State = Literal["ok", "failed", "refused"]


@dataclass(frozen=True)
class Notice:
    """A change of state of a stream, or of all streams of a source that opens no session.

    Attributes:
        streams: The streams whose state has changed.
        at: Seconds since 1970 UTC.
        lasted: Seconds for which the state before lasted; None if this process did not see it begin.
        error: The error that ended the poll, or the first of those that ended deliveries.
        sinks: By sink, the error that ended its deliveries.
        change: A change of the captured columns that a poll has applied, or of the table that it reports, in words.
    """

    event: Event
    streams: tuple[str, ...]
    source: str
    previous: State
    at: float
    lasted: float | None = None
    error: QbcdError | None = None
    sinks: Mapping[str, str] = field(default_factory=dict)
    change: str = ""

    @property
    def outcome(self) -> State:
        """The state after the change."""
        if self.event == "recovered":
            return "ok"
        if self.change:  # of the table, not of the state
            return self.previous
        return "failed" if self.event == "failed" else "refused"

    def data(self, masking: Masking) -> dict[str, Any]:
        """Return the notice as JSON-ready data, with secrets masked."""
        error, subject = self.error, streams_named(self.streams)
        what, remedy = (masking.foreign(text) for text in ((error.what, error.remedy) if error else (self.change, "")))
        text = f"qbcd: {subject} {self.event.replace('_', ' ')}"
        return {
            "version": 1,
            "event": self.event,
            "at": datetime.fromtimestamp(self.at, timezone.utc).isoformat(timespec="milliseconds"),
            "source": self.source,
            "stream": self.streams[0] if len(self.streams) == 1 else None,
            "streams": list(self.streams),
            "previous": self.previous,
            "outcome": self.outcome,
            "lasted_seconds": None if self.lasted is None else round(self.lasted, 3),
            "error_type": type(error).__name__ if error else None,
            "exit_code": error.exit_code if error else 0,
            "what": what,
            "remedy": remedy,
            "sinks": {sink: masking.foreign(message) for sink, message in self.sinks.items()},
            "text": f"{text}: {what}{f' ({remedy})' if remedy else ''}" if what else text,
        }


@dataclass
class _LastState:
    """The last known state of a stream.

    Attributes:
        since: When the state began, by this process; None if it began before.
        unreached: It is ``failed`` only since its source opened no session.
        uncaptured: The changes of the table that the last poll reported.
    """

    source: str
    state: State = "ok"
    since: float | None = None
    unreached: bool = False
    uncaptured: frozenset[str] = frozenset()

    def turn(self, state: State, at: float, *, unreached: bool = False) -> float | None:
        """Set another state; return how long the one before lasted, if that is known."""
        lasted = None if self.since is None else max(0.0, at - self.since)
        self.state, self.since, self.unreached = state, at, unreached
        return lasted

    def new_changes(self, uncaptured: Sequence[str]) -> list[str]:
        """Return the reported changes of the table that the poll before did not report."""
        new = [one for one in uncaptured if one not in self.uncaptured]
        self.uncaptured = frozenset(uncaptured)
        return new


class States:
    """The states of the streams of a job. The outcomes must be added one at a time."""

    def __init__(self, streams: Iterable[Stream]) -> None:
        self._known: dict[str, _LastState] = {}
        for stream in streams:
            self.follow(stream)

    def follow(self, stream: Stream) -> None:
        """Begin with the state that the stream's history shows."""
        state, uncaptured = _recorded(stream)
        self._known[stream.name] = _LastState(stream.source.name, state, uncaptured=uncaptured)

    def add(self, outcome: Outcome) -> Iterator[Notice]:
        """Yield the notices of a poll.

        A source that opens no session has one notice for all its streams. A stream that was refused before is not in
        it: it stays refused.
        """
        run = outcome.run
        if run is None or outcome.stream not in self._known:  # another process works on it
            return
        at, state = run.finished_at, _state(run.outcome)
        if outcome.reached is False and len(outcome.waiting) > 1:
            yield from self._source_down(outcome, at)
            return
        known = self._known[outcome.stream]
        if outcome.reached:
            yield from self._source_answers(outcome, at, but=outcome.stream if state != "ok" else "")
        if outcome.error is None and outcome.report is not None:
            changes = [*filter(None, [outcome.report.change]), *known.new_changes(outcome.report.uncaptured)]
            for change in changes:
                yield Notice("schema_changed", (outcome.stream,), outcome.source, state, at, change=change)
        if state == known.state:
            known.unreached = False
            return
        before, lasted = known.state, known.turn(state, at)
        failures = outcome.report.failures if outcome.report is not None else {}
        error = outcome.error or next(iter(failures.values()), None)
        sinks = {sink: str(failure) for sink, failure in failures.items()}
        event: Event = "recovered" if state == "ok" else state
        if isinstance(error, SchemaChanged):
            event = "schema_changed"
        yield Notice(event, (outcome.stream,), outcome.source, before, at, lasted, error, sinks)

    def _source_down(self, outcome: Outcome, at: float) -> Iterator[Notice]:
        """Let the streams of a source that were well fail together."""
        well = [name for name in outcome.waiting if name in self._known and self._known[name].state == "ok"]
        lasted = [self._known[name].turn("failed", at, unreached=True) for name in well]
        if well:
            yield Notice("failed", tuple(well), outcome.source, "ok", at, lasted[0], outcome.error)

    def _source_answers(self, outcome: Outcome, at: float, but: str) -> Iterator[Notice]:
        """Let streams that failed with their source recover together, except one with another error."""
        back = [n for n, one in self._known.items() if one.unreached and one.source == outcome.source and n != but]
        lasted = [self._known[name].turn("ok", at) for name in back]
        if back:
            yield Notice("recovered", tuple(back), outcome.source, "failed", at, lasted[0])


def _state(outcome: str) -> State:
    return "refused" if outcome == "refused" else "failed" if outcome == "failed" else "ok"


def _recorded(stream: Stream) -> tuple[State, frozenset[str]]:
    """Return state and reported changes of the table as in the history.

    The poll reports it if the history cannot be read. Polls that failed may not have seen the table.
    """
    try:
        runs = stream.project.runs(stream.name)
    except QbcdError:
        return "ok", frozenset()
    seen = next((run for run in runs if run.outcome in ("ok", "empty")), None)
    return _state(runs[0].outcome) if runs else "ok", frozenset(seen.cost.get(UNCAPTURED, ()) if seen else ())
