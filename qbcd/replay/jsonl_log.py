"""Files of the sink `jsonl` as a log.

JSON has no types: they are those of the values, or of the target's columns.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from decimal import Decimal
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
from typing_extensions import override

from qbcd.errors import Refused
from qbcd.local.arrow import EVENTS_PER_PIECE, event_schema
from qbcd.model import BatchHeader, Travel
from qbcd.model.wire import EVENT_FIELDS
from qbcd.replay.log_file import OPS, BatchKey, LogFile, Seen, foreign, key_of, may_wait, place_of

_NOT_FINITE = frozenset(("NaN", "Infinity", "-Infinity"))
_LONGEST = 2**63


class JsonlFile(LogFile):
    """A file of JSON lines."""

    @override
    def first(self) -> tuple[int, int, int, str, int]:
        for _, _, key, ordinal, _ in self._lines():
            return (*key.order, ordinal)
        raise foreign(self.path, None, "the file is empty")

    @override
    def has_no_events(self) -> bool:
        return not self.path.stat().st_size

    @property
    @override
    def note(self) -> Path:
        return self.path.with_name(f".{self.path.name}.fingerprint")

    @override
    def runs(self) -> Iterator[tuple[BatchKey, Seen, int, int]]:
        self.batches = 0
        run: tuple[BatchKey, Seen, int] | None = None
        line = 0
        for line, stream, key, ordinal, event in self._lines():
            if run is None or key != run[0]:
                if run is not None:
                    yield *run, line
                run = key, _begun(stream, ordinal, event), line
                self.batches += 1
            else:
                run[1].follow(ordinal, place_of(self.path, line))
            self._see(run[1], event, line)
        if run is not None:
            yield *run, line + 1

    def _lines(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, str, BatchKey, int, Any]]:
        """Yield (line, stream, batch, ordinal, event) of each line."""
        with self.path.open("rb") as file:
            for line, text in enumerate(islice(file, first, last), first):
                if not text.endswith(b"\n"):
                    raise Refused(
                        "the last line is cut off",
                        where=place_of(self.path, line),
                        remedy="copy the file again, as a whole",
                    )
                try:
                    event = json.loads(text)
                except ValueError:
                    raise foreign(self.path, line, "the line is not JSON") from None
                if not isinstance(event, dict) or any(name not in event for name in EVENT_FIELDS):
                    raise foreign(self.path, line, "fields are missing")
                try:
                    yield line, *key_of(event["event_id"], event["source"]), event
                except ValueError as error:
                    raise foreign(self.path, line, str(error)) from None

    def _see(self, seen: Seen, event: Any, line: int) -> None:
        """Add an event to the facts of its batch."""
        op, before, after = event["op"], event["before"], event["after"]
        key = None if event["key"] is None else tuple(event["key"])
        if op not in OPS or (op != "d" and not isinstance(after, dict)) or key != seen.key:
            raise foreign(self.path, line, "op, key and images do not match")
        seen.counts[op] += 1
        seen.lacks_old = seen.lacks_old or (op in "ud" and before is None)
        for image in (before, after, event["key"]):
            for name, value in (image or {}).items():
                kinds = seen.kinds.setdefault(name, set())
                if value is not None:
                    kinds.add(_kind(value))

    @override
    def form_of(self, kinds: set[Any]) -> Travel | None:
        plain = {kind for kind in kinds if not isinstance(kind, frozenset)}
        if len(plain) < len(kinds):
            inner = {one for kind in kinds if isinstance(kind, frozenset) for one in kind}
            return Travel("text") if plain else Travel("array", element=self.form_of(inner) or Travel("text"))
        if not plain:
            return None
        if plain == {"boolean"}:
            return Travel("boolean")
        if plain <= {"integer"}:
            return Travel("int64")
        if plain <= {"integer", "large"}:
            return Travel("uint64")
        return Travel("float64") if plain <= {"integer", "float", "not finite"} and "float" in plain else Travel("text")

    @override
    def events(self, header: BatchHeader, first: int, last: int) -> Iterator[pa.RecordBatch]:
        schema, forms = event_schema(header), dict(header.columns)
        lines = self._lines(first, last)
        while piece := list(islice(lines, EVENTS_PER_PIECE)):
            events = [event for *_, event in piece]
            arrays = []
            for name in schema.names:
                if name in ("key", "before", "after") and pa.types.is_struct(schema.field(name).type):
                    arrays.append(self._image(schema.field(name).type, forms, [e[name] for e in events], piece[0][0]))
                elif name == "key":
                    arrays.append(pa.nulls(len(events), pa.string()))
                else:
                    arrays.append(pa.array([event[name] for event in events], schema.field(name).type))
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _image(self, kind: Any, forms: dict[str, Travel], images: list[Any], line: int) -> pa.Array:
        """Return objects as a struct."""
        fields = [kind.field(i) for i in range(kind.num_fields)]
        columns = []
        for field in fields:
            values = [None if image is None else image.get(field.name) for image in images]
            columns.append(self._column(values, forms[field.name], field, line))
        return pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array([image is None for image in images]))

    def _column(self, values: list[Any], travel: Travel, field: pa.Field, line: int) -> pa.Array:
        """Return values of JSON in their type.

        Raises:
            Refused: A value does not fit.
        """
        try:
            return _typed(values, travel, field.type)
        except (ValueError, TypeError, ArithmeticError, pa.ArrowException):
            for i, value in enumerate(values):
                try:
                    _typed([value], travel, field.type)
                except (ValueError, TypeError, ArithmeticError, pa.ArrowException):
                    raise Refused(
                        f"the value of column {field.name} is not of type {field.type}",
                        where=place_of(self.path, line + i),
                        remedy="change the column's type in the target, or replay into a new table",
                    ) from None
            raise


def _begun(stream: str, ordinal: int, event: Any) -> Seen:
    key = None if event["key"] is None else tuple(event["key"])
    return Seen(stream, event["source"], int(event["ts_ms"]), key, ordinal, ordinal, may_wait(event))


def _kind(value: Any) -> Any:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int):
        return "integer" if -_LONGEST <= value < _LONGEST else "large"
    if isinstance(value, float):
        return "float"
    if isinstance(value, list):
        return frozenset(_kind(one) for one in value if one is not None)
    return "not finite" if value in _NOT_FINITE else "text"


def _typed(values: list[Any], travel: Travel, kind: pa.DataType) -> pa.Array:
    """Return values of JSON in the type of their form."""
    element = travel.element
    if element is not None:
        lists = [None if value is None else _plain(value, element) for value in values]
        return pa.array(lists, pa.list_(pa.string())).cast(kind) if element.kind in _BY_TEXT else pa.array(lists, kind)
    plain = _plain(values, travel)
    return pa.array(plain, pa.string()).cast(kind) if travel.kind in _BY_TEXT else pa.array(plain, kind)


_BY_TEXT = ("date", "timestamp", "timestamptz")
_FROM_JSON: dict[str, Callable[[Any], Any]] = {
    "decimal": lambda value: Decimal(value),
    "uint64": lambda value: Decimal(value),
    "binary": lambda value: base64.b64decode(value, validate=True),
    "float32": float,
    "float64": float,
    # an instant: in a column without zone it is the time in UTC, as sinks write it
    "timestamp": lambda value: value.removesuffix("Z") if isinstance(value, str) else value,
    "text": lambda value: value if isinstance(value, str) else json.dumps(value, ensure_ascii=False),
}


def _plain(values: list[Any], travel: Travel) -> list[Any]:
    convert = _FROM_JSON.get(travel.kind)
    return values if convert is None else [None if value is None else convert(value) for value in values]
