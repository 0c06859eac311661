"""Digests of eight bits or of none: counts find some changes, a later comparison the others.

No row is lost or invented: a missed change stays as the replica had it, until its digest differs or values are compared
(docs/design/pitfalls.md#d1). `verify` and audits compare values wherever the replica has them. With a replica of
digests nothing finds a change whose digest is equal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from sqlglot import exp

import qbcd
from qbcd.api import parts_of
from qbcd.connectors.catalog import Catalog
from qbcd.connectors.postgresql.catalog import PostgresCatalog
from qbcd.connectors.postgresql.expressions import PostgresExpressions
from qbcd.model import ServerIdentity
from qbcd.sites.lake import compaction
from qbcd.sql.compile import _expanded
from qbcd.state import StoredRange
from tests.support import sql
from tests.support.oracle import batches, copy_of
from tests.support.pg_source import digest, probe, reading
from tests.support.places import Place
from tests.support.project import config, opened, poll
from tests.support.stamped_scene import StampedScene
from tests.support.watched_polls import Watched, stamped

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 1500
whole_digest, whole_identity = PostgresExpressions.row_digest, PostgresCatalog.server_identity


@pytest.fixture
def cut(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[int], None]]:
    """Return a function that cuts digests to some bits, or makes those of another server."""

    def to(bits: int) -> None:
        def row_digest(columns: Any) -> exp.Expression:
            mask = exp.Literal.number(2**bits - 1)
            return exp.paren(exp.BitwiseAnd(this=exp.paren(whole_digest(columns)), expression=mask))

        def identity(conn: Any) -> ServerIdentity:
            found = whole_identity(conn)
            return ServerIdentity(found.product, found.identity, f"{found.meaning};{bits}", found.position)

        digest = whole_digest if bits == 64 else row_digest
        monkeypatch.setattr(PostgresExpressions, "row_digest", staticmethod(digest))
        monkeypatch.setattr(PostgresCatalog, "server_identity", staticmethod(identity))
        monkeypatch.setattr(PostgresCatalog, "probe_with_server", Catalog.probe_with_server)
        _expanded.cache_clear()

    yield to
    _expanded.cache_clear()


def alike(database: str, *names: str) -> list[int]:
    """Return rows whose digest has the same eight bits before and after their change."""
    with reading(database) as session:
        columns = [c for c in probe(session, "t").columns if not names or c.name in names]
        found = session.rows(
            f"SELECT o.id FROM public.t AS n JOIN public.o AS o USING (id) "
            f"WHERE o.v <> n.v AND ({digest('o', *columns)} & 255) = ({digest('n', *columns)} & 255) ORDER BY o.id"
        )
    return [row.id for row in found]


def test_counts_find_changes_and_values_find_the_missed_ones(
    database: str, workspace: Path, spark: SparkSession, cut: Callable[[int], None]
) -> None:
    sql(database, f"CREATE TABLE t AS SELECT i AS id, 'v' || i AS v FROM generate_series(1, {ROWS}) AS i")
    sql(database, "ALTER TABLE t ADD PRIMARY KEY (id)")
    strategy = {"type": "id_rcs", "rows_per_range": 1, "buckets": "key"}
    data = config(database, {"name": "s", "table": "public.t", "strategy": strategy})
    copy = copy_of(database, "public.t", ["id"])

    def polled(**options: Any) -> Counter[str]:
        poll(project, "s", **options)
        return Counter(event["op"] for event in copy.replay(batches(workspace / "out/changes", "s")))

    cut(8)
    with opened(data, workspace, spark) as project:
        project.stream("s").prepare()
        copy.take_baseline()
        sql(
            database,
            f"DELETE FROM t WHERE id % 50 = 3; INSERT INTO t SELECT {ROWS} + i, 'n' FROM generate_series(1, 9) i",
        )
        assert polled() == {"d": ROWS // 50, "c": 9}, "a count differs whatever the digests"
        assert copy.differences() == []
        sql(database, "CREATE TABLE o AS SELECT * FROM t; UPDATE t SET v = v || '!'")
        missed, (rows,) = alike(database), *sql(database, "SELECT count(*) FROM t")
        assert 0 < len(missed) < 30
        assert polled() == {"u": rows - len(missed)}
        assert len(copy.differences()) == len(missed), "these rows are as they were, and no others"
        assert len(project.stream("s").verify()) == len(missed), "it compares values"
        cut(64)
        assert polled(accept_source=True) == {"u": len(missed)}
        assert copy.differences() == []
        assert project.stream("s").verify() == []


WAYS = [
    {"buckets": "hash"},
    *(
        pytest.param(more, marks=pytest.mark.campaign)
        for more in ({"buckets": "key"}, {"buckets": "key", "per_poll": 5})
    ),
]


@pytest.mark.parametrize("more", WAYS, ids=str)
def test_an_audit_by_values_finds_changes_that_digests_hide(
    more: dict[str, Any],
    database: str,
    workspace: Path,
    spark: SparkSession,
    cut: Callable[[int], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Only while the replica has the old values: ranges that became segments have the new ones."""
    monkeypatch.setattr(compaction, "TAKEN_SEGMENTS", 0)
    sql(database, f"CREATE TABLE t AS SELECT i AS id, 'v' || i AS v FROM generate_series(1, {ROWS}) AS i")
    sql(database, "ALTER TABLE t ADD PRIMARY KEY (id)")
    table = {"name": "s", "table": "public.t", "strategy": {"type": "id_rcs", "rows_per_range": 100, **more}}
    copy = copy_of(database, "public.t", ["id"])

    def polled(project: qbcd.Project) -> Counter[tuple[str, str | None]]:
        poll(project, "s")
        return Counter((e["op"], e["reason"]) for e in copy.replay(batches(workspace / "out/changes", "s")))

    cut(8)
    with opened(config(database, table), workspace, spark) as project:
        project.stream("s").prepare()
        copy.take_baseline()
        sql(database, "CREATE TABLE o AS SELECT * FROM t; UPDATE t SET v = v || '!'")
        for _ in range(6 if "per_poll" in more else 1):  # ranges are visited in rotation
            polled(project)
        missed = alike(database)
        assert 0 < len(missed) < 30
        assert len(copy.differences()) == len(missed)
    with opened(config(database, {**table, "audit": {"every": "1ms"}}), workspace, spark) as project:
        sql(database, f"INSERT INTO t VALUES ({ROWS} + 1, 'new')")
        found = polled(project)
        assert found == {("u", "audit"): len(missed), ("c", None): 1}, "the audit reports only what polls missed"
        assert copy.differences() == []
        assert polled(project) == {}
        assert project.stream("s").verify() == []
    with opened(config(database, {**table, "audit": {"every": "1h"}}), workspace, spark) as project:
        [status] = project.status()
        assert status.audited_ago is not None
        assert status.audited_ago < 3600
        sql(database, "DELETE FROM t WHERE id = 3")
        for _ in range(6 if "per_poll" in more else 1):
            polled(project)
        assert copy.differences() == []
        [later] = project.status()
        assert later.audited_ago is not None
        assert later.audited_ago > status.audited_ago, "polls remember when the last audit was"


