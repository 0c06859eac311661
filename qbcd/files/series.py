"""A series of dumps: the files that exist, those that were taken, and the next ones in order.

A dump is taken once. It is identified by its name, size and time of modification. A dump that comes late, before the
last one in order, is refused: its rows are older than the replica's.
"""

from __future__ import annotations

import glob
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from qbcd.config.files import FILE, FilesConfig
from qbcd.errors import DumpRefused

_NS = 1_000_000_000


@dataclass(frozen=True)
class DumpFile:
    """A dump as it was found.

    Attributes:
        name: Its path from the folder of the series.
        path: Its absolute path.
        size: Bytes.
        modified: Nanoseconds since 1970 UTC.
    """

    name: str
    path: Path
    size: int
    modified: int

    @property
    def ts_ms(self) -> int:
        """Its time in milliseconds since 1970 UTC."""
        return self.modified // 1_000_000

    def check_unchanged(self) -> None:
        """Check that the file is still the one that was found.

        Raises:
            DumpRefused: It was written while it was read.
        """
        try:
            now = self.path.stat()
        except OSError:
            now = None
        if now is None or (now.st_size, now.st_mtime_ns) != (self.size, self.modified):
            what = f"{self.name} was changed or removed while it was read"
            raise DumpRefused(what, remedy="write dumps under another name and rename them; the next poll reads it")


@dataclass(frozen=True)
class TakenDumps:
    """The dumps that a stream has taken.

    Attributes:
        last: The last one.
        files: Size and time of those that still exist, by name.
        header: Names of all columns of the last one.
    """

    last: DumpFile
    files: Mapping[str, tuple[int, int]]
    header: tuple[str, ...]

    def as_entry(self) -> dict[str, Any]:
        """Return the JSON-ready form for the checkpoint."""
        files = {name: list(known) for name, known in sorted(self.files.items())}
        last = [self.last.name, self.last.size, self.last.modified]
        return {"last": last, "files": files, "header": list(self.header)}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any], folder: Path) -> TakenDumps:
        """Return the dumps of a checkpoint."""
        name, size, modified = entry["last"]
        files = {known: (int(size), int(modified)) for known, (size, modified) in entry["files"].items()}
        return cls(DumpFile(name, folder / name, int(size), int(modified)), files, tuple(entry["header"]))


@dataclass(frozen=True)
class DumpSeries:
    """The files of a source."""

    config: FilesConfig

    def present(self) -> list[DumpFile]:
        """Return the dumps that exist, in order."""
        folder, found = self.config.folder, []
        for text in glob.glob(self.config.files):
            path = Path(text)
            try:
                status = path.stat()
            except FileNotFoundError:  # removed meanwhile
                continue
            if path.is_file():
                found.append(DumpFile(str(path.relative_to(folder)), path, status.st_size, status.st_mtime_ns))
        markers = {self._marker(one) for one in found}
        return sorted((one for one in found if one.path not in markers), key=self._order)

    def after(self, taken: TakenDumps | None, now: float | None = None) -> tuple[list[DumpFile], list[str]]:
        """Return the dumps that are complete and were not taken, in order; and remarks on those that must wait.

        Args:
            taken: The dumps that were taken; None before the first.
            now: Seconds since 1970 UTC; default: this machine's clock.

        Raises:
            DumpRefused: A dump comes before the last one that was taken.
        """
        known = dict(taken.files) if taken else {}
        new = [one for one in self.present() if known.get(one.name) != (one.size, one.modified)]
        ready: list[DumpFile] = []
        for one in new:
            if taken is not None:
                self._refuse_late(one, taken)
            if waits := self._waits(one, time.time() if now is None else now):
                later = len(new) - len(ready) - 1
                return ready, [
                    waits + (f"; {later:,} later {'file waits' if later == 1 else 'files wait'}" if later else "")
                ]
            ready.append(one)
        return ready, []

    def with_taken(self, taken: TakenDumps | None, one: DumpFile, header: Sequence[str]) -> TakenDumps:
        """Return the taken dumps after `one`; those that no longer exist are forgotten."""
        present = {found.name for found in self.present()}
        files = {name: known for name, known in (taken.files if taken else {}).items() if name in present}
        return TakenDumps(one, {**files, one.name: (one.size, one.modified)}, tuple(header))

    def current(self, taken: TakenDumps) -> DumpFile | None:
        """Return the last dump that was taken, if it still exists as it was."""
        last = replace(taken.last, path=self.config.folder / taken.last.name)
        return next((one for one in self.present() if one == last), None)

    def _order(self, one: DumpFile) -> tuple[Any, ...]:
        return (one.name,) if self.config.order == "name" else (one.modified, one.name)

    def _refuse_late(self, one: DumpFile, taken: TakenDumps) -> None:
        if self._order(one) >= self._order(taken.last):
            return
        what = "was changed after it was taken, and" if one.name in taken.files else "is new, but"
        by = "name" if self.config.order == "name" else "time of modification"
        raise DumpRefused(
            f"{one.name} {what} by its {by} it is older than {taken.last.name}, the last dump that was taken",
            remedy=f"move it away, or correct `order`; if its rows are the right ones now, give it a later {by}",
        )

    def _marker(self, one: DumpFile) -> Path | None:
        complete = self.config.complete
        return None if complete is None else Path(self.config.folder / complete.replace(FILE, str(one.path)))

    def _waits(self, one: DumpFile, now: float) -> str:
        """Return why a dump is not read yet, or an empty string."""
        marker = self._marker(one)
        if marker is not None:
            try:
                marked = marker.stat().st_mtime_ns
            except FileNotFoundError:
                return f"{one.name} is not complete: its marker {marker.name} does not exist yet; wait for it"
            if marked < one.modified:
                return f"{one.name} is not complete: it was changed after its marker {marker.name}; wait for a new one"
            return ""
        quiet = self.config.quiet.total_seconds()
        age = now - one.modified / _NS
        if age < quiet:
            since = f"it was changed less than {quiet:g} s ago (`quiet`)"
            return f"{one.name} may still be written: {since}; wait {max(1, math.ceil(quiet - age)):,} s more"
        return ""
