"""Kills of pollers in deliveries of strategy `mds`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign.kill_delivery.cases import SEEDS, killed


@pytest.mark.campaign
@pytest.mark.parametrize("seed", SEEDS["mds"])
def test_kills_in_deliveries(seed: int, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    killed("mds", seed, request, tmp_path)
