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


@over("connections", [3, pytest.param(1, marks=pytest.mark.campaign)], elsewhere=[])
def test_a_batch_is_read_by_so_many_readers(
    connections: int, place: Place, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[SourceReads] = []

    def noted(database: Any, reads: SourceReads, fields: Any) -> Any:
        seen.append(reads)
        return fetch_rows(database, reads, fields)

    monkeypatch.setattr("qbcd.sites.database.site.fetch_rows", noted)
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
