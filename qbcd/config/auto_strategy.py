"""Options of `strategy: auto`: the needs by which `prepare` chooses a strategy."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator
from typing_extensions import override

from qbcd.config.document import Problem
from qbcd.config.fields import Filled, Interval, Section, Switch, wrong
from qbcd.config.strategy_base import StrategyClass, StrategyConfig, StrategyUse
from qbcd.config.strategy_values import Columns, FixedZone, Scalar

AUTO = "auto"


class Need(Section):
    """The properties that events must have.

    Attributes:
        deletes: Deleted rows are reported.
        old_values: Updates and deletes have old values.
        updates: Updated rows are reported.
        batch: ``snapshot`` if each batch must show one state of the source; without it any.
    """

    deletes: Switch = True
    old_values: Switch = True
    updates: Switch = True
    batch: Literal["snapshot"] | None = None


class AutoOptions(StrategyConfig):
    """Needs and permissions, by which a strategy is chosen at `prepare`.

    Attributes:
        need: The properties that events must have.
        write_source: True if the strategy may keep tables in the source, in qbcd's own schema.
        longest_statement: Longest statement that the source should run.
        timestamp: The columns of a timestamp that every writer moves; without it, no timestamp is used.
        zone: The zone in which a timestamp without zone was written.
        lag: Distance from the clock if open transactions cannot be seen; rows that commit later are lost.
        delete_flag: Column that marks a row as deleted.
        deleted_value: Value of `delete_flag` in deleted rows.
    """

    chooses: ClassVar[bool] = True

    type: Literal["auto"] = "auto"
    need: Need = Field(default_factory=Need)
    write_source: Switch = True
    longest_statement: Interval | None = None
    timestamp: Columns | None = None
    zone: FixedZone | None = None
    lag: Interval | None = None
    delete_flag: Filled | None = None
    deleted_value: Scalar = True

    @model_validator(mode="after")
    def _with_timestamp(self) -> AutoOptions:
        for name in ("zone", "lag", "delete_flag", "deleted_value"):
            if name in self.model_fields_set and self.timestamp is None:
                raise wrong(f"`{name}` goes with `timestamp`", "name the timestamp's column, or remove it", at=name)
        if self.delete_flag is None and "deleted_value" in self.model_fields_set:
            raise wrong("`deleted_value` goes with `delete_flag`", "name the flag's column", at="deleted_value")
        if self.delete_flag is not None and self.delete_flag in (self.timestamp or ()):
            raise wrong("the delete flag is a timestamp as well", "name another column", at="delete_flag")
        return self

    @property
    def finds_deletes(self) -> bool:
        """True if deleted rows are reported."""
        return self.need.deletes

    @property
    def timestamp_options(self) -> dict[str, Any]:
        """The options that name a timestamp; empty without one."""
        if self.timestamp is None:
            return {}
        found: dict[str, Any] = {"timestamp": list(self.timestamp)}
        return found | {name: value for name in ("zone", "lag") if (value := getattr(self, name)) is not None}

    @classmethod
    @override
    def strategy_class(cls, options: Mapping[str, Any]) -> StrategyClass:
        """No class: a strategy is chosen before statements are made.

        Raises:
            AssertionError: Always.
        """
        raise AssertionError("strategy auto is replaced by the chosen one when a stream is opened")

    @override
    def problems(self, use: StrategyUse) -> Iterator[Problem]:
        """Yield no problem of a table: a strategy that does not fit is not chosen."""
        return iter(())

    @property
    @override
    def without_old_values(self) -> str:
        """The reason if a strategy without old values may be chosen."""
        return "" if self.need.old_values else "`need: {old_values: false}` allows that"

    @property
    @override
    def old_values_remedy(self) -> str:
        """The option for old values."""
        return "`need: {old_values: true}`"

    @property
    @override
    def is_its_own_audit(self) -> bool:
        """False: the chosen strategy decides."""
        return False
