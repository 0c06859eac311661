"""An emptied source that the user has allowed is believed by every strategy, whatever part of the rows that is."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.errors import GuardTripped
from tests.support.oracle import events
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

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
POLLS = 3  # until all ranges have had their turn


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
