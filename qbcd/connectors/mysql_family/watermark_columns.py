"""Watermarks and delete flags over columns of MariaDB and MySQL."""

from __future__ import annotations

import re
from datetime import timedelta

from sqlglot import exp

from qbcd.connectors.mysql_family import expressions, types
from qbcd.connectors.mysql_family.statements import literal_text
from qbcd.model import Column

_KINDS = {"timestamp": "zoned", "datetime": "zoneless", "date": "zoneless"} | {
    base: "counter" for base in types.INTEGERS if base != "year"
}
_PRECISION = re.compile(r"\((\d)\)")
_TRUTHS = re.compile(r"tinyint\(1\)|bit\(1\)", re.IGNORECASE)
_FIXED = "date_format({v}, '%Y-%m-%d %H:%i:%s.%f')"


def mark_kind(column: Column) -> str:
    """``zoned``, ``zoneless``, ``counter`` or an empty string."""
    if column.base_type == "decimal":
        return "counter" if column.travel.kind == "decimal" and column.travel.scale == 0 else ""
    return _KINDS.get(column.base_type, "")


def mark_unit(column: Column) -> timedelta:
    """The step between two neighbouring values: by the type's precision, a day, or zero."""
    if mark_kind(column) == "counter":
        return timedelta(0)
    if column.base_type == "date":
        return timedelta(days=1)
    digits = _PRECISION.search(column.sql_type)
    return timedelta(microseconds=10 ** (6 - int(digits[1]))) if digits else timedelta(seconds=1)


def mark(column: Column, text: exp.Expression) -> exp.Expression:
    """A watermark from its text, with all six digits of a second, whatever the column keeps."""
    if column.base_type == "decimal":
        return expressions.sql("cast({v} AS DECIMAL(65, 0))", v=text)
    if column.base_type in types.INTEGERS:
        return expressions.sql(f"cast({{v}} AS {'UNSIGNED' if column.fact('unsigned') else 'SIGNED'})", v=text)
    if column.base_type == "timestamp":
        # Compared in the session's zone, which the pins set to UTC; neither server reads a zone out of a text.
        return expressions.sql("convert_tz(cast({v} AS DATETIME(6)), '+00:00', @@session.time_zone)", v=text)
    return expressions.sql("cast({v} AS DATETIME(6))", v=text)


def mark_text(column: Column, value: exp.Expression) -> exp.Expression:
    """A value as text that `mark` takes back."""
    if mark_kind(column) == "counter":
        return expressions.sql("cast({v} AS CHAR)", v=value)
    if column.base_type == "timestamp":
        value = expressions.sql("convert_tz({v}, @@session.time_zone, '+00:00')", v=value)
    return expressions.sql(_FIXED, v=value)


def flag_problem(column: Column, literal: bool | int | str) -> str:
    """Why the column is no delete flag by this literal, or an empty string."""
    said = f"{column.sql_type} cannot be compared with {literal!r}"
    if column.base_type in types.INTEGERS or column.base_type == "bit" or mark_kind(column) == "counter":
        if isinstance(literal, bool):
            return "" if _TRUTHS.match(column.sql_type) else f"{said}: a flag that is a number says a whole number"
        return "" if isinstance(literal, int) else f"{said}: a flag that is a number says a whole number"
    if column.base_type not in types.STRINGS and column.base_type != "enum":
        return f"{column.sql_type} is no type of a delete flag: those are boolean, whole numbers and texts"
    if not isinstance(literal, str):
        return f"{said}: a flag that is a text says a text"
    longest = column.fact("characters")
    return f"{column.sql_type} cannot hold {literal!r}" if longest and len(literal) > int(longest) else ""


def flag_form(column: Column, value: exp.Expression, literal: bool | int | str) -> exp.Expression:
    """Whether the flag says deleted; never NULL.

    Raises:
        ValueError: The literal does not fit; see `flag_problem`.
    """
    problem = flag_problem(column, literal)
    if problem:
        raise ValueError(f"delete flag {column.name}: {problem}")
    if isinstance(literal, bool):
        return expressions.sql(f"({{v}} IS {'TRUE' if literal else 'FALSE'})", v=value)
    said = str(literal) if isinstance(literal, int) else literal_text(literal)
    return expressions.sql(f"coalesce({{v}} = {said.replace('{', '{{').replace('}', '}}')}, FALSE)", v=value)


def missing_column(table: str, name: str, kind: str) -> str:
    """ALTER TABLE for a column that is missing; the server itself moves the time-stamp at every UPDATE."""
    now = "CURRENT_TIMESTAMP(6)"
    types = {
        "stamp": f"timestamp(6) NOT NULL DEFAULT {now} ON UPDATE {now}",
        "flag": "boolean NOT NULL DEFAULT false",
        "checksum": "bigint",
    }
    return f"ALTER TABLE {table} ADD COLUMN {name} {types[kind]}"
