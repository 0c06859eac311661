"""Spark's spelling of events; values are Spark's own SQL.

JSON text is made by Spark's own expressions: exact, without a Python function per row. `to_json` escapes names and
texts, writes floats so that reading gives the same value (NaN and the infinities as strings), and bytes as base64. An
array travels as a JSON fragment, which `to_json` would treat as a text. So an object is composed of runs of plain
columns and the fragments between them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from qbcd.event_sql.base import FORMS, EventForm, EventSql, Field, event_fields, has_sets, ordinal_of, source_of
from qbcd.model import BatchHeader, Travel
from qbcd.model.wire import ELEMENTS, json_text, typed_name
from qbcd.sql.spark_literals import number, structure, when
from qbcd.sql.spark_literals import text as _text

_NO_KEY = "CAST(NULL AS STRING)"
_WHOLE_TEXT = r"\A(?:{})\z"


def _fitting(travel: Travel, text: str) -> str:
    if travel.kind == "binary":
        return f"unbase64({text})"
    # a session can give the name `timestamp` to the type without zone
    kind = "timestamp_ltz" if travel.kind == "timestamptz" else typed_name(travel)
    cast = f"TRY_CAST({text} AS {kind})"
    if form := FORMS.get(travel.kind):
        return when((f"{text} RLIKE {_text(_WHOLE_TEXT.format(form))}", cast))
    return cast


_QUOTE, _UNQUOTE = "\\Q", "\\E"  # what is between is no regular expression

SPARK = EventSql(
    literal=_text,
    fitting=_fitting,
    plain="CAST({value} AS {kind})",
    texts="from_json({value}, 'array<string>', map('mode', 'PERMISSIVE'))",  # others would round decimals, refuse NaN
    each="transform({values}, item -> {item})",
    some="exists({values}, item -> {condition})",
    error="raise_error(concat({message}, substring({value}, 1, 100)))",
    byte_length="octet_length({text})",
    matched="regexp_extract_all({value}, {pattern}, 0)",
    split=f"split({{value}}, concat({_text(_QUOTE)}, {{separator}}, {_text(_UNQUOTE)}), -1)",
    parts="CAST(array({values}) AS ARRAY<STRING>)",
    joined="array_join({values}, {separator})",
    bound="element_at(transform(array({value}), {name} -> {result}), 1)",
    pair="array({one}, {other})",
    item="element_at({values}, {place})",
    numbered="transform(t, (item, i) -> concat(CAST(i + 1 - array_position(t, item) AS STRING), ':', item))",
    minus="array_except({values}, {others})",
    unnumbered="transform({values}, item -> substring(item, instr(item, ':') + 1))",
    quoted="transform({values}, item -> substring(to_json(array(item)), 2, length(to_json(array(item))) - 2))",
    members=lambda members: f"concat_ws(',', {', '.join(members)})",
)


def typed_fields(header: BatchHeader, *, lenient: bool) -> list[tuple[str, str]]:
    """Return the typed fields of an event.

    With `lenient`, values outside the key that do not fit are NULL.
    """

    def image(fields: Sequence[Field]) -> str:
        if not fields:
            return _NO_KEY
        return structure(
            [
                (name, SPARK.typed_value(travel, value, name, lenient=lenient and name not in header.key))
                for name, travel, value in fields
            ]
        )

    return event_fields(header, _form(header, image))


def line_of(header: BatchHeader) -> str:
    """Return an event as JSON; one call is enough without arrays and with a key."""
    plain = not has_sets(header) and not header.added
    if header.key and plain and all(travel.kind != "array" for _, travel in header.columns):
        return _plain_object(event_fields(header, _form(header, _plain_image)))
    event = dict(event_fields(header, _form(header, _json_image)))
    parts = [
        _members([("op", event["op"])]),
        *[_member(f'"{name}"', event[name]) for name in ("key", "before", "after")],
        _members([(name, event[name]) for name in ("changed", "reason", "pair_id")]),
        _member('"source"', f"to_json({event['source']})"),
        _members([(name, event[name]) for name in ("event_id", "ts_ms")]),
        *([_member(json_text(ELEMENTS), event[ELEMENTS])] if has_sets(header) else []),
        *[_member(json_text(name), f"e_{i}") for i, (name, _) in enumerate(header.added)],
    ]
    return _joined(parts)


def _json_image(fields: Sequence[Field]) -> str:
    """Return a JSON object of wire values, in the order given; never NULL."""
    if fields and all(travel.kind != "array" for _, travel, _ in fields):
        return _plain_object([(name, value) for name, _, value in fields])
    parts: list[str] = []
    run: list[tuple[str, str]] = []
    for name, travel, value in fields:
        if travel.kind != "array":
            run.append((name, value))
            continue
        if run:
            parts.append(_members(run))
            run = []
        parts.append(_member(json_text(name), value))
    if run:
        parts.append(_members(run))
    return _joined(parts)


def _plain_object(columns: Sequence[tuple[str, str]]) -> str:
    """Return a JSON object of at least one column; none may contain an array of a source."""
    return f"to_json({structure(list(columns))}, map('ignoreNullFields', 'false'))"


def _members(columns: Sequence[tuple[str, str]]) -> str:
    """Return ``"name":value,...`` of at least one plain column; NULL is ``null``."""
    whole = _plain_object(columns)
    return f"substring({whole}, 2, length({whole}) - 2)"


def _member(name: str, value: str) -> str:
    """Return ``name:value`` of a name and a value that are JSON already; NULL as ``null``."""
    return f"concat({_text(name + ':')}, coalesce({value}, 'null'))"


def _joined(parts: Sequence[str]) -> str:
    """Return a JSON object of its members."""
    return f"concat('{{', concat_ws({', '.join([_text(','), *parts])}), '}}')"


def _plain_image(fields: Sequence[Field]) -> str:
    return structure([(name, value) for name, _, value in fields])


def _form(header: BatchHeader, image: Callable[[Sequence[Field]], str]) -> EventForm:
    source = [
        (name, _text(value) if isinstance(value, str) else f"CAST({value:d} AS BIGINT)")
        for name, value in source_of(header).items()
    ]
    return EventForm(
        image=image,
        text=lambda value: value,
        changed=_changed(header),
        source=structure(source),
        event_id=f"concat({_text(header.event_prefix)}, CAST(CAST({ordinal_of(header)} AS BIGINT) AS STRING))",
        ts_ms=number(header.ts_ms, "length(op)"),
        absent="NULL",
        no_key=_NO_KEY,
        elements=SPARK.elements(header),
        added=lambda name, travel, value: SPARK.typed_value(travel, value, name),
    )


def _changed(header: BatchHeader) -> str:
    """Return the SQL of the changed columns' names; empty lists and NULL remain."""
    names = f"array({', '.join(_text(name) for name, _ in header.columns)})"
    named = f"transform(split(changed, ','), place -> element_at({names}, CAST(place AS INT) + 1))"
    return when(("changed IS NULL", "NULL"), ("changed = ''", "CAST(array() AS ARRAY<STRING>)"), otherwise=named)
