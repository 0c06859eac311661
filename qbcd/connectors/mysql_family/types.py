"""Types of MariaDB and MySQL: how each is compared, how it travels, whether it can be a key.

All of this is decided once, from the catalog's row of a column, and stored in :class:`~qbcd.model.Column`. Later code
only reads it. `base_type` is the catalog's ``DATA_TYPE``.

Facts of a column (`Column.fact`):

=================  ==================================================================================================
``storage_type``   SQL of the type with its character set, for qbcd's own tables
``charset``        character set of a text
``no_pad``         ``yes`` if trailing spaces count under the collation
``characters``     maximum number of characters of a text;  ``octets`` of its bytes
``all_digits``     of a floating point number: SQL template of a text that reads back as the same number, -0 as 0
``digested``       ``short`` if values of up to 255 bytes, or any of an enum or set, have the digest of a short column,
                   which this one was
``unsigned``       ``yes`` for an unsigned number;  ``bits`` of a bit field
=================  ==================================================================================================
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from qbcd.connectors.facts import Alike
from qbcd.model import Column, Comparison, Travel, TravelKind

INTEGERS: Mapping[str, tuple[TravelKind, TravelKind]] = {  # signed, unsigned
    "tinyint": ("int16", "int16"),
    "smallint": ("int16", "int32"),
    "mediumint": ("int32", "int32"),
    "int": ("int32", "int64"),
    "bigint": ("int64", "uint64"),
    "year": ("int16", "int16"),
}
FLOATS: Mapping[str, TravelKind] = {"float": "float32", "double": "float64"}
TIMES: Mapping[str, TravelKind] = {"date": "date", "time": "time", "datetime": "timestamp", "timestamp": "timestamptz"}
STRINGS = frozenset({"char", "varchar", "tinytext", "text", "mediumtext", "longtext"})
BINARIES = frozenset({"binary", "varbinary", "tinyblob", "blob", "mediumblob", "longblob"})
CHOICES = frozenset({"enum", "set"})  # stored as numbers, shown as labels
ADDRESSES = frozenset({"uuid", "inet4", "inet6"})  # fixed bytes; the text has one form
GEOMETRIES = frozenset(
    {
        "geometry",
        "point",
        "linestring",
        "polygon",
        "multipoint",
        "multilinestring",
        "multipolygon",
        "geometrycollection",
        "geomcollection",
    }
)
KNOWN = frozenset(
    {*INTEGERS, *FLOATS, *TIMES, *STRINGS, *BINARIES, *CHOICES, *ADDRESSES, *GEOMETRIES, "decimal", "bit", "json"}
)
UNDESCRIBED = "undescribed"  # type of a result column that the server does not describe
# An index over them contains only prefixes, so that it proves no key.
PREFIXED = frozenset({"tinytext", "text", "mediumtext", "longtext", "tinyblob", "blob", "mediumblob", "longblob"})
# Character sets whose texts convert to Unicode and back without loss; keys in others are identified by their bytes.
ROUND_TRIP = frozenset({"utf8mb4", "utf8mb3", "utf8", "latin1", "ascii"})
# Characters of their latin1: those of code page 1252, whose five free bytes are control characters.
_LATIN1 = frozenset(map(chr, (*range(0x80), *range(0xA0, 0x100), 0x81, 0x8D, 0x8F, 0x90, 0x9D))) | frozenset(
    bytes(range(0x80, 0xA0)).decode("cp1252", "ignore")
)
# Bytes above which the digest uses a hash of the value.
LONG = 255
OTHER_OCTETS = 9  # maximum bytes of a number, a time or an address; a decimal may need a few more
POINTER = 40  # bytes in a row for a value that is stored outside it
MAX_DECIMAL_DIGITS = 38
INDEX_COLUMNS, INDEX_BYTES = 16, 3072  # limits of an InnoDB index
# Collations whose weights disagree with their `=`, found by a comparison of all pairs of 249 texts under every
# collation of MariaDB 10.11 and MySQL 9.7.
_WEIGHTLESS = re.compile(
    r"big5_chinese_(nopad_)?ci|tis620_thai_(nopad_)?ci|gb18030_chinese_ci|cp1250_czech_cs|\w+_uca1400_(\w+_)?nopad_ai_cs"
)
# Collations that compare several levels of weights and pad each level.
_LEVELLED = re.compile(r"\w+_thai_520_w2|\w+_uca1400_(\w+_)?(ai_cs|as_ci|as_cs)")
_LABEL = re.compile(r"'(?:[^'\\]|''|\\.)*'", re.DOTALL)
_COMMENT = re.compile(rf"({_LABEL.pattern})|\s*/\*.*?\*/", re.DOTALL)  # or a label, which is kept


def make_column(row: Mapping[str, Any]) -> Column:
    """Return the column of a row of the catalog query; `rows.COLUMNS` lists its fields."""
    sql_type = _COMMENT.sub(r"\1", str(row["sql_type"]))
    charset = str(row["charset"] or "")
    facts = {
        "storage_type": f"{sql_type} CHARACTER SET {charset}" if charset else sql_type,
        "charset": charset,
        "no_pad": "yes" if row["no_pad"] else "",
        "characters": str(row["characters"] or ""),
        "octets": str(row["octets"] or ""),
        "unsigned": "yes" if "unsigned" in sql_type.lower() else "",
        "all_digits": row.get("all_digits", "") if str(row["base_type"]).lower() in FLOATS else "",
        "bits": str(row["precision"]) if row["base_type"] == "bit" else "",
    }
    column = Column(
        name=str(row["name"]),
        sql_type=sql_type,
        base_type=str(row["base_type"]).lower(),
        nullable=bool(row["nullable"]),
        collation=str(row["collation"] or ""),
        comparison="text",
        travel=Travel("text"),
        facts=tuple(sorted((name, value) for name, value in facts.items() if value)),
    )
    travel = _travel(column, int(row["precision"] or 0), int(row["scale"] or 0))
    return replace(column, comparison=_comparison(column), travel=travel)


def is_long(column: Column) -> bool:
    """Return True if values may be so long that a row cannot contain many of them."""
    return column.base_type in GEOMETRIES or column.base_type == "json" or int(column.fact("octets") or 0) > LONG


def pads_levels(column: Column) -> bool:
    """Return True if each level of a text's weights ends with padding, not only the last."""
    return not column.fact("no_pad") and _LEVELLED.fullmatch(column.collation) is not None


