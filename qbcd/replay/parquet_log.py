"""Files of the sink `parquet` as a log; they have the types of the columns."""

from __future__ import annotations

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet
from typing_extensions import override

from qbcd.errors import Refused
from qbcd.local.arrow import EVENTS_PER_PIECE, event_schema
from qbcd.model import BatchHeader, Travel, TravelKind
from qbcd.model.wire import EVENT_FIELDS
from qbcd.replay.jsonl_log import compact
from qbcd.replay.log_file import OPS, BatchKey, EventFacts, LogFile, foreign, key_of, may_wait, unfit
from qbcd.sinks.stored.parquet_files import MARKER
from qbcd.sinks.table.flat_rows import json_values

_FACTS = ["op", "source", "event_id", "ts_ms"]
_KINDS: dict[str, TravelKind] = {
    "bool": "boolean",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "float": "float32",
    "double": "float64",
    "binary": "binary",
    "date32[day]": "date",
}


class ParquetFile(LogFile):
    """A file of typed events."""

    @property
    @override
    def note(self) -> Path:
        return self.path.parent / MARKER

    def _open(self) -> parquet.ParquetFile:
        try:
            file = parquet.ParquetFile(self.path)
        except (pa.ArrowException, OSError):
            raise Refused(
                "this is no complete Parquet file", where=str(self.path), remedy="copy it again, as a whole"
            ) from None
        if any(name not in file.schema_arrow.names for name in EVENT_FIELDS):
            file.close()
            raise foreign(self.path, None, "columns are missing")
        return file

    @override
    def facts(self) -> Generator[EventFacts, None, None]:
        row, known = 0, BatchKey(0, 0)
        with self._open() as file:
            key, image = file.schema_arrow.field("key").type, file.schema_arrow.field("after").type
            names = tuple(field.name for field in key) if pa.types.is_struct(key) else None
            kinds = [(field.name, (_travel(field.type),)) for field in image]
            waits = may_wait(file.schema_arrow.names)
            for piece in file.iter_batches(batch_size=EVENTS_PER_PIECE, columns=[*_FACTS, "before"]):
                old = piece.column("before").is_valid().to_pylist()
                for fact, has_old in zip(piece.select(_FACTS).to_pylist(), old, strict=True):
                    op, source, event_id, ts_ms = (fact[name] for name in _FACTS)
                    if op not in OPS:
                        raise foreign(self.path, row, f"its op is {op!r}")
                    try:
                        stream, batch, ordinal = key_of(event_id, source)
                    except ValueError as error:
                        raise foreign(self.path, row, str(error)) from None
                    lacks_old, new = op in "ud" and not has_old, kinds if batch != known else ()
                    yield EventFacts(row, stream, batch, ordinal, op, lacks_old, int(ts_ms), source, names, waits, new)
                    row, known = row + 1, batch

    @override
    def events(self, header: BatchHeader, first: int, last: int) -> Iterator[pa.RecordBatch]:
        schema, done = event_schema(header), 0
        with self._open() as file:
            for piece in file.iter_batches(batch_size=EVENTS_PER_PIECE, columns=list(EVENT_FIELDS)):
                part = piece.slice(max(0, first - done), max(0, min(last, done + piece.num_rows) - max(first, done)))
                done += piece.num_rows
                if part.num_rows:
                    arrays = [self._column(part.column(field.name), field) for field in schema]
                    yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _column(self, values: pa.Array, field: pa.Field) -> pa.Array:
        """Return values of a column, or of the columns of a struct, in a type.

        Raises:
            Refused: One does not fit.
        """
        wanted, mine = field.type, values.type
        if wanted == mine:
            return values
        if pa.types.is_struct(wanted) and pa.types.is_struct(mine):
            places = {one.name: i for i, one in enumerate(mine)}
            parts = [self._column(pc.struct_field(values, [places[one.name]]), one) for one in wanted]
            return pa.StructArray.from_arrays(parts, fields=list(wanted), mask=values.is_null())
        if pa.types.is_string(wanted):  # as JSON has them
            found: list[Any] = json_values(values, _travel(mine))
            return pa.array([one if one is None or isinstance(one, str) else compact(one) for one in found], wanted)
        try:
            return values.cast(wanted)
        except pa.ArrowException:
            raise unfit(str(self.path), field.name, wanted) from None


def _travel(kind: pa.DataType) -> Travel:
    """Return the form of values of an Arrow type."""
    if pa.types.is_list(kind):
        return Travel("array", element=_travel(kind.value_type))
    if pa.types.is_decimal(kind):
        return Travel("decimal", kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return Travel("timestamp" if kind.tz is None else "timestamptz")
    return Travel(_KINDS.get(str(kind), "text"))
