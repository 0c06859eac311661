"""Tables and columns whose name another one took: all rows are compared, or it is refused."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import qbcd
from qbcd.errors import GuardTripped, Refused, SchemaChanged
from tests.support import sql
from tests.support.oracle import events
from tests.support.places import Place, over
from tests.support.project import config, opened, poll
from tests.support.watched_polls import Watched, brief, stamped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMN = ("ALTER TABLE t RENAME COLUMN v TO v_old", "ALTER TABLE t ADD v varchar(40) DEFAULT 'fresh'")
TABLE = (
    "CREATE TABLE other (LIKE t INCLUDING ALL)",
    "INSERT INTO other SELECT * FROM t",
    "UPDATE other SET v = 'fresh'",
    "ALTER TABLE t RENAME TO t_old",
    "ALTER TABLE other RENAME TO t",
)
MARK = (
    "UPDATE t SET v = 'missed', at = {clock} WHERE id = 3",
    "ALTER TABLE t RENAME COLUMN at TO at_old",
    "ALTER TABLE t ADD at {stamp} NOT NULL DEFAULT '2024-01-01 00:00:00'",
)
HOW = {"column": COLUMN, "table": TABLE, "mark": MARK}
SETTLED = 1.1  # longer than the resolution of a server's own clock of definitions


def altered(seen: Watched, statements: tuple[str, ...]) -> None:
    if seen.place.kind != "postgresql":
        statements = tuple(text.replace("(LIKE t INCLUDING ALL)", "LIKE t") for text in statements)
        time.sleep(SETTLED)
    stamp = "timestamptz" if seen.place.kind == "postgresql" else "timestamp(6)"
    for text in statements:
        seen.run(text.format(clock=seen.clock, stamp=stamp))


@over("how", list(HOW), elsewhere=[])
def test_all_rows_are_compared(how: str, place: Place, workspace: Path) -> None:
    streams = {name: stamped(place, name) for name in ("ts", "tdi")}
    with Watched(place, workspace, streams).fill() as seen:
        seen.update(1, "new")
        for name in streams:
            seen.poll(name)
        altered(seen, HOW[how])
        for name in streams:
            seen.poll(name)
            report = seen.outcome.report
            assert report is not None
            assert any("was altered or recreated since the last poll" in text for text in report.warnings)
            seen.check(name)
            assert seen.poll(name) == []
            assert seen.outcome.report is not None
            assert seen.outcome.report.warnings == []
        seen.update(2, "later")
        for name in streams:
            assert brief(seen.poll(name)) == [[(2, "u")]]
            seen.check(name)


def edited(seen: Watched, **keys: object) -> None:
    seen.data["tables"][0].update(keys)
    seen.project.close()
    seen.project = opened(seen.data, seen.folder)


@over(elsewhere=[])
def test_another_edit_does_not_hide_it(place: Place, workspace: Path) -> None:
    strategies = {"s": stamped(place, "ts", deletes={"every": "1h"})}
    guards = {"max_delete_fraction": 0.3, "allow_empty": False}
    with Watched(place, workspace, strategies, guards=guards).fill() as seen:
        seen.poll()
        altered(seen, tuple(text.replace("FROM t", "FROM t WHERE id <= 6") for text in TABLE))
        edited(seen, where="n >= 0")
        with pytest.raises(GuardTripped):
            seen.poll()
        seen.poll(accept_deletes=True)
        seen.check()
        assert not seen.project.stream("s").verify()


@over(elsewhere=[])
def test_an_edit_of_columns_is_no_other_column(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts")}).fill() as seen:
        for columns in (["v", "n", "at"], ["v", "n"]):
            edited(seen, columns=columns)
            seen.outcome = poll(seen.project, "s")[0]
            assert seen.outcome.report is not None
            assert not [text for text in seen.outcome.report.warnings if "recreated" in text]


@over(elsewhere=[])
def test_a_column_of_the_restriction(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts", deletes={"every": "1h"})}, where="chk IS NULL") as seen:
        seen.fill()
        seen.poll()
        altered(
            seen,
            (
                "ALTER TABLE t RENAME COLUMN chk TO chk_old",
                "ALTER TABLE t ADD chk bigint DEFAULT 5",
                "UPDATE t SET chk = NULL WHERE id > 9",
            ),
        )
        seen.poll()
        assert not seen.project.stream("s").verify()


@over(elsewhere=[])
def test_a_stream_without_deletes_reports_none(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts")}).fill() as seen:
        seen.poll()
        seen.delete(2)
        altered(seen, COLUMN)
        assert {op for batch in seen.ops() for _, op in batch} == {"u"}


def test_one_that_keeps_no_values_is_refused(place: Place, workspace: Path) -> None:
    """On PostgreSQL; MariaDB and MySQL have no numbers of columns that would prove it."""
    streams = {"s": stamped(place, "ts", replica="keys", deletes={"every": "1h"})}
    with Watched(place, workspace, streams).fill() as seen:
        altered(seen, COLUMN)
        with pytest.raises(SchemaChanged, match="or a column of it, is another one of the same name now, and this"):
            seen.poll()


def test_with_a_lake_replica_too(database: str, workspace: Path, spark: SparkSession) -> None:
    sql(database, "CREATE TABLE t (id int PRIMARY KEY, v text, at timestamptz DEFAULT clock_timestamp())")
    sql(database, "INSERT INTO t SELECT i, 'old' FROM generate_series(1, 20) AS i")
    strategy = {"type": "ts", "timestamp": "at", "replica": "spark", "margin": "1ms"}
    written = config(database, {"table": "public.t", "name": "s", "columns": ["v"], "strategy": strategy})
    with qbcd.Project.from_dict(written, spark=spark, base_dir=workspace) as project:
        project.stream("s").prepare()
        poll(project)
        sql(database, "ALTER TABLE t RENAME v TO x; ALTER TABLE t ADD v text DEFAULT 'fresh'")
        [outcome] = poll(project)
        assert outcome.report is not None
        assert outcome.report.counts == {"u": 20}
        assert not project.stream("s").verify()
        [quiet] = poll(project)
        assert quiet.report is not None
        assert (quiet.report.counts, quiet.report.warnings) == ({}, [])


def test_a_view_that_shows_something_else(place: Place, workspace: Path) -> None:
    place.sql("CREATE TABLE b (id int PRIMARY KEY, a text, b text, at timestamptz DEFAULT clock_timestamp())")
    place.sql("INSERT INTO b SELECT i, 'a', 'b' FROM generate_series(1, 9) AS i")
    place.sql("CREATE VIEW seen AS SELECT id, a AS v, at FROM b")
    strategy = {"type": "ts", "timestamp": "at", "margin": "1ms"}
    table = {"table": "public.seen", "name": "s", "key": ["id"], "columns": ["v"], "strategy": strategy, "sinks": []}
    with qbcd.Project.from_dict(config(place.url, table), base_dir=workspace) as project:
        project.stream("s").prepare()
        place.sql("CREATE OR REPLACE VIEW seen AS SELECT id, b AS v, at FROM b")
        [outcome] = poll(project)
        assert outcome.report is not None
        assert outcome.report.counts == {"u": 9}
        assert not project.stream("s").verify()
        place.sql("DROP VIEW seen; CREATE VIEW seen AS SELECT id, b AS v, at FROM b")
        [same] = poll(project)
        assert same.report is not None
        assert (same.report.counts, same.report.warnings) == ({}, [])
        place.sql("DROP VIEW seen; ALTER TABLE b RENAME TO c; CREATE TABLE b (LIKE c)")
        place.sql("INSERT INTO b SELECT id, a, 'other', at FROM c; CREATE VIEW seen AS SELECT id, b AS v, at FROM b")
        [other] = poll(project)
        assert other.report is not None
        assert other.report.counts == {"u": 9}


@pytest.mark.campaign
@over(elsewhere=[])
def test_rows_deleted_before_an_altered_table_was_polled_are_reported(place: Place, workspace: Path) -> None:
    """A stream polled after the retention of flagged rows is refused, whatever was altered."""
    with Watched(place, workspace, {"s": stamped(place, "tdi", retention="1h")}, every="1s").fill() as seen:
        seen.poll()
        seen.flag(3)
        seen.delete(3)
        seen.reconfigure("s", retention="3s")  # a slow machine may take longer than this
        time.sleep(3.1)
        altered(seen, COLUMN)
        with pytest.raises(Refused, match="some may have been removed before a poll read them"):
            seen.poll()


def test_a_watermark_that_cannot_move_stays(place: Place, workspace: Path) -> None:
    with Watched(place, workspace, {"s": stamped(place, "ts")}).fill() as seen:
        seen.poll()
        with place.connect(autocommit=True) as other:
            for text in ("BEGIN", "CREATE TABLE zz (i int)", "PREPARE TRANSACTION 'held'"):
                place.run(other, text)
        try:
            altered(seen, COLUMN)
            seen.poll()
            report = seen.outcome.report
            assert report is not None
            assert any("the watermark stays" in text for text in report.warnings), report.warnings
        finally:
            with place.connect(autocommit=True) as other:
                place.run(other, "ROLLBACK PREPARED 'held'")
        seen.poll()
        seen.check()


def test_a_source_whose_rows_are_all_others_is_not_empty(place: Place, workspace: Path) -> None:
    """Though the replica is empty while an open transaction holds back new rows."""
    guards = {"max_delete_fraction": 0.5, "allow_empty": True}
    streams = {"s": stamped(place, "ts", deletes={"every": "1ms"})}
    with Watched(place, workspace, streams, guards=guards).fill() as seen:
        seen.poll()
        with place.connect() as other:
            place.run(other, "CREATE TABLE zz (i int)")
            seen.run("DELETE FROM t")
            for key in range(101, 113):
                seen.insert(key, "new")
            with pytest.raises(GuardTripped, match="would deliver 12 deletes of 12 rows"):
                seen.poll()


@over("replica, reason", [("source", "restriction_exit"), ("lake", None)], elsewhere=[("lake", None)])
def test_the_reasons_of_a_table_that_was_created_again(
    replica: str, reason: str | None, place: Place, workspace: Path
) -> None:
    """No event has reason `audit`; with a lake replica a row that left the restriction has none."""
    stamp = "timestamptz" if place.kind == "postgresql" else "timestamp(6)"
    create = f"CREATE TABLE t (id integer PRIMARY KEY, n integer, at {stamp} NOT NULL DEFAULT '2024-01-01 00:00:00')"
    strategy = stamped(place, "ts", replica=replica, deletes={"every": "1h"})
    data = config(place.url, {"name": "s", "table": place.table("t"), "where": "n >= 0", "strategy": strategy})
    place.sql(create)
    place.sql("INSERT INTO t (id, n) VALUES (1, 1), (2, 2), (3, 3)")
    with opened(data, workspace) as project:
        project.stream("s").prepare()
        time.sleep(SETTLED)
        place.sql("DROP TABLE t")
        place.sql(create)
        place.sql("INSERT INTO t (id, n) VALUES (1, 1), (2, -1), (3, 4)")
        poll(project, "s")
    found = {(event["op"], event["key"]["id"], event["reason"]) for event in events(workspace / "out/changes", "s")}
    assert found == {("d", 2, reason), ("u", 3, None)}
