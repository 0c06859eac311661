"""Arithmetic of watermarks and windows of a column that grows over the whole table.

A watermark is the source's own text: an instant in UTC, the value of a counter, or a version that the server gives its
rows. Python only shifts instants of the source's clock and never reads a clock (docs/design/protocol.md#rule-6 and
#rule-7).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone

from qbcd.connectors.base import HighWater

_OFFSET = re.compile(r"([+-])(\d\d):(\d\d)")
EPOCH = datetime(1, 1, 1)
_INSTANT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d\.\d{6}")


@dataclass(frozen=True)
class Window:
    """The window of a poll: ``[lo, hi)`` of a clock, ``(lo, hi]`` of a counter.

    For versions it is all rows since `lo`.

    Attributes:
        lo: The watermark; None if nothing was read before.
        hi: The safe high watermark.
    """

    lo: str | None
    hi: str

    @property
    def empty(self) -> bool:
        """True if no row can be in it."""
        return self.lo == self.hi


def safe_high_watermark(now: HighWater, margin: timedelta, lag: timedelta | None) -> str:
    """Return the safe high watermark: before the oldest open transaction and before the clock.

    It is at least `margin` before both, and at least `lag` before the clock.

    Args:
        now: The source's clock, and then its open transactions.
        margin: Safety margin for the resolution of the writers' clock.
        lag: The longest transaction, by the user's promise; None if all transactions are visible.
    """
    clock = datetime.fromisoformat(now.clock)
    bounds = [clock - max(margin, lag or timedelta(0))]
    if now.oldest is not None:
        bounds.append(datetime.fromisoformat(now.oldest) - margin)
    return text(min(bounds))


def text(moment: datetime) -> str:
    """Return the text of an instant with all digits, so that texts have the order of instants."""
    return moment.isoformat(sep=" ", timespec="microseconds")


def seconds(watermark: str) -> float | None:
    """Return the seconds since 1970 UTC of an instant; None for a counter or a version."""
    if not _INSTANT.fullmatch(watermark):
        return None
    return datetime.fromisoformat(watermark).replace(tzinfo=timezone.utc).timestamp()


def later(one: str | None, other: str) -> str:
    """Return the later of two instants, since a watermark never goes back."""
    return other if one is None else max(one, other)


def shifted(instant: str, by: timedelta) -> str:
    """Return the instant that is `by` later."""
    return text(datetime.fromisoformat(instant) + by)


def seen_as(instant: str, *, unit: timedelta, zone: str | None) -> str:
    """Return an instant as a column's value: in the column's own zone, rounded down to its unit.

    A value of that instant that the column rounded up is above the result, and one that it cut is not below it. So no
    value falls between two windows.

    Args:
        instant: The instant in UTC.
        unit: The column's precision.
        zone: The column's zone, a fixed offset; None for UTC.
    """
    moment = datetime.fromisoformat(instant) + offset(zone)
    step = unit or timedelta(microseconds=1)
    return text(moment - (moment - EPOCH) % step)


def offset(zone: str | None) -> timedelta:
    """Return the difference of a zone with a fixed offset to UTC."""
    match = _OFFSET.fullmatch(zone or "")
    if not match:
        return timedelta(0)
    length = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return -length if match[1] == "-" else length
