"""Changes as a data source of Spark: ``format("qbcd")`` for batch and streaming reads.

`register(spark)` makes the format known to a session. The rest runs in Python processes of Spark.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["register"]


def register(spark: SparkSession) -> None:
    """Make ``format("qbcd")`` known to a session.

    On a local master its workers run the Python of this process, unless PYSPARK_PYTHON names another.

    Raises:
        EnvironmentMissing: The Python of Spark's workers has no qbcd, or is another version of Python.
    """
    from qbcd.spark_source.fitness import workers_python
    from qbcd.spark_source.source import QbcdDataSource

    with workers_python(spark):
        spark.dataSource.register(QbcdDataSource)