def members(column: Column) -> int:
    """Return the number of labels of an enum; 0 of any other type."""
    return len(labels(column.sql_type)) if column.base_type == "enum" else 0


def labels(sql_type: str) -> list[str]:
    """Return the labels of an enum or set, as its type spells them."""
    return _LABEL.findall(sql_type)


def type_problem(column: Column) -> str:
    """Return why values of `column` cannot be captured, or an empty string."""
    if column.base_type in KNOWN:
        return ""
    if column.base_type == UNDESCRIBED:
        return "the server does not describe the type of this result; write CAST(.. AS CHAR), or another"
    return f"qbcd does not know type {column.sql_type}"


def key_problem(column: Column) -> str:
    """Return why `column` cannot be part of a key; the caller checks NULL and uniqueness."""
    problem = type_problem(column)
    if problem:
        return problem
    if column.base_type in PREFIXED:
        return f"an index over {column.sql_type} contains only prefixes of values"
    if column.base_type in GEOMETRIES or column.base_type == "json":
        return f"{column.sql_type} has no total order that qbcd knows"
    if column.base_type in STRINGS and _WEIGHTLESS.fullmatch(column.collation):
        return f"collation {column.collation} has different weights for equal keys, or equal weights for different keys"
    return ""


def index_problem(columns: Sequence[Column]) -> str:
    """Return why whole values of these columns do not fit into one index, or an empty string."""
    for column in columns:
        if column.base_type in PREFIXED or column.base_type in GEOMETRIES or column.base_type == "json":
            return f"column {column.name}, whose type {column.sql_type} it contains only as prefixes"
    if len(columns) > INDEX_COLUMNS:
        return f"{len(columns)} columns; the limit is {INDEX_COLUMNS}"
    size = sum(int(c.fact("octets") or 0) or OTHER_OCTETS for c in columns)
    return f"columns of {size} bytes in total; the limit is {INDEX_BYTES}" if size > INDEX_BYTES else ""


def compares_bytes(column: Column) -> bool:
    """Return True for texts of a binary collation that does not ignore trailing spaces."""
    is_text = column.base_type in STRINGS or column.base_type in CHOICES
    return is_text and column.collation.endswith("_bin") and column.fact("no_pad") == "yes"


def can_hold_text(column: Column, text: str) -> bool:
    """See `DatabaseFacts.can_hold_text`; of other character sets it is not known."""
    charset = column.fact("charset")
    if charset == "ascii":
        return text.isascii()
    if charset == "latin1":
        return _LATIN1.issuperset(text)
    return charset not in ("utf8mb3", "utf8", "ucs2") or max(text, default="") <= "\uffff"


def equality_class(column: Column) -> Alike:
    """Return what equal values of `column` have in common.

    The other side of a comparison may replace a collation, or make it a comparison of numbers.
    """
    if column.base_type in STRINGS or column.base_type in CHOICES or column.base_type == "json":
        return Alike.VARIED
    return Alike.EQUAL if column.base_type in GEOMETRIES else Alike.SAME  # a stored number is never -0


def text_equality(column: Column) -> Literal["exact", "padded", "uuid", ""]:
    """See the contract. Binary collations compare code points; most ignore trailing spaces."""
    if column.base_type in STRINGS and column.collation.endswith("_bin"):
        return "exact" if column.fact("no_pad") else "padded"
    if column.base_type == "uuid":
        return "uuid"
    return "exact" if column.base_type in ADDRESSES else ""


def _comparison(column: Column) -> Comparison:
    if column.base_type in STRINGS or column.base_type in GEOMETRIES:
        return "bytes"  # nearly all collations ignore case, accents or trailing spaces, which users see
    return "text" if column.base_type == "json" else "typed"


def _travel(column: Column, precision: int, scale: int) -> Travel:
    base = column.base_type
    if base in INTEGERS:
        return Travel(INTEGERS[base][bool(column.fact("unsigned"))])
    if base == "bit":
        return Travel("uint64" if precision == 64 else "int64")
    if base == "decimal" and precision <= MAX_DECIMAL_DIGITS:
        return Travel("decimal", precision, scale)
    if base in BINARIES:
        return Travel("binary")
    return Travel(FLOATS.get(base) or TIMES.get(base) or "text")
