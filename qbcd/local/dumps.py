"""Rows of a dump in a local database, as rows of a source have them.

They have key identity, digest and wire values. The key's identity is the bytes of its value: the text of one column,
or the texts of several with their lengths. The digest is the first half of the MD5 of all values with their lengths.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import duckdb
import pyarrow as pa
import pyarrow.compute as pc

from qbcd.connectors.facts import quoted
from qbcd.files.columns import arrow_of, column_of
from qbcd.files.fitting import values_in
from qbcd.files.formats import DumpReader
from qbcd.files.values import BadValue
from qbcd.local.database import LocalDatabase
from qbcd.local.query import DIALECT, Query
from qbcd.model import Column
from qbcd.model.plans import HALF

_NAIVE = pa.timestamp("us")
_UNEQUAL = "correct the row; or reset the stream and prepare it again, with another type of the column under `types`"


class DumpRows:
    """The rows of a dump, to be evaluated once.

    Args:
        captured: The columns to read; the first are the key.
        keys: Number of key columns.

    Attributes:
        rows: Number of rows that were read.
    """

    def __init__(self, reader: DumpReader, captured: Sequence[Column], keys: int) -> None:
        self._reader, self._captured, self._keys = reader, captured, keys
        self._failed: BaseException | None = None
        self.rows = 0

    @contextmanager
    def read_into(
        self, database: LocalDatabase, range_id: int = 0, *, digest: bool, wide: bool = False
    ) -> Iterator[Query]:
        """In the block, the rows as a query of `database`: ``range_id, key_id, digest, c0..cn``.

        Args:
            range_id: The range of all rows.
            digest: Compute the digests; otherwise they are NULL.
            wide: They are wide.

        Raises:
            DumpRefused: A row is not valid, its key is NULL, or the file is truncated.
        """
        name = database.new_name()
        database.connection.register(name, pa.RecordBatchReader.from_batches(self._schema(), self._batches()))
        try:
            yield Query(self._select(name, range_id, digest=digest, wide=wide), self._columns())
        except (duckdb.Error, pa.ArrowException, RuntimeError) as error:
            if self._failed is not None:  # the database has no class for errors of what it reads
                raise self._failed from error
            raise
        finally:
            database.connection.unregister(name)

    def _columns(self) -> tuple[str, ...]:
        return ("range_id", "key_id", "digest", *(f"c{i}" for i in range(len(self._captured))))

    def _schema(self) -> pa.Schema:
        return pa.schema([(f"c{i}", self._loaded(c)) for i, c in enumerate(self._captured)])

    def _loaded(self, column: Column) -> pa.DataType:
        """Return the type in which values of a column are loaded.

        It is the file's type, unless the values have to be converted.
        """
        field = self._reader.schema.field(column.name)
        return _loaded(field.type if _travels_as(field, column) else arrow_of(column.travel))

    def _batches(self) -> Iterator[pa.RecordBatch]:
        schema = self._schema()
        try:
            for batch in self._reader.batches([c.name for c in self._captured]):
                self._check_keys(batch)
                self.rows += batch.num_rows
                arrays = [
                    self._values(column, one, batch.num_rows).cast(field.type)
                    for column, one, field in zip(batch.columns, self._captured, schema, strict=True)
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=schema)
        except BaseException as error:
            self._failed = error
            raise

    def _values(self, values: pa.Array, column: Column, rows: int) -> pa.Array:
        """Return values of the last `rows` rows in the type of their column."""
        field = self._reader.schema.field(column.name)
        if _travels_as(field, column):
            return values
        try:
            return values_in(values, field, column)
        except BadValue as error:
            shown = f"{values[error.row].as_py()}"[:40]
            what = f"column {column.name} has {shown}, which has no equal value of its type {column.sql_type}"
            raise self._reader.row_refused(self.rows - rows + error.row, what, _UNEQUAL) from None

    def _check_keys(self, batch: pa.RecordBatch) -> None:
        for place in range(self._keys):
            if batch.column(place).null_count:
                row = self.rows + pc.index(pc.is_null(batch.column(place)), True).as_py()
                what = f"column {self._captured[place].name} of the key is NULL"
                raise self._reader.row_refused(row, what)

    def _select(self, name: str, range_id: int, *, digest: bool, wide: bool) -> str:
        wire = [wire_value(field.type, c, field.name) for field, c in zip(self._schema(), self._captured, strict=True)]
        texts = [text_of(c, value) for c, value in zip(self._captured, wire, strict=True)]
        judged = row_digest(texts, wide=wide) if digest else "CAST(NULL AS BIGINT)"
        values = [f"{value} AS {quoted(f'c{i}', DIALECT)}" for i, value in enumerate(wire)]
        listed = [f"CAST({range_id:d} AS BIGINT) AS range_id", f"{identity(texts[: self._keys])} AS key_id"]
        return f"SELECT {', '.join([*listed, f'{judged} AS digest', *values])} FROM {name}"


def _travels_as(field: pa.Field, column: Column) -> bool:
    found = column_of(field)
    return found is not None and found.travel == column.travel


def _loaded(kind: pa.DataType) -> pa.DataType:
    """Return the type in which values are loaded.

    Times are loaded as their texts, timestamps without a zone.
    """
    return _NAIVE if pa.types.is_timestamp(kind) else pa.string() if pa.types.is_time(kind) else kind


def wire_value(kind: pa.DataType, column: Column, value: str) -> str:
    """Return SQL of a loaded value of an Arrow type in wire form.

    A text is in that form already.
    """
    if pa.types.is_uint64(kind):
        return f"CAST({value} AS DECIMAL(20, 0))"
    if pa.types.is_decimal(kind):
        return decimal_text(value, kind.precision, kind.scale)
    if pa.types.is_date(kind):
        return f"CAST({value} AS VARCHAR)"
    if pa.types.is_timestamp(kind):
        zone = "Z" if column.travel.kind == "timestamptz" else ""
        return f"strftime({value}, '%Y-%m-%dT%H:%M:%S.%f{zone}')"
    return value


def decimal_text(value: str, precision: int, scale: int) -> str:
    """Return SQL of the text of a decimal.

    DuckDB writes no zero before the point of a type without whole digits.
    """
    text = f"CAST({value} AS VARCHAR)"
    return text if precision > scale else f"REGEXP_REPLACE({text}, '^(-?)[.]', '\\1' || '0.')"


def identity(texts: Sequence[str]) -> str:
    """Return SQL of the identity of a key, of the texts of its columns."""
    if len(texts) == 1:
        return f"encode({texts[0]})"
    return f"encode(concat({', '.join(f'strlen({text}), chr(58), {text}' for text in texts)}))"


def identity_of(key: Sequence[Column], values: Sequence[str] = ()) -> str:
    """Return SQL of the identity of a key, from SQL of its wire values; default: ``c0..cn``."""
    wire = values or [f"c{i}" for i in range(len(key))]
    return identity([text_of(column, value) for column, value in zip(key, wire, strict=True)])


def text_of(column: Column, wire: str) -> str:
    """Return SQL of the text of a wire value: equal values of a column have one text."""
    kind = column.travel.kind
    if kind == "binary":
        return f"hex({wire})"
    if kind in ("float32", "float64"):  # equal numbers have one text: no sign of zero
        return f"CAST(CASE WHEN {wire} = 0 THEN ABS({wire}) ELSE {wire} END AS VARCHAR)"
    return (
        wire if kind in ("text", "decimal", "date", "time", "timestamp", "timestamptz") else f"CAST({wire} AS VARCHAR)"
    )


def content(texts: Sequence[str]) -> str:
    """Return SQL of all texts with their lengths, in which NULL differs from each text."""
    return f"concat({', '.join(f'COALESCE(concat(strlen({text}), chr(58), {text}), chr(45))' for text in texts)})"


def row_digest(texts: Sequence[str], *, wide: bool = False) -> str:
    """Return SQL of the digest of texts.

    It is the first half of the MD5 of their content, as a signed integer. A wide one has 63 bits of each half.
    """
    if wide:
        high, low = (f"(CAST(md5_number_{half}({content(texts)}) AS HUGEINT) % {HALF})" for half in ("upper", "lower"))
        return f"CAST({high} * {HALF} + {low} AS DECIMAL(38, 0))"
    return f"CAST(CAST(md5_number_upper({content(texts)}) AS HUGEINT) - 9223372036854775808 AS BIGINT)"
