"""The one step of a Spark site: changes written as a batch, guarded, and switched in with ranges and checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from qbcd import hooks
from qbcd.errors import GuardTripped, TornRead, UnsupportedType
from qbcd.model import BatchHeader, StreamPlan
from qbcd.ranges.schedule import Pass
from qbcd.sites.checkpoint import new_header
from qbcd.sites.guards import check_pass, confirm, counted_now
from qbcd.sites.lake import diff
from qbcd.sites.lake.diff import paired
from qbcd.sites.lake.fetch.leaf_checksums import LeafNote
from qbcd.sites.lake.observed import EventCounts
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.replica.replica import travels_of
from qbcd.sites.lake.replica.schema import batch_fields
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.sites.poll import Poll
from qbcd.sites.refusals import untravelled_error
from qbcd.spark.typed import misfit
from qbcd.state import StoredRange

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.sites.lake.context import LakeContext
    from qbcd.sites.values import LeasedStream, Settings


@dataclass(frozen=True)
class WrittenBatch:
    """A batch that is written and not committed yet.

    Attributes:
        counts: Events by op; empty where nothing changed.
    """

    part: FileSet
    counts: dict[str, int]

    @property
    def net(self) -> int:
        """By how many rows the replica grows."""
        return self.counts.get("c", 0) - self.counts.get("d", 0)


@dataclass(frozen=True)
class NewSegment:
    """A segment that becomes that of some ranges, which has all of their rows.

    Attributes:
        rows: How many rows there are in it, those of other ranges counted.
        gone: Ranges that others of them take the place of.
        alone: No other range has changes in the batch.
    """

    segment: FileSet
    rows: int
    ranges: Sequence[StoredRange]
    gone: Sequence[StoredRange] = ()
    alone: bool = False


def write_batch(
    context: LakeContext,
    plan: StreamPlan,
    settings: Settings,
    held: LeasedStream,
    changes: DataFrame,
    rows: int,
    state: Pass | None = None,
    check: Callable[[], None] | None = None,
) -> WrittenBatch:
    """Writes the changes among about `rows` rows as a batch's part that the guards let pass, in a pass if it is of one.

    Where `changes` are computed of rows as they come from the source, `check` says afterwards whether they are whole.

    Raises:
        GuardTripped: It deletes too much; the part is removed.
        TornRead: `check` says so; the part is removed.
        UnsupportedType: An old value is none that a typed sink takes, or `check` says so of one that came.
    """
    found = _written(context, plan, settings, held, changes, rows)
    # Without a key an update is a delete and an insert: gone are only the rows that none came for.
    deletes = max(0, -found.net) if plan.counted else found.counts.get("d", 0)
    after = int(held.row.checkpoint["rows"]) + found.net
    try:
        if check:
            check()
        check_pass(
            Poll(context, plan, context.strategy(plan), settings, held),
            state,
            deletes=deletes,
            after=after,
            left=lambda: counted_now(context, context.strategy(plan).partitioning.row_count()),
        )
    except (GuardTripped, TornRead, UnsupportedType):
        context.files.discard(found.part)
        raise
    return found


def _written(
    context: LakeContext, plan: StreamPlan, settings: Settings, held: LeasedStream, changes: DataFrame, rows: int
) -> WrittenBatch:
    """Numbers the changes, pairs them where asked, writes them and counts them on the way."""
    seq, fields = held.row.last_batch_seq + 1, batch_fields(travels_of(plan))
    unfit = _unfit(plan) if settings.typed else {}

    def write(batch: DataFrame) -> WrittenBatch:
        if settings.key_change:
            batch = paired(batch, keys=len(plan.key), width=len(plan.captured), epoch=held.row.epoch, seq=seq)
        counts = EventCounts(unfit)
        part = context.files.write(counts.observe(batch), fields, "batch", held, source=context.source)
        if counts.unfit():
            context.files.discard(part)
            raise untravelled_error(plan, settings, counts.unfit())
        return WrittenBatch(part, counts.read())

    if rows <= diff.ONE_TASK_ROWS:
        return write(diff.numbered(changes, seq, few=rows <= diff.FEW_ROWS))
    changes = changes.persist()
    try:
        sizes = diff.groups(changes)
        numbered = diff.numbered_by_group(changes, sizes, seq) if sizes else diff.numbered(changes, seq)
        return write(numbered)
    finally:
        changes.unpersist()


def _unfit(plan: StreamPlan) -> dict[int, str]:
    """By column, that an old value is none a typed sink takes: it may be older than the first such sink."""
    found = {i: misfit(c.travel, f"b_{i}") for i, c in enumerate(plan.captured)}
    return {i: condition for i, condition in found.items() if condition}


def stage_changes(
    context: LakeContext,
    plan: StreamPlan,
    settings: Settings,
    held: LeasedStream,
    snapshot: Snapshot,
    changes: DataFrame,
    about: int,
    state: Pass | None = None,
) -> tuple[BatchHeader | None, WrittenBatch, dict[int, tuple[int, int]]]:
    """Writes `changes`, `about` so many and persisted, as the next batch; also what they add to their ranges."""
    found = write_batch(context, plan, settings, held, changes, about, state)
    moves = diff.moves(changes) if found.counts else {}
    header = new_batch(context, plan, settings, held, found, held.row.epoch, snapshot.ts_ms)
    hooks.reach("after_stage")
    return header, found, moves


def new_batch(
    context: LakeContext,
    plan: StreamPlan,
    settings: Settings,
    held: LeasedStream,
    found: WrittenBatch,
    epoch: int,
    ts_ms: int,
) -> BatchHeader | None:
    """The header of the next batch, which `found` is; None where it is empty."""
    if not found.counts:
        context.files.discard(found.part)
        return None
    strategy = context.strategy(plan)
    poll = Poll(context, plan, strategy, settings, held)
    made = new_header(poll, epoch=epoch, ts_ms=ts_ms, counts=found.counts, consistency=strategy.consistency)
    return replace(made, location=found.part.as_location(), before=strategy.keeps == "rows")


def commit_step(
    context: LakeContext,
    poll: Poll,
    header: BatchHeader | None,
    checkpoint: Mapping[str, Any],
    moved: Sequence[StoredRange] = (),
    taken: NewSegment | None = None,
) -> None:
    """Commits batch, ranges and checkpoint, by compare-and-set; the row in `held` has advanced when it returns.

    Args:
        context: The stream's.
        poll: The poll.
        header: The batch, if there is one.
        checkpoint: The next one.
        moved: Ranges that stay where they are, with their new counts and checksums.
        taken: Ranges that do not.
    """
    held = poll.leased
    folded, before = (
        header.seq if header else held.row.last_batch_seq,
        LeafNote.from_checkpoint(held.row.checkpoint).part,
    )
    hooks.reach("before_commit")
    with context.writing() as conn:
        row = held.row
        context.store.update_ranges(conn, context.stream, moved)
        if taken:
            row = context.replica.take(
                conn,
                row,
                taken.segment,
                rows=taken.rows,
                folded=folded,
                gone=taken.gone,
                ranges=taken.ranges,
                alone=taken.alone,
            )
        confirm(poll, conn)
        row = context.commit(conn, row, held, header, dict(checkpoint))
    held.row = row
    remembered = LeafNote.from_checkpoint(row.checkpoint).part == before
    context.swept = context.swept and not taken and remembered  # else segments, or what leaves added up to, were let go
    hooks.reach("after_commit")
