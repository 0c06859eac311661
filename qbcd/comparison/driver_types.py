"""Pairs of types of which a JDBC driver reads at least one.

A driver's column often travels as the database's own text, and two databases write equal values in other texts. So a
pair is compared only if both columns mean the same, in one form of the text, which each value must have.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from qbcd.comparison.jdbc_operand import PRODUCT
from qbcd.errors import ConfigError, UnsupportedType
from qbcd.local.database import LocalDatabase
from qbcd.local.query import Query
from qbcd.model import Column, Travel
from qbcd.sites.jdbc.source_sql import AS_TEXT, READ

FORM, PATTERN = "as", "pattern"  # facts of a common column: SQL of what is compared of {v}, and what {v} must match
_MOMENT = r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d"
_FRACTION = "RTRIM(SPLIT_PART({v}, '.', 2), '0')"
_DIGITS = "REGEXP_REPLACE(REGEXP_REPLACE({v}, '(\\.[0-9]*?)0+$', '\\1'), '\\.$', '')"


@dataclass(frozen=True)
class Meaning:
    """The meaning of a column that travels as text.

    Attributes:
        names: Names of such types, as a regular expression.
        pattern: What a text of a value must match.
        form: SQL of its form that is equal for equal values, with ``{v}`` for the text.
        travels: Kinds of travelling values that mean the same.
    """

    names: str
    pattern: str
    form: str
    travels: tuple[str, ...] = ()


_MEANINGS = {
    "number": Meaning(
        r"NUMBER|NUMERIC|DECIMAL|DEC|DECFLOAT|BIGNUMERIC|SMALLDECIMAL|U?HUGEINT|U?BIGINT|U?INT(64|128|256)|FIXED",
        r"-?([0-9]+\.?[0-9]*|\.[0-9]+)",
        "",  # see _number
        ("decimal", "int16", "int32", "int64", "uint64"),
    ),
    "timestamp": Meaning(
        r"TIMESTAMP(_NS|_MS|_S|_NTZ|NTZ)?|DATETIME(2|64)?|TIMESTAMP WITHOUT TIME ZONE",
        rf"{_MOMENT}(\.\d+)?|-?infinity",
        f"CASE WHEN {{v}} LIKE '%infinity' THEN {{v}} ELSE REPLACE(SPLIT_PART({{v}}, '.', 1), ' ', 'T') || '.' "
        f"|| RPAD({_FRACTION}, CAST(GREATEST(6, LENGTH({_FRACTION})) AS INTEGER), '0') END",
        ("timestamp",),
    ),
    "timestamptz": Meaning(
        r"TIMESTAMP WITH( LOCAL)? TIME ZONE|TIMESTAMP_?(L?TZ)|DATETIMEOFFSET",
        rf"{_MOMENT}(\.\d{{1,6}}0*)?(Z|[+-]\d\d(:?\d\d)?)",
        "STRFTIME(CAST({v} AS TIMESTAMPTZ) AT TIME ZONE 'UTC', '%Y-%m-%dT%H:%M:%S.%fZ')",
        ("timestamptz",),
    ),
    "date": Meaning("DATE", r"\d{4}-\d\d-\d\d|-?infinity", "{v}", ("date",)),
    "time": Meaning("TIME|TIME WITHOUT TIME ZONE", r"\d\d:\d\d:\d\d(\.\d+)?", _DIGITS, ("time",)),
    "uuid": Meaning("UUID|UNIQUEIDENTIFIER", r"[0-9a-fA-F-]{36}", "LOWER({v})"),
    "characters": Meaning("(N|BP)?CHAR|CHARACTER", "", "RTRIM({v}, ' ')"),
    "text": Meaning(
        r"(N|LONG|LONGN)?VARCHAR2?|CHARACTER VARYING|(TINY|MEDIUM|LONG|N)?TEXT|STRING|(N|CHARACTER LARGE OB)?CLOB"
        r"|CHARACTER LARGE OBJECT|NAME|CITEXT|VARCHAR_IGNORECASE|BLOB SUB_TYPE (1|TEXT)",
        "",
        "{v}",
    ),
}
_EXACT = frozenset({"boolean", "int16", "int32", "int64", "uint64", "decimal"})


def is_of_driver(column: Column) -> bool:
    """Return True if a JDBC driver alone reads a column."""
    return bool(column.fact(READ))


def common_of_driver(old: Column, new: Column, labels: tuple[str, str], usual: Travel | None) -> Column:
    """Return the column in which values of two columns are compared.

    A driver reads at least one.

    Args:
        usual: The form in which values that do not travel as text are compared; None if there is none.

    Raises:
        ConfigError: Equal values may have other texts, or values of other types are never equal.
    """
    kinds = {old.travel.kind, new.travel.kind}
    hexadecimal = [one for one in (old, new) if one.fact(READ).startswith("hex(")]
    if hexadecimal and kinds == {"text", "binary"}:
        return replace(new, travel=Travel("binary"))
    if "text" not in kinds:
        return _typed(old, new, labels, usual)
    same = old.fact(PRODUCT) == new.fact(PRODUCT) != "" and old.sql_type == new.sql_type
    meaning = _common_meaning(old, new)
    if meaning is None and not same:
        raise _refused(old, new, labels, "equal values may have other texts")
    found = replace(new, travel=Travel("text"))
    if meaning is None:
        return found
    form = _number() if meaning.form == "" else meaning.form
    travels = [one.travel for one in (old, new) if one.travel.kind in meaning.travels]
    if meaning.travels and travels and travels[0].kind in ("timestamp", "timestamptz", "date", "time"):
        found = replace(found, travel=travels[0])
    facts = (*found.facts, *(((FORM, form),) if form != "{v}" else ()))
    return replace(found, facts=(*facts, *(((PATTERN, meaning.pattern),) if meaning.pattern else ())))


def _typed(old: Column, new: Column, labels: tuple[str, str], usual: Travel | None) -> Column:
    kinds = {old.travel.kind, new.travel.kind}
    if kinds == {"float32", "float64"}:
        return replace(new, travel=Travel("float64"))  # a float of 32 bits is exactly one of 64
    if usual is None or (kinds & {"float32", "float64"} and kinds & _EXACT):
        raise _refused(old, new, labels, "a value of one type may not be exactly one of the other")
    return replace(new, travel=usual)


def _common_meaning(old: Column, new: Column) -> Meaning | None:
    """Return what both columns mean; None if they do not mean the same."""
    found = [_meaning_of(one) for one in (old, new)]
    if set(found) == {"text", "characters"}:
        return _MEANINGS["characters"]
    for one, other, name in ((old, new, found[1]), (new, old, found[0])):
        if one.travel.kind != "text":
            fits = other.travel.kind == "text" and name and one.travel.kind in _MEANINGS[name].travels
            return _MEANINGS[name] if fits and name else None
    return _MEANINGS[found[0]] if found[0] and found[0] == found[1] else None


def _meaning_of(column: Column) -> str:
    """Return the name of what a column means that travels as text; empty if it is not known."""
    if is_of_driver(column) and not column.fact(AS_TEXT) and column.fact(READ) != "{c}":
        return "text" if column.base_type.upper() in ("TEXT", "VARCHAR", "CHAR", "CLOB") else ""
    bare = re.sub(r"\s*\([^)]*\)", "", column.base_type).strip().upper()
    return next((name for name, one in _MEANINGS.items() if re.fullmatch(one.names, bare)), "")


def _number() -> str:
    """Return SQL of the text of a number without zeros that say nothing."""
    digits = f"CASE WHEN CONTAINS({{v}}, '.') THEN {_DIGITS} ELSE {{v}} END"
    plain = "CASE WHEN {v} LIKE '.%' THEN '0' || {v} WHEN {v} LIKE '-.%' THEN '-0' || SUBSTR({v}, 2) ELSE {v} END"
    whole = "REGEXP_REPLACE({v}, '^(-?)0+([0-9])', '\\1\\2')"
    nested = digits
    for outer in (plain, whole):
        nested = outer.replace("{v}", f"({nested})")
    return f"CASE WHEN ({nested}) = '-0' THEN '0' ELSE {nested} END"


def _refused(old: Column, new: Column, labels: tuple[str, str], why: str) -> ConfigError:
    types = f"{old.sql_type} in {labels[0]} and {new.sql_type} in {labels[1]}"
    remedy = f"leave it out: --exclude {old.name}; or compare views that give both one type"
    return ConfigError(f"column {old.name} is {types}: {why}", remedy=remedy)


def check_values(
    database: LocalDatabase, sides: Sequence[tuple[Query, Sequence[Column]]], common: Sequence[Column]
) -> None:
    """Check that each text has the form in which it is compared.

    Raises:
        UnsupportedType: One has another.
    """
    patterns = [(i, one) for i, one in enumerate(common) if one.fact(PATTERN)]
    for rows, own in sides:
        texts = [(i, one) for i, one in patterns if own[i].travel.kind == "text"]
        if not texts:
            continue
        counts = ", ".join(
            f"COUNT(*) FILTER (WHERE NOT REGEXP_FULL_MATCH(TRIM(c{i}), '{one.fact(PATTERN)}'))" for i, one in texts
        )
        [found] = database.connection.execute(f"SELECT {counts} FROM ({rows.sql})").fetchall()
        for (i, one), count in zip(texts, found, strict=True):
            if count:
                raise UnsupportedType(
                    f"column {one.name}: {count:,} values of type {own[i].sql_type} have texts that cannot be compared",
                    remedy=f"leave it out: --exclude {one.name}; or compare a view that gives it another type",
                )
