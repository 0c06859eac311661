"""Command ``replay``: a log in files, applied to a table."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer
from rich.markup import escape

from qbcd.cli import formatting
from qbcd.cli.app import switch
from qbcd.cli.output import Output

LogFiles = Annotated[list[Path], typer.Argument(metavar="FILES", help="Files or folders of a sink jsonl or parquet.")]
To = Annotated[
    str,
    typer.Option(
        "--to",
        metavar="URL#TABLE",
        help="The target; its password as ${env:NAME} or ${file:/path}.",
        show_default=False,
    ),
]
FromEmpty = Annotated[
    bool, switch("--from-empty", help="The source had no rows before the first event, so there is no baseline.")
]
Mode = Annotated[str, typer.Option("--mode", metavar="MODE", help="mirror, scd2 or log.")]


def replay(output: Output, files: LogFiles, to: To, mode: Mode = "mirror", from_empty: FromEmpty = False) -> int:
    """Apply the events of files to a table: each batch once, in order."""
    from qbcd.replay.replay import replay as apply_log
    from qbcd.replay.target import target_of
    from qbcd.sinks.table.options import TableOptions

    target = target_of(to, Path.cwd())
    options = TableOptions(mode=mode)  # type: ignore[arg-type]  # another word is refused
    with output.working("replaying"):
        found = apply_log(files, target, options, from_empty=from_empty)
    if output.as_json:
        output.data({"table": target.label, **asdict(found)})
        return 0
    events = formatting.counted(found.events, "event")
    present = f"; it had {formatting.counted(found.present, 'batch', 'batches')} already" if found.present else ""
    batches = formatting.counted(found.batches, "batch", "batches")
    output.show(f"[bold]{escape(found.stream)}[/]: {batches} ({events}) applied to {escape(target.label)}{present}")
    return 0
