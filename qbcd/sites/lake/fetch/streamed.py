"""Fetch path: compare rows that are looked up by key while they come.

The batch is the first file. One job reads the rows once and writes the batch. If the rows do not match the checksums,
the batch is removed. The snapshot stays open until all rows are compared, and one task holds the rows of both sides in
memory. So this path is for few bytes; larger fetches go through a stage.
"""

from __future__ import annotations

from typing_extensions import override

from qbcd.common.wording import counted
from qbcd.errors import TornRead
from qbcd.model import StreamPlan
from qbcd.ranges import row_selection
from qbcd.sites.lake.commit import RangeChanges, WrittenBatch, write_batch
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.fetch.base import FetchedRows, RowsPath
from qbcd.sites.lake.fetch.two_phase import FINGERPRINT_BYTES
from qbcd.sites.lake.fetch_plan import FetchPlan, check_delta
from qbcd.sites.lake.poll import TablePoll
from qbcd.sites.lake.replica.files import FileSet
from qbcd.sites.lake.stage import images_frame, replica_rows
from qbcd.sites.refusals import untravelled_error

FEW_BYTES = 64_000_000  # of the rows of both sides, about
ROW_BYTES = 500  # of a row whose width the source does not know


class StreamedKeys(RowsPath):
    """Compare rows that are looked up by key; give up if they are not all changes."""

    name = "streamed_keys"

    @override
    def is_applicable(self, poll: TablePoll, plan: FetchPlan) -> bool:
        return plan.traced is not None and is_small(poll, plan.traced)

    @override
    def fetch(self, poll: TablePoll, plan: FetchPlan) -> FetchedRows | None:
        assert plan.traced is not None
        try:
            found = compare(poll, plan.traced)
        except TornRead:  # several changes looked like one change of another row, or deleted rows were not found
            poll.context.progress("more rows changed than were selected; fetching the others")
            return None
        return FetchedStream(poll, plan, plan.traced, found)


class FetchedStream(FetchedRows):
    """Commit a batch that was compared while its rows came.

    The checksums of whole ranges are the source's.

    Args:
        read: The plan of the rows that were read.
    """

    def __init__(self, poll: TablePoll, plan: FetchPlan, read: FetchPlan, found: WrittenBatch) -> None:
        super().__init__(poll)
        self.plan, self.found = plan, found
        self.rows, self.size, self.by_key = read.fetched, read.fetched * _row_bytes(poll.plan), True

    @override
    def write(self) -> WrittenBatch:
        return self.found

    @override
    def ranges(self, found: WrittenBatch) -> RangeChanges:
        return RangeChanges(self.poll.due.visited(self.plan.unsplit))


def is_small(poll: TablePoll, plan: FetchPlan) -> bool:
    """Return True if rows can be compared while they come: few, and not needed as a file."""
    unstored = plan.in_leaves and not plan.children
    few = plan.rows <= poll.engine.few_rows and plan.rows * _row_bytes(poll.strategy.plan) <= FEW_BYTES
    return unstored and few and poll.strategy.plan.on(poll.snapshot.table).key_is_proven


def compare(poll: TablePoll, plan: FetchPlan) -> WrittenBatch:
    """Read the rows of `plan`, compare them with the replica and write the batch in one job.

    Raises:
        TornRead: The rows do not match the checksums.
        GuardTripped: It deletes too many rows.
        UnsupportedType: A typed sink cannot hold a value.
    """
    context, settings = poll.context, poll.settings
    context.progress(
        f"comparing about {counted(plan.fetched, 'row')} of {counted(len(plan.asked), 'range')} with the replica"
    )
    came, known = poll.engine.row_checksum(wide=poll.plan.wide), poll.engine.row_checksum(wide=poll.plan.wide)
    new = images_frame(poll, row_selection.of_source(plan.asked))
    rows = algebra.for_one_join(came.observe(new))
    old = known.observe(replica_rows(poll, plan.old))

    def check(written: FileSet) -> None:
        check_delta(context.stream, plan, came.read(), known.read())
        if positions := settings.judged(came.untravelled(), len(poll.plan.key)):
            from qbcd.sites.lake.sink_values import first_text

            found = first_text(context.files.paths(written), poll.plan, f"a_{positions[0]}")
            raise untravelled_error(poll.plan, settings, positions, found)

    changes = algebra.differences(old, rows, poll.plan, by="digest")
    return write_batch(poll, changes, plan.rows, check=check)


def _row_bytes(plan: StreamPlan) -> int:
    return FINGERPRINT_BYTES + (sum(c.width for c in plan.captured) or plan.table.row_width or ROW_BYTES)
