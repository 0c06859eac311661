"""Commands that show the state of streams and their events: ``status``, ``changes`` and ``verify``."""

from __future__ import annotations

import time
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from qbcd.cli import formatting
from qbcd.cli.app import StreamName, StreamNames
from qbcd.cli.output import Output, show_progress, worst
from qbcd.errors import QbcdError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from qbcd.api import Project
    from qbcd.orphans import LeftStream
    from qbcd.sites import Differences, UnseenDeletes
    from qbcd.state import DeliveryFailure
    from qbcd.status import StreamStatus

NumberOfEvents = Annotated[int, typer.Option("-n", min=1, max=100_000, help="How many events.")]
_NONE = "[dim]-[/]"
_DIFFERENCES = {"c": "only in the source", "d": "only in the replica", "u": "other values"}


def status(output: Output, streams: StreamNames = None) -> int:
    """Show how the streams stand."""
    from qbcd.status import status_data

    with output.project() as project, output.working("looking"):
        found = project.status(streams or ())
        left = [] if streams else _left(output, project)
    codes = [one.failed.exit_code for one in found if one.failed]
    if output.as_json:
        listed = [status_data(one) for one in found]
        for data in listed:
            data["error"] = output.masked(data["error"])
        output.data({"streams": listed, "left": [one.data() for one in left]})
        return worst(codes)
    table = Table()
    reads = any(_read(one) != _NONE for one in found)  # else the table stays as narrow as it can
    read = ["read"] if reads else []
    for name in ("stream", "strategy", "state", "last poll", "last batch", "lag", *read, "events", "waiting"):
        table.add_column(name, overflow="fold")
    for one in found:
        table.add_row(f"[bold]{escape(one.stream)}[/]", one.strategy, *_row(one, reads=reads))
    output.show(table)
    for one in found:
        for text in _errors(one):
            output.say(f"[bold red]error:[/] {escape(output.masked(text))}")
    for one_left in left:
        output.warn(one_left.told())
    return worst(codes)


def _left(output: Output, project: Project) -> list[LeftStream]:
    """Return prepared streams that are no longer configured; warn if a source cannot be reached."""
    try:
        return project.left()
    except QbcdError as error:
        output.warn(f"streams that were taken out were not looked for: {error}")
        return []


def _errors(one: StreamStatus) -> Iterator[str]:
    """Yield the errors of a stream, each once: the error of the last poll may be that of a sink."""
    told = {sink: _attempts(failure) for sink, failure in one.failures.items() if failure.message in one.error}
    if one.error:
        several = len(told) > 1
        yield "; ".join([_placed(one), *(f"{sink}: {times}" if several else times for sink, times in told.items())])
    for sink, failure in one.failures.items():
        if sink not in told:
            said = failure.message.removeprefix(f"sink {sink}: ")
            yield f"stream {one.stream}: sink {sink}: {said} ({_attempts(failure)})"


def _attempts(failure: DeliveryFailure) -> str:
    return f"{formatting.counted(failure.attempts, 'attempt')}, last {_ago(failure.at)}"


def _placed(one: StreamStatus) -> str:
    """Return the error with its stream's name, which messages of the history have already."""
    return one.error if one.stream in one.error else f"stream {one.stream}: {one.error}"


def _row(one: StreamStatus, *, reads: bool) -> list[str]:
    poll, batch = one.last_poll, one.last_batch
    state = _NONE
    if one.failed is None:
        state = f"epoch {_moment(one.epoch)}" if one.prepared else "[yellow]not prepared[/]"
    polled = _NONE
    if poll is not None:
        polled = f"{_ago(poll.finished_at)}: {_OUTCOMES[poll.outcome]}"
    last = _NONE
    if batch is not None:
        last = f"{batch.seq}: {formatting.events(batch.counts)}"
    late = one.lag is not None and one.lag > 3 * one.every.total_seconds()
    lag = _NONE if one.lag is None else f"[yellow]{formatting.age(one.lag)}[/]" if late else formatting.age(one.lag)
    waiting = ", ".join(f"{escape(sink)} [red]{n:,}[/]" for sink, n in one.pending.items() if n) or "nothing"
    events, read = f"{sum(one.events.values()):,}", [_read(one)] if reads else []
    return [state, polled, last, lag, *read, events, waiting if one.prepared else _NONE]


