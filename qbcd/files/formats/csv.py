"""CSV: Arrow's reader divides rows into texts.

qbcd finds the rows, makes values, and names the line of a wrong one.

An empty value without quotes is NULL, and `""` is an empty text. Lines without any character are skipped. Values in
quotes may have line ends. The module `qbcd.files.rows` has the rules of quotes and escapes.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from pyarrow import csv as arrow_csv
from typing_extensions import override

from qbcd.config.files import NO_ESCAPE, NO_QUOTE
from qbcd.errors import DumpRefused
from qbcd.files.content import TextReader
from qbcd.files.formats.base import DumpReader
from qbcd.files.rows import CsvRules, RowBlock, plain_escapes, plain_quotes, row_blocks

_NULL = b"\\N"
_IS_NULL, _IS_TEXT = 'null: "\\\\N"', 'null: ""'


class CsvReader(DumpReader):
    """A CSV file."""

    @override
    def read_schema(self) -> pa.Schema:
        form = self.form
        escape = "" if form.escape in (None, NO_ESCAPE, form.quote) else form.escape or ""
        quote = "" if form.quote == NO_QUOTE else form.quote
        self._rules = CsvRules(form.delimiter.encode(), quote.encode(), escape.encode(), form.escape is None)
        self._first = 0
        self._block: RowBlock | None = None
        if form.names is not None:
            return self.typed_schema(form.names)
        for block in self._blocks():
            for start, end in block.rows():
                names = self._header(block, start, end)
                return self.typed_schema(names)
        raise self.place.refused("is empty: it has no header", line=1)

    @override
    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        skip = self.form.names is None
        self._first = 0
        for whole in self._blocks():
            block = whole.without_first() if skip else whole
            if block is None:
                continue
            skip = False
            self._block = block
            if next(block.rows(), None) is None:
                continue
            table = self._parsed(block, names)
            values = [
                self.typed(_whole(table.column(name)), name, self.form.types.get(name, "text"), self._first)
                for name in names
            ]
            yield pa.RecordBatch.from_arrays(values, names=list(names))
            self._first += table.num_rows

    @override
    def line_of(self, row: int) -> int | None:
        """Return the line where a row of the block that is read now begins."""
        block, wanted = self._block, row - self._first
        if block is None:
            return row + 1
        found = next((start for i, (start, _) in enumerate(block.rows()) if i == wanted), 0)
        return block.line_at(found)

    def _blocks(self) -> Iterator[RowBlock]:
        text = TextReader(self.place, self.text_form())
        try:
            yield from row_blocks(self.place, text, self._rules, self.form.longest_row)
        finally:
            text.close()

    def _header(self, block: RowBlock, start: int, end: int) -> list[str]:
        """Return the names in a row of a block."""
        line = block.line_at(start)
        try:
            row = io.StringIO(self._plain(block.data[start:end], b"\0").decode(), newline="")
            if self._rules.quote:
                found = csv.reader(row, delimiter=self.form.delimiter, quotechar=self.form.quote)
            else:
                escape = self._rules.escape.decode() or None
                found = csv.reader(row, delimiter=self.form.delimiter, quoting=csv.QUOTE_NONE, escapechar=escape)
            return next(found)
        except UnicodeDecodeError:
            raise self._no_utf8(line) from None
        except csv.Error:
            raise self.place.refused("has no header that can be read", self.place.check, line=line) from None

    def _parsed(self, block: RowBlock, names: Sequence[str]) -> pa.Table:
        """Return the texts of some columns."""
        header, form = self.schema.names, self.form
        mark = _mark_for(block.data) if self._rules.has_escapes_alone else ""
        data = self._plain(block.data, mark.encode())
        by_escape = self._rules.has_escapes_alone
        if form.null is None and not by_escape:
            self._refuse_unknown_null(block)
        nulls = [mark] if by_escape else []
        if form.null is not None or not by_escape:
            nulls.append(form.null or "")
        texts = arrow_csv.ConvertOptions(
            column_types=dict.fromkeys(header, pa.string()),
            include_columns=list(names),
            null_values=nulls,
            strings_can_be_null=True,
            quoted_strings_can_be_null=False,
            check_utf8=True,
        )
        quote = self._rules.quote.decode()
        parsing = arrow_csv.ParseOptions(
            delimiter=form.delimiter,
            quote_char=quote or False,
            double_quote=bool(quote),
            escape_char=False if quote else self._rules.escape.decode() or False,
            newlines_in_values=True,
        )
        reading = arrow_csv.ReadOptions(use_threads=False, block_size=len(data) + 1, column_names=header)
        try:
            return arrow_csv.read_csv(pa.BufferReader(data), reading, parsing, texts)
        except (pa.ArrowInvalid, UnicodeDecodeError):
            raise self._explained(block) from None

    def _plain(self, data: bytes, mark: bytes) -> bytes:
        """Return rows in a form that Arrow reads."""
        if not self._rules.escape:
            return data
        return plain_quotes(data, self._rules) if self._rules.quote else plain_escapes(data, self._rules, mark)

    def _refuse_unknown_null(self, block: RowBlock) -> None:
        """Refuse MySQL's text of NULL without quotes: the configuration does not say if it is NULL."""
        if _NULL[:1] not in block.data or _NULL not in block.data:  # one byte is found faster
            return
        for found in self._rules.null.finditer(block.data):
            if not block.layout.is_quoted(np.array([found.start()])).any():
                null, text = self.place.setting(_IS_NULL), self.place.setting(_IS_TEXT)
                raise self.place.refused(
                    "has \\N without quotes, which Hive, MariaDB, MySQL and PostgreSQL write for NULL",
                    f"{null}; if it is a text, {text}",
                    line=block.line_at(found.start()),
                )

    def _explained(self, block: RowBlock) -> DumpRefused:
        """Return the refusal of a block that Arrow does not read; its own error may quote the row."""
        try:
            block.data.decode()
        except UnicodeDecodeError as error:
            return self._no_utf8(block.line_at(error.start))
        wrong = block.wrong_count(len(self.schema.names))
        if wrong is None:
            return self.place.refused("has a row that is no CSV", self.place.check, line=block.line_at(0))
        start, count = wrong
        what = f"has {count} values where the header has {len(self.schema.names)}"
        remedy = f"{self.place.check}; or check `delimiter`, `quote` and `escape`"
        return self.place.refused(what, remedy, line=block.line_at(start))

    def _no_utf8(self, line: int) -> DumpRefused:
        remedy = f"{self.place.setting('encoding: cp1252')}, or its encoding"
        return self.place.refused("is not utf-8 text", remedy, line=line)


def _mark_for(data: bytes) -> str:
    """Return a text that the data do not have; it replaces NULL where values have no quotes."""
    number = 0
    while (mark := f"\x1aNULL{number}\x1a").encode() in data:
        number += 1
    return mark


def _whole(values: pa.ChunkedArray) -> pa.Array:
    """Return a column that was read as one block."""
    return values.chunk(0) if values.num_chunks == 1 else pa.concat_arrays(values.chunks)
