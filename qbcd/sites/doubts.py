"""The columns of a stream whose values a sink may not hold, although their types can."""

from __future__ import annotations

from dataclasses import dataclass

from qbcd.model import StreamPlan, Travel
from qbcd.model.value_limits import ValueClass, words_of_class
from qbcd.sites.values import Settings


@dataclass(frozen=True)
class Doubt:
    """One class of values of one column, for one sink.

    Attributes:
        position: Of the column among the captured ones.
        longest: For class ``long``: most characters, or bytes of a binary value.
        old: The sink has old values too.
    """

    sink: str
    kind: ValueClass
    position: int
    travel: Travel
    longest: int
    old: bool

    @property
    def words(self) -> str:
        """The words for such a value."""
        return words_of_class(self.kind, self.longest)

    @property
    def fields(self) -> list[str]:
        """The fields of an event in which such a value stops the sink."""
        return [f"{side}_{self.position}" for side in ("ab" if self.old else "a")]


def doubts_of(plan: StreamPlan, settings: Settings) -> list[Doubt]:
    """Return what must be looked for in the events of a stream before they are committed.

    A sink with a policy for such values takes those outside the key.
    """
    found, keys = list[Doubt](), len(plan.key)
    for sink, limits in settings.limits:
        for position, column in enumerate(plan.captured):
            in_key, travel = position < keys, column.travel
            kinds = limits.of(travel) if in_key or limits.policy == "refuse" else []
            if limits.policy == "text" and travel.element is None:
                kinds = [kind for kind in kinds if kind != "nul"]
            found += [Doubt(sink, kind, position, travel, 0, limits.old) for kind in kinds]
            longest = limits.longest(travel, keys) if in_key else 0
            if longest:
                found.append(Doubt(sink, "long", position, travel, longest, limits.old))
    return found
