"""Poll modes: one class for each way in which polls read the source."""

from __future__ import annotations

from typing import Any

from qbcd.model import StreamPlan
from qbcd.sites.database.context import DatabaseContext
from qbcd.sites.database.modes.base import DatabaseMode
from qbcd.sites.database.modes.flagged import FlaggedWindowMode
from qbcd.sites.database.modes.query import QueryMode
from qbcd.sites.database.modes.ranges import RangeMode
from qbcd.sites.database.modes.whole import WholeTableMode
from qbcd.sites.database.modes.window import WindowMode
from qbcd.strategies.in_source import PollMode

MODES: dict[PollMode, type[DatabaseMode[Any]]] = {
    "whole": WholeTableMode,
    "window": WindowMode,
    "flagged": FlaggedWindowMode,
    "ranges": RangeMode,
    "delta": QueryMode,
}


def mode_of(context: DatabaseContext, plan: StreamPlan) -> DatabaseMode[Any]:
    """Return the operations of a stream in the poll mode of its strategy."""
    strategy = context.strategy(plan)
    return MODES[strategy.poll_mode](context, strategy)


__all__ = ["MODES", "DatabaseMode", "mode_of"]
