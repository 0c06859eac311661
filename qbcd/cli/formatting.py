"""Numbers as text for people: events, costs, ages and sizes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from qbcd.model import Cost
from qbcd.wording import counted as counted

_OPS = {"r": "baseline row", "c": "insert", "u": "update", "d": "delete"}
_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))


def events(counts: Mapping[str, int]) -> str:
    """``3 inserts, 10 updates, 1 delete``; ``no change`` for none."""
    return ", ".join(counted(counts[op], word) for op, word in _OPS.items() if counts.get(op)) or "no change"


def size(number: int) -> str:
    """A number of bytes: ``17 B``, ``4.2 kB``, ``1.3 MB``."""
    if number < 1000:
        return f"{number} B"
    value = float(number)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.95 or unit == "GB":
            break
    return f"{value:,.1f} {unit}"


def age(seconds: float) -> str:
    """``12 s``, ``3 min``, ``5 h``, ``2 d``; whole units."""
    for length, unit in _AGES:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"


def duration(seconds: float) -> str:
    """``0.02 s``, ``12.3 s``."""
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"


def cost(spent: Cost) -> str:
    """The cost of a poll, on one line."""
    return " · ".join(costs(spent))


def packed(parts: Sequence[str], width: int) -> list[str]:
    """Put as many parts on a line as fit, with `` · `` between them."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


def costs(spent: Cost) -> list[str]:
    """The parts of a poll's cost, of which none should be broken over two lines."""
    shipped = "shipped nothing"
    if spent.rows_shipped:
        shipped = f"shipped {counted(spent.rows_shipped, 'row')}"
        shipped += f" ({size(spent.bytes_shipped)})" if spent.bytes_shipped else ""
    parts = [f"scanned {counted(spent.rows_scanned, 'row')}", shipped]
    if spent.ranges:
        verb = "differs" if 1 in (spent.dirty, spent.ranges) else "differ"
        parts.append(f"{spent.dirty:,} of {counted(spent.ranges, 'range')} {verb}")
    return [*parts, duration(spent.seconds), "with Spark" if spent.spark else "without Spark"]
