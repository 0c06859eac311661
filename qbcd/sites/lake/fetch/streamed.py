"""Rows of leaves that differ, compared while they come: the batch is the first that is written of them.

They are read once, by the one job that writes the batch. Where they turn out to be others than the checksums counted,
the batch goes with them. The snapshot is held until all is compared, and one task holds the rows of both sides in
memory: so this is for few bytes, and what else is read of the source goes through a stage.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from qbcd import hooks
from qbcd.model import StreamPlan
from qbcd.ranges import row_selection
from qbcd.sites.event_schema import casts
from qbcd.sites.lake import diff
from qbcd.sites.lake.commit import WrittenBatch, write_batch
from qbcd.sites.lake.fetch.two_phase import MARK_BYTES
from qbcd.sites.lake.fetch_plan import FetchPlan, check_delta, check_torn
from qbcd.sites.lake.observed import RowChecksum
from qbcd.sites.lake.replica.replica import travels_of
from qbcd.sites.lake.replica.schema import row_fields
from qbcd.sites.lake.snapshot import Snapshot
from qbcd.sites.lake.stage import range_frame
from qbcd.sites.refusals import untravelled_error
from qbcd.sites.values import LeasedStream, Settings
from qbcd.strategies import IdRcs

if TYPE_CHECKING:
    from qbcd.sites.lake.context import LakeContext

FEW_BYTES = 64_000_000  # of the rows on both sides, about
ROW_BYTES = 500  # of a row of which the source does not know the width


@dataclass(frozen=True)
class Streamed:
    """A batch that was written of rows as they came; no commit names it yet.

    Attributes:
        rows: How many were read of the source, about.
        size: Bytes that travelled, about.
        by_key: Rows were looked up by key.
    """

    found: WrittenBatch
    rows: int
    size: int
    by_key: bool


def is_open(strategy: IdRcs, snapshot: Snapshot, wanted: FetchPlan) -> bool:
    """Whether rows can be compared as they come: nothing of them is kept, and they are few."""
    passing = wanted.in_leaves and not wanted.children
    few = wanted.rows <= diff.FEW_ROWS and wanted.rows * _row_bytes(strategy.plan) <= FEW_BYTES
    return passing and few and strategy.plan.on(snapshot.table).key_is_proven


def compared(
    context: LakeContext,
    plan: StreamPlan,
    strategy: IdRcs,
    snapshot: Snapshot,
    wanted: FetchPlan,
    settings: Settings,
    held: LeasedStream,
) -> Streamed:
    """The batch of the rows that `wanted` asks for, all of whose ranges are looked at.

    Raises:
        TornRead: Others came than the checksums counted.
        GuardTripped: It deletes too much.
        UnsupportedType: A value is none that a typed sink takes.
    """
    context.progress(f"comparing about {wanted.fetched:,} rows of {len(wanted.asked):,} ranges with the replica")
    frame = range_frame(
        context.source,
        context.spark.get(),
        strategy,
        snapshot,
        row_selection.of_source(wanted.asked),
        lambda some, part: strategy.images(some, part, typed=settings.typed),
        settings.connections,
    )
    came, known = RowChecksum(), RowChecksum()
    new = came.observe(frame.selectExpr(*casts(row_fields(travels_of(plan), typed=settings.typed))))
    rows = new.repartition(1).hint("shuffle_hash")  # readers work at the same time, and hand all to one task
    with context.reading() as conn:
        old = context.replica.rows(conn, plan, strategy.stored_columns, wanted.old)
    old = known.observe(old) if wanted.is_traced else old

    def check() -> None:
        if wanted.is_traced:
            check_delta(context.stream, wanted, came.read(), known.read())
        else:
            check_torn(context.stream, wanted, *came.read())
        if positions := came.untravelled():
            raise untravelled_error(plan, settings, positions)
        hooks.reach("after_fetch")

    changes = diff.differences(old, rows, plan, by_value=False)
    found = write_batch(context, plan, settings, held, changes, wanted.rows, check=check)
    return Streamed(found, wanted.fetched, wanted.fetched * _row_bytes(plan), wanted.is_traced)


def _row_bytes(plan: StreamPlan) -> int:
    return MARK_BYTES + (sum(c.width for c in plan.captured) or plan.table.row_width or ROW_BYTES)
