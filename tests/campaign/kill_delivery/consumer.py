"""A consumer of both sinks: it reads each batch once, in order, as soon as it is visible, and applies it.

JSON and Parquet are read here without qbcd and Spark, and typed values are compared with those of the database's own
driver.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

from pyarrow import parquet

from qbcd.model import BatchHeader
from tests.campaign.kill_delivery.child import STREAM
from tests.support.places import Row

Number = tuple[int, int]  # (epoch, batch_seq)
Stats = dict[Path, tuple[int, int, int]]


@dataclass(frozen=True)
class Event:
    """An event; images are tuples of the captured columns."""

    event_id: str
    op: str
    key: int
    changed: tuple[str, ...] | None
    before: Row | None
    after: Row | None


class Rows:
    """The rows that a consumer of one sink has after the batches that it has read."""

    def __init__(self, sink: str, base: Iterable[Row]) -> None:
        self.sink, self.rows = sink, {row[0]: row for row in base}

    def apply(self, number: Number, events: Sequence[Event]) -> None:
        """Apply a batch as a set."""
        where = f"{self.sink} {number}"
        assert len({event.key for event in events}) == len(events), f"{where}: a key occurs twice"
        for event in events:
            if event.op in "ud":
                old = self.rows.pop(event.key, None)
                assert old is not None, f"{where}: {event.op} of {event.key}, which the consumer does not have"
                assert event.before in (None, old), f"{where}: old values of {event.key} are not {old}"
        for event in events:
            assert (event.after is None) == (event.op == "d"), f"{where}: {event}"
            if event.after is not None:
                assert event.key not in self.rows, f"{where}: {event.op} of {event.key}, which is there"
                self.rows[event.key] = event.after

    def check(self, source: Iterable[Row]) -> None:
        """Check that the rows are those of the source, with their types."""
        wanted = {row[0]: row for row in source}
        if self.rows != wanted:
            keys = [k for k in {**self.rows, **wanted} if self.rows.get(k) != wanted.get(k)]
            shown = [(self.rows.get(key), wanted.get(key)) for key in keys[:3]]
            raise AssertionError(f"{self.sink}: {len(keys)} rows differ from the source, as (sink, source): {shown}")
        assert _types(self.rows.values()) == _types(wanted.values()), f"{self.sink}: other types than the source"


class Consumer:
    """A consumer of the sinks of stream ``s`` in `folder`.

    Attributes:
        read: The last batch read, by sink.
        events: Number of events read from both sinks.
    """

    def __init__(self, folder: Path, columns: Sequence[str], base: Iterable[Row]) -> None:
        self.folder, self.columns = folder / "out", tuple(columns)
        listed = list(base)
        self.sinks: dict[str, Rows] = {"changes": Rows("jsonl", map(_as_json, listed)), "lake": Rows("parquet", listed)}
        self.read: dict[str, Number] = dict.fromkeys(self.sinks, (0, 0))
        self.events = 0
        self._seen: Stats = {}  # files that somebody has read, which never change
        self._ids: dict[Number, list[tuple[Any, ...]]] = {}
        self._sealed: dict[Number, BatchHeader] = {}

    def expect(self, sealed: Iterable[BatchHeader]) -> None:
        """Note batches that must be delivered as they are now."""
        for header in sealed:
            known = self._sealed.setdefault((header.epoch, header.seq), header)
            assert known == header, f"batch {header.number} has changed"

    def take(self) -> None:
        """Read and apply what is newly visible; check that what was read before is still the same."""
        for path, stats in self._seen.items():
            assert _stats(path) == stats, f"{path} has changed"
        for sink, rows in self.sinks.items():
            for number, files in self._visible(sink):
                self._next(sink, number)
                events = list(self._jsonl(files[0]) if sink == "changes" else self._parquet(files))
                self._check_batch(sink, number, events)
                rows.apply(number, events)
                self._seen.update((path, _stats(path)) for path in files)
                self.events += len(events)

    def forget(self) -> None:
        """Remove the files of batches that both sinks have, as consumers do that need room; keep the last ones."""
        last = max(self.read.values())[1] - 1
        for path in list(self._seen):
            if _number(path)[1] < last:
                del self._seen[path]
                path.unlink()
                if path.suffix == ".parquet" and not list(path.parent.glob("*.parquet")):
                    (path.parent / "_SUCCESS").unlink()
                    path.parent.rmdir()
                elif path.suffix == ".jsonl":
                    path.with_name(f".{path.name}.fingerprint").unlink()

    def check(self, source: dict[int, Row]) -> None:
        """Check that both sinks have the same batches, and that replay gives the source."""
        assert len(set(self.read.values())) == 1, f"sinks have different batches: {self.read}"
        self.sinks["changes"].check(map(_as_json, source.values()))
        self.sinks["lake"].check(source.values())

    def _next(self, sink: str, number: Number) -> None:
        """Check that a batch is the next one of a sink."""
        epoch, seq = self.read[sink]
        assert number[1] == seq + 1, f"{sink}: batch {number} after {(epoch, seq)}"
        assert epoch in (0, number[0]), f"{sink}: another epoch {number} after {(epoch, seq)}"
        self.read[sink] = number

    def _check_batch(self, sink: str, number: Number, events: Sequence[Event]) -> None:
        wanted = [f"{STREAM}:{number[0]}:{number[1]}:{i}" for i in range(len(events))]
        assert [event.event_id for event in events] == wanted, f"{sink} {number}: event ids are not 0, 1, 2 .."
        brief = [(event.event_id, event.op, event.key, event.changed) for event in events]
        assert self._ids.setdefault(number, brief) == brief, f"{sink} {number}: other events than the other sink"
        if all(read >= number for read in self.read.values()):
            del self._ids[number]
        if number in self._sealed:
            header, note = self._sealed[number], json.loads(self._note(sink, number).read_text())
            assert note["fingerprint"] == header.fingerprint, f"{sink} {number}: another batch than was sealed"
            counts = {op: sum(event.op == op for event in events) for op in header.counts}
            assert counts == dict(header.counts), f"{sink} {number}: {counts} events, sealed were {header.counts}"
            assert sum(counts.values()) == len(events), f"{sink} {number}: events of other kinds"

    def _note(self, sink: str, number: Number) -> Path:
        if sink == "changes":
            return self.folder / sink / STREAM / f".{number[0]}-{number[1]:012d}.jsonl.fingerprint"
        return self.folder / sink / STREAM / f"epoch={number[0]}/batch_seq={number[1]}/_SUCCESS"

    def _visible(self, sink: str) -> list[tuple[Number, list[Path]]]:
        """Return the files of unread batches, by batch, in order."""
        root = self.folder / sink / STREAM
        if sink == "changes":
            found = {_number(path): [path] for path in root.glob("[!.]*") if path.is_file()}
        else:
            found = {}
            for folder in root.glob("epoch=*/batch_seq=*"):
                assert (folder / "_SUCCESS").is_file(), f"{folder} is visible and not complete"
                files = sorted(path for path in folder.iterdir() if path.name != "_SUCCESS")
                assert all(path.suffix == ".parquet" for path in files), f"other files in a batch: {files}"
                found[_number(folder / "file")] = files
        return sorted(item for item in found.items() if item[0] > self.read[sink])

    def _jsonl(self, path: Path) -> Iterator[Event]:
        with path.open(encoding="utf-8", newline="\n") as lines:
            for line in lines:
                assert line.endswith("\n"), f"{path} ends within a line"
                event = json.loads(line)
                changed, images = event["changed"], [self._image(event[side]) for side in ("before", "after")]
                yield Event(
                    event["event_id"],
                    event["op"],
                    event["key"]["id"],
                    None if changed is None else tuple(changed),
                    images[0],
                    images[1],
                )

    def _image(self, image: dict[str, Any] | None) -> Row | None:
        if image is None:
            return None
        assert tuple(image) == self.columns, f"other columns than captured: {list(image)}"
        return tuple(image.values())

    def _parquet(self, files: Sequence[Path]) -> Iterator[Event]:
        for file in files:
            table = parquet.ParquetFile(file).read()
            columns = [table[name].to_pylist() for name in ("event_id", "op", "changed")]
            keys = table["key"].combine_chunks().field("id").to_pylist()
            images = [self._images(table, side) for side in ("before", "after")]
            for event_id, op, changed, key, before, after in zip(*columns, keys, *images, strict=True):
                yield Event(event_id, op, key, None if changed is None else tuple(changed), before, after)

    def _images(self, table: Any, side: str) -> list[Row | None]:
        images = table[side].combine_chunks()
        assert tuple(field.name for field in images.type) == self.columns, images.type
        rows = zip(*(part.to_pylist() for part in images.flatten()), strict=True)
        return [row if there else None for row, there in zip(rows, images.is_valid().to_pylist(), strict=True)]


def _number(path: Path) -> Number:
    """Return the batch of a file of a sink."""
    if path.suffix == ".jsonl":
        epoch, seq = path.stem.split("-")
        return int(epoch), int(seq)
    return int(path.parent.parent.name[len("epoch=") :]), int(path.parent.name[len("batch_seq=") :])


def _stats(path: Path) -> tuple[int, int, int]:
    found = path.stat()
    return found.st_ino, found.st_size, found.st_mtime_ns


def _types(rows: Iterable[Row]) -> set[tuple[type, ...]]:
    return {tuple(map(type, row)) for row in rows}


_FORMS: dict[type, Callable[[Any], Any]] = {
    Decimal: str,
    dt.date: dt.date.isoformat,
    dt.datetime: lambda value: value.isoformat(timespec="microseconds"),
    bytes: lambda value: base64.b64encode(value).decode(),
}


def _as_json(row: Row) -> Row:
    """Return a row as JSON shows it."""
    return tuple(_FORMS[type(value)](value) if type(value) in _FORMS else value for value in row)
