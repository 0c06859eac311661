"""A damaged row of a stream: every command refuses it.

Reset begins after all earlier numbers.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.api import parts_of
from qbcd.errors import Refused, StateConflict
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@over("strategy", ["mds", "id_rcs"], elsewhere=["mds"])
def test_a_damaged_row_is_refused_until_it_is_reset(
    strategy: str, place: Place, workspace: Path, spark: SparkSession
) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, a integer); INSERT INTO t VALUES (1, 1), (2, 2)")
    data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": strategy})
    with opened(data, workspace, spark) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET a = 3 WHERE id = 1")
        poll(project, "s")
        before = parts_of(project).open_stream("s").site.context.row()
        assert before is not None
    broken = "SET checkpoint = '{}', last_batch_seq = 0, epoch = 0"
    if strategy == "mds":
        place.sql(f"UPDATE {place.own_schema}.stream {broken}")
    else:
        with sqlite3.connect(workspace / ".qbcd" / "state.db") as state:
            state.execute(f"UPDATE qbcd_stream {broken}")
    with opened(data, workspace, spark) as project:
        for action in (lambda: poll(project, "s"), project.stream("s").prepare):
            with pytest.raises(Refused, match="its content does not match its seal"):
                action()
        project.stream("s").reset(discard=True)
        project.stream("s").prepare()
        after = parts_of(project).open_stream("s").site.context.row()
        assert after is not None
        assert after.epoch > before.epoch
        assert after.last_batch_seq == before.last_batch_seq, "numbers go on over epochs"
        assert after.fencing_token > before.fencing_token
        place.sql("UPDATE t SET a = 4 WHERE id = 2")
        [outcome] = poll(project, "s")
        assert outcome.report is not None
        assert outcome.report.counts == {"u": 1}


@over("strategy", ["mds", "id", "tlcs"], elsewhere=["id"])
def test_a_deleted_stream_row_is_reported_and_reset(strategy: str, place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, a integer); INSERT INTO t VALUES (1, 1), (2, 2)")
    table = {"name": "s", "table": place.table("t"), "strategy": strategy, "sinks": [], "baseline": "silent"}
    with opened(config(place.url, table), workspace) as project:
        project.stream("s").prepare()
        place.sql("UPDATE t SET a = 3 WHERE id = 1")
        poll(project, "s")
        before = parts_of(project).open_stream("s").site.context.row()
        assert before is not None
        place.sql(f"DELETE FROM {place.own_schema}.stream")
        with pytest.raises(Refused, match=r"is not prepared \(qbcd prepare s\)"):
            poll(project, "s")
        for _ in range(2):
            with pytest.raises(StateConflict, match=r"hold rows, though it was .* qbcd reset s --discard"):
                project.stream("s").prepare()
        project.stream("s").reset(discard=True)
        project.stream("s").prepare()
        after = parts_of(project).open_stream("s").site.context.row()
        assert after is not None
        assert after.epoch > before.epoch
        assert after.last_batch_seq == before.last_batch_seq, "numbers go on over epochs"
        place.sql("UPDATE t SET a = 4 WHERE id = 2")
        [outcome] = poll(project, "s")
        assert outcome.report is not None
        assert outcome.report.counts == {"u": 1}
