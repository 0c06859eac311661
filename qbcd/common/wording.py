"""Parts of messages: numbers with nouns, event counts, batch numbers, ages, times of day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timezone

_OPS = {"r": "baseline row", "c": "insert", "u": "update", "d": "delete"}
_AGES = ((86_400, "d"), (3_600, "h"), (60, "min"))


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return number and noun: ``1 row``, ``2,000 rows``."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def events(counts: Mapping[str, int]) -> str:
    """Return ``3 inserts, 10 updates, 1 delete``, or ``no change`` for none."""
    return ", ".join(counted(counts[op], word) for op, word in _OPS.items() if counts.get(op)) or "no change"


def age(seconds: float) -> str:
    """Return ``12 s``, ``3 min``, ``5 h`` or ``2 d``, in whole units."""
    for length, unit in _AGES:
        if seconds >= length:
            return f"{int(seconds // length)} {unit}"
    return f"{max(0, int(seconds))} s"


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
