"""Tables without a primary key: the only unique key that is never NULL is the key, and stays so."""

from __future__ import annotations

from pathlib import Path

import pytest

import qbcd
from qbcd.api import parts_of
from qbcd.errors import UnsafeKey
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

TABLE = """
CREATE TABLE t (id integer NOT NULL, code varchar(20) NOT NULL, maybe integer, n integer NOT NULL, v varchar(20),
                UNIQUE (maybe), UNIQUE (code), UNIQUE (code, n))
"""


def project_of(place: Place, folder: Path) -> qbcd.Project:
    table = {"name": "s", "table": place.table("t"), "strategy": "mds", "baseline": "silent", "sinks": []}
    return opened(config(place.url, table), folder)


def key_of(project: qbcd.Project) -> list[str]:
    row = parts_of(project).open_stream("s").site.context.row()
    assert row is not None
    return [*row.checkpoint["shape"]["key"]]


@over()
def test_the_only_unique_key(place: Place, workspace: Path) -> None:
    place.sql(TABLE)
    place.sql("INSERT INTO t VALUES (1, 'a', NULL, 1, 'x'), (2, 'b', NULL, 1, 'x')")
    with project_of(place, workspace) as project:
        said = [one.message for one in project.check() if one.subject == "key"]
        assert said == ["(code), the only unique key without NULL; the table has no primary key"]
        project.stream("s").prepare()
        place.sql("UPDATE t SET v = 'y' WHERE code = 'a'")
        report = poll(project)[0].report
        assert report is not None
        assert (report.counts, report.warnings, key_of(project)) == ({"u": 1}, [], ["code"])
        place.sql("ALTER TABLE t ADD PRIMARY KEY (id)")
        place.sql("UPDATE t SET id = 3, v = 'z' WHERE code = 'a'")
        report = poll(project)[0].report
        assert report is not None
        assert (report.counts, key_of(project)) == ({"u": 1}, ["code"])
        assert report.warnings == [
            f"the primary key of {place.table('t')} is (id) now; the stream keeps its key (code) "
            "(qbcd reset s and prepare to change it)"
        ]
        project.stream("s").reset(discard=True)
        project.stream("s").prepare()
        assert key_of(project) == ["id"]


@over(elsewhere=[])
def test_several_unique_keys_are_offered(place: Place, workspace: Path) -> None:
    place.sql(TABLE.replace("UNIQUE (maybe)", "UNIQUE (id)"))
    with project_of(place, workspace) as project, pytest.raises(UnsafeKey) as refused:
        project.stream("s").prepare()
    assert refused.value.what == f"{place.table('t')} has no primary key, and 2 unique keys"
    offered = refused.value.remedy.removeprefix("choose one:  ").split(" or ")
    assert sorted(offered) == ["key: [code]", "key: [id]"]


UNFIT = {
    "partial": "CREATE UNIQUE INDEX u ON t (code) WHERE v IS NOT NULL",
    "expression": "CREATE UNIQUE INDEX u ON t (lower(code))",
    "deferrable": "ALTER TABLE t ADD CONSTRAINT u UNIQUE (code) DEFERRABLE",
    "nullable": "CREATE UNIQUE INDEX u ON t (v)",
    "another equality": "CREATE UNIQUE INDEX u ON t (code text_pattern_ops)",
}


@pytest.mark.parametrize(
    "how", [how if how == "partial" else pytest.param(how, marks=pytest.mark.campaign) for how in UNFIT]
)
def test_an_index_that_proves_no_key(how: str, place: Place, workspace: Path) -> None:
    place.sql(f"CREATE TABLE t (id integer NOT NULL, code text NOT NULL, v text); {UNFIT[how]}")
    with project_of(place, workspace) as project, pytest.raises(UnsafeKey, match="has no primary key"):
        project.stream("s").prepare()
