"""Recent rows: which rows of a range that differs are to be looked up, by what the database keeps of their writers.

PostgreSQL has with each row which transaction wrote it. Of a range that differs, rows written since the last look are
likely to be all that were inserted or updated in it, and a row that is gone leaves the range smaller than they say.
That is no more than likely: rows change without being written (by a standby that lost transactions, or a column that
is dropped and added again), and one row can go while another comes. So whoever looks up rows by this has to hold what
came against the sums.
"""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.leaves import as_bits
from qbcd.model import KeyRange, Leaves, NamedKey


def of(grown: int, found: Sequence[NamedKey]) -> Leaves | None:
    """What to look up in a range: the rows that were found; None where rows must have gone from it, or none was found.

    Args:
        grown: By how many rows the range grew.
        found: Keys of the rows in it that were written since the last look.
    """
    if not found or not 0 <= grown <= len(found):
        return None
    return Leaves(as_bits({leaf_of(key.identity) for key in found}), len(found), 0, named=tuple(found))


def is_named(one: KeyRange) -> bool:
    """Whether rows of a range are looked up by the keys that the source named."""
    return one.only is not None and bool(one.only.named)


def leaf_of(identity: bytes) -> int:
    """The leaf that a key's identity is in."""
    return identity[-1] if identity else 0
