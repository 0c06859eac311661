"""Compare stage and replica in Spark, by ``key_id`` and digest.

Keys themselves are never compared here.

Columns: stage and replica have ``range_id, key_id, digest, c0..cn``; changes have ``op, changed, range_id, key_id,
digest, b_0..b_n, a_0..a_n``; a batch adds ``reason, pair_id, ordinal, batch_seq`` (wire form throughout).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from qbcd.model import Column, StreamPlan
from qbcd.sites.lake.engines.base import By, changed_only
from qbcd.sites.lake.replica.schema import IDENTITY, UNTRAVELLED
from qbcd.spark.sql_literals import number

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame


ONE_TASK_ROWS = 500_000  # up to this number, one task sorts and numbers rows; more are distributed by range
FEW_ROWS = 200_000  # up to this number, one task compares rows, without exchange with other tasks
_EXPECTED = "shown = 1 AND settled = 1"  # rows of a stage of settled rows that the replica should have
_RANK = {"d": 0, "u": 1, "c": 2, "r": 3}


def gathered(rows: DataFrame, about: int) -> DataFrame:
    """Return about `about` `rows`, for one task if they are few, so that nothing is shuffled."""
    return rows.coalesce(1) if about <= FEW_ROWS else rows


def sums(rows: DataFrame, digest_column: str = "digest") -> dict[int, tuple[int, int | None]]:
    """Return by range_id (rows, exact sum of digests); the sum is None if a digest is missing."""
    digest = F.col(digest_column).cast("decimal(38,0)")
    whole = F.when(F.count(digest) == F.count(F.lit(1)), F.sum(digest)).alias("s")
    found = rows.groupBy("range_id").agg(F.count(F.lit(1)).alias("n"), whole).collect()
    return {int(r["range_id"]): (int(r["n"]), None if r["s"] is None else int(r["s"])) for r in found}


def has_duplicates(stage: DataFrame) -> bool:
    """Return True if a key occurs twice in the stage."""
    return not stage.groupBy("key_id").count().where("count > 1").isEmpty()


def untravelled(stage: DataFrame) -> list[int]:
    """Return the positions of one row's columns with a value that no typed sink can hold.

    It is empty without such a row.
    """
    row = stage.where(f"{UNTRAVELLED} <> ''").select(UNTRAVELLED).head()
    return [int(p) for p in row[UNTRAVELLED].split(",") if p] if row else []


def aligned(replica: DataFrame, before: StreamPlan, plan: StreamPlan, stage: DataFrame) -> DataFrame:
    """Return rows with the columns of `before` as rows with the columns of `plan`.

    Missing values are NULL.
    """
    places = {c.name: i for i, c in enumerate(before.captured)}
    values = [
        (F.col(f"c{places[c.name]}") if c.name in places else F.lit(None)).cast(stage.schema[f"c{i}"].dataType)
        for i, c in enumerate(plan.captured)
    ]
    return replica.select(*IDENTITY, "digest", *(value.alias(f"c{i}") for i, value in enumerate(values)))


def differences(
    replica: DataFrame, stage: DataFrame, plan: StreamPlan, *, by: By, both: Sequence[int] | None = None
) -> DataFrame:
    """Return the net changes that turn `replica` into `stage`.

    ``net, weight`` is the growth of their range.

    Args:
        replica: Old rows of the ranges, with the values of all captured columns or of the key alone.
        stage: New rows of the same ranges; if they have ``old_digest``, it is compared with the replica's digest.
        plan: The captured columns.
        by: Compare values if digests are not comparable; either, since different rows may have equal digests.
        both: Positions of the columns to compare, among those that the replica has; default: all columns.
    """
    both = range(len(plan.captured)) if both is None else both
    if by != "digest" and plan.counted:
        replica, stage = (by_content(rows, plan, both) for rows in (replica, stage))
    judged = "old_digest" if "old_digest" in stage.columns else "digest"
    width, known = len(plan.captured), value_columns(replica)
    old = [f"r.c{i}" if i < known else f"CASE WHEN FALSE THEN s.c{i} END" for i in range(width)]
    # A key is one row of the table in any range: ranges may have been rebuilt in between.
    joined = (
        replica.alias("r")
        .join(stage.alias("s"), F.expr("r.key_id = s.key_id"), "full_outer")
        .selectExpr(
            "CASE WHEN s.key_id IS NULL THEN 'd' WHEN r.key_id IS NULL THEN 'c' ELSE 'u' END AS op",
            *(f"coalesce(s.{c}, r.{c}) AS {c}" for c in IDENTITY),
            "s.digest AS digest",
            f"s.{judged} AS judged",
            "r.digest AS old_digest",
            *(f"{value} AS b_{i}" for i, value in enumerate(old)),
            *(f"s.c{i} AS a_{i}" for i in range(width)),
        )
    )
    kept = [c for c in joined.columns if c not in ("judged", "old_digest")]
    changed = _changed(plan, both) if known == width else "CAST(NULL AS STRING)"
    changes = joined.where(f"op <> 'u' OR {_OTHER_DIGEST}") if by == "digest" else joined
    other = [f"{_OTHER_DIGEST} AS other_digest"] if by == "either" else []
    changes = changes.selectExpr(*kept, *other, f"{changed} AS changed", *_GROWTH)
    if by == "digest":
        return changes
    if by == "values":
        return changes.where("op <> 'u' OR changed <> ''")
    # `changed` is NULL if the replica has no values
    return changes.where("op <> 'u' OR other_digest OR changed <> ''").drop("other_digest")


_OTHER_DIGEST = "judged <> old_digest"
# Number of rows and sum of digests by which a change increases its range.
_GROWTH = (
    "CASE op WHEN 'c' THEN 1 WHEN 'd' THEN -1 ELSE 0 END AS net",
    "CAST(coalesce(digest, 0) AS DECIMAL(38,0)) - CAST(coalesce(old_digest, 0) AS DECIMAL(38,0)) AS weight",
)


def changed_fingerprints(replica: DataFrame, fingerprints: DataFrame) -> DataFrame:
    """Return the rows that differ between `replica` and `fingerprints`, both of one task.

    Columns are ``range_id, key_id, digest, c0..cn, k0..kn``: digest and values of the replica, NULL for new rows, and
    the source's texts of the key, NULL for deleted rows.
    """
    texts = [f"m.{c}" for c in fingerprints.columns if c[0] == "k" and c[1:].isdigit()]
    values = [f"r.{c}" for c in ("digest", *(f"c{i}" for i in range(value_columns(replica))))]
    return (
        replica.alias("r")
        .join(fingerprints.hint("shuffle_hash").alias("m"), F.expr("r.key_id = m.key_id"), "full_outer")
        .where("r.key_id IS NULL OR m.key_id IS NULL OR r.digest <> m.digest")
        .selectExpr(*(f"coalesce(m.{c}, r.{c}) AS {c}" for c in IDENTITY), *values, *texts)
    )


def changed_keys(changed: DataFrame, names: Sequence[str], most: int) -> list[tuple[str, ...]]:
    """Return the key's texts (columns `names`) of at most `most` changed rows of the source."""
    return [tuple(row) for row in changed.where("k0 IS NOT NULL").select(*names).limit(most).collect()]


