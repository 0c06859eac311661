"""Costs in the paper that qbcd itself does not use: tested formulas, worst cases, other plans, section 3.7.

Symbols are those of `qbcd.strategies.costs`.
"""

from __future__ import annotations

POINTER_BYTES = 4  # of a tuple in an index entry, and of a counter in a row of the range table, as in the paper


def pages(rows: float, row_bytes: int, page_bytes: int) -> float:
    """Return the pages of `rows` rows if no row spans two pages."""
    return rows / (page_bytes // row_bytes)


def ts(s: float, copy: float, delta: float) -> float:
    """Return S + delta*N: a scan, and the changed rows of the copy (3.2.1)."""
    return s + delta * copy


def tdi(s: float, copy: float, index: float, delta: float, height: float) -> float:
    """Return (S + N + I)*delta + K: changed rows, by an index on the timestamp (3.2.2, figure 4)."""
    return (s + copy + index) * delta + height


def tlcs(n: float, w: float, delta: float) -> float:
    """Return N + delta*W: a scan for digests, and the changed rows of the copy (3.3; docs/paper.md#c15).

    W is the copy, 0 without one. A table of digests next to the captured table is read in addition.
    """
    return n + delta * w


def mds_by_branches(n: float, m: float, *, keyed: float, inserted: float) -> float:
    """Return the cost of the paper's three branches, each by an index (3.1).

    Updates and deletes read a share `keyed` of the table by its key, inserts a share `inserted` by the restriction's
    index; the copy is read twice. qbcd compares in one pass, or in two without a FULL JOIN.
    """
    return keyed * n + m + inserted * n + m


def mds_worst(n: float) -> float:
    """Return 4 N: a sort-merge outer join with a full copy, without any order (3.1)."""
    return 4 * n


def mds_by_keys(n: float, key_index: float) -> float:
    """Return 2 N + 2 key indexes: a hash join for updates, anti-joins of the indexes for the rest (3.1)."""
    return 2 * n + 2 * key_index


def applicable(share: float, pertinent: float) -> float:
    """Return the share of changes that a restriction and pertinent columns leave (3.1)."""
    return share * pertinent


def tdi_worst(s: float, copy: float, index: float, delta: float, height: float) -> float:
    """Return (S + N + I)*delta + 3 K: table, copy and index are each searched (3.2.2)."""
    return tdi(s, copy, index, delta, 0) + 3 * height


def incremental(n: float, m: float, ranges: float) -> float:
    """Return N + M + the range table, over a whole pass (3.4)."""
    return n + m + ranges


def covering_entry(timestamp_bytes: int, key_bytes: int, field_bytes: int) -> int:
    """Return the bytes of an entry of ATDI's index: timestamp, flag, tuple, key, fields (figure 5)."""
    return timestamp_bytes + POINTER_BYTES + key_bytes + field_bytes


def range_table(n: float, pages_per_range: int, key_bytes: int, page_bytes: int) -> float:
    """Return the pages of the range table; a row has two keys and a counter.

    See the paper, 3.4; a real one is larger (docs/paper.md#c18).
    """
    return pages(n / pages_per_range, 2 * key_bytes + POINTER_BYTES, page_bytes)


def view_copied(n: float, z: int, delta: float) -> float:
    """Return the cost of copying `z` tables of `n` pages, and applying only changes of their view (3.7).

    The view has 2 N pages. See docs/paper.md#c22.
    """
    return 4 * z * n + 14 * n + 2 * delta * 2 * n


def view_replaced(n: float, z: int) -> float:
    """Return the cost of copying `z` tables of `n` pages, and replacing their view of 2 N pages (3.7)."""
    return 4 * z * n + z * n + 2 * n


def view_checksums(n: float, z: int, delta: float) -> float:
    """Return the cost of a view of 2 N pages over `z` tables by tuple checksums, applied at its best (3.7)."""
    return z * n + z * delta * n + 2 * delta * n + delta * 2 * n


def view_delta(n: float, z: int, delta: float) -> float:
    """Return the cost of joining the changed rows of each of `z` tables with the others, by indexes (3.7).

    See docs/paper.md#c23.
    """
    return z * (z - 1) * delta * 1.1 * n + delta * 2 * n


def small_relations(pages: int, height: int) -> tuple[int, int]:
    """Return the pages read to compare two relations of `pages` data pages: with key indexes, and as heaps (3.1)."""
    return 2 * (pages + height - 1), 2 * pages
