"""Lines that ``run`` prints: results, errors, recoveries, and a summary of unchanged polls."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.markup import escape

from qbcd.cli import formatting
from qbcd.cli.output import Output
from qbcd.common.wording import batch_number, clock_time
from qbcd.errors import LeaseHeld, QbcdError, together

if TYPE_CHECKING:
    from qbcd.polling.outcome import Outcome
    from qbcd.stream import Report

HEARTBEAT_SECONDS = 600.0  # without a line, after which a summary shows that the process still polls


@dataclass
class Failing:
    """A series of failed polls of a stream."""

    since: float
    attempts: int = 0


@dataclass
class UnreportedPolls:
    """A series of polls without a line of their own, since the last line or the start.

    Attributes:
        since: Its begin, in seconds since 1970 UTC.
        began: The same by the monotonic clock.
    """

    since: float
    began: float
    polls: int = 0
    streams: set[str] = field(default_factory=set)


class RunLines:
    """The lines of one `run`.

    Args:
        once: Each stream is polled once.
        polls_too: Print lines of successful polls; with `--json` they are already on stdout.
        heartbeat: Seconds without a line after which a continuous run prints a summary.
    """

    def __init__(self, output: Output, *, once: bool, polls_too: bool, heartbeat: float = HEARTBEAT_SECONDS) -> None:
        self._output = output
        self._polls_too = polls_too
        watched = output.log is None and output.err.is_terminal
        self._once = once
        self._every_poll = once or watched or output.verbose
        self._heartbeat = heartbeat
        self._failing: dict[str, Failing] = {}  # by stream
        self._down: dict[str, Failing] = {}  # by source
        self._busy: set[str] = set()
        self._warnings: dict[str, list[str]] = {}  # by stream, those of its last poll that had a report
        self._unreported = _unreported()

    def add(self, outcome: Outcome, *, is_known: bool = False) -> None:
        """Print the lines about a poll, but not its error if that is known already."""
        if self._output.as_json:
            self._output.data(outcome_data(self._output, outcome))
        printed = self._report(outcome, outcome.report) if outcome.report is not None else False
        if outcome.error is not None and not is_known:
            printed = self._complaint(outcome, outcome.error) or printed
        printed = self._recovery(outcome) or printed
        if printed or is_known:
            self._unreported = _unreported()
        elif self._polls_too:
            self._count(outcome.stream)

    def _complaint(self, outcome: Outcome, error: QbcdError) -> bool:
        """Print the error of a poll; return True if anything was printed.

        The error of a source is printed once for all its streams.
        """
        if self._is_busy(outcome):
            if outcome.stream in self._busy:
                return False
            self._busy.add(outcome.stream)
            self._output.remark(outcome.stream, f"busy: {escape(error.what)}")
            return True
        if _is_of_source(outcome):
            if outcome.answered:
                return False
            error = together(error, outcome.waiting)
        self._output.trace(error)
        waiting = {"source": outcome.source, "streams": list(outcome.waiting)} if outcome.waiting else {}
        self._output.complain(error, **self._numbers(outcome), **waiting)
        return True

    def _is_busy(self, outcome: Outcome) -> bool:
        """Return True if the stream waits for another process, as continuous runs do anyway."""
        return not self._once and outcome.report is None and isinstance(outcome.error, LeaseHeld)

    def _report(self, outcome: Outcome, report: Report) -> bool:
        """Print the result, failed deliveries, and warnings that the poll before did not have.

        Return True if anything was printed.
        """
        repeated = [] if self._output.verbose else self._warnings.get(outcome.stream, [])
        warnings = [warning for warning in report.warnings if warning not in repeated]
        self._warnings[outcome.stream] = list(report.warnings)
        for warning in warnings:
            self._output.warn(warning, outcome.stream)
        shows = self._polls_too and bool(report.header or report.delivered or self._every_poll)
        if shows:
            self._line(outcome, report)
        for sink, failure in report.failures.items():
            self._output.trace(failure)
            self._output.complain(failure, sink=sink)
        return shows or bool(warnings or report.failures)

    def _line(self, outcome: Outcome, report: Report) -> None:
        found, costs = _found(report), formatting.costs(report.cost)
        line, err = f"{found} ({' · '.join(costs)})", self._output.err
        fits = not err.is_terminal or cell_len(f"{report.stream}: {line}") <= err.width
        if fits or self._output.log is not None:
            self._output.remark(report.stream, f"{found} [dim]({' · '.join(costs)})[/]", **self._numbers(outcome))
            return
        self._output.remark(report.stream, found)
        for part in formatting.packed(costs, err.width - 2):
            self._output.say(f"  [dim]{part}[/]")

    def _recovery(self, outcome: Outcome) -> bool:
        """Count failed polls in a row; print a line at the next success, and return True then."""
        if _is_of_source(outcome):
            if not outcome.answered:
                self._down.setdefault(outcome.source, Failing(time.time())).attempts += 1
            return False
        if self._is_busy(outcome):
            return False
        self._busy.discard(outcome.stream)
        down = self._down.pop(outcome.source, None) if outcome.reached else None
        if down is not None:
            text, values = _recovered(down, "failed attempt")
            self._output.about(f"source {outcome.source}", text, **values)
        if outcome.exit_code:
            self._failing.setdefault(outcome.stream, Failing(time.time())).attempts += 1
            return down is not None
        failing = self._failing.pop(outcome.stream, None)
        if failing is not None:
            text, values = _recovered(failing, "failed poll")
            self._output.remark(outcome.stream, text, **values)
        return failing is not None or down is not None

    def _count(self, stream: str) -> None:
        """Count a poll without a line; print a summary if there was no line for long enough."""
        series = self._unreported
        series.polls += 1
        series.streams.add(stream)
        if time.monotonic() - series.began < self._heartbeat:
            return
        polls, streams = formatting.counted(series.polls, "poll"), formatting.counted(len(series.streams), "stream")
        text = f"{polls} of {streams} since {clock_time(series.since)}, no change"
        if self._output.log is not None:
            self._output.log.add("info", text, polls=series.polls, streams=len(series.streams))
        else:
            self._output.say(text)
        self._unreported = _unreported()

    def _numbers(self, outcome: Outcome) -> dict[str, Any]:
        """Return the numbers of a poll for a log line."""
        data = outcome_data(self._output, outcome)
        named = ("outcome", "epoch", "batch_seq", "counts", "delivered", "cost")
        return {name: data[name] for name in named if name in data}


def _is_of_source(outcome: Outcome) -> bool:
    """Return True if the poll could not reach its source, which other streams have too."""
    return outcome.reached is False and len(outcome.waiting) > 1


def _recovered(failing: Failing, noun: str) -> tuple[str, dict[str, Any]]:
    """Return the text about the end of a series of failures, and its numbers for a log line."""
    seconds = time.time() - failing.since
    text = f"recovered after {formatting.age(seconds)} and {formatting.counted(failing.attempts, noun)}"
    return text, {"failing_seconds": round(seconds, 1), "failed_polls": failing.attempts}


def _unreported() -> UnreportedPolls:
    return UnreportedPolls(time.time(), time.monotonic())


def _found(report: Report) -> str:
    """Return the text for a poll's batches and events, or for its deliveries of earlier batches."""
    if report.headers:
        first, last = report.headers[0], report.headers[-1]
        which = first.number if first is last else f"{first.number} to {batch_number(last.epoch, last.seq)}"
        return f"{which}: {formatting.events(report.counts)}"
    if report.delivered:
        return f"no change, {formatting.counted(report.delivered, 'earlier delivery', 'earlier deliveries')} made"
    return "no change"