def _read(one: StreamStatus) -> str:
    """Return the progress of a stream through its table: its watermark, its pass over the ranges, or both."""
    found, mark, visits = [], one.watermark, one.visits
    if mark is not None:
        found.append(f"up to {escape(mark.at)}" if mark.lag is None else f"up to {formatting.age(mark.lag)} ago")
    if visits is not None:
        oldest = "one never" if one.visited_ago is None else f"oldest {formatting.age(one.visited_ago)} ago"
        found.append(f"{visits.visited:,} of {formatting.counted(visits.ranges, 'range')}, {oldest}")
    if one.audited_ago is not None:
        found.append(f"audit {formatting.age(one.audited_ago)} ago")
    return "\n".join(found) or _NONE


_OUTCOMES = {"ok": "changes", "empty": "no change", "failed": "[red]failed[/]", "refused": "[red]refused[/]"}


def _ago(at: float) -> str:
    return f"{formatting.age(time.time() - at)} ago"


def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")


def changes(output: Output, stream: StreamName, n: NumberOfEvents = 20) -> int:
    """Show the latest events of a stream."""
    from qbcd.sinks.console import event_table
    from qbcd.status import parsed

    with output.project() as project:
        with output.working(f"{stream}: reading the latest events"):
            found = project.stream(stream).latest(n)
        for header, lines in found:
            if output.as_json:
                for line in lines:
                    output.text(line)
            else:
                number = f"batch {header.epoch}/{header.seq}: {formatting.events(header.counts)}"
                part = f" [dim](the last {len(lines):,})[/]" if len(lines) < header.size else ""
                output.show(f"[bold]{escape(stream)}[/]  {number}{part}", event_table(header, parsed(lines)))
    if not found and not output.as_json:
        output.show("no events yet")
    return 0


def verify(output: Output, streams: StreamNames = None) -> int:
    """Compare replica and source in full and show what differs."""
    codes = []
    with output.project() as project:
        names = streams or [one.name for one in project.streams]
        for name in names:
            project.stream(name)  # an unknown name stops the command before anything is compared
        for name in names:
            with output.working(f"{name}: comparing") as now:
                show_progress(project, now)
                [found] = project.verify(name)
            codes.append(found.exit_code)
            if found.error is not None:
                output.trace(found.error)
                output.error(found.error)
            elif found.differences is not None:
                _show_differences(output, name, found.differences)
    return worst(codes)


def _show_differences(output: Output, stream: str, found: Differences) -> None:
    unseen = found.unseen
    if output.as_json:
        listed = [{"op": d.op, "key": d.key} for d in found]
        data = {"stream": stream, "equal": not found, "truncated": found.truncated, "differences": listed}
        output.data(data | {"deletes_not_looked_for": None if unseen is None else _unseen_data(unseen)})
        return
    text = f"; {_unseen(unseen)}" if unseen else ""
    if not found:
        same = "no differences" if unseen else "replica and source are equal"
        output.show(f"[bold]{escape(stream)}[/]: {same}{text}")
        return
    table = Table()
    table.add_column("key", style="bold", overflow="fold")
    table.add_column("difference", overflow="fold")
    for d in found:
        table.add_row(escape(d.key or "()"), _DIFFERENCES[d.op])
    number = formatting.counted(len(found), "difference")
    output.show(f"[bold]{escape(stream)}[/]: {'the first ' if found.truncated else ''}{number}{text}", table)


def _unseen(unseen: UnseenDeletes) -> str:
    """Return ``25 deletes not looked for yet (next sweep in 40 s)``."""
    number = f"{'more than ' if unseen.truncated else ''}{formatting.counted(len(unseen.keys), 'delete')}"
    if unseen.next_in is None:
        return f"{number} that this stream does not look for (see `deletes` of its strategy)"
    when = f"in {formatting.age(unseen.next_in)}" if unseen.next_in else "at the next poll"
    return f"{number} not looked for yet (next {unseen.by} {when})"


def _unseen_data(unseen: UnseenDeletes) -> dict[str, object]:
    return {
        "keys": list(unseen.keys),
        "truncated": unseen.truncated,
        "next_in_seconds": unseen.next_in,
        "by": unseen.by,
    }
