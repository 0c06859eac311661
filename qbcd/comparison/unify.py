"""Types of two operands made the same: values of one column are compared in one wire form."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from qbcd.comparison.operands import Operand
from qbcd.errors import ConfigError
from qbcd.local.query import Query
from qbcd.model import Column, Travel

_WHOLE = {"int16": 16, "int32": 32, "int64": 64}
_DIGITS = 19  # of a whole number of 64 bits
_MOST = 38


def common_column(old: Column, new: Column, labels: tuple[str, str]) -> Column:
    """Return the column in which values of both are compared.

    Raises:
        ConfigError: Their types have no common form.
    """
    travel = _common(old.travel, new.travel)
    if travel is None:
        raise ConfigError(
            f"column {old.name} is {old.sql_type} in {labels[0]} and {new.sql_type} in {labels[1]}",
            remedy=f"leave it out: --exclude {old.name}; or read a file's text as another type: --format types",
        )
    loose = next((c for c in (new, old) if c.fact("zeros") == "loose"), new)
    return replace(loose, travel=travel)


def _common(old: Travel, new: Travel) -> Travel | None:
    if old == new:
        return new
    kinds = {old.kind, new.kind}
    if kinds <= _WHOLE.keys():
        return Travel("int64")
    if kinds <= {"float32", "float64"}:
        return Travel("float64")
    if kinds <= {"decimal", *_WHOLE, "uint64"}:
        whole = max(one.precision - one.scale if one.kind == "decimal" else _DIGITS + 1 for one in (old, new))
        scale = max(old.scale, new.scale)
        return Travel("decimal", min(_MOST, whole + scale), scale) if whole + scale <= _MOST else None
    if "text" in kinds and "array" not in kinds and "binary" not in kinds:
        return Travel("text")
    return None


def in_common(rows: Query, own: Sequence[Column], common: Sequence[Column]) -> Query:
    """Return rows of one operand with the wire values of the common columns."""
    changed = {
        f"c{i}": _cast(f"c{i}", mine.travel, one.travel)
        for i, (mine, one) in enumerate(zip(own, common, strict=True))
        if mine.travel != one.travel
    }
    if not changed:
        return rows
    listed = ", ".join(f"{changed.get(name, name)} AS {name}" for name in rows.columns)
    return Query(f"SELECT {listed} FROM ({rows.sql})", rows.columns)


def _cast(value: str, own: Travel, common: Travel) -> str:
    if common.kind == "int64":
        return f"CAST({value} AS BIGINT)"
    if common.kind == "float64":
        return f"CAST({value} AS DOUBLE)"
    if common.kind == "decimal":
        return f"CAST(CAST({value} AS DECIMAL({common.precision}, {common.scale})) AS VARCHAR)"
    return f"CAST({value} AS VARCHAR)"


def types_for(one: Operand, other: Operand) -> dict[str, Travel]:
    """Return the types of `other` for columns that are text in `one`."""
    texts = {c.name for c in one.columns if c.travel.kind == "text"}
    return {c.name: c.travel for c in other.columns if c.name in texts and c.travel.kind != "text"}
