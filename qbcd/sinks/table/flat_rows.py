"""Events as flat rows: the columns that a target, or its staging table, takes.

An event has structs (`key`, `before`, `after`); a database has columns. All work is on whole Arrow arrays.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from qbcd.model import BatchHeader, Travel
from qbcd.sinks.table.layout import STAGE_ONLY_REMOVE, Layout
from qbcd.sinks.table.options import TableOptions

Arrays = list[pa.Array]


class Flat(NamedTuple):
    """The rows of one piece of events.

    Attributes:
        arrays: Columns in the order of `Layout.staged`.
        events: The number of events in them.
        renamed: Old key columns, then new ones, of keys that are spelled differently now.
    """

    arrays: Arrays
    events: int
    renamed: Arrays | None = None


def flat_rows(
    pieces: Iterator[pa.RecordBatch], layout: Layout, options: TableOptions, header: BatchHeader
) -> Iterator[Flat]:
    """Yield the rows of each piece of events.

    Args:
        pieces: Typed events with the columns of `qbcd.spark.events.FIELDS`.
        options: Mode and envelope.
    """
    shape: Callable[[_Events], Arrays] = {"qbcd": _facts, "debezium": _debezium, "changes": _changes}[options.envelope]
    for piece in pieces:
        if piece.num_rows:
            events = _Events(piece, layout, header)
            if options.mode == "log":
                yield Flat(shape(events), piece.num_rows)
            else:
                arrays, renamed = _staged(events)
                yield Flat(arrays, piece.num_rows, renamed)


class _Events:
    """One piece of events, with the columns of its structs."""

    def __init__(self, piece: pa.RecordBatch, layout: Layout, header: BatchHeader) -> None:
        self.piece, self.layout, self.header = piece, layout, header
        self.forms = dict(header.columns)
        self.op = piece.column("op")
        self._images = {name: _fields(piece.column(name)) for name in ("key", "before", "after")}

    def column(self, name: str) -> pa.Array:
        return self.piece.column(name)

    def there(self, image: str) -> pa.Array:
        """Return which events have an image."""
        return pc.is_valid(self.piece.column(image))

    def value(self, image: str, name: str) -> pa.Array:
        """Return a column of an image; NULL where the event has no such image or column."""
        found = self._images[image].get(name)
        return pa.nulls(len(self.op), self.type_of(name)) if found is None else found

    def type_of(self, name: str) -> pa.DataType:
        """Return the Arrow type of a captured column."""
        return next((fields[name].type for fields in self._images.values() if name in fields), pa.null())

    def row(self, name: str) -> pa.Array:
        """Return a column of the row after the change.

        Of a delete, it is the row before it, or at least its key.
        """
        old = pc.if_else(self.there("before"), self.value("before", name), self.value("key", name))
        return pc.if_else(self.there("after"), self.value("after", name), old)


def _fields(struct: pa.Array) -> dict[str, pa.Array]:
    if not pa.types.is_struct(struct.type):
        return {}  # a key without columns
    return {field.name: pc.struct_field(struct, [i]) for i, field in enumerate(struct.type)}


# -- mirrors and histories ---------------------------------------------------------------------------------------------
def _staged(events: _Events) -> tuple[Arrays, Arrays | None]:
    """Return the staged rows, and the keys that are spelled differently.

    The rows have operation, key and new values. Each key that is spelled differently has one more row, which only
    removes. These keys are the second value, as in `Flat.renamed`.

    Where the source compares keys without case, `Ada` can become `ADA` by an update. A target compares exactly.
    """
    keys = [events.value("key", name) for name in events.layout.key]
    rows = [events.op, *keys, *(events.value("after", name) for name in events.layout.values)]
    respelled = _respelled(events, keys)
    if respelled is None or not pc.any(respelled).as_py():
        return rows, None
    old = [events.value("before", name).filter(respelled) for name in events.layout.key]
    count = len(old[0])
    blank = [pa.nulls(count, one.type) for one in rows[1 + len(keys) :]]  # an old value can have another form
    only = pa.array([STAGE_ONLY_REMOVE] * count, rows[0].type)
    renamed = [*old, *(one.filter(respelled) for one in keys)]
    return [pa.concat_arrays(pair) for pair in zip(rows, [only, *old, *blank], strict=True)], renamed


def _respelled(events: _Events, keys: Arrays) -> pa.Array | None:
    """Return which updates have another key before; None if no key can."""
    found = None
    for name, new in zip(events.layout.key, keys, strict=True):
        old = events.value("before", name)
        differs = pc.fill_null(pc.not_equal(old, new), False)
        if pa.types.is_floating(new.type):  # NaN is one key, although it is not equal to itself
            differs = pc.and_(differs, pc.invert(pc.fill_null(pc.and_(pc.is_nan(old), pc.is_nan(new)), False)))
        found = differs if found is None else pc.or_(found, differs)
    return None if found is None else pc.and_(found, pc.equal(events.op, "u"))


# -- logs --------------------------------------------------------------------------------------------------------------
def _facts(events: _Events) -> Arrays:
    """Return the flat envelope: the row, and the facts of the event."""
    count, header = len(events.op), events.header
    rows = [events.row(name) for name, _ in header.columns]
    changed = pa.array(
        [None if names is None else ",".join(names) for names in events.column("changed").to_pylist()], pa.string()
    )
    known = [events.column(name) for name in ("reason", "pair_id", "event_id")]
    numbers = [pa.array([number] * count, pa.int64()) for number in (header.epoch, header.seq)]
    return [*rows, events.op, changed, *known, *numbers, events.column("ts_ms"), *_added(events)]


def _changes(events: _Events) -> Arrays:
    """Return the rows of Spark's change feed.

    An update is two rows, its old image and its new one.
    """
    header, updates = events.header, pc.equal(events.op, "u")
    first = pc.if_else(
        updates, "update_preimage", pc.if_else(pc.equal(events.op, "d"), "delete", "insert")
    )  # of a baseline too
    is_old = pc.or_(updates, pc.equal(events.op, "d"))
    places = pc.indices_nonzero(updates)
    kinds = pa.concat_arrays([first, pa.array(["update_postimage"] * len(places), first.type)])
    rows = []
    for name, _ in header.columns:
        one = pc.if_else(is_old, events.value("before", name), events.value("after", name))
        rows.append(pa.concat_arrays([one, events.value("after", name).take(places)]))
    order = pa.concat_arrays([pa.array(range(len(first)), pa.int64()), places.cast(pa.int64())])
    by = pc.sort_indices(pa.table({"o": order, "k": kinds}), [("o", "ascending"), ("k", "descending")])
    count = len(kinds)
    version = pa.array([header.seq] * count, pa.int64())
    moment = pa.array([header.ts_ms * 1000] * count, pa.timestamp("us", "UTC"))
    added = [pa.concat_arrays([one, one.take(places)]) for one in _added(events)]
    return [column.take(by) for column in (*rows, kinds, version, moment, *added)]


def _debezium(events: _Events) -> Arrays:
    """Return Debezium's fields; objects are JSON texts with the values of the sink `jsonl`."""
    forms = dict(events.header.columns)
    images = [json_texts(events.column(name), forms) for name in ("key", "before", "after")]
    source = json_texts(events.column("source"), {})
    return [*images, source, events.op, events.column("ts_ms"), events.column("event_id"), *_added(events)]


