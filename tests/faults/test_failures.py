"""Failures outside the rows: sessions, compaction, files, Spark; messages name the cause."""

from __future__ import annotations

import errno
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd import error_messages
from qbcd.api import parts_of
from qbcd.errors import QbcdError, SparkFailed, StateConflict
from qbcd.sites.lake import compaction
from qbcd.spark.paths import to_write
from tests.support import sql
from tests.support.pausing import at
from tests.support.scene import STREAM, Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IDLE = "FROM pg_stat_activity WHERE application_name = 'qbcd/s' AND state = 'idle in transaction'"


def test_a_snapshot_whose_session_has_ended_is_reported(database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        scene.change()
        end = f"SELECT pg_terminate_backend(pid, 5000) {IDLE}"
        with at("after_checksums", lambda: sql(database, end)), pytest.raises(QbcdError, match="snapshot") as caught:
            scene.poll()
        assert "the session that held the snapshot ended" in str(caught.value)
        scene.poll()
        scene.check()


def test_failed_compaction_hides_no_batch(
    database: str, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.begin()
        scene.change()
        with monkeypatch.context() as failing:

            def collect(*args: object) -> None:
                raise OSError(errno.ENOSPC, "No space left on device", "/full")

            failing.setattr(compaction, "collect", collect)
            outcome = scene.poll()
        assert outcome.report is not None
        assert (outcome.exit_code, len(outcome.report.headers)) == (0, 1)
        (warning,) = [w for w in outcome.report.warnings if w.startswith("compaction failed")]
        assert "/full: No space left on device" in warning
        with monkeypatch.context() as failing, pytest.raises(StateConflict, match="overtaken"):

            def refuse(*args: object) -> None:
                raise StateConflict("overtaken")

            failing.setattr(compaction, "collect", refuse)
            scene.poll()
        scene.poll()
        scene.check()


def test_failures_of_files_and_spark_are_one_message(database: str, workspace: Path, spark: SparkSession) -> None:
    with Scene(database, workspace, "id_rcs", spark) as scene:
        scene.make_table()
        work = parts_of(scene.project).open_stream(STREAM)
        root = work.site.context.folder
        assert root is not None
        root.parent.mkdir(parents=True, exist_ok=True)
        root.write_text("in the way")
        with pytest.raises(QbcdError, match=re.escape(f"stream {STREAM}: {root}: File exists (check the workdir's")):
            scene.prepare()
        with pytest.raises(SparkFailed) as caught, error_messages.one_message(work):
            spark.range(1).write.parquet(to_write(root / "below"))
        assert str(caught.value).startswith(f"stream {STREAM}: Spark failed: ")
        assert f"check owner, rights and free space of the workdir {root} and of Spark's local folder /" in str(
            caught.value
        )
        root.unlink()
        scene.prepare()
        scene.change()
        scene.poll()
        scene.check()
