"""Checkpoint entries by which the next poll chooses its fetch paths."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from qbcd.model.checkpoint import Entry


@dataclass(frozen=True)
class LeafNote:
    """The entry about leaf checksums (`qbcd.sites.lake.fetch.leaf_checksums`).

    Attributes:
        left: Number of further polls with changes in which leaves may be useless before they are dropped; 0: not in
            use.
        pause: Number of polls with changes in which leaves are not tried.
        part: The file with the checksums.
        at_once: The checksums of all ranges include their leaves; otherwise only dirty ranges get leaf checksums.
    """

    left: int = 0
    pause: int = 0
    part: str = ""
    at_once: bool = True

    @classmethod
    def from_checkpoint(cls, checkpoint: Mapping[str, Any]) -> LeafNote:
        """Return the checkpoint's note, or an empty one."""
        return cls(**checkpoint.get(Entry.LEAVES, {}))

    @property
    def asks_for_all(self) -> bool:
        """True if the next checksums of all ranges include their leaves, if that is possible."""
        return self.left > 0 and self.at_once

    def as_entry(self) -> dict[str, Any]:
        """Return the entry of the next checkpoint; an empty note has none."""
        return {Entry.LEAVES: asdict(self)} if self.left or self.pause else {}


@dataclass(frozen=True)
class RecentNote:
    """The entry about rows written since the last poll (`qbcd.sites.lake.fetch.recent_writes`).

    Attributes:
        since: A transaction id of the source; rows that the last poll did not see are written at or after it.
        share: Share of the dirty ranges' rows that had changed when this path was last possible.
        pause: Number of polls with changes in which the source is not queried.
    """

    since: str = ""
    share: float = 0.0
    pause: int = 0

    @classmethod
    def from_checkpoint(cls, checkpoint: Mapping[str, Any]) -> RecentNote:
        """Return the checkpoint's note, or an empty one."""
        return cls(**checkpoint.get(Entry.RECENT, {}))

    def as_entry(self, system_mark: str) -> dict[str, Any]:
        """Return the entry of the next checkpoint with the snapshot's transaction id.

        It is empty without one.
        """
        return {Entry.RECENT: asdict(replace(self, since=system_mark))} if system_mark else {}
