"""JSON lines: an object per line.

A column without a type in the configuration is text: a JSON string as it is, a number as it is written, true and false
as words, an object or array as compact JSON with sorted names. A name that an object does not have is NULL.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from qbcd.files.content import TextReader
from qbcd.files.formats.base import CHECK, DumpReader

ROWS = 16_384  # rows of a batch
SAMPLE = 1_000  # lines whose names are the columns, if neither the configuration nor an earlier dump names them


class JsonlReader(DumpReader):
    """A file of JSON lines."""

    def read_schema(self) -> pa.Schema:
        if self.form.names is not None or self.known:
            return self.typed_schema(self.form.names or self.known)
        names: dict[str, None] = {}
        for row, (_, values) in enumerate(self._objects()):
            names.update(dict.fromkeys(values))
            if row >= SAMPLE:
                break
        if not names:
            raise self.place.refused("is empty: no line has an object", line=1)
        return self.typed_schema(list(names))

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        columns: dict[str, list[str | None]] = {name: [] for name in names}
        known, seen, row = set(self.schema.names), set[str](), 0
        self._lines: list[int] = []  # of the rows of this batch: empty lines are skipped
        self._first = 0
        for line, values in self._objects():
            if not known >= values.keys():
                other = next(name for name in values if name not in known)
                remedy = "write the names of all columns: names: [..] under `format`"
                raise self.place.refused(f"has {other!r}, which is no column", remedy, line=line)
            seen |= values.keys()
            for name, texts in columns.items():
                texts.append(_text(values.get(name)))
            self._lines.append(line)
            if len(self._lines) == ROWS:
                yield self._batch(columns)
                row += ROWS
                self._first, self._lines = row, []
        if self._lines:
            yield self._batch(columns)
        missing = next((name for name in names if name not in seen), None)
        if missing is not None and seen:
            raise self.place.refused(f"no line has {missing!r}", "write the file again with all of its columns")

    def line_of(self, row: int) -> int | None:
        """Return the line of a row of the batch that is read now."""
        return self._lines[row - self._first] if 0 <= row - self._first < len(self._lines) else row + 1

    def _batch(self, columns: dict[str, list[str | None]]) -> pa.RecordBatch:
        kinds = self.form.types
        arrays = [
            self.typed(pa.array(texts, pa.string()), name, kinds.get(name, "text"), self._first)
            for name, texts in columns.items()
        ]
        batch = pa.RecordBatch.from_arrays(arrays, names=list(columns))
        for texts in columns.values():
            texts.clear()
        return batch

    def _objects(self) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield line and values of each object."""
        for line, text in enumerate(TextReader(self.place, self.text_form()).lines(), 1):
            if not text.strip():
                continue
            try:
                values = json.loads(text, parse_float=str, parse_int=str, parse_constant=str)
            except (ValueError, RecursionError):
                raise self.place.refused("is no JSON object", CHECK, line=line) from None
            if not isinstance(values, dict):
                raise self.place.refused("is no JSON object", CHECK, line=line)
            if any(isinstance(value, (dict, list)) for value in values.values()):
                exact = json.loads(text)
                values = {name: exact[name] if isinstance(v, (dict, list)) else v for name, v in values.items()}
            yield line, values


def _text(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
