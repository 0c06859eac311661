"""Results of one row: the key is empty, and a change is one update.

With HAVING the row may come and go.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.errors import ConfigError, GuardTripped, Refused
from tests.integration.queries.test_streams import Result
from tests.support.oracle import Event
from tests.support.places import FIRST, Place, over
from tests.support.project import config, opened, poll
from tests.support.query_streams import detect

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import qbcd

TABLES = """
CREATE TABLE t (id integer NOT NULL PRIMARY KEY, kind varchar(5) NOT NULL, amount numeric(8, 2));
INSERT INTO t VALUES (1, 'a', 10), (2, 'a', 2.5), (3, 'b', 7), (4, 'b', NULL)
"""
SINKS = {"changes": {"type": "jsonl", "path": "out/changes"}, "lake": {"type": "parquet", "path": "out/lake"}}
SIZES = {"few": 1, "all": None}  # streams, and steps, that are delivered
# The change, and the ops of the sum and of the row that needs two rows.
STEPS: tuple[tuple[str, list[str], list[str]], ...] = (
    ("UPDATE t SET amount = 3.5 WHERE id = 2", ["u"], ["u"]),
    ("UPDATE t SET amount = 99 WHERE id = 3", [], []),
    ("DELETE FROM t WHERE kind = 'a'", ["u"], ["d"]),
    ("UPDATE t SET kind = 'a'", ["u"], ["c"]),
)


def queries(place: Place) -> dict[str, str]:
    """Return a sum, which always has a row, and a query with HAVING, which needs two rows."""
    read = f"FROM {place.table('t')} WHERE kind = 'a'"
    return {
        "sum": f"SELECT COUNT(*) AS n, SUM(amount) AS total {read}",
        "most": f"SELECT SUM(amount) AS total, 'a' AS kind {read} HAVING COUNT(*) > 1 ORDER BY total LIMIT 1",
    }


def streams(place: Place, *names: str, **more: Any) -> dict[str, Any]:
    """Return a configuration with a stream for each name ``query.variant``.

    Variant counted has no key.
    """
    tables = []
    for name in names:
        query, variant = name.split(".")
        given = {"key": "none"} if variant == "counted" else {}
        strategy = {"type": "vbd", "variant": variant.replace("counted", "checksum")}
        tables.append({"name": name, "query": queries(place)[query], "strategy": strategy, **given, **more})
    return config(place.url, *tables, sinks=SINKS)


def of_kind(place: Place, *variants: str) -> list[str]:
    """Return the streams that this kind of database supports; variant delta follows no LIMIT."""
    names = [f"{query}.{variant}" for query in ("sum", "most") for variant in variants]
    return [name for name in names if "delta" not in name or (place.kind == FIRST and "sum" in name)]


@over(elsewhere=[])
def test_in_the_source(place: Place, workspace: Path) -> None:
    """Nothing is delivered: each poll has the expected counts, and the replica is the result."""
    place.sql(TABLES)
    names = of_kind(place, "compare", "delta")
    with opened(streams(place, *names), workspace) as project:
        for name in names:
            project.stream(name).prepare()
        for change, sums, most in STEPS:
            place.sql(change)
            for name in names:
                found = [op for d in detect(project, name) if d.header for op in d.header.counts]
                assert found == (sums if "sum" in name else most), (name, change)
                assert not project.stream(name).verify()
        _check_reports(place, project, names)


def ops_of(fresh: list[Event], kind: str) -> list[str]:
    """Check the form of events; return their ops."""
    for event in fresh:
        assert event["key"] == {}, kind
        assert (event["before"] is None, event["after"] is None) == (event["op"] in "rc", event["op"] == "d")
        assert (event["changed"] is None) == (event["op"] != "u")
    return [event["op"] for event in fresh]


@over("which", ["few", pytest.param("all", marks=pytest.mark.campaign)], elsewhere=[])
def test_a_change_is_one_update(place: Place, which: str, workspace: Path, spark: SparkSession) -> None:
    place.sql(TABLES)
    names = of_kind(place, *(("compare", "checksum", "delta") if which == "all" else ("checksum",)))[: SIZES[which]]
    data = streams(place, *names, baseline="events")
    results = {t["name"]: Result(place, workspace, t["name"], t["query"]) for t in data["tables"]}
    with opened(data, workspace, spark) as project:
        for name in names:
            project.stream(name).prepare()
            assert ops_of(results[name].check(), name) == ["r"]
        for change, sums, most in STEPS[: SIZES[which]]:
            place.sql(change)
            poll(project)
            for name in names:
                fresh = results[name].check()
                assert ops_of(fresh, name) == (sums if name.startswith("sum") else most), (name, change)
        if which == "all":
            _check_reports(place, project, names)
    rows = spark.read.parquet(str(workspace / f"out/lake/{names[0]}")).select("op", "key", "after.n")
    numbers = [2, 0, 2][: SIZES[which]]
    assert sorted(rows.collect()) == sorted([("r", None, 2), *(("u", None, n) for n in numbers)])


def _check_reports(place: Place, project: qbcd.Project, names: list[str]) -> None:
    """Check that commands which change nothing report an empty key too."""
    said = [str(finding.message) for finding in project.check() if finding.subject == "key"]
    assert said == ["(), since the query gives one row at most"] * len(names)
    place.sql("UPDATE t SET amount = amount + 1")
    for name in names:
        assert [(d.op, d.key) for d in project.stream(name).verify()] == [("u", "")], name
        assert project.stream(name).explain()


@over(elsewhere=[])
def test_a_row_that_vanishes_is_all_rows(place: Place, workspace: Path) -> None:
    place.sql(TABLES)
    with opened(streams(place, "most.compare", guards={"allow_empty": False}), workspace) as project:
        project.stream("most.compare").prepare()
        place.sql("DELETE FROM t WHERE id = 1")
        with pytest.raises(GuardTripped):
            detect(project, "most.compare")


@pytest.mark.campaign
@over()
def test_without_a_key_it_is_counted(place: Place, workspace: Path, spark: SparkSession) -> None:
    place.sql(TABLES)
    with opened(streams(place, "sum.counted", baseline="events"), workspace, spark) as project:
        project.stream("sum.counted").prepare()
        result = Result(place, workspace, "sum.counted", queries(place)["sum"])
        result.check()
        place.sql(STEPS[0][0])
        poll(project)
        fresh = result.check()
    assert [(e["op"], e["key"]) for e in fresh] == [("d", None), ("c", None)]


@over(elsewhere=[])
def test_results_that_are_not_one_row(place: Place, workspace: Path) -> None:
    place.sql(TABLES)
    data = streams(place, "sum.checksum")
    data["tables"][0]["strategy"]["buckets"] = "key"
    with opened(data, workspace / "buckets", None) as project, pytest.raises(ConfigError) as caught:
        project.stream("sum.checksum").prepare()
    assert "no ranges of a key that has no columns" in caught.value.what
    data = streams(place, "most.counted")
    with opened(data, workspace / "counted", None) as project, pytest.raises(Refused) as refused:
        project.stream("most.counted").prepare()
    assert "LIMIT takes other rows" in refused.value.what
