"""Types of two operands made the same: values of one column are compared in one wire form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from qbcd.comparison.driver_types import FORM, PATTERN, check_values, common_of_driver, is_of_driver
from qbcd.comparison.operands import FileOperand, Operand
from qbcd.errors import ConfigError
from qbcd.files.columns import EMPTY, INT96, JSON
from qbcd.files.formats.jsonl import compact_json
from qbcd.local.database import LocalDatabase
from qbcd.local.dumps import decimal_text
from qbcd.local.query import Query, duckdb_type
from qbcd.model import Column, Travel
from qbcd.model.wire import wire_type

Side: TypeAlias = tuple[Query, Sequence[Column]]  # rows, and their columns c0..
_WHOLE = {"int16": 16, "int32": 32, "int64": 64}
_DIGITS = 19  # of a whole number of 64 bits
_MOST = 38


_NUMBERS = frozenset({*_WHOLE, "uint64"})
_HOST = r"^([0-9.]+)/32$|^([0-9a-f.:]+)/128$"  # PostgreSQL omits the length of these where it writes inet
# SQL of the text that is compared with another type, by base types of PostgreSQL whose values have several texts
_TEXTS = {
    "bpchar": "RTRIM({v}, ' ')",
    "inet": f"REGEXP_REPLACE({{v}}, '{_HOST}', '\\1\\2')",
    "timetz": "REGEXP_REPLACE({v}, '([+-][0-9]{{2}}):00$', '\\1')",
}
_JSON_TYPES = ("json", "jsonb")
_SIX = "CAST(FORMAT('{{:.5e}}', {v}) AS FLOAT)"  # MariaDB and MySQL write a float with six digits
_COMPACT = "qbcd_compact_json"


def unified(old: Operand, new: Operand) -> tuple[Operand, Operand]:
    """Return both operands with texts read as types of the other one, if they can do that."""
    found = []
    for one, other in ((old, new), (new, old)):
        types = {c.name: c.travel for c in other.columns}
        json = isinstance(other, FileOperand) and other.has_json
        arrays = {c.name for c in one.columns if c.travel.kind == "array"}
        texts = {n for n in arrays if n in types and types[n].kind == "text" and not json}
        found.append(one.as_types({n: t for n, t in types.items() if t.kind != "text"}).as_texts(texts))
    return found[0], found[1]


def common_column(old: Column, new: Column, labels: tuple[str, str]) -> Column:
    """Return the column in which values of both are compared.

    Raises:
        ConfigError: Their types have no common form.
    """
    travel = _of_facts(old, new)
    if travel is None and (is_of_driver(old) or is_of_driver(new)):
        return common_of_driver(old, new, labels, _common(old.travel, new.travel))
    travel = travel or _common(old.travel, new.travel)
    if travel is None:
        raise ConfigError(
            f"column {old.name} is {old.sql_type} in {labels[0]} and {new.sql_type} in {labels[1]}",
            remedy=f"leave it out: --exclude {old.name}; or read a file's text as another type: --format types",
        )
    found = replace(next((c for c in (new, old) if c.fact("zeros") == "loose"), new), travel=travel)
    form = _form_of(old, new)
    return replace(found, facts=(*found.facts, (FORM, form))) if form else found


def _form_of(old: Column, new: Column) -> str:
    """Return SQL of the form in which two types are compared; empty if that is the values' own."""
    bases = (old.base_type, new.base_type)
    if any(one.fact(JSON) and other.base_type in _JSON_TYPES for one, other in ((old, new), (new, old))):
        return f"{_COMPACT}({{v}})"
    if set(bases) == set(_JSON_TYPES):
        return f"{_COMPACT}({{v}})"
    return next((_TEXTS[one] for one in bases if one in _TEXTS and bases[0] != bases[1]), "")


def exact_forms(database: LocalDatabase, sides: Sequence[Side], common: Sequence[Column]) -> list[Column]:
    """Return the common columns; some forms depend on values or functions of this process.

    Args:
        sides: Rows and columns of each operand.
    """
    check_values(database, sides, common)
    if any(column.fact(FORM).startswith(_COMPACT) for column in common):
        connection: Any = database.connection  # some versions of DuckDB do not declare these types
        connection.create_function(_COMPACT, compact_json, ["VARCHAR"], "VARCHAR", null_handling="special")
    return [
        replace(column, facts=(*column.facts, (FORM, _SIX))) if _has_six_digits(database, sides, i, column) else column
        for i, column in enumerate(common)
    ]


