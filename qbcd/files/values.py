"""Texts of a file as values of their types; a text that is no value of its type is refused.

Binary values and numbers but decimals become values of Arrow. Decimals, dates and times become texts in the form in
which values travel, so that values that Arrow cannot hold have a form too: NaN in decimals, infinite dates, times of
more than a day. Such values are accepted in comparisons alone; no typed sink can hold them.

docs/reference/files.md#types has the texts of each type.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import Decimal

import pyarrow as pa
import pyarrow.compute as pc

_ARROW: dict[str, pa.DataType] = {
    "integer": pa.int64(),
    "uint64": pa.uint64(),
    "double": pa.float64(),
    "float32": pa.float32(),
    "boolean": pa.bool_(),
    "binary": pa.binary(),
    "hex": pa.binary(),
    "base64": pa.binary(),
    "blob": pa.binary(),
}  # others are texts
BYTES = frozenset({"binary", "hex", "base64", "blob"})
_DAY = r"[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = r"[0-9]{2}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6}0*)?)?"
_NUMBER = r"([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,3})?"
_FORMS = {
    "integer": r"^[+-]?[0-9]{1,19}(\.0+)?$",
    "uint64": r"^\+?[0-9]{1,20}(\.0+)?$",
    "decimal": rf"^[+-]?{_NUMBER}$",
    "double": rf"^[+-]?({_NUMBER}|(?i:nan|inf|infinity))$",
    "boolean": r"^(?i:true|false|t|f|1|0)$",
    "date": rf"^{_DAY}$",
    "time": r"^-?[0-9]{2,3}:[0-9]{2}(:[0-9]{2}(\.[0-9]{1,6}0*)?)?$",
    "timestamp": rf"^{_DAY}([ T]{_CLOCK})?$",
    "timestamptz": rf"^{_DAY}[ T]{_CLOCK} ?(Z|UTC|[+-][0-9]{{2}}(:?[0-9]{{2}}(:[0-9]{{2}})?)?)$",
}
_FORMS["float32"] = _FORMS["double"]
_LONG_DAY = r"[0-9]{4,6}-[0-9]{2}-[0-9]{2}"
# Of PostgreSQL: infinities and far years. Of MariaDB and MySQL: days that do not exist, timestamps without a zone, and
# numbers for truth values, which others write as words.
_SPECIAL = {
    "integer": r"^(?i:true|false|t|f)$",
    "decimal": r"^(?i:nan)$",
    "date": rf"^(-?infinity|{_LONG_DAY}( BC)?)$",
    "timestamp": rf"^(-?infinity|{_LONG_DAY}[ T]{_CLOCK}( BC)?)$",
    "timestamptz": rf"^(-?infinity|{_LONG_DAY}[ T]{_CLOCK}([+-][0-9:]+)?( BC)?)$",
}
_DECIMAL = re.compile(r"decimal\((\d+),(\d+)\)")
_PARTS = r"^(?P<sign>[+-]?)0*(?P<whole>[0-9]*)(?:\.(?P<part>[0-9]*))?$"
_ZONED = r"^(?P<local>.{10,}?) ?(?P<zone>Z|UTC|[+-][0-9:]+)$"
_OFFSET = re.compile(r"([+-])(\d{2}):?(\d{2})?:?(\d{2})?")
_FAR = re.compile(
    r"(?P<year>[0-9]{4,6})-(?P<rest>[0-9]{2}-[0-9]{2}[ T][0-9:]{5,8}(\.[0-9]+)?) ?(?P<zone>Z|[+-][0-9:]+)?(?P<bc> BC)?"
)
_CYCLE = 400  # years
_FIRST, _LAST = -62_135_596_800_000_000, 253_402_300_799_999_999  # microseconds since 1970 of years 1 to 9999
_STAMP = 26  # length of a timestamp with six digits of a second
_HEX = re.compile(r"(?:[0-9A-Fa-f]{2})*")
_SPARK = re.compile(r"\[(?:[0-9A-F]{2}(?: [0-9A-F]{2})*)?\]")
_BLOB = re.compile(r"(?:[ -\[\]-~]|\\x[0-9A-Fa-f]{2})*")


class BadValue(ValueError):
    """A text that is no value of its type.

    Attributes:
        row: Its place among the texts, from 0.
    """

    def __init__(self, row: int) -> None:
        super().__init__(row)
        self.row = row


def arrow_type(kind: str) -> pa.DataType:
    """Return the Arrow type of values of a type of the configuration."""
    return _ARROW.get(kind, pa.string())


def values_of(texts: pa.Array, kind: str, *, special: bool = False) -> pa.Array:
    """Return texts as values of a type; NULL stays NULL.

    Args:
        kind: The type, as in the configuration.
        special: Accept values of databases that no typed sink can hold.

    Raises:
        BadValue: A text is no value of the type.
    """
    if kind == "text":
        return texts
    if kind in BYTES:
        return _bytes(texts, kind)
    base = kind.partition("(")[0]
    special = special and base in _SPECIAL
    fits = _matches(texts, _FORMS[base])
    if special and not _all(fits):
        fits = pc.or_(fits, _matches(texts, _SPECIAL[base]))
    if not _all(fits):
        raise BadValue(pc.index(fits, False).as_py())
    try:
        return _cast(texts, kind)
    except (pa.ArrowInvalid, ValueError):
        if not special:
            raise BadValue(_first_bad(texts, kind)) from None
        return _one_by_one(texts, kind)


def _matches(texts: pa.Array, pattern: str) -> pa.Array:
    return pc.fill_null(pc.match_substring_regex(texts, pattern), True)


def _all(flags: pa.Array) -> bool:
    return bool(pc.all(flags, min_count=0).as_py())


def _cast(texts: pa.Array, kind: str) -> pa.Array:
    """Return the values of texts that have the form of the type.

    Raises:
        ValueError: One is out of range.
    """
    if found := _DECIMAL.fullmatch(kind):
        return _decimals(texts, int(found[1]), int(found[2]))
    if kind == "integer":
        texts = pc.replace_substring_regex(texts, "^(?i:true|t)$", "1")
        texts = pc.replace_substring_regex(texts, "^(?i:false|f)$", "0")
    if kind in ("integer", "uint64"):
        return pc.cast(pc.replace_substring_regex(texts, r"^\+|\.0+$", ""), _ARROW[kind])
    if kind == "boolean":
        true = pc.is_in(pc.utf8_lower(texts), value_set=pa.array(["true", "t", "1"]))
        return pc.if_else(pc.is_valid(texts), true, pa.scalar(None, pa.bool_()))
    if kind in ("double", "float32"):
        return _floats(pc.replace_substring_regex(texts, r"^\+", ""), _ARROW[kind])
    return _DATES[kind](texts)


def _floats(texts: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return numbers; Arrow makes those out of range infinite or 0."""
    values = pc.cast(texts, kind)
    for lost, number in ((pc.is_inf(values), "[0-9]"), (pc.equal(values, 0), "^-?[0.]*[1-9]")):
        if pc.any(pc.match_substring_regex(texts.filter(lost), number), min_count=0).as_py():
            raise ValueError("out of range")
    return values


