"""Foreign tables, which no snapshot of this server covers: each range has its own state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession
from sqlalchemy.engine import make_url

import qbcd
from qbcd.api import parts_of
from qbcd.errors import ConfigError
from tests.support import sql
from tests.support.project import config, poll
from tests.support.watched_polls import at_nth

TABLES = """
CREATE TABLE acc (id int PRIMARY KEY, bal int); INSERT INTO acc SELECT g, 100 FROM generate_series(1, 40) AS g;
CREATE EXTENSION postgres_fdw;
CREATE SERVER s FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '{host}', port '{port}', dbname '{database}');
CREATE USER MAPPING FOR CURRENT_USER SERVER s OPTIONS (user 'postgres');
CREATE FOREIGN TABLE facc (id int NOT NULL, bal int) SERVER s OPTIONS (table_name 'acc');
CREATE VIEW shown AS SELECT id, bal FROM facc;
CREATE VIEW local AS SELECT id, bal FROM acc;
CREATE TABLE parts (id int NOT NULL, bal int) PARTITION BY RANGE (id);
CREATE TABLE here PARTITION OF parts FOR VALUES FROM (1) TO (10);
CREATE FOREIGN TABLE there PARTITION OF parts FOR VALUES FROM (10) TO (20) SERVER s OPTIONS (table_name 'acc')
"""


@pytest.fixture
def database(database: str) -> str:
    url = make_url(database)
    sql(database, TABLES.format(host=url.host, port=url.port, database=url.database))
    return database


@pytest.fixture
def project(database: str, workspace: Path, spark: SparkSession) -> Iterator[qbcd.Project]:
    ranges = {"type": "id_rcs", "rows_per_range": 5, "buckets": "key"}
    table = {"source": "shop", "key": ["id"], "strategy": ranges}
    written = config(database, {**table, "table": "public.facc", "name": "s"})
    written["tables"] += [{**table, "table": f"public.{name}", "name": name} for name in ("shown", "local", "parts")]
    written["tables"].append(
        {**table, "table": "public.facc", "name": "asked", "strategy": {**ranges, "consistency": "snapshot"}}
    )
    with qbcd.Project.from_dict(written, spark=spark, base_dir=workspace) as made:
        yield made


def consistency(project: qbcd.Project, stream: str) -> str:
    work = parts_of(project).open_stream(stream)
    return work.site.strategy(project.stream(stream).plan()).consistency


def test_foreign_reads_are_known(project: qbcd.Project) -> None:
    found = {name: consistency(project, name) for name in ("s", "shown", "local", "parts")}
    assert found == {"s": "range", "shown": "range", "local": "snapshot", "parts": "range"}
    with pytest.raises(ConfigError, match="rows of it are on another server"):
        project.stream("asked").prepare()


def test_a_write_during_a_poll_is_no_torn_read(project: qbcd.Project, workspace: Path, database: str) -> None:
    project.stream("s").prepare()
    sql(database, "UPDATE acc SET bal = 1 WHERE id IN (2, 38)")
    with at_nth("after_checksums", 1, lambda: sql(database, "UPDATE acc SET bal = 2 WHERE id = 38")):
        poll(project, "s")
    poll(project, "s")
    events = [
        json.loads(line)
        for file in sorted((workspace / "out" / "changes" / "s").glob("*.jsonl"))
        for line in file.open()
    ]
    assert {event["key"]["id"]: event["after"]["bal"] for event in events} == {2: 1, 38: 2}
    assert {event["source"]["consistency"] for event in events} == {"range"}
    assert not project.stream("s").verify()
