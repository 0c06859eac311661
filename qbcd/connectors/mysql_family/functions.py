"""Functions that a query may call whose changes are followed: what they give is known, and they are written as read."""

from __future__ import annotations

# Functions of one row that sqlglot knows nothing of, and writes as it reads them.
PLAIN = frozenset({
    "adddate", "addtime", "bin", "conv", "crc32", "field", "find_in_set", "inet_aton", "inet_ntoa", "makedate",
    "microsecond", "mid", "oct", "octet_length", "ord", "period_add", "period_diff", "quote", "sec_to_time", "strcmp",
    "subdate", "subtime", "time_to_sec", "timediff", "weekday", "yearweek",
})  # fmt: skip

# Functions and aggregates, by sqlglot's keys, that it may write under another name, and with the same meaning: INSTR
# as LOCATE, IFNULL as COALESCE. Not so LOG10, of whose last digits LOG(10, ..) has others.
WRITTEN_AGAIN = frozenset({
    "abs", "acos", "and", "ascii", "asin", "atan", "avg", "bitlength", "bitwiseandagg", "bitwisecount",
    "bitwiseoragg", "bitwisexoragg", "case", "cast", "ceil", "coalesce", "collate", "concat", "concatws", "cos",
    "count", "dateadd", "datediff", "datesub", "day", "dayname", "dayofmonth", "dayofweek", "dayofyear", "degrees",
    "elt", "exists", "exp", "extract", "floor", "greatest", "groupconcat", "hex", "hour", "if", "lastday", "least",
    "left", "length", "ln", "lower", "max", "md5", "min", "minute", "month", "nullif", "or", "pad", "pi", "pow",
    "quarter", "radians", "repeat", "replace", "reverse", "right", "round", "second", "sha", "sha2", "sign", "sin",
    "soundex", "sqrt", "stddevpop", "stddevsamp", "strposition", "substring", "substringindex", "sum", "tan", "time",
    "timestampdiff", "timetostr", "trim", "trunc", "tsordstodate", "tsordstotimestamp", "unhex", "upper", "variance",
    "variancepop", "week", "weekofyear", "xor", "year",
})  # fmt: skip
