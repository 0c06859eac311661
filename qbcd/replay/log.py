"""A log of events in files of the sinks `jsonl` and `parquet`.

Its batches are in order, and are checked before one is applied.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from qbcd.common.wording import batch_number, counted
from qbcd.errors import ConfigError, Refused
from qbcd.model import PART, WHOLE, BatchHeader, Consistency, ResentRows, Travel, digest_of
from qbcd.replay.jsonl_log import JsonlFile
from qbcd.replay.log_file import BatchKey, LogFile, Seen, place_of
from qbcd.replay.parquet_log import ParquetFile

_FILES: dict[str, type[LogFile]] = {".jsonl": JsonlFile, ".parquet": ParquetFile}


class Piece(NamedTuple):
    """A part of a batch: rows `first` to `last` of a file."""

    file: LogFile
    first: int
    last: int


@dataclass
class LoggedBatch:
    """A batch of a log.

    Attributes:
        key: Epoch, number and label.
        seen: Facts of its events.
        pieces: Its places in files, in order.
    """

    key: BatchKey
    seen: Seen
    pieces: list[Piece] = field(default_factory=list)

    @property
    def number(self) -> str:
        """Its name in messages."""
        return batch_number(self.key.epoch, self.key.seq) + (f".{self.key.label}" if self.key.label else "")

    @property
    def is_baseline(self) -> bool:
        """All of its events are rows that were there, and no part of them."""
        return set(self.seen.counts) == {"r"} and not self.key.label.startswith(PART)

    def header(self, columns: Sequence[tuple[str, Travel]]) -> BatchHeader:
        """Return the batch's header, with the forms of its columns."""
        seen, source = self.seen, self.seen.source
        known: dict[str, Any] = {
            "stream": seen.stream,
            "epoch": self.key.epoch,
            "seq": self.key.seq,
            "ts_ms": seen.ts_ms,
            "counts": dict(seen.counts),
            "sinks": (),
            "fingerprint": self.fingerprint,
            "source": str(source["name"]),
            "table": str(source["table"]),
            "strategy": str(source["strategy"]),
            "consistency": _consistency(source["consistency"]),
            "key": tuple(seen.key or ()),
            "columns": tuple(columns),
            "before": not seen.lacks_old,
            "one_row": seen.key == (),
        }
        return ResentRows(**known, label=self.key.label) if self.key.label else BatchHeader(**known)

    @property
    def fingerprint(self) -> str:
        """A fingerprint that is the same for all files with these events.

        Ids are equal only for equal events.
        """
        return digest_of([self.seen.stream, *self.key, sorted(self.seen.counts.items()), self.seen.ts_ms])


def _consistency(text: Any) -> Consistency:
    return "snapshot" if text == "snapshot" else "statement" if text == "statement" else "range"


def files_of(named: Iterable[Path]) -> list[LogFile]:
    """Return the files of a log, those of folders included.

    Raises:
        ConfigError: A file does not exist, or has another ending.
    """
    found: dict[Path, None] = {}
    for path in named:
        if path.is_dir():
            inside = [one for one in sorted(path.rglob("*")) if one.suffix in _FILES and not _is_hidden(one, path)]
            if not inside:
                raise ConfigError(f"{path} has no files of events", remedy="name a folder of a sink jsonl or parquet")
            found |= dict.fromkeys(inside)
        elif not path.is_file():
            raise ConfigError(f"{path} does not exist", remedy="check the path")
        elif path.suffix not in _FILES:
            raise ConfigError(f"{path} is no file of events", remedy=f"its name must end in {' or '.join(_FILES)}")
        else:
            found[path] = None
    if not found:
        raise ConfigError("no files are named", remedy="name files or folders of a sink jsonl or parquet")
    return [_FILES[path.suffix](path) for path in found]


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part[0] in "._" for part in path.relative_to(folder).parts)


def batches_of(files: Sequence[LogFile]) -> list[LoggedBatch]:
    """Return the batches of files, in order.

    Raises:
        Refused: A file is cut off or no log of events, events or batches are missing, or they are of several streams.
    """
    ordered = sorted(files, key=lambda file: file.first())
    found: dict[BatchKey, LoggedBatch] = {}
    for file in ordered:
        for key, seen, first, last in file.runs():
            _join(found, key, seen, Piece(file, first, last))
    batches = sorted(found.values(), key=lambda batch: batch.key.order)
    _refuse_mixed(batches)
    _refuse_gaps(batches)
    for batch in batches:
        _refuse_incomplete(batch)
    return batches


def _join(found: dict[BatchKey, LoggedBatch], key: BatchKey, seen: Seen, piece: Piece) -> None:
    """Add a run of events to its batch."""
    batch = found.get(key)
    wanted = 0 if batch is None else batch.seen.size
    if seen.first_ordinal != wanted:
        number = LoggedBatch(key, seen).number
        raise Refused(
            f"event {seen.first_ordinal} of batch {number} follows event {wanted - 1}"
            if wanted
            else f"batch {number} begins with event {seen.first_ordinal}",
            where=place_of(piece.file.path, piece.first),
            remedy="name each file of the log once, and all of them",
        )
    if batch is None:
        found[key] = LoggedBatch(key, seen, [piece])
    else:
        batch.seen.extend(seen)
        batch.pieces.append(piece)


def _refuse_mixed(batches: Sequence[LoggedBatch]) -> None:
    for batch in batches[1:]:
        if batch.seen.stream != batches[0].seen.stream:
            raise Refused(
                f"this is a log of stream {batch.seen.stream}, and another file is of stream {batches[0].seen.stream}",
                where=str(batch.pieces[0].file.path),
                remedy="replay each stream into a table of its own",
            )


def _refuse_gaps(batches: Sequence[LoggedBatch]) -> None:
    """Refuse missing batches; the rows of a replica and a new epoch need none before them."""
    for before, after in pairwise(batches):
        if after.key.epoch != before.key.epoch or after.key.label.startswith(WHOLE):
            continue
        wanted = before.key.seq + (0 if after.key.label else 1)
        if after.key.seq != wanted:
            raise Refused(
                f"batch {after.number} follows batch {before.number}: the batches between are missing",
                where=str(after.pieces[0].file.path),
                remedy="name their files too",
            )


def _refuse_incomplete(batch: LoggedBatch) -> None:
    """Compare a batch with the number of events that its sink noted.

    A missing note, or one of another batch, is not compared.
    """
    for file in (piece.file for piece in batch.pieces if piece.file.batches == 1):
        if (noted := file.noted()) not in (None, batch.seen.size):
            raise Refused(
                f"{counted(batch.seen.size, 'event')} of batch {batch.number} are there, and its sink wrote {noted:,}",
                where=str(file.path),
                remedy="copy its files again, as a whole",
            )


def events_of(batch: LoggedBatch, header: BatchHeader) -> Iterator[Any]:
    """Yield the typed events of a batch, in pieces."""
    for piece in batch.pieces:
        yield from piece.file.events(header, piece.first, piece.last)
