"""Files of the sink `parquet` as a log; they have the types of the columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet
from typing_extensions import override

from qbcd.errors import Refused
from qbcd.local.arrow import EVENTS_PER_PIECE, event_schema
from qbcd.model import BatchHeader, Travel, TravelKind
from qbcd.model.wire import EVENT_FIELDS
from qbcd.replay.log_file import OPS, BatchKey, LogFile, Seen, foreign, key_of, may_wait, place_of
from qbcd.sinks.stored.parquet_files import MARKER

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

    @override
    def first(self) -> tuple[int, int, int, str, int]:
        with self._open() as file:
            for piece in file.iter_batches(batch_size=1, columns=_FACTS):
                _, key, ordinal = self._key(piece.to_pylist()[0], 0)
                return (*key.order, ordinal)
        raise foreign(self.path, None, "the file has no rows")

    @override
    def has_no_events(self) -> bool:
        with self._open() as file:
            return not file.metadata.num_rows

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
    def runs(self) -> Iterator[tuple[BatchKey, Seen, int, int]]:
        self.batches = 0
        run: tuple[BatchKey, Seen, int] | None = None
        row = 0
        with self._open() as file:
            schema = file.schema_arrow
            for piece in file.iter_batches(columns=[*_FACTS, "before"]):
                old = piece.column("before").is_valid().to_pylist()
                for fact, has_old in zip(piece.select(_FACTS).to_pylist(), old, strict=True):
                    stream, key, ordinal = self._key(fact, row)
                    if run is None or key != run[0]:
                        if run is not None:
                            yield *run, row
                        run = key, _begun(stream, ordinal, fact, schema), row
                        self.batches += 1
                    else:
                        run[1].follow(ordinal, place_of(self.path, row))
                    row += 1
                    run[1].counts[fact["op"]] += 1
                    run[1].lacks_old = run[1].lacks_old or (fact["op"] in "ud" and not has_old)
        if run is not None:
            yield *run, row

    def _key(self, fact: Any, row: int) -> tuple[str, BatchKey, int]:
        if fact["op"] not in OPS:
            raise foreign(self.path, row, f"its op is {fact['op']!r}")
        try:
            return key_of(fact["event_id"], fact["source"])
        except ValueError as error:
            raise foreign(self.path, row, str(error)) from None

    @override
    def form_of(self, kinds: set[Any]) -> Travel | None:
        return next(iter(kinds)) if len(kinds) == 1 else None

    @override
    def events(self, header: BatchHeader, first: int, last: int) -> Iterator[pa.RecordBatch]:
        schema, done = event_schema(header), 0
        with self._open() as file:
            for piece in file.iter_batches(batch_size=EVENTS_PER_PIECE, columns=list(EVENT_FIELDS)):
                part = piece.slice(max(0, first - done), max(0, min(last, done + piece.num_rows) - max(first, done)))
                done += piece.num_rows
                if part.num_rows:
                    yield pa.RecordBatch.from_arrays(
                        [part.column(name).cast(schema.field(name).type) for name in schema.names], schema=schema
                    )


def _begun(stream: str, ordinal: int, fact: Any, schema: pa.Schema) -> Seen:
    key, image = schema.field("key").type, schema.field("after").type
    names = tuple(field.name for field in key) if pa.types.is_struct(key) else None
    seen = Seen(stream, fact["source"], int(fact["ts_ms"]), names, ordinal, ordinal, may_wait(schema.names))
    seen.kinds = {field.name: {_travel(field.type)} for field in image}
    return seen


def _travel(kind: pa.DataType) -> Travel:
    """Return the form of values of an Arrow type."""
    if pa.types.is_list(kind):
        return Travel("array", element=_travel(kind.value_type))
    if pa.types.is_decimal(kind):
        return Travel("decimal", kind.precision, kind.scale)
    if pa.types.is_timestamp(kind):
        return Travel("timestamp" if kind.tz is None else "timestamptz")
    return Travel(_KINDS.get(str(kind), "text"))
