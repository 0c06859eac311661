"""The schedule of audits: full comparisons of replica and source."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from pydantic import WithJsonSchema, model_validator

from qbcd.config.fields import DURATION_SCHEMA, Interval, Section, wrong
from qbcd.config.strategy_base import StrategyConfig

OFF = "off"


class AuditConfig(Section):
    """The audit schedule of a stream.

    Attributes:
        every: The interval; without it never.
    """

    every: Interval | None = None

    @model_validator(mode="before")
    @classmethod
    def _spelled(cls, data: Any) -> Any:
        if data == OFF or data is False:
            return {}
        if not isinstance(data, dict) or all(item is None for item in data.values()):
            raise wrong("`audit` sets how often replica and source are compared in full", "write {every: 24h}, or off")
        return data


def interval(own: AuditConfig | None, general: AuditConfig | None, strategy: StrategyConfig) -> timedelta | None:
    """Return the interval between audits of a stream.

    None without audits, or if the polls of the stream compare as much as an audit would.

    Args:
        own: The table's own setting. Only this setting makes an audit compare each row where polls compare checksums.
        general: The setting that the table has, its own or an inherited one.
    """
    audit = general if own is None else own
    if audit is None or (strategy.is_its_own_audit and not (own and strategy.compares_digests)):
        return None
    return audit.every


_SCHEMA = {
    "anyOf": [
        {"enum": [OFF]},
        {
            "type": "object",
            "properties": {"every": {**DURATION_SCHEMA, "description": "Interval of full comparisons."}},
            "required": ["every"],
            "additionalProperties": False,
        },
    ]
}
Audit = Annotated[AuditConfig, WithJsonSchema(_SCHEMA)]
