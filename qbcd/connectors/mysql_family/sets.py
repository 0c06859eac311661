"""Columns whose values are sets: the canonical value as bytes, its elements in one order.

Elements are compared by their text. So 1, 1.0 and "1" are three elements of a JSON array. JSON that is no array of
scalars has no other order than its own, and stays as it is.
"""

from __future__ import annotations

from qbcd.connectors.mysql_family import types
from qbcd.model import Column

_TEXTS = types.STRINGS - {"char"}
_ELEMENT = "convert(qbcd_2.qbcd_1 USING binary)"
# Some servers return SQL's NULL for the element null.
_JSON_ELEMENT = f"coalesce({_ELEMENT}, _binary'null')"
_JSON = (
    "CASE WHEN CASE WHEN json_valid({{v}}) THEN json_type({{v}}) = 'ARRAY' END THEN "
    "(SELECT CASE WHEN max(left({element}, 1) IN (_binary'[', _binary'{{{{')) THEN {{plain}} "
    "ELSE concat(_binary'[', coalesce(group_concat({once}{element} ORDER BY {element} SEPARATOR ', '), _binary''), "
    "_binary']') END FROM json_table({{v}}, '$[*]' COLUMNS (qbcd_1 json PATH '$')) AS qbcd_2) ELSE {{plain}} END"
)
# A text becomes a JSON array of texts. A set of one empty text is written as the separator, because an empty text has
# no elements.
_QUOTED = "json_quote(convert({{v}} USING utf8mb4))"
_SEPARATED = (
    "CASE WHEN {{v}} IS NULL THEN NULL WHEN length({{v}}) = 0 THEN _binary'' ELSE coalesce(nullif((SELECT "
    "group_concat({once}{element} ORDER BY {element} SEPARATOR {separator}) FROM json_table(concat('[\"', "
    f"replace(substr({_QUOTED}, 2, char_length({_QUOTED}) - 2), {{separator}}, '\",\"'), '\"]'), '$[*]' "
    "COLUMNS (qbcd_1 longtext CHARACTER SET utf8mb4 PATH '$')) AS qbcd_2), _binary''), {separator}) END"
)


def set_problem(column: Column, separator: str) -> str:
    """Return why values of `column` cannot be sets, or an empty string."""
    base = column.base_type
    if separator and base in _TEXTS:
        charset = column.fact("charset")
        known = charset in types.ROUND_TRIP
        return "" if known else f"texts of character set {charset or 'unknown'} do not convert to Unicode and back"
    if separator:
        return f"{column.sql_type} has no separator; only varchar and the types of text can have one"
    if base == "json" or (base == "longtext" and column.collation == "utf8mb4_bin"):  # the type of JSON on MariaDB
        return ""
    if base in _TEXTS:
        return f"name the separator between the elements of {column.sql_type}: {{set: ','}}"
    if base == "set":
        return "values of type set have no order, so that it needs no setting"
    return f"{column.sql_type} is no JSON or text"


def canonical_form(column: Column) -> str:
    """Return SQL of a value's bytes with its elements in one order; empty if it is no set.

    An element of a ``set`` is there once.

    ``{v}`` is the value, and ``{plain}`` the bytes of JSON that is no set.
    """
    travel = column.travel
    if not travel.unordered:
        return ""
    once = "DISTINCT " if travel.unordered == "set" else ""
    if not travel.separator:
        return _JSON.format(once=once, element=_JSON_ELEMENT)
    separator = "'" + travel.separator.replace("{", "{{").replace("}", "}}") + "'"  # punctuation, without quotes
    return _SEPARATED.format(once=once, element=_ELEMENT, separator=separator)
