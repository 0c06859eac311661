"""Public events from staged rows in DuckDB, equal to those of `qbcd.spark.events`."""

from __future__ import annotations

from qbcd.event_sql.base import NEW, OLD, has_sets, key_places, of_key, source_of
from qbcd.event_sql.duckdb import DUCKDB, event_id_of, line_of, listed, shortest
from qbcd.local.query import Query, derived
from qbcd.model import BatchHeader
from qbcd.model.wire import ELEMENTS, json_text


def event_lines(rows: Query, header: BatchHeader) -> Query:
    """Return the events as JSON in the order of their ordinals.

    The columns are `ordinal` and `line`, a text that is one line.

    Args:
        rows: The batch's staged rows, or some of them.
    """
    inputs = {"staged": _with_shortest_floats(_with_header(rows, header), header)}
    return derived(
        "local_event_lines", ("ordinal", "line"), inputs, line=line_of(header), one_line=DUCKDB.one_line("line")
    )


def typed_columns(rows: Query, header: BatchHeader, *, lenient: str = "") -> Query:
    """Return the events' typed values in the order of their ordinals.

    Next to flat fields they are ``k_0.., b_0.., a_0.., source_0..``, and `without_old` and `without_new`, true if the
    event has no such image. `b_0..` is missing if the batch has no old values. A value that does not fit its type is an
    error; in the images `lenient` (``b``, ``a``) it is NULL outside the key.
    """
    values: list[tuple[str, str]] = []
    for i, place in enumerate(key_places(header)):
        name, travel = header.columns[place]
        values.append((f"k_{i}", DUCKDB.typed_value(travel, of_key(place), name)))
    for side in "ba" if header.before else "a":
        values += [
            (
                f"{side}_{i}",
                DUCKDB.typed_value(travel, f"{side}_{i}", name, lenient=side in lenient and name not in header.key),
            )
            for i, (name, travel) in enumerate(header.columns)
        ]
    names = listed([name for name, _ in header.columns], "changed")
    values += [
        ("changed", f"CASE WHEN changed = '' THEN CAST([] AS TEXT[]) ELSE {names} END"),
        ("without_old", f"NOT ({OLD})"),
        ("without_new", f"NOT ({NEW})"),
        *((f"source_{i}", f"source_{i}") for i in range(len(source_of(header)))),
        ("event_id", event_id_of(header)),
        *((f"e_{i}", DUCKDB.typed_value(travel, f"e_{i}", name)) for i, (name, travel) in enumerate(header.added)),
        ("ts_ms", "event_ms"),
        *([(ELEMENTS, DUCKDB.elements(header))] if has_sets(header) else []),
    ]
    columns = ("op", "reason", "pair_id", *(name for name, _ in values))
    return derived("local_typed_columns", columns, {"staged": _with_header(rows, header)}, values=values)


def unfit_flags(rows: Query, header: BatchHeader) -> Query | None:
    """Return one row with a flag per column: some value does not fit its type.

    Return None if all values fit.
    """
    found = DUCKDB.misfits(header)
    if not found:
        return None
    return derived("local_unfit_flags", tuple(found), {"staged": rows}, conditions=list(found.values()))


def part_of(rows: Query, part: range) -> Query:
    """Return the staged rows whose ordinals are in `part`."""
    return derived("local_part", rows.columns, {"staged": rows}, first=part.start, stop=part.stop)


def _with_header(rows: Query, header: BatchHeader) -> Query:
    """Add values that are the same in all events of the batch.

    Other queries then do not depend on them.
    """
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
