"""Sink `console`: a table of each batch on standard output.

Nothing is kept, so a batch that is delivered again is shown again.
"""

from __future__ import annotations

import json
import threading
from typing import Any, Literal

from pydantic import Field
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from typing_extensions import override

from qbcd.common import hooks
from qbcd.config.fields import Whole
from qbcd.config.sink_options import BuiltOptions
from qbcd.model import BatchHeader
from qbcd.sinks.base import Sink, SinkBatch

STYLES = {"c": "green", "u": "yellow", "d": "red", "r": "blue"}
_PRINTING = threading.Lock()  # polls of several sources write to one terminal
WORDS = {"c": "insert", "u": "update", "d": "delete", "r": "baseline"}


class ConsoleOptions(BuiltOptions):
    """A table per batch on the terminal.

    Attributes:
        limit: Most events of a batch that are shown.
    """

    type: Literal["console"]
    limit: Whole = Field(default=20, ge=1, le=100_000)


class ConsoleSink(Sink):
    """Prints up to `limit` events of a batch.

    Args:
        limit: Rows shown of a batch; the others are counted.
        console: Where to print; default: standard output at the time of the print.
    """

    options_class = ConsoleOptions
    takes_resends = True
    concurrent = True

    def __init__(self, name: str, limit: int = 20, console: Console | None = None) -> None:
        super().__init__(name)
        self.limit = limit
        self._console = console

    @override
    def check(self) -> None:
        """Do nothing: standard output always exists."""

    @override
    def write(self, batch: SinkBatch) -> None:
        header = batch.header
        events = [json.loads(line) for piece in batch.first(self.limit).json_lines() for line in piece]
        hooks.reach("mid_publish")
        console = self._console or Console(emoji=False)
        with _PRINTING:
            console.print(_title(header), soft_wrap=True, highlight=False)
            console.print(event_table(header, events))
            more = header.size - len(events)
            if more > 0:
                console.print(f"… and {more:,} more")


def event_table(header: BatchHeader, events: list[dict[str, Any]]) -> Table:
    """Return a table of `events`, parsed JSON, of the batch with `header`."""
    table = Table()
    table.add_column("op")
    for name in header.key:
        table.add_column(escape(name), style="bold", overflow="fold")
    table.add_column("change", overflow="fold")
    for event in events:
        op = event["op"]
        key = [_show(event["key"][name]) for name in header.key]
        table.add_row(f"[{STYLES[op]}]{WORDS[op]}[/]", *key, _change(event))
    return table


def _title(header: BatchHeader) -> str:
    counts = ", ".join(
        f"{count:,} {WORDS[op]}{'s' * (count != 1 and op != 'r')}" for op, count in header.counts.items() if count
    )
    return f"[bold]{escape(header.stream)}[/]  {header.number}: {counts}"


def _change(event: dict[str, Any]) -> str:
    """Shorten an event: the changed columns of an update, the row of an insert or a delete.

    A changed column has its old and its new value.
    """
    before, after, key = event["before"], event["after"], event["key"] or {}
    if before is not None and after is not None:
        named = event["changed"]
        changed = [name for name in after if name not in key] if named is None else named
        return ", ".join(f"{escape(name)}: {_show(before[name])} → {_show(after[name])}" for name in changed)
    image = (after if after is not None else before) or {}  # a delete may have no old values
    text = ", ".join(f"{escape(name)}: {_show(value)}" for name, value in image.items() if name not in key)
    return f"{text} ({event['reason']})".lstrip() if event["reason"] else text


def _show(value: Any) -> str:
    """Return a value as short markup without control characters.

    Control characters must not reach the terminal.
    """
    if value is None:
        return "[dim]null[/]"
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and (text != text.strip() or text in ("", "null")):
        text = f'"{text}"'  # blanks at its ends are seen, and it differs from NULL
    text = "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
    return escape(text if len(text) <= 60 else text[:59] + "…")