def _one_by_one(texts: pa.Array, kind: str) -> pa.Array:
    """Return the same for texts of which some are special; these stay as they are."""
    values = []
    for i, text in enumerate(texts.to_pylist()):
        try:
            values.append(None if text is None else _cast(texts.slice(i, 1), kind)[0].as_py())
        except ValueError:  # Arrow's errors are such
            values.append(_far(text) if kind in ("timestamp", "timestamptz") else _special(text))
    return pa.array(values, arrow_type(kind))


def _first_bad(texts: pa.Array, kind: str) -> int:
    """Return the place of the first text that cannot be cast."""
    low, high = 0, len(texts)
    while high - low > 1:  # the first half has it, or the second
        middle = (low + high) // 2
        try:
            _cast(texts.slice(low, middle - low), kind)
        except ValueError:
            high = middle
        else:
            low = middle
    return low


# -- decimals --------------------------------------------------------------------------------------------------------
def _decimals(texts: pa.Array, precision: int, scale: int) -> pa.Array:
    """Return decimals with exactly `scale` digits after the point.

    They have no zeros before, and zero has no sign.
    """
    if pc.any(pc.match_substring_regex(texts, "[eE]"), min_count=0).as_py():
        plain = [None if t is None else f"{Decimal(t):f}" for t in texts.to_pylist()]
        texts = pa.array(plain, pa.string())
    parts = pc.extract_regex(texts, _PARTS)
    if parts.null_count > texts.null_count:
        raise ValueError("not a number")
    sign, whole, part = (pc.struct_field(parts, name) for name in ("sign", "whole", "part"))
    part = pc.utf8_rtrim(part, characters="0")
    too_long = pc.or_(pc.greater(pc.utf8_length(part), scale), pc.greater(pc.utf8_length(whole), precision - scale))
    if pc.any(too_long, min_count=0).as_py():
        raise ValueError("out of range")
    zero = pc.and_(pc.equal(whole, ""), pc.equal(part, ""))
    sign = pc.if_else(pc.and_(pc.equal(sign, "-"), pc.invert(zero)), "-", "")
    whole = pc.if_else(pc.equal(whole, ""), "0", whole)
    if not scale:
        return pc.binary_join_element_wise(sign, whole, "")
    return pc.binary_join_element_wise(sign, whole, ".", pc.utf8_rpad(part, width=scale, padding="0"), "")


