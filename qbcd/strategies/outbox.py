"""Statements on a batch's rows in the outbox, by its header: number, pair, read, delete.

They do not use today's plan: a batch keeps the columns under which it was staged.
"""

from __future__ import annotations

from dataclasses import replace

from qbcd.connectors.base import Connector
from qbcd.errors import StateConflict
from qbcd.model import BatchHeader, Statement, StreamPlan, Table
from qbcd.sql import compile_sql, render
from qbcd.strategies.base import images, prefixed, table_name

OPEN = 0  # a batch's number until it is sealed


def outbox_name(stream: str) -> str:
    """Return the name of a stream's outbox table."""
    return table_name("outbox", stream)


class StagedBatch:
    """Statements about one batch of an outbox.

    Args:
        schema: qbcd's schema in the source.
        header: The batch; an open one has number :data:`OPEN`.
        outbox: The outbox table by the catalog.
    """

    def __init__(self, connector: Connector, schema: str, header: BatchHeader, outbox: Table) -> None:
        self.connector, self.schema, self.header = connector, schema, header
        self.plan = _plan(header, outbox, connector.identifier_limit)
        found = images(self.plan, connector.identifier_limit)
        self._context = {
            "outbox": (schema, outbox_name(header.stream)),
            "captured": found,
            "content": found[len(header.key) :],
        }

    def rows(self) -> str:
        """Return the query for the batch's rows in wire form, for a JDBC read."""
        number = {"epoch": self.header.epoch, "batch_seq": self.header.seq}
        return compile_sql(render("outbox_rows", **self._context, **number), self.connector, self.plan).sql

    def seal(self, seq: int) -> list[Statement]:
        """Give the open batch its number.

        Ordinals have no gap: deletes first, then updates, then inserts.
        """
        sealing = compile_sql(
            render("outbox_seal", **self._context),
            self.connector,
            self.plan,
            {"epoch": self.header.epoch, "batch_seq": seq},
        )
        return [sealing, forget_batch(self.connector, self.schema, self.header, OPEN)]

    def pair_keys(self, seq: int) -> list[Statement]:
        """Mark each delete and insert of equal content, if that content is unique in the batch."""
        if not self._context["content"]:
            return []
        epoch = self.header.epoch
        values = {"epoch": epoch, "batch_seq": seq, "pair": f"{epoch}:{seq}:"}
        return [
            compile_sql(render("outbox_pair_keys", **self._context, which=which), self.connector, self.plan, values)
            for which in ("gone", "come")
        ]


def forget_batch(connector: Connector, schema: str, header: BatchHeader, seq: int) -> Statement:
    """Delete a batch's rows from the outbox; needs no column of the captured table."""
    canonical = render("outbox_forget", outbox=(schema, outbox_name(header.stream)))
    return compile_sql(canonical, connector, None, {"epoch": header.epoch, "batch_seq": seq})


def _plan(header: BatchHeader, outbox: Table, limit: int) -> StreamPlan:
    """Return the plan under which a batch was staged, from its header and the outbox's columns."""
    captured = []
    for name, travel in header.columns:
        column = outbox.column(prefixed("b_", name, limit))
        if column is None:
            raise StateConflict(
                f"outbox {outbox.name} no longer has column {name!r}",
                stream=header.stream,
                remedy=f"restore it, or qbcd reset {header.stream} --discard and prepare it again",
            )
        captured.append(replace(column, name=name, travel=travel))
    keys = len(header.key)
    return StreamPlan(
        header.stream, header.source, outbox, tuple(captured[:keys]), tuple(captured[keys:]), "", header.strategy
    )
