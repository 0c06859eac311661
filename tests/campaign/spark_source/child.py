"""One streaming query in a process of its own, which a test kills: python -m tests.campaign.spark_source.child FILE.

FILE is JSON: the configuration, the folders of rows and checkpoint. The query runs until the process ends.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pyspark.sql import SparkSession

from qbcd.spark_source import register


def main() -> None:
    """Follow stream `s` into Parquet files."""
    given = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.sql.shuffle.partitions", "1").config("spark.log.level", "ERROR").getOrCreate()
    register(spark)
    read = spark.readStream.format("qbcd").option("config", given["config"]).option("consumer", "killed")
    rows = read.option("maxRowsPerTrigger", "5").load("s")
    write = rows.writeStream.format("parquet").option("checkpointLocation", given["checkpoint"])
    query = write.trigger(**({"availableNow": True} if given["ends"] else {"processingTime": "0 seconds"}))
    Path(given["ready"]).touch()
    query.start(given["out"]).awaitTermination()


if __name__ == "__main__":
    main()
