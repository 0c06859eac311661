"""CSV: Arrow's reader splits rows into texts; qbcd makes their values, and names the line of a wrong one.

An empty value without quotes is NULL, and `""` is an empty text. Lines without any character are skipped. A quote is
written twice inside quotes; values in quotes may have line ends.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
from pyarrow import csv as arrow_csv

from qbcd.config.files import NO_QUOTE
from qbcd.errors import DumpRefused
from qbcd.files.content import BLOCK, TextReader
from qbcd.files.formats.base import CHECK, DumpReader

if TYPE_CHECKING:
    from _csv import Reader as Records

_ROW = re.compile(r"Row #(\d+): (.*)", re.DOTALL)
_COUNT = re.compile(r"Expected (\d+) columns?, got (\d+)")


class CsvReader(DumpReader):
    """A CSV file."""

    def read_schema(self) -> pa.Schema:
        if self.form.names is not None:
            return self.typed_schema(self.form.names)
        reader = self._opened([])
        try:
            if reader is None:
                raise self.place.refused("is empty: it has no header", line=1)
            return self.typed_schema(self._header)
        finally:
            self._close()

    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        reader = self._opened(names)
        row = 0
        try:
            while reader is not None:
                try:
                    batch = reader.read_next_batch()
                except StopIteration:
                    return
                except pa.ArrowInvalid as error:
                    raise self._explained(error) from None
                values = [
                    self.typed(batch.column(i), name, self.form.types.get(name, "text"), row)
                    for i, name in enumerate(batch.schema.names)
                ]
                yield pa.RecordBatch.from_arrays(values, names=batch.schema.names)
                row += batch.num_rows
        finally:
            self._close()

    def line_of(self, row: int) -> int | None:
        """Return the line where a row ends; values may have line ends, so the file is read again up to it."""
        wanted = row + (1 if self.form.names is None else 0)
        text = io.TextIOWrapper(io.BufferedReader(_Raw(TextReader(self.place, self.text_form()))), "utf-8", newline="")
        lines = self._records(text)
        records = 0
        try:
            for record in lines:
                if record and records == wanted:
                    return lines.line_num
                records += bool(record)
        except (csv.Error, UnicodeDecodeError, DumpRefused):
            return wanted + 1
        return wanted + 1

    def _opened(self, names: Sequence[str]) -> arrow_csv.CSVStreamingReader | None:
        """Open the file; None if it is empty."""
        self._text = TextReader(self.place, self.text_form())
        own = self.form.names
        header = self._first_record() if own is None else list(own)
        self._header = header
        if not header:
            return None
        texts = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            include_columns=list(names) or None,
            null_values=[self.form.null],
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            check_utf8=True,
        )
        parsing = arrow_csv.ParseOptions(
            delimiter=self.form.delimiter,
            quote_char=False if self.form.quote == NO_QUOTE else self.form.quote,
            double_quote=self.form.quote != NO_QUOTE,
            newlines_in_values=self.form.quote != NO_QUOTE,
        )
        reading = arrow_csv.ReadOptions(
            use_threads=False, block_size=BLOCK, column_names=header if own is not None else None
        )
        try:
            return arrow_csv.open_csv(self._text, reading, parsing, texts)
        except pa.ArrowInvalid as error:
            if own is not None and "Empty CSV file" in str(error):
                return None
            raise self._explained(error) from None

    def _first_record(self) -> list[str]:
        """Return the values of the first line that is not empty."""
        text = TextReader(self.place, self.text_form())
        found = b""
        while (block := text.read(1 << 16)) and len(found) < BLOCK:
            found += block
            if b"\n" in found.lstrip(b"\r\n"):
                break
        text.close()
        lines = io.StringIO(found.decode("utf-8-sig", errors="replace"), newline="")
        return next((record for record in self._records(lines) if record), [])

    def _records(self, text: io.TextIOBase) -> Records:
        """Return a reader of Python's, which is slow and counts lines."""
        if self.form.quote == NO_QUOTE:
            return csv.reader(text, delimiter=self.form.delimiter, quoting=csv.QUOTE_NONE)
        return csv.reader(text, delimiter=self.form.delimiter, quotechar=self.form.quote)

    def _explained(self, error: pa.ArrowInvalid) -> DumpRefused:
        """Return the refusal for an error of Arrow's reader, which may quote the row."""
        found = _ROW.search(str(error))
        if found is None:
            if "straddling object" in str(error):
                return self.place.refused(f"a row is longer than {BLOCK >> 20} MB", CHECK)
            return self.place.refused("is no CSV file that can be read", "check `delimiter`, `quote` and `encoding`")
        row = int(found[1]) - (2 if self.form.names is None else 1)
        if "UTF8" in found[2]:
            return self.row_refused(row, "is not utf-8 text", "write the file's `encoding` under `format`")
        if count := _COUNT.search(found[2]):
            what = f"has {count[2]} values where the header has {count[1]}"
            return self.row_refused(row, what, f"{CHECK}; or check `delimiter` and `quote`")
        return self.row_refused(row, "is no row of CSV")

    def _close(self) -> None:
        self._text.close()


class _Raw(io.RawIOBase):
    """A text reader as a raw stream."""

    def __init__(self, text: TextReader) -> None:
        super().__init__()
        self._reader = text

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._reader.read(len(view))
        view[: len(data)] = data
        return len(data)
