"""One poll and its outcome, which the history records; the outcomes of a job."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Literal

from qbcd.common.phases import ended, timed
from qbcd.error_messages import one_message
from qbcd.errors import LeaseHeld, QbcdError, Refused
from qbcd.model import StreamPlan
from qbcd.run import run_stream
from qbcd.state import UNCAPTURED, Run
from qbcd.stream import Report, Stream

log = logging.getLogger("qbcd")


@dataclass
class Outcome:
    """The outcome of one poll: a report, the error that ended it, or both.

    Report and error are both there if the poll found or delivered a batch before the error.

    Attributes:
        reached: True if the source opened a session, False if it opened none, None if none was needed.
        answered: An earlier connection of the same round failed, and no other was tried.
        waiting: All streams that wait for the source if it was not reached.
        run: The poll as in the history; None if another process worked on the stream.
        pending: By sink, the batches that wait for it after the poll; empty if the poll ended before its deliveries.
        attempts: By sink, the failed deliveries in a row of its next batch; empty as `pending`.
        epoch: UTC second of the stream's `prepare`; 0 if the poll did not read it.
        phases: Seconds by phase of the poll (`qbcd.common.phases`).
        plan: The plan of the poll; None if the poll ended before it was made.
    """

    stream: str
    report: Report | None = None
    error: QbcdError | None = None
    source: str = ""
    reached: bool | None = None
    answered: bool = False
    waiting: tuple[str, ...] = ()
    run: Run | None = None
    pending: Mapping[str, int] = field(default_factory=dict)
    attempts: Mapping[str, int] = field(default_factory=dict)
    epoch: int = 0
    phases: Mapping[str, float] = field(default_factory=dict)
    plan: StreamPlan | None = None

    @property
    def exit_code(self) -> int:
        """The exit code: 0 done, 1 failed (also a delivery), 3 refused, 2 configuration."""
        if self.error is not None:
            return self.error.exit_code
        return self.report.exit_code if self.report is not None else 0


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
    with timed() as seconds:
        try:
            with one_message(stream):
                run_stream(stream, report)
        except QbcdError as error:
            error.stream = error.stream or stream.name
            did = bool(report.headers or report.delivered or report.failures)
            outcome = Outcome(stream.name, report if did else None, error)
        else:
            ended("compact")  # the lease is released
    outcome.phases, outcome.plan = seconds, report.plan
    outcome.run = _record(stream, outcome, report, started)
    outcome.pending, outcome.attempts, outcome.epoch = report.pending, report.attempts, report.epoch
    return outcome


def _record(stream: Stream, outcome: Outcome, report: Report, started: float) -> Run | None:
    """Add the poll to the history and return it; a failure is only logged.

    Polls do not need the history. An attempt while another process works on the stream is not recorded: it shows
    nothing about the stream.
    """
    header, error = report.header, outcome.error
    if isinstance(error, LeaseHeld) and outcome.report is None:
        return None
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
        cost={**asdict(report.cost), **({UNCAPTURED: list(report.uncaptured)} if report.uncaptured else {})},
        message="; ".join(messages),
    )
    try:
        stream.project.record_run(run)
    except QbcdError as error:
        log.warning("stream %s: this poll is missing in the history: %s", stream.name, error)
    return run


def has_result(outcome: Outcome) -> bool:
    """Return True if the poll ended with a result.

    It has none if the source was unreachable or another process held the lease.
    """
    error = outcome.error
    return error is None or (isinstance(error, Refused) and not isinstance(error, LeaseHeld))
