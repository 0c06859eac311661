"""A stream's folder in the workdir: stage, batches and segments as Parquet files.

Names contain fencing token and attempt. A part becomes visible only by the commit that names its files. Until then, and
after a crash, `sweep` may remove it. Reads use the files that the commit named: a missing or changed file is an error,
never fewer or other rows (docs/design/protocol.md#rule-15). Hashing whole files at each read would cost more than most
reads. So the commit names the hash of each file's end, which has Parquet's footer and page indexes, and Spark verifies
the checksum of each page that it reads.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from qbcd.catalog.source import Source
from qbcd.durable import sync
from qbcd.errors import StateConflict
from qbcd.sites.lake.engines.spark.parquet import read_parquet, write_parquet
from qbcd.sites.lake.replica.schema import Fields
from qbcd.sites.values import LeasedStream
from qbcd.spark.jdbc import explained
from qbcd.state import Segment

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

PASSING = "passing"  # the kind of temporary parts, which this process reads once
END = 1 << 18  # hashed bytes of a file's end: its footer and, unless they are many, its page indexes


class PartFile(NamedTuple):
    """A file of a part: name, size, and SHA-256 of its last :data:`END` bytes, if computed."""

    name: str
    size: int
    end: str = ""

    @classmethod
    def of(cls, path: Path) -> PartFile:
        """Return the file as it is now."""
        size = path.stat().st_size
        return cls(path.name, size, _hash_of_end(path, size))

    def is_intact_in(self, folder: Path) -> bool:
        """Return True if `folder` has the file with the size and hash of the commit."""
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
        """Size of all files in bytes."""
        return sum(file.size for file in self.files)

    def as_location(self) -> dict[str, Any]:
        """Return the JSON-ready form for a batch's header."""
        return {"part": self.part_id, "files": [list(f) for f in self.files]}

    def as_files(self) -> tuple[dict[str, Any], ...]:
        """Return the JSON-ready form for a segment of the manifest."""
        return tuple({"path": f.name, "size": f.size, "end": f.end} for f in self.files)

    @classmethod
    def of_location(cls, location: Mapping[str, Any]) -> FileSet:
        """Return the part of a location."""
        return cls(location["part"], tuple(PartFile(*f) for f in location["files"]))

    @classmethod
    def of_segment(cls, segment: Segment) -> FileSet:
        """Return the part of a segment of the manifest."""
        files = (PartFile(f["path"], int(f["size"]), f.get("end", "")) for f in segment.files)
        return cls(segment.segment_id, tuple(files))


class Files:
    """The folder of one stream.

    Args:
        workdir: The project's workdir, local or mounted by all hosts.
        project_id: Separates projects that share a workdir.
        stream: The stream's name.
    """

    def __init__(self, workdir: Path, project_id: str, stream: str) -> None:
        self.workdir = workdir
        self.stream = stream
        self.root = workdir / project_id / stream

    def create(self) -> None:
        """Create the folders, readable by the owner alone, since they hold source rows."""
        for folder in (self.workdir, self.root.parent, self.root):
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)

    def prove(self) -> None:
        """Prove that this host sees the folder that `prepare` created.

        Its path has the project's id.

        See docs/design/protocol.md#rule-24.

        Raises:
            StateConflict: The folder is missing.
        """
        if not self.root.is_dir():
            raise StateConflict(
                f"the workdir {self.workdir} does not hold this stream's files",
                stream=self.stream,
                remedy="share one workdir among all hosts of the project, or restore the prepared one; "
                f"or qbcd reset {self.stream} --discard, then prepare it again",
            )

    def write(
        self, frame: DataFrame, fields: Fields, kind: str, leased: LeasedStream, source: Source | None = None
    ) -> FileSet:
        """Evaluate `frame` once into a new part that no commit names yet.

        It is durable unless it is temporary.

        Args:
            frame: The rows; cast to `fields`.
            fields: Name and type of each column.
            kind: ``fetch``, ``batch``, ``segment`` or :data:`PASSING`.
            leased: The lease; its fencing token is part of the name.
            source: The source of the rows, if it may cause a failure.
        """
        self.create()
        part_id = f"{kind}-{leased.row.fencing_token}-{uuid.uuid4().hex}"
        folder = self.root / part_id

        def evaluate() -> None:
            write_parquet(frame, fields, folder, temporary=kind == PASSING)

        try:
            if source is None:
                evaluate()
            else:
                explained(evaluate, lambda e: source.explain(e, self.stream))
        except Exception:
            shutil.rmtree(folder, ignore_errors=True)
            raise
        folder.chmod(0o700)
        written = sorted(folder.iterdir())
        for path in written:
            if path.suffix == ".crc":
                path.unlink()
        paths = [path for path in written if path.suffix == ".parquet"]
        if kind == PASSING:  # no commit will name it, and no other process will read it
            return FileSet(part_id, tuple(PartFile(path.name, path.stat().st_size) for path in paths))
        for path in (*paths, folder, self.root):
            sync(path)
        return FileSet(part_id, tuple(PartFile.of(path) for path in paths))

    def read(self, spark: SparkSession, fields: Fields, *parts: FileSet) -> DataFrame:
        """Return the rows of one or several parts.

        Raises:
            StateConflict: A file is missing, or has another size or end than the commit recorded. A change within a
                file is an error of Spark when it reads the changed page.
        """
        self.prove_parts(*parts)
        return read_parquet(spark, fields, (self.root / part.part_id / f.name for part in parts for f in part.files))

    def prove_parts(self, *parts: FileSet) -> None:
        """Prove that all files of the parts have the size and hash of the commit.

        Raises:
            StateConflict: A file is missing, or has another size or end.
        """
        for folder, file in ((self.root / part.part_id, file) for part in parts for file in part.files):
            if not file.is_intact_in(folder):
                raise StateConflict(
                    f"file {folder / file.name} is missing or was changed; the replica cannot be trusted",
                    stream=self.stream,
                    remedy="is the workdir the one that was prepared, and shared by all hosts of the project? restore "
                    f"it, or qbcd reset {self.stream} --discard",
                )

    def write_blob(self, kind: str, content: bytes, leased: LeasedStream) -> str:
        """Write bytes durably into a new folder, and return its name."""
        self.create()
        folder = self.root / f"{kind}-{leased.row.fencing_token}-{uuid.uuid4().hex}"
        folder.mkdir(mode=0o700)
        with (folder / kind).open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        sync(folder)
        sync(self.root)
        return folder.name

    def read_blob(self, name: str) -> bytes:
        """Return the bytes that `write_blob` has written; empty if they cannot be read."""
        try:
            return (self.root / name / name.partition("-")[0]).read_bytes()
        except OSError:  # callers do not need such bytes
            return b""

    def discard(self, *parts: FileSet, unless: bool = False) -> None:
        """Remove parts of this attempt that no commit names."""
        for part in () if unless else parts:
            shutil.rmtree(self.root / part.part_id, ignore_errors=True)

    def sweep(self, named: set[str], leased: LeasedStream) -> None:
        """Remove parts that are not `named` and whose fencing token is not above the leased one.

        See docs/design/protocol.md#rule-23.
        """
        if not self.root.is_dir():
            return
        for folder in self.root.iterdir():
            pieces = folder.name.split("-")
            if folder.name in named or len(pieces) != 3 or not pieces[1].isdigit():
                continue
            if int(pieces[1]) <= leased.row.fencing_token:
                shutil.rmtree(folder, ignore_errors=True)


def _hash_of_end(path: Path, size: int) -> str:
    with path.open("rb") as file:
        file.seek(max(0, size - END))
        return hashlib.sha256(file.read(END)).hexdigest()
