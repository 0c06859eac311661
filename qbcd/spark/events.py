"""Events from staged rows with Spark: typed for Parquet and Python, JSON text for others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from qbcd.event_sql.spark import SPARK, line_of, typed_fields
from qbcd.model import BatchHeader

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def events(staged: DataFrame, header: BatchHeader, *, lenient: bool = False) -> DataFrame:
    """Return the events of a batch, unordered, one row each.

    The columns are :data:`~qbcd.model.wire.EVENT_FIELDS`.

    Args:
        lenient: A value outside the key that does not fit its type is NULL.

    Returns:
        `op`, `changed` (array of names), `reason`, `pair_id`, `event_id`, `ts_ms` (long); `key`, `before` and `after`
        are structs whose fields have the columns' own names and types, `source` is a struct. A value that does not fit
        its type fails the job, except with `lenient`. A `key` without columns is NULL of type text, since
        Parquet has no empty type.
    """
    return staged.selectExpr(*[f"{value} AS {name}" for name, value in typed_fields(header, lenient=lenient)])


def unfit_column(staged: DataFrame, header: BatchHeader) -> str | None:
    """Return a column with a value in the batch that does not fit its type, or None.

    It runs one Spark job, which reads the batch once.
    """
    found = {name: f"coalesce(bool_or({one}), false)" for name, one in SPARK.misfits(header).items()}
    if not found:
        return None
    flags = staged.selectExpr(*found.values()).head()
    return next((name for name, flag in zip(found, flags or (), strict=False) if flag), None)


def event_lines(staged: DataFrame, header: BatchHeader) -> DataFrame:
    """Return the events as JSON, unordered: `ordinal` (long) and `line` (text, one line).

    Every field of :data:`~qbcd.model.wire.EVENT_FIELDS` is present, in that order. Values have the form of the type
    table: decimals, dates and times as text, bytes as base64, arrays as their JSON fragment.
    """
    lines = staged.selectExpr("CAST(ordinal AS BIGINT) AS ordinal", f"{line_of(header)} AS line")
    return lines.selectExpr("ordinal", f"{SPARK.one_line('line')} AS line")
