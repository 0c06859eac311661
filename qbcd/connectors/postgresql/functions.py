"""Functions that a query may call whose changes are followed: what they give is known, and they are written as read."""

from __future__ import annotations

import sqlglot
from sqlglot import TokenType

from qbcd.connectors.postgresql.forms import DIALECT

# Functions of one row that come up in queries, and that SQL's standard does not have; words that read like calls.
PLAIN = frozenset({
    "abs", "age", "all", "array_length", "ascii", "btrim", "cardinality", "char_length", "chr", "concat", "concat_ws",
    "date_part", "decode", "encode", "format", "initcap", "left", "length", "lpad", "ltrim", "make_date",
    "md5", "mod", "octet_length", "overlay", "power", "quote_literal", "regexp_replace", "repeat",
    "replace", "reverse", "right", "round", "row", "rpad", "rtrim", "sha256", "sign", "similar_to_escape",
    "split_part", "sqrt", "starts_with", "strpos", "substr", "timezone", "to_date", "to_number", "translate", "trunc",
    "upper", "width_bucket",
})  # fmt: skip

# Functions and aggregates, by sqlglot's keys, that it may write under another name, and with the same meaning: STRPOS
# as POSITION, MOD as %.
WRITTEN_AGAIN = frozenset({
    "abs", "acos", "and", "array", "arrayagg", "arrayappend", "arrayconcat", "arraycontainedby", "arraycontainsall",
    "arrayoverlaps", "arrayposition", "arrayremove", "arraysize", "arraytostring", "ascii", "asin", "atan", "avg",
    "bitlength", "bitwiseandagg", "bitwiseoragg", "case", "cast", "cbrt", "ceil", "chr", "coalesce", "collate",
    "concat", "concatws", "corr", "cos", "count", "covarpop", "covarsamp", "date", "decode", "degrees", "encode",
    "exists", "exp", "extract", "floor", "format", "greatest", "groupconcat", "if", "initcap", "jsonbcontainstopkey",
    "jsonbextract", "jsonbextractscalar", "jsonextract", "jsonextractscalar", "justifydays", "least", "left",
    "length", "ln", "log", "logicaland", "logicalor", "lower", "max", "md5", "min", "nullif", "or", "overlay", "pad",
    "percentilecont", "percentiledisc", "pi", "pow", "radians", "regexpcount", "regexpilike", "regexplike",
    "regexpreplace", "repeat", "replace", "reverse", "right", "round", "sha2digest", "sign", "sin", "splitpart",
    "sqrt", "startswith", "stddev", "stddevpop", "stddevsamp", "stringtoarray", "strposition", "strtodate",
    "strtotime", "substring", "sum", "tan", "timestamptrunc", "timetostr", "tonumber", "translate", "trim", "trunc",
    "unixtotime", "upper", "variance", "variancepop", "widthbucket",
})  # fmt: skip


def misread(text: str, tables: object) -> str:
    """See :meth:`~qbcd.connectors.base.Connector.misread`: ``0b11`` is a number, and would be written as bits."""
    for token in sqlglot.tokenize(text, read=DIALECT):
        written = text[token.start : token.end + 1]
        if token.token_type == TokenType.BIT_STRING and written[:2].lower() == "0b":
            return f"has a number as {written}: write its digits"
    return ""
