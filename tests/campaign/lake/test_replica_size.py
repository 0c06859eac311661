"""The size of a digest replica on disk, compared with a replica of rows.

A row has about 200 bytes, as in the benchmarks. In a replica of rows DuckDB's files have 83 of them, Spark's 165.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd import Project
from qbcd.api import parts_of
from qbcd.sites import LakeSite
from tests.support import sql
from tests.support.project import config, opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 50_000
TABLE = f"""
CREATE TABLE t AS SELECT i::bigint AS id, 'customer-' || (i::bigint * 7919) % 100003 AS customer, i % 97 AS quantity,
  (i % 100000) / 100.0 AS amount, timestamptz '2024-01-01 00:00:00+00' + i * interval '1 second' AS placed_at,
  i / 3.0::float8 AS weight, md5(i::text) || md5((-i)::text) || md5((i + 0.5)::text) || md5((0.5 - i)::text) AS note
FROM generate_series(1, {ROWS}) AS i;
ALTER TABLE t ADD PRIMARY KEY (id); ANALYZE t
"""


# With an integer key, as most tables have: a replica always stores the key, and a uuid is as long as many rows.
@pytest.mark.campaign
def test_digests_take_at_most_a_seventh(database: str, workspace: Path, spark: SparkSession) -> None:
    sql(database, TABLE)
    tables = [
        {"name": f"of_{kept}", "table": "public.t", "strategy": {"type": "id_rcs", "replica": kept}}
        for kept in ("rows", "digest")
    ]
    with opened(config(database, *tables), workspace, spark) as project:
        for table in tables:
            project.stream(str(table["name"])).prepare()
        rows, digests = _size(project, "of_rows"), _size(project, "of_digest")
    assert rows > 75 * ROWS
    assert digests < rows / 7, (rows, digests)
    assert digests < 18 * ROWS, "more than a key and a digest of 8 bytes each"


def _size(project: Project, stream: str) -> int:
    site = parts_of(project).open_stream(stream).site
    assert isinstance(site, LakeSite)
    return sum(path.stat().st_size for path in site.context.files.root.rglob("*.parquet"))
