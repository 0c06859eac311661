"""Columns whose values are sets: the canonical value, its elements in one order.

Elements are compared by their text, as arrays are. So 1 and 1.0 are two elements of `jsonb`, and of `numeric[]`. A
value without an order of its own stays as it is: an array of several dimensions, or JSON that is no array of scalars.
"""

from __future__ import annotations

from qbcd.connectors.postgresql import types
from qbcd.model import Column

_TEXTS = frozenset({"text", "varchar"})
# Elements that are sorted as values first, not only as texts: 9 before 10.
_SORTED = frozenset({*types.INTEGERS, *types.FLOATS, *types.TIMES, "numeric"})
_TEXT = 'qbcd_2.qbcd_1::text COLLATE "C"'
_ARRAY = (
    "CASE WHEN array_ndims({{v}}) = 1 THEN ARRAY(SELECT {chosen}qbcd_2.qbcd_1 FROM unnest({{v}}) AS qbcd_2(qbcd_1) "
    "ORDER BY {order}) ELSE {{v}} END"
)
_JSON = (
    "CASE WHEN jsonb_typeof({{v}}) = 'array' THEN (SELECT CASE WHEN bool_or(jsonb_typeof(qbcd_2.qbcd_1) IN "
    "('array', 'object')) THEN {{v}} ELSE coalesce(jsonb_agg(qbcd_2.qbcd_1), '[]'::jsonb) END FROM (SELECT "
    "{chosen}qbcd_2.qbcd_1 FROM jsonb_array_elements({{v}}) AS qbcd_2(qbcd_1) ORDER BY {order}) AS qbcd_2) "
    "ELSE {{v}} END"
)
# A set of one empty text is written as the separator, because an empty text has no elements.
_SEPARATED = (
    "CASE WHEN {{v}} IS NULL THEN NULL WHEN {{v}} = '' THEN '' ELSE coalesce(nullif(array_to_string(ARRAY(SELECT "
    '{chosen}qbcd_2.qbcd_1 COLLATE "C" FROM unnest(string_to_array({{v}}::text COLLATE "C", {{s}})) AS qbcd_2(qbcd_1) '
    "ORDER BY qbcd_2.qbcd_1 COLLATE \"C\"), {{s}}), ''), {{s}}) END"
)


def set_problem(column: Column, separator: str) -> str:
    """Return why values of `column` cannot be sets, or an empty string."""
    if separator:
        text = column.base_type in _TEXTS
        return "" if text else f"{column.sql_type} has no separator; only text and varchar can have one"
    if column.base_type == "jsonb" or column.travel.kind == "array":
        return ""
    if column.base_type in _TEXTS:
        return f"name the separator between the elements of {column.sql_type}: {{set: ','}}"
    if column.base_type == "json":
        return "json keeps the text as it was written; capture a view that casts it to jsonb"
    return f"{column.sql_type} is no array, jsonb or text"


def canonical_form(column: Column) -> str:
    """Return SQL of a value with its elements in one order; empty if it is no set.

    An element of a ``set`` is there once.

    ``{v}`` is the value, and ``{s}`` the separator.
    """
    travel = column.travel
    if not travel.unordered:
        return ""
    once = travel.unordered == "set"
    if travel.separator:
        return _SEPARATED.format(chosen="DISTINCT " if once else "")
    order = f"qbcd_2.qbcd_1, {_TEXT}" if column.fact("element") in _SORTED else _TEXT
    form = _JSON if column.base_type == "jsonb" else _ARRAY
    return form.format(chosen=f"DISTINCT ON ({order}) " if once else "", order=order)
