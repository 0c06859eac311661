"""Progress of sinks that take a batch in parts: the events that they have accepted.

A row that is missing or old only makes the sink get events again: it needs no lease.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import delete, insert, select
from sqlalchemy.exc import IntegrityError

from qbcd.state.project import ProjectState
from qbcd.state.project_tables import PROGRESS
from qbcd.state.tables import seal, unseal


class StoredProgress:
    """The progress of a stream's sink in its present batch."""

    def __init__(self, state: ProjectState, stream: str, sink: str) -> None:
        self._state, self._stream, self._sink = state, stream, sink

    def events(self, fingerprint: str) -> int:
        """Return how many events of a batch the sink has.

        Raises:
            Refused: A row is damaged.
        """
        with self._state.read() as conn:
            row = conn.execute(select(PROGRESS).where(self._here)).mappings().first()
        found = None if row is None else unseal(PROGRESS, dict(row))
        return int(found["events"]) if found and found["fingerprint"] == fingerprint else 0

    def note(self, fingerprint: str, events: int) -> None:
        """Store that the sink has the first `events` events of a batch."""
        values = {"stream": self._stream, "sink": self._sink, "fingerprint": fingerprint, "events": events}
        try:
            with self._state.write() as conn:
                conn.execute(delete(PROGRESS).where(self._here))
                conn.execute(insert(PROGRESS).values(**seal(PROGRESS, values)))
        except IntegrityError:  # another process was first; it knows its own progress
            return

    @property
    def _here(self) -> Any:
        return (PROGRESS.c.stream == self._stream) & (PROGRESS.c.sink == self._sink)
