"""Conditions that leave out batches and rows before a read; Spark applies all again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from qbcd.local.parquet_rows import text
from qbcd.model import BatchHeader
from qbcd.spark_source.change_rows import CHANGE, INTEGERS, TIMESTAMP, VERSION, Columns, Condition, commit_time

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_ORDERED: Mapping[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "EqualTo": ("=", lambda a, b: bool(a == b)),
    "GreaterThan": (">", lambda a, b: bool(a > b)),
    "GreaterThanOrEqual": (">=", lambda a, b: bool(a >= b)),
    "LessThan": ("<", lambda a, b: bool(a < b)),
    "LessThanOrEqual": ("<=", lambda a, b: bool(a <= b)),
}
_END = "\0"  # it would end the SQL


def versions_of(filters: Sequence[Filter], header: BatchHeader) -> bool:
    """Return False if no row of the batch can satisfy the filters: by its version and its time."""
    at = commit_time(header)
    for one in filters:
        name, found = _column(one), _ORDERED.get(type(one).__name__)
        if name == VERSION and found is not None and not found[1](header.seq, _value(one)):
            return False
        if name == VERSION and type(one).__name__ == "In" and header.seq not in _value(one):
            return False
        wanted = _value(one) if name == TIMESTAMP and found is not None else None
        if isinstance(wanted, datetime) and wanted.tzinfo and found and not found[1](at, wanted):
            return False
    return True


def conditions_of(filters: Sequence[Filter], columns: Columns) -> list[Condition]:
    """Return the filters that DuckDB can apply: on the kind of change, on texts and on integers.

    Args:
        columns: The columns of the read, in the types that its values have in Spark.
    """
    travels, found = dict(columns), []
    for one in filters:
        name = _column(one)
        kind = "text" if name == CHANGE else travels[name].kind if name in travels else ""
        wanted: type | None = str if kind == "text" else int if kind in INTEGERS else None
        sql = _condition(one, wanted) if name and wanted else None
        if name and sql:
            found.append(Condition(name, sql))
    return found


def _condition(one: Filter, wanted: type) -> str | None:
    kind, value = type(one).__name__, _value(one)
    if kind == "IsNotNull":
        return "IS NOT NULL"
    if kind == "IsNull":
        return "IS NULL"
    values = value if kind == "In" and value else [value]
    if not all(type(item) is wanted and _END not in str(item) for item in values):
        return None
    if kind == "In":
        return f"IN ({', '.join(map(_literal, value))})"
    if kind in _ORDERED:
        return f"{_ORDERED[kind][0]} {_literal(value)}"
    return None


def _literal(value: Any) -> str:
    return text(value) if isinstance(value, str) else f"{value:d}"


def _column(one: Filter) -> str:
    """Return a filter's column; empty for fields of structs and filters over filters."""
    path: tuple[str, ...] = getattr(one, "attribute", ())
    return path[0] if len(path) == 1 else ""


def _value(one: Filter) -> Any:
    return getattr(one, "value", None)
