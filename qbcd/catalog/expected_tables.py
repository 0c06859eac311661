"""Tables that the polls of a round need: the catalog is asked for many of them at once.

A poll plans by the catalog, and reads it again under the lock that keeps DDL away (docs/design/protocol.md#rule-9). The
first reading may be a little older than the poll, so the polls of a round share it.
"""

from __future__ import annotations

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
        self._expected: dict[Name, None] = {}
        self._known: dict[Name, tuple[float, Table]] = {}

    def expect(self, names: Iterable[Name]) -> None:
        """Begin a round: forget what is known, and expect questions about `names`; one alone is asked by its poll."""
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
            found = self._known.get(name)
            if found is None and name in self._expected:
                names = [name, *(one for one in self._expected if one != name)][:AT_ONCE]
                began = time.monotonic()
                tables = probe(names)
                for one, table in zip(names, tables, strict=True):
                    del self._expected[one]
                    if table is not None:
                        self._known[one] = began, table
                found = self._known.get(name)
        if found is None or time.monotonic() - found[0] > MOST_AGE_S:
            return None
        return found[1]
