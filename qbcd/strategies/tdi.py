"""TDI, timestamp and delete flag with an index (Carnes & Hanson 3.2.2, figures 2 to 4).

The application flags a row instead of deleting it, so its timestamp shows the delete. Flag and replica decide what
event a row becomes (docs/paper.md#c7); a row that was inserted and deleted between two polls gives no event
(docs/paper.md#c6). `purge` removes flagged rows by key, flag and timestamp once their batch is durable, never a row
that was revived (docs/paper.md#c8).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any, Literal

from pydantic import model_validator
from typing_extensions import override

from qbcd.config.document import Problem
from qbcd.config.fields import Filled, Interval, Switch, in_words, wrong
from qbcd.config.strategy_base import Needs, StrategyClass, StrategyUse, Variant
from qbcd.config.strategy_values import Scalar
from qbcd.config.streams import DEFAULT_EVERY
from qbcd.connectors.base import Connector
from qbcd.connectors.watermarks import SupportsDeleteFlags
from qbcd.model import Statement, StreamPlan
from qbcd.strategies.base import WriteRight, suffixed, table_name
from qbcd.strategies.in_source import Columns, OwnTable, PollMode
from qbcd.strategies.read_position import ReadPosition, unread_by
from qbcd.strategies.watermarked import UNNAMED, Watermarked, WatermarkOptions
from qbcd.watermark import Window

MARK = "qbcd_mark"

# A flagged row must stay for this many times the longest time between two polls (a poll may fail, or be late)
RETENTION_FACTOR = 3


class FlagOptions(WatermarkOptions):
    """Options of both strategies with a delete flag (paper section 3.2.2).

    Attributes:
        delete_flag: Column that marks a row as deleted.
        deleted_value: Value of `delete_flag` in deleted rows.
        purge: True if qbcd removes flagged rows once their batch is durable.
        retention: Time for which the application leaves flagged rows in place; default: for ever.
        create_index: True if `prepare` creates the covering index.
    """

    meaning = ("timestamp", "zone", "delete_flag", "deleted_value")

    delete_flag: Filled
    deleted_value: Scalar = True
    purge: Switch = False
    retention: Interval | None = None
    create_index: Switch = False

    @model_validator(mode="after")
    def _two_columns(self) -> FlagOptions:
        if self.delete_flag in self.timestamp:
            raise wrong("the delete flag is a timestamp as well", "name another column", at="delete_flag")
        return self

    @classmethod
    @override
    def variants(cls, needs: Needs) -> list[Variant]:
        if not needs.timestamp_options:
            return [Variant(missing=UNNAMED)]
        if needs.delete_flag is None:
            return [Variant(missing="no delete flag is named")]
        flag = {"delete_flag": needs.delete_flag, "deleted_value": needs.deleted_value}
        return [Variant({**needs.timestamp_options, **flag})]

    @override
    def problems(self, use: StrategyUse) -> Iterator[Problem]:
        """Yield a problem if flagged rows may be removed before a poll has read them."""
        yield from super().problems(use)
        name, longest = max(("every", use.every), ("lag", self.lag or timedelta(0)), key=lambda item: item[1])
        if self.retention is None or self.retention >= RETENTION_FACTOR * longest:
            return
        # do not show intervals of the configuration: they may come from placeholders
        given = f", which is {in_words(DEFAULT_EVERY)} where it is not given" if name == "every" else ""
        yield use.option_problem(
            "retention",
            "flagged rows may be removed before a poll has read them: this is less than "
            f"{RETENTION_FACTOR} times `{name}`{given}",
            f"let the application keep them longer and say so here, write a shorter `{name}`, or remove `retention` "
            "where they stay for ever",
        )


class TdiOptions(FlagOptions):
    """Options of the strategy with timestamp and delete flag."""

    example = "write {type: tdi, timestamp: updated_at, delete_flag: is_deleted}"
    preference = 20
    type: Literal["tdi"] = "tdi"

    @classmethod
    @override
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """TDI."""
        return Tdi


class Tdi(Watermarked):
    """Statements of TDI for one stream.

    Attributes:
        purges: Flagged rows are removed from the table after they were reported.
    """

    name = "tdi"
    poll_mode: PollMode = "flagged"
    sees = "every insert, update and flagged delete, with old and new values, as the net change between two polls"
    misses = (
        "states between two polls; rows that are written without moving their timestamp, or deleted without the flag"
    )

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan, schema)
        self.flag = str(plan.option("delete_flag"))
        self.purges = bool(plan.option("purge"))
        self.purge = (schema, table_name("purge", plan.stream))
        self.needs = (
            "SELECT on the table with a timestamp and a delete flag that every writer sets, and an index on the "
            "timestamp; the right to see all sessions; a schema of qbcd's own in the source, with room for a copy of "
            "the captured rows" + ("; DELETE on the table" if self.purges else "")
        )

    @override
    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check that the flag exists, and that its type can hold `deleted_value`.

        Raises:
            ConfigError: An option does not fit the table.
        """
        super().check(place)
        table, value = self.plan.table, self.plan.option("deleted_value")
        column = table.column(self.flag)
        if column is None:
            able = [
                c.name for c in table.columns if not self.connector.require(SupportsDeleteFlags).flag_problem(c, value)
            ]
            raise self._missing("delete_flag", place, f'delete flag "{self.flag}"', self.flag, able, "flag")
        problem = self.connector.require(SupportsDeleteFlags).flag_problem(column, value)
        if problem:
            raise self._wrong(
                "delete_flag",
                place,
                f"delete flag {self.flag!r} of type {column.sql_type}: {problem}",
                "set `deleted_value` to a value of its type, such as true, 1 or 'T'",
            )
        if self.purges and not self.system and self.timestamps and self.kind == "counter":
            raise self._wrong(
                "purge",
                place,
                "a purge needs the time of a row, and its timestamp is a counter",
                "remove `purge`, or name a timestamp column",
            )
        if self.system or len(self.timestamps) != 1:
            raise self._wrong("timestamp", place, "a delete flag goes with one timestamp column", "name one column")

    @override
    def tables(self) -> list[OwnTable]:
        """Return replica, outbox and purge list.

        The list exists even if nothing is purged, since the user may turn `purge` on.
        """
        mark = (MARK, self.connector.ddl.column_type(self.timestamps[0]))
        columns = tuple((c.name, self.connector.ddl.column_type(c)) for c in self.plan.key)
        return [*super().tables(), OwnTable(self.purge, (*columns, mark), (*self._key_names, MARK))]

    @override
    def image_names(self, added: Columns) -> dict[str, str]:
        mark = {MARK: self.names[0]} if self.names[0] in added else {}
        return {**super().image_names(added), **mark}

    @override
    def write_rights(self) -> list[WriteRight]:
        """Return DELETE, for `purge`."""
        return [WriteRight("purge", "to remove flagged rows, for purge", delete=True)] if self.purges else []

    # -- purge -------------------------------------------------------------------------------------------------------
    def note_flagged(self, window: Window, *, reported: bool = False) -> Statement:
        """List (key, timestamp) of the flagged rows of a window.

        Run this before the poll reads the window, which then sees them all.

        Args:
            reported: Only rows that are still in the replica: this poll reports them.
        """
        how = {"purge": self.purge, "reported": reported, **self._window(window)}
        return self._compiled("purge_note", self._bounds(window), **how)

    def forget_unflagged(self) -> Statement:
        """Remove rows from the list that are no longer flagged or no longer exist."""
        return self._compiled("purge_forget", {}, purge=self.purge)

    def listed(self) -> Statement:
        """Return the query for one row if any is listed."""
        return self._compiled("purge_any", {}, purge=self.purge)

    def purge_rows(self, readers: Sequence[ReadPosition]) -> Statement:
        """Remove listed rows that are still flagged and unchanged, and that all `readers` have read."""
        ahead, values = unread_by(self.connector, self.plan, readers)
        return self._compiled("purge_rows", values, purge=self.purge, ahead=ahead)

    def read_position(self, watermark: str) -> ReadPosition:
        """Return the stream's own read position in the table."""
        return ReadPosition(self.names, self.zone, watermark)

    def view(self) -> str:
        """Return a view that hides flagged rows from the application, for a DBA."""
        table, quote = self.plan.table, self.connector.quote
        name = f"{quote(table.schema)}.{quote(suffixed(table.name, '_live', self.connector.identifier_limit))}"
        live = self._compiled("live_rows").sql
        return f"CREATE OR REPLACE VIEW {name} AS\n{live}"

    @override
    def views(self) -> list[str]:
        """Return the statement of `view`."""
        return [self.view()]

    @override
    def _context(self) -> dict[str, Any]:
        return {**super()._context(), "mark": self.names[0], "mark_column": MARK}
