"""Base of strategies with replica and outbox in the source, next to the table.

A poll writes its changes into the outbox and updates the replica from there; it does not read the table again.
Strategies differ in the rows that they read, and in the part of a row that the replica keeps.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from typing_extensions import override

from qbcd.connectors.base import Connector
from qbcd.errors import Refused
from qbcd.model import Column, KeyRange, Statement, StreamPlan, Table
from qbcd.sql import compile_sql, render
from qbcd.strategies.amounts import Amount
from qbcd.strategies.base import Image, ReplicaContent, TableStrategy, images, prefixed, table_name
from qbcd.strategies.outbox import outbox_name
from qbcd.strategies.reads import OWN_PAGES, Reads, TableFacts, Term, added_up, scanned

OUTBOX_KEY = ("epoch", "batch_seq", "ordinal")
OWN_COLUMNS = (
    ("epoch", "bigint"),
    ("batch_seq", "bigint"),
    ("ordinal", "bigint"),
    ("op", "varchar(1)"),
    ("reason", "varchar(40)"),
    ("pair_id", "varchar(64)"),
    ("changed", "text"),
)
OUTBOX_OWN = (*(name for name, _ in OWN_COLUMNS), "digest")
READING = (
    "changes",
    "baseline_replica",
    "baseline_outbox",
    "replica_fill",
)  # templates that read captured rows and write

PollMode = Literal["whole", "window", "flagged", "ranges", "delta"]
Columns = tuple[str, ...]


@dataclass(frozen=True)
class OutboxSlice:
    """The place of one step's rows in the outbox.

    Attributes:
        seq: The batch's number, or :data:`OPEN` while it is open.
        first: The ordinal of the step's first row.
    """

    epoch: int
    seq: int
    first: int = 0

    @property
    def params(self) -> dict[str, int]:
        """Values of the placeholders that every statement about a slice has."""
        return {"epoch": self.epoch, "batch_seq": self.seq, "first": self.first}


@dataclass(frozen=True)
class OwnTable:
    """A table of a stream in qbcd's schema: columns with types, and primary key.

    Attributes:
        own: Columns of qbcd's own; the others have the types of captured columns.
        written_over: Its rows are updated in place.
    """

    name: tuple[str, str]
    columns: tuple[tuple[str, str], ...]
    key: Columns
    own: Columns = ()
    written_over: bool = False

    def is_like(self, found: Table, type_of: Callable[[Column], str]) -> bool:
        """Return True if a table of the catalog has these columns and this key.

        Its captured columns must have these types, as `type_of` spells them.
        """
        names = [name for name, _ in self.columns]
        return (
            names == [c.name for c in found.columns]
            and self.key == found.primary_key
            and all(
                name in self.own or type_of(column) == kind
                for (name, kind), column in zip(self.columns, found.columns, strict=True)
            )
        )


class InSource(TableStrategy):
    """Statements of a strategy whose replica and outbox are tables in the source.

    Args:
        schema: qbcd's own schema in the source.

    Attributes:
        poll_mode: One statement over the whole table, a window of timestamps (also with removal of flagged rows), key
            ranges one by one, or affected keys of a query.
        keeps: The part of a row that the replica keeps.
        steady: All statements of a step see one state of the source.
        by_timestamps: Polls rely on timestamps, which do not show that a table was replaced by another one.
    """

    site = "database"
    writes_source = True
    statements = (17, 18)
    steady = False
    poll_mode: PollMode
    keeps: ReplicaContent = "rows"
    by_timestamps = False

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan)
        self.replica = (schema, table_name("replica", plan.stream))
        self.outbox = (schema, outbox_name(plan.stream))
        self._images = images(plan, connector.identifier_limit)

    # -- cost --------------------------------------------------------------------------------------------------------
    @override
    def reads(self, facts: TableFacts) -> Reads:
        """Return R*N + M, or B + M of a query (paper, table 3); twice without a FULL JOIN."""
        found = added_up(facts, self._terms(facts), times=1 if self.connector.full_join else 2)
        return replace(found, source_room=self.kept_pages(facts))

    def _terms(self, facts: TableFacts) -> list[Term]:
        """Return the terms of the formula: the table, the replica, and qbcd's other tables."""
        kept, plan = "D" if self.keeps in ("digests", "keys") else "M", self.plan
        copy, own = self.replica_pages(facts), Amount.of(OWN_PAGES)
        return [
            scanned(facts, query=bool(plan.table.query), restricted=bool(plan.where)),
            Term(kept, ((kept, copy),), copy),
            Term("own", (("own", own),), own),
        ]

    def kept_pages(self, facts: TableFacts) -> Amount:
        """Return the pages of all tables that grow with the captured one."""
        return self.replica_pages(facts)

    # -- tables ------------------------------------------------------------------------------------------------------
    @override
    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check that an outbox with two columns for each captured one fits the column limit."""
        width, limit = len(self._outbox_columns()), self.connector.column_limit
        if width > limit:
            raise Refused(
                f"{len(self.plan.captured)} captured columns need an outbox of {width} columns, and a table of "
                f"{self.connector.name} has {limit} at most",
                stream=self.plan.stream,
                remedy="name fewer with `columns:`, or use strategy id_rcs",
            )

    def tables(self) -> list[OwnTable]:
        """Return the stream's own tables: the outbox, and a replica if the strategy keeps one."""
        found = [OwnTable(self.outbox, tuple(self._outbox_columns()), OUTBOX_KEY, OUTBOX_OWN)]
        if self.keeps != "nothing":
            found.insert(0, OwnTable(self.replica, tuple(self._replica_columns()), self._key_names, self._replica_own))
        return found

    def ddl(self) -> list[str]:
        """Return CREATE TABLE statements of the stream's own tables; repeatable."""
        return create_statements(self.connector, self.tables())

    def indexes(self) -> list[str]:
        """Return CREATE INDEX statements of the stream's own tables; repeatable."""
        return []

    def views(self) -> list[str]:
        """Return CREATE VIEW statements for users of the captured table, for a DBA."""
        return []

    @property
    def _key_names(self) -> Columns:
        return tuple(c.name for c in self.plan.key)

    @property
    def _replica_own(self) -> Columns:
        return ("qbcd_digest",) if self.keeps == "digests" else ()

    def _replica_columns(self) -> list[tuple[str, str]]:
        kept = self.plan.captured if self.keeps == "rows" else self.plan.key
        columns = [(c.name, self.connector.ddl.column_type(c)) for c in kept]
        return [*columns, *((name, self.plan.digest_type) for name in self._replica_own)]

    def _outbox_columns(self) -> list[tuple[str, str]]:
        limit, type_of = self.connector.identifier_limit, self.connector.ddl.column_type
        own = [*OWN_COLUMNS, ("digest", self.plan.digest_type)]
        for i, column in enumerate(self.plan.captured):
            if i == len(self.plan.key):
                type_of = self.connector.ddl.image_type
            own += [(prefixed(p, column.name, limit), type_of(column)) for p in ("b_", "a_")]
        return own

    @property
    def replicas(self) -> tuple[tuple[str, str], ...]:
        """The tables that `apply` updates, in its order: for each, a DELETE and an INSERT."""
        return () if self.keeps == "nothing" else (self.replica,)

    # -- a poll ------------------------------------------------------------------------------------------------------
    @abstractmethod
    def differences(self, part: OutboxSlice, within: KeyRange | None = None) -> Statement:
        """Write the differences of table and replica, or of one range of both, into the outbox."""

    def baseline(self, part: OutboxSlice, *, events: bool) -> list[Statement]:
        """Fill the replica.

        With `events` rows are read once, into the outbox as op r, and from there into the replica.
        """
        if not events:
            return [] if self.keeps == "nothing" else [self._compiled("baseline_replica")]
        found = [self._compiled("baseline_outbox", {"epoch": part.epoch, "batch_seq": part.seq})]
        return found if self.keeps == "nothing" else [*found, self._part("replica_insert", part)]

    def complete(self, part: OutboxSlice, within: KeyRange | None = None) -> list[Statement]:
        """Return statements that add the values that the search did not read.

        They add them to the changes in the outbox.
        """
        return []

    def apply(self, part: OutboxSlice, within: KeyRange | None = None) -> list[Statement]:
        """Update the replica to the state of `part`: delete old images, insert new ones.

        Args:
            within: The range of these differences. The source then never reads beyond it, even if its statistics of the
                outbox, which change with each open batch, are wrong.
        """
        if self.keeps == "nothing":
            return []
        return [self._part("replica_delete", part, within), self._part("replica_insert", part)]

    def counts(self, part: OutboxSlice) -> Statement:
        """Return the query for rows (op, events) of a slice."""
        return self._part("outbox_counts", part)

    def untravelled(self, part: OutboxSlice, *, old: bool = True) -> Statement:
        """Return the query for one row: 1 for each captured column with a value beyond typed sinks.

        With `old` the old values count too.
        """
        return self._part("outbox_untravelled", part, old=old)

    @override
    def key_problems(self, within: KeyRange | None = None) -> Statement:
        return self._compiled("key_problems", within=within)

    @override
    def null_keys(self) -> Statement:
        return self._compiled("null_keys", key=self.plan.key)

    def row_count(self) -> Statement | None:
        """Return the statement that counts the table's rows (n).

        None if each poll compares all rows anyway.
        """
        return None

    def replica_count(self, restriction: str) -> Statement:
        """Return the query for (n), the number of replica rows for which a condition holds.

        An empty condition counts all rows.
        """
        return self._of_replica("replica_count", restriction)

    def replica_events(self, restriction: str) -> str:
        """Return the query for the replica's rows as staged events of op r.

        They are in wire form, in the order of the key.
        """
        return self._of_replica("replica_events", restriction).sql

    def _of_replica(self, template: str, restriction: str) -> Statement:
        return compile_sql(self._canonical(template, None), self.connector, replace(self.plan, where=restriction))

    def written_rows(self) -> Statement | None:
        """Return the statement that counts rows (n) that changed when their checksum was written.

        None if no checksum is written into the table.
        """
        return None

    def differing_keys(self, part: OutboxSlice, most: int) -> Statement:
        """Return the query for (op, k0..kn) of a slice's first `most` rows, keys as canonical text."""
        return self._part("outbox_keys", part, most=most)

    # -- a change of the captured definition
    # ---------------------------------------------------------------------------------
    def fill(self, added: Columns) -> Statement:
        """Copy the present values of `added` captured columns into the replica's rows."""
        return self._compiled("replica_fill", added=[i for i in self._images if i.name in added])

    def unknown(self, added: Columns, part: OutboxSlice) -> Statement:
        """Remove the old values of `added` columns, which come from `fill`, from a slice."""
        return self._part("outbox_unknown", part, added=[i for i in self._images if i.name in added])

    def note_new(self, added: Columns, reason: str, part: OutboxSlice) -> Statement:
        """Give `reason` to the updates of a slice that differ in `added` columns alone."""
        positions = [i.position for i in self._images if i.name in added]
        return self._part("outbox_new_columns", part, positions=positions, reason=reason)

    def image_names(self, added: Columns) -> dict[str, str]:
        """Return the images of `added` columns: name in the outbox -> column."""
        return {name: i.name for i in self._images if i.name in added for name in (i.before, i.after)}

    # -- ranges ------------------------------------------------------------------------------------------------------
    def per_range(self, part: OutboxSlice, ranges: Sequence[KeyRange]) -> list[Statement]:
        """Return two queries for rows (range_id, n, net): a slice's events and net growth by range."""
        made = []
        # under qbcd's own names: MariaDB removes leading blanks of an alias
        key = [replace(c, name=f"qbcd_{i}") for i, c in enumerate(self.plan.key)]
        for side, net in (("a", "COALESCE(SUM(CASE WHEN t.qbcd_op = 'c' THEN 1 ELSE 0 END), 0)"), ("b", "-COUNT(*)")):
            relation = self._compiled("outbox_range_keys", side=side, **dict[str, Any](part.params)).sql
            select = ["COUNT(*) AS n", f"{net} AS net"]
            of_ranges = self.connector.ranges.per_range(select, f"({relation})", key, ranges, aggregate=True)
            made.append(Statement(of_ranges))
        return made

    # -- compiling ---------------------------------------------------------------------------------------------------
    def _part(self, template: str, part: OutboxSlice, within: KeyRange | None = None, **extra: Any) -> Statement:
        return self._compiled(template, part.params, within, **extra)

    def _compiled(
        self, template: str, params: Mapping[str, Any] | None = None, within: KeyRange | None = None, **extra: Any
    ) -> Statement:
        canonical, as_seen = self._canonical(template, within, **extra), self.steady and template in READING
        return compile_sql(canonical, self.connector, self.plan, params, within=within, as_seen=as_seen)

    def _canonical(self, template: str, within: KeyRange | None, **extra: Any) -> str:
        keys = len(self.plan.key)
        context = {
            "pairs": "full_join" if self.connector.full_join else "anti_join",
            "table": self.plan.table,
            "replica": self.replica,
            "outbox": self.outbox,
            "keeps": self.keeps,
            "captured": self._images,
            "key": self._images[:keys],
            "kept": self._kept,
            "after": self._images,
            "pertinent": [i for i in self._images if i.compared],
            "ranged": within is not None,
            # set by some strategies only, see their own `_context`
            "fresh": False,
            "checksum": "",
            "deletes": True,
            "flag": "",
            "exits": False,
            "marked": False,
            "any_row": False,
            "reason": "",
            "held": None,
            "beyond": False,
        }
        return render(template, **{**context, **self._context(), **extra})

    def _context(self) -> dict[str, Any]:
        """Return the variables that the strategy adds for its templates."""
        return {}

    @property
    def _kept(self) -> list[Image]:
        """The images that the replica has of a row."""
        kept = {"rows": len(self._images), "nothing": 0}
        return self._images[: kept.get(self.keeps, len(self.plan.key))]


def sql_name(connector: Connector, table: tuple[str, str]) -> str:
    """Return a table's quoted name in the connector's dialect."""
    return ".".join(connector.quote(part) for part in table)


def create_statements(connector: Connector, tables: Sequence[OwnTable]) -> list[str]:
    """Return CREATE TABLE statements of a stream's own tables; repeatable."""
    make = connector.ddl.create_table
    return [make(sql_name(connector, t.name), t.columns, t.key, written_over=t.written_over) for t in tables]


def own_tables(schema: str, stream: str) -> list[tuple[str, str]]:
    """Return all tables that a stream can have in `schema`."""
    return [(schema, table_name(kind, stream)) for kind in ("replica", "outbox", "purge", "copy", "queue")]
