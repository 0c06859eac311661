"""Joins of a stream with a relation larger than the memory, pure.

`CyclicScan` and `MeshJoin` are MESHJOIN and AMESHJOIN (Polyzotis et al., *Meshing Streaming Updates with Persistent
Data in an Active Data Warehouse*); `DiagJoin` joins two relations whose rows arrived together (Helmer, chapter 5).
"""

from __future__ import annotations

from qbcd.meshjoin.diagonal import BasicDiagJoin, DiagJoin, Partners, deviations, window_for
from qbcd.meshjoin.scan import CyclicScan, MeshJoin
from qbcd.meshjoin.shedding import ClusterSample, KeepFirst, KeepTop, SampleWindow, Shedding
from qbcd.meshjoin.tuning import Costs, MeshError, ReadTimes, Tuner, Tuning

__all__ = [
    "BasicDiagJoin",
    "ClusterSample",
    "Costs",
    "CyclicScan",
    "DiagJoin",
    "KeepFirst",
    "KeepTop",
    "MeshError",
    "MeshJoin",
    "Partners",
    "ReadTimes",
    "SampleWindow",
    "Shedding",
    "Tuner",
    "Tuning",
    "deviations",
    "window_for",
]
