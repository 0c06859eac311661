"""The consumer in Python, which is a sink of its own: where it begins, and what waits for it (protocol.md 22)."""

from __future__ import annotations

import logging

from qbcd.assembly import PYTHON_SINK
from qbcd.delivery import waiting_batches
from qbcd.errors import LeaseHeld, QbcdError, StateConflict
from qbcd.model import BatchHeader
from qbcd.stream import Stream

log = logging.getLogger("qbcd")


def doubts_batches(error: QbcdError) -> bool:
    """Whether the error casts doubt on the site's own batches: a foreign project's, or from before a restore."""
    return isinstance(error, StateConflict) and not isinstance(error, LeaseHeld)


def enroll_python(stream: Stream) -> None:
    """Lets a consumer in Python begin with the earliest batch of the epoch that the site still has.

    Where the stream is not prepared, or the site cannot be reached, the poll that follows says so.
    """
    if PYTHON_SINK in stream.project.acknowledged(stream.name):
        return
    try:
        row = stream.site.row()
        if row is None or not row.prepared or row.project_id != stream.project.project_id:
            return
        first = next((h.seq for h in stream.site.batches() if h.epoch == row.epoch), row.last_batch_seq + 1)
    except QbcdError as error:
        log.debug("stream %s: its Python consumer is not enrolled yet: %s", stream.name, error)
        return
    stream.project.enroll(stream.name, PYTHON_SINK, row.epoch, first - 1)


def waiting(stream: Stream, failed: QbcdError | None) -> list[BatchHeader]:
    """The batches that the Python consumer has not acknowledged, oldest first; none where it never began.

    Args:
        failed: The error of the poll before; raised in place of a second one, where the site cannot be reached either.
    """
    done = stream.project.acknowledged(stream.name).get(PYTHON_SINK)
    try:
        row = stream.site.row() if done else None
        return waiting_batches(stream.site, PYTHON_SINK, done, row) if done and row else []
    except QbcdError as error:
        raise failed or error from error
