"""qbcd's jobs have its settings in a session of others too; users get data frames of their session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import qbcd
from qbcd.event_sql.spark import SPARK
from qbcd.model import Travel
from qbcd.sites import DatabaseSite
from qbcd.sites.lake.engines.spark import parquet
from qbcd.sites.lake.engines.spark.engine import one_of
from qbcd.spark.jdbc_read import zones_of_tasks
from qbcd.spark.provider import SparkProvider
from tests.support.places import Place
from tests.support.project import config

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import DataFrame, SparkSession

    from qbcd.model import BatchHeader

SETTING = "spark.sql.session.localRelationCacheThreshold"
MOST_PAGES = "spark.sql.parquet.pushdown.inFilterThreshold"


def test_work_has_a_session_of_the_same_context(spark: SparkSession) -> None:
    provider = SparkProvider(None, list, session=spark)  # type: ignore[arg-type]
    spark.conf.set(SETTING, "12345")
    spark.conf.set(MOST_PAGES, "10")
    try:
        with provider.working():
            own = provider.get()
            with provider.working():
                assert provider.get() is own
            assert provider.get() is own
        assert provider.get() is spark
    finally:
        spark.conf.unset(SETTING)
        spark.conf.unset(MOST_PAGES)
    assert own.sparkContext is spark.sparkContext
    assert own.conf.get(SETTING) == "12345"
    assert own.conf.get(MOST_PAGES) == "100"
    assert own.conf.get("spark.sql.adaptive.enabled") == "false"
    assert own.conf.get("spark.sql.shuffle.partitions") == str(spark.sparkContext.defaultParallelism)
    assert own.conf.get("spark.sql.session.timeZone") == "UTC"


def test_pages_without_a_row_of_the_ranges_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """Twelve of forty ranges are read.

    Pages have five ranges, so they are in four of eight pages.
    """
    path = str(tmp_path / "p")
    rows = spark.range(40_000).selectExpr("id DIV 1000 AS range_id", "id").coalesce(1)
    rows.write.options(**parquet.USUAL).parquet(path)
    provider = SparkProvider(None, list, session=spark)  # type: ignore[arg-type]
    with provider.working():
        read = provider.get().read.options(**parquet.READ).parquet(path)
        found = read.where(one_of([*range(6), *range(34, 40)]))
        assert len(found.collect()) == 12_000
    scan = found._jdf.queryExecution().executedPlan().collectLeaves().head()
    assert scan.metrics().apply("numOutputRows").value() == 20_000


def test_sinks_get_batches_there_and_users_in_their_own(
    place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v varchar(9)); INSERT INTO t VALUES (1, 'a')")
    own: list[bool] = []
    staged = DatabaseSite.staged

    def watched(site: DatabaseSite, header: BatchHeader) -> DataFrame:
        frame = staged(site, header)
        own.append(frame.sparkSession is not spark)
        return frame

    monkeypatch.setattr(DatabaseSite, "staged", watched)
    table = {"name": "s", "table": place.table("t"), "strategy": "mds", "baseline": "events", "engine": "spark"}
    with qbcd.Project.from_dict(config(place.url, table), base_dir=workspace, spark=spark) as project:
        project.stream("s").prepare()
        assert own == [True]
        for batch in project.stream("s").poll():
            batch.events.createOrReplaceTempView("qbcd_small_jobs")
            assert spark.sql("SELECT count(*) FROM qbcd_small_jobs").head() == (1,)
            spark.catalog.dropTempView("qbcd_small_jobs")
    assert own == [True, False]


def test_moments_have_their_zone_whatever_a_session_calls_a_timestamp(spark: SparkSession) -> None:
    moment, array = Travel("timestamptz"), Travel("array", element=Travel("timestamptz"))
    values = [
        SPARK.typed_value(moment, "'2024-01-01T10:00:00.000000Z'", "a"),
        SPARK.typed_value(array, "'[\"2024-01-01T10:00:00.000000Z\"]'", "b"),
        SPARK.typed_value(Travel("timestamp"), "'2024-01-01T10:00:00.000000'", "c"),
    ]
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        found = spark.sql(f"SELECT {', '.join(values)}")
        assert [field.dataType.simpleString() for field in found.schema] == [
            "timestamp",
            "array<timestamp>",
            "timestamp_ntz",
        ]
    finally:
        spark.conf.unset("spark.sql.timestampType")


def test_tasks_show_the_zone_of_their_java(spark: SparkSession) -> None:
    """Drivers make dates in it; tests/campaign/jdbc/test_executors.py has executors of another one."""
    zones = spark.sparkContext._jvm.java.util.TimeZone  # type: ignore[union-attr]
    before = zones.getDefault()
    zones.setDefault(zones.getTimeZone("America/New_York"))
    try:
        assert zones_of_tasks(spark) == ["America/New_York"]
    finally:
        zones.setDefault(before)
    assert zones_of_tasks(spark) == ["UTC"]
