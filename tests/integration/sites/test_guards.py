"""An emptied source is accepted by every strategy if the user has allowed it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.errors import GuardTripped
from tests.support.oracle import events
from tests.support.places import Place, over
from tests.support.project import config, opened, poll
from tests.support.watched_polls import Watched, stamped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS, SIZE = 40, 10
STEPWISE = {"rows_per_range": SIZE, "pace": {"per_second": 1000}}  # each range is a step
STREAMS: dict[str, dict[str, Any]] = {
    "mds": {"strategy": "mds"},
    "id": {"strategy": {"type": "id", **STEPWISE}},
    "tlcs": {"strategy": {"type": "tlcs", **STEPWISE}},
    "ids": {"strategy": {"type": "id_rcs", "rows_per_range": SIZE}},
    "turns": {"strategy": {"type": "id_rcs", "rows_per_range": SIZE, "per_poll": 3}},
}
POLLS = 3  # until all ranges were visited


def data(place: Place, **guards: Any) -> dict[str, Any]:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, n integer)")
    place.insert("t", [(i, 0) for i in range(ROWS)])
    tables = [{"name": name, "table": place.table("t"), "guards": guards, **s} for name, s in STREAMS.items()]
    made = config(place.url, *tables)
    del made["defaults"]["guards"]
    return made


def deletes(folder: Path, name: str) -> int:
    return sum(event["op"] == "d" for event in events(folder / "out/changes", name))


@over(elsewhere=[])
def test_an_emptied_source_is_believed_where_that_is_allowed(
    place: Place, workspace: Path, spark: SparkSession
) -> None:
    with opened(data(place, allow_empty=True), workspace, spark) as project:
        for stream in project.streams:
            stream.prepare()
        place.sql("UPDATE t SET n = 1 WHERE id < 5")
        poll(project)  # `turns` begins its pass while the table has rows
        place.sql("DELETE FROM t")
        for _ in range(POLLS):
            poll(project)
        assert {name: deletes(workspace, name) for name in STREAMS} == dict.fromkeys(STREAMS, ROWS)


@over(elsewhere=[])
def test_one_row_that_is_left_makes_it_a_part_of_the_rows(place: Place, workspace: Path, spark: SparkSession) -> None:
    with opened(data(place, allow_empty=True), workspace, spark) as project:
        for stream in project.streams:
            stream.prepare()
        place.sql("DELETE FROM t WHERE id > 0")
        for name in STREAMS:
            with pytest.raises(GuardTripped, match="39 deletes of 40 rows, more than guards"):
                poll(project, name)


@over("more", [{}, {"checksums": "remote"}], elsewhere=[{}])
def test_deletes_that_are_not_reported_trip_no_guard(
    more: dict[str, Any], place: Place, workspace: Path, spark: SparkSession
) -> None:
    made = data(place)
    strategy = {"type": "tlcs", "deletes": False, "rows_per_range": SIZE, **more}
    made["tables"] = [{"name": "s", "source": "shop", "table": place.table("t"), "strategy": strategy}]
    with opened(made, workspace, spark) as project:
        project.stream("s").prepare()
        place.sql("DELETE FROM t WHERE id > 0; UPDATE t SET n = 1")
        poll(project)
        place.sql("INSERT INTO t VALUES (7, 2)")
        poll(project)
    assert [(e["op"], e["key"]["id"]) for e in events(workspace / "out/changes", "s")] == [("u", 0), ("u", 7)]


@over(elsewhere=[])
def test_flagged_rows_leave_a_table_empty(place: Place, workspace: Path) -> None:
    ways = {name: stamped(place, "tdi") for name in ("s", "held")}
    each = {name: {"guards": {"allow_empty": name == "s", "max_delete_fraction": 0.5}} for name in ways}
    with Watched(place, workspace, ways, each=each).fill() as seen:
        seen.run(f"UPDATE t SET gone = true, at = {seen.clock}")
        assert [len(batch) for batch in seen.poll()] == [12]
        with pytest.raises(GuardTripped, match=r"is empty now and held 12 rows before"):
            seen.poll("held")
        seen.check()
