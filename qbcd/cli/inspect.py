"""Commands that show what was captured: ``changes`` and ``verify``."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from qbcd.cli import formatting
from qbcd.cli.app import StreamName
from qbcd.cli.output import Output, show_progress

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


def verify(output: Output, stream: StreamName) -> int:
    """Compare replica and source in full and show what differs."""
    with output.project() as project, output.working(f"{stream}: comparing") as now:
        show_progress(project, now)
        found = project.stream(stream).verify()
    if output.as_json:
        listed = [{"op": d.op, "key": d.key} for d in found]
        output.data({"stream": stream, "equal": not found, "truncated": found.truncated, "differences": listed})
    elif not found:
        output.show(f"[bold]{escape(stream)}[/]: replica and source are equal")
    else:
        number = formatting.counted(len(found), "difference")
        table = Table()
        table.add_column("key", style="bold", overflow="fold")
        table.add_column("difference", overflow="fold")
        for d in found:
            table.add_row(escape(d.key or "()"), _DIFFERENCES[d.op])
        output.show(f"[bold]{escape(stream)}[/]: {'the first ' if found.truncated else ''}{number}", table)
    return 4 if found else 0
