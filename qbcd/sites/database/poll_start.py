"""Changes of the source that decide, before a poll reads rows, if it must compare all rows."""

from __future__ import annotations

import time
from dataclasses import dataclass

from qbcd.catalog.capture_change import Change
from qbcd.errors import SchemaChanged
from qbcd.sites.database.poll import DatabasePoll
from qbcd.sites.source_changes import is_remade


@dataclass(frozen=True)
class PollStart:
    """The state of stream and source at the start of a poll.

    Attributes:
        change: Other captured columns, or another restriction.
        server_changed: The server, or its rules of equality, are other ones.
        table_changed: The table, or a column that polls read, is or may be another one of the same name.
        rows: Rows of the replica.
        began: When it began, by the monotonic clock.
        attached: Partitions that were attached, with rows before the watermark: all rows must be read.
        keeps_rows: The replica has values to compare with.
    """

    change: Change
    server_changed: bool
    table_changed: bool
    rows: int
    began: float
    attached: tuple[str, ...] = ()
    keeps_rows: bool = True

    @property
    def compare_all(self) -> bool:
        """True if all rows must be compared, since old timestamps or digests are not comparable."""
        return self.server_changed or self.table_changed or (bool(self.attached) and self.keeps_rows)

    @property
    def seconds(self) -> float:
        """Seconds since it began."""
        return time.monotonic() - self.began


def table_changed(poll: DatabasePoll) -> bool:
    """Return True if the table, or a column that polls read, may be another of the same name.

    Raises:
        SchemaChanged: It is another one, and the replica has no values to compare with.
    """
    plan, checkpoint, keeps = poll.plan, poll.leased.row.checkpoint, poll.strategy.keeps
    surely = is_remade(checkpoint, plan, surely=True)
    if surely and keeps != "rows":
        raise SchemaChanged(
            f"{plan.table.label}, or a column of it, is another one of the same name now, and this stream keeps no old "
            "values by which its rows could be compared",
            stream=plan.stream,
            remedy=f"undo it at the source, or qbcd reset {plan.stream} and prepare it again; consumers must reload",
        )
    return surely or (keeps == "rows" and is_remade(checkpoint, plan, surely=False))
