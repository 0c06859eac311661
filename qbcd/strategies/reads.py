"""The pages that a poll reads.

They follow from facts about a table, and the formula of a strategy with their values.

Each strategy has its formula (:meth:`~qbcd.strategies.base.TableStrategy.reads`). It is the paper's
(`qbcd.strategies.costs`) with the sizes of this table. Where qbcd reads more than the paper, the formula says so
(docs/internals/costs.md).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from qbcd.connectors.facts import Index
from qbcd.connectors.statistics import IndexSize, StorageLayout
from qbcd.model import Column, Table
from qbcd.strategies import costs
from qbcd.strategies.amounts import NONE, UNKNOWN, Amount, lifted

ASSUMED_SPEED = 2_000  # pages a second of a scan with digests, if nothing was measured; a busy server may be slower
OWN_PAGES = 15  # of a poll in outbox and guards, as EXPLAIN (BUFFERS) of a poll without changes counts them
WIDTHS = {
    "boolean": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "uint64": 8,
    "float32": 4,
    "float64": 8,
    "date": 4,
    "time": 8,
    "timestamp": 8,
    "timestamptz": 8,
}
Origin = Literal["history", "writes", "watch", "assumed"]
Symbols = tuple[tuple[str, Amount], ...]


@dataclass(frozen=True)
class ChangeRate:
    """The changes between two polls.

    Attributes:
        delta: Share of the rows that change.
        clustered: Share of them that are next to each other, 0 to 1.
        origin: The source of `delta`: the stream's history, the server's counters, two readings of them, or nothing.
        per_hour: Rows written in an hour, of counters.
    """

    delta: Amount
    clustered: Amount
    origin: Origin = "assumed"
    per_hour: Amount = UNKNOWN


UNCHANGED = ChangeRate(NONE, Amount.of(1.0))


@dataclass(frozen=True)
class TableFacts:
    """Sizes and changes of a table, in the paper's symbols.

    Attributes:
        pages: N, the pages of the table or of all tables of a query.
        rows: Rows of the table, or of the tables of a query.
        share: R, the share of the rows in the restriction.
        scan: Pages read to find them, with those of the index that serves.
        tables: Number of tables that a poll reads: 1, or those of a query.
        every: Seconds between two polls.
        layout: How the server stores rows.
    """

    page_bytes: int
    pages: Amount
    rows: Amount
    share: Amount
    scan: Amount
    change: ChangeRate
    indexes: tuple[IndexSize, ...] = ()
    tables: int = 1
    every: float = 30.0
    layout: StorageLayout = field(default_factory=StorageLayout)

    @property
    def restricted_rows(self) -> Amount:
        """The rows in the restriction."""
        return self.rows * self.share

    @property
    def plain_indexes(self) -> Sequence[Index]:
        """The indexes without their sizes."""
        return [one.index for one in self.indexes]

    def index_pages(self, leading: Sequence[str], others: Sequence[str] = ()) -> Amount:
        """Return the pages of the smallest index with some leading columns.

        The index has `others` too; NONE if there is no such index.
        """
        found = []
        for one in self.indexes:
            held = {*one.index.columns, *one.index.included}
            starts = one.index.columns[: len(leading)] == tuple(leading)
            if one.index.ordered and not one.index.partial and starts and held.issuperset(others):
                found.append(Amount.of(one.pages) if one.pages else self.pages * Amount(0.05, 0.5))
        return min(found, key=lambda one: one.high, default=NONE)

    def key_pages(self, key: Sequence[Column]) -> Amount:
        """Return the pages of an index that is read in addition to the table, in the order of `key`."""
        names = tuple(column.name for column in key)
        table = any(one.is_table and one.index.columns[: len(names)] == names for one in self.indexes)
        return NONE if table else self.index_pages(names)

    def stored(self, width: Amount, share: Amount | float = 1.0) -> Amount:
        """Return the pages of a copy of a share of the rows, of `width` bytes each."""
        layout = self.layout
        return lifted(lambda r, s, w: max(1.0, layout.pages(r * s, w, self.page_bytes)), self.rows, share, width)

    def key_index(self, key: Sequence[Column], table: Table) -> Amount:
        """Return the pages of a replica's index on its key; NONE if its rows are in that index."""
        layout = self.layout
        if layout.keyed:
            return NONE
        return lifted(
            lambda r, s, w: max(1.0, layout.index_pages(r * s, w, self.page_bytes)),
            self.rows,
            self.share,
            width_of(key, table),
        )

    def copied(self, columns: Sequence[Column], table: Table, extra: int = 0) -> Amount:
        """Return M or W, R*N*width: the pages of a replica of some columns, and `extra` bytes a row."""
        width, table_width = width_of(columns, table) + extra, table.row_width
        if self.rows.known and width.known:
            return self.stored(width, self.share)
        ratio = lifted(lambda w: min(1.0, w / table_width), width) if table_width and width.known else Amount(0.0, 1.0)
        return lifted(lambda n, s, q: max(1.0, n * s * q), self.pages, self.share, ratio)

    def changed(self, pages: Amount, change: ChangeRate) -> Amount:
        """Return the pages of a relation of `pages` pages that have the changed rows."""
        if not pages.high:
            return NONE
        if not (pages.known and self.rows.known):
            return pages * Amount(0.0, 1.0)
        low = costs.touched(self.rows.low, pages.low, min(1.0, change.delta.low), change.clustered.high)
        high = costs.touched(self.rows.high, pages.high, min(1.0, change.delta.high), change.clustered.low)
        return Amount.between(low, max(low, high))


