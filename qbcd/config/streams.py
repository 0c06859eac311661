"""Streams as the rest of qbcd sees them: every inherited value filled in, every key with its place in the file."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Any, Literal

from qbcd.config.document import Document
from qbcd.config.fields import Fraction, Section, Switch

Baseline = Literal["events", "silent"]
KeyChange = Literal["pair", "off"]

_INHERITED = ("every", "sinks", "retain", "strategy", "baseline", "guards", "key_change", "audit", "source")


class GuardsConfig(Section):
    """Limits beyond which a poll is refused because it would delete too much.

    Attributes:
        max_delete_fraction: Part of the stream's rows (0 to 1) that one poll may delete.
        allow_empty: Whether an emptied source is believed.
    """

    max_delete_fraction: Fraction = 0.5
    allow_empty: Switch = False


@dataclass(frozen=True)
class StreamConfig:
    """A stream with every inherited value filled in.

    Attributes:
        table_schema: Empty where the file names none, and of a query, whose name is the stream's.
        key: None for the primary key, empty where rows have none.
        columns: None for all, less `exclude`.
        types: Columns that travel otherwise than by their type.
        where: The restriction, verbatim, or an empty string.
        query: The SELECT that is captured in place of a table, verbatim, or an empty string.
        strategy: The strategy's name; `options` are its own.
        key_change: Whether a delete and an insert of equal content are marked as a pair.
        audit: How often replica and source are compared in full; None for never, or where each poll does that.
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
    index: int = field(default=0, repr=False, compare=False)
    document: Document = field(default_factory=lambda: Document("", Path(), {}), repr=False, compare=False)

    @property
    def subject(self) -> str:
        """The key that says what is captured: ``table`` or ``query``."""
        return "query" if self.query else "table"

    def place(self, *path: str | int) -> str:
        """``file:line: tables[1].key`` of a key of this stream; an inherited value has its place under `defaults`."""
        tables = self.document.raw.get("tables", [])
        table = tables[self.index] if self.index < len(tables) else {}
        defaults = self.document.raw.get("defaults") or {}
        if path and path[0] in _INHERITED and table.get(path[0]) is None and defaults.get(path[0]) is not None:
            return self.document.where(("defaults", *path))
        return self.document.where(("tables", self.index, *path))
