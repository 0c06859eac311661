"""Numbers of the polls of one process, by metric; no package for metrics is needed.

The names are those of :data:`METRICS`. Users have them in dashboards and alerts, so none is renamed.
"""

from __future__ import annotations

import threading
import time
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

from qbcd.common.phases import PHASES
from qbcd.errors import QbcdError
from qbcd.polling.outcome import Outcome
from qbcd.state import Run
from qbcd.stream import Stream

Kind = Literal["counter", "gauge", "histogram"]
Labels = tuple[str, ...]

OUTCOMES = ("ok", "empty", "failed", "refused")
OPS = ("c", "u", "d", "r")
BUCKETS = (0.1, 0.5, 1.0, 5.0, 15.0, 60.0, 300.0, 1800.0)  # seconds of a poll
SECONDS = "qbcd_poll_seconds"
PHASE_SECONDS = "qbcd_poll_phase_seconds_total"


@dataclass(frozen=True)
class Metric:
    """A metric: its kind, its labels in order, and its help text."""

    kind: Kind
    labels: Labels
    help: str


_STREAM = ("stream",)
METRICS: Mapping[str, Metric] = {
    SECONDS: Metric("histogram", _STREAM, "Duration of a poll with its deliveries, in seconds."),
    PHASE_SECONDS: Metric(
        "counter", ("stream", "phase"), "Seconds of the phases of polls; together the polls' duration."
    ),
    "qbcd_polls_total": Metric(
        "counter", ("stream", "outcome"), "Polls by outcome: ok (changes), empty, failed, refused."
    ),
    "qbcd_events_total": Metric("counter", ("stream", "op"), "Events found, by op: c, u, d, r."),
    "qbcd_rows_scanned_total": Metric("counter", _STREAM, "Rows that the source read."),
    "qbcd_rows_shipped_total": Metric("counter", _STREAM, "Rows that left the source."),
    "qbcd_bytes_shipped_total": Metric("counter", _STREAM, "Bytes that left the source."),
    "qbcd_ranges_total": Metric("counter", _STREAM, "Ranges compared."),
    "qbcd_dirty_ranges_total": Metric("counter", _STREAM, "Ranges whose count or checksum differed."),
    "qbcd_lag_seconds": Metric("gauge", _STREAM, "Seconds since a poll succeeded, or since prepare."),
    "qbcd_last_success_timestamp_seconds": Metric("gauge", _STREAM, "Time of the last poll that succeeded."),
    "qbcd_last_poll_timestamp_seconds": Metric("gauge", _STREAM, "Time of the last poll."),
    "qbcd_every_seconds": Metric("gauge", _STREAM, "Interval of polls, as configured."),
    "qbcd_refused": Metric("gauge", _STREAM, "1 if the last poll was refused: a person must decide."),
    "qbcd_failed": Metric("gauge", _STREAM, "1 if the last poll or one of its deliveries failed."),
    "qbcd_pending_batches": Metric("gauge", ("stream", "sink"), "Batches that wait for a sink."),
    "qbcd_delivery_failures": Metric("gauge", ("stream", "sink"), "Failed deliveries in a row of a sink's next batch."),
    "qbcd_info": Metric("gauge", ("version",), "Version of qbcd; the value is 1."),
}
_COSTS = {
    "rows_scanned": "qbcd_rows_scanned_total",
    "rows_shipped": "qbcd_rows_shipped_total",
    "bytes_shipped": "qbcd_bytes_shipped_total",
    "ranges": "qbcd_ranges_total",
    "dirty": "qbcd_dirty_ranges_total",
}


@dataclass
class Polled:
    """The last known facts of one stream; times are seconds since 1970 UTC.

    Attributes:
        every: Interval in seconds.
        last_success: End of the last poll that succeeded; None if there was none.
        epoch: UTC second of its `prepare`; 0 if not known.
        pending: By sink, the batches that wait for it.
        attempts: By sink, failed deliveries in a row.
    """

    every: float
    last_success: float | None = None
    last: Run | None = None
    epoch: int = 0
    pending: dict[str, int] = field(default_factory=dict)
    attempts: dict[str, int] = field(default_factory=dict)

    def lag(self, now: float) -> float | None:
        """Return the seconds since a poll succeeded, or since `prepare`, as in `qbcd status`.

        None if not known.
        """
        since = self.last_success if self.last_success is not None else float(self.epoch)
        if self.epoch <= now:  # a host with a faster clock may have set it
            since = max(since, float(self.epoch))
        return max(0.0, now - since) if since else None


