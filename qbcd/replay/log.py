"""A log of events in files of the sinks `jsonl` and `parquet`.

    files -> events, each added to its batch -> compared with the notes of the sinks -> batches in order

A note says how many events a batch has. So each batch that is known is one of these, before any is applied:

    whole      its events are there; ordinals may be missing if it has a note, since those events are in later batches
    empty      its note says that it has no events, as if all of them waited for a row of a lookup
    refused    events or files are missing, or no file and no note has its number
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

from qbcd.common.wording import counted
from qbcd.errors import ConfigError, Refused
from qbcd.model import PART, WHOLE, BatchHeader, Consistency, ResentRows, Travel, digest_of
from qbcd.replay.jsonl_log import JsonlFile
from qbcd.replay.log_file import BatchKey, EventFacts, LogFile, foreign, place_of
from qbcd.replay.parquet_log import ParquetFile
from qbcd.sinks.stored.parquet_files import MARKER
from qbcd.stores.folders import read_json

_FILES: dict[str, type[LogFile]] = {".jsonl": JsonlFile, ".parquet": ParquetFile}
# A note, in the folder of its stream or of a resend: of a file of JSON lines, or of a folder of Parquet files.
_NOTE = re.compile(
    rf"([^/]+?)(?:\.((?:{WHOLE}|{PART})[0-9]+))?/"
    rf"(?:\.([0-9]+)-([0-9]+)\.jsonl\.fingerprint|epoch=([0-9]+)/batch_seq=([0-9]+)/{MARKER})"
)
Notes = dict[Path, set[BatchKey]]  # each note with the batches of its files


@dataclass
class Piece:
    """A part of a batch: rows `first` to `last` of a file."""

    file: LogFile
    first: int
    last: int


@dataclass
class LoggedBatch:
    """A batch of a log.

    Attributes:
        source: Of its events.
        names: Names of the key columns; empty for a result of one row, None for rows without a key.
        may_wait: Events can have waited for a row of a lookup; they are in a later batch then.
        pieces: Its places in files, in order; none without events.
        lacks_old: Some update or delete has no old values.
        kinds: By column, the kinds of its values or the form that the file gives.
        last_ordinal: The ordinal of the last event.
        gap: The refusal of the first ordinals that are missing.
    """

    key: BatchKey
    stream: str
    source: Any
    ts_ms: int
    names: tuple[str, ...] | None
    may_wait: bool
    pieces: list[Piece] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    lacks_old: bool = False
    kinds: dict[str, set[Any]] = field(default_factory=dict)
    last_ordinal: int = -1
    gap: Refused | None = None

    @classmethod
    def begun_by(cls, event: EventFacts) -> LoggedBatch:
        """Return the batch of an event, still without events."""
        return cls(event.key, event.stream, event.source, event.ts_ms, event.names, event.may_wait)

    def add(self, file: LogFile, event: EventFacts) -> None:
        """Add the next event.

        Raises:
            Refused: The batch has it, or it has another key.
        """
        if event.names != self.names:
            raise foreign(file.path, event.place, "op, key and images do not match")
        if event.ordinal != self.last_ordinal + 1:
            before = f"follows event {self.last_ordinal}" if self.counts else "is its first one"
            what = f"event {event.ordinal} of batch {self.key.number} {before}: events are missing, or there twice"
            where = place_of(file.path, event.place)
            found = Refused(what, where=where, remedy="name each file of the log once, and all of them as a whole")
            if event.ordinal <= self.last_ordinal:
                raise found
            self.gap = self.gap or found
        last = self.pieces[-1] if self.pieces else None
        if last is not None and last.file is file and last.last == event.place:
            last.last += 1
        else:
            self.pieces.append(Piece(file, event.place, event.place + 1))
        self.last_ordinal = event.ordinal
        self.counts[event.op] += 1
        self.lacks_old = self.lacks_old or event.lacks_old
        for name, kinds in event.kinds:
            self.kinds.setdefault(name, set()).update(kinds)

    def without_events(self, key: BatchKey) -> LoggedBatch:
        """Return a batch without events, and with the columns of this one."""
        return replace(self, key=key, pieces=[], counts=Counter(), lacks_old=False, gap=None)

    @property
    def size(self) -> int:
        """Number of events."""
        return sum(self.counts.values())

    @property
    def place(self) -> str:
        """Its first file, for messages; empty without events."""
        return str(self.pieces[0].file.path) if self.pieces else ""

    @property
    def is_baseline(self) -> bool:
        """It has all rows that there were, and no part of them."""
        is_of_rows = set(self.counts) == {"r"} and not self.key.label
        return is_of_rows or self.key.label.startswith(WHOLE)

    @property
    def can_be_first(self) -> bool:
        """It can be the first of a source without rows: a baseline, or all rows since then."""
        ops = set(self.counts)
        return self.is_baseline or ("d" not in ops and ("u" not in ops or self.lacks_old))

    def header(self, columns: Sequence[tuple[str, Travel]]) -> BatchHeader:
        """Return the batch's header, with the forms of its columns."""
        known: dict[str, Any] = {
            "stream": self.stream,
            "epoch": self.key.epoch,
            "seq": self.key.seq,
            "ts_ms": self.ts_ms,
            "counts": dict(self.counts),
            "sinks": (),
            "fingerprint": self.fingerprint,
            "source": str(self.source["name"]),
            "table": str(self.source["table"]),
            "strategy": str(self.source["strategy"]),
            "consistency": _consistency(self.source["consistency"]),
            "key": tuple(self.names or ()),
            "columns": tuple(columns),
            "before": not self.lacks_old,
            "one_row": self.names == (),
        }
        return ResentRows(**known, label=self.key.label) if self.key.label else BatchHeader(**known)

    @property
    def fingerprint(self) -> str:
        """A fingerprint that is the same for all files with these events.

        Ids are equal only for equal events.
        """
        return digest_of([self.stream, *self.key, sorted(self.counts.items()), self.ts_ms if self.size else 0])