def changed_pairs(changed: DataFrame, rows: DataFrame, names: Sequence[str], about: int) -> tuple[DataFrame, DataFrame]:
    """Return (stage, old rows) of changed rows, in the form for `differences`.

    Args:
        changed: Rows of `changed_fingerprints`.
        rows: New versions of those that exist, without their range.
        names: Columns of the key's texts.
        about: Approximate number of rows that differ.
    """
    both = gathered(changed, about)
    ids = shared(both.select(*IDENTITY), about)
    known = both.where("digest IS NOT NULL").drop(*names)
    return gathered(rows.join(ids, "key_id"), about), known


def shared(rows: DataFrame, about: int) -> DataFrame:
    """Return about `about` `rows` for joins; each task gets all of them, unless they are many."""
    return F.broadcast(rows) if about <= ONE_TASK_ROWS else rows


def window_differences(replica: DataFrame, stage: DataFrame, plan: StreamPlan, about: int) -> DataFrame:
    """Return the changes of the rows in a window of timestamps.

    ``weight`` is the growth of the key checksum.

    Args:
        replica: Old rows of the ranges.
        stage: The rows of the window, with ``key_digest`` and ``shown``, which is 1 if the restriction holds.
        plan: The captured columns.
        about: Approximate number of rows in the window.
    """
    keys = shared(stage.select("key_id", "key_digest"), about)
    known = replica.join(keys.select("key_id"), "key_id", "left_semi")
    found = differences(known, stage.where("shown = 1"), plan, by="digest").drop("weight")
    left = F.when(F.col("op") == "d", F.lit("restriction_exit"))
    weight = F.col("net") * F.col("key_digest").cast("decimal(38,0)")
    return found.join(keys, "key_id").withColumns({"reason": left, "weight": weight})


