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
        left: Number of further polls with changes but without use for leaves, after which they are forgotten; 0: not
            in use.
        pause: Number of polls with changes in which leaves are not tried.
        part: The file that remembers the checksums.
        at_once: The checksums of all ranges include their leaves; otherwise only dirty ranges are asked for leaves.
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
        """The next checksums of all ranges include their leaves, if that is possible."""
        return self.left > 0 and self.at_once

    def as_entry(self) -> dict[str, Any]:
        """Return the entry of the next checkpoint; an empty note has none."""
        return {Entry.LEAVES: asdict(self)} if self.left or self.pause else {}


@dataclass(frozen=True)
class RecentNote:
    """The entry about rows written since the last poll (`qbcd.sites.lake.fetch.recent_writes`).

    Attributes:
        since: The source's own mark; rows that the last poll did not see are written at or after it.
        share: Share of the dirty ranges' rows that had changed when there was last such a choice.
        pause: Number of polls with changes in which the source is not asked.
    """

    since: str = ""
    share: float = 0.0
    pause: int = 0

    @classmethod
    def from_checkpoint(cls, checkpoint: Mapping[str, Any]) -> RecentNote:
        """Return the checkpoint's note, or an empty one."""
        return cls(**checkpoint.get(Entry.RECENT, {}))

    def as_entry(self, system_mark: str) -> dict[str, Any]:
        """Return the entry of the next checkpoint with the snapshot's mark; without a mark there is none."""
        return {Entry.RECENT: asdict(replace(self, since=system_mark))} if system_mark else {}
