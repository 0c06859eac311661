"""Checks of a server before a source replica is made, and types that its driver widens."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from qbcd.check import check_stream
from qbcd.errors import Refused
from tests.support.maria_source import KINDS
from tests.support.oracle import events
from tests.support.places import Place
from tests.support.project import config, opened, poll
from tests.support.scene import STREAM, Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENGINE = r"has storage engine MyISAM.*use strategy id_rcs"
pytestmark = pytest.mark.parametrize("database", KINDS, indirect=True)


def test_an_engine_without_transactions(place: Place, workspace: Path, spark: SparkSession) -> None:
    with Scene(place.url, workspace, "mds", spark) as scene:
        scene.make_table()
        place.sql("ALTER TABLE t ENGINE = MyISAM")
        with pytest.raises(Refused, match=ENGINE):
            scene.prepare()
        made = "SELECT table_name FROM information_schema.tables WHERE table_schema = %s"
        assert place.sql(made, [place.own_schema]) == [], "something was made"
        findings = [f for f in check_stream(scene.work()) if f.level == "error"]
        assert [f.error.what for f in findings if f.error] == [
            f"{place.table('t')} has storage engine MyISAM; a comparison in the source needs InnoDB"
        ]

        place.sql("ALTER TABLE t ENGINE = InnoDB")
        assert [f for f in check_stream(scene.work()) if f.level == "error"] == []
        scene.begin()
        scene.change()
        place.sql("ALTER TABLE t ENGINE = MyISAM")
        before = scene.fingerprint()
        with pytest.raises(Refused, match=ENGINE):
            scene.poll()
        with pytest.raises(Refused, match=ENGINE):
            scene.project.stream(STREAM).verify()
        assert scene.fingerprint() == before
        place.sql("ALTER TABLE t ENGINE = InnoDB")
        scene.poll()
        assert len(scene.check()) == 2


@pytest.mark.parametrize("strategy", ["mds", "id_rcs"])
def test_values_that_the_driver_widens(strategy: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    place.sql("CREATE TABLE t (id bigint unsigned PRIMARY KEY, f float, u bigint unsigned, s smallint)")
    rows: list[tuple[Any, ...]] = [(0, 0.1, 2**64 - 1, 1), (2**64 - 1, 16777216.0, 0, None), (7, None, None, -2)]
    place.insert("t", rows)
    table = {"name": "s", "table": place.table("t"), "strategy": strategy, "baseline": "events"}
    with opened(config(place.url, table), workspace, spark) as project:
        stream = project.stream("s")
        stream.prepare()
        [batch] = stream.poll()
        kinds = {f.name: f.dataType.simpleString() for f in batch.events.select("after.*").schema}
        assert kinds == {"id": "decimal(20,0)", "f": "float", "u": "decimal(20,0)", "s": "smallint"}
        place.sql("UPDATE t SET u = u - 1 WHERE u > 9; UPDATE t SET f = 0.2 WHERE id = 7")
        poll(project, "s")
        assert stream.verify() == []
    images = {event["after"]["id"]: event["after"] for event in events(workspace / "out/changes", "s")}
    assert images == {
        0: {"id": 0, "f": 0.1, "u": 2**64 - 2, "s": 1},
        2**64 - 1: {"id": 2**64 - 1, "f": 16777216.0, "u": 0, "s": None},
        7: {"id": 7, "f": 0.2, "u": None, "s": -2},
    }
