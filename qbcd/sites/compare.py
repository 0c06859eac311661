"""Comparison of stage and replica in Spark, by ``key_id`` and digest; keys themselves are never equated here.

Shapes: stage and replica are ``range_id, key_id, digest, c0..cn``; changes are ``op, changed, range_id, key_id, digest,
b_0..b_n, a_0..a_n``; a batch adds ``reason, pair_id, ordinal, batch_seq`` (wire form throughout).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from qbcd.model import Column, StreamPlan
from qbcd.sites import copies
from qbcd.sites.shapes import IDENTITY
from qbcd.state import StoredRange

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

ONE_TASK_ROWS = 500_000  # rows that one task sorts and numbers; beyond them the work is cut by range
FEW_ROWS = 100_000  # up to which one task compares, since it exchanges nothing with others
_RANK = {"d": 0, "u": 1, "c": 2, "r": 3}


def gathered(rows: DataFrame, about: int) -> DataFrame:
    """`rows`, of which there are `about` so many, for one task where they are few: nothing then has to be shuffled."""
    return rows.coalesce(1) if about <= FEW_ROWS else rows


def sums(rows: DataFrame, digest_column: str = "digest") -> dict[int, tuple[int, int | None]]:
    """range_id -> (rows, sum of digests), exact: the sum is a decimal(38,0), and None where a digest is missing."""
    digest = F.col(digest_column).cast("decimal(38,0)")
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


def aligned(replica: DataFrame, before: StreamPlan, plan: StreamPlan, stage: DataFrame) -> DataFrame:
    """Rows that have the values of `before`'s columns with those of `plan`'s; NULL where they lack one."""
    places = {c.name: i for i, c in enumerate(before.captured)}
    values = [
        (F.col(f"c{places[c.name]}") if c.name in places else F.lit(None)).cast(stage.schema[f"c{i}"].dataType)
        for i, c in enumerate(plan.captured)
    ]
    return replica.select(*IDENTITY, "digest", *(value.alias(f"c{i}") for i, value in enumerate(values)))


def differences(
    replica: DataFrame, stage: DataFrame, plan: StreamPlan, *, by_value: bool, both: Sequence[int] | None = None
) -> DataFrame:
    """The net changes that turn `replica` into `stage`, with ``net, weight``, what they add to their range.

    Args:
        replica: Old rows of the ranges concerned, with the values of all captured columns or of the key alone.
        stage: New rows of the same ranges; with ``old_digest``, those of the replica are held against that.
        plan: The captured columns.
        by_value: Digests may differ in meaning only: rows whose values are equal are no change.
        both: Positions of the columns that the replica has values of, where it has not all.
    """
    both = range(len(plan.captured)) if both is None else both
    if by_value and plan.counted:
        replica, stage = (copies.by_content(rows, both) for rows in (replica, stage))
    judged = "old_digest" if "old_digest" in stage.columns else "digest"
    r, s = replica.alias("r"), stage.alias("s")
    op = F.when(F.col("s.key_id").isNull(), "d").when(F.col("r.key_id").isNull(), "c").otherwise("u")
    width, known = len(plan.captured), value_columns(replica)
    old = [F.col(f"r.c{i}") if i < known else F.lit(None).cast(stage.schema[f"c{i}"].dataType) for i in range(width)]
    # A key is one row of the table, whatever range it stands in: ranges may have been cut anew in between.
    joined = r.join(s, F.col("r.key_id") == F.col("s.key_id"), "full_outer").select(
        op.alias("op"),
        *(F.coalesce(F.col(f"s.{c}"), F.col(f"r.{c}")).alias(c) for c in IDENTITY),
        F.col("s.digest").alias("digest"),
        F.col(f"s.{judged}").alias("judged"),
        F.col("r.digest").alias("old_digest"),
        *(value.alias(f"b_{i}") for i, value in enumerate(old)),
        *(F.col(f"s.c{i}").alias(f"a_{i}") for i in range(width)),
    )
    changed = _changed(plan, both) if known == width else F.lit(None).cast("string")
    moved = joined.where("op <> 'u' OR judged <> old_digest").drop("judged").withColumn("changed", changed)
    if by_value:
        moved = moved.where("op <> 'u' OR changed <> ''")
    return moved.withColumns(_growth(F.col("digest"), F.col("old_digest"))).drop("old_digest")


def _growth(digest: SparkColumn, old: SparkColumn) -> dict[str, SparkColumn]:
    """``net, weight``: by how many rows, and by what sum of digests, a change lets its range grow."""
    net = F.when(F.col("op") == "c", 1).when(F.col("op") == "d", -1).otherwise(0)
    new, gone = (F.coalesce(value, F.lit(0)).cast("decimal(38,0)") for value in (digest, old))
    return {"net": net, "weight": new - gone}


def moved_marks(replica: DataFrame, marks: DataFrame) -> DataFrame:
    """The rows that differ between `replica` and `marks`, both of one task: nothing is shuffled or sorted.

    Gives ``range_id, key_id, digest, c0..cn, k0..kn``: digest and values as the replica has them, NULL of rows that
    are new; the key's texts as the source has them, NULL of rows that are gone.
    """
    r, m = replica.alias("r"), marks.hint("shuffle_hash").alias("m")
    texts = [f"m.{c}" for c in marks.columns if c[0] == "k" and c[1:].isdigit()]
    values = [f"r.{c}" for c in ("digest", *(f"c{i}" for i in range(value_columns(replica))))]
    return (
        r.join(m, F.col("r.key_id") == F.col("m.key_id"), "full_outer")
        .where(F.col("r.key_id").isNull() | F.col("m.key_id").isNull() | (F.col("r.digest") != F.col("m.digest")))
        .select(*(F.coalesce(F.col(f"m.{c}"), F.col(f"r.{c}")).alias(c) for c in IDENTITY), *values, *texts)
    )


def shared(rows: DataFrame, about: int) -> DataFrame:
    """`rows`, of which there are `about` so many, for joins: every task gets all of them, unless they are many."""
    return F.broadcast(rows) if about <= ONE_TASK_ROWS else rows


def window_differences(replica: DataFrame, stage: DataFrame, plan: StreamPlan, about: int) -> DataFrame:
    """What a window of time-stamps tells: changes of the rows in it; ``weight`` is that of their keys.

    Args:
        replica: Old rows of the ranges concerned.
        stage: The rows of the window, with ``key_digest``, and ``shown``, 1 where the restriction holds for them.
        plan: The captured columns.
        about: How many rows are in the window.
    """
    keys = shared(stage.select("key_id", "key_digest"), about)
    known = replica.join(keys.select("key_id"), "key_id", "left_semi")
    found = differences(known, stage.where("shown = 1"), plan, by_value=False).drop("weight")
    left = F.when(F.col("op") == "d", F.lit("restriction_exit"))
    weight = F.col("net") * F.col("key_digest").cast("decimal(38,0)")
    return found.join(keys, "key_id").withColumns({"reason": left, "weight": weight})


def gone(replica: DataFrame, keys: DataFrame) -> DataFrame:
    """The rows of `replica` whose keys are not among `keys`, as changes of op d."""
    width = value_columns(replica)
    rows = replica.join(keys.select("key_id"), "key_id", "left_anti")
    none = [F.lit(None).cast(replica.schema[f"c{i}"].dataType).alias(f"a_{i}") for i in range(width)]
    return rows.select(
        F.lit("d").alias("op"), F.lit(None).cast("string").alias("changed"), *IDENTITY,
        F.lit(None).cast("long").alias("digest"), *(F.col(f"c{i}").alias(f"b_{i}") for i in range(width)), *none,
    )  # fmt: skip


def moves(changes: DataFrame) -> dict[int, tuple[int, int]]:
    """range_id -> (rows, sum of digests) by which a range grew."""
    found = changes.groupBy("range_id").agg(F.sum("net").alias("n"), F.sum("weight").alias("s")).collect()
    return {int(r["range_id"]): (int(r["n"]), int(r["s"])) for r in found}


def grown(ranges: Sequence[StoredRange], moves: Mapping[int, tuple[int, int]]) -> list[StoredRange]:
    """Those of `ranges` that `moves` speaks of, with the counts and checksums that they have then."""
    return [
        replace(r, rows=r.rows + moves[r.range_id][0], checksum=r.checksum + moves[r.range_id][1])
        for r in ranges if r.range_id in moves
    ]  # fmt: skip


def value_columns(rows: DataFrame) -> int:
    """How many captured columns a row of stage or replica has the values of."""
    return sum(1 for c in rows.columns if c[0] == "c" and c[1:].isdigit())


def _changed(plan: StreamPlan, both: Sequence[int]) -> SparkColumn:
    """Comma-separated positions of the columns among `both` that differ, for updates; null otherwise."""
    keys = len(plan.key)
    marks = [
        F.when(~_comparable(c, f"b_{i}").eqNullSafe(_comparable(c, f"a_{i}")), F.lit(str(i)))
        for i, c in enumerate(plan.captured) if i in both and (i >= keys or c.comparison != "typed")
    ]  # fmt: skip
    return F.when(F.col("op") == "u", F.concat_ws(",", *marks) if marks else F.lit(""))


def _comparable(column: Column, name: str) -> SparkColumn:
    """The wire value, without the trailing zeros that the type's own equality does not see."""
    value = F.col(name)
    if column.fact("zeros") == "loose" and column.travel.kind == "text":
        return F.when(value.contains("."), F.regexp_replace(value, r"\.?0+$", "")).otherwise(value)
    return value


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


def numbered(changes: DataFrame, seq: int, *, few: bool = False) -> DataFrame:
    """The changes as batch rows, numbered from 0 without gaps: deletes, then updates, then inserts; by one task.

    For changes that one task can sort, and where they are `few` find as well; `numbered_by_group` is for more.
    """
    ranks = [F.when(F.col("op") == op, F.lit(rank)) for op, rank in _RANK.items()]
    alone = changes.coalesce(1) if few else changes.repartition(1)
    sorted_rows = alone.sortWithinPartitions(F.coalesce(*ranks), *IDENTITY)
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
        F.col("reason") if "reason" in changes.columns else F.lit(None).cast("string").alias("reason"),
        F.lit(None).cast("string").alias("pair_id"),
        ordinal.alias("ordinal"),
        "changed",
        *(f"b_{i}" for i in range(width)),
        *(f"a_{i}" for i in range(width)),
        *IDENTITY,
        "digest",
        F.lit(seq).cast("long").alias("batch_seq"),
    )
