"""Spark reads changes: batch reads of versions, streams with a checkpoint, both wings, schema changes, replicas."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from qbcd.spark_source.source import HAS_LIMITS
from tests.support.scene import STREAM
from tests.support.spark_reads import SparkScene, as_counter, change_rows

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, Row, SparkSession

COLUMNS = ["id", "v", "n"]


@pytest.fixture(params=[pytest.param("id_rcs", marks=pytest.mark.campaign), "mds"])
def scene(request: pytest.FixtureRequest, database: str, tmp_path: Path, spark: SparkSession) -> Iterator[SparkScene]:
    with SparkScene(database, tmp_path, request.param, spark) as made:
        made.make_table()
        made.project.stream(STREAM).prepare()
        yield made


def test_a_read_and_a_query_have_the_events_of_the_iterator(scene: SparkScene) -> None:
    handle = scene.project.stream(STREAM)
    list(handle.poll())
    scene.change()
    expected = change_rows([event for batch in handle.poll() for event in batch.rows()], COLUMNS)
    assert {kind for kind, *_ in expected} == {"insert", "update_preimage", "update_postimage", "delete"}
    rows = scene.read()
    assert rows.columns == [*COLUMNS, "_change_type", "_commit_version", "_commit_timestamp"]
    assert as_counter(rows.collect(), COLUMNS) == expected
    assert as_counter(scene.drain(scene.follow(), "out"), COLUMNS) == expected


@pytest.mark.campaign
def test_versions_and_micro_batches(scene: SparkScene) -> None:
    handle = scene.project.stream(STREAM)
    list(handle.poll())
    events = []
    for _ in range(3):
        scene.change()
        for batch in handle.poll():
            events += list(batch.rows())
    expected = change_rows(events, COLUMNS)
    second = {c: n for c, n in expected.items() if c[1] == 2}
    assert as_counter(scene.read(startingVersion=2, endingVersion=2).collect(), COLUMNS) == second
    assert scene.read(startingVersion="latest").count() == 0
    limit = {"maxRowsPerTrigger": "1"} if HAS_LIMITS else {}
    followed = scene.follow(**limit)
    assert as_counter(scene.drain(followed, "out"), COLUMNS) == expected
    for _ in range(2):  # the query continues by its checkpoint
        scene.change()
        for batch in handle.poll():
            events += list(batch.rows())
        assert as_counter(scene.drain(followed, "out"), COLUMNS) == change_rows(events, COLUMNS)


@pytest.mark.campaign
def test_a_query_from_latest_loses_nothing_when_its_first_micro_batch_fails(scene: SparkScene) -> None:
    handle = scene.project.stream(STREAM)
    list(handle.poll())
    found: list[Row] = []

    def run(*, fails: bool) -> None:
        def each(rows: DataFrame, _: int) -> None:
            if fails:
                raise RuntimeError("the target is not there")
            found.extend(rows.collect())

        rows = scene.follow(startingVersion="latest").writeStream.foreachBatch(each)
        rows = rows.option("checkpointLocation", str(scene.folder / "checkpoint")).trigger(availableNow=True)
        rows.start().awaitTermination()

    with pytest.raises(Exception, match="the target is not there"):
        run(fails=True)
    events = []
    for _ in range(2):
        scene.change()
        for batch in handle.poll():
            events += list(batch.rows())
        run(fails=False)
        run(fails=False)
        assert as_counter(found, COLUMNS) == change_rows(events, COLUMNS)


@pytest.mark.campaign
@pytest.mark.skipif(HAS_LIMITS, reason="this Spark has limits")
def test_an_older_spark_refuses_limits_in_words(scene: SparkScene) -> None:
    list(scene.project.stream(STREAM).poll())
    with pytest.raises(Exception, match=r"maxRowsPerTrigger needs Spark 4\.2 or newer"):
        scene.drain(scene.follow(maxRowsPerTrigger="1"), "out")
