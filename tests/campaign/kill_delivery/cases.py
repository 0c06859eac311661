"""The cases of a strategy: seeds of 5 kills each, on PostgreSQL, MariaDB and MySQL in turn."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.campaign.kill_delivery.history import KilledDeliveries
from tests.campaign.kill_delivery.tables import VARIANTS
from tests.conftest import may_have
from tests.support.places import FIRST, NO_DELTA, OTHERS, new_place, server_of

# one strategy on every database, the others on one: what Spark does after a commit depends on neither
SEEDS = {"mds": (0, 1, 2), "ts": (1,), "tdi": (2,), "tlcs": (0,), "vbd": (1,)}


def killed(strategy: str, seed: int, request: pytest.FixtureRequest, folder: Path) -> None:
    """Kill the deliveries of a seed; its variant and its database are the next ones in turn."""
    kinds = [kind for kind in (FIRST, *OTHERS) if may_have(kind)]
    kind = kinds[seed % len(kinds)]
    variants = [v for v in VARIANTS[strategy] if v != "delta" or kind not in NO_DELTA]
    variant = variants[(seed % len(kinds) + seed // len(kinds)) % len(variants)]
    with new_place(server_of(request, kind), kind) as place:
        KilledDeliveries(place, folder, strategy, variant, seed).run()