def deleted(replica: DataFrame, keys: DataFrame) -> DataFrame:
    """Return the rows of `replica` whose keys are not among `keys`, as changes of op d."""
    width = value_columns(replica)
    rows = replica.join(keys.select("key_id"), "key_id", "left_anti")
    none = [F.lit(None).cast(replica.schema[f"c{i}"].dataType).alias(f"a_{i}") for i in range(width)]
    return rows.select(
        F.lit("d").alias("op"),
        F.lit(None).cast("string").alias("changed"),
        *IDENTITY,
        F.lit(None).cast("long").alias("digest"),
        *(F.col(f"c{i}").alias(f"b_{i}") for i in range(width)),
        *none,
    )


def growth(changes: DataFrame) -> dict[int, tuple[int, int]]:
    """Return by range_id (rows, sum of digests) by which a range grew."""
    found = changes.groupBy("range_id").agg(F.sum("net").alias("n"), F.sum("weight").alias("s")).collect()
    return {int(r["range_id"]): (int(r["n"]), int(r["s"])) for r in found}


def without_deletes(changes: DataFrame) -> DataFrame:
    """Return the changes except deletes."""
    return changes.where("op <> 'd'")


def deletes(changes: DataFrame) -> DataFrame:
    """Return the deletes among the changes."""
    return changes.where("op = 'd'")


def with_reason(changes: DataFrame, reason: str, only: Sequence[int] = ()) -> DataFrame:
    """Return the changes with a reason, which their events show.

    Args:
        changes: The changes.
        reason: The reason.
        only: The last positions, if only changes that differ in none but these have the reason.
    """
    value = F.when(F.expr(changed_only(only)), F.lit(reason)) if only else F.lit(reason)
    return changes.withColumn("reason", value)


def of_keys(rows: DataFrame, others: DataFrame) -> DataFrame:
    """Return those of `rows` whose key is among the keys of `others`."""
    return rows.join(others.select("key_id"), "key_id", "left_semi")


def without_keys(rows: DataFrame, others: DataFrame) -> DataFrame:
    """Return those of `rows` whose key is not among the keys of `others`."""
    return rows.join(others.select("key_id"), "key_id", "left_anti")


def with_ranges_of(rows: DataFrame, keys: DataFrame, range_ids: Sequence[int]) -> DataFrame:
    """Return those of `rows` whose keys have one of `range_ids` in `keys`, with that range id."""
    ids = keys.where(keys.range_id.isin(list(range_ids))).select("key_id", "range_id")
    return rows.drop("range_id").join(ids, "key_id")


def settled_differences(replica: DataFrame, stage: DataFrame, plan: StreamPlan, both: Sequence[int]) -> DataFrame:
    """Return the changes between `replica` and a stage of settled rows, up to the watermark.

    Args:
        replica: Old rows of the ranges.
        stage: New rows, with ``shown``, 1 if the restriction holds, and ``settled``, 1 if before the watermark.
        plan: The captured columns.
        both: Positions of the columns to compare.
    """
    changes = differences(replica, stage.where(_EXPECTED), plan, by="either", both=both)
    return without_keys(changes, stage.where("settled = 0"))


def settled_keys(replica: DataFrame, stage: DataFrame, digest_column: str) -> DataFrame:
    """Return range id and digest of the keys that the replica has after `settled_differences`."""
    waiting = of_keys(stage.where("settled = 0"), replica)
    columns = ("range_id", digest_column)
    return stage.where(_EXPECTED).select(*columns).unionByName(waiting.select(*columns))


def renumbered(rows: DataFrame, ids: Mapping[int, int]) -> DataFrame:
    """Return `rows` with range ids replaced by `ids`; other range ids stay."""
    if not ids:
        return rows
    listed = ", ".join(f"({old}L, {new}L)" for old, new in ids.items())
    renamed = F.broadcast(rows.sparkSession.sql(f"SELECT * FROM VALUES {listed} AS m(range_id, moved_to)"))
    others = [c for c in rows.columns if c != "range_id"]
    return rows.join(renamed, "range_id", "left").selectExpr("coalesce(moved_to, range_id) AS range_id", *others)


def last_batches(batches: DataFrame) -> dict[int, int]:
    """Return by range_id the last batch with changes of the range."""
    found = batches.groupBy("range_id").agg(F.max("batch_seq").alias("last")).collect()
    return {int(r["range_id"]): int(r["last"]) for r in found}


