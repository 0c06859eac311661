"""Cost formulas: pages that a poll reads (Carnes & Hanson 3.1 to 3.4, table 3).

Symbols are the paper's, renamed where it uses one letter twice (docs/paper.md#c12): N pages of the
table, S of the table with timestamp and flag, M and W of the copy, I of an index, `delta` the share of rows that
changed, `height` the height of an index (the paper's second K). Results are fractions; a caller rounds.

The advisor (`qbcd.advisor`) calls them with the bounds of uncertain numbers, so no result falls if an argument grows.
"""

from __future__ import annotations

import math


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
        share: Share of the rows, 0 to 1.
        clustered: Share of these rows that are next to each other, as in the paper; the others are random (`yao`).
    """
    near = min(pages, max(share * pages, min(1.0, share * rows)))
    return clustered * near + (1 - clustered) * max(near, yao(round(rows), pages, round(share * rows)))


def height(index_pages: float, per_page: int = 250) -> float:
    """Return the pages from the root of an index to a leaf (K, table 2).

    An inner page has `per_page` entries.
    """
    return 1 + math.ceil(math.log(index_pages, per_page)) if index_pages > 1 else 1


def mds(n: float, m: float, *, share: float = 1.0) -> float:
    """Return R*N + M: the table, or the `share` of it in the restriction, and the copy (3.1)."""
    return share * n + m


def reported_before_comparison(n: float) -> float:
    """Return 6 N: export, then a sliding window over two files (table 3, RSBC)."""
    return 6 * n


def sliding_window(n: float) -> float:
    """Return 2 N: a sliding window over two sorted files (table 3, P/SWC)."""
    return 2 * n


def id_rcs(n: float, m: float, ranges: float, delta: float, *, share: float = 1.0) -> float:
    """Return R*N + the range table + delta*M (table 3).

    This holds for changes that are close together (docs/paper.md#c21).
    """
    return share * n + ranges + delta * m


def dirty_ranges(rows_per_range: float, delta: float, clustered: float) -> float:
    """Return the share of ranges with a changed row.

    A share `clustered` of the changed rows are close together.
    """
    scattered = -math.expm1(rows_per_range * math.log1p(-delta)) if delta < 1 else 1.0
    return clustered * delta + (1 - clustered) * scattered


def atdi(index: float, copy: float, delta: float, height: float) -> float:
    """Return I*delta + delta*W + K: from the covering index, not the table (figures 5 and 6).

    See docs/paper.md#c13.
    """
    return index * delta + copy * delta + height
