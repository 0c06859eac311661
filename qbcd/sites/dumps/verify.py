"""Compare the replica with the last dump that was taken."""

from __future__ import annotations

from qbcd.errors import Refused
from qbcd.sites.dumps.poll import DumpPoll, series_of, taken_by
from qbcd.sites.dumps.take import StagedDump
from qbcd.sites.lake.engines import algebra
from qbcd.sites.values import LISTED, Difference, Differences


def verify(poll: DumpPoll) -> Differences:
    """Read the last dump again, and compare each row with the replica's.

    Raises:
        Refused: The dump does not exist any more, or was changed.
    """
    context, checkpoint = poll.context, poll.leased.row.checkpoint
    taken = taken_by(context, checkpoint)
    last = None if taken is None else series_of(context).current(taken)
    if last is None:
        name = taken.last.name if taken else "the dump"
        raise Refused(
            f"{name}, the last dump that was taken, does not exist any more or was changed",
            stream=context.stream,
            remedy="put the file back, with its time of modification; nothing else can be compared with the replica",
        )
    [known] = poll.known_ranges()
    with poll.of(last).on_engine(0) as of_file:
        dump = StagedDump(of_file, known.range_id)
        try:
            stage, strategy = dump.stage(), of_file.strategy
            with context.reading() as conn:
                old = context.replica.rows(conn, of_file.engine, of_file.plan, strategy.stored_columns, [known])
            by_digest = strategy.keeps == "digests"
            found = algebra.differences(old, stage, of_file.plan, by="digest" if by_digest else "values")
            listed = algebra.listed(of_file.engine, found, len(of_file.plan.key), LISTED + 1)
            return Differences(Difference(op, key) for op, key in listed)
        finally:
            context.files.discard(dump.files)
