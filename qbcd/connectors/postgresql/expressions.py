"""The column primitives of PostgreSQL: equality, digest, key identity and text of a value, as sqlglot trees.

All of them read the session pins (`session.PINS`) only where a type's text depends on settings. Server functions are
built as anonymous calls, so that sqlglot's idea of a function of that name cannot change them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlglot
from sqlglot import exp

from qbcd.connectors.expressions import Expressions
from qbcd.connectors.postgresql import types
from qbcd.model import Column

DIALECT = "postgres"
# Other than 0, at which the server's hash of NULL equals that of a float's 0 and of others.
ROW_SEED = 7046029254386353131
MIX_SEED = 8650415919381337933
BUCKET_SEED = 2862933555777941757
IDENTITY_SEEDS = (4417276706812531889, 2971215073598465231)
# A ROW holds 1664 columns at most.
COLUMNS_PER_HASH = 1600

# Binary forms that differ exactly when the type's own equality does. The server hashes 64-bit numbers and times folded
# to 32 bits, and numerics without sign; the hash functions of the other types read every bit.
_HASHABLE = {
    "int8": "int8send",
    "timestamp": "timestamp_send",
    "timestamptz": "timestamptz_send",
    "time": "time_send",
    "timetz": "timetz_send",
}
_SENDS = {
    **_HASHABLE,
    "bool": "boolsend",
    "int2": "int2send",
    "int4": "int4send",
    "oid": "oidsend",
    "date": "date_send",
    "uuid": "uuid_send",
    "inet": "inet_send",
    "cidr": "cidr_send",
    "name": "namesend",
    "text": "textsend",
    "varchar": "textsend",
    "char": "charsend",
    "macaddr": "macaddr_send",
    "macaddr8": "macaddr8_send",
    "money": "cash_send",
    "bit": "bit_send",
    "varbit": "varbit_send",
    "pg_lsn": "pg_lsn_send",
    "xid8": "xid8send",
}
# Text with a fixed number of digits, and the values that this text (and a typed sink) can hold.
_ISO = {
    "time": "to_char({v}, 'HH24:MI:SS.US')",
    "timestamp": "to_char({v}, 'YYYY-MM-DD\"T\"HH24:MI:SS.US')",
    "timestamptz": "to_char({v} AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
}
_HELD = {
    "decimal": "{v} <> 'NaN'::numeric",
    "date": "{v} BETWEEN '0001-01-01'::date AND '9999-12-31'::date",
    "timestamp": "{v} BETWEEN '0001-01-01 00:00:00'::timestamp AND '9999-12-31 23:59:59.999999'::timestamp",
    "timestamptz": "{v} BETWEEN '0001-01-01 00:00:00+00'::timestamptz AND '9999-12-31 23:59:59.999999+00'::timestamptz",
}
_ONE_DIMENSION = "coalesce(array_ndims({v}) = 1 AND array_lower({v}, 1) = 1, array_ndims({v}) IS NULL)"


def call(function: str, *arguments: exp.Expression) -> exp.Expression:
    """A call of a server function, verbatim."""
    return exp.Anonymous(this=function, expressions=[a.copy() for a in arguments])


def cast(value: exp.Expression, sql_type: str) -> exp.Expression:
    """``CAST(value AS sql_type)`` with the type's SQL verbatim."""
    return exp.Cast(this=value.copy(), to=exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=sql_type))


def collate(value: exp.Expression, collation: str) -> exp.Expression:
    """`value` under a collation given as SQL."""
    return exp.Collate(this=value, expression=exp.Var(this=collation))


def fragment(template: str, **parts: exp.Expression) -> exp.Expression:
    """An expression from SQL text whose ``{name}`` places take expressions."""
    tree = sqlglot.parse_one(template.format(**{name: f":{name}" for name in parts}), dialect=DIALECT)

    def fill(node: Any) -> Any:
        return parts[node.name].copy() if isinstance(node, exp.Placeholder) and node.name in parts else node

    filled: exp.Expression = tree.transform(fill)
    return filled


# -- equality and digest ---------------------------------------------------------------------------------------------
def comparison_form(column: Column, value: exp.Expression) -> exp.Expression:
    """The expression whose ``IS NOT DISTINCT FROM`` means "unchanged"."""
    base = column.base_type
    if base in types.OID_ALIASES:
        return cast(value, "oid")
    if base in types.STRINGS:
        # Bytes under any collation: what a deterministic one means anyway, and what users see under another.
        return collate(value.copy(), '"C"')
    if column.comparison == "typed":
        return value.copy()
    if base in ("bpchar", "char"):
        return _byte_form(column, value)
    return collate(canonical_text(column, value), '"C"')


