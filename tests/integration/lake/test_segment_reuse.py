"""Fetched ranges that become segments of the replica at once.

No batch then lies on top of them, and nothing is written twice. A poll fetches small adjacent ranges together with
them, as one (docs/design/protocol.md#rule-11 and #rule-23).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.api import parts_of
from qbcd.sites.lake import compaction
from qbcd.sites.lake.site import LakeSite
from qbcd.state import ProjectState, Segment, StoredRange
from tests.support import batch_layers, sql
from tests.support.oracle import batches, copy_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STREAM = "log"
OWN: dict[str, Any] = {"type": "id_rcs", "rows_per_range": 50}


class Log:
    """A table of 1,000 rows in 20 ranges or in buckets, and the state of its replica."""

    def __init__(self, url: str, folder: Path, **options: Any) -> None:
        self.url, self.folder = url, folder
        sql(url, "CREATE TABLE log (id bigint PRIMARY KEY, line text)")
        sql(url, "INSERT INTO log SELECT i, 'line ' || i FROM generate_series(1, 1000) i")
        self.copy = copy_of(url, "public.log", ["id"])
        self.has_old_values = options.get("replica") != "digest"
        table = {"name": STREAM, "table": "public.log", "strategy": {**OWN, **options}, "baseline": "events"}
        self.config = config(url, table)

    def poll(self, project: Any, changes: str) -> tuple[list[StoredRange], list[Segment]]:
        """Make changes, poll, and compare the events with the table; return ranges and segments."""
        sql(self.url, changes)
        poll(project, STREAM)
        if self.has_old_values:
            self.copy.replay(batches(self.folder / "out/changes", STREAM))
            assert self.copy.differences() == []
        with ProjectState(f"sqlite:///{self.folder}/.qbcd/state.db") as state, state.read() as conn:
            ranges, segments = state.store.ranges(conn, STREAM), state.store.segments(conn, STREAM)
            row = state.store.read(conn, STREAM)
        assert row is not None
        self.last = row.last_batch_seq
        assert {r.segment for r in ranges} == {s.segment_id for s in segments}
        return ranges, segments


def levels(segments: list[Segment]) -> list[int]:
    return sorted(s.folded_through for s in segments)


@pytest.mark.parametrize("how", [{"replica": "digest"}, {}, {"type": "tlcs", "checksums": "remote"}], ids=str)
def test_prepare_leaves_only_the_replica(
    how: dict[str, Any], database: str, spark: SparkSession, workspace: Path
) -> None:
    """A replica of digests stores no values.

    The baseline's fetch is removed as soon as it is made.
    """
    log = Log(database, workspace)
    [table] = log.config["tables"]
    table |= {"strategy": {"type": "id_rcs", **how}, "baseline": "silent"}
    with opened(log.config, workspace, spark) as project:
        project.stream(STREAM).prepare()
        site = parts_of(project).open_stream(STREAM).site
        assert isinstance(site, LakeSite)
        with site.context.reading() as conn:
            [segment] = site.context.store.segments(conn, STREAM)
        assert [path.name for path in site.context.files.root.iterdir()] == [segment.segment_id]


def test_no_batch_lies_on_a_fetched_segment(database: str, spark: SparkSession, workspace: Path) -> None:
    log = Log(database, workspace)
    with opened(log.config, workspace, spark) as project:
        project.stream(STREAM).prepare()
        kinds = []
        for number in range(4):
            _, segments = log.poll(
                project,
                f"UPDATE log SET line = 'y{number}' WHERE id BETWEEN {710 + number} AND 790; "
                f"DELETE FROM log WHERE id = {705 + number}; INSERT INTO log VALUES ({2000 + number}, 'new')",
            )
            assert levels(segments) == [log.last, log.last], "the base has no changes that it has not"
            assert sorted(s.rows for s in segments)[0] < 300
            kinds += [s.segment_id.partition("-")[0] for s in segments]
        assert set(kinds) == {"fetch"}, "nothing was folded"
        assert project.stream(STREAM).verify() == []


@pytest.mark.campaign
def test_too_many_obsolete_rows(database: str, spark: SparkSession, workspace: Path) -> None:
    """Files grow to 1.5 times the rows; then batches lie on them, until all is fetched again."""
    log = Log(database, workspace)
    with opened(log.config, workspace, spark) as project:
        project.stream(STREAM).prepare()
        _, segments = log.poll(project, "UPDATE log SET line = 'a' WHERE id <= 400")
        assert sorted(s.rows for s in segments) == [400, 1000]
        _, segments = log.poll(project, "UPDATE log SET line = 'b' WHERE id BETWEEN 351 AND 750 AND id % 10 = 0")
        assert sorted(s.rows for s in segments) == [400, 1000]
        assert levels(segments) == [log.last - 1, log.last - 1], "the batch lies on both"
        _, segments = log.poll(project, "UPDATE log SET line = 'c' WHERE id = 40; DELETE FROM log WHERE id = 41")
        assert levels(segments) == [log.last - 2, log.last - 2, log.last], "two levels, and the batch of before"
        assert project.stream(STREAM).verify() == []
        _, segments = log.poll(project, "UPDATE log SET line = 'd' WHERE id IN (42, 390, 391, 720)")
        assert log.last not in levels(segments), "too many again"
        _, segments = log.poll(project, "UPDATE log SET line = 'e' WHERE id % 5 = 0")
        assert [s.rows for s in segments] == [999]
        assert levels(segments) == [log.last]
        assert project.stream(STREAM).verify() == []


@pytest.mark.campaign
def test_many_segments(database: str, spark: SparkSession, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their number is limited; the smaller ones are merged, and the largest stays unchanged."""
    monkeypatch.setattr(compaction, "TAKEN_SEGMENTS", 3)
    monkeypatch.setattr(compaction, "SOME_SEGMENTS", 3)
    log = Log(database, workspace)
    with opened(log.config, workspace, spark) as project:
        project.stream(STREAM).prepare()
        numbers = []
        for number in range(4):
            low = 100 * number
            _, segments = log.poll(project, f"UPDATE log SET line = 'a' WHERE id BETWEEN {low + 1} AND {low + 40}")
            numbers.append(len(segments))
        assert numbers == [2, 3, 3, 3]
        base = max(segments, key=lambda s: s.rows).segment_id
        monkeypatch.setattr(compaction, "COMPACT_SEGMENTS", 2)
        ranges, segments = log.poll(project, "UPDATE log SET line = 'b' WHERE id = 990")
        assert len(segments) == 2
        assert levels(segments) == [log.last, log.last]
        assert [s.rows for s in segments if s.segment_id == base] == [1000]
        assert [s.rows for s in segments if s.segment_id != base] == [sum(r.rows for r in ranges if r.segment != base)]
        assert project.stream(STREAM).verify() == []


