"""Staged rows as the public events: typed for Parquet and Python, as JSON text for everything that takes lines.

A staged row is flat (`op, reason, pair_id, ordinal, changed, b_0.., a_0..`) in wire form; both sites stage alike. What
an event looks like outside is told by the header's columns alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as fn

from qbcd.model import BatchHeader, Travel
from qbcd.spark.jsontext import Field, json_object, members, one_line
from qbcd.spark.typed import typed_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIELDS = ("op", "key", "before", "after", "changed", "reason", "pair_id", "source", "event_id", "ts_ms")
_TEXT = Travel("text")


def events(staged: DataFrame, header: BatchHeader) -> DataFrame:
    """The events of a batch, one row each, with the columns :data:`FIELDS`, in no particular order of rows.

    Args:
        staged: The batch's staged rows.
        header: The batch.

    Returns:
        `op`, `changed` (array of names), `reason`, `pair_id`, `event_id`, `ts_ms` (long); `key`, `before` and `after`
        are structs whose fields have the columns' own names and types, `source` is a struct. A value that its type
        cannot hold fails the job and is never replaced by NULL. A `key` without columns is NULL, as a text, since
        Parquet has no type of nothing.
    """

    def image(fields: Sequence[Field]) -> Column:
        if not fields:
            return fn.lit(None).cast("string")
        return fn.struct(*[typed_value(travel, value, name).alias(name) for name, travel, value in fields])

    return staged.select(*[value.alias(name) for name, value in _event(header, image)])


def event_lines(staged: DataFrame, header: BatchHeader) -> DataFrame:
    """The events as JSON: `ordinal` (long) and `line` (text without a line end), in no particular order of rows.

    Every field of :data:`FIELDS` is present, in that order. Values are those of the type table: decimals, dates and
    times as text, bytes as base64, arrays as their JSON fragment.
    """
    event = dict(_event(header, json_object))
    source = fn.to_json(event["source"])
    head = [
        ("op", members([("op", event["op"])])),
        *[(name, _member(name, event[name])) for name in ("key", "before", "after")],
        ("rest", members([(name, event[name]) for name in ("changed", "reason", "pair_id")])),
        ("source", _member("source", source)),
        ("end", members([(name, event[name]) for name in ("event_id", "ts_ms")])),
    ]
    line = fn.concat(fn.lit("{"), fn.concat_ws(",", *[part for _, part in head]), fn.lit("}"))
    return staged.select(fn.col("ordinal").cast("long").alias("ordinal"), one_line(line).alias("line"))


def _event(header: BatchHeader, image: Callable[[Sequence[Field]], Column]) -> list[tuple[str, Column]]:
    """The fields of an event in order; `image` makes an object of columns."""
    op = fn.col("op")
    has_before = op.isin("u", "d") & fn.lit(header.before)
    has_after = op != fn.lit("d")
    before, after = _fields(header, "b"), _fields(header, "a")
    places = [[name for name, _ in header.columns].index(name) for name in header.key]
    keyed = bool(places) or header.one_row
    values: dict[str, Column] = {
        "op": op,
        "key": _key(op, image, [before[i] for i in places], [after[i] for i in places]) if keyed else _no_key(),
        "before": fn.when(has_before, image(before)),
        "after": fn.when(has_after, image(after)),
        "changed": _changed(header),
        "reason": fn.col("reason"),
        "pair_id": fn.col("pair_id"),
        "source": _source(header),
        "event_id": fn.concat(
            fn.lit(f"{header.stream}:{header.epoch}:{header.seq}:"), fn.col("ordinal").cast("long").cast("string")
        ),
        "ts_ms": fn.lit(header.ts_ms).cast("long"),
    }
    return [(name, values[name]) for name in FIELDS]


def _key(op: Column, image: Callable[[Sequence[Field]], Column], old: list[Field], new: list[Field]) -> Column:
    """The key as it was or is."""
    return fn.when(op == fn.lit("d"), image(old)).otherwise(image(new))


def _no_key() -> Column:
    return fn.lit(None).cast("string")


def _fields(header: BatchHeader, side: str) -> list[Field]:
    return [(name, travel, fn.col(f"{side}_{i}")) for i, (name, travel) in enumerate(header.columns)]


def _source(header: BatchHeader) -> Column:
    texts = {
        "name": header.source,
        "table": header.table,
        "strategy": header.strategy,
        "consistency": header.consistency,
    }
    numbers = {"epoch": header.epoch, "batch_seq": header.seq}
    return fn.struct(
        *[fn.lit(value).alias(name) for name, value in texts.items()],
        *[fn.lit(number).cast("long").alias(name) for name, number in numbers.items()],
    )


def _changed(header: BatchHeader) -> Column:
    """Names for the staged positions; an empty list stays one, NULL stays NULL."""
    names = fn.array(*[fn.lit(name) for name, _ in header.columns])
    positions = fn.split(fn.col("changed"), ",")
    named = fn.transform(positions, lambda place: fn.element_at(names, place.cast("int") + 1))
    nothing = fn.array().cast("array<string>")
    return fn.when(fn.col("changed").isNull(), None).when(fn.col("changed") == fn.lit(""), nothing).otherwise(named)


def _member(name: str, value: Column) -> Column:
    """``"name":value`` of a value that is JSON already; NULL as ``null``."""
    return fn.concat(fn.lit(f'"{name}":'), fn.coalesce(value, fn.lit("null")))