def listed(changes: DataFrame, key: int, most: int) -> list[tuple[str, str]]:
    """Return (op, texts of the first `key` columns) of at most `most` changes."""
    keys = [f"CAST(COALESCE(a_{i}, b_{i}) AS STRING) AS k{i}" for i in range(key)]
    rows = changes.selectExpr("op", *keys).limit(most).collect()
    return [(r["op"], ", ".join(str(v) for v in r[1:])) for r in rows]


def differing_ranges(replica: DataFrame, fingerprints: DataFrame) -> set[int]:
    """Return the ranges of rows that differ between `replica` and `fingerprints`, of which only digests are compared.

    Both have ``range_id, key_id, digest``. A key that has another range in `fingerprints` is no difference.
    """
    known, new = (rows.select(*IDENTITY, "digest") for rows in (replica, fingerprints))
    both = known.alias("r").join(new.alias("m"), F.expr("r.key_id = m.key_id"), "full_outer")
    return range_ids(
        both.where("r.key_id IS NULL OR m.key_id IS NULL OR r.digest <> m.digest").selectExpr(
            "explode(filter(array(r.range_id, m.range_id), one -> one IS NOT NULL)) AS range_id"
        )
    )


def range_ids(changes: DataFrame) -> set[int]:
    """Return the ranges that have changes."""
    return {r["range_id"] for r in changes.select("range_id").distinct().collect()}


def value_columns(rows: DataFrame) -> int:
    """Return the number of captured columns whose values a row of stage or replica has."""
    return sum(1 for c in rows.columns if c[0] == "c" and c[1:].isdigit())


def _changed(plan: StreamPlan, both: Sequence[int]) -> str:
    """Return SQL for the positions of changed columns among `both`; NULL unless it is an update."""
    keys = len(plan.key)
    positions = [
        f"CASE WHEN NOT ({_comparable(c, f'b_{i}')} <=> {_comparable(c, f'a_{i}')}) THEN '{i}' END"
        for i, c in enumerate(plan.captured)
        if i in both and (i >= keys or c.comparison != "typed")
    ]
    return f"CASE WHEN op = 'u' THEN {_concat(positions)} END"


def _concat(positions: Sequence[str]) -> str:
    return f"concat_ws(',', {', '.join(positions)})" if positions else "''"


def _comparable(column: Column, value: str) -> str:
    """Return SQL for the wire value, without trailing zeros or a sign of zero that the type's equality ignores."""
    if column.travel.kind in ("float32", "float64"):
        return f"CASE WHEN {value} = 0 THEN abs({value}) ELSE {value} END"
    if column.fact("zeros") == "loose" and column.travel.kind in ("text", "decimal"):
        return f"CASE WHEN contains({value}, '.') THEN regexp_replace({value}, '[.]?0+$', '') ELSE {value} END"
    return value


def groups(changes: DataFrame) -> dict[tuple[str, int], int]:
    """Return by (op, range_id) the number of changes."""
    found = changes.groupBy("op", "range_id").count().collect()
    return {(r["op"], int(r["range_id"])): int(r["count"]) for r in found}


def baseline(stage: DataFrame, width: int) -> DataFrame:
    """Return the rows of a baseline as changes of op r."""
    empty = [F.lit(None).cast(stage.schema[f"c{i}"].dataType).alias(f"b_{i}") for i in range(width)]
    return stage.select(
        F.lit("r").alias("op"),
        F.lit(None).cast("string").alias("changed"),
        *IDENTITY,
        "digest",
        *empty,
        *(F.col(f"c{i}").alias(f"a_{i}") for i in range(width)),
    )


def numbered(changes: DataFrame, seq: int, *, few: bool = False) -> DataFrame:
    """Return the changes as batch rows, numbered from 0: deletes, then updates, then inserts.

    One task sorts them, and finds them too if they are `few`; `numbered_by_group` is for more.
    """
    alone = changes.coalesce(1) if few else changes.repartition(1)
    ranks = " ".join(f"WHEN '{op}' THEN {rank}" for op, rank in _RANK.items())
    sorted_rows = alone.sortWithinPartitions(F.expr(f"CASE op {ranks} END"), *IDENTITY)
    # With one partition, the id is the position of the row.
    return _batch_rows(sorted_rows, "monotonically_increasing_id()", seq)


