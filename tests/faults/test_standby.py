"""A standby as the source: reads go on, writes are refused by name; a promotion ends that."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.demo.server import EmbeddedPostgres
from qbcd.errors import Refused, SourceError
from tests.support.embedded import while_stopped
from tests.support.scene import STREAM, Scene

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def test_a_standby_is_read_and_not_written(workspace: Path, spark: SparkSession) -> None:
    with EmbeddedPostgres.start() as own:
        for name in ("rcs", "mds", "new"):
            (workspace / name).mkdir()
        rcs, mds = Scene(own.url, workspace / "rcs", "id_rcs", spark), Scene(own.url, workspace / "mds", "mds", spark)
        rcs.begin()
        mds.prepare()
        rcs.change()
        while_stopped(own, ["touch", str(own.directory / "data" / "standby.signal")])
        rcs.poll()
        rcs.check()
        assert rcs.project.stream(STREAM).verify() == []
        with pytest.raises(SourceError, match=r"during recovery \(the server accepts no writes: poll the primary"):
            mds.poll()
        with Scene(own.url, workspace / "new", "mds", spark) as new:
            with pytest.raises(Refused, match=r"the source is a standby, which accepts no writes \(poll the primary"):
                new.prepare()
            said = [f for f in new.project.check() if f.level == "error"]
            assert ["the source is a standby" in f.message for f in said] == [True]
        promoted = own._pg_ctl("promote")
        assert promoted.returncode == 0, promoted.stdout
        rcs.change()
        for scene in (rcs, mds):
            scene.poll()
            scene.check()
            scene.project.close()
