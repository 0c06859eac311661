"""A series of dumps: the files that exist, those that were taken, the next ones in order.

A dump is taken once. It is identified by its name, size and time of modification, and the last one that was taken also
by its inode and the time of its last change (ctime): a file that replaces it is seen even if size and time are equal.
A dump that comes late, before the last one in order, is refused: its rows are older than the replica's.
"""

from __future__ import annotations

import glob
import itertools
import math
import os
import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from qbcd.config.files import FILE, FilesConfig
from qbcd.errors import DumpRefused
from qbcd.files.content import DumpPlace

UNKNOWN = -1
_NS = 1_000_000_000
_NUMBER = re.compile(r"([0-9]+)")
_RENAME = "write dumps under another name and rename them"
ONCE = f"{_RENAME}; then compare again"  # the remedy of a file that is read once


@dataclass(frozen=True)
class DumpFile:
    """A dump as it was found.

    Attributes:
        name: Its path from the folder of the series.
        path: Its absolute path.
        size: Bytes.
        modified: Time of modification, in nanoseconds since 1970 UTC.
        inode: Its number in the file system.
        changed: Time of the last change of content, name, owner or rights (ctime), in nanoseconds since 1970 UTC.
    """

    name: str
    path: Path
    size: int
    modified: int
    inode: int = UNKNOWN
    changed: int = UNKNOWN

    @classmethod
    def of(cls, name: str, path: Path, status: os.stat_result) -> DumpFile:
        """Return a dump by the status of its file."""
        return cls(name, path, status.st_size, status.st_mtime_ns, status.st_ino, status.st_ctime_ns)

    @property
    def stamp(self) -> tuple[int, int]:
        """Size and time of modification."""
        return self.size, self.modified

    @property
    def identity(self) -> tuple[int, int, int, int]:
        """Everything by which another file of the same name is recognized."""
        return *self.stamp, self.inode, self.changed

    @property
    def ts_ms(self) -> int:
        """Its time in milliseconds since 1970 UTC."""
        return self.modified // 1_000_000

    @classmethod
    def at(cls, place: DumpPlace) -> DumpFile:
        """Return the dump of a place.

        Raises:
            DumpRefused: It cannot be read.
        """
        try:
            return cls.of(place.label, place.path, place.path.stat())
        except OSError as error:
            raise place.refused(f"cannot be read: {error.strerror}", "check the path and its permissions") from None

    def check_unchanged(self, remedy: str = "") -> None:
        """Check that the file is still the one that was found.

        Args:
            remedy: By default that of a file that a stream polls.

        Raises:
            DumpRefused: It was written while it was read.
        """
        try:
            now = DumpFile.of(self.name, self.path, self.path.stat())
        except OSError:
            now = None
        if now is None or now.identity != self.identity:
            what = f"{self.name} was changed or removed while it was read"
            raise DumpRefused(what, remedy=remedy or f"{_RENAME}; the next poll reads it")


@dataclass(frozen=True)
class TakenDumps:
    """The dumps that a stream has taken.

    Attributes:
        files: Size and time of those that still exist, by name.
        header: Names of all columns of the last one.
        untyped: Captured columns to which no dump has given a type yet: all their values are NULL.
    """

    last: DumpFile
    files: Mapping[str, tuple[int, int]]
    header: tuple[str, ...]
    untyped: tuple[str, ...] = ()

    def as_entry(self) -> dict[str, Any]:
        """Return the JSON-ready form for the checkpoint."""
        files = {name: list(known) for name, known in sorted(self.files.items())}
        last = [self.last.name, *self.last.stamp]
        identity = [self.last.inode, self.last.changed]
        untyped = {"untyped": list(self.untyped)} if self.untyped else {}
        return {"last": last, "identity": identity, "files": files, "header": list(self.header), **untyped}

    @classmethod
    def from_entry(cls, entry: Mapping[str, Any], folder: Path) -> TakenDumps:
        """Return the dumps of a checkpoint; earlier versions stored neither inode nor ctime."""
        name, size, modified = entry["last"]
        inode, changed = entry.get("identity", (UNKNOWN, UNKNOWN))
        files = {known: (int(size), int(modified)) for known, (size, modified) in entry["files"].items()}
        last = DumpFile(name, folder / name, int(size), int(modified), int(inode), int(changed))
        return cls(last, files, tuple(entry["header"]), tuple(entry.get("untyped", ())))

    def has(self, one: DumpFile) -> bool:
        """Return True if a dump was taken as it is now.

        Of an earlier one than the last, a change of inode or ctime alone is no change: its rows are older than the
        replica's in any case, and a copy or a change of rights would stop the stream.
        """
        if one.name == self.last.name:
            return one.identity == self.last.identity
        return self.files.get(one.name) == one.stamp


