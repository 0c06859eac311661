"""Parquet: the file's own types. Lists, structs and maps cannot be captured."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pyarrow as pa
from pyarrow import parquet

from qbcd.files.formats.base import CHECK, DumpReader

ROWS = 8_192  # rows of a batch
BUFFER = 1 << 18  # bytes for each column; without a buffer Arrow keeps the row groups that it has read in memory


class ParquetReader(DumpReader):
    """A Parquet file."""

    def read_schema(self) -> pa.Schema:
        with self._opened() as file:
            self.untyped = frozenset(field.name for field in file.schema_arrow if pa.types.is_null(field.type))
            return pa.schema([(field.name, self._plain(field)) for field in file.schema_arrow])

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        if not names:
            return
        schema = pa.schema([self.schema.field(name) for name in names])
        row = 0
        with self._opened() as file:
            batches = file.iter_batches(batch_size=ROWS, columns=list(names), use_threads=False)
            while True:
                try:
                    batch = next(batches, None)
                except (OSError, pa.ArrowException):
                    raise self.place.refused(f"its rows after row {row:,} are damaged") from None
                if batch is None:
                    return
                arrays = [self._cast(batch.column(name), schema.field(name), row) for name in names]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
                row += batch.num_rows

    def line_of(self, row: int) -> int | None:
        return None

    def _opened(self) -> parquet.ParquetFile:
        try:
            return parquet.ParquetFile(
                self.place.path, buffer_size=BUFFER, pre_buffer=False, page_checksum_verification=True
            )
        except FileNotFoundError:
            raise self.place.refused("does not exist", "check the path") from None
        except (OSError, pa.ArrowException):
            what = "has no Parquet footer: the file is truncated, still written, or no Parquet file"
            raise self.place.refused(what) from None

    def _plain(self, field: pa.Field) -> pa.DataType:
        """Return the type in which values of a column are given."""
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if pa.types.is_large_string(kind) or pa.types.is_string_view(kind) or pa.types.is_null(kind):
            return pa.string()
        if pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind) or pa.types.is_binary_view(kind):
            return pa.binary()
        if pa.types.is_timestamp(kind):
            return pa.timestamp("us", tz="UTC" if kind.tz else None)
        if pa.types.is_time(kind):
            return pa.time64("us")
        if pa.types.is_date(kind):
            return pa.date32()
        if pa.types.is_float16(kind):
            return pa.float32()
        small = {pa.int8(): pa.int16(), pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64()}
        return small.get(kind, kind)

    def _cast(self, values: pa.Array, field: pa.Field, row: int) -> pa.Array:
        try:
            return values.cast(field.type)
        except pa.ArrowInvalid:
            what = f"column {field.name} has a value after row {row:,} that has no exact value of type {field.type}"
            raise self.place.refused(what, CHECK) from None
