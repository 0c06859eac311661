"""Paths for many rows, with several tasks, find the same changes as paths for few rows."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.sites.lake import compaction
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.spark.rows import SparkRows
from tests.conformance.test_histories import BOTH, FEW, HOSTILE, run
from tests.support import batch_layers
from tests.support.places import Place, over
from tests.support.variants import VARIANTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

UNDER_SPARK = [v for v in VARIANTS if v.name in ("id_rcs", "ts-spark")]


@over("seed", [pytest.param(seed, marks=pytest.mark.campaign) for seed in range(1, 6)], elsewhere=[])
def test_many_rows(
    seed: int, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All rows count as many: they are shuffled, broadcast, numbered by range."""
    merged: list[bool] = []
    shared = algebra._shared
    monkeypatch.setattr(algebra, "FEW_ROWS", -1)
    monkeypatch.setattr(algebra, "ONE_TASK_ROWS", 40)
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 2)
    batch_layers.at_times(monkeypatch)

    def watched(rows: SparkRows, about: int) -> SparkRows:
        merged.append(True)
        return shared(rows, about)

    monkeypatch.setattr(algebra, "_shared", watched)
    wheres = {v: BOTH[i % 2 : i % 2 + 1] for i, v in enumerate(UNDER_SPARK)}
    run(place, workspace, spark, seed, 3, names=HOSTILE, shapes=FEW, wheres=wheres)
    assert merged
