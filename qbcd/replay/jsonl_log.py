"""Files of the sink `jsonl` as a log.

JSON has no types: they are those of the values, or of the target's columns.
"""

from __future__ import annotations

import base64
import json
import struct
from collections.abc import Callable, Generator, Iterator, Sequence
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
from qbcd.replay.forms import kind_of
from qbcd.replay.log_file import OPS, EventFacts, LogFile, foreign, key_of, may_wait, place_of, unfit

_IMAGES = ("key", "before", "after")
_DIGITS = 9  # of a 32-bit float
_UNFIT = (ValueError, TypeError, ArithmeticError, pa.ArrowException)


class JsonlFile(LogFile):
    """A file of JSON lines."""

    @property
    @override
    def note(self) -> Path:
        return self.path.with_name(f".{self.path.name}.fingerprint")

    @override
    def facts(self) -> Generator[EventFacts, None, None]:
        for line, event in self._lines():
            try:
                stream, key, ordinal = key_of(event["event_id"], event["source"])
            except ValueError as error:
                raise foreign(self.path, line, str(error)) from None
            op, before, after, ts_ms = event["op"], event["before"], event["after"], event["ts_ms"]
            images = [image for image in (before, after, event["key"]) if image is not None]
            typed = isinstance(op, str) and isinstance(ts_ms, int) and all(isinstance(one, dict) for one in images)
            if not typed or op not in OPS or (op != "d" and after is None):
                raise foreign(self.path, line, "op, key and images do not match")
            yield EventFacts(
                line,
                stream,
                key,
                ordinal,
                op,
                op in "ud" and before is None,
                ts_ms,
                event["source"],
                None if event["key"] is None else tuple(event["key"]),
                may_wait(event),
                ((name, () if value is None else (kind_of(value),)) for one in images for name, value in one.items()),
            )

    def _lines(self, first: int = 0, last: int | None = None) -> Iterator[tuple[int, Any]]:
        """Yield the number and the event of each line."""
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
                yield line, event

    @override
    def events(self, header: BatchHeader, first: int, last: int) -> Iterator[pa.RecordBatch]:
        schema, forms = event_schema(header), dict(header.columns)
        lines = self._lines(first, last)
        while piece := list(islice(lines, EVENTS_PER_PIECE)):
            arrays = []
            for field in schema:
                values = [event[field.name] for _, event in piece]
                if field.name in _IMAGES and pa.types.is_struct(field.type):
                    arrays.append(self._image(field.type, forms, values, piece[0][0]))
                elif field.name == "key":
                    arrays.append(pa.nulls(len(piece), pa.string()))
                else:
                    arrays.append(self._column(values, None, field, piece[0][0]))
            yield pa.RecordBatch.from_arrays(arrays, schema=schema)

    def _image(self, kind: Any, forms: dict[str, Travel], images: list[Any], line: int) -> pa.Array:
        """Return objects as a struct."""
        fields = [kind.field(i) for i in range(kind.num_fields)]
        columns = []
        for field in fields:
            values = [None if image is None else image.get(field.name) for image in images]
            columns.append(self._column(values, forms[field.name], field, line))
        return pa.StructArray.from_arrays(columns, fields=fields, mask=pa.array([image is None for image in images]))

    def _column(self, values: list[Any], travel: Travel | None, field: pa.Field, line: int) -> pa.Array:
        """Return values of JSON in their type.

        Raises:
            Refused: A value does not fit.
        """
        try:
            return _typed(values, travel, field.type)
        except _UNFIT:
            for i, value in enumerate(values):
                try:
                    _typed([value], travel, field.type)
                except _UNFIT:
                    raise unfit(place_of(self.path, line + i), field.name, field.type) from None
            raise


def _typed(values: list[Any], travel: Travel | None, kind: pa.DataType) -> pa.Array:
    """Return values of JSON in the type of their form; a field of events has none."""
    if travel is None:
        return pa.array(values, kind)
    element = travel.element
    if element is not None:
        lists = [None if value is None else _plain(value, element) for value in values]
        return pa.array(lists, pa.list_(pa.string())).cast(kind) if element.kind in _BY_TEXT else pa.array(lists, kind)
    plain = _plain(values, travel)
    return pa.array(plain, pa.string()).cast(kind) if travel.kind in _BY_TEXT else pa.array(plain, kind)


def _float64(value: Any) -> float:
    made = float(value)
    if isinstance(value, int) and int(made) != value:
        raise ValueError
    return made


def _float32(value: Any) -> float:
    """Return a value of a 32-bit float, which JSON has exactly or with nine digits at most.

    Raises:
        ValueError: It has more digits.
        OverflowError: It is too large.
    """
    made = _float64(value)
    digits = repr(made).partition("e")[0].strip("-0.").replace(".", "")
    if struct.unpack("<f", struct.pack("<f", made))[0] != made and len(digits) > _DIGITS:
        raise ValueError
    return made


_BY_TEXT = ("date", "timestamp", "timestamptz")
_FROM_JSON: dict[str, Callable[[Any], Any]] = {
    "decimal": lambda value: Decimal(value),
    "uint64": lambda value: Decimal(value),
    "binary": lambda value: base64.b64decode(value, validate=True),
    "float32": _float32,
    "float64": _float64,
    # an instant: in a column without zone it is the time in UTC, as sinks write it
    "timestamp": lambda value: value.removesuffix("Z") if isinstance(value, str) else value,
    "text": lambda value: value if isinstance(value, str) else compact(value),
}


def compact(value: Any) -> str:
    """Return a value of JSON as text."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _plain(values: Sequence[Any], travel: Travel) -> Sequence[Any]:
    convert = _FROM_JSON.get(travel.kind)
    return values if convert is None else [None if value is None else convert(value) for value in values]
