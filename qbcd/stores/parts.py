"""Parts: folders of files, each written once, that a commit names with sizes and hashes.

A part becomes visible only by that commit, never by its place: no folder is listed to find data, and nothing is
renamed (docs/design/protocol.md#rule-15). So a part may be in a local folder or in an object store.
"""

from __future__ import annotations

import os
import shutil
import uuid
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from typing_extensions import override

from qbcd.common.durable import sync
from qbcd.errors import StoreFailed
from qbcd.local.part_files import END, PartFile, crc_of, hash_of_bytes

if TYPE_CHECKING:
    from qbcd.stores.remote import RemoteStore

CHECKSUM = ".crc"  # suffix of the files with checksums that Spark writes next to its own
MARKER = ".qbcd-stream"  # in an object store, the object by which a host knows the place
COPIES = "copies"  # in the local folder of a workdir that is a URL
AT_ONCE = 8  # requests to an object store
_Found = TypeVar("_Found")


class PartStore(ABC):
    """Parts under one place.

    Files of this process are local: it writes them in :meth:`workplace` and reads them by :meth:`local`. Executors of
    Spark write and read them at :meth:`place`.

    Args:
        root: A local folder: the place itself, or that of copies.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @property
    @abstractmethod
    def shown(self) -> str:
        """The place, for messages."""

    @abstractmethod
    def create(self) -> None:
        """Create the place, readable by its owner alone, since parts hold source rows."""

    @abstractmethod
    def exists(self) -> bool:
        """Return True if this process sees the place that `create` made."""

    @abstractmethod
    def place(self, name: str) -> Path | str:
        """Return the path or URL of a part, or of a file ``part/file``, for executors."""

    def workplace(self, part: str) -> Path:
        """Return the folder in which this process writes a new part."""
        return self.root / part

    @abstractmethod
    def written(self, part: str, *, by_executors: bool, temporary: bool, rows: int | None = None) -> list[PartFile]:
        """Return the Parquet files of a new part, durable unless it is temporary.

        Args:
            part: Its name.
            by_executors: Spark wrote it at its place, not this process in its workplace.
            temporary: No commit will name it, and no other process will read it.
            rows: Number of its rows, if executors counted them.

        Raises:
            StoreFailed: Its files do not have so many rows: this process does not see all of them.
        """

    def _prove_rows(self, part: str, rows: int, found: Iterable[int]) -> None:
        if (seen := sum(found)) != rows:
            raise StoreFailed(
                f"executors wrote {rows:,} rows into {self.place(part)}, but {seen:,} are seen here",
                remedy="is it one place for driver and executors? `qbcd check` tests it; the next run tries again",
            )

    @abstractmethod
    def local(self, part: str, files: Sequence[PartFile]) -> list[Path]:
        """Return local paths of files; their content is not proven."""

    @abstractmethod
    def keep(self, name: str) -> None:
        """Make a file durable that this process wrote into the workplace itself."""

    @abstractmethod
    def kept(self, name: str) -> Path:
        """Return the local path of such a file; its content is not proven."""

    @abstractmethod
    def share(self, part: str, files: Sequence[PartFile]) -> None:
        """Let executors see the files of a temporary part that this process wrote."""

    @abstractmethod
    def changed(self, part: str, files: Sequence[PartFile], *, whole: bool, by_executors: bool) -> PartFile | None:
        """Return the first file that is missing, or not as the commit says; None if all are right.

        Args:
            part: The part's name.
            files: The files that the commit names.
            whole: Prove each file as a whole, because its reader does not verify pages.
            by_executors: Executors will read the files.
        """

    @abstractmethod
    def put(self, name: str, content: bytes) -> None:
        """Write a small file ``part/file`` durably."""

    @abstractmethod
    def get(self, name: str) -> bytes:
        """Return the content of a small file.

        Raises:
            OSError, StoreFailed: It cannot be read.
        """

    @abstractmethod
    def remove(self, part: str) -> None:
        """Remove a part or a file, with an empty name the whole place; pass over what cannot be."""

    @abstractmethod
    def names(self) -> Iterator[str]:
        """Yield the names of all parts, for a sweep."""


class LocalParts(PartStore):
    """Parts in a local or mounted folder, durable by fsync.

    Args:
        root: Their folder.
        above: Number of folders above it that `create` may make.
    """

    def __init__(self, root: Path, above: int = 2) -> None:
        super().__init__(root)
        self._folders = [*reversed(root.parents[:above]), root]

    @property
    @override
    def shown(self) -> str:
        return str(self.root)

    @override
    def create(self) -> None:
        for folder in self._folders:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    @override
    def exists(self) -> bool:
        return self.root.is_dir()

    @override
    def place(self, name: str) -> Path | str:
        return self.root / name

    @override
    def written(self, part: str, *, by_executors: bool, temporary: bool, rows: int | None = None) -> list[PartFile]:
        folder = self.root / part
        folder.chmod(0o700)
        written = sorted(folder.iterdir())
        for path in written:
            if path.suffix == CHECKSUM:
                path.unlink()
        paths = [path for path in written if path.suffix == ".parquet"]
        if rows is not None:
            self._prove_rows(part, rows, map(rows_in, paths))
        if temporary:
            return [PartFile(path.name, path.stat().st_size) for path in paths]
        for path in (*paths, folder, self.root):
            sync(path)
        return [PartFile.of(path) for path in paths]

    @override
    def local(self, part: str, files: Sequence[PartFile]) -> list[Path]:
        return [self.root / part / file.name for file in files]

    @override
    def keep(self, name: str) -> None:
        for path in (self.root / name, self.root, *self.root.parents[:2]):
            sync(path)

    @override
    def kept(self, name: str) -> Path:
        return self.root / name

    @override
    def share(self, part: str, files: Sequence[PartFile]) -> None:
        return None

    @override
    def changed(self, part: str, files: Sequence[PartFile], *, whole: bool, by_executors: bool) -> PartFile | None:
        folder = self.root / part
        return next((file for file in files if not file.is_intact_in(folder, whole=whole)), None)

    @override
    def put(self, name: str, content: bytes) -> None:
        path = self.root / name
        path.parent.mkdir(mode=0o700, exist_ok=True)
        with path.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        sync(path.parent)
        sync(self.root)

    @override
    def get(self, name: str) -> bytes:
        return (self.root / name).read_bytes()

    @override
    def remove(self, part: str) -> None:
        path = self.root / part
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()

    @override
    def names(self) -> Iterator[str]:
        if self.root.is_dir():
            yield from [path.name for path in self.root.iterdir()]


class RemoteParts(PartStore):
    """Parts in an object store or on HDFS, with local copies of files that this process reads.

    Files never change under their name, so a copy with the hash of the commit is as good as the file.

    Args:
        store: The workdir.
        prefix: The place, relative to it.
        copies: Parts that this process has read or written.
    """

    def __init__(self, store: RemoteStore, prefix: str, copies: LocalParts) -> None:
        super().__init__(copies.root)
        self._store, self._prefix, self._copies = store, prefix, copies
        self._made = False
        self._proven = set[str]()  # files without checksums of pages that executors may read

    @property
    @override
    def shown(self) -> str:
        return self._store.shown(self._prefix)

    @override
    def create(self) -> None:
        self._copies.create()
        with self._explained():
            if not self._made and self._store.size_of(self._path(MARKER)) is None:
                self._store.put(self._path(MARKER), b"{}")
        self._made = True

    @override
    def exists(self) -> bool:
        with self._explained():
            return self._store.size_of(self._path(MARKER)) is not None

    @override
    def place(self, name: str) -> Path | str:
        return self._store.shown(self._path(name))

    @override
    def written(self, part: str, *, by_executors: bool, temporary: bool, rows: int | None = None) -> list[PartFile]:
        if by_executors:
            with self._explained():
                found = [one for one in self._store.files_in(self._path(part)) if one.name.endswith(".parquet")]
                sizes = {one.name.rpartition("/")[2]: one.size for one in found}
                if rows is not None:
                    self._prove_rows(
                        part, rows, self._each(lambda name: self._rows_in(f"{part}/{name}"), sizes).values()
                    )
                if temporary:
                    return [PartFile(name, size) for name, size in sizes.items()]
                ends = self._each(lambda name: self._end_of(f"{part}/{name}", sizes[name]), sizes)
                return [PartFile(name, sizes[name], end) for name, end in ends.items()]
        files = self._copies.written(part, by_executors=False, temporary=temporary)
        if not temporary:
            self._upload(part, files)
        return files

    @override
    def local(self, part: str, files: Sequence[PartFile]) -> list[Path]:
        folder = self.workplace(part)
        missing = {file.name: file for file in files if not _has_size(folder / file.name, file.size)}
        if missing:
            self._copies.create()
            folder.mkdir(mode=0o700, exist_ok=True)
            with self._explained():
                self._each(lambda name: self._download(part, missing[name]), missing)
        return self._copies.local(part, files)

    @override
    def keep(self, name: str) -> None:
        self._upload("", [PartFile(name, (self.root / name).stat().st_size)])

    @override
    def kept(self, name: str) -> Path:
        with self._explained():
            size = self._store.size_of(self._path(name))
            if not _has_size(self.root / name, -1 if size is None else size):
                self._copies.create()
                self._download("", PartFile(name, -1 if size is None else size))
        return self.root / name

    @override
    def share(self, part: str, files: Sequence[PartFile]) -> None:
        own = [file for file in files if _has_size(self.workplace(part) / file.name, file.size)]
        if own:
            self._upload(part, own)

    @override
    def changed(self, part: str, files: Sequence[PartFile], *, whole: bool, by_executors: bool) -> PartFile | None:
        if whole and not by_executors:
            return self._changed_copy(part, files)
        with self._explained():
            sizes = self._each(lambda name: self._store.size_of(self._path(f"{part}/{name}")), [f.name for f in files])
            if (wrong := next((file for file in files if sizes[file.name] != file.size), None)) is not None:
                return wrong
            hashed = {file.name: file for file in files if file.end} if by_executors else {}
            ends = self._each(lambda name: self._end_of(f"{part}/{name}", hashed[name].size), hashed)
            if (wrong := next((file for name, file in hashed.items() if ends[name] != file.end), None)) is not None:
                return wrong
            unproven = {
                file.name: file
                for file in files
                if by_executors and file.needs_whole and f"{part}/{file.name}" not in self._proven
            }
            wholes = self._each(lambda name: self._whole_of(f"{part}/{name}"), unproven)
        if (wrong := next((file for name, file in unproven.items() if wholes[name] != file.whole), None)) is None:
            self._proven |= {f"{part}/{name}" for name in unproven}
        return wrong

    def _changed_copy(self, part: str, files: Sequence[PartFile]) -> PartFile | None:
        for again in (False, True):
            try:
                self.local(part, files)
            except FileNotFoundError as error:
                lost = Path(str(error.filename)).name
                return next((file for file in files if file.name == lost), files[0])
            wrong = self._copies.changed(part, files, whole=True, by_executors=False)
            if wrong is None or again:
                return wrong
            (self.workplace(part) / wrong.name).unlink(missing_ok=True)  # perhaps only the copy was damaged
        raise AssertionError

    @override
    def put(self, name: str, content: bytes) -> None:
        with self._explained():
            self._store.put(self._path(name), content)

    @override
    def get(self, name: str) -> bytes:
        with self._explained():
            content = self._store.read(self._path(name))
        if content is None:
            raise FileNotFoundError(f"{self.place(name)} is missing")
        return content

    @override
    def remove(self, part: str) -> None:
        self._copies.remove(part)
        with suppress(StoreFailed), self._explained():  # a sweep removes what is left
            self._made = self._made and bool(part)
            if "." in part.rpartition("/")[2]:
                self._store.delete(self._path(part))
            else:
                self._store.delete_folder(self._path(part))

    @override
    def names(self) -> Iterator[str]:
        found = set(self._copies.names())
        with self._explained():
            found |= self._store.names_in(self._prefix) - {MARKER}
        yield from sorted(found)

    def _path(self, name: str) -> str:
        return f"{self._prefix}/{name.lstrip('/')}"

    def _explained(self) -> Any:
        return explained(self._store)

    def _each(self, work: Callable[[str], _Found], names: Iterable[str]) -> dict[str, _Found]:
        """Return the result for each name; requests run side by side."""
        listed = list(names)
        if len(listed) < 2:
            return {name: work(name) for name in listed}
        with ThreadPoolExecutor(min(AT_ONCE, len(listed))) as pool:
            return dict(zip(listed, pool.map(work, listed), strict=True))

    def _upload(self, part: str, files: Sequence[PartFile]) -> None:
        def send(name: str) -> None:
            with (self.workplace(part) / name).open("rb") as source:
                self._store.upload(self._path(f"{part}/{name}"), source)

        with self._explained():
            self._each(send, [file.name for file in files])
            sizes = self._each(lambda name: self._store.size_of(self._path(f"{part}/{name}")), [f.name for f in files])
            for file in files:
                if sizes[file.name] != file.size:
                    raise OSError(f"{self.place(f'{part}/{file.name}')} has {sizes[file.name]} bytes after its upload")

    def _download(self, part: str, file: PartFile) -> None:
        """Copy a file; under its name a copy is complete.

        Raises:
            FileNotFoundError: The file is missing, or another size is there.
        """
        name, path = self._path(f"{part}/{file.name}"), self.workplace(part) / file.name
        attempt = path.with_name(f".{file.name}.{uuid.uuid4().hex}.tmp")
        try:
            if self._store.size_of(name) != file.size:
                raise FileNotFoundError(2, "missing or changed", str(path))
            with self._store.open_file(name) as source, attempt.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            os.replace(attempt, path)
        finally:
            attempt.unlink(missing_ok=True)

    def _whole_of(self, name: str) -> str:
        with self._store.open_file(self._path(name)) as file:
            return crc_of(file)

    def _rows_in(self, name: str) -> int:
        with self._store.open_file(self._path(name)) as file:
            return rows_in(file)

    def _end_of(self, name: str, size: int) -> str:
        return hash_of_bytes(self._store.read_end(self._path(name), size, END))


@contextmanager
def explained(store: RemoteStore) -> Iterator[None]:
    """In the block, raise errors of a store as `StoreFailed`; a missing file stays as it is."""
    try:
        yield
    except FileNotFoundError:
        raise
    except store.errors as error:
        what, remedy = store.problem(error)
        raise StoreFailed(f"workdir: {what}", remedy=f"{remedy}; the next run continues from the last commit") from None


def rows_in(file: Any) -> int:
    """Return the number of rows of a Parquet file, given by a path or as a file."""
    from pyarrow import parquet

    return int(parquet.read_metadata(file).num_rows)


def _has_size(path: Path, size: int) -> bool:
    return path.is_file() and path.stat().st_size == size


@dataclass(frozen=True)
class Workdir:
    """The project's workdir.

    Attributes:
        local: The workdir, or if it is a URL, the local folder for spilled rows and copies.
        url: The URL; empty for a folder.
        storage: Options of the store, with credentials.
    """

    local: Path
    url: str = ""
    storage: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def shown(self) -> str:
        """The workdir, for messages."""
        return self.url or str(self.local)

    @cached_property
    def store(self) -> RemoteStore:
        """The store of a URL."""
        from qbcd.stores.remote import RemoteStore

        return RemoteStore(self.url, self.storage)

    def parts(self, *names: str) -> PartStore:
        """Return the parts in a folder of the workdir, given by the names of folders."""
        if not self.url:
            return LocalParts(self.local.joinpath(*names), len(names))
        copies = LocalParts(self.local.joinpath(COPIES, *names), len(names) + 1)
        return RemoteParts(self.store, "/".join(names), copies)
