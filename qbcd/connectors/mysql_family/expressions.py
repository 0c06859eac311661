"""The column primitives of MariaDB and MySQL, as trees: equality, digest, identity, text.

Server functions are built from SQL text that no parser rewrites (`sql`), so that sqlglot cannot translate them by name.
All of them depend on the session pins (`session.pins`): time zone and character sets.
"""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.dialects import loaded
from qbcd.connectors.expressions import Expressions, SupportsWideDigests
from qbcd.connectors.mysql_family import sets, types
from qbcd.model import Column, Travel
from qbcd.model.plans import HALF
from qbcd.model.value_limits import ValueClass

DIALECT = loaded("mysql")
# A real day of years 1 to 9999: month and day are not 0, and the month has that day.
_HELD_DAY = "coalesce({v} >= '0001-01-01' AND from_days(to_days({v})) = date({v}), FALSE)"
_ISO = {
    "timestamp": "date_format({v}, '%Y-%m-%dT%H:%i:%s.%f')",
    "timestamptz": "date_format({v}, '%Y-%m-%dT%H:%i:%s.%fZ')",
}


def sql(template: str, **parts: exp.Expression) -> exp.Expression:
    """Return an expression of SQL text, verbatim; its ``{name}`` places take expressions."""
    text = {name: part.sql(dialect=DIALECT) for name, part in parts.items()}
    return exp.Var(this=template.format(**text))


def _bytes(value: exp.Expression) -> exp.Expression:
    """Return the bytes of a text as stored; a cast would return NULL beyond max_allowed_packet."""
    return sql("convert({v} USING binary)", v=value)


def _whole(made: exp.Expression, value: exp.Expression) -> exp.Expression:
    """Return `made`, or an error if it is NULL because `value` is longer than a packet."""
    return sql("coalesce({made}, exp(length({v}) + @@max_allowed_packet))", made=made, v=value)


def concatenated(parts: Sequence[exp.Expression]) -> exp.Expression:
    """Return all parts concatenated.

    Texts of columns must be bytes: the server converts texts of different character sets.
    """
    return sql("concat(_binary'', {parts})", parts=exp.Var(this=", ".join(p.sql(dialect=DIALECT) for p in parts)))


