"""Parquet: the file's own types.

Lists are arrays; structs, maps and long decimals are texts, as in `nested`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pyarrow as pa
from pyarrow import parquet
from typing_extensions import override

from qbcd.files.columns import field_of, int96_field, null_field
from qbcd.files.formats import nested
from qbcd.files.formats.base import DumpReader

ROWS = 8_192  # rows of a batch
_DAMAGED = (OSError, pa.ArrowException, ValueError)  # a name that is no UTF-8 is a ValueError
BUFFER = 1 << 18  # bytes for each column; without a buffer Arrow keeps the row groups that it has read in memory


class ParquetReader(DumpReader):
    """A Parquet file."""

    @override
    def read_schema(self) -> pa.Schema:
        with self._opened() as file:
            fields = file.schema_arrow
            twice = next((name for i, name in enumerate(fields.names) if name in fields.names[:i]), None)
            if twice is not None:
                raise self.place.refused(f"column {twice!r} occurs twice", "write the file with other names")
            self.own_types = {field.name: field.type for field in fields}
            self.untyped = frozenset(name for name, kind in self.own_types.items() if pa.types.is_null(kind))
            columns = [file.schema.column(i) for i in range(len(file.schema))]
            self._intervals = frozenset(one.path for one in columns if one.converted_type == "INTERVAL")
            self._instants = frozenset(one.path for one in columns if one.physical_type == "INT96")
            return pa.schema([self._field(field) for field in fields])

    @override
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
                except _DAMAGED:
                    raise self.place.refused(f"its rows after row {row:,} are damaged") from None
                if batch is None:
                    return
                arrays = [self._cast(batch.column(name), schema.field(name), row) for name in names]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
                row += batch.num_rows

    @override
    def line_of(self, row: int) -> int | None:
        return None

    def _opened(self) -> parquet.ParquetFile:
        try:
            return parquet.ParquetFile(
                self.place.path,
                buffer_size=BUFFER,
                pre_buffer=False,
                page_checksum_verification=True,
                coerce_int96_timestamp_unit="us",
            )
        except FileNotFoundError:
            raise self.place.refused("does not exist", "check the path") from None
        except _DAMAGED:
            what = "has no Parquet footer: the file is truncated, still written, or no Parquet file"
            raise self.place.refused(what) from None

    def _field(self, field: pa.Field) -> pa.Field:
        """Return the field in whose type values of a column are given."""
        if field.name in self.form.types:
            return field_of(field.name, self.form.types[field.name])
        if field.name in self._intervals:
            return pa.field(field.name, pa.string())
        if field.name in self._instants:
            return int96_field(field.name)
        if pa.types.is_null(field.type):
            return null_field(field.name)
        return nested.field_of(field) or pa.field(field.name, nested.plain_type(field.type))

    def _cast(self, values: pa.Array, field: pa.Field, row: int) -> pa.Array:
        convert: Callable[[pa.Array], pa.Array] | None = nested.converter(values.type)
        if field.name in self._intervals:
            convert = nested.interval_texts
        try:
            values.validate(full=True)  # Arrow reads a damaged decimal with more digits than its type
            if convert is not None:
                return convert(values)
            values = values.storage if isinstance(values, pa.ExtensionArray) else values
            if field.name not in self.form.types:
                return values.cast(field.type)
            texts = values.cast(pa.string())
        except (pa.ArrowException, ValueError, ArithmeticError):
            what = f"column {field.name} has a value after row {row:,} that has no exact value of type {field.type}"
            raise self.place.refused(what, self.place.check) from None
        return self.typed(texts, field.name, self.form.types[field.name], row)
