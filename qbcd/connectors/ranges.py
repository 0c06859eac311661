"""Ranges of a key, of its hash or of a table's pages: statements that read many of them.

Each function returns a whole statement in the connector's dialect.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence

from sqlglot import exp

from qbcd.connectors import buckets
from qbcd.connectors.facts import Collaborator
from qbcd.connectors.range_case import range_case
from qbcd.model import Column, KeyRange, Table


class Ranges(Collaborator, ABC):
    """Ranges of a key as the database orders it, and buckets of the key's hash.

    Attributes:
        bucket_words: The spelling of bucket numbers and of scans that are grouped by bucket.
    """

    bucket_words: buckets.Words

    @abstractmethod
    def bound(self, column: Column, text: str) -> exp.Expression:
        """Return a key bound as a literal typed as `column`, from its canonical text.

        The literal is safe to put into SQL.
        """

    @abstractmethod
    def per_range(
        self,
        select: Sequence[str],
        relation: str,
        key: Sequence[Column],
        ranges: Sequence[KeyRange],
        *,
        aggregate: bool,
    ) -> str:
        """Return one statement that reads many ranges of a key.

        Its rows are those of ``SELECT range_id, <select> FROM relation t WHERE key in range`` for each range.

        Args:
            select: SQL of the output columns over alias ``t``, each with its alias; aggregates if `aggregate`.
            relation: SQL of a FROM item without alias: a derived table with projection and restriction.
            key: Key columns, compared as the database orders them.
            ranges: The ranges, with unique ids; bounds become typed literals.
            aggregate: The result has one row per range, also for empty ranges.

        Raises:
            ValueError: There are no ranges, ids repeat, or a bound has another width than the key.
        """

    @abstractmethod
    def range_bounds(self, relation: str, key: Sequence[Column], *, rows_per_range: int) -> str:
        """Return a statement for the first key of each range except the first, in key order.

        Its columns ``k0``.. are canonical texts.

        Raises:
            ValueError: `rows_per_range` is not positive.
        """

    @abstractmethod
    def key_between(self, key: Sequence[Column], alias: str, within: KeyRange) -> str:
        """Return the condition that the key of `alias` is in a range; TRUE if both ends are open."""

    def range_of(self, key: Sequence[Column], alias: str, ranges: Sequence[KeyRange]) -> str:
        """Return SQL of the id of the range in which a row of relation `alias` is.

        Args:
            alias: Of the relation that has them.
            ranges: Adjoining ranges in key order, at least one. The key of each row must be in one of them.
        """
        return range_case(ranges, lambda hi: self.key_between(key, alias, KeyRange(0, None, hi)))

    def bucket_sums(self, sums: Mapping[str, str], relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
        """Return `sums` of many hash buckets by one scan, as rows ``range_id, <sums>``.

        Args:
            sums: By name, SQL of an aggregate over alias ``t``; that of a whole is the sum of those of its parts.
            relation: As in `per_range`.
            hashed: The relation's column of hashes.
            ranges: Buckets (`qbcd.ranges.hash_buckets`) with unique ids. One without rows may be missing in the result.
        """
        return buckets.bucket_sums(self.bucket_words, sums, relation, hashed, ranges)

    def bucket_rows(self, select: Sequence[str], relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
        """Return the rows of many hash buckets by one scan: ``range_id, <select>`` over alias ``t``."""
        return buckets.bucket_rows(self.bucket_words, select, relation, hashed, ranges)

    def has_shares(self, table: Table) -> bool:
        """Return True if `table` can be scanned in parts of its storage, in one snapshot.

        See :class:`SupportsScans`.
        """
        return False


class SupportsKeyLookup(ABC):
    """Rows can be looked up by the texts of their keys.

    Needs snapshots. In a snapshot a row that is not found is an error.
    """

    @abstractmethod
    def key_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        """Return `value` of key column `column` as the text by which `of_keys` finds its row."""

    @abstractmethod
    def of_keys(
        self,
        select: Sequence[str],
        relation: str,
        key: Sequence[Column],
        keys: Sequence[Sequence[str]],
        ids: Sequence[int] = (),
    ) -> str:
        """Return ``SELECT <select> FROM relation t`` for the rows with the given keys.

        Each row is found by the key's index.

        Args:
            select: SQL of the output columns over alias ``t``, each with its alias.
            relation: SQL of a FROM item without alias.
            keys: Texts from `key_text`, one sequence per key; at least one key, none twice.
            ids: The range of each key, if rows shall have it as ``range_id``, their first column; otherwise empty.
        """


class SupportsPages(ABC):
    """The database shows the page of a row, and reads pages by number (tables that are `paged`)."""

    @abstractmethod
    def page_bounds(self, table: Table, key: Sequence[Column], where: str, *, pages_per_range: int) -> str:
        """Return bounds as `range_bounds`, by the number of pages that a range touches.

        It is `pages_per_range`, except for the last range. Pages are counted in key order (paper, figure 7): a page
        counts again if later keys return to it.

        Args:
            where: The user's restriction, verbatim, or an empty string.
            pages_per_range: At least 1.

        Raises:
            UnsupportedPrimitive: The table has no pages.
        """

    @abstractmethod
    def row_page(self) -> exp.Expression:
        """Return the place of a row, by which `per_pages` finds it; needs snapshots."""

    @abstractmethod
    def page_count(self, table: Table) -> str:
        """Return SQL of the number of pages of a table now. It does not read them."""

    def stored_page(self) -> str:
        """Return SQL of a number for a row's page, in a query of that table alone.

        The number is distinct over all partitions.

        By default it is empty: pages of ranges are not counted, but estimated.
        """
        return ""

    @abstractmethod
    def per_pages(self, select: Sequence[str], relation: str, ranges: Sequence[KeyRange]) -> str:
        """Return one statement that reads many ranges of pages: ``range_id, <select>``.

        Each range is read in the order of storage.

        Args:
            select: As in `per_range`; aggregates have a row for ranges without rows too.
            relation: SQL of a FROM item without alias, with ``qbcd_page``.
            ranges: At least one; bounds are page numbers.
        """


class SupportsScans(ABC):
    """Connections can each scan a part of a table's storage (`Ranges.has_shares`)."""

    @abstractmethod
    def page_share(self, table: Table, number: int, shares: int) -> exp.Expression:
        """Return the condition that a row is in part `number` of `shares` parts of the storage.

        Numbers start from 0; the parts are about equal.
        """

    @abstractmethod
    def places_keys(self, key: Sequence[Column]) -> bool:
        """Return True if a scan finds the range of a row by `key` cheaply; then use `scanned_sums`."""

    @abstractmethod
    def scanned_sums(
        self, sums: Mapping[str, str], relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]
    ) -> str:
        """Return aggregates as `per_range`, by one scan in storage order: ``range_id, <sums>``.

        Args:
            sums: SQL of aggregates over alias ``t``, by the names of their outputs; 0 for a range without rows.
            relation: As in `per_range`; it may be a part of the storage (`page_share`).
            key: One for which `places_keys` holds.
            ranges: Each begins at the end of the one before it.
        """


