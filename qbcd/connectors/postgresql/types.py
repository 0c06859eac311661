"""Types of PostgreSQL: how each is compared, how it travels, whether it can be a key.

All of this is decided once, from the catalog's row of a column, and stored in :class:`~qbcd.model.Column`. Later code
only reads it. `base_type` is the catalog's name of the type below all domains (``int8``, ``_text`` for an array). A
type outside pg_catalog has its schema (``public.mood``), except `citext`, which is recognized by its extension.

Facts of a column (`Column.fact`):

=================  ==================================================================================================
``storage_type``   SQL of the type below all domains, with its modifier
``kind``           the catalog's typtype of that type: b base, c composite, e enum, r range, m multirange, p pseudo
``nondeterministic``  ``yes`` if different bytes may be equal under the collation
``uncollated``     ``yes`` if a query computes the texts from several collations, so that they cannot be compared
``loose``          ``yes`` if the server does not enforce the type's modifier (views, foreign tables)
``zeros``          ``loose`` if equal numbers may have a different number of zeros after the point
``operators``      SQL of the schema with the type's operators, if it is not pg_catalog
``collated``       rules of a collation that is not the server's own; a user can change them under the same name
``labels``         labels of an enum in order, as a JSON array; also of enums and composites within a user's type
``digested``       base type whose digest and key identity its values have, since the column was widened from it
``element``        base type of an array's elements;  ``element_type`` their SQL, ``element_kind`` their typtype
=================  ==================================================================================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from qbcd.connectors.facts import Alike
from qbcd.model import Column, Comparison, Travel, TravelKind

INTEGERS: Mapping[str, TravelKind] = {"int2": "int16", "int4": "int32", "int8": "int64"}
FLOATS: Mapping[str, TravelKind] = {"float4": "float32", "float8": "float64"}
TIMES: Mapping[str, TravelKind] = {
    "date": "date",
    "time": "time",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
}
PLAIN: Mapping[str, TravelKind] = {**INTEGERS, **FLOATS, **TIMES, "bool": "boolean", "bytea": "binary"}
STRINGS = frozenset({"text", "varchar", "name"})
# Aliases of oid. Their text is a name, which a rename changes; their equality is that of the number.
OID_ALIASES = frozenset(
    {
        "regclass",
        "regcollation",
        "regconfig",
        "regdatabase",
        "regdictionary",
        "regnamespace",
        "regoper",
        "regoperator",
        "regproc",
        "regprocedure",
        "regrole",
        "regtype",
    }
)
# Types with equality as users see it: docs/design/architecture.md#reading-5.
TYPED = frozenset({*PLAIN, *STRINGS, *OID_ALIASES, "numeric", "timetz", "uuid", "inet", "cidr", "oid"})
# Types whose equality ignores differences that users see.
HIDING = frozenset({"citext", "bpchar", "char"})
# Elements with which a one-dimensional array travels as an array; other arrays travel as text.
ELEMENTS = frozenset({*PLAIN, *STRINGS, "numeric", "timetz", "uuid", "inet", "cidr", "bpchar", "citext"})
# Key types with a binary form that is equal exactly for equal keys (see `expressions.key_identity`).
KEYS = frozenset(
    {
        *PLAIN,
        *STRINGS,
        *HIDING,
        "numeric",
        "timetz",
        "uuid",
        "inet",
        "cidr",
        "oid",
        "macaddr",
        "macaddr8",
        "money",
        "bit",
        "varbit",
        "pg_lsn",
        "xid8",
    }
)

MAX_DECIMAL_DIGITS = 38
_PROVIDERS = {"b": "builtin", "c": "libc", "i": "icu"}
# The text of these types cannot be cast back, so that an event could not restore the value.
_NO_INPUT: Mapping[str, str] = {
    "pg_node_tree": "an internal parse tree",
    "pg_ndistinct": "internal statistics",
    "pg_dependencies": "internal statistics",
    "pg_mcv_list": "internal statistics",
    "pg_brin_bloom_summary": "an internal index entry",
    "pg_brin_minmax_multi_summary": "an internal index entry",
    "pg_ddl_command": "an internal parse tree",
    "gtsvector": "an internal index entry",
    "aclitem": "an access right, which names roles of this server only",
}


def make_column(row: Mapping[str, Any]) -> Column:
    """Return the column of a row of the catalog query; `catalog.COLUMNS` lists its fields."""
    facts = {
        "storage_type": row["storage_type"],
        "kind": row["kind"],
        "loose": "yes" if row["loose"] else "",
        "zeros": "loose" if row["base_type"] == "numeric" else "",
        "nondeterministic": "" if row["deterministic"] else "yes",
        "operators": row["operators"] or "",
        "element": row["element"] or "",
        "element_type": row["element_type"] or "",
        "element_kind": row["element_kind"] or "",
        "uncollated": "yes" if row.get("uncollated") else "",
        "collated": _collated(row.get("collated")),
        "labels": json.dumps(row["labels"]) if row.get("labels") else "",
    }
    column = Column(
        name=row["name"],
        sql_type=row["sql_type"],
        base_type=row["base_type"],
        nullable=bool(row["nullable"]),
        collation=row["collation"] or "",
        comparison="text",
        travel=Travel("text"),
        width=int(row["width"] or 0),
        facts=tuple(sorted((name, value) for name, value in facts.items() if value)),
    )
    travel = _travel(column, int(row["modifier"]))
    return replace(column, comparison=_comparison(column), travel=travel)


def _collated(described: Mapping[str, Any] | None) -> str:
    """Return the rules of a user's own collation; empty for a collation of the server.

    They are the same text in every release.
    """
    if not described:
        return ""
    locale = described.get("colllocale") or described.get("colliculocale") or described.get("collcollate") or ""
    how = "" if described["collisdeterministic"] else "nondeterministic"
    provider = _PROVIDERS.get(described["collprovider"], described["collprovider"])
    return " ".join(filter(None, (provider, locale, described.get("collicurules"), how)))


def storage_type(column: Column) -> str:
    """Return SQL of the column's type below all domains."""
    return column.fact("storage_type") or column.sql_type


