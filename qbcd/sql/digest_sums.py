"""Exact sums of row digests, in canonical SQL of an engine."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from qbcd.model.plans import HALF

EXACT = "DECIMAL(38, 0)"  # exact sums of 64-bit numbers


def summands(digest: str, *, wide: bool) -> list[str]:
    """Return SQL of the parts of a digest that an engine adds up.

    `total` makes one sum of their sums. A sum of wide digests would be too large for any type of an engine, so their
    halves are added up.
    """
    parts = [f"QBCD_HIGH({digest})", f"QBCD_LOW({digest})"] if wide else [digest]
    return [f"CAST({part} AS {EXACT})" for part in parts]


def total(sums: Iterable[Any]) -> int:
    """Return the sum of digests from the sums of their `summands`."""
    found = 0
    for part in sums:
        found = found * HALF + int(part or 0)
    return found
