"""kill -9 at every step between lease and acknowledgement: nothing is lost or changed.

In half of the cases the source is put back to its old state before the restart: staged batches are then delivered
unchanged, and the way back is a batch of its own (docs/design/protocol.md#section-c and #section-d; #rule-1, #rule-4,
#rule-15, #rule-20, #rule-21).
"""

from __future__ import annotations

import itertools
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.common import hooks
from qbcd.errors import Refused
from tests.faults.child import kill_at
from tests.faults.stage import Stage, lease_of, range_ids, rubbish
from tests.support.places import over
from tests.support.scene import ROWS, STREAM, Scene, same_events

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRATEGIES = ("mds", "id_rcs")
HALF_WAY = [("before_commit", "mds"), ("after_commit", "id_rcs")]  # a baseline, outside of a campaign
# Points that neither strategy reaches: both have no watermark, no open batch and nothing to purge.
# `test_kill_in_source` has those.
NOT_OF_THESE = ("after_horizon", "before_seal", "after_seal", "before_purge", "after_purge")
OF_ROLLING = ("before_roll", "mid_roll", "after_roll", "mid_expire")  # `test_rolled_files`
OF_ENRICHMENT = (  # in `integration`
    *("before_enrichment", "enrichment_written", "after_enrichment", "mid_lookup"),
    *("before_release", "after_release", "before_settlement"),
)
ELSEWHERE_REACHED = (*NOT_OF_THESE, *OF_ROLLING, *OF_ENRICHMENT)
POINTS = [point for point in hooks.POINTS if point not in ELSEWHERE_REACHED]
SINKS = ("jsonl", "parquet")
AROUND_THE_COMMIT = ("before_commit", "after_commit")
COMMITTED = POINTS.index("after_commit")
Case = tuple[str, str, str, bool]


