"""The strategies by name. A new one is one file here, one line below and one page in docs/."""

from __future__ import annotations

from qbcd.strategies.base import Estimate, Strategy
from qbcd.strategies.id_rcs import IdRcs
from qbcd.strategies.mds import Mds

STRATEGIES: dict[str, type[Strategy]] = {"mds": Mds, "id_rcs": IdRcs}

__all__ = ["STRATEGIES", "Estimate", "IdRcs", "Mds", "Strategy"]