class SupportsLeafChecksums(ABC):
    """Checksums of leaves, the lowest level of checksums, and rows found by them.

    See `qbcd.ranges.leaves`. Needs snapshots.
    """

    @abstractmethod
    def key_leaf(self, last: Column, value: exp.Expression) -> exp.Expression:
        """Return the last byte of a key's identity, from the value of its `last` column.

        It is 0 for an empty identity.
        """

    @abstractmethod
    def whole_number_bytes(self, key: Sequence[Column]) -> int | None:
        """Return the width in bytes of a key that is one whole number, or None for another key.

        The identity of such a key is the number's bytes, highest first. A widened key has the width that it had, and
        larger numbers have 4 or 8 bytes. Leaves of its ranges also add up digests
        weighted by the number (`qbcd.ranges.key_recovery`).
        """

    @abstractmethod
    def of_whole_numbers(
        self, select: Sequence[str], relation: str, key: Column, asked: Sequence[tuple[int, int]]
    ) -> str:
        """Return one statement for ``range_id, *select`` of the rows of many keys, each one number.

        Args:
            select: SQL of the output columns over alias ``t``, each with its alias.
            relation: SQL of a FROM item without alias.
            key: The key's column; `whole_number_bytes` is not None for it.
            asked: (range_id, key), at least one; no key twice.
        """

    @abstractmethod
    def range_leaves(self, relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]) -> str:
        """Return one statement for the sums of leaves of many ranges.

        Its columns are ``range_id, n, digests, checksum, leaves``.

        Args:
            relation: SQL of a FROM item without alias, with ``qbcd_digest`` and ``qbcd_leaf``.
            ranges: As in `per_range`; each has a row in the result.
        """

    @abstractmethod
    def scanned_leaves(self, relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]) -> str:
        """Return `range_leaves` of ranges that adjoin, by one scan in the order of storage.

        Used for keys that are one whole number and for which `places_keys` holds.
        """

    @abstractmethod
    def bucket_leaves(self, relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
        """Return `range_leaves` of hash buckets by one scan; a bucket without rows may be missing.

        Args:
            relation: As in `range_leaves`.
            hashed: The relation's column of hashes.
            ranges: As in `bucket_sums`. A row of the result may list a leaf more than once.
        """


def check_ranges(key: Sequence[Column], ranges: Sequence[KeyRange]) -> None:
    """Check the arguments of `Ranges.per_range`.

    Raises:
        ValueError: There are no ranges, ids repeat, or a bound has another width than the key.
    """
    if not ranges:
        raise ValueError("there are no ranges")
    if len({r.range_id for r in ranges}) != len(ranges):
        raise ValueError("a range id occurs twice")
    for r in ranges:
        for ends in (r.lo, r.hi):
            if ends is not None and len(ends) != len(key):
                raise ValueError(f"range {r.range_id} has a bound of {len(ends)} values for a key of {len(key)}")


def numbered_bounds(
    relation: str, keys: Sequence[str], texts: Sequence[str], rows_per_range: int, named: str = ""
) -> str:
    """Return the statement of `Ranges.range_bounds`: rows are numbered in the order of the key.

    Args:
        keys: SQL by which rows of ``t`` are ordered.
        texts: SQL of the canonical text of each key column of ``o``.
        named: The key columns as columns of ``o``; default: `keys`.

    Raises:
        ValueError: `rows_per_range` is not positive.
    """
    if rows_per_range < 1:
        raise ValueError("a range must have at least one row")
    listed = ", ".join(f"{text} AS k{i}" for i, text in enumerate(texts))
    ordered = ", ".join(keys)
    return (
        f"SELECT {listed}\nFROM (SELECT {named or ordered}, row_number() OVER (ORDER BY {ordered}) AS qbcd_row\n"
        f"FROM {relation} AS t) AS o\n"
        f"WHERE o.qbcd_row > 1 AND mod(o.qbcd_row - 1, {rows_per_range:d}) = 0\nORDER BY o.qbcd_row"
    )
