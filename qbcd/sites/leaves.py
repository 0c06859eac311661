"""Leaves of ranges under Spark: when a poll asks for them, what it asks of the source then, where they are remembered.

Where a few changes lie in most ranges, whole ranges would bring nearly the whole table. A checksum pass that adds up
leaves as well costs the source little more, and tells which leaves differ from those of the look before: of the ranges
that differ only their rows are read, in the source and in the replica. Whether that pays is told by what the last polls
found. What leaves add up to is remembered in a file, together with count and checksum of the range that they were of:
of a range that has another count or checksum by now nothing is remembered.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qbcd import leaves
from qbcd.sites.reading import Snapshot
from qbcd.sites.turns import Turn
from qbcd.state import StoredRange
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from qbcd.sites.files import Files
    from qbcd.sites.looking import Look
    from qbcd.sites.values import Held

LEAVES = "leaves"  # in the checkpoint, and the kind of their files
LEAST_ROWS = 100_000  # in ranges that differ, below which whole ranges are as well
LEAST_SHARE = 0.1  # of the rows looked at, in ranges that differ: below it the dearer pass costs more than it saves
MOST_SHARE = 0.5  # of the rows in these ranges, in leaves that differ: beyond it little is saved
MOST_ROWS = 20_000_000  # of a table: a poll holds four bytes a row, about, of what its leaves add up to
STAYS = 2  # polls in a row that had no use for leaves, after which none are asked for


@dataclass(frozen=True)
class Remembered:
    """What the leaves of a range added up to when it had so many rows and this checksum."""

    rows: int
    checksum: int
    text: str

    def is_of(self, one: StoredRange) -> bool:
        """Whether the range is still as it was."""
        return (self.rows, self.checksum) == (one.rows, one.checksum)


def may_be_asked(strategy: IdRcs, snapshot: Snapshot, turn: Turn) -> bool:
    """Whether leaves can be asked for: all is read of one state, all ranges are looked at, sums are those of rows."""
    whole = snapshot.name is not None and not snapshot.anew and turn.state is None
    return whole and bool(strategy.plan.key) and strategy.deletes and strategy.summed == "digest"


def are_asked(strategy: IdRcs, snapshot: Snapshot, turn: Turn, held: Held) -> bool:
    """Whether this poll asks for them."""
    return LEAVES in held.row.checkpoint and may_be_asked(strategy, snapshot, turn)


def restricted(wanted: Look, known: Mapping[int, Remembered]) -> Look:
    """The same look at those leaves alone that differ, where what is `known` of them tells, and it is worth it."""
    old = {r.range_id: r for r in wanted.old}
    asked: dict[int, StoredRange] = {}
    for one in wanted.asked:
        before = known.get(one.range_id)
        if before and before.is_of(old[one.range_id]):
            was, now = leaves.differing(before.text, wanted.leaves[one.range_id].text)
            asked[one.range_id] = replace(one, only=now)
            old[one.range_id] = replace(old[one.range_id], only=was)
    share = sum(r.asked[0] for r in asked.values()) / max(1, sum(r.rows for r in asked.values()))
    if not asked or share > MOST_SHARE:
        return replace(wanted, leaf_share=share if asked else None)
    return replace(
        wanted, leaf_share=share,
        asked=tuple(asked.get(r.range_id, r) for r in wanted.asked), old=tuple(old[r.range_id] for r in wanted.old),
    )  # fmt: skip


def is_worth(wanted: Look, events: int) -> bool:
    """Whether a poll that finds `events` as this one did is better off with leaves."""
    dirty = [*wanted.kept, *wanted.parents]
    rows = sum(r.rows for r in dirty)
    if rows < max(LEAST_ROWS, LEAST_SHARE * wanted.scanned) or wanted.scanned > MOST_ROWS:
        return False
    share = wanted.leaf_share
    if share is None:
        share = leaves.share_of(min(1.0, events / rows), rows / len(dirty) / leaves.LEAVES)
    return share <= MOST_SHARE


def noted(files: Files, held: Held, wanted: Look, events: int) -> dict[str, Any]:
    """What the checkpoint says of leaves after a look that found `events`."""
    known = held.row.checkpoint.get(LEAVES)
    left = STAYS if is_worth(wanted, events) else _left(known) - 1
    if left <= 0:
        return {}
    return {LEAVES: {"left": left, **({"part": write(files, held, wanted.leaves)} if wanted.leaves else {})}}


def unused(held: Held) -> dict[str, Any]:
    """The checkpoint after a look that found nothing."""
    others = {name: value for name, value in held.row.checkpoint.items() if name != LEAVES}
    known = held.row.checkpoint.get(LEAVES)
    return {**others, LEAVES: {**known, "left": _left(known) - 1}} if known and _left(known) > 1 else others


def forget(files: Files, before: Mapping[str, Any], held: Held) -> None:
    """Lets go of what the checkpoint `before` remembered, where that of now remembers something else."""
    part = part_of(before)
    if part and part != part_of(held.row.checkpoint):
        files.drop(part)


def _left(known: Mapping[str, Any] | None) -> int:
    return int(known["left"]) if known else 0


def part_of(checkpoint: Mapping[str, Any]) -> str | None:
    """The folder of what a checkpoint remembers, if it does."""
    known: Mapping[str, str] = checkpoint.get(LEAVES, {})
    return known.get("part")


def write(files: Files, held: Held, known: Mapping[int, Remembered]) -> str:
    """Remembers what leaves add up to; no commit names it yet."""
    lines = [f"{range_id} {one.rows} {one.checksum} {one.text}" for range_id, one in known.items()]
    content = "\n".join(lines).encode()
    return files.keep(LEAVES, hashlib.sha256(content).hexdigest().encode() + b"\n" + content, held)


def read(files: Files, checkpoint: Mapping[str, Any]) -> dict[int, Remembered]:
    """What is remembered, by range: nothing of a file that is not there or not as it was, since nothing hangs on it."""
    part = part_of(checkpoint)
    digest, _, content = (files.kept(part) if part else b"").partition(b"\n")
    if hashlib.sha256(content).hexdigest().encode() != digest:
        return {}
    known = {}
    for line in content.decode().splitlines():
        range_id, rows, checksum, text = line.split(" ", 3)
        known[int(range_id)] = Remembered(int(rows), int(checksum), text)
    return known
