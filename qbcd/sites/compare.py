"""Comparison of stage and replica in Spark, by ``key_id`` and digest; keys themselves are never equated here.

Shapes: stage and replica are ``range_id, key_id, digest, c0..cn``; changes are ``op, changed, range_id, key_id, digest,
b_0..b_n, a_0..a_n``; a batch adds ``reason, pair_id, ordinal, batch_seq`` (wire form throughout).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from qbcd.model import Column, StreamPlan
from qbcd.sites import copies
from qbcd.sites.shapes import IDENTITY

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

ONE_TASK_ROWS = 500_000  # rows that one task sorts and numbers; beyond them the work is cut by range
_RANK = {"d": 0, "u": 1, "c": 2, "r": 3}


def sums(rows: DataFrame) -> dict[int, tuple[int, int | None]]:
    """range_id -> (rows, sum of digests), exact: the sum is a decimal(38,0), and None where a digest is missing."""
    digest = F.col("digest").cast("decimal(38,0)")
    whole = F.when(F.count(digest) == F.count(F.lit(1)), F.sum(digest)).alias("s")
    found = rows.groupBy("range_id").agg(F.count(F.lit(1)).alias("n"), whole).collect()
    return {int(r["range_id"]): (int(r["n"]), None if r["s"] is None else int(r["s"])) for r in found}


def has_duplicates(stage: DataFrame) -> bool:
    """Whether a key stands twice in the stage."""
    return not stage.groupBy("key_id").count().where("count > 1").isEmpty()


def untravelled(stage: DataFrame) -> list[int]:
    """Positions of the columns of one row, if any, that hold a value no typed sink can take."""
    row = stage.where("untravelled <> ''").select("untravelled").head()
    return [int(p) for p in row["untravelled"].split(",") if p] if row else []


def differences(replica: DataFrame, stage: DataFrame, plan: StreamPlan, *, by_value: bool) -> DataFrame:
    """The net changes that turn `replica` into `stage`.

    Args:
        replica: Old rows of the ranges concerned.
        stage: New rows of the same ranges.
        plan: The captured columns.
        by_value: Digests may differ in meaning only: rows whose values are equal are no change.
    """
    if by_value and not plan.key:
        replica, stage = (copies.by_content(rows, len(plan.captured)) for rows in (replica, stage))
    r, s = replica.alias("r"), stage.alias("s")
    op = F.when(F.col("s.key_id").isNull(), "d").when(F.col("r.key_id").isNull(), "c").otherwise("u")
    width = len(plan.captured)
    # A key is one row of the table, whatever range it stands in: ranges may have been cut anew in between.
    joined = r.join(s, F.col("r.key_id") == F.col("s.key_id"), "full_outer").select(
        op.alias("op"),
        *(F.coalesce(F.col(f"s.{c}"), F.col(f"r.{c}")).alias(c) for c in IDENTITY),
        F.col("s.digest").alias("digest"),
        F.col("r.digest").alias("old_digest"),
        *(F.col(f"r.c{i}").alias(f"b_{i}") for i in range(width)),
        *(F.col(f"s.c{i}").alias(f"a_{i}") for i in range(width)),
    )
    moved = joined.where("op <> 'u' OR digest <> old_digest").withColumn("changed", _changed(plan))
    if by_value:
        moved = moved.where("op <> 'u' OR changed <> ''")
    return moved.drop("old_digest")


def _changed(plan: StreamPlan) -> SparkColumn:
    """Comma-separated positions of the columns that differ, for updates; null otherwise."""
    keys = len(plan.key)
    marks = [
        F.when(~_comparable(c, f"b_{i}").eqNullSafe(_comparable(c, f"a_{i}")), F.lit(str(i)))
        for i, c in enumerate(plan.captured) if i >= keys or c.comparison != "typed"
    ]  # fmt: skip
    return F.when(F.col("op") == "u", F.concat_ws(",", *marks) if marks else F.lit(""))


def _comparable(column: Column, name: str) -> SparkColumn:
    """The wire value, without the trailing zeros that the type's own equality does not see."""
    value = F.col(name)
    if column.fact("zeros") == "loose" and column.travel.kind == "text":
        return F.when(value.contains("."), F.regexp_replace(value, r"\.?0+$", "")).otherwise(value)
    return value