def width_of(columns: Sequence[Column], table: Table) -> Amount:
    """Return the bytes of a row of some columns of a table.

    They come from the server's statistics or from types, and may be unknown.
    """
    widths = [column.width or WIDTHS.get(column.travel.kind, 0) for column in columns]
    if not all(widths) and table.row_width and len(columns) >= len(table.columns):
        return Amount.of(float(table.row_width))
    return Amount.of(float(sum(widths))) if all(widths) else Amount(float(sum(widths)), UNKNOWN.high)


@dataclass(frozen=True)
class Term:
    """A term of a formula.

    Attributes:
        text: The term, in the formula.
        pages: The pages of it that each poll reads.
        changing: The pages of relations of which a poll reads those with changed rows.
    """

    text: str
    symbols: Symbols
    pages: Amount = NONE
    changing: tuple[Amount, ...] = ()


@dataclass(frozen=True)
class Reads:
    """The reads of a poll at the source, and the room of the replica.

    Attributes:
        formula: The formula of `pages`, in the paper's symbols.
        pages: Returns the pages for changes between two polls.
        longest: Pages that the longest transaction reads.
        source_room, workdir_room: Pages of the replica.
        checksums: Ranges whose checksums leave the source at each poll; None if no checksums do.
    """

    formula: str
    symbols: Symbols
    pages: Callable[[ChangeRate], Amount]
    longest: Amount
    source_room: Amount = NONE
    workdir_room: Amount = NONE
    checksums: Amount | None = None


def scanned(facts: TableFacts, *, query: bool = False, restricted: bool = False) -> Term:
    """Return the scan: N, R*N or B.

    N is that of the table, R*N that of its restricted rows, B that of the tables of a query.
    """
    text = "B" if query else "R*N" if restricted else "N"
    symbols: Symbols = (("B" if query else "N", facts.pages),)
    if restricted:
        symbols += (("R", facts.share * 100), ("R*N", facts.scan))
    return Term(text, symbols, facts.scan)


def added_up(facts: TableFacts, terms: Sequence[Term], *, times: int = 1) -> Reads:
    """Return the sum of terms, read `times` times in one transaction.

    Changed rows are read once.
    """
    formula, once = " + ".join(term.text for term in terms), sum((term.pages for term in terms), NONE) * times
    changing = [pages for term in terms for pages in term.changing]

    def pages(change: ChangeRate) -> Amount:
        return sum((facts.changed(relation, change) for relation in changing), once)

    symbols = tuple(symbol for term in terms for symbol in term.symbols)
    return Reads(formula if times == 1 else f"{times} ({formula})", symbols, pages, once)
