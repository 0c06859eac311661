"""Columns and tables as the catalog describes them, and how values travel."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Comparison = Literal["typed", "bytes", "text"]
TravelKind = Literal[
    "boolean",
    "int16",
    "int32",
    "int64",
    "uint64",
    "float32",
    "float64",
    "decimal",
    "text",
    "binary",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "array",
]


@dataclass(frozen=True)
class Travel:
    """The way of a column's values from the source to a sink (docs/design/interface.md#types).

    On the wire (JDBC and stage) booleans, integers, floats and binary are themselves, `uint64` (unsigned 64-bit) is a
    decimal(20,0); `decimal`, `text`, dates and times are text; an `array` is a JSON fragment: a JSON array for
    one-dimensional arrays with lower bound 1, a JSON string with the database's own text for any other array.
    """

    kind: TravelKind
    precision: int = 0
    scale: int = 0
    element: Travel | None = None


@dataclass(frozen=True)
class Column:
    """A column of a source table.

    Attributes:
        name: As the catalog spells it.
        sql_type: The full type as SQL text, usable in a cast or in DDL, qualified where needed: ``numeric(10,2)``.
        base_type: The connector's name of the type, domains resolved: ``numeric``.
        nullable: False only where the catalog forbids NULL.
        collation: SQL text of a collation that differs from the database's default, or an empty string.
        comparison: What "unchanged" means: the type's own equality, its bytes, or its canonical text.
        travel: How values travel.
        width: Average bytes of a value as the server's statistics know them, 0 where unknown.
        facts: What only the column's connector understands, as sorted pairs.
    """

    name: str
    sql_type: str
    base_type: str
    nullable: bool
    collation: str
    comparison: Comparison
    travel: Travel
    width: int = 0
    facts: tuple[tuple[str, str], ...] = ()

    @property
    def encoding(self) -> str:
        """The part, in addition to type and collation, that decides how the column enters a digest."""
        return f"{self.base_type} {self.fact('loose')}".strip()

    def meaning(self, *, ordered: bool) -> dict[str, Any]:
        """The definition behind the names of its type and collation, as JSON-ready data; empty if names say it all.

        Args:
            ordered: Values are compared for their order, too, and not only told apart.
        """
        collated = self.fact("collated") if ordered or self.fact("nondeterministic") else ""
        labels = self.fact("labels") if ordered else ""
        known = {"collated": collated, "labels": json.loads(labels) if labels else None}
        return {name: value for name, value in known.items() if value}

    def fact(self, name: str) -> str:
        """The connector's fact `name`, or an empty string."""
        return dict(self.facts).get(name, "")


@dataclass(frozen=True)
class Table:
    """A table or view of a source as its catalog describes it, or the result of a query.

    A query has the stream's name and no schema; its keys are those that its text and its base tables prove.

    Attributes:
        kind: ``table``, ``partitioned``, ``view``, ``matview``, ``foreign`` or ``query``.
        rows: Estimated rows, -1 where unknown.
        pages: Pages of the heap, 0 where unknown.
        row_width: Average bytes of a row, 0 where unknown.
        key_correlation: How far the first key column follows the heap, -1..1; None where unknown.
        primary_key: Column names of the primary key, or empty.
        unique_keys: Column names of the other unique, NOT NULL, immediate keys.
        row_security: Row-level security applies to this role.
        query: The SELECT whose result it is, as it runs; empty of a table.
        definition: Of a view that a query reads: the SELECT that it stands for, where the source tells it.
        bases: What the query or the definition reads, one for each mention, in the order of `CapturedQuery.bases`.
        one_row: The query has one row at most, whatever its base tables hold.
        grant: Of a table behind a view: the GRANT without which the role may not read and lock it; else empty.
        remote: Some of its rows stand on another server, which has snapshots of its own.
        made: Of what the source tells of no columns, or not enough: what is another once it was defined anew.
        numbers: What tells each column from another that takes its name, in their order; empty where nothing does.
        paged: Its rows stand on pages of its own, by which they can be looked up.
    """

    schema: str
    name: str
    kind: str
    columns: tuple[Column, ...]
    primary_key: tuple[str, ...]
    unique_keys: tuple[tuple[str, ...], ...] = ()
    rows: int = -1
    pages: int = 0
    row_width: int = 0
    key_correlation: float | None = None
    row_security: bool = False
    query: str = ""
    definition: str = ""
    bases: tuple[Table, ...] = field(default=(), hash=False)
    one_row: bool = False
    grant: str = ""
    remote: bool = False
    made: str = field(default="", compare=False)
    numbers: tuple[str, ...] = field(default=(), compare=False)
    paged: bool = False

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that tell a stored table's rows apart; none where nothing vouches for any."""
        return self.primary_key or (self.unique_keys[0] if self.unique_keys else ())

    def shape(self, columns: Sequence[str]) -> dict[str, Any]:
        """The part of a table that a query reads that may not change between polls, as JSON-ready data."""
        numbers = dict(zip((c.name for c in self.columns), self.numbers, strict=False))
        told = {c.name: [c.sql_type, c.collation, c.encoding, numbers.get(c.name, "")] for c in self.columns}
        return {"key": list(self.row_key), "columns": {name: told[name] for name in columns if name in told}}

    @property
    def reads(self) -> tuple[Table, ...]:
        """The tables and views that a query reads, through views too: each once, a view after the tables behind it."""
        found: dict[tuple[str, str], Table] = {}

        def look(table: Table) -> None:
            for base in table.bases:
                if (base.schema, base.name) not in found:
                    look(base)
                    found[base.schema, base.name] = base

        look(self)
        return tuple(found.values())

    @property
    def views(self) -> dict[str, str]:
        """The definitions of all views that a query reads, by name."""
        return {one.label: one.definition for one in self.reads if one.definition}

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"query {self.name}" if self.query else f"{self.schema}.{self.name}"

    def column(self, name: str) -> Column | None:
        """The column called `name`, or None."""
        return next((c for c in self.columns if c.name == name), None)


@dataclass(frozen=True)
class ServerIdentity:
    """Identity, version and position of a server.

    Attributes:
        product: ``PostgreSQL 18.1``-like text for people.
        identity: Changes when the source is another server or database.
        meaning: Changes when equality or order may mean something else (major version, collation version).
        position: A number that never falls on one server; 0 where the database has none.
    """

    product: str
    identity: str
    meaning: str
    position: int


def travel_from_json(data: Mapping[str, Any]) -> Travel:
    """The inverse of ``dataclasses.asdict`` for :class:`Travel`."""
    element = data.get("element")
    return Travel(
        data["kind"], data.get("precision", 0), data.get("scale", 0), travel_from_json(element) if element else None
    )


def names(columns: Sequence[Column]) -> list[str]:
    """The names of `columns`, in order."""
    return [c.name for c in columns]
