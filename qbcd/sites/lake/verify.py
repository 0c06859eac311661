"""Compare a lake replica with its source in full."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack

from qbcd.errors import SourceChanged
from qbcd.sites.checkpoint import next_search
from qbcd.sites.lake.dirty_ranges import ranges_of_other_digests
from qbcd.sites.lake.due_ranges import DueRanges
from qbcd.sites.lake.engines import algebra
from qbcd.sites.lake.engines.base import Rows
from qbcd.sites.lake.poll import LakePoll, TablePoll, open_snapshot
from qbcd.sites.lake.replica.files import PASSING
from qbcd.sites.lake.stage import fetch_rows, replica_rows, stable_values, staged_rows
from qbcd.sites.refusals import check_key
from qbcd.sites.values import LISTED, Difference, Differences, UnseenDeletes
from qbcd.state import LeaseLost, StoredRange

Compare = Callable[[TablePoll, Sequence[StoredRange], ExitStack], Differences]


def verify(poll: LakePoll, compare: Compare) -> Differences:
    """Compare every row with the replica's own, and list the rows that differ.

    Polls compare sums of digests. This shares none of their blind spots: it compares values, or each row's digest if
    the replica has no values. If each statement sees its own state, differences are read again and must still exist
    (docs/design/protocol.md#rule-19): the lease protects the replica, but rows may have moved between the reads of two
    ranges. Rows past a watermark are pending, and no differences.

    Args:
        compare: Compares all rows in a snapshot; the stack removes the files.

    Raises:
        LeaseLost: Another process continued with the stream, because this one was paused beyond its lease.
    """
    try:
        found = _compared(poll, compare)
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


def _compared(poll: LakePoll, compare: Compare) -> Differences:
    stream = poll.context.stream
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
        return compare(poll.at(snapshot, DueRanges.every(known)), known, stages)


def all_rows(poll: TablePoll, known: Sequence[StoredRange], stages: ExitStack) -> Differences:
    """Compare every row with the replica's own; `stages` removes the files that are read."""
    plan, engine = poll.plan, poll.engine
    dirty = known if poll.strategy.keeps == "rows" else ranges_of_other_digests(poll)
    found = _differences(poll, dirty, stages) if dirty else None
    if found is not None and poll.snapshot.name is None:
        ids = algebra.range_ids(engine, found)
        dirty = [r for r in dirty if r.range_id in ids]
        found = algebra.of_keys(_differences(poll, dirty, stages), found) if dirty else None
    if found is None:
        return Differences()
    if poll.strategy.deletes:
        return Differences(_listed(poll, found, len(plan.captured if plan.counted else plan.key)))
    return apart(poll, algebra.without_deletes(found), algebra.deletes(found))


def _differences(poll: TablePoll, asked: Sequence[StoredRange], stages: ExitStack) -> Rows:
    """Return the changes between the replica's rows of `asked` and those of the source.

    `stages` removes the files.
    """
    fetched = fetch_rows(poll, asked, kind=PASSING)
    stages.callback(poll.context.files.discard, fetched)
    plan, both, old, new = poll.plan, stable_values(poll), replica_rows(poll, asked), staged_rows(poll, fetched)
    if plan.key and poll.strategy.keeps == "rows":
        old, new = (algebra.without_values(rows, plan, both) for rows in (old, new))
        plan = algebra.fingerprinted(plan)
        both = [*range(len(plan.key), len(plan.captured))]
    new = algebra.gathered(new, 2 * sum(r.rows for r in asked))
    return algebra.differences(old, new, plan, by="either", both=both)


def apart(poll: LakePoll, changes: Rows, deleted: Rows) -> Differences:
    """Return `changes`, and separately the keys of `deleted`, which polls have not looked for."""
    key = len(poll.plan.key)
    keys = [text for _, text in algebra.listed(poll.engine, deleted, key, LISTED + 1)]
    return Differences(_listed(poll, changes, key), UnseenDeletes.of(keys, next_search(poll) if keys else None))


def _listed(poll: LakePoll, changes: Rows, key: int) -> list[Difference]:
    """Return the first of `changes`, by their first `key` columns."""
    return [Difference(op, keys) for op, keys in algebra.listed(poll.engine, changes, key, LISTED + 1)]
