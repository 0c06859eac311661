"""Streams of texts that a collation equates although users see other bytes, under every strategy.

A key that only changes its spelling is one update, and so is a row that is deleted and inserted under another spelling.
A value that only changes its spelling is an update. The embedded server has no ICU, so PostgreSQL is Debian's server or
that of `QBCD_TEST_ICU_URL`; on MariaDB nearly all collations are of this kind.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.places import Place, new_place
from tests.support.plain_replay import Consumer, Image
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign

NOCASE = "CREATE COLLATION nocase (provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
STRATEGIES: Mapping[str, dict[str, Any]] = {
    "id_rcs by key": {"type": "id_rcs", "buckets": "key", "rows_per_range": 4},
    "id_rcs by hash": {"type": "id_rcs", "buckets": "hash", "rows_per_range": 4},
    "id_rcs by page": {"type": "id_rcs", "buckets": "page", "rows_per_range": 4},
    "id_rcs of digests": {"type": "id_rcs", "buckets": "key", "replica": "digest", "rows_per_range": 4},
    "tlcs in the lake": {"type": "tlcs", "checksums": "remote", "rows_per_range": 4},
    "ts in the lake": {"type": "ts", "timestamp": "at", "margin": "1ms", "replica": "spark", "rows_per_range": 4},
    "vbd by checksums": {"type": "vbd", "variant": "checksum"},
    "vbd by values": {"type": "vbd", "variant": "compare"},
    "mds": {"type": "mds"},
    "id": {"type": "id", "rows_per_range": 4},
    "tlcs": {"type": "tlcs", "rows_per_range": 4},
    "ts": {"type": "ts", "timestamp": "at", "margin": "1ms"},
}
CASES = [
    (kind, name)
    for kind in ("postgresql", "mariadb")
    for name in STRATEGIES
    if kind == "postgresql" or name != "id_rcs by page"
]
PAST_THE_MARGIN = 0.05  # seconds
NAMES = ("k", "v")


@pytest.fixture
def collated(request: pytest.FixtureRequest, kind: str) -> Iterator[Place]:
    """Return a new database of a server with such collations."""
    server = request.getfixturevalue("icu" if kind == "postgresql" else kind)
    with new_place(server, kind) as place:
        if kind == "postgresql":
            place.sql(NOCASE)
        yield place


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_another_spelling_is_one_update(
    kind: str, name: str, collated: Place, workspace: Path, spark: SparkSession
) -> None:
    place, first = collated, kind == "postgresql"
    text = "text COLLATE nocase" if first else "varchar(20) COLLATE utf8mb4_general_ci"
    when, now = ("timestamptz", "clock_timestamp()") if first else ("timestamp(6)", "sysdate(6)")
    place.sql(f"CREATE TABLE t (k {text} NOT NULL PRIMARY KEY, v {text}, at {when} NOT NULL)")

    def insert(key: str, value: str) -> None:
        place.sql(f"INSERT INTO t VALUES (%s, %s, {now})", [key, value])

    def update(key: str, column: str, value: str | None) -> None:
        place.sql(f"UPDATE t SET at = {now}, {column} = %s WHERE k = %s", [value, key])

    def source() -> list[Image]:
        return [dict(zip(NAMES, row, strict=True)) for row in place.sql("SELECT k, v FROM t")]

    for number in range(12):
        insert(f"Key {number:02}", f"Value {number}")
    strategy = STRATEGIES[name] | ({} if first or "timestamp" not in STRATEGIES[name] else {"lag": "2ms"})
    table: dict[str, Any] = {"name": "s", "strategy": strategy}
    if "vbd" in name:
        table |= {"query": f"SELECT k, v FROM {place.table('t')}", "key": "k"}
    else:
        table |= {"table": place.table("t"), "exclude": ["at"]}
    with opened(config(place.url, table), workspace, spark) as project:
        time.sleep(PAST_THE_MARGIN)
        consumer = Consumer(workspace, source(), lambda image: image["k"].casefold())
        project.stream("s").prepare()

        def polled(expected: list[str]) -> None:
            time.sleep(PAST_THE_MARGIN)
            poll(project, "s")
            assert consumer.apply() == expected
            assert consumer.rows == {image["k"].casefold(): image for image in source()}
            assert project.stream("s").verify() == []

        update("key 01", "v", "VALUE 1")
        update("KEY 02", "k", "KEY 02")
        update("key 03", "v", None)
        place.sql("DELETE FROM t WHERE k = %s", ["KEY 04"])
        insert("key 04", "Value 4")
        polled(["u", "u", "u", "u"])
        insert("key 12", "value 12")
        update("key 12", "k", "kEY 12")
        update("key 05", "k", "other 05") if strategy["type"] != "ts" else update("key 05", "v", "other 05")
        polled(["c", "u"] if strategy["type"] == "ts" else ["c", "c", "d"])
        polled([])
