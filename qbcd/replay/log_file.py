"""A file of a log of events: the facts of its events that decide how they are applied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from qbcd.errors import Refused
from qbcd.model import PART, WHOLE, BatchHeader, Travel
from qbcd.stores.folders import read_json

OPS = frozenset("curd")
SOURCE = ("name", "table", "strategy", "consistency", "epoch", "batch_seq")


class BatchKey(NamedTuple):
    """Identity of a batch within a stream; the rows of a replica have a label."""

    epoch: int
    seq: int
    label: str = ""

    @property
    def order(self) -> tuple[int, int, int, str]:
        """Its place in the log: the rows of a replica come after the batch with their number."""
        return self.epoch, self.seq, int(self.label.rpartition("-")[2]) if self.label else 0, self.label


@dataclass
class Seen:
    """Facts of the events of a batch, or of a part of it.

    Attributes:
        key: Names of the key columns; empty for a result of one row, None for rows without a key.
        last_ordinal: The ordinal of the last event.
        may_wait: Events of the batch can have waited for a row of a lookup; they are in a later batch then.
        gap: The refusal of ordinals that are missing, unless the sink's note shows that their events waited.
        lacks_old: Some update or delete has no old values.
        kinds: By column, the kinds of its values or the form that the file gives.
    """

    stream: str
    source: Mapping[str, Any]
    ts_ms: int
    key: tuple[str, ...] | None
    first_ordinal: int
    last_ordinal: int
    may_wait: bool
    gap: Refused | None = None
    counts: Counter[str] = field(default_factory=Counter)
    lacks_old: bool = False
    kinds: dict[str, set[Any]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Number of events."""
        return sum(self.counts.values())

    def follow(self, ordinal: int, place: str) -> None:
        """Note the ordinal of the next event.

        Raises:
            Refused: Events before it are missing, and cannot have waited.
        """
        self._follow(
            ordinal,
            Refused(
                f"event {ordinal} follows event {self.last_ordinal}: events are missing",
                where=place,
                remedy="copy the file again, as a whole",
            ),
        )
        self.last_ordinal = ordinal

    def extend(self, other: Seen, refusal: Refused) -> None:
        """Add the events of the next part.

        Raises:
            Refused: Events between are missing, and cannot have waited.
        """
        self._follow(other.first_ordinal, refusal)
        self.last_ordinal, self.gap = other.last_ordinal, self.gap or other.gap
        self.counts += other.counts
        self.lacks_old = self.lacks_old or other.lacks_old
        for name, kinds in other.kinds.items():
            self.kinds.setdefault(name, set()).update(kinds)

    def _follow(self, ordinal: int, refusal: Refused) -> None:
        if ordinal == self.last_ordinal + 1:
            return
        if ordinal <= self.last_ordinal or not self.may_wait:
            raise refusal
        self.gap = self.gap or refusal


class LogFile(ABC):
    """A file of events.

    Attributes:
        batches: Number of batches in it, once `runs` was read.
    """

    def __init__(self, path: Path) -> None:
        self.path, self.batches = path, 0

    @abstractmethod
    def first(self) -> tuple[int, int, int, str, int]:
        """Return place and ordinal of its first event, to sort files.

        Raises:
            Refused: It is no file of events.
        """

    @abstractmethod
    def has_no_events(self) -> bool:
        """Return True if it has no event."""

    @abstractmethod
    def runs(self) -> Iterator[tuple[BatchKey, Seen, int, int]]:
        """Yield each run of events of one batch: its facts, and its places in the file.

        The places are those of its first event and after its last.

        Raises:
            Refused: An event is no event of qbcd, or the file is cut off.
        """

    @abstractmethod
    def events(self, header: BatchHeader, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Yield the typed events from one place to another, in the types of the header's columns.

        Raises:
            Refused: A value does not fit its column.
        """

    @abstractmethod
    def form_of(self, kinds: set[Any]) -> Travel | None:
        """Return the form of a column by the kinds of its values; None if a file does not show it."""

    def noted(self, seq: int) -> int | None:
        """Return the number of events that the sink noted for a batch of this file.

        Return None without a note.
        """
        note = read_json(self.note) or {}
        rolled = {number: events for number, _, events in note.get("batches", ())}
        events = rolled.get(seq) if rolled else note.get("events") if self.batches == 1 else None
        return events if isinstance(events, int) else None

    @property
    @abstractmethod
    def note(self) -> Path:
        """The sink's note about the batch."""


def may_wait(fields: Collection[str]) -> bool:
    """Return True if events with these fields can have waited; those with subscriptions cannot."""
    return "lookup" in fields and "subscriptions" not in fields


def place_of(path: Path, line: int) -> str:
    """Return ``path:line``; `line` counts from 0."""
    return f"{path}:{line + 1}"


def foreign(path: Path, line: int | None, what: str) -> Refused:
    """Return the error for a file that is no log of qbcd."""
    return Refused(
        f"this is no event of qbcd: {what}",
        where=str(path) if line is None else place_of(path, line),
        remedy="name files that a sink of type jsonl or parquet has written",
    )


def key_of(event_id: Any, source: Any) -> tuple[str, BatchKey, int]:
    """Return stream, batch and ordinal of an event.

    Raises:
        ValueError: They do not match.
    """
    if not isinstance(event_id, str) or not isinstance(source, Mapping) or any(name not in source for name in SOURCE):
        raise ValueError("it has no event_id, or no source")
    rest, _, ordinal = event_id.rpartition(":")
    rest, _, seq = rest.rpartition(":")
    stream, _, epoch = rest.rpartition(":")
    seq, _, label = seq.partition(".")
    number = label.removeprefix(WHOLE) if label.startswith(WHOLE) else label.removeprefix(PART)
    if not (stream and epoch.isdigit() and seq.isdigit() and ordinal.isdigit()) or (label and not number.isdigit()):
        raise ValueError(f"its event_id is {event_id!r}")
    key = BatchKey(int(epoch), int(seq), label)
    if (source["epoch"], source["batch_seq"]) != key[:2]:
        raise ValueError("its event_id and its source name different batches")
    return stream, key, int(ordinal)
