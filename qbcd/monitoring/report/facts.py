"""Facts of a report: state, polls of the history, ranges.

Nothing is changed, and Spark is not started.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from qbcd.errors import QbcdError
from qbcd.model.checkpoint import Entry
from qbcd.ranges.schedule import Pass
from qbcd.state import Run
from qbcd.status import StreamStatus, stream_status
from qbcd.stream import Stream

MOST_POLLS = 1000  # of a stream, as many as the history keeps
MOST_POLLS_OF_ALL = 50_000
FEWEST_POLLS = 50  # of a stream, however many streams there are


@dataclass(frozen=True)
class ShownRange:
    """A range of a stream, without its bounds, which are values of rows.

    Attributes:
        ago: Seconds since its last visit; None if it was never visited.
        heat: Its heat (`qbcd.ranges.schedule`), 0 for a cold one.
    """

    rows: int
    ago: float | None
    heat: float


@dataclass(frozen=True)
class StreamFacts:
    """The facts of one stream that a report shows.

    Attributes:
        source: Name of its source.
        runs: Its latest polls, oldest first.
        rows: Rows of the replica, and so of a scan of the table; None if not known.
        ranges: Its ranges from the lowest key to the highest; empty if it has none.
    """

    status: StreamStatus
    source: str
    runs: Sequence[Run] = ()
    rows: int | None = None
    ranges: Sequence[ShownRange] = field(default=())


def facts_of(stream: Stream, streams: int) -> StreamFacts:
    """Return the facts of a stream; an error of its source is in the status.

    Args:
        streams: Streams of the whole report: the more there are, the fewer polls of each are shown.
    """
    status = stream_status(stream)
    most = min(MOST_POLLS, max(FEWEST_POLLS, MOST_POLLS_OF_ALL // max(1, streams)))
    runs = stream.project.runs(stream.name, most)[::-1]
    rows, ranges = None, list[ShownRange]()
    if status.prepared:
        try:
            rows, ranges = _rows_and_ranges(stream, with_ranges=status.visits is not None)
        except QbcdError as error:
            error.stream = error.stream or stream.name
            status.error, status.failed = str(error), error
    return StreamFacts(status, stream.source.name, runs, rows, ranges)


def _rows_and_ranges(stream: Stream, *, with_ranges: bool) -> tuple[int | None, list[ShownRange]]:
    context = stream.site.context
    row = context.row()
    if row is None:
        return None, []
    count = row.checkpoint.get(Entry.ROWS)
    if not with_ranges:
        return count, []
    heat = Pass.from_checkpoint(row.checkpoint.get("pass")).heat
    with context.reading() as conn:
        now, ranges = context.store.now(conn), context.store.ranges(conn, stream.name)
    return count, [
        ShownRange(
            one.rows, max(0.0, now - one.last_visited) if one.last_visited else None, heat.get(one.range_id, 0.0)
        )
        for one in ranges
    ]
