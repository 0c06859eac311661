"""Public events from staged rows: typed for Parquet and Python, JSON text for other sinks.

A staged row is flat (`op, reason, pair_id, ordinal, changed, b_0.., a_0..`) and in wire form; both wings stage in the
same form. The public form of an event depends only on the columns in the header.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from qbcd.model import BatchHeader
from qbcd.model.wire import EVENT_FIELDS
from qbcd.spark.jsontext import Field, joined, json_object, member, members, one_line, plain_object
from qbcd.spark.sql_literals import number, structure, text, when
from qbcd.spark.typed import misfit, typed_value

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_NO_KEY = "CAST(NULL AS STRING)"


def events(staged: DataFrame, header: BatchHeader, *, lenient: bool = False) -> DataFrame:
    """Return the events of a batch, unordered, one row each, with the columns :data:`~qbcd.model.wire.EVENT_FIELDS`.

    Args:
        staged: The batch's staged rows.
        header: The batch.
        lenient: A value outside the key that does not fit its type is NULL.

    Returns:
        `op`, `changed` (array of names), `reason`, `pair_id`, `event_id`, `ts_ms` (long); `key`, `before` and `after`
        are structs whose fields have the columns' own names and types, `source` is a struct. A value that does not fit
        its type fails the job, except with `lenient`. A `key` without columns is NULL of type text, since
        Parquet has no empty type.
    """

    def image(fields: Sequence[Field]) -> str:
        if not fields:
            return _NO_KEY
        return structure(
            [
                (name, typed_value(travel, value, name, lenient=lenient and name not in header.key))
                for name, travel, value in fields
            ]
        )

    return staged.selectExpr(*[f"{value} AS {name}" for name, value in _event(header, image)])


def unfit_column(staged: DataFrame, header: BatchHeader) -> str | None:
    """Return a column with a value in the batch that does not fit its type, or None.

    It runs one Spark job, which reads the batch once.
    """
    found: dict[str, str] = {}
    for i, (name, travel) in enumerate(header.columns):
        conditions = [condition for side in "ba" if (condition := misfit(travel, f"{side}_{i}")) is not None]
        if conditions:
            found[name] = f"coalesce(bool_or({' OR '.join(conditions)}), false)"
    if not found:
        return None
    flags = staged.selectExpr(*found.values()).head()
    return next((name for name, flag in zip(found, flags or (), strict=False) if flag), None)


def event_lines(staged: DataFrame, header: BatchHeader) -> DataFrame:
    """Return the events as JSON, unordered: `ordinal` (long) and `line` (text, one line).

    Every field of :data:`~qbcd.model.wire.EVENT_FIELDS` is present, in that order. Values have the form of the type
    table: decimals, dates and times as text, bytes as base64, arrays as their JSON fragment.
    """
    lines = staged.selectExpr("CAST(ordinal AS BIGINT) AS ordinal", f"{_line(header)} AS line")
    return lines.selectExpr("ordinal", f"{one_line('line')} AS line")


def _line(header: BatchHeader) -> str:
    """Return the SQL of an event as JSON; one call is enough without arrays and with a key."""
    if header.key and all(travel.kind != "array" for _, travel in header.columns):
        return plain_object(_event(header, lambda fields: structure([(name, value) for name, _, value in fields])))
    event = dict(_event(header, json_object))
    parts = [
        members([("op", event["op"])]),
        *[member(f'"{name}"', event[name]) for name in ("key", "before", "after")],
        members([(name, event[name]) for name in ("changed", "reason", "pair_id")]),
        member('"source"', f"to_json({event['source']})"),
        members([(name, event[name]) for name in ("event_id", "ts_ms")]),
    ]
    return joined(parts)


def _event(header: BatchHeader, image: Callable[[Sequence[Field]], str]) -> list[tuple[str, str]]:
    """Return the SQL of an event's fields, in order; `image` makes an object of columns."""
    before, after = _fields(header, "b"), _fields(header, "a")
    places = [[name for name, _ in header.columns].index(name) for name in header.key]
    keyed = bool(places) or header.one_row
    old, new = image([before[i] for i in places]), image([after[i] for i in places])
    prefix = text(header.event_prefix)
    values = {
        "op": "op",
        "key": when(("op = 'd'", old), otherwise=new) if keyed else _NO_KEY,
        "before": when((f"op IN ('u', 'd') AND {str(header.before).upper()}", image(before))),
        "after": when(("op <> 'd'", image(after))),
        "changed": _changed(header),
        "reason": "reason",
        "pair_id": "pair_id",
        "source": _source(header),
        "event_id": f"concat({prefix}, CAST(CAST(ordinal AS BIGINT) AS STRING))",
        "ts_ms": number(header.ts_ms, "length(op)"),
    }
    return [(name, values[name]) for name in EVENT_FIELDS]


def _fields(header: BatchHeader, side: str) -> list[Field]:
    return [(name, travel, f"{side}_{i}") for i, (name, travel) in enumerate(header.columns)]


def _source(header: BatchHeader) -> str:
    texts = {
        "name": header.source,
        "table": header.table,
        "strategy": header.strategy,
        "consistency": header.consistency,
    }
    numbers = {"epoch": header.epoch, "batch_seq": header.seq}
    return structure(
        [
            *[(name, text(value)) for name, value in texts.items()],
            *[(name, f"CAST({number:d} AS BIGINT)") for name, number in numbers.items()],
        ]
    )


def _changed(header: BatchHeader) -> str:
    """Return the SQL of the changed columns' names; empty lists and NULL remain."""
    names = f"array({', '.join(text(name) for name, _ in header.columns)})"
    named = f"transform(split(changed, ','), place -> element_at({names}, CAST(place AS INT) + 1))"
    return when(("changed IS NULL", "NULL"), ("changed = ''", "CAST(array() AS ARRAY<STRING>)"), otherwise=named)
