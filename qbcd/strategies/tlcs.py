"""TLCS, tuple-level checksum (Carnes & Hanson 3.3): its options.

They choose the place of digests and copy.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pydantic import model_validator
from typing_extensions import override

from qbcd.config.document import Problem, dotted
from qbcd.config.fields import Filled, Switch, split_table, wrong
from qbcd.config.strategy_base import Needs, StrategyClass, StrategyUse, Variant
from qbcd.config.strategy_values import place_of
from qbcd.strategies.by_ranges import RangeOptions
from qbcd.strategies.tlcs_lake import LakeTlcs, QueuedTlcs
from qbcd.strategies.tlcs_source import Tlcs


class TlcsOptions(RangeOptions):
    """Options of the strategy that compares a checksum per row (paper section 3.3).

    Attributes:
        checksums: Place of the row digests: a table of qbcd's own, a column of the captured table, or the lake.
        checksum_column: Column of the captured table with the row digests, for this stream only.
        deletes: True if keys are compared as well, to find deleted rows.
        replica: The place of a copy for old values: none, a table next to the digests, or the lake.
    """

    meaning = ("checksums", "checksum_column", "deletes", "replica")
    preference = 60
    varying = ("replica", "checksums")

    type: Literal["tlcs"] = "tlcs"
    checksums: Literal["table", "column", "remote"] = "table"
    checksum_column: Filled | None = None
    deletes: Switch = True
    replica: Literal["none", "source", "lake", "spark"] = "none"

    @model_validator(mode="after")
    def _column_named(self) -> TlcsOptions:
        if self.checksums == "column" and self.checksum_column is None:
            raise wrong("`checksum_column` is missing", "name the column that holds the checksums", at="checksums")
        given = self.model_fields_set & {"pages_per_range", "pace", "per_poll", "max_staleness"}
        if self.checksums == "remote" and given:
            what = "this is for ranges that are visited in the source, and `checksums: remote` compares in the lake"
            raise wrong(what, "remove it", at=min(given))
        if place_of(self.replica) == "lake" and given:
            what = f"this is for ranges that are visited in the source, and `replica: {self.replica}` has the lake's"
            raise wrong(what, "remove it", at=min(given))
        if self.checksums != "column" and self.checksum_column is not None:
            what = "`checksum_column` goes with `checksums: column` only"
            raise wrong(what, "write `checksums: column`, or remove it", at="checksum_column")
        return self

    @model_validator(mode="after")
    def _copy_next_to_digests(self) -> TlcsOptions:
        if self.replica == "none":
            return self
        if self.checksums == "remote":
            what = (
                f"`replica: {self.replica}` goes with digests in the source, and `checksums: remote` keeps none there"
            )
            raise wrong(what, "write `checksums: table`, or use strategy id_rcs, which keeps rows", at="replica")
        if not self.deletes:
            what = f"`replica: {self.replica}` has the keys of all rows, so deleted rows are found anyway"
            raise wrong(what, "remove `deletes: false`, or the replica", at="deletes")
        return self

    @classmethod
    @override
    def variants(cls, needs: Needs) -> list[Variant]:
        copies = (Variant({"replica": at}, f"replica {at}", keeps_twice=True) for at in ("source", "lake"))
        return [Variant(), *copies]

    @classmethod
    @override
    def frozen_value(cls, name: str, value: Any) -> Any:
        """Freeze no replica as None, as in streams prepared before there was a choice."""
        return None if (name, value) == ("replica", "none") else super().frozen_value(name, value)

    @property
    @override
    def options(self) -> dict[str, Any]:
        """All options; in the lake wing there is no pace, and `spark` means the lake."""
        values = {**super().options, "replica": place_of(self.replica)}
        return {**values, "target": None} if self.checksums == "remote" or place_of(self.replica) == "lake" else values

    @property
    @override
    def without_old_values(self) -> str:
        """The reason, unless there is a copy."""
        return "keys and checksums are all that it keeps" if self.replica == "none" else ""

    @property
    @override
    def old_values_remedy(self) -> str:
        """A copy next to the digests, or another strategy."""
        return super().old_values_remedy if self.checksums == "remote" else "`replica: source`"

    @property
    @override
    def compares_digests(self) -> bool:
        """True in the lake wing: polls compare digests, an audit each row's digest or its values."""
        return self.checksums == "remote" or place_of(self.replica) == "lake"

    @override
    def problems(self, use: StrategyUse) -> Iterator[Problem]:
        """Yield a problem if the column of the checksums is captured."""
        yield from super().problems(use)
        if self.checksum_column is None:
            return
        for key, names in (("key", use.key), ("columns", use.columns)):
            if self.checksum_column in (names or ()):
                what = f"the column of the checksums is listed in `{key}`: it would be part of its own checksum"
                yield use.option_problem("checksum_column", what, f"name another column, or take it out of `{key}`")

    @classmethod
    @override
    def problems_between(cls, uses: Sequence[tuple[Any, StrategyUse]]) -> Iterator[Problem]:
        """Yield a problem if two streams write one checksum column: each would miss changes."""
        first: dict[tuple[str, ...], StrategyUse] = {}
        for options, use in uses:
            if options.checksum_column is None or use.table is None:
                continue
            place = (use.source, *split_table(use.table), options.checksum_column)
            if first.setdefault(place, use) is not use:
                what = (
                    f"{dotted(first[place].path)} has its checksums in column {options.checksum_column!r} of "
                    f"{use.table} too: what one of them has seen the other would not find"
                )
                here = use.path if use.inherited else (*use.options_path, "checksum_column")
                yield Problem(here, what, "name a column of its own for each")

    @classmethod
    @override
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """Return the class of TLCS: checksums in the source or in the lake, or a queue.

        The queue leads to a lake replica.
        """
        if options.get("replica") == "lake":
            return QueuedTlcs
        return LakeTlcs if options.get("checksums") == "remote" else Tlcs
