"""Jobs of few rows run in a session of their own; users get data frames of their session."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import qbcd
from qbcd.sites import DatabaseSite
from qbcd.sites.lake.engines.spark import parquet
from qbcd.sites.lake.engines.spark.engine import one_of
from qbcd.spark.provider import MIDDLE_ROWS, SMALL, SMALL_ROWS, SparkProvider
from tests.support.places import Place
from tests.support.project import config

if TYPE_CHECKING:
    import pytest
    from pyspark.sql import DataFrame, SparkSession

    from qbcd.model import BatchHeader

SETTING = "spark.sql.session.localRelationCacheThreshold"


def test_few_rows_have_a_session_of_the_same_context(spark: SparkSession) -> None:
    provider = SparkProvider(None, list, session=spark)  # type: ignore[arg-type]
    spark.conf.set(SETTING, "12345")
    try:
        with provider.for_rows(SMALL_ROWS):
            small = provider.get()
            with provider.for_rows(SMALL_ROWS + 1):
                middle = provider.get()
            with provider.for_rows(MIDDLE_ROWS + 1):
                assert provider.get() is spark
            assert provider.get() is small
        assert provider.get() is spark
    finally:
        spark.conf.unset(SETTING)
    assert small.sparkContext is spark.sparkContext
    assert small.conf.get(SETTING) == "12345"
    assert {name: small.conf.get(name) for name in SMALL} == dict(SMALL)
    assert spark.conf.get("spark.sql.codegen.factoryMode") != "NO_CODEGEN"
    assert middle.conf.get("spark.sql.adaptive.enabled") == "false"
    assert middle.conf.get("spark.sql.codegen.factoryMode") == spark.conf.get("spark.sql.codegen.factoryMode")
    assert middle.conf.get("spark.sql.shuffle.partitions") == str(spark.sparkContext.defaultParallelism)
    assert {one.conf.get("spark.sql.session.timeZone") for one in (small, middle)} == {"UTC"}


def test_pages_without_a_row_of_the_ranges_are_not_read(spark: SparkSession, tmp_path: Path) -> None:
    """Twelve of forty ranges are read.

    Pages have five ranges, so they are in four of eight pages.
    """
    path = str(tmp_path / "p")
    rows = spark.range(40_000).selectExpr("id DIV 1000 AS range_id", "id").coalesce(1)
    rows.write.options(**parquet.USUAL).parquet(path)
    provider = SparkProvider(None, list, session=spark)  # type: ignore[arg-type]
    for most in (SMALL_ROWS, MIDDLE_ROWS):
        with provider.for_rows(most):
            read = provider.get().read.options(**parquet.READ).parquet(path)
            found = read.where(one_of([*range(6), *range(34, 40)]))
            assert len(found.collect()) == 12_000
        scan = found._jdf.queryExecution().executedPlan().collectLeaves().head()
        assert scan.metrics().apply("numOutputRows").value() == 20_000


def test_sinks_get_small_batches_there_and_users_in_their_own(
    place: Place, workspace: Path, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    place.sql("CREATE TABLE t (id integer PRIMARY KEY, v varchar(9)); INSERT INTO t VALUES (1, 'a')")
    compiled: list[bool] = []
    staged = DatabaseSite.staged

    def watched(site: DatabaseSite, header: BatchHeader) -> DataFrame:
        frame = staged(site, header)
        compiled.append(frame.sparkSession.conf.get("spark.sql.codegen.factoryMode") != "NO_CODEGEN")
        return frame

    monkeypatch.setattr(DatabaseSite, "staged", watched)
    table = {"name": "s", "table": place.table("t"), "strategy": "mds", "baseline": "events", "engine": "spark"}
    with qbcd.Project.from_dict(config(place.url, table), base_dir=workspace, spark=spark) as project:
        project.stream("s").prepare()
        assert compiled == [False]
        for batch in project.stream("s").poll():
            batch.events.createOrReplaceTempView("qbcd_small_jobs")
            assert spark.sql("SELECT count(*) FROM qbcd_small_jobs").head() == (1,)
            spark.catalog.dropTempView("qbcd_small_jobs")
    assert compiled == [False, True]
