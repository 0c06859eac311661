"""Poll modes: one class for each way in which polls of the lake wing read the source."""

from __future__ import annotations

from typing import Any

from qbcd.model import StreamPlan
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.modes.base import LakeMode
from qbcd.sites.lake.modes.queue import QueueMode
from qbcd.sites.lake.modes.table import TableMode
from qbcd.sites.lake.modes.window import LakeWindowMode
from qbcd.strategies.id_rcs import LakePollMode

MODES: dict[LakePollMode, type[LakeMode[Any]]] = {"table": TableMode, "window": LakeWindowMode, "queue": QueueMode}


def mode_of(context: LakeContext, plan: StreamPlan) -> LakeMode[Any]:
    """Return the operations of a stream in the poll mode of its strategy."""
    strategy = context.strategy(plan)
    return MODES[strategy.poll_mode](context, strategy)


__all__ = ["MODES", "LakeMode", "mode_of"]
