"""The strategies by name. A new one is one file here, one line below and one page in docs/."""

from __future__ import annotations

from qbcd.strategies.atdi import Atdi
from qbcd.strategies.base import Estimate, Strategy
from qbcd.strategies.id import Id
from qbcd.strategies.id_rcs import IdRcs
from qbcd.strategies.in_source import InSource, Part
from qbcd.strategies.mds import Mds
from qbcd.strategies.ranged import Ranged
from qbcd.strategies.stamped import Stamped
from qbcd.strategies.tdi import Tdi
from qbcd.strategies.tlcs import Tlcs
from qbcd.strategies.ts import Ts

STRATEGIES: dict[str, type[Strategy]] = {
    strategy.name: strategy for strategy in (Mds, IdRcs, Ts, Tdi, Atdi, Tlcs, Id)
}  # fmt: skip

__all__ = [
    "STRATEGIES", "Atdi", "Estimate", "Id", "IdRcs", "InSource", "Mds", "Part", "Ranged", "Stamped", "Strategy", "Tdi",
    "Tlcs", "Ts",
]  # fmt: skip
