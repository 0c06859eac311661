"""Texts of values as Spark's casts write them."""

from __future__ import annotations

import math
import struct
from decimal import Decimal
from typing import Any

_PLAIN = range(-3, 7)  # decimal exponents that Java writes without an exponent


def spelled(value: Any, kind: str) -> str:
    """Return the text of a wire value.

    Args:
        kind: DuckDB's name of its type.
    """
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return _float(value, single=kind == "FLOAT")
    return str(value)


def _float(value: float, *, single: bool) -> str:
    """Return a float with the fewest digits that read as it, as Java writes it: ``1.0E-5``."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    sign, digits, exponent = Decimal(_shortest(value) if single else repr(value)).as_tuple()
    text = "".join(map(str, digits)).lstrip("0") or "0"
    places = len(text) - 1 + int(exponent) if value else 0
    text = text.rstrip("0") or "0"
    if places not in _PLAIN:
        shown = f"{text[0]}.{text[1:] or '0'}E{places}"
    elif places < 0:
        shown = f"0.{'0' * (-places - 1)}{text}"
    else:
        shown = f"{text[: places + 1]:0<{places + 1}}.{text[places + 1 :] or '0'}"
    return f"-{shown}" if sign else shown


def _shortest(value: float) -> str:
    """Return the fewest digits that read as the same 32-bit float."""
    texts = (f"{value:.{digits}g}" for digits in range(1, 10))
    return next((text for text in texts if _as_single(text) == value), repr(value))


def _as_single(text: str) -> float:
    try:
        (number,) = struct.unpack("f", struct.pack("f", float(text)))
    except OverflowError:  # rounded up, the greatest float is too large
        return math.inf
    return float(number)
