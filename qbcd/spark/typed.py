"""Wire values as typed Spark values (docs/design/interface.md#types, last column).

A value that does not fit its type raises an error inside the job, whatever the session's ANSI setting, unless a
sink's policy makes it NULL. Detection has refused such values before, so this is a second check.
"""

from __future__ import annotations

from collections.abc import Callable

from qbcd.model import Travel
from qbcd.model.wire import PLAIN_TYPES, YEAR, typed_name
from qbcd.spark.sql_literals import text, when


def typed_value(travel: Travel, value: str, name: str, *, lenient: bool = False) -> str:
    """Return Spark's SQL for the wire value of column `name` in its type; NULL remains NULL.

    With `lenient` a value that does not fit is NULL, in an array its element.
    """
    kind, insist = typed_name(travel), _leave if lenient else _insist
    if travel.kind in PLAIN_TYPES:
        return f"CAST({value} AS {kind})"
    if travel.element is not None:
        item = _element(travel.element, name, insist)
        return f"transform({insist(value, _texts(value), name, kind)}, item -> {item})"
    cast = f"TRY_CAST({value} AS {kind})"
    if lenient and travel.kind in ("date", "timestamp", "timestamptz"):  # Spark has more years
        cast = when((f"{value} RLIKE {text(f'^{YEAR}-')}", cast), otherwise="NULL")
    return insist(value, cast, name, kind)


def misfit(travel: Travel, value: str) -> str | None:
    """Return Spark's SQL that is true if `typed_value` would fail; None if it never fails."""
    if travel.kind in PLAIN_TYPES:
        return None
    if travel.element is None:
        return _unfit(value, f"TRY_CAST({value} AS {typed_name(travel)})")
    whole = _unfit(value, _texts(value))
    if travel.element.kind in ("text", "time", "binary"):
        return whole
    item = _unfit("item", f"TRY_CAST(item AS {typed_name(travel.element)})")
    return f"({whole} OR coalesce(exists({_texts(value)}, item -> {item}), false))"


def _unfit(wire: str, result: str) -> str:
    return f"({wire} IS NOT NULL AND {result} IS NULL)"


def _texts(value: str) -> str:
    """Return an array's elements as texts: Spark's JSON reader would round decimals, refuse NaN."""
    return f"from_json({value}, 'array<string>', map('mode', 'PERMISSIVE'))"


def _element(travel: Travel, name: str, insist: Callable[[str, str, str, str], str]) -> str:
    """Return the SQL of an array's `item`, read as text, in its type."""
    if travel.kind in ("text", "time"):
        return "item"
    kind = typed_name(travel)
    result = "unbase64(item)" if travel.kind == "binary" else f"TRY_CAST(item AS {kind})"
    return insist("item", result, name, kind)


def _insist(wire: str, result: str, name: str, kind: str) -> str:
    """Return SQL for `result` that raises an error if it is NULL although `wire` is not."""
    message = f"concat({text(f'column {name}: not a value of type {kind}: ')}, substring({wire}, 1, 100))"
    return when((f"{wire} IS NULL", "NULL"), otherwise=f"coalesce({result}, raise_error({message}))")


def _leave(wire: str, result: str, name: str, kind: str) -> str:
    """Return SQL for `result`, NULL or not."""
    return result
