"""ID/RCS with ranges of pages: rows move between them, and replay still gives the source.

Rows are so wide that a page has four of them, and ranges so small that they have two pages: most updates move a row to
another range. Updates of columns that are not captured move rows too, and make no events.
"""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.errors import GuardTripped, UnsafeKey
from qbcd.sites.lake import compaction
from qbcd.sites.lake.fetch import leaf_checksums, page_fallback, two_phase
from qbcd.sites.lake.site import LakeSite
from qbcd.strategies import IdRcs
from tests.support import batch_layers, sql
from tests.support.key_kinds import PAGED, Keyed
from tests.support.oracle import batches, copy_of, events
from tests.support.places import Place, place_of
from tests.support.project import config, opened, poll
from tests.support.watermark_cases import connector_of, plan_of, probed

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGES = {"type": "id_rcs", "buckets": "page", "rows_per_range": 8}
QUICK = "uuid"
ROUNDS = [(0.9, 0.2), (0.1, 0.9), (0.9, 0.1), (0.2, 0.8), (0.9, 0.3)]
# Operations between two polls that change no row of the table.
REWRITTEN = ["VACUUM t", "VACUUM FULL t", "CLUSTER t USING t_pkey"]


def site_of(project: qbcd.Project) -> LakeSite:
    site = parts_of(project).open_stream("s").site
    assert isinstance(site, LakeSite)
    return site


def settled(project: qbcd.Project) -> str:
    row = site_of(project).context.row()
    assert row is not None
    return str(row.checkpoint["settled"]["buckets"])


def ranges(project: qbcd.Project) -> set[int]:
    site = site_of(project)
    with site.context.reading() as conn:
        segments = {s.segment_id: s.folded_through for s in site.context.store.segments(conn, "s")}
        found = site.context.store.ranges(conn, "s")
        row = site.context.row()
    assert row is not None
    assert set(segments.values()) == {row.last_batch_seq}, "no batch may lie on ranges that rows move among"
    assert {r.segment for r in found} == set(segments)
    return {r.range_id for r in found}


@pytest.mark.parametrize(
    "kind", [QUICK, *(pytest.param(kind, marks=pytest.mark.campaign) for kind in PAGED if kind != QUICK)]
)
def test_replay_equals_the_source(
    kind: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compaction, "COMPACT_SEGMENTS", 3)
    batch_layers.always(monkeypatch)  # as for other ranges
    place, rng = place_of(database), Random(f"pages {kind}")
    table = Keyed(place, kind, "page", workspace, rng)
    table.insert(0.5)
    with opened(table.config, workspace, spark) as project:
        project.stream("s").prepare()
        table.copy.take_baseline()
        assert settled(project) == "page"
        seen, before = Counter[str](), len(ranges(project))
        for number, (grown, shrunk) in enumerate(ROUNDS[: 3 if kind == QUICK else None]):
            table.move(0.3)
            table.update(0.3)
            table.delete(shrunk)
            table.insert(grown)
            table.move(0.2)
            poll(project, "s")
            seen += table.replay()
            now = len(ranges(project))
            seen["cut"], seen["joined"], before = seen["cut"] + (now > before), seen["joined"] + (now < before), now
            table.move(0.2)
            for statement in REWRITTEN[number % 3 :: 3]:
                place.sql(statement)
            assert [o.report and o.report.header for o in poll(project, "s")] == [None], "nothing that counts changed"
            assert project.stream("s").verify() == []
            ranges(project)
    assert min(seen["c"], seen["u"], seen["d"]) > 0, seen
    assert min(seen["cut"], seen["joined"]) > 0 or kind == "boolean", seen


def orders(url: str, rows: int = 400) -> None:
    """Make table t with a uuid key, ten rows per page."""
    sql(url, "CREATE TABLE t (k uuid PRIMARY KEY, a int NOT NULL, pad char(700) NOT NULL DEFAULT '')")
    sql(url, "ALTER TABLE t ALTER pad SET STORAGE PLAIN")
    sql(url, f"INSERT INTO t SELECT md5(i::text)::uuid, i FROM generate_series(1, {rows}) i; ANALYZE t")


def project_of(url: str, strategy: Any, **more: Any) -> dict[str, Any]:
    return config(url, {"name": "s", "table": "public.t", "strategy": strategy, "exclude": ["pad"], **more})


