"""Wire values as typed values in DuckDB (docs/design/interface.md#types, last column), as `qbcd.spark.typed`.

A value that does not fit its type raises an error, unless a sink's policy makes it NULL. Detection has refused such
values before, so this is a second check. All functions return canonical SQL.
"""

from __future__ import annotations

from qbcd.model import Travel
from qbcd.model.wire import PLAIN_TYPES, YEAR, typed_name
from qbcd.sql.render import literal

MISFIT = "not a value of type"  # in the message of the error
_TYPES = {"date": "DATE", "timestamp": "TIMESTAMP", "timestamptz": "TIMESTAMPTZ", "string": "VARCHAR"}
_DATE = f"{YEAR}-[0-9]{{2}}-[0-9]{{2}}"
_TIME = "[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"
_WHOLE = "[+-]?[0-9]+"
# DuckDB's casts also accept infinities, eras and rounded numbers, which Spark's types cannot hold.
_FORMS = {
    "date": _DATE,
    "timestamp": _DATE + _TIME,
    "timestamptz": _DATE + _TIME + "Z",
    **dict.fromkeys(("int16", "int32", "int64", "uint64"), _WHOLE),
}


def canonical_type(travel: Travel) -> str:
    """Return the type of values of a column, except arrays, in canonical SQL."""
    return _TYPES.get(travel.kind) or _TYPES.get(typed_name(travel)) or typed_name(travel).upper()


def typed_value(travel: Travel, value: str, name: str, *, lenient: bool = False) -> str:
    """Return the wire value of column `name` in its type; NULL remains NULL.

    With `lenient` a value that does not fit is NULL, in an array its element.
    """
    if travel.kind in PLAIN_TYPES:
        return value
    insist = _leave if lenient else _insist
    kind = typed_name(travel)
    if travel.element is None:
        return insist(value, _fitting(travel, value), name, kind)
    texts, element = insist(value, _texts(value), name, kind), travel.element
    if element.kind in ("text", "time"):
        return texts
    item = insist("item", _fitting(element, "item"), name, typed_name(element))
    return f"LIST_TRANSFORM({texts}, item -> {item})"


def misfit(travel: Travel, value: str) -> str | None:
    """Return SQL that is true if `typed_value` would fail; None if it never fails."""
    if travel.kind in PLAIN_TYPES:
        return None
    if travel.element is None:
        return _unfit(value, _fitting(travel, value))
    whole, element = _unfit(value, _texts(value)), travel.element
    if element.kind in ("text", "time", "binary"):
        return whole
    failing = f"LIST_FILTER({_texts(value)}, item -> {_unfit('item', _fitting(element, 'item'))})"
    return f"({whole} OR COALESCE(LEN({failing}) > 0, FALSE))"


def _fitting(travel: Travel, text: str) -> str:
    """Return a text in its type; NULL if it does not fit."""
    if travel.kind == "binary":
        return f"FROM_BASE64({text})"
    cast = f"TRY_CAST({text} AS {canonical_type(travel)})"
    form = _FORMS.get(travel.kind)
    return f"CASE WHEN REGEXP_FULL_MATCH({text}, {literal(form)}) THEN {cast} END" if form else cast


def _texts(value: str) -> str:
    """Return an array's elements as texts; NULL if it is not an array."""
    is_array = f"CASE WHEN JSON_VALID({value}) THEN JSON_TYPE({value}) = 'ARRAY' ELSE FALSE END"
    return f"CASE WHEN {is_array} THEN FROM_JSON({value}, '[\"VARCHAR\"]') END"


def _unfit(wire: str, result: str) -> str:
    return f"({wire} IS NOT NULL AND {result} IS NULL)"


def _insist(wire: str, result: str, name: str, kind: str) -> str:
    """Return SQL for `result` that raises an error if it is NULL although `wire` is not."""
    message = f"{literal(f'column {name}: {MISFIT} {kind}: ')} || SUBSTRING({wire}, 1, 100)"
    return f"CASE WHEN {wire} IS NULL THEN NULL ELSE COALESCE({result}, ERROR({message})) END"


def _leave(wire: str, result: str, name: str, kind: str) -> str:
    """Return SQL for `result`, NULL or not."""
    return result
