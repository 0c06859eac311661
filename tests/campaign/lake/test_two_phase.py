"""Two-phase or whole fetches.

The changes of a poll decide for the next one (algorithms 2.7).
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.sites.lake.fetch import two_phase
from tests.support import sql
from tests.support.oracle import batches, copy_of
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import SparkSession

ROWS, RANGE, GROWTH = 4000, 100, 200
# rows of about 600 bytes that do not compress
NOTE = "(SELECT string_agg(md5((i * 100 + j)::text), '') FROM generate_series(1, 18) j)"


@pytest.mark.campaign
def test_thin_and_dense_changes(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds = list[bool]()
    fetch = two_phase.fetch

    def watched(*args: Any) -> Any:
        found = fetch(*args)
        rounds.append(found is not None)
        return found

    monkeypatch.setattr(two_phase, "fetch", watched)
    monkeypatch.setattr(two_phase, "SAVED_BYTES", 1_000_000)
    monkeypatch.setattr(two_phase, "MOST_KEYS", ROWS // 2)
    sql(database, f"CREATE TABLE t AS SELECT i AS id, 0 AS n, {NOTE} AS note FROM generate_series(1, {ROWS}) i")
    sql(database, "ALTER TABLE t ADD PRIMARY KEY (id); ANALYZE t")
    table = {"name": "s", "table": "public.t", "strategy": {"type": "id_rcs", "rows_per_range": RANGE}}
    thin, dense = f"id % {RANGE} = 5", "true"
    shipped = list[int]()
    with opened(config(database, table), workspace, spark) as project:
        copy = copy_of(database, "public.t", ["id"])
        project.stream("s").prepare()
        copy.take_baseline()
        # growth at the end is split only when whole ranges are fetched at once
        sql(database, f"INSERT INTO t SELECT i, 0, {NOTE} FROM generate_series({ROWS + 1}, {ROWS + GROWTH}) i")
        before, after = ROWS // RANGE, (ROWS + GROWTH) // RANGE
        for where, known in ((thin, before), (dense, before), (dense, before), (thin, after), (thin, after)):
            sql(database, f"UPDATE t SET n = n + 1 WHERE {where}")
            [outcome] = poll(project, "s")
            assert outcome.report is not None
            assert outcome.report.cost.dirty == outcome.report.cost.ranges == known
            shipped.append(outcome.report.cost.bytes_shipped)
        copy.replay(batches(workspace / "out/changes", "s"))
        assert copy.differences() == []
        assert project.stream("s").verify() == []
    # two phases; two, the second of which is given up; none after dense changes; so also once for thin changes now
    assert rounds == [True, False, True]
    first, given_up, whole, wrong, last = shipped
    assert max(first, last) < whole / 4
    assert abs(wrong - whole) < whole / 10
    assert given_up >= whole * 0.9
