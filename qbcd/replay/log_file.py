"""A file of a log of events: the facts of its events that decide how they are applied."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Generator, Iterable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from qbcd.common.wording import batch_number
from qbcd.errors import Refused
from qbcd.model import PART, WHOLE, BatchHeader

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

    @property
    def number(self) -> str:
        """Its name in messages."""
        return batch_number(self.epoch, self.seq) + (f".{self.label}" if self.label else "")


class EventFacts(NamedTuple):
    """Facts of an event.

    Attributes:
        place: Its line or row in the file, from 0.
        lacks_old: It is an update or a delete without old values.
        names: Names of the key columns; empty for a result of one row, None for rows without a key.
        may_wait: It has a lookup, so that events of its batch can have waited and be in a later one.
        kinds: By column, the kinds of its values, or the form that the file gives. They may come with the first event
            of a batch alone.
    """

    place: int
    stream: str
    key: BatchKey
    ordinal: int
    op: str
    lacks_old: bool
    ts_ms: int
    source: Mapping[str, Any]
    names: tuple[str, ...] | None
    may_wait: bool
    kinds: Iterable[tuple[str, Iterable[Any]]]


class LogFile(ABC):
    """A file of events."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def first(self) -> EventFacts | None:
        """Return the facts of the first event; None without any."""
        with closing(self.facts()) as found:
            return next(found, None)

    @abstractmethod
    def facts(self) -> Generator[EventFacts, None, None]:
        """Yield the facts of each event.

        Raises:
            Refused: An event is no event of qbcd, or the file is cut off.
        """

    @abstractmethod
    def events(self, header: BatchHeader, first: int, last: int) -> Iterator[pa.RecordBatch]:
        """Yield the typed events from one place to another, in the types of the header's columns.

        Raises:
            Refused: A value does not fit its column.
        """

    @property
    @abstractmethod
    def note(self) -> Path:
        """The sink's note about its batches, which other files may share."""


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


def unfit(place: str, column: str, kind: pa.DataType) -> Refused:
    """Return the error for a value that does not fit the type of its column."""
    return Refused(
        f"the value of column {column} is not of type {kind}",
        where=place,
        remedy="change the column's type in the target, or replay into a new table",
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


def may_wait(fields: Collection[str]) -> bool:
    """Return True if events with these fields can have waited; those with subscriptions cannot."""
    return "lookup" in fields and "subscriptions" not in fields
