"""Parts of messages: a number with its noun, the number of a batch, a time of day."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timezone


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return number and noun: ``1 row``, ``2,000 rows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def batch_number(epoch: int, seq: int) -> str:
    """Return ``1795706452/17``, the spelling of a batch in all messages: epoch and number."""
    return f"{epoch}/{seq}"


def batch_numbers(epoch: int, seqs: Sequence[int]) -> str:
    """Return ``batch 1795706452/3 is`` or ``batches 1795706452/3 to 1795706452/5 are``.

    It is the beginning of a sentence about these batches.
    """
    first = batch_number(epoch, seqs[0])
    return f"batch {first} is" if len(seqs) == 1 else f"batches {first} to {batch_number(epoch, seqs[-1])} are"


def clock_time(seconds: float) -> str:
    """Return the time of day of an instant, in UTC: ``14:05Z``."""
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%H:%MZ")
