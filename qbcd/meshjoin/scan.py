"""The cyclic scan of a mesh join and its queue (Polyzotis et al., Figures 3 and 6).

The relation is read page after page, round and round. Events join the scan at its current page and leave it one full
cycle later, so every event meets every page once, and all waiting events share each read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Generic, TypeVar

Group = TypeVar("Group")
Key = TypeVar("Key", bound=Hashable)
Event = TypeVar("Event")
Row = TypeVar("Row")


@dataclass(frozen=True)
class Waiting(Generic[Group]):
    """A group of events in the queue, with the first page that it met."""

    events: Group
    start: int


class CyclicScan(Generic[Group]):
    """The position of the scan, and the groups that wait.

    The size of a group and of a read may vary (Figure 6). Groups expire by their first page, so the last read of a
    cycle may be short (M3).
    """

    def __init__(self, pages: int, position: int = 0, waiting: Iterable[Waiting[Group]] = ()) -> None:
        if pages < 1 or not 0 <= position < pages:
            raise ValueError(f"position {position} of {pages} pages")
        self.pages = pages
        self.position = position
        self._queue = deque(waiting)

    @property
    def waiting(self) -> tuple[Waiting[Group], ...]:
        """The groups that have not met every page, oldest first."""
        return tuple(self._queue)

    def admit(self, events: Group) -> None:
        """Let a group wait; the next page is its first one."""
        self._queue.append(Waiting(events, self.position))

    def turns(self, pages: int) -> range:
        """Return the next pages to read together: to the end of the cycle at most (M12).

        The read also ends where the oldest group leaves, so that all its pages have the same groups.
        """
        end = min(self.position + max(1, pages), self.pages)
        left = (self._queue[0].start - self.position) % self.pages if self._queue else 0
        return range(self.position, min(end, self.position + left) if left else end)

    def advance(self) -> list[Group]:
        """Pass over the joined page; return the groups that have now met every page."""
        self.position = (self.position + 1) % self.pages
        done: list[Group] = []
        while self._queue and self._queue[0].start == self.position:
            done.append(self._queue.popleft().events)
        return done


@dataclass
class _Entry(Generic[Key, Event, Row]):
    """An event of the window, with its partners so far."""

    key: Key | None
    event: Event
    partners: list[Row] = field(default_factory=list)


class MeshJoin(Generic[Key, Event, Row]):
    """Events of a window by their join key; each row that is read finds its events.

    Results come in the order of the stream when events leave the window (M14). An event without a partner comes with
    none: the anti-join S - R (M11). A key of None has no partner.
    """

    def __init__(self, pages: int, position: int = 0) -> None:
        self.scan: CyclicScan[list[_Entry[Key, Event, Row]]] = CyclicScan(pages, position)
        self._by_key: dict[Key, deque[_Entry[Key, Event, Row]]] = {}

    @property
    def keys(self) -> Iterable[Key]:
        """The keys of the window, each once."""
        return self._by_key.keys()

    def admit(self, events: Iterable[tuple[Key | None, Event]]) -> None:
        """Let events wait as one group; none are an empty group, which is not queued (M10)."""
        group = [_Entry[Key, Event, Row](key, event) for key, event in events]
        for entry in group:
            if entry.key is not None:
                self._by_key.setdefault(entry.key, deque()).append(entry)
        if group:
            self.scan.admit(group)

    def join(self, rows: Iterable[tuple[Key | None, Row]]) -> Iterator[tuple[Event, list[Row]]]:
        """Join the rows of the current page; yield the events that leave, with their partners."""
        for key, row in rows:
            if key is not None:
                for entry in self._by_key.get(key, ()):
                    entry.partners.append(row)
        for group in self.scan.advance():
            for entry in group:
                self._forget(entry)
                yield entry.event, entry.partners

    def _forget(self, entry: _Entry[Key, Event, Row]) -> None:
        if entry.key is None:
            return
        same = self._by_key[entry.key]
        same.popleft()  # groups leave in the order in which they came
        if not same:
            del self._by_key[entry.key]