def cases() -> tuple[list[Case], list[Case]]:
    """Return (chosen, the rest) of point x strategy x sink x reverted.

    MDS has no range checksums. Strategies alternate at the points; both are killed around the commit. The rest is for a
    campaign.
    """
    valid = [
        (point, strategy, sink, reverted)
        for point in POINTS
        for strategy in STRATEGIES
        for sink in SINKS
        for reverted in (False, True)
        if (point, strategy) != ("after_checksums", "mds")
    ]
    chosen = []
    for i, point in enumerate(POINTS):
        for j, strategy in enumerate(STRATEGIES):
            if point in AROUND_THE_COMMIT or (i + j) % 2 == 1:
                chosen.append((point, strategy, SINKS[i // 2 % 2], (i // 2 + j) % 2 == 1))
    return chosen, [case for case in valid if case not in chosen]


CHOSEN, REST = cases()
# Cases in which the database takes part: the reads of the source and, for MDS, its one transaction.
IN_THE_SOURCE = {"mds": ("before_commit", "after_commit"), "id_rcs": ("after_checksums", "after_commit")}
ELSEWHERE = [case for case in CHOSEN if case[0] in IN_THE_SOURCE[case[1]]]


def test_the_chosen_cases_come_to_every_point_and_cover_every_other_pair() -> None:
    assert [case[0] for case in CHOSEN if case[0] not in AROUND_THE_COMMIT] == [
        point for point in POINTS if point not in AROUND_THE_COMMIT
    ]
    for one, other in ((1, 2), (1, 3), (2, 3)):
        assert {(case[one], case[other]) for case in CHOSEN} == {(case[one], case[other]) for case in REST}
    for point in AROUND_THE_COMMIT:
        assert {case[1] for case in CHOSEN if case[0] == point} == set(STRATEGIES)


@over("point, strategy, sink, reverted", CHOSEN, elsewhere=ELSEWHERE[:1], new=False)
def test_kill(kind: str, point: str, strategy: str, sink: str, reverted: bool, stage: Stage) -> None:
    killed_and_restarted(stage.scene(kind, strategy, sink), point, reverted)


@pytest.mark.campaign
@over("point, strategy, sink, reverted", REST, new=False)
def test_kill_rest(kind: str, point: str, strategy: str, sink: str, reverted: bool, stage: Stage) -> None:
    killed_and_restarted(stage.scene(kind, strategy, sink), point, reverted)


@pytest.mark.campaign
@over("point, strategy", [(p, s) for p in POINTS[COMMITTED - 1 :] for s in STRATEGIES], new=False)
def test_kill_with_its_spark(kind: str, point: str, strategy: str, stage: Stage) -> None:
    """The Java process dies with its Python process, as in production."""
    killed_and_restarted(stage.scene(kind, strategy, "jsonl"), point, reverted=True, own_spark=True)


def killed_and_restarted(scene: Scene, point: str, reverted: bool, *, own_spark: bool = False) -> None:
    old, before = scene.source(), scene.fingerprint()
    last = scene.sealed()[-1]
    scene.change()
    pid = kill_at(point, scene.data, scene.folder, scene.spark, own_spark=own_spark)
    committed = POINTS.index(point) >= COMMITTED
    # somebody may have read whatever is there now
    files, seen, sealed = scene.files(), scene.seen(), scene.sealed()
    assert [h.seq for h in sealed if h.seq > last.seq] == ([last.seq + 1] if committed else [])
    assert committed or scene.fingerprint() == before
    assert lease_of(scene) == pid
    if reverted:
        scene.put(old)

    started = time.monotonic()
    scene.poll()  # rule 4: the lease of a dead process is free long before it ends
    assert time.monotonic() - started < 30

    now = scene.check()
    same_events(seen, now)
    assert all(scene.files()[path] == content for path, content in files.items())
    assert scene.sealed()[: len(sealed)] == sealed, "a staged batch is replayed as it was"
    expected = int(committed or not reverted) + int(committed and reverted)
    assert [h.seq for h in scene.sealed()] == list(range(1, last.seq + expected + 1))
    assert scene.poll().report.header is None  # type: ignore[union-attr]
    assert rubbish(scene) == []
    scene.check()


@over("strategy", STRATEGIES, elsewhere=[], new=False)
def test_reset_after_a_kill_begins_a_new_epoch(kind: str, strategy: str, stage: Stage) -> None:
    """Rule 3: numbers go on, and no event of the new epoch has an id of the old one."""
    scene = stage.scene(kind, strategy, "jsonl")
    # in the campaign, many changes before this test leave too few rows for another one
    scene.put([(i, f"old {i}", 0) for i in range(1, ROWS + 1)])
    scene.poll()
    scene.change()
    kill_at("after_commit", scene.data, scene.folder, scene.spark)
    with pytest.raises(Refused, match="1 batch is not delivered"):
        scene.project.stream(STREAM).reset()
    seen, before, ids = scene.seen(), scene.site.context.row(), range_ids(scene)
    scene.project.stream(STREAM).reset(discard=True)
    scene.change()
    scene.prepare()
    scene.change()
    scene.poll()
    same_events(seen, scene.check())
    row = scene.site.context.row()
    assert row is not None
    assert before is not None
    assert row.epoch > before.epoch
    assert row.last_batch_seq == before.last_batch_seq + 2
    assert row.version > before.version
    assert row.fencing_token > before.fencing_token
    assert not ids & range_ids(scene)


@over(
    "point, strategy",
    [
        case if case in HALF_WAY else pytest.param(*case, marks=pytest.mark.campaign)
        for case in itertools.product(("after_lease", "before_commit", "after_commit"), STRATEGIES)
    ],
    elsewhere=HALF_WAY,
)
def test_a_baseline_killed_half_way(
    point: str, strategy: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    """Rule 18: the baseline exists only after its commit, and is then delivered unchanged."""
    with Scene(database, workspace, strategy, spark, baseline="events") as scene:
        scene.make_table()
        kill_at(point, scene.data, scene.folder, spark, task="prepare")
        row = scene.site.context.row()
        assert row is not None
        assert row.prepared is (point == "after_commit")
        scene.change()
        if not row.prepared:
            with pytest.raises(Refused, match="not prepared"):
                scene.poll()
        scene.prepare()
        scene.change()
        scene.poll()
        seen = scene.check()
        assert [sorted({e["op"] for e in seen[number]}) for number in sorted(seen)] == [["r"], ["c", "d", "u"]]
        assert rubbish(scene) == []
