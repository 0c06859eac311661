"""Columns and rows of a batch for a table of a lake format."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from qbcd.common.wording import counted
from qbcd.errors import DeliveryError
from qbcd.local.arrow import arrow_type
from qbcd.model import BatchHeader
from qbcd.sinks.base import SinkBatch
from qbcd.sinks.lake.tables import LakeFormat
from qbcd.sinks.table.flat_rows import flat_rows
from qbcd.sinks.table.layout import STAGE_ONLY_REMOVE, STAGE_OP, Layout
from qbcd.sinks.table.matching import OTHER_NAME
from qbcd.sinks.table.options import SOFT_DELETED, TableOptions

REMOVED = pa.array(["d", STAGE_ONLY_REMOVE])  # operations after which a row is not there
_INTEGERS = {pa.int16(): 5, pa.int32(): 10, pa.int64(): 19}  # with their most digits


class LakeColumns:
    """The columns that a table needs for the batches of a stream."""

    def __init__(self, layout: Layout, header: BatchHeader) -> None:
        self.layout, self.header = layout, header
        self.schema = pa.schema([(one.name, arrow_type(one.travel)) for one in layout.columns])

    def problems(self, lake: LakeFormat, partition_by: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield problem and remedy of names, and of columns to part by."""
        seen: dict[str, str] = {}
        for name in (*self.schema.names, *([STAGE_OP] if STAGE_OP not in self.schema.names else [])):
            other = seen.setdefault(name.casefold(), name)
            if other is not name:
                yield (
                    f"the table would have the columns {other} and {name}, which are one name for its readers",
                    OTHER_NAME,
                )
            if what := lake.unfit_name(name):
                yield f"column {name} cannot be in a table of {lake.product}: its name {what}", OTHER_NAME
        for name in partition_by:
            if name not in self.schema.names:
                yield f"`partition_by` names {name}, which is not a column of the table", "correct the name"
            elif pa.types.is_nested(kind := self.schema.field(name).type) or pa.types.is_binary(kind):
                yield f"column {name} cannot part the table: its type is {kind}", "name another column"

    def unfit(self, existing: pa.Schema, widens: Mapping[str, tuple[str, ...]]) -> Iterator[str]:
        """Yield why columns of an existing table cannot hold those of the batches."""
        names = {name.casefold(): name for name in existing.names}
        for column in self.schema:
            name = names.get(column.name.casefold())
            if name is None:
                continue
            if name != column.name:
                yield f"column {name} is spelled {column.name} in the source"
                continue
            has = existing.field(name).type
            if not holds(has, column.type) and not can_widen(has, column.type, widens):
                yield f"column {name} is {has}, and the batches have {column.type}"
        for column in existing:
            if not column.nullable and column.name not in self.schema.names:
                yield f"column {column.name} is not of the stream, and must not be NULL"

    def within(self, existing: pa.Schema) -> pa.Schema:
        """Return the columns with the types in which a table has them."""
        fields = []
        for column in self.schema:
            has = existing.field(column.name).type if column.name in existing.names else None
            wider = has is not None and _is_number(has) and holds(has, column.type)
            fields.append(pa.field(column.name, has if wider else column.type))
        return pa.schema(fields)

    def after(self, existing: pa.Schema, widens: Mapping[str, tuple[str, ...]]) -> pa.Schema:
        """Return the columns of a table after a commit: its own, widened, and new ones."""
        fields = []
        for has in existing:
            wanted = self.schema.field(has.name).type if has.name in self.schema.names else has.type
            fields.append(has if holds(has.type, wanted) else has.with_type(wanted))
        new = [column for column in self.schema if column.name not in existing.names]
        return pa.schema([*fields, *new])


def holds(has: pa.DataType, wanted: pa.DataType) -> bool:
    """Return True if a column of type `has` takes all values of type `wanted`."""
    if has == wanted:
        return True
    if pa.types.is_list(has) or pa.types.is_large_list(has):
        both = pa.types.is_list(wanted) or pa.types.is_large_list(wanted)
        return both and holds(has.value_type, wanted.value_type)
    texts = (pa.types.is_string, pa.types.is_large_string)
    bytes_ = (pa.types.is_binary, pa.types.is_large_binary)
    if any(any(test(has) for test in kind) and any(test(wanted) for test in kind) for kind in (texts, bytes_)):
        return True
    if pa.types.is_decimal(has):
        digits = _INTEGERS.get(wanted) or (pa.types.is_decimal(wanted) and wanted.precision - wanted.scale)
        scale = wanted.scale if pa.types.is_decimal(wanted) else 0
        return bool(digits) and has.scale >= scale and has.precision - has.scale >= digits
    if has in _INTEGERS:
        return wanted in _INTEGERS and _INTEGERS[has] >= _INTEGERS[wanted]
    return bool(has == pa.float64() and wanted == pa.float32())


