"""Base classes of the options of strategies, and their rules for tables."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, ClassVar, Literal, Protocol

from pydantic import Field, model_validator
from typing_extensions import override

from qbcd.config.document import KeyPath, Problem
from qbcd.config.fields import Count, Interval, Section, wrong
from qbcd.config.strategy_values import Pace

DEFAULT_TARGET = timedelta(milliseconds=500)

StrategyClass = type[Any]  # a subclass of `qbcd.strategies.Strategy`, which this package must not import


@dataclass(frozen=True)
class StrategyUse:
    """A table that uses a strategy, with inherited values filled in, for the strategy's rules.

    Attributes:
        inherited: The strategy is from a section `defaults`.
        table: As written; None for a query or a pattern.
        key: None for the primary key, empty if rows have no key.
        columns: The captured columns; empty if the file lists none.
        where: The restriction, or an empty string.
        every: Interval between polls.
        types: The file sets types of columns.
        inherited_from: Key path of that section.
    """

    path: KeyPath
    inherited: bool
    source: str
    table: str | None
    key: tuple[str, ...] | None
    columns: tuple[str, ...]
    where: str
    every: timedelta
    types: bool = False
    inherited_from: KeyPath = ("defaults",)

    @property
    def options_path(self) -> KeyPath:
        """Key path of the strategy."""
        return (*self.inherited_from, "strategy") if self.inherited else (*self.path, "strategy")

    def table_problem(self, key: str, what: str, remedy: str) -> Problem:
        """Return a problem at a key of the table."""
        return Problem((*self.path, key), what, remedy)

    def option_problem(self, option: str, what: str, remedy: str) -> Problem:
        """Return a problem at an option of the strategy."""
        return Problem((*self.options_path, option), what, remedy)


class Needs(Protocol):
    """Needs of a stream that decide which variants of a strategy exist (`AutoOptions`)."""

    write_source: bool
    delete_flag: str | None
    deleted_value: Any

    @property
    def finds_deletes(self) -> bool:
        """True if deleted rows are reported."""

    @property
    def timestamp_options(self) -> Mapping[str, Any]:
        """The options that name a timestamp; empty without one."""


@dataclass(frozen=True)
class Variant:
    """Options of a strategy that `auto` may choose.

    Attributes:
        options: As a user would write them, without the strategy's name.
        label: What they keep or find other than the strategy does by default; empty for the default.
        missing: Why the strategy cannot be tried for these needs; then there are no options.
        keeps_twice: Digests and a copy are kept, with two places or tables that a poll changes.
    """

    options: Mapping[str, Any] = field(default_factory=dict)
    label: str = ""
    missing: str = ""
    keeps_twice: bool = False


class StrategyConfig(Section):
    """A strategy and its options; ``type`` is its name.

    A subclass declares it: ``type: Literal["ts"] = "ts"``.

    Attributes:
        type: Name of the strategy.
        meaning: The options that define what is captured; they are fixed at `prepare`, all others may change.
        reads_query: The strategy captures the result of a query; others capture a table.
        chooses: These are needs, by which a strategy is chosen at `prepare`, for a table or a query.
        reads_files: The strategy reads files; others query a database.
        reads_rows: The strategy can be used with a JDBC driver alone: by option, the values that are possible then.
        preference: Rank among the strategies that `auto` may choose, at equal cost; 0 if it never chooses this one.
        varying: The options that make a variant.
    """

    meaning: ClassVar[tuple[str, ...]] = ()
    reads_query: ClassVar[bool] = False
    chooses: ClassVar[bool] = False
    reads_files: ClassVar[bool] = False
    reads_rows: ClassVar[Mapping[str, tuple[Any, ...]]] = {}
    preference: ClassVar[int] = 0
    varying: ClassVar[tuple[str, ...]] = ()

    type: str

    @classmethod
    @abstractmethod
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """Return the class of the strategy that `options` select.

        Args:
            options: Values as in the property `options`.
        """

    @property
    def options(self) -> dict[str, Any]:
        """The options with their values, defaults filled in."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "type"}

    @classmethod
    def frozen_value(cls, name: str, value: Any) -> Any:
        """Return the part of an option's value that is fixed at `prepare`, JSON-ready."""
        return list(value) if isinstance(value, tuple) else value

    @classmethod
    def variants(cls, needs: Needs) -> list[Variant]:
        """Return the variants that `auto` may choose, the default first.

        Their order is that of preference at equal cost.
        """
        return [Variant()]

    # -- rules -------------------------------------------------------------------------------------------------------
    def problems(self, use: StrategyUse) -> Iterator[Problem]:
        """Yield the problems of a table that uses these options; by default a table without a key."""
        if use.key == ():
            what = f"strategy {self.type} identifies rows by their keys: only id_rcs and vbd accept `key: none`"
            yield use.table_problem("key", what, "name the columns that identify a row, or write `strategy: id_rcs`")

    @classmethod
    def problems_between(cls, uses: Sequence[tuple[Any, StrategyUse]]) -> Iterator[Problem]:
        """Yield the problems between tables that use this strategy; by default none.

        Args:
            uses: Each table with its options, instances of this class.
        """
        return iter(())

    @property
    def without_old_values(self) -> str:
        """The reason why a deleted row has no old values under these options; empty if it has them."""
        return ""

    @property
    def old_values_remedy(self) -> str:
        """The remedy if these options give no old values."""
        return "use another strategy"

    # -- audits ------------------------------------------------------------------------------------------------------
    @property
    def keeps_nothing(self) -> bool:
        """True if there is no replica that an audit could compare."""
        return False

    @property
    def is_its_own_audit(self) -> bool:
        """True if polls compare everything that an audit compares.

        Equal digests of different rows do not count.
        """
        return True

    @property
    def compares_digests(self) -> bool:
        """True if polls compare sums of digests, in which changes may cancel.

        Then an audit can find more, since it compares each row.
        """
        return False


