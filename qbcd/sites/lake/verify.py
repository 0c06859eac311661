"""Compare a lake replica with its source in full."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from qbcd.errors import SourceChanged, StateConflict
from qbcd.model import StreamPlan
from qbcd.sites.lake import audit, diff
from qbcd.sites.lake.snapshot import Snapshot, remembered
from qbcd.sites.lake.stage import fetch_rows, staged_rows
from qbcd.sites.refusals import check_key
from qbcd.sites.values import LISTED, Difference, Differences, LeasedStream, Settings
from qbcd.state import StoredRange
from qbcd.strategies import LakeTs

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from qbcd.sites.lake.context import LakeContext


def verify(context: LakeContext, plan: StreamPlan, held: LeasedStream) -> Differences:
    """Compares every range with the replica's own rows, and the rows of those that differ.

    Where every statement sees a state of its own, what differs is read again, and must differ then too
    (docs/design/protocol.md#rule-19): the lease keeps the replica as it is, while rows may have moved between the reads
    of two ranges. Rows past a watermark are pending, and no differences.

    Raises:
        StateConflict: Another process went on with the stream meanwhile: this one was paused beyond its lease.
    """
    try:
        found = _compared(context, plan, held)
    except Exception as error:  # what it looked for may have gone with that
        _refuse_moved(context, held, error)
        raise
    _refuse_moved(context, held)
    return found


def _refuse_moved(context: LakeContext, held: LeasedStream, error: Exception | None = None) -> None:
    with context.reading() as conn:
        row = context.store.read(conn, context.stream)
    if row is None or (row.version, row.fencing_token) != (held.row.version, held.row.fencing_token):
        raise StateConflict(
            "another process has gone on with the stream while it was compared",
            stream=context.stream,
            remedy="verify it again",
        ) from error


def _compared(context: LakeContext, plan: StreamPlan, held: LeasedStream) -> Differences:
    strategy = context.strategy(plan)
    settings = Settings(sinks=(), requested={})
    with context.reading() as conn:
        known = context.store.ranges(conn, context.stream)
    with ExitStack() as stages, remembered(context, plan, held, settings) as snapshot:
        if snapshot.rebase:
            raise SourceChanged(
                "the server, or the way in which digests are computed, changed since the last poll",
                stream=context.stream,
                remedy=f"qbcd run {context.stream} --once compares every row by its values; verify it then",
            )

        def differing(asked: Sequence[StoredRange]) -> DataFrame:
            fetched = fetch_rows(context, strategy, snapshot, asked, settings, held)
            stages.callback(context.files.discard, fetched)
            with context.reading() as conn:
                old = context.replica.rows(conn, plan, strategy.stored_columns, asked)
            differ = diff.differences(old, staged_rows(context, strategy, fetched, settings), plan, by_value=False)
            return differ if strategy.deletes else differ.where("op <> 'd'")

        check_key(snapshot.session, context.strategy(plan))
        dirty = audit.suspects(context, plan, strategy, snapshot, known, settings)
        if isinstance(strategy, LakeTs):
            found = _before_the_mark(context, plan, strategy, settings, held, snapshot, dirty, stages)
            return _listed(found, len(plan.key)) if found is not None else Differences()
        found = differing(dirty) if dirty else None
        if found is not None and snapshot.name is None:
            ids = {r["range_id"] for r in found.select("range_id").distinct().collect()}
            dirty = [r for r in dirty if r.range_id in ids]
            found = differing(dirty).join(found.select("key_id"), "key_id", "left_semi") if dirty else None
        shown = plan.captured if plan.counted else plan.key
        return _listed(found, len(shown)) if found is not None else Differences()


def _before_the_mark(
    context: LakeContext,
    plan: StreamPlan,
    strategy: LakeTs,
    settings: Settings,
    held: LeasedStream,
    snapshot: Snapshot,
    dirty: Sequence[StoredRange],
    stages: ExitStack,
) -> DataFrame | None:
    """What an audit would repair."""
    before = strategy.watermarked.window(None, held.row.checkpoint["mark"]["at"])
    if not dirty or before is None:
        return None
    fetched = audit.fetch(context, strategy, snapshot, dirty, settings, held, before)
    stages.callback(context.files.discard, fetched)
    with context.reading() as conn:
        old = context.replica.rows(conn, plan, strategy.stored_columns, dirty)
    return audit.differing(old, audit.stage_of(context, strategy, fetched, settings), plan)


def _listed(changes: DataFrame, key: int) -> Differences:
    """The first of `changes`, by the first `key` columns."""
    keys = [f"CAST(COALESCE(a_{i}, b_{i}) AS STRING) AS k{i}" for i in range(key)]
    rows = changes.selectExpr("op", *keys).limit(LISTED + 1).collect()
    return Differences(Difference(r["op"], ", ".join(str(v) for v in r[1:])) for r in rows)
