"""Leaves of ranges under Spark: when a poll asks for them, what it asks of the source then, where they are remembered.

Where a few changes lie in most ranges, whole ranges would bring nearly the whole table. A checksum pass that adds up
leaves as well costs the source little more, and tells which leaves differ from those of the look before: of the ranges
that differ only their rows are read, in the source and in the replica. Whether that pays is told by what the last polls
found. A poll that found nothing is likely to be followed by others like it: then leaves are asked for only of ranges
that differ, by statements of their own. What leaves add up to is remembered in a file, together with count and checksum
of the range that they were of: of a range that has another count or checksum by now nothing is remembered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from qbcd.connectors.ranges import SupportsLeafChecksums
from qbcd.model import RowSelection
from qbcd.ranges import key_recovery, leaves
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from qbcd.sites.lake.fetch_plan import FetchPlan
    from qbcd.sites.lake.replica.files import Files
    from qbcd.sites.values import LeasedStream

NOTED = "leaves"  # in the checkpoint, and the kind of their files
FORM = b"leaf:rows:checksum:weighted\n"  # of what is remembered, at its longest
LEAST_ROWS = 100_000  # in ranges that differ, below which whole ranges are as well
LEAST_SHARE = 0.1  # of the rows looked at, in ranges that differ: below it the dearer pass costs more than it saves
LEAST_IN_LEAF = 4  # rows, below which there would be too many leaves for what they save
MOST_LEAVES = 2_100_000  # of 8,192 ranges: of each the driver holds some 145 bytes at a time, while it polls
MOST_SHARE = 0.5  # of the rows in ranges that differ, in leaves that differ: beyond it little is saved
USELESS = 2  # polls in a row that found something and had no use for leaves, after which they are forgotten
PAUSE = 50  # polls that find something until they are tried again where rows keep to few leaves


@dataclass(frozen=True)
class LeafNote:
    """What a checkpoint says of leaves.

    Attributes:
        left: After how many more polls that find something and have no use for them they are forgotten; 0: not in use.
        pause: In how many polls that find something they are not thought of.
        part: The file in which they are remembered.
        at_once: The pass over all ranges adds them up; else they are asked for of ranges that differ.
    """

    left: int = 0
    pause: int = 0
    part: str = ""
    at_once: bool = True

    @classmethod
    def from_checkpoint(cls, checkpoint: Mapping[str, Any]) -> LeafNote:
        """That of a checkpoint; a blank one where it says nothing."""
        return cls(**checkpoint.get(NOTED, {}))

    def moves(self) -> dict[str, Any]:
        """What it puts into the checkpoint; a blank one nothing."""
        return {NOTED: asdict(self)} if self.left or self.pause else {}


@dataclass(frozen=True)
class Remembered:
    """What the leaves of a range added up to when it had so many rows and this checksum."""

    rows: int
    checksum: int
    text: str

    def is_of(self, one: StoredRange) -> bool:
        """Whether the range is still as it was."""
        return (self.rows, self.checksum) == (one.rows, one.checksum)


def may_be_asked(strategy: IdRcs, snapshot: Snapshot, turn: DueRanges) -> bool:
    """Whether leaves can be asked for: all is read of one state, all ranges are looked at, sums are those of rows."""
    whole = snapshot.name is not None and not snapshot.anew and turn.state is None
    rows = (
        bool(strategy.plan.key) and strategy.deletes and strategy.summed == "digest" and not strategy.partitioning.paged
    )
    return whole and rows and strategy.connector.supports(SupportsLeafChecksums)


def are_asked(strategy: IdRcs, snapshot: Snapshot, turn: DueRanges, held: LeasedStream) -> bool:
    """Whether this poll asks for those of all ranges."""
    return asks_for_all(held.row.checkpoint) and may_be_asked(strategy, snapshot, turn)


def asks_for_all(checkpoint: Mapping[str, Any]) -> bool:
    """Whether the next pass over all ranges adds them up, if it can."""
    note = LeafNote.from_checkpoint(checkpoint)
    return note.left > 0 and note.at_once


def are_wanted(strategy: IdRcs, snapshot: Snapshot, turn: DueRanges, held: LeasedStream, differing: FetchPlan) -> bool:
    """Whether those of ranges that differ are asked for, where those of all were not."""
    note = LeafNote.from_checkpoint(held.row.checkpoint)
    known = note.left > 0 and not note.at_once and bool(note.part)
    return known and not _are_few(differing, differing.fetched) and may_be_asked(strategy, snapshot, turn)


def parse_leaf_sums(now: Sequence[StoredRange], texts: Mapping[int, str]) -> dict[int, Remembered]:
    """What the leaves of ranges add up to, as a pass has told it, by range."""
    return {r.range_id: Remembered(r.rows, r.checksum, texts[r.range_id]) for r in now}


def restrict_to_dirty_leaves(wanted: FetchPlan, known: Mapping[int, Remembered], width: int | None) -> FetchPlan:
    """The same look at those leaves alone that differ, where what is `known` of them tells, and it is worth it.

    Args:
        wanted: The look at whole ranges.
        known: What leaves added up to.
        width: Bytes of a key that is one whole number, whose rows may be looked up by traces; None of others.
    """
    old = {r.range_id: r for r in wanted.old}
    only: dict[int, tuple[RowSelection, RowSelection]] = {}
    traced: dict[int, tuple[RowSelection, RowSelection]] = {}
    for one in wanted.asked:
        before = known.get(one.range_id)
        if before and before.is_of(old[one.range_id]):
            was, now = leaves.diff(before.text, wanted.leaves[one.range_id].text)
            dirty = {*was, *now}
            only[one.range_id] = leaves.select(was, dirty), leaves.select(now, dirty)
            remember_after_changes = None if width is None else key_recovery.rows_to_look_up(one, was, now, width)
            if remember_after_changes:
                traced[one.range_id] = remember_after_changes, remember_after_changes
    if not only:
        return wanted
    asked = {r.range_id: r for r in wanted.asked}
    share = sum(now.rows for _, now in only.values()) / max(1, sum(asked[i].rows for i in only))
    if share > MOST_SHARE:
        return replace(wanted, leaf_share=share)
    looked = _at(replace(wanted, leaf_share=share), only)
    return replace(looked, traced=_at(looked, traced) if traced else None)


def _at(wanted: FetchPlan, only: Mapping[int, tuple[RowSelection, RowSelection]]) -> FetchPlan:
    """The same look, at some leaves of ranges: those of before, and of now."""
    old = tuple(replace(r, only=only[r.range_id][0]) if r.range_id in only else r for r in wanted.old)
    asked = tuple(replace(r, only=only[r.range_id][1]) if r.range_id in only else r for r in wanted.asked)
    return replace(wanted, old=old, asked=asked)


def remember_after_changes(
    files: Files, held: LeasedStream, wanted: FetchPlan, events: int, *, spared: bool
) -> dict[str, Any]:
    """What the checkpoint says of leaves after a look that found `events`; what it remembers is written.

    There is no use for them where the look was `spared` the rows of whole ranges without them.
    """
    note = LeafNote.from_checkpoint(held.row.checkpoint)
    if note.pause:
        return LeafNote(pause=note.pause - 1).moves()
    likely = _likely_share(wanted, events)
    if likely <= MOST_SHARE < (wanted.leaf_share or 0.0):  # keys end with few different bytes
        return LeafNote(pause=PAUSE).moves()
    useful = likely <= MOST_SHARE and not spared
    left = USELESS if useful else note.left - 1
    if left <= 0:
        return {}
    return LeafNote(
        left, part=_write(files, held, wanted.leaves) if wanted.leaves else note.part, at_once=useful
    ).moves()


def remember_after_no_change(files: Files, held: LeasedStream, wanted: FetchPlan) -> dict[str, Any]:
    """The checkpoint after a look that found nothing; what it remembers is written, unless it is remembered already."""
    if not is_noted(held, wanted):
        return dict(held.row.checkpoint)
    note = LeafNote.from_checkpoint(held.row.checkpoint)
    part = note.part or _write(files, held, wanted.leaves)
    return {**held.row.checkpoint, **replace(note, part=part, at_once=False).moves()}


def is_noted(held: LeasedStream, wanted: FetchPlan) -> bool:
    """Whether a poll that finds nothing has anything to note of leaves."""
    return asks_for_all(held.row.checkpoint) and bool(
        LeafNote.from_checkpoint(held.row.checkpoint).part or wanted.leaves
    )


def _likely_share(wanted: FetchPlan, events: int) -> float:
    """The share of rows, in ranges that differ, that so many changes all over them put leaves in; 1 if that is useless.

    It is reckoned as if keys ended with any byte.
    """
    dirty = [*wanted.unsplit, *wanted.parents]
    rows = sum(r.rows for r in dirty)
    in_leaf = rows / len(dirty) / leaves.NUMBER
    if (
        not rows
        or _are_few(wanted, rows)
        or in_leaf < LEAST_IN_LEAF
        or wanted.scanned > MOST_LEAVES * max(1.0, in_leaf)
    ):
        return 1.0
    return leaves.share_of(min(1.0, events / rows), in_leaf)


def _are_few(wanted: FetchPlan, rows: int) -> bool:
    """Whether ranges that differ hold so few rows that these are as well fetched whole."""
    return rows < max(LEAST_ROWS, LEAST_SHARE * wanted.scanned)


def _write(files: Files, held: LeasedStream, known: Mapping[int, Remembered]) -> str:
    """Remembers what leaves add up to; no commit names it yet."""
    lines = [f"{range_id} {one.rows} {one.checksum} {one.text}" for range_id, one in known.items()]
    return files.write_blob(NOTED, sealed("\n".join(lines).encode()), held)


def sealed(content: bytes) -> bytes:
    """The content of a file of leaves, below what it is told by; one of another version of qbcd has another seal."""
    return hashlib.sha256(FORM + content).hexdigest().encode() + b"\n" + content


def read(files: Files, checkpoint: Mapping[str, Any]) -> dict[int, Remembered]:
    """What is remembered, by range: nothing of a file that is not there or not as it was, since nothing hangs on it."""
    part = LeafNote.from_checkpoint(checkpoint).part
    remember_after_changes = files.read_blob(part) if part else b""
    content = remember_after_changes.partition(b"\n")[2]
    if remember_after_changes != sealed(content):
        return {}
    known = {}
    for line in content.decode().splitlines():
        range_id, rows, checksum, text = line.split(" ", 3)
        known[int(range_id)] = Remembered(int(rows), int(checksum), text)
    return known
