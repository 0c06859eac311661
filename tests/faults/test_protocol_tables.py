"""qbcd's own tables in the source: making and dropping them needs the lease and the row.

See docs/design/protocol.md#rule-1 and #rule-2.
"""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from qbcd.catalog.source import Session
from qbcd.common import hooks
from qbcd.errors import LeaseHeld, QbcdError
from qbcd.model import Statement
from qbcd.state import Owner, acquire, lease
from tests.support.pausing import PATIENCE, once
from tests.support.places import over
from tests.support.project import opened
from tests.support.scene import ROWS, STREAM, Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from qbcd import Project


def prepared(project: Project, errors: list[QbcdError]) -> threading.Thread:
    """Start a thread that prepares the stream; an error of qbcd goes into `errors`."""

    def work() -> None:
        try:
            project.stream(STREAM).prepare()
        except QbcdError as error:
            errors.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    return thread


@over("strategy", ["mds"])
def test_a_prepare_drops_no_tables_of_another_one(
    strategy: str, database: str, workspace: Path, spark: SparkSession
) -> None:
    """Two prepare different columns; to the second, the first one's tables look unfinished."""
    with Scene(database, workspace, strategy, spark) as scene:
        scene.make_table()
        scene.base = scene.source()
        other = {**scene.data, "tables": [{**scene.data["tables"][0], "exclude": ["n"]}]}
        here, on = threading.Event(), threading.Event()

        def pause() -> None:
            here.set()
            on.wait(PATIENCE)

        hooks.register("before_commit", once(pause))
        failed: list[QbcdError] = []
        refused: list[QbcdError] = []
        with opened(other, workspace, spark) as second:
            first = prepared(scene.project, failed)
            assert here.wait(PATIENCE)
            late, until = prepared(second, refused), time.monotonic() + PATIENCE
            while late.is_alive() and not scene.place.someone_waits() and time.monotonic() < until:
                time.sleep(0.05)
            on.set()
            first.join(PATIENCE)
            late.join(PATIENCE)
        assert failed == []
        assert scene.poll().report.counts == {}  # type: ignore[union-attr]
        scene.change()
        scene.poll()
        (events,) = scene.check().values()
        assert 0 < len(events) < ROWS
        assert [type(error) for error in refused] == [LeaseHeld]


@over("strategy", ["mds"], elsewhere=[])
def test_nobody_takes_over_between_two_statements_of_ddl(
    strategy: str, database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Check that no other poller can take the stream's row between two DDL statements.

    DDL commits by itself on these servers, so the first statement must not release the row.
    """
    monkeypatch.setattr(lease, "LOCK_WAIT_MS", 300)
    outcomes: list[str] = []
    with Scene(database, workspace, strategy, spark) as scene:
        scene.begin()
        store, site, run = scene.site.context.store, scene.site, Session.run

        def take_over() -> str:
            with site.context.writing() as conn:  # as if the holder had been paused past its lease
                conn.execute(update(store.tables.lease).values(until=0.0))
            try:
                with site.context.writing() as conn:
                    acquire(conn, store, STREAM, Owner.mine(), 30.0)
            except LeaseHeld as error:
                return error.what
            return "taken over"

        def between(session: Session, statement: Statement | str) -> int:
            done = run(session, statement)
            if str(statement).startswith("DROP TABLE"):
                outcomes.append(take_over())
            return done

        monkeypatch.setattr(Session, "run", between)
        scene.project.stream(STREAM).reset()
        monkeypatch.setattr(Session, "run", run)
        assert len(outcomes) > 1
        assert set(outcomes) == {"another poller is in the middle of a step"}
        scene.prepare()
        assert scene.poll().report.counts == {}  # type: ignore[union-attr]
