"""Sources that are files: path pattern, order, completion marker and format."""

from __future__ import annotations

import codecs
import glob
import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, ValidationInfo, model_validator

from qbcd.config.fields import (
    Count,
    Duration,
    Filled,
    Section,
    Size,
    SomeNames,
    Switch,
    Whole,
    base_dir_of,
    local_path,
    wrong,
)

FormatName = Literal["csv", "jsonl", "parquet", "fixed"]
Compression = Literal["none", "gzip", "zstd"]
FILE = "{file}"  # in `complete`: the path of the dump
DEFAULT_QUIET = timedelta(seconds=5)
NO_QUOTE = NO_ESCAPE = "none"
LONGEST_ROW = 64 << 20  # bytes
VALUE_TYPES = (
    "text, integer, uint64, decimal(PRECISION,SCALE), double, float32, boolean, date, time, timestamp, timestamptz, "
    "binary, hex, base64, blob"
)
MOST_ROW = 1 << 30  # bytes
MOST_DIGITS = 38  # of a decimal

_ESCAPED = re.compile(r"\[([*?\[])\]")  # a wildcard that is a character
_DECIMAL = re.compile(r"decimal\(\s*([0-9]{1,2})\s*,\s*([0-9]{1,2})\s*\)")
_PLAIN = tuple(one for one in VALUE_TYPES.split(", ") if "(" not in one)
_ONLY: dict[str, tuple[FormatName, ...]] = {  # the formats that have a key, if not all do
    "delimiter": ("csv",),
    "quote": ("csv",),
    "escape": ("csv",),
    "header": ("csv",),
    "null": ("csv",),
    "names": ("csv", "jsonl"),
    "types": ("csv", "jsonl", "parquet"),
    "encoding": ("csv", "jsonl", "fixed"),
    "final_newline": ("csv", "jsonl", "fixed"),
    "compression": ("csv", "jsonl", "fixed"),
    "fields": ("fixed",),
    "record": ("fixed",),
    "longest_row": ("csv", "jsonl", "fixed"),
}


def _value_type(value: str) -> str:
    text = value.strip()
    found = _DECIMAL.fullmatch(text)
    if text not in _PLAIN and found is None:
        raise wrong("<value> is not a type of values in files", f"write one of {VALUE_TYPES}", value=value)
    if found is not None:
        precision, scale = int(found[1]), int(found[2])
        if not 1 <= precision <= MOST_DIGITS or scale > precision:
            raise wrong("this decimal cannot be", f"write decimal(p,s) with p up to {MOST_DIGITS} and s up to p")
        return f"decimal({precision},{scale})"
    return text


def _encoding(value: str) -> str:
    try:
        found = codecs.lookup(value)
        codecs.getincrementaldecoder(value)
        "a".encode(value)  # others have no text, or no letters
        return found.name
    except (LookupError, UnicodeError):
        remedy = "write a name that Python knows: utf-8, latin-1, cp1252, cp037 .."
        raise wrong("there is no encoding <value>", remedy, value=value) from None


def _delimiter(value: str) -> str:
    if len(value) != 1 or not value.isascii() or value in "\r\n":
        raise wrong("a delimiter is one character of ASCII", 'write delimiter: ";", or "\\t" for a tab')
    return value


def _quote(value: str) -> str:
    if value == NO_QUOTE or (len(value) == 1 and value.isascii() and value not in "\r\n"):
        return value
    raise wrong("this is one character of ASCII, or none", 'write "\\"" for a quote, or "\\\\" for a backslash')


def _longest(value: int) -> int:
    if value > MOST_ROW:
        raise wrong("a row cannot be longer than 1GB", "write longest_row: 1GB, or less")
    return value


ValueType = Annotated[str, AfterValidator(_value_type)]


class FixedField(Section):
    """A field of fixed width.

    Attributes:
        name: Name of the column.
        at: First and last position, from 1, in characters.
        type: Type of the values.
    """

    example: ClassVar[str] = "write {name: id, at: [1, 10], type: integer}"

    name: Filled
    at: tuple[Whole, Whole]
    type: ValueType = "text"

    @model_validator(mode="after")
    def _in_order(self) -> FixedField:
        if not 1 <= self.at[0] <= self.at[1]:
            raise wrong("these are no positions of a field", "write at: [FIRST, LAST], from 1", at="at")
        return self


