"""Values as a server or a driver gives them, as Arrow columns of wire types."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pyarrow.csv

from qbcd.connectors.sessions import TextColumns
from qbcd.local.arrays import binaries
from qbcd.model.wire import Fields

TYPES: Mapping[str, pa.DataType] = {
    "boolean": pa.bool_(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "decimal(20,0)": pa.decimal128(20, 0),
    "decimal(38,0)": pa.decimal128(38, 0),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
}
_CSV_COLUMN = re.compile(r"In CSV column #(\d+):")
_NO_UNICODE = re.compile(r"invalid UTF-?8", re.IGNORECASE)


class Unreadable(Exception):
    """A value that does not fit its wire type; the text names the field, never the value.

    Attributes:
        no_unicode: It is a text without a Unicode form.
    """

    def __init__(self, field: str, kind: str, error: Exception) -> None:
        super().__init__(f"a value of {field} is no {kind}")
        self.no_unicode = isinstance(error, UnicodeError) or _NO_UNICODE.search(str(error)) is not None


def csv_batch(names: Sequence[str], lines: bytes, fields: Fields) -> pa.Table:
    """Return the rows of some lines of CSV (`qbcd.connectors.sessions.SupportsCsvRows`).

    A binary field is a text: a backslash, ``x`` and hexadecimal digits.

    Args:
        names: The columns of the lines.
        fields: The fields, a part of the columns in any order.

    Raises:
        Unreadable: A value does not fit.
    """
    kinds = dict(fields)
    # The lines are whole, so that one block has room for them: no value can be cut.
    read = pa.csv.ReadOptions(use_threads=False, block_size=len(lines) + 1, column_names=list(names))
    # A single column that is NULL is an empty line.
    parse = pa.csv.ParseOptions(newlines_in_values=True, ignore_empty_lines=False)
    convert = pa.csv.ConvertOptions(
        column_types={name: pa.string() if kind == "binary" else TYPES[kind] for name, kind in fields},
        include_columns=list(kinds),
        null_values=[""],
        true_values=["t"],
        false_values=["f"],
        strings_can_be_null=True,
        quoted_strings_can_be_null=False,
    )
    try:
        return pa.csv.read_csv(pa.BufferReader(lines), read, parse, convert)
    except pa.ArrowInvalid as error:
        column = _CSV_COLUMN.search(str(error))
        if column is None:
            raise
        name = names[int(column[1])]
        raise Unreadable(name, kinds[name], error) from error


def text_batch(columns: TextColumns, fields: Fields) -> pa.Table:
    """Return rows whose values are in the server's text.

    Raises:
        Unreadable: A value does not fit.
    """
    arrays = []
    for name, kind in fields:
        try:
            array = binaries(columns[name])
            array = array if kind == "binary" else array.cast(pa.string())
            arrays.append(array.cast(TYPES[kind]))
        except pa.ArrowInvalid as error:
            raise Unreadable(name, kind, error) from error
    return pa.Table.from_arrays(arrays, names=[name for name, _ in fields])


def value_batch(columns: Mapping[str, Sequence[Any]], fields: Fields) -> pa.Table:
    """Return rows whose values are objects of a driver.

    Raises:
        Unreadable: A value does not fit.
    """
    arrays = []
    for name, kind in fields:
        try:
            arrays.append(pa.array([_exact(value, kind) for value in columns[name]], TYPES[kind]))
        except (pa.ArrowInvalid, pa.ArrowTypeError, UnicodeError, TypeError) as error:
            raise Unreadable(name, kind, error) from error
    return pa.Table.from_arrays(arrays, names=[name for name, _ in fields])


def _exact(value: Any, kind: str) -> Any:
    """Return a driver's value as one of the type that Arrow takes for `kind`.

    Raises:
        TypeError: No conversion is exact.
    """
    if value is None or isinstance(value, _TAKEN[kind]):
        return value
    if kind == "binary" and isinstance(value, (memoryview, bytearray)):
        return bytes(value)
    if kind == "binary" and isinstance(value, str):
        return value.encode()
    if kind == "string" and isinstance(value, bytes):
        return value.decode()
    if kind == "string" and isinstance(value, int):
        return str(value)
    if kind in _INTEGERS and isinstance(value, Decimal) and value == int(value):
        return int(value)
    raise TypeError(type(value).__name__)


_INTEGERS = frozenset({"smallint", "int", "bigint"})
_TAKEN: Mapping[str, tuple[type, ...]] = {
    "boolean": (bool,),
    "decimal(20,0)": (int, Decimal),
    "decimal(38,0)": (int, Decimal),
    "float": (float,),
    "double": (float,),
    "string": (str,),
    "binary": (bytes,),
    **dict.fromkeys(_INTEGERS, (int,)),
}
