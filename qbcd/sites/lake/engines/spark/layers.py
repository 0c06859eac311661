"""The replica's rows from its layers: base segments and later batches, latest per key."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from qbcd.model import KeyRange
from qbcd.ranges import leaves
from qbcd.ranges.recent_keys import leaf_of
from qbcd.sites.lake.engines.spark import diff
from qbcd.sites.lake.engines.spark.diff import gathered, shared, value_columns
from qbcd.sites.lake.replica.schema import IDENTITY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NO_RANGE = -1
_NTH = f"row_number() OVER (PARTITION BY {', '.join(IDENTITY)} ORDER BY batch_seq DESC) AS nth"


def merged(
    base: DataFrame,
    deltas: DataFrame | None,
    asked: Sequence[KeyRange],
    *,
    changed: int = 0,
    one: bool = False,
    alone: bool = False,
) -> DataFrame:
    """Return the replica's rows in some ranges: base segments with later batches on top.

    Args:
        base: The rows of these ranges in the segments.
        deltas: The rows of later batches, if there are any.
        asked: The ranges, or some of their leaves.
        changed: Number of rows in the batches.
        one: There is one batch, so each key occurs once in it.
        alone: One task gets all rows, even if they are many.
    """
    about = sum(r.asked[0] for r in asked)
    names = [*IDENTITY, "digest", *(f"c{i}" for i in range(value_columns(base)))]
    alone = alone or about <= diff.FEW_ROWS
    rows, in_leaves = base if base.columns == names else base.selectExpr(*names), leaves.are_some(asked)
    if deltas is not None and not in_leaves:  # leaves include their ranges
        deltas = in_ranges(deltas, [r.range_id for r in asked])
    latest = None if deltas is None else _named(deltas, names)
    if in_leaves:
        some = leaves_of(base.sparkSession, asked)
        rows, latest = of_leaves(rows, some), None if latest is None else of_leaves(latest, some)
        if alone:
            return _sifted(rows, latest, names)
    elif alone:
        rows = rows.coalesce(1)
    if latest is None:
        return rows
    changes = gathered(latest, min(about, changed))
    latest = changes if one else _newest(changes)
    if alone:
        return _in_one_task(rows, latest.coalesce(1), names)
    return _in_many(rows, latest, names, shared(changes.selectExpr(*IDENTITY), changed))


def _named(batches: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return the new versions of changes, as rows with `names`; deleted rows have ``gone``."""
    fixed = len(IDENTITY) + 1
    values = [*names[:fixed], *(f"a_{name[1:]} AS {name}" for name in names[fixed:])]
    return batches.selectExpr(*values, "op = 'd' AS gone", "batch_seq")


def _newest(rows: DataFrame) -> DataFrame:
    """Return the latest row of each key."""
    return rows.selectExpr("*", _NTH).where("nth = 1")


def _sifted(rows: DataFrame, latest: DataFrame | None, names: Sequence[str]) -> DataFrame:
    """Return `rows` with `latest` on top, for one task: all tasks scan many rows for these few."""
    if latest is None:
        return rows.repartition(1)
    both = rows.selectExpr("*", "FALSE AS gone", "-1L AS batch_seq").union(latest).repartition(1)
    return both.selectExpr("*", _NTH).where("nth = 1 AND NOT gone").selectExpr(*names)


def _in_one_task(rows: DataFrame, latest: DataFrame, names: Sequence[str]) -> DataFrame:
    """Return `rows` with `latest` on top; both sides are read once, and nothing is shuffled."""
    both = " AND ".join(f"r.{name} = l.{name}" for name in IDENTITY)
    return (
        rows.alias("r")
        .join(latest.hint("shuffle_hash").alias("l"), F.expr(both), "full_outer")
        .where("l.gone IS NULL OR NOT l.gone")
        .selectExpr(*(f"if(l.gone IS NULL, r.{name}, l.{name}) AS {name}" for name in names))
        .coalesce(1)  # it has one partition, but Spark does not know that after a full join
    )