def _has_six_digits(database: LocalDatabase, sides: Sequence[Side], i: int, column: Column) -> bool:
    """Return True if one side is a float of MariaDB or MySQL and the other has no more digits."""
    of_server = [bool(own[i].fact("all_digits")) for _, own in sides]
    if column.travel.kind != "float32" or of_server[0] == of_server[1]:
        return False
    rows, own = sides[of_server.index(False)]
    value = _cast(f"c{i}", own[i], column)
    more = f"SELECT 1 FROM ({rows.sql}) WHERE {_SIX.format(v=value)} <> {value} LIMIT 1"
    return not database.connection.execute(more).fetchall()


def _of_facts(old: Column, new: Column) -> Travel | None:
    """Return the form of empty file columns, and of timestamps that Spark writes in UTC."""
    for one, other in ((old, new), (new, old)):
        is_instant = one.fact(INT96) and {one.travel.kind, other.travel.kind} <= {"timestamp", "timestamptz"}
        if one.fact(EMPTY) or (is_instant and other.travel.kind == "timestamptz"):
            return other.travel
    return None


def _common(old: Travel, new: Travel) -> Travel | None:
    if old == new:
        return new
    kinds = {old.kind, new.kind}
    if kinds <= {"boolean", *_WHOLE}:
        return Travel("int64")
    if kinds <= {"float32", "float64"}:
        return Travel("float32")  # pandas reads 0.1 of 32 bits as 0.1 of 64
    if kinds <= {"date", "timestamp"}:
        return Travel("timestamp")
    if kinds <= {"decimal", *_NUMBERS}:
        whole = max(one.precision - one.scale if one.kind == "decimal" else _DIGITS + 1 for one in (old, new))
        scale = max(old.scale, new.scale)
        return Travel("decimal", min(_MOST, whole + scale), scale) if whole + scale <= _MOST else None
    if kinds <= {"float32", "float64", *_NUMBERS}:
        return Travel("text")  # pandas writes whole numbers as floats if some are NULL; a float has not all of them
    if kinds == {"array"}:
        return new  # both are JSON
    if "text" in kinds and "binary" not in kinds:
        return new if new.kind == "array" else old if old.kind == "array" else Travel("text")
    return None


def in_common(rows: Query, own: Sequence[Column], common: Sequence[Column]) -> Query:
    """Return rows of one operand with the wire values of the common columns."""
    changed = {
        f"c{i}": value
        for i, (mine, one) in enumerate(zip(own, common, strict=True))
        if (value := _cast(f"c{i}", mine, one)) != f"c{i}"
    }
    if not changed:
        return rows
    listed = ", ".join(f"{changed.get(name, name)} AS {name}" for name in rows.columns)
    return Query(f"SELECT {listed} FROM ({rows.sql})", rows.columns)


def _cast(value: str, own: Column, common: Column) -> str:
    """Return SQL of a value in the form of the common column."""
    cast = _as_travel(value, own, common.travel)
    form = common.fact(FORM)
    if common.fact(PATTERN) and own.travel.kind == "text":
        cast = f"TRIM({cast})"  # some drivers fill texts with blanks
    is_compact = form.startswith(_COMPACT) and own.fact(JSON)
    return cast if is_compact or not form else form.format(v=cast)


def _as_travel(value: str, own: Column, travel: Travel) -> str:
    mine = own.travel
    if travel.kind == "array" or (mine == travel and not (travel.kind == "decimal" and "zerofill" in own.sql_type)):
        return value
    if own.fact(EMPTY):
        return f"CAST({value} AS {duckdb_type(wire_type(travel))})"
    if mine.kind == "timestamp" and travel.kind == "timestamptz":  # of INT96
        return f"{value} || 'Z'"
    if travel.kind == "binary":
        return f"FROM_HEX({value})"  # of DuckDB's driver
    if travel.kind == "float64":
        return f"CAST({value} AS DOUBLE)"
    if travel.kind == "int64":
        return f"CAST({value} AS BIGINT)"
    if travel.kind == "float32":
        infinite = f"CAST(CASE WHEN {value} > 0 THEN 'inf' WHEN {value} < 0 THEN '-inf' END AS FLOAT)"
        return f"COALESCE(TRY_CAST({value} AS FLOAT), {infinite})"
    if travel.kind == "timestamp":
        return f"CASE WHEN LENGTH({value}) = 10 THEN {value} || 'T00:00:00.000000' ELSE {value} END"
    if travel.kind == "decimal":
        number = f"CAST({value} AS DECIMAL({travel.precision}, {travel.scale}))"
        return decimal_text(number, travel.precision, travel.scale)
    if mine.kind in ("float32", "float64"):
        whole = f"CAST(CAST({value} AS DECIMAL(38, 0)) AS VARCHAR)"
        return (
            f"CASE WHEN ABS({value}) < 1e20 AND {value} = TRUNC({value}) THEN {whole} ELSE CAST({value} AS VARCHAR) END"
        )
    return f"CAST({value} AS VARCHAR)"
