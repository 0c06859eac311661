"""Choose the method for the next files of a feed, from the last comparison.

It is a full join or a method of the paper.

Both sides have whole rows in files, each key occurs once, and a local database can join them. Labio & Garcia-Molina
1995, section 4.8, keep the rates of changes, the divergence, the width of a row and the duplicates of each run.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from qbcd.snapshots.base import LEAST_MEMORY, ComparisonReport
from qbcd.snapshots.formulas import Sizes, costs, hybrid
from qbcd.snapshots.planner import MethodChoice
from qbcd.snapshots.window import capacity

JOIN = "join"
UNKNOWN = -1
_MEASURE_AGAIN = 10  # comparisons after which a window measures again how far rows have moved
_JOIN_BYTES = 2  # bytes that a join holds for each byte of both sides: the rows, its hash table and the result
_BLOCK = 16_384
_SHOWN = ("window", "hh", "ph", "sm")  # methods of the feed whose blocks are shown


@dataclass(frozen=True)
class LastComparison:
    """Figures of the last comparison of a feed, kept for the choice of the next method.

    Attributes:
        method: The method that ran to the end; empty before the first comparison.
        rows: Rows of the new side.
        width: Bytes of a row in memory.
        inserts, updates, deletes: Shares of the old rows.
        duplicates: Share of the old rows whose key occurs several times.
        waiting: Rows that waited for a partner in a window, which shows how far rows move; -1: none has measured it.
        measured: Comparisons since then.
    """

    method: str = ""
    rows: int = 0
    width: float = 0.0
    inserts: float = 0.0
    updates: float = 0.0
    deletes: float = 0.0
    duplicates: float = 0.0
    waiting: int = UNKNOWN
    measured: int = 0

    def as_entry(self) -> dict[str, Any]:
        """Return the JSON-ready form."""
        return asdict(self)

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any] | None) -> LastComparison:
        """Return what was kept; entries that this version does not know are ignored."""
        known = {field.name for field in fields(cls)}
        return cls(**{name: value for name, value in (entry or {}).items() if name in known})

    def after(self, sides: Sides, counts: Mapping[str, int], report: ComparisonReport | None) -> LastComparison:
        """Return the figures after a further comparison.

        Args:
            sides: What was compared.
            counts: Number of events by op.
            report: The figures of a method; None after a join, which does not see how far rows move.
        """
        old = max(1, sides.old_rows)
        seen = report.waiting if report is not None else UNKNOWN
        waiting, measured = (seen, 0) if seen != UNKNOWN else (self.waiting, self.measured + 1)
        if measured >= _MEASURE_AGAIN:
            waiting, measured = UNKNOWN, 0
        return LastComparison(
            method=report.method if report is not None else JOIN,
            rows=sides.new_rows,
            width=round(sides.width, 1),
            inserts=round(counts.get("c", 0) / old, 6),
            updates=round(counts.get("u", 0) / old, 6),
            deletes=round(counts.get("d", 0) / old, 6),
            duplicates=round(report.duplicates / old, 6) if report is not None else 0.0,
            waiting=waiting,
            measured=measured,
        )


@dataclass(frozen=True)
class Sides:
    """Sizes of both sides: rows, and the bytes of a row in memory."""

    old_rows: int
    new_rows: int
    width: float

    @property
    def bytes(self) -> float:
        """Bytes of all rows in memory."""
        return (self.old_rows + self.new_rows) * self.width


def memory_of_join(method: str, memory: int) -> int:
    """Return the part of the budget for the local database.

    It is all of it where no method of the paper can run.
    """
    return memory if method == JOIN or memory < 2 * LEAST_MEMORY else memory // 2


def parts_of_join(sides: Sides, memory: int) -> int:
    """Return the number of joins, each of a part of the keys.

    Each fits into the local database's memory.
    """
    return max(1, math.ceil(_JOIN_BYTES * sides.bytes / memory))


def choose_for_rows(sides: Sides, last: LastComparison, memory: int) -> MethodChoice:
    """Return the method for two sides of whole rows.

    Args:
        sides: Both sides, as far as known.
        memory: The whole budget; the local database has half of it, a method the other half.
    """
    half = memory // 2
    blocks = _blocks(sides, half)
    total, room = (f"{number / (1 << 20):,.0f} MB" for number in (sides.bytes, half))
    if half < LEAST_MEMORY:
        least = 2 * LEAST_MEMORY >> 20
        return MethodChoice(JOIN, f"the other methods need {least}MB of memory", blocks)
    if _JOIN_BYTES * sides.bytes <= half:
        return MethodChoice(JOIN, f"both sides fit into memory: {total}, and {room} for the join", blocks)
    large = f"both sides, {total}, do not fit into memory"
    if last.duplicates:
        return MethodChoice("ph", f"{large}, and keys occurred several times", blocks)
    if last.waiting == UNKNOWN:
        return MethodChoice("window", f"{large}; each is read once, and rows that moved far are spilled", blocks)
    fits = capacity(half, 2 * sides.width)
    moved = f"at most {last.waiting:,} rows waited in a window last time; it has room for {fits:,}"
    return MethodChoice("window" if last.waiting <= fits else "hh", f"{large}; {moved}", blocks)


def _blocks(sides: Sides, memory: int) -> dict[str, float]:
    full = max(1.0, sides.bytes / 2 / _BLOCK)
    found = costs(Sizes(full, 1.0, 1.0, 0.0, memory / _BLOCK))
    if full > 4:
        found["hh"] = min(found["ph"], hybrid(full, max(4.0, memory / 18 / _BLOCK)).restarted)
    return {name: found[name] for name in _SHOWN if name in found}
