"""The hull of subscriptions: the rows of a stream outside of which no condition is met.

A hull bounds one column, by a list of values or by an interval of numbers, rounded outward. It only grows, so that a
row never leaves the stream because a subscription did. A subscription can be inside a hull only if the hull changes
none of its matches: a row that crosses the edge is an insert or a delete of the stream, and no update.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from sqlglot import exp

from qbcd.subscriptions.condition import MOST_DIGITS, Bound
from qbcd.subscriptions.definition import OPS, Subscription

MOST_NUMBERS = 20  # values in a list; more are an interval
MOST_TEXTS = 1_000  # values in a list; more, and the stream is not narrowed
LONGEST = 200  # characters of a text in the hull
NO_ROW = "1 = 0"

Value = Decimal | str


@dataclass(frozen=True)
class Extent:
    """The values of one column with which a row can meet a condition.

    Attributes:
        values: All of them; None if they are an interval.
        low: Its lower end; None if it has none.
        high: Its upper end; None if it has none.
        of_set: The column is a set, which has one of the values.
    """

    values: frozenset[Value] | None = None
    low: Decimal | None = None
    high: Decimal | None = None
    of_set: bool = False


@dataclass(frozen=True)
class Hull:
    """The rows that subscriptions need.

    Attributes:
        column: The column that is bounded; empty for no row at all.
        part: Its values.
    """

    column: str = ""
    part: Extent = Extent(frozenset())

    def covers(self, parts: Mapping[str, Extent]) -> bool:
        """Return True if every row that meets a condition is inside.

        Args:
            parts: Of the condition, by column.
        """
        mine, other = self.part, parts.get(self.column)
        if other is None:
            return False
        if mine.values is not None:
            return other.values is not None and other.values <= mine.values
        low, high = _ends(other)
        return (mine.low is None or (low is not None and low >= mine.low)) and (
            mine.high is None or (high is not None and high <= mine.high)
        )

    def sql(self, quoted: str, dialect: str, overlap: str = "") -> str:
        """Return it as a condition in the source's SQL.

        Args:
            quoted: The column, quoted.
            overlap: The source's condition that a set ``{v}`` has one of the texts ``{listed}``.
        """
        part = self.part
        if part.values is not None and not part.values:
            return NO_ROW
        if part.values is not None:
            listed = ", ".join(_literal(value, dialect) for value in sorted(part.values, key=_order))
            return overlap.format(v=quoted, listed=listed) if part.of_set else f"{quoted} IN ({listed})"
        ends = [(">=", part.low), ("<=", part.high)]
        return " AND ".join(f"{quoted} {sign} {_plain(end)}" for sign, end in ends if end is not None)

    def to_json(self) -> str:
        """Return it as JSON."""
        part = self.part
        data: dict[str, Any] = {"column": self.column, "low": _written(part.low), "high": _written(part.high)}
        data |= {"of_set": True} if part.of_set else {}
        if part.values is not None:
            listed = sorted(part.values, key=_order)
            data["values"] = [{"number": _plain(one)} if isinstance(one, Decimal) else one for one in listed]
        return json.dumps(data)


def hull_of_json(text: str) -> Hull:
    """Return what :meth:`Hull.to_json` has written."""
    data = json.loads(text)
    values: frozenset[Value] | None = None
    if "values" in data:
        values = frozenset(Decimal(one["number"]) if isinstance(one, dict) else one for one in data["values"])
    low, high = (None if data[name] is None else Decimal(data[name]) for name in ("low", "high"))
    return Hull(data["column"], Extent(values, low, high, data.get("of_set", False)))


def parts_of(one: Subscription, bounds: Sequence[Bound], literals: Sequence[str]) -> dict[str, Extent]:
    """Return the columns that could bound a hull with this subscription inside.

    Args:
        bounds: Of its shape.
        literals: Of its condition, as written.
    """
    if not _crosses_unseen(one):
        return {}
    found: dict[str, Extent] = {}
    for bound in bounds:
        if one.columns and bound.column not in one.columns:
            continue
        values = [_value(literals, place) for place in bound.parameters]
        kept = [value for value in values if value is not None]
        if len(kept) < len(values):
            continue
        if bound.form in ("any", "all"):
            some = kept if bound.form == "any" else [min(map(str, kept))]  # rows with all have this one
            found.setdefault(bound.column, Extent(frozenset(some), of_set=True))
            continue
        found[bound.column] = _both(found.get(bound.column), bound.form, kept)
    return found


def grown(hull: Hull | None, wanted: Iterable[Mapping[str, Extent]], columns: frozenset[str]) -> Hull | None:
    """Return a hull with everything that is wanted inside; None if there is none.

    Args:
        hull: What must stay inside; None begins with nothing.
        wanted: Parts of each subscription.
        columns: The columns that a hull may bound, if `hull` does not say which one.
    """
    every = list(wanted)
    before = hull or Hull()
    if not every:
        return before
    if before.column:
        names = [before.column]
    else:
        common = set.intersection(*(set(each) for each in every)) & columns
        names = sorted(common)
    found = [
        (part, name)
        for name in names
        if all(name in each for each in every)
        and (part := _hull_part([*([before.part] if before.column else []), *(each[name] for each in every)]))
        is not None
    ]
    if not found:
        return None
    part, name = min(found, key=lambda one: (one[0].values is None, len(one[0].values or ()), one[1]))
    return Hull(name, part)


def _crosses_unseen(one: Subscription) -> bool:
    """Return True if an update that becomes an insert or a delete has the same matches."""
    ops = set(one.ops or OPS)
    new, old = one.when in ("new", "enters", "either"), one.when in ("old", "leaves", "either")
    return (not new or ("u" in ops) == ("c" in ops)) and (not old or ("u" in ops) == ("d" in ops))


def _both(known: Extent | None, form: str, values: Sequence[Value]) -> Extent:
    """Return the values that one more conjunct leaves, or more."""
    if form == "in":
        fewer = frozenset(values)
        return Extent(fewer if known is None or known.values is None else known.values & fewer)
    end = values[0]
    if known is not None and known.values is not None:
        return known
    assert isinstance(end, Decimal)
    low, high = (None, None) if known is None else (known.low, known.high)
    if form == "low":
        low = end if low is None else max(low, end)
    else:
        high = end if high is None else min(high, end)
    return Extent(None, low, high)


def _hull_part(parts: Sequence[Extent]) -> Extent | None:
    """Return a part with all `parts` inside, rounded outward; None if it has no bound."""
    if all(part.values is not None for part in parts):
        values = frozenset(value for part in parts for value in part.values or ())
        texts = any(isinstance(value, str) for value in values)
        if len(values) <= (MOST_TEXTS if texts else MOST_NUMBERS):
            return Extent(values, of_set=any(part.of_set for part in parts))
        if texts:
            return None
    ends = [_ends(part) for part in parts if part.values is None or part.values]
    lows, highs = [low for low, _ in ends], [high for _, high in ends]
    low = None if any(one is None for one in lows) else min(one for one in lows if one is not None)
    high = None if any(one is None for one in highs) else max(one for one in highs if one is not None)
    if low is None and high is None:
        return None
    with localcontext() as context:
        context.prec = 4 * MOST_DIGITS
        unit = _unit(low, high)
        return Extent(None, None if low is None else _down(low, unit), None if high is None else -_down(-high, unit))


def _ends(part: Extent) -> tuple[Decimal | None, Decimal | None]:
    if part.values is None:
        return part.low, part.high
    numbers = [value for value in part.values if isinstance(value, Decimal)]
    return (min(numbers), max(numbers)) if numbers else (None, None)


def _unit(low: Decimal | None, high: Decimal | None) -> Decimal:
    """Return the power of ten to which ends are rounded: that of the width, or of an only end."""
    ends = [end for end in (low, high) if end is not None]
    size = (max(ends) - min(ends)) or abs(ends[0])
    return Decimal(1) if size < 1 else Decimal(10) ** size.adjusted()


def _down(value: Decimal, unit: Decimal) -> Decimal:
    return (value // unit - (1 if value < 0 and value % unit else 0)) * unit


def _value(literals: Sequence[str], place: int) -> Value | None:
    """Return a literal; None for a text that databases may read in different ways."""
    written = literals[place if place >= 0 else -1 - place]
    if not written.startswith("'"):
        return Decimal(written).copy_negate() if place < 0 else Decimal(written)
    text = written[1:-1].replace("''", "'")
    return text if text.isprintable() and "\\" not in text and len(text) <= LONGEST else None


def _literal(value: Value, dialect: str) -> str:
    return _plain(value) if isinstance(value, Decimal) else str(exp.Literal.string(value).sql(dialect))


def _plain(value: Decimal) -> str:
    return format(value, "f")


def _written(value: Decimal | None) -> str | None:
    return None if value is None else _plain(value)


def _order(value: Value) -> tuple[bool, Decimal, str]:
    return (False, value, "") if isinstance(value, Decimal) else (True, Decimal(0), value)
