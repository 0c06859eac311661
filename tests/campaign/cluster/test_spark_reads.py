"""`format("qbcd")` reads a project whose workdir is in an object store; executors copy the files that they read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.campaign.cluster.store_scene import BUCKET, objects, storage
from tests.support.places import Place
from tests.support.project import opened
from tests.support.s3_server import S3Server
from tests.support.scene import STREAM
from tests.support.spark_reads import SparkScene, as_counter, change_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.campaign
COLUMNS = ["id", "v", "n"]


class FarScene(SparkScene):
    """A scene that Spark reads from an object store.

    Args:
        more: Further sections of the configuration.
    """

    def __init__(self, place: Place, folder: Path, s3: S3Server, spark: SparkSession, strategy: str, **more: object):
        super().__init__(place.url, folder, strategy, spark, engine="local")
        self.project.close()
        self.data |= {"workdir": f"s3://{BUCKET}/{folder.name}", "storage": storage(s3, folder), **more}
        self.project = opened(self.data, folder, spark)
        self.write_config()


def test_changes_and_replica(s3: S3Server, place: Place, folder: Path, spark: SparkSession) -> None:
    condition = {"id": "all", "stream": STREAM, "condition": "id >= 0"}
    with FarScene(place, folder, s3, spark, "id_rcs", subscriptions={"inline": [condition]}) as scene:
        scene.make_table()
        handle = scene.project.stream(STREAM)
        handle.prepare()
        events = [event for batch in handle.poll() for event in batch.rows()]
        for _ in range(2):
            scene.change()
            events += [event for batch in handle.poll() for event in batch.rows()]
        expected = change_rows(events, COLUMNS)
        rows = scene.read().collect()
        assert as_counter(rows, COLUMNS) == expected
        later = [row for row in rows if row["_change_type"] == "insert" and row["_commit_version"] > 1]
        matched = {tuple(row["_subscriptions"]) for row in later}
        assert matched == {("all",)}
        assert as_counter(scene.drain(scene.follow(), "out"), COLUMNS) == expected
        there = scene.read(rows="replica").select(*COLUMNS).collect()
        assert sorted(tuple(row) for row in there) == scene.source()
        path = next(path for path in objects(s3, folder.name) if "/batch-" in path)
        content = s3.client().open_input_file(path).read()
        for wrong in (content[:-40] + bytes([content[-40] ^ 1]) + content[-39:], content[:-1]):
            with s3.client().open_output_stream(path) as out:
                out.write(wrong)
            with pytest.raises(Exception, match=r"s3://work/.* is missing or was changed") as refused:
                scene.read().collect()
            assert s3.storage["secret_key"] not in str(refused.value)


def test_a_batch_that_is_in_the_source_is_refused(
    s3: S3Server, place: Place, folder: Path, spark: SparkSession
) -> None:
    with FarScene(place, folder, s3, spark, "mds") as scene:
        scene.begin()
        with pytest.raises(Exception, match=r"batch \d+/1 is in the source shop, and the workdir is a URL"):
            scene.read().collect()
