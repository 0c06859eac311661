"""TS and TLCS with their replica under Spark: the source is only read (Carnes & Hanson 3.2.1; 3.3, variant (c)).

Both stand on the replica and the ranges of ID/RCS. TS reads the window of its time-stamp, and compares checksums of
keys alone, to find deletes. TLCS keeps key and digest of a row and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qbcd.connectors.base import Connector, Index
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.sql import compile_sql
from qbcd.strategies.base import Estimate
from qbcd.strategies.id_rcs import SEES_BY_DIGEST, IdRcs
from qbcd.strategies.partitions.base import WHOLE, Share
from qbcd.strategies.ts import Ts
from qbcd.strategies.watermarked import in_literals
from qbcd.watermark import Window


class LakeTs(IdRcs):
    """Statements of TS with ``replica: spark``.

    Attributes:
        stamp: The time-stamp: what it is, and how far it may be read.
    """

    name = "ts"
    needs = (
        "SELECT on the table with a column that grows over the whole table, best with an index on it; a sight of all "
        "sessions; nothing is written to the source"
    )

    by_hash = False  # a window finds a row's range by its key
    summed = "key_digest"
    checksum_template = "key_digests"  # the digest of the key alone, of restricted rows: what sweeps compare
    extra = (("key_digest", "bigint"),)

    def __init__(self, connector: Connector, plan: StreamPlan) -> None:
        super().__init__(connector, plan)
        self.watermarked = Ts(connector, plan, "")
        self.sees, self.misses = self.watermarked.sees, self.watermarked.misses

    def key_problems(self, within: KeyRange | None = None) -> Statement:
        """As TS: rows outside of the restriction may share no key with one within it."""
        return compile_sql(self._canonical("key_problems", beyond=bool(self.plan.where)), self.connector, self.plan)

    def row_checksums(self) -> IdRcs:
        """ID/RCS over the same replica."""
        return IdRcs(self.connector, self.plan)

    def check(self, place: Callable[[str], str] | None = None) -> None:
        """As TS.

        Raises:
            ConfigError: The time-stamp cannot be one.
        """
        self.watermarked.check(place)

    def estimate(self, indexes: Sequence[Index] = ()) -> Estimate:
        """As TS: the replica costs the source nothing."""
        return self.watermarked.estimate(indexes)

    def warnings(self) -> list[str]:
        """As TS."""
        return self.watermarked.warnings()

    def keys(self, ranges: Sequence[KeyRange], part: Share = WHOLE) -> Statement:
        """Rows (range_id, key_id, key_digest) of all keys in `ranges`, whatever the restriction says of them."""
        select = ["t.qbcd_key_id AS key_id", "t.qbcd_key_digest AS key_digest"]
        return self.partitioning.rows(ranges, select, "key_images", part)

    def window_images(self, ranges: Sequence[KeyRange], window: Window, *, typed: bool) -> Statement:
        """Rows of a window as `images` gives them, each with its range of all `ranges`, and `shown` by the restriction.

        One statement that reads the window once.
        """
        outputs = [*self._outputs(typed), "t.qbcd_in AS shown"]
        rows = in_literals(self.watermarked.window_images(window, typed=typed))
        range_id = self.connector.ranges.range_of(self.plan.key, "t", ranges)
        return Statement(f"SELECT {range_id} AS range_id, {', '.join(outputs)}\nFROM (\n{rows}\n) AS t")

    def settled_images(self, ranges: Sequence[KeyRange], window: Window, *, typed: bool) -> Statement:
        """Rows of `ranges` as `images` gives them, `shown` by the restriction, `settled` where they lie in `window`.

        Those that are not settled come whatever the restriction says of them.
        """
        outputs = [*self._outputs(typed), "t.qbcd_in AS shown", "t.qbcd_settled AS settled"]
        rows = in_literals(self.watermarked.settled_images(window, typed=typed))
        return Statement(self.connector.ranges.per_range(outputs, f"({rows})", self.plan.key, ranges, aggregate=False))


class LakeTlcs(IdRcs):
    """Statements of TLCS with ``checksums: remote``."""

    name = "tlcs"
    by_hash = False
    needs = "SELECT on the table, and a key that the database can order; nothing is written to the source"

    def __init__(self, connector: Connector, plan: StreamPlan) -> None:
        super().__init__(connector, plan)
        self.keeps = "digests"
        self.deletes = bool(plan.option("deletes"))
        self.sees = SEES_BY_DIGEST if self.deletes else SEES_BY_DIGEST.replace(", update and delete", " and update")
        self.misses = "old values and the names of changed columns; states between two polls" + (
            "" if self.deletes else "; deletes"
        )
