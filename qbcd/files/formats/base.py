"""The interface of readers of dumps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

import pyarrow as pa

from qbcd.config.files import FileFormat
from qbcd.errors import DumpRefused
from qbcd.files.columns import field_of, json_field
from qbcd.files.content import DumpPlace, TextForm
from qbcd.files.values import BYTES, BadValue, values_of


class DumpReader(ABC):
    """An open dump.

    Args:
        form: Its format, with type and compression.
        known: The columns of an earlier dump, for formats whose rows need not have all of them.

    Attributes:
        schema: Names and Arrow types of its columns.
        untyped: Columns that have only NULL and no type; in the schema they are text.
        own_types: Types of a file that has types of its own, by column.
    """

    schema: pa.Schema
    untyped: frozenset[str] = frozenset()
    own_types: Mapping[str, pa.DataType] = MappingProxyType({})

    def __init__(self, place: DumpPlace, form: FileFormat, known: Sequence[str] = ()) -> None:
        self.place, self.form, self.known = place, form, known
        self.schema = self.read_schema()

    @abstractmethod
    def read_schema(self) -> pa.Schema:
        """Return names and types of the columns; reads the beginning of the file."""

    @abstractmethod
    def batches(self, names: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """Yield the rows in the order of the file, with the columns `names`.

        A batch has some megabytes.

        Raises:
            DumpRefused: A row is not valid, or the file is truncated or damaged.
        """

    def line_of(self, row: int) -> int | None:
        """Return the line of a row (from 0) in the file; None if it has no lines."""
        return row + 1

    def row_refused(self, row: int, what: str, remedy: str = "") -> DumpRefused:
        """Return the refusal of a row, from 0; by default it must be corrected."""
        line = self.line_of(row)
        what = what if line is not None else f"row {row + 1:,}: {what}"
        return self.place.refused(what, remedy or self.place.check, line=line)

    # -- for formats of text -----------------------------------------------------------------------------------------
    def text_form(self) -> TextForm:
        """Return the form of the file's text.

        A JSON object that is cut is none, so one line needs no line end.
        """
        form = self.form
        return TextForm(form.compression or "none", form.encoding, form.final_newline, one_line=form.type == "jsonl")

    def typed_schema(self, names: Sequence[str]) -> pa.Schema:
        """Return the schema of columns whose types are in the configuration, or text."""
        twice = next((name for i, name in enumerate(names) if name in names[:i]), None)
        if twice is not None:
            raise self.place.refused(f"column {twice!r} occurs twice in the header", self.place.check, line=1)
        empty = next((i for i, name in enumerate(names) if not name), None)
        if empty is not None:
            raise self.place.refused(f"column {empty + 1} has no name in the header", self.place.check, line=1)
        missing = next((name for name in self.form.types if name not in names), None)
        if missing is not None and not self.known:  # otherwise the columns are compared with those before
            remedy = f"the file has {', '.join(names)}; correct `types`"
            raise self.place.refused(f"there is no column {missing!r}, which `types` names", remedy, line=1)
        make = json_field if self.form.type == "jsonl" else field_of
        return pa.schema([make(name, self.form.types.get(name, "text")) for name in names])

    def typed(self, texts: pa.Array, name: str, kind: str, first: int) -> pa.Array:
        """Return texts of a column as values.

        Args:
            first: The row of the first text, from 0.

        Raises:
            DumpRefused: A text is no value of the type.
        """
        try:
            return values_of(texts, kind, special=self.place.once)
        except BadValue as error:
            what = f"column {name} has {_shown(texts[error.row].as_py())}, which is not {_named(kind)}"
            first_of, others = ("hex", "base64, or blob if DuckDB wrote it") if kind in BYTES else ("text", "its type")
            setting = self.place.setting(f"types: {{{name}: {first_of}}}")
            remedy = f"{self.place.check}; or {setting}, or {others}"
            raise self.row_refused(first + error.row, what, remedy) from None


def _shown(text: str) -> str:
    return repr(text if len(text) <= 40 else f"{text[:40]}..")


def _named(kind: str) -> str:
    return f"{'an' if kind[0] in 'aeiou' else 'a'} {kind}"
