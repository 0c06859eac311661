"""Frozen values that the stream store returns, and their text form in a row."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, TypeVar

from qbcd.errors import StateConflict
from qbcd.model import BatchHeader, KeyRange, travel_from_json
from qbcd.model.checkpoint import Entry


@dataclass(frozen=True)
class StreamRow:
    """The row that holds the state of one stream.

    Attributes:
        epoch: UTC second of the last `prepare`; 0 before the first.
        version: Number of committed steps; the compare-and-set compares it.
        fencing_token: Number of owners that the stream's lease has had.
        last_batch_seq: Number of the last sealed batch; it continues after a reset.
        prepared: The baseline is complete.
        checkpoint: Everything else that the strategy and the site must remember, JSON-ready.
        next_range_id: The lowest range id that was never used.
        advanced_by: Fencing token of the owner that committed `version`.
    """

    project_id: str
    stream: str
    epoch: int
    version: int
    fencing_token: int
    last_batch_seq: int
    prepared: bool
    checkpoint: Mapping[str, Any] = field(default_factory=dict)
    next_range_id: int = 1
    advanced_by: int = 0

    def next_epoch(self, now_s: int) -> int:
        """Return the epoch of a `prepare` at `now_s`; it is always above the last one."""
        return max(now_s, self.epoch + 1)


@dataclass(frozen=True)
class StoredRange(KeyRange):
    """A range as stored.

    Attributes:
        segment: The base segment with the range's rows, or None.
        last_visited: Last visit in seconds of the store's clock, 0 for never.
        pages: Pages of the captured table that hold the range's rows, when they were last counted; None if never.
        moved: Changes of its rows since then; each may have put a row on another page.
    """

    segment: str | None = None
    last_visited: float = 0.0
    pages: int | None = None
    moved: int = 0


@dataclass(frozen=True)
class RangePages:
    """Stored page counts of a stream's ranges.

    Attributes:
        counted: Number of ranges whose pages are counted.
        total: Their pages; a page with rows of two ranges counts twice.
        most: Pages of the largest one.
    """

    counted: int
    total: int
    most: int


@dataclass(frozen=True)
class Visits:
    """Progress of a pass over a stream's ranges.

    Attributes:
        visited: Number of ranges that the pass has visited.
        oldest: Seconds of the store's clock at the oldest last visit of a range; 0 if one was never visited.
        pages: Page counts of the ranges; None if none is stored.
    """

    ranges: int
    visited: int
    oldest: float
    pages: RangePages | None = None


@dataclass(frozen=True)
class Segment:
    """A base segment of a Parquet replica.

    Attributes:
        files: One mapping per file: ``path``, ``size`` and further entries of the writer.
        folded_through: The last batch number that was compacted into the segment.
        token: Fencing token of its writer.
    """

    segment_id: str
    epoch: int
    files: tuple[Mapping[str, Any], ...]
    rows: int
    folded_through: int
    token: int


@dataclass(frozen=True)
class Pin:
    """A reader's pin: files of `version` are kept until `until` (seconds of the store's clock)."""

    pin_id: str
    stream: str
    version: int
    until: float


def dump(data: Any) -> str:
    """Return JSON text without characters that a text column could refuse."""
    return json.dumps(data, sort_keys=True, ensure_ascii=True, allow_nan=False)


def stream_values(row: StreamRow) -> dict[str, Any]:
    """Return the columns of a stream's row."""
    values = {f.name: getattr(row, f.name) for f in fields(row)}
    return {**values, "checkpoint": dump(_renamed(row.checkpoint, "lake", "spark", of=("ts",)))}


def stream_row(values: Mapping[str, Any]) -> StreamRow:
    """Return a stream's row from its columns."""
    return StreamRow(**{**values, "checkpoint": _renamed(json.loads(values["checkpoint"]), "spark", "lake")})


def _renamed(
    checkpoint: Mapping[str, Any], old: str, new: str, *, of: tuple[str, ...] = ("ts", "tlcs")
) -> dict[str, Any]:
    """Return a checkpoint with another word for the place of the replica of strategies `of`.

    The lake is stored as `spark` for ts, and as `lake` for tlcs.
    """
    requested = checkpoint.get(Entry.REQUESTED) or {}
    options = requested.get("options") or {}
    if requested.get("strategy") not in of or options.get("replica") != old:
        return dict(checkpoint)
    return {**checkpoint, Entry.REQUESTED: {**requested, "options": {**options, "replica": new}}}


