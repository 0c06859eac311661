"""TDI, time-stamp and delete flag with an index (Carnes & Hanson 3.2.2, figures 2 to 4).

The application flags a row instead of deleting it, so its time-stamp tells of the delete. What an event becomes is
decided from flag and replica (docs/paper.md#c7); a row that came and went between two polls gives none
(docs/paper.md#c6). `purge` removes flagged rows by key, flag and time-stamp once their batch is durable, never a row
that was revived (docs/paper.md#c8).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from qbcd.connectors.base import Connector
from qbcd.connectors.watermarks import SupportsDeleteFlags
from qbcd.model import Statement, StreamPlan
from qbcd.strategies.base import suffixed, table_name
from qbcd.strategies.in_source import OwnTable
from qbcd.strategies.read_position import ReadPosition, still_ahead
from qbcd.strategies.watermarked import Watermarked
from qbcd.watermark import Window

MARK = "qbcd_mark"


class Tdi(Watermarked):
    """Statements of TDI for one stream.

    Attributes:
        purges: Flagged rows are removed from the table after they were reported.
    """

    name = "tdi"
    sees = "every insert, update and flagged delete, with old and new values, as the net change between two polls"
    misses = (
        "states between two polls; rows that are written without moving their time-stamp, or deleted without the flag"
    )

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan, schema)
        self.flag = str(plan.option("delete_flag"))
        self.purges = bool(plan.option("purge"))
        self.purge = (schema, table_name("purge", plan.stream))
        self.needs = (
            "SELECT on the table with a time-stamp and a delete flag that every writer sets, and an index on the "
            "time-stamp; a sight of all sessions; a schema of qbcd's own in the source, with room for a copy of the "
            "captured rows" + ("; DELETE on the table" if self.purges else "")
        )

    def check(self, place: Callable[[str], str] | None = None) -> None:
        """The flag exists, and its type can say deleted.

        Raises:
            ConfigError: It cannot.
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
        if self.purges and not self.system and self.marks and self.kind == "counter":
            raise self._wrong(
                "purge",
                place,
                "a purge goes by the time of a row, and its time-stamp is a counter",
                "remove `purge`, or name a time-stamp column",
            )
        if self.system or len(self.marks) != 1:
            raise self._wrong("timestamp", place, "a delete flag goes with one time-stamp column", "name one column")

    def tables(self) -> list[OwnTable]:
        """The purge list beside replica and outbox, there also while nothing is purged: the user may begin to."""
        mark = (MARK, self.connector.ddl.column_type(self.marks[0]))
        columns = tuple((c.name, self.connector.ddl.column_type(c)) for c in self.plan.key)
        return [*super().tables(), OwnTable(self.purge, (*columns, mark), (*self._key_names, MARK))]

    # -- purge -------------------------------------------------------------------------------------------------------
    def note_flagged(self, window: Window, *, told: bool = False) -> Statement:
        """Lists (key, time-stamp) of the flagged rows of a window; run before the look, which then sees them all.

        Args:
            told: Only of those that are still in the replica: they are about to be told.
        """
        how = {"purge": self.purge, "told": told, **self._window(window)}
        return self._compiled("purge_note", self._bounds(window), **how)

    def forget_unflagged(self) -> Statement:
        """Takes rows that are not flagged any more, or gone, off the list."""
        return self._compiled("purge_forget", {}, purge=self.purge)

    def listed(self) -> Statement:
        """A row, where any is listed."""
        return self._compiled("purge_any", {}, purge=self.purge)

    def purge_rows(self, passed: Sequence[ReadPosition]) -> Statement:
        """Removes listed rows that are as they were seen, flagged and not touched, and that all `passed` have read."""
        ahead, values = still_ahead(self.connector, self.plan, passed)
        return self._compiled("purge_rows", values, purge=self.purge, ahead=ahead)

    def passed(self, at: str) -> ReadPosition:
        """The stream's own reading."""
        return ReadPosition(self.names, self.zone, at)

    def view(self) -> str:
        """A view that hides flagged rows from the application, for a DBA."""
        table, quote = self.plan.table, self.connector.quote
        name = f"{quote(table.schema)}.{quote(suffixed(table.name, '_live', self.connector.identifier_limit))}"
        live = self._compiled("live_rows").sql
        return f"CREATE OR REPLACE VIEW {name} AS\n{live}"

    def _context(self) -> dict[str, Any]:
        return {**super()._context(), "mark": self.names[0], "mark_column": MARK}