def test_changes_that_are_close_together_read_few_pages(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A key that does not follow the pages does not matter, since checksums are per page.

    Rows are not fetched by key, however wide they are: others may have moved without a change.
    """
    monkeypatch.setattr(two_phase, "SAVED_BYTES", -(10**9))
    orders(database)
    copy = copy_of(database, "public.t", ["k"], columns=["k", "a"])
    with opened(project_of(database, {"type": "id_rcs", "rows_per_range": 20}), workspace, spark) as project:
        project.stream("s").prepare()
        copy.take_baseline()
        assert settled(project) == "page"
        for number in range(3):
            sql(database, "DELETE FROM t WHERE a = 397; UPDATE t SET a = a + 1000 WHERE a IN (391, 395)")
            sql(
                database,
                f"UPDATE t SET a = a - 1000 WHERE a > 1000; INSERT INTO t VALUES (md5('n{number}')::uuid, 397)",
            )
            sql(database, "UPDATE t SET pad = pad WHERE a IN (388, 389)")
            [outcome] = poll(project, "s")
            assert outcome.report is not None
            assert outcome.report.cost.rows_shipped <= 60
            ranges(project)
            copy.replay(batches(workspace / "out/changes", "s"))
            assert copy.differences() == []
        assert project.stream("s").verify() == []


def test_rows_that_only_moved_are_not_lost(database: str, workspace: Path, spark: SparkSession) -> None:
    """Whole ranges lose their rows to others: guards count the rows that the table has lost."""
    orders(database)
    guarded = project_of(database, {"type": "id_rcs", "rows_per_range": 20}, guards={"max_delete_fraction": 0.4})
    with opened(guarded, workspace, spark) as project:
        project.stream("s").prepare()
        for rest in (0, 1):
            sql(database, f"DELETE FROM t WHERE a % 4 = {rest}")
            poll(project, "s")
        sql(database, "VACUUM FULL t")
        assert [o.report and o.report.header for o in poll(project, "s")] == [None]
        assert project.stream("s").verify() == []
        sql(database, "DELETE FROM t WHERE a < 300")
        with pytest.raises(GuardTripped):
            poll(project, "s")


@pytest.mark.campaign
def test_files_have_few_obsolete_rows(database: str, workspace: Path, spark: SparkSession) -> None:
    orders(database)
    copy = copy_of(database, "public.t", ["k"], columns=["k", "a"])
    with opened(project_of(database, {**PAGES, "rows_per_range": 20}), workspace, spark) as project:
        project.stream("s").prepare()
        copy.take_baseline()
        most = 0
        for number in range(7):
            sql(database, f"UPDATE t SET a = -a WHERE abs(a) / 50 = {number} AND a % 3 = 0")
            sql(database, f"UPDATE t SET pad = pad WHERE abs(a) / 50 = {number}")
            poll(project, "s")
            copy.replay(batches(workspace / "out/changes", "s"))
            assert copy.differences() == []
            ranges(project)
            with site_of(project).context.reading() as conn:
                stored = [s.rows for s in site_of(project).context.store.segments(conn, "s")]
            assert sum(stored) <= compaction.WITH_UNREAD * 400
            most = max(most, len(stored))
        assert most > 1
        assert project.stream("s").verify() == []


def test_other_columns_another_restriction_and_audits(database: str, workspace: Path, spark: SparkSession) -> None:
    """All rows are read again: ranges of pages stay, and only rows that differ are reported."""
    orders(database)
    sql(database, "ALTER TABLE t ADD b int; UPDATE t SET b = a % 7 WHERE a % 2 = 0")
    own = {"type": "id_rcs", "rows_per_range": 20}

    def polled(columns: list[str], **more: Any) -> Counter[str]:
        before = len(events(workspace / "out/changes", "s"))
        [table] = (data := config(database, {"name": "s", "table": "public.t", "strategy": own, **more}))["tables"]
        with opened(data | {"tables": [table | {"columns": columns}]}, workspace, spark) as project:
            if not before:
                project.stream("s").prepare()
            poll(project, "s")
            assert settled(project) == "page"
            ranges(project)
            assert project.stream("s").verify() == []
        return Counter(e["op"] for e in events(workspace / "out/changes", "s")[before:])

    assert polled(["a"], baseline="events") == {"r": 400}
    sql(database, "UPDATE t SET a = -a WHERE a = 7; UPDATE t SET pad = pad WHERE a > 300")
    assert polled(["a"], baseline="events") == {"u": 1}
    sql(database, "UPDATE t SET pad = pad WHERE a < 100")
    assert polled(["a", "b"], baseline="events") == {}  # the columns captured before are unchanged
    assert polled(["a", "b"], baseline="events", where="a > 40") == {"d": 40}
    sql(database, "UPDATE t SET a = a + 1000 WHERE a IN (8, 9, 50)")
    assert polled(["a", "b"], baseline="events", where="a > 40", audit={"every": "1s"}) == {"c": 2, "u": 1}


ANYWHERE = "UPDATE t SET a = -a WHERE a % 40 = {}"  # other rows each time: updated rows are stored together
NOT_CAPTURED = "UPDATE t SET pad = pad"
IN_ONE_PLACE = "UPDATE t SET a = -a WHERE abs(a) <= 12"


@pytest.mark.campaign
@pytest.mark.parametrize(
    "strategy, change, ends, updates",
    [
        ({}, ANYWHERE, "hash", 10),
        pytest.param({"replica": "digest"}, ANYWHERE, "hash", 10, marks=pytest.mark.campaign),
        pytest.param(
            {"buckets": "page"}, ANYWHERE, "page", 10, marks=pytest.mark.campaign
        ),  # explicitly configured pages are kept
        pytest.param({}, NOT_CAPTURED, "hash", 0, marks=pytest.mark.campaign),
        pytest.param({}, IN_ONE_PLACE, "page", 12, marks=pytest.mark.campaign),
    ],
    ids=["anywhere", "of digests", "as named", "not captured", "in one place"],
)
def test_pages_that_do_not_help_are_replaced_by_buckets(
    strategy: dict[str, Any],
    change: str,
    ends: str,
    updates: int,
    database: str,
    workspace: Path,
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(leaf_checksums, "LEAST_ROWS", 100)
    monkeypatch.setattr(page_fallback, "FEW", 0.1)
    orders(database)
    copy = copy_of(database, "public.t", ["k"], columns=["k", "a"])
    own = {"type": "id_rcs", "rows_per_range": 20, **strategy}
    with opened(project_of(database, own, baseline="events"), workspace, spark) as project:
        project.stream("s").prepare()
        found = []
        for number in range(1, 6):
            sql(database, change.format(number))
            poll(project, "s")
            found.append(settled(project))
            if "replica" not in strategy:
                copy.replay(batches(workspace / "out/changes", "s"))
                assert copy.differences() == []
            assert project.stream("s").verify() == []
            ops = Counter(e["op"] for e in events(workspace / "out/changes", "s"))
            assert ops["u"] == number * updates
        assert found == ["page", "page", ends, ends, ends]
        assert ops.keys() <= {"r", "u"}


def test_a_key_that_is_no_longer_proven(database: str, workspace: Path, spark: SparkSession) -> None:
    """Rows with one key may be on dirty and on clean pages; a hash bucket has them all."""
    orders(database)
    with opened(project_of(database, {"type": "id_rcs", "rows_per_range": 20}, key=["k"]), workspace, spark) as project:
        project.stream("s").prepare()
        assert settled(project) == "page"
        sql(database, "ALTER TABLE t DROP CONSTRAINT t_pkey")
        sql(database, "UPDATE t SET a = 0 WHERE a = 7")
        poll(project, "s")
        assert settled(project) == "hash"
        sql(database, "INSERT INTO t SELECT k, -1 FROM t WHERE a = 390")
        with pytest.raises(UnsafeKey, match="has duplicate or NULL values"):
            poll(project, "s")


@pytest.mark.parametrize(
    "made, options, kind",
    [
        ("CREATE TABLE t (k uuid PRIMARY KEY, a int)", {}, "page"),
        ("CREATE TABLE t (k uuid PRIMARY KEY, a int)", {"pace": {"target": "1s"}}, "page"),
        ("CREATE TABLE t (k uuid NOT NULL, a int)", {}, "hash"),  # nothing proves the key
        ("CREATE TABLE t (k uuid, a int, PRIMARY KEY (k)) PARTITION BY HASH (k)", {}, "hash"),
        ("CREATE TABLE b (k uuid PRIMARY KEY, a int); CREATE VIEW t AS SELECT * FROM b", {}, "hash"),
        ("CREATE MATERIALIZED VIEW t AS SELECT gen_random_uuid() AS k, 1 AS a", {}, "hash"),
        ("CREATE TABLE t (k uuid PRIMARY KEY, a int); CREATE TABLE c () INHERITS (t)", {}, "hash"),
        ("CREATE TABLE t (k bigint PRIMARY KEY, a int)", {}, "key"),
        ("CREATE TABLE t (k bigint PRIMARY KEY, a int)", {"buckets": "page"}, "page"),
    ],
)
def test_tables_that_use_pages(
    made: str, options: dict[str, Any], kind: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    for statement in made.split("; "):
        sql(database, statement)
    data = config(database, {"name": "s", "table": "public.t", "key": ["k"], "strategy": {"type": "id_rcs", **options}})
    with opened(data, workspace, spark) as project:
        project.stream("s").prepare()
        assert settled(project) == kind


def test_statements_read_the_pages_of_their_ranges_alone(place: Place) -> None:
    """A plan that read the table once for each range would make a poll of many ranges endless."""
    orders(place.url)
    strategy = IdRcs(connector_of(place), plan_of(probed(place), buckets="page"))
    counted = strategy.partitioning.bounds(20)
    assert counted is not None
    [found] = place.sql(counted.sql)
    known = strategy.partitioning.ranges([SimpleNamespace(n=found[0], pages=found[1])], 20, 1, None)
    assert len(known) == 20
    for one in (
        strategy.partitioning.checksums(known),
        strategy.images(known, typed=False),
        strategy.images(known[3:5], typed=True),
    ):
        plan = [line for (line,) in place.sql(f"EXPLAIN {one.sql}")]
        assert not [line for line in plan if "Seq Scan" in line or "Index" in line], plan
        assert [line for line in plan if "Tid Range Scan" in line]
    sums = place.sql(strategy.partitioning.checksums(known).sql)
    assert [row[0] for row in sorted(sums)] == [r.range_id for r in known]
    assert {row[1] for row in sums} == {20}
    assert len(place.sql(strategy.images(known, typed=False).sql)) == 400