_OF_VIEWS = ("added", "selected", "part")  # of a header


def batch_to_json(header: BatchHeader) -> dict[str, Any]:
    """Return a batch header as JSON-ready data."""
    data = {f.name: getattr(header, f.name) for f in fields(header) if f.name not in _OF_VIEWS}
    columns = [[name, travel.to_json()] for name, travel in header.columns]
    return {**data, "counts": dict(header.counts), "location": dict(header.location), "columns": columns}


def batch_from_json(data: Mapping[str, Any]) -> BatchHeader:
    """Return a batch header from JSON data."""
    columns = tuple((name, travel_from_json(travel)) for name, travel in data["columns"])
    lists = {"sinks": tuple(data["sinks"]), "key": tuple(data["key"]), "columns": columns}
    return BatchHeader(**{**data, **lists})


def range_values(stream: str, item: StoredRange) -> dict[str, Any]:
    """Return the columns of a range's row."""
    return {
        "stream": stream,
        "range_id": item.range_id,
        "lo": None if item.lo is None else dump(list(item.lo)),
        "hi": None if item.hi is None else dump(list(item.hi)),
        "rows": item.rows,
        "checksum": str(item.checksum),
        "segment": item.segment,
        "last_visited": item.last_visited,
    }


def range_row(values: Mapping[str, Any]) -> StoredRange:
    """Return a range from its columns."""
    return StoredRange(
        range_id=values["range_id"],
        lo=None if values["lo"] is None else tuple(json.loads(values["lo"])),
        hi=None if values["hi"] is None else tuple(json.loads(values["hi"])),
        rows=values["rows"],
        checksum=int(values["checksum"]),
        segment=values["segment"],
        last_visited=values["last_visited"],
        pages=values.get("pages"),
        moved=values.get("moved") or 0,
    )


def segment_values(stream: str, item: Segment) -> dict[str, Any]:
    """Return the columns of a segment's row."""
    values = {f.name: getattr(item, f.name) for f in fields(item)}
    return {**values, "stream": stream, "files": dump([dict(f) for f in item.files])}


def segment_row(values: Mapping[str, Any]) -> Segment:
    """Return a segment from its columns."""
    kept = {name: value for name, value in values.items() if name != "stream"}
    return Segment(**{**kept, "files": tuple(json.loads(values["files"]))})


_Range = TypeVar("_Range", bound=KeyRange)


def in_key_order(stream: str, ranges: Sequence[_Range]) -> list[_Range]:
    """Return the ranges from the lowest key to the highest, by the texts of their bounds.

    Python never orders keys. But the text of a range's upper bound is equal to that of the next range's lower bound.

    Raises:
        StateConflict: They do not cover the key space exactly once.
    """
    by_lo = {item.lo: item for item in ranges}
    ordered: list[_Range] = []
    bound: tuple[str, ...] | None = None
    while by_lo and bound in by_lo:
        item = by_lo.pop(bound)
        ordered.append(item)
        bound = item.hi
        if bound is None:
            break
    if len(ordered) != len(ranges) or bound is not None:
        raise StateConflict(
            f"the stored {len(ranges)} key ranges have a gap or overlap",
            remedy=f"qbcd reset {stream}, then prepare it again",
            stream=stream,
        )
    return ordered


def merge_ranges(groups: Sequence[Sequence[StoredRange]], next_id: int) -> list[StoredRange]:
    """Merge each group of neighbors into one range with a new id and the oldest visit."""
    after: list[StoredRange] = []
    for group in groups:
        if len(group) == 1:
            after += group
            continue
        rows, checksum, visited = zip(*((r.rows, r.checksum, r.last_visited) for r in group), strict=True)
        lo, hi, pages = group[0].lo, group[-1].hi, [r.pages for r in group if r.pages is not None]
        known = sum(pages) if len(pages) == len(group) else None  # a page with rows of two ranges counts twice
        moved = sum(r.moved for r in group)
        merged = StoredRange(next_id, lo, hi, sum(rows), sum(checksum), last_visited=min(visited))
        after.append(replace(merged, pages=known, moved=moved))
        next_id += 1
    return after
