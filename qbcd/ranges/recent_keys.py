"""Recent keys: the rows of a dirty range to look up, chosen by the age of their last write.

PostgreSQL stores with each row the transaction that wrote it. The rows of a dirty range that were written since the
last poll are probably all inserted and updated rows. If no row was written and the range has one row less, one row was
deleted, and the sum of digests has shrunk by its digest.

This is only probable. Rows can change without a write: a standby lost transactions, or a column was dropped and added
again. And one row can be deleted while another is inserted. So the caller must check the fetched rows against the sums.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.model import NamedKey, RowSelection
from qbcd.ranges import leaves
from qbcd.ranges.leaves import as_bits

_DIGESTS = range(-(2**63), 2**63)


def rows_to_look_up(rows: int, digests: int, found: Sequence[NamedKey]) -> RowSelection | None:
    """Return the rows to look up: recently written ones, or one deleted; None if more changed.

    Args:
        rows: Growth of the range's number of rows.
        digests: Growth of its sum of digests.
        found: Keys of its rows that were written since the last poll.
    """
    if not found and rows == -1 and -digests in _DIGESTS:
        return RowSelection(leaves.EVERY, 0, 0, deleted_digest=-digests)
    if not found or not 0 <= rows <= len(found):
        return None
    return RowSelection(as_bits({leaf_of(key.identity) for key in found}), len(found), 0, named=tuple(found))


def leaf_of(identity: bytes) -> int:
    """Return the leaf of a key identity."""
    return identity[-1] if identity else 0
