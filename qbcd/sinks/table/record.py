"""A sink's own record of what its table has: which batch may be applied next.

The record changes in the transaction that applies a batch. It accepts only the next number, so that no batch is applied
twice and none is passed over, whoever writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qbcd.errors import DeliveryGap, SinkConflict
from qbcd.model import BatchHeader, ResentRows

Verdict = Literal["done", "next", "replace"]


@dataclass(frozen=True)
class TableOwner:
    """The writer of a target table: one sink of one stream of one project."""

    project: str
    stream: str
    sink: str


@dataclass(frozen=True)
class TableRecord:
    """The last batch that a target table has.

    Attributes:
        boundary: Of a history: the instant at which the batch's versions begin, in milliseconds since 1970 UTC.
    """

    epoch: int
    seq: int
    fingerprint: str
    boundary: int = 0


def verdict(found: TableRecord | None, header: BatchHeader, sink: str) -> Verdict:
    """Return the relation of a batch to a table: in it already, next, or first of a new state.

    Rows of a replica are the state after the batch with their number: they replace the rows of that batch or of an
    earlier one, but never those of a later one.

    Raises:
        SinkConflict: The table has another batch with this number, or a later one.
        DeliveryGap: Batches between the table's last one and this one are missing.
    """
    if found is None or header.epoch > found.epoch:
        return "replace"
    resent: Verdict | None = None
    if isinstance(header, ResentRows):
        resent = "replace" if header.is_whole_state else "next"
    if resent and (header.epoch, header.seq) == (found.epoch, found.seq):
        return "done" if header.fingerprint == found.fingerprint else resent
    last = f"{found.epoch}/{found.seq}"
    if header.epoch < found.epoch or header.seq < found.seq:
        raise _conflict(f"the table has batch {last} already, which is later than {header.number}", header)
    if header.seq == found.seq:
        if header.fingerprint == found.fingerprint:
            return "done"
        raise _conflict(f"the table has another batch {header.number}", header)
    if resent:
        return resent
    if header.seq > found.seq + 1:
        raise DeliveryGap(
            f"the table has batch {last}, and batch {header.number} is not the next one",
            remedy=f"the batches between were skipped or lost: qbcd resend {header.stream} {sink} sends the rows of the "
            f"replica; without a replica, qbcd reset {header.stream} --discard and prepare it again",
            stream=header.stream,
        )
    return "next"


def next_boundary(found: TableRecord | None, header: BatchHeader) -> int:
    """Return the instant at which a batch's versions begin.

    It is later than that of every batch before.
    """
    return header.ts_ms if found is None else max(header.ts_ms, found.boundary + 1)


def _conflict(what: str, header: BatchHeader) -> SinkConflict:
    return SinkConflict(
        f"{what}: the stream's state was restored from an older copy, or a second project writes here",
        remedy=f"restore the newer state; or qbcd reset {header.stream} --discard and prepare it again, which replaces "
        "the table's rows",
        stream=header.stream,
    )
