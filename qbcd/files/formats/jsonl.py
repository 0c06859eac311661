"""JSON lines: an object per line.

A column without a type in the configuration is text: a JSON string as it is, a number as it is written, true and false
as words, an object or array as compact JSON with sorted names. A name that an object does not have is NULL.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from typing_extensions import override

from qbcd.errors import DumpRefused
from qbcd.files.content import BLOCK, TextReader
from qbcd.files.formats.base import DumpReader

ROWS = 16_384  # rows of a batch; fewer if they are long
SAMPLE = 1_000  # lines whose names are the columns, if neither the configuration nor an earlier dump names them


class JsonlReader(DumpReader):
    """A file of JSON lines."""

    @override
    def read_schema(self) -> pa.Schema:
        if self.form.names is not None or self.known:
            return self.typed_schema(self.form.names or self.known)
        names: dict[str, None] = {}
        alone: dict[str, Any] = {}
        for row, (line, _, values) in enumerate(self._objects()):
            names.update(dict.fromkeys(values))
            self._check_names(values, line)
            alone = values if row == 0 else {}
            if row >= SAMPLE:
                break
        if not names:
            raise self.place.refused("is empty: no line has an object", line=1)
        if alone and all(isinstance(value, dict) for value in alone.values()):
            remedy = "write a line for each row: in pandas to_json(.., orient='records', lines=True)"
            raise self.place.refused("is one object whose values are columns", remedy, line=1)
        return self.typed_schema(list(names))

    @override
    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        columns: dict[str, list[str | None]] = {name: [] for name in names}
        known, seen, row, held = set(self.schema.names), set[str](), 0, 0
        self._lines: list[int] = []  # of the rows of this batch: empty lines are skipped
        self._first = 0
        for line, size, values in self._objects():
            if not known >= values.keys():
                other = next(name for name in values if name not in known)
                remedy = f"write the names of all columns: {self.place.setting('names: [..]')}"
                raise self.place.refused(f"has {other!r}, which is no column", remedy, line=line)
            seen |= values.keys()
            try:
                for name, texts in columns.items():
                    texts.append(_text(values.get(name)))
            except RecursionError:
                raise self.place.refused("has values in too many brackets", self.place.check, line=line) from None
            self._lines.append(line)
            held += size
            if len(self._lines) == ROWS or held >= BLOCK:
                yield self._batch(columns)
                row += len(self._lines)
                self._first, self._lines, held = row, [], 0
        if self._lines:
            yield self._batch(columns)
        missing = next((name for name in names if name not in seen), None)
        if missing is not None and seen:
            raise self.place.refused(f"no line has {missing!r}", "write the file again with all of its columns")

    @override
    def line_of(self, row: int) -> int | None:
        """Return the line of a row of the batch that is read now."""
        return self._lines[row - self._first] if 0 <= row - self._first < len(self._lines) else row + 1

    def _batch(self, columns: dict[str, list[str | None]]) -> pa.RecordBatch:
        kinds = self.form.types
        arrays = [
            self.typed(self._array(texts, name), name, kinds.get(name, "text"), self._first)
            for name, texts in columns.items()
        ]
        batch = pa.RecordBatch.from_arrays(arrays, names=list(columns))
        for texts in columns.values():
            texts.clear()
        return batch

    def _array(self, texts: list[str | None], name: str) -> pa.Array:
        try:
            return pa.array(texts, pa.string())
        except UnicodeEncodeError:
            row = next(i for i, text in enumerate(texts) if text is not None and not _is_unicode(text))
            raise self._half(f"column {name}", self._lines[row]) from None

    def _check_names(self, values: dict[str, Any], line: int) -> None:
        if any(not _is_unicode(name) for name in values):
            raise self._half("a name", line)

    def _half(self, what: str, line: int) -> DumpRefused:
        what = f"{what} has half of a surrogate pair (\\ud800 to \\udfff), which is no character"
        return self.place.refused(what, self.place.check, line=line)

    def _objects(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield line, size and values of each object."""
        text = TextReader(self.place, self.text_form())
        try:
            for line, data in enumerate(text.lines(self.form.longest_row), 1):
                if data.strip():
                    yield line, len(data), self._object(data, line)
        finally:
            text.close()

    def _object(self, data: bytes, line: int) -> dict[str, Any]:
        try:
            values = _parsed(data.decode())
        except UnicodeDecodeError:
            remedy = f"{self.place.setting('encoding: cp1252')}, or its encoding"
            raise self.place.refused("is not utf-8 text", remedy, line=line) from None
        except (ValueError, RecursionError):
            values = None
        if isinstance(values, _Repeating):
            raise self.place.refused(f"has {values.name!r} several times", self.place.check, line=line)
        if isinstance(values, dict):
            return values
        remedy = self.place.check
        if data.lstrip()[:1] in (b"[", b"{"):
            remedy = f"write an object per line: jq -c '.[]' for an array, jq -c . for objects; or {remedy}"
        raise self.place.refused("is no JSON object", remedy, line=line)


def compact_json(text: str | None) -> str | None:
    """Return JSON of another source as the reader returns such a value.

    A text that is no JSON stays as it is.
    """
    try:
        return None if text is None else _text(_parsed(text))
    except (ValueError, RecursionError):
        return text


class _Number(str):
    """A number as it is written."""

    __slots__ = ()


class _Repeating(dict[str, Any]):
    """An object that has a name several times; its last value counts.

    Attributes:
        name: The first such name.
    """

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        names = [name for name, _ in pairs]
        self.name = next(name for i, name in enumerate(names) if name in names[:i])


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    return found if len(found) == len(pairs) else _Repeating(pairs)


_DECODER = json.JSONDecoder(
    parse_float=_Number, parse_int=_Number, parse_constant=_Number, object_pairs_hook=_object
)  # made once, which takes less time than the hook needs


def _parsed(text: str) -> Any:
    return _DECODER.decode(text)


def _is_unicode(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return _json(value)


def _json(value: Any) -> str:
    """Return compact JSON with sorted names, and numbers as they are written."""
    if isinstance(value, _Number):
        return value
    if isinstance(value, dict):
        return "{" + ",".join(f"{_json(name)}:{_json(value[name])}" for name in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)
