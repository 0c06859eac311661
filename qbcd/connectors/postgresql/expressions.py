"""The column primitives of PostgreSQL, as sqlglot trees: equality, digest, identity, text.

They depend on the session pins (`session.PINS`) only if the text of a type depends on settings. Server functions are
anonymous calls, so that sqlglot cannot translate them by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlglot
from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.dialects import loaded
from qbcd.connectors.expressions import Expressions, SupportsWideDigests
from qbcd.connectors.postgresql import sets, types
from qbcd.model import Column, Travel
from qbcd.model.plans import HALF
from qbcd.model.value_limits import ValueClass

DIALECT = loaded("postgres")
# Not 0: with 0 the server's hash of NULL equals that of a float's 0 and of other values.
ROW_SEED = 7046029254386353131
MIX_SEED = 8650415919381337933
WIDE_SEEDS = ((ROW_SEED, MIX_SEED), (1442695040888963407, 6364136223846793005))
BUCKET_SEED = 2862933555777941757
IDENTITY_SEEDS = (4417276706812531889, 2971215073598465231)
# A ROW has at most 1664 columns.
COLUMNS_PER_HASH = 1600

# Binary forms that are equal exactly for equal values. The server's own hash folds 64-bit numbers and times to 32 bits,
# and ignores the sign of numerics; the hash functions of other types read every bit.
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
_RANGES = {"int2": "-32768 AND 32767", "int4": "-2147483648 AND 2147483647"}
# Text with a fixed number of digits, and the values that this text and a typed sink can hold.
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
    """Return a call of a server function, verbatim."""
    return exp.Anonymous(this=function, expressions=[a.copy() for a in arguments])


def cast(value: exp.Expression, sql_type: str) -> exp.Expression:
    """Return ``CAST(value AS sql_type)`` with the type's SQL verbatim."""
    return exp.Cast(this=value.copy(), to=exp.DataType(this=exp.DataType.Type.USERDEFINED, kind=sql_type))


def collate(value: exp.Expression, collation: str) -> exp.Expression:
    """Return `value` under a collation given as SQL."""
    return exp.Collate(this=value, expression=exp.Var(this=collation))


def fragment(template: str, **parts: exp.Expression) -> exp.Expression:
    """Return an expression from SQL text whose ``{name}`` places take expressions."""
    tree = sqlglot.parse_one(template.format(**{name: f":{name}" for name in parts}), dialect=DIALECT)

    def fill(node: Any) -> Any:
        return parts[node.name].copy() if isinstance(node, exp.Placeholder) and node.name in parts else node

    filled: exp.Expression = tree.transform(fill)
    return filled