@pytest.mark.campaign
@pytest.mark.parametrize("buckets", ["key", "hash"])
def test_small_neighbors_are_fetched_as_one(
    buckets: str, database: str, spark: SparkSession, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or merged by compaction, if too many stored rows are obsolete.

    The table loses most of its rows.
    """
    monkeypatch.setattr(compaction, "COMPACT_BATCHES", 2)
    log = Log(database, workspace, buckets=buckets)
    with opened(log.config, workspace, spark) as project:
        project.stream(STREAM).prepare()
        before, _ = log.poll(project, "UPDATE log SET line = 'a' WHERE id = 1")
        ids, numbers = {r.range_id for r in before}, [len(before)]
        for number in range(8):
            low = 100 * number
            ranges, _ = log.poll(project, f"DELETE FROM log WHERE id BETWEEN {low + 1} AND {low + 100}")
            assert sum(r.rows for r in ranges) == 900 - 100 * number
            fresh = {r.range_id for r in ranges} - ids
            assert not fresh or min(fresh) > max(ids), "an id was used again"
            ids |= fresh
            numbers.append(len(ranges))
        assert numbers == sorted(numbers, reverse=True)
        if buckets == "key":  # hash buckets all shrink alike
            assert numbers[3] < numbers[1] < numbers[0], "no batch was folded until then"
        assert numbers[-1] <= numbers[0] // 2, numbers
        assert project.stream(STREAM).verify() == []


@pytest.mark.campaign
@pytest.mark.parametrize("number", [0, 1])
def test_batches_lie_on_the_replica_at_times(
    number: int, database: str, spark: SparkSession, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch_layers.at_times(monkeypatch)
    if number:
        compaction.may_become_segment([], [], [])  # so that the other polls are those that make a segment
    log = Log(database, workspace)
    with opened(log.config, workspace, spark) as project:
        project.stream(STREAM).prepare()
        seen = set()
        for turn, low in enumerate((100, 400, 120, 410, 90, 130)):
            _, segments = log.poll(
                project,
                f"UPDATE log SET line = 'y{turn}' WHERE id BETWEEN {low} AND {low + 120} AND id % 3 = {turn % 3}; "
                f"DELETE FROM log WHERE id = {low + turn}; INSERT INTO log VALUES ({low + turn - 1}, 'back') "
                "ON CONFLICT (id) DO UPDATE SET line = 'again'",
            )
            seen.add((len(segments), len(set(levels(segments)))))
        assert max(levels_ for _, levels_ in seen) > 1, seen
        assert project.stream(STREAM).verify() == []


def test_a_replica_of_digests_is_not_written_for_it(database: str, spark: SparkSession, workspace: Path) -> None:
    log = Log(database, workspace, replica="digest")
    with opened(log.config, workspace, spark) as project:
        project.stream(STREAM).prepare()
        _, before = log.poll(project, "UPDATE log SET line = 'a' WHERE id = 1")
        _, segments = log.poll(project, "UPDATE log SET line = 'b' WHERE id <= 40; DELETE FROM log WHERE id = 7")
        assert [s.segment_id for s in segments] == [s.segment_id for s in before]
        assert levels(segments) == [log.last - 2]
        assert project.stream(STREAM).verify() == []


def test_parts_of_a_range_next_to_one_with_a_batch(
    database: str, spark: SparkSession, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch_layers.always(monkeypatch)
    log = Log(database, workspace)
    with opened(log.config, workspace, spark) as project:
        project.stream(STREAM).prepare()
        grown = "INSERT INTO log SELECT i, 'new' FROM generate_series(1001, 1200) i"
        _, segments = log.poll(project, f"UPDATE log SET line = 'a' WHERE id = 5; {grown}")
        assert levels(segments) == [log.last - 1, log.last], "only that of the parts has the batch"
        assert project.stream(STREAM).verify() == []
