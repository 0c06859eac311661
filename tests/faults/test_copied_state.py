"""A project copied with its state, and a state set back: no batch is lost to a sink."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import qbcd
from qbcd.errors import SinkConflict, StateConflict
from tests.support import sql
from tests.support.project import config, poll

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


DIGESTS = {"type": "id_rcs", "replica": "digest"}  # its files stay while batches lie on them


def project_in(folder: Path, database: str, spark: SparkSession | None = None, **table: Any) -> qbcd.Project:
    written = config(database, {"table": "public.t", "name": "t", "retain": "0s", **table})
    return qbcd.Project.from_dict(written, spark=spark, base_dir=folder)


def test_batches_that_a_copy_of_the_project_took_are_missed(database: str, workspace: Path) -> None:
    sql(database, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t VALUES (1, 0)")
    copy = workspace.parent / "copy"
    with project_in(workspace, database, strategy="mds") as first:
        first.stream("t").prepare()
        sql(database, "UPDATE t SET v = 1")
        poll(first, "t")
    shutil.copytree(workspace, copy)
    with project_in(copy, database, strategy="mds") as second:
        for value in (2, 3):
            sql(database, f"UPDATE t SET v = {value}")
            poll(second, "t")
    with project_in(workspace, database, strategy="mds") as first:
        sql(database, "UPDATE t SET v = 4")
        with pytest.raises(StateConflict, match=r"batches \d+/2 to \d+/3 are missing, but sink changes never"):
            poll(first, "t")
        first.stream("t").reset(discard=True)


def test_a_state_that_went_back_leaves_the_files_of_the_newer_one(
    database: str, workspace: Path, spark: SparkSession
) -> None:
    sql(database, "CREATE TABLE t (id int PRIMARY KEY, v int); INSERT INTO t SELECT i, 0 FROM generate_series(1, 50) i")
    state, old, new = (workspace / name for name in (".qbcd/state.db", "old.db", "new.db"))

    def polled(value: int) -> None:
        sql(database, f"UPDATE t SET v = {value} WHERE id = 1")
        with project_in(workspace, database, spark, strategy=DIGESTS, retain="7d") as project:
            poll(project, "t")

    with project_in(workspace, database, spark, strategy=DIGESTS, retain="7d") as project:
        project.stream("t").prepare()
    polled(1)
    shutil.copy(state, old)
    polled(2)
    shutil.copy(state, new)
    shutil.copy(old, state)
    for _ in range(2):
        with pytest.raises(SinkConflict, match="has another batch"):
            polled(3)
    shutil.copy(new, state)
    polled(4)
    with project_in(workspace, database, spark, strategy=DIGESTS, retain="7d") as project:
        assert not project.stream("t").verify()