def outcome_data(output: Output, outcome: Outcome) -> dict[str, Any]:
    """Return a poll as JSON-ready data."""
    report, error = outcome.report, outcome.error
    if error is not None:
        kind = "refused" if outcome.exit_code == 3 else "failed"
        done = _report_data(output, report) if report is not None else {}
        return done | output.as_data(error) | {"stream": outcome.stream, "outcome": kind, **_phases(outcome)}
    assert report is not None
    kind = "failed" if report.failures else "ok" if report.header else "empty"
    return {"stream": report.stream, "outcome": kind, **_report_data(output, report), **_phases(outcome)}


def _phases(outcome: Outcome) -> dict[str, Any]:
    return {"phases": {phase: round(seconds, 6) for phase, seconds in outcome.phases.items()}}


def _report_data(output: Output, report: Report) -> dict[str, Any]:
    header = report.header
    return {
        "epoch": header.epoch if header else None,
        "batch_seq": header.seq if header else None,
        "counts": report.counts,
        "delivered": report.delivered,
        **({"resent": dict(report.resent)} if report.resent else {}),
        "failures": {sink: output.masked(str(error)) for sink, error in report.failures.items()},
        "warnings": [output.masked(warning) for warning in report.warnings],
        "cost": asdict(report.cost),
    }
