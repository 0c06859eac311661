"""Cost formulas: pages that a poll reads (Carnes & Hanson 3.1 to 3.4, table 3).

Symbols are the paper's, renamed where it uses one letter twice (docs/paper.md#c12): N pages of the
table, S of the table with timestamp and flag, M and W of the copy, I of an index, `delta` the share of rows that
changed, `height` the height of an index (the paper's second K). Results are fractions; a caller rounds.

Functions that no strategy calls say "for the cost advisor": the choice of a strategy by cost, which is not built yet.
"""

from __future__ import annotations

import math

DELTA = 0.01  # the share of a table that changes between two polls, as in the paper
POINTER_BYTES = 4  # of a tuple in an index entry, and of a counter in a row of the range table, as in the paper


def pages(rows: float, row_bytes: int, page_bytes: int) -> float:
    """Return the pages of `rows` rows if no row spans two pages; for the cost advisor."""
    return rows / (page_bytes // row_bytes)


def yao(rows: int, pages: float, picked: int) -> float:
    """Return the expected pages that hold `picked` of `rows` equally likely rows (Yao 1977).

    For the cost advisor. For clustered changes, the paper uses `picked / rows * pages`.
    """
    if picked >= rows or pages <= 0:
        return max(0.0, pages)
    others = rows - rows / pages  # rows that are not on a given page
    if picked > others:
        return pages
    missed = math.lgamma(others + 1) - math.lgamma(others - picked + 1)
    missed -= math.lgamma(rows + 1) - math.lgamma(rows - picked + 1)
    return pages * -math.expm1(missed)


def mds(n: float, m: float, *, share: float = 1.0) -> float:
    """Return R*N + M: the table, or the `share` of it in the restriction, and the copy (3.1)."""
    return share * n + m


def ts(s: float, copy: float, delta: float) -> float:
    """Return S + delta*N: a scan, and the changed rows of the copy (3.2.1)."""
    return s + delta * copy


def tdi(s: float, copy: float, index: float, delta: float, height: float) -> float:
    """Return (S + N + I)*delta + K: changed rows, by an index on the timestamp (3.2.2, figure 4)."""
    return (s + copy + index) * delta + height


def atdi(index: float, copy: float, delta: float, height: float) -> float:
    """Return I*delta + delta*W + K: from the covering index, not the table (figures 5 and 6).

    See docs/paper.md#c13.
    """
    return index * delta + copy * delta + height


def tlcs(n: float, w: float, delta: float) -> float:
    """Return N + delta*W: a scan for digests, and the changed rows of the copy (3.3; docs/paper.md#c15).

    W is the copy, 0 without one. A table of digests next to the captured table is read in addition.
    """
    return n + delta * w


def incremental(n: float, m: float, ranges: float) -> float:
    """Return N + M + the range table, over a whole pass (3.4); for the cost advisor."""
    return n + m + ranges


def covering_entry(timestamp_bytes: int, key_bytes: int, field_bytes: int) -> int:
    """Return the bytes of an entry of ATDI's index: timestamp, flag, tuple, key, fields (figure 5).

    For the cost advisor.
    """
    return timestamp_bytes + POINTER_BYTES + key_bytes + field_bytes


def range_table(n: float, pages_per_range: int, key_bytes: int, page_bytes: int) -> float:
    """Return the pages of the range table; a row has two keys and a counter.

    See the paper, 3.4; a real one is larger (docs/paper.md#c18).

    For the cost advisor.
    """
    return pages(n / pages_per_range, 2 * key_bytes + POINTER_BYTES, page_bytes)