@dataclass(frozen=True)
class DumpSeries:
    """The files of a source."""

    config: FilesConfig

    def present(self) -> list[DumpFile]:
        """Return the dumps that exist, in order.

        Raises:
            DumpRefused: A folder does not exist, or cannot be read.
        """
        folder, found = self.config.folder, []
        self._check_folders()
        for text in glob.glob(self.config.files):
            path = Path(text)
            try:
                status = path.stat()
            except FileNotFoundError:  # removed meanwhile
                continue
            except OSError as error:
                raise _unreadable(error) from None
            if path.is_file():
                found.append(DumpFile.of(str(path.relative_to(folder)), path, status))
        markers = {self._marker(one) for one in found}
        return sorted((one for one in found if one.path not in markers), key=self._order)

    def _check_folders(self) -> None:
        """Check that the folders can be read: in others a pattern finds nothing, without an error."""
        try:
            os.stat(f"{self.config.folder}/.")
            for text in (text for pattern in self.config.listed for text in glob.glob(pattern)):
                with suppress(FileNotFoundError, NotADirectoryError):  # removed meanwhile; a file
                    os.scandir(text).close()
        except OSError as error:
            raise _unreadable(error) from None

    def after(self, taken: TakenDumps | None, now: float | None = None) -> tuple[list[DumpFile], list[str]]:
        """Return the dumps that are complete and were not taken, in order.

        The second list has remarks on those that must wait.

        Args:
            taken: The dumps that were taken; None before the first.
            now: Seconds since 1970 UTC; default: this machine's clock.

        Raises:
            DumpRefused: A dump comes before the last one that was taken.
        """
        new = [one for one in self.present() if taken is None or not taken.has(one)]
        ready: list[DumpFile] = []
        for one in new:
            if taken is not None:
                self._refuse_late(one, taken)
            waits = self._waits(one, time.time() if now is None else now)
            if waits and taken is not None and (one.name, one.stamp) == (taken.last.name, taken.last.stamp):
                continue  # its content was taken, as far as known: its marker may have been removed since
            if waits:
                later = len(new) - len(ready) - 1
                return ready, [
                    waits + (f"; {later:,} later {'file waits' if later == 1 else 'files wait'}" if later else "")
                ]
            ready.append(one)
        return ready, []

    def with_taken(
        self, taken: TakenDumps | None, one: DumpFile, header: Sequence[str], untyped: Sequence[str] = ()
    ) -> TakenDumps:
        """Return the taken dumps after `one`; those that no longer exist are forgotten."""
        present = {found.name for found in self.present()}
        files = {name: known for name, known in (taken.files if taken else {}).items() if name in present}
        return TakenDumps(one, {**files, one.name: one.stamp}, tuple(header), tuple(untyped))

    def current(self, taken: TakenDumps) -> DumpFile | None:
        """Return the last dump that was taken.

        None if it no longer exists with its size and time of modification.
        """
        last = taken.last
        return next((one for one in self.present() if (one.name, one.stamp) == (last.name, last.stamp)), None)

    def doubts(self, taken: TakenDumps | None) -> list[str]:
        """Return remarks on an order of the names that contradicts other facts.

        These are the times of modification, or the dumps that were taken.
        """
        present = self.present()
        found = self.contradiction(present)
        after = [one for one in present if taken and taken.has(one) and self._order(one) > self._order(taken.last)]
        if taken is not None and after and self.config.order != "modified":  # earlier versions compared digits as text
            newest, last = after[-1].name, taken.last.name
            found.append(
                f"{newest} follows {last} by name, but was taken before it, so the replica has the rows of {last}: if "
                f"{newest} is newer, run touch on it, and the next poll takes it again"
            )
        return found

    def contradiction(self, files: Sequence[DumpFile]) -> list[str]:
        """Return a remark on two neighbors by name that were modified in the other order.

        They are the first two, if there are any.
        """
        by_time = self.config.order == "modified"
        named = sorted(files, key=lambda one: numbered(one.name) if by_time else self._order(one))
        pairs = [(one, two) for one, two in itertools.pairwise(named) if one.modified > two.modified]
        if by_time:  # names without a common form say nothing about the order
            pairs = [(one, two) for one, two in pairs if _form(one.name) == _form(two.name)]
        if not pairs:
            return []
        (one, two), more = pairs[0], f" (as {len(pairs) - 1:,} more)" if len(pairs) > 1 else ""
        used, other = ("time", "name") if by_time else ("name", "modified")
        return [
            f"by name {one.name} is before {two.name}, by time of modification after it{more}: they are taken by "
            f"{used} (`order: {self.config.order}`); if that is wrong, write order: {other}"
        ]

    def _order(self, one: DumpFile) -> tuple[Any, ...]:
        if self.config.order == "modified":
            return one.modified, *numbered(one.name)
        return (one.name,) if self.config.order == "text" else numbered(one.name)

    def _refuse_late(self, one: DumpFile, taken: TakenDumps) -> None:
        if self._order(one) >= self._order(taken.last):
            return
        what = "was changed after it was taken, and" if one.name in taken.files else "is new, but"
        by = "time of modification" if self.config.order == "modified" else "name"
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


def numbered(name: str) -> tuple[Any, ...]:
    """Return the place of a name in an order that compares numbers as numbers.

    ``c-9`` is before ``c-10``.
    """
    parts = _NUMBER.split(name)
    return tuple(int(part) if place % 2 else part for place, part in enumerate(parts)), name


def _unreadable(error: OSError) -> DumpRefused:
    what = f"{os.path.normpath(error.filename)} cannot be read: {error.strerror}"
    return DumpRefused(what, remedy="mount it, check its permissions, or correct `files`; nothing was changed")


def _form(name: str) -> str:
    return _NUMBER.sub("0", name)
