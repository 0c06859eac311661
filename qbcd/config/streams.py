"""Streams with every inherited value filled in, and the place of every key in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from qbcd.config.document import Document
from qbcd.config.fields import Fraction, Section, Switch

Baseline = Literal["events", "silent"]
KeyChange = Literal["pair", "off"]
NewColumns = Literal["ignore", "report", "add", "add_with_values", "refuse"]
EngineName = Literal["auto", "local", "spark"]

_INHERITED = (
    "every",
    "sinks",
    "retain",
    "strategy",
    "baseline",
    "guards",
    "key_change",
    "audit",
    "source",
    "engine",
    "new_columns",
)


class GuardsConfig(Section):
    """Limits for deletes of a poll; a poll that exceeds them is refused.

    Attributes:
        max_delete_fraction: Part of the stream's rows (0 to 1) that one poll may delete.
        allow_empty: Accept that a table which had rows is empty.
    """

    max_delete_fraction: Fraction = 0.5
    allow_empty: Switch = False


@dataclass(frozen=True)
class StreamConfig:
    """A stream with every inherited value filled in.

    Attributes:
        table_schema: Empty if the file names none, and for a query.
        table_name: For a query, the name of the stream.
        key: None for the primary key, empty if rows have no key.
        columns: None for all except `exclude`.
        types: Columns that do not travel by their own type.
        where: The restriction, verbatim, or an empty string.
        query: The SELECT that is captured instead of a table, verbatim, or an empty string.
        strategy: The strategy's name; `options` are its options.
        key_change: Mark a delete and an insert of equal content as a pair.
        audit: Interval of full comparisons; None for never, and if polls compare everything.
        engine: The engine that fetches, compares and delivers rows.
        new_columns: What happens when the table gets a column.
    """

    name: str
    source: str
    table_schema: str
    table_name: str
    key: tuple[str, ...] | None
    columns: tuple[str, ...] | None
    exclude: tuple[str, ...]
    types: dict[str, str]
    where: str
    strategy: str
    options: dict[str, Any]
    baseline: Baseline
    every: timedelta
    sinks: tuple[str, ...]
    retain: timedelta
    guards: GuardsConfig
    key_change: bool = False
    query: str = ""
    audit: timedelta | None = None
    engine: EngineName = "auto"
    new_columns: NewColumns = "report"
    index: int = field(default=0, repr=False, compare=False)
    document: Document = field(default_factory=lambda: Document("", Path(), {}), repr=False, compare=False)

    @property
    def subject(self) -> str:
        """The key of the captured object: ``table`` or ``query``."""
        return "query" if self.query else "table"

    def place(self, *path: str | int) -> str:
        """Return ``file:line: tables[1].key`` of a key of this stream.

        An inherited value has its place under `defaults`.
        """
        tables = self.document.raw.get("tables", [])
        table = tables[self.index] if self.index < len(tables) else {}
        defaults = self.document.raw.get("defaults") or {}
        if path and path[0] in _INHERITED and table.get(path[0]) is None and defaults.get(path[0]) is not None:
            return self.document.where(("defaults", *path))
        return self.document.where(("tables", self.index, *path))
