"""A lookup of a DataFrame: a streaming query gets the partners that the events of a stream have."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import yaml

import qbcd
from qbcd.errors import ConfigError
from tests.integration.lookups.scene import looked_up
from tests.support.places import Place

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROWS = 3000


def written(place: Place, folder: Path, lookup: dict[str, Any]) -> Path:
    place.sql(
        "CREATE TABLE customer (sk bigint PRIMARY KEY, no integer, name varchar(40), rate numeric(8, 3), day date);"
        "CREATE TABLE sales (id integer PRIMARY KEY)"
    )
    place.sql(
        "INSERT INTO customer VALUES "
        + ", ".join(f"({1000 + i}, {i}, 'c{i}', {i}.5, '2026-11-28')" for i in range(ROWS))
    )
    data = looked_up(place, {"on": {"customer_no": "no"}, **lookup})
    del data["tables"][0]["enrich"]
    path = folder / "qbcd.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    return path


@pytest.mark.campaign
def test_a_streaming_query_has_the_partners(place: Place, workspace: Path, spark: SparkSession) -> None:
    lookup = {"take": ["sk", "name", "rate", "day"], "method": "mesh", "memory": 1 << 20}
    path = written(place, workspace, lookup)
    frame = spark.range(400).selectExpr("id", "IF(id % 7 = 0, NULL, id * 11) AS customer_no")
    frame.repartition(3).write.parquet(str(workspace / "in"))
    stream = spark.readStream.schema(frame.schema).option("maxFilesPerTrigger", 1).parquet(str(workspace / "in"))
    joined = qbcd.lookup(stream, "customer", config=path)
    assert joined.isStreaming
    query = (
        joined.writeStream.format("parquet")
        .option("path", str(workspace / "result"))
        .option("checkpointLocation", str(workspace / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination(120)
    rows = spark.read.parquet(str(workspace / "result")).collect()
    found = {row.id: row.customer and row.customer.asDict() for row in rows}
    assert len(rows) == len(found) == 400
    for key, partner in found.items():
        no = key * 11
        if key % 7 == 0 or no >= ROWS:
            assert partner is None
        else:
            assert (partner["sk"], partner["name"], partner["rate"]) == (1000 + no, f"c{no}", Decimal(f"{no}.500"))
            assert str(partner["day"]) == "2026-11-28"


@pytest.mark.campaign
def test_allocated_keys_are_the_same_in_a_repeated_batch(place: Place, workspace: Path, spark: SparkSession) -> None:
    path = written(place, workspace, {"take": ["sk"], "missing": "allocate", "allocate_from": 900_000})
    values = [(1, Decimal(5)), (2, Decimal(ROWS + 5)), (3, Decimal(ROWS + 5)), (4, None)]
    frame = spark.createDataFrame(values, "id int, customer_no decimal(12, 2)")
    results = []
    for _ in range(2):
        rows = qbcd.lookup(frame, "customer", config=path, partitions=2).orderBy("id").collect()
        results.append([row.customer and row.customer.sk for row in rows])
    assert results == [[1005, 900_000, 900_000, None]] * 2


@pytest.mark.campaign
def test_values_have_their_types_or_are_refused(place: Place, workspace: Path, spark: SparkSession) -> None:
    path = written(place, workspace, {"take": ["sk", "day", "at", "parts", "rate"]})
    place.sql(
        "ALTER TABLE customer ADD at timestamptz DEFAULT '2026-11-28 10:00+00', ADD parts integer[] DEFAULT '{1,NULL}';"
        "UPDATE customer SET day = 'infinity' WHERE no = 2; UPDATE customer SET rate = 'NaN' WHERE no = 3"
    )
    numbers = spark.range(5).selectExpr("CAST(id AS int) AS customer_no")
    spark.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    try:
        found = qbcd.lookup(numbers, "customer", config=path)
        assert found.schema["customer"].dataType.simpleString() == (
            "struct<sk:bigint,day:date,at:timestamp,parts:array<int>,rate:decimal(8,3)>"
        )
        [row] = found.where("customer_no = 1").selectExpr("CAST(customer AS STRING) AS text").collect()
        assert row.text == "{1001, 2026-11-28, 2026-11-28 10:00:00, [1, null], 1.500}"
        for no, said in ((2, "column day: not a value of type date: infinity"), (3, "column rate: not a value of")):
            with pytest.raises(Exception, match=said):
                qbcd.lookup(numbers.where(f"customer_no = {no}"), "customer", config=path).collect()
    finally:
        spark.conf.unset("spark.sql.timestampType")


def test_wrong_frames_are_refused_on_the_driver(place: Place, workspace: Path, spark: SparkSession) -> None:
    path = written(place, workspace, {"take": ["sk"]})
    with pytest.raises(ConfigError, match="events have no column 'customer_no'"):
        qbcd.lookup(spark.range(3), "customer", config=path)
    for taken in ("Customer", "QBCD_lookup"):  # Spark would replace such a column, or find two
        with pytest.raises(ConfigError, match=f"has a column '{taken}' already"):
            qbcd.lookup(spark.range(1).selectExpr("id AS customer_no", f"'mine' AS {taken}"), "customer", config=path)
    with pytest.raises(ConfigError, match="has a column 'customer' already"):
        qbcd.lookup(spark.range(3).withColumnRenamed("id", "customer"), "customer", config=path)
    with pytest.raises(ConfigError, match="there is no lookup 'nobody'"):
        qbcd.lookup(spark.range(3), "nobody", config=path)
