"""Spark must read a known value from a source, not the column's name, before its first read."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlalchemy.engine import URL
from typing_extensions import override

from qbcd.api import parts_of
from qbcd.connectors import CONNECTORS
from qbcd.connectors.mariadb import MariaDB
from qbcd.connectors.mysql_family.session import FamilySessions
from qbcd.errors import Refused
from qbcd.spark import source as reads
from tests.support.places import Place
from tests.support.project import config, opened, poll
from tests.support.scene import Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class UnquotedSessions(FamilySessions):
    """Sessions with the obvious URL, for which Spark knows no dialect."""

    @override
    def jdbc_url(self, url: URL, properties: Mapping[str, str] | None = None, **more: Any) -> str:
        return super().jdbc_url(url, properties, **more).replace("jdbc:mysql:", "jdbc:mariadb:")


class Unquoted(MariaDB):
    """MariaDB with such sessions."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions = UnquotedSessions(self)


@pytest.mark.parametrize("database", ["mariadb"], indirect=True)
@pytest.mark.parametrize("strategy", ["id_rcs", "mds"])
def test_column_names_for_values_are_refused(
    strategy: str, place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v text, n integer DEFAULT 0)")
    place.insert("t", [(1, "one", 0), (2, "two", 0)])
    table = {"name": "s", "table": place.table("t"), "strategy": strategy, "baseline": "events", "engine": "spark"}
    data = config(place.url, table)
    monkeypatch.setitem(CONNECTORS.places, "mariadb", f"{__name__}:Unquoted")
    with opened(data, workspace, spark) as project:
        with pytest.raises(Refused, match=r"reads \[\('c0',\)\] through jdbc:mariadb: from source shop .*'value'"):
            project.stream("s").prepare()
        row = parts_of(project).open_stream("s").site.context.row()
        assert strategy == "mds" or row is None or not row.prepared
        assert not list((workspace / "out").rglob("*.jsonl"))
    monkeypatch.undo()
    with opened(data, workspace, spark) as project:
        project.stream("s").prepare()
        poll(project, "s")
        assert project.stream("s").verify() == []
        assert len(list((workspace / "out").rglob("*.jsonl"))) == 1


@pytest.mark.parametrize("alike", [pytest.param(True, marks=pytest.mark.campaign), False])
def test_one_check_per_source(
    alike: bool, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If Spark quotes names as the source, no job is needed; otherwise a value is read, once."""
    reads_checked, found, check, quotes = [], [], reads.check_canary, reads.quotes_alike

    def counted(read: Any, *where: Any) -> None:
        reads_checked.append(read)
        check(read, *where)

    def asked(*about: Any) -> bool:
        found.append(quotes(*about))
        return alike

    monkeypatch.setattr(reads, "check_canary", counted)
    monkeypatch.setattr(reads, "quotes_alike", asked)
    with Scene(database, workspace, "id_rcs", spark, engine="spark") as scene:
        scene.begin()
        scene.change()
        scene.poll()
        scene.check()
    assert found == [True]
    assert reads_checked == ([] if alike else [[("value",)]])
