"""Public events from staged rows in DuckDB, equal to those of `qbcd.spark.events`.

A staged row is flat (`op, reason, pair_id, ordinal, changed, b_0.., a_0..`) and in wire form.
"""

from __future__ import annotations

from collections.abc import Callable

from qbcd.local.jsontext import Field, joined, json_object, listed, names_of, one_line, quoted, shortest
from qbcd.local.query import Query, derived
from qbcd.local.typed import misfit, typed_value
from qbcd.model import BatchHeader
from qbcd.model.wire import EVENT_FIELDS, json_text

_DELETED, _OLD, _NEW = "op = 'd'", "op IN ('u', 'd')", "op <> 'd'"
_EVENT_ID = "event_prefix || CAST(ordinal AS VARCHAR)"


def event_lines(rows: Query, header: BatchHeader) -> Query:
    """Return the events as JSON in the order of their ordinals: `ordinal` and `line` (text, one line).

    Args:
        rows: The batch's staged rows, or some of them.
        header: The batch.
    """
    line = joined([(json_text(name), value) for name, value in _json_fields(header)])
    inputs = {"staged": _with_shortest_floats(_with_header(rows, header), header)}
    return derived("local_event_lines", ("ordinal", "line"), inputs, line=line, one_line=one_line("line"))


def typed_columns(rows: Query, header: BatchHeader, *, lenient: str = "") -> Query:
    """Return the events' typed values in the order of their ordinals.

    Next to flat fields they are ``k_0.., b_0.., a_0.., source_0..``, and `without_old` and `without_new`, true if the
    event has no such image. `b_0..` is missing if the batch has no old values. A value that does not fit its type is an
    error; in the images `lenient` (``b``, ``a``) it is NULL outside the key.
    """
    values: list[tuple[str, str]] = []
    for i, place in enumerate(_places(header)):
        name, travel = header.columns[place]
        values.append((f"k_{i}", typed_value(travel, _of_key(place), name)))
    for side in "ba" if header.before else "a":
        values += [
            (
                f"{side}_{i}",
                typed_value(travel, f"{side}_{i}", name, lenient=side in lenient and name not in header.key),
            )
            for i, (name, travel) in enumerate(header.columns)
        ]
    names = listed([name for name, _ in header.columns], "changed")
    values += [
        ("changed", f"CASE WHEN changed = '' THEN CAST([] AS TEXT[]) ELSE {names} END"),
        ("without_old", f"NOT {_OLD}"),
        ("without_new", f"NOT ({_NEW})"),
        *((f"source_{i}", f"source_{i}") for i in range(len(source_of(header)))),
        ("event_id", _EVENT_ID),
        ("ts_ms", "event_ms"),
    ]
    columns = ("op", "reason", "pair_id", *(name for name, _ in values))
    return derived("local_typed_columns", columns, {"staged": _with_header(rows, header)}, values=values)


def unfit_flags(rows: Query, header: BatchHeader) -> Query | None:
    """Return one row with a flag per column: some value does not fit its type. None if all values do."""
    found: dict[str, str] = {}
    for i, (name, travel) in enumerate(header.columns):
        conditions = [condition for side in "ba" if (condition := misfit(travel, f"{side}_{i}")) is not None]
        if conditions:
            found[name] = " OR ".join(conditions)
    if not found:
        return None
    return derived("local_unfit_flags", tuple(found), {"staged": rows}, conditions=list(found.values()))


def source_of(header: BatchHeader) -> dict[str, str | int]:
    """Return the field `source` of a batch's events."""
    return {
        "name": header.source,
        "table": header.table,
        "strategy": header.strategy,
        "consistency": header.consistency,
        "epoch": header.epoch,
        "batch_seq": header.seq,
    }


def part_of(rows: Query, part: range) -> Query:
    """Return the staged rows whose ordinals are in `part`."""
    return derived("local_part", rows.columns, {"staged": rows}, first=part.start, stop=part.stop)


def _with_header(rows: Query, header: BatchHeader) -> Query:
    """Add what is the same in all events of the batch, so that other queries do not depend on it."""
    source = [f'"{name}":{json_text(v) if isinstance(v, str) else v}' for name, v in source_of(header).items()]
    named = tuple(f"source_{i}" for i in range(len(source)))
    columns = (*rows.columns, "event_prefix", "event_source", "event_ms", *named)
    return derived(
        "local_with_header",
        columns,
        {"staged": rows},
        prefix=header.event_prefix,
        source=f"{{{','.join(source)}}}",
        ts_ms=header.ts_ms,
        fields=list(source_of(header).values()),
    )


def _with_shortest_floats(rows: Query, header: BatchHeader) -> Query:
    floats = [i for i, (_, travel) in enumerate(header.columns) if travel.kind == "float32"]
    if not floats:
        return rows
    values = [(f"{side}_{i}", shortest(f"{side}_{i}")) for side in "ba" for i in floats]
    return derived("local_replaced", rows.columns, {"staged": rows}, values=values)


def _json_fields(header: BatchHeader) -> list[tuple[str, str]]:
    """Return the JSON of an event's fields, in order."""

    def image(value: Callable[[int], str], places: list[int]) -> str:
        fields: list[Field] = [(*header.columns[place], value(place)) for place in places]
        return json_object(fields)

    everything = list(range(len(header.columns)))
    key = _places(header)
    keyed = bool(key) or header.one_row
    old = f"CASE WHEN {_OLD} THEN {image(lambda i: f'b_{i}', everything)} ELSE 'null' END"
    values = {
        "op": quoted("op"),
        "key": image(_of_key, key) if keyed else "'null'",
        "before": old if header.before else "'null'",
        "after": f"CASE WHEN {_NEW} THEN {image(lambda i: f'a_{i}', everything)} ELSE 'null' END",
        "changed": names_of([name for name, _ in header.columns], "changed"),
        "reason": quoted("reason"),
        "pair_id": quoted("pair_id"),
        "source": "event_source",
        "event_id": quoted(_EVENT_ID),
        "ts_ms": "CAST(event_ms AS VARCHAR)",
    }
    return [(name, values[name]) for name in EVENT_FIELDS]


def _places(header: BatchHeader) -> list[int]:
    """Return the places of the key columns among all columns."""
    names = [name for name, _ in header.columns]
    return [names.index(name) for name in header.key]


def _of_key(place: int) -> str:
    return f"CASE WHEN {_DELETED} THEN b_{place} ELSE a_{place} END"
