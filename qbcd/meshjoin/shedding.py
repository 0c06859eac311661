"""Load shedding: the events that join now, and those that wait (Polyzotis et al., 5).

Each policy keeps `size` of the events that are offered within one iteration. The others are never dropped: they wait
for the regular path (M15).
"""

from __future__ import annotations

import heapq
import itertools
import random
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

from typing_extensions import override

Event = TypeVar("Event")
Frequency = Callable[[Event], float]


class Shedding(ABC, Generic[Event]):
    """A min-heap (M7) of the events that are kept, by a priority of the policy."""

    def __init__(self, size: int) -> None:
        self.size = size
        self._heap: list[tuple[float, int, Event]] = []
        self._arrivals = itertools.count()
        self._offered = 0

    @abstractmethod
    def _priority(self, event: Event, arrival: int) -> float:
        """Return the priority of an event; the lowest one waits."""

    def offer(self, event: Event) -> Event | None:
        """Offer an event; return the one that has to wait for it, or None if there is room."""
        self._offered += 1
        arrival = next(self._arrivals)
        entry = (self._priority(event, arrival), -arrival, event)
        if len(self._heap) < self.size:
            heapq.heappush(self._heap, entry)
            return None
        return heapq.heappushpop(self._heap, entry)[2]

    def take(self) -> list[Event]:
        """Return the events that are kept, in the order of arrival, and begin the next iteration."""
        kept = [event for _, _, event in sorted(self._heap, key=lambda entry: -entry[1])]
        self._heap.clear()
        self._offered = 0
        return kept

    def split(self, events: Iterable[Event]) -> tuple[list[Event], list[Event]]:
        """Return the events of one iteration that join now, and those that wait."""
        waiting = [shed for event in events if (shed := self.offer(event)) is not None]
        return self.take(), waiting


class KeepFirst(Shedding[Event]):
    """Keep w: any events will do if each has one partner; here the first ones."""

    @override
    def _priority(self, event: Event, arrival: int) -> float:
        return -arrival


class SampleWindow(Shedding[Event]):
    """Sample w: a uniform sample, whose joined rows are a uniform sample of the result."""

    def __init__(self, size: int, drawn: random.Random) -> None:
        super().__init__(size)
        self._drawn = drawn

    @property
    def rate(self) -> float:
        """Share of the offered events that are kept; a count divided by it estimates all."""
        return min(1.0, self.size / self._offered) if self._offered else 1.0

    @override
    def _priority(self, event: Event, arrival: int) -> float:
        return self._drawn.random()


class KeepTop(Shedding[Event]):
    """TopW: the events with the most partners, for the largest subset of the result."""

    def __init__(self, size: int, frequency: Frequency[Event]) -> None:
        super().__init__(size)
        self._frequency = frequency

    @override
    def _priority(self, event: Event, arrival: int) -> float:
        return self._frequency(event)


class ClusterSample(Shedding[Event]):
    """Cluster sampling: events drawn with a probability that grows with their partners.

    It draws without replacement, with weights: each event's priority is u^(1/weight) of a uniform u.
    """

    def __init__(self, size: int, frequency: Frequency[Event], drawn: random.Random) -> None:
        super().__init__(size)
        self._frequency, self._drawn = frequency, drawn

    @override
    def _priority(self, event: Event, arrival: int) -> float:
        weight = self._frequency(event)
        return self._drawn.random() ** (1 / weight) if weight > 0 else 0.0