def compares_bytes(column: Column) -> bool:
    """Return True for texts under a deterministic collation, enums, and arrays of either."""
    if column.fact("operators") or column.fact("uncollated") or is_nondeterministic(column):
        return False
    if is_array(column):
        return column.fact("element") in STRINGS or column.fact("element_kind") == "e"
    return column.base_type in STRINGS or column.fact("kind") == "e"


def is_nondeterministic(column: Column) -> bool:
    """Return True if strings with different bytes may be equal under the column's collation."""
    return column.fact("nondeterministic") == "yes"


def is_array(column: Column) -> bool:
    """Return True if the column is an array; `oidvector` and `int2vector` are none."""
    return bool(column.fact("element"))


def element_of(column: Column) -> Column:
    """Return a column for the elements of an array column that travels as an array."""
    travel = column.travel.element or Travel("text")
    base, sql_type = column.fact("element"), column.fact("element_type")
    facts = (("kind", column.fact("element_kind")), ("storage_type", sql_type))
    return Column(column.name, sql_type, base, True, "", "text", travel, facts=facts)


def type_problem(column: Column) -> str:
    """Return why values of `column` cannot be captured, or an empty string."""
    for base in (column.base_type, column.fact("element")):
        if base in _NO_INPUT:
            return f"type {column.sql_type} is {_NO_INPUT[base]}; its text cannot be read back"
    if column.fact("uncollated"):
        return 'the collation of its texts is not defined; write .. COLLATE "C", or another'
    if column.fact("kind") == "p":
        return f"pseudo-type {column.sql_type} has no values of its own"
    return ""


def key_problem(column: Column) -> str:
    """Return why `column` cannot be part of a key; the caller checks NULL and uniqueness."""
    problem = type_problem(column)
    if problem or column.base_type in KEYS or column.fact("kind") == "e":
        return problem
    if is_array(column) or column.fact("kind") in ("c", "r", "m") or column.base_type in ("jsonb", "interval"):
        return f"equal {column.sql_type} values can have different texts, and qbcd has no binary identity for them"
    return f"{column.sql_type} has no total order that qbcd knows"


def _comparison(column: Column) -> Comparison:
    base = column.base_type
    if base in HIDING or (base in STRINGS and is_nondeterministic(column)):
        return "bytes"
    return "typed" if base in TYPED else "text"


def _travel(column: Column, modifier: int) -> Travel:
    if not is_array(column):
        return _scalar_travel(column.base_type, modifier)
    element = column.fact("element")
    if element in ELEMENTS or column.fact("element_kind") == "e":
        return Travel("array", element=_scalar_travel(element, modifier))
    return Travel("text")


def _scalar_travel(base: str, modifier: int) -> Travel:
    if base == "numeric" and modifier >= 4:
        precision, scale = numeric_modifier(modifier)
        if precision <= MAX_DECIMAL_DIGITS and 0 <= scale <= precision:
            return Travel("decimal", precision, scale)
    return Travel(PLAIN.get(base, "text"))


def numeric_modifier(modifier: int) -> tuple[int, int]:
    """Return (precision, scale) from the type modifier of a numeric.

    The scale is a signed 11-bit number.
    """
    packed = modifier - 4
    return (packed >> 16) & 0xFFFF, ((packed & 0x7FF) ^ 1024) - 1024


def exact_column(column: Column) -> Column:
    """See the contract. The scale of equal numbers, and the sign of zero, count too."""
    if column.base_type == "numeric":
        facts = tuple(fact for fact in column.facts if fact[0] != "loose")
        return replace(column, travel=replace(column.travel, kind="decimal"), facts=facts)
    return replace(column, comparison="text") if column.base_type in ("float4", "float8") else column


def equality_class(column: Column) -> Alike:
    """See :meth:`~qbcd.connectors.queries.SupportsIncrementalQueries.equality_class`."""
    if column.fact("operators"):
        return Alike.OWN
    if column.fact("nondeterministic"):
        return Alike.COLLATED
    padded = column.base_type == "bpchar" and not column.fact("loose") and "(" in column.fact("storage_type")
    typed = column.comparison == "typed" and exact_column(column) == column
    return Alike.SAME if typed or padded or column.fact("kind") == "e" else Alike.EQUAL


def text_equality(column: Column) -> Literal["exact", "padded", "uuid", ""]:
    """See the contract. Other types than texts refuse most texts as input."""
    if column.base_type == "uuid":
        return "uuid"
    if column.base_type not in ("text", "varchar", "bpchar") or equality_class(column) is not Alike.SAME:
        return ""
    return "padded" if column.base_type == "bpchar" else "exact"
