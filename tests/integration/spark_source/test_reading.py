"""Spark reads changes: batch reads of versions, streams with a checkpoint, both wings, schema changes, replicas."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.scene import STREAM
from tests.support.spark_reads import SparkScene, as_counter, change_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

COLUMNS = ["id", "v", "n"]


@pytest.fixture(params=["id_rcs", pytest.param("mds", marks=pytest.mark.campaign)])
def scene(request: pytest.FixtureRequest, database: str, tmp_path: Path, spark: SparkSession) -> Iterator[SparkScene]:
    with SparkScene(database, tmp_path, request.param, spark) as made:
        made.make_table()
        made.project.stream(STREAM).prepare()
        yield made


def test_batches_and_streams_have_the_events_of_the_iterator(scene: SparkScene) -> None:
    handle = scene.project.stream(STREAM)
    list(handle.poll())
    events = []
    for _ in range(3):
        scene.change()
        for batch in handle.poll():
            events += list(batch.rows())
    expected = change_rows(events, COLUMNS)
    assert {kind for kind, *_ in expected} == {"insert", "update_preimage", "update_postimage", "delete"}

    rows = scene.read()
    assert rows.columns == [*COLUMNS, "_change_type", "_commit_version", "_commit_timestamp"]
    assert as_counter(rows.collect(), COLUMNS) == expected
    second = {c: n for c, n in expected.items() if c[1] == 2}
    assert as_counter(scene.read(startingVersion=2, endingVersion=2).collect(), COLUMNS) == second
    assert scene.read(startingVersion="latest").count() == 0

    followed = scene.follow(maxRowsPerTrigger="1")
    assert as_counter(scene.drain(followed, "out"), COLUMNS) == expected
    scene.change()
    for batch in handle.poll():
        events += list(batch.rows())
    assert as_counter(scene.drain(followed, "out"), COLUMNS) == change_rows(events, COLUMNS)
