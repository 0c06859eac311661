"""Fields of a staged event, the same in both wings."""

from __future__ import annotations

from collections.abc import Sequence

from qbcd.model import Travel
from qbcd.model.wire import wire_type


def event_fields(travels: Sequence[Travel]) -> list[tuple[str, str]]:
    """Return (name, type) of each field of a staged event; both wings have the same."""
    images = [(f"{side}_{i}", wire_type(t)) for side in ("b", "a") for i, t in enumerate(travels)]
    about = [
        ("op", "string"),
        ("reason", "string"),
        ("pair_id", "string"),
        ("ordinal", "bigint"),
        ("changed", "string"),
    ]
    return [*about, *images]


def casts(fields: Sequence[tuple[str, str]]) -> list[str]:
    """Return the expressions that give a frame exactly these fields."""
    return [f"CAST({name} AS {kind}) AS {name}" for name, kind in fields]
