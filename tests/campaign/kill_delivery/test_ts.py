"""Kills of pollers in deliveries of strategy `ts`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign.kill_delivery.cases import SEEDS, killed


@pytest.mark.campaign
@pytest.mark.parametrize("seed", SEEDS["ts"])
def test_kills_in_deliveries(seed: int, request: pytest.FixtureRequest, tmp_path: Path) -> None:
    killed("ts", seed, request, tmp_path)