# -- equality and digest ---------------------------------------------------------------------------------------------
def comparison_form(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the expression whose ``<=>`` means "unchanged"."""
    base = column.base_type
    if base in types.CHOICES:
        # Labels compare by a collation, and the error value '' has the number 0.
        return sql("cast({v} AS UNSIGNED)", v=value)
    if form := sets.canonical_form(column):
        plain = _json_bytes(value) if base == "json" else _bytes(value)
        return _whole(sql(form, v=value, plain=plain), value)
    if base in types.STRINGS or base in types.GEOMETRIES:
        return _bytes(value)
    return _json_bytes(value) if base == "json" else value.copy()


def _json_bytes(value: exp.Expression) -> exp.Expression:
    # a text that is too long becomes empty, which is no JSON
    return _whole(sql("nullif({text}, '')", text=_bytes(value)), value)


def null_safe_distinct(column: Column, left: exp.Expression, right: exp.Expression) -> exp.Expression:
    """Compare the comparison forms of two values: true if they differ."""
    return sql("NOT ({l} <=> {r})", l=comparison_form(column, left), r=comparison_form(column, right))


def row_digest(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    """Return a 64-bit digest: the first bytes of SHA-256 over an injective text of all columns.

    It is the cheapest hash of both servers that is sound under SUM: CRC32 is linear, and MySQL 9.6 removed MD5. For a
    long value the text has its hash, since CONCAT returns NULL beyond max_allowed_packet.
    """
    return sql("cast(conv(left(sha2({row}, 256), 16), 16, -10) AS SIGNED)", row=_content(columns))


def wide_digest(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    """Return 63 bits each of the first two numbers of SHA-256; the server computes it twice."""
    half = f"(cast(conv(substr(sha2({{row}}, 256), {{at}}, 16), 16, 10) AS UNSIGNED) & {HALF - 1})"
    high, low = (half.format(row="{row}", at=at) for at in (1, 17))
    return sql(f"cast(cast({high} AS DECIMAL(38, 0)) * {HALF} + {low} AS DECIMAL(38, 0))", row=_content(columns))


def _content(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    return concatenated([_digest_part(column, value) for column, value in columns])


def digest_form(column: Column) -> str:
    """Strings enter by their bytes in their character set, whatever their collation."""
    if column.travel.unordered:
        return repr((column.base_type, column.travel))
    if column.base_type in types.STRINGS or column.base_type in types.BINARIES:
        kind = "string" if column.base_type in types.STRINGS else "bytes"
        return repr((kind, column.fact("charset"), types.is_long(column)))
    return repr((column.base_type, column.sql_type, column.travel, column.fact("charset"), column.fact("all_digits")))


def _digest_part(column: Column, value: exp.Expression) -> exp.Expression:
    """Return text that is different for all values and NULL, also if other text follows.

    Its end is marked, or its length comes first.
    """
    base, content = column.base_type, comparison_form(column, value)
    plain, hashed = "concat(length({v}), ':', {bytes})", "sha2({bytes}, 256)"
    if column.travel.unordered:
        return sql(f"ifnull({hashed}, 'N')", bytes=content)
    was_short = bool(column.fact("digested"))
    if was_short and base not in types.CHOICES:
        either = f"CASE WHEN length({{v}}) <= {types.LONG} THEN {plain} ELSE concat('L', {hashed}) END"
        return sql(f"ifnull({either}, 'N')", v=value, bytes=content)
    if types.is_long(column) and not was_short:
        return sql(f"ifnull({hashed}, 'N')", bytes=content)
    if base in types.STRINGS or base in types.BINARIES:
        return sql(f"ifnull({plain}, 'N')", v=value, bytes=content)
    return sql("ifnull({v}, 'N'), ','", v=_plain_text(column, value))


def _plain_text(column: Column, value: exp.Expression) -> exp.Expression:
    """Return a form of a value whose text is equal exactly for equal values, without a comma."""
    base = column.base_type
    if base in types.CHOICES or base == "bit":
        return sql("cast({v} AS UNSIGNED)", v=value)
    if base in types.FLOATS:
        return sql(column.fact("all_digits"), v=value)
    if base in types.ADDRESSES:
        return sql("concat({v})", v=value)  # otherwise the server would convert a neighboring text to an address too
    return value


# -- key identity ----------------------------------------------------------------------------------------------------
def key_identity(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    """Return the binary identity of a key; with several columns, each after its length."""
    identities = [_identity(column, value) for column, value in columns]
    if len(identities) == 1:
        return identities[0]
    return concatenated([sql("length({v}), ':', {v}", v=identity) for identity in identities])


def key_hash(columns: Sequence[tuple[Column, exp.Expression]]) -> exp.Expression:
    """Return a 64-bit hash of a key's identity."""
    return sql("cast(conv(left(sha2({identity}, 256), 16), 16, -10) AS SIGNED)", identity=key_identity(columns))


def _identity(column: Column, value: exp.Expression) -> exp.Expression:
    base = column.base_type
    if base in types.STRINGS:
        return sql("unhex(left(sha2({weights}, 256), 32))", weights=_weights(column, value))
    return _bytes(value if base in types.BINARIES else _plain_text(column, value))


def _weights(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the weights that the collation compares; only equal texts have equal weights."""
    if column.fact("no_pad"):
        return sql("weight_string({v})", v=value)
    # The weights of a space are also those of other blanks; at the end of a text they do not count.
    level = "trim(TRAILING weight_string(concat(left({v}, 0), ' '){on}) FROM weight_string({v}{on}))"
    if not types.pads_levels(column):
        return sql(level.replace("{on}", ""), v=value)
    # No weight is 0000, so that 0000 ends a level. A level that a collation lacks is an empty text.
    levels = ", ".join(level.replace("{on}", f" LEVEL {n}") for n in (1, 2, 3))
    return sql(f"concat_ws(X'0000', {levels})", v=value)


# -- text ------------------------------------------------------------------------------------------------------------
def canonical_text(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the text of a value under the pins; bytes as ``0x..``, floats with all digits."""
    base = column.base_type
    if base in types.BINARIES:
        digits = sql("concat('0x', hex({v}))", v=value)
        return _whole(digits, value) if types.is_long(column) else digits
    if base in types.GEOMETRIES:
        return _whole(sql("hex({v})", v=value), value)
    if base == "json" or column.travel.unordered:
        return sql("convert({v} USING utf8mb4)", v=comparison_form(column, value))
    if base in types.FLOATS:
        return sql("nullif({text}, 'null')", text=_plain_text(column, value))  # the text of JSON null
    if base in types.STRINGS:
        return sql("convert({v} USING utf8mb4)", v=value)
    return sql("cast({v} AS CHAR)", v=_plain_text(column, value) if base == "bit" else value)


def travel_form(column: Column, value: exp.Expression) -> exp.Expression:
    """Return the value in wire form: numbers and bytes unchanged, all others as text."""
    kind = column.travel.kind
    if kind in ("int16", "int32", "int64"):
        return sql("cast({v} AS SIGNED)", v=value)  # the driver would convert year, bit and tinyint(1)
    if kind == "uint64":
        return sql("cast(cast({v} AS UNSIGNED) AS DECIMAL(20,0))", v=value)
    if kind in ("float32", "float64"):
        return sql("{v} + 0e0", v=value)  # as a double: the text protocol rounds a float to six digits
    if kind == "binary":
        return _bytes(value)
    if kind in _ISO:
        template = f"CASE WHEN {_HELD_DAY} THEN {_ISO[kind]} ELSE cast({{v}} AS CHAR) END"
        return sql(template, v=value)
    if kind == "time":
        return sql("cast(cast({v} AS TIME(6)) AS CHAR)", v=value)
    return canonical_text(column, value)


def united_form(column: Column, value: exp.Expression) -> exp.Expression:
    """See the base class.

    With NULL, MariaDB keeps the first eight labels of a set, and changes numbers above 2^63. A text is right.
    """
    return sql("concat({v})", v=value) if column.base_type == "set" else value


def fits_typed_sink(column: Column, value: exp.Expression) -> exp.Expression | None:
    """Test if a typed sink can hold the value; None if it can hold every value."""
    if column.travel.kind in ("date", *_ISO):
        return sql(f"({{v}} IS NULL OR {_HELD_DAY})", v=value)
    return None


# -- statements ------------------------------------------------------------------------------------------------------
def statement_form(tree: exp.Expression) -> exp.Expression:
    """Return the statement without forms that these servers lack.

    These are ``||``, and an alias in DELETE .. USING.
    """
    tree = tree.transform(_concatenated)
    if isinstance(tree, exp.Delete) and tree.args.get("using"):
        target = tree.this
        tree.set("using", [target.copy(), *tree.args["using"]])
        tree.set("this", exp.to_identifier(target.alias, quoted=True))
    return tree


def _concatenated(node: exp.Expression) -> exp.Expression:
    if isinstance(node, exp.DPipe):
        return exp.Anonymous(this="concat", expressions=[part.transform(_concatenated) for part in node.flatten()])
    return node


class FamilyExpressions(Expressions, SupportsWideDigests):
    """The column primitives of this module."""

    null_safe_distinct = staticmethod(null_safe_distinct)
    row_digest = staticmethod(row_digest)
    wide_digest = staticmethod(wide_digest)
    digest_form = staticmethod(digest_form)
    key_identity = staticmethod(key_identity)
    key_hash = staticmethod(key_hash)
    text_equality = staticmethod(types.text_equality)
    canonical_text = staticmethod(canonical_text)
    travel_form = staticmethod(travel_form)
    fits_typed_sink = staticmethod(fits_typed_sink)
    united_form = staticmethod(united_form)
    statement_form = staticmethod(statement_form)
    compares_bytes = staticmethod(types.compares_bytes)

    @override
    def is_of_class(self, kind: ValueClass, travel: Travel, value: str, longest: int = 0) -> str:
        """Floats are finite. Most collations ignore NUL, bytes do not."""
        if kind == "nul":
            return f"locate(0x00, CAST({value} AS BINARY)) > 0"
        return super().is_of_class(kind, travel, value, longest)
