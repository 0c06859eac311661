"""Tables of qbcd's own that an earlier prepare left: their columns have the types of then."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from qbcd.common import hooks
from qbcd.errors import MissingPrivilege
from tests.support.oracle import events
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

TABLE = "CREATE TABLE t (id integer PRIMARY KEY, v decimal(10, 2)); INSERT INTO t VALUES (1, 1.25), (2, 2.50)"
WIDER = {"postgresql": "ALTER TABLE t ALTER v TYPE numeric(10, 4)", "": "ALTER TABLE t MODIFY v decimal(10, 4)"}
CHANGED = "UPDATE t SET v = 1.2345 WHERE id = 1"


def alter(place: Place) -> None:
    place.sql(WIDER.get(place.kind, WIDER[""]))


class Stopped(Exception):
    """Ends a prepare before its commit."""


@contextmanager
def stopped() -> Iterator[None]:
    def stop() -> None:
        raise Stopped

    hooks.register("before_commit", stop)
    try:
        yield
    finally:
        hooks.register("before_commit", None)


@over(
    "strategy",
    [
        "mds",
        *(pytest.param(s, marks=pytest.mark.campaign) for s in ("tlcs", {"type": "tlcs", "replica": "lake"}, "id")),
    ],
    elsewhere=[],
)
def test_a_prepare_that_did_not_end(strategy: Any, place: Place, workspace: Path) -> None:
    place.sql(TABLE)
    data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": strategy, "baseline": "silent"})
    with opened(data, workspace) as project:
        with stopped(), pytest.raises(Exception, match="Stopped"):
            project.stream("s").prepare()
        alter(place)
        project.stream("s").prepare()
        poll(project, "s")
        place.sql(CHANGED)
        poll(project, "s")
        assert [Decimal(e["after"]["v"]) for e in events(workspace / "out" / "changes", "s")] == [Decimal("1.2345")]
        assert project.stream("s").verify() == []


def test_tables_of_a_dba_outlive_a_reset(place: Place, workspace: Path) -> None:
    place.sql(TABLE)
    role = f"reader_{place.name}"
    place.create_user(role)
    try:
        place.sql(f"GRANT SELECT ON t TO {role}")
        data = config(place.url, {"name": "s", "table": place.table("t"), "strategy": "mds", "baseline": "silent"})
        data["sources"]["shop"]["url"] = place.url_as(role)
        with opened(data, workspace) as project:
            place.sql("; ".join(project.stream("s").ddl()))
            place.sql(f"GRANT ALL ON ALL TABLES IN SCHEMA {place.own_schema} TO {role}")
            project.stream("s").prepare()
            project.stream("s").reset(discard=True)
            project.stream("s").prepare()  # the same columns: they are used again
            alter(place)
            project.stream("s").reset(discard=True)
            with pytest.raises(MissingPrivilege, match="whose columns have changed") as refused:
                project.stream("s").prepare()
            owner = refused.value.remedy.removeprefix("let their owner run: ")
            assert owner.startswith("DROP TABLE IF EXISTS")
            place.sql(owner)
            project.stream("s").prepare()
            place.sql(CHANGED)
            poll(project, "s")
            assert [Decimal(e["after"]["v"]) for e in events(workspace / "out" / "changes", "s")] == [Decimal("1.2345")]
    finally:
        place.sql(f"DROP OWNED BY {role}")
        place.drop_user(role)
