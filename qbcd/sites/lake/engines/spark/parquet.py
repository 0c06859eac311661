"""Write and read parts as Parquet files with Spark."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from pyspark.sql import Observation
from pyspark.sql import functions as F

from qbcd.sites.event_schema import casts
from qbcd.sites.lake.replica.schema import IDENTITY, Fields, ddl
from qbcd.spark.parquet_options import ROW_CHECKS, without_statistics
from qbcd.spark.paths import to_read, to_write

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

USUAL = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "parquet.page.write-checksum.enabled": "true",
    "parquet.page.row.count.limit": "5000",  # small pages: a read of few ranges reads few pages; files hardly grow
    **ROW_CHECKS,
    "parquet.block.size": "33554432",  # each task buffers a row group; two of the default size fill a small heap
}
TEMPORARY = {**USUAL, "compression": "uncompressed", "parquet.enable.dictionary": "false"}  # fast to write
# These override the session's settings. Vectored reads allocate direct memory for a whole row group at once, and each
# reading thread keeps it; when none is left, the thread dies and its task waits for it forever.
READ = {
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "parquet.page.verify-checksum.enabled": "true",
    "parquet.hadoop.vectored.io.enabled": "false",
}


def write_parquet(
    rows: DataFrame, fields: Fields, folder: Path | str, *, temporary: bool, counted: bool = False
) -> int | None:
    """Evaluate `rows` once, cast it to `fields` and write it into a new folder.

    Return the number of rows if they are `counted`.
    """
    # Nothing searches by texts and binaries, except by the identity of keys.
    long = [name for name, kind in fields if kind in ("string", "binary") and name not in IDENTITY]
    options = {**(TEMPORARY if temporary else USUAL), **without_statistics(long)}
    made = rows.selectExpr(*casts(fields))
    if not counted:
        made.write.options(**options).parquet(to_write(folder))
        return None
    seen = Observation()
    made.observe(seen, F.expr("count(1) AS n")).write.options(**options).parquet(to_write(folder))
    number = seen.get.get("n")
    return None if number is None else int(number)


def read_parquet(spark: SparkSession, fields: Fields, files: Iterable[Path | str]) -> DataFrame:
    """Return the rows of files with these fields."""
    return spark.read.options(**READ).schema(ddl(fields)).parquet(*map(to_read, files))
