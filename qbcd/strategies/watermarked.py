"""Base of TS, TDI and ATDI, which read the rows whose timestamp is in a window.

A poll compares these rows with the replica by key. The restriction is an output column and no filter, so a poll also
sees a row that leaves it (docs/design/architecture.md#reading-7). A "timestamp" is a column that grows over the whole
table (an instant, a counter), the coalesce of several such columns, or the row version of the server.
"""

from __future__ import annotations

import difflib
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import Any, Literal

from pydantic import model_validator
from typing_extensions import override

from qbcd.config.fields import Interval, wrong
from qbcd.config.strategy_base import StrategyConfig
from qbcd.config.strategy_values import Columns, FixedZone
from qbcd.connectors.base import Connector, Index
from qbcd.connectors.catalog import SupportsIndexes
from qbcd.connectors.watermarks import SupportsWatermarks
from qbcd.errors import ConfigError
from qbcd.model import Column, Consistency, KeyRange, Statement, StreamPlan, Table
from qbcd.strategies import costs
from qbcd.strategies.amounts import NONE, Amount, lifted
from qbcd.strategies.base import table_name
from qbcd.strategies.by_ranges import ByRanges
from qbcd.strategies.in_source import OutboxSlice, PollMode
from qbcd.strategies.reads import OWN_PAGES, ChangeRate, Reads, Symbols, TableFacts
from qbcd.watermark import Window, seen_as

SYSTEM = "xmin"
UNNAMED = "no timestamp is named: no probe can prove that every writer moves it"
MarkKind = Literal["zoned", "zoneless", "counter", "system"]


