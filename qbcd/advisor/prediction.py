"""Predicted cost of a poll: pages read, rows shipped, statements, transactions, room, time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from qbcd.advisor.facts import Facts
from qbcd.strategies import TableStrategy
from qbcd.strategies.amounts import Amount
from qbcd.strategies.reads import ASSUMED_SPEED, UNCHANGED, width_of

EVENT_BYTES = 24  # of an event, next to its values
RANGE_BYTES = 140  # of a checksum on its way, with its range


@dataclass(frozen=True)
class Prediction:
    """The predicted cost of one poll.

    Attributes:
        formula: The formula of `pages`, in the paper's symbols.
        quiet: Pages if nothing changed.
        longest: Pages that the longest transaction reads.
        source_room, workdir_room: Bytes of the replica.
        seconds: Time at the source, by the stream's own measured speed; None if nothing was measured.
        longest_seconds: Time of the longest transaction, by that speed or an assumed one.
    """

    formula: str
    pages: Amount
    quiet: Amount
    symbols: tuple[tuple[str, Amount], ...]
    rows_shipped: Amount
    bytes_shipped: Amount
    statements: int
    longest: Amount
    source_room: Amount
    workdir_room: Amount
    longest_seconds: Amount
    seconds: Amount | None = None

    def data(self) -> dict[str, Any]:
        """Return the prediction as JSON-ready data."""
        return {
            "formula": self.formula,
            "symbols": {name: value.data for name, value in self.symbols},
            "pages": self.pages.data,
            "pages_without_changes": self.quiet.data,
            "rows_shipped": self.rows_shipped.data,
            "bytes_shipped": self.bytes_shipped.data,
            "statements": self.statements,
            "longest_transaction_pages": self.longest.data,
            "longest_transaction_seconds": self.longest_seconds.data,
            "source_bytes": self.source_room.data,
            "workdir_bytes": self.workdir_room.data,
            "seconds": None if self.seconds is None else self.seconds.data,
        }


def predict(strategy: TableStrategy, facts: Facts, speed: float | None = None) -> Prediction:
    """Return the cost of a poll of `strategy`.

    Args:
        strategy: The strategy, with the stream's plan under it.
        speed: Pages a second that the stream's own polls have read; None if nothing was measured.
    """
    reads = strategy.reads(facts)
    pages, changed = reads.pages(facts.change), facts.restricted_rows * facts.change.delta
    return Prediction(
        formula=reads.formula,
        pages=pages,
        quiet=reads.pages(UNCHANGED),
        symbols=reads.symbols,
        rows_shipped=changed,
        bytes_shipped=_bytes(strategy, changed, reads.checksums),
        statements=strategy.statements[0 if strategy.connector.full_join else 1],
        longest=reads.longest,
        source_room=reads.source_room * facts.page_bytes,
        workdir_room=reads.workdir_room * facts.page_bytes,
        longest_seconds=reads.longest * (1 / (speed or ASSUMED_SPEED)),
        seconds=pages * (1 / speed) if speed else None,
    )


def _bytes(strategy: TableStrategy, changed: Amount, checksums: Amount | None) -> Amount:
    """Return the bytes that leave the source in a poll: events, or changed rows and checksums."""
    width = width_of(strategy.plan.captured, strategy.plan.table)
    width = width if width.known else Amount.of(float(strategy.plan.table.row_width or 200))
    if checksums is None:
        return changed * (width * 2 + EVENT_BYTES)
    return changed * (width + EVENT_BYTES) + checksums * RANGE_BYTES
