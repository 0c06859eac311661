"""The primitives of leaves, the lowest level of checksums (`qbcd.ranges.leaves`), and of the rows that they trace."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from qbcd.errors import UnsupportedPrimitive
from qbcd.model import Column, KeyRange


class LeafPrimitives:
    """What a :class:`~qbcd.connectors.base.Connector` states so that a poll can go by leaves.

    Attributes:
        name: Of the database, for people.
        has_leaves: The primitives are there.
    """

    name: str
    has_leaves = False

    def key_leaf(self, last: Column, value: exp.Expression) -> exp.Expression:
        """The last byte of a key's identity, by the value of its `last` column; 0 for an identity without bytes.

        Asked of connectors that export snapshots, as all of these.
        """
        raise UnsupportedPrimitive(self.name, "key_leaf")

    def whole_number_bytes(self, key: Sequence[Column]) -> int | None:
        """Of a key that is one whole number, how many bytes its identity has: the number's own, the highest first.

        Leaves of its ranges add up digests weighted by the number as well (`qbcd.ranges.key_recovery`). None of other
        keys.
        """
        return None

    def of_whole_numbers(
        self, select: Sequence[str], relation: str, key: Column, asked: Sequence[tuple[int, int]]
    ) -> str:
        """One statement for ``range_id, *select`` of the rows that have one of many keys, of which each is one number.

        Args:
            select: SQL of the output columns over alias ``t``, each with its alias.
            relation: SQL of a FROM item without alias.
            key: The key's column, of which `whole_number_bytes` knows.
            asked: (range_id, key), no key twice; one at least.
        """
        raise UnsupportedPrimitive(self.name, "of_whole_numbers")

    def range_leaves(self, relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]) -> str:
        """One statement for what the leaves of many ranges add up to: ``range_id, n, digests, checksum, leaves``.

        Args:
            relation: SQL of a FROM item without alias, with ``qbcd_digest`` and ``qbcd_leaf``.
            key: Key columns.
            ranges: As in `per_range`; each of them has an answer.
        """
        raise UnsupportedPrimitive(self.name, "range_leaves")

    def scanned_leaves(self, relation: str, key: Sequence[Column], ranges: Sequence[KeyRange]) -> str:
        """As `range_leaves` of ranges that adjoin, by one scan in the order of storage, which passes by other rows.

        Asked of keys that are one whole number and for which `places_keys` holds.
        """
        raise UnsupportedPrimitive(self.name, "scanned_leaves")

    def bucket_leaves(self, relation: str, hashed: str, ranges: Sequence[KeyRange]) -> str:
        """As `range_leaves`, of hash buckets, by one scan; one without rows may have no answer.

        Args:
            relation: As in `range_leaves`.
            hashed: The relation's column of hashes.
            ranges: As in `bucket_sums`. In what is told of one a leaf may stand more than once.
        """
        raise UnsupportedPrimitive(self.name, "bucket_leaves")
