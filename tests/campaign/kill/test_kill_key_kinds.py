"""kill -9 at every step of ID/RCS with keys of every kind: exact on restart.

Ranges are of the key, of its hash, or of pages. They are small, so that polls split them; every poll compacts its batch
into the replica and merges small ranges (docs/design/protocol.md#rule-11, #rule-23): the second visit to a commit is
that of compaction.
"""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.sites.lake import compaction
from tests.conftest import GivenServer
from tests.faults.child import kill_at
from tests.faults.stage import left_behind
from tests.faults.test_kill import POINTS
from tests.support import batch_layers
from tests.support.key_kinds import CASES, IN_ICU, PAGED, Keyed
from tests.support.places import Place, kinds, new_place, over, place_of
from tests.support.project import opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDED = {"qbcd.sites.lake.compaction.COMPACT_BATCHES": 1, **batch_layers.ALWAYS}
SPOTS = [(point, 1) for point in POINTS]
JOINS = [("before_commit", 2), ("after_commit", 2)]
# Each kind and way on one database, in turn; test_key_kinds.py has all of them without kills.
OF_ANOTHER = {kind: [c for i, c in enumerate(CASES) if i % len(kinds()) != n] for n, kind in enumerate(kinds())}


@pytest.mark.campaign
@over("kind, how", CASES, elsewhere=[], without=OF_ANOTHER)
def test_kill(
    kind: str, how: str, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _always_compacted(monkeypatch)
    killed_everywhere(place, kind, how, workspace, spark)


@pytest.mark.campaign
@pytest.mark.parametrize("how", ["key", "hash"])
@pytest.mark.parametrize("kind", IN_ICU)
def test_kill_under_collations_of_icu(
    kind: str, how: str, icu: GivenServer, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    _always_compacted(monkeypatch)
    with new_place(icu, "postgresql") as place:
        killed_everywhere(place, kind, how, workspace, spark)


@pytest.mark.campaign
@pytest.mark.parametrize("kind", PAGED)
def test_kill_by_pages(
    kind: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Kill polls of a table whose ranges are pages.

    The fetched rows belong to the replica from the first commit on; the second commit merges all into one segment.
    """
    monkeypatch.setattr(compaction, "COMPACT_SEGMENTS", 0)
    table = Keyed(place_of(database), kind, "page", workspace, Random(f"killed {kind} by pages"))
    table.insert(0.5)
    with opened(table.config, workspace, spark) as project:
        project.stream("s").prepare()
        table.copy.take_baseline()
        for point, nth in [*SPOTS, *JOINS]:
            table.update(0.2)
            table.move(0.2)
            table.delete(0.3)
            table.insert(0.6)
            kill_at(
                point,
                table.config,
                workspace,
                spark,
                nth=nth,
                constants={"qbcd.sites.lake.compaction.COMPACT_SEGMENTS": 0},
            )
            _recovered(project, table)


def _always_compacted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 1)
    batch_layers.always(monkeypatch)


def killed_everywhere(place: Place, kind: str, how: str, folder: Path, spark: SparkSession) -> None:
    """Kill a poll with changes at each point in turn; the next poll must find everything."""
    table = Keyed(place, kind, how, folder, Random(f"killed {kind} {how}"))
    table.insert(0.5)
    with opened(table.config, folder, spark) as project:
        project.stream("s").prepare()
        table.copy.take_baseline()
        for point, nth in SPOTS:
            table.update(0.2)
            table.delete(0.3)
            table.insert(0.6)
            _killed_and_restarted(project, table, point, nth, spark)
        for point, nth in JOINS:
            table.insert(1.0)
            poll(project, "s")
            table.replay()
            table.delete(0.9)
            known = _ranges(project)
            _killed_and_restarted(project, table, point, nth, spark)
            assert len(_ranges(project)) < len(known) or kind == "boolean", "its ranges were joined"


def _killed_and_restarted(project: qbcd.Project, table: Keyed, point: str, nth: int, spark: SparkSession) -> None:
    known = _ranges(project)
    kill_at(point, table.config, table.folder, spark, nth=nth, constants=FOLDED)
    if (point, nth) in JOINS:
        assert (_ranges(project) == known) is (point == "before_commit" or len(known) == 1)
    _recovered(project, table)


def _recovered(project: qbcd.Project, table: Keyed) -> None:
    poll(project, "s")
    assert table.replay()
    assert project.stream("s").verify() == []
    assert [o.report and o.report.header for o in poll(project, "s")] == [None]
    assert left_behind(parts_of(project).open_stream("s").site, table.folder) == []


def _ranges(project: qbcd.Project) -> set[int]:
    site = parts_of(project).open_stream("s").site
    with site.context.reading() as conn:
        return {r.range_id for r in site.context.store.ranges(conn, "s")}