def _consistency(text: Any) -> Consistency:
    return "snapshot" if text == "snapshot" else "statement" if text == "statement" else "range"


def batches_of(named: Iterable[Path], *, every: bool = False) -> list[LoggedBatch]:
    """Return the batches of a log, in order.

    Args:
        named: Its files, or folders with them.
        every: Every event counts, so that the rows of a replica do not stand for batches before them.

    Raises:
        ConfigError: A file does not exist, or has another ending.
        Refused: A file is cut off or no log of events, events or batches are missing, or they are of several streams.
    """
    files, notes = _files_of(named)
    found: dict[BatchKey, LoggedBatch] = {}
    stream = ""
    for file in _ordered(files):
        batch: LoggedBatch | None = None
        for event in file.facts():
            stream = stream or event.stream
            if event.stream != stream:
                raise Refused(
                    f"this is a log of stream {event.stream}, and another file is of stream {stream}",
                    where=str(file.path),
                    remedy="replay each stream into a table of its own",
                )
            if batch is None or event.key != batch.key:
                batch = found.setdefault(event.key, LoggedBatch.begun_by(event))
                notes[file.note].add(event.key)
            batch.add(file, event)
    noted = _noted(notes, stream)
    if not found:
        raise Refused("the files have no events", remedy="name the files of other batches too")
    batches = _whole(found, noted)
    _refuse_gaps(batches, every=every)
    return batches


def events_of(batch: LoggedBatch, header: BatchHeader) -> Iterator[Any]:
    """Yield the typed events of a batch, in pieces."""
    for piece in batch.pieces:
        yield from piece.file.events(header, piece.first, piece.last)


