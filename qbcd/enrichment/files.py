"""Files of enrichments: one Parquet file per batch, under the workdir.

A file has `ordinal`, a column of JSON texts ``f_0..`` for each field, and `place`: the number of a selected event among
the selected ones, NULL for others.
"""

from __future__ import annotations

import hashlib
import re
import uuid
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from qbcd.enrichment.enricher import NONE_SELECTED
from qbcd.errors import LocalFailed, StateConflict
from qbcd.state.enriched import BatchFile, EnrichedBatch, Number
from qbcd.stores.parts import PartStore

Chosen = Callable[[Sequence[pa.Array]], pa.Array]
_NAME = re.compile(r"(held-|sent-|)([0-9]+)-([0-9]+)-[0-9]+-[0-9a-f]+\.parquet")
_PIECE = 1 << 20  # bytes


class FileOfBatch:
    """A new file of one batch, not yet named by a row.

    Args:
        parts: The place of the stream's files.
        number: Epoch and number of the batch.
        token: The fencing token of the lease.
        fields: The number of fields.
        chosen: Returns from the values of a piece the events that are selected, and not NULL; None if all are.
    """

    def __init__(self, parts: PartStore, number: Number, token: int, fields: int, chosen: Chosen | None) -> None:
        self.name = f"{number[0]}-{number[1]}-{token}-{uuid.uuid4().hex}.parquet"
        self._parts, self._chosen, self._fields = parts, chosen, fields
        self.rows = 0
        self._places = 0
        self._counts: Counter[str] = Counter()
        names = [("ordinal", pa.int64()), *((f"f_{i}", pa.string()) for i in range(fields)), ("place", pa.int64())]
        self._schema = pa.schema(names)

    @property
    def counts(self) -> Mapping[str, int] | None:
        """Selected events per op; None if all are."""
        return None if self._chosen is None else dict(self._counts)

    def write(self, pieces: Iterator[Sequence[pa.Array]]) -> str:
        """Write the values durably and return the hash of the file.

        Args:
            pieces: Aligned arrays: the ops of events, the values of each field, and what else `chosen` needs.

        Raises:
            LocalFailed: The file cannot be written.
        """
        try:
            self._parts.create()
            path = self._parts.workplace(self.name)
            with parquet.ParquetWriter(path, self._schema, compression="snappy", write_page_checksum=True) as file:
                for piece in pieces:
                    file.write_batch(self._rows_of(piece))
            self._parts.keep(self.name)
            return hash_of(path)
        except OSError as error:
            raise LocalFailed(
                f"the file {self._parts.place(self.name)} cannot be written: {error.strerror or error}",
                remedy="check the workdir and its disk; the batch waits, and the next poll tries again",
            ) from error

    def _rows_of(self, piece: Sequence[pa.Array]) -> pa.RecordBatch:
        ops, *values = piece
        count = len(ops)
        ordinals = pa.array(range(self.rows, self.rows + count), pa.int64())
        self.rows += count
        places = pa.nulls(count, pa.int64())
        if self._chosen is not None:
            chosen = self._chosen(values)
            after = pc.cumulative_sum(pc.cast(chosen, pa.int64()))
            places = pc.if_else(chosen, pc.add(after, self._places - 1), pa.scalar(None, pa.int64()))
            self._places += pc.sum(chosen).as_py() or 0
            self._counts.update(pc.filter(ops, chosen).to_pylist())
        texts = [value.cast(pa.string()) for value in values[: self._fields]]
        return pa.RecordBatch.from_arrays([ordinals, *texts, places], schema=self._schema)

    def drop(self) -> None:
        """Remove the file, which no row names."""
        self._parts.remove(self.name)


class HashedTexts:
    """A hash of texts on their way."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def passing(self, pieces: Iterator[pa.Array]) -> Iterator[pa.Array]:
        """Yield the pieces unchanged, however they are divided."""
        for piece in pieces:
            for each in piece.to_pylist():
                self._hash.update(f"{each}\n".encode())
            yield piece

    @property
    def digest(self) -> str:
        """The first 32 hex digits, of all texts that have passed."""
        return self._hash.hexdigest()[:32]


def hash_of(path: Path) -> str:
    """Return the SHA-256 of a file."""
    found = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(_PIECE):
            found.update(piece)
    return found.hexdigest()


def proven(parts: PartStore, one: BatchFile, stream: str) -> Path:
    """Return a local path of the file of a batch, as it was stored.

    Raises:
        StateConflict: It is missing, or was changed.
    """
    try:
        path = parts.kept(one.file)
        if hash_of(path) != one.hash:
            path = parts.kept(one.file, again=True)
        problem = "was changed" if hash_of(path) != one.hash else ""
    except OSError as error:
        problem = f"cannot be read ({error.strerror})"
    if problem:
        raise StateConflict(
            f"the file {parts.place(one.file)} with the {one.what} of batch {one.number} {problem}",
            stream=stream,
            remedy="share one workdir among all hosts of the project, or restore the file from a backup; "
            f"or {_without(one, stream)}",
        )
    return path


def _without(one: BatchFile, stream: str) -> str:
    if one.what == "events that wait":
        return f"qbcd reset {stream} --discard, then prepare it again, and consumers reload"
    return f"qbcd skip {stream} SINK --batch {one.number} for each sink that waits for it"


def selected_by(place: int) -> Chosen:
    """Return the choice of events by the value of one field."""
    return lambda values: pc.fill_null(pc.not_equal(values[place], NONE_SELECTED), False)


def sweep(
    parts: PartStore, rows: Mapping[Number, EnrichedBatch], there: set[Number], named: Collection[str] = ()
) -> None:
    """Remove files of batches that no longer exist, and other attempts of batches with a file.

    A file of a batch without a row is left: the process that wrote it may be about to name it.

    Args:
        named: The files with rows of events that wait, or have waited. Others of the same batches are removed.
    """
    for name in parts.names():
        match = _NAME.fullmatch(name)
        if match is None or name in named:
            continue
        number = int(match[2]), int(match[3])
        row = rows.get(number)
        if (row is not None and row.file != name) or (row is None and number not in there):
            parts.remove(name)
