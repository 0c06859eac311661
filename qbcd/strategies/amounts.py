"""Numbers that may be uncertain: a range, or unknown."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Amount:
    """A number between `low` and `high`, both not negative.

    A certain one has equal bounds; an unknown one is between 0 and infinity.
    """

    low: float
    high: float

    @classmethod
    def of(cls, value: float) -> Amount:
        """Return a certain number."""
        return cls(value, value)

    @classmethod
    def between(cls, *values: float) -> Amount:
        """Return the range of some possible values."""
        return cls(min(values), max(values))

    @property
    def known(self) -> bool:
        """True if there is an upper bound."""
        return math.isfinite(self.high)

    @property
    def certain(self) -> bool:
        """True if both bounds are equal, apart from rounding."""
        return self.known and self.high - self.low < 0.5 + 0.001 * self.high

    @property
    def middle(self) -> float:
        """The geometric middle of a known range, for comparisons; infinity of an unknown one."""
        return math.sqrt(max(self.low, 1e-9) * max(self.high, 1e-9)) if self.known else math.inf

    def __add__(self, other: Amount | float) -> Amount:
        other = _amount(other)
        return Amount(self.low + other.low, self.high + other.high)

    __radd__ = __add__

    def __mul__(self, other: Amount | float) -> Amount:
        other = _amount(other)
        return Amount(_times(self.low, other.low), _times(self.high, other.high))

    __rmul__ = __mul__

    def at_most(self, bound: float) -> Amount:
        """Return the amount without values above `bound`."""
        return Amount(min(self.low, bound), min(self.high, bound))

    def through(self, function: Callable[[float], float]) -> Amount:
        """Return the values of a function that does not decrease; of infinity it is infinity."""
        return Amount(function(self.low), function(self.high) if self.known else math.inf)

    def text(self, noun: str, plural: str = "") -> str:
        """Return the amount in words: ``1,001 pages``, ``1,000 to 2,000 pages``.

        Others are ``at least 7 pages`` and ``unknown pages``.
        """
        plural = plural or f"{noun}s"
        if not self.known:
            return f"at least {rounded(self.low)} {plural}" if self.low >= 1 else f"unknown {plural}"
        if self.certain:
            shown = rounded(self.high)
            return f"{shown} {noun if shown == '1' else plural}"
        return f"{rounded(self.low)} to {rounded(self.high)} {plural}"

    @property
    def short(self) -> str:
        """The amount in a column of a table: ``1.0k``, ``1.0k-2.0k``, ``?``."""
        if not self.known:
            return f">{abbreviated(self.low)}" if self.low >= 1 else "?"
        low, high = abbreviated(self.low), abbreviated(self.high)
        return high if self.certain or low == high else f"{low}-{high}"

    @property
    def data(self) -> list[float | None] | None:
        """The bounds for JSON; None for unknown, and None as upper bound if there is none."""
        if not self.known:
            return [self.low, None] if self.low > 0 else None
        return [round(self.low, 3), round(self.high, 3)]


_HUGE = 1e60  # in place of infinity, which times 0 is no number


def lifted(function: Callable[..., float], *values: Amount | float) -> Amount:
    """Return the results of a function that falls with no argument.

    They reach from that of all lower bounds to that of all upper bounds.
    """
    amounts = [_amount(value) for value in values]
    low = function(*(one.low for one in amounts))
    high = function(*(min(one.high, _HUGE) for one in amounts))
    return Amount(low, math.inf if high > _HUGE / 1e30 else max(low, high))


UNKNOWN = Amount(0.0, math.inf)
NONE = Amount(0.0, 0.0)


def abbreviated(value: float) -> str:
    """Return ``950``, ``1.3k``, ``27k`` or ``1.0M``."""
    for unit, name in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if value >= unit * 0.9995:
            return f"{value / unit:.1f}{name}" if value < 9.95 * unit else f"{value / unit:.0f}{name}"
    return f"{math.ceil(value - 0.05):d}" if value >= 1 or value == 0 else f"{value:.1g}"


def rounded(value: float) -> str:
    """Return a whole number with separators; what is below 1 and not 0 has one digit."""
    return f"{value:,.0f}" if value >= 0.95 or value == 0 else f"{value:.1g}"


def _amount(value: Amount | float) -> Amount:
    return value if isinstance(value, Amount) else Amount.of(value)


def _times(one: float, other: float) -> float:
    return 0.0 if not one or not other else one * other