def test_counts_alone_show_inserts_and_deletes(
    database: str, workspace: Path, spark: SparkSession, cut: Callable[[int], None]
) -> None:
    """Without any digest bits all sums are 0.

    A range whose count changed is read and compared by keys.
    """
    sql(database, "CREATE TABLE t AS SELECT i AS id, 'v' || i AS v FROM generate_series(1, 100) AS i")
    sql(database, "ALTER TABLE t ADD PRIMARY KEY (id)")
    strategy = {"type": "id_rcs", "rows_per_range": 10, "buckets": "key"}
    data = config(database, {"name": "s", "table": "public.t", "strategy": strategy})
    copy = copy_of(database, "public.t", ["id"])
    cut(0)
    with opened(data, workspace, spark) as project:
        project.stream("s").prepare()
        copy.take_baseline()
        checksums = {(r.rows, r.checksum) for r in ranges_of(project)}
        assert checksums == {(10, 0)}

        def polled(changes: str) -> list[tuple[str, int]]:
            sql(database, changes)
            poll(project, "s")
            return sorted((e["op"], e["key"]["id"]) for e in copy.replay(batches(workspace / "out/changes", "s")))

        grown = "DELETE FROM t WHERE id IN (13, 15, 66); INSERT INTO t SELECT i, 'n' FROM generate_series(101, 103) i"
        assert polled(grown) == [("c", 101), ("c", 102), ("c", 103), ("d", 13), ("d", 15), ("d", 66)]
        assert copy.differences() == []
        assert polled("UPDATE t SET v = 'other' WHERE id IN (14, 42)") == [], "an update moves no count"
        # rows that come and go in one range change no count, until it grows by another row
        assert polled("DELETE FROM t WHERE id = 14; INSERT INTO t VALUES (13, 'back')") == []
        assert len(project.stream("s").verify()) == len(copy.differences()) == 3
        assert polled("INSERT INTO t VALUES (15, 'back')") == [("c", 13), ("c", 15), ("d", 14)]
        assert [row[0] for row in copy.differences()] == ["u"], "42, which nothing but its values can tell"


