"""Texts of a file as values of their types; a text that is no value of its type is refused.

| type | text | value |
|---|---|---|
| text | as it is | text |
| integer | sign and digits | 64 bits |
| decimal(p,s) | sign, digits, point, at most s digits after it | decimal |
| double | a number, with or without exponent; NaN, Infinity | 64 bits |
| boolean | true, false, t, f, 1, 0, in any case | boolean |
| date | 2026-11-27 | date |
| timestamp | 2026-11-27 08:30:00.123456, or with T | timestamp |
| timestamptz | the same with Z or an offset such as +02:00 | timestamp in UTC |
"""

from __future__ import annotations

import re

import pyarrow as pa
import pyarrow.compute as pc

_DIGITS = r"[0-9]"
_SECONDS = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]{1,6})?"
_FORMS = {
    "integer": rf"^[+-]?{_DIGITS}{{1,19}}$",
    "decimal": rf"^[+-]?{_DIGITS}+(\.{_DIGITS}+)?$",
    "double": rf"^([+-]?({_DIGITS}+(\.{_DIGITS}*)?|\.{_DIGITS}+)([eE][+-]?{_DIGITS}{{1,3}})?|NaN|[+-]?Infinity)$",
    "boolean": r"^(?i:true|false|t|f|1|0)$",
    "date": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}$",
    "timestamp": rf"^{_SECONDS}$",
    "timestamptz": rf"^{_SECONDS}(Z|[+-][0-9]{{2}}:?[0-9]{{2}})$",
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")


class BadValue(ValueError):
    """A text that is no value of its type.

    Attributes:
        row: Its place among the texts, from 0.
    """

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of values of a type of the configuration."""
    if found := _DECIMAL.fullmatch(kind):
        return pa.decimal128(int(found[1]), int(found[2]))
    return {
        "text": pa.string(),
        "integer": pa.int64(),
        "double": pa.float64(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us"),
        "timestamptz": pa.timestamp("us", tz="UTC"),
    }[kind]


def values_of(texts: pa.Array, kind: str) -> pa.Array:
    """Return texts as values of a type; NULL stays NULL.

    Raises:
        BadValue: A text is no value of the type.
    """
    if kind == "text":
        return texts
    fits = pc.fill_null(pc.match_substring_regex(texts, _FORMS[kind.partition("(")[0]]), True)
    if not pc.all(fits, min_count=0).as_py():
        raise BadValue(pc.index(fits, False).as_py())
    try:
        return _cast(texts, kind)
    except pa.ArrowInvalid:
        raise BadValue(_first_bad(texts, kind)) from None


def _cast(texts: pa.Array, kind: str) -> pa.Array:
    if kind == "integer":
        return pc.cast(pc.replace_substring_regex(texts, r"^\+", ""), pa.int64())
    if kind == "boolean":
        true = pc.is_in(pc.utf8_lower(texts), value_set=pa.array(["true", "t", "1"]))
        return pc.if_else(pc.is_valid(texts), true, pa.scalar(None, pa.bool_()))
    if kind == "double":
        return pc.cast(pc.replace_substring_regex(texts, r"^\+", ""), pa.float64())
    if kind == "timestamptz":
        return pc.cast(texts, pa.timestamp("us", tz="UTC"))
    return pc.cast(texts, arrow_type(kind))


def _first_bad(texts: pa.Array, kind: str) -> int:
    """Return the place of the first text that cannot be cast."""
    low, high = 0, len(texts)
    while high - low > 1:  # the first half has it, or the second
        middle = (low + high) // 2
        try:
            _cast(texts.slice(low, middle - low), kind)
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return low
