"""The base of sinks with one file or folder per batch, in a store (`qbcd.sinks.stored`)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field, model_validator
from typing_extensions import override

from qbcd.config.fields import Interval, Wait
from qbcd.config.sink_options import BuiltOptions
from qbcd.config.storage import RollConfig, StorageConfig, StorePath
from qbcd.model import PlannedBatch
from qbcd.sinks.base import Sink, SinkBatch, SinkPlace
from qbcd.sinks.stored.file_format import Number, SinkFileFormat
from qbcd.sinks.stored.held import FOLDER as HELD
from qbcd.sinks.stored.writer import Roll, StoredFiles
from qbcd.stores.folders import LOCK_TIMEOUT, compares_without_case

if TYPE_CHECKING:
    from qbcd.stores.base import Store


class FileOptions(BuiltOptions):
    """Files under `path`: a local folder, or a URL of a store.

    Attributes:
        path: A local or mounted folder, or a URL such as ``s3://BUCKET/FOLDER``.
        lock_timeout: Longest wait for another process that writes to the folder.
        roll: Conditions for a file of several small batches; without it each batch has its own file.
        keep: Age at which delivered files are removed; without it none are.
        storage: Options of an object store or HDFS.
    """

    path: StorePath
    lock_timeout: Wait = LOCK_TIMEOUT
    roll: RollConfig | None = None
    keep: Interval | None = None
    storage: StorageConfig = Field(default_factory=StorageConfig)

    @model_validator(mode="after")
    def _fits(self) -> FileOptions:
        path = str(self.path)
        self.storage.check_fits(path.partition("://")[0] if "://" in path else "")
        return self

    @property
    @override
    def options(self) -> dict[str, Any]:
        return {**super().options, "storage": self.storage.options}


class FolderSink(Sink):
    """A sink that writes batches under a local folder or a URL of an object store.

    A local folder must be one folder for the driver and all executors.

    Args:
        path: A local folder, or a URL such as ``s3://bucket/prefix``.
        lock_timeout: Limit of the wait for another process that writes the same stream in a local folder.
        roll: Small batches become visible together; see :class:`Roll`.
        keep: Age at which delivered files are removed; None keeps them.
        storage: Options of the store, with credentials.

    Attributes:
        format: The names and the content of the files.
    """

    takes_resends = takes_parts = True
    format: ClassVar[SinkFileFormat]
    concurrent = True  # each stream has a folder of its own, under a lock
    takes_urls = True
    maintained = True

    def __init__(
        self,
        name: str,
        path: Path | str,
        lock_timeout: timedelta = LOCK_TIMEOUT,
        *,
        roll: Roll | None = None,
        keep: timedelta | None = None,
        storage: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(name)
        self.url = str(path) if "://" in str(path) else ""
        self.path, self.lock_timeout = Path(path), lock_timeout
        self.roll, self.keep, self._storage = roll, keep, storage or {}

    @cached_property
    def store(self) -> Store:
        """The place of the files; nothing is connected before its first use."""
        if not self.url:
            from qbcd.stores.local import LocalStore

            return LocalStore(self.path, self.lock_timeout)
        from qbcd.stores.remote import RemoteStore

        return RemoteStore(self.url, self._storage)

    @cached_property
    def stored(self) -> StoredFiles:
        """The files in their store."""
        return StoredFiles(self, self.store, self.format, roll=self.roll, keep=self.keep)

    @override
    def check(self) -> None:
        self.store.check(self.name, "")

    @override
    def check_stream(self, stream: str) -> None:
        self.store.check(self.name, stream)

    @override
    def place(self, planned: PlannedBatch) -> SinkPlace:
        remedy = "write another `path` for one of the sinks"
        if self.url:
            return SinkPlace(f"{self.url.rstrip('/')}/{planned.folder}", f"{self.url}/{planned.folder}", remedy)
        folder = self.path.resolve() / planned.folder
        key = str(folder).lower() if compares_without_case(self.path) else str(folder)
        return SinkPlace(key, f"folder {self.path / planned.folder}", remedy)

    @override
    def maintain(self, stream: str, delivered: tuple[int, int]) -> bool:
        if self.url or self.roll or self.keep is not None or self._holds(stream):
            return self.stored.maintain(stream, Number(*delivered))
        return False

    def _holds(self, stream: str) -> bool:
        """Return True if a local folder has batches that were held before `roll` was removed."""
        return (self.path / stream / HELD).is_dir()

    @override
    def write(self, batch: SinkBatch) -> None:
        self.stored.write(batch)
