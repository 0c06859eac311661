"""One type for a column that files give in different types.

The stream's type is the widest that a file had, as far as the values that were read before keep their text. Values of
another type are taken if they have an equal value of the stream's type; each one is checked.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from qbcd.config.files import MOST_DIGITS
from qbcd.files.columns import arrow_of, column_of
from qbcd.files.formats import DumpReader
from qbcd.files.values import BadValue
from qbcd.model import Column, Travel

_WHOLE = ("int16", "int32", "int64")  # from the narrowest
_NUMBERS = (*_WHOLE, "uint64", "float32", "float64", "decimal")
_EXACT = [  # (kind of the file, kind of the stream): values may be equal
    *((one, other) for one in _NUMBERS for other in _NUMBERS),
    ("date", "timestamp"),
    ("timestamp", "date"),
]
_INEXACT = [(one, "decimal") for one in ("float32", "float64")] + [("decimal", one) for one in ("float32", "float64")]
_AS_TEXT = (*_WHOLE, "uint64", "boolean", "date")  # have one form as text


@dataclass(frozen=True)
class FittedColumn:
    """A column of a stream, in the type that a file gives it.

    Attributes:
        column: The column, perhaps of a wider type than before.
        padding: What a text of the column before needs at its end to be one of the wider type: a larger scale.
    """

    column: Column
    padding: str = ""


def check_types(reader: DumpReader) -> None:
    """Check that `types` can be applied to a file that has types of its own.

    Raises:
        DumpRefused: A column does not exist, or its values have no form of the type.
    """
    if reader.form.type != "parquet":
        return
    for name, written in reader.form.types.items():
        if name not in reader.schema.names:
            if reader.known:  # the columns are compared with those before
                continue
            remedy = f"the file has {', '.join(reader.schema.names)}; correct `types`"
            raise reader.place.refused(f"there is no column {name!r}, which `types` names", remedy)
        raw, wanted = reader.own_types[name], column_of(reader.schema.field(name))
        own = column_of(pa.field(name, raw))
        pair = None if own is None or wanted is None else (own.travel.kind, wanted.travel.kind)
        if pair is None or not _is_readable(*pair):
            what = f"column {name} is {raw}, whose values have no exact form of type {written}"
            raise reader.place.refused(what, "correct `types`, or leave the column out with `exclude`")


def _is_readable(raw: str, wanted: str) -> bool:
    exact = (raw, wanted) in _EXACT and (raw, wanted) not in _INEXACT
    return raw in (wanted, "text") or exact or (wanted == "text" and raw in _AS_TEXT)


def is_untyped(reader: DumpReader, name: str) -> bool:
    """Return True if a column has only NULL and no type."""
    return name in reader.untyped and name not in reader.form.types


def fit(column: Column, reader: DumpReader, *, untyped: bool, frozen: bool) -> FittedColumn | None:
    """Return the stream's column in the type that it has with a further file.

    None if the types cannot be compared.

    Args:
        column: The column as it is stored.
        untyped: No file has given it a type yet.
        frozen: Texts of its values are stored in digests or key identities, so they cannot change.
    """
    if is_untyped(reader, column.name):
        return FittedColumn(column)
    found = column_of(reader.schema.field(column.name))
    if found is None:
        return None
    known, new = column.travel, found.travel
    if known == new or untyped:
        return FittedColumn(column if known == new else found)
    pair = new.kind, known.kind
    if pair not in _EXACT or pair in _INEXACT:
        return None
    if known.kind in _WHOLE and new.kind in _WHOLE:
        return FittedColumn(found if _WHOLE.index(new.kind) > _WHOLE.index(known.kind) else column)
    if pair == ("float64", "float32") and not frozen:
        return FittedColumn(found)
    if pair == ("decimal", "decimal"):
        return _decimal(column, new, frozen=frozen)
    return FittedColumn(column)


def _decimal(column: Column, new: Travel, *, frozen: bool) -> FittedColumn:
    known = column.travel
    scale = known.scale if frozen else max(known.scale, new.scale)
    digits = max(known.precision - known.scale, new.precision - new.scale)
    if digits + scale > MOST_DIGITS:  # values that fit are taken
        return FittedColumn(column)
    wider = column_of(pa.field(column.name, pa.decimal128(digits + scale, scale)))
    added = "0" * (scale - known.scale)
    return FittedColumn(wider or column, f".{added}" if added and not known.scale else added)


def values_in(values: pa.Array, field: pa.Field, column: Column) -> pa.Array:
    """Return values of a file in another type.

    Args:
        values: The values as the reader gives them.

    Raises:
        BadValue: One has no equal value of the type.
    """
    own = column_of(field)
    if own is not None and pa.types.is_string(field.type) and own.travel.kind != "text":  # texts in wire form
        values = values.cast(arrow_of(own.travel))
    kind = arrow_of(column.travel)
    if values.null_count == len(values):
        return pa.nulls(len(values), kind)
    if values.type == kind:
        return values
    cast = _cast_to(kind)
    try:
        found = cast(values)
    except pa.ArrowInvalid:
        raise BadValue(_first(values, cast)) from None
    if _checks_itself(values.type, kind):
        return found
    same = pc.or_kleene(pc.equal(found.cast(values.type), values), _both_nan(found, values))
    if not pc.all(pc.fill_null(same, True), min_count=0).as_py():
        raise BadValue(pc.index(pc.fill_null(same, True), False).as_py())
    return found


def _cast_to(kind: pa.DataType) -> Callable[[pa.Array], pa.Array]:
    def cast(values: pa.Array) -> pa.Array:
        if pa.types.is_decimal(kind) and pa.types.is_integer(values.type):
            values = values.cast(pa.decimal128(MOST_DIGITS, 0))  # Arrow demands room for all numbers of the type
        return values.cast(kind)

    return cast


def _checks_itself(one: pa.DataType, other: pa.DataType) -> bool:
    """Return True if Arrow refuses values that another type cannot hold."""
    return not (pa.types.is_float32(other) or pa.types.is_date(other)) or pa.types.is_string(one)


def _both_nan(one: pa.Array, other: pa.Array) -> pa.Array:
    if not pa.types.is_floating(other.type):
        return pa.scalar(False)
    return pc.and_kleene(pc.is_nan(one), pc.is_nan(other))


def _first(values: pa.Array, cast: Callable[[pa.Array], pa.Array]) -> int:
    """Return the place of the first value that cannot be cast."""
    low, high = 0, len(values)
    while high - low > 1:  # the first half has it, or the second
        middle = (low + high) // 2
        try:
            cast(values.slice(low, middle - low))
        except pa.ArrowInvalid:
            high = middle
        else:
            low = middle
    return low
