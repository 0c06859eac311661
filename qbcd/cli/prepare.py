"""Commands that begin or end a stream or sink: prepare, retire, skip, resend, reset."""

from __future__ import annotations

import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape

from qbcd.cli import formatting
from qbcd.cli.app import StreamName, StreamNames, switch
from qbcd.cli.output import Output, show_progress, worst
from qbcd.cli.plan import sql
from qbcd.errors import ConfigError, QbcdError
from qbcd.model import Statement

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from qbcd.api import Project
    from qbcd.project import ProjectParts
    from qbcd.run import Preparation
    from qbcd.stream import Report

DryRun = Annotated[bool, switch("--dry-run", help="Print the DDL for a DBA, run nothing.")]
SinkName = Annotated[str, typer.Argument(metavar="SINK", help="The sink's name, or python.")]
SkippedBatch = Annotated[
    str, typer.Option("--batch", metavar="EPOCH/N", help="The batch, as the sink's error names it.", show_default=False)
]
ResentSink = Annotated[str, typer.Argument(metavar="SINK", help="The sink's name.")]
Where = Annotated[
    str, typer.Option("--where", metavar="SQL", help="Only rows for which this holds.", show_default=False)
]
Yes = Annotated[bool, switch("-y", "--yes", help="Do not ask.")]
Discard = Annotated[bool, switch("--discard", help="Drop batches that are not delivered.")]
TakeOver = Annotated[
    bool, switch("--take-over", help="Drop what the source holds for another project or a lost state.")
]
_ANSWERS = {"y": True, "yes": True, "": False, "n": False, "no": False}


def prepare(output: Output, streams: StreamNames = None, dry_run: DryRun = False) -> int:
    """Create qbcd's own tables and take the baseline."""
    from qbcd.api import parts_of

    with output.project() as project:
        parts = parts_of(project)
        # an unknown name stops the command before anything is created
        names = _all_tables(parts, streams or ()) if dry_run else parts.streams.capture_all(streams or ())
        problems = [] if streams else parts.streams.roster().problems
        codes = [problem.exit_code for problem in problems]
        for problem in problems:
            output.error(problem)
        codes += [_ddl_code(output, project, name) for name in names] if dry_run else _prepare(output, project, names)
    return worst(codes)


def _all_tables(parts: ProjectParts, streams: Sequence[str]) -> Sequence[str]:
    with parts.read_only():
        for name in streams:
            parts.streams.config(name)
        return parts.streams.select(streams, new=True)


def _ddl_code(output: Output, project: Project, name: str) -> int:
    try:
        return _ddl(output, project, name)
    except QbcdError as error:
        error.stream = error.stream or name
        output.trace(error)
        output.error(error)
        return error.exit_code


def _ddl(output: Output, project: Project, name: str) -> int:
    statements = project.stream(name).ddl()
    if output.as_json:
        output.data({"stream": name, "ddl": statements})
        return 0
    if not statements:
        output.comment(f"{name}: the source is only read; qbcd creates nothing there")
        return 0
    output.comment(name)
    for statement in statements:
        sql(output, Statement(statement))
    return 0


def _prepare(output: Output, project: Project, names: Sequence[str]) -> list[int]:
    """Prepare streams and show the result of each once it is there; return the exit codes."""

    def show(stream: str, text: str) -> None:
        output.show(f"[bold]{escape(stream)}[/]: {text}")

    def prepared(one: Preparation) -> None:
        if one.error is not None:
            output.trace(one.error)
            output.error(one.error)
        elif one.report is not None:
            show_prepared(output, one.stream, one.report, show)

    with output.working("preparing") as now:
        show_progress(project, now)
        return [one.exit_code for one in project.prepare(names, on_prepared=prepared)] if names else []


def show_prepared(output: Output, name: str, report: Report, show: Callable[[str, str], None]) -> int:
    """Print the result of `prepare`, and return its exit code.

    Args:
        output: The output for JSON, warnings and errors.
        report: The report of `prepare`.
        show: Prints a line for people: stream and text.
    """
    header, cost = report.header, report.cost
    for warning in report.warnings:
        output.warn(warning, name)
    for failure in report.failures.values():
        output.trace(failure)
        output.error(failure)
    already = cost.seconds == 0
    if output.as_json:
        counts = dict(header.counts) if header else {}
        output.data({"stream": name, "prepared": True, "counts": counts, "cost": asdict(cost)})
    elif not already:
        baseline = f", {formatting.events(header.counts)} delivered" if header else ""
        rows = formatting.counted(cost.rows_scanned, "row")
        show(name, f"baseline of {rows} taken{baseline} [dim]({formatting.duration(cost.seconds)})[/]")
    return max((failure.exit_code for failure in report.failures.values()), default=0)


