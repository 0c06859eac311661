"""Reads of the source: DDL, writers and other servers between the steps of a poll.

See docs/design/protocol.md#section-b.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.connectors import mysql_family, postgresql
from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import SchemaChanged, SourceChanged, SourceError, StateConflict
from tests.support import sql, wait_until
from tests.support.embedded import while_stopped
from tests.support.pausing import AFTER_PLAN, at
from tests.support.places import Place, over
from tests.support.scene import STREAM, Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

STRATEGIES = ("mds", "id_rcs")
PINNED = (("mds", "after_snapshot"), ("id_rcs", "after_snapshot"), ("id_rcs", "after_checksums"))
REWRITES: dict[str, Callable[[Place], str]] = {
    "truncate": lambda place: "TRUNCATE TABLE t",
    "retype": lambda place: place.retype("t", "id", "bigint"),
}


# Rule 9: after a rewrite, a pinned reader would see an empty table.
@over(
    "rewrite, strategy, point",
    [
        *(("truncate", *case) for case in PINNED),
        *(pytest.param("retype", *case, marks=pytest.mark.campaign) for case in PINNED),
    ],
    elsewhere=[("truncate", "id_rcs", "after_checksums")],
)
def test_a_rewrite_under_a_pinned_reader_is_kept_out(
    rewrite: str, strategy: str, point: str, place: Place, workspace: Path, spark: SparkSession
) -> None:
    refused = []

    def rewritten() -> None:
        with pytest.raises(place.barred, match=r"(?i)lock.*timeout"):
            place.sql(f"{place.impatient}; {REWRITES[rewrite](place)}")
        refused.append(rewrite)

    with Scene(place.url, workspace, strategy, spark) as scene:
        scene.begin()
        scene.change()
        with at(point, rewritten):
            scene.poll()
        assert refused == [rewrite]
        assert len(scene.check()) == 2


# Rule 9: a session that waits for the table keeps our own readers out, while it waits for us.
@over(elsewhere=[])
def test_a_rewrite_that_waits_does_not_hang_the_poll(
    place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (postgresql.session, mysql_family.session):
        monkeypatch.setattr(module, "LOCK_TIMEOUT", 1)
    waiting = threading.Thread(target=place.sql, args=("TRUNCATE TABLE t",), daemon=True)

    def queue_up() -> None:
        waiting.start()
        wait_until(place.someone_waits)

    with Scene(place.url, workspace, "id_rcs", spark) as scene:
        scene.begin()
        scene.change()
        before = scene.fingerprint()
        with at("after_checksums", queue_up), pytest.raises(SourceError, match=r"(?i)lock (wait )?timeout"):
            scene.poll()
        waiting.join(30)
        assert not waiting.is_alive()
        assert scene.fingerprint() == before
        scene.poll()
        assert scene.source() == []
        assert len(scene.check()) == 2


def test_control_without_the_lock_rows_seem_deleted(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgresql.session.PostgresSessions, "lock_against_rewrite", lambda self, table: None)
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        with at("after_snapshot", lambda: sql(database, "ALTER TABLE t ALTER COLUMN n TYPE bigint")):
            scene.poll()
        assert scene.source() != []
        with pytest.raises(AssertionError, match="does not give the source"):
            scene.check()


# By name: the DDL and the message.
DDL: dict[str, tuple[Callable[[Place], str], str]] = {
    "drop": (lambda place: "ALTER TABLE t DROP COLUMN n", "'n' of {table} does not exist any more"),
    "retype": (lambda place: place.retype("t", "v", "varchar(99)"), "'v' of {table} is"),
    "swap": (lambda place: "ALTER TABLE t RENAME COLUMN v TO w; ALTER TABLE t ADD v integer", "'v' of {table} is"),
    "drop table": (lambda place: "DROP TABLE t", "{table}"),
}


# Rule 9: the catalog is read again after the lock, in the transaction that reads the rows.
@over(
    "strategy, ddl",
    [
        ("mds", "drop"),
        ("mds", "drop table"),
        ("id_rcs", "retype"),
        ("id_rcs", "swap"),
        *(
            pytest.param(*case, marks=pytest.mark.campaign)
            for case in (("mds", "retype"), ("mds", "swap"), ("id_rcs", "drop"), ("id_rcs", "drop table"))
        ),
    ],
    elsewhere=[("mds", "drop")],
)
def test_ddl_between_plan_and_transaction(
    strategy: str, ddl: str, place: Place, workspace: Path, spark: SparkSession
) -> None:
    made, said = DDL[ddl]
    with Scene(place.url, workspace, strategy, spark) as scene:
        scene.make_table()
        scene.prepare()
        scene.change()
        before = scene.fingerprint()
        message = re.escape(said.format(table=place.table("t")))
        with at(AFTER_PLAN, lambda: place.sql(made(place))), pytest.raises(SchemaChanged, match=message):
            scene.poll()
        assert scene.fingerprint() == before
        assert scene.files() == {}


@over("strategy", STRATEGIES, elsewhere=["mds"])
def test_ddl_that_ends_while_the_poll_waits_for_the_lock(
    strategy: str, place: Place, workspace: Path, spark: SparkSession
) -> None:
    with Scene(place.url, workspace, strategy, spark) as scene, place.connect(autocommit=True) as conn:
        scene.make_table()
        scene.prepare()
        scene.change()

        def begin() -> None:
            place.run(conn, f"{place.ddl_held[0]}; ALTER TABLE t DROP COLUMN n")
            threading.Thread(target=end, daemon=True).start()

        def end() -> None:
            wait_until(place.someone_waits)
            place.run(conn, place.ddl_held[1])

        with at(AFTER_PLAN, begin), pytest.raises(SchemaChanged, match=r"'n' of .* does not exist any more"):
            scene.poll()


# Rule 10: writes after the snapshot belong to the next poll as a whole; also when a value comes back (A-B-A).
@over(
    "strategy, points",
    [
        ("mds", ("after_snapshot", "after_fetch", "after_stage")),
        pytest.param("id_rcs", ("after_checksums", "after_fetch"), marks=pytest.mark.campaign),
        pytest.param("id_rcs", ("after_snapshot", "after_stage", "before_commit"), marks=pytest.mark.campaign),
    ],
    elsewhere=[],
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


# Rule 16: a stream continues on another server or database only on request.
@over(elsewhere=[])
def test_another_server(place: Place, workspace: Path, spark: SparkSession) -> None:
    with Scene(place.url, workspace, "id_rcs", spark, table="t") as scene:
        scene.begin()
    other = place.copy_to(f"{place.name}_b")
    try:
        moved = Scene(other.url, workspace, "id_rcs", spark, table="t")
        with moved:
            moved.base, moved.changes = scene.base, scene.changes
            moved.change()
            before = moved.fingerprint()
            said = r"another server or database.*--accept-source"
            if place.kind != "postgresql":  # the table's schema is the database of the URL
                said = rf"prepared for {place.name}\.t, and the URL of source shop now names the database {other.name}"
            with pytest.raises(SourceChanged, match=said):
                moved.poll()
            assert moved.fingerprint() == before
            if place.kind != "postgresql":
                return
            moved.poll(accept_source=True)
            assert len(moved.check()) == 2
            moved.change()
            moved.poll()
            assert len(moved.check()) == 3
            assert moved.project.stream(STREAM).verify() == []
    finally:
        other.drop()


# Rules 16 and 21: the source is restored from a backup that is older than qbcd's last poll.
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
        with pytest.raises(StateConflict, match="the state does not match sink 'changes': the sink has batch"):
            mds.poll()
        before = rcs.fingerprint()
        with pytest.raises(SourceChanged, match=r"older than the one remembered.*--accept-source"):
            rcs.poll()
        assert rcs.fingerprint() == before
        rcs.poll(accept_source=True)
        assert len(rcs.check()) == 2
        for scene in scenes:
            scene.project.close()


def copy_of(server: EmbeddedPostgres) -> Path:
    """Make a cold copy of the server's files; the server then continues."""
    backup = server.directory / "backup"
    while_stopped(server, ["cp", "-a", str(server.directory / "data"), str(backup)])
    return backup


def restore(server: EmbeddedPostgres, backup: Path) -> None:
    """Replace the server's files by the copy."""
    data = str(server.directory / "data")
    while_stopped(server, ["sh", "-c", f"rm -rf {data} && cp -a {backup} {data}"])
