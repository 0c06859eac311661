"""A stream's folder in the workdir: stage, batches and segments as Parquet, named by token and attempt.

A part becomes visible only by the commit that names its files; until then, and after a crash, it is rubbish that
`sweep` removes. Reads take the files that the commit named: one that is missing or was changed is an error, never fewer
or other rows (docs/design/protocol.md#rule-15). To hash whole files at each read would cost more than most reads do. So
the commit names the hash of a file's end, by which Parquet finds and skips pages, and Spark verifies the checksum of
each page it reads.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from qbcd.catalog.source import Source
from qbcd.errors import StateConflict
from qbcd.sites.event_schema import casts
from qbcd.sites.lake.replica.schema import ddl
from qbcd.spark.jdbc import explained
from qbcd.spark.paths import to_read, to_write
from qbcd.state import Segment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from qbcd.sites.values import LeasedStream

Fields = Sequence[tuple[str, str]]
PASSING = "passing"  # the kind of parts that are read once and let go
_USUAL = {
    "mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "parquet.page.write-checksum.enabled": "true",
    "parquet.page.row.count.limit": "5000",  # of a few ranges few pages are read; files hardly grow by it
    "parquet.block.size": "33554432",  # each task holds a group of rows: of the usual size, two fill a small heap
}
_PLAIN = {**_USUAL, "compression": "uncompressed", "parquet.enable.dictionary": "false"}  # such parts, written fast
# Whatever the session says. Vectored reads take direct memory for a whole row group at once, which each thread that
# reads keeps; once there is none left, the thread dies and the task waits for it for ever.
_READ = {
    "ignoreMissingFiles": "false",
    "ignoreCorruptFiles": "false",
    "parquet.page.verify-checksum.enabled": "true",
    "parquet.hadoop.vectored.io.enabled": "false",
}
END = 1 << 18  # bytes of a file's end that are hashed: its footer and, unless they are many, the indexes of its pages


class PartFile(NamedTuple):
    """A file of a part: its name, its bytes, and the SHA-256 of its last :data:`END` bytes (empty: not taken)."""

    name: str
    size: int
    end: str = ""

    @classmethod
    def of(cls, path: Path) -> PartFile:
        """The file as it is now."""
        size = path.stat().st_size
        return cls(path.name, size, _hash_of_end(path, size))

    def stands_in(self, folder: Path) -> bool:
        """Whether it is there as the commit named it."""
        path = folder / self.name
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        return not self.end or _hash_of_end(path, self.size) == self.end


@dataclass(frozen=True)
class FileSet:
    """A set of Parquet files written by one attempt.

    Attributes:
        part_id: ``<kind>-<token>-<attempt>``, the folder's name below the stream's folder.
    """

    part_id: str
    files: tuple[PartFile, ...]

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(file.size for file in self.files)

    def as_location(self) -> dict[str, Any]:
        """JSON-ready form for a batch's header."""
        return {"part": self.part_id, "files": [list(f) for f in self.files]}

    def as_files(self) -> tuple[dict[str, Any], ...]:
        """JSON-ready form for a segment of the manifest."""
        return tuple({"path": f.name, "size": f.size, "end": f.end} for f in self.files)

    @classmethod
    def of_location(cls, location: Mapping[str, Any]) -> FileSet:
        """The inverse of `as_location`."""
        return cls(location["part"], tuple(PartFile(*f) for f in location["files"]))

    @classmethod
    def of_segment(cls, segment: Segment) -> FileSet:
        """The part that a segment of the manifest names."""
        files = (PartFile(f["path"], int(f["size"]), f.get("end", "")) for f in segment.files)
        return cls(segment.segment_id, tuple(files))


