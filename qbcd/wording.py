"""Words that messages share: a number with its noun, the number of a batch, a time of day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone


def counted(number: int, noun: str, plural: str = "") -> str:
    """``1 row``, ``2,000 rows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def batch_number(epoch: int, seq: int) -> str:
    """``1795706452/17``: the one spelling of a batch, with its epoch, since numbers alone are of no stream."""
    return f"{epoch}/{seq}"


def batch_numbers(epoch: int, seqs: Sequence[int]) -> str:
    """``batch 1795706452/3 is``, or ``batches 1795706452/3 to 1795706452/5 are``, of which something is then said."""
    first = batch_number(epoch, seqs[0])
    return f"batch {first} is" if len(seqs) == 1 else f"batches {first} to {batch_number(epoch, seqs[-1])} are"


def clock_time(seconds: float) -> str:
    """``14:05Z``: the time of day of an instant, in UTC."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%H:%MZ")
