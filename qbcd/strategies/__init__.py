"""The strategies: statements that find changes.

`qbcd.config.strategy_registry` registers them.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from qbcd.common import plugins
from qbcd.common.on_demand import on_demand
from qbcd.config.strategy_registry import options_class
from qbcd.errors import ConfigError

if TYPE_CHECKING:
    from qbcd.strategies.atdi import Atdi
    from qbcd.strategies.base import Strategy, TableStrategy
    from qbcd.strategies.by_ranges import ByRanges
    from qbcd.strategies.dump import AUTO, BY_JOIN, DumpStrategy
    from qbcd.strategies.id import Id
    from qbcd.strategies.id_rcs import IdRcs
    from qbcd.strategies.in_source import InSource, OutboxSlice
    from qbcd.strategies.incremental.vbd_delta import VbdDelta, why_not_delta
    from qbcd.strategies.mds import Mds
    from qbcd.strategies.partitions.base import Query
    from qbcd.strategies.tdi import Tdi
    from qbcd.strategies.tlcs_lake import LakeTlcs, QueuedTlcs
    from qbcd.strategies.tlcs_source import Tlcs
    from qbcd.strategies.ts import LakeTs, Ts
    from qbcd.strategies.vbd_whole import VbdChecksum, VbdCompare, VbdDigest
    from qbcd.strategies.watermarked import Watermarked
    from qbcd.strategies.whole_rows import WholeRows
else:
    __getattr__ = on_demand(
        __name__,
        atdi="Atdi",
        base="Strategy TableStrategy",
        by_ranges="ByRanges",
        dump="AUTO BY_JOIN DumpStrategy",
        id="Id",
        id_rcs="IdRcs",
        in_source="InSource OutboxSlice",
        incremental__vbd_delta="VbdDelta why_not_delta",
        mds="Mds",
        partitions__base="Query",
        tdi="Tdi",
        tlcs_lake="LakeTlcs QueuedTlcs",
        tlcs_source="Tlcs",
        ts="LakeTs Ts",
        vbd_whole="VbdChecksum VbdCompare VbdDigest",
        watermarked="Watermarked",
        whole_rows="WholeRows",
    )

_RUNNABLE = {"in_source": "InSource", "id_rcs": "IdRcs", "dump": "DumpStrategy"}  # the classes that sites can run


def strategy_class(name: str, options: Mapping[str, Any]) -> type[Strategy]:
    """Return the class of a strategy for its options, which decide the place of its replica.

    Raises:
        ConfigError: There is no such strategy, or a package registers a class that no site can run.
    """
    found: type[Any] = options_class(name).strategy_class(options)
    loaded = ((sys.modules.get(f"{__name__}.{module}"), one) for module, one in _RUNNABLE.items())
    if not any(issubclass(found, getattr(module, one)) for module, one in loaded if module):  # others have no subclass
        what = f"strategy {name}: its class {found.__name__} is no subclass of InSource or IdRcs"
        raise ConfigError(what, remedy=plugins.REMEDY)
    kind: type[Strategy] = found
    return kind


__all__ = [
    "AUTO",
    "BY_JOIN",
    "Atdi",
    "ByRanges",
    "DumpStrategy",
    "Id",
    "IdRcs",
    "InSource",
    "LakeTlcs",
    "LakeTs",
    "Mds",
    "OutboxSlice",
    "Query",
    "QueuedTlcs",
    "Strategy",
    "TableStrategy",
    "Tdi",
    "Tlcs",
    "Ts",
    "VbdChecksum",
    "VbdCompare",
    "VbdDelta",
    "VbdDigest",
    "Watermarked",
    "WholeRows",
    "strategy_class",
    "why_not_delta",
]
