"""Strategies and sinks by name: what the loader, the rules and the JSON Schema ask about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qbcd.config.fields import Section
from qbcd.config.sink_options import BUILT_SINKS, SINK_OPTIONS, AnySink, SinkConfig
from qbcd.config.strategy_base import StrategyConfig
from qbcd.config.strategy_options import BUILT_STRATEGIES, PLANNED_STRATEGIES, STRATEGY_OPTIONS, AnyStrategy
from qbcd.config.strategy_values import Pace, Sweep

__all__ = [
    "BUILT_SINKS",
    "BUILT_STRATEGIES",
    "NESTED",
    "PLANNED_STRATEGIES",
    "STRATEGY_OPTIONS",
    "TAGGED",
    "AnySink",
    "AnyStrategy",
    "SinkConfig",
    "StrategyConfig",
    "settled",
]

TAGGED: dict[str, type[Section]] = {**STRATEGY_OPTIONS, **SINK_OPTIONS}
NESTED: dict[str, type[Section]] = {"deletes": Sweep, "pace": Pace}


def settled(strategy: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that decide what a strategy captures, as JSON-ready data; they are frozen at prepare."""
    kind = STRATEGY_OPTIONS[strategy]
    return {name: kind.settle(name, options.get(name)) for name in kind.meaning}