# -- dates and times -------------------------------------------------------------------------------------------------
def _dates(texts: pa.Array) -> pa.Array:
    pc.cast(texts, pa.date32())
    if pc.any(pc.starts_with(texts, "0000"), min_count=0).as_py():
        raise ValueError("year 0")
    return texts


def _times(texts: pa.Array) -> pa.Array:
    """Return times with six digits of a second.

    Minutes and seconds are below 60; hours may be more than a day.
    """
    texts = pc.replace_substring_regex(texts, r"^(-?[0-9]+:[0-9]{2})$", r"\1:00")
    if not _all(_matches(texts, r"^-?[0-9]+:[0-5][0-9]:[0-5][0-9]")):
        raise ValueError("out of range")
    return _six_digits(texts)


def _timestamps(texts: pa.Array) -> pa.Array:
    return _iso(_instants(texts))


def _zoned(texts: pa.Array) -> pa.Array:
    """Return timestamps in UTC; a text without an offset is in UTC already."""
    parts = pc.extract_regex(texts, _ZONED)
    local = pc.coalesce(pc.struct_field(parts, "local"), texts)
    zones = pc.struct_field(parts, "zone")
    offsets = {zone: _seconds(zone) for zone in zones.unique().to_pylist() if zone is not None}
    found = _instants(local)
    if any(offsets.values()):
        shift = pa.array([offsets.get(zone, 0) for zone in zones.to_pylist()], pa.duration("s"))
        found = pc.subtract(found, shift.cast(pa.duration("us")))
    return pc.binary_join_element_wise(_iso(found), "Z", "")


def _seconds(zone: str) -> int:
    """Return the offset of a zone in seconds."""
    found = _OFFSET.fullmatch(zone)
    if found is None:
        return 0
    hours, minutes, seconds = (int(part or 0) for part in found.groups()[1:])
    if minutes > 59 or seconds > 59 or hours > 15:  # PostgreSQL's most
        raise ValueError("no offset")
    size = 3600 * hours + 60 * minutes + seconds
    return -size if found[1] == "-" else size


def _instants(texts: pa.Array) -> pa.Array:
    return pc.cast(_at_most_six_digits(texts, _STAMP), pa.timestamp("us"))


def _iso(instants: pa.Array) -> pa.Array:
    """Return timestamps as texts with six digits of a second, of years 1 to 9999."""
    ends = pc.min_max(instants.cast(pa.int64()))
    first, last = ends["min"].as_py(), ends["max"].as_py()
    if first is not None and not _FIRST <= first <= last <= _LAST:
        raise ValueError("out of range")
    return pc.binary_replace_slice(pc.cast(instants, pa.string()), start=10, stop=11, replacement="T")


