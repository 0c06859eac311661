"""MDS, modified database schema (Carnes & Hanson 3.1, figure 1): a replica in the source, compared there.

One FULL JOIN on the keys (a LEFT JOIN and an anti-join where there is none) finds inserts, updates and deletes of one
statement's snapshot; the replica is then brought up to date from the outbox, never from the table again. The paper's
three branches are one pass here (errors C1 to C5).
"""

from __future__ import annotations

from dataclasses import replace

from qbcd.connectors.base import Connector
from qbcd.errors import Refused, StateConflict
from qbcd.model import BatchHeader, Statement, StreamPlan, Table
from qbcd.sql import compile_sql, render
from qbcd.strategies.base import Estimate, Strategy, images, prefixed, table_name

OUTBOX_KEY = ("epoch", "batch_seq", "ordinal")
OWN_COLUMNS = (
    ("epoch", "bigint"), ("batch_seq", "bigint"), ("ordinal", "bigint"), ("op", "varchar(1)"),
    ("reason", "varchar(40)"), ("pair_id", "varchar(64)"), ("changed", "text"),
)  # fmt: skip


class Mds(Strategy):
    """Statements of MDS for one stream.

    Args:
        connector: The source's dialect and primitives.
        plan: The stream.
        schema: qbcd's own schema in the source.
    """

    name = "mds"
    site = "database"
    consistency = "statement"
    needs = "SELECT on the table; a schema of qbcd's own in the source, with room for a copy of the captured rows"
    sees = "every insert, update and delete, with old and new values, as the net change between two polls"
    misses = "states between two polls (a row inserted and deleted again leaves no event)"

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan)
        self.replica = (schema, table_name("replica", plan.stream))
        self.outbox = (schema, outbox_name(plan.stream))
        self._images = images(plan, connector.identifier_limit)

    def check(self) -> None:
        """The outbox needs seven columns of its own and two for each captured one."""
        width, limit = len(OWN_COLUMNS) + 2 * len(self.plan.captured), self.connector.column_limit
        if width > limit:
            raise Refused(
                f"{len(self.plan.captured)} captured columns need an outbox of {width} columns, and a table of "
                f"{self.connector.name} has {limit} at most", stream=self.plan.stream,
                remedy="name fewer with `columns:`, or use strategy id_rcs",
            )  # fmt: skip

    def estimate(self) -> Estimate:
        """R*N + M (paper, table 3): the table is read once and so is the copy; twice where there is no FULL JOIN."""
        table = self.plan.table
        width = sum(c.width for c in self.plan.captured)
        copied = round(table.pages * min(1.0, width / table.row_width)) if table.row_width and width else table.pages
        times, formula = (1, "R*N + M") if self.connector.full_join else (2, "2 (R*N + M)")
        return Estimate(times * (table.pages + copied), times * 2 * max(table.rows, 0), formula, "nothing")

    def columns(self) -> list[tuple[tuple[str, ...], tuple[str, ...]]]:
        """(columns, primary key) of replica and outbox, by name."""
        outbox = tuple(name for name, _ in self._outbox_columns())
        captured, key = tuple(c.name for c in self.plan.captured), tuple(c.name for c in self.plan.key)
        return [(captured, key), (outbox, OUTBOX_KEY)]

    def ddl(self) -> list[str]:
        """CREATE TABLE of replica and outbox; both repeatable."""
        key = [c.name for c in self.plan.key]
        replica, outbox = (sql_name(self.connector, table) for table in (self.replica, self.outbox))
        columns = [(c.name, self.connector.column_type(c)) for c in self.plan.captured]
        return [
            self.connector.create_table(replica, columns, key),
            self.connector.create_table(outbox, self._outbox_columns(), OUTBOX_KEY),
        ]

    def _outbox_columns(self) -> list[tuple[str, str]]:
        limit, own, type_of = self.connector.identifier_limit, list(OWN_COLUMNS), self.connector.column_type
        for i, column in enumerate(self.plan.captured):
            if i == len(self.plan.key):
                type_of = self.connector.image_type
            own += [(prefixed(p, column.name, limit), type_of(column)) for p in ("b_", "a_")]
        return own

    def changes(self, epoch: int, seq: int) -> Statement:
        """The one statement that finds all changes and writes them into the outbox."""
        return self._numbered("mds_changes", epoch, seq)

    def baseline(self, epoch: int, seq: int, *, events: bool) -> list[Statement]:
        """Fills the replica; with `events` its rows stand in the outbox as op r too, read by the same statement."""
        if events:
            return [self._numbered("baseline_outbox", epoch, seq), self._numbered("replica_insert", epoch, seq)]
        return [self._compiled("baseline_replica")]

    def apply(self, epoch: int, seq: int) -> list[Statement]:
        """Brings the replica to the state that the batch describes: old images out, new ones in, as a set."""
        return [self._numbered("replica_delete", epoch, seq), self._numbered("replica_insert", epoch, seq)]

    def counts(self, epoch: int, seq: int) -> Statement:
        """Rows (op, events) of a batch."""
        return self._numbered("outbox_counts", epoch, seq)

    def untravelled(self, epoch: int, seq: int) -> Statement:
        """One row with 1 for every captured column, in order, that holds a value no typed sink can take."""
        return self._numbered("outbox_untravelled", epoch, seq)

    def key_problems(self) -> Statement:
        """(keys_more_than_once, keys_null) of the table; for keys that the catalog does not vouch for."""
        return self._compiled("key_problems")

    def rows(self, epoch: int, seq: int) -> str:
        """The batch's rows in wire form, for a JDBC read."""
        return self._compiled("outbox_rows", epoch=epoch, batch_seq=seq).sql

    def differing_keys(self, epoch: int, seq: int) -> Statement:
        """(op, k0..kn) of a batch's rows, keys as canonical text."""
        return self._numbered("outbox_keys", epoch, seq)

    def _numbered(self, template: str, epoch: int, seq: int) -> Statement:
        return compile_sql(self._canonical(template), self.connector, self.plan, {"epoch": epoch, "batch_seq": seq})

    def _compiled(self, template: str, **extra: int) -> Statement:
        return compile_sql(self._canonical(template, **extra), self.connector, self.plan)

    def _canonical(self, template: str, **extra: int) -> str:
        keys = len(self.plan.key)
        return render(
            template,
            pairs="full_join" if self.connector.full_join else "anti_join",
            table=self.plan.table,
            replica=self.replica,
            outbox=self.outbox,
            captured=self._images,
            key=self._images[:keys],
            pertinent=[i for i in self._images if i.compared],
            **extra,
        )