def null_safe_distinct(column: Column, left: exp.Expression, right: exp.Expression) -> exp.Expression:
    """Compare the comparison forms of two values: true if they differ."""
    # IS DISTINCT FROM looks its operator up along search_path, which the pins set to pg_catalog.
    return exp.NullSafeNEQ(this=comparison_form(column, left), expression=comparison_form(column, right))


def row_digest(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    """64-bit digest: a hash of all columns' bits, mixed once more so that sums of digests see values swap rows.

    `hash_record_extended` alone is linear in the columns' hashes. Its text goes through a byte-wise 64-bit hash,
    since the server's hash of an int8 folds it to 32 bits first.
    """
    forms = [hashable_form(column, value) for column, value in columns]
    parts = [
        cast(call("hash_record_extended", call("ROW", *forms[i : i + COLUMNS_PER_HASH]), number(ROW_SEED)), "text")
        for i in range(0, len(forms), COLUMNS_PER_HASH)
    ]
    text = parts[0]
    for part in parts[1:]:
        text = exp.DPipe(this=exp.DPipe(this=text, expression=exp.Literal.string(",")), expression=part)
    return call("hashtextextended", text, number(MIX_SEED))


def hashable_form(column: Column, value: exp.Expression) -> exp.Expression:
    """The comparison form, or a binary form of equal meaning where the server's hash of its type loses bits."""
    form = comparison_form(column, value)
    if column.base_type in _HASHABLE:
        return call(_HASHABLE[column.base_type], form)
    if column.base_type == "numeric":
        fixed = column.travel.kind == "decimal" and not column.fact("loose")  # the server keeps the scale the same
        return call("numeric_send", form if fixed else call("trim_scale", form))
    return form


def number(value: int) -> exp.Expression:
    """An integer literal."""
    return exp.Literal.number(value)


# -- key identity ----------------------------------------------------------------------------------------------------
def key_identity(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    """Binary identity of a key; of several columns as a binary record, which carries each column's length."""
    identities = [_identity(column, value) for column, value in columns]
    if len(identities) == 1:
        return identities[0]
    return call("record_send", call("ROW", *identities))


def key_hash(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    """64-bit hash of a key's identity. One value in a record is hashed bit by bit, with nothing added."""
    return call("hash_record_extended", call("ROW", key_identity(columns)), number(BUCKET_SEED))


def key_leaf(last: Column, value: exp.Expression) -> exp.Expression:
    """The last byte of a key's identity. That of a record ends with its last column's, or with a length that is 0."""
    if last.base_type in types.INTEGERS:
        return cast(exp.BitwiseAnd(this=value, expression=number(255)), "int")
    padded = exp.DPipe(this=fragment("'\\x00'::bytea"), expression=_identity(last, value))
    return call("get_byte", padded, call("octet_length", _identity(last, value)))


def key_equal(column: Column, left: exp.Expression, right: exp.Expression) -> exp.Expression:
    """The column's own equality of two keys, also where its operator is not in pg_catalog."""
    schema = column.fact("operators")
    if schema:
        return exp.Operator(this=left.copy(), operator=f"{schema}.=", expression=right.copy())
    return exp.EQ(this=left.copy(), expression=right.copy())


def _identity(column: Column, value: exp.Expression) -> exp.Expression:
    base = column.base_type
    if base == "bytea":
        return cast(value, "bytea")
    if base == "numeric":
        return call("numeric_send", call("trim_scale", value))
    if base in types.FLOATS:
        # Adding 0 turns -0 into 0; all NaNs are equal, whatever their bits.
        nan, send = f"'NaN'::{base}", f"{base}send"
        return fragment(f"CASE WHEN {{v}} = {nan} THEN {send}({nan}) ELSE {send}({{v}} + 0::{base}) END", v=value)
    if base == "citext":
        # citext compares lower case under the database's default collation, whatever the column's.
        text = call("lower", collate(cast(value, "text"), '"default"'))
        return call("textsend", text)
    if base in (*types.STRINGS, "bpchar") and types.is_nondeterministic(column):
        halves = [
            call("int8send", call("hashtextextended", cast(value, "text"), number(seed))) for seed in IDENTITY_SEEDS
        ]
        return exp.DPipe(this=halves[0], expression=halves[1])
    if base == "bpchar":
        return call("textsend", cast(value, "text"))  # this cast strips the padding, as the type's equality does
    if column.fact("kind") == "e":
        return call("enum_send", value)
    return call(_SENDS[base], value)


# -- text ------------------------------------------------------------------------------------------------------------
def canonical_text(column: Column, value: exp.Expression) -> exp.Expression:
    """The database's own text of a value under the pins."""
    if column.base_type == "bpchar":
        return fragment("convert_from({b}, 'UTF8')", b=_byte_form(column, value))
    return cast(value, "text")


def _byte_form(column: Column, value: exp.Expression) -> exp.Expression:
    """The bytes of a padded or one-byte character, which a cast to text would strip or escape."""
    return call("bpcharsend" if column.base_type == "bpchar" else "charsend", value)


def travel_form(column: Column, value: exp.Expression) -> exp.Expression:
    """The value in wire form: booleans, numbers and bytes as themselves, everything else as text."""
    kind = column.travel.kind
    if kind == "array":
        return _array_form(column, value)
    if kind == "text" or kind == "decimal" or kind == "date":
        return canonical_text(column, value)  # dates are ISO under the pins
    if kind in _ISO:
        iso = fragment(_ISO[kind], v=value)
        if kind not in _HELD:
            return iso
        return fragment(f"CASE WHEN {_HELD[kind]} THEN {{iso}} ELSE {{v}}::text END", v=value, iso=iso)
    # A domain would reach JDBC as a type of its own.
    return value.copy() if column.sql_type == types.storage_type(column) else cast(value, types.storage_type(column))


def fits_typed_sink(column: Column, value: exp.Expression) -> exp.Expression | None:
    """Test if a typed sink can hold the value; None where it can hold every one."""
    kind = column.travel.kind
    if kind in _HELD:
        return fragment(f"coalesce({_HELD[kind]}, TRUE)", v=value)
    if kind != "array":
        return None
    element = fits_typed_sink(types.element_of(column), exp.column("x", table="e"))
    if element is None:
        return fragment(_ONE_DIMENSION, v=value)
    template = f"{_ONE_DIMENSION} AND NOT EXISTS (SELECT 1 FROM unnest({{v}}) AS e(x) WHERE NOT {{held}})"
    return exp.Paren(this=fragment(template, v=value, held=element))


def _array_form(column: Column, value: exp.Expression) -> exp.Expression:
    """A JSON array of the elements' JSON forms, or the array's own text as a JSON string."""
    item = _json_form(types.element_of(column), exp.column("x", table="e"))
    return fragment(
        f"CASE WHEN {{v}} IS NULL THEN NULL WHEN {_ONE_DIMENSION} THEN "
        "(SELECT '[' || coalesce(string_agg(coalesce({item}, 'null'), ',' ORDER BY e.n), '') || ']' "
        "FROM unnest({v}) WITH ORDINALITY AS e(x, n)) ELSE to_json({v}::text)::text END",
        v=value,
        item=item,
    )


def _json_form(element: Column, value: exp.Expression) -> exp.Expression:
    kind = element.travel.kind
    if kind in ("boolean", "int16", "int32", "int64"):
        return cast(value, "text")
    if kind in ("float32", "float64"):
        special = ", ".join(f"'{word}'::{element.base_type}" for word in ("NaN", "Infinity", "-Infinity"))
        # Parsers read "-0" as the integer 0.
        template = (
            f"CASE WHEN {{v}} IN ({special}) THEN to_json({{t}})::text WHEN {{t}} = '-0' THEN '-0.0' ELSE {{t}} END"
        )
        return fragment(template, v=value, t=cast(value, "text"))
    if kind == "binary":
        return fragment("to_json(replace(encode({v}, 'base64'), chr(10), ''))::text", v=value)
    return fragment("to_json({t})::text", t=travel_form(element, value))


class PostgresExpressions(Expressions):
    """The functions above."""

    null_safe_distinct = staticmethod(null_safe_distinct)
    row_digest = staticmethod(row_digest)
    key_identity = staticmethod(key_identity)
    key_hash = staticmethod(key_hash)
    key_equal = staticmethod(key_equal)
    canonical_text = staticmethod(canonical_text)
    travel_form = staticmethod(travel_form)
    fits_typed_sink = staticmethod(fits_typed_sink)
