"""VBD, view-based differencing (Carnes & Hanson 4): its options, which choose the variant."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import timedelta
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import override

from qbcd.config.document import Problem
from qbcd.config.fields import Count, Interval, TableName, split_table, wrong
from qbcd.config.strategy_base import Needs, ReplicaOptions, StrategyClass, StrategyUse, Variant
from qbcd.config.strategy_values import Columns, Deletes, FixedZone
from qbcd.strategies.incremental.vbd_delta import VbdDelta
from qbcd.strategies.vbd_whole import VbdChecksum, VbdCompare, VbdDigest


class VbdOptions(ReplicaOptions):
    """Options of the strategy that captures the result of a query (paper section 4).

    Attributes:
        variant: The way to compare the result; ``auto`` chooses by the source at prepare.
        buckets: Ranges of the key or of its hash, for variant checksum; default: the hash.
        rows_per_range: Rows of a range when ranges are built, for variant checksum.
        timestamps: Timestamp columns of tables that the query reads, by table name, for variant delta.
        zone: The zone of timestamps without zone, ``UTC`` or ``+HH:MM``.
        margin: Distance of watermarks from the oldest open transaction and the clock.
        lag: Distance from the clock if open transactions cannot be seen; rows that commit later are lost.
        deletes: Schedule of the search for rows deleted from tables with a timestamp; never without it.
    """

    reads_query = True
    preference = 80
    varying = ("replica",)
    meaning = ("variant", "replica", "digest", "buckets", "timestamps", "zone")
    reads_rows: ClassVar[Mapping[str, tuple[Any, ...]]] = {"variant": ("auto", "compare"), "timestamps": ({},)}

    type: Literal["vbd"] = "vbd"
    variant: Literal["auto", "compare", "checksum", "delta"] = "auto"
    buckets: Literal["key", "hash"] | None = None
    rows_per_range: Count | None = None
    timestamps: dict[TableName, Columns] = Field(default_factory=dict)
    zone: FixedZone | None = None
    margin: Interval = timedelta(seconds=1)
    lag: Interval | None = None
    deletes: Deletes | None = None

    @model_validator(mode="after")
    def _fits_variant(self) -> VbdOptions:
        for name in ("buckets", "rows_per_range"):
            if getattr(self, name) is not None and self.variant in ("compare", "delta"):
                raise wrong(f"`{name}` goes with variant checksum only", "remove it", at=name)
        if self.replica == "digest" and self.variant != "compare":
            raise wrong("`replica: digest` goes with variant compare only", "write `variant: compare`", at="replica")
        given = self.model_fields_set & {"timestamps", "zone", "margin", "lag", "deletes"}
        if given and self.variant in ("compare", "checksum"):
            raise wrong(f"`{min(given)}` goes with variant delta only", "remove it", at=min(given))
        if len({_plain(table) for table in self.timestamps}) < len(self.timestamps):
            raise wrong("a table is named twice", "keep one of them", at="timestamps")
        if self.lag is not None and self.lag <= self.margin:
            what = "`lag` must be longer than `margin`, which is 1s where it is not given"
            raise wrong(what, "write as lag how long the longest transaction may take", at="lag")
        if self.deletes is not None and self.deletes.every is None:
            raise wrong("`deletes: only` is for a table", "write how often: {every: 1h}", at="deletes")
        return self

    @classmethod
    @override
    def variants(cls, needs: Needs) -> list[Variant]:
        return [Variant(), Variant({"variant": "compare", "replica": "digest"}, "replica digest")]

    @classmethod
    @override
    def frozen_value(cls, name: str, value: Any) -> Any:
        """Freeze `timestamps` as lists, and a replica of rows as None, as before there was a choice."""
        if (name, value) == ("replica", "rows"):
            return None
        frozen = super().frozen_value(name, value)
        return [[table, list(columns)] for table, columns in value] if name == "timestamps" else frozen

    @property
    @override
    def options(self) -> dict[str, Any]:
        """All options; `variant` may be None, `timestamps` are pairs, `deletes` is an interval."""
        return {
            **super().options,
            "variant": None if self.variant == "auto" else self.variant,
            "timestamps": tuple(sorted((_plain(table), columns) for table, columns in self.timestamps.items())),
            "deletes": self.deletes.every if self.deletes else None,
        }

    @property
    @override
    def is_its_own_audit(self) -> bool:
        """True for variants compare and checksum, which compare the whole result."""
        return self.variant != "delta" and not (self.variant == "auto" and self.timestamps)

    @property
    @override
    def compares_digests(self) -> bool:
        """True for variant checksum: polls compare sums of digests, an audit each row."""
        return self.variant == "checksum"

    @override
    def problems(self, use: StrategyUse) -> Iterator[Problem]:
        """Yield the problems of a missing key, except for variant checksum, which needs none."""
        if self.variant not in ("auto", "checksum"):
            yield from super().problems(use)

    @classmethod
    @override
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """Return the variant's class; that of `compare` until the source has decided."""
        if options.get("replica") == "digest":
            return VbdDigest
        variants: dict[str, StrategyClass] = {"checksum": VbdChecksum, "delta": VbdDelta}
        return variants.get(options.get("variant") or "", VbdCompare)


def _plain(table: str) -> str:
    """Return a table's name without quotes."""
    return ".".join(filter(None, split_table(table)))
