"""Types of PostgreSQL that hold all values of another one.

Digest, key identity and text of a value stay the same.
"""

from __future__ import annotations

import re

from qbcd.connectors.postgresql import types
from qbcd.model import Column

_TYPE = re.compile(r"([a-z ]+?)(?:\((\d+)(?:,(-?\d+))?\))?( with(?:out)? time zone)?")
_INTEGERS = {"smallint": "int2", "integer": "int4", "bigint": "int8"}
_STRINGS = ("character varying", "text")
_TIMES = ("time", "timestamp")
_SUBSECONDS = 6  # digits of a time without a modifier
_UNLIMITED = 1 << 40


def widened(then: str, now: Column) -> str | None:
    """See `Catalog.widened`.

    The server's hash of an integer in the range of `integer` is the same for all integer types, but not the binary form
    that digests of `bigint` and identities of keys use.
    """
    before, after = _TYPE.fullmatch(then), _TYPE.fullmatch(now.sql_type)
    if before is None or after is None:
        return None
    (was, size, scale, zone), (name, wider, places, other) = before.groups(), after.groups()
    if was in _INTEGERS:
        order = list(_INTEGERS)
        return _INTEGERS[was] if name in order and order.index(name) > order.index(was) else None
    if was in _STRINGS or was == "bit varying":
        alike = name in _STRINGS if was in _STRINGS else name == was
        return "" if alike and _limit(size) <= _limit(wider) else None
    if was == name == "numeric":
        return "" if _has_more_digits(size, wider) and scale == places else None
    if was == name and name in _TIMES and zone == other:
        return "" if int(size or _SUBSECONDS) <= int(wider or _SUBSECONDS) else None
    return None


def _limit(size: str | None) -> int:
    return _UNLIMITED if size is None else int(size)


def _has_more_digits(size: str | None, wider: str | None) -> bool:
    """Return True if decimals travel in the same form with both precisions.

    Without a precision, the scale may vary.
    """
    if size is None or wider is None or int(size) > int(wider):
        return False
    return (int(size) <= types.MAX_DECIMAL_DIGITS) == (int(wider) <= types.MAX_DECIMAL_DIGITS)