def counts(batch: DataFrame) -> dict[str, int]:
    """Op -> number of events, of a written batch."""
    found = {r["op"]: int(r["count"]) for r in batch.groupBy("op").count().collect()}
    return {op: found[op] for op in _RANK if op in found}


def groups(changes: DataFrame) -> dict[tuple[str, int], int]:
    """(op, range_id) -> number of changes."""
    found = changes.groupBy("op", "range_id").count().collect()
    return {(r["op"], int(r["range_id"])): int(r["count"]) for r in found}


def baseline(stage: DataFrame, width: int) -> DataFrame:
    """The rows of a baseline as changes of op r."""
    empty = [F.lit(None).cast(stage.schema[f"c{i}"].dataType).alias(f"b_{i}") for i in range(width)]
    return stage.select(
        F.lit("r").alias("op"), F.lit(None).cast("string").alias("changed"), *IDENTITY, "digest",
        *empty, *(F.col(f"c{i}").alias(f"a_{i}") for i in range(width)),
    )  # fmt: skip


def numbered(changes: DataFrame, seq: int) -> DataFrame:
    """The changes as batch rows, numbered from 0 without gaps: deletes, then updates, then inserts; by one task.

    For changes that one task can sort; `numbered_by_group` is for more.
    """
    ranks = [F.when(F.col("op") == op, F.lit(rank)) for op, rank in _RANK.items()]
    sorted_rows = changes.repartition(1).sortWithinPartitions(F.coalesce(*ranks), *IDENTITY)
    # In the only partition this is the row's place.
    return _batch_rows(sorted_rows, F.monotonically_increasing_id(), seq)


def numbered_by_group(changes: DataFrame, sizes: Mapping[tuple[str, int], int], seq: int) -> DataFrame:
    """As `numbered`, for any number of changes: each (op, range) starts at a number of its own.

    Args:
        changes: As `differences` or `baseline` give them.
        sizes: Their `groups`, so that no single task has to see all rows.
        seq: The batch's number.
    """
    offsets, total = [], 0
    for op, range_id in sorted(sizes, key=lambda g: (_RANK[g[0]], g[1])):
        offsets.append(f"('{op}', {range_id}L, {total}L)")
        total += sizes[op, range_id]
    first = changes.sparkSession.sql(f"SELECT * FROM VALUES {', '.join(offsets)} AS f(op, range_id, first)")
    within = Window.partitionBy("op", "range_id").orderBy("key_id")
    rows = changes.join(F.broadcast(first), ["op", "range_id"]).withColumn("nth", F.row_number().over(within))
    return _batch_rows(rows, F.col("first") + F.col("nth") - 1, seq)


def _batch_rows(changes: DataFrame, ordinal: SparkColumn, seq: int) -> DataFrame:
    width = sum(1 for c in changes.columns if c.startswith("a_"))
    return changes.select(
        "op",
        F.lit(None).cast("string").alias("reason"),
        F.lit(None).cast("string").alias("pair_id"),
        ordinal.alias("ordinal"),
        "changed",
        *(f"b_{i}" for i in range(width)),
        *(f"a_{i}" for i in range(width)),
        *IDENTITY,
        "digest",
        F.lit(seq).cast("long").alias("batch_seq"),
    )


def merged(base: DataFrame, deltas: DataFrame | None, ids: Sequence[int] | None) -> DataFrame:
    """The replica's rows: the base segment with later batches on top, in ranges `ids` unless None."""
    width = sum(1 for c in base.columns if c[0] == "c" and c[1:].isdigit())
    names = [*IDENTITY, "digest", *(f"c{i}" for i in range(width))]
    rows = _within(base.select(*names), ids)
    if deltas is None:
        return rows
    newest = Window.partitionBy(*IDENTITY).orderBy(F.col("batch_seq").desc())
    latest = _within(deltas, ids).withColumn("nth", F.row_number().over(newest)).where("nth = 1")
    values = [F.col(c) for c in (*IDENTITY, "digest")] + [F.col(f"a_{i}").alias(f"c{i}") for i in range(width)]
    untouched = rows.join(latest.select(*IDENTITY), list(IDENTITY), "left_anti").select(*names)
    return untouched.unionByName(latest.where("op <> 'd'").select(*values))


def _within(rows: DataFrame, ids: Sequence[int] | None) -> DataFrame:
    return rows if ids is None else rows.where(F.col("range_id").isin(list(ids)))
