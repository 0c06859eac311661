"""A program for spark-submit: reads stream `s` once and follows it to its newest batch, both into Parquet files.

Its arguments: the configuration, and the folder for what it writes.
"""

from __future__ import annotations

import sys

from pyspark.sql import SparkSession

from qbcd.spark_source import register


def main() -> None:
    """Read and follow."""
    config, folder = sys.argv[1:]
    spark = SparkSession.builder.appName("submitted").getOrCreate()
    register(spark)
    spark.read.format("qbcd").option("config", config).load("s").write.parquet(f"{folder}/read")
    rows = spark.readStream.format("qbcd").option("config", config).option("consumer", "submitted").load("s")
    write = rows.writeStream.format("parquet").option("checkpointLocation", f"{folder}/checkpoint")
    write.trigger(availableNow=True).start(f"{folder}/followed").awaitTermination()
    spark.stop()


if __name__ == "__main__":
    main()
