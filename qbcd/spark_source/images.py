"""Change rows of a file by Arrow alone, of values that Arrow and DuckDB read alike.

A task reads both images of its events in one pass, and converts a dictionary once instead of each row. What Arrow does
not convert with certainty goes to the caller, who has the SQL. See docs/internals/engines.md#spark-source.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

OP, ORDINAL = "op", "ordinal"
_DICTIONARY = frozenset(("PLAIN_DICTIONARY", "RLE_DICTIONARY"))  # of chunks that have no plain values
GROUP_BYTES = 64 << 20  # of a row group, at most: the reader may hold one
_SECONDS = len("2026-01-01T00:00:00")
_FIRST_DAY, _FIRST_MOMENT = -719_162, -62_135_596_800_000_000  # of year 1; year 0 is no date of Spark


@dataclass(frozen=True)
class ChangeImage:
    """One image of the events as change rows.

    Attributes:
        kinds: The kind of change by the event's `op`; None leaves the event out.
        other: The kind of change of other events.
        columns: The file's column for each column of the read; empty for NULL.
    """

    kinds: tuple[tuple[str, str | None], ...]
    other: str | None
    columns: tuple[str, ...]


@dataclass(frozen=True)
class ImageRows:
    """The rows of one image, of a piece of a file.

    Attributes:
        number: The image, as a place in the images of the read.
        rows: Its change rows with their kind as the last column; None if Arrow cannot convert a value.
        source: The events as the file has them.
    """

    number: int
    rows: pa.RecordBatch | None
    source: pa.RecordBatch


class ImageFile:
    """A Parquet file that is read by Arrow.

    Args:
        images: The images to read.
        types: The type of each column of the read.
    """

    def __init__(self, path: Path, images: Sequence[ChangeImage], types: Sequence[pa.DataType]) -> None:
        self._path, self._images, self._types = path, images, types
        self._about = parquet.read_metadata(path)
        self._schema = self._about.schema.to_arrow_schema()

    def is_readable(self) -> bool:
        """Return True if Arrow converts the types of the columns, and row groups are not too large."""
        if any(self._group(i).total_byte_size > GROUP_BYTES for i in range(self._about.num_row_groups)):
            return False
        for image in self._images:
            for name, kind in zip(image.columns, self._types, strict=True):
                there = self._schema.get_field_index(name) if name else None
                if there is not None and (there < 0 or self._schema.field(there).type not in (kind, pa.string())):
                    return False
                if there is not None and self._schema.field(there).type != kind and not _is_parsed(kind):
                    return False
        return bool(self._schema.get_field_index(OP) >= 0)

    def read(self, part: range | None, rows: int, most: int) -> Iterator[ImageRows]:
        """Yield the images of the events, a piece of the file at a time.

        Args:
            part: The ordinals to read, whole row groups; None for all.
            rows: Events of a piece, at most.
            most: Bytes of repeated texts in a piece, at most.
        """
        names = list(dict.fromkeys([OP, *(name for image in self._images for name in image.columns if name)]))
        groups = [i for i in range(self._about.num_row_groups) if part is None or self._first_of(i) in part]
        with parquet.ParquetFile(
            self._path, metadata=self._about, read_dictionary=[name for name in names if self._has_dictionary(name)]
        ) as file:
            for found in file.iter_batches(rows, row_groups=groups, columns=names, use_threads=False):
                for piece in _bounded(found, most):
                    for number, image in enumerate(self._images):
                        made = self._rows(piece, image)
                        if made is None or made.num_rows:
                            yield ImageRows(number, made, piece)

    def _group(self, number: int) -> parquet.RowGroupMetaData:
        return self._about.row_group(number)

    def _first_of(self, group: int) -> int:
        place = self._schema.get_field_index(ORDINAL)
        return int(self._group(group).column(place).statistics.min)

    def _has_dictionary(self, name: str) -> bool:
        place = self._schema.get_field_index(name)
        chunks = [self._group(i).column(place) for i in range(self._about.num_row_groups)]
        return all(one.physical_type == "BYTE_ARRAY" and _DICTIONARY.issuperset(one.encodings) for one in chunks)

    def _rows(self, found: pa.RecordBatch, image: ChangeImage) -> pa.RecordBatch | None:
        change = _kinds(found.column(OP), image)
        if change.null_count:
            mask = change.is_valid()
            found, change = found.filter(mask), change.filter(mask)
        columns: list[pa.Array] = []
        for name, kind in zip(image.columns, self._types, strict=True):
            made = _converted(found.column(name), kind) if name else pa.nulls(found.num_rows, kind)
            if made is None:
                return None
            columns.append(made)
        return pa.RecordBatch.from_arrays([*columns, change], [*map(str, range(len(columns))), "change"])


def _is_parsed(kind: pa.DataType) -> bool:
    return bool(pa.types.is_decimal(kind) or pa.types.is_date32(kind) or pa.types.is_timestamp(kind))


def _bounded(found: pa.RecordBatch, most: int) -> Iterator[pa.RecordBatch]:
    """Yield slices whose repeated texts have at most `most` bytes."""
    width = sum(
        pc.max(pc.binary_length(column.dictionary)).as_py() or 0
        for column in found.columns
        if isinstance(column, pa.DictionaryArray)
    )
    rows = max(1, most // max(1, width))
    for first in range(0, found.num_rows, rows):
        yield found.slice(first, rows)


def _kinds(ops: pa.Array, image: ChangeImage) -> pa.Array:
    """Return the kind of change of each event; NULL for those that the image leaves out."""
    encoded = ops if isinstance(ops, pa.DictionaryArray) else ops.dictionary_encode()
    known = dict(image.kinds)
    kinds = [known.get(op, image.other) for op in encoded.dictionary.to_pylist()]
    if len(kinds) == 1 and not encoded.null_count:
        return pa.repeat(pa.scalar(kinds[0], pa.string()), len(encoded))
    return pa.array(kinds, pa.string()).take(encoded.indices)


def _converted(values: pa.Array, kind: pa.DataType) -> pa.Array | None:
    """Return values in a type; None if Arrow might read a text differently from DuckDB."""
    if isinstance(values, pa.DictionaryArray):
        made = _converted(values.dictionary, kind)
        return None if made is None else made.take(values.indices)
    if values.type == kind:
        return values
    if pa.types.is_timestamp(kind) and not _are_moments(values, kind):
        return None
    try:
        made = values.cast(kind)
    except pa.ArrowInvalid:
        return None
    first = _FIRST_DAY if pa.types.is_date32(kind) else _FIRST_MOMENT if pa.types.is_timestamp(kind) else None
    if first is not None:
        least = pc.min(made.cast(pa.int32() if pa.types.is_date32(kind) else pa.int64())).as_py()
        if least is not None and least < first:
            return None
    return made


def _are_moments(values: pa.Array, kind: pa.DataType) -> bool:
    """Return True if all texts have seconds, and a Z exactly if the type has a time zone."""
    ends = pc.ends_with(values, "Z")
    has_zone = kind.tz is not None
    if pc.any(pc.invert(ends) if has_zone else ends).as_py():
        return False
    shortest = pc.min(pc.binary_length(values)).as_py()
    return shortest is None or shortest >= _SECONDS + has_zone
