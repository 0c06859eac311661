"""Watermarks: how far a column that grows over the whole table was read, and how far it may be read now.

A watermark is text of the source: an instant in UTC, the value of a counter, or a version that the server gives its
rows. Python only shifts instants of the source's own clock; it reads no clock (docs/design/protocol.md#rule-6 and
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
    """The window that a poll reads: of a clock ``[lo, hi)``, of a counter ``(lo, hi]``, of versions all since `lo`.

    Attributes:
        lo: None where nothing was read before.
    """

    lo: str | None
    hi: str

    @property
    def empty(self) -> bool:
        """Nothing lies in it."""
        return self.lo == self.hi


def safe_high_watermark(look: HighWater, margin: timedelta, lag: timedelta | None) -> str:
    """Return the safe high watermark: `margin` behind the oldest open transaction, and behind the clock or `lag`.

    Args:
        look: At the source's clock, then its open transactions.
        margin: For what the look does not see of a clock's coarseness.
        lag: What the user vouches that no transaction outlasts; None where the look sees all.
    """
    clock = datetime.fromisoformat(look.clock)
    bounds = [clock - max(margin, lag or timedelta(0))]
    if look.oldest is not None:
        bounds.append(datetime.fromisoformat(look.oldest) - margin)
    return text(min(bounds))


def text(moment: datetime) -> str:
    """An instant with all its digits, so that texts order as instants do."""
    return moment.isoformat(sep=" ", timespec="microseconds")


def seconds(mark: str) -> float | None:
    """Seconds since 1970 UTC of an instant; None of a counter or a version."""
    return datetime.fromisoformat(mark).replace(tzinfo=timezone.utc).timestamp() if _INSTANT.fullmatch(mark) else None


def later(one: str | None, other: str) -> str:
    """The later of two instants: a watermark never goes back."""
    return other if one is None else max(one, other)


def shifted(mark: str, by: timedelta) -> str:
    """An instant so much later."""
    return text(datetime.fromisoformat(mark) + by)


def seen_as(mark: str, *, unit: timedelta, zone: str | None) -> str:
    """The instant `mark` as a column has it: in the column's own zone, down to its precision.

    A value that was rounded to the next unit lies beyond; one that was cut lies not before: none falls between windows.
    """
    moment = datetime.fromisoformat(mark) + offset(zone)
    step = unit or timedelta(microseconds=1)
    return text(moment - (moment - EPOCH) % step)


def offset(zone: str | None) -> timedelta:
    """Return what a zone of fixed offset adds to UTC."""
    match = _OFFSET.fullmatch(zone or "")
    if not match:
        return timedelta(0)
    length = timedelta(hours=int(match[2]), minutes=int(match[3]))
    return -length if match[1] == "-" else length
