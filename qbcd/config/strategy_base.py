"""What options of strategies are built on: their common class, and what polls of a part of the table take."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from pydantic import Field, model_validator

from qbcd.config.fields import Count, Interval, Section, wrong
from qbcd.config.strategy_values import Pace

DEFAULT_TARGET = timedelta(milliseconds=500)


class StrategyConfig(Section):
    """A strategy and its options; ``type`` is its name.

    Attributes:
        meaning: The options that decide what is captured; they are settled at prepare, all others may change.
    """

    meaning: ClassVar[tuple[str, ...]] = ()

    type: str

    @property
    def options(self) -> dict[str, Any]:
        """Every option with its value, defaults filled in."""
        return {name: getattr(self, name) for name in type(self).model_fields if name != "type"}

    @classmethod
    def settle(cls, name: str, value: Any) -> Any:
        """What of an option's value is settled at prepare, JSON-ready."""
        return list(value) if isinstance(value, tuple) else value

    @property
    def without_old_values(self) -> str:
        """Why a deleted row has no values under these options; empty where it has."""
        return ""


class VisitOptions(StrategyConfig):
    """Which ranges a poll visits, and how fast (paper sections 3.4 to 3.6).

    Attributes:
        pace: How fast ranges are visited.
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
        """Every option; `pace` is split into `target` and `per_second`, one of which is None, and `nice_ratio`."""
        values = super().options
        pace: Pace = values.pop("pace")
        target = pace.target if pace.per_second is not None else pace.target or DEFAULT_TARGET
        return {**values, "target": target, "per_second": pace.per_second, "nice_ratio": pace.nice_ratio or 0.0}
