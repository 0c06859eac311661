"""Records of fixed width: fields at positions, in any encoding.

The encoding can also be EBCDIC (cp037, cp500, cp1140 ..).

Blanks at the end of a field are no part of its text, and at both ends of a typed one. A field of blanks is NULL.
A record is a line, of which text after the last field is not read, or has `record` bytes; then the encoding must have
one byte per character.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from typing_extensions import override

from qbcd.files.content import BLOCK, TextReader, lines_in, opened
from qbcd.files.formats.base import DumpReader

_CHARACTER = 4  # bytes of a character in numpy's texts


class FixedReader(DumpReader):
    """A file of records of fixed width."""

    @override
    def read_schema(self) -> pa.Schema:
        self.form = self.form.model_copy(update={"types": {f.name: f.type for f in self.form.fields}})
        self._width = max(field.at[1] for field in self.form.fields)
        record = self.form.record
        if record is not None and record < self._width:
            what = f"a field ends at {self._width}, and `record` is {record}"
            raise self.place.refused(what, "correct `fields` or `record`")
        if record is None:
            self._check_lines()
        else:
            opened(self.place, "none").close()
        return self.typed_schema([field.name for field in self.form.fields])

    @override
    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        fields = {field.name: field for field in self.form.fields}
        row = 0
        for text, width in self._blocks() if self.form.record is not None else self._lines():
            rows = np.frombuffer(text.encode("utf-32-le"), dtype="<u4").reshape(-1, width)
            arrays = []
            for name in names:
                field = fields[name]
                first, last = field.at
                cut = np.ascontiguousarray(rows[:, first - 1 : last]).view(f"<U{last - first + 1}").ravel()
                # numpy takes zeros at the end of a text off, as blanks are below
                values = pc.utf8_rtrim(pa.array(cut.tolist(), pa.string()), characters=" \0")
                values = values if field.type == "text" else pc.utf8_ltrim(values, characters=" ")
                values = pc.if_else(pc.equal(values, ""), pa.scalar(None, pa.string()), values)
                arrays.append(self.typed(values, name, field.type, row))
            yield pa.RecordBatch.from_arrays(arrays, names=list(names))
            row += len(rows)

    @override
    def line_of(self, row: int) -> int | None:
        return None if self.form.record is not None else row + 1

    def _check_lines(self) -> None:
        """Refuse records without line ends, which would be one line."""
        text = TextReader(self.place, replace(self.text_form(), final_newline=False))
        try:
            data = text.read(max(BLOCK, 2 * _CHARACTER * self._width))
        finally:
            text.close()
        length = len(data.decode(errors="replace"))
        if length >= 2 * self._width and not lines_in(data):
            what = f"has no line end in {length:,} characters, and the last field ends at {self._width}"
            raise self.place.refused(what, f"{self.place.setting('record: N')}, the number of bytes of a record")

    def _lines(self) -> Iterator[tuple[str, int]]:
        """Yield some lines of equal width as one text, and the width."""
        lines: list[str] = []
        size, number = 0, 0
        found = TextReader(self.place, self.text_form()).lines(self.form.longest_row, returns=True)
        for number, line in enumerate(found, 1):
            try:
                text = line.decode()
            except UnicodeDecodeError:
                raise self.place.refused("is not utf-8 text", "correct `encoding`", line=number) from None
            if len(text) < self._width:
                what = f"has {len(text)} characters, and the last field ends at {self._width}"
                raise self.place.refused(what, self.place.check, line=number)
            lines.append(text[: self._width])
            size += self._width
            if size * _CHARACTER >= BLOCK:
                yield "".join(lines), self._width
                lines, size = [], 0
        if lines:
            yield "".join(lines), self._width

    def _blocks(self) -> Iterator[tuple[str, int]]:
        """Yield some records as one text, and their width."""
        width, row = self.form.record or 1, 0
        step = max(1, BLOCK // width // _CHARACTER) * width
        with opened(self.place, self.form.compression or "none") as raw:
            while data := self._read(raw, step):
                rows, more = divmod(len(data), width)
                if more:
                    what = f"ends within record {row + rows + 1:,}, after {more} of {width} bytes: it is truncated"
                    raise self.place.refused(what)
                yield self._decoded(data, row, width), width
                row += rows

    def _read(self, raw: pa.NativeFile, size: int) -> bytes:
        found = b""
        try:
            while len(found) < size and (data := raw.read(size - len(found))):
                found += data
        except OSError:
            what = f"its {self.form.compression} data ends early or is damaged: the file is truncated, or still written"
            raise self.place.refused(what) from None
        return found

    def _decoded(self, data: bytes, row: int, width: int) -> str:
        try:
            text = data.decode(self.form.encoding)
        except UnicodeDecodeError as error:
            raise self.row_refused(row + error.start // width, f"is not {self.form.encoding} text") from None
        if len(text) != len(data):
            raise self.place.refused(
                f"`record` needs an encoding with one byte per character, and {self.form.encoding} has more",
                "remove `record` if records are lines",
            )
        return text
