"""SQL of change rows in the words of Spark and Delta, over the staged rows of a batch.

An insert, or a row of a baseline, is one row `insert`; a delete is one row `delete` with the old values; an update is
`update_preimage` and `update_postimage`. A batch without old values has no preimages, and its deletes have the key
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone

import pyarrow as pa

from qbcd.event_sql.base import has_sets
from qbcd.event_sql.duckdb import DUCKDB
from qbcd.local.arrow import arrow_type
from qbcd.local.query import duckdb_sql, duckdb_type
from qbcd.model import BatchHeader, Travel
from qbcd.model.wire import ELEMENTS, Fields
from qbcd.sites.event_schema import event_fields
from qbcd.spark_source.executor import STAGED
from qbcd.spark_source.images import ChangeImage

CHANGE, VERSION, TIMESTAMP = "_change_type", "_commit_version", "_commit_timestamp"
ADDED = (CHANGE, VERSION, TIMESTAMP)
INSERT, PREIMAGE, POSTIMAGE, DELETE = "insert", "update_preimage", "update_postimage", "delete"
_OLD = f"CASE op WHEN 'u' THEN '{PREIMAGE}' ELSE '{DELETE}' END"
_NEW = f"CASE op WHEN 'u' THEN '{POSTIMAGE}' ELSE '{INSERT}' END"
INTEGERS = ("int16", "int32", "int64")  # with equal kinds, the values that are compared alike in wire form
Columns = Sequence[tuple[str, Travel]]


def event_column(name: str) -> str:
    """Return the column of a field that events have after their images."""
    return f"_{name}"


def arrow_schema(columns: Columns, *, changes: bool) -> pa.Schema:
    """Return the schema of the rows of a read."""
    fields = [pa.field(name, arrow_type(travel)) for name, travel in columns]
    fields += [pa.field(CHANGE, pa.string())] if changes else []
    fields.append(pa.field(VERSION, pa.int64()))
    fields += [pa.field(TIMESTAMP, pa.timestamp("us", tz="UTC"))] if changes else []
    return pa.schema(fields)


def commit_time(header: BatchHeader) -> datetime:
    """Return the time at which a batch was found."""
    return datetime.fromtimestamp(0, timezone.utc) + timedelta(milliseconds=header.ts_ms)


def change_count(header: BatchHeader) -> int:
    """Return the number of change rows of a batch."""
    return header.size + (header.counts.get("u", 0) if header.before else 0)


@dataclass(frozen=True)
class Condition:
    """A condition of the query on one column; rows that do not meet it may be left out.

    Attributes:
        column: Name of the column.
        sql: DuckDB's SQL after the column's value: ``>= 5``.
    """

    column: str
    sql: str

    def applies_to(self, there: Travel, read: Travel) -> bool:
        """Return True if a batch's staged values satisfy the condition as those of the read do."""
        whatever = self.sql in ("IS NULL", "IS NOT NULL")
        return whatever or there.kind == read.kind or {there.kind, read.kind} <= set(INTEGERS)


@dataclass(frozen=True)
class ReadColumns:
    """The columns that a read takes from each batch.

    Attributes:
        columns: The columns of the stream; those that a batch does not have are NULL.
        events: Columns of what events have after their images, in both rows of an update.
        stored: By field, the column of the batch's file of added fields.
    """

    columns: Columns
    events: Columns = ()
    stored: Mapping[str, str] = field(default_factory=dict)


def staged_fields(header: BatchHeader) -> list[tuple[str, str]]:
    """Return name and DuckDB type of the columns of a batch's files that events need."""
    fields: Fields = event_fields([travel for _, travel in header.columns])
    return [(name, duckdb_type(kind)) for name, kind in fields]


def change_queries(
    header: BatchHeader, read: ReadColumns, conditions: Sequence[Condition] = ()
) -> tuple[tuple[str, ...], tuple[ChangeImage, ...]]:
    """Return the SELECTs of a batch's change rows, and what Arrow reads instead of each.

    There are no images for Arrow if there are conditions, or values that only SQL can convert.

    Args:
        conditions: Conditions that rows must satisfy, as far as the batch has the column in the type of the read.
    """
    columns, types, there = read.columns, dict(read.columns), dict(header.columns)
    places = {name: i for i, (name, _) in enumerate(header.columns)}
    conditions = [
        one
        for one in conditions
        if one.column == CHANGE or one.column not in there or one.applies_to(there[one.column], types[one.column])
    ]
    queries, images = list[str](), list[ChangeImage]()
    of_op = [one for one in conditions if one.column == CHANGE]
    for side, kind in (("b", _OLD), ("a", _NEW)):
        if side == "b" and not (set(header.counts) & {"d", "u"} if header.before else "d" in header.counts):
            continue
        if side == "a" and not set(header.counts) - {"d"}:
            continue
        ops = ("op IN ('u', 'd')" if header.before else "op = 'd'") if side == "b" else "op <> 'd'"
        known = places if side == "a" or header.before else {name: places[name] for name in header.key}
        values = [*_values(header, columns, known, side), *_event_values(header, read)]
        tests = [ops, *(f"({kind}) {one.sql}" for one in of_op)]
        for one in conditions:
            if one.column != CHANGE:
                value = f"{side}_{known[one.column]}" if one.column in known else "NULL"
                tests.append(f"({value} {one.sql})")
        selected = ", ".join([*values, f"{kind} AS change"])
        queries.append(f"SELECT {selected} FROM {STAGED} WHERE {' AND '.join(tests)}")
        images.append(_image(header, columns, known, side))
    needs_sql = conditions or read.events or any(travel.element is not None for name, travel in columns)
    return tuple(queries), () if needs_sql else tuple(images)


def _image(header: BatchHeader, columns: Columns, known: Mapping[str, int], side: str) -> ChangeImage:
    """Return what the query of one side reads."""
    named = tuple(f"{side}_{known[name]}" if name in known else "" for name, _ in columns)
    if side == "a":
        return ChangeImage((("u", POSTIMAGE), ("d", None)), INSERT, named)
    return ChangeImage((("u", PREIMAGE if header.before else None), ("d", DELETE)), None, named)


def _values(header: BatchHeader, columns: Columns, known: Mapping[str, int], side: str) -> list[str]:
    """Return the SQL of each column's value; NULL if the batch does not have it."""
    travels, found = dict(header.columns), []
    for i, (name, _) in enumerate(columns):
        value = "NULL"
        if name in known:
            value = duckdb_sql(DUCKDB.typed_value(travels[name], f"{side}_{known[name]}", name))
        found.append(f"{value} AS v_{i}")
    return found


def _event_values(header: BatchHeader, read: ReadColumns) -> list[str]:
    """Return the SQL of what the events have after their images."""
    found = []
    for i, (name, travel) in enumerate(read.events):
        value, stored = "NULL", read.stored.get(name.removeprefix(event_column("")))
        if name == event_column(ELEMENTS) and has_sets(header):
            value = duckdb_sql(DUCKDB.elements(header))
        elif stored is not None:
            value = duckdb_sql(DUCKDB.typed_value(travel, stored, name))
        found.append(f"{value} AS w_{i}")
    return found
