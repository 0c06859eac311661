"""What the options of every strategy are: a mapping of the configuration whose ``type`` is the strategy's name."""

from __future__ import annotations

from typing import Any, ClassVar

from qbcd.config.fields import Section


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
