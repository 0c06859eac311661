"""The plan of a stream, the ranges in which it is read, and its statements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from qbcd.model.columns import Column, Table


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

    def made(self) -> dict[str, Any]:
        """The identity of the table, and of each column that polls read, beyond their names, as JSON-ready data."""
        # a view that is made anew by the same text is no other one
        known = zip(self.table.columns, self.table.numbers if self.table.kind != "view" else (), strict=False)
        numbers = {c.name: f"{number} {c.sql_type}" for c, number in known}
        told = [self.option(name) or () for name in ("timestamp", "delete_flag")]
        named = {one for some in told for one in ([some] if isinstance(some, str) else some)}
        spoken = {name for name in numbers if re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", self.where)}
        read = {*(c.name for c in self.captured), *named, *spoken}
        behind = dict.fromkeys(f"{one.label} {one.made}" for one in (self.table, *self.table.reads) if one.made)
        return {"numbers": {n: numbers[n] for n in sorted(read) if n in numbers}, "at": sorted(behind)}

    def shape(self) -> dict[str, Any]:
        """Everything that may not change between polls, as JSON-ready data; kept in the checkpoint."""
        return {
            "table": [self.table.schema, self.table.name],
            "key": [c.name for c in self.key],
            "columns": [[c.name, c.sql_type, c.collation, c.comparison, asdict(c.travel)] for c in self.captured],
            "encoding": {c.name: c.encoding for c in self.captured},
            "means": {c.name: meaning for c in self.captured if (meaning := c.meaning(ordered=c in self.key))},
            "where": self.where,
            "strategy": self.strategy,
            **({"query": self.table.query, "views": self.table.views} if self.table.query else {}),
        }


@dataclass(frozen=True)
class NamedKey:
    """One key: its identity, by which rows are joined, and the texts by which the source finds it again."""

    identity: bytes
    texts: tuple[str, ...]


@dataclass(frozen=True)
class RowSelection:
    """Some of a range's leaves (`qbcd.ranges.leaves`), and the count and checksum of the rows in them.

    Attributes:
        bits: A bit for each leaf, the least of the first byte for leaf 0.
        alone: Where not None, rows are looked up by key (`qbcd.ranges.key_recovery`): the identity of the one key that
        is asked for of a leaf; of leaves that have none here, all keys that can be in them. named: Rows of these keys
        alone are asked for of the leaves that they are in (`qbcd.ranges.recent_keys`). lost: Of a range that has lost
        one row, that row's digest: it is asked for in the replica, and nothing in the source. None of others.
    """

    bits: bytes
    rows: int
    checksum: int
    alone: Mapping[int, bytes] | None = None
    named: tuple[NamedKey, ...] = ()
    lost: int | None = None


@dataclass(frozen=True)
class KeyRange:
    """Half-open key interval ``[lo, hi)``; None is an open end. Bounds are the source's own text of each key column.

    Of ranges of the key's hash (`qbcd.ranges.hash_buckets`) a bound is one number.

    Attributes:
        only: The leaves of which rows are asked for; None for all.
    """

    range_id: int
    lo: tuple[str, ...] | None
    hi: tuple[str, ...] | None
    rows: int = 0
    checksum: int = 0
    only: RowSelection | None = field(default=None, kw_only=True)

    @property
    def asked(self) -> tuple[int, int]:
        """(count, checksum) of the rows that are asked for."""
        return (self.rows, self.checksum) if self.only is None else (self.only.rows, self.only.checksum)


@dataclass(frozen=True)
class Statement:
    """SQL in the source's dialect with the values bound to it by name (``%(name)s``).

    Attributes:
        counted: Its one result is the number of rows that it changed.
    """

    sql: str
    params: Mapping[str, Any] = field(default_factory=dict)
    counted: bool = False
