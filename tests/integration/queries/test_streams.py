"""Queries as streams: events of each variant, replayed on the old result, give the new one."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.oracle import Event, events
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


VARIANTS = ("compare", "checksum")
TABLES = """
CREATE TABLE carriers (code varchar(2) NOT NULL PRIMARY KEY, name varchar(30) NOT NULL);
CREATE TABLE flights (
    id integer NOT NULL PRIMARY KEY, code varchar(2) NOT NULL, day date NOT NULL, delay numeric(6, 1), note varchar(20)
);
INSERT INTO carriers VALUES ('AA', 'American'), ('DL', 'Delta'), ('UA', 'United');
INSERT INTO flights VALUES
    (1, 'AA', '2013-01-01', 5, '50% off; -- no'), (2, 'AA', '2013-01-01', NULL, 'a'), (3, 'DL', '2013-01-01', -2, NULL),
    (4, 'DL', '2013-01-02', 60.5, ''), (5, 'UA', '2013-01-02', 12, 'x'), (6, 'XX', '2013-01-03', 1, 'no carrier')
"""
CHANGES = (
    "UPDATE flights SET delay = 7.5 WHERE id = 2; UPDATE carriers SET name = 'American Airlines' WHERE code = 'AA'",
    "UPDATE flights SET day = '2013-01-02' WHERE id = 1; DELETE FROM flights WHERE id = 3;"
    "INSERT INTO carriers VALUES ('XX', 'Unknown')",
    "DELETE FROM carriers WHERE code = 'DL'; INSERT INTO flights VALUES (9, 'AA', '2013-01-09', 0, '%s :x ?')",
)


def queries(place: Place) -> dict[str, dict[str, Any]]:
    """Return queries of several kinds, with the other settings of their streams."""
    flights, carriers = place.table("flights"), place.table("carriers")
    return {
        "grouped": {
            "query": f"""
            SELECT f.code, f.day, c.name, COUNT(*) AS n, AVG(f.delay) AS mean, MAX(f.delay) AS worst
            FROM {flights} f -- every flight of a known carrier; so many
            JOIN {carriers} AS c ON c.code = f.code
            GROUP BY f.code, f.day, c.name HAVING COUNT(*) > 0 ORDER BY f.code"""
        },
        "outer": {
            "query": f"""
            SELECT f.id, f.note, c.name FROM {flights} AS f LEFT JOIN {carriers} AS c ON c.code = f.code
            WHERE f.note IS NULL OR f.note NOT LIKE '%no ca%'""",
            "where": "note IS NULL OR note <> 'zz%'",
        },
        "latest": {"query": f"SELECT id, delay FROM {flights} ORDER BY day DESC, id LIMIT 3"},
        "either": {
            "query": f"""
            WITH bad AS (SELECT code FROM {flights} WHERE delay > 10)
            SELECT code, name FROM {carriers} WHERE code IN (SELECT code FROM bad)
            UNION SELECT code, 'early' AS name FROM {flights} WHERE delay < 0"""
        },
        "one": {"query": f"SELECT COUNT(*) AS n, SUM(delay) AS total FROM {flights} WHERE note IS NOT NULL"},
    }


class Result:
    """The result of a query, changed only by the events of a stream."""

    def __init__(self, place: Place, folder: Path, name: str, query: str, where: str = "") -> None:
        self.place, self.folder, self.name, self.seen = place, folder, name, 0
        self.query = f"SELECT * FROM (\n{query}\n) AS q" + (f" WHERE {where}" if where else "")
        self.rows: Counter[str] = Counter()

    def replay(self) -> list[Event]:
        fresh = events(self.folder / "out/changes", self.name)[self.seen :]
        self.seen += len(fresh)
        deleted, new = (Counter(_values(e[side].values()) for e in fresh if e[side]) for side in ("before", "after"))
        assert deleted <= self.rows, f"{self.name}: a deleted row did not exist: {deleted - self.rows}"
        self.rows = self.rows - deleted + new
        return fresh

    def check(self) -> list[Event]:
        fresh = self.replay()
        now = Counter(_values(row) for row in self.place.sql(self.query.replace("%", "%%"), {}))
        assert self.rows == now, f"{self.name}: {now - self.rows} missing, {self.rows - now} too many"
        return fresh


def _values(values: Any) -> str:
    return json.dumps(sorted("-" if v is None else _number(v) for v in values))


def _number(value: Any) -> str:
    try:
        return f"{float(value):.4f}"
    except (TypeError, ValueError):
        return str(value)


def streams(place: Place, *names: str, **more: Any) -> dict[str, Any]:
    """Return a configuration with a stream for each name ``query.variant``."""
    tables = []
    for name in names:
        query, variant = name.split(".")
        strategy = {"type": "vbd", "variant": variant}
        tables.append({"name": name, "baseline": "events", "strategy": strategy, **queries(place)[query], **more})
    return config(place.url, *tables)


STREAMS = {
    "few": ("grouped.compare", "grouped.checksum", "latest.compare"),
    "all": tuple(f"{q}.{v}" for q in ("grouped", "outer", "latest", "either", "one") for v in VARIANTS),
}


@pytest.mark.campaign
@over("which", ["few", pytest.param("all", marks=pytest.mark.campaign)], elsewhere=[])
def test_replay_gives_the_result(place: Place, which: str, workspace: Path, spark: SparkSession) -> None:
    names = STREAMS[which]
    place.sql(TABLES)
    data = streams(place, *names)
    results = [Result(place, workspace, t["name"], t["query"], t.get("where", "")) for t in data["tables"]]
    with opened(data, workspace, spark) as project:
        for table in data["tables"]:
            project.stream(table["name"]).prepare()
        for result in results:
            assert {e["op"] for e in result.check()} == {"r"}
        found_by: set[str] = set()
        for change in CHANGES:
            place.sql(change.replace("%", "%%"), {})
            poll(project)
            found = [result.check() for result in results]
            found_by.update(name for name, fresh in zip(names, found, strict=True) if fresh)
            by_query = {name.split(".")[0]: Counter(e["op"] for e in f) for name, f in zip(names, found, strict=True)}
            assert all(
                by_query[n.split(".")[0]] == Counter(e["op"] for e in f) for n, f in zip(names, found, strict=True)
            )
        assert found_by == set(names)
        poll(project)
        assert not any(result.check() for result in results)
        assert not any(project.stream(name).verify() for name in names[:2])
        last = events(workspace / "out/changes", "grouped.compare")[-1]
        assert (last["source"]["strategy"], last["source"]["table"]) == ("vbd", "grouped.compare")
