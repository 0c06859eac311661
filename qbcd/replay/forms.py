"""The forms of columns in a replay, by the values of the log and the columns of the target.

Parquet has forms. JSON has only kinds of values; their form is the first one that a column of the target can hold.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from functools import reduce
from typing import Any

from qbcd.model import Travel, TravelKind
from qbcd.sinks.table.databases import TargetDatabase
from qbcd.sinks.table.databases.base import decimal_size

_NOT_FINITE = frozenset(("NaN", "Infinity", "-Infinity"))
_LONGEST = 2**63
_WHOLE: tuple[TravelKind, ...] = ("int16", "int32", "int64")
_MOST = 38  # digits of a decimal
# The forms that values may have in a column of the target, the first that fits; those of JSON in more.
_FORMS: dict[str, tuple[TravelKind, ...]] = {
    "text": ("text", "date", "timestamp", "timestamptz", "time", "binary"),
    "int64": ("int64", "int32", "int16", "uint64"),
}
_JSON_FORMS: dict[str, tuple[TravelKind, ...]] = {
    **_FORMS,
    "int64": (*_FORMS["int64"], "float64", "float32"),
    "float64": ("float64", "float32"),
}


def kind_of(value: Any) -> Any:
    """Return the kind of a value of JSON; that of a list is the set of those of its items."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if -_LONGEST <= value < _LONGEST else "large"
    if isinstance(value, float):
        return "float"
    if isinstance(value, list):
        return frozenset(kind_of(one) for one in value if one is not None)
    return "not finite" if isinstance(value, str) and value in _NOT_FINITE else "text"


def form_in(database: TargetDatabase, kinds: Collection[Any], there: str) -> Travel:
    """Return the form of a column.

    Args:
        kinds: The kinds of its values in JSON, and its forms in Parquet.
        there: The type of the target's column; empty without one.
    """
    typed = [kind for kind in kinds if isinstance(kind, Travel)]
    form = reduce(_wider, typed) if typed else _of_json(kinds)
    return _fitting(form, database, there, _FORMS if typed else _JSON_FORMS)


def _wider(one: Travel, other: Travel) -> Travel:
    """Return the form that has the values of two; text if no wider type has them."""
    if one == other:
        return one
    kinds = {one.kind, other.kind}
    if kinds <= {*_WHOLE}:
        return max(one, other, key=lambda form: _WHOLE.index(form.kind))
    if kinds <= {"float32", "float64"}:
        return Travel("float64")
    if kinds == {"decimal"}:
        scale = max(one.scale, other.scale)
        digits = max(one.precision - one.scale, other.precision - other.scale) + scale
        return Travel("decimal", digits, scale) if digits <= _MOST else Travel("text")
    if one.element is not None and other.element is not None:
        return Travel("array", element=_wider(one.element, other.element))
    return Travel("text")


def _of_json(kinds: Iterable[Any]) -> Travel | None:
    """Return the form of values of JSON; None if all are NULL."""
    found = frozenset(kinds)
    plain = {kind for kind in found if not isinstance(kind, frozenset)}
    if len(plain) < len(found):
        inner = frozenset(one for kind in found if isinstance(kind, frozenset) for one in kind)
        return Travel("text") if plain else Travel("array", element=_of_json(inner) or Travel("text"))
    if not plain:
        return None
    if plain == {"boolean"}:
        return Travel("boolean")
    if plain <= {"integer"}:
        return Travel("int64")
    if plain <= {"integer", "large"}:
        return Travel("uint64")
    return Travel("float64") if plain <= {"integer", "float", "not finite"} and "float" in plain else Travel("text")


def _fitting(
    form: Travel | None, database: TargetDatabase, there: str, forms: dict[str, tuple[TravelKind, ...]]
) -> Travel:
    """Return the form in which the target's column has the values, or else their own."""
    plain = form or Travel("text")
    if plain.element is not None and there.endswith("[]"):
        return Travel("array", element=_fitting(plain.element, database, there.removesuffix("[]"), forms))
    if not there or database.holds(plain, there):
        return plain
    if form and form.kind not in (*forms, "decimal"):
        return plain
    kinds = forms.get(plain.kind, ()) if form else [kind for kinds in forms.values() for kind in kinds]
    precise = decimal_size(there)
    decimals = [Travel("decimal", *precise)] if precise else []
    candidates = [*(Travel(kind) for kind in kinds), *decimals, Travel("boolean")]
    return next((one for one in candidates if database.holds(one, there)), plain)