def _added(events: _Events) -> Arrays:
    """Return the fields that enrichment added, as JSON texts."""
    return [event_texts(events.column(name), travel) for name, travel in events.header.added]


def json_texts(objects: pa.Array, forms: Mapping[str, Travel]) -> pa.Array:
    """Return structs as JSON objects, values in the form of the type table; NULL remains."""
    if not pa.types.is_struct(objects.type):
        return pa.nulls(len(objects), pa.string())
    columns = {
        field.name: json_values(pc.struct_field(objects, [i]), forms.get(field.name))
        for i, field in enumerate(objects.type)
    }
    there = pc.is_valid(objects).to_pylist()
    rows = zip(*columns.values(), strict=True) if columns else ([] for _ in there)
    return pa.array(
        [
            _dumped(dict(zip(columns, row, strict=True))) if is_there else None
            for row, is_there in zip(rows, there, strict=True)
        ],
        pa.string(),
    )


def json_values(values: pa.Array, travel: Travel | None) -> list[Any]:
    """Return values for JSON, in the form of the type table."""
    if travel is not None and travel.element is not None:
        inner = json_values(values.flatten(), travel.element)
        found, start = [], 0
        for length in pc.list_value_length(values).to_pylist():
            found.append(None if length is None else inner[start : start + length])
            start += length or 0
        return found
    if pa.types.is_float32(values.type):
        values = pc.cast(pc.cast(values, pa.string()), pa.float64())  # the shortest text of the 32-bit number
    return [_json_value(value, travel) for value in values.to_pylist()]


def _json_value(value: Any, travel: Travel | None) -> Any:
    if value is None or travel is None or isinstance(value, (bool, str)):
        return value
    if travel.kind == "uint64":
        return int(value)
    if travel.kind == "decimal":
        return format(value, "f")
    if isinstance(value, float):
        return _NOT_FINITE.get(str(value), value)
    if isinstance(value, bytes):
        return base64.b64encode(value).decode()
    if travel.kind in ("timestamp", "timestamptz"):
        return value.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z" * (travel.kind == "timestamptz")
    return value.isoformat() if travel.kind == "date" else value


_NOT_FINITE = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}


def _dumped(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def event_texts(values: pa.Array, travel: Travel) -> pa.Array:
    """Return values as texts: those of events, arrays as JSON."""
    if travel.kind in ("text", "time"):
        return values
    found = json_values(values, travel)
    if travel.element is not None:
        return pa.array([None if value is None else _dumped(value) for value in found], pa.string())
    return pa.array([None if value is None else str(value) for value in found], pa.string())
