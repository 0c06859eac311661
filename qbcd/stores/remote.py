"""Object stores and HDFS as stores, by the file systems of Arrow.

An object appears as a whole when its upload ends, but Arrow also ends uploads that an error interrupts. So files are
uploaded under the name of an attempt, and a copy by the store (on HDFS a rename) gives them their own.
"""

from __future__ import annotations

import importlib.util
import shutil
import uuid
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from datetime import timedelta
from functools import cached_property
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import pyarrow as pa
from pyarrow import fs
from typing_extensions import override

from qbcd.errors import ConfigError, DeliveryError, SinkSilent
from qbcd.stores.base import Store, StoredFile, new_attempt
from qbcd.stores.problems import explain, is_silence

LARGEST_COPY = 5 * 10**9  # bytes; S3 copies no larger object at once
PIECE = 1 << 20  # bytes that are copied at a time
CONNECT_TIMEOUT, REQUEST_TIMEOUT, ATTEMPTS = 10, 20, 3  # seconds, seconds without an answer, number of requests
_WITHOUT_FOLDERS = ("s3", "gcs")
# A small file is sent by one request, not as an upload in parts, which a killed process would leave.
_ONE_REQUEST: Mapping[str, Any] = {"allow_delayed_open": True} if int(pa.__version__.partition(".")[0]) >= 21 else {}
_TRIES = "dfs.client.failover.max.attempts"  # by default minutes of them
_HDFS_LIMITS = ("dfs.client.socket-timeout", "ipc.client.connect.timeout", "ipc.client.rpc-timeout.ms")


