"""Rows without a key (`key: none`): a table is a set of rows with a count each, and a row's identity is its content.

A row stands for its digest and the number of its copy, from 1. So n copies more are n inserts, n copies fewer are n
deletes, of the highest numbers, and nothing is ever an update. Which copy has which number means nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from qbcd.model import StreamPlan

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame


def identified(rows: DataFrame, plan: StreamPlan) -> DataFrame:
    """Rows as the source gives them, with `key_id`, which it gives itself where the key has columns.

    Of rows without a key it is the digest (8 bytes) and the number of the copy (8 bytes); of a result of one row, whose
    key is empty, it is empty too.
    """
    if plan.counted:
        return _numbered(rows, _eight(F.col("digest")), F.col("digest"))
    return rows if plan.key else rows.withColumn("key_id", F.lit(b""))


def by_content(rows: DataFrame, which: Sequence[int]) -> DataFrame:
    """Rows of stage or replica with a `key_id` of their values, where digests may have changed their meaning.

    Args:
        rows: With wire values c0..cn.
        which: The positions of those that count.
    """
    values = F.to_json(F.struct(*[F.col(f"c{i}") for i in which]), {"ignoreNullFields": "false"})
    content = F.unhex(F.sha2(values, 256))
    return _numbered(rows, content, content)


def _numbered(rows: DataFrame, identity: SparkColumn, alike: SparkColumn) -> DataFrame:
    nth = F.row_number().over(Window.partitionBy(alike).orderBy("range_id"))
    return rows.withColumn("key_id", F.concat(identity, _eight(nth.cast("long"))))


def _eight(number: SparkColumn) -> SparkColumn:
    """The eight bytes of a 64-bit number."""
    return F.unhex(F.lpad(F.hex(number), 16, "0"))
