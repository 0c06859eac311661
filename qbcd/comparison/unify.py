"""Types of two operands made the same: values of one column are compared in one wire form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qbcd.comparison.operands import FileOperand, Operand
from qbcd.errors import ConfigError
from qbcd.files.columns import EMPTY, INT96
from qbcd.local.query import Query, duckdb_type
from qbcd.model import Column, Travel
from qbcd.model.wire import wire_type

_WHOLE = {"int16": 16, "int32": 32, "int64": 64}
_DIGITS = 19  # of a whole number of 64 bits
_MOST = 38


_NUMBERS = frozenset({*_WHOLE, "uint64"})
_HOST = r"^([0-9.]+)/32$|^([0-9a-f.:]+)/128$"  # PostgreSQL omits the length of these where it writes inet
# Types of PostgreSQL with several texts of a value, and the text that is compared with another type.
_TEXTS = {
    "bpchar": "RTRIM({v}, ' ')",
    "inet": f"REGEXP_REPLACE({{v}}, '{_HOST}', '\\1\\2')",
    "timetz": "REGEXP_REPLACE({v}, '([+-][0-9]{{2}}):00$', '\\1')",
}
_AS = "as"  # a fact of a common column: such a type


def unified(old: Operand, new: Operand) -> tuple[Operand, Operand]:
    """Return both operands with texts read as the types of the other one, where they can do that."""
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
    travel = _of_facts(old, new) or _common(old.travel, new.travel)
    if travel is None:
        raise ConfigError(
            f"column {old.name} is {old.sql_type} in {labels[0]} and {new.sql_type} in {labels[1]}",
            remedy=f"leave it out: --exclude {old.name}; or read a file's text as another type: --format types",
        )
    found = replace(next((c for c in (new, old) if c.fact("zeros") == "loose"), new), travel=travel)
    bases = {old.base_type, new.base_type}
    base = next((one for one in bases if one in _TEXTS), "")
    return replace(found, facts=(*found.facts, (_AS, base))) if base and len(bases) > 1 else found


def _of_facts(old: Column, new: Column) -> Travel | None:
    """Return the form of columns of files without values, and of timestamps that Spark writes in UTC."""
    for one, other in ((old, new), (new, old)):
        if one.fact(EMPTY) or (one.fact(INT96) and other.travel.kind == "timestamptz"):
            return other.travel
    return None


def _common(old: Travel, new: Travel) -> Travel | None:
    if old == new:
        return new
    kinds = {old.kind, new.kind}
    if kinds <= {"boolean", *_WHOLE}:
        return Travel("int64")
    if kinds <= {"float32", "float64"}:
        return Travel("float64")
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
    travel, mine = common.travel, own.travel
    if common.fact(_AS):
        return _TEXTS[common.fact(_AS)].format(v=value)
    if travel.kind == "array" or (mine == travel and not (travel.kind == "decimal" and "zerofill" in own.sql_type)):
        return value
    if own.fact(EMPTY):
        return f"CAST({value} AS {duckdb_type(wire_type(travel))})"
    if own.fact(INT96) and travel.kind == "timestamptz":
        return f"{value} || 'Z'"
    if travel.kind == "int64":
        return f"CAST({value} AS BIGINT)"
    if travel.kind == "float64":
        return f"CAST({value} AS DOUBLE)"
    if travel.kind == "timestamp":
        return f"CASE WHEN LENGTH({value}) = 10 THEN {value} || 'T00:00:00.000000' ELSE {value} END"
    if travel.kind == "decimal":
        return f"CAST(CAST({value} AS DECIMAL({travel.precision}, {travel.scale})) AS VARCHAR)"
    if mine.kind in ("float32", "float64"):
        whole = f"CAST(CAST({value} AS DECIMAL(38, 0)) AS VARCHAR)"
        return (
            f"CASE WHEN ABS({value}) < 1e20 AND {value} = TRUNC({value}) THEN {whole} ELSE CAST({value} AS VARCHAR) END"
        )
    return f"CAST({value} AS VARCHAR)"
