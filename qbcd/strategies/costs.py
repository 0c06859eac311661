"""Cost formulas: pages that a poll reads (Carnes & Hanson 3.1 to 3.4, table 3).

Symbols are the paper's, renamed where it uses one letter twice (docs/paper.md#c12): N pages of the
table, S of the table with timestamp and flag, M and W of the copy, I of an index, `delta` the share of rows that
changed, `height` the height of an index (the paper's second K). Results are fractions; a caller rounds.

The advisor (`qbcd.advisor`) calls them with the bounds of uncertain numbers, so no result falls if an argument grows.
"""

from __future__ import annotations

import math

DELTA = 0.01  # the share of a table that changes between two polls, as in the paper
POINTER_BYTES = 4  # of a tuple in an index entry, and of a counter in a row of the range table, as in the paper


def pages(rows: float, row_bytes: int, page_bytes: int) -> float:
    """Return the pages of `rows` rows if no row spans two pages."""
    return rows / (page_bytes // row_bytes)


def yao(rows: int, pages: float, picked: int) -> float:
    """Return the expected pages that hold `picked` of `rows` equally likely rows (Yao 1977).

    For clustered changes, the paper uses `picked / rows * pages`.
    """
    if picked >= rows or pages <= 0:
        return max(0.0, pages)
    others = rows - rows / pages  # rows that are not on a given page
    if picked > others:
        return pages
    missed = math.lgamma(others + 1) - math.lgamma(others - picked + 1)
    missed -= math.lgamma(rows + 1) - math.lgamma(rows - picked + 1)
    return pages * -math.expm1(missed)


def touched(rows: float, pages: float, share: float, clustered: float) -> float:
    """Return the pages that hold a `share` of `rows` rows.

    Args:
        rows: Rows of the relation.
        pages: Its pages.
        share: Share of the rows, 0 to 1.
        clustered: Share of these rows that are next to each other, as in the paper; the others are random (`yao`).
    """
    near = min(pages, max(share * pages, min(1.0, share * rows)))
    return clustered * near + (1 - clustered) * max(near, yao(round(rows), pages, round(share * rows)))


def height(index_pages: float, per_page: int = 250) -> float:
    """Return the pages from the root of an index to a leaf, with `per_page` entries on an inner page (K, table 2)."""
    return 1 + math.ceil(math.log(index_pages, per_page)) if index_pages > 1 else 1


def mds(n: float, m: float, *, share: float = 1.0) -> float:
    """Return R*N + M: the table, or the `share` of it in the restriction, and the copy (3.1)."""
    return share * n + m


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


def reported_before_comparison(n: float) -> float:
    """Return 6 N: export, then a sliding window over two files (table 3, RSBC)."""
    return 6 * n


def sliding_window(n: float) -> float:
    """Return 2 N: a sliding window over two sorted files (table 3, P/SWC)."""
    return 2 * n


def id_rcs(n: float, m: float, ranges: float, delta: float, *, share: float = 1.0) -> float:
    """Return R*N + the range table + delta*M (table 3), for changes that are close together (docs/paper.md#c21)."""
    return share * n + ranges + delta * m


def dirty_ranges(rows_per_range: float, delta: float, clustered: float) -> float:
    """Return the share of ranges with a changed row, of which a share `clustered` are close together."""
    scattered = -math.expm1(rows_per_range * math.log1p(-delta)) if delta < 1 else 1.0
    return clustered * delta + (1 - clustered) * scattered


def ts(s: float, copy: float, delta: float) -> float:
    """Return S + delta*N: a scan, and the changed rows of the copy (3.2.1)."""
    return s + delta * copy


def tdi(s: float, copy: float, index: float, delta: float, height: float) -> float:
    """Return (S + N + I)*delta + K: changed rows, by an index on the timestamp (3.2.2, figure 4)."""
    return (s + copy + index) * delta + height


def tdi_worst(s: float, copy: float, index: float, delta: float, height: float) -> float:
    """Return (S + N + I)*delta + 3 K: table, copy and index are each searched (3.2.2)."""
    return tdi(s, copy, index, delta, 0) + 3 * height


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
