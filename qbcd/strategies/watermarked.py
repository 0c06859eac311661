"""Base of TS, TDI and ATDI, which read the rows whose timestamp is in a window.

A poll compares these rows with the replica by key. The restriction is selected as a column and never filters, so that a
row that leaves it is seen (docs/design/architecture.md#reading-7). A "timestamp" is a column that grows over the whole
table (an instant, a counter), the coalesce of several such columns, or the version that the server gives each row.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any, Literal

from pydantic import model_validator

from qbcd.config.fields import Interval, wrong
from qbcd.config.strategy_base import StrategyConfig
from qbcd.config.strategy_values import Columns, FixedZone
from qbcd.connectors.base import Connector, Index
from qbcd.connectors.catalog import SupportsIndexes
from qbcd.connectors.watermarks import SupportsWatermarks
from qbcd.errors import ConfigError
from qbcd.model import Column, Consistency, KeyRange, Statement, StreamPlan, Table
from qbcd.strategies import costs
from qbcd.strategies.base import Estimate, table_name
from qbcd.strategies.by_ranges import ByRanges
from qbcd.strategies.in_source import OutboxSlice, PollMode
from qbcd.watermark import Window, seen_as

SYSTEM = "xmin"
DELTA = 0.01  # the share of a table that changes between two polls, as the paper has it
HEIGHT = 3  # of an index, likewise
BY_INDEX = "(S + N + I)*delta + K"
MarkKind = Literal["zoned", "zoneless", "counter", "system"]


class WatermarkOptions(StrategyConfig):
    """Options of all strategies that read by timestamp (paper section 3.2).

    Attributes:
        timestamp: The columns of ``coalesce(a, b, ..)``, or the row version that the database keeps itself.
        zone: The zone in which a timestamp without zone was written, ``UTC`` or ``+HH:MM``.
        margin: How far the watermark stays behind the oldest open transaction and the clock.
        lag: How far behind the clock it stays where open transactions cannot be seen; what commits later is lost.
    """

    timestamp: Columns
    zone: FixedZone | None = None
    margin: Interval = timedelta(seconds=1)
    lag: Interval | None = None

    @model_validator(mode="after")
    def _lag_beyond_margin(self) -> WatermarkOptions:
        if self.lag is not None and self.lag <= self.margin:
            what = "`lag` must be longer than `margin`, which is 1s where it is not given"
            raise wrong(what, "write as lag how long the longest transaction may take", at="lag")
        return self

    @property
    def is_its_own_audit(self) -> bool:
        """A poll reads a window."""
        return False


class Watermarked(ByRanges):
    """Statements of a strategy with a watermark.

    Attributes:
        marks: The timestamp columns, in the order of their coalesce; empty for the server's own versions.
        covering: Its index holds all columns that a poll reads.
    """

    poll_mode: PollMode = "window"
    consistency: Consistency = "statement"
    by_timestamps = True
    sweeps = True
    covering = False
    reads_by_index = True
    flag = ""  # column that says deleted, of strategies that have one

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan, schema)
        self.names: tuple[str, ...] = tuple(plan.option("timestamp") or ())
        self.system = self.names == (SYSTEM,) and plan.table.column(SYSTEM) is None
        found = [] if self.system else [plan.table.column(name) for name in self.names]
        self.marks: tuple[Column, ...] = tuple(c for c in found if c is not None)
        self.zone: str | None = plan.option("zone")
        self.by_ranges = bool(plan.option("deletes"))

    @property
    def kind(self) -> MarkKind:
        """The kind of the watermark; only valid after `check`."""
        if self.system:
            return "system"
        kinds: dict[str, MarkKind] = {"zoned": "zoned", "zoneless": "zoneless", "counter": "counter"}
        return kinds[self.connector.watermarks.mark_kind(self.marks[0])]

    def key_problems(self, within: KeyRange | None = None) -> Statement:
        """Find key problems, also among rows outside of the restriction.

        Such a row may have left the restriction, so none may share a key.
        """
        beyond = bool(self.plan.where) and self.keeps != "nothing"
        return self._compiled("key_problems", within=within, beyond=beyond)

    @property
    def nullable(self) -> bool:
        """Rows without timestamp are possible; they are read at each poll."""
        return bool(self.marks) and all(c.nullable for c in self.marks)

    # -- what cannot be ----------------------------------------------------------------------------------------------
    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check that the timestamp columns exist, are of one fitting kind, and have a known zone.

        Raises:
            ConfigError: They cannot.
        """
        super().check(place)
        if self.system:
            return
        for name in self.names:
            self._check_mark(name, place)
        kinds = {self.connector.watermarks.mark_kind(c) for c in self.marks}
        if len(kinds) > 1:
            raise self._wrong(
                "timestamp",
                place,
                f"timestamps {', '.join(self.names)} are of several kinds",
                "name columns of one type",
            )
        if kinds == {"zoneless"} and self.zone is None:
            raise self._wrong(
                "timestamp",
                place,
                f"timestamp {self.names[0]!r} of type {self.marks[0].sql_type} does not say in which zone it was "
                "written",
                "add  zone: UTC  to the strategy, or the fixed offset that your application writes:  zone: +02:00",
            )
        if kinds != {"zoneless"} and self.zone is not None:
            raise self._wrong(
                "zone",
                place,
                f"timestamp {self.names[0]!r} of type {self.marks[0].sql_type} has no zone of its own to name",
                "remove `zone`",
            )
        if self.nullable and self.keeps != "rows":
            raise self._wrong(
                "timestamp",
                place,
                f"timestamp {self.names[0]!r} may be NULL, and rows without one would be delivered again at each poll",
                "keep a replica of the rows (replica: source), or add a column that is never NULL: [a, b]",
            )

    def _check_mark(self, name: str, place: Callable[[str], str] | None) -> None:
        table = self.plan.table
        column = table.column(name)
        if column is None:
            able = [c.name for c in table.columns if self.connector.watermarks.mark_kind(c)]
            raise self._missing("timestamp", place, f'timestamp column "{name}"', name, able, "stamp")
        if not self.connector.watermarks.mark_kind(column):
            raise self._wrong(
                "timestamp",
                place,
                f"timestamp column {name!r} of type {column.sql_type} cannot be a watermark",
                "name a column of instants, or of whole numbers that grow over the whole table",
            )

    def _missing(
        self, option: str, place: Callable[[str], str] | None, what: str, name: str, able: Sequence[str], kind: str
    ) -> ConfigError:
        """The error for a missing column; it names the nearest one, or says how to add it."""
        table = self.plan.table
        near = difflib.get_close_matches(name, able, n=1, cutoff=0.5)
        ddl = self.connector.ddl.missing_column(table, name, kind)
        remedy = f'did you mean "{near[0]}"?' if near else f"add it: {ddl}; or use id_rcs, which needs SELECT alone"
        return self._wrong(option, place, f"{what} does not exist in {table.schema}.{table.name}", remedy)

    # -- the index that a window is read by --------------------------------------------------------------------------
    def index(self) -> str:
        """CREATE INDEX of it; repeatable."""
        columns, included = self.index_columns()
        return self.connector.require(SupportsIndexes).create_index(
            table_name("ix", self.plan.stream), self.plan.table, columns, included
        )

    def missing_indexes(self, look_up: Callable[[Table], Sequence[Index]]) -> list[str]:
        """CREATE INDEX that windows are read by, unless one serves."""
        return [self.index()] if self.marks and not self.has_index(look_up(self.plan.table)) else []

    def index_columns(self) -> tuple[list[str], list[str]]:
        """Its (leading, included) columns."""
        return [c.name for c in self.marks[:1]], []

    def has_index(self, indexes: Sequence[Index]) -> bool:
        """Return True if `indexes` has this index, or another one that serves as well."""
        return serves(self, indexes)

    def estimate(self, indexes: Sequence[Index] = ()) -> Estimate:
        """Estimate (S + N + I) delta + K with an index on the timestamp, otherwise S + delta*N.

        See the paper, 3.2.1 and 3.2.2.
        """
        pages, rows = self.plan.table.pages, self.plan.table.rows
        if self.poll_mode != "ranges" and serves(self, indexes):
            return self._estimated(BY_INDEX, costs.tdi(pages, pages, pages / 10, DELTA, HEIGHT), DELTA * rows)
        better = "" if self.system or self.poll_mode == "ranges" else f"; with an index on the timestamp {BY_INDEX}"
        return self._estimated(f"S + delta*N{better}", costs.ts(pages, pages, DELTA), rows)

    # -- a poll ------------------------------------------------------------------------------------------------------
    def rows_read(self, changed: int) -> int:
        """Estimate the rows that a poll reads to find `changed` ones.

        No index can serve the server's own row versions.
        """
        return max(self.plan.table.rows, 0) if self.system else changed

    def look(self, part: OutboxSlice, window: Window, *, repeats: bool = True, reason: str = "") -> Statement:
        """Write the changes among the rows of a window into the outbox.

        Args:
            part: Where the rows go.
            window: Of the watermark.
            repeats: Where only keys are kept, a known row in the window is an update; False reports new ones alone.
            reason: Of all events; without one those of rows that leave the restriction have theirs.
        """
        values = {**part.params, **self._bounds(window)}
        return self._compiled("changes", values, pairs="window", repeats=repeats, reason=reason, **self._window(window))

    def differences(self, part: OutboxSlice, within: KeyRange | None = None) -> Statement:
        """The sweep, range by range."""
        return self.sweep(part, within)

    def window_rows(self, window: Window) -> Statement:
        """The bare read of a window, without replica: what the index on the timestamp serves."""
        return self._compiled("window_rows", self._bounds(window), **self._window(window))

    def window_text(self, window: Window) -> str:
        """`window_rows` with its bounds as literals, for EXPLAIN."""
        return in_literals(self.window_rows(window))

    def window(self, since: str | None, until: str | None) -> Window | None:
        """Return the window that a poll between two watermarks reads; None if it must be empty.

        Before a counter has its first watermark, those are the rows without a number; one at most 0 may come with
        them, and comes again later.
        """
        if until is None:
            return Window(None, "0") if self.nullable else None
        found = Window(since, until)
        return None if found.empty and not self.nullable and not self.system else found

    def any_row(self, window: Window) -> Statement:
        """A row, where something lies in a window."""
        return self._compiled("window_any", self._bounds(window), **self._window(window))

    def window_images(self, window: Window, *, typed: bool) -> Statement:
        """The rows of a window as :meth:`IdRcs.images` has them, and if each is in the restriction."""
        context: dict[str, Any] = {
            **self._window(window),
            "windowed": True,
            "hashed": False,
            "paged": False,
            "settled": False,
            "keyed": True,
            "leaves": False,
            "was": (),
            "typed": typed,
        }
        return self._compiled("row_images", self._bounds(window), **context)

    def settled_images(self, window: Window, *, typed: bool) -> Statement:
        """The restricted rows as `window_images` has them, and whether each is in `window`.

        Rows outside of the window are included whatever the restriction says: nothing can be reported about them yet.
        """
        context = {
            **self._window(window),
            "windowed": False,
            "settled": True,
            "hashed": False,
            "paged": False,
            "keyed": True,
            "leaves": False,
            "was": (),
        }
        return self._compiled("row_images", self._bounds(window), **context, typed=typed)

    def greatest(self) -> Statement:
        """One row (mark): the largest value of a counter, as text."""
        return self._compiled("greatest_mark")

    def repeated(self) -> Statement:
        """One row (rows_seen, values_seen, greatest), to see if a counter is a version of each row."""
        return self._compiled("mark_values")

    def _window(self, window: Window) -> dict[str, Any]:
        return {"since": window.lo is not None}

    def _bounds(self, window: Window) -> dict[str, str]:
        ends: dict[str, str | None] = {"lo": window.lo, "hi": window.hi}
        if self.system:  # all that is newer than `lo`; without it, what is not newer than `hi`
            ends["hi" if window.lo is not None else "lo"] = None
        return {name: self.bound(mark) for name, mark in ends.items() if mark is not None}

    def bound(self, mark: str) -> str:
        """A watermark as its column has it, in the column's zone and precision."""
        if self.kind in ("system", "counter"):
            return mark
        unit = max(self.connector.require(SupportsWatermarks).mark_unit(c) for c in self.marks)
        return seen_as(mark, unit=unit, zone=self.zone)

    def since(self) -> dict[str, Any]:
        """Return the variables of template ``window_since``."""
        return {
            "marks": [c.name for c in self.marks],
            "system": self.system,
            "nullable": self.nullable,
            "counted": bool(self.marks) and self.kind == "counter",
        }

    def _context(self) -> dict[str, Any]:
        restricted = bool(self.plan.where)
        return {
            **self.since(),
            "flag": self.flag,
            "restricted": restricted,
            "exits": restricted and self.keeps != "nothing",
        }

    def _estimated(self, formula: str, pages: float, rows: float) -> Estimate:
        known = -1 if self.plan.table.rows < 0 else round(rows)
        return Estimate(math.ceil(pages), known, f"{formula}, delta = 1 %, changes clustered", "nothing")


def serves(strategy: Watermarked, indexes: Sequence[Index]) -> bool:
    """Return True if some index is in the order of the timestamp."""
    first = tuple(c.name for c in strategy.marks[:1])
    return bool(first) and any(i.ordered and not i.partial and i.columns[:1] == first for i in indexes)


def in_literals(statement: Statement) -> str:
    """A statement's text with its values in it: watermarks, which are qbcd's own digits."""
    return statement.sql % {name: f"'{value}'" for name, value in statement.params.items()}
