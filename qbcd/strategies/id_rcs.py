"""ID/RCS, incremental differencing with range checksums (Carnes & Hanson 3.6, figure 8): SELECT is all it needs.

The source answers with count and checksum of every range in one statement; only ranges that differ from what the
replica holds are shipped. Range checksums are sums of sound 64-bit row digests (docs/paper.md#c20). Ranges are of the
key (`qbcd.strategies.partitions.base`), of its hash (`qbcd.strategies.partitions.hash`) or of the table's pages
(`qbcd.strategies.partitions.page`), settled at prepare.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from qbcd.config.strategy_options import MOVING, SCANNED
from qbcd.connectors.base import Connector
from qbcd.connectors.ranges import SupportsKeyLookup
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.model import Column, KeyRange, Statement, StreamPlan
from qbcd.sql import compile_sql, render
from qbcd.strategies.base import Estimate, ReplicaContent, Strategy
from qbcd.strategies.partitions.base import WHOLE, Partitioning, Share
from qbcd.strategies.partitions.hash import HashPartitioning
from qbcd.strategies.partitions.key import KeyPartitioning
from qbcd.strategies.partitions.page import PagePartitioning

CORRELATION_FLOOR = (
    0.5  # below it a key-range scan visits heap pages out of order, which costs several sequential scans
)
BUCKETS = "buckets"  # the option
FIXED = "buckets_fixed"  # of a plan, beside it: the user has named the kind
CUTS: Mapping[str, type[Partitioning]] = {"key": KeyPartitioning, "hash": HashPartitioning, "page": PagePartitioning}
SEES_BY_DIGEST = "every insert, update and delete, as the net change between two polls; of old rows the key alone"


class IdRcs(Strategy):
    """Statements of ID/RCS for one stream."""

    name = "id_rcs"
    site = "spark"
    needs = "SELECT on the table; a key, or rows that are told by all their values; nothing is written to the source"
    sees: str = "every insert, update and delete, with old and new values, as the net change between two polls"
    misses: str = "states between two polls (a row inserted and deleted again leaves no event)"

    by_hash = True  # ranges may be of the key's hash
    checksum_template = "row_digests"  # template of the rows that checksums sum
    summed = "digest"  # column of fetched rows that a range's checksum is the sum of
    extra: tuple[tuple[str, str], ...] = ()  # (name, Spark's type) of what else a fetched row has
    was: tuple[Column, ...] = ()  # columns whose digest rows bring beside their own
    deletes = True  # they are told

    def __init__(self, connector: Connector, plan: StreamPlan) -> None:
        super().__init__(connector, plan)
        self.partitioning = CUTS[plan.option(BUCKETS) or "key"](connector, plan, self.checksum_template)
        # what one transaction did in two ranges, a poll of some of them tells in half
        self.consistency = "snapshot" if self.partitioning.one_state and not plan.option("per_poll") else "range"
        self.keeps: ReplicaContent = "digests" if plan.option("replica") == "digest" else "rows"
        if self.keeps == "digests":
            self.sees, self.misses = SEES_BY_DIGEST, f"{type(self).misses}; old values and the names of changed columns"

    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Whether the source can be read as the options say.

        Raises:
            ConfigError: It cannot.
        """
        if self.plan.option("consistency") == "snapshot" and not self.connector.supports(SupportsSnapshots):
            what = "sessions of this database share no snapshot"
            raise self._wrong("consistency", place, what, "remove it; each range is then of one state")
        if self.plan.option("consistency") == "snapshot" and self.plan.table.remote:
            what = "rows of it stand on another server, which has snapshots of its own"
            raise self._wrong("consistency", place, what, "remove it; each range is then of one state")
        if not self.plan.key and not self.partitioning.hashed:
            what = "there can be no ranges of a key that has no columns"
            raise self._wrong(BUCKETS, place, what, f"remove `{BUCKETS}: key`")
        if self.partitioning.paged:
            self._check_pages(place)
        if not self.partitioning.hashed:
            return
        keyed = "prepare the stream with `buckets: key`, or remove it" if self.plan.key else "remove it"
        if self.plan.option("per_poll"):
            raise self._wrong("per_poll", place, f"`per_poll` {SCANNED}", keyed)
        if self.plan.option("target"):
            raise self._wrong("pace", place, f"`pace` {SCANNED}", keyed)

    def _check_pages(self, place: Callable[[str], str] | None) -> None:
        """Rows move among ranges of pages: only one state of a stored table and its keys tell which row is which."""
        other = "remove it, or prepare the stream with `buckets: key` or `hash`"
        if self.plan.option("per_poll"):
            raise self._wrong("per_poll", place, f"`per_poll` {MOVING}", other)
        if self.plan.option("consistency") == "range":
            raise self._wrong("consistency", place, f"`consistency: range` {MOVING}", other)
        if self.plan.option(FIXED) and not self.is_by_pages:
            what = (
                f"{self.plan.table.name} is no table whose rows are looked up by pages, or no index vouches for its key"
            )
            raise self._wrong(BUCKETS, place, what, f"remove `{BUCKETS}: page`")

    @property
    def is_by_pages(self) -> bool:
        """Whether ranges may be of pages: rows stand on some, all are read of one state, and keys are told apart."""
        plain = (
            self.plan.table.paged and bool(self.plan.key) and self.plan.key_is_proven and self.partitioning.one_state
        )
        return plain and not self.plan.option("per_poll")

    def with_old_digest(self, was: Sequence[Column]) -> IdRcs:
        """This strategy, whose images bring the digest over the columns `was` as well, of the same read."""
        made = copy.copy(self)
        made.was, made.extra = tuple(was), (*self.extra, ("old_digest", "bigint"))
        return made

    def row_checksums(self) -> IdRcs:
        """The strategy whose checksums are those of whole rows, as `verify` compares them."""
        return self

    @property
    def stored_columns(self) -> Sequence[Column]:
        """The captured columns whose values the replica has, beside each row's digest."""
        return self.plan.captured if self.keeps == "rows" else self.plan.key

    def estimate(self) -> Estimate:
        """R*N + size(aux) + delta*M (paper, table 3): one scan of digests; aux and replica live outside the source."""
        table = self.plan.table
        return Estimate(table.pages, table.rows, "R*N", "count and checksum of each range")

    def freeze_options(self, remembered: Mapping[str, Any] | None) -> StreamPlan:
        """What ranges are of: as at prepare, or as a poll found better; there as the user says, or by the catalog."""
        if not self.by_hash:
            return self.plan
        said = self.plan.option(BUCKETS)
        # streams prepared before there was a choice remember none
        kind = (said or self._suited()) if remembered is None else remembered.get(BUCKETS, "key")
        return self.plan.with_options(**{BUCKETS: kind, FIXED: said is not None})

    def frozen_options(self) -> dict[str, Any]:
        """Which ranges those of the checkpoint are."""
        kind = next(name for name, cut in CUTS.items() if isinstance(self.partitioning, cut))
        return {BUCKETS: kind} if self.by_hash else {}

    def _suited(self) -> str:
        """What ranges had better be of: pages where the key does not follow them, or a hash where that cannot be."""
        if not self._scattered():
            return "key"
        return "page" if self.is_by_pages else "hash"

    def digests(self) -> str:
        """The captured rows as a FROM item with `qbcd_digest`: what every checksum sums."""
        return self.partitioning.digests()

    def images(self, ranges: Sequence[KeyRange], part: Share = WHOLE, *, typed: bool) -> Statement:
        """Rows of `ranges` with key identity, digest and wire-form values c0..cn, each digest from its row's own read.

        Rows without a key have no identity but their digest. With `typed`, column `untravelled` names the positions of
        values that no typed sink can take.
        """
        return self.partitioning.rows(ranges, self._outputs(typed), "row_images", part, typed=typed, **self._digests())

    def row_fingerprints(self, ranges: Sequence[KeyRange], part: Share = WHOLE) -> Statement:
        """Rows (range_id, key_id, digest, k0..kn) of `ranges`: of each row its digest, and what it is found by."""
        texts = [f"t.qbcd_k{i} AS k{i}" for i in range(len(self.plan.key))]
        select = ["t.qbcd_key_id AS key_id", "t.qbcd_digest AS digest", *texts]
        return self.partitioning.rows(ranges, select, "row_marks", part)

    def recent_keys(self, ranges: Sequence[KeyRange], part: Share = WHOLE, *, since: str, most: int) -> Statement:
        """Rows (range_id, key_id, k0..kn) of `ranges` that were written at or after a mark of the source's, or `most`.

        Asked of tables that are `paged`, where a connector has leaves.
        """
        texts = [f"t.qbcd_k{i} AS k{i}" for i in range(len(self.plan.key))]
        found = self.partitioning.rows(
            ranges, ["t.qbcd_key_id AS key_id", *texts], "row_marks", part, written_since=since
        )
        return Statement(f"SELECT q.* FROM (\n{found.sql}\n) AS q LIMIT {most:d}")

    def images_of(self, keys: Sequence[Sequence[str]], *, typed: bool) -> Statement:
        """As `images`, without their ranges, of the rows with `keys`, which `marks` gave."""
        relation = self.partitioning.relation("row_images", typed=typed, hashed=False, **self._digests())
        return Statement(
            self.connector.require(SupportsKeyLookup).of_keys(self._outputs(typed), relation, self.plan.key, keys)
        )

    def _digests(self) -> dict[str, Any]:
        """Which digests images bring beside that of the row."""
        return {"keyed": any(name == "key_digest" for name, _ in self.extra), "was": self.was}

    def _outputs(self, typed: bool) -> list[str]:
        columns = [f"t.qbcd_{i} AS c{i}" for i in range(len(self.plan.captured))]
        identity = ["t.qbcd_key_id AS key_id"] if self.plan.key else []
        untravelled = ["t.qbcd_untravelled AS untravelled"] if typed else []
        extra = [f"t.qbcd_{name} AS {name}" for name, _ in self.extra]
        return [*identity, "t.qbcd_digest AS digest", *columns, *untravelled, *extra]

    def key_problems(self, within: KeyRange | None = None) -> Statement:
        """(keys_more_than_once, keys_null) of the table; for keys that the catalog does not vouch for."""
        return compile_sql(self._canonical("key_problems"), self.connector, self.plan)

    def null_keys(self) -> Statement:
        """(keys_null) of the table: rows that no key tells apart, and that lie in no range of it."""
        return compile_sql(self._canonical("null_keys"), self.connector, self.plan)

    def warnings(self) -> list[str]:
        """What makes this strategy dearer than it needs to be."""
        follows = self.partitioning.key_follows()
        if self.partitioning.hashed or self.partitioning.paged or follows is None or follows >= CORRELATION_FLOOR:
            return []
        what = "the rows of ranges that differ" if self.partitioning.is_placed else "all rows"
        return [
            f"key {self.plan.key[0].name} does not follow the table's physical order (correlation {follows:.2f}): "
            f"a poll reads {what} out of order, which costs several plain scans; `buckets: page`, `buckets: "
            "hash` and mds do not depend on it"
        ]

    def _scattered(self) -> bool:
        """Whether neighbours by the key stand anywhere in the table, by the catalog, or there is no key."""
        if not self.plan.key:
            return True
        follows = self.partitioning.key_follows()
        if follows is not None:
            return follows < CORRELATION_FLOOR
        return self.plan.key[0].base_type in self.connector.random_key_types

    def _canonical(self, template: str, *, beyond: bool = False) -> str:
        plan = self.plan
        return render(template, table=plan.table, key=plan.key, captured=plan.captured, ranged=False, beyond=beyond)
