"""Values that a sink cannot hold, found in the files of a batch.

They are refused before the batch is committed. The files are read in this process, whichever engine wrote them, and
only the columns in question.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet

from qbcd.errors import UnsupportedType
from qbcd.model import StreamPlan, Travel
from qbcd.model.value_limits import ValueClass, words_of_text
from qbcd.sites.doubts import doubts_of
from qbcd.sites.refusals import FoundValue, key_shown, value_error
from qbcd.sites.values import Settings

Find = Callable[[pa.Array], int]  # returns the place of the first value that is looked for, or -1


def unsupported_in(files: Sequence[Path], plan: StreamPlan, settings: Settings) -> UnsupportedType | None:
    """Return the refusal of the first value in a batch that a sink cannot hold.

    The limits of the sinks decide.
    """
    for doubt in doubts_of(plan, settings):
        for field in doubt.fields:

            def find(values: pa.Array, kind: ValueClass = doubt.kind, longest: int = doubt.longest) -> int:
                return int(pc.index(_is_of_class(kind, values, longest), True).as_py())

            if (key := _key_of_first(files, plan, field, find)) is not None:
                found = FoundValue(doubt.position, doubt.words, key, field.startswith("b"), doubt.sink)
                return value_error(plan, settings, found)
    return None


def first_text(files: Sequence[Path], plan: StreamPlan, field: str) -> FoundValue | None:
    """Return the first value of a field of events that the type of its column does not have.

    None if there is none, or if there are no words for it.
    """
    position = int(field.partition("_")[2])
    travel, words = plan.captured[position].travel, list[str]()
    key = _key_of_first(files, plan, field, lambda values: _first_misfit(values, travel, words))
    return None if key is None else FoundValue(position, words[0], key, field.startswith("b"))


def _first_misfit(values: pa.Array, travel: Travel, words: list[str]) -> int:
    for place, text in enumerate(values.to_pylist()):
        if text is not None and (found := words_of_text(travel, str(text))):
            words.append(found)
            return place
    return -1


def _key_of_first(files: Sequence[Path], plan: StreamPlan, field: str, find: Find) -> str | None:
    """Return the key of the first event whose value is found, as messages have it.

    Return None without one.
    """
    keys = [f"{side}_{i}" for i in range(len(plan.key)) for side in "ab"]
    for rows in _pieces(files, list(dict.fromkeys([field, *keys]))):
        place = find(rows.column(field))
        if place >= 0:
            values = [rows.column(name)[place].as_py() for name in keys]
            pairs = zip(values[::2], values[1::2], strict=True)
            return key_shown(plan, [old if new is None else new for new, old in pairs])
    return None


def _pieces(files: Sequence[Path], columns: list[str]) -> Iterator[pa.RecordBatch]:
    for file in files:
        with parquet.ParquetFile(file) as opened:
            yield from opened.iter_batches(columns=columns)


def _is_of_class(kind: ValueClass, values: pa.Array, longest: int) -> pa.Array:
    if kind == "nul":
        return pc.match_substring(values, "\0")
    if kind == "nan":
        return pc.is_nan(values)
    if kind == "infinity":
        return pc.is_inf(values)
    return pc.greater(pc.binary_length(values) if pa.types.is_binary(values.type) else pc.utf8_length(values), longest)
