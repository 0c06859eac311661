"""The polling job: due streams, back-off after failures, an orderly end on request."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Literal

from qbcd.error_messages import one_message
from qbcd.errors import LeaseHeld, QbcdError, Refused
from qbcd.run import run_stream
from qbcd.state import Run
from qbcd.stream import Report, Stream

log = logging.getLogger("qbcd")
MAX_BACKOFF_S = 300.0
MOST_DOUBLINGS = 9  # 2 ** 9 s exceeds MAX_BACKOFF_S


@dataclass
class Outcome:
    """The outcome of one poll: a report, the error that ended it, or both.

    Both are there if the poll found or delivered a batch before the error.
    """

    stream: str
    report: Report | None = None
    error: QbcdError | None = None

    @property
    def exit_code(self) -> int:
        """The exit code: 0 done, 1 failed (also a delivery), 3 refused, 2 configuration."""
        if self.error is not None:
            return self.error.exit_code
        failures = self.report.failures.values() if self.report is not None else ()
        return max((failure.exit_code for failure in failures), default=0)


@dataclass
class JobReport:
    """The outcomes of a job: of all polls with `once`, otherwise of each stream's last poll."""

    outcomes: list[Outcome] = field(default_factory=list)

    @property
    def exit_code(self) -> int:
        """The first of 3, 1, 2, 0 that occurred."""
        codes = {outcome.exit_code for outcome in self.outcomes}
        return next((code for code in (3, 1, 2) if code in codes), 0)


def poll(stream: Stream) -> Outcome:
    """Poll once and record it in the history; an error of qbcd is part of the outcome."""
    started, report = time.time(), Report(stream.name)
    outcome = Outcome(stream.name, report)
    try:
        with one_message(stream):
            run_stream(stream, report)
    except QbcdError as error:
        error.stream = error.stream or stream.name
        did = bool(report.headers or report.delivered or report.failures)
        outcome = Outcome(stream.name, report if did else None, error)
    _record(stream, outcome, report, started)
    return outcome


def _record(stream: Stream, outcome: Outcome, report: Report, started: float) -> None:
    """Add the poll to the history. A failure is only logged: polls do not need the history.

    An attempt while another process works on the stream is not recorded: it shows nothing about the stream.
    """
    header, error = report.header, outcome.error
    if isinstance(error, LeaseHeld) and outcome.report is None:
        return
    result: Literal["ok", "empty", "failed", "refused"] = "ok" if header else "empty"
    if error or report.failures:
        result = "refused" if isinstance(error, Refused) else "failed"
    messages = [*([str(error)] if error else map(str, report.failures.values())), *report.lifted]
    run = Run(
        stream.name,
        started,
        time.time(),
        result,
        epoch=header.epoch if header else 0,
        batch_seq=header.seq if header else 0,
        counts=report.counts,
        message="; ".join(messages),
    )
    try:
        stream.project.record_run(run, report.cost)
    except QbcdError as error:
        log.warning("stream %s: this poll is missing in the history: %s", stream.name, error)


def _reached_result(outcome: Outcome) -> bool:
    """Return True if the poll ended with a result.

    It has none if the source was unreachable or another process held the lease.
    """
    error = outcome.error
    return error is None or (isinstance(error, Refused) and not isinstance(error, LeaseHeld))


def run_once(streams: Sequence[Stream], on_outcome: Callable[[Outcome], None], stop: threading.Event) -> JobReport:
    """Poll each stream once, in order; a failed stream does not stop the others."""
    job = JobReport()
    for stream in streams:
        if stop.is_set():
            break
        job.outcomes.append(poll(stream))
        on_outcome(job.outcomes[-1])
    return job


def run_always(
    streams: Sequence[Stream],
    on_outcome: Callable[[Outcome], None],
    stop: threading.Event,
    refresh: Callable[[Stream], Stream] = lambda stream: stream,
) -> JobReport:
    """Poll each stream at its interval until `stop` is set; the current step is finished first.

    After each failure a stream waits twice as long as before, up to five minutes, and at least its interval. If only a
    sink fails, stream and sink are tried again at the stream's interval, so that its other sinks do not wait.

    Args:
        streams: The streams, as they were when the job began.
        on_outcome: Called after every poll.
        stop: Set it to end the job.
        refresh: Updates a stream; called before each poll.
    """
    work = {s.name: s for s in streams}
    due = dict.fromkeys(work, 0.0)
    failures = {s.name: 0 for s in streams}
    last: dict[str, Outcome] = {}
    while not stop.is_set():
        stream = min(work.values(), key=lambda s: due[s.name])
        if stop.wait(max(0.0, due[stream.name] - time.monotonic())):
            break
        began = time.monotonic()
        with suppress(QbcdError):  # errors of the stores: the poll gets and reports the same error
            stream = work[stream.name] = refresh(stream)
        outcome = last[stream.name] = poll(stream)
        on_outcome(outcome)
        if _reached_result(outcome):  # a confirmation lifts a refusal for one poll only
            once = replace(stream.settings, accept_deletes=False, accept_source=False)
            work[stream.name] = replace(stream, settings=once)
        every = stream.config.every.total_seconds()
        failures[stream.name] = failures[stream.name] + 1 if outcome.error else 0
        doublings = min(failures[stream.name], MOST_DOUBLINGS)
        back_off = min(MAX_BACKOFF_S, 2.0**doublings) if doublings else 0.0
        # Intervals count from the start of a poll; polls do not accumulate behind a slow one.
        due[stream.name] = max(began + max(every, back_off), time.monotonic())
    return JobReport(list(last.values()))
