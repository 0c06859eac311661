"""The base of sinks with one file or folder per batch, renamed when it is complete."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any, ClassVar

from qbcd import hooks
from qbcd.model import BatchHeader
from qbcd.sinks.base import Sink, SinkBatch
from qbcd.sinks.files import LOCK_TIMEOUT, check_folder, delivery, locked, make_folder, read_json, remove, sweep


class FolderSink(Sink):
    """A sink that writes batches under `path`, one folder for driver and all executors.

    A batch is complete if it has its name (:meth:`target_of`), a note with its fingerprint (:meth:`note_of`), and the
    content that the note describes (:meth:`measure`).

    Attributes:
        attempts: Pattern of the names of attempts in a stream's folder.
    """

    attempts: ClassVar[str]
    takes_resends = True
    concurrent = True  # each stream has a folder of its own, under a lock

    def __init__(self, name: str, path: Path, lock_timeout: timedelta = LOCK_TIMEOUT) -> None:
        super().__init__(name)
        self.path, self.lock_timeout = path, lock_timeout

    def check(self) -> None:
        """See :meth:`Sink.check`."""
        check_folder(self.name, self.path)

    def check_stream(self, stream: str) -> None:
        """See :meth:`Sink.check_stream`."""
        check_folder(self.name, self.path / stream)

    @abstractmethod
    def target_of(self, header: BatchHeader) -> Path:
        """Return the name of the complete batch."""

    @abstractmethod
    def note_of(self, target: Path) -> Path:
        """Return the path of the file with the fingerprint of the batch at `target`."""

    @abstractmethod
    def new_attempt(self, target: Path) -> Path:
        """Return a unique name for an attempt, in the stream's folder."""

    @abstractmethod
    def measure(self, target: Path) -> Mapping[str, Any]:
        """Return the note's description of the content at `target`."""

    @abstractmethod
    def fill(self, batch: SinkBatch, attempt: Path) -> Mapping[str, Any]:
        """Write the batch to `attempt` and return its measure.

        Raises:
            DeliveryError: It has more or fewer events than the batch.
        """

    @abstractmethod
    def publish(self, header: BatchHeader, attempt: Path, note: Mapping[str, Any]) -> None:
        """Rename the attempt to its target, unless another publisher has completed the batch."""

    def write(self, batch: SinkBatch) -> None:
        """See :meth:`Sink.write`."""
        header = batch.header
        target, root = self.target_of(header), self.path / header.folder
        with delivery(self.name, header.stream, root):
            make_folder(root)
            with locked(root, self.lock_timeout):
                if self.is_complete(header, target):
                    return
                # of two live attempts the later one continues, and the other one's delivery fails
                sweep(root.glob(self.attempts))
            attempt = self.new_attempt(target)
            try:
                measured = self.fill(batch, attempt)
                hooks.reach("mid_publish")
                note = {"fingerprint": header.fingerprint, "events": header.size, **measured}
                self.publish(header, attempt, note)
            finally:
                remove(attempt)

    def is_complete(self, header: BatchHeader, target: Path) -> bool:
        """Return True if `target` is this batch, complete.

        Raises:
            SinkConflict: It is another batch.
        """
        note = read_json(self.note_of(target))
        if note is None or not target.exists():
            return False
        if note.get("fingerprint") != header.fingerprint:
            raise self.conflict(header, str(target), str(note.get("fingerprint")))
        return self.measure(target).items() <= note.items()
