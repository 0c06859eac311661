"""Fetch path: checksums of leaves (sub-ranges), to fetch only rows of dirty leaves.

If most ranges have a few changes, whole ranges would be nearly the whole table. Checksums of all ranges that include
their leaves cost the source little more, and show the leaves that differ from the last poll. Only rows in dirty leaves
of dirty ranges are read then, from the source and from the replica. Earlier polls show if that reduces costs. After a
poll without changes, another one is likely: then only dirty ranges get leaf checksums, by separate statements.

A file stores leaf checksums, together with the row count and checksum of their range. If a range has another count or
checksum now, its leaves are unknown.

If keys are whole numbers, a leaf with one changed row also shows candidates for its key: key recovery
(`qbcd.ranges.key_recovery`) looks up those rows.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from qbcd.common.wording import counted
from qbcd.connectors.ranges import SupportsLeafChecksums
from qbcd.errors import TornRead
from qbcd.model import RowSelection
from qbcd.ranges import key_recovery, leaves
from qbcd.sites.lake.checksums import checksums
from qbcd.sites.lake.fetch.base import PlanPath, is_enabled
from qbcd.sites.lake.fetch_plan import NO_SNAPSHOT, FetchPlan, RangeLeaves
from qbcd.sites.lake.notes import LeafNote
from qbcd.sites.lake.poll import LakePoll, TablePoll
from qbcd.sites.lake.replica.files import Files
from qbcd.state import StoredRange

NAME = "leaf_checksums"
KEY_RECOVERY = "key_recovery"  # its own switch; part of this path
FILE_KIND = "leaves"  # of the stored files of checksums
FORM = b"leaf:rows:checksum:weighted\n"  # of the stored texts, in their longest form
LEAST_ROWS = 100_000  # in dirty ranges; fewer are fetched whole
LEAST_SHARE = 0.1  # of the compared rows in dirty ranges; below it, leaf checksums cost more than they save
LEAST_IN_LEAF = 4  # rows; smaller leaves would be too many
MOST_LEAVES = 2_100_000  # of 8,192 ranges; the driver holds about 145 bytes for each
MOST_SHARE = 0.5  # of the rows in dirty ranges: if more are in dirty leaves, leaves save little
USELESS = 2  # consecutive polls with changes and useless leaves, after which leaves are dropped
PAUSE = 50  # polls with changes until leaves are tried again, if keys are in few leaves


class LeafChecksums(PlanPath):
    """Reduce the plan to dirty leaves, or to rows whose keys they reveal."""

    name = NAME

    @override
    def is_applicable(self, poll: TablePoll, plan: FetchPlan) -> bool:
        return bool(plan.leaves) or _are_asked_of_dirty(poll, plan)

    @override
    def narrow(self, poll: TablePoll, plan: FetchPlan) -> FetchPlan | None:
        found = plan.leaves or _leaves_of_dirty(poll, plan)
        remembered = read(poll.context.files, poll.leased.row.checkpoint)
        known = {r.range_id: remembered[r.range_id] for r in poll.due.known if r.range_id in remembered}
        return restrict_to_dirty_leaves(replace(plan, leaves={**known, **found}), remembered, _whole_number_bytes(poll))


def can_be_asked(poll: TablePoll) -> bool:
    """Return True if leaves are possible: one state, all ranges, checksums of rows with a key."""
    strategy = poll.strategy
    one_state = poll.snapshot.proves_checksums and poll.due.state is None
    of_rows = bool(strategy.plan.key) and strategy.deletes and strategy.summed == "digest"
    return (
        one_state and of_rows and not strategy.partitioning.paged and strategy.connector.supports(SupportsLeafChecksums)
    )


def are_asked_of_all(poll: TablePoll) -> bool:
    """Return True if the checksums of all ranges include their leaves in this poll."""
    return is_enabled(NAME) and LeafNote.from_checkpoint(poll.leased.row.checkpoint).asks_for_all and can_be_asked(poll)


def _are_asked_of_dirty(poll: TablePoll, plan: FetchPlan) -> bool:
    """Return True if this poll computes leaf checksums of dirty ranges only."""
    note = LeafNote.from_checkpoint(poll.leased.row.checkpoint)
    known = note.left > 0 and not note.at_once and bool(note.part)
    return known and not _are_few(plan, plan.fetched) and can_be_asked(poll)


def _leaves_of_dirty(poll: TablePoll, plan: FetchPlan) -> dict[int, RangeLeaves]:
    """Compute the leaf checksums of dirty ranges.

    Raises:
        TornRead: The ranges have other checksums now.
    """
    poll.context.progress(f"checksums of the leaves of {counted(len(plan.asked), 'range')}")
    texts: dict[int, str] = {}
    now = checksums(poll, plan.asked, texts)
    if [(r.rows, r.checksum) for r in now] != [(r.rows, r.checksum) for r in plan.asked]:
        raise TornRead("two reads of the same ranges differ", stream=poll.context.stream, remedy=NO_SNAPSHOT)
    return range_leaves(now, texts)


def _whole_number_bytes(poll: TablePoll) -> int | None:
    """Return the bytes of a key that is one whole number, whose value can be recovered.

    The result is None for other keys.
    """
    if not is_enabled(KEY_RECOVERY) or poll.strategy.partitioning.hashed:
        return None
    return poll.strategy.connector.require(SupportsLeafChecksums).whole_number_bytes(poll.strategy.plan.key)


def range_leaves(now: Sequence[StoredRange], texts: Mapping[int, str]) -> dict[int, RangeLeaves]:
    """Return the leaf checksums by range, from the texts of a checksum pass."""
    return {r.range_id: RangeLeaves(r.rows, r.checksum, texts[r.range_id]) for r in now}


def restrict_to_dirty_leaves(plan: FetchPlan, known: Mapping[int, RangeLeaves], width: int | None) -> FetchPlan:
    """Return the plan for the dirty leaves of ranges, if that saves enough.

    Only ranges whose old leaves are known are restricted.

    Args:
        plan: The plan for whole ranges, with their leaves of now.
        known: Stored leaf checksums, by range.
        width: Bytes of a key that is one whole number, whose rows may be looked up; None for other keys.
    """
    old = {r.range_id: r for r in plan.old}
    only: dict[int, tuple[RowSelection, RowSelection]] = {}
    traced: dict[int, tuple[RowSelection, RowSelection]] = {}
    for one in plan.asked:
        before = known.get(one.range_id)
        if before and before.is_of(old[one.range_id]):
            was, now = leaves.diff(before.text, plan.leaves[one.range_id].text)
            dirty = {*was, *now}
            only[one.range_id] = leaves.select(was, dirty), leaves.select(now, dirty)
            by_key = None if width is None else key_recovery.rows_to_look_up(one, was, now, width)
            if by_key:
                traced[one.range_id] = by_key, by_key
    if not only:
        return plan
    asked = {r.range_id: r for r in plan.asked}
    share = sum(now.rows for _, now in only.values()) / max(1, sum(asked[i].rows for i in only))
    plan = replace(plan, leaf_share=share)
    if share > MOST_SHARE:
        return plan
    restricted = _select(plan, only)
    return replace(restricted, traced=_select(restricted, traced) if traced else None)


def _select(plan: FetchPlan, only: Mapping[int, tuple[RowSelection, RowSelection]]) -> FetchPlan:
    """Return the plan for selected rows: (of the replica, of the source) by range."""
    old = tuple(replace(r, only=only[r.range_id][0]) if r.range_id in only else r for r in plan.old)
    asked = tuple(replace(r, only=only[r.range_id][1]) if r.range_id in only else r for r in plan.asked)
    return replace(plan, old=old, asked=asked)


def remember_after_changes(poll: TablePoll, plan: FetchPlan, events: int, *, spared: bool) -> dict[str, Any]:
    """Return the checkpoint's entry after a poll with `events`; write the leaf checksums.

    Args:
        spared: It did not need whole ranges even without leaves, so leaves were useless.
    """
    if not can_be_asked(poll):
        return {}
    note = LeafNote.from_checkpoint(poll.leased.row.checkpoint)
    if note.pause:
        return LeafNote(pause=note.pause - 1).as_entry()
    likely = _likely_share(plan, events)
    if likely <= MOST_SHARE < (plan.leaf_share or 0.0):  # keys end with few different bytes
        return LeafNote(pause=PAUSE).as_entry()
    useful = likely <= MOST_SHARE and not spared
    left = USELESS if useful else note.left - 1
    if left <= 0:
        return {}
    part = _write(poll, plan.leaves) if plan.leaves else note.part
    return LeafNote(left, part=part, at_once=useful).as_entry()


def remember_after_no_change(poll: LakePoll, plan: FetchPlan) -> dict[str, Any]:
    """Return the checkpoint's entry after a poll without changes; write the file if missing."""
    if not has_new_note(poll, plan):
        return {}
    note = LeafNote.from_checkpoint(poll.leased.row.checkpoint)
    part = note.part or _write(poll, plan.leaves)
    return replace(note, part=part, at_once=False).as_entry()


