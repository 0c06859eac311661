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

# Names that may stand before a bracket: of the server's own functions, which no function of a user's can take the place
# of; of types; and words of SQL. sqlglot also knows functions of other databases, which here would be a user's.
CALLED = frozenset({
    "abs", "acos", "adddate", "addtime", "ascii", "asin", "atan", "atan2", "avg", "bin", "bit_and", "bit_count",
    "bit_length", "bit_or", "bit_xor", "cast", "ceil", "ceiling", "char_length", "coalesce", "concat", "concat_ws",
    "conv", "convert", "cos", "cot", "count", "crc32", "date_add", "date_format", "date_sub", "datediff", "day",
    "dayname", "dayofmonth", "dayofweek", "dayofyear", "degrees", "elt", "exp", "extract", "field", "find_in_set",
    "floor", "format", "from_days", "from_unixtime", "greatest", "group_concat", "hex", "hour", "if", "ifnull",
    "inet_aton", "insert", "instr", "isnull", "json_contains", "json_extract", "json_length", "json_unquote",
    "json_valid", "json_value", "last_day", "lcase", "least", "left", "length", "ln", "locate", "log", "lower",
    "lpad", "ltrim", "makedate", "maketime", "max", "md5", "microsecond", "mid", "min", "minute", "month", "nullif",
    "nvl", "oct", "octet_length", "ord", "period_add", "pi", "position", "pow", "power", "quarter", "quote",
    "radians", "regexp_instr", "regexp_replace", "regexp_substr", "repeat", "replace", "reverse", "right", "round",
    "rpad", "rtrim", "sec_to_time", "second", "sha1", "sha2", "sign", "sin", "soundex", "sqrt", "std", "stddev",
    "stddev_pop", "stddev_samp", "str_to_date", "strcmp", "substr", "substring", "substring_index", "sum", "tan",
    "time_format", "time_to_sec", "timediff", "timestamp", "timestampadd", "timestampdiff", "trim", "truncate",
    "ucase", "unhex", "unix_timestamp", "upper", "var_pop", "var_samp", "variance", "week", "weekday", "weekofyear",
    "yearweek",
    # types
    "binary", "char", "date", "datetime", "decimal", "double", "float", "int", "integer", "signed", "time",
    "unsigned", "varbinary", "varchar", "year",
    # words
    "all", "and", "any", "as", "between", "by", "case", "distinct", "div", "else", "escape", "except", "exists",
    "from", "having", "in", "intersect", "interval", "is", "join", "like", "mod", "not", "on", "or", "select",
    "some", "then", "union", "using", "values", "when", "where", "with",
})  # fmt: skip
