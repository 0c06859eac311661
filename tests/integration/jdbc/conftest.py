"""Fixtures: the run's Spark session with the drivers of databases in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.jdbc_places import IN_FILES, add_drivers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="session")
def jdbc_spark(spark: SparkSession) -> SparkSession:
    """The session; drivers come from the user's cache, or from Maven."""
    add_drivers(spark, *IN_FILES)
    return spark
