"""VBD, variant delta (Carnes & Hanson 4): recompute the result for affected keys alone.

A poll records changed rows of the base tables. The query's skeleton finds the keys of the result that they affect, now
and as last seen (the lineage). The poll computes the query for these keys, and compares it with the replica. Nothing is
computed if no row changed. A poll is one transaction that sees one state of the source, so lineage and replica are of
the same state.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import timedelta
from functools import cached_property
from typing import Any

import sqlglot
from sqlglot import exp
from typing_extensions import override

from qbcd.connectors.base import Connector, Index
from qbcd.connectors.queries import SupportsIncrementalQueries
from qbcd.errors import MissingPrivilege, Refused
from qbcd.model import Consistency, Statement, StreamPlan, Table
from qbcd.queries.syntax_tree import Name, NotIncremental
from qbcd.sql import compile_sql, render
from qbcd.strategies.amounts import Amount, lifted
from qbcd.strategies.in_source import InSource, OutboxSlice, OwnTable, PollMode, sql_name
from qbcd.strategies.incremental.affected_keys import Skeleton
from qbcd.strategies.incremental.delta_query import ONE
from qbcd.strategies.incremental.lineage import OWN_COLUMNS, Lineage, LineageTable, Past, Present, affected_table
from qbcd.strategies.incremental.query_tables import hidden_table, skeleton_of, stored, unfit_table, view_over
from qbcd.strategies.mds import Mds
from qbcd.strategies.reads import ChangeRate, Reads, TableFacts
from qbcd.strategies.vbd_whole import VbdCompare

SHARED = ("zone", "margin", "lag")  # options of the stream that apply to each base table's timestamp


class _Restricted(Mds):
    """Statements about the query restricted to affected keys."""

    steady = True


class VbdDelta(VbdCompare):
    """Statements of variant delta for one stream."""

    poll_mode: PollMode = "delta"
    statements = (35, 45)
    consistency: Consistency = "snapshot"
    steady = True
    by_timestamps = True
    needs = (
        "SELECT on what the query reads, tables with keys; best with a timestamp in each and an index on it; the right "
        "to see all sessions; a schema of qbcd's own in the source, with room for a copy of the result and for the "
        "columns of the base tables by which rows are joined, filtered and grouped"
    )

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str) -> None:
        super().__init__(connector, plan, schema)
        self.affected = affected_table(schema, plan.stream)
        self._schema = schema
        self._timestamps = {fold(name): columns for name, columns in plan.option("timestamps") or ()}
        self.deletes: timedelta | None = plan.option("deletes")
        if not self.deletes and self._timestamps:
            self.misses = f"{Mds.misses}; deletes in tables with a timestamp, until a sweep finds them (`deletes`)"

    @property
    @override
    def label(self) -> str:
        return "vbd, variant delta"

    # -- eligibility -------------------------------------------------------------------------------------------
    @cached_property
    def refused(self) -> str:
        """The reason why variant delta cannot capture this query; empty if it can."""
        if not self.connector.supports(SupportsIncrementalQueries):
            return f"{self.connector.name} shows a transaction that writes another state at each statement"
        unfit = unfit_table(self.plan.table)
        if unfit:
            return unfit
        word, texts = (
            self.connector.require(SupportsIncrementalQueries).own_word,
            [self.plan.table.query, self.plan.where],
        )
        texts += [column.name for table in stored(self.plan.table) for column in table.columns]
        if word and any(word in text.lower() for text in texts):
            return f"it reads or names something that contains {word}, the prefix of qbcd's own names"
        try:
            used = self.skeleton.prepared.used()
        except NotIncremental as reason:
            return f"the query {reason}"
        own = next((name for names in used.values() for name in names if name in OWN_COLUMNS), "")
        return f"the query uses a column {own}, which is the name of one of qbcd's own" if own else ""

    @override
    def check(self, place: Callable[[str], str] | None = None) -> None:
        """Check that the query's changes can be derived from its base tables, by their timestamps.

        Raises:
            Refused: They cannot be derived.
            ConfigError: An option does not fit the base tables.
            MissingPrivilege: The role may read a view, but not a table behind it.
        """
        super().check(place)
        if self.plan.where and sqlglot.parse_one(self.plan.where, read=self.connector.dialect).find(
            exp.Query, exp.Exists
        ):
            raise Refused(
                "variant delta does not follow a subquery in `where`",
                stream=self.plan.stream,
                where=place("where") if place else "",
                remedy="write it into the query",
            )
        hidden = hidden_table(self.plan.table)
        if hidden is not None and self.connector.supports(SupportsIncrementalQueries):
            raise MissingPrivilege(
                f"variant delta reads tables themselves, and the role may not read {hidden.label}, which is behind "
                f"view {view_over(self.plan.table, hidden)}",
                stream=self.plan.stream,
                where=place("variant") if place else "",
                remedy=f"{hidden.grant}; or take variant compare or checksum, which read the view alone",
            )
        if self.refused:
            raise Refused(
                f"variant delta cannot follow the query: {self.refused}",
                stream=self.plan.stream,
                where=place("variant") if place else "",
                remedy="take variant compare or checksum, or let auto choose",
            )
        unknown = set(self._timestamps) - {fold(lineage.name) for lineage in self.lineages}
        if unknown:
            raise Refused(
                f"timestamps names {min(unknown)}, which is no table that the query reads",
                stream=self.plan.stream,
                where=place("timestamps") if place else "",
                remedy=f"it reads, through views too, {', '.join(lineage.name for lineage in self.lineages)}",
            )
        for lineage in self.lineages:
            if lineage.watermarked is not None:
                lineage.watermarked.check(lambda option: place("timestamps") if place else "")

    # -- the query -----------------------------------------------------------------------------------------
    @cached_property
    def _tables(self) -> dict[Name, Table]:
        return {(table.schema, table.name): table for table in stored(self.plan.table)}

    @cached_property
    def skeleton(self) -> Skeleton:
        """The query's skeleton, which finds the keys that changed rows may affect.

        Raises:
            NotIncremental: The query's changes cannot be derived.
        """
        return skeleton_of(self.connector, self.plan.table, tuple(c.name for c in self.plan.key))

    @cached_property
    def lineages(self) -> list[Lineage]:
        """The lineages, one for each base table."""
        if self.refused:
            return []
        used, kept = self.skeleton.prepared.used(), self.skeleton.kept
        shared = {name: self.plan.option(name) for name in SHARED if self.plan.option(name) is not None}
        return [
            Lineage(self.connector, self.plan, self._schema, base)
            for base in (
                LineageTable(
                    number,
                    self._tables[name],
                    used[name],
                    kept[name],
                    {**shared, "timestamp": self._timestamps.get(fold(".".join(name)))},
                )
                for number, name in enumerate(self.skeleton.prepared.tables())
            )
        ]

    # -- tables ------------------------------------------------------------------------------------------------------
    @override
    def tables(self) -> list[OwnTable]:
        """Return the tables of replica, outbox, affected keys and lineages."""
        keys = [(c.name, self.connector.ddl.column_type(c)) for c in self.plan.key] or [(ONE, "integer")]
        own = [OwnTable(self.affected, tuple(keys), (), () if self.plan.key else (ONE,))]
        return [*super().tables(), *own, *(table for lineage in self.lineages for table in lineage.tables())]

    @override
    def indexes(self) -> list[str]:
        """Return CREATE INDEX statements of the lineages; repeatable."""
        joined = self.skeleton.joined_by()
        return [made for of in self.lineages for made in of.indexes(joined[of.table.schema, of.table.name])]

    @override
    def missing_indexes(self, look_up: Callable[[Table], Sequence[Index]]) -> list[str]:
        """Return CREATE INDEX statements on base tables, for windows that no index serves yet."""
        indexed = [of for of in self.lineages if of.watermarked is not None and of.watermarked.timestamps]
        return [one.timestamp_index() for one in indexed if not one.has_timestamp_index(look_up(one.table))]

    # -- a poll ------------------------------------------------------------------------------------------------------
    def statistics(self, table: tuple[str, str]) -> str:
        """Return the statement that refreshes the server's statistics of one of qbcd's own tables."""
        return self.connector.require(SupportsIncrementalQueries).refresh_statistics(sql_name(self.connector, table))

    def find_affected(self, changed: Sequence[Lineage]) -> Statement:
        """Record the keys that changed rows of some base tables affect, now and by their lineage."""
        aliases = {a: of for of in self.lineages for a in self.skeleton.mentions((of.table.schema, of.table.name))}
        casts = self.connector.require(SupportsIncrementalQueries).casts_arms
        types = {c.name: c.fact("storage_type") or c.sql_type for c in self.plan.key if casts}
        arms: list[Any] = [] if casts else self.skeleton.typing()
        arms += [
            arm
            for alias, lineage in aliases.items()
            if lineage in changed
            for state in (Present(aliases), Past(aliases))
            for arm in self.skeleton.affected(alias, state, types)
        ]
        made: Any = arms[0]
        for arm in arms[1:]:
            made = exp.union(made, arm, distinct=True, copy=False)
        columns = [exp.to_identifier(name, quoted=True) for name in [c.name for c in self.plan.key] or [ONE]]
        insert = exp.Insert(this=exp.Schema(this=_table(self.affected), expressions=columns), expression=made)
        text, counted = self.connector.require(SupportsIncrementalQueries).insert_as_seen(
            insert, pretty=_may_break(insert)
        )
        return Statement(text, counted=counted)

    def forget_affected(self) -> Statement:
        """Delete all affected keys."""
        return compile_sql(render("emptied", emptied=self.affected), self.connector, None)

    def affected_differences(self, part: OutboxSlice) -> Statement:
        """Find the differences among affected keys."""
        return self._restricted()._part("changes", part, held=self.affected)

    def all_differences(self, part: OutboxSlice, reason: str = "") -> Statement:
        """Find all differences, as `differences` does; each event has a reason."""
        return self._part("changes", part, reason=reason)

    def affected_nulls(self) -> Statement:
        """Return the query for (nulls), the number of affected keys with NULL."""
        nulls = " OR ".join(f"{self.connector.quote(c.name)} IS NULL" for c in self.plan.key)
        return Statement(f"SELECT COUNT(*) AS nulls FROM {sql_name(self.connector, self.affected)} WHERE {nulls}")

    def affected_key_problems(self) -> Statement:
        """Return the query for (keys_more_than_once, keys_null) among affected keys."""
        return self._restricted()._compiled("key_problems")

    def _restricted(self) -> InSource:
        """Return the strategy of the query restricted to affected keys, over the same replica."""
        keys = _table(self.affected)
        exact = [c.name for c in self.plan.key if c.comparison == "typed"]
        columns = {c.name: c for c in self.plan.key}
        tree = self.skeleton.restricted(
            keys, exact, lambda name, k, e: self.connector.expressions.key_equal(columns[name], k, e)
        )
        text = (
            self.connector.require(SupportsIncrementalQueries)
            .planned(tree, first=True)
            .sql(dialect=self.connector.dialect, pretty=_may_break(tree))
        )
        table = replace(self.plan.table, query=text)
        return _Restricted(self.connector, replace(self.plan, table=table), self._schema)

    @override
    def reads(self, facts: TableFacts) -> Reads:
        """Return the changed rows of each table of a query, joined with the other tables.

        See docs/paper.md#c23.
        """
        others = max(1, facts.tables - 1)

        def pages(change: ChangeRate) -> Amount:
            changed = facts.changed(facts.pages, change)
            return lifted(lambda c: others * 1.1 * c + 3 * max(1, facts.tables), changed)

        formula, symbols = "(Z - 1) * delta*B + K", (("B", facts.pages),)
        return Reads(formula, symbols, pages, pages(facts.change), source_room=self.kept_pages(facts))

    @override
    def warnings(self) -> list[str]:
        """Return warnings about avoidable costs, and about deletes that polls do not find."""
        found = []
        full = [of.name for of in self.lineages if of.watermarked is None]
        if full:
            found.append(f"{', '.join(full)}: no timestamp, so each poll compares all its rows with their lineage")
        swept = [of.name for of in self.lineages if of.watermarked is not None]
        if swept and not self.deletes:
            found.append(
                f"{', '.join(swept)}: a timestamp cannot show a deleted row, and nothing else looks for it "
                "(deletes: {every: 1h} sweeps for them)"
            )
        return found


def _may_break(tree: Any) -> bool:
    """Return True if SQL may be pretty-printed: no name has a line break, which would change."""
    return not any("\n" in str(name.this) for name in tree.find_all(exp.Identifier))


def _table(name: tuple[str, str]) -> exp.Table:
    return exp.Table(this=exp.to_identifier(name[1], quoted=True), db=exp.to_identifier(name[0], quoted=True))


def why_not_delta(connector: Connector, plan: StreamPlan) -> str:
    """Return why `variant: auto` does not choose variant delta for a query; empty if it does.

    It chooses delta only if the user names timestamps: without any, each poll would compare all rows of all base
    tables.
    """
    if not plan.option("timestamps"):
        return "no timestamps are named (timestamps: {schema.table: column})"
    return VbdDelta(connector, plan, "").refused


def fold(name: str) -> str:
    """Return a table's name in the form in which options are compared."""
    return name.lower()
