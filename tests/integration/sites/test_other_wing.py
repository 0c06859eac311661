"""A change to a strategy of the other wing is refused: its replica is in another store."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.errors import SchemaChanged
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def stream(place: Place, strategy: str) -> dict[str, Any]:
    """Return one stream of the table, with a silent baseline."""
    return {"name": "s", "table": place.table("t"), "strategy": strategy, "baseline": "silent"}


@over("then, now", [("mds", "id_rcs"), ("id_rcs", "mds")], elsewhere=[("mds", "id_rcs")])
def test_a_strategy_of_the_other_wing(then: str, now: str, place: Place, workspace: Path, spark: SparkSession) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, a integer); INSERT INTO t VALUES (1, 1), (2, 2)")
    with opened(config(place.url, stream(place, then)), workspace, spark) as project:
        project.stream("s").prepare()
    place.sql("UPDATE t SET a = 3 WHERE id = 1")
    with opened(config(place.url, stream(place, now)), workspace, spark) as project:
        message = f"strategy is fixed at prepare, and was changed in the configuration since: it was {then}"
        for action in (project.stream("s").prepare, project.stream("s").verify, lambda: poll(project, "s")):
            with pytest.raises(SchemaChanged, match=message):
                action()
        assert any(message in str(finding) for finding in project.check())
    with opened(config(place.url, stream(place, then)), workspace, spark) as project:
        assert counts(project) == {"u": 1}
        project.stream("s").reset(discard=True)
    with opened(config(place.url, stream(place, now)), workspace, spark) as project:
        project.stream("s").prepare()
        assert counts(project) == {}


def counts(project: qbcd.Project) -> dict[str, int]:
    """Poll once; return the events by op."""
    [outcome] = poll(project, "s")
    assert outcome.report is not None
    return outcome.report.counts
