"""ID/RCS, incremental differencing with range checksums (Carnes & Hanson 3.6, figure 8).

It needs SELECT alone. One statement returns count and checksum of every range; only rows of dirty ranges leave the
source. Range checksums are sums of sound 64-bit row digests (docs/paper.md#c20).
Ranges are of the key (`qbcd.strategies.partitions.key`), of its hash (`qbcd.strategies.partitions.hash`) or of the
table's pages (`qbcd.strategies.partitions.page`), chosen at prepare.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import model_validator
from typing_extensions import override

from qbcd.config.document import Problem
from qbcd.config.fields import Count, wrong
from qbcd.config.strategy_base import Needs, ReplicaOptions, StrategyClass, StrategyUse, Variant, VisitOptions
from qbcd.connectors.base import Connector
from qbcd.connectors.ranges import SupportsKeyLookup
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.model import Column, KeyRange, Statement, StreamPlan
from qbcd.ranges.partition import size_for
from qbcd.sql import compile_sql, render
from qbcd.strategies import costs
from qbcd.strategies.amounts import NONE, Amount, lifted
from qbcd.strategies.base import ReplicaContent, TableStrategy
from qbcd.strategies.partitions.base import WHOLE, Partitioning, Share
from qbcd.strategies.partitions.hash import HashPartitioning
from qbcd.strategies.partitions.key import KeyPartitioning
from qbcd.strategies.partitions.page import PagePartitioning
from qbcd.strategies.reads import ASSUMED_SPEED, ChangeRate, Reads, TableFacts, scanned

FURTHER_READS = 3.0  # of a dirty range: leaf checksums, keys with digests, rows
CORRELATION_FLOOR = 0.5  # below it a key-range scan reads heap pages out of order, which costs several sequential scans
BUCKETS = "buckets"  # the option
FIXED = "buckets_fixed"  # in a plan, next to it: the user has set the kind
PARTITIONINGS: Mapping[str, type[Partitioning]] = {
    "key": KeyPartitioning,
    "hash": HashPartitioning,
    "page": PagePartitioning,
}
SEES_BY_DIGEST = "every insert, update and delete, as the net change between two polls; of old rows the key alone"

# of `pace` and `per_poll`
SCANNED = "is for ranges of the key: buckets of its hash are all answered for by one scan of the table"
# of `consistency: range` and `per_poll`
MOVING = (
    "is for ranges in which rows stay: an update may move a row to another page, so all ranges are compared at once"
)


class IdRcsOptions(ReplicaOptions, VisitOptions):
    """Options of the strategy that compares range checksums.

    Attributes:
        rows_per_range: Rows that a range holds when ranges are built; default: by the table's size.
        buckets: Kind of ranges: of the key, of its hash, or of the table's pages; default: chosen at `prepare`.
        consistency: ``range`` if each range may be read in its own state; default: one state if possible.
    """

    meaning = ("buckets", "replica", "digest")
    reads_rows: ClassVar[Mapping[str, tuple[Any, ...]]] = {
        "buckets": (None, "key", "hash"),
        "per_poll": (None,),
        "consistency": (None, "range", "snapshot"),
    }
    preference = 70
    varying = ("replica",)

    type: Literal["id_rcs"] = "id_rcs"
    rows_per_range: Count | None = None
    buckets: Literal["key", "hash", "page"] | None = None
    consistency: Literal["snapshot", "range"] | None = None

    @model_validator(mode="after")
    def _of_the_key(self) -> IdRcsOptions:
        if self.pace.per_second is not None:
            what = "`per_second` is for strategies that compare one range at a time, and here one statement reads many"
            raise wrong(what, "write {target: 500ms}, with `nice_ratio` where it is to rest", at="pace")
        by_parts = [name for name in ("pace", "per_poll") if name in self.model_fields_set]
        if self.buckets == "hash" and by_parts:
            raise wrong(f"`{by_parts[0]}` {SCANNED}", "remove it, or write `buckets: key`", at=by_parts[0])
        if self.buckets == "page" and "per_poll" in by_parts:
            raise wrong(f"`per_poll` {MOVING}", "remove it, or write `buckets: key`", at="per_poll")
        if self.buckets == "page" and self.consistency == "range":
            raise wrong(f"`consistency: range` {MOVING}", "remove it, or write `buckets: key`", at="consistency")
        return self

    @classmethod
    @override
    def variants(cls, needs: Needs) -> list[Variant]:
        return [Variant(), Variant({"replica": "digest"}, "replica digest")]

    @classmethod
    @override
    def frozen_value(cls, name: str, value: Any) -> Any:
        """Freeze a replica of rows as None, as in streams prepared before there was a choice."""
        return None if (name, value) == ("replica", "rows") else super().frozen_value(name, value)

    @property
    @override
    def options(self) -> dict[str, Any]:
        """All options; `target` is None without `pace`: then as few statements as possible."""
        values = super().options
        return values if "pace" in self.model_fields_set else {**values, "target": None}

    @property
    @override
    def compares_digests(self) -> bool:
        """True: polls compare sums of digests, an audit each row."""
        return True

    @override
    def problems(self, use: StrategyUse) -> Iterator[Problem]:
        """Yield a problem if rows without a key have a digest replica, or ranges of keys or pages."""
        if use.key != ():
            return
        if self.replica == "digest":
            what = "the delete of a row without a key would show nothing of the row"
            what = f"{what}: with `replica: digest` it has no old values"
            yield use.table_problem("key", what, "write `replica: rows`, or name the columns that identify a row")
        elif self.buckets == "key":
            what = "there can be no ranges of a key that rows do not have"
            yield use.table_problem("key", what, "remove `buckets: key`, or name the columns that identify a row")
        elif self.buckets == "page":
            what = "ranges of pages need keys, which identify rows that move among them"
            yield use.table_problem("key", what, "remove `buckets: page`, or name the columns that identify a row")

    @classmethod
    @override
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """ID/RCS."""
        return IdRcs


LakePollMode = Literal["table", "window", "queue"]


class IdRcs(TableStrategy):
    """Statements of ID/RCS for one stream.

    Attributes:
        poll_mode: Checksums of ranges, a window of timestamps, or a queue of changed rows in the source.
    """

    name = "id_rcs"
    site = "lake"
    statements = (12, 11)
    ships_unchanged = "count and checksum of each range"
    needs = "SELECT on the table; a key, or rows that all their values identify; nothing is written to the source"
    sees: str = "every insert, update and delete, with old and new values, as the net change between two polls"
    misses: str = "states between two polls (a row inserted and deleted again leaves no event)"

    poll_mode: LakePollMode = "table"
    by_hash = True  # ranges may be of the key's hash
    checksum_template = "row_digests"  # template of the rows that checksums add up
    summed = "digest"  # column of fetched rows; a range's checksum is its sum
    extra: tuple[tuple[str, str], ...] = ()  # (name, Spark's type) of further columns of a fetched row
    was: tuple[Column, ...] = ()  # columns of a second digest, fetched in addition to the row's own
    deletes = True  # deletes are reported

    def __init__(self, connector: Connector, plan: StreamPlan) -> None:
        super().__init__(connector, plan)
        self.partitioning = PARTITIONINGS[plan.option(BUCKETS) or "key"](connector, plan, self.checksum_template)
        # a poll of some ranges may report only half of a transaction that changed two
        self.consistency = "snapshot" if self.partitioning.one_state and not plan.option("per_poll") else "range"
        self.keeps: ReplicaContent = "digests" if plan.option("replica") == "digest" else "rows"
        if self.keeps == "digests":
            self.sees, self.misses = SEES_BY_DIGEST, f"{type(self).misses}; old values and the names of changed columns"

    @classmethod
    def of(cls, connector: Connector, plan: StreamPlan, schema: str) -> IdRcs:
        """Return the strategy of `plan`.

        `schema` is qbcd's own in the source, for a strategy that has tables there.
        """
        return cls(connector, plan)

    @override
    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check that the source can be read according to the options.

        Raises:
            ConfigError: An option does not fit the source.
        """
        if self.plan.option("consistency") == "snapshot" and not self.connector.supports(SupportsSnapshots):
            what = "sessions of this database share no snapshot"
            raise self._wrong("consistency", place, what, "remove it; each range is then of one state")
        if self.plan.option("consistency") == "snapshot" and self.plan.table.remote:
            what = "rows of it are on another server, which has snapshots of its own"
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
        """Check that ranges of pages are possible.

        Rows move among such ranges, so polls need one state of a stored table, and keys that identify rows.
        """
        other = "remove it, or prepare the stream with `buckets: key` or `hash`"
        if self.plan.option("per_poll"):
            raise self._wrong("per_poll", place, f"`per_poll` {MOVING}", other)
        if self.plan.option("consistency") == "range":
            raise self._wrong("consistency", place, f"`consistency: range` {MOVING}", other)
        if self.plan.option(FIXED) and not self.is_by_pages:
            what = f"{self.plan.table.name} is no table whose rows can be read by pages, or no index proves its key"
            raise self._wrong(BUCKETS, place, what, f"remove `{BUCKETS}: page`")

    @property
    def is_by_pages(self) -> bool:
        """True if ranges can be of pages.

        The table has pages, keys are proven, and all rows are read in one state.
        """
        plain = (
            self.plan.table.paged and bool(self.plan.key) and self.plan.key_is_proven and self.partitioning.one_state
        )
        return plain and not self.plan.option("per_poll")

    def with_old_digest(self, was: Sequence[Column]) -> IdRcs:
        """Return this strategy with images that also have the digest over the columns `was`.

        One read computes both digests.
        """
        made = copy.copy(self)
        made.was, made.extra = tuple(was), (*self.extra, ("old_digest", self.plan.digest_type))
        return made

    @property
    def stored_columns(self) -> Sequence[Column]:
        """The captured columns whose values the replica keeps, in addition to the row digest."""
        return self.plan.captured if self.keeps == "rows" else self.plan.key

    @override
    def reads(self, facts: TableFacts) -> Reads:
        """Return R*N, and the dirty ranges again.

        The paper reads none of them again: it ships all of their rows.

        The paper has R*N + size(aux) + delta*M (table 3); here aux and replica are outside of the source.
        """
        plan, size = self.plan, self._rows_per_range(facts)
        scan = scanned(facts, restricted=bool(plan.where))
        keyed = not (self.partitioning.hashed or self.partitioning.paged)
        once = scan.pages + (facts.key_pages(plan.key) if keyed and plan.key and not plan.where else NONE)

        def pages(change: ChangeRate) -> Amount:
            low = costs.dirty_ranges(size, min(change.delta.low, 1.0), change.clustered.high)
            high = costs.dirty_ranges(size, min(change.delta.high, 1.0), change.clustered.low)
            return once + once * Amount.between(low, high) * FURTHER_READS

        target = plan.option("target")
        longest = once if not target else once.at_most(target.total_seconds() * ASSUMED_SPEED)
        found = Reads(f"{scan.text} + dirty ranges again", scan.symbols, pages, longest)
        return self._with_checksums(found, facts)

    def _with_checksums(self, found: Reads, facts: TableFacts) -> Reads:
        """Return the reads of a strategy that ships checksums of ranges.

        It keeps its replica in the lake.
        """
        size = self._rows_per_range(facts)
        ranges = lifted(lambda rows: max(1.0, rows / size), facts.restricted_rows)
        return replace(found, workdir_room=self.replica_pages(facts), checksums=ranges)

    def _rows_per_range(self, facts: TableFacts) -> float:
        return float(self.plan.option("rows_per_range") or size_for(round(min(facts.rows.middle, 1e12))))

    @override
    def freeze_options(self, remembered: Mapping[str, Any] | None) -> StreamPlan:
        """Return the plan with its kind of ranges.

        The checkpoint has the kind from prepare, or a better one that a poll found. Before the baseline, the user or
        the catalog decides.
        """
        if not self.by_hash:
            return self.plan
        given = self.plan.option(BUCKETS)
        # streams prepared by an early version have no kind in the checkpoint
        kind = (given or self._suited()) if remembered is None else remembered.get(BUCKETS, "key")
        return self.plan.with_options(**{BUCKETS: kind, FIXED: given is not None})

    @override
    def frozen_options(self) -> dict[str, Any]:
        """Return the kind of the checkpoint's ranges; empty if the strategy has no choice."""
        kind = next(name for name, one in PARTITIONINGS.items() if isinstance(self.partitioning, one))
        return {BUCKETS: kind} if self.by_hash else {}

    def _suited(self) -> str:
        """Return the best kind of ranges for the table that fits the options.

        `key` if the key follows the storage order; otherwise `page`, or the best kind without pages.
        """
        if not self.is_scattered:
            return "key"
        return "page" if self.is_by_pages else self.without_pages

    @property
    def without_pages(self) -> str:
        """The kind of ranges for a scattered key if pages are not possible.

        That is `hash`, unless an option reads some ranges at a time, which buckets of a hash cannot do.
        """
        by_parts = self.plan.option("per_poll") or self.plan.option("target")
        return "key" if self.plan.key and by_parts else "hash"

    def digests(self) -> str:
        """Return the captured rows as a FROM item with `qbcd_digest`, which every checksum adds up."""
        return self.partitioning.digests()

    def images(self, ranges: Sequence[KeyRange], part: Share = WHOLE, *, typed: bool) -> Statement:
        """Return the query for rows of `ranges` with key identity, digest and wire values c0..cn.

        Each digest is from the same read as its row. The digest is the only identity of rows without a key. With
        `typed`, column `untravelled` names the positions of values that no typed sink can hold.
        """
        return self.partitioning.rows(ranges, self._outputs(typed), "row_images", part, typed=typed, **self._digests())

    def row_fingerprints(self, ranges: Sequence[KeyRange], part: Share = WHOLE) -> Statement:
        """Return the query for rows (range_id, key_id, digest, k0..kn) of `ranges`; k are key texts."""
        texts = [f"t.qbcd_k{i} AS k{i}" for i in range(len(self.plan.key))]
        select = ["t.qbcd_key_id AS key_id", "t.qbcd_digest AS digest", *texts]
        return self.partitioning.rows(ranges, select, "row_marks", part)

    def row_digests(self, ranges: Sequence[KeyRange], part: Share = WHOLE) -> Statement:
        """Return the query for rows (range_id, key_id, digest) of `ranges`.

        It is available without lookups by key too.
        """
        select = ["t.qbcd_key_id AS key_id", "t.qbcd_digest AS digest"]
        return self.partitioning.rows(ranges, select, "row_images", part, typed=False, **self._digests())

    def recent_keys(self, ranges: Sequence[KeyRange], part: Share = WHOLE, *, since: str, most: int) -> Statement:
        """Return the query for at most `most` recently written rows (range_id, key_id, k0..kn).

        That is at or after `since`, a watermark of the source's. It is used for tables that are `paged`, if the
        connector has leaves.
        """
        texts = [f"t.qbcd_k{i} AS k{i}" for i in range(len(self.plan.key))]
        found = self.partitioning.rows(
            ranges, ["t.qbcd_key_id AS key_id", *texts], "row_marks", part, written_since=since
        )
        return Statement(f"SELECT q.* FROM (\n{found.sql}\n) AS q LIMIT {most:d}")

    def images_of(self, keys: Sequence[Sequence[str]], *, typed: bool) -> Statement:
        """Return the query for rows as in `images`, by the texts of `row_fingerprints`.

        The rows have no range_id.
        """
        relation = self.partitioning.relation("row_images", typed=typed, hashed=False, **self._digests())
        return Statement(
            self.connector.require(SupportsKeyLookup).of_keys(self._outputs(typed), relation, self.plan.key, keys)
        )

    def _digests(self) -> dict[str, Any]:
        """Return the template variables for digests in addition to the row's own."""
        return {"keyed": any(name == "key_digest" for name, _ in self.extra), "was": self.was}

    def _outputs(self, typed: bool) -> list[str]:
        columns = [f"t.qbcd_{i} AS c{i}" for i in range(len(self.plan.captured))]
        identity = ["t.qbcd_key_id AS key_id"] if self.plan.key else []
        untravelled = ["t.qbcd_untravelled AS untravelled"] if typed else []
        extra = [f"t.qbcd_{name} AS {name}" for name, _ in self.extra]
        return [*identity, "t.qbcd_digest AS digest", *columns, *untravelled, *extra]

    @override
    def key_problems(self, within: KeyRange | None = None) -> Statement:
        return compile_sql(self._canonical("key_problems"), self.connector, self.plan)

    @override
    def null_keys(self) -> Statement:
        return compile_sql(self._canonical("null_keys"), self.connector, self.plan)

    @override
    def warnings(self) -> list[str]:
        """Return a warning if the key does not follow the storage order."""
        follows = self.partitioning.key_follows()
        if self.partitioning.hashed or self.partitioning.paged or follows is None or follows >= CORRELATION_FLOOR:
            return []
        what = "the rows of dirty ranges" if self.partitioning.is_placed else "all rows"
        limiting = {"per_poll": "`per_poll`", "target": "`pace`"}
        needing = " and ".join(shown for name, shown in limiting.items() if self.plan.option(name))
        others = f"without {needing}, `buckets" if needing else "`buckets"
        return [
            f"key {self.plan.key[0].name} does not follow the table's physical order (correlation {follows:.2f}): "
            f"a poll reads {what} out of order, which costs several plain scans; {others}: page`, `buckets: "
            "hash` and mds do not depend on it"
        ]

    @property
    def is_scattered(self) -> bool:
        """True if neighbors by key are scattered over the table, or there is no key.

        The catalog decides, or the type of the key if the catalog does not know.
        """
        if not self.plan.key:
            return True
        follows = self.partitioning.key_follows()
        if follows is not None:
            return follows < CORRELATION_FLOOR
        return self.plan.key[0].base_type in self.connector.random_key_types

    def _canonical(self, template: str, *, beyond: bool = False) -> str:
        plan = self.plan
        return render(template, table=plan.table, key=plan.key, captured=plan.captured, ranged=False, beyond=beyond)
