"""Changes of key under Spark: a delete and an insert of equal content in one batch, where the match is the only one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame


def paired(batch: DataFrame, *, keys: int, width: int, epoch: int, seq: int) -> DataFrame:
    """The batch rows with `reason` and `pair_id` of deletes and inserts whose pertinent values are the same.

    Args:
        batch: Numbered rows.
        keys: How many of the captured columns are key columns.
        width: How many columns are captured.
        epoch: Of the batch.
        seq: The batch's number.
    """
    if keys == width:
        return batch
    names = batch.columns
    deleted, inserted = (F.col("op") == "d") & F.col("reason").isNull(), F.col("op") == "c"
    content = F.when(deleted, _content("b", keys, width)).when(inserted, _content("a", keys, width))
    # What is neither stands alone, so that no task gathers all updates.
    alike = Window.partitionBy(F.coalesce(content, F.col("ordinal").cast("string")))
    matched = (F.count(F.when(deleted, 1)).over(alike) == 1) & (F.count(F.when(inserted, 1)).over(alike) == 1)
    gone = F.min(F.when(deleted, F.col("ordinal"))).over(alike)
    pair = F.concat(F.lit(f"{epoch}:{seq}:"), gone.cast("string"))
    marked = batch.withColumn("pair_id", F.when(matched, pair))
    reason = F.when(F.col("pair_id").isNotNull(), "key_change").otherwise(F.col("reason"))
    reason = F.when(F.col("pair_id").isNotNull(), "key_change").otherwise(F.col("reason"))
    return marked.withColumn("reason", reason).select(*names)


def _content(side: str, keys: int, width: int) -> SparkColumn:
    values = F.struct(*[F.col(f"{side}_{i}").alias(f"v{i}") for i in range(keys, width)])
    return F.sha2(F.to_json(values, {"ignoreNullFields": "false"}), 256)
