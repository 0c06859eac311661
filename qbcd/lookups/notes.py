"""Notes of a lookup between polls: measured times, key ranges, position of the scan.

They are a file in the workdir that may be lost: the next poll measures and partitions again.
"""

from __future__ import annotations

import json
import os
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

from qbcd.meshjoin import ReadTimes
from qbcd.model import KeyRange

FOLDER = "lookups"  # in the workdir
# Before anything was measured, high for scans: seconds of a round trip, and of each key, row, and scanned row.
_KEYS, _ROWS, _SCANNED = (2e-3, 2e-5), (5e-3, 2e-6), (5e-3, 1e-6)


@dataclass
class Notes:
    """Measured times, key ranges and position of a lookup.

    Attributes:
        path: The file; its folder need not exist.
        keys: Seconds of a statement by its keys.
        rows: Seconds of a read that brings all its rows, by their number.
        scanned: Seconds of a read that brings the rows of some keys, by the rows that the source scans.
        bounds: First keys of all ranges but the first, for the relation in `of`.
        of: The relation and the rows of a range, as JSON-ready data.
        position: The next range of the scan.
        sample: Keys of the last overload, those of a uniform sample that were searched, and those of it with a row.
    """

    path: Path
    keys: ReadTimes = field(default_factory=lambda: ReadTimes(*_KEYS))
    rows: ReadTimes = field(default_factory=lambda: ReadTimes(*_ROWS))
    scanned: ReadTimes = field(default_factory=lambda: ReadTimes(*_SCANNED))
    bounds: list[list[str]] = field(default_factory=list)
    of: list[Any] = field(default_factory=list)
    position: int = 0
    sample: list[int] = field(default_factory=list)

    @classmethod
    def read(cls, path: Path) -> Notes:
        """Return the notes in the file, or new ones if it is missing or damaged."""
        notes = cls(path)
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
            for name in ("keys", "rows", "scanned"):
                getattr(notes, name).sums = [float(value) for value in known[name]]
            notes.bounds, notes.of, notes.position = known["bounds"], known["of"], int(known["position"])
            notes.sample = [int(value) for value in known.get("sample", ())]
        except (OSError, ValueError, KeyError, TypeError):
            return cls(path)
        return notes

    def write(self) -> None:
        """Replace the file; a folder that cannot be written is no error."""
        known = {
            "keys": self.keys.sums,
            "rows": self.rows.sums,
            "scanned": self.scanned.sums,
            "bounds": self.bounds,
            "of": self.of,
            "position": self.position,
            "sample": self.sample,
        }
        new = self.path.with_suffix(f".{uuid.uuid4().hex}")
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new.write_text(json.dumps(known), encoding="utf-8")
            os.replace(new, self.path)
        except OSError:
            new.unlink(missing_ok=True)

    def note_sample(self, shed: Sequence[int], found: int) -> None:
        """Note and store the keys of an overload, those searched, and those of these with a row."""
        self.sample = [*shed, found] if shed else []
        self.write()

    def estimate(self, name: str) -> str:
        """Return an estimate of the keys with a row at the last overload; empty if not known."""
        if not self.sample:
            return ""
        keys, kept, found = self.sample
        return f"lookup {name}: about {keys * found // max(1, kept):,} of {keys:,} keys have a row (sample of {kept:,})"

    def partition(self, of: list[Any], bounds: Sequence[Sequence[str]]) -> None:
        """Note a new partition of a relation; the scan begins with its first range."""
        self.of, self.bounds, self.position = of, [list(bound) for bound in bounds], 0

    def ranges(self) -> list[KeyRange]:
        """Return the key ranges, which cover all keys."""
        ends = [None, *(tuple(bound) for bound in self.bounds), None]
        return [KeyRange(i, lo, hi) for i, (lo, hi) in enumerate(pairwise(ends))]
