"""Command ``run``: poll once, or until a signal."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import asdict
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.markup import escape

from qbcd.cli import formatting
from qbcd.cli.app import StreamNames
from qbcd.cli.output import Output, show_progress

if TYPE_CHECKING:
    from qbcd.job import Outcome
    from qbcd.stream import Report

T = TypeVar("T")
Once = Annotated[bool, typer.Option("--once", help="Poll each stream once and exit.")]
AcceptDeletes = Annotated[bool, typer.Option("--accept-deletes", help="Let the refused deletes through, once.")]
AcceptSource = Annotated[bool, typer.Option("--accept-source", help="Go on with a changed server, once.")]


def run(
    output: Output,
    streams: StreamNames = None,
    once: Once = False,
    accept_deletes: AcceptDeletes = False,
    accept_source: AcceptSource = False,
) -> int:
    """Poll: every stream at its interval until stopped, or once."""
    stop = threading.Event()
    idle = "waiting for the next poll"
    with output.project() as project, output.working("polling") as now, _signals(output, stop):
        show_progress(project, now)

        def told(outcome: Outcome) -> None:
            _tell(output, outcome, always=once)
            now(idle)

        report = _aside(
            lambda: project.run(
                streams or (),
                once=once,
                accept_deletes=accept_deletes,
                accept_source=accept_source,
                told=told,
                stop=stop,
            )
        )
    return 0 if stop.is_set() and not once else report.exit_code


def _aside(work: Callable[[], T]) -> T:
    """Run `work` in a thread: in the main thread PySpark would replace our SIGINT handler."""
    with ThreadPoolExecutor(1, thread_name_prefix="qbcd-poll") as pool:
        return pool.submit(work).result()


@contextmanager
def _signals(output: Output, stop: threading.Event) -> Iterator[None]:
    """Set `stop` at the first signal; end the process at once at the second.

    That is safe at any point: work that was not committed is repeated, and a dead process of this host holds no lease.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if stop.is_set():
            os._exit(128 + number)
        stop.set()
        output.say("stopping after the step in hand; once more to stop at once")

    before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _tell(output: Output, outcome: Outcome, *, always: bool) -> None:
    """Print one line per poll; without a terminal, a continuous run omits polls that found nothing."""
    if output.as_json:
        output.data(_data(output, outcome))
    if outcome.report is not None:
        _tell_report(output, outcome, outcome.report, always=always)
    if outcome.error is not None:
        output.trace(outcome.error)
        output.say(f"[bold red]error:[/] {escape(output.masked(str(outcome.error)))}")


def _tell_report(output: Output, outcome: Outcome, report: Report, *, always: bool) -> None:
    for warning in report.warnings:
        output.warn(warning, outcome.stream)
    if not output.as_json and (report.header or always or output.verbose or output.err.is_terminal):
        output.say(_line(report))
    for failure in report.failures.values():
        output.trace(failure)
        output.say(f"[bold red]error:[/] {escape(output.masked(str(failure)))}")


def _line(report: Report) -> str:
    found = "no change"
    if report.header:
        numbers = [str(h.seq) for h in report.headers]
        which = f"batch {numbers[0]}" if len(numbers) == 1 else f"batches {numbers[0]} to {numbers[-1]}"
        found = f"{which}: {formatting.events(report.counts)}"
    elif report.delivered:
        found = f"no change, {formatting.counted(report.delivered, 'earlier delivery', 'earlier deliveries')} made"
    return f"[bold]{escape(report.stream)}[/]: {found} [dim]({formatting.cost(report.cost)})[/]"


def _data(output: Output, outcome: Outcome) -> dict[str, Any]:
    report, error = outcome.report, outcome.error
    if error is not None:
        kind = "refused" if outcome.exit_code == 3 else "failed"
        did = _done(output, report) if report is not None else {}
        return did | output.as_data(error) | {"stream": outcome.stream, "outcome": kind}
    assert report is not None
    kind = "failed" if report.failures else "ok" if report.header else "empty"
    return {"stream": report.stream, "outcome": kind, **_done(output, report)}


def _done(output: Output, report: Report) -> dict[str, Any]:
    header = report.header
    return {
        "epoch": header.epoch if header else None,
        "batch_seq": header.seq if header else None,
        "counts": report.counts,
        "delivered": report.delivered,
        "failures": {sink: output.masked(str(error)) for sink, error in report.failures.items()},
        "warnings": [output.masked(warning) for warning in report.warnings],
        "cost": asdict(report.cost),
    }
