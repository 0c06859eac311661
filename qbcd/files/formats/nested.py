"""Columns of Parquet whose values travel as texts.

These are lists, structs, maps, long decimals, durations and intervals.

A list is a JSON array, a struct or map a JSON object with sorted names. Decimals and dates in them are strings, bytes
are base64, in the form of arrays of databases (docs/reference/types.md).
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from qbcd.files import columns
from qbcd.model import Travel

_US_SECOND, _SECONDS_HOUR, _MONTHS_YEAR = 1_000_000, 3600, 12
_SMALL = {
    pa.int8(): pa.int16(),
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.float16(): pa.float32(),
}
_PLAIN_FLOATS = {pa.float32(): 6, pa.float64(): 15}  # whole digits that PostgreSQL writes without an exponent

Converter = Callable[[pa.Array], pa.Array]


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type in which values of a type are given, if they have no converter."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if isinstance(kind, pa.BaseExtensionType):
        return pa.string() if kind.extension_name == "arrow.uuid" else plain_type(kind.storage_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_timestamp(kind):
        return pa.timestamp("us", tz="UTC" if kind.tz else None)
    if pa.types.is_time(kind):
        return pa.time64("us")
    if pa.types.is_date(kind):
        return pa.date32()
    if pa.types.is_decimal(kind) and 0 <= kind.scale <= kind.precision <= 38:
        return pa.decimal128(kind.precision, kind.scale)
    return _SMALL.get(kind, kind)


def field_of(field: pa.Field) -> pa.Field | None:
    """Return the field of the texts of a column; None if its values are no texts."""
    kind = field.type
    if _is_list(kind):
        element = columns.column_of(pa.field("element", plain_type(kind.value_type)))
        if element is not None and converter(kind.value_type) is None:
            return columns.text_field(field.name, str(kind), Travel("array", element=element.travel))
    if pa.types.is_duration(kind):
        return columns.text_field(field.name, "time", Travel("time"))
    return None if converter(kind) is None else columns.text_field(field.name, str(kind), Travel("text"))


def converter(kind: pa.DataType) -> Converter | None:
    """Return the function that makes texts of the values of a type.

    None if its values are no texts, or have none.
    """
    if pa.types.is_duration(kind):
        return _durations
    if pa.types.is_decimal(kind) and not pa.types.is_decimal128(plain_type(kind)):
        return _decimals
    if getattr(kind, "extension_name", "") == "arrow.uuid":
        return _uuids
    return _nested if (_is_list(kind) or _is_object(kind)) and _has_json(kind) else None


def interval_texts(values: pa.Array) -> pa.Array:
    """Return intervals of Parquet (months, days, milliseconds) as PostgreSQL writes them."""
    return pa.array([None if one is None else _interval(one) for one in values.to_pylist()], pa.string())


def _interval(value: bytes) -> str:
    months, days, milliseconds = (int.from_bytes(value[i : i + 4], "little") for i in (0, 4, 8))
    years, months = divmod(months, _MONTHS_YEAR)
    parts = [(years, "year"), (months, "mon"), (days, "day")]
    words = [f"{count} {name}{'' if count == 1 else 's'}" for count, name in parts if count]
    clock = _clock(milliseconds * 1000)
    if milliseconds or not words:
        words.append(clock.rstrip("0").rstrip(".") if milliseconds % 1000 else clock[:-7])
    return " ".join(words)


def _clock(microseconds: int) -> str:
    """Return a time of day, or of more hours, with six digits of a second."""
    seconds, rest = divmod(abs(microseconds), _US_SECOND)
    hours, seconds = divmod(seconds, _SECONDS_HOUR)
    sign = "-" if microseconds < 0 else ""
    return f"{sign}{hours:02}:{seconds // 60:02}:{seconds % 60:02}.{rest:06}"


def _durations(values: pa.Array) -> pa.Array:
    counts = values.cast(pa.duration("us")).cast(pa.int64()).to_pylist()
    return pa.array([None if one is None else _clock(one) for one in counts], pa.string())


def _decimals(values: pa.Array) -> pa.Array:
    return pa.array([None if one is None else f"{one:f}" for one in values.to_pylist()], pa.string())


def _uuids(values: pa.Array) -> pa.Array:
    return pa.array([None if one is None else str(one) for one in values.to_pylist()], pa.string())


# -- JSON ------------------------------------------------------------------------------------------------------------
def _is_list(kind: pa.DataType) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def _is_object(kind: pa.DataType) -> bool:
    return bool(pa.types.is_struct(kind) or pa.types.is_map(kind))


def _has_json(kind: pa.DataType) -> bool:
    """Return True if all values in lists, structs and maps of a type have a text."""
    if pa.types.is_struct(kind):
        return all(_has_json(kind.field(i).type) for i in range(kind.num_fields))
    if pa.types.is_map(kind):
        return _has_json(kind.key_type) and _has_json(kind.item_type)
    if _is_list(kind):
        return _has_json(kind.value_type)
    return converter(kind) is not None or columns.column_of(pa.field("", plain_type(kind))) is not None


def _nested(values: pa.Array) -> pa.Array:
    return pa.array(
        [None if text == "null" and not valid else text for text, valid in _with_validity(values)], pa.string()
    )


def _with_validity(values: pa.Array) -> Iterator[tuple[str, bool]]:
    return zip(_json(values), values.is_valid().to_pylist(), strict=True)


def _json(values: pa.Array) -> list[str]:
    """Return the JSON of each value."""
    kind = values.type
    if _is_list(kind) or pa.types.is_map(kind):
        sizes = pc.list_value_length(pc.cast(values, pa.list_(kind.value_type))) if _is_list(kind) else None
        return _lists(values, sizes) if sizes is not None else _maps(values)
    if pa.types.is_struct(kind):
        names = [json.dumps(kind.field(i).name, ensure_ascii=False) for i in range(kind.num_fields)]
        parts = [_json(values.field(i)) for i in range(kind.num_fields)]
        order = sorted(range(len(names)), key=lambda i: kind.field(i).name)
        return [
            "{" + ",".join(f"{names[i]}:{parts[i][row]}" for i in order) + "}" if valid else "null"
            for row, valid in enumerate(values.is_valid().to_pylist())
        ]
    make = converter(kind)
    plain = make(values) if make is not None else _storage(values).cast(plain_type(kind))
    return _scalars(plain)


def _lists(values: pa.Array, sizes: pa.Array) -> list[str]:
    items = iter(_json(values.flatten()))
    return ["null" if n is None else f"[{','.join(next(items) for _ in range(n))}]" for n in sizes.to_pylist()]


def _maps(values: pa.Array) -> list[str]:
    found = []
    for row in range(len(values)):
        entries = values[row].values
        if entries is None:
            found.append("null")
            continue
        names, parts = _json(entries.field(0)), _json(entries.field(1))
        pairs = sorted(zip(names, parts, strict=True))
        found.append("{" + ",".join(f"{_name(n)}:{p}" for n, p in pairs) + "}")
    return found


def _name(text: str) -> str:
    """Return the JSON of a key as a name, which is a string."""
    return text if text.startswith('"') else json.dumps(text)


def _storage(values: pa.Array) -> pa.Array:
    return values.storage if isinstance(values, pa.ExtensionArray) else values


def _scalars(values: pa.Array) -> list[str]:
    kind = values.type
    if pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        return ["null" if one is None else json.dumps(one) for one in values.to_pylist()]
    if pa.types.is_floating(kind):
        return [_float(one, kind) for one in values.to_pylist()]
    if pa.types.is_binary(kind):
        texts: list[Any] = [None if one is None else base64.b64encode(one).decode() for one in values.to_pylist()]
    elif pa.types.is_decimal(kind):
        texts = [None if one is None else f"{one:f}" for one in values.to_pylist()]
    elif pa.types.is_timestamp(kind):
        end = "Z" if kind.tz else ""
        plain = values.cast(pa.int64()).cast(pa.timestamp("us")).cast(pa.string()).to_pylist()
        texts = [None if one is None else one.replace(" ", "T") + end for one in plain]
    else:
        texts = values.cast(pa.string()).to_pylist()
    return ["null" if one is None else json.dumps(one, ensure_ascii=False) for one in texts]


def _float(value: float | None, kind: pa.DataType) -> str:
    """Return a float with the digits that PostgreSQL writes; what is no number is a string."""
    if value is None:
        return "null"
    if value != value or value in (float("inf"), float("-inf")):
        return '"NaN"' if value != value else '"Infinity"' if value > 0 else '"-Infinity"'
    text = _shortest(value, kind)
    digits, _, exponent = text.partition("e")
    power = int(exponent)
    if not -5 < power < _PLAIN_FLOATS[kind]:
        return f"{digits}e{power:+03}"
    plain = f"{float(text):.{max(0, len(digits.replace('-', '').replace('.', '')) - 1 - power)}f}"
    return "-0.0" if plain == "-0" else plain


def _shortest(value: float, kind: pa.DataType) -> str:
    """Return the shortest digits that read as the value, with an exponent."""
    for digits in range(17):
        text = f"{value:.{digits}e}"
        if pa.scalar(float(text), kind).as_py() == value:
            whole, _, exponent = text.partition("e")
            return f"{whole.rstrip('0').rstrip('.') if '.' in whole else whole}e{exponent}"
    return f"{value:.16e}"
