"""Two-phase fetches find the same changes as whole ranges, if a snapshot can be shared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.connectors import connector_for
from qbcd.connectors.sessions import SupportsSnapshots
from qbcd.sites.lake.fetch import two_phase
from tests.conformance.test_histories import BOTH, BY_KEY, FEW, HOSTILE, run
from tests.support.places import Place, over
from tests.support.variants import VARIANTS

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NARROW = [v for v in VARIANTS if v.name in ("id_rcs", *BY_KEY)]


@pytest.mark.campaign
@over("seed", range(1, 6), elsewhere=[])
def test_changed_rows_are_fetched_by_key(
    seed: int, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every poll fetches in two phases, in several tasks.

    One with many keys falls back to whole ranges.
    """
    rounds: list[bool] = []
    fetch = two_phase.fetch
    monkeypatch.setattr(two_phase, "SAVED_BYTES", -(10**12))
    monkeypatch.setattr(two_phase, "MOST_KEYS", 3)
    monkeypatch.setattr(two_phase, "KEYS_PER_STATEMENT", 3)
    monkeypatch.setattr(two_phase, "HELD_ROWS", 1)  # several tasks, one after the other

    def watched(*args: object) -> two_phase.ChangedRows | None:
        found = fetch(*args)  # type: ignore[arg-type]
        rounds.append(found is not None)
        return found

    monkeypatch.setattr(two_phase, "fetch", watched)
    wheres = {v: BOTH[i % 2 : i % 2 + 1] for i, v in enumerate(NARROW)}
    run(place, workspace, spark, seed, 3, names=HOSTILE, shapes=FEW, wheres=wheres, silent=seed % 2 == 1)
    if not connector_for(place.url).supports(SupportsSnapshots):
        assert rounds == [], "two rounds that see two states"
        return
    assert True in rounds
    if seed == 1:  # not every history has a poll that finds many
        assert False in rounds
