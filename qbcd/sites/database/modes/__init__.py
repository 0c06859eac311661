"""Poll modes: one class for each way in which polls read the source."""

from __future__ import annotations

from typing import Any

from qbcd.common.on_demand import Registry
from qbcd.model import StreamPlan
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.modes.base import DatabaseMode

MODES: Registry[DatabaseMode[Any]] = Registry(  # by `InSource.poll_mode`
    {
        "whole": "qbcd.sites.database.modes.whole:WholeTableMode",
        "window": "qbcd.sites.database.modes.window:WindowMode",
        "flagged": "qbcd.sites.database.modes.flagged:FlaggedWindowMode",
        "ranges": "qbcd.sites.database.modes.ranges:RangeMode",
        "delta": "qbcd.sites.database.modes.query:QueryMode",
    }
)


def mode_of(context: DatabaseContext, plan: StreamPlan) -> DatabaseMode[Any]:
    """Return the operations of a stream in the poll mode of its strategy."""
    strategy = context.strategy(plan)
    return MODES[strategy.poll_mode](context, strategy)


__all__ = ["MODES", "DatabaseMode", "mode_of"]