class FileFormat(Section):
    """The format of dumps.

    Attributes:
        type: Format of the file; default: by the end of its name.
        compression: Compression of the file; default: gzip for ``.gz``, zstd for ``.zst``.
        encoding: Encoding of the text, by a name that Python knows.
        delimiter: The character between values of a CSV file.
        quote: The character around values of a CSV file; ``none`` for none.
        escape: The character before a quote that is text, in a CSV file; ``none`` if quotes are written twice. Without
            quotes, the character before any special one.
        header: The first line of a CSV file has the names of its columns.
        names: The names of columns, for CSV without a header and for jsonl.
        null: The text of an unquoted CSV field that is NULL; default: empty; with `escape` and without quotes
            a backslash and N.
        longest_row: Bytes that a row may have.
        final_newline: The last line has a line end; a file without it is refused as truncated.
        types: Types of columns; others are text.
        fields: The fields of a file of fixed width.
        record: Bytes of a record, in a file of fixed width without line ends.
    """

    type: FormatName | None = None
    compression: Compression | None = None
    encoding: Annotated[str, AfterValidator(_encoding)] = "utf-8"
    delimiter: Annotated[str, AfterValidator(_delimiter)] = ","
    quote: Annotated[str, AfterValidator(_quote)] = '"'
    header: Switch = True
    names: SomeNames | None = None
    escape: Annotated[str, AfterValidator(_quote)] | None = None
    null: str | None = None
    longest_row: Annotated[Size, AfterValidator(_longest)] = LONGEST_ROW
    final_newline: Switch = True
    types: dict[str, ValueType] = Field(default_factory=dict)
    fields: list[FixedField] = Field(default_factory=list)
    record: Count | None = None

    @model_validator(mode="after")
    def _of_one_type(self) -> FileFormat:
        self.check_keys()
        if self.type == "fixed" and not self.fields:
            raise wrong("`fields` is missing", "write fields: [{name: id, at: [1, 10]}, ..]")
        if self.fields and self.type is None:
            raise wrong("`fields` is for type fixed", "write type: fixed", at="fields")
        names = [field.name for field in self.fields]
        for place, name in enumerate(names):
            if name in names[:place]:
                raise wrong("<value> is listed twice", "remove one", at="fields", value=name)
        if not self.header and self.names is None:
            raise wrong("`names` is missing, since there is no header", "write names: [id, name, ..]")
        self.check_names()
        return self

    def check_keys(self) -> None:
        """Check that the keys are for the type, if it is known.

        Raises:
            PydanticCustomError: One is not.
        """
        for key in sorted(self.model_fields_set - {"type"}) if self.type is not None else ():
            known = _ONLY[key]
            if self.type not in known:
                raise wrong(f"`{key}` is for {' and '.join(known)}, not for {self.type}", "remove it", at=key)

    def check_names(self) -> None:
        """Check that a CSV file has either a header or `names`.

        Raises:
            PydanticCustomError: It has both.
        """
        if self.header and self.names is not None and self.type == "csv":
            raise wrong("`names` is for files without a header", "write header: false, or remove it", at="names")


def _complete(value: str) -> str:
    if FILE not in value:
        raise wrong("`complete` names no file for each dump", f'write complete: "{FILE}.done"')
    return value


def _pattern(value: str, info: ValidationInfo) -> str:
    """Return a pattern as an absolute one; the folder from which it starts has no wildcards."""
    base = base_dir_of(info)
    local_path(value, base)
    home, _, rest = value.partition("/") if value.startswith("~") else ("", "", value)
    start = Path(home).expanduser() if home else base
    return os.path.abspath(Path(glob.escape(str(start))) / rest)


class FilesConfig(Section):
    """A series of dumps of one table.

    Attributes:
        files: Path of the dumps; ``*``, ``?`` and ``[..]`` are wildcards.
        order: The order in which dumps were written: by their names, with numbers as numbers (``name``) or as text
            (``text``), or by their times of modification.
        complete: Path of the marker that a dump is complete; without it, a dump must be unchanged for `quiet`.
        quiet: Time for which a dump must be unchanged before it is read.
        format: Format of the dumps; default: by the end of the file's name.
    """

    files: Annotated[Filled, AfterValidator(_pattern)]
    order: Literal["name", "text", "modified"] = "name"
    complete: Annotated[str, AfterValidator(_complete)] | None = None
    quiet: Duration = DEFAULT_QUIET
    format: FileFormat = Field(default_factory=FileFormat)

    @property
    def folder(self) -> Path:
        """The folder without wildcards that all dumps are below."""
        parts = self._parts[:-1]
        fixed = next((i for i, part in enumerate(parts) if _is_pattern(part)), len(parts))
        return Path(*(_ESCAPED.sub(r"\1", part) for part in parts[:fixed]))

    @property
    def listed(self) -> list[str]:
        """The patterns of the folders that are listed: a part with wildcards follows."""
        parts = self._parts
        return [str(Path(*parts[:i])) for i in range(1, len(parts)) if _is_pattern(parts[i])]

    @property
    def _parts(self) -> tuple[str, ...]:
        return Path(self.files).parts


def _is_pattern(part: str) -> bool:
    return glob.has_magic(_ESCAPED.sub("", part))
