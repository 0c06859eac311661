"""A log of events in files of the sinks `jsonl` and `parquet`.

Its batches are in order, and are checked before one is applied.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from qbcd.common.wording import batch_number, counted
from qbcd.errors import ConfigError, Refused
from qbcd.model import PART, WHOLE, BatchHeader, Consistency, ResentRows, Travel, digest_of
from qbcd.replay.jsonl_log import JsonlFile
from qbcd.replay.log_file import BatchKey, LogFile, Seen, place_of
from qbcd.replay.parquet_log import ParquetFile
from qbcd.sinks.stored.parquet_files import MARKER
from qbcd.stores.folders import read_json

_FILES: dict[str, type[LogFile]] = {".jsonl": JsonlFile, ".parquet": ParquetFile}
# A file of JSON lines or a folder of Parquet files, in the folder of its stream; and such a folder of a resend.
_TARGET = re.compile(r"([^/]+)/(?:epoch=)?([0-9]+)(?:/batch_seq=|-)([0-9]+)(?:\.jsonl)?")
_RESENT = re.compile(rf".+\.({WHOLE}|{PART})[0-9]+")


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
    def place(self) -> str:
        """Its first file, for messages; empty without events."""
        return str(self.pieces[0].file.path) if self.pieces else ""

    @property
    def is_baseline(self) -> bool:
        """All of its events are rows that were there, and no part of them."""
        return set(self.seen.counts) == {"r"} and not self.key.label.startswith(PART)

    @property
    def can_be_first(self) -> bool:
        """It can be the first of a source without rows: a baseline, or all rows since then."""
        ops = set(self.seen.counts)
        return self.is_baseline or ("d" not in ops and ("u" not in ops or self.seen.lacks_old))

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
        seen = self.seen
        return digest_of([seen.stream, *self.key, sorted(seen.counts.items()), seen.ts_ms if seen.size else 0])


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
            if not inside and not empty_batches([path]):
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
    files = [_FILES[path.suffix](path) for path in found]
    return [file for file in files if not (_empty(_target_of(file.path)) and file.has_no_events())]


def empty_batches(named: Iterable[Path]) -> set[tuple[int, int]]:
    """Return epoch and number of the batches that have no events, by the notes of their sinks."""
    found: set[tuple[int, int]] = set()
    for path in named:
        inside = [*path.rglob("*.jsonl"), *path.rglob(MARKER)] if path.is_dir() else [path]
        for one in inside:
            found |= _empty(_target_of(one))
    return found


def _target_of(path: Path) -> Path:
    """Return a file of JSON lines itself, and the folder of another one."""
    return path if path.suffix == ".jsonl" else path.parent


def _empty(target: Path) -> set[tuple[int, int]]:
    """Return the batches without events of a file of lines, or of a folder of Parquet."""
    match = _TARGET.fullmatch("/".join(target.absolute().parts[-3 if target.suffix != ".jsonl" else -2 :]))
    note = read_json(JsonlFile(target).note if target.suffix == ".jsonl" else target / MARKER)
    if match is None or not note or _RESENT.fullmatch(match[1]):
        return set()
    epoch, last = int(match[2]), int(match[3])
    batches = note.get("batches", [[last, "", note.get("events")]])
    return {(epoch, seq) for seq, _, events in batches if events == 0}


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part[0] in "._" for part in path.relative_to(folder).parts)


def batches_of(
    files: Sequence[LogFile], empty: Collection[tuple[int, int]] = (), *, every: bool = False
) -> list[LoggedBatch]:
    """Return the batches of files, in order.

    Args:
        empty: Epochs and numbers of batches without events, which no file has.
        every: Every event counts, so that the rows of a replica do not stand for batches before them.

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
    if not batches:
        raise Refused("the files have no events", remedy="name the files of other batches too")
    batches = _with_empty(batches, empty)
    _refuse_gaps(batches, every=every)
    for batch in batches:
        _refuse_incomplete(batch)
    return batches


def _join(found: dict[BatchKey, LoggedBatch], key: BatchKey, seen: Seen, piece: Piece) -> None:
    """Add a run of events to its batch."""
    batch, number = found.get(key), LoggedBatch(key, seen).number
    refusal = Refused(
        f"event {seen.first_ordinal} of batch {number} follows event {batch.seen.last_ordinal}"
        if batch is not None
        else f"batch {number} begins with event {seen.first_ordinal}",
        where=place_of(piece.file.path, piece.first),
        remedy="name each file of the log once, and all of them",
    )
    if batch is None:
        if seen.first_ordinal and not seen.may_wait:
            raise refusal
        seen.gap = refusal if seen.first_ordinal else seen.gap
        found[key] = LoggedBatch(key, seen, [piece])
    else:
        batch.seen.extend(seen, refusal)
        batch.pieces.append(piece)


def _with_empty(batches: Sequence[LoggedBatch], empty: Collection[tuple[int, int]]) -> list[LoggedBatch]:
    """Return batches, with those without events in an epoch that has some with events.

    They have the columns of the batch before, or else of the one after.
    """
    found = list(batches)
    known = {batch.key[:2] for batch in batches if not batch.key.label}
    for epoch, seq in sorted(set(empty) - known):
        near = [batch for batch in batches if batch.key.epoch == epoch]
        if near:
            like = max((one for one in near if one.key.seq <= seq), key=lambda one: one.key.order, default=near[0]).seen
            source = {**like.source, "batch_seq": seq}
            seen = replace(like, source=source, counts=Counter(), gap=None, lacks_old=False)
            found.append(LoggedBatch(BatchKey(epoch, seq), seen))
    return sorted(found, key=lambda batch: batch.key.order)


def _refuse_mixed(batches: Sequence[LoggedBatch]) -> None:
    for batch in batches[1:]:
        if batch.seen.stream != batches[0].seen.stream:
            raise Refused(
                f"this is a log of stream {batch.seen.stream}, and another file is of stream {batches[0].seen.stream}",
                where=batch.place,
                remedy="replay each stream into a table of its own",
            )


def _refuse_gaps(batches: Sequence[LoggedBatch], *, every: bool) -> None:
    """Refuse missing batches.

    A new epoch needs none before it; the rows of a replica do not either, unless every event counts.
    """
    for before, after in pairwise(batches):
        if after.key.epoch != before.key.epoch or (after.key.label.startswith(WHOLE) and not every):
            continue
        wanted = before.key.seq + (0 if after.key.label else 1)
        if after.key.seq != wanted:
            raise Refused(
                f"batch {after.number} follows batch {before.number}: the batches between are missing",
                where=after.place,
                remedy="name their files too",
            )


def _refuse_incomplete(batch: LoggedBatch) -> None:
    """Compare a batch with the number of events that its sink noted.

    A missing note is not compared, unless ordinals are missing: they can be those of events that waited.
    """
    is_proven = False
    for file in (piece.file for piece in batch.pieces):
        noted = file.noted(batch.key.seq)
        if noted not in (None, batch.seen.size):
            raise Refused(
                f"{counted(batch.seen.size, 'event')} of batch {batch.number} are there, and its sink wrote {noted:,}",
                where=str(file.path),
                remedy="copy its files again, as a whole",
            )
        is_proven = is_proven or noted is not None
    if batch.seen.gap is not None and not is_proven:
        raise batch.seen.gap


def events_of(batch: LoggedBatch, header: BatchHeader) -> Iterator[Any]:
    """Yield the typed events of a batch, in pieces."""
    for piece in batch.pieces:
        yield from piece.file.events(header, piece.first, piece.last)
