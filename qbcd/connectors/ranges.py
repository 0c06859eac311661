"""Ranges of a key, of its hash or of a table's pages: statements that read many of them at once.

Arguments in, whole statement out, in the connector's own dialect.
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
        bucket_words: The spelling of bucket numbers and of scans that are grouped by them.
    """

    bucket_words: buckets.Words

    @abstractmethod
    def bound(self, column: Column, text: str) -> exp.Expression:
        """Return a key bound from its canonical text, typed as `column`, as a literal that is safe to print."""

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
        """Answer for many ranges in one statement: ``SELECT range_id, <select> FROM relation t WHERE key in range``.

        Args:
            select: SQL of the output columns over alias ``t``, each with its alias; aggregates when `aggregate`.
            relation: SQL of a FROM item without alias: a derived table that holds projection and restriction.
            key: Key columns, compared as the database orders them.
            ranges: Every range, ids unique; bounds become typed literals.
            aggregate: One row a range, also for empty ranges.

        Raises:
            ValueError: There are no ranges, ids repeat, or a bound has another width than the key.
        """

    @abstractmethod
    def range_bounds(self, relation: str, key: Sequence[Column], *, rows_per_range: int) -> str:
        """Return a statement for the first key of every range but the first, in key order, as canonical text k0..kn.

        Raises:
            ValueError: `rows_per_range` is not positive.
        """

    @abstractmethod
    def key_between(self, key: Sequence[Column], alias: str, within: KeyRange) -> str:
        """Return the condition that the key of relation `alias` is in a range; TRUE where both ends are open."""

    def range_of(self, key: Sequence[Column], alias: str, ranges: Sequence[KeyRange]) -> str:
        """Return SQL of the id of the range in which a row of relation `alias` is.

        Args:
            key: Key columns.
            alias: Of the relation that has them.
            ranges: Adjoining ranges in key order, one at least; each row's key is taken to be in one of them.
        """
        return range_case(ranges, lambda hi: self.key_between(key, alias, KeyRange(0, None, hi)))

    def bucket_sums(self, sums: Mapping[str, str], relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
        """Return `sums` of many buckets (`qbcd.ranges.hash_buckets`) by one scan, as rows ``range_id, <sums>``.

        Args:
            sums: By name, SQL of an aggregate over alias ``t`` of which a whole is the sum of its parts.
            relation: As in `per_range`.
            hashed: The relation's column of hashes.
            ranges: Every range, ids unique; one without rows may have no answer.
        """
        return buckets.bucket_sums(self.bucket_words, sums, relation, hashed, ranges)

    def bucket_rows(self, select: Sequence[str], relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
        """Return the rows of many hash buckets by one scan: ``SELECT range_id, <select>`` over alias ``t``."""
        return buckets.bucket_rows(self.bucket_words, select, relation, hashed, ranges)

    def has_shares(self, table: Table) -> bool:
        """Return True if scans of parts of `table` by storage make one scan, in one snapshot (`SupportsScans`)."""
        return False


class SupportsKeyLookup(ABC):
    """Rows can be looked up by the texts of their keys. Needs snapshots: there, a row that is not found is an error."""

    @abstractmethod
    def key_text(self, column: Column, value: exp.Expression) -> exp.Expression:
        """Return value `value` of key column `column` as the text by which `of_keys` finds it again."""

    @abstractmethod
    def of_keys(
        self,
        select: Sequence[str],
        relation: str,
        key: Sequence[Column],
        keys: Sequence[Sequence[str]],
        ids: Sequence[int] = (),
    ) -> str:
        """Return ``SELECT <select> FROM relation t`` of the rows with the given keys, each found by the key's index.

        Args:
            select: SQL of the output columns over alias ``t``, each with its alias.
            relation: SQL of a FROM item without alias.
            key: Key columns.
            keys: Texts that `key_text` made, a sequence a key; one key at least, none twice.
            ids: Of the range that each key is in, where the rows are to have it as ``range_id``, their first column.
        """


class SupportsPages(ABC):
    """The database shows on which page a row is, and reads pages by their numbers (tables that are `paged`)."""

    @abstractmethod
    def page_bounds(self, table: Table, key: Sequence[Column], where: str, *, pages_per_range: int) -> str:
        """Return bounds as `range_bounds`, where each range but the last touches `pages_per_range` pages.

        Pages are counted as rows in key order come to them (paper, figure 7), so that a page to which they come back
        counts again.

        Args:
            table: A stored table.
            key: Key columns.
            where: The user's restriction, verbatim, or an empty string.
            pages_per_range: One at least.

        Raises:
            UnsupportedPrimitive: The table has no pages.
        """

    @abstractmethod
    def row_page(self) -> exp.Expression:
        """Return the place of a row, by which `per_pages` finds it; needs snapshots."""

    @abstractmethod
    def page_count(self, table: Table) -> str:
        """Return SQL of the number of pages that a table has now, without reading them."""

    @abstractmethod
    def per_pages(self, select: Sequence[str], relation: str, ranges: Sequence[KeyRange]) -> str:
        """Answer for many ranges of pages in one statement, each read in the order of storage: ``range_id, <select>``.

        Args:
            select: As in `per_range`; aggregates answer for ranges without rows too.
            relation: SQL of a FROM item without alias, with ``qbcd_page``.
            ranges: One at least; bounds are numbers of pages.
        """


class SupportsScans(ABC):
    """Connections can each scan a part of a table's storage (`Ranges.has_shares`)."""

    @abstractmethod
    def page_share(self, table: Table, number: int, shares: int) -> exp.Expression:
        """Return the condition that a row is in part `number` (from 0) of `shares` about equal parts of the storage."""

    @abstractmethod
    def places_keys(self, key: Sequence[Column]) -> bool:
        """Return True if a scan finds the range of each row by its `key` cheaply, so that `scanned_sums` pays."""

    @abstractmethod
    def scanned_sums(
        self, sums: Mapping[str, str], relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]
    ) -> str:
        """Return aggregates as `per_range` does, by one scan in the order of storage: ``range_id, <sums>``.

        Args:
            sums: SQL of aggregates over alias ``t``, by the names of their outputs; 0 for a range without rows.
            relation: As in `per_range`; it may be a part of the storage (`page_share`).
            key: One for which `places_keys` holds.
            ranges: Each begins where the one before it ends.
        """


class SupportsLeafChecksums(ABC):
    """Checksums of leaves, the lowest level of checksums (`qbcd.ranges.leaves`), and rows traced by them.

    Needs snapshots.
    """

    @abstractmethod
    def key_leaf(self, last: Column, value: exp.Expression) -> exp.Expression:
        """Return the last byte of a key's identity, by the value of its `last` column; 0 for an empty identity."""

    @abstractmethod
    def whole_number_bytes(self, key: Sequence[Column]) -> int | None:
        """Return how many bytes the identity has of a key that is one whole number: the number's own, highest first.

        Leaves of its ranges add up digests weighted by the number as well (`qbcd.ranges.key_recovery`). None for other
        keys.
        """

    @abstractmethod
    def of_whole_numbers(
        self, select: Sequence[str], relation: str, key: Column, asked: Sequence[tuple[int, int]]
    ) -> str:
        """Return one statement for ``range_id, *select`` of the rows of many keys, each of which is one number.

        Args:
            select: SQL of the output columns over alias ``t``, each with its alias.
            relation: SQL of a FROM item without alias.
            key: The key's column, for which `whole_number_bytes` gives a number.
            asked: (range_id, key), no key twice; one at least.
        """

    @abstractmethod
    def range_leaves(self, relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]) -> str:
        """Return one statement for the sums of the leaves of many ranges: ``range_id, n, digests, checksum, leaves``.

        Args:
            relation: SQL of a FROM item without alias, with ``qbcd_digest`` and ``qbcd_leaf``.
            key: Key columns.
            ranges: As in `per_range`; each of them has an answer.
        """

    @abstractmethod
    def scanned_leaves(self, relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]) -> str:
        """Return `range_leaves` of ranges that adjoin, by one scan in the order of storage.

        Asked for keys that are one whole number and for which `places_keys` holds.
        """

    @abstractmethod
    def bucket_leaves(self, relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
        """Return `range_leaves` of hash buckets, by one scan; a bucket without rows may have no answer.

        Args:
            relation: As in `range_leaves`.
            hashed: The relation's column of hashes.
            ranges: As in `bucket_sums`. One answer may list a leaf more than once.
        """