def numbered_by_group(changes: DataFrame, sizes: Mapping[tuple[str, int], int], seq: int) -> DataFrame:
    """Return any number of changes as `numbered` does.

    Each (op, range) has its own first number.

    Args:
        changes: Changes of `differences` or `baseline`.
        sizes: The `groups` of these changes, so that no task needs all rows.
        seq: The batch's number.
    """
    offsets, total = [], 0
    for op, range_id in sorted(sizes, key=lambda g: (_RANK[g[0]], g[1])):
        offsets.append(f"('{op}', {range_id}L, {total}L)")
        total += sizes[op, range_id]
    first = changes.sparkSession.sql(f"SELECT * FROM VALUES {', '.join(offsets)} AS f(op, range_id, first)")
    within = Window.partitionBy("op", "range_id").orderBy("key_id")
    rows = changes.join(F.broadcast(first), ["op", "range_id"]).withColumn("nth", F.row_number().over(within))
    return _batch_rows(rows, "first + nth - 1", seq)


def _batch_rows(changes: DataFrame, ordinal: str, seq: int) -> DataFrame:
    names = changes.columns
    width = sum(1 for c in names if c.startswith("a_"))
    return changes.selectExpr(
        "op",
        "reason" if "reason" in names else "CAST(NULL AS STRING) AS reason",
        "CAST(NULL AS STRING) AS pair_id",
        f"{ordinal} AS ordinal",
        "changed",
        *(f"b_{i}" for i in range(width)),
        *(f"a_{i}" for i in range(width)),
        *IDENTITY,
        "digest",
        f"{number(seq, 'length(op)')} AS batch_seq",
    )


def identified(rows: DataFrame, plan: StreamPlan) -> DataFrame:
    """Return rows of the source with `key_id`.

    If the key has columns, the source has computed it.

    For rows without a key it is the digest (8 bytes) and the number of the copy (8 bytes). For a result of one row,
    whose key has no columns, it is empty.
    """
    if plan.counted:
        return _numbered(rows, _eight(F.col("digest")), F.col("digest"))
    return rows if plan.key else rows.withColumn("key_id", F.lit(b""))


def by_content(rows: DataFrame, plan: StreamPlan, which: Sequence[int]) -> DataFrame:
    """Return rows with a `key_id` made of their values, for digests that are not comparable, or equal by chance.

    Args:
        rows: Rows with wire values c0..cn.
        plan: The captured columns.
        which: Positions of the values to use.
    """
    equal = [F.expr(_comparable(plan.captured[i], f"c{i}")).alias(f"c{i}") for i in which]
    values = F.to_json(F.struct(*equal), {"ignoreNullFields": "false"})
    content = F.unhex(F.sha2(values, 256))
    return _numbered(rows, content, content)


def _numbered(rows: DataFrame, identity: SparkColumn, alike: SparkColumn) -> DataFrame:
    nth = F.row_number().over(Window.partitionBy(alike).orderBy("range_id"))
    return rows.withColumn("key_id", F.concat(identity, _eight(nth.cast("long"))))


def _eight(number: SparkColumn) -> SparkColumn:
    """Return the eight bytes of a 64-bit number."""
    return F.unhex(F.lpad(F.hex(number), 16, "0"))


def paired(batch: DataFrame, *, keys: int, width: int, epoch: int, seq: int) -> DataFrame:
    """Return the batch with `reason` and `pair_id` for deletes and inserts that differ only by key.

    Args:
        batch: Numbered rows.
        keys: Number of key columns among the captured columns.
        width: Number of captured columns.
        epoch: The batch's epoch.
        seq: The batch's number.
    """
    if keys == width:
        return batch
    names = batch.columns
    deleted, inserted = (F.col("op") == "d") & F.col("reason").isNull(), F.col("op") == "c"
    content = F.when(deleted, _content("b", keys, width)).when(inserted, _content("a", keys, width))
    # Each other row is its own group, so that no task gathers all updates.
    alike = Window.partitionBy(F.coalesce(content, F.col("ordinal").cast("string")))
    matched = (F.count(F.when(deleted, 1)).over(alike) == 1) & (F.count(F.when(inserted, 1)).over(alike) == 1)
    deleted_at = F.min(F.when(deleted, F.col("ordinal"))).over(alike)
    pair = F.concat(F.lit(f"{epoch}:{seq}:"), deleted_at.cast("string"))
    marked = batch.withColumn("pair_id", F.when(matched, pair))
    reason = F.when(F.col("pair_id").isNotNull(), "key_change").otherwise(F.col("reason"))
    return marked.withColumn("reason", reason).select(*names)


def _content(side: str, keys: int, width: int) -> SparkColumn:
    values = F.struct(*[F.col(f"{side}_{i}").alias(f"v{i}") for i in range(keys, width)])
    return F.sha2(F.to_json(values, {"ignoreNullFields": "false"}), 256)
