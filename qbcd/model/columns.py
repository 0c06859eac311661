"""Columns and tables as the catalog describes them, and the form in which values travel."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
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
    """The form of a column's values between source and sink (docs/design/interface.md#types).

    Over JDBC and in the stage, booleans, integers, floats and binary have their own type, and `uint64` (unsigned
    64-bit) is a decimal(20,0). `decimal`, `text`, dates and times are text. An `array` is a JSON fragment: a JSON array
    if it is one-dimensional with lower bound 1, else a JSON string with the database's own text.

    Attributes:
        unordered: The value is a ``set`` or a ``multiset``, and travels with its elements in one order.
        separator: The text between the elements of a set that is a text; empty if it is an array or JSON.
    """

    kind: TravelKind
    precision: int = 0
    scale: int = 0
    element: Travel | None = None
    unordered: str = ""
    separator: str = ""

    def as_text(self) -> Travel:
        """Return the form of the same values as texts."""
        return Travel("text", unordered=self.unordered, separator=self.separator)

    def to_json(self) -> dict[str, Any]:
        """Return the form as JSON-ready data, without what only sets have if it is none."""
        of_set = {"unordered": self.unordered, "separator": self.separator} if self.unordered else {}
        element = self.element.to_json() if self.element else None
        return {"kind": self.kind, "precision": self.precision, "scale": self.scale, "element": element, **of_set}


@dataclass(frozen=True)
class Column:
    """A column of a source table.

    Attributes:
        name: As the catalog spells it.
        sql_type: The full type as SQL text, usable in a cast or in DDL, qualified if necessary: ``numeric(10,2)``.
        base_type: The connector's name of the type, domains resolved: ``numeric``.
        nullable: False only if the catalog forbids NULL.
        collation: SQL text of a collation that differs from the database's default, or an empty string.
        comparison: Meaning of "unchanged": the type's own equality, equal bytes, or equal canonical text.
        travel: The form in which values travel.
        width: Average bytes of a value by the server's statistics, 0 if unknown.
        facts: Facts for the column's connector alone, as sorted pairs.
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
        """The part that decides how the column enters a digest, in addition to type and collation."""
        return f"{self.base_type} {self.fact('loose')}".strip()

    def meaning(self, *, ordered: bool) -> dict[str, Any]:
        """Return the definitions behind the names of its type and collation, as JSON-ready data.

        Empty if the names alone define equality and, if needed, order.

        Args:
            ordered: Values are compared for order too, not only for equality.
        """
        collated = self.fact("collated") if ordered or self.fact("nondeterministic") else ""
        labels = json.loads(self.fact("labels") or "null")
        known = {"collated": collated, "labels" if ordered else "texts": labels}
        return {name: value for name, value in known.items() if value}

    def with_fact(self, name: str, value: str) -> Column:
        """Return the column with another value of a fact; an empty one removes it."""
        others = [(key, known) for key, known in self.facts if key != name]
        return replace(self, facts=tuple(sorted([*others, *([(name, value)] if value else [])])))

    def fact(self, name: str) -> str:
        """Return the connector's fact `name`, or an empty string."""
        return dict(self.facts).get(name, "")


@dataclass(frozen=True)
class Table:
    """A table or view of a source as its catalog describes it, or the result of a query.

    A query has the stream's name and no schema. Its keys are those that its text and its base tables prove.

    Attributes:
        kind: ``table``, ``partitioned``, ``view``, ``matview``, ``foreign``, ``query`` or ``files``.
        rows: Estimated rows, -1 if unknown.
        pages: Pages of the heap, 0 if unknown.
        row_width: Average bytes of a row, 0 if unknown.
        key_correlation: Correlation of the first key column with the heap order, -1 to 1; None if unknown.
        primary_key: Column names of the primary key, or empty.
        unique_keys: Column names of the other unique, NOT NULL, immediate keys.
        row_security: Row-level security applies to this role.
        query: The SELECT of a query, as it runs; empty for a table.
        definition: The SELECT of a view that a query reads; empty if the source does not show it.
        bases: The tables and views that the query or the definition reads, one for each mention, in the order of
            `CapturedQuery.bases`.
        one_row: The query has at most one row, whatever its base tables contain.
        grant: For a table behind a view: the GRANT that the role needs to read and lock it; else empty.
        remote: Some of its rows are on another server, which has its own snapshots.
        made: Identity of an object for which the source has no column numbers, or not enough; it changes when the
            object is defined again.
        numbers: Identity of each column, in their order, to recognize another column of the same name; empty if the
            source has none.
        parts: The partitions and children that are read with it, each with a mark that changes when it is attached
            again; None if the source does not show them.
        paged: Its rows are on pages of its own and can be looked up by page.
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
    parts: tuple[str, ...] | None = field(default=(), compare=False)
    paged: bool = False

    @property
    def row_key(self) -> tuple[str, ...]:
        """The columns that identify a stored table's rows; empty if the catalog proves none."""
        return self.primary_key or (self.unique_keys[0] if self.unique_keys else ())

    def shape(self, columns: Sequence[str]) -> dict[str, Any]:
        """Return the part of a base table that may not change between polls, as JSON-ready data."""
        numbers = dict(zip((c.name for c in self.columns), self.numbers, strict=False))
        known = {c.name: [c.sql_type, c.collation, c.encoding, numbers.get(c.name, "")] for c in self.columns}
        return {"key": list(self.row_key), "columns": {name: known[name] for name in columns if name in known}}

    @property
    def reads(self) -> tuple[Table, ...]:
        """The tables and views that a query reads, also through views, each once.

        A view comes after the tables behind it.
        """
        found: dict[tuple[str, str], Table] = {}

        def collect(table: Table) -> None:
            for base in table.bases:
                if (base.schema, base.name) not in found:
                    collect(base)
                    found[base.schema, base.name] = base

        collect(self)
        return tuple(found.values())

    @property
    def views(self) -> dict[str, str]:
        """The definitions of all views that a query reads, by name."""
        return {one.label: one.definition for one in self.reads if one.definition}

    @property
    def label(self) -> str:
        """Its name in messages."""
        return f"query {self.name}" if self.query else f"{self.schema}.{self.name}" if self.schema else self.name

    def column(self, name: str) -> Column | None:
        """Return the column called `name`, or None."""
        return next((c for c in self.columns if c.name == name), None)


@dataclass(frozen=True)
class ServerIdentity:
    """Identity, version and position of a server.

    Attributes:
        product: Product and version for people: ``PostgreSQL 18.1``.
        identity: Changes when the source is another server or database.
        meaning: Changes when equality or order may have changed (major version, collation version).
        position: A number that never decreases on one server; 0 if the database has none.
        remark: For people: how far this version was tested, if that is not obvious.
    """

    product: str
    identity: str
    meaning: str
    position: int
    remark: str = ""


def travel_from_json(data: Mapping[str, Any]) -> Travel:
    """Return a `Travel` from the result of :meth:`Travel.to_json`."""
    element = data.get("element")
    return Travel(
        data["kind"],
        data.get("precision", 0),
        data.get("scale", 0),
        travel_from_json(element) if element else None,
        data.get("unordered", ""),
        data.get("separator", ""),
    )


def names(columns: Sequence[Column]) -> list[str]:
    """Return the names of `columns`, in order."""
    return [c.name for c in columns]
