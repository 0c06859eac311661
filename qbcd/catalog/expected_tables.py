"""Tables that the polls of a round need: the catalog is asked for many of them at once.

A poll plans by the catalog, and reads it again under the lock that keeps DDL away (docs/design/protocol.md#rule-9). The
first reading may be a little older than the poll, so the polls of a round share it.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Sequence

from qbcd.model import Table

MOST_AGE_S = 30.0  # of a reading that plans may use
AT_ONCE = 50  # tables of one statement

Name = tuple[str, str]  # schema and name


class ExpectedTables:
    """The tables of one source that polls will need soon."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._expected: dict[Name, None] = {}  # tables whose polls have not asked yet
        self._known: dict[Name, tuple[float, Table | None]] = {}

    def expect(self, names: Iterable[Name]) -> None:
        """Begin a round: forget known tables, and expect questions about `names`.

        A single name is not expected: its poll asks for it.
        """
        named = dict.fromkeys(names)
        with self._lock:
            self._known.clear()
            self._expected = named if len(named) > 1 else {}

    def get(self, name: Name, probe: Callable[[Sequence[Name]], Sequence[Table | None]]) -> Table | None:
        """Return a table that is expected, or None if it is not, or does not exist.

        Args:
            name: Schema and name.
            probe: Asks the catalog.
        """
        with self._lock:  # other threads wait, since the same question answers theirs
            if name not in self._expected:
                return None
            del self._expected[name]
            at, table = self._known.pop(name, (-math.inf, None))
            if time.monotonic() - at <= MOST_AGE_S:
                return table
            names, began = [name, *self._expected][:AT_ONCE], time.monotonic()
            self._known.update(zip(names, ((began, one) for one in probe(names)), strict=True))
            return self._known.pop(name)[1]
