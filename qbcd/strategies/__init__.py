"""The strategies by name. A new one is one file here, one line below and one page in docs/."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from qbcd.strategies.atdi import Atdi
from qbcd.strategies.base import Estimate, Strategy
from qbcd.strategies.by_ranges import ByRanges
from qbcd.strategies.id import Id
from qbcd.strategies.id_rcs import IdRcs
from qbcd.strategies.in_source import InSource, OutboxSlice
from qbcd.strategies.incremental.vbd_delta import VbdDelta, why_not_delta
from qbcd.strategies.lake_only import LakeTlcs, LakeTs
from qbcd.strategies.mds import Mds
from qbcd.strategies.partitions.base import Query
from qbcd.strategies.tdi import Tdi
from qbcd.strategies.tlcs import Tlcs
from qbcd.strategies.ts import Ts
from qbcd.strategies.vbd import VbdChecksum, VbdCompare
from qbcd.strategies.watermarked import Watermarked

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy for strategy in (Mds, IdRcs, Ts, Tdi, Atdi, Tlcs, Id, VbdCompare)
}
# Those that can also leave the source as it is, with the option that says so.
REMOTE: dict[str, tuple[str, str, type[IdRcs]]] = {
    "ts": ("replica", "spark", LakeTs),
    "tlcs": ("checksums", "remote", LakeTlcs),
    "vbd": ("variant", "checksum", VbdChecksum),
}


def strategy_class(name: str, options: Mapping[str, Any]) -> type[Strategy]:
    """The class of a strategy under its options, which decide where its replica is."""
    if (name, options.get("variant")) == ("vbd", "delta"):
        return VbdDelta
    option, remote, other = REMOTE.get(name, ("", "", IdRcs))
    return other if option and options.get(option) == remote else STRATEGIES[name]


__all__ = [
    "STRATEGIES",
    "Atdi",
    "ByRanges",
    "Estimate",
    "Id",
    "IdRcs",
    "InSource",
    "LakeTlcs",
    "LakeTs",
    "Mds",
    "OutboxSlice",
    "Query",
    "Strategy",
    "Tdi",
    "Tlcs",
    "Ts",
    "VbdChecksum",
    "VbdCompare",
    "VbdDelta",
    "Watermarked",
    "strategy_class",
    "why_not_delta",
]
