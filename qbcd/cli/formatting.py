"""Text for people: costs and sizes, and the words of `qbcd.common.wording`."""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.common.wording import age as age
from qbcd.common.wording import counted as counted
from qbcd.common.wording import events as events
from qbcd.model import Cost


def size(number: int) -> str:
    """Return a number of bytes as ``17 B``, ``4.2 kB`` or ``1.3 MB``."""
    if number < 1000:
        return f"{number} B"
    value = float(number)
    for unit in ("kB", "MB", "GB"):
        value /= 1000
        if value < 999.95 or unit == "GB":
            break
    return f"{value:,.1f} {unit}"


def duration(seconds: float) -> str:
    """Return ``0.02 s`` or ``12.3 s``."""
    return f"{seconds:.2f} s" if seconds < 10 else f"{seconds:.1f} s"


def cost(spent: Cost) -> str:
    """Return the cost of a poll on one line."""
    return " · ".join(costs(spent))


def packed(parts: Sequence[str], width: int) -> list[str]:
    """Return lines of at most `width`, each with as many parts as fit, separated by `` · ``."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(part) + 3 <= width:
            lines[-1] += f" · {part}"
        else:
            lines.append(part)
    return lines


def costs(spent: Cost) -> list[str]:
    """Return the parts of a poll's cost; no part should be broken over two lines."""
    shipped = "shipped nothing"
    if spent.rows_shipped:
        shipped = f"shipped {counted(spent.rows_shipped, 'row')}"
        shipped += f" ({size(spent.bytes_shipped)})" if spent.bytes_shipped else ""
    parts = [f"scanned {counted(spent.rows_scanned, 'row')}", shipped]
    if spent.ranges:
        verb = "differs" if 1 in (spent.dirty, spent.ranges) else "differ"
        parts.append(f"{spent.dirty:,} of {counted(spent.ranges, 'range')} {verb}")
    return [*parts, duration(spent.seconds), _engine(spent)]


def _engine(spent: Cost) -> str:
    if not spent.spark:
        return "without Spark"
    return f"with Spark ({spent.why_spark})" if spent.why_spark else "with Spark"