class WatermarkOptions(StrategyConfig):
    """Options of all strategies that read by timestamp (paper section 3.2).

    Attributes:
        timestamp: The columns of ``coalesce(a, b, ..)``, or the row version that the database keeps itself.
        zone: The zone in which a timestamp without zone was written, ``UTC`` or ``+HH:MM``.
        margin: Distance of the watermark from the oldest open transaction and the clock.
        lag: Distance from the clock if open transactions cannot be seen; rows that commit later are lost.
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
    @override
    def is_its_own_audit(self) -> bool:
        """False: a poll reads a window."""
        return False


class Watermarked(ByRanges):
    """Statements of a strategy with a watermark.

    Attributes:
        timestamps: The timestamp columns, in the order of their coalesce; empty for the server's own versions.
    """

    poll_mode: PollMode = "window"
    consistency: Consistency = "statement"
    statements = (20, 20)
    by_timestamps = True
    sweeps = True
    flag = ""  # delete flag of strategies that have one

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan, schema)
        self.names: tuple[str, ...] = tuple(plan.option("timestamp") or ())
        self.system = self.names == (SYSTEM,) and plan.table.column(SYSTEM) is None
        found = [] if self.system else [plan.table.column(name) for name in self.names]
        self.timestamps: tuple[Column, ...] = tuple(c for c in found if c is not None)
        self.zone: str | None = plan.option("zone")
        self.by_ranges = bool(plan.option("deletes"))

    @property
    def kind(self) -> MarkKind:
        """The kind of the watermark; only valid after `check`."""
        if self.system:
            return "system"
        kinds: dict[str, MarkKind] = {"zoned": "zoned", "zoneless": "zoneless", "counter": "counter"}
        return kinds[self.connector.watermarks.mark_kind(self.timestamps[0])]

    @override
    def key_problems(self, within: KeyRange | None = None) -> Statement:
        """Find key problems, also among rows outside of the restriction.

        Such a row may have been in the restriction before, so no two of all rows may share a key.
        """
        beyond = bool(self.plan.where) and self.keeps != "nothing"
        return self._compiled("key_problems", within=within, beyond=beyond)

    @property
    def nullable(self) -> bool:
        """True if rows without timestamp are possible; each poll reads them."""
        return bool(self.timestamps) and all(c.nullable for c in self.timestamps)

    # -- checks ----------------------------------------------------------------------------------------------
    @override
    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check the outbox, and the timestamps as `check_timestamps` does."""
        super().check(place)
        self.check_timestamps(place)

    def check_timestamps(self, place: Callable[[str], str] | None = None) -> None:
        """Check that the timestamp columns exist, are of one fitting kind, and have a known zone.

        Raises:
            ConfigError: A column or the zone does not fit.
        """
        if self.system:
            return
        for name in self.names:
            self._check_mark(name, place)
        kinds = {self.connector.watermarks.mark_kind(c) for c in self.timestamps}
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
                f"timestamp {self.names[0]!r} of type {self.timestamps[0].sql_type} does not say in which zone it was "
                "written",
                "add  zone: UTC  to the strategy, or the fixed offset that your application writes:  zone: +02:00",
            )
        if kinds != {"zoneless"} and self.zone is not None:
            raise self._wrong(
                "zone",
                place,
                f"timestamp {self.names[0]!r} of type {self.timestamps[0].sql_type} has no zone of its own to name",
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
        """Return the error for a missing column.

        It suggests the nearest name, or the DDL to add the column.
        """
        table = self.plan.table
        near = difflib.get_close_matches(name, able, n=1, cutoff=0.5)
        ddl = self.connector.ddl.missing_column(table, name, kind)
        remedy = f'did you mean "{near[0]}"?' if near else f"add it: {ddl}; or use id_rcs, which needs SELECT alone"
        return self._wrong(option, place, f"{what} does not exist in {table.schema}.{table.name}", remedy)

    # -- the index of windows --------------------------------------------------------------------------
    def index(self) -> str:
        """Return CREATE INDEX for windows; repeatable."""
        columns, included = self.index_columns()
        return self.connector.require(SupportsIndexes).create_index(
            table_name("ix", self.plan.stream), self.plan.table, columns, included
        )

    @override
    def missing_indexes(self, look_up: Callable[[Table], Sequence[Index]]) -> list[str]:
        """Return CREATE INDEX for windows, unless an index serves them already."""
        return [self.index()] if self.timestamps and not self.has_index(look_up(self.plan.table)) else []

    def index_columns(self) -> tuple[list[str], list[str]]:
        """Return the index's (leading, included) columns."""
        return [c.name for c in self.timestamps[:1]], []

    def has_index(self, indexes: Sequence[Index]) -> bool:
        """Return True if `indexes` has this index, or another one that serves as well."""
        return serves(self, indexes)

    # -- cost --------------------------------------------------------------------------------------------------------
    @override
    def reads(self, facts: TableFacts) -> Reads:
        """Return the reads of a window.

        They include the replica's rows with its keys, and qbcd's other tables.
        """
        found = self.window_reads(facts, self.replica_pages(facts), own=OWN_PAGES)
        return replace(found, source_room=self.kept_pages(facts))

    def window_reads(self, facts: TableFacts, copy: Amount, own: int = 0) -> Reads:
        """Return (S + M + I)*delta + K, the reads of a window with an index on the timestamp.

        With a covering index it is I*delta + delta*W + K.

        See the paper, 3.2.1 and 3.2.2, figures 5 and 6, and docs/paper.md#c13. With the covering one, pages of the
        table are read too as long as VACUUM has not seen them: a range. Without an index it is S + delta*M.

        Args:
            copy: Pages of the replica in the source; NONE without one.
            own: Pages of qbcd's other tables in the source.
        """
        covering = self.covering and self.has_index(facts.plain_indexes)
        indexed = covering or (self.poll_mode != "ranges" and serves(self, facts.plain_indexes))
        kept, held = "M" if self.keeps == "rows" else "W", bool(copy.high)
        lead, rest = self.index_columns()
        index = facts.index_pages(lead, rest if covering else ()) if indexed else NONE
        height = lifted(costs.height, index) if index.high else NONE
        keyed = facts.key_index(self.plan.key, self.plan.table) if held and indexed else NONE
        sweep, table = self._sweep_pages(facts), facts.pages * (Amount(0.0, 1.0) if covering else 1.0)
        symbols: Symbols = (("S", facts.pages),)
        if indexed:
            parts = [part for part in ("" if covering else "S", kept if held else "", "I") if part]
            formula = f"({' + '.join(parts)})*delta + K{' + (0 to S)*delta' if covering else ''}"
            symbols += (((kept, copy),) if held else ()) + (("I", index), ("K", height))
        else:
            formula = f"S + delta*{kept}" if held else "S"
            symbols += ((kept, copy),) if held else ()
        for text, pages in (("sweep", sweep), ("own", Amount.of(own))):
            formula += f" + {text}" if pages.high else ""
            symbols += ((text, pages),) if pages.high else ()

        def read(change: ChangeRate) -> Amount:
            changed = facts.changed(copy, change) + facts.changed(keyed, change) + sweep + own
            if not indexed:
                return facts.pages + changed
            newest = replace(change, clustered=Amount.of(1.0))  # together in an index on the timestamp
            return facts.changed(table, change) + facts.changed(index, newest) + height + changed

        return Reads(formula, symbols, read, read(facts.change))

    def _sweep_pages(self, facts: TableFacts) -> Amount:
        """Return the pages of a sweep for deletes, as a share of one poll."""
        every = self.plan.option("deletes")
        if not isinstance(every, timedelta):
            return NONE
        keys = facts.index_pages([c.name for c in self.plan.key])
        keys = keys if keys.high else facts.pages
        whole = keys + facts.copied(self.plan.key, self.plan.table)
        return whole * min(1.0, facts.every / every.total_seconds())

    # -- a poll ------------------------------------------------------------------------------------------------------
    def rows_read(self, changed: int) -> int:
        """Estimate the rows that a poll reads to find `changed` rows.

        No index can serve the server's own row versions.
        """
        return max(self.plan.table.rows, 0) if self.system else changed

    def window_changes(self, part: OutboxSlice, window: Window, *, repeats: bool = True, reason: str = "") -> Statement:
        """Write the changes among the rows of a window into the outbox.

        Args:
            part: Where the rows go.
            window: Of the watermark.
            repeats: True reports a known row in the window as an update if only keys are kept; False reports new rows
                only.
            reason: The reason of all events; if empty, only rows that leave the restriction have a reason.
        """
        values = {**part.params, **self._bounds(window)}
        return self._compiled("changes", values, pairs="window", repeats=repeats, reason=reason, **self._window(window))

    @override
    def differences(self, part: OutboxSlice, within: KeyRange | None = None) -> Statement:
        """Return the sweep of one range."""
        return self.sweep(part, within)

    def window_rows(self, window: Window) -> Statement:
        """Return the read of a window, without replica, which the index on the timestamp serves."""
        return self._compiled("window_rows", self._bounds(window), **self._window(window))

    def window_text(self, window: Window) -> str:
        """Return `window_rows` with its bounds as literals, for EXPLAIN."""
        return in_literals(self.window_rows(window))

    def window(self, since: str | None, until: str | None) -> Window | None:
        """Return the window that a poll between two watermarks reads; None if it must be empty.

        Before a counter has its first watermark, the window has the rows without a number. A row with a number of at
        most 0 may be among them, and is read again later.
        """
        if until is None:
            return Window(None, "0") if self.nullable else None
        found = Window(since, until)
        return None if found.empty and not self.nullable and not self.system else found

    def any_row(self, window: Window) -> Statement:
        """Return the query for one row if a window has any."""
        return self._compiled("window_any", self._bounds(window), **self._window(window))

    def window_images(self, window: Window, *, typed: bool) -> Statement:
        """Return the query for rows of a window as in :meth:`IdRcs.images`, with `qbcd_in`.

        `qbcd_in` is 1 if the row is in the restriction.
        """
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
        """Return the query for restricted rows as in `window_images`, with `qbcd_settled`.

        `qbcd_settled` is 1 if the row is in `window`. Rows outside of the window are included regardless of the
        restriction: they cannot be reported yet.
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
        """Return the query for one row (mark): the largest value of a counter, as text."""
        return self._compiled("greatest_mark")

    def repeated(self) -> Statement:
        """Return the query for (rows_seen, values_seen, greatest), to detect row versions."""
        return self._compiled("mark_values")

    def _window(self, window: Window) -> dict[str, Any]:
        return {"since": window.lo is not None}

    def _bounds(self, window: Window) -> dict[str, str]:
        ends: dict[str, str | None] = {"lo": window.lo, "hi": window.hi}
        if self.system:  # all rows newer than `lo`; without it, rows that are not newer than `hi`
            ends["hi" if window.lo is not None else "lo"] = None
        return {name: self.bound(end) for name, end in ends.items() if end is not None}

    def bound(self, watermark: str) -> str:
        """Return a watermark as a value of its column, in the column's zone and precision."""
        if self.kind in ("system", "counter"):
            return watermark
        unit = max(self.connector.require(SupportsWatermarks).mark_unit(c) for c in self.timestamps)
        return seen_as(watermark, unit=unit, zone=self.zone)

    def since(self) -> dict[str, Any]:
        """Return the variables of template ``window_since``."""
        return {
            "marks": [c.name for c in self.timestamps],
            "system": self.system,
            "nullable": self.nullable,
            "counted": bool(self.timestamps) and self.kind == "counter",
        }

    @override
    def _context(self) -> dict[str, Any]:
        restricted = bool(self.plan.where)
        return {
            **self.since(),
            "flag": self.flag,
            "restricted": restricted,
            "exits": restricted and self.keeps != "nothing",
        }


def serves(strategy: Watermarked, indexes: Sequence[Index]) -> bool:
    """Return True if one of `indexes` is in the order of the timestamp."""
    first = tuple(c.name for c in strategy.timestamps[:1])
    return bool(first) and any(i.ordered and not i.partial and i.columns[:1] == first for i in indexes)


def in_literals(statement: Statement) -> str:
    """Return a statement's text with its values as literals.

    They are watermarks, which qbcd itself formats.
    """
    return statement.sql % {name: f"'{value}'" for name, value in statement.params.items()}
