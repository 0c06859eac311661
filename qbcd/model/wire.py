"""Types of values in wire form, by the names that Spark has for them."""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.model.columns import Travel

Fields = Sequence[tuple[str, str]]  # (name, type)

PLAIN_TYPES = {
    "boolean": "boolean",
    "int16": "smallint",
    "int32": "int",
    "int64": "bigint",
    "uint64": "decimal(20,0)",
    "float32": "float",
    "float64": "double",
    "text": "string",
    "time": "string",
    "binary": "binary",
}

YEAR = "([1-9][0-9]{3}|[0-9][1-9][0-9]{2}|[0-9]{2}[1-9][0-9]|[0-9]{3}[1-9])"  # 0001 to 9999, as a regular expression
EVENT_FIELDS = ("op", "key", "before", "after", "changed", "reason", "pair_id", "source", "event_id", "ts_ms")
ELEMENTS = "elements"  # the field of events with sets
_PARSED = {"date": "date", "timestamp": "timestamp_ntz", "timestamptz": "timestamp"}
_ESCAPES = {"\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r", '"': '\\"', "\\": "\\\\"}
_ESCAPED = {**{i: f"\\u{i:04X}" for i in range(32)}, **{ord(c): text for c, text in _ESCAPES.items()}}


def wire_type(travel: Travel) -> str:
    """Return the type of a value in wire form.

    A type that is not among :data:`PLAIN_TYPES` travels as text.
    """
    return PLAIN_TYPES.get(travel.kind, "string")


def typed_name(travel: Travel) -> str:
    """Return the type of a value in typed sinks.

    Raises:
        ValueError: An array without its element.
    """
    if travel.kind == "decimal":
        return f"decimal({travel.precision},{travel.scale})"
    if travel.kind == "array":
        if travel.element is None:
            raise ValueError("an array needs its element")
        return f"array<{typed_name(travel.element)}>"
    return PLAIN_TYPES.get(travel.kind) or _PARSED[travel.kind]


def json_text(text: str) -> str:
    """Return a text as JSON, with the escapes that both engines write."""
    return f'"{text.translate(_ESCAPED)}"'