class ReplicaOptions(StrategyConfig):
    """Options for the part of a row that a replica keeps.

    Attributes:
        replica: The stored part of a row: its values, or key and digest.
        digest: Bits of a digest, with `replica: digest`.
    """

    replica: Literal["rows", "digest"] = "rows"
    digest: Literal[64, 128] = 64

    @model_validator(mode="after")
    def _digest_of_digests(self) -> ReplicaOptions:
        if "digest" in self.model_fields_set and self.replica != "digest":
            what = "`digest` is the size of what `replica: digest` keeps"
            raise wrong(what, "write `replica: digest`, or remove `digest`", at="digest")
        return self

    @classmethod
    @override
    def frozen_value(cls, name: str, value: Any) -> Any:
        """Freeze 64 bits as None, as in streams prepared before there was a choice."""
        return None if (name, value) == ("digest", 64) else super().frozen_value(name, value)

    @property
    @override
    def without_old_values(self) -> str:
        return "keys and digests are all that it keeps" if self.replica == "digest" else ""

    @property
    @override
    def old_values_remedy(self) -> str:
        return "`replica: rows`"


class VisitOptions(StrategyConfig):
    """Options for the ranges that a poll reads, and for its pace (paper sections 3.4 to 3.6).

    Attributes:
        pace: Speed at which ranges are read.
        per_poll: Number of ranges that one poll reads; default: all.
        max_staleness: With `per_poll`, every range is read within this time.
    """

    pace: Pace = Field(default_factory=Pace)
    per_poll: Count | None = None
    max_staleness: Interval | None = None

    @model_validator(mode="after")
    def _bound_of_parts(self) -> VisitOptions:
        if self.max_staleness is not None and self.per_poll is None:
            what = "`max_staleness` needs `per_poll`, because without it every poll reads all ranges"
            raise wrong(what, "add `per_poll`, or remove it", at="max_staleness")
        return self

    @property
    @override
    def options(self) -> dict[str, Any]:
        """The options, with `pace` split into `target` or `per_second`, and `nice_ratio`."""
        values = super().options
        pace: Pace = values.pop("pace")
        target = pace.target if pace.per_second is not None else pace.target or DEFAULT_TARGET
        return {**values, "target": target, "per_second": pace.per_second, "nice_ratio": pace.nice_ratio or 0.0}
