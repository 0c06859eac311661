"""The checkpoint of a stream: the one place that names its entries.

A checkpoint is a JSON object in the stream's row. Names and shapes of its entries are persisted, so that this version
can poll a stream that an earlier version prepared. A new entry needs a line in :data:`ENTRIES`. An entry whose shape
changes needs a new name or an upgrade of the state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

Wing = Literal["both", "database", "lake"]


class Entry:
    """The stored names of entries."""

    SHAPE: Final = "shape"
    MADE: Final = "made"
    REQUESTED: Final = "requested"
    SERVER: Final = "server"
    ENCODER: Final = "encoder"
    ROWS: Final = "rows"
    FROZEN_OPTIONS: Final = "settled"
    WATERMARK: Final = "mark"
    SWEPT: Final = "swept"
    PASS: Final = "pass"
    AUDITED: Final = "audited"
    OPEN_BATCH: Final = "open"
    TABLE_WATERMARKS: Final = "marks"
    BASE_TABLES: Final = "bases"
    USUAL_RANGE: Final = "usual"
    AUDITING: Final = "auditing"
    MISSING_KEYS: Final = "gone"
    LEAVES: Final = "leaves"
    RECENT: Final = "recent"
    DENSITY: Final = "density"
    UNSELECTIVE: Final = "spread"
    DIGESTS: Final = "digests"
    DUMPS: Final = "dumps"
    COMPARED: Final = "compared"


@dataclass(frozen=True)
class EntrySpec:
    """An entry of a checkpoint.

    Attributes:
        wing: The wing whose streams have it.
        holds: Its content.
        since: The first version of qbcd that wrote it.
    """

    name: str
    wing: Wing
    holds: str
    since: str = "0.1"


ENTRIES: tuple[EntrySpec, ...] = (
    EntrySpec(Entry.SHAPE, "both", "table, key and captured columns with their types, restriction"),
    EntrySpec(Entry.MADE, "both", "identity of the table and its columns, to recognize another table of the same name"),
    EntrySpec(Entry.REQUESTED, "both", "the plan as the user wrote it; a different plan needs `qbcd reset`"),
    EntrySpec(
        Entry.SERVER,
        "both",
        "identity, meaning of digests and position of the server; `doubt` after its clock was set back",
    ),
    EntrySpec(Entry.ENCODER, "both", "version of the connector's row digest and key identity"),
    EntrySpec(Entry.ROWS, "both", "rows of the replica"),
    EntrySpec(Entry.FROZEN_OPTIONS, "both", "options that the strategy chose at prepare because the user set none"),
    EntrySpec(Entry.WATERMARK, "both", "`at`: the watermark; of a counter also `next`, `seen`, `read`"),
    EntrySpec(Entry.SWEPT, "both", "seconds of the store's clock when the last sweep for deletes began"),
    EntrySpec(Entry.PASS, "both", "the pass over all ranges that is in progress (`qbcd.ranges.schedule.Pass`)"),
    EntrySpec(Entry.AUDITED, "both", "seconds of the store's clock when the last audit began"),
    EntrySpec(Entry.OPEN_BATCH, "database", "header of the open batch, whose events have no number yet"),
    EntrySpec(Entry.TABLE_WATERMARKS, "database", "variant delta: the watermark of each base table"),
    EntrySpec(Entry.BASE_TABLES, "database", "variant delta: identity and columns of each base table"),
    EntrySpec(Entry.USUAL_RANGE, "database", "rows of a range when ranges were last built"),
    EntrySpec(Entry.AUDITING, "database", "deletes of an audit between its two steps"),
    EntrySpec(Entry.MISSING_KEYS, "database", "deletes of a full comparison whose missing keys are still to be found"),
    EntrySpec(Entry.LEAVES, "lake", "use of leaf checksums, and their file"),
    EntrySpec(Entry.RECENT, "lake", "the source's transaction id at the last poll, to find rows written since"),
    EntrySpec(Entry.DENSITY, "lake", "share of rows that had changed in the last dirty ranges"),
    EntrySpec(Entry.DIGESTS, "lake", "the commit that the digests in the source show, for a queue of changed rows"),
    EntrySpec(Entry.UNSELECTIVE, "lake", "polls in a row that read most rows of page ranges for few changes"),
    EntrySpec(Entry.DUMPS, "lake", "dumps that were taken: the last, those that still exist, and their columns", "0.2"),
    EntrySpec(Entry.COMPARED, "lake", "figures of the last comparison of dumps, for the choice of the method", "0.2"),
)


@dataclass(frozen=True)
class Checkpoint:
    """A typed view of a checkpoint's entries; a stream that is not prepared has none."""

    entries: Mapping[str, Any]

    def get(self, name: str, default: Any = None) -> Any:
        """Return the entry `name`, or `default`."""
        return self.entries.get(name, default)

    def __contains__(self, name: object) -> bool:
        return name in self.entries

    def carried(self, names: Iterable[str]) -> dict[str, Any]:
        """Return the entries of `names` that have a value, for the next checkpoint."""
        return {name: self.entries[name] for name in names if self.entries.get(name) is not None}

    @property
    def rows(self) -> int:
        """Number of rows in the replica."""
        return int(self.entries[Entry.ROWS])

    @property
    def watermark(self) -> Mapping[str, Any]:
        """The watermark's entry; its ``at`` is the watermark itself, as the source's own text."""
        found: Mapping[str, Any] = self.entries[Entry.WATERMARK]
        return found

    @property
    def server(self) -> Mapping[str, Any]:
        """The server that the last poll read."""
        found: Mapping[str, Any] = self.entries[Entry.SERVER]
        return found

    @property
    def requested(self) -> Mapping[str, Any]:
        """The plan as the user wrote it; empty if the version that prepared the stream stored none."""
        found: Mapping[str, Any] = self.entries.get(Entry.REQUESTED, {})
        return found

    @property
    def swept(self) -> float:
        """Seconds of the store's clock when the last sweep began."""
        return float(self.entries[Entry.SWEPT])

    @property
    def open_pass(self) -> Mapping[str, Any] | None:
        """The pass in progress, as `qbcd.ranges.schedule.Pass` reads it."""
        found: Mapping[str, Any] | None = self.entries.get(Entry.PASS)
        return found

    def audited(self, epoch: int) -> float:
        """Return the start of the last audit in the store's seconds; the baseline of `epoch` counts."""
        return float(self.entries.get(Entry.AUDITED, epoch))
