"""TS, simple timestamps (Carnes & Hanson 3.2.1): find rows by a column that grows.

It cannot see a delete, because a deleted row has no timestamp; a sweep over the keys finds deletes (`deletes`). The
replica is in the source, or in the lake, where it is the replica and the ranges of ID/RCS: then the source is only
read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Literal

from pydantic import model_validator
from typing_extensions import override

from qbcd.config.document import Problem
from qbcd.config.fields import Count, wrong
from qbcd.config.strategy_base import Needs, StrategyClass, StrategyUse, Variant
from qbcd.config.strategy_values import ONLY, Deletes, place_of
from qbcd.connectors.base import Connector
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.sql import compile_sql
from qbcd.strategies.amounts import NONE
from qbcd.strategies.base import ReplicaContent
from qbcd.strategies.id_rcs import IdRcs
from qbcd.strategies.partitions.base import WHOLE, Share
from qbcd.strategies.reads import Reads, TableFacts
from qbcd.strategies.watermarked import UNNAMED, Watermarked, WatermarkOptions, in_literals
from qbcd.watermark import Window

SWEEP = "1h"  # interval of sweeps for deletes, which a timestamp does not show, if `auto` chooses
KEPT: dict[str, ReplicaContent] = {"source": "rows", "lake": "rows", "keys": "keys", "none": "nothing"}
_ROOM: dict[ReplicaContent, str] = {
    "rows": ", with room for a copy of the captured rows",
    "keys": ", with room for the keys",
    "nothing": "",
}
_SEES: dict[ReplicaContent, str] = {
    "rows": "every insert and update, with old and new values",
    "keys": "every insert and update, without old values; rows near the watermark may come again",
    "nothing": "new values of every row that was inserted or updated, as op u; rows near the watermark may come again",
}


class TsOptions(WatermarkOptions):
    """Options of the strategy that reads new rows by their timestamp (paper section 3.2.1).

    Attributes:
        replica: Place and content of the replica: all values in the source or in the lake, keys only, or nothing.
        deletes: Schedule of the search for deleted rows; never without it.
        counter: ``table`` if the user guarantees that an integer timestamp grows over the whole table.
        rows_per_range: Rows of a range of the key, for sweeps by ranges.
    """

    meaning = ("timestamp", "zone", "replica", "counter", "deletes")
    example = "write {type: ts, timestamp: updated_at}"
    preference = 30
    varying = ("replica",)
    reads_rows: ClassVar[Mapping[str, tuple[Any, ...]]] = {"replica": ("source", "lake"), "counter": (None,)}

    type: Literal["ts"] = "ts"
    replica: Literal["source", "lake", "spark", "keys", "none"] = "source"
    deletes: Deletes | None = None
    counter: Literal["table"] | None = None
    rows_per_range: Count | None = None

    @model_validator(mode="after")
    def _sweep_against_keys(self) -> TsOptions:
        if self.deletes is not None and self.replica == "none":
            what = "without a replica there is nothing to find deleted rows by"
            raise wrong(what, "write `replica: keys`, or remove `deletes`", at="deletes")
        if self.deletes is not None and self.deletes.every is None and place_of(self.replica) == "lake":
            what = "`deletes: only` goes with a replica in the source"
            raise wrong(what, "write how often: {every: 1h}, or remove `replica`", at="deletes")
        return self

    @classmethod
    @override
    def variants(cls, needs: Needs) -> list[Variant]:
        if not needs.timestamp_options:
            return [Variant(missing=UNNAMED)]
        sweep = {"deletes": {"every": SWEEP}} if needs.finds_deletes else {}
        place = {} if needs.write_source else {"replica": "lake"}
        return [Variant({**needs.timestamp_options, **sweep, **place})]

    @classmethod
    @override
    def frozen_value(cls, name: str, value: Any) -> Any:
        """Freeze `deletes: only` alone; sweeps, and their interval, may change."""
        if name == "deletes":
            return ONLY if value == ONLY else None
        return super().frozen_value(name, value)

    @property
    @override
    def options(self) -> dict[str, Any]:
        """All options; `deletes` is an interval, ``only``, or None; `spark` means the lake."""
        return {
            **super().options,
            "replica": place_of(self.replica),
            "deletes": self.deletes and (self.deletes.every or ONLY),
        }

    @property
    @override
    def without_old_values(self) -> str:
        """The reason if the replica is not full, or only keeps keys to find deletes."""
        if self.options["deletes"] == ONLY:
            return "`deletes: only` keeps keys"
        kept = {"keys": "the replica holds keys only", "none": "there is no replica"}
        return kept.get(self.replica, "")

    @property
    @override
    def old_values_remedy(self) -> str:
        """A full replica, or periodic sweeps instead of `deletes: only`."""
        return "write how often under `deletes`" if self.options["deletes"] == ONLY else "`replica: source`"

    @property
    @override
    def keeps_nothing(self) -> bool:
        """True without a replica."""
        return self.replica == "none"

    @property
    @override
    def is_its_own_audit(self) -> bool:
        """True if each poll compares all keys."""
        return bool(self.options["deletes"] == ONLY)

    @override
    def problems(self, use: StrategyUse) -> Iterator[Problem]:
        """Yield a problem if there is a restriction and no replica."""
        yield from super().problems(use)
        if self.replica == "none" and use.where:
            what = "with `replica: none` a row that leaves the restriction looks like one that was never in it"
            yield use.table_problem("where", what, "write `replica: keys`, or remove `where`")

    @classmethod
    @override
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """Return TS with its replica in the source or in the lake."""
        return LakeTs if options.get("replica") == "lake" else Ts


class Ts(Watermarked):
    """Statements of TS for one stream."""

    name = "ts"

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan, schema)
        self.keeps = KEPT[str(plan.option("replica") or "source")]
        self.deletes: Any = plan.option("deletes")
        self.blind_to_deletes = self.deletes != "only"
        if self.deletes == "only":
            self.poll_mode, self.keeps, self.consistency = "ranges", "keys", "range"
        self.needs = (
            "SELECT on the table with a column that grows over the whole table, best with an index on it; the "
            f"right to see all sessions; a schema of qbcd's own in the source{_ROOM[self.keeps]}"
        )
        self.sees = _SEES[self.keeps] if self.deletes != "only" else "deletes only, by a sweep over the keys"
        self.misses = "states between two polls; rows that are written without moving their timestamp" + (
            "; deletes" if not self.deletes else ""
        )

    @override
    def adopt(self, within: KeyRange) -> list[Statement]:
        """Add keys that are new in a range to the replica, without an event, for `deletes: only`."""
        return [self._compiled("replica_adopt", within=within)] if self.deletes == "only" else []

    @override
    def change_problem(self, *, columns: bool, where: bool) -> str:
        """Return the problem of another restriction with `deletes: only`, which a sweep ignores."""
        problem = "`deletes: only` finds deleted keys, and does not report rows that leave the restriction"
        return problem if where and self.deletes == "only" else ""

    @override
    def warnings(self) -> list[str]:
        """Warn that deletes stay unseen if nothing looks for them."""
        if self.deletes:
            return []
        return [
            "a timestamp cannot show a deleted row, and nothing else looks for it: this stream sees no deletes "
            "(deletes: {every: 1h} sweeps for them; tdi reads a delete flag)"
        ]


class LakeTs(IdRcs):
    """Statements of TS with ``replica: lake``.

    Attributes:
        watermarked: TS over the same plan, for the timestamp and its safe high watermark.
    """

    name = "ts"
    needs = (
        "SELECT on the table with a column that grows over the whole table, best with an index on it; the right to see "
        "all sessions; nothing is written to the source"
    )
    poll_mode = "window"
    statements = (14, 13)
    ships_unchanged = "nothing"
    by_hash = False  # a window finds a row's range by its key
    summed = "key_digest"
    checksum_template = "key_digests"  # the digest of the key alone, of restricted rows: what sweeps compare
    extra = (("key_digest", "bigint"),)

    def __init__(self, connector: Connector, plan: StreamPlan) -> None:
        super().__init__(connector, plan)
        self.watermarked = Ts(connector, plan, "")
        self.sees, self.misses = self.watermarked.sees, self.watermarked.misses

    @override
    def key_problems(self, within: KeyRange | None = None) -> Statement:
        """Find key problems as TS does: also between rows outside and inside of the restriction."""
        return compile_sql(self._canonical("key_problems", beyond=bool(self.plan.where)), self.connector, self.plan)

    @override
    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check the timestamp as TS does; there is no outbox that the columns must fit.

        Raises:
            ConfigError: The column cannot be a timestamp.
        """
        self.watermarked.check_timestamps(place)

    @override
    def reads(self, facts: TableFacts) -> Reads:
        """Return the reads of TS without a replica in the source."""
        return replace(self.watermarked.window_reads(facts, NONE), workdir_room=self.replica_pages(facts))

    @override
    def warnings(self) -> list[str]:
        """Return the warnings of TS."""
        return self.watermarked.warnings()

    def keys(self, ranges: Sequence[KeyRange], part: Share = WHOLE) -> Statement:
        """Return the query for (range_id, key_id, key_digest) of all keys in `ranges`, unrestricted."""
        select = ["t.qbcd_key_id AS key_id", "t.qbcd_key_digest AS key_digest"]
        return self.partitioning.rows(ranges, select, "key_images", part)

    def window_images(self, ranges: Sequence[KeyRange], window: Window, *, typed: bool) -> Statement:
        """Return the query for rows of a window as in `images`, with range_id and `shown`.

        `shown` is 1 if the row is in the restriction.

        `ranges` are all ranges. One statement reads the window once.
        """
        outputs = [*self._outputs(typed), "t.qbcd_in AS shown"]
        rows = in_literals(self.watermarked.window_images(window, typed=typed))
        range_id = self.connector.ranges.range_of(self.plan.key, "t", ranges)
        return Statement(f"SELECT {range_id} AS range_id, {', '.join(outputs)}\nFROM (\n{rows}\n) AS t")

    def settled_images(self, ranges: Sequence[KeyRange], window: Window, *, typed: bool) -> Statement:
        """Return the query for rows of `ranges` as in `images`, with `shown` and `settled`.

        Rows in `window` are settled. The others are included regardless of the restriction.
        """
        outputs = [*self._outputs(typed), "t.qbcd_in AS shown", "t.qbcd_settled AS settled"]
        rows = in_literals(self.watermarked.settled_images(window, typed=typed))
        return Statement(self.connector.ranges.per_range(outputs, f"({rows})", self.plan.key, ranges, aggregate=False))
