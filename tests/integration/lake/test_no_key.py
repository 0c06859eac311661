"""Tables without a key: rows are identified by all values and counted; copies are events."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import exp

from qbcd.api import parts_of
from qbcd.connectors.catalog import Catalog
from qbcd.errors import GuardTripped
from qbcd.model import ServerIdentity
from qbcd.sql.compile import _expanded
from tests.support.oracle import Event, events
from tests.support.places import Place, over
from tests.support.project import config, opened, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    import qbcd

ROWS = ("(1, 'a', 1.50)", "(1, 'a', NULL)", "(1, NULL, 1.50)", "(NULL, NULL, NULL)", "(2, 'A', 1.50)", "(-1, '', 0)")
Bag = Counter[str]


class Copy:
    """A multiset of rows next to the table itself, changed only by the events of a stream."""

    def __init__(self, place: Place, folder: Path) -> None:
        self.place, self.folder, self.seen, self.rows = place, folder, 0, Bag()
        place.sql("CREATE TABLE t (n int, w varchar(10), m numeric(9, 2))")

    def replay(self) -> list[Event]:
        """Apply the new events; every deleted row must exist."""
        fresh = events(self.folder / "out/changes", "s")[self.seen :]
        self.seen += len(fresh)
        assert all(e["key"] is None and e["changed"] is None for e in fresh)
        deleted, new = (Bag(_values(e[side]) for e in fresh if e[side]) for side in ("before", "after"))
        assert deleted <= self.rows
        assert not deleted & new, "a row is deleted and inserted in one batch"
        self.rows = self.rows - deleted + new
        return fresh

    def source(self) -> Bag:
        """Return the rows of the table."""
        found = self.place.sql("SELECT n, w, m FROM t")
        return Bag(_values({"n": n, "w": w, "m": None if m is None else str(m)}) for n, w, m in found)

    def insert(self, row: str, copies: int) -> None:
        """Insert copies of a row."""
        self.place.sql(f"INSERT INTO t VALUES {', '.join([row] * copies)}")


def _values(image: dict[str, Any]) -> str:
    return json.dumps(image, sort_keys=True)


def stream(place: Place, **more: Any) -> dict[str, Any]:
    strategy = {"type": "id_rcs", "rows_per_range": 3}
    return config(place.url, {"name": "s", "table": place.table("t"), "key": "none", "strategy": strategy, **more})


def check(project: qbcd.Project, copy: Copy) -> Counter[str]:
    """Poll, compare the copy with the table, and return the ops."""
    poll(project, "s")
    found = Counter(e["op"] for e in copy.replay())
    assert copy.rows == copy.source()
    return found


@over(elsewhere=[])
def test_copies_are_counted(place: Place, workspace: Path, spark: SparkSession) -> None:
    copy = Copy(place, workspace)
    for number, row in enumerate(ROWS[:5], 1):
        copy.insert(row, number)
    with opened(stream(place, baseline="events"), workspace, spark) as project:
        project.stream("s").prepare()
        assert Counter(e["op"] for e in copy.replay()) == {"r": 15}
        assert copy.rows == copy.source()
        copy.insert(ROWS[0], 20)
        place.sql("DELETE FROM t WHERE n IS NULL")
        place.sql("UPDATE t SET w = 'b' WHERE n = 1 AND w = 'a' AND m IS NULL")
        assert check(project, copy) == {"c": 22, "d": 6}
        copy.insert(ROWS[0], 1)
        assert [(d.op, d.key) for d in project.stream("s").verify()] == [("c", "1, a, 1.50")]
        assert check(project, copy) == {"c": 1}


@pytest.mark.campaign
@over()
def test_another_digest_is_no_change_of_rows(
    place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    copy = Copy(place, workspace)
    for number, row in enumerate(ROWS, 1):
        copy.insert(row, number)
    with opened(stream(place, baseline="events"), workspace, spark) as project:
        project.stream("s").prepare()
        copy.replay()
        connector = parts_of(project).open_stream("s").source.connector
        copy.insert(ROWS[2], 2)
        place.sql("DELETE FROM t WHERE n = -1")
        # another digest, as another server computes it
        plain, identity = connector.expressions.row_digest, connector.catalog.server_identity

        def doubled(columns: Any) -> exp.Expression:
            return plain([*columns, columns[0]])

        def elsewhere(conn: Any) -> ServerIdentity:
            found = identity(conn)
            return ServerIdentity(found.product, found.identity, found.meaning + ";new", found.position)

        for part, name, other in (("expressions", "row_digest", doubled), ("catalog", "server_identity", elsewhere)):
            monkeypatch.setattr(type(getattr(connector, part)), name, staticmethod(other))
        monkeypatch.setattr(type(connector.catalog), "probe_with_server", Catalog.probe_with_server)
        _expanded.cache_clear()
        poll(project, "s", accept_source=True)
        assert Counter(e["op"] for e in copy.replay()) == {"c": 2, "d": 6}
        assert copy.rows == copy.source()
        copy.insert(ROWS[1], 1)
        assert check(project, copy) == {"c": 1}
    _expanded.cache_clear()


@pytest.mark.campaign
@over("seed", range(1, 6))
def test_random_multisets(seed: int, place: Place, workspace: Path, spark: SparkSession) -> None:
    rng, copy = Random(seed), Copy(place, workspace)
    with opened(stream(place, baseline="events"), workspace, spark) as project:
        project.stream("s").prepare()
        for _ in range(8):
            for row in rng.sample(ROWS, 3):
                copy.insert(row.replace("1.50", f"{rng.randint(1, 6)}.50"), rng.choice([1, 2, 12]))
            if rng.random() < 0.6:
                place.sql(f"DELETE FROM t WHERE m = {rng.randint(1, 6)}.5")
            if rng.random() < 0.6:
                place.sql(f"UPDATE t SET w = 'c' WHERE m > {rng.randint(1, 6)}")
            check(project, copy)
        assert project.stream("s").verify() == []


@over(elsewhere=[])
def test_guards_count_rows_that_none_came_for(place: Place, workspace: Path, spark: SparkSession) -> None:
    """An update is a delete and an insert, and does not count as a deleted row."""
    copy = Copy(place, workspace)
    for row in ROWS:
        copy.insert(row, 2)
    with opened(stream(place, guards={"max_delete_fraction": 0.2}, baseline="events"), workspace, spark) as project:
        project.stream("s").prepare()
        copy.replay()
        place.sql("UPDATE t SET m = 7")
        assert check(project, copy) == {"d": 12, "c": 12}
        place.sql("DELETE FROM t WHERE n = 1")
        with pytest.raises(GuardTripped, match="6 deletes of 12 rows"):
            poll(project, "s")
