"""A stream's folder in the workdir: stage, batches and segments as Parquet files.

Names contain fencing token and attempt. A part becomes visible only by the commit that names its files. Until then, and
after a crash, `sweep` may remove it. Reads use the files that the commit named: a missing or changed file is an error,
never fewer or other rows (docs/design/protocol.md#rule-15). The commit names the hash of each file's end, which has
Parquet's footer and page indexes, and a checksum of the whole file. Hashing large files at each read would cost more
than most reads: Spark verifies the checksum of each page that it reads, if the file has them. The local engine knows no
such checksums, so before it reads a file the checksum of the whole is verified.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qbcd.catalog.source import Source
from qbcd.common.durable import sync
from qbcd.errors import StateConflict
from qbcd.local.part_files import PartFile
from qbcd.sites.lake.engines.base import Engine, Rows
from qbcd.sites.lake.replica.schema import Fields
from qbcd.sites.values import LeasedStream
from qbcd.state import Segment

PASSING = "passing"  # the kind of temporary parts, which this process reads once


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
