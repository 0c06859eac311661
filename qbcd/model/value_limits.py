"""Values that sinks cannot hold, as data, and the words for them in messages."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import Any, Literal

from qbcd.model.columns import Travel, TravelKind

ValueClass = Literal["nul", "nan", "infinity", "long"]
Unsupported = Literal["refuse", "null", "text"]  # a user's policy for such values
FLOATS: tuple[TravelKind, ...] = ("float32", "float64")
TEXTS: tuple[TravelKind, ...] = ("text", "time")
# Kinds that have values in databases which no type of a sink has: they arrive as the source's own text.
NARROWER: tuple[TravelKind, ...] = ("date", "timestamp", "timestamptz", "decimal", "array")
_CLASSES: Mapping[ValueClass, tuple[TravelKind, ...]] = {"nul": TEXTS, "nan": FLOATS, "infinity": FLOATS}
_WORDS: Mapping[ValueClass, str] = {
    "nul": "text with NUL characters",
    "nan": "NaN",
    "infinity": "an infinite number",
    "long": "a value longer than its keys can be",
}
_DATE = re.compile(r"([0-9]{4,6})-([0-9]{2})-([0-9]{2})(?:[ T][0-9:.]+Z?)?")


@dataclass(frozen=True)
class ValueLimits:
    """The values that a sink cannot hold.

    Attributes:
        key_bytes: Longest entry of an index, of which a character needs four; 0 for no limit that matters.
        old: The sink has the old values of events too.
        policy: The user's policy for values of columns that are not in the key.
    """

    classes: frozenset[ValueClass] = frozenset()
    key_bytes: int = 0
    old: bool = True
    policy: Unsupported = "refuse"

    def of(self, travel: Travel) -> list[ValueClass]:
        """Return the classes that a column of these values can have and the sink cannot hold."""
        if travel.element is not None:  # other items are JSON, or have a type that holds them
            return [kind for kind in self.of(travel.element) if kind == "nul"]
        return [kind for kind, kinds in _CLASSES.items() if kind in self.classes and travel.kind in kinds]

    def longest(self, travel: Travel, key_parts: int) -> int:
        """Return the most characters, or bytes of a binary value, of a column in a key.

        0 if there is no limit.
        """
        if not self.key_bytes or travel.kind not in (*TEXTS, "binary", "array"):
            return 0
        bytes_of_one = self.key_bytes // key_parts - 16
        return bytes_of_one if travel.kind == "binary" else bytes_of_one // 4


def words_of_class(kind: ValueClass, longest: int = 0) -> str:
    """Return the words for a value of a class."""
    return f"a key of more than {longest:,} characters" if kind == "long" and longest else _WORDS[kind]


def words_of_text(travel: Travel, text: str) -> str:
    """Return the words for a text of a value that the type of its column does not have.

    The text is the database's; the words are empty if the type has the value.
    """
    if travel.kind in ("date", "timestamp", "timestamptz"):
        return _words_of_date(text, "date" if travel.kind == "date" else "timestamp")
    if travel.kind == "decimal":
        try:
            return "" if Decimal(text).is_finite() else f"{text} in a decimal"
        except InvalidOperation:
            return f"the decimal {text[:40]}"
    if travel.element is not None:
        return _words_of_array(travel.element, text)
    return ""


def _words_of_date(text: str, noun: str) -> str:
    if "infinity" in text.lower():
        return f"an infinite {noun}"
    if text.startswith("0000-00-00"):
        return f"a zero {noun}"
    found = _DATE.fullmatch(text)
    if found is None or not 1 <= int(found[1]) <= 9999:
        return f"a {noun} outside the years 1 to 9999"
    try:
        date(*map(int, found.groups()))
    except ValueError:
        return f"an impossible {noun}"
    return ""


def _words_of_array(element: Travel, text: str) -> str:
    try:
        items: Any = json.loads(text)
    except ValueError:
        items = None
    if not isinstance(items, list):
        return "an array that is not one-dimensional from index 1"
    words = (words_of_text(element, item if isinstance(item, str) else json.dumps(item)) for item in items if item)
    found = next((one for one in words if one), "")
    return f"{found}, in an array" if found else ""
