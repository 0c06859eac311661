"""The replica's rows out of its layers: a base segment and the batches that came after it, latest per key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from qbcd.sites.compare import FEW_ROWS, gathered, shared, value_columns
from qbcd.sites.shapes import IDENTITY

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

NO_RANGE = -1


def merged(
    base: DataFrame, deltas: DataFrame | None, ids: Sequence[int], about: int, *, changed: int = 0, one: bool = False
) -> DataFrame:
    """The replica's rows in some ranges: the base segment with later batches on top.

    Args:
        base: The segment's rows.
        deltas: Those of later batches, if there are any.
        ids: The ranges.
        about: How many rows they have.
        changed: How many rows there are in the batches.
        one: There is one batch, so no key stands twice.
    """
    width = value_columns(base)
    names = [*IDENTITY, "digest", *(f"c{i}" for i in range(width))]
    inside = one_of(ids)
    rows = gathered(base.selectExpr(*names).where(inside), about)
    if deltas is None:
        return rows
    latest = gathered(deltas.where(inside), min(about, changed))
    if not one:
        newest = f"row_number() OVER (PARTITION BY {', '.join(IDENTITY)} ORDER BY batch_seq DESC) AS nth"
        latest = latest.selectExpr("*", newest).where("nth = 1")
    values = [*IDENTITY, "digest", *(f"a_{i} AS c{i}" for i in range(width))]
    moved = latest.selectExpr(*IDENTITY)
    # Within one task nothing is shuffled; else the replica stays where it is, and what lies on it goes to every task.
    moved = moved.hint("shuffle_hash") if about <= FEW_ROWS else shared(moved, changed)
    untouched = rows.join(moved, list(IDENTITY), "left_anti").selectExpr(*names)
    return gathered(untouched.unionByName(latest.where("op <> 'd'").selectExpr(*values)), about)


def one_of(ids: Sequence[int]) -> str:
    """Whether ``range_id`` is one of `ids`.

    Never a single id: that would become a literal in generated code, which then is compiled anew at every poll. Nor
    more ids than there are: Parquet skips what lies outside of the least and the greatest.
    """
    return f"range_id IN ({', '.join(f'{one:d}L' for one in (ids if len(ids) > 1 else (*ids, NO_RANGE)))})"


def moved_to(rows: DataFrame, ids: Mapping[int, int]) -> DataFrame:
    """`rows` with other range ids, by the ones that they have; those that are not in `ids` stay."""
    if not ids:
        return rows
    listed = ", ".join(f"({old}L, {new}L)" for old, new in ids.items())
    renamed = F.broadcast(rows.sparkSession.sql(f"SELECT * FROM VALUES {listed} AS m(range_id, moved_to)"))
    others = [c for c in rows.columns if c != "range_id"]
    return rows.join(renamed, "range_id", "left").selectExpr("coalesce(moved_to, range_id) AS range_id", *others)