def _files_of(named: Iterable[Path]) -> tuple[list[LogFile], Notes]:
    """Return the files of a log and the notes about them, those in folders included.

    Raises:
        ConfigError: A file does not exist, or has another ending.
    """
    found: dict[Path, None] = {}
    notes: Notes = {}
    for path in named:
        if path.is_dir():
            inside = [one for one in sorted(path.rglob("*")) if not _is_hidden(one.parent, path)]
            files = [one for one in inside if one.suffix in _FILES and one.name[0] not in "._"]
            marks = [one for one in inside if one.name == MARKER and _NOTE.search(one.absolute().as_posix())]
            if not files and not marks:
                raise ConfigError(f"{path} has no files of events", remedy="name a folder of a sink jsonl or parquet")
            found |= dict.fromkeys(files)
            notes |= {mark: set() for mark in marks}
        elif not path.is_file():
            raise ConfigError(f"{path} does not exist", remedy="check the path")
        elif path.suffix not in _FILES:
            raise ConfigError(f"{path} is no file of events", remedy=f"its name must end in {' or '.join(_FILES)}")
        else:
            found[path] = None
    if not found and not notes:
        raise ConfigError("no files are named", remedy="name files or folders of a sink jsonl or parquet")
    made = [_FILES[path.suffix](path) for path in found]
    return made, notes | {file.note: set() for file in made}


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part[0] in "._" for part in path.relative_to(folder).parts)


def _ordered(files: Iterable[LogFile]) -> list[LogFile]:
    """Return the files that have events, by the first one."""
    firsts = [(event.key.order, event.ordinal, i, file) for i, file in enumerate(files) if (event := file.first())]
    return [file for *_, file in sorted(firsts, key=lambda one: one[:3])]


def _noted(notes: Notes, stream: str) -> dict[BatchKey, tuple[int, Path]]:
    """Return the number of events of each batch by its sink's note, and the note's target.

    Raises:
        Refused: Files without events have no note, or a folder of Parquet files is not complete.
    """
    found: dict[BatchKey, tuple[int, Path]] = {}
    known = {_folder_of(path) for path, keys in notes.items() if keys}
    for path, keys in notes.items():
        note, place = read_json(path), _target_of(path)
        name = _NOTE.search(path.absolute().as_posix())
        if name is not None and path.name == MARKER and note is None:
            raise Refused(
                f"the folder has no {MARKER}: its batch is not complete",
                where=str(place),
                remedy="copy the folder again, as a whole",
            )
        if not keys and (name is None or not note):
            raise foreign(place, None, "the file is empty, and no note of its sink says so")
        if not note or (not keys and name and name[1] != stream and _folder_of(path) not in known):
            continue  # another stream without events
        key = next(iter(keys), None) or _key_of(name)
        if "batches" in note:
            found |= {key._replace(seq=seq): (events, place) for seq, _, events in note["batches"]}
        elif len(keys) < 2 and isinstance(note.get("events"), int):
            found[key] = note["events"], place
    return found


def _key_of(name: Any) -> BatchKey:
    """Return the batch that a note has in its name."""
    return BatchKey(int(name[3] or name[5]), int(name[4] or name[6]), name[2] or "")


def _target_of(note: Path) -> Path:
    """Return the file or folder that a note is about."""
    return note.parent if note.name == MARKER else note.with_name(note.name[1:].removesuffix(".fingerprint"))


def _folder_of(note: Path) -> Path:
    """Return the folder of the stream."""
    return note.parents[2 if note.name == MARKER else 0]


def _whole(found: dict[BatchKey, LoggedBatch], noted: dict[BatchKey, tuple[int, Path]]) -> list[LoggedBatch]:
    """Return the batches in order, with those that have no events by their notes.

    These have the columns of the batch before, or else of the first one.

    Raises:
        Refused: Events are missing.
    """
    for key, (events, place) in noted.items():
        size = found[key].size if key in found else 0
        if size != events:
            raise Refused(
                f"{counted(size, 'event')} of batch {key.number} are there, and its sink wrote {events:,}",
                where=found[key].place if key in found else str(place),
                remedy="copy its files again, as a whole",
            )
    batches = sorted(found.values(), key=lambda batch: batch.key.order)
    for batch in batches:
        if batch.gap is not None and not (batch.may_wait and batch.key in noted):
            raise batch.gap
    empty = []
    for key in noted.keys() - found.keys():
        before = [batch for batch in batches if batch.key.order < key.order]
        empty.append((before or batches[:1])[-1].without_events(key))
    return sorted([*batches, *empty], key=lambda batch: batch.key.order)


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
                f"batch {after.key.number} follows batch {before.key.number}: the batches between are missing",
                where=after.place,
                remedy="name their files too",
            )
