"""Types of MariaDB and MySQL that hold all values of another one.

Digest, key identity and text of a value stay the same.

A text or a binary value of a short column enters the digest as it is, an enum or set by its number; those of long
columns by a hash (`types.is_long`). So a column that was short keeps the fact `digested` when it gets long.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from qbcd.connectors.mysql_family import types
from qbcd.model import Column

_TYPE = re.compile(r"([a-z0-9]+)(?:\((\d+)(?:,(\d+))?\))?( unsigned)?( zerofill)?", re.IGNORECASE)
_BITS: Mapping[str, int] = {"tinyint": 8, "smallint": 16, "mediumint": 24, "int": 32, "bigint": 64}
_OCTETS: Mapping[str, int] = {  # that a value may have
    "tinytext": (1 << 8) - 1,
    "text": (1 << 16) - 1,
    "mediumtext": (1 << 24) - 1,
    "longtext": (1 << 32) - 1,
    "tinyblob": (1 << 8) - 1,
    "blob": (1 << 16) - 1,
    "mediumblob": (1 << 24) - 1,
    "longblob": (1 << 32) - 1,
}
_CHARACTER: Mapping[str, int] = {  # most bytes of a character, by character set
    **dict.fromkeys(("utf8mb4", "utf16", "utf16le", "utf32", "gb18030"), 4),
    **dict.fromkeys(("utf8mb3", "utf8", "ujis", "eucjpms"), 3),
    **dict.fromkeys(("big5", "sjis", "euckr", "gb2312", "gbk", "ucs2", "cp932"), 2),
}
_ESCAPED = re.compile(r"''|\\.", re.DOTALL)  # two characters that spell one of a label
_SPELLED = ("char", "varchar")  # types whose size is a number of characters


def widened(then: str, now: Column) -> str | None:
    """See `Catalog.widened`."""
    if now.base_type in types.CHOICES:
        return _appended(then, now)
    before, after = _TYPE.fullmatch(then), _TYPE.fullmatch(now.sql_type)
    if before is None or after is None or before[5] or after[5]:  # ZEROFILL pads the text of a number to its width
        return None
    was, base = before[1].lower(), now.base_type
    if was in _BITS and base in _BITS:
        return "" if _includes(_span(base, bool(after[4])), _span(was, bool(before[4]))) else None
    if was == base == "decimal":
        fits = int(before[2]) <= int(after[2]) and before[3] == after[3] and (before[4] or not after[4])
        return "" if fits and _travels_alike(int(before[2]), int(after[2])) else None
    if was == base == "bit":
        return "" if int(before[2]) <= int(after[2]) else None
    for family in (types.STRINGS, types.BINARIES - {"binary"}):
        if was in family and base in family:
            return _longer(was, int(before[2] or 0), now)
    return None


def _span(base: str, unsigned: bool) -> tuple[int, int]:
    bits = _BITS[base]
    return (0, (1 << bits) - 1) if unsigned else (-(1 << bits - 1), (1 << bits - 1) - 1)


def _includes(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] <= other[0] and other[1] <= one[1]


def _travels_alike(size: int, wider: int) -> bool:
    return (size <= types.MAX_DECIMAL_DIGITS) == (wider <= types.MAX_DECIMAL_DIGITS)


def _longer(was: str, size: int, now: Column) -> str | None:
    """Return the fact of a text or a binary value that may be longer now; None if it may not.

    A text that may not be padded at its end was stored without the padding, so it is longer than no text of `char`.
    """
    width = _CHARACTER.get(now.fact("charset"), 1)
    before = _OCTETS.get(was, size * (width if was in _SPELLED else 1))
    now_size = int(now.fact("characters") or 0) if now.base_type in _SPELLED else int(now.fact("octets") or 0)
    counted = was in _SPELLED and now.base_type in _SPELLED
    if now_size < (size if counted else before) or (now.base_type == "char" and was != "char"):
        return None
    return "short" if before <= types.LONG and types.is_long(now) else ""


def _appended(then: str, now: Column) -> str | None:
    """Return the fact of an enum or set whose new labels come after all others.

    None for other changes.
    """
    if then.partition("(")[0].lower() != now.base_type:
        return None
    labels, known = types.labels(now.sql_type), types.labels(then)
    if labels[: len(known)] != known or len(labels) <= len(known):
        return None
    if not types.is_long(now):
        return ""
    if _most_characters(now.base_type, labels) != int(now.fact("characters") or 0):
        return None  # the catalog counts otherwise, so that it is not known whether the column was long
    width = _CHARACTER.get(now.fact("charset"), 1)
    return "short" if _most_characters(now.base_type, known) * width <= types.LONG else ""


def _most_characters(base: str, labels: Sequence[str]) -> int:
    """Return the characters of the longest value, given the labels as the type spells them."""
    sizes = [len(_ESCAPED.sub("_", label[1:-1])) for label in labels]
    return max(sizes) if base == "enum" else sum(sizes) + len(sizes) - 1
