"""Command ``subscriptions``: conditions over changes, their states and shapes, and trials."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.table import Table

from qbcd.cli import formatting
from qbcd.cli.app import switch
from qbcd.cli.output import Output
from qbcd.errors import ConfigError

if TYPE_CHECKING:
    from qbcd.subscriptions.listing import Listing, NeededPart

Test = Annotated[str, typer.Option("--test", metavar="FILE", help="Try the event in a file; - reads standard input.")]
Shapes = Annotated[bool, switch("--shapes", help="Conditions without literals, and what they need of a stream.")]


def subscriptions(output: Output, test: Test = "", shapes: Shapes = False) -> int:
    """List subscriptions with their states, try an event, or show shapes of conditions."""
    event = _event(test) if test else None
    with output.project() as project, output.working("reading subscriptions"):
        found = project.subscriptions(event)
    if output.as_json:
        output.data(_data(found, shapes=shapes))
    elif found.matches is not None:
        for one in found.matches:
            output.text(one)
        if not found.matches:
            output.show("the event matches no subscription")
    elif shapes:
        _show_shapes(output, found)
    else:
        _show_states(output, found)
    return 0


def _event(place: str) -> Any:
    try:
        text = sys.stdin.read() if place == "-" else Path(place).read_text(encoding="utf-8")
        return json.loads(text)
    except (OSError, ValueError) as error:
        from qbcd.subscriptions.listing import NO_EVENT

        what = f"{place} cannot be read" if isinstance(error, OSError) else f"{place} is not one JSON object"
        raise ConfigError(what, remedy=NO_EVENT) from error


def _data(found: Listing, *, shapes: bool) -> dict[str, Any]:
    if found.matches is not None:
        return {"matches": found.matches}
    if shapes:
        return {"shapes": [asdict(one) for one in found.shapes], "needs": [asdict(one) for one in found.interests]}
    return {"subscriptions": [asdict(one) for one in found.subscriptions]}


def _show_states(output: Output, found: Listing) -> None:
    if not found.subscriptions:
        output.show("no subscriptions yet")
        return
    table = Table()
    for name in ("id", "stream", "state", "when", "condition"):
        table.add_column(name, overflow="fold")
    for one in found.subscriptions:
        table.add_row(*map(escape, (one.id, one.stream or "?", one.state, one.when, one.condition)))
    output.show(table)


def _show_shapes(output: Output, found: Listing) -> None:
    table = Table()
    for name in ("stream", "condition", "subscriptions"):
        table.add_column(name, overflow="fold")
    for one in found.shapes:
        table.add_row(escape(one.stream), escape(one.text), f"{one.subscriptions:,}")
    output.show(table)
    for each in found.interests:
        output.show(f"[bold]{escape(each.stream)}[/] needs {escape(_needs(each))}")


def _needs(one: NeededPart) -> str:
    columns = "all columns" if one.columns is None else formatting.counted(len(one.columns), "column")
    named = f" ({', '.join(one.columns)})" if one.columns else ""
    captured = f"narrowed to {one.narrowed}" if one.narrowed else f"not narrowed: {one.why_wide}"
    return f"{columns}{named}, {f'rows where {one.where}' if one.where else 'all rows'} ({captured})"
