"""Readers of dumps, one per format."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_core import PydanticCustomError

from qbcd.config.files import Compression, FileFormat, FormatName
from qbcd.files.content import DumpPlace
from qbcd.files.formats.base import DumpReader
from qbcd.files.formats.csv import CsvReader
from qbcd.files.formats.fixed import FixedReader
from qbcd.files.formats.jsonl import JsonlReader
from qbcd.files.formats.parquet import ParquetReader

READERS: dict[FormatName, type[DumpReader]] = {
    "csv": CsvReader,
    "jsonl": JsonlReader,
    "parquet": ParquetReader,
    "fixed": FixedReader,
}
_COMPRESSED: dict[str, Compression] = {".gz": "gzip", ".zst": "zstd", ".zstd": "zstd"}
_TYPES: dict[str, FormatName] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".txt": "csv",
    ".jsonl": "jsonl",
    ".json": "jsonl",
    ".ndjson": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}

__all__ = ["READERS", "DumpReader", "open_dump"]


def open_dump(place: DumpPlace, form: FileFormat, names: Sequence[str] = ()) -> DumpReader:
    """Open a dump and read the names of its columns.

    Args:
        form: Its format as configured; type and compression are those of the file's name if it has none.
        names: The columns of an earlier dump, for formats whose rows need not have all of them.

    Raises:
        DumpRefused: It is truncated or damaged, or its format is not known, or does not fit the configured one.
    """
    path = place.path
    suffixes = [one.lower() for one in path.suffixes[-2:]]
    packed = next((_COMPRESSED[one] for one in suffixes[-1:] if one in _COMPRESSED), "none")
    kind = form.type or next((_TYPES[one] for one in reversed(suffixes) if one in _TYPES), None)
    if kind is None:
        raise place.refused(
            "its name does not say its format", f"{place.setting('type: csv')}, or jsonl, parquet or fixed"
        )
    if form.type is None:
        _check(place, form.model_copy(update={"type": kind}))
    changes: dict[str, object] = {"type": kind, "compression": form.compression or packed}
    if path.suffix.lower() == ".tsv" and "delimiter" not in form.model_fields_set:
        changes["delimiter"] = "\t"
    return READERS[kind](place, form.model_copy(update=changes), tuple(names))


def _check(place: DumpPlace, form: FileFormat) -> None:
    """Check the rules of a format whose type is that of the file's name.

    Files of one comparison may be of several types: keys of another one are not used.
    """
    try:
        if not place.once:
            form.check_keys()
        form.check_names()
    except PydanticCustomError as error:
        found = error.context or {}
        what, remedy = f"by its name it is {form.type}, and {found['what']}", f"{found['remedy']}, under `format`"
        raise place.refused(what, remedy if not place.once else f"{found['remedy']}, in --format") from None
