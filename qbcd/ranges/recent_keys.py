"""Recent rows: which rows of a range that differs are to be looked up, by what the database keeps of their writers.

PostgreSQL has with each row which transaction wrote it. Of a range that differs, rows written since the last look are
likely to be all that were inserted or updated in it, and a row that is gone leaves the range smaller than they say:
where none was written and one row is gone, the sum of digests has grown less by the digest of that one.
That is no more than likely: rows change without being written (by a standby that lost transactions, or a column that
is dropped and added again), and one row can go while another comes. So whoever looks up rows by this has to hold what
came against the sums.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.model import NamedKey, RowSelection
from qbcd.ranges import leaves
from qbcd.ranges.leaves import as_bits

_DIGESTS = range(-(2**63), 2**63)


def rows_to_look_up(rows: int, digests: int, found: Sequence[NamedKey]) -> RowSelection | None:
    """Return the rows to look up in a range: those that were found, or the one that it lost; None if more changed.

    Args:
        rows: By how many rows the range grew.
        digests: What the sum of their digests grew by.
        found: Keys of the rows in it that were written since the last look.
    """
    if not found and rows == -1 and -digests in _DIGESTS:
        return RowSelection(leaves.EVERY, 0, 0, lost=-digests)
    if not found or not 0 <= rows <= len(found):
        return None
    return RowSelection(as_bits({leaf_of(key.identity) for key in found}), len(found), 0, named=tuple(found))


def leaf_of(identity: bytes) -> int:
    """The leaf that a key's identity is in."""
    return identity[-1] if identity else 0
