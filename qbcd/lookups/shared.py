"""Searches of several streams in one relation at the same time: they share one scan.

The first one that comes searches at once. Those that come meanwhile wait, and are then one search of all their keys.
None joins a scan that runs: its transaction may be older than the events, and would not see partners that they have.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa

_LOOK_EVERY_S = 0.5  # a search that waits looks so often if it must go on itself


@dataclass(eq=False)
class WaitingSearch:
    """The search of one batch.

    Attributes:
        keys: Its keys as texts, k0 ..
        partners: The rows found, as texts of their keys, k0 .., and values, t0 ..; None until they are searched.
        method: The method of the search.
    """

    keys: pa.Table
    partners: pa.Table | None = None
    method: str = ""


@dataclass
class _Searched:
    running: bool = False
    waiting: list[WaitingSearch] = field(default_factory=list)


class SharedSearches:
    """The searches of a project that run now, by relation."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._relations: dict[Hashable, _Searched] = {}

    def join(self, relation: Hashable, mine: WaitingSearch, work: Callable[[Sequence[WaitingSearch]], None]) -> bool:
        """Search now with all that wait, or let another one do it; return True if another one has.

        Args:
            relation: What is searched: searches with equal ones can be one.
            work: Searches for several, of which `mine` is one, and sets the partners of the others.

        Raises:
            Exception: `work` failed; the others go on by themselves.
        """
        with self._changed:
            here = self._relations.setdefault(relation, _Searched())
            here.waiting.append(mine)
            while here.running and mine.partners is None:
                self._changed.wait(_LOOK_EVERY_S)
            if mine.partners is not None:
                return True
            group, here.waiting, here.running = here.waiting, [], True
        done = False
        try:
            work(group)
            done = True
        finally:
            with self._changed:
                here.running = False
                if not done:
                    here.waiting = [*(one for one in group if one is not mine), *here.waiting]
                self._changed.notify_all()
        return False
