"""Settings that streams inherit, and streams with every value filled in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from qbcd.config.audits import Audit
from qbcd.config.document import Document
from qbcd.config.fields import Duration, Every, Fraction, Names, Section, Switch, wrong
from qbcd.config.strategy_registry import AnyStrategy

Baseline = Literal["events", "silent"]


def _not_over_polls(value: Any) -> Any:
    """Refuse pairs over several polls, which cannot be exact."""
    if value == "cycle":
        raise wrong(
            "pairs over the polls of a pass cannot be exact: when a poll delivers the second event, a later one may "
            "still find a third with equal content, and the first event is delivered already",
            "write key_change: pair, and a strategy whose poll reads the whole table",
        )
    return value


KeyChange = Annotated[Literal["pair", "off"], BeforeValidator(_not_over_polls)]
NewColumns = Literal["ignore", "report", "add", "add_with_values", "refuse"]
EngineName = Literal["auto", "local", "spark"]

DEFAULT_EVERY = timedelta(seconds=30)
DEFAULT_RETAIN = timedelta(days=7)


class GuardsConfig(Section):
    """Limits for deletes of a poll; a poll that exceeds them is refused.

    Attributes:
        max_delete_fraction: Part of the stream's rows (0 to 1) that one poll may delete.
        allow_empty: Accept that a table which had rows is empty.
    """

    max_delete_fraction: Fraction = 0.5
    allow_empty: Switch = False


class StreamDefaults(Section):
    """Settings that tables inherit, unless they have their own.

    Attributes:
        every: Interval of polls, or a line of cron such as ``0 2 * * *``, in UTC; default: ``30s``.
        sinks: Names under `sinks`, in order of delivery.
        retain: Time for which qbcd keeps delivered batches; default: ``7d``.
        strategy: A strategy's name, or a mapping with its `type` and options.
        baseline: ``events`` delivers the rows that `prepare` finds, as op ``r``; ``silent`` does not. Default:
            ``silent``, and ``events`` with a mirror or history.
        guards: Limits for deletes of a poll; a poll that exceeds them is refused.
        key_change: ``pair`` marks a delete and an insert with equal content as a changed key; default: ``off``.
        audit: Interval of full comparisons with the source, as ``{every: 24h}``; default: ``off``.
        engine: Place of the work: ``local`` is this process, ``spark`` is Spark; ``auto``, the default, takes Spark
            for large work.
        new_columns: Reaction to a column that the table gets; default: ``report``.
        enrich: Names under `lookups`, whose columns the events get.
    """

    every: Every | None = None
    sinks: Names | None = None
    retain: Duration | None = None
    strategy: AnyStrategy | None = None
    baseline: Baseline | None = None
    guards: GuardsConfig | None = None
    key_change: KeyChange | None = None
    audit: Audit | None = None
    engine: EngineName | None = None
    new_columns: NewColumns | None = None
    enrich: Names | None = None


_INHERITED = (*StreamDefaults.model_fields, "source")
# Inherited as they are written; the others have rules of their own.
PLAIN_SETTINGS = tuple(name for name in StreamDefaults.model_fields if name not in ("strategy", "guards", "audit"))


@dataclass(frozen=True)
class StreamConfig:
    """A stream with every inherited value filled in; :class:`StreamDefaults` describes those.

    Attributes:
        table_schema: Empty if the file names none, and for a query.
        table_name: For a query, the name of the stream.
        key: None for the primary key, empty if rows have no key.
        columns: None for all except `exclude`.
        types: Columns that do not travel by their own type.
        where: The restriction, verbatim, or an empty string.
        query: The SELECT that is captured instead of a table, verbatim, or an empty string.
        strategy: The strategy's name; `options` are its options.
        chosen: The strategy was chosen for the needs of ``strategy: auto``.
        audit: Interval of full comparisons; None for never, and if polls compare everything.
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
    query: str = ""
    chosen: bool = False
    sinks: tuple[str, ...] = ()
    every: timedelta = DEFAULT_EVERY
    retain: timedelta = DEFAULT_RETAIN
    baseline: Baseline = "silent"
    guards: GuardsConfig = field(default_factory=GuardsConfig)
    key_change: KeyChange = "off"
    audit: timedelta | None = None
    engine: EngineName = "auto"
    new_columns: NewColumns = "report"
    enrich: tuple[str, ...] = ()
    index: int = field(default=0, repr=False, compare=False)
    document: Document = field(default_factory=lambda: Document("", Path(), {}), repr=False, compare=False)

    @property
    def subject(self) -> str:
        """The key of the captured object: ``table`` or ``query``."""
        return "query" if self.query else "table"

    def place(self, *path: str | int) -> str:
        """Return ``file:line: tables[1].key`` of a key of this stream.

        An inherited value has its place under the `defaults` that set it, the table of a pattern that of the pattern.
        """
        raw = self.document.raw
        tables = raw.get("tables", [])
        table = tables[self.index] if self.index < len(tables) else {}
        if path and path[0] == "table" and table.get("tables") is not None:
            path = ("tables", *path[1:])
        if path and path[0] in _INHERITED and table.get(path[0]) is None:
            for above in (("sources", self.source, "defaults"), ("defaults",)):
                if _section(raw, above).get(path[0]) is not None:
                    return self.document.where((*above, *path))
        # an entry with patterns is that of many streams
        return self.document.where(("tables", self.index, *path)) + (
            f", stream {self.name}" if table.get("tables") else ""
        )


def _section(raw: Any, path: tuple[str, ...]) -> Mapping[str, Any]:
    for key in path:
        raw = (raw or {}).get(key)
    return raw or {}
