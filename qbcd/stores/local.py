"""A local or mounted folder as a store."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import BinaryIO

from typing_extensions import override

from qbcd.common.durable import sync
from qbcd.stores.base import ATTEMPTS, Store, StoredFile, new_attempt
from qbcd.stores.folders import LOCK_TIMEOUT, check_folder, delivery, locked, make_folder, remove, sweep

OLDER_ATTEMPTS = ("_tmp-*", ".*.tmp")  # in the folder of a stream, of versions before 0.2


class LocalStore(Store):
    """Files under the folder `path`, durable by fsync, with a lock per folder."""

    has_locks = True

    def __init__(self, path: Path, lock_timeout: timedelta = LOCK_TIMEOUT) -> None:
        self.path, self._lock_timeout = path, lock_timeout

    @override
    def shown(self, name: str) -> str:
        return str(self.path / name)

    @override
    def explained(self, sink: str, stream: str) -> AbstractContextManager[None]:
        return delivery(sink, stream, self.path / stream)

    @contextmanager
    @override
    def locked(self, folder: str) -> Iterator[None]:
        make_folder(self.path / folder)
        with locked(self.path / folder, self._lock_timeout):
            yield

    @override
    def files_in(self, folder: str, *, deep: bool = False) -> list[StoredFile]:
        found = []
        for parent, folders, names in os.walk(self.path / folder):
            if not deep:
                folders.clear()
            for name in names:
                path = Path(parent, name)
                with suppress(FileNotFoundError):
                    facts = path.stat()
                    found.append(StoredFile(path.relative_to(self.path).as_posix(), facts.st_size, facts.st_mtime))
        return sorted(found, key=lambda file: file.name)

    @override
    def size_of(self, name: str) -> int | None:
        path = self.path / name
        return path.stat().st_size if path.is_file() else None

    @override
    def read(self, name: str) -> bytes | None:
        try:
            return (self.path / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            return None

    @contextmanager
    @override
    def open_file(self, name: str) -> Iterator[BinaryIO]:
        with (self.path / name).open("rb") as file:
            yield file

    @contextmanager
    @override
    def new_file(self, name: str) -> Iterator[BinaryIO]:
        path = self.path / name
        make_folder(path.parent)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())

    @override
    def put(self, name: str, data: bytes) -> None:
        attempt = new_attempt(name)
        with self.new_file(attempt) as file:
            file.write(data)
        self.move(attempt, name)

    @override
    def move(self, source: str, target: str) -> None:
        path = self.path / target
        make_folder(path.parent)
        os.replace(self.path / source, path)
        sync(path.parent)

    @override
    def delete(self, name: str) -> None:
        path = self.path / name
        if path.exists():
            path.unlink(missing_ok=True)
            sync(path.parent)

    @override
    def delete_folder(self, folder: str) -> None:
        remove(self.path / folder)

    @override
    def sweep(self, stream: str, *, first: bool) -> None:
        folder = self.path / stream
        sweep((folder / ATTEMPTS).glob("*"))
        if first:
            for pattern in OLDER_ATTEMPTS:
                sweep(folder.glob(pattern))

    @override
    def shared_folder(self, name: str) -> Path:
        path = self.path / name
        make_folder(path.parent)
        return path

    @override
    def publish_folder(self, attempt: str, target: str, marker: tuple[str, bytes]) -> None:
        self.put(f"{attempt}/{marker[0]}", marker[1])  # which flushes the folder too
        made, path = self.path / attempt, self.path / target
        make_folder(path.parent)
        remove(path)
        os.rename(made, path)
        sync(path.parent)

    @override
    def retire_folder(self, folder: str, marker: str, attempt: str) -> None:
        make_folder((self.path / attempt).parent)
        os.rename(self.path / folder, self.path / attempt)
        sync((self.path / folder).parent)
        remove(self.path / attempt)
        with suppress(OSError):  # the epoch has other batches
            (self.path / folder).parent.rmdir()

    @override
    def check(self, sink: str, folder: str) -> None:
        check_folder(sink, self.path / folder)
