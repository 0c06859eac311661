"""Compare a lake replica with its source in full."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack

from qbcd.errors import SourceChanged
from qbcd.sites.checkpoint import next_search
from qbcd.sites.lake import audit, delete_sweep
from qbcd.sites.lake.dirty_ranges import ranges_of_other_digests
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.poll import LakePoll, TablePoll, open_snapshot
from qbcd.sites.lake.stage import fetch_rows, replica_rows, staged_rows
from qbcd.sites.refusals import check_key
from qbcd.sites.values import LISTED, Difference, Differences, UnseenDeletes
from qbcd.state import LeaseLost, StoredRange
from qbcd.strategies import LakeTs


def verify(poll: LakePoll) -> Differences:
    """Compare every row with the replica's own, and list the rows that differ.

    Polls compare sums of digests. This shares none of their blind spots: it compares values, or each row's digest if
    the replica has no values. If each statement sees its own state, differences are read again and must still exist
    (docs/design/protocol.md#rule-19): the lease protects the replica, but rows may have moved between the reads of two
    ranges. Rows past a watermark are pending, and no differences.

    Raises:
        LeaseLost: Another process continued with the stream, because this one was paused beyond its lease.
    """
    try:
        found = _compared(poll)
    except Exception as error:  # the other process may have removed files that were compared
        _refuse_overtaken(poll, error)
        raise
    _refuse_overtaken(poll)
    return found


def _refuse_overtaken(poll: LakePoll, error: Exception | None = None) -> None:
    context, leased = poll.context, poll.leased
    with context.reading() as conn:
        row = context.store.read(conn, context.stream)
    if row is None or (row.version, row.fencing_token) != (leased.row.version, leased.row.fencing_token):
        raise LeaseLost(
            "another process continued with the stream while it was compared",
            stream=context.stream,
            remedy="verify it again",
        ) from error


def _compared(poll: LakePoll) -> Differences:
    plan, stream = poll.plan, poll.context.stream
    known = poll.known_ranges()
    with ExitStack() as stages, open_snapshot(poll) as snapshot:
        if snapshot.digests_changed:
            raise SourceChanged(
                "the server, or the way in which digests are computed, changed since the last poll",
                stream=stream,
                remedy=f"qbcd run {stream} --once compares every row by its values; verify it then",
            )
        check_key(snapshot.session, poll.strategy)
        rows = sum(r.rows for r in known)
        poll = stages.enter_context(poll.on_engine(rows))
        of_table = poll.at(snapshot, DueRanges.every(known))
        if isinstance(poll.strategy, LakeTs):
            return _before_the_watermark(of_table, known, stages)
        dirty = known if poll.strategy.keeps == "rows" else ranges_of_other_digests(of_table)
        found = _differences(of_table, dirty, stages) if dirty else None
        if found is not None and snapshot.name is None:
            ids = algebra.range_ids(poll.engine, found)
            dirty = [r for r in dirty if r.range_id in ids]
            found = algebra.of_keys(_differences(of_table, dirty, stages), found) if dirty else None
        if found is None:
            return Differences()
        if poll.strategy.deletes:
            return Differences(_listed(poll, found, len(plan.captured if plan.counted else plan.key)))
        return _apart(poll, algebra.without_deletes(found), algebra.deletes(found))


def _differences(poll: TablePoll, asked: Sequence[StoredRange], stages: ExitStack) -> Rows:
    """Return the changes between the replica's rows of `asked` and those of the source.

    `stages` removes the files.
    """
    fetched = fetch_rows(poll, asked)
    stages.callback(poll.context.files.discard, fetched)
    old = replica_rows(poll, asked)
    new = algebra.gathered(staged_rows(poll, fetched), 2 * sum(r.rows for r in asked))
    return algebra.differences(old, new, poll.plan, by="either", both=audit.stable_values(poll))


def _before_the_watermark(poll: TablePoll, known: Sequence[StoredRange], stages: ExitStack) -> Differences:
    """Return the changes that an audit would make.

    Deleted keys, which a sweep finds, are listed apart.
    """
    before = poll.timestamps.watermarked.window(None, poll.leased.checkpoint.watermark["at"])
    if before is None:
        return Differences()
    fetched = audit.fetch_settled(poll, known, before)
    stages.callback(poll.context.files.discard, fetched)
    stage = algebra.gathered(audit.settled_rows(poll, fetched), 2 * sum(r.rows for r in known))
    found = algebra.settled_differences(replica_rows(poll, known), stage, poll.plan, audit.stable_values(poll))
    missing = algebra.deletes(found)
    if poll.plan.where:  # rows that left the restriction without a new timestamp: no sweep finds them
        keys = delete_sweep.fetch_keys(poll, known)
        stages.callback(poll.context.files.discard, keys)
        missing = algebra.without_keys(missing, delete_sweep.keys_of(poll, keys))
    return _apart(poll, algebra.without_keys(found, missing), missing)


def _apart(poll: LakePoll, changes: Rows, deleted: Rows) -> Differences:
    """Return `changes`, and separately the keys of `deleted`, which polls have not looked for."""
    key = len(poll.plan.key)
    keys = [text for _, text in algebra.listed(poll.engine, deleted, key, LISTED + 1)]
    return Differences(_listed(poll, changes, key), UnseenDeletes.of(keys, next_search(poll) if keys else None))


def _listed(poll: LakePoll, changes: Rows, key: int) -> list[Difference]:
    """Return the first of `changes`, by their first `key` columns."""
    return [Difference(op, keys) for op, keys in algebra.listed(poll.engine, changes, key, LISTED + 1)]