def _at_most_six_digits(texts: pa.Array, longest: int = 0) -> pa.Array:
    """Return texts without zeros after six digits of a second.

    Only texts beyond a length can have them.
    """
    if not pc.any(pc.greater(pc.binary_length(texts), longest), min_count=0).as_py():
        return texts
    return pc.replace_substring_regex(texts, r"(\.[0-9]{6})0+$", r"\1")


def _six_digits(texts: pa.Array) -> pa.Array:
    """Return clock times with exactly six digits of a second."""
    parts = pc.extract_regex(_at_most_six_digits(texts), r"^(?P<whole>[^.]*)(?:\.(?P<part>[0-9]*))?$")
    part = pc.utf8_rpad(pc.struct_field(parts, "part"), width=6, padding="0")
    return pc.binary_join_element_wise(pc.struct_field(parts, "whole"), part, ".")


_DATES: dict[str, Callable[[pa.Array], pa.Array]] = {
    "date": _dates,
    "time": _times,
    "timestamp": _timestamps,
    "timestamptz": _zoned,
}


def _special(text: str) -> str:
    return "NaN" if text.lower() == "nan" else text


def _far(text: str) -> str:
    """Return a timestamp before year 1 or after 9999 as PostgreSQL writes it in UTC.

    Return another text as it is.
    """
    found = _FAR.fullmatch(text)
    if found is None:
        return text
    year = 1 - int(found["year"]) if found["bc"] else int(found["year"])
    cycle = year // _CYCLE * _CYCLE - _CYCLE  # the calendar repeats
    whole, _, part = found["rest"].replace("T", " ").partition(".")
    try:  # Python 3.10 reads no other number of digits than six
        moment = datetime.fromisoformat(f"{year - cycle:04}-{whole}".ljust(19, "0") + f".{part[:6]:<06}")
    except ValueError:  # no day, as MariaDB accepts them
        return text
    moment -= timedelta(seconds=_seconds(found["zone"] or ""))
    year = moment.year + cycle
    digits = f"{moment:%f}"
    if 1 <= year <= 9999:
        return f"{year:04}-{moment:%m-%dT%H:%M:%S}.{digits}" + ("Z" if found["zone"] else "")
    part = f".{digits.rstrip('0')}" if digits.strip("0") else ""
    shown = f"{year if year > 0 else 1 - year:04}-{moment:%m-%d %H:%M:%S}{part}"
    return shown + ("+00" if found["zone"] else "") + ("" if year > 0 else " BC")


# -- bytes -----------------------------------------------------------------------------------------------------------
def _bytes(texts: pa.Array, kind: str) -> pa.Array:
    values: list[bytes | None] = []
    for row, text in enumerate(texts.to_pylist()):
        found = None if text is None else _READERS[kind](text)
        if found is None and text is not None:
            raise BadValue(row)
        values.append(found)
    return pa.array(values, pa.binary())


def _binary(text: str) -> bytes | None:
    """Return bytes as PostgreSQL, Spark or DuckDB writes them."""
    if text.startswith(("\\x", "0x")) and _HEX.fullmatch(text, 2):
        return bytes.fromhex(text[2:])
    if _SPARK.fullmatch(text):
        return bytes.fromhex(text[1:-1])
    return _blob(text) if "\\x" in text or not text else None


def _hex(text: str) -> bytes | None:
    digits = text[2:] if text[:2] in ("0x", "0X", "\\x") else text
    return bytes.fromhex(digits) if _HEX.fullmatch(digits) else None


def _base64(text: str) -> bytes | None:
    """Return bytes as Spark and most others write them in JSON.

    PostgreSQL and MySQL have forms of their own.
    """
    if text.startswith("\\x"):
        return _binary(text)
    text = re.sub("^base64:type[0-9]+:", "", text)
    try:
        return base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return None


def _blob(text: str) -> bytes | None:
    if not _BLOB.fullmatch(text):
        return None
    return re.sub(rb"\\x(..)", lambda found: bytes.fromhex(found[1].decode()), text.encode())


_READERS: dict[str, Callable[[str], bytes | None]] = {"binary": _binary, "hex": _hex, "base64": _base64, "blob": _blob}