def ranges_of(project: qbcd.Project) -> list[StoredRange]:
    site = parts_of(project).open_stream("s").site
    with site.context.reading() as conn:
        return site.context.store.ranges(conn, "s")


OLD = "'2001-01-01 00:00:00'"  # before every watermark


def test_an_audit_in_the_source_needs_no_digest(place: Place, workspace: Path, cut: Callable[[int], None]) -> None:
    """It finds an update, a delete and an insert that no timestamp shows."""
    cut(0)
    with Watched(place, workspace, {"s": stamped(place, "ts")}, audit={"every": "1ms"}) as seen:
        seen.fill()
        seen.poll()
        seen.run(f"UPDATE t SET v = 'by hand' WHERE id = 5; INSERT INTO t (id, v, at) VALUES (300, 'restored', {OLD})")
        seen.delete(7)
        found = [[(e.op, e.key, e.reason) for e in batch] for batch in seen.poll()]
        assert found == [[("u", 5, "audit"), ("c", 300, "audit")], [("d", 7, "audit")]]
        seen.check()


@pytest.mark.campaign
def test_nothing_finds_equal_digests_where_no_values_are_kept(
    database: str, workspace: Path, spark: SparkSession, cut: Callable[[int], None]
) -> None:
    """`verify` and an audit find each change whose digest differs; `replica: rows` finds the others."""
    sql(database, f"CREATE TABLE t AS SELECT i AS id, 'v' || i AS v FROM generate_series(1, {ROWS}) AS i")
    sql(database, "ALTER TABLE t ADD PRIMARY KEY (id)")
    strategy = {"type": "id_rcs", "replica": "digest", "rows_per_range": 100}
    cut(8)
    table = {"name": "s", "table": "public.t", "strategy": strategy, "audit": {"every": "1ms"}}
    with opened(config(database, table), workspace, spark) as project:
        project.stream("s").prepare()
        sql(database, "CREATE TABLE o AS SELECT * FROM t; UPDATE t SET v = v || '!' WHERE id > 700")
        missed = alike(database)
        assert 0 < len(missed) < 30
        assert len(project.stream("s").verify()) == ROWS - 700 - len(missed)
        poll(project, "s")
        assert project.stream("s").verify() == []


@pytest.mark.campaign
def test_an_audit_of_a_lake_replica_compares_values(
    place: Place, workspace: Path, spark: SparkSession, cut: Callable[[int], None]
) -> None:
    """It also finds updates that no timestamp shows and whose eight-bit digest is equal."""
    cut(8)
    with StampedScene(place.url, workspace, "ts_spark", spark, audit={"every": "1ms"}) as scene:
        scene.make_table()
        place.sql(f"INSERT INTO t (id, v, at) SELECT i, 'v' || i, {scene.now} FROM generate_series(1001, 1600) AS i")
        scene.prepare()
        scene.poll()
        place.sql("CREATE TABLE o AS SELECT * FROM t; UPDATE t SET v = v || '!' WHERE id > 1000")
        place.sql(f"INSERT INTO t (id, v, at) VALUES (300, 'restored', {OLD}); DELETE FROM t WHERE id = 7")
        missed = alike(place.url, "id", "v", "n")
        assert 0 < len(missed) < 15
        before = len(scene.seen())
        scene.poll()
        found = {(e["op"], e["key"]["id"], e["reason"]) for b in list(scene.seen().values())[before:] for e in b}
        updated = {("u", key, "audit") for key in range(1001, 1601)}
        assert found == {("d", 7, None), ("c", 300, "audit")} | updated
        assert scene.project.stream("s").verify() == []