class RemoteStore(Store):
    """Files under a URL such as ``s3://bucket/prefix``.

    Nothing is locked: the lease of a stream keeps other pollers of the project away.

    Args:
        url: The URL, checked by the configuration.
        storage: Options of the file system, with credentials.
        filesystem: The file system itself, in place of the one that the URL names.
    """

    def __init__(self, url: str, storage: Mapping[str, Any], filesystem: fs.FileSystem | None = None) -> None:
        self.url, self._storage = url.rstrip("/"), dict(storage)
        if filesystem is not None:
            self.__dict__["_fs"] = filesystem
        parts = urlsplit(self.url)
        self._root = parts.path.rstrip("/") if parts.scheme == "hdfs" else f"{parts.netloc}{parts.path}".rstrip("/")

    @cached_property
    def _fs(self) -> fs.FileSystem:
        """The file system; creating it does not connect."""
        parts = urlsplit(self.url)
        try:
            return _MAKERS[parts.scheme](parts.netloc, self._storage)
        except (ImportError, AttributeError) as error:
            remedy = "pip install pyarrow in a build that has it"
            raise ConfigError(f"this pyarrow has no file system for {parts.scheme}://", remedy=remedy) from error

    @cached_property
    def errors(self) -> tuple[type[Exception], ...]:
        """The errors of the file system."""
        own = (OSError, pa.ArrowException)
        return own if not isinstance(self._fs, fs.PyFileSystem) else (*own, RuntimeError)

    @cached_property
    def _has_folders(self) -> bool:
        return self._fs.type_name not in _WITHOUT_FOLDERS

    @override
    def shown(self, name: str) -> str:
        return f"{self.url}/{name}"

    @contextmanager
    @override
    def explained(self, sink: str, stream: str) -> Iterator[None]:
        try:
            yield
        except self.errors as error:
            what, remedy = explain(error, self.url, self._storage)
            remedy = f"{remedy}; the batch stays pending"
            kind = SinkSilent if is_silence(error) else DeliveryError
            raise kind(f"sink {sink}: {what}", remedy=remedy, stream=stream) from None

    @override
    def locked(self, folder: str) -> AbstractContextManager[None]:
        return nullcontext()

    @override
    def files_in(self, folder: str, *, deep: bool = False) -> list[StoredFile]:
        selector = fs.FileSelector(self._path(folder), recursive=deep, allow_not_found=True)
        cut = len(self._root) + 1
        return sorted(
            (
                StoredFile(info.path[cut:], info.size, (info.mtime_ns or 0) / 1e9)
                for info in self._fs.get_file_info(selector)
                if info.type == fs.FileType.File
            ),
            key=lambda file: file.name,
        )

    def names_in(self, folder: str) -> set[str]:
        """Return the names of the files and folders directly in a folder."""
        selector = fs.FileSelector(self._path(folder), allow_not_found=True)
        return {info.base_name for info in self._fs.get_file_info(selector)}

    def upload(self, name: str, source: BinaryIO) -> None:
        """Write a file whose readers know its size and hash; it may be seen before it is complete."""
        with self.new_file(name) as target:
            shutil.copyfileobj(source, target, PIECE)

    def read_end(self, name: str, size: int, count: int) -> bytes:
        """Return the last bytes, at most `count`, of a file of `size` bytes."""
        with self._fs.open_input_file(self._path(name)) as file:
            file.seek(max(0, size - count))
            return bytes(file.read(count))

    def problem(self, error: Exception) -> tuple[str, str]:
        """Return problem and remedy for an error of the store of a workdir."""
        return explain(error, self.url, self._storage, owner="")

    @override
    def size_of(self, name: str) -> int | None:
        info = self._fs.get_file_info(self._path(name))
        return int(info.size) if info.type == fs.FileType.File else None

    @override
    def read(self, name: str) -> bytes | None:
        try:
            with self._fs.open_input_stream(self._path(name)) as file:
                return bytes(file.read())
        except FileNotFoundError:
            return None

    @contextmanager
    @override
    def open_file(self, name: str) -> Iterator[BinaryIO]:
        with self._fs.open_input_file(self._path(name)) as file:
            yield file

    @contextmanager
    @override
    def new_file(self, name: str) -> Iterator[BinaryIO]:
        path = self._path(name)
        self._make_parent(path)
        file = self._fs.open_output_stream(path)
        try:
            yield file
        except BaseException:
            with suppress(OSError):  # the first error is the one to report; the name is an attempt's
                file.close()
            raise
        file.close()

    @override
    def put(self, name: str, data: bytes) -> None:
        if not self._has_folders:  # an object appears as a whole
            with self._fs.open_output_stream(self._path(name)) as file:
                file.write(data)
            return
        attempt = new_attempt(name)
        with self.new_file(attempt) as file:
            file.write(data)
        self.move(attempt, name)

    @override
    def move(self, source: str, target: str) -> None:
        size = self.size_of(source)
        if size is not None and size > LARGEST_COPY and not self._has_folders:
            raise OSError(f"a file of {size:,} bytes: the store copies at most {LARGEST_COPY:,} at once")
        self._make_parent(self._path(target))
        self._rename(self._path(source), self._path(target))
        if (found := self.size_of(target)) != size:
            raise OSError(f"{self.shown(target)} has {found} bytes after its upload, not {size}")

    @override
    def delete(self, name: str) -> None:
        with suppress(FileNotFoundError):
            self._fs.delete_file(self._path(name))

    @override
    def delete_folder(self, folder: str) -> None:
        with suppress(FileNotFoundError):
            self._fs.delete_dir(self._path(folder))

    @override
    def publish_folder(self, attempt: str, target: str, marker: tuple[str, bytes]) -> None:
        made = self.files_in(attempt)
        wanted = {f"{target}/{_base(file.name)}" for file in made}
        self.delete(f"{target}/{marker[0]}")
        for old in self.files_in(target):
            if old.name not in wanted:
                self.delete(old.name)
        for file in made:
            self.move(file.name, f"{target}/{_base(file.name)}")
        self.put(f"{target}/{marker[0]}", marker[1])

    @override
    def retire_folder(self, folder: str, marker: str, attempt: str) -> None:
        self.delete(f"{folder}/{marker}")
        self.delete_folder(folder)

    @override
    def check(self, sink: str, folder: str) -> None:
        probe = f"{folder}/.qbcd-check-{uuid.uuid4().hex}".lstrip("/")
        try:
            with self.new_file(probe) as file:
                file.write(b"{}")
            self.move(probe, f"{probe}.moved")
            self.files_in(folder)
            self.delete(f"{probe}.moved")
        except self.errors as error:
            what, remedy = explain(error, self.url, self._storage)
            raise DeliveryError(f"sink {sink}: {what}", remedy=remedy) from None

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}".rstrip("/")

    def _make_parent(self, path: str) -> None:
        if self._has_folders:
            self._fs.create_dir(path.rpartition("/")[0], recursive=True)

    def _rename(self, source: str, target: str) -> None:
        if "hdfs" in self._fs.type_name:  # it renames to no existing name
            with suppress(FileNotFoundError):
                self._fs.delete_file(target)
        self._fs.move(source, target)


