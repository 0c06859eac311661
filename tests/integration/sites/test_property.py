"""Random tables and histories: replay equals the source, and both strategies agree."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

from qbcd.errors import UnsupportedType
from qbcd.sites.lake.fetch import two_phase
from tests.support.captured_tables import Captured, prepare, reproducible
from tests.support.drawn_tables import draw_tables
from tests.support.forced_leaves import force
from tests.support.histories import EVERY_STEP, History
from tests.support.places import FIRST, Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRATEGIES = ("mds", "id_rcs")
TABLES = 4


def run(
    seed: int, place: Place, folder: Path, spark: SparkSession, rounds: int, count: int = TABLES
) -> tuple[Counter[str], Counter[str]]:
    """Run one project over `count` newly drawn tables; return (ops found, steps taken)."""
    rng = Random(seed)
    tables = draw_tables(rng, place, count)
    assert {t for table in tables for _, t in table.columns} >= set(tables[0].pool.values)
    at: list[str] = []
    with reproducible(seed, tables, at, folder):
        captured = []
        for number, table in enumerate(tables):
            at[:] = [table.quoted]
            per_range = {"type": "id_rcs", "rows_per_range": rng.choice([1, 3, 5, 7])}
            strategies = {s: per_range if s == "id_rcs" else s for s in STRATEGIES}
            captured.append(Captured(rng, table, number, folder / "out" / "changes", strategies))
        ops: Counter[str] = Counter()
        streams = [
            {**stream, "baseline": ("silent", "events")[i % 2]} for i, c in enumerate(captured) for stream in c.streams
        ]
        with opened(config(place.url, *streams), folder, spark) as project:
            for one in captured:
                at[:] = [one.table.quoted]
                ops += prepare(project, one)
            for number in range(rounds):
                for i, one in enumerate(captured):
                    at[:] = [one.table.quoted]
                    change(rng, one.history, emptied=i == 0 and number == rounds - 1)
                    poll(project, *(s["name"] for s in one.streams))
                    ops += one.check()
    return ops, sum((c.history.done for c in captured), Counter())


def change(rng: Random, history: History, *, emptied: bool) -> None:
    """Change the table between two polls.

    Now and then the table is emptied; it is filled again at once or stays empty.
    """
    kind = rng.random()
    if emptied or kind < 0.15:
        history.empty()
    if not emptied and not 0.1 < kind < 0.15:
        history.act(rng.choice([1, 4, 12, 30]))
    if not emptied and kind > 0.9:
        history.fill(rng.choice([5, 40]))


@over("seed", [1, pytest.param(2, marks=pytest.mark.campaign)], elsewhere=[])
def test_replay_equals_the_source_and_strategies_agree(
    seed: int, place: Place, workspace: Path, spark: SparkSession
) -> None:
    ops, steps = run(seed, place, workspace, spark, rounds=2, count=2 if seed == 1 else TABLES)
    if seed == 1 and place.kind == FIRST:  # the default run has every kind of change
        assert set(ops) == {"c", "u", "d", "r"}, ops
        assert set(steps) >= {*EVERY_STEP, "empty"}, steps


@pytest.mark.parametrize("strategy", STRATEGIES)
@over(
    "name",
    [
        "qbcd_present",
        "qbcd_row",
        "qbcd_digest",
        "qbcd_key_id",
        "qbcd_untravelled",
        "qbcd_0",
        "qbcd_key_digest",
        "qbcd_leaf",
        "qbcd_k0",
    ],
    elsewhere=["qbcd_row"],
)
def test_names_that_statements_use_are_refused(name: str, strategy: str, place: Place, workspace: Path) -> None:
    place.sql(f"CREATE TABLE t ({name} int PRIMARY KEY, a int)")
    data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": strategy})
    wanted = rf"column '{name}' has a name that.*exclude: \[{name}\]"
    with opened(data, workspace) as project, pytest.raises(UnsupportedType, match=wanted):
        project.stream("s").prepare()


@pytest.mark.campaign
@over("seed", [3, *range(210, 214)], elsewhere=[])
def test_replay_of_what_single_leaves_brought(
    seed: int, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of any type; ranges are split and merged, batches compacted, while polls read leaves."""
    in_leaves = force(monkeypatch)
    ops, _ = run(seed, place, workspace, spark, rounds=4, count=2 if seed == 3 else TABLES)
    assert ops["u"] + ops["d"] > 0, ops  # an update of a row without a key is a delete and an insert
    assert (True in in_leaves) is (place.kind == "postgresql")  # leaves need snapshots that readers share


@pytest.mark.campaign
@over("seed", range(100, 108))
def test_many_replays(seed: int, place: Place, workspace: Path, spark: SparkSession) -> None:
    ops, _ = run(seed, place, workspace, spark, rounds=6)
    assert ops["u"] + ops["d"] > 0, ops  # an update of a row without a key is a delete and an insert


@pytest.mark.campaign
@over("seed", range(200, 203), elsewhere=[])
def test_many_replays_in_two_rounds(
    seed: int, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Keys of every type find their rows again."""
    monkeypatch.setattr(two_phase, "SAVED_BYTES", -(10**12))
    ops, _ = run(seed, place, workspace, spark, rounds=4)
    assert ops["u"] + ops["d"] > 0, ops  # an update of a row without a key is a delete and an insert
