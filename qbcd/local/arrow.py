"""Events of staged rows as lines of JSON and as typed Arrow data, in pieces.

Values are made by DuckDB alone: functions of Arrow that take values of Python import pandas if it is installed, which
takes long. DuckDB also sorts the rows of a piece, and spills what does not fit into its memory; a piece is in this
process only until the next one is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from qbcd.errors import UnsupportedType
from qbcd.event_sql.base import MISFIT, has_sets, source_of
from qbcd.local.database import LocalDatabase
from qbcd.local.errors import explain
from qbcd.local.events import event_lines, part_of, typed_columns, unfit_flags
from qbcd.local.query import Query
from qbcd.model import BatchHeader, Travel
from qbcd.model.wire import ELEMENTS, EVENT_FIELDS

EVENTS_PER_PIECE = 2048  # DuckDB computes rows in vectors of this size
EVENTS_PER_QUERY = 131_072  # sorted at once: files of batches are in order, so that a part is found by its row groups
FEWER = 8  # if a piece does not fit into memory, the next attempt has so many times fewer rows

_TYPES = {
    "boolean": pa.bool_(),
    "int16": pa.int16(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "uint64": pa.decimal128(20, 0),
    "float32": pa.float32(),
    "float64": pa.float64(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamptz": pa.timestamp("us", tz="UTC"),
}  # others are text
_KINDS = {"Out of Memory Error": duckdb.OutOfMemoryException, "IO Error": duckdb.IOException}  # by their messages


@dataclass(frozen=True)
class LocalRows:
    """Staged rows of a batch in an open local database."""

    database: LocalDatabase
    query: Query


def lines_of(rows: LocalRows, header: BatchHeader, part: range) -> Iterator[list[str]]:
    """Yield the events as lines of JSON without line ends, in the order of their ordinals.

    Args:
        rows: The batch's staged rows, with at least those of `part`.
        part: The ordinals of the events.

    Raises:
        LocalFailed: DuckDB failed.
    """
    for found in _pieces(rows, lambda query: event_lines(query, header), header.stream, part):
        yield found.column("line").to_pylist()


def events_of(rows: LocalRows, header: BatchHeader, part: range, *, lenient: str = "") -> pa.RecordBatchReader:
    """Return the events, typed, in the order of their ordinals (:func:`event_schema`).

    In the images `lenient` (``b``, ``a``) a value outside the key that does not fit its type is NULL.
    Reading from it raises `UnsupportedType` for a value that does not fit its type, and `LocalFailed` if DuckDB fails.
    """
    schema = event_schema(header)
    found = _pieces(rows, lambda query: typed_columns(query, header, lenient=lenient), header.stream, part)
    return pa.RecordBatchReader.from_batches(schema, (_events(piece, schema) for piece in found))


def unfit_column(rows: LocalRows, header: BatchHeader) -> str | None:
    """Return a column with a value in the batch that does not fit its type, or None."""
    query = unfit_flags(rows.query, header)
    if query is None:
        return None
    try:
        flags = rows.database.connection.cursor().execute(query.sql).fetchall()[0]
    except duckdb.Error as error:
        raise explain(error, header.stream) from error
    return next((name for name, flag in zip(query.columns, flags, strict=True) if flag), None)


def event_schema(header: BatchHeader) -> pa.Schema:
    """Return the schema of typed events.

    A key without columns is a text, since Parquet has no empty type.
    """
    image = pa.struct([pa.field(name, arrow_type(travel)) for name, travel in header.columns])
    known = dict(header.columns)
    key = pa.struct([pa.field(name, arrow_type(known[name])) for name in header.key]) if header.key else pa.string()
    source = [
        (name, pa.string() if isinstance(value, str) else pa.int64()) for name, value in source_of(header).items()
    ]
    types = {
        "key": key,
        "before": image,
        "after": image,
        "changed": _list(pa.string()),
        "source": pa.struct(source),
        "ts_ms": pa.int64(),
    }
    elements = [pa.field(ELEMENTS, pa.string())] if has_sets(header) else []
    added = [pa.field(name, arrow_type(travel)) for name, travel in header.added]
    fields = (pa.field(name, types.get(name, pa.string())) for name in EVENT_FIELDS)
    return pa.schema([*fields, *elements, *added])


def arrow_type(travel: Travel) -> pa.DataType:
    """Return the Arrow type of typed values."""
    if travel.kind == "decimal":
        return pa.decimal128(travel.precision, travel.scale)
    if travel.element is not None:
        return _list(arrow_type(travel.element))
    return _TYPES.get(travel.kind, pa.string())


def _list(item: pa.DataType) -> pa.DataType:
    return pa.list_(pa.field("element", item))


def _pieces(rows: LocalRows, make: Callable[[Query], Query], stream: str, part: range) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a query over the staged rows of `part`, in order."""
    done, size = part.start, min(len(part), EVENTS_PER_QUERY)
    while done < part.stop:
        piece = range(done, min(done + size, part.stop))
        try:
            for found in pieces_of(rows.database, make(part_of(rows.query, piece)).sql, min(size, EVENTS_PER_PIECE)):
                yield found
                done += found.num_rows
        except duckdb.OutOfMemoryException as error:
            if size == 1:
                raise explain(error, stream) from error
            size = max(1, size // FEWER)
        except duckdb.Error as error:
            raise _misfit(error, stream) or explain(error, stream) from error
        else:
            done = piece.stop


def pieces_of(database: LocalDatabase, sql: str, rows: int, values: Sequence[Any] = ()) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a query in pieces of at most `rows`; its placeholders get `values`."""
    cursor = database.connection.cursor()  # others may read at the same time; DuckDB 1.4 ends reads with their cursor
    relation: Any = cursor.sql(sql, params=list(values) or None)
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch  # the name in older versions
    reader = iter(read(rows))
    while True:
        try:
            found = next(reader, None)
        except OSError as error:  # Arrow has no other class for an error of DuckDB between two pieces
            kind = next((kind for prefix, kind in _KINDS.items() if str(error).startswith(prefix)), duckdb.Error)
            raise kind(str(error)) from error
        if found is None:
            return
        yield found


def _misfit(error: duckdb.Error, stream: str) -> UnsupportedType | None:
    """Return the error of a value that does not fit its type; None for other errors."""
    first = str(error).strip().splitlines()[0]
    if MISFIT not in first:
        return None
    text = first.partition(": ")[2]
    column = text.partition(f": {MISFIT}")[0].removeprefix("column ")
    remedy = f"set  types: {{{column}: text}}  for this table, then qbcd reset {stream}"
    return UnsupportedType(text, stream=stream, remedy=remedy)


def _events(piece: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
    """Return flat typed columns as events.

    DuckDB's own structs cannot have names that differ only in case.
    """
    columns = {name: piece.column(name) for name in piece.schema.names}
    values = {
        "key": _image(piece, "k", schema.field("key").type, None),
        "before": _image(piece, "b", schema.field("before").type, columns["without_old"]),
        "after": _image(piece, "a", schema.field("after").type, columns["without_new"]),
        "changed": columns["changed"].cast(schema.field("changed").type),
        "source": _image(piece, "source", schema.field("source").type, None),
    }
    for i, name in enumerate(name for name in schema.names[len(EVENT_FIELDS) :] if name != ELEMENTS):
        values[name] = piece.column(f"e_{i}").cast(schema.field(name).type)
    return pa.RecordBatch.from_arrays([values.get(name, columns.get(name)) for name in schema.names], schema=schema)


def _image(piece: pa.RecordBatch, prefix: str, kind: pa.DataType, absent: pa.Array | None) -> pa.Array:
    """Return columns as a struct; NULL where it is `absent`, or if there are no such columns."""
    if not pa.types.is_struct(kind) or f"{prefix}_0" not in piece.schema.names:
        return pa.nulls(piece.num_rows, kind)
    fields = [kind.field(i) for i in range(kind.num_fields)]
    values = [piece.column(f"{prefix}_{i}").cast(field.type) for i, field in enumerate(fields)]
    return pa.StructArray.from_arrays(values, fields=fields, mask=absent)
