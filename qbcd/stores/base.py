"""The operations of a store.

Names are relative to the path of the store, with ``/`` between their parts. A file gets its final name by :meth:`move`
or :meth:`put` and is then complete and durable: no reader sees a part of it under that name.
"""

from __future__ import annotations

import json
import uuid
from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, ClassVar

ATTEMPTS = ".attempts"  # in a stream's folder, the files that have no name of their own yet


@dataclass(frozen=True)
class StoredFile:
    """A file of a store; `modified` is in seconds since 1970, by the store's clock."""

    name: str
    size: int
    modified: float


class Store(ABC):
    """Files under a path.

    Errors are `OSError` or Arrow's until :meth:`explained` translates them.

    Attributes:
        has_locks: :meth:`locked` keeps other processes away.
    """

    has_locks: ClassVar[bool] = False

    @abstractmethod
    def shown(self, name: str) -> str:
        """Return the full name of a file, for messages."""

    @abstractmethod
    def explained(self, sink: str, stream: str) -> AbstractContextManager[None]:
        """In the block, raise errors of the store as `DeliveryError`."""

    @abstractmethod
    def locked(self, folder: str) -> AbstractContextManager[None]:
        """Hold the lock of a folder within the block, if the store has locks."""

    @abstractmethod
    def files_in(self, folder: str, *, deep: bool = False) -> list[StoredFile]:
        """Return the files of a folder by name; none if it is missing.

        With `deep` the files of its folders are included.
        """

    @abstractmethod
    def size_of(self, name: str) -> int | None:
        """Return the size of a file, or None if it is missing."""

    @abstractmethod
    def read(self, name: str) -> bytes | None:
        """Return the content of a small file, or None if it is missing."""

    @abstractmethod
    def open_file(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A file, to be read in pieces."""

    @abstractmethod
    def new_file(self, name: str) -> AbstractContextManager[BinaryIO]:
        """A new file of an attempt, written in pieces and durable after the block."""

    @abstractmethod
    def put(self, name: str, data: bytes) -> None:
        """Create or replace a small file."""

    @abstractmethod
    def move(self, source: str, target: str) -> None:
        """Rename a file; `target` is replaced."""

    @abstractmethod
    def delete(self, name: str) -> None:
        """Remove a file, if it exists."""

    @abstractmethod
    def delete_folder(self, folder: str) -> None:
        """Remove a folder with all files, if it exists."""

    @abstractmethod
    def publish_folder(self, attempt: str, target: str, marker: tuple[str, bytes]) -> None:
        """Give the durable files of the folder `attempt` their place in `target`.

        The marker is written last. Files that an incomplete attempt left in `target` are removed first.
        """

    @abstractmethod
    def retire_folder(self, folder: str, marker: str, attempt: str) -> None:
        """Remove a complete folder.

        Before files are missing, a reader sees the folder without its marker, or not at all.
        """

    @abstractmethod
    def check(self, sink: str, folder: str) -> None:
        """Prove that files can be created, renamed and removed in a folder, and leave it unchanged.

        Raises:
            DeliveryError: They cannot.
        """

    def sweep(self, stream: str, *, first: bool) -> None:
        """Remove the attempts of a stream, which are those of dead processes or of slower ones.

        Args:
            stream: The folder of the stream.
            first: This process has not done so yet.
        """
        if first:
            self.delete_folder(f"{stream}/{ATTEMPTS}")

    def shared_folder(self, name: str) -> Path | None:
        """Return the path of a new folder that Spark's executors may create and fill.

        Return None for a store without such paths.
        """
        return None

    def read_json(self, name: str) -> dict[str, Any] | None:
        """Return the JSON object in a file, or None if it is missing or incomplete."""
        data = self.read(name)
        try:
            found = json.loads(data) if data else None
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def put_json(self, name: str, data: Any) -> None:
        """Create or replace a file of JSON."""
        self.put(name, as_json(data))


def new_attempt(stream: str) -> str:
    """Return a unique name for an attempt of a stream.

    A file's name may be given too; the attempt is of the stream that it begins with.
    """
    return f"{stream.partition('/')[0]}/{ATTEMPTS}/{uuid.uuid4().hex}"


def as_json(data: Any) -> bytes:
    """Return the bytes of a note."""
    return json.dumps(data, sort_keys=True).encode()