class Measured:
    """Numbers of all polls of this process; threads may add outcomes while another reads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._streams: dict[str, Polled] = {}
        self._counters: dict[str, dict[Labels, float]] = {n: {} for n, m in METRICS.items() if m.kind == "counter"}
        self._buckets: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, float] = {}

    def begin(self, streams: Iterable[Stream]) -> None:
        """Start each stream with counters of 0 and what the history says of it.

        The history is not needed: if it cannot be read, the first poll gives the numbers, and reports the error.
        """
        for stream in streams:
            facts = Polled(stream.config.every.total_seconds())
            try:
                facts.last = next(iter(stream.project.runs(stream.name, 1)), None)
                facts.last_success = stream.project.last_success(stream.name)
                facts.attempts = {s: f.attempts for s, f in stream.project.delivery_failures(stream.name).items()}
            except QbcdError:  # the poll gets and reports the same error
                pass
            with self._lock:
                self._streams[stream.name] = facts
                self._start(stream.name)

    def _start(self, stream: str) -> None:
        for outcome in OUTCOMES:
            self._counters["qbcd_polls_total"].setdefault((stream, outcome), 0)
        for op in OPS:
            self._counters["qbcd_events_total"].setdefault((stream, op), 0)
        for phase in PHASES:
            self._counters[PHASE_SECONDS].setdefault((stream, phase), 0)
        for name in _COSTS.values():
            self._counters[name].setdefault((stream,), 0)
        self._buckets.setdefault((stream,), [0] * (len(BUCKETS) + 1))
        self._sums.setdefault((stream,), 0.0)

    def add(self, outcome: Outcome) -> None:
        """Count a poll. An attempt while another process works on the stream is no poll."""
        run = outcome.run
        if run is None:
            return
        with self._lock:
            if (facts := self._streams.get(outcome.stream)) is None:
                return
            facts.last, facts.epoch = run, outcome.epoch or facts.epoch
            if run.outcome in ("ok", "empty"):
                facts.last_success = run.finished_at
            facts.pending.update(outcome.pending)
            facts.attempts.update(outcome.attempts)
            self._count(run)
            for phase, seconds in outcome.phases.items():
                self._add(PHASE_SECONDS, (run.stream, phase), seconds)

    def _count(self, run: Run) -> None:
        self._add("qbcd_polls_total", (run.stream, run.outcome), 1)
        for op, number in run.counts.items():
            self._add("qbcd_events_total", (run.stream, op), number)
        for key, name in _COSTS.items():
            self._add(name, (run.stream,), run.cost.get(key, 0))
        took = max(0.0, run.finished_at - run.started_at)
        self._buckets[run.stream,][bisect_left(BUCKETS, took)] += 1
        self._sums[run.stream,] += took

    def _add(self, name: str, labels: Labels, number: float) -> None:
        counter = self._counters[name]
        counter[labels] = counter.get(labels, 0) + number

    def restore(self, name: str, labels: Mapping[str, str], value: float) -> None:
        """Continue a counter, or a part of the histogram, with the value of an earlier process.

        Values of streams that this process does not poll, and of other metrics, are dropped.
        """
        with self._lock:
            if labels.get("stream") not in self._streams:
                return
            if name in self._counters:
                self._counters[name][tuple(labels.get(one, "") for one in METRICS[name].labels)] = value
            elif name == f"{SECONDS}_sum":
                self._sums[labels["stream"],] = value
            elif name == f"{SECONDS}_bucket":
                bounds = [*map(str, BUCKETS), "+Inf"]
                if labels.get("le") in bounds:  # cumulated here, as in a file; see `restored`
                    self._buckets[labels["stream"],][bounds.index(labels["le"])] = int(value)

    def restored(self) -> None:
        """End the restoration: buckets of a file are cumulated, those here are not."""
        with self._lock:
            for labels, counts in self._buckets.items():
                if counts != sorted(counts):  # of a version with other bounds
                    counts[:], self._sums[labels] = [0] * len(counts), 0.0
                counts[:] = [number - before for number, before in zip(counts, [0, *counts], strict=False)]

    def values(self, now: float | None = None) -> Iterator[tuple[str, list[tuple[Labels, float]]]]:
        """Yield each metric but the histogram with the values of its series."""
        from qbcd.version import __version__

        with self._lock:
            read = {name: list(series.items()) for name, series in self._counters.items()}
            read |= self._gauges(time.time() if now is None else now)
        read["qbcd_info"] = [((__version__,), 1)]
        for name in METRICS:
            if name != SECONDS:
                yield name, read.get(name, [])

    def _gauges(self, now: float) -> dict[str, list[tuple[Labels, float]]]:
        found: dict[str, list[tuple[Labels, float]]] = {}

        def put(name: str, value: float | None, *labels: str) -> None:
            if value is not None:
                found.setdefault(name, []).append((labels, value))

        for stream, facts in self._streams.items():
            put("qbcd_lag_seconds", facts.lag(now), stream)
            put("qbcd_last_success_timestamp_seconds", facts.last_success, stream)
            put("qbcd_every_seconds", facts.every, stream)
            if (last := facts.last) is not None:
                put("qbcd_last_poll_timestamp_seconds", last.finished_at, stream)
                put("qbcd_refused", last.outcome == "refused", stream)
                put("qbcd_failed", last.outcome == "failed", stream)
            for sink, number in sorted(facts.pending.items()):
                put("qbcd_pending_batches", number, stream, sink)
            for sink, number in sorted(facts.attempts.items()):
                put("qbcd_delivery_failures", number, stream, sink)
        return found

    def durations(self) -> list[tuple[Labels, Sequence[tuple[str, int]], float]]:
        """Return the histogram: by stream, the cumulated counts by upper bound, and the sum."""
        bounds = [*map(str, BUCKETS), "+Inf"]
        with self._lock:
            return [
                (labels, list(zip(bounds, accumulate(counts), strict=True)), self._sums[labels])
                for labels, counts in self._buckets.items()
            ]
