"""Engines of the lake wing, outside a poll."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.config.models import SparkConfig
from qbcd.sites.lake.engines.spark.engine import SparkEngine
from qbcd.spark.provider import SparkProvider

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def spark_engine(spark: SparkSession) -> SparkEngine:
    """Return the Spark engine of a running session."""
    return SparkEngine(SparkProvider(SparkConfig(), list, session=spark))
