"""Functions that a query may call whose changes are followed: what they give is known, and they are written as read."""

from __future__ import annotations

# Functions of one row that come up in queries, and that sqlglot takes for what it does not know; it leaves them alone.
PLAIN = frozenset({
    "addtime", "adddate", "bin", "conv", "crc32", "field", "find_in_set", "from_days", "inet_aton", "json_contains",
    "json_length", "json_unquote", "json_valid", "makedate", "microsecond", "mid", "oct",
    "octet_length", "ord", "period_add", "quote", "sec_to_time", "strcmp", "time_format", "time_to_sec", "timediff",
    "unix_timestamp", "weekday", "yearweek",
})  # fmt: skip

# Functions and aggregates, by sqlglot's keys, that it may write under another name, and with the same meaning: IFNULL
# as COALESCE, INSTR as LOCATE. Not LOG, which it writes for LOG10 and LOG2 with other digits.
WRITTEN_AGAIN = frozenset({
    "abs", "acos", "and", "ascii", "asin", "atan", "atan2", "avg", "bitlength", "bitwiseandagg", "bitwisecount",
    "bitwiseoragg", "bitwisexoragg", "case", "cast", "ceil", "chr", "coalesce", "collate", "concat", "concatws",
    "cos", "cot", "count", "dateadd", "datediff", "datesub", "dayname", "dayofmonth", "day", "dayofweek", "dayofyear",
    "degrees", "elt", "exists", "exp", "extract", "floor", "greatest", "groupconcat", "hex", "hour", "if",
    "jsonextract", "lastday", "least", "left", "length", "ln", "lower", "max", "md5", "min", "minute", "month",
    "nullif", "numbertostr", "or", "pad", "pi", "pow", "quarter", "radians", "regexpinstr", "regexpreplace",
    "regexpsubstr", "repeat", "replace", "reverse", "right", "round", "second", "sha", "sha2", "sign", "sin",
    "soundex", "sqrt", "stddevpop", "stddevsamp", "strposition", "strtodate", "stuff", "substring", "substringindex",
    "sum", "tan", "time", "timefromparts", "timestamp", "timestampadd", "timestampdiff", "timetostr", "trim", "trunc",
    "tsordstodate", "tsordstotimestamp", "unhex", "unixtotime", "upper", "variance", "variancepop", "week",
    "weekofyear", "year",
})  # fmt: skip
