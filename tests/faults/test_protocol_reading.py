"""protocol.md B: reading the source. DDL, writers and other servers between the steps of a poll."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg2
import pytest
from sqlalchemy.engine import make_url

from qbcd.connectors.postgresql import PostgreSQL, session
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import SchemaChanged, SourceChanged, SourceError, StateConflict
from tests.support import connect, sql, wait_until
from tests.support.pausing import AFTER_PLAN, at
from tests.support.scene import STREAM, Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRATEGIES = ("mds", "id_rcs")
REWRITES = ("TRUNCATE t", pytest.param("ALTER TABLE t ALTER COLUMN id TYPE bigint", marks=pytest.mark.campaign))


# Rule 9: a rewrite in front of a pinned reader would show it an empty table.
@pytest.mark.parametrize(
    ("strategy", "point"), [("mds", "after_snapshot"), ("id_rcs", "after_snapshot"), ("id_rcs", "after_checksums")]
)
@pytest.mark.parametrize("rewrite", REWRITES)
def test_a_rewrite_under_a_pinned_reader_is_kept_out(
    rewrite: str, strategy: str, point: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    refused = []

    def rewritten() -> None:
        with pytest.raises(psycopg2.errors.LockNotAvailable):
            sql(database, f"SET lock_timeout = '200ms'; {rewrite}")
        refused.append(rewrite)

    with Scene(database, workspace, strategy, spark) as scene:
        scene.begin()
        scene.change()
        with at(point, rewritten):
            scene.poll()
        assert refused == [rewrite]
        assert len(scene.check()) == 2


# Rule 9, the other way round: somebody who waits for the table keeps our own readers out, while he waits for us.
def test_a_rewrite_that_waits_does_not_hang_the_poll(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session, "LOCK_TIMEOUT", 1)
    waiting = threading.Thread(target=sql, args=(database, "TRUNCATE t"), daemon=True)

    def queue_up() -> None:
        waiting.start()
        wait_until(lambda: bool(sql(database, "SELECT 1 FROM pg_locks WHERE NOT granted AND mode ~ 'AccessExcl'")))

    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        scene.change()
        mark = scene.mark()
        with at("after_checksums", queue_up), pytest.raises(SourceError, match="lock timeout"):
            scene.poll()
        waiting.join(30)
        assert not waiting.is_alive()
        assert scene.mark() == mark
        scene.poll()
        assert scene.source() == []
        assert len(scene.check()) == 2


def test_control_without_the_lock_rows_seem_gone(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PostgreSQL, "lock_against_rewrite", lambda self, table: None)
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        with at("after_snapshot", lambda: sql(database, "ALTER TABLE t ALTER COLUMN n TYPE bigint")):
            scene.poll()
        assert scene.source() != []
        with pytest.raises(AssertionError, match="does not give the source"):
            scene.check()


DDL = {
    "ALTER TABLE t DROP COLUMN n": "'n' was dropped",
    "ALTER TABLE t ALTER COLUMN v TYPE varchar(99)": "'v' of public.t is",
    "ALTER TABLE t RENAME COLUMN v TO w; ALTER TABLE t ADD v integer": "'v' of public.t is",
    "DROP TABLE t": "public.t",
}


# Rule 9: the catalog is looked at again after the lock, in the transaction that reads.
@pytest.mark.parametrize("ddl", DDL)
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_ddl_between_plan_and_transaction(
    strategy: str, ddl: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    with Scene(database, workspace, strategy, spark) as scene:
        scene.make_table()
        scene.prepare()
        scene.change()
        mark = scene.mark()
        with at(AFTER_PLAN, lambda: sql(database, ddl)), pytest.raises(SchemaChanged, match=DDL[ddl]):
            scene.poll()
        assert scene.mark() == mark
        assert scene.files() == {}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_ddl_that_ends_while_the_poll_waits_for_the_lock(
    strategy: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    with Scene(database, workspace, strategy, spark) as scene, connect(database, autocommit=True) as conn:
        scene.make_table()
        scene.prepare()
        scene.change()
        cursor = conn.cursor()

        def begin() -> None:
            cursor.execute("BEGIN; ALTER TABLE t DROP COLUMN n")
            threading.Thread(target=end, daemon=True).start()

        def end() -> None:
            wait_until(lambda: bool(sql(database, "SELECT 1 FROM pg_locks WHERE NOT granted AND mode ~ 'AccessShare'")))
            cursor.execute("COMMIT")

        with at(AFTER_PLAN, begin), pytest.raises(SchemaChanged, match="'n' was dropped"):
            scene.poll()


# Rule 10: whatever is written after the snapshot belongs to the next poll, whole; also when a value comes back (A-B-A).
@pytest.mark.parametrize(
    ("strategy", "points"),
    [
        ("mds", ("after_snapshot", "after_fetch", "after_stage")),
        ("id_rcs", ("after_checksums", "after_fetch")),
        pytest.param("id_rcs", ("after_snapshot", "after_stage", "before_commit"), marks=pytest.mark.campaign),
    ],
)
def test_writes_during_a_poll(
    strategy: str, points: tuple[str, ...], database: str, workspace: Path, spark: SparkSession
) -> None:
    with Scene(database, workspace, strategy, spark) as scene:
        scene.begin()
        for point in points:
            scene.change()
            between = scene.source()
            with at(point, scene.change):
                scene.poll()
            scene.poll()
            scene.check()
            now = scene.source()
            scene.put(between)
            with at(point, lambda now=now: scene.put(now)):  # type: ignore[misc]
                scene.poll()
            scene.poll()
            scene.check()
        assert scene.project.stream(STREAM).verify() == []


# Rule 16: another server, or another database of it, is not gone on with unasked.
def test_another_server(server: EmbeddedPostgres, database: str, workspace: Path, spark: SparkSession) -> None:
    name = f"{make_url(database).database}_b"
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        sql(server.url, f"CREATE DATABASE {name} TEMPLATE {make_url(database).database}")
    try:
        moved = Scene(server.url_of(name), workspace, "id_rcs", spark)
        with moved:
            moved.base, moved.changes = scene.base, scene.changes
            moved.change()
            mark = moved.mark()
            with pytest.raises(SourceChanged, match=r"another server or database.*--accept-source"):
                moved.poll()
            assert moved.mark() == mark
            moved.poll(accept_source=True)
            assert len(moved.check()) == 2
            moved.change()
            moved.poll()
            assert len(moved.check()) == 3
            assert moved.project.stream(STREAM).verify() == []
    finally:
        sql(server.url, f"DROP DATABASE {name} WITH (FORCE)")


# Rules 16 and 21: the source comes back from a backup that is older than what qbcd saw of it.
def test_a_restored_server(workspace: Path, spark: SparkSession, tmp_path: Path) -> None:
    with EmbeddedPostgres.start() as own:
        for strategy in STRATEGIES:
            (workspace / strategy).mkdir()
        scenes = [Scene(own.url, workspace / s, s, spark) for s in STRATEGIES]
        scenes[0].make_table()
        for scene in scenes:
            scene.prepare()
        backup = copy_of(own)
        scenes[0].change()
        for scene in scenes:
            scene.poll()
            scene.check()
        restore(own, backup)
        mds, rcs = scenes
        with pytest.raises(StateConflict, match="the site has gone back: sink 'changes' holds batch"):
            mds.poll()
        mark = rcs.mark()
        with pytest.raises(SourceChanged, match=r"older than the one remembered.*--accept-source"):
            rcs.poll()
        assert rcs.mark() == mark
        rcs.poll(accept_source=True)
        assert len(rcs.check()) == 2
        for scene in scenes:
            scene.project.close()


def copy_of(server: EmbeddedPostgres) -> Path:
    """A cold copy of the server's files, which then goes on."""
    backup = server.directory / "backup"
    _while_stopped(server, ["cp", "-a", str(server.directory / "data"), str(backup)])
    return backup


def restore(server: EmbeddedPostgres, backup: Path) -> None:
    """Puts the copy in the place of the server's files."""
    data = str(server.directory / "data")
    _while_stopped(server, ["sh", "-c", f"rm -rf {data} && cp -a {backup} {data}"])


def _while_stopped(server: EmbeddedPostgres, command: list[str]) -> None:
    assert server._pg_ctl("stop", "-m", "fast").returncode == 0
    assert server._run(command).returncode == 0
    assert server._pg_ctl("start", "-l", str(server.directory / "log")).returncode == 0
