"""The frozen values that flow through qbcd: what a source's table is, what a stream captures, what was found.

Nothing here opens a connection, reads a clock or imports Spark.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

Consistency = Literal["snapshot", "statement", "range"]
Comparison = Literal["typed", "bytes", "text"]
TravelKind = Literal[
    "boolean", "int16", "int32", "int64", "uint64", "float32", "float64",
    "decimal", "text", "binary", "date", "time", "timestamp", "timestamptz", "array",
]  # fmt: skip


@dataclass(frozen=True)
class Travel:
    """How a column's values travel from the source to a sink (interface.md, Types).

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
        """What, beside type and collation, decides how the column enters a digest."""
        return f"{self.base_type} {self.fact('loose')}".strip()

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

    @property
    def reads(self) -> tuple[Table, ...]:
        """What a query reads, through views too: each table and view once, a view after what it stands for."""
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
        """What people call it."""
        return f"query {self.name}" if self.query else f"{self.schema}.{self.name}"

    def column(self, name: str) -> Column | None:
        """The column called `name`, or None."""
        return next((c for c in self.columns if c.name == name), None)


@dataclass(frozen=True)
class ServerIdentity:
    """Which server, in which version, this is, and how far it has come.

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


@dataclass(frozen=True)
class StreamPlan:
    """One stream, resolved against the catalog: what is captured and how.

    Attributes:
        key: Key columns in key order; empty of a result of one row, and where rows have no key.
        columns: Pertinent columns without key columns, in table order or as the user lists them.
        where: The user's restriction, verbatim, or an empty string.
        options: The strategy's options.
        counted: Rows have no key: they are told by all their values, and counted.
    """

    stream: str
    source: str
    table: Table
    key: tuple[Column, ...]
    columns: tuple[Column, ...]
    where: str
    strategy: str
    options: tuple[tuple[str, Any], ...] = ()
    counted: bool = False

    @property
    def captured(self) -> tuple[Column, ...]:
        """Key and pertinent columns, in the order in which rows travel."""
        return self.key + self.columns

    @property
    def key_is_proven(self) -> bool:
        """The catalog itself vouches that the key is unique and never NULL; of one row, and of none, it always is."""
        if not self.key:
            return True
        chosen = {c.name for c in self.key}
        unique = [set(k) for k in (self.table.primary_key, *self.table.unique_keys) if k]
        return any(k <= chosen for k in unique) and not any(c.nullable for c in self.key)

    @cached_property
    def unsized(self) -> StreamPlan:
        """The plan without what statistics say of sizes, and without what a query reads: as far as statements go."""
        known, key, columns = (
            tuple(replace(c, width=0) for c in some) for some in (self.table.columns, self.key, self.columns)
        )
        table = replace(self.table, columns=known, rows=-1, pages=0, row_width=0, key_correlation=None, bases=())
        return replace(self, table=table, key=key, columns=columns)

    def on(self, table: Table) -> StreamPlan:
        """The plan by a newer look at its table: whether the key is proven may have changed."""
        fresh = {c.name: c for c in table.columns}
        key = tuple(replace(c, nullable=fresh[c.name].nullable) for c in self.key)
        return replace(self, table=table, key=key)

    def option(self, name: str) -> Any:
        """The strategy option `name`, or None."""
        return dict(self.options).get(name)

    def with_options(self, **values: Any) -> StreamPlan:
        """The plan with other values of some of the strategy's options."""
        return replace(self, options=tuple(sorted({**dict(self.options), **values}.items())))

    def shape(self) -> dict[str, Any]:
        """What may not change between polls, as JSON-ready data; kept in the checkpoint."""
        return {
            "table": [self.table.schema, self.table.name],
            "key": [c.name for c in self.key],
            "columns": [
                [c.name, c.sql_type, c.collation, c.comparison, asdict(c.travel)] for c in self.captured
            ],
            "encoding": {c.name: c.encoding for c in self.captured},
            "where": self.where,
            "strategy": self.strategy,
            **({"query": self.table.query, "views": self.table.views} if self.table.query else {}),
        }  # fmt: skip


@dataclass(frozen=True)
class KeyRange:
    """Half-open key interval ``[lo, hi)``; None is an open end. Bounds are the source's own text of each key column.

    Of ranges of the key's hash (`qbcd.buckets`) a bound is one number.
    """

    range_id: int
    lo: tuple[str, ...] | None
    hi: tuple[str, ...] | None
    rows: int = 0
    checksum: int = 0


@dataclass(frozen=True)
class Statement:
    """SQL in the source's dialect with the values bound to it by name (``%(name)s``)."""

    sql: str
    params: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class BatchHeader:
    """A sealed batch without its rows.

    Attributes:
        fingerprint: Unique to this batch for ever; a sink compares it before it calls an earlier attempt complete.
        counts: Events per op.
        sinks: The sinks that were configured when the batch was staged.
        columns: Key and pertinent columns of the rows, with how they travel.
        key: Names of the key columns.
        location: Where the rows are, for the site alone (table rows or files).
        before: Old values are known, so that updates and deletes have an image of what was.
        one_row: Where there are no key columns: of one row, whose key is empty; else rows have no key.
    """

    stream: str
    epoch: int
    seq: int
    ts_ms: int
    counts: Mapping[str, int]
    sinks: tuple[str, ...]
    fingerprint: str
    source: str
    table: str
    strategy: str
    consistency: Consistency
    key: tuple[str, ...]
    columns: tuple[tuple[str, Travel], ...]
    location: Mapping[str, Any] = field(default_factory=dict)
    before: bool = True
    one_row: bool = False

    @property
    def size(self) -> int:
        """Number of events."""
        return sum(self.counts.values())


@dataclass(frozen=True)
class Cost:
    """What a poll did to the source. Rows are counted or estimated as the fields say.

    Attributes:
        rows_scanned: Rows that the source read, as far as its counts tell.
        rows_shipped: Rows that left the source.
        bytes_shipped: Bytes of the rows' files in the stage, or of the control results.
        ranges: Ranges compared; `dirty` of them differed.
        spark: Whether Spark was used at all.
    """

    rows_scanned: int = 0
    rows_shipped: int = 0
    bytes_shipped: int = 0
    ranges: int = 0
    dirty: int = 0
    seconds: float = 0.0
    spark: bool = False

    def __add__(self, other: Cost) -> Cost:
        """Of both together."""
        mine, theirs = asdict(self), asdict(other)
        added = {name: mine[name] + theirs[name] for name in mine if name != "spark"}
        return Cost(**added, spark=self.spark or other.spark)


def travel_from_json(data: Mapping[str, Any]) -> Travel:
    """The inverse of ``dataclasses.asdict`` for :class:`Travel`."""
    element = data.get("element")
    return Travel(
        data["kind"], data.get("precision", 0), data.get("scale", 0), travel_from_json(element) if element else None
    )


def digest_of(data: Any) -> str:
    """A short stable name for JSON-ready data (SHA-256, 32 hex digits)."""
    return hashlib.sha256(json.dumps(data, sort_keys=True, default=str).encode()).hexdigest()[:32]


def names(columns: Sequence[Column]) -> list[str]:
    """The names of `columns`, in order."""
    return [c.name for c in columns]