def has_new_note(poll: LakePoll, plan: FetchPlan) -> bool:
    """Return True if a poll without changes changes the note about leaves."""
    note = LeafNote.from_checkpoint(poll.leased.row.checkpoint)
    return note.asks_for_all and bool(note.part or plan.leaves)


def _likely_share(plan: FetchPlan, events: int) -> float:
    """Return the share of the dirty ranges' rows in dirty leaves, if `events` are spread evenly.

    The result is 1 if useless.

    The estimate assumes that keys end with all bytes equally often.
    """
    rows = sum(r.rows for r in plan.dirty)
    in_leaf = rows / len(plan.dirty) / leaves.NUMBER
    few = not rows or _are_few(plan, rows) or in_leaf < LEAST_IN_LEAF
    if few or plan.scanned > MOST_LEAVES * max(1.0, in_leaf):
        return 1.0
    return leaves.share_of(min(1.0, events / rows), in_leaf)


def _are_few(plan: FetchPlan, rows: int) -> bool:
    """Return True if dirty ranges have few rows, so that whole ranges cost as little as leaves."""
    return rows < max(LEAST_ROWS, LEAST_SHARE * plan.scanned)


def _write(poll: LakePoll, known: Mapping[int, RangeLeaves]) -> str:
    """Write leaf checksums to a file that no commit names yet, and return its name."""
    lines = [f"{range_id} {one.rows} {one.checksum} {one.text}" for range_id, one in known.items()]
    return poll.context.files.write_blob(FILE_KIND, sealed("\n".join(lines).encode()), poll.leased)


def sealed(content: bytes) -> bytes:
    """Return the content of a leaf file below its seal, which also covers the text format."""
    return hashlib.sha256(FORM + content).hexdigest().encode() + b"\n" + content


def read(files: Files, checkpoint: Mapping[str, Any]) -> dict[int, RangeLeaves]:
    """Return the stored leaf checksums by range; empty if the file is missing or damaged."""
    part = LeafNote.from_checkpoint(checkpoint).part
    stored = files.read_blob(part) if part else b""
    content = stored.partition(b"\n")[2]
    if stored != sealed(content):
        return {}
    known = {}
    for line in content.decode().splitlines():
        range_id, rows, checksum, text = line.split(" ", 3)
        known[int(range_id)] = RangeLeaves(int(rows), int(checksum), text)
    return known
