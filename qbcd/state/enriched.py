"""Rows of enriched batches in the state database: by batch, the file with its added fields.

The first row of a batch counts: it is never changed, and goes with the batch. The *mark* is a row without a file: no
batch up to its number gets a row any more, since such batches are older than the enrichment, or were removed
(docs/design/protocol.md#rule-26).
"""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import delete, insert, select, update
from sqlalchemy.engine import Connection
from sqlalchemy.exc import IntegrityError
from sqlalchemy.sql import Insert

from qbcd.common.wording import batch_number
from qbcd.errors import StateConflict
from qbcd.state.project import ProjectState
from qbcd.state.project_tables import ENRICHED, WAITING
from qbcd.state.rows import dump
from qbcd.state.tables import seal, unseal
from qbcd.state.waiting import WaitingEvents

Number = tuple[int, int]  # epoch and batch_seq
_WAITS = "waits"  # in `counts`


@dataclass(frozen=True)
class EnrichedBatch:
    """The stored result of enriching a batch.

    Attributes:
        fields: Names of the fields in the file.
        file: Name of the file in the stream's folder of enrichments; empty for the mark after which batches have one.
        hash: SHA-256 of the file.
        counts: Events per op that are selected, or do not wait; None if the enrichment selects none, and none waits.
        waits: Events of the batch wait for a later batch.
    """

    epoch: int
    seq: int
    fingerprint: str = ""
    fields: tuple[str, ...] = ()
    file: str = ""
    hash: str = ""
    counts: Mapping[str, int] | None = field(default=None)
    waits: bool = False

    @property
    def number(self) -> Number:
        """Epoch and number of the batch."""
        return self.epoch, self.seq


@dataclass(frozen=True)
class BatchFile:
    """A file of the stream's folder that a row names.

    Attributes:
        number: The batch, as messages name it.
        what: The contents, for messages.
    """

    file: str
    hash: str
    number: str
    what: str = "added fields"


def enriched_batches(state: ProjectState, stream: str) -> dict[Number, EnrichedBatch]:
    """Return the stored results of a stream, and its mark, by number.

    Raises:
        Refused: A row is damaged.
    """
    with state.read() as conn:
        rows = conn.execute(select(ENRICHED).where(ENRICHED.c.stream == stream)).mappings().all()
    found = [_of_row(unseal(ENRICHED, dict(row))) for row in rows]
    return {one.number: one for one in found}


def put_enriched(
    state: ProjectState, stream: str, one: EnrichedBatch, waiting: WaitingEvents | None = None
) -> EnrichedBatch:
    """Store the result of a batch and its events that wait, or return the stored one.

    Raises:
        StateConflict: The batch was removed, or the stream was reset: another process was meanwhile the poller.
    """
    try:
        with state.write() as conn:
            found = _stored(conn, stream, one)
            if one.file and (found is None or not found.file):
                _refuse_removed(stream, one, _locked_mark(conn, stream))
            if found is None:
                conn.execute(_insertion(state, stream, one))
                if waiting is not None:
                    conn.execute(insert(WAITING).values(**seal(WAITING, waiting.values(stream)), at=state.facts.clock))
        state.renew(stream)
        return found or one
    except IntegrityError:  # another process was first
        with state.read() as conn:
            found = _stored(conn, stream, one)
        if found is None:
            raise
        return found


def drop_enriched(state: ProjectState, stream: str, numbers: Collection[Number]) -> EnrichedBatch:
    """Delete the results of batches that no longer exist; return the mark, which covers them.

    Args:
        numbers: At least one. No batch with a lower number than one of these may still exist without being named.
    """
    with state.write() as conn:
        old = _locked_mark(conn, stream)
        for epoch, seq in numbers:
            conn.execute(delete(ENRICHED).where(_here(stream, epoch, seq)))
        epoch, seq = max([*numbers, *([old.number] if old else [])])
        mark = EnrichedBatch(epoch, seq)
        if old is None:
            conn.execute(_insertion(state, stream, mark))
        elif old != mark:
            values = seal(ENRICHED, _values(stream, mark))
            conn.execute(update(ENRICHED).where(_here(stream, *old.number)).values(**values))
    return mark


def note_plain(state: ProjectState, stream: str, number: Number) -> None:
    """Let no batch up to a number get a row any more: it is delivered without added fields."""
    with state.write() as conn:
        old = _locked_mark(conn, stream)
        if old is not None and old.number < number and _stored(conn, stream, EnrichedBatch(*number)) is None:
            values = seal(ENRICHED, _values(stream, EnrichedBatch(*number)))
            conn.execute(update(ENRICHED).where(_here(stream, *old.number)).values(**values))


def _insertion(state: ProjectState, stream: str, one: EnrichedBatch) -> Insert:
    return insert(ENRICHED).values(**seal(ENRICHED, _values(stream, one)), at=state.facts.clock)


def _values(stream: str, one: EnrichedBatch) -> dict[str, Any]:
    counts = None if one.counts is None else {**one.counts, **({_WAITS: 1} if one.waits else {})}
    return {
        "stream": stream,
        "epoch": one.epoch,
        "batch_seq": one.seq,
        "fingerprint": one.fingerprint,
        "fields": dump(list(one.fields)),
        "file": one.file,
        "hash": one.hash,
        "counts": dump(counts),
    }


def _refuse_removed(stream: str, one: EnrichedBatch, mark: EnrichedBatch | None) -> None:
    if mark is None or one.number <= mark.number:
        raise StateConflict(
            f"batch {batch_number(*one.number)} was removed before its added fields were stored",
            stream=stream,
            remedy="nothing to do: another process has polled meanwhile; the next poll continues from the last commit",
        )


def _locked_mark(conn: Connection, stream: str) -> EnrichedBatch | None:
    """Return the latest mark, locked: others that store or drop results wait."""
    marks = select(ENRICHED).where((ENRICHED.c.stream == stream) & (ENRICHED.c.file == "")).with_for_update()
    found = [_of_row(unseal(ENRICHED, dict(row))) for row in conn.execute(marks).mappings()]
    return max(found, key=lambda one: one.number, default=None)


def _stored(conn: Connection, stream: str, one: EnrichedBatch) -> EnrichedBatch | None:
    row = conn.execute(select(ENRICHED).where(_here(stream, *one.number))).mappings().first()
    return None if row is None else _of_row(unseal(ENRICHED, dict(row)))


def _here(stream: str, epoch: int, seq: int) -> Any:
    return (ENRICHED.c.stream == stream) & (ENRICHED.c.epoch == epoch) & (ENRICHED.c.batch_seq == seq)


def _of_row(row: Mapping[str, object]) -> EnrichedBatch:
    names, counts = json.loads(str(row["fields"])), json.loads(str(row["counts"]))
    waits = counts is not None and counts.pop(_WAITS, 0) > 0
    return EnrichedBatch(
        epoch=int(str(row["epoch"])),
        seq=int(str(row["batch_seq"])),
        fingerprint=str(row["fingerprint"]),
        fields=tuple(names),
        file=str(row["file"]),
        hash=str(row["hash"]),
        counts=counts,
        waits=waits,
    )