class Files:
    """The folder of one stream.

    Args:
        workdir: The project's workdir, local or mounted by all.
        project_id: Keeps projects that share a workdir out of each other's files.
        stream: The stream's name.
    """

    def __init__(self, workdir: Path, project_id: str, stream: str) -> None:
        self.workdir = workdir
        self.stream = stream
        self.root = workdir / project_id / stream

    def create(self) -> None:
        """Creates the folders, readable by the owner alone: they hold source rows."""
        for folder in (self.workdir, self.root.parent, self.root):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def prove(self) -> None:
        """Proves that this host sees the folder that `prepare` made: its path holds the project's own id.

        See docs/design/protocol.md#rule-24.

        Raises:
            StateConflict: It is not there.
        """
        if not self.root.is_dir():
            raise StateConflict(
                f"the workdir {self.workdir} does not hold this stream's files",
                stream=self.stream,
                remedy="share one workdir among all hosts of the project, or bring the prepared one back; "
                f"qbcd reset {self.stream} --discard begins anew",
            )

    def write(
        self, frame: DataFrame, fields: Fields, kind: str, held: LeasedStream, source: Source | None = None
    ) -> FileSet:
        """Evaluates `frame` once into a new part; no commit names it yet. It is durable, unless it is a passing one.

        Args:
            frame: What to write; cast to `fields`.
            kind: ``fetch``, ``batch``, ``segment`` or :data:`PASSING`.
            held: The lease; its token is part of the name.
            source: Where the rows come from, if a failure may be the source's.
        """
        self.create()
        part_id = f"{kind}-{held.row.fencing_token}-{uuid.uuid4().hex}"
        folder = self.root / part_id
        writer = frame.selectExpr(*casts(fields)).write.options(**(_PLAIN if kind == PASSING else _USUAL))
        try:
            if source is None:
                writer.parquet(to_write(folder))
            else:
                explained(lambda: writer.parquet(to_write(folder)), lambda e: source.explain(e, self.stream))
        except Exception:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        folder.chmod(0o700)
        written = sorted(folder.iterdir())
        for path in written:
            if path.suffix == ".crc":
                path.unlink()
        paths = [path for path in written if path.suffix == ".parquet"]
        if kind == PASSING:  # no commit names it, and no later process reads it
            return FileSet(part_id, tuple(PartFile(path.name, path.stat().st_size) for path in paths))
        for path in (*paths, folder, self.root):
            _fsync(path)
        return FileSet(part_id, tuple(PartFile.of(path) for path in paths))

    def read(self, spark: SparkSession, fields: Fields, *parts: FileSet) -> DataFrame:
        """The rows of one or several parts.

        Raises:
            StateConflict: A file is missing, or has another size or end than the commit recorded. What was changed
                within it is Spark's error, once it reads that.
        """
        self.prove_parts(*parts)
        paths = (to_read(self.root / part.part_id / file.name) for part in parts for file in part.files)
        return spark.read.options(**_READ).schema(ddl(fields)).parquet(*paths)

    def prove_parts(self, *parts: FileSet) -> None:
        """Proves that all files of the parts stand as the commit named them.

        Raises:
            StateConflict: One is missing, or has another size or end.
        """
        for folder, file in ((self.root / part.part_id, file) for part in parts for file in part.files):
            if not file.stands_in(folder):
                raise StateConflict(
                    f"file {folder / file.name} is missing or was changed; the replica cannot be trusted",
                    stream=self.stream,
                    remedy="is the workdir the one that was prepared, and shared by all hosts of the project? restore "
                    f"it, or qbcd reset {self.stream} --discard",
                )

    def write_blob(self, kind: str, content: bytes, held: LeasedStream) -> str:
        """Writes bytes that are no rows into a folder of their own, durably, and returns its name."""
        self.create()
        folder = self.root / f"{kind}-{held.row.fencing_token}-{uuid.uuid4().hex}"
        folder.mkdir(mode=0o700)
        with (folder / kind).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        _fsync(folder)
        _fsync(self.root)
        return folder.name

    def read_blob(self, name: str) -> bytes:
        """What `keep` wrote; nothing where that cannot be read any more."""
        try:
            return (self.root / name / name.partition("-")[0]).read_bytes()
        except OSError:  # whatever it is, what is kept so can be had anew
            return b""

    def discard(self, *parts: FileSet, unless: bool = False) -> None:
        """Removes parts of this attempt that no commit names."""
        for part in () if unless else parts:
            shutil.rmtree(self.root / part.part_id, ignore_errors=True)

    def sweep(self, named: set[str], held: LeasedStream) -> None:
        """Removes parts that are not `named` and whose token is not above the holder's own.

        See docs/design/protocol.md#rule-23.
        """
        if not self.root.is_dir():
            return
        for folder in self.root.iterdir():
            pieces = folder.name.split("-")
            if folder.name in named or len(pieces) != 3 or not pieces[1].isdigit():
                continue
            if int(pieces[1]) <= held.row.fencing_token:
                shutil.rmtree(folder, ignore_errors=True)


def _hash_of_end(path: Path, size: int) -> str:
    with path.open("rb") as file:
        file.seek(max(0, size - END))
        return hashlib.sha256(file.read(END)).hexdigest()


def _fsync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
