"""Poll modes: one class for each way in which polls of the lake wing read the source."""

from __future__ import annotations

from typing import Any

from qbcd.common.on_demand import Registry
from qbcd.model import StreamPlan
from qbcd.sites.lake.context import LakeContext
from qbcd.sites.lake.modes.base import LakeMode

MODES: Registry[LakeMode[Any]] = Registry(  # by `IdRcs.poll_mode`
    {
        "table": "qbcd.sites.lake.modes.table:TableMode",
        "window": "qbcd.sites.lake.modes.window:LakeWindowMode",
        "queue": "qbcd.sites.lake.modes.queue:QueueMode",
    }
)


def mode_of(context: LakeContext, plan: StreamPlan) -> LakeMode[Any]:
    """Return the operations of a stream in the poll mode of its strategy."""
    strategy = context.strategy(plan)
    return MODES[strategy.poll_mode](context, strategy)


__all__ = ["MODES", "LakeMode", "mode_of"]