def can_widen(has: pa.DataType, wanted: pa.DataType, widens: Mapping[str, tuple[str, ...]]) -> bool:
    """Return True if the format can give a column of type `has` the wider type `wanted`."""
    if pa.types.is_decimal(has) and pa.types.is_decimal(wanted):
        return "decimal" in widens and holds(wanted, has) and has.scale == wanted.scale
    return str(wanted) in widens.get(str(has), ())


def _is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def row_schema(layout: Layout, columns: pa.Schema, options: TableOptions) -> pa.Schema:
    """Return the schema of rows.

    Those of a mirror or history have the operation, the stream's columns, and the flag of soft deletes.
    """
    if options.mode == "log":
        return pa.schema([columns.field(name) for name, _ in layout.staged])
    names = [name for name, _ in layout.staged[1:]]
    flag = [SOFT_DELETED] if options.deletes == "soft" else []
    return pa.schema([pa.field(STAGE_OP, pa.string()), *(columns.field(name) for name in (*names, *flag))])


def rows_of(batch: SinkBatch, layout: Layout, options: TableOptions, columns: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a batch by :func:`row_schema`.

    Rows that only remove an old spelling of a key are last. There are none whose key another row of the batch has.
    """
    schema, found, removing = row_schema(layout, columns, options), 0, []
    for piece in flat_rows(iter(batch.arrow()), layout, options, batch.header):
        found += piece.events
        flag = [pc.is_in(piece.arrays[0], REMOVED)] if options.deletes == "soft" else []
        arrays = [one.cast(field.type) for one, field in zip([*piece.arrays, *flag], schema, strict=True)]
        rows = pa.RecordBatch.from_arrays(arrays, schema=schema)
        if piece.renamed is not None:
            removing.append(rows.slice(piece.events))
            rows = rows.slice(0, piece.events)
        yield rows
    if found != batch.header.size:
        raise DeliveryError(
            f"{counted(found, 'event')} of batch {batch.header.number} arrived, not all {batch.header.size:,}",
            remedy="the batch stays pending",
            stream=batch.header.stream,
        )
    for rows in removing:
        yield _only_removed(rows, batch, layout, options)


def _only_removed(rows: pa.RecordBatch, batch: SinkBatch, layout: Layout, options: TableOptions) -> pa.RecordBatch:
    """Return the rows whose key no other row of the batch has."""
    keys = list(zip(*(_comparable(rows.column(name)) for name in layout.key), strict=True))
    wanted, held = set(keys), set[tuple[object, ...]]()
    for piece in flat_rows(iter(batch.arrow()), layout, options, batch.header):
        ops = piece.arrays[0].to_pylist()
        values = zip(*(_comparable(piece.arrays[i + 1]) for i in range(len(layout.key))), strict=True)
        held.update(key for op, key in zip(ops, values, strict=True) if op != STAGE_ONLY_REMOVE and key in wanted)
    return rows.filter(pa.array([key not in held for key in keys], pa.bool_()))


def _comparable(values: pa.Array) -> list[object]:
    """Return values that are equal if they are one key, which NaN is."""
    found: list[object] = values.to_pylist()
    return ["NaN" if one != one else one for one in found] if pa.types.is_floating(values.type) else found


def without_removed(rows: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Yield the rows that a mirror has after them, without the operation."""
    for piece in rows:
        kept = piece.filter(pc.invert(pc.is_in(piece.column(0), REMOVED)))
        yield pa.RecordBatch.from_arrays(kept.columns[1:], schema=kept.schema.remove(0))


def padded(rows: Iterator[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield rows with the columns of `schema`; what they lack is NULL."""
    for piece in rows:
        names, count = piece.schema.names, piece.num_rows
        columns = [piece.column(one.name) if one.name in names else pa.nulls(count, one.type) for one in schema]
        arrays = [column.cast(one.type) for column, one in zip(columns, schema, strict=True)]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def refuse_empty(rows: Iterator[pa.RecordBatch], names: Sequence[str], header: BatchHeader) -> Iterator[pa.RecordBatch]:
    """Yield the rows; refuse an empty text in columns that part a table.

    The format reads it as NULL.
    """
    for piece in rows:
        for name in names:
            if pc.any(pc.equal(piece.column(name), "")).as_py():
                raise DeliveryError(
                    f"column {name} has an empty text, which is NULL for readers, since the column parts the table",
                    remedy=f"write the table without `partition_by: [{name}]`; the batch stays pending",
                    stream=header.stream,
                )
        yield piece
