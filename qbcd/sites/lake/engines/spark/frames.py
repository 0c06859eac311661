"""Shapes of DataFrames whose rows come from the source: fields, tasks, unions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from typing import TYPE_CHECKING

from qbcd.sites.lake.replica.schema import Fields, ddl

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def in_one_task(rows: DataFrame) -> DataFrame:
    """Return `rows` for one task, which also reads them."""
    return rows.coalesce(1)


def for_one_join(rows: DataFrame) -> DataFrame:
    """Return `rows` for one task that joins them in memory, while all readers run in parallel."""
    return rows.repartition(1).hint("shuffle_hash")


def union(parts: Sequence[DataFrame]) -> DataFrame:
    """Return the rows of all `parts` (at least one); each keeps its tasks."""
    return reduce(lambda one, other: one.unionByName(other), parts)


def no_rows(spark: SparkSession, fields: Fields) -> DataFrame:
    """Return no rows, with these fields."""
    return spark.createDataFrame([], ddl(fields))
