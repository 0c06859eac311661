"""Batches of a source's outbox as Parquet files in the workdir, written once.

Executors read files; they do not connect to the source. Files of batches that the source no longer has are removed when
the stream is read the next time.
"""

from __future__ import annotations

import shutil
import uuid
from collections.abc import Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from qbcd.common.durable import sync
from qbcd.errors import StateConflict
from qbcd.local.errors import explained_errors
from qbcd.local.query import Query
from qbcd.model import BatchHeader
from qbcd.sites.event_schema import event_fields
from qbcd.sites.lake.engines.local import parquet
from qbcd.stream import Stream

if TYPE_CHECKING:
    from qbcd.local.arrow import LocalRows

FOLDER = "spark"  # in the stream's folder of the workdir
FILE_EVENTS = 262_144  # events of one file


def is_split(stream: Stream, header: BatchHeader) -> bool:
    """Return True if a reader gets other rows of a batch than its site has, since events wait."""
    return stream.enrichment is not None and stream.enrichment.divides(header)


class OutboxFiles:
    """The files of one stream.

    Args:
        project_id: Separates projects that share a workdir.
        present: Fingerprints of the batches that the source still has.
    """

    def __init__(self, workdir: Path, project_id: str, stream: Stream, present: Collection[str]) -> None:
        self._root = workdir.absolute() / project_id / stream.name / FOLDER
        self._stream = stream
        for folder in self._root.iterdir() if self._root.is_dir() else ():
            if not folder.name.startswith(".") and folder.name not in present:
                shutil.rmtree(folder, ignore_errors=True)

    def of(self, header: BatchHeader) -> list[Path]:
        """Return the files of a batch, written now if they do not exist.

        Raises:
            StateConflict: Rows of it are missing.
        """
        folder = self._root / header.fingerprint
        if not folder.is_dir():
            self._write(header, folder)
        return sorted(folder.glob(f"*/{parquet.FILE}"))

    def _write(self, header: BatchHeader, folder: Path) -> None:
        self._root.mkdir(mode=0o700, parents=True, exist_ok=True)
        written = self._root / f".{header.fingerprint}-{uuid.uuid4().hex}"
        written.mkdir(mode=0o700)
        try:
            count, size = 0, header.size
            if is_split(self._stream, header):
                count, size = self._write_view(header, written / "0")
            else:
                for first in range(0, header.size, FILE_EVENTS):
                    part = range(first, min(first + FILE_EVENTS, header.size))
                    count += self._write_part(header, part, written / f"{first:012d}")
            if count != size:
                raise StateConflict(
                    f"events of batch {header.number} are missing: {count:,} of {size:,} were found",
                    stream=header.stream,
                    remedy="if `retain` ended meanwhile, read again, with a longer `retain`; otherwise, were qbcd's "
                    "own tables edited?",
                )
            sync(written)
            try:
                written.rename(folder)
            except OSError:
                if not folder.is_dir():
                    raise
        finally:
            shutil.rmtree(written, ignore_errors=True)
        sync(self._root)

    def _write_part(self, header: BatchHeader, part: range, folder: Path) -> int:
        with explained_errors(header.stream), self._stream.site.open_staged(header, part) as rows:
            return self._copy(rows, header, folder)

    def _write_view(self, header: BatchHeader, folder: Path) -> tuple[int, int]:
        """Write the events that readers get; return how many there are, and should be."""
        assert self._stream.enrichment is not None
        view = self._stream.enrichment.view(header)
        opened = partial(self._stream.site.open_staged, header)
        with explained_errors(header.stream), view.open_local(opened, range(header.size)) as rows:
            if view.header.selected:  # added fields have the batch's own ordinals
                named = ", ".join(
                    name if name != "ordinal" else "event_ordinal AS ordinal" for name in rows.query.columns
                )
                rows = replace(rows, query=Query(f"SELECT {named} FROM ({rows.query.sql})", rows.query.columns))
            return self._copy(rows, header, folder), view.header.size

    def _copy(self, rows: LocalRows, header: BatchHeader, folder: Path) -> int:
        fields = event_fields([travel for _, travel in header.columns])
        parquet.write(rows.database, rows.query, fields, folder, temporary=False)
        path = folder / parquet.FILE
        count = rows.database.connection.execute("SELECT count(*) FROM read_parquet(?)", [str(path)]).fetchone()
        sync(path)
        sync(folder)
        return int(count[0]) if count else 0
