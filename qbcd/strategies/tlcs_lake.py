"""TLCS with its replica in the lake (Carnes & Hanson 3.3, variant c).

With ``checksums: remote`` the source keeps nothing: range checksums find changed rows, as in ID/RCS, and key and digest
are the replica. With ``replica: lake`` the source keeps a digest per row and puts changed rows into a queue, its
outbox; only these travel, and the lake replica has their old values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from typing_extensions import override

from qbcd.connectors.base import Connector
from qbcd.model import Column, KeyRange, Statement, StreamPlan
from qbcd.sql import compile_sql, render
from qbcd.strategies.base import WriteRight, images, table_name
from qbcd.strategies.id_rcs import SEES_BY_DIGEST, IdRcs
from qbcd.strategies.in_source import OutboxSlice, OwnTable, create_statements
from qbcd.strategies.reads import Reads, TableFacts
from qbcd.strategies.tlcs_source import Tlcs

POSITION = (("project", "varchar(64)"), ("applied", "varchar(64)"), ("queued", "varchar(64)"))


def _position_table(name: tuple[str, str]) -> OwnTable:
    return OwnTable(name, POSITION, ("project",), own=tuple(name for name, _ in POSITION), written_over=True)


class LakeTlcs(IdRcs):
    """Statements of TLCS with ``checksums: remote``."""

    name = "tlcs"
    by_hash = False
    needs = "SELECT on the table, and a key that the database can order; nothing is written to the source"

    def __init__(self, connector: Connector, plan: StreamPlan) -> None:
        super().__init__(connector, plan)
        self.keeps = "digests"
        self.deletes = bool(plan.option("deletes"))
        self.sees = SEES_BY_DIGEST if self.deletes else SEES_BY_DIGEST.replace(", update and delete", " and update")
        self.misses = "old values and the names of changed columns; states between two polls" + (
            "" if self.deletes else "; deletes"
        )


class QueuedTlcs(IdRcs):
    """Statements of TLCS with ``replica: lake``.

    Attributes:
        finder: TLCS over the same plan: tables of digests and of the queue, and the statements that find changes.
        position: The table of one row: the commit of the stream that the digests show (`applied`), the commit for which
            the rows of the queue are (`queued`), and the project that owns them.
    """

    name = "tlcs"
    poll_mode = "queue"
    statements = (21, 21)
    writes_source = True
    ships_unchanged = "nothing"
    by_hash = False  # the queue finds a row's range by its key

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan)
        self.finder = Tlcs(connector, plan, schema)
        self.position = (schema, table_name("queue", plan.stream))
        self.keeps = "rows"
        self.consistency = "range"
        self.sees = "every insert, update and delete, with old and new values, as the net change between two polls"
        self.misses = "states between two polls of a range"
        self.needs = f"{self.finder.needs}; room for the rows in the workdir"

    @classmethod
    @override
    def of(cls, connector: Connector, plan: StreamPlan, schema: str) -> QueuedTlcs:
        return cls(connector, plan, schema)

    @override
    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check the column of the checksums, and that the queue fits the column limit.

        Raises:
            ConfigError: The column does not fit.
            Refused: A table would have too many columns.
        """
        super().check(place)
        self.finder.check(place)

    @override
    def change_problem(self, *, columns: bool, where: bool) -> str:
        """Return the problem of other columns: the digests in the source are those of the old ones."""
        return self.finder.change_problem(columns=columns, where=where)

    @override
    def with_old_digest(self, was: Sequence[Column]) -> QueuedTlcs:
        """Return itself: rows of the queue have one digest, and all values are compared in addition."""
        return self

    @override
    def reads(self, facts: TableFacts) -> Reads:
        """Return the reads of the search in the source: old values are in the lake replica."""
        return replace(self.finder.reads(facts), workdir_room=self.replica_pages(facts))

    @override
    def warnings(self) -> list[str]:
        """Return none: polls read no range of the key."""
        return []

    @override
    def write_rights(self) -> list[WriteRight]:
        return self.finder.write_rights()

    def tables(self) -> list[OwnTable]:
        """Return the tables in the source: digests, queue and position."""
        return [*self.finder.tables(), _position_table(self.position)]

    def ddl(self) -> list[str]:
        """Return CREATE TABLE statements of these tables; repeatable."""
        return create_statements(self.connector, self.tables())

    def queued_rows(self, ranges: Sequence[KeyRange], part: OutboxSlice, *, typed: bool) -> Statement:
        """Return the query for the queue's new and changed rows, as in `images`.

        `ranges` are all ranges.
        """
        return self._queued(ranges, part, self._outputs(typed), image="after", values=True, typed=typed)

    def queued_keys(self, ranges: Sequence[KeyRange], part: OutboxSlice) -> Statement:
        """Return the query for (range_id, key_id, digest) of all rows of the queue.

        Deleted rows have no digest.
        """
        select = ["t.qbcd_key_id AS key_id", "t.qbcd_digest AS digest"]
        parts = (
            self._queued(ranges, part, select, image=image, values=False, typed=False) for image in ("after", "before")
        )
        return Statement("\nUNION ALL\n".join(one.sql for one in parts))

    def _queued(self, ranges: Sequence[KeyRange], part: OutboxSlice, select: Sequence[str], **extra: Any) -> Statement:
        plan, of_outbox = self.plan, images(self.plan, self.connector.identifier_limit)
        named = [replace(c, name=f"qbcd_v{i}") for i, c in enumerate(plan.captured)]
        plan = replace(plan, key=tuple(named[: len(plan.key)]), columns=tuple(named[len(plan.key) :]))
        context = {"outbox": self.finder.outbox, "captured": plan.captured, "key": plan.key, "images": of_outbox}
        canonical = render("queue_images", **context, epoch=part.epoch, batch_seq=part.seq, **extra)
        rows = compile_sql(canonical, self.connector, plan).sql
        range_id = self.connector.ranges.range_of(plan.key, "t", ranges)
        return Statement(f"SELECT {range_id} AS range_id, {', '.join(select)}\nFROM (\n{rows}\n) AS t")
