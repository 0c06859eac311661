"""TS, simple time-stamps (Carnes & Hanson 3.2.1): the rows that a growing column says were changed.

It cannot see a delete, because a row that is gone has no time-stamp; a sweep over the keys finds those (`deletes`).
"""

from __future__ import annotations

from typing import Any

from qbcd.connectors.base import Connector
from qbcd.model import KeyRange, Statement, StreamPlan
from qbcd.strategies.base import ReplicaContent
from qbcd.strategies.watermarked import Watermarked

KEPT: dict[str, ReplicaContent] = {"source": "rows", "spark": "rows", "keys": "keys", "none": "nothing"}


class Ts(Watermarked):
    """Statements of TS for one stream."""

    name = "ts"

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan, schema)
        self.keeps = KEPT[str(plan.option("replica") or "source")]
        self.deletes: Any = plan.option("deletes")
        if self.deletes == "only":
            self.poll_mode, self.keeps, self.consistency = "ranges", "keys", "range"
        self.needs = (
            "SELECT on the table with a column that grows over the whole table, best with an index on it; a sight of "
            f"all sessions; a schema of qbcd's own in the source{_ROOM[self.keeps]}"
        )
        self.sees = _SEES[self.keeps] if self.deletes != "only" else "deletes only, by a sweep over the keys"
        self.misses = "states between two polls; rows that are written without moving their time-stamp" + (
            "; deletes" if not self.deletes else ""
        )

    def adopt(self, within: KeyRange) -> list[Statement]:
        """Of a stream of deletes alone: takes keys that are new in a range into the replica, without an event."""
        return [self._compiled("replica_adopt", within=within)] if self.deletes == "only" else []

    def change_problem(self, *, columns: bool, where: bool) -> str:
        """A sweep takes a row for gone when its key is, whatever the restriction says."""
        told = "`deletes: only` looks at keys that are gone, and tells nothing of rows that leave the restriction"
        return told if where and self.deletes == "only" else ""

    def warnings(self) -> list[str]:
        """That deletes stay unseen, where nothing looks for them."""
        if self.deletes:
            return []
        return [
            "a time-stamp cannot show a deleted row, and nothing else looks for it: this stream sees no deletes "
            "(deletes: {every: 1h} sweeps for them; tdi reads a delete flag)"
        ]


_ROOM: dict[ReplicaContent, str] = {
    "rows": ", with room for a copy of the captured rows",
    "keys": ", with room for the keys",
    "nothing": "",
}
_SEES: dict[ReplicaContent, str] = {
    "rows": "every insert and update, with old and new values",
    "keys": "every insert and update, without old values; rows near the watermark may come again",
    "nothing": "new values of every row that was inserted or updated, as op u; rows near the watermark may come again",
}
