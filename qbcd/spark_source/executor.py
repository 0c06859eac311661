"""Reads of one partition in a Python worker: Parquet files as record batches of Arrow.

Workers import this module and little else: the SQL was composed when the read was planned. See
docs/how-to/use-from-spark.md.
"""

from __future__ import annotations

import socket
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from pyarrow import parquet

from qbcd.errors import LocalFailed, QbcdError, StateConflict, UnsupportedType
from qbcd.local.database import LocalDatabase
from qbcd.local.errors import explain, first_line
from qbcd.local.parquet_rows import rows_of_files
from qbcd.local.part_files import PartFile
from qbcd.spark_source.images import ChangeImage, ImageFile
from qbcd.stores.parts import Workdir

MEMORY = 256 << 20  # bytes that DuckDB holds for a partition; it reads rows of a few MB at a time
PIECE_BYTES = 8 << 20  # of a record batch, by the average of its files
PIECE_ROWS = 24_576  # of a record batch, at most: a row group of the local engine
_UNREAD = "if the types of columns changed meanwhile, load the stream again; otherwise check the workdir on this host"
VECTOR = 2048  # rows that DuckDB computes at once
MISFIT = "not a value of type"
STAGED, LAYERS, RANGES = "qbcd_staged", "qbcd_layers", "qbcd_ranges"  # in the queries of a piece


@dataclass(frozen=True)
class NamedFile:
    """A file of a piece, as the commit named it.

    Attributes:
        folder: Path or URL of its folder.
    """

    folder: str
    file: PartFile


Files = tuple[NamedFile, ...]
Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class FilePiece:
    """Rows of one batch, or of the replica.

    Attributes:
        files: The files with the rows.
        fields: Name and DuckDB type of each column of the files that the queries read.
        queries: SELECTs over :data:`STAGED`; their columns are those of the read, without the last ones of `fixed`.
        images: What each query reads, where Arrow may read it without DuckDB; otherwise empty.
        part: The ordinals to read; None if the rows have none.
        fixed: The values of the last columns, equal in all rows.
        verified: The whole of each file is compared with its checksum, and not its end alone.
        added: A file with further columns of the rows, by their ordinals.
        added_fields: Name and DuckDB type of its columns.
        layers: Files of later batches, which the queries read as :data:`LAYERS`.
        ranges: Numbers of ranges, which the queries read as :data:`RANGES`.
    """

    files: Files
    fields: Fields
    queries: tuple[str, ...]
    images: tuple[ChangeImage, ...] = ()
    part: range | None = None
    fixed: tuple[Any, ...] = ()
    verified: bool = True
    added: Files = ()
    added_fields: Fields = ()
    layers: Files = ()
    layer_fields: Fields = ()
    ranges: tuple[int, ...] = ()


@dataclass(frozen=True)
class Rows:
    """The rows of one partition.

    Attributes:
        stream: The stream's name.
        schema: The columns; it equals the schema that Spark derives from the types of the read.
        pieces: What to read, one after the other.
        workdir: The workdir of the project, if it is a URL.
    """

    stream: str
    schema: pa.Schema
    pieces: tuple[FilePiece, ...]
    workdir: Workdir | None = None


def far_workdir(workdir: Workdir) -> Workdir | None:
    """Return what executors need to read a workdir at a URL; None for a folder, which they see."""
    return Workdir(Path(), workdir.url, workdir.storage) if workdir.url else None


