"""Statistics of a source about one table.

These are sizes, indexes, writes, and the planner's answer about a restriction.

They are read, never computed from rows. Each value may be missing, because the server does not keep it or the role may
not see it; then it is None.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field

from sqlalchemy.engine import Connection

from qbcd.connectors.facts import Index
from qbcd.model import Statement, Table


@dataclass(frozen=True)
class StorageLayout:
    """Storage of rows and index entries by the server.

    It gives the sizes of tables that do not exist yet.

    Attributes:
        page: Bytes of a page that hold no rows.
        row: Bytes of a row next to its values, with its pointer in the page.
        fill: Share of a page that a load fills.
        index_page: Bytes of an index page that hold no entries.
        entry: Bytes of an entry next to its values, with its pointer in the page.
        index_fill: Share of an index page that a load fills.
        align: A row takes a multiple of so many bytes.
        keyed: Rows are in the index of their primary key, so there is no other one.
    """

    page: int = 24
    row: int = 28
    fill: float = 1.0
    index_page: int = 40
    entry: int = 12
    index_fill: float = 0.9
    align: int = 8
    keyed: bool = False

    def pages(self, rows: float, width: float, page_bytes: int) -> float:
        """Return the pages of a table of `rows` rows with values of `width` bytes.

        No row spans two pages.
        """
        room = (page_bytes - self.page) * self.fill
        return rows / _per_page(room, self.align * math.ceil((self.row + width) / self.align))

    def index_pages(self, rows: float, width: float, page_bytes: int) -> float:
        """Return the pages of an index with values of `width` bytes."""
        room = (page_bytes - self.index_page) * self.index_fill
        return rows / _per_page(room, self.align * math.ceil((self.entry + width) / self.align))


def _per_page(room: float, size: float) -> float:
    """Return the number of rows that fit into a page; a row that is larger is stored in parts."""
    return float(room // size) if size <= room else room / size


@dataclass(frozen=True)
class TableStatistics:
    """Sizes and writes of a table.

    Attributes:
        pages: Pages that the table has now; None if only the statistics know.
        known_pages: Pages when the table was last analyzed; None if it never was.
        known_rows: Rows at that time; None if it never was.
        dead: Rows deleted or superseded whose room is not free yet.
        written: Rows inserted, updated and deleted since the server's counters began.
        inserted: Those inserted.
        clock: Seconds of the source's clock when the counters were read.
        counters_since: Seconds of that clock when the counters began.
        counted_rows: Rows by a count that the server keeps since then; None if it keeps none.
        highest_number: The last number of an AUTO_INCREMENT column, which is at least the number of rows inserted.
    """

    page_bytes: int
    pages: int | None = None
    known_pages: int | None = None
    known_rows: int | None = None
    dead: int | None = None
    written: int | None = None
    inserted: int | None = None
    clock: float = 0.0
    counters_since: float | None = None
    highest_number: int | None = None
    counted_rows: int | None = None


@dataclass(frozen=True)
class IndexSize:
    """An index with its size.

    Attributes:
        pages: Pages that it has; None if the server does not show them.
        is_table: The rows are in the index itself, as in the primary key of InnoDB.
    """

    index: Index
    pages: int | None = None
    is_table: bool = False


@dataclass(frozen=True)
class PlannedScan:
    """The planner's way to read the rows of a restriction.

    Attributes:
        rows: Rows that it expects.
        indexes: Names of the indexes that it uses; none if it reads whole tables.
        correlation: Correlation of the index's first column with the order of rows, -1 to 1; None if unknown.
        whole_share: Share of the table's pages in tables or partitions that are read whole.
    """

    rows: float
    indexes: tuple[str, ...] = ()
    correlation: float | None = None
    whole_share: float = 1.0


@dataclass(frozen=True)
class LogCapture:
    """The server's log as an alternative to polling.

    Attributes:
        ready: The log has what log capture needs; otherwise `how` says what is missing.
    """

    ready: bool
    how: str = field(default="")


class SupportsStatistics(ABC):
    """The source has statistics, which cost a few catalog queries.

    Attributes:
        layout: How it stores rows; by default as PostgreSQL does.
    """

    layout: StorageLayout = StorageLayout()

    @abstractmethod
    def table_statistics(self, conn: Connection, table: Table) -> TableStatistics:
        """Return sizes and writes of a table, with its partitions and children."""

    @abstractmethod
    def index_sizes(self, conn: Connection, table: Table) -> list[IndexSize]:
        """Return the usable indexes of a table, each with its size."""

    @abstractmethod
    def planned_scan(self, conn: Connection, table: Table, statement: Statement) -> PlannedScan:
        """Return the planner's way to read `statement`, a SELECT of whole rows of `table`.

        The statement is not run.
        """

    @abstractmethod
    def column_correlation(self, conn: Connection, table: Table, column: str) -> float | None:
        """Return the correlation of a column's order with that of the rows.

        It is from -1 to 1; None if unknown.
        """

    @abstractmethod
    def log_capture(self, conn: Connection) -> LogCapture:
        """Return whether the server's log could be read instead."""
