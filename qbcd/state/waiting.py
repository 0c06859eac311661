"""Rows of events that wait for a row of a lookup, by the batch in which they were found.

The file of a batch has the events that still wait. It is replaced after each later batch that has some of them
(docs/design/protocol.md#rule-26).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import delete, insert, select

from qbcd.errors import StateConflict
from qbcd.model import BatchHeader
from qbcd.state.project import ProjectState
from qbcd.state.project_tables import WAITING
from qbcd.state.rows import batch_from_json, batch_to_json, dump
from qbcd.state.tables import seal, unseal


@dataclass(frozen=True)
class WaitingEvents:
    """The events of one batch that wait.

    Attributes:
        header: The batch in which they were found.
        file: Name of the file in the stream's folder of enrichments.
        hash: SHA-256 of the file.
        events: Their number.
        through: The last batch whose events are no longer in the file.
    """

    header: BatchHeader
    file: str
    hash: str
    events: int
    through: int

    def values(self, stream: str) -> dict[str, Any]:
        """Return the columns of the row."""
        return {
            "stream": stream,
            "epoch": self.header.epoch,
            "batch_seq": self.header.seq,
            "header": dump(batch_to_json(self.header)),
            "file": self.file,
            "hash": self.hash,
            "events": self.events,
            "through": self.through,
        }


def waiting_events(state: ProjectState, stream: str) -> list[WaitingEvents]:
    """Return the events of a stream that wait, in the order in which they were found.

    Raises:
        Refused: A row is damaged.
    """
    with state.read() as conn:
        query = select(WAITING).where(WAITING.c.stream == stream).order_by(WAITING.c.epoch, WAITING.c.batch_seq)
        rows = conn.execute(query).mappings().all()
    return [_of_row(unseal(WAITING, dict(row))) for row in rows]


def replace_waiting(state: ProjectState, stream: str, old: WaitingEvents, new: WaitingEvents) -> None:
    """Store the events of a batch that still wait; forget the batch if there are none.

    Raises:
        StateConflict: Another process has done it.
    """
    mine = (WAITING.c.stream == stream) & (WAITING.c.epoch == old.header.epoch)
    mine &= (WAITING.c.batch_seq == old.header.seq) & (WAITING.c.file == old.file)
    with state.write() as conn:
        if conn.execute(delete(WAITING).where(mine)).rowcount != 1:
            raise StateConflict(
                "another process delivers events that waited",
                stream=stream,
                remedy="let only one copy poll; poll again",
            )
        if new.events:
            conn.execute(insert(WAITING).values(**seal(WAITING, new.values(stream)), at=state.facts.clock))
    state.renew(stream)


def _of_row(row: Mapping[str, Any]) -> WaitingEvents:
    return WaitingEvents(
        batch_from_json(json.loads(row["header"])),
        str(row["file"]),
        str(row["hash"]),
        int(row["events"]),
        int(row["through"]),
    )