def _base(name: str) -> str:
    return name.rpartition("/")[2]


def _s3(bucket: str, storage: Mapping[str, Any]) -> fs.FileSystem:
    named = ("access_key", "secret_key", "session_token", "region", "role_arn", "anonymous")
    return fs.S3FileSystem(
        **{name: storage[name] for name in named if storage.get(name)},
        **_endpoint(storage),
        **_ONE_REQUEST,
        connect_timeout=min(CONNECT_TIMEOUT, _seconds(storage)),
        request_timeout=_seconds(storage),
        retry_strategy=fs.AwsStandardS3RetryStrategy(max_attempts=ATTEMPTS),
    )


def _gs(bucket: str, storage: Mapping[str, Any]) -> fs.FileSystem:
    anonymous = {"anonymous": True} if storage.get("anonymous") else {}
    return fs.GcsFileSystem(
        **anonymous, **_endpoint(storage), retry_time_limit=timedelta(seconds=REQUEST_TIMEOUT * ATTEMPTS)
    )


def _hdfs(server: str, storage: Mapping[str, Any]) -> fs.FileSystem:
    host, _, port = server.partition(":")
    limit = storage.get("socket_timeout")
    own = {name: str(int(limit.total_seconds() * 1000)) for name in _HDFS_LIMITS} if limit else None
    try:
        return fs.HadoopFileSystem(host or "default", int(port or 0), user=storage.get("user"), extra_conf=own)
    except OSError as error:
        if "libhdfs" not in str(error) and "libjvm" not in str(error):
            raise
        if storage.get("user") or importlib.util.find_spec("hdfs_native") is None:
            remedy = "set HADOOP_HOME and CLASSPATH for libhdfs"
            remedy += "" if storage.get("user") else ", or: pip install 'qbcd[hdfs]'"
            raise ConfigError("hdfs:// needs libhdfs, which cannot be loaded", remedy=remedy) from error
    from hdfs_native.fsspec import HdfsFileSystem  # for machines without libhdfs

    named: dict[str, Any] = {"host": host, "port": int(port)} if port else {"host": host}
    named |= {_TRIES: str(ATTEMPTS), _HDFS_LIMITS[0]: str(int(_seconds(storage) * 1000))}
    return fs.PyFileSystem(fs.FSSpecHandler(HdfsFileSystem(**named)))


def _seconds(storage: Mapping[str, Any]) -> float:
    limit: timedelta | None = storage.get("socket_timeout")
    return limit.total_seconds() if limit else REQUEST_TIMEOUT


def _endpoint(storage: Mapping[str, Any]) -> dict[str, str]:
    """Return the arguments for an endpoint, ``http://host:port`` or ``host:port``."""
    if not storage.get("endpoint"):
        return {}
    scheme, separator, host = str(storage["endpoint"]).rpartition("://")
    return {"endpoint_override": host.rstrip("/"), "scheme": scheme if separator else "https"}


_MAKERS = {"s3": _s3, "gs": _gs, "hdfs": _hdfs}