# -- equality and digest ---------------------------------------------------------------------------------------------
def comparison_form(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the expression whose ``IS NOT DISTINCT FROM`` means "unchanged"."""
    base = column.base_type
    if base in types.OID_ALIASES:
        return cast(value, "oid")
    value = _in_one_order(column, value)
    if base in types.STRINGS:
        # Bytes under any collation: deterministic collations compare bytes, and with others users see different bytes.
        return collate(value.copy(), '"C"')
    if column.comparison == "typed":
        return value.copy()
    if base in ("bpchar", "char"):
        return _byte_form(column, value)
    return collate(_text(column, value), '"C"')


def _in_one_order(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the value of a set with its elements in one order; of other columns the value."""
    form = sets.canonical_form(column)
    separator = {"s": exp.Literal.string(column.travel.separator)} if column.travel.separator else {}
    return fragment(form, v=value, **separator) if form else value.copy()


def null_safe_distinct(column: Column, left: exp.Expression, right: exp.Expression) -> exp.Expression:
    """Compare the comparison forms of two values: true if they differ."""
    # IS DISTINCT FROM finds its operator by search_path, which the pins set to pg_catalog.
    return exp.NullSafeNEQ(this=comparison_form(column, left), expression=comparison_form(column, right))


def row_digest(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    """Return a 64-bit digest: a hash of all columns' bits, mixed a second time."""
    return _mixed_hash(columns, ROW_SEED, MIX_SEED)


def wide_digest(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    """Return two such hashes with different seeds as one number."""
    high, low = (_mixed_hash(columns, *seeds) for seeds in WIDE_SEEDS)
    whole = f"({{high}} & {HALF - 1})::numeric * {HALF} + ({{low}} & {HALF - 1})"
    return fragment(f"({whole})::numeric(38, 0)", high=high, low=low)


def _mixed_hash(columns: Sequence[tuple[Column, exp.Expression]], row_seed: int, mix_seed: int) -> exp.Expression:
    """Return a 64-bit hash of the columns.

    `hash_record_extended` alone is linear in the columns' hashes: sums of it would not change if two rows swap a value.
    Its result is hashed as text, since the server's hash of an int8 folds it to 32 bits first.
    """
    forms = [hashable_form(column, value) for column, value in columns]
    parts = [
        cast(call("hash_record_extended", call("ROW", *forms[i : i + COLUMNS_PER_HASH]), number(row_seed)), "text")
        for i in range(0, len(forms), COLUMNS_PER_HASH)
    ]
    text = parts[0]
    for part in parts[1:]:
        text = exp.DPipe(this=exp.DPipe(this=text, expression=exp.Literal.string(",")), expression=part)
    for i, (column, value) in enumerate(columns):
        if _is_folded(column):
            beyond = f"coalesce(CASE WHEN {{v}} NOT BETWEEN {_RANGES['int4']} THEN ';{i}:' || {{v}}::text END, '')"
            text = exp.DPipe(this=text, expression=fragment(beyond, v=value))
    return call("hashtextextended", text, number(mix_seed))


def hashable_form(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the comparison form, or an equivalent binary form if its type's hash loses bits."""
    form = comparison_form(column, value)
    if column.base_type in _HASHABLE and not _is_folded(column):
        return call(_HASHABLE[column.base_type], form)
    if column.base_type == "numeric":
        fixed = column.travel.kind == "decimal" and not column.fact("loose")  # all values have the same scale
        return call("numeric_send", form if fixed else call("trim_scale", form))
    return form


def _is_folded(column: Column) -> bool:
    """Return True for a bigint that was widened from a smaller integer.

    The server's hash of a value that fits into an integer is that of the integer, so that digests stay as they are.
    Other values are folded to 32 bits by it, so `row_digest` adds them as text.
    """
    return column.base_type == "int8" and bool(column.fact("digested"))


def digest_form(column: Column) -> str:
    """Strings enter by their bytes, whatever their length and collation."""
    if column.base_type in types.OID_ALIASES:
        return ""
    if column.base_type in types.STRINGS:
        return f"string {column.travel.unordered} {column.travel.separator}".strip()
    return repr((column.base_type, types.storage_type(column), column.travel, column.fact("loose")))


def number(value: int) -> exp.Expression:
    """Return an integer literal."""
    return exp.Literal.number(value)


# -- key identity ----------------------------------------------------------------------------------------------------
def key_identity(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    """Return the binary identity of a key.

    With several columns it is a binary record, which contains the length of each.
    """
    identities = [_identity(column, value) for column, value in columns]
    if len(identities) == 1:
        return identities[0]
    return call("record_send", call("ROW", *identities))


def key_hash(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    """Return a 64-bit hash of a key's identity.

    A record with one value is hashed by all bits of that value alone.
    """
    return call("hash_record_extended", call("ROW", key_identity(columns)), number(BUCKET_SEED))


def key_leaf(last: Column, value: exp.Expression) -> exp.Expression:
    """Return the last byte of a key's identity.

    The identity of a record ends with that of its last column, or with the length 0.
    """
    if last.base_type in types.INTEGERS:
        return cast(exp.BitwiseAnd(this=value, expression=number(255)), "int")
    padded = exp.DPipe(this=fragment("'\\x00'::bytea"), expression=_identity(last, value))
    return call("get_byte", padded, call("octet_length", _identity(last, value)))


def key_equal(column: Column, left: exp.Expression, right: exp.Expression) -> exp.Expression:
    """Return the column's own equality of two keys, also if its operator is not in pg_catalog."""
    schema = column.fact("operators")
    if schema:
        return exp.Operator(this=left.copy(), operator=f"{schema}.=", expression=right.copy())
    return exp.EQ(this=left.copy(), expression=right.copy())


def _identity(column: Column, value: exp.Expression) -> exp.Expression:
    base = column.base_type
    if base == "bytea":
        return cast(value, "bytea")
    if column.fact("digested"):
        return _widened_identity(column, value)
    if base == "numeric":
        return call("numeric_send", call("trim_scale", value))
    if base in types.FLOATS:
        # Adding 0 turns -0 into 0. All NaNs are equal, whatever their bits.
        nan, send = f"'NaN'::{base}", f"{base}send"
        return fragment(f"CASE WHEN {{v}} = {nan} THEN {send}({nan}) ELSE {send}({{v}} + 0::{base}) END", v=value)
    if base == "citext":
        # citext compares lower case under the database's default collation, not under the column's.
        text = call("lower", collate(cast(value, "text"), '"default"'))
        return call("textsend", text)
    if base in (*types.STRINGS, "bpchar") and types.is_nondeterministic(column):
        halves = [
            call("int8send", call("hashtextextended", cast(value, "text"), number(seed))) for seed in IDENTITY_SEEDS
        ]
        return exp.DPipe(this=halves[0], expression=halves[1])
    if base == "bpchar":
        return call("textsend", cast(value, "text"))  # this cast removes the padding, which the type's equality ignores
    if column.fact("kind") == "e":
        return call("enum_send", value)
    return call(_SENDS[base], value)


def _widened_identity(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the identity of a widened integer.

    It is that of the narrowest type, of those the column had, that holds the value.
    """
    kinds = list(types.INTEGERS)
    arms = "".join(
        f" WHEN {{v}} BETWEEN {_RANGES[kind]} THEN {kind}send({{v}}::{kind})"
        for kind in kinds[kinds.index(column.fact("digested")) : kinds.index(column.base_type)]
    )
    return fragment(f"CASE{arms} ELSE {column.base_type}send({{v}}) END", v=value)


# -- text ------------------------------------------------------------------------------------------------------------
def canonical_text(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the database's text of a value under the pins."""
    return _text(column, _in_one_order(column, value))


def _text(column: Column, value: exp.Expression) -> exp.Expression:
    if column.base_type == "bpchar":
        return fragment("convert_from({b}, 'UTF8')", b=_byte_form(column, value))
    return cast(value, "text")


def has_stable_text(column: Column) -> bool:
    """Return False for aliases of oid, whose text is a name."""
    return column.base_type not in types.OID_ALIASES


def _byte_form(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the bytes of a bpchar or "char" value; a cast to text would strip or escape it."""
    return call("bpcharsend" if column.base_type == "bpchar" else "charsend", value)


def travel_form(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the value in wire form: booleans, numbers and bytes unchanged, all others as text."""
    kind = column.travel.kind
    if kind == "array":
        return _array_form(column, _in_one_order(column, value))
    if kind == "text" or kind == "decimal" or kind == "date":
        return canonical_text(column, value)  # dates are ISO under the pins
    if kind in _ISO:
        iso = fragment(_ISO[kind], v=value)
        if kind not in _HELD:
            return iso
        return fragment(f"CASE WHEN {_HELD[kind]} THEN {{iso}} ELSE {{v}}::text END", v=value, iso=iso)
    # For JDBC a domain would be a type of its own.
    return value.copy() if column.sql_type == types.storage_type(column) else cast(value, types.storage_type(column))


def fits_typed_sink(column: Column, value: exp.Expression) -> exp.Expression | None:
    """Test if a typed sink can hold the value; None if it can hold every value."""
    kind, value = column.travel.kind, _in_one_order(column, value)
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
    """Return a JSON array of the elements' JSON forms, or the array's text as a JSON string."""
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
        # JSON parsers read "-0" as the integer 0.
        template = (
            f"CASE WHEN {{v}} IN ({special}) THEN to_json({{t}})::text WHEN {{t}} = '-0' THEN '-0.0' ELSE {{t}} END"
        )
        return fragment(template, v=value, t=cast(value, "text"))
    if kind == "binary":
        return fragment("to_json(replace(encode({v}, 'base64'), chr(10), ''))::text", v=value)
    return fragment("to_json({t})::text", t=travel_form(element, value))


class PostgresExpressions(Expressions, SupportsWideDigests):
    """The column primitives of this module."""

    overlap = "{v}::text[] && ARRAY[{listed}]::text[]"
    null_safe_distinct = staticmethod(null_safe_distinct)
    row_digest = staticmethod(row_digest)
    wide_digest = staticmethod(wide_digest)
    digest_form = staticmethod(digest_form)
    key_identity = staticmethod(key_identity)
    key_hash = staticmethod(key_hash)
    key_equal = staticmethod(key_equal)
    text_equality = staticmethod(types.text_equality)
    canonical_text = staticmethod(canonical_text)
    has_stable_text = staticmethod(has_stable_text)
    travel_form = staticmethod(travel_form)
    fits_typed_sink = staticmethod(fits_typed_sink)
    compares_bytes = staticmethod(types.compares_bytes)

    @override
    def is_of_class(self, kind: ValueClass, travel: Travel, value: str, longest: int = 0) -> str:
        """Texts have no NUL."""
        if kind == "nan":
            return f"{value} = 'NaN'"
        if kind == "infinity":
            return f"{value} IN ('Infinity', '-Infinity')"
        return super().is_of_class(kind, travel, value, longest)
