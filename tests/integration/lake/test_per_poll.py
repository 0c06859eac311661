"""ID/RCS with `per_poll`: a poll visits some ranges, exactly; later polls visit the others."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.errors import ConfigError, GuardTripped
from qbcd.model import Cost, KeyRange, Statement
from qbcd.sites.context import StreamContext
from qbcd.sites.lake import checksums as range_checksums
from qbcd.state import StoredRange
from qbcd.strategies.partitions.key import KeyPartitioning
from tests.support.oracle import batches, copy_of
from tests.support.pausing import at
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

RANGES, ROWS, PART = 6, 10, 3
PARTLY: dict[str, Any] = {"type": "id_rcs", "rows_per_range": ROWS, "per_poll": PART, "pace": {"target": "1s"}}
POLLS = -(-RANGES // (PART - int(PART * 0.75)))  # polls until all ranges without changes were visited


def data(place: Place, **strategy: Any) -> dict[str, Any]:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, n integer)")
    place.insert("t", [(i, 0) for i in range(RANGES * ROWS)])
    table = {
        "name": "s",
        "table": place.table("t"),
        "strategy": {**PARTLY, **strategy},
        "guards": {"max_delete_fraction": 0.5},
    }
    return config(place.url, table)


def ranges_of(project: qbcd.Project) -> list[StoredRange]:
    site = parts_of(project).open_stream("s").site
    with site.context.reading() as conn:
        return site.context.store.ranges(conn, "s")


def version(project: qbcd.Project) -> int:
    row = parts_of(project).open_stream("s").site.context.row()
    assert row is not None
    return row.version


def poll_once(project: qbcd.Project, **options: Any) -> tuple[Cost, dict[str, int]]:
    """Poll once; return its cost and its counts of events."""
    [outcome] = poll(project, "s", **options)
    assert outcome.report is not None
    return outcome.report.cost, dict(outcome.report.counts)


@over(elsewhere=["mariadb"])
def test_ranges_in_rotation(place: Place, workspace: Path, spark: SparkSession) -> None:
    with opened(data(place), workspace, spark) as project:
        copy = copy_of(place.url, place.quote("t"), ["id"])
        project.stream("s").prepare()
        copy.take_baseline()
        place.sql("UPDATE t SET n = 1 WHERE id IN (3, 35, 58)")
        cost, counts = poll_once(project)  # the first three, since all were visited at the same time
        assert (cost.ranges, cost.rows_scanned, cost.dirty, counts) == (PART, PART * ROWS, 1, {"u": 1})
        assert sorted(d.key for d in project.stream("s").verify()) == ["35", "58"]
        [status] = project.status()
        assert status.visits is not None
        assert (status.visits.ranges, status.visits.visited) == (RANGES, PART)

        titles = [step.title for step in project.stream("s").explain()]
        assert any(f"checksums of the {PART} ranges that are due" in title for title in titles), titles

        # the hot range, and two of the others; a row of an old one and growth at the end are found later
        place.sql("UPDATE t SET n = 2 WHERE id = 4")
        place.insert("t", [(i, 0) for i in range(RANGES * ROWS, (RANGES + 3) * ROWS)])
        place.sql("DELETE FROM t WHERE id = 36")
        cost, counts = poll_once(project)
        assert (cost.ranges, cost.dirty) == (PART, 2)
        assert counts == {"u": 2, "d": 1}
        for _ in range(POLLS):
            poll_once(project)
        assert project.stream("s").verify() == []
        assert len(ranges_of(project)) > RANGES, "the last range was not cut"
        found = copy.replay(batches(workspace / "out/changes", "s"))
        assert copy.differences() == []
        assert {e["source"]["consistency"] for e in found} == {"range"}
        assert poll_once(project)[1] == {}


@over(elsewhere=[])
def test_deletes_of_a_pass_count_together(place: Place, workspace: Path, spark: SparkSession) -> None:
    with opened(data(place), workspace, spark) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET n = 1 WHERE id < 5")
        poll_once(project)  # the pass begins and visits three ranges
        place.sql("DELETE FROM t WHERE id > 5")  # more than half, but no poll sees them all
        assert poll_once(project)[1] == {"d": 4 + 2 * ROWS}
        before = version(project)
        for _ in range(2):
            with pytest.raises(GuardTripped, match="34 deletes of 60 rows"):
                poll_once(project)
        assert version(project) == before
        assert poll_once(project, accept_deletes=True)[1] == {"d": ROWS}
        with pytest.raises(GuardTripped, match="20 deletes of 26 rows"):  # the next pass begins with a count
            poll_once(project)


@over(elsewhere=[])
def test_a_scan_reads_all_buckets(place: Place, workspace: Path, spark: SparkSession) -> None:
    made = data(place, pace={})
    place.sql("CREATE TABLE u (id integer, n integer)")
    made["tables"][0] |= {"table": place.table("u"), "key": "none"}
    with opened(made, workspace, spark) as project, pytest.raises(ConfigError, match="answered for by one scan"):
        project.stream("s").prepare()


@over(elsewhere=["mariadb"])
def test_short_statements_and_no_state_kept(
    place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last statement's duration sizes the next; between them no session holds a snapshot."""
    monkeypatch.setattr(range_checksums, "FIRST_ROWS", 2 * ROWS)
    statements, rests, kept = list[int](), list[float](), list[tuple[Any, ...]]()
    checksums = KeyPartitioning.checksums

    def counted(cut: KeyPartitioning, some: Sequence[KeyRange], *, leaves: bool = False) -> Statement:
        statements.append(len(some))
        return checksums(cut, some, leaves=leaves)

    pace = {"target": "1m", "nice_ratio": 3}
    with opened(data(place, per_poll=None, consistency="range", pace=pace), workspace, spark) as project:
        project.stream("s").prepare()
        monkeypatch.setattr(KeyPartitioning, "checksums", counted)
        monkeypatch.setattr(StreamContext, "rest", lambda site, seconds: rests.append(seconds))
        place.sql("UPDATE t SET n = 1 WHERE id IN (3, 58)")
        if place.kind == "postgresql":
            state = "SELECT backend_xmin FROM pg_stat_activity WHERE application_name LIKE 'qbcd%'"
            hook: AbstractContextManager[Any] = at("after_checksums", lambda: kept.extend(place.sql(state)))
        else:
            hook = nullcontext()
        with hook:
            assert poll_once(project)[1] == {"u": 2}
        assert sorted(statements) == [1, 1, 2, 2], "two connections: two ranges each, then the rest"
        assert len(rests) == 2
        assert min(rests) > 0
        assert set(kept) == ({(None,)} if place.kind == "postgresql" else set())
        assert project.stream("s").verify() == []
