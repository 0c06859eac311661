"""Base of the options of strategies, with their rules for the tables that use them."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, ClassVar

from pydantic import Field, model_validator

from qbcd.config.document import KeyPath, Problem
from qbcd.config.fields import Count, Interval, Section, wrong
from qbcd.config.strategy_values import Pace

DEFAULT_TARGET = timedelta(milliseconds=500)

StrategyClass = type[Any]  # a subclass of `qbcd.strategies.Strategy`, which is above this package


@dataclass(frozen=True)
class StrategyUse:
    """A table that uses a strategy, as its rules need it, with inherited values filled in.

    Attributes:
        path: Key path of the table.
        inherited: The table has its strategy from `defaults`.
        table: As written; None of a query.
        key: None for the primary key, empty where rows have none.
        columns: The captured columns; empty where the file lists none.
        where: The restriction, or an empty string.
        every: Interval between polls.
    """

    path: KeyPath
    inherited: bool
    source: str
    table: str | None
    key: tuple[str, ...] | None
    columns: tuple[str, ...]
    where: str
    every: timedelta

    @property
    def options_path(self) -> KeyPath:
        """Key path of the strategy."""
        return ("defaults", "strategy") if self.inherited else (*self.path, "strategy")

    def table_problem(self, key: str, what: str, remedy: str) -> Problem:
        """Return a problem at a key of the table."""
        return Problem((*self.path, key), what, remedy)

    def option_problem(self, option: str, what: str, remedy: str) -> Problem:
        """Return a problem at an option of the strategy."""
        return Problem((*self.options_path, option), what, remedy)


class StrategyConfig(Section):
    """A strategy and its options; ``type`` is its name.

    A subclass declares it: ``type: Literal["ts"] = "ts"``.

    Attributes:
        meaning: The options that decide what is captured; they are frozen at prepare, all others may change.
        reads_query: The strategy captures the result of a query; others capture a table.
    """

    meaning: ClassVar[tuple[str, ...]] = ()
    reads_query: ClassVar[bool] = False

    type: str

    @classmethod
    @abstractmethod
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """Return the class that finds the changes under `options`.

        Args:
            options: Values as the property `options` has them.
        """

    @property
    def options(self) -> dict[str, Any]:
        """Every option with its value, defaults filled in."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "type"}

    @classmethod
    def frozen_value(cls, name: str, value: Any) -> Any:
        """Return the part of an option's value that is frozen at prepare, JSON-ready."""
        return list(value) if isinstance(value, tuple) else value

    # -- rules -------------------------------------------------------------------------------------------------------
    def problems(self, use: StrategyUse) -> Iterator[Problem]:
        """Yield what these options do not allow in a table that uses them; by default a table without a key."""
        if use.key == ():
            what = f"strategy {self.type} tells rows by their keys: `key: none` is for id_rcs and vbd alone"
            yield use.table_problem("key", what, "name the columns that identify a row, or write `strategy: id_rcs`")

    @classmethod
    def problems_between(cls, uses: Sequence[tuple[Any, StrategyUse]]) -> Iterator[Problem]:
        """Yield what tables that use this strategy do not allow each other; by default nothing.

        Args:
            uses: Each table with its options, which are of this class.
        """
        return iter(())

    @property
    def without_old_values(self) -> str:
        """The reason why a deleted row has no values under these options; empty if it has."""
        return ""

    @property
    def old_values_remedy(self) -> str:
        """The remedy if these options give no old values."""
        return "take another strategy"

    # -- audits ------------------------------------------------------------------------------------------------------
    @property
    def keeps_nothing(self) -> bool:
        """There is no replica that an audit could compare."""
        return False

    @property
    def is_its_own_audit(self) -> bool:
        """A poll, or a pass over all ranges, compares all that an audit could, but for chance."""
        return True

    @property
    def compares_digests(self) -> bool:
        """Polls compare digests of rows whose values are kept, so an audit can find what digests hide."""
        return False


class VisitOptions(StrategyConfig):
    """Options for the ranges that a poll visits, and for its pace (paper sections 3.4 to 3.6).

    Attributes:
        pace: Speed at which ranges are visited.
        per_poll: Ranges that one poll visits; None for all.
        max_staleness: Age that no range exceeds when `per_poll` is set.
    """

    pace: Pace = Field(default_factory=Pace)
    per_poll: Count | None = None
    max_staleness: Interval | None = None

    @model_validator(mode="after")
    def _bound_of_parts(self) -> VisitOptions:
        if self.max_staleness is not None and self.per_poll is None:
            what = "`max_staleness` is a bound for polls that visit some ranges only"
            raise wrong(what, "add `per_poll`, or remove it", at="max_staleness")
        return self

    @property
    def options(self) -> dict[str, Any]:
        """Every option; `pace` is split into `target` or `per_second`, and `nice_ratio`."""
        values = super().options
        pace: Pace = values.pop("pace")
        target = pace.target if pace.per_second is not None else pace.target or DEFAULT_TARGET
        return {**values, "target": target, "per_second": pace.per_second, "nice_ratio": pace.nice_ratio or 0.0}
