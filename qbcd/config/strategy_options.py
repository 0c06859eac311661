"""The options of each strategy, and what they must hold among themselves.

Fields are named as users write them; `StrategyConfig.options` has plain values under the names that strategies ask for.
What an option must hold against other keys of its table is judged in `qbcd.config.strategy_rules`.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Discriminator, model_validator

from qbcd.config.fields import Count, Filled, Interval, Switch, wrong
from qbcd.config.query_options import VbdOptions
from qbcd.config.strategy_base import StrategyConfig, VisitOptions
from qbcd.config.strategy_values import ONLY, Columns, Deletes, FixedZone, Scalar

PLANNED_STRATEGIES = ("auto",)
DEFAULT_PAGES = 200
# of `pace` and `per_poll`
SCANNED = "is for ranges of the key: buckets of its hash are all answered for by one scan of the table"
# of `consistency: range` and `per_poll`
MOVING = (
    "is for ranges in which rows stay: an update may move a row to another page, so all ranges are looked at at once"
)


class MdsOptions(StrategyConfig):
    """Options of the strategy that compares with a replica inside the source database: none."""

    type: Literal["mds"] = "mds"


class IdRcsOptions(VisitOptions):
    """Options of the strategy that compares range checksums.

    Attributes:
        rows_per_range: Rows that a range holds when ranges are built; None where that goes by the table's size.
        buckets: Whether ranges are of the key, of its hash, or of the table's pages; None where the catalog decides.
        replica: What is kept of a row: its values, or key and digest.
        consistency: ``range`` where each range may be read in a state of its own; None for one state if it can be had.
    """

    meaning = ("buckets", "replica")

    type: Literal["id_rcs"] = "id_rcs"
    rows_per_range: Count | None = None
    buckets: Literal["key", "hash", "page"] | None = None
    replica: Literal["rows", "digest"] = "rows"
    consistency: Literal["snapshot", "range"] | None = None

    @model_validator(mode="after")
    def _of_the_key(self) -> IdRcsOptions:
        if self.pace.per_second is not None:
            what = "`per_second` is for strategies that look at one range at a time, and here a statement asks for many"
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
    def settle(cls, name: str, value: Any) -> Any:
        """A replica of rows is what streams have that were prepared before there was a choice."""
        return None if (name, value) == ("replica", "rows") else super().settle(name, value)

    @property
    def options(self) -> dict[str, Any]:
        """Every option; `target` is None where no `pace` is given: then as few statements as it takes."""
        values = super().options
        return values if "pace" in self.model_fields_set else {**values, "target": None}

    @property
    def without_old_values(self) -> str:
        """With digests alone."""
        return "keys and digests are all that it keeps" if self.replica == "digest" else ""


class WatermarkOptions(StrategyConfig):
    """What all strategies that read by time-stamp have in common (paper section 3.2).

    Attributes:
        timestamp: The columns of ``coalesce(a, b, ..)``, or the row version that the database keeps itself.
        zone: What a time-stamp without zone was written in, ``UTC`` or ``+HH:MM``.
        margin: How far the watermark stays behind the oldest open transaction and the clock.
        lag: How far behind the clock it stays where open transactions cannot be seen; what commits later is lost.
    """

    timestamp: Columns
    zone: FixedZone | None = None
    margin: Interval = timedelta(seconds=1)
    lag: Interval | None = None

    @model_validator(mode="after")
    def _lag_beyond_margin(self) -> WatermarkOptions:
        if self.lag is not None and self.lag <= self.margin:
            what = "`lag` must be longer than `margin`, which is 1s where it is not given"
            raise wrong(what, "write as lag how long the longest transaction may take", at="lag")
        return self


class TsOptions(WatermarkOptions):
    """Options of the strategy that reads what its time-stamp says is new (paper section 3.2.1).

    Attributes:
        replica: Where the rows seen last are kept: all values in the source or under Spark, keys only, or nothing.
        deletes: When deleted rows are looked for; never without it.
        counter: ``table`` where the user vouches that an integer time-stamp grows over the whole table.
        rows_per_range: Rows that a range of the key holds when a sweep goes by ranges.
    """

    meaning = ("timestamp", "zone", "replica", "counter", "deletes")
    example = "write {type: ts, timestamp: updated_at}"

    type: Literal["ts"] = "ts"
    replica: Literal["source", "spark", "keys", "none"] = "source"
    deletes: Deletes | None = None
    counter: Literal["table"] | None = None
    rows_per_range: Count | None = None

    @model_validator(mode="after")
    def _sweep_against_keys(self) -> TsOptions:
        if self.deletes is not None and self.replica == "none":
            what = "without a replica there is nothing to find deleted rows by"
            raise wrong(what, "write `replica: keys`, or remove `deletes`", at="deletes")
        if self.deletes is not None and self.deletes.every is None and self.replica == "spark":
            what = "`deletes: only` goes with a replica in the source"
            raise wrong(what, "write how often: {every: 1h}, or remove `replica`", at="deletes")
        return self

    @classmethod
    def settle(cls, name: str, value: Any) -> Any:
        """Of `deletes` that there is nothing else; how often a sweep comes, and whether, may change."""
        if name == "deletes":
            return ONLY if value == ONLY else None
        return super().settle(name, value)

    @property
    def options(self) -> dict[str, Any]:
        """Every option; `deletes` is an interval, ``only``, or None."""
        return {**super().options, "deletes": self.deletes and (self.deletes.every or ONLY)}

    @property
    def without_old_values(self) -> str:
        """With less than a full replica, which a look for deletes alone needs none of."""
        if self.options["deletes"] == ONLY:
            return "`deletes: only` keeps keys"
        kept = {"keys": "the replica holds keys only", "none": "there is no replica"}
        return kept.get(self.replica, "")


class FlagOptions(WatermarkOptions):
    """What both strategies with a delete flag take (paper section 3.2.2).

    Attributes:
        delete_flag: Column that marks a row as deleted.
        deleted_value: What it holds then.
        purge: Whether qbcd removes flagged rows once their batch is durable.
        retention: How long the application leaves flagged rows in place; None for ever.
        create_index: Whether `prepare` creates the covering index.
    """

    meaning = ("timestamp", "zone", "delete_flag", "deleted_value")

    delete_flag: Filled
    deleted_value: Scalar = True
    purge: Switch = False
    retention: Interval | None = None
    create_index: Switch = False

    @model_validator(mode="after")
    def _two_columns(self) -> FlagOptions:
        if self.delete_flag in self.timestamp:
            raise wrong("the delete flag is a time-stamp as well", "name another column", at="delete_flag")
        return self


class TdiOptions(FlagOptions):
    """Options of the strategy with time-stamp and delete flag."""

    example = "write {type: tdi, timestamp: updated_at, delete_flag: is_deleted}"
    type: Literal["tdi"] = "tdi"


class AtdiOptions(FlagOptions):
    """Options of the strategy that reads time-stamp and delete flag from a covering index."""

    example = "write {type: atdi, timestamp: updated_at, delete_flag: is_deleted}"
    type: Literal["atdi"] = "atdi"


class RangeOptions(VisitOptions):
    """What strategies that visit the source range by range have in common (paper sections 3.4 and 3.5).

    Attributes:
        pages_per_range: Pages that a range touches when ranges are built, unless `rows_per_range` is given.
    """

    pages_per_range: Count | None = None
    rows_per_range: Count | None = None

    @model_validator(mode="after")
    def _one_size(self) -> RangeOptions:
        if self.pages_per_range is not None and self.rows_per_range is not None:
            what = "`pages_per_range` and `rows_per_range` cannot both be given"
            raise wrong(what, "remove one", at="rows_per_range")
        return self

    @property
    def options(self) -> dict[str, Any]:
        """Every option, with the usual pages where nothing says how large ranges are."""
        values = super().options
        if self.rows_per_range is None and self.pages_per_range is None:
            values["pages_per_range"] = DEFAULT_PAGES
        return values


class TlcsOptions(RangeOptions):
    """Options of the strategy that compares a checksum per row (paper section 3.3).

    Attributes:
        checksums: Where they are kept: in a table of qbcd's own, in a column of the captured table, or under Spark.
        checksum_column: That column.
        deletes: Whether keys are compared as well, to find deleted rows.
    """

    meaning = ("checksums", "checksum_column", "deletes")

    type: Literal["tlcs"] = "tlcs"
    checksums: Literal["table", "column", "remote"] = "table"
    checksum_column: Filled | None = None
    deletes: Switch = True

    @model_validator(mode="after")
    def _column_named(self) -> TlcsOptions:
        if self.checksums == "column" and self.checksum_column is None:
            raise wrong("`checksum_column` is missing", "name the column that holds the checksums", at="checksums")
        given = self.model_fields_set & {"pages_per_range", "pace", "per_poll", "max_staleness"}
        if self.checksums == "remote" and given:
            what = "this is for ranges that are visited in the source, and `checksums: remote` compares under Spark"
            raise wrong(what, "remove it", at=min(given))
        if self.checksums != "column" and self.checksum_column is not None:
            what = "`checksum_column` goes with `checksums: column` only"
            raise wrong(what, "write `checksums: column`, or remove it", at="checksum_column")
        return self

    @property
    def options(self) -> dict[str, Any]:
        """Every option; under Spark nothing has a pace."""
        values = super().options
        return {**values, "target": None} if self.checksums == "remote" else values

    @property
    def without_old_values(self) -> str:
        """Always."""
        return "keys and checksums are all that it keeps"


class IdOptions(RangeOptions):
    """Options of the strategy that compares the table with a replica in the source, range by range."""

    type: Literal["id"] = "id"


AnyOptions = Annotated[
    MdsOptions | IdRcsOptions | TsOptions | TdiOptions | AtdiOptions | TlcsOptions | IdOptions | VbdOptions,
    Discriminator("type"),
]
STRATEGY_OPTIONS: dict[str, type[StrategyConfig]] = {
    "mds": MdsOptions,
    "id_rcs": IdRcsOptions,
    "ts": TsOptions,
    "tdi": TdiOptions,
    "atdi": AtdiOptions,
    "tlcs": TlcsOptions,
    "id": IdOptions,
    "vbd": VbdOptions,
}
BUILT_STRATEGIES = tuple(STRATEGY_OPTIONS)


def _strategy(value: Any) -> Any:
    if isinstance(value, StrategyConfig):
        return value
    as_name = isinstance(value, str)
    spelled = {"type": value} if as_name else value
    if not isinstance(spelled, Mapping) or not isinstance(spelled.get("type"), str):
        raise wrong("a strategy is a name, or a mapping with `type` and options", "write `strategy: id_rcs`")
    name, at = spelled["type"], None if as_name else "type"
    remedy = f"this version has {', '.join(BUILT_STRATEGIES[:-1])} and {BUILT_STRATEGIES[-1]}"
    if name in PLANNED_STRATEGIES:
        raise wrong(f"strategy {name} is not built yet", remedy, at=at, not_built=True)
    if name not in BUILT_STRATEGIES:
        choices = (*BUILT_STRATEGIES, *PLANNED_STRATEGIES)
        raise wrong("there is no strategy <value>", remedy, at=at, value=name, choices=choices)
    return spelled


AnyStrategy = Annotated[AnyOptions, BeforeValidator(_strategy)]
