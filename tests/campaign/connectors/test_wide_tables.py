"""Tables of nearly as many columns as a server allows, under every strategy."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.places import Place
from tests.support.plain_replay import Consumer, Image
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign

STRATEGIES: Mapping[str, dict[str, Any]] = {
    "id_rcs by key": {"type": "id_rcs", "buckets": "key", "rows_per_range": 10},
    "id_rcs by hash": {"type": "id_rcs", "buckets": "hash", "rows_per_range": 10},
    "id_rcs by page": {"type": "id_rcs", "buckets": "page", "rows_per_range": 10},
    "id_rcs of digests": {"type": "id_rcs", "replica": "digest", "rows_per_range": 10},
    "tlcs in the lake": {"type": "tlcs", "checksums": "remote", "rows_per_range": 10},
    "ts in the lake": {"type": "ts", "timestamp": "at", "margin": "1ms", "replica": "spark"},
    "mds": {"type": "mds"},
    "id": {"type": "id"},
    "tlcs": {"type": "tlcs"},
    "ts": {"type": "ts", "timestamp": "at", "margin": "1ms"},
}
LAKE = {name for name in STRATEGIES if "lake" in name or "id_rcs" in name}
# By database: columns of a lake replica, and of an outbox that has each of them twice. InnoDB has 1,017 columns, and
# fewer bytes a row.
WIDTH = {"postgresql": (1590, 790), "mariadb": (1000, 490)}
ROWS = 30
CASES = [(kind, name) for kind in WIDTH for name in STRATEGIES if kind == "postgresql" or name != "id_rcs by page"]
PAST_THE_MARGIN = 0.05  # seconds


@pytest.mark.parametrize(("database", "name"), CASES, indirect=["database"])
def test_every_column_is_compared_and_delivered(name: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    """Single columns change, whole rows, values to NULL, and columns of a row exchange their values."""
    first = place.kind == "postgresql"
    when, now = ("timestamptz", "clock_timestamp()") if first else ("timestamp(6)", "sysdate(6)")
    names = ["id", *(f"c{i}" for i in range(WIDTH[place.kind][name not in LAKE] - 1))]
    columns = ", ".join(f"{n} integer" for n in names[1:])
    place.sql(f"CREATE TABLE t (id integer PRIMARY KEY, at {when} NOT NULL, {columns})")

    def insert(key: int) -> None:
        values = ", ".join(str(key * 10_000 + i) for i in range(len(names) - 1))
        place.sql(f"INSERT INTO t (at, {', '.join(names)}) VALUES ({now}, {key}, {values})")

    def update(key: int, **values: str) -> None:
        place.sql(f"UPDATE t SET at = {now}, {', '.join(f'{n} = {v}' for n, v in values.items())} WHERE id = {key}")

    def source() -> list[Image]:
        return [dict(zip(names, row, strict=True)) for row in place.sql(f"SELECT {', '.join(names)} FROM t")]

    for key in range(1, ROWS + 1):
        insert(key)
    strategy = STRATEGIES[name] | ({} if first or "timestamp" not in STRATEGIES[name] else {"lag": "2ms"})
    table = {"name": "s", "table": place.table("t"), "strategy": strategy, "exclude": ["at"]}
    last, middle = names[-1], names[len(names) // 2]
    with opened(config(place.url, table), workspace, spark) as project:
        time.sleep(PAST_THE_MARGIN)
        consumer = Consumer(workspace, source(), lambda image: image["id"])
        project.stream("s").prepare()
        update(1, c0="-1")
        update(2, **{last: "-1"})
        update(3, **{middle: "NULL"})
        update(4, **dict.fromkeys(names[1:], "NULL"))
        update(5, **dict.fromkeys(names[1:], "7"))
        old = next(image for image in source() if image["id"] == 6)
        update(6, c0=str(old[last]), **{last: str(old["c0"])})
        insert(ROWS + 1)
        changed = ["c", "u", "u", "u", "u", "u", "u"]
        if strategy["type"] != "ts":
            place.sql("DELETE FROM t WHERE id = 9")
            changed = ["c", "d", *changed[1:]]
        time.sleep(PAST_THE_MARGIN)
        poll(project, "s")
        assert consumer.apply() == changed
        assert consumer.rows == {image["id"]: image for image in source()}
        assert project.stream("s").verify() == []
        update(7, **{last: "NULL"})
        assert [(d.op, d.key) for d in project.stream("s").verify()] == (
            [] if strategy["type"] == "ts" else [("u", "7")]
        )
        time.sleep(PAST_THE_MARGIN)
        poll(project, "s")
        assert consumer.apply() == ["u"]
        assert consumer.rows == {image["id"]: image for image in source()}
