"""A stream's place in the workdir: stage, batches and segments as Parquet files.

Names contain fencing token and attempt. A part becomes visible only by the commit that names its files. Until then, and
after a crash, `sweep` may remove it. Reads use the files that the commit named: a missing or changed file is an error,
never fewer or other rows (docs/design/protocol.md#rule-15). The commit names the hash of each file's end, which has
Parquet's footer and page indexes, and a checksum of the whole file. Hashing large files at each read would cost more
than most reads: Spark verifies the checksum of each page that it reads, if the file has them. The local engine knows no
such checksums, so before it reads a file the checksum of the whole is verified.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qbcd.catalog.source import Source
from qbcd.errors import StateConflict, StoreFailed
from qbcd.local.part_files import PartFile
from qbcd.sites.lake.engines.base import Engine, Rows
from qbcd.sites.lake.replica.schema import Fields
from qbcd.sites.values import LeasedStream
from qbcd.state import Segment
from qbcd.stores.parts import Workdir

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
    """The parts of one stream.

    Args:
        workdir: The project's workdir: local, mounted by all hosts, or an object store.
        project_id: Separates projects that share a workdir.
    """

    def __init__(self, workdir: Workdir | Path, project_id: str, stream: str) -> None:
        place = workdir if isinstance(workdir, Workdir) else Workdir(workdir)
        self.workdir, self.stream = place, stream
        self.parts = place.parts(project_id, stream)
        self.root = self.parts.root

    def create(self) -> None:
        """Create the place of the parts."""
        self.parts.create()

    def prove(self) -> None:
        """Prove that this host sees the place that `prepare` created.

        Its path has the project's id.

        See docs/design/protocol.md#rule-24.

        Raises:
            StateConflict: The place is missing.
        """
        if not self.parts.exists():
            raise StateConflict(
                f"the workdir {self.workdir.shown} does not hold this stream's files",
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
        part_id, temporary = f"{kind}-{leased.row.fencing_token}-{uuid.uuid4().hex}", kind == PASSING
        place = self.parts.place(part_id) if engine.by_executors else self.parts.workplace(part_id)

        def evaluate() -> int | None:
            return engine.write(rows, fields, place, temporary=temporary)

        try:
            count = (
                evaluate() if source is None else engine.explained(evaluate, lambda e: source.explain(e, self.stream))
            )
            files = self.parts.written(part_id, by_executors=engine.by_executors, temporary=temporary, rows=count)
        except Exception:
            self.parts.remove(part_id)
            raise
        return FileSet(part_id, tuple(files))

    def read(self, engine: Engine, fields: Fields, *parts: FileSet) -> Rows:
        """Return the rows of one or several parts.

        Raises:
            StateConflict: A file is missing, or was changed. For an engine that verifies pages, a change within a file
                is an error when it reads the changed page.
        """
        if not engine.by_executors:
            self.prove_parts(*parts, whole=not engine.verifies_pages)
            return engine.read(fields, [path for part in parts for path in self.paths(part)])
        for part in parts:
            if part.part_id.startswith(PASSING):
                self.parts.share(part.part_id, part.files)
        self.prove_parts(*parts, whole=not engine.verifies_pages, by_executors=True)
        return engine.read(fields, [self.parts.place(f"{p.part_id}/{file.name}") for p in parts for file in p.files])

    def place(self, part: FileSet) -> str:
        """Return the absolute path or the URL of a part, for processes that may be on other hosts."""
        place = self.parts.place(part.part_id)
        return str(place.absolute() if isinstance(place, Path) else place)

    def paths(self, part: FileSet) -> list[Path]:
        """Return local paths of a part's files."""
        return self.parts.local(part.part_id, part.files)

    def prove_parts(self, *parts: FileSet, whole: bool = False, by_executors: bool = False) -> None:
        """Prove that all files of the parts have the size and hash of the commit.

        Args:
            whole: Prove each file as a whole, because its reader does not verify pages.
            by_executors: Executors of Spark will read the files.

        Raises:
            StateConflict: A file is missing, or was changed.
        """
        for part in parts:
            wrong = self.parts.changed(part.part_id, part.files, whole=whole, by_executors=by_executors)
            if wrong is not None:
                raise StateConflict(
                    f"file {self.parts.shown}/{part.part_id}/{wrong.name} is missing or was changed; the replica "
                    "cannot be trusted",
                    stream=self.stream,
                    remedy="is the workdir the one that was prepared, and shared by all hosts of the project? restore "
                    f"it, or qbcd reset {self.stream} --discard",
                )

    def write_blob(self, kind: str, content: bytes, leased: LeasedStream) -> str:
        """Write bytes durably into a new folder, and return its name."""
        self.create()
        name = f"{kind}-{leased.row.fencing_token}-{uuid.uuid4().hex}"
        self.parts.put(f"{name}/{kind}", content)
        return name

    def read_blob(self, name: str) -> bytes:
        """Return the bytes that `write_blob` has written; empty if they cannot be read."""
        try:
            return self.parts.get(f"{name}/{name.partition('-')[0]}")
        except (OSError, StoreFailed):  # callers do not need such bytes
            return b""

    def discard(self, *parts: FileSet, unless: bool = False) -> None:
        """Remove parts of this attempt that no commit names."""
        for part in () if unless else parts:
            self.parts.remove(part.part_id)

    def sweep(self, named: set[str], leased: LeasedStream) -> None:
        """Remove parts that are not `named` and whose fencing token is not above the leased one.

        See docs/design/protocol.md#rule-23.
        """
        for name in self.parts.names():
            pieces = name.split("-")
            if name in named or len(pieces) != 3 or not pieces[1].isdigit():
                continue
            if int(pieces[1]) <= leased.row.fencing_token:
                self.parts.remove(name)
