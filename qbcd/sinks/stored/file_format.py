"""Names and content of the files of a stream.

A *target* is a file or folder with one batch, or with several that were rolled. It is named after its last batch, so a
consumer finds new batches by name alone. Its note has the fingerprint of that batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

from qbcd.model import BatchHeader
from qbcd.sinks.base import SinkBatch
from qbcd.stores.base import Store, StoredFile

EVENTS_PER_FILE = 250_000


class Number(NamedTuple):
    """The number of a batch."""

    epoch: int
    seq: int

    @classmethod
    def of(cls, header: BatchHeader) -> Number:
        """Return the number of a batch."""
        return cls(header.epoch, header.seq)


@dataclass(frozen=True)
class Target:
    """A target that exists, with its files; its note may be missing."""

    number: Number
    files: tuple[StoredFile, ...]

    @property
    def modified(self) -> float:
        """Time of the last change of its files."""
        return max(file.modified for file in self.files)


@dataclass(frozen=True)
class Written:
    """The content of an attempt as it was written: number of events, description of the note."""

    events: int
    measure: Mapping[str, Any]


class SinkFileFormat(ABC):
    """The files of one format; names are relative to the sink's path."""

    suffix: ClassVar[str]

    @abstractmethod
    def name_of(self, stream: str, number: Number) -> str:
        """Return the name of the target whose last batch is `number`."""

    @abstractmethod
    def note_of(self, target: str) -> str:
        """Return the name of a target's note."""

    @abstractmethod
    def fill(self, batch: SinkBatch, store: Store, attempt: str) -> Written:
        """Write a batch into the folder `attempt`, in this process."""

    @abstractmethod
    def fill_by_spark(self, batch: SinkBatch, folder: Path, sink: str) -> Written:
        """Let Spark write a batch into a new folder, and make it durable.

        Args:
            folder: A path that the driver and all executors see.
            sink: The sink's name, for messages.
        """

    @abstractmethod
    def merge(self, store: Store, held: Sequence[str], attempt: str) -> Written:
        """Write the events of files into the folder `attempt`, in order."""

    @abstractmethod
    def measure(self, files: Sequence[StoredFile]) -> Mapping[str, Any]:
        """Return the note's description of the content of a target, or of an attempt."""

    @abstractmethod
    def publish(self, store: Store, attempt: str, target: str, note: Mapping[str, Any]) -> None:
        """Give an attempt its name; a reader sees no incomplete target."""

    @abstractmethod
    def files_of(self, store: Store, target: str) -> list[StoredFile]:
        """Return the files of a target, without its note."""

    @abstractmethod
    def targets(self, store: Store, stream: str) -> list[Target]:
        """Return the targets of a stream, oldest first, incomplete ones included."""

    @abstractmethod
    def remove(self, store: Store, target: str, attempt: str) -> None:
        """Remove a target; `attempt` is a free name in the same store."""

    def found(self, store: Store, target: str) -> tuple[dict[str, Any], bool]:
        """Return the note of a target, and whether the target is complete.

        The note is empty if the target has none, or has no file.
        """
        note = store.read_json(self.note_of(target))
        files = self.files_of(store, target) if note else []
        if not note or not files:
            return {}, False
        return note, self.measure(files).items() <= note.items()
