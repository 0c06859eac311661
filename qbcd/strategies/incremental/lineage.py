"""Lineage of a query's base table: last seen values that lead to keys of the result.

For each row it has the key, the columns by which the row is joined, filtered and grouped, and a digest over the
timestamp and all columns that the query uses. A row with another digest is changed; a second table records it until
the step ends (docs/paper.md#c27, #c28).

The timestamp is in the digest, so that a row that was deleted and inserted again between two polls counts as changed:
the result may have been computed without it in between.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from qbcd.connectors.base import Connector, Index
from qbcd.connectors.catalog import SupportsIndexes
from qbcd.connectors.queries import SupportsIncrementalQueries
from qbcd.errors import UnsupportedPrimitive
from qbcd.model import Statement, StreamPlan, Table
from qbcd.sql import compile_sql, render
from qbcd.strategies.base import prefixed, table_name
from qbcd.strategies.in_source import OwnTable
from qbcd.strategies.ts import Ts

KINDS = ("lineage", "changed")
READING = ("lineage_changed", "lineage_gone", "lineage_fill")  # templates that read the base table, and write
MOST = 16  # base tables of one query
OWN_COLUMNS = ("qbcd_digest", "qbcd_there")  # in addition to those of the base table


def lineage_tables(schema: str, stream: str) -> list[tuple[str, str]]:
    """Return all tables that lineages of a stream can have in `schema`."""
    numbered = [(schema, table_name(f"{kind}{n}", stream)) for n in range(MOST) for kind in KINDS]
    return [affected_table(schema, stream), *numbered]


def affected_table(schema: str, stream: str) -> tuple[str, str]:
    """Return the name of the table of a stream's affected keys."""
    return (schema, table_name("affected", stream))


@dataclass(frozen=True)
class LineageTable:
    """A base table of the query.

    Attributes:
        number: Its position among the query's base tables.
        used: Names of the columns that the query mentions.
        kept: The columns among them that lead from old rows to keys of the result.
        options: The strategy's options; ``timestamp`` has the columns of this table, or is None.
    """

    number: int
    table: Table
    used: Sequence[str]
    kept: Sequence[str]
    options: Mapping[str, Any]


