"""Stored state of a project, read by the names of version 0.1, not by the code under test."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.support.places import Place

IN_SOURCE = ("mds", "ts", "tdi", "atdi", "tlcs", "id", "vbd")
KINDS = {"fetch", "batch", "segment", "leaves"}  # of folders in the workdir


@dataclass(frozen=True)
class Stored:
    """The rows of one stream.

    Attributes:
        row: Of table ``stream``.
        batches: (epoch, batch_seq) of the outbox.
        segments: (segment_id, number of the last batch that is in it).
        visits: Seconds of the store's clock at the last visit of each range.
    """

    row: dict[str, Any]
    batches: list[tuple[int, int]]
    segments: list[tuple[str, int]]
    visits: list[float]

    @property
    def checkpoint(self) -> dict[str, Any]:
        """The checkpoint as JSON data."""
        found: dict[str, Any] = json.loads(self.row["checkpoint"])
        return found

    @property
    def numbers(self) -> tuple[int, int]:
        """(epoch, number of the last batch)."""
        return self.row["epoch"], self.row["last_batch_seq"]

    @property
    def on_top(self) -> int:
        """Number of batches that are not yet in every segment."""
        level = min((folded for _, folded in self.segments), default=self.numbers[1])
        return sum(seq > level for epoch, seq in self.batches if epoch == self.numbers[0])

    @property
    def pass_is_open(self) -> bool:
        """True if a pass has begun and has not visited every range."""
        began = self.checkpoint["pass"]["began"]
        return bool(began > 0) and any(seen < began for seen in self.visits)


def stored(place: Place, folder: Path, stream: dict[str, Any]) -> Stored:
    """Return the stored state of a stream, from the source or the state database of its project."""
    name = stream["name"]
    run = _of_source(place, name) if _is_in_source(stream["strategy"]) else _of_project(folder, name)
    columns = ("epoch", "last_batch_seq", "prepared", "checkpoint")
    [row] = run("stream", *columns)
    return Stored(
        dict(zip(columns, row, strict=True)),
        sorted(run("batch", "epoch", "batch_seq")),
        sorted(run("segment", "segment_id", "folded_through")),
        [seen for (seen,) in run("range", "last_visited")],
    )


def folders(folder: Path, stream: str) -> set[str]:
    """Return the kinds of a stream's folders in the workdir."""
    return {path.name.partition("-")[0] for path in (folder / ".qbcd").glob(f"*/{stream}/*")}


def _is_in_source(strategy: dict[str, Any]) -> bool:
    in_lake = {("replica", "spark"), ("checksums", "remote"), ("variant", "checksum")}
    return strategy["type"] in IN_SOURCE and not any(strategy.get(option) == value for option, value in in_lake)


def _of_source(place: Place, name: str) -> Any:
    def run(table: str, *columns: str) -> list[Any]:
        named = f"{place.quote(place.own_schema)}.{place.quote(table)}"
        return place.sql(f"SELECT {', '.join(columns)} FROM {named} WHERE stream = %s", [name])

    return run


def _of_project(folder: Path, name: str) -> Any:
    def run(table: str, *columns: str) -> list[Any]:
        uri = f"{(folder / '.qbcd' / 'state.db').as_uri()}?mode=ro"
        with sqlite3.connect(uri, uri=True) as conn:
            return conn.execute(f"SELECT {', '.join(columns)} FROM qbcd_{table} WHERE stream = ?", [name]).fetchall()

    return run
