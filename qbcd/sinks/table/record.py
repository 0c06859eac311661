"""A sink's own record of what its table has: which batch may be applied next.

The record changes in the transaction that applies a batch. It accepts only the next number, so that no batch is applied
twice and none is passed over, whoever writes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from qbcd.common.wording import batch_number
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
    """The last batch that a target table has; or a claim, made before there was one.

    Attributes:
        seq: Of a claim: the number after which the first batch comes.
        fingerprint: Empty in a claim.
        boundary: Of a history: the instant at which the batch's versions begin, in milliseconds since 1970 UTC.
    """

    epoch: int
    seq: int
    fingerprint: str
    boundary: int = 0

    @property
    def is_claim(self) -> bool:
        """No batch was applied yet."""
        return not self.fingerprint


def last_batch(found: TableRecord | None) -> TableRecord | None:
    """Return a record of a batch; None for a claim."""
    return None if found is None or found.is_claim else found


def verdict(
    found: TableRecord | None, header: BatchHeader, sink: str, *, of_rows: bool = False, from_empty: bool = False
) -> Verdict:
    """Return the relation of a batch to a table: in it already, next, or first of a new state.

    Rows of a replica are the state after the batch with their number: they replace the rows of that batch or of an
    earlier one, but never those of a later one.

    Args:
        of_rows: The table has the rows of the source, so that only a batch with all of them can be the first.
        from_empty: The source had no rows before the first batch, as the user says.

    Raises:
        SinkConflict: The table has another batch with this number, or a later one.
        DeliveryGap: Batches between the table's last one and this one are missing.
    """
    if found is None or found.is_claim or header.epoch > found.epoch:
        if of_rows and not _has_all_rows(found, header, from_empty=from_empty):
            raise _unbegun(found, header, sink)
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
        raise _gap(f"the table has batch {last}, and batch {header.number} is not the next one", header, sink)
    return "next"


def _has_all_rows(found: TableRecord | None, header: BatchHeader, *, from_empty: bool) -> bool:
    """Return True if a batch has all rows of the source.

    It is a resend, a baseline, or the batch after an empty baseline. A baseline can be empty because the source was, or
    because all of its events wait for a row of a lookup. Without old values an update can be a new row.
    """
    ops = {op for op, count in header.counts.items() if count}
    if header.is_whole_state or (ops == {"r"} and header.waited is None):
        return True
    if "d" in ops or ("u" in ops and header.before):
        return False
    if from_empty:
        return True
    return header.seq == (1 if found is None else found.seq + 1)


def _unbegun(found: TableRecord | None, header: BatchHeader, sink: str) -> DeliveryGap:
    """Return the error for a batch that would replace all rows, and does not have all."""
    if found is not None:
        last = "no batch" if found.is_claim else f"batch {batch_number(found.epoch, found.seq)}"
        what = f"the table has {last}, and batch {header.number} is not the first one of a new epoch"
        return _gap(what, header, sink)
    return lost(header, sink)


def lost(header: BatchHeader, sink: str) -> DeliveryGap:
    """Return the error for a batch before which the table has none, though the sink had some."""
    return DeliveryGap(
        f"the target has no record of batches before {header.number}: the table was lost, or the sink now names "
        "another place",
        remedy=f"restore it, or correct the sink; or qbcd resend {header.stream} {sink} fills a new table; without a "
        f"replica, qbcd reset {header.stream} --discard and prepare it again",
        stream=header.stream,
    )


def _gap(what: str, header: BatchHeader, sink: str) -> DeliveryGap:
    return DeliveryGap(
        what,
        remedy=f"the batches between were skipped or lost: qbcd resend {header.stream} {sink} sends the rows of the "
        f"replica; without a replica, qbcd reset {header.stream} --discard and prepare it again",
        stream=header.stream,
    )


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