def read_rows(rows: Rows) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a partition, a few megabytes at a time.

    Raises:
        StateConflict: A file is missing, or was changed.
        UnsupportedType: A value does not fit its type.
        LocalFailed: DuckDB failed.
        StoreFailed: The store of the workdir did not give a file.
    """
    for planned in rows.pieces:
        with ExitStack() as stack:
            piece = _copied(stack, planned, rows.workdir) if rows.workdir else planned
            _prove(rows.stream, piece, planned)
            try:
                files = _image_files(piece, rows.schema)
                yield from _images(stack, piece, rows.schema, files) if files else _read(stack, piece, rows.schema)
            except (duckdb.Error, OSError, pa.ArrowException) as error:
                raise _explained(error, rows.stream) from None


def _database(stack: ExitStack) -> LocalDatabase:
    folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="qbcd-spark-"))
    database = LocalDatabase(MEMORY, Path(folder) / "spill")
    stack.callback(database.close)
    return database


def _copied(stack: ExitStack, piece: FilePiece, workdir: Workdir) -> FilePiece:
    """Return a piece of local copies of its files; those that are missing have no copy."""
    folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="qbcd-spark-")))
    store = replace(workdir, local=folder)

    def copies(files: Files) -> Files:
        made = []
        for named in files:
            *above, part = named.folder.removeprefix(f"{workdir.url}/").split("/")
            parts = store.parts(*above)
            with suppress(FileNotFoundError):
                parts.local(part, [named.file])
            made.append(replace(named, folder=str(parts.workplace(part))))
        return tuple(made)

    return replace(piece, files=copies(piece.files), added=copies(piece.added), layers=copies(piece.layers))


def _prove(stream: str, piece: FilePiece, planned: FilePiece) -> None:
    """Prove the files of a piece, or the copies of those that were planned."""
    there = (*planned.files, *planned.added, *planned.layers)
    for named, origin in zip((*piece.files, *piece.added, *piece.layers), there, strict=True):
        if named.file.is_intact_in(Path(named.folder), whole=piece.verified):
            continue
        host, folder = socket.gethostname(), origin.folder
        if "://" not in folder and not Path(folder).is_dir():
            raise StateConflict(
                f"host {host} does not see {folder}",
                stream=stream,
                remedy="mount the project's workdir at the same path on every executor; or, if the batch was removed "
                "after the read was planned (`retain`, reset), load the stream again",
            )
        raise StateConflict(
            f"file {folder}/{named.file.name} is missing or was changed, seen on host {host}",
            stream=stream,
            remedy="is this the workdir that was prepared? restore it; if the batch was removed while it was read, "
            "raise `retain`",
        )


def _image_files(piece: FilePiece, schema: pa.Schema) -> list[ImageFile]:
    """Return the files if Arrow can read all of them, otherwise none."""
    if not piece.images:
        return []
    types = [schema.field(i).type for i in range(len(piece.images[0].columns))]
    files = [ImageFile(Path(named.folder) / named.file.name, piece.images, types) for named in piece.files]
    return files if all(file.is_readable() for file in files) else []


def _images(
    stack: ExitStack, piece: FilePiece, schema: pa.Schema, files: Sequence[ImageFile]
) -> Iterator[pa.RecordBatch]:
    number = _rows_of_piece(piece.files)
    database: LocalDatabase | None = None
    for file in files:
        for found in file.read(piece.part, number, PIECE_BYTES):
            if found.rows is not None:
                yield _typed(found.rows, schema, piece.fixed)
                continue
            database = database or _database(stack)
            known, given = found.source.schema.names, pa.table(found.source)
            columns = ", ".join(f"CAST({name} AS {kind}) AS {name}" for name, kind in piece.fields if name in known)
            database.connection.register("given", given)
            database.connection.execute(f"CREATE OR REPLACE VIEW {STAGED} AS SELECT {columns} FROM given")
            yield from _queried(database, piece.queries[found.number], number, schema, piece.fixed)


def _read(stack: ExitStack, piece: FilePiece, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    database = _database(stack)
    connection = database.connection
    rows = [_rows_of(connection, piece.files, piece.fields)]
    if piece.added:
        rows.append(_rows_of(connection, piece.added, piece.added_fields))
    if piece.layers:
        connection.execute(f"CREATE VIEW {LAYERS} AS {_rows_of(connection, piece.layers, piece.layer_fields)}")
    if piece.ranges:
        ranges = pa.table({"range_id": pa.array(piece.ranges, pa.int64())})
        connection.register("given", ranges)
        connection.execute(f"CREATE TABLE {RANGES} AS FROM given")
    number = _rows_of_piece(piece.files)
    for part in _parts(piece.part, number):
        where = "" if part is None else f" WHERE ordinal >= {part.start} AND ordinal < {part.stop}"
        joined = " JOIN ".join(f"(SELECT * FROM ({one}) AS files{where})" for one in rows)
        using = " USING (ordinal)" if piece.added else ""
        connection.execute(f"CREATE OR REPLACE VIEW {STAGED} AS SELECT * FROM {joined}{using}")
        for query in piece.queries:
            yield from _queried(database, query, number, schema, piece.fixed)


def _queried(
    database: LocalDatabase, query: str, number: int, schema: pa.Schema, fixed: tuple[Any, ...]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a query, `number` at a time."""
    relation: Any = database.connection.sql(query)
    read = getattr(relation, "to_arrow_reader", None) or relation.fetch_record_batch
    for found in read(number):
        if found.num_rows:
            yield _typed(found, schema, fixed)


def _rows_of(connection: duckdb.DuckDBPyConnection, files: Files, fields: Fields) -> str:
    return rows_of_files(connection, fields, [Path(named.folder) / named.file.name for named in files])


def _rows_of_piece(files: Files) -> int:
    """Return the rows of a record batch, by the average size of the files' rows."""
    rows = size = 0
    for named in files:
        about = parquet.read_metadata(Path(named.folder) / named.file.name)
        rows += about.num_rows
        size += sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
    return max(1, min(PIECE_ROWS, PIECE_BYTES * rows // max(1, size)))


def _parts(part: range | None, number: int) -> Iterator[range | None]:
    """Yield parts of the ordinals; of wide rows few, since DuckDB holds a vector of them."""
    if part is None or number >= VECTOR:
        yield part
        return
    for first in range(part.start, part.stop, number):
        yield range(first, min(first + number, part.stop))


def _typed(found: pa.RecordBatch, schema: pa.Schema, fixed: tuple[Any, ...]) -> pa.RecordBatch:
    """Return columns with the schema's types; the last ones are constant."""
    count = len(schema) - len(fixed)
    columns = [_cast(found.column(i), schema.field(i).type) for i in range(count)]
    columns += [
        pa.repeat(pa.scalar(value, schema.field(count + i).type), found.num_rows) for i, value in enumerate(fixed)
    ]
    return pa.RecordBatch.from_arrays(columns, schema=schema)


def _cast(values: pa.Array, kind: pa.DataType) -> pa.Array:
    # a column without a value is of integers before DuckDB 2
    return pa.nulls(len(values), kind) if values.null_count == len(values) else values.cast(kind)


def _explained(error: Exception, stream: str) -> QbcdError:
    if isinstance(error, (OSError, pa.ArrowException)) and not isinstance(error, duckdb.Error):
        return LocalFailed(f"reading failed: {error}", stream=stream, remedy=_UNREAD)
    first = first_line(error)
    if MISFIT in first:
        what = first.partition(": ")[2]
        column = what.partition(f": {MISFIT}")[0].removeprefix("column ")
        remedy = f"set  types: {{{column}: text}}  for this table, then qbcd reset {stream}"
        return UnsupportedType(what, stream=stream, remedy=remedy)
    assert isinstance(error, duckdb.Error)
    return explain(error, stream, "raise spark.executor.memoryOverhead")
