"""Audits: how often replica and source are compared in full, and for which strategies that means anything."""

from __future__ import annotations

from datetime import timedelta
from typing import Annotated, Any

from pydantic import WithJsonSchema, model_validator

from qbcd.config.fields import DURATION_SCHEMA, Interval, Section, wrong
from qbcd.config.query_options import VbdOptions
from qbcd.config.strategy_base import StrategyConfig
from qbcd.config.strategy_options import IdRcsOptions, TsOptions, WatermarkOptions
from qbcd.config.strategy_values import ONLY

OFF = "off"


class AuditConfig(Section):
    """When a stream is audited.

    Attributes:
        every: None for never.
    """

    every: Interval | None = None

    @model_validator(mode="before")
    @classmethod
    def _spelled(cls, data: Any) -> Any:
        if data == OFF or data is False:
            return {}
        if not isinstance(data, dict) or all(item is None for item in data.values()):
            raise wrong("`audit` says how often replica and source are compared in full", "write {every: 24h}, or off")
        return data


def compares_digests(strategy: StrategyConfig) -> bool:
    """Whether polls go by digests of rows whose values are kept, so that an audit can look at what digests hide."""
    if isinstance(strategy, VbdOptions):
        return strategy.variant == "checksum"
    return isinstance(strategy, IdRcsOptions) and strategy.replica == "rows"


def is_its_own_audit(strategy: StrategyConfig) -> bool:
    """Whether a poll, or a round of them over all ranges, compares all that an audit could, but for chance."""
    if isinstance(strategy, VbdOptions):
        return strategy.variant not in ("auto", "delta") or (strategy.variant == "auto" and not strategy.timestamps)
    if not isinstance(strategy, WatermarkOptions):
        return True
    return isinstance(strategy, TsOptions) and strategy.options["deletes"] == ONLY


def keeps_nothing(strategy: StrategyConfig) -> bool:
    """Whether there is no replica that could be compared."""
    return isinstance(strategy, TsOptions) and strategy.replica == "none"


def interval(own: AuditConfig | None, general: AuditConfig | None, strategy: StrategyConfig) -> timedelta | None:
    """How often the stream is audited; None where it is not, or where its polls do as much.

    Args:
        own: What the table says; for it alone an audit may look at what hides behind digests.
        general: What `defaults` say.
        strategy: The stream's.
    """
    audit = general if own is None else own
    if audit is None or (is_its_own_audit(strategy) and not (own and compares_digests(strategy))):
        return None
    return audit.every


_SCHEMA = {
    "anyOf": [
        {"enum": [OFF]},
        {
            "type": "object",
            "properties": {"every": DURATION_SCHEMA},
            "required": ["every"],
            "additionalProperties": False,
        },
    ]
}
Audit = Annotated[AuditConfig, WithJsonSchema(_SCHEMA)]
