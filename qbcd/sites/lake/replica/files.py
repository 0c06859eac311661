"""A stream's folder in the workdir: stage, batches and segments as Parquet files.

Names contain fencing token and attempt. A part becomes visible only by the commit that names its files. Until then, and
after a crash, `sweep` may remove it. Reads use the files that the commit named: a missing or changed file is an error,
never fewer or other rows (docs/design/protocol.md#rule-15). The commit names the hash of each file's end, which has
Parquet's footer and page indexes, and a checksum of the whole file. Hashing large files at each read would cost more
than most reads: Spark verifies the checksum of each page that it reads, if the file has them. The local engine knows no
such checksums, so before it reads a file the checksum of the whole is verified.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import uuid
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from qbcd.catalog.source import Source
from qbcd.durable import sync
from qbcd.errors import StateConflict
from qbcd.sites.lake.engines.base import Engine, Rows
from qbcd.sites.lake.replica.schema import Fields
from qbcd.sites.values import LeasedStream
from qbcd.state import Segment

PASSING = "passing"  # the kind of temporary parts, which this process reads once
LOCAL_PREFIX = "local"  # of the names of files that the local engine writes
BLOCK = 1 << 20  # bytes that are read at a time to compute a checksum
END = 1 << 18  # hashed bytes of a file's end: its footer and, unless they are many, its page indexes


class PartFile(NamedTuple):
    """A file of a part.

    Attributes:
        name: Its name in the part's folder.
        size: Its size in bytes.
        end: SHA-256 of its last :data:`END` bytes, if computed.
        whole: CRC-32 of the file, if computed; files of older versions have none, but checksums of pages.
    """

    name: str
    size: int
    end: str = ""
    whole: str = ""

    @classmethod
    def of(cls, path: Path) -> PartFile:
        """Return the file as it is now."""
        size = path.stat().st_size
        return cls(path.name, size, _hash_of_end(path, size), _crc_of(path))

    def as_entry(self) -> dict[str, Any]:
        """Return the JSON-ready form for a segment of the manifest."""
        entry = {"path": self.name, "size": self.size, "end": self.end}
        return {**entry, "whole": self.whole} if self.whole else entry

    def is_intact_in(self, folder: Path, *, whole: bool = False) -> bool:
        """Return True if `folder` has the file with the size and hash of the commit.

        Args:
            folder: The part's folder.
            whole: Its reader does not verify the checksums of pages. Files of the local engine have none.
        """
        path = folder / self.name
        if not path.is_file() or path.stat().st_size != self.size:
            return False
        if self.end and _hash_of_end(path, self.size) != self.end:
            return False
        if self.whole:
            return not (whole or self.name.startswith(LOCAL_PREFIX)) or _crc_of(path) == self.whole
        return not whole or not self.end or _has_intact_pages(path)


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
        return {"part": self.part_id, "files": [list(f if f.whole else f[:3]) for f in self.files]}

    def as_files(self) -> tuple[dict[str, Any], ...]:
        """Return the JSON-ready form for a segment of the manifest."""
        return tuple(
            {"path": f.name, "size": f.size, "end": f.end, **({"whole": f.whole} if f.whole else {})}
            for f in self.files
        )

    @classmethod
    def of_location(cls, location: Mapping[str, Any]) -> FileSet:
        """Return the part of a location."""
        return cls(location["part"], tuple(PartFile(*f) for f in location["files"]))

    @classmethod
    def of_segment(cls, segment: Segment) -> FileSet:
        """Return the part of a segment of the manifest."""
        files = (PartFile(f["path"], int(f["size"]), f.get("end", ""), f.get("whole", "")) for f in segment.files)
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
        self, engine: Engine, rows: Rows, fields: Fields, kind: str, leased: LeasedStream, source: Source | None = None
    ) -> FileSet:
        """Evaluate `rows` once into a new part that no commit names yet.

        It is durable unless it is temporary.

        Args:
            engine: The engine of the rows.
            rows: The rows; cast to `fields`.
            fields: Name and type of each column.
            kind: ``fetch``, ``batch``, ``segment`` or :data:`PASSING`.
            leased: The lease; its fencing token is part of the name.
            source: The source of the rows, if it may cause a failure.
        """
        self.create()
        part_id = f"{kind}-{leased.row.fencing_token}-{uuid.uuid4().hex}"
        folder = self.root / part_id

        def evaluate() -> None:
            engine.write(rows, fields, folder, temporary=kind == PASSING)

        try:
            if source is None:
                evaluate()
            else:
                engine.explained(evaluate, lambda e: source.explain(e, self.stream))
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

    def read(self, engine: Engine, fields: Fields, *parts: FileSet) -> Rows:
        """Return the rows of one or several parts.

        Raises:
            StateConflict: A file is missing, or was changed. For an engine that verifies pages, a change within a file
                is an error when it reads the changed page.
        """
        self.prove_parts(*parts, whole=not engine.verifies_pages)
        return engine.read(fields, [self.root / part.part_id / f.name for part in parts for f in part.files])

    def paths(self, part: FileSet) -> list[Path]:
        """Return the paths of a part's files."""
        return [self.root / part.part_id / file.name for file in part.files]

    def prove_parts(self, *parts: FileSet, whole: bool = False) -> None:
        """Prove that all files of the parts have the size and hash of the commit.

        Args:
            parts: The parts.
            whole: Prove each file as a whole, because its reader does not verify pages.

        Raises:
            StateConflict: A file is missing, or was changed.
        """
        for folder, file in ((self.root / part.part_id, file) for part in parts for file in part.files):
            if not file.is_intact_in(folder, whole=whole):
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


def _crc_of(path: Path) -> str:
    checksum = 0
    with path.open("rb") as file:
        while block := file.read(BLOCK):
            checksum = zlib.crc32(block, checksum)
    return f"{checksum:08x}"


def _has_intact_pages(path: Path) -> bool:
    """Return True if all pages of a Parquet file match their checksums."""
    import pyarrow as pa
    from pyarrow import parquet

    try:
        with parquet.ParquetFile(path, page_checksum_verification=True) as file:
            for _ in file.iter_batches():
                pass
    except (OSError, pa.ArrowException):
        return False
    return True
