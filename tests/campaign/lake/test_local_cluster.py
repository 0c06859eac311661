"""Executors in processes of their own (`local-cluster`) find the same events as threads.

They have a class path, files and a clock of their own, as on a cluster; the workdir is shared, since they share a host.
"""

from __future__ import annotations

import multiprocessing
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.sites.lake import compaction, fetch_plan
from qbcd.sites.lake.fetch import leaf_checksums, two_phase
from qbcd.sites.lake.poll import TablePoll
from tests.support.forced_leaves import FORCED
from tests.support.oracle import events, net
from tests.support.places import Place, new_place, place_of, server_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

CLUSTER = "local-cluster[2,1,1024]"
PATIENCE = 900.0  # seconds
SMALL = {"type": "id_rcs", "rows_per_range": 20}
WAYS: dict[str, dict[str, Any]] = {
    "key": {"strategy": SMALL},
    "hash": {"strategy": {**SMALL, "buckets": "hash"}},
    "digest": {"strategy": {**SMALL, "replica": "digest"}},
    "none": {"strategy": SMALL, "key": "none"},
    "tlcs": {"strategy": {"type": "tlcs", "checksums": "remote", "rows_per_range": 20}},
    "ts": {
        "strategy": {
            "type": "ts",
            "replica": "spark",
            "timestamp": "written",
            "margin": "1ms",
            "deletes": {"every": "1ms"},
            "rows_per_range": 20,
        }
    },
}
NARROW = {"key", "hash", "digest", "tlcs"}  # strategies that fetch keys and digests first
SINKS = {"changes": {"type": "jsonl", "path": "out/changes"}, "lake": {"type": "parquet", "path": "out/lake"}}
TABLE = """
CREATE TABLE t (id bigint PRIMARY KEY, v text, at timestamptz, amount numeric(12, 2), doc jsonb, raw bytea,
  written timestamptz NOT NULL DEFAULT clock_timestamp());
INSERT INTO t SELECT i, 'v' || i, timestamptz '2024-03-10 02:30:00+00' + i * interval '1 s', i / 7.0,
  to_jsonb(repeat('wide ', 30) || i), decode(md5(i::text), 'hex') FROM generate_series(1, 400) AS i;
ANALYZE t
"""
CHANGES = (
    "UPDATE t SET v = 'changed', written = clock_timestamp() WHERE id % 90 = 0; "
    "DELETE FROM t WHERE id BETWEEN 100 AND 130",
    "INSERT INTO t (id, v) SELECT i, 'new' FROM generate_series(1000, 1100) AS i; "
    "UPDATE t SET v = NULL, written = clock_timestamp() WHERE id = 7",
    "DELETE FROM t WHERE id > 30; INSERT INTO t (id) VALUES (0)",
    "UPDATE t SET v = 'once more', written = clock_timestamp() WHERE id IN (3, 25)",
)
PAST_THE_MARGIN = 0.02  # seconds
TAKEN_SEGMENTS = compaction.TAKEN_SEGMENTS
SMALL_TABLES = {
    (two_phase, "SAVED_BYTES"): 1_000,
    (compaction, "COMPACT_BATCHES"): 2,
    (compaction, "TAKEN_SEGMENTS"): 0,
    **{(leaf_checksums, name): value for name, value in FORCED.items()},
}


def history(url: str, folder: Path, spark: SparkSession | None, master: str = "") -> None:
    """Poll a table with every strategy: baseline and changes."""
    place, fetch, ran = place_of(url), two_phase.fetch, set[str]()
    restricted, by_leaves = leaf_checksums.restrict_to_dirty_leaves, list[bool]()
    place.sql(TABLE)

    def watched(poll: TablePoll, *args: Any) -> two_phase.ChangedRows | None:
        found = fetch(poll, *args)
        ran.update([poll.context.stream] if found else [])
        return found

    def seen(*args: Any) -> fetch_plan.FetchPlan:
        found = restricted(*args)
        by_leaves.append(found.in_leaves)
        return found

    # two-phase fetches, leaves and compaction of so few rows
    for (module, name), value in SMALL_TABLES.items():
        setattr(module, name, value)
    setattr(two_phase, "fetch", watched)  # noqa: B010 -- mypy takes a function for what it is
    setattr(leaf_checksums, "restrict_to_dirty_leaves", seen)  # noqa: B010
    fixed = {"table": place.table("t"), "baseline": "events", "exclude": ["written"]}
    tables = [{"name": name, **fixed, **way} for name, way in WAYS.items()]
    own = {"spark": {"master": master}} if master else {}
    with opened(config(url, *tables, sinks=SINKS, **own), folder, spark) as project:
        for name in WAYS:
            project.stream(name).prepare()
        for number, change in enumerate(CHANGES):
            if number == len(CHANGES) - 1:
                compaction.TAKEN_SEGMENTS = TAKEN_SEGMENTS  # fetched rows become a segment
            place.sql(change)
            time.sleep(PAST_THE_MARGIN)
            poll(project)
        assert ran == NARROW
        assert by_leaves == [False] * len(NARROW) + [True] * 2 * len(NARROW), "all that remember leaves go by them"
        assert {name: project.stream(name).verify() for name in WAYS} == {name: [] for name in WAYS}


def _alone(url: str, folder: Path, master: str) -> None:
    history(url, folder, None, master)


@pytest.mark.campaign
def test_the_same_events(
    request: pytest.FixtureRequest, place: Place, tmp_path: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module, name in (*SMALL_TABLES, (two_phase, "fetch"), (leaf_checksums, "restrict_to_dirty_leaves")):
        monkeypatch.setattr(module, name, getattr(module, name))  # the original value is put back at the end
    threads, cluster = (tmp_path / name for name in ("threads", "cluster"))
    for folder in (threads, cluster):
        folder.mkdir()
    history(place.url, threads, spark)
    with new_place(server_of(request, place.kind), place.kind) as other:
        child = multiprocessing.get_context("spawn").Process(target=_alone, args=(other.url, cluster, CLUSTER))
        child.start()
        child.join(PATIENCE)
        child.kill()
        assert child.exitcode == 0
    for name in WAYS:
        found = [net(events(folder / "out/changes", name)) for folder in (threads, cluster)]
        assert found[0] == found[1], name
        assert Counter(e["op"] for e in events(cluster / "out/changes", name))["r"] == 400
        files = [sorted(p.parent.name for p in (f / "out/lake" / name).rglob("_SUCCESS")) for f in (threads, cluster)]
        assert files[0] == files[1]
