"""Forms of a column's values in Spark's JDBC reader: a type of Spark, a text, or none.

Spark gives each JDBC type a type of its own, not always without a loss: 64-bit integers of SQLite become 32-bit ones,
nanoseconds are cut. So the type is written here for every column, and what is in doubt travels as text.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from qbcd.connectors.jdbc.profile import Profile
from qbcd.model import Travel

# numbers of java.sql.Types
_BIT, _TINYINT, _SMALLINT, _INTEGER, _BIGINT = -7, -6, 5, 4, -5
_NUMERIC, _DECIMAL, _REAL, _FLOAT, _DOUBLE, _BOOLEAN = 2, 3, 7, 6, 8, 16
_DATE, _TIMESTAMP = 91, 93
_TEXTS = (1, 12, -1, -15, -9, -16, 2005, 2011)  # char, varchar, longvarchar, their national forms, clob, nclob
_BYTES = (-2, -3, -4, 2004)
MOST_DIGITS = 38
_TRAVELS = {
    "BOOLEAN": Travel("boolean"),
    "SMALLINT": Travel("int16"),
    "INT": Travel("int32"),
    "BIGINT": Travel("int64"),
    "FLOAT": Travel("float32"),
    "DOUBLE": Travel("float64"),
    "STRING": Travel("text"),
    "BINARY": Travel("binary"),
    "DATE": Travel("date"),
    "TIMESTAMP_NTZ": Travel("timestamp"),
}
_INTEGERS = {_TINYINT: "SMALLINT", _SMALLINT: "SMALLINT", _INTEGER: "INT", _BIGINT: "BIGINT"}
_WIDEST = {"SMALLINT": "BIGINT", "INT": "BIGINT", "FLOAT": "DOUBLE"}
_UNSIGNED = {_TINYINT: "SMALLINT", _SMALLINT: "INT", _INTEGER: "BIGINT", _BIGINT: "DECIMAL(20,0)"}


@dataclass(frozen=True)
class Reading:
    """Form in which a column is read.

    Attributes:
        spark: Spark's type; empty if it cannot be read.
        expression: SQL of the value, with ``{c}`` for the column.
        refused: Why it cannot be read.
    """

    spark: str
    expression: str = "{c}"
    refused: str = ""

    @property
    def travel(self) -> Travel:
        """The form in which its values travel."""
        found = re.fullmatch(r"DECIMAL\((\d+),\s*(\d+)\)", self.spark)
        return Travel("decimal", int(found[1]), int(found[2])) if found else _TRAVELS[self.spark]


@dataclass(frozen=True)
class TypedColumn:
    """The facts of a column that decide how it is read, as the driver shows them."""

    code: int
    type_name: str
    precision: int
    scale: int
    signed: bool


def reading_of(profile: Profile, column: TypedColumn, *, as_text: bool = False) -> Reading:
    """Return how the values of a column are read.

    Args:
        as_text: The configuration says so.
    """
    if profile.inexact and re.fullmatch(profile.inexact, column.type_name):
        return Reading("", refused="its text does not show where a value in it ends, but CAST(.. AS JSON) does")
    usual = _usual_reading(profile, column)
    is_text = usual.spark == "STRING" and usual.expression == "{c}"  # the text of a text may be cut
    return Reading("STRING", profile.text) if as_text and not is_text else usual


def _usual_reading(profile: Profile, column: TypedColumn) -> Reading:
    rule = profile.rule(column.type_name)
    if not rule:
        found = _by_code(column)
        if found:
            return Reading(_WIDEST.get(found, found) if profile.widest else found)
        rule = profile.other
    kind, _, rest = rule.partition(": ")
    if kind == "text":
        return Reading("STRING", profile.text)
    kind = kind.replace("{s}", str(column.scale))
    return Reading("", refused=rest) if kind == "refused" else Reading(kind, rest or "{c}")


def _by_code(column: TypedColumn) -> str:
    """Return Spark's type for a JDBC type; empty if Spark has none without a loss."""
    code = column.code
    if code in _INTEGERS:
        return _INTEGERS[code] if column.signed else _UNSIGNED[code]
    if code in (_NUMERIC, _DECIMAL):
        whole = 0 < column.precision <= MOST_DIGITS and 0 <= column.scale <= column.precision
        return f"DECIMAL({column.precision},{column.scale})" if whole else ""
    if code == _TIMESTAMP:
        return "TIMESTAMP_NTZ" if column.scale <= 6 else ""
    plain = {_BIT: "BOOLEAN", _BOOLEAN: "BOOLEAN", _REAL: "FLOAT", _FLOAT: "DOUBLE", _DOUBLE: "DOUBLE", _DATE: "DATE"}
    return plain.get(code) or ("STRING" if code in _TEXTS else "BINARY" if code in _BYTES else "")
