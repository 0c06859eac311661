"""The command ``diff``: compare two files or tables once."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape

from qbcd.cli import formatting
from qbcd.cli.app import switch
from qbcd.cli.output import Output

if TYPE_CHECKING:
    from qbcd.comparison.compare import DiffOptions, DiffResult

SHOWN = 20  # events that are shown to people
_OPERAND = (
    "A file, or a table: 'dialect://${env:USER}:${env:PASSWORD}@host/database#schema.table', "
    "or SOURCE#schema.table with a source of the configuration."
)

Old = Annotated[str, typer.Argument(metavar="A", help=_OPERAND)]
New = Annotated[str | None, typer.Argument(metavar="B", help="The same; default: what the first call for A kept.")]


@dataclass(frozen=True)
class DiffArguments:
    """The options of ``diff``."""

    key: Annotated[str, typer.Option(metavar="COLUMNS", help="The key: a, or a,b.")] = ""
    method: Annotated[str, typer.Option(metavar="M", help="The method; default: auto.")] = "auto"
    memory: Annotated[str, typer.Option(metavar="SIZE", help="Memory; more is spilled to disk.")] = "256MB"
    explain: Annotated[bool, switch("--explain", help="Say how it would compare; compare nothing.")] = False
    output_file: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write the events as JSON lines.")
    ] = None
    form: Annotated[
        str, typer.Option("--format", metavar="YAML", help="The files' format: '{delimiter: \";\", encoding: cp1252}'.")
    ] = ""
    columns: Annotated[str, typer.Option(metavar="COLUMNS", help="Compare only these columns.")] = ""
    exclude: Annotated[str, typer.Option(metavar="COLUMNS", help="Do not compare these columns.")] = ""
    keep: Annotated[bool, switch("--keep", help="With A alone: keep its rows for the next call.")] = False


def diff(output: Output, a: Old, options: DiffArguments, b: New = None) -> int:
    """Compare two files or tables and show differences as events; exit with 4 if there are any."""
    from qbcd.comparison.compare import compare
    from qbcd.comparison.explain import explanation

    chosen = _options(options, output.config)
    if options.explain:
        lines = explanation(a, b, chosen)
        if output.as_json:
            output.data(lines)
        else:
            for name, text in lines.items():
                output.item(f"[bold]{escape(name)}[/]", escape(text))
        return 0
    with output.working(f"comparing {a} and {b}" if b else f"comparing {a}"):
        found = compare(a, b, chosen)
    with found:
        if options.output_file is not None:
            found.write(options.output_file)
        if output.as_json:
            for piece in found.lines():
                for line in piece:
                    output.text(line)
        _show(output, found, options.output_file)
        output.out.file.flush()  # all events are out before their rows are kept
    return 4 if found else 0


def _options(options: DiffArguments, project: Path) -> DiffOptions:
    from qbcd.comparison.options import diff_options

    more: dict[str, Any] = {name: _listed(getattr(options, name)) for name in ("columns", "exclude")}
    form = options.form or None
    more |= {"renew": options.keep, "project": project}
    return diff_options(_listed(options.key), options.method, options.memory, form, **more)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _read(found: DiffResult) -> list[str]:
    """Return what was read of two tables, and how."""
    if not found.amounts:
        return []
    rows = " and ".join(f"{one.rows:,}" for one in found.amounts)
    shipped = f"{rows} rows read, {sum(one.bytes for one in found.amounts) / 1_000_000:,.1f} MB"
    if found.ranges is None:
        return [f"{shipped}: both tables completely, since {found.complete_because}"]
    kind = "ranges of the key" if found.ranges.kind == "key" else "buckets of the key's hash"
    return [f"{shipped}: {found.ranges.dirty:,} dirty of {found.ranges.compared:,} {kind}"]


def _show(output: Output, found: DiffResult, file: Path | None) -> None:
    say = output.say if output.as_json else output.show
    if found.kept:
        rows = formatting.counted(found.rows[0], "row")
        say(f"kept {rows} of {escape(found.labels[0])}; the next call compares with them")
        return
    old, new = found.labels
    rows = f"{found.rows[0]:,} and {formatting.counted(found.rows[1], 'row')}"
    say(f"[bold]{escape(old)} -> {escape(new)}[/]")
    said = formatting.events(found.counts) if found else "no difference"
    say(f"  {said}; {rows}, key {escape(', '.join(found.key))}, {formatting.duration(found.seconds)}")
    if found.respelled:
        keys = formatting.counted(found.respelled, "key")
        say(f"  {keys} deleted and inserted with another spelling: other case, or blanks at the end")
    for line in _read(found):
        say(f"  {escape(line)}")
    for method, reason in found.restarts:
        say(f"  method {method} was followed by {found.method}: {escape(reason)}")
    if file is not None and found:
        say(f"  events are in {escape(str(file))}")
    if not found or output.as_json or found.header is None:
        return
    from qbcd.sinks.console import event_table
    from qbcd.status import parsed

    lines = [line for piece in found.lines(SHOWN) for line in piece]
    output.show(event_table(found.header, parsed(lines)))
    if len(found) > SHOWN:
        output.show(f"  [dim]the first {SHOWN} of {len(found):,}; -o FILE writes all[/]")
