"""Delivery from a source replica reads each event of the outbox once, by as many connections as the source allows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from qbcd.local.source import SourceReads, fetch_rows
from tests.support.oracle import batches
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

ROWS = 100


@over(elsewhere=[])
def test_sinks_share_one_read_of_a_batch(place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also if a sink was down for some batches, and one needs a second attempt."""
    seen: list[SourceReads] = []

    def noted(database: Any, reads: SourceReads, fields: Any) -> Any:
        seen.append(reads)
        return fetch_rows(database, reads, fields)

    monkeypatch.setattr("qbcd.local.source.fetch_rows", noted)
    place.sql("CREATE TABLE t (id integer PRIMARY KEY)")
    sinks = {
        "changes": {"type": "jsonl", "path": "out/changes"},
        "files": {"type": "parquet", "path": "out/files"},
        "down": {"type": "jsonl", "path": "out/down"},
    }
    table = {"name": "s", "table": place.table("t"), "strategy": "mds"}
    (workspace / "out").mkdir(parents=True)
    (workspace / "out" / "down").touch()  # a file where the sink wants a folder
    with opened(config(place.url, table, sinks=sinks), workspace) as project:
        project.stream("s").prepare()
        for key in (1, 2):
            place.insert("t", [(key,)])
            [outcome] = project.run(["s"], once=True).outcomes
            assert outcome.report is not None
            assert list(outcome.report.failures) == ["down"]
            assert outcome.report.delivered == 2
            assert len(seen) == key, "three sinks, one read"
        (workspace / "out" / "down").unlink()
        place.insert("t", [(3,)])
        poll(project, "s")
    assert len(seen) == 5, "the last batch is read once for all, the two others for the sink that was down"
    everything = batches(workspace / "out" / "changes", "s")
    assert [[e["key"]["id"] for e in events] for _, events in everything] == [[1], [2], [3]]
    assert batches(workspace / "out" / "down", "s") == everything


@over("connections", [3, pytest.param(1, marks=pytest.mark.campaign)], elsewhere=[])
def test_a_batch_is_read_by_so_many_readers(
    connections: int, place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[SourceReads] = []

    def noted(database: Any, reads: SourceReads, fields: Any) -> Any:
        seen.append(reads)
        return fetch_rows(database, reads, fields)

    monkeypatch.setattr("qbcd.local.source.fetch_rows", noted)
    monkeypatch.setattr("qbcd.sites.database.site.ROWS_PER_READER", 10)
    place.sql("CREATE TABLE t (id integer PRIMARY KEY)")
    table = {"name": "s", "table": place.table("t"), "strategy": "mds"}
    with opened(config(place.url, table, source={"connections": connections}), workspace) as project:
        project.stream("s").prepare()
        place.insert("t", [(i,) for i in range(ROWS)])
        poll(project, "s")
    assert [len(reads.statements) for reads in seen] == [connections]
    ((_, events),) = batches(workspace / "out" / "changes", "s")
    assert sorted(e["key"]["id"] for e in events) == list(range(ROWS)), "no reader reads what another one has"