def reset(
    output: Output, stream: StreamName, yes: Yes = False, discard: Discard = False, take_over: TakeOver = False
) -> int:
    """Forget replica and checkpoint of a stream, after confirmation."""
    from qbcd.orphans import ForeignStream, refuse_to_keep

    if take_over:
        refuse_to_keep(stream, discard=discard)
    with output.project() as project:
        handle = project.to_reset(stream, take_over=take_over)
        asked = [f"Forget replica and checkpoint of {stream}? Its consumers must reload."]
        asked += [handle.question] if isinstance(handle, ForeignStream) else []
        if not yes and not all(_confirmed(output, "reset", stream, question) for question in asked):
            return _unchanged(output, {"stream": stream, "reset": False})
        with output.working(f"{stream}: resetting") as now:
            show_progress(project, now)
            handle.reset(discard=discard)
    if output.as_json:
        output.data({"stream": stream, "reset": True})
        return 0
    output.show(
        f"[bold]{escape(stream)}[/]: forgotten",
        "its consumers must reload: changes until the next prepare are not delivered",
    )
    return 0


def retire(output: Output, stream: StreamName, sink: SinkName, yes: Yes = False) -> int:
    """Forget a sink that is no longer configured; its pending batches are dropped."""
    with output.project() as project:
        handle = project.stream(stream)
        waits = formatting.counted(handle.waiting_for(sink), "batch", "batches")
        question = f"Forget sink {sink} of {stream}? What waits for it ({waits}) will not be delivered."
        if not yes and not _confirmed(output, "retire", stream, question):
            return _unchanged(output, {"stream": stream, "sink": sink, "retired": False})
        waited = handle.retire(sink)
    if output.as_json:
        output.data({"stream": stream, "sink": sink, "retired": True, "waited": waited})
        return 0
    batches = formatting.counted(waited, "batch", "batches")
    output.show(f"[bold]{escape(stream)}[/]: sink {escape(sink)} is retired; {batches} waited for it")
    return 0


def skip(output: Output, stream: StreamName, sink: SinkName, batch: SkippedBatch, yes: Yes = False) -> int:
    """Pass over a batch that a sink cannot take; its events will be missing there."""
    with output.project() as project:
        question = f"Pass over batch {batch} of {stream}? Its events will be missing in sink {sink}."
        if not yes and not _confirmed(output, "skip", stream, question):
            return _unchanged(output, {"stream": stream, "sink": sink, "skipped": None})
        header = project.stream(stream).skip(sink, batch)
    if output.as_json:
        output.data({"stream": stream, "sink": sink, "skipped": header.number, "events": header.size})
        return 0
    events = formatting.counted(header.size, "event")
    output.show(f"[bold]{escape(stream)}[/]: batch {header.number} is skipped; {events} are missing in {escape(sink)}")
    return 0


def resend(output: Output, stream: StreamName, sink: ResentSink, where: Where = "") -> int:
    """Send the replica's rows to a sink that is new or was lost; the source table is not read."""
    with output.project() as project:
        handle = project.stream(stream)
        with output.working(f"{stream}: resending") as now:
            show_progress(project, now)
            rows = handle.resend(sink, where)
    if output.as_json:
        output.data({"stream": stream, "sink": sink, "rows": rows})
        return 0
    if rows is None:
        output.show(f"[bold]{escape(stream)}[/]: the poll that has the stream now, or the next one, sends the rows")
        return 0
    counted = formatting.counted(rows, "row")
    output.show(f"[bold]{escape(stream)}[/]: {counted} of the replica sent to {escape(sink)}")
    return 0


def _confirmed(output: Output, command: str, stream: str, question: str) -> bool:
    """Ask on stderr, because stdout is for results.

    Raises:
        ConfigError: There is no answer.
    """
    while True:
        output.ask(f"{question} [y/N]: ")
        answer = sys.stdin.readline() if sys.stdin else ""
        if not answer:
            output.say("")
            raise ConfigError(f"{command} was not confirmed", remedy="answer y, or give --yes", stream=stream)
        if (word := answer.strip().lower()) in _ANSWERS:
            return _ANSWERS[word]


def _unchanged(output: Output, data: dict[str, object]) -> int:
    output.say("nothing was changed")
    if output.as_json:
        output.data(data)
    return 1