def _in_many(rows: DataFrame, latest: DataFrame, names: Sequence[str], changed: DataFrame) -> DataFrame:
    """Return `rows` with `latest` on top.

    The replica is not shuffled, and each task gets the keys that `changed`.

    These keys may occur twice; removing duplicates would sort them all once more.
    """
    untouched = rows.join(changed, list(IDENTITY), "left_anti")
    return untouched.selectExpr(*names).unionByName(latest.where("NOT gone").selectExpr(*names))


def together(parts: Sequence[DataFrame], *, alone: bool = False) -> DataFrame:
    """Return the rows of all `parts` (at least one), for one task if `alone`."""
    whole = parts[0]
    for part in parts[1:]:
        whole = whole.unionByName(part)
    return whole.coalesce(1) if alone and parts[1:] else whole


def leaves_of(spark: SparkSession, asked: Sequence[KeyRange]) -> DataFrame:
    """Return the requested leaves as broadcast rows (of_range, tail, alone, lost).

    `tail` is the last byte of the key identities in the leaf; an identity without bytes is in leaf 0 and has no tail.
    `alone` is the identity of the only requested key in the leaf, `lost` the digest of the only row; both are NULL if
    all rows of the leaf are requested.
    """
    # one text that Spark splits: parsing a list of values would take longer than the whole query
    listed = " ".join(f"{r.range_id:d}:{','.join(_tails(r))}" for r in asked)
    listing = spark.sql(
        "SELECT CAST(substring_index(one, ':', 1) AS BIGINT) AS of_range, "
        "unhex(substring_index(substring_index(leaf, '=', 1), '#', 1)) AS tail, "
        "CASE WHEN leaf LIKE '%=%' THEN unhex(substring_index(leaf, '=', -1)) END AS alone, "
        "CASE WHEN leaf LIKE '%#%' THEN CAST(substring_index(leaf, '#', -1) AS BIGINT) END AS lost "
        f"FROM (SELECT explode(split('{listed}', ' ')) AS one) "
        "LATERAL VIEW explode(split(substring_index(one, ':', -1), ',')) AS leaf"
    )
    return F.broadcast(listing)


def _tails(one: KeyRange) -> Iterator[str]:
    alone = {leaf: [key] for leaf, key in ((one.only and one.only.alone) or {}).items()}
    for named in one.only.named if one.only else ():
        alone.setdefault(leaf_of(named.identity), []).append(named.identity)
    lost = "" if one.only is None or one.only.deleted_digest is None else f"#{one.only.deleted_digest}"
    for leaf in leaves.tails(one):
        if leaf in alone:
            yield from (f"{key[-1:].hex()}={key.hex()}" for key in alone[leaf])
        else:
            yield from (f"{end}{lost}" for end in (("", "00") if leaf == 0 else (f"{leaf:02x}",)))


def of_leaves(rows: DataFrame, some: DataFrame) -> DataFrame:
    """Return the rows that `some` leaves request."""
    here = "range_id = of_range AND substring(key_id, -1, 1) = tail"
    of_row = "coalesce(alone, key_id) = key_id AND (lost IS NULL OR lost = digest)"  # deleted rows have no digest
    return rows.join(some, F.expr(f"{here} AND {of_row}"), "left_semi")


def in_ranges(rows: DataFrame, ids: Sequence[int]) -> DataFrame:
    """Return the rows of some ranges."""
    return rows.where(one_of(ids))


def one_of(ids: Sequence[int]) -> str:
    """Return SQL for the condition that ``range_id`` is one of `ids`.

    A single id would become a literal in generated code, which Spark would compile again at every poll; so there are
    always two. Only ids of their range are listed, since Parquet skips pages outside of least and greatest id.
    """
    return f"range_id IN ({', '.join(f'{one:d}L' for one in (ids if len(ids) > 1 else (*ids, NO_RANGE)))})"
