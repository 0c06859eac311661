"""Changes whose digests cancel in the sum of their range: polls miss them, `verify` and audits do not.

With 64 bits only somebody who constructs rows can make such changes. Here digests have eight bits. Every poll of the
lake wing compares sums first; strategies of the database wing compare each row (docs/how-to/audits.md).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.oracle import batches
from tests.support.places import Place
from tests.support.project import config, opened, poll
from tests.support.scene import replay
from tests.support.weak_digest import cancelling, weak

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

OLD = "'2001-01-01 00:00:00'"  # before every watermark
QUERY = "SELECT id, v FROM {t}"
ONE_RANGE = {"rows_per_range": 1000}
WAYS: Mapping[str, dict[str, Any]] = {
    "key": {"type": "id_rcs", "buckets": "key", **ONE_RANGE},
    "hash": {"type": "id_rcs", "buckets": "hash", **ONE_RANGE},
    "page": {"type": "id_rcs", "buckets": "page", **ONE_RANGE},
    "small ranges": {"type": "id_rcs", "buckets": "key", "rows_per_range": 4},
    "digest": {"type": "id_rcs", "buckets": "key", "replica": "digest", **ONE_RANGE},
    "digest by hash": {"type": "id_rcs", "buckets": "hash", "replica": "digest", **ONE_RANGE},
    "digest by page": {"type": "id_rcs", "buckets": "page", "replica": "digest", "rows_per_range": 8},
    "tlcs": {"type": "tlcs", "checksums": "remote", **ONE_RANGE},
    "tlcs without deletes": {"type": "tlcs", "checksums": "remote", "deletes": False, **ONE_RANGE},
    "no key": {"type": "id_rcs", **ONE_RANGE},
    "ts": {"type": "ts", "timestamp": "at", "margin": "1ms", "replica": "spark"},
    "vbd": {"type": "vbd", "variant": "checksum"},
    "mds": {"type": "mds"},
    "id": {"type": "id"},
    "tlcs in the source": {"type": "tlcs"},
}
ONLY_POSTGRESQL = ("page", "digest by page")
IN_THE_SOURCE = ("mds", "id", "tlcs in the source")
QUICK = [("postgresql", "key"), ("mariadb", "tlcs")]
ROWS = 12


def cases() -> list[Any]:
    found = []
    for kind in ("postgresql", "mariadb", "mysql"):
        for way in WAYS:
            if kind == "postgresql" or way not in ONLY_POSTGRESQL:
                marks = [] if (kind, way) in QUICK else [pytest.mark.campaign]
                found.append(pytest.param(kind, way, marks=marks))
    return found


def configured(place: Place, way: str, **more: Any) -> dict[str, Any]:
    strategy = WAYS[way]
    if way == "ts" and place.kind != "postgresql":
        strategy = {**strategy, "lag": "2ms"}
    table: dict[str, Any] = {"name": "s", "strategy": strategy, **more}
    if way == "vbd":
        table |= {"query": QUERY.format(t=place.table("t")), "key": "id"}
    else:
        table |= {"table": place.table("t"), "columns": ["id", "v"]}
    return config(place.url, table | ({"key": "none"} if way == "no key" else {}))


@pytest.mark.parametrize(("database", "way"), cases(), indirect=["database"])
def test_only_polls_miss_them(
    way: str, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind = "timestamptz" if place.kind == "postgresql" else "timestamp"
    place.sql(f"CREATE TABLE t (id integer PRIMARY KEY, v varchar(40), at {kind} DEFAULT {OLD})")
    place.insert("t (id, v)", [(i, f"old {i}") for i in range(1, ROWS + 1)])

    def source() -> list[tuple[Any, ...]]:
        return place.sql("SELECT id, v, NULL AS n FROM t ORDER BY id")

    def events() -> list[list[dict[str, Any]]]:
        return [found for _, found in batches(workspace / "out/changes", "s")]

    with weak(place, monkeypatch):
        base = source()
        with opened(configured(place, way), workspace, spark) as project:
            stream = project.stream("s")
            stream.prepare()
            assert stream.verify() == []
            for key, value in cancelling(place, 5, 6).items():
                place.sql(f"UPDATE t SET v = '{value}' WHERE id = {key}")
            poll(project, "s")
            if way in IN_THE_SOURCE:
                assert sorted(e["key"]["id"] for batch in events() for e in batch) == [5, 6], "each row is compared"
                assert stream.verify() == []
                return
            assert events() == [], "the sums are equal"
            found = {(d.op, d.key) for d in stream.verify()}
            changed = {("c", f"{key}, {v}") for key, v, _ in source() if key in (5, 6)}
            deleted = {("d", f"{key}, {v}") for key, v, _ in base if key in (5, 6)}
            assert found == (changed | deleted if way == "no key" else {("u", "5"), ("u", "6")})
        with opened(configured(place, way, audit={"every": "1ms"}), workspace, spark) as project:
            assert "for an audit by" in project.stream("s").explain()[-1].title
            poll(project, "s")
            audited = [(e["op"], e["reason"]) for batch in events() for e in batch]
            ops = ["d", "d", "c", "c"] if way == "no key" else ["u", "u"]
            assert audited == [(op, "audit") for op in ops]
            assert replay(base, events()) == {row[0]: row for row in source()}
            assert project.stream("s").verify() == []
            poll(project, "s")
            assert len(events()) == 1, "an audit reports a difference once"
