"""Commands on captured data: ``changes`` and ``verify``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from qbcd.cli import formatting
from qbcd.cli.app import StreamName, StreamNames
from qbcd.cli.output import Output, show_progress, worst

if TYPE_CHECKING:
    from qbcd.sites import Differences, UnseenDeletes

NumberOfEvents = Annotated[int, typer.Option("-n", metavar="N", min=1, max=100_000, help="How many events.")]
_DIFFERENCES = {"c": "only in the source", "d": "only in the replica", "u": "other values"}


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
                title = f"{header.number}: {formatting.events(header.counts)}"
                part = f" [dim](the last {len(lines):,})[/]" if len(lines) < header.size else ""
                output.show(f"[bold]{escape(stream)}[/]  {title}{part}", event_table(header, parsed(lines)))
    if not found and not output.as_json:
        output.show("no events yet")
    return 0


def verify(output: Output, streams: StreamNames = None) -> int:
    """Compare replica and source in full and show the differences."""
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