def outbox_name(stream: str) -> str:
    """Name of a stream's outbox table."""
    return table_name("outbox", stream)


def sql_name(connector: Connector, table: tuple[str, str]) -> str:
    """A table's quoted name in the connector's dialect."""
    return ".".join(connector.quote(part) for part in table)


def plan_of_outbox(header: BatchHeader, outbox: Table, limit: int) -> StreamPlan:
    """The plan under which a batch was staged, read back from its header and the outbox's own columns."""
    captured = []
    for name, travel in header.columns:
        column = outbox.column(prefixed("b_", name, limit))
        if column is None:
            raise StateConflict(f"outbox {outbox.name} has lost column {name!r}", stream=header.stream)
        captured.append(replace(column, name=name, travel=travel))
    keys = len(header.key)
    return StreamPlan(
        header.stream, header.source, outbox, tuple(captured[:keys]), tuple(captured[keys:]), "", header.strategy
    )


def forget_batch(connector: Connector, schema: str, header: BatchHeader) -> Statement:
    """Deletes a delivered batch from the outbox."""
    canonical = render("outbox_forget", outbox=(schema, outbox_name(header.stream)))
    return compile_sql(canonical, connector, None, {"epoch": header.epoch, "batch_seq": header.seq})


def drop_tables(connector: Connector, schema: str, stream: str) -> list[str]:
    """DROP TABLE of a stream's replica and outbox."""
    return [f"DROP TABLE IF EXISTS {name}" for name in _own_tables(connector, schema, stream)]


def empty_tables(connector: Connector, schema: str, stream: str) -> list[str]:
    """DELETE of all rows of a stream's replica and outbox."""
    return [f"DELETE FROM {name}" for name in _own_tables(connector, schema, stream)]


def _own_tables(connector: Connector, schema: str, stream: str) -> list[str]:
    return [sql_name(connector, (schema, name)) for name in (table_name("replica", stream), outbox_name(stream))]
