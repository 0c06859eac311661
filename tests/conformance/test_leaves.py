"""Polls that read leaf checksums find the same changes; they need a shared snapshot."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.connectors import connector_for
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.sites.lake.fetch import two_phase
from tests.conformance.test_histories import BOTH, BY_KEY, FEW, HOSTILE, run
from tests.support.forced_leaves import force
from tests.support.places import Place, over
from tests.support.variants import VARIANTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SPARK = [v for v in VARIANTS if v.name in ("id_rcs", *BY_KEY)]


@over(
    "seed, two_rounds",
    [(1, True), *(pytest.param(seed, seed % 2 == 0, marks=pytest.mark.campaign) for seed in range(2, 8))],
    elsewhere=[],
)
def test_single_leaves_are_read(
    seed: int, two_rounds: bool, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `two_rounds`, keys and digests of dirty leaves are fetched first.

    Three polls show it; the campaign has four.
    """
    in_leaves = force(monkeypatch)
    if two_rounds:
        monkeypatch.setattr(two_phase, "SAVED_BYTES", -(10**12))
    wheres = {v: BOTH[i % 2 : i % 2 + 1] for i, v in enumerate(SPARK)}
    rounds = 3 if seed == 1 else 4
    run(place, workspace, spark, seed, rounds, names=HOSTILE, shapes=FEW, wheres=wheres, silent=seed % 2 == 1)
    assert (True in in_leaves) is connector_for(place.url).supports(SupportsSnapshots)