class Lineage:
    """Statements about one base table.

    Args:
        schema: qbcd's own schema in the source.
    """

    def __init__(self, connector: Connector, plan: StreamPlan, schema: str, base: LineageTable) -> None:
        number, table, options = base.number, base.table, dict(base.options)
        self.connector, self.table = connector, table
        self.lineage = (schema, table_name(f"lineage{number}", plan.stream))
        self.changed = (schema, table_name(f"changed{number}", plan.stream))
        by_name = {c.name: c for c in table.columns}
        key = tuple(connector.require(SupportsIncrementalQueries).exact_column(by_name[name]) for name in key_of(table))
        timestamps = tuple(options.get("timestamp") or ())
        kinds = {connector.watermarks.mark_kind(by_name[name]) for name in timestamps if name in by_name}
        options = {n: v for n, v in options.items() if n != "zone" or "zoneless" in kinds}
        names = [n for n in dict.fromkeys((*base.used, *timestamps)) if n in by_name and n not in key_of(table)]
        others = [connector.require(SupportsIncrementalQueries).exact_column(by_name[n]) for n in names]
        self._stored = list(dict.fromkeys((*(c.name for c in key), *base.kept)))
        self.plan = StreamPlan(
            plan.stream, plan.source, table, key, tuple(others), "", "ts", tuple(sorted(options.items()))
        )
        self.watermarked: Ts | None = Ts(connector, self.plan, schema) if timestamps else None

    @property
    def name(self) -> str:
        """The base table's name, as users write it."""
        return f"{self.table.schema}.{self.table.name}"

    def shape(self) -> dict[str, Any]:
        """Return what may not change between polls: the key, and the columns that the query uses."""
        return self.table.shape([c.name for c in self.plan.captured])

    # -- tables ------------------------------------------------------------------------------------------------------
    def tables(self) -> list[OwnTable]:
        """Return the tables of the lineage and of changed rows."""
        columns = {c.name: c for c in self.plan.captured}
        stored = [(name, self.connector.ddl.column_type(columns[name])) for name in self._stored]
        key, digest = tuple(c.name for c in self.plan.key), (OWN_COLUMNS[0], "bigint")
        return [
            OwnTable(self.lineage, (*stored, digest), key, OWN_COLUMNS[:1], written_over=True),
            OwnTable(self.changed, (*stored, digest, (OWN_COLUMNS[1], "smallint")), key, OWN_COLUMNS),
        ]

    def indexes(self, joined_by: Sequence[str]) -> list[str]:
        """Return CREATE INDEX of columns that join the lineage to other tables; repeatable."""
        own, made = Table(*self.lineage, "table", self.plan.captured, ()), []
        for number, column in enumerate(name for name in joined_by if name in self._stored):
            if (column,) != tuple(c.name for c in self.plan.key)[:1]:
                name = prefixed(f"i{number}_", self.lineage[1], self.connector.identifier_limit)
                try:
                    made.append(self.connector.require(SupportsIndexes).create_index(name, own, [column], []))
                except UnsupportedPrimitive:
                    continue  # rows are found without it
        return made

    def timestamp_index(self) -> str:
        """Return CREATE INDEX for windows of the base table; repeatable."""
        assert self.watermarked is not None
        columns, included = self.watermarked.index_columns()
        name = prefixed("ix_", self.lineage[1], self.connector.identifier_limit)
        return self.connector.require(SupportsIndexes).create_index(name, self.table, columns, included)

    def has_timestamp_index(self, indexes: Sequence[Index]) -> bool:
        """Return True if `indexes` has this index, or another one that serves as well."""
        return self.watermarked is not None and self.watermarked.has_index(indexes)

    # -- a poll ------------------------------------------------------------------------------------------------------
    def find(self, since: str | None) -> Statement:
        """Record rows that differ from the lineage: those written since a watermark, or all."""
        if self.watermarked is None or since is None:
            return self._compiled("lineage_changed", {}, windowed=False)
        return self._compiled("lineage_changed", {"lo": self.watermarked.bound(since)}, windowed=True)

    def find_deleted(self) -> Statement:
        """Record lineage rows that no longer exist in the base table."""
        return self._compiled("lineage_gone", {})

    def fill(self) -> Statement:
        """Fill the lineage from the whole table."""
        return self._compiled("lineage_fill", {})

    def follow(self) -> list[Statement]:
        """Update the lineage from the recorded rows, and delete these."""
        steps = ("lineage_delete", "lineage_update", "lineage_insert")
        return [*(self._compiled(step, {}) for step in steps), self.forget()]

    def empty(self) -> Statement:
        """Delete all rows of the lineage."""
        return self._compiled("emptied", {}, emptied=self.lineage)

    def forget(self) -> Statement:
        """Delete all recorded rows."""
        return self._compiled("emptied", {}, emptied=self.changed)

    def _compiled(self, template: str, params: Mapping[str, Any], **extra: Any) -> Statement:
        context: dict[str, Any] = {
            "table": self.table,
            "lineage": self.lineage,
            "changed": self.changed,
            "key": self.plan.key,
            "stored": self._stored,
            **(self.watermarked.since() if self.watermarked else {"system": False}),
        }
        rendered = render(template, **{**context, **extra})
        return compile_sql(rendered, self.connector, self.plan, params, as_seen=template in READING)


class Present:
    """The state of the base tables now, for a skeleton; changed rows are those recorded."""

    exact = True

    def __init__(self, lineages: Mapping[str, Lineage]) -> None:
        self._lineages = lineages

    def relation(self, alias: str, *, changed: bool) -> Any:
        """See :class:`~qbcd.strategies.incremental.delta_query.State`."""
        lineage = self._lineages[alias]
        if not changed:
            return _named((lineage.table.schema, lineage.table.name), alias)
        there = exp.GT(this=exp.column("qbcd_there", quoted=True), expression=exp.Literal.number(0))
        return exp.select("*").from_(_named(lineage.changed)).where(there).subquery(_quoted(alias))


class Past:
    """The state of the base tables at the last poll.

    It may have rows that were deleted since without being noticed, so nothing is certain.
    """

    exact = False

    def __init__(self, lineages: Mapping[str, Lineage]) -> None:
        self._lineages = lineages

    def relation(self, alias: str, *, changed: bool) -> Any:
        """See :class:`~qbcd.strategies.incremental.delta_query.State`."""
        lineage = self._lineages[alias]
        if not changed:
            return _named(lineage.lineage, alias)
        same = [
            lineage.connector.expressions.key_equal(
                c, exp.column(c.name, "c", quoted=True), exp.column(c.name, "l", quoted=True)
            )
            for c in lineage.plan.key
        ]
        is_changed = exp.Exists(this=exp.select("1").from_(_named(lineage.changed, "c")).where(*same))
        return exp.select("*").from_(_named(lineage.lineage, "l")).where(is_changed).subquery(_quoted(alias))


def key_of(table: Table) -> tuple[str, ...]:
    """Return the columns that identify a base table's rows; none if no key is proven."""
    return table.row_key


def _named(name: tuple[str, str], alias: str = "") -> Any:
    made = exp.Table(this=_quoted(name[1]), db=_quoted(name[0]))
    return exp.alias_(made, alias, table=True, quoted=True) if alias else made


def _quoted(name: str) -> Any:
    return exp.to_identifier(name, quoted=True)
