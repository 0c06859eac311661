"""Wire values as typed Spark values (interface.md, Types, last column).

A value that its type cannot hold raises an error inside the job, whatever the session's ANSI setting: it never
becomes NULL. Detection has refused such values before, so this is the second lock on that door.
"""

from __future__ import annotations

from pyspark.sql import Column
from pyspark.sql import functions as fn

from qbcd.model import Travel

_PLAIN = {
    "boolean": "boolean",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint64": "decimal(20,0)",
    "float32": "float",
    "float64": "double",
    "text": "string",
    "time": "string",
    "binary": "binary",
}
_PARSED = {"date": "date", "timestamp": "timestamp_ntz", "timestamptz": "timestamp"}


def spark_type(travel: Travel) -> str:
    """The Spark SQL type in which values of `travel` reach typed sinks.

    Raises:
        ValueError: An array without its element.
    """
    if travel.kind == "decimal":
        return f"decimal({travel.precision},{travel.scale})"
    if travel.kind == "array":
        if travel.element is None:
            raise ValueError("an array needs its element")
        return f"array<{spark_type(travel.element)}>"
    return _PLAIN.get(travel.kind) or _PARSED[travel.kind]


def typed_value(travel: Travel, value: Column, name: str) -> Column:
    """The wire value `value` of column `name` as its Spark type; NULL stays NULL."""
    kind = spark_type(travel)
    if travel.kind in _PLAIN:
        return value.cast(kind)
    if travel.element is not None:
        # Elements are read as texts first: Spark's JSON reader would round decimals and refuse NaN.
        texts = fn.from_json(value, "array<string>", {"mode": "PERMISSIVE"})
        sound = _insist(value, texts, name, kind)
        element = travel.element
        return fn.transform(sound, lambda item: _element(element, item, name))
    return _insist(value, value.try_cast(kind), name, kind)


def _element(travel: Travel, text: Column, name: str) -> Column:
    """An array's element, which is text at first."""
    if travel.kind in ("text", "time"):
        return text
    kind = spark_type(travel)
    if travel.kind == "binary":
        return _insist(text, fn.unbase64(text), name, kind)
    return _insist(text, text.try_cast(kind), name, kind)


def _insist(wire: Column, result: Column, name: str, kind: str) -> Column:
    """`result`, or an error where it is NULL although `wire` is not."""
    message = fn.concat(fn.lit(f"column {name}: not a value of type {kind}: "), fn.substring(wire, 1, 100))
    return fn.when(wire.isNull(), None).otherwise(fn.coalesce(result, fn.raise_error(message)))
