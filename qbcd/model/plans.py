"""The plan of a stream, its ranges, and its statements."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from qbcd.model.columns import Column, Table

HALF = 1 << 63  # a wide digest is one half times it, plus the other half


@dataclass(frozen=True)
class StreamPlan:
    """A stream that was resolved against the catalog.

    Attributes:
        key: Key columns in key order; empty for a result of one row and for rows without a key.
        columns: Captured columns without key columns, in table order or as the user lists them.
        where: The user's restriction, verbatim, or an empty string.
        counted: Rows have no key: they are identified by all their values, and equal rows are counted.
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
        """Key and captured columns, in the order in which rows travel."""
        return self.key + self.columns

    @property
    def key_is_proven(self) -> bool:
        """True if the catalog proves that the key is unique and never NULL; true for an empty key."""
        if not self.key:
            return True
        chosen = {c.name for c in self.key}
        unique = [set(k) for k in (self.table.primary_key, *self.table.unique_keys) if k]
        return any(k <= chosen for k in unique) and not any(c.nullable for c in self.key)

    @cached_property
    def unsized(self) -> StreamPlan:
        """The part of the plan on which statements depend: no sizes by statistics, no base tables."""
        known, key, columns = (
            tuple(replace(c, width=0) for c in some) for some in (self.table.columns, self.key, self.columns)
        )
        table = replace(self.table, columns=known, rows=-1, pages=0, row_width=0, key_correlation=None, bases=())
        return replace(self, table=table, key=key, columns=columns)

    def on(self, table: Table) -> StreamPlan:
        """Return the plan with a newer description of its table, which may prove the key or not."""
        newer = {c.name: c for c in table.columns}
        key = tuple(replace(c, nullable=newer[c.name].nullable) for c in self.key)
        return replace(self, table=table, key=key)

    def option(self, name: str) -> Any:
        """Return the strategy option `name`, or None."""
        return dict(self.options).get(name)

    @property
    def wide(self) -> bool:
        """True if row digests have 126 bits (option `digest: 128`); others have 64."""
        return bool(self.option("digest") == 128)

    @property
    def digest_type(self) -> str:
        """The type of a row digest, a whole number, in tables and files."""
        return "decimal(38,0)" if self.wide else "bigint"

    def with_options(self, **values: Any) -> StreamPlan:
        """Return the plan with other values for some of the strategy's options."""
        return replace(self, options=tuple(sorted({**dict(self.options), **values}.items())))

    def made(self) -> dict[str, Any]:
        """Return the identity of the table and of each column that polls read, as JSON-ready data.

        It recognizes another table or column of the same name, and partitions that were attached since.
        """
        # a view that is created again with the same text counts as the same view
        known = zip(self.table.columns, self.table.numbers if self.table.kind != "view" else (), strict=False)
        numbers = {c.name: f"{number} {c.sql_type}" for c, number in known}
        chosen = [self.option(name) or () for name in ("timestamp", "delete_flag")]
        named = {one for some in chosen for one in ([some] if isinstance(some, str) else some)}
        in_where = {name for name in numbers if re.search(rf"(?i)(?<!\w){re.escape(name)}(?!\w)", self.where)}
        read = {*(c.name for c in self.captured), *named, *in_where}
        tables = (self.table, *self.table.reads)
        behind = dict.fromkeys(f"{one.label} {one.made}" for one in tables if one.made)
        parts = {part for one in tables for part in one.parts or ()}
        shown = {} if any(one.parts is None for one in tables) else {"parts": sorted(parts)}
        return {"numbers": {n: numbers[n] for n in sorted(read) if n in numbers}, "at": sorted(behind), **shown}

    @property
    def _digested(self) -> dict[str, str]:
        """By column: the fact of a widened column that keeps the digests of its earlier values."""
        return {c.name: fact for c in self.captured if (fact := c.fact("digested"))}

    def shape(self) -> dict[str, Any]:
        """Return what may not change between polls, as JSON-ready data for the checkpoint."""
        return {
            "table": [self.table.schema, self.table.name],
            "key": [c.name for c in self.key],
            "columns": [[c.name, c.sql_type, c.collation, c.comparison, c.travel.to_json()] for c in self.captured],
            "encoding": {c.name: c.encoding for c in self.captured},
            "means": {c.name: meaning for c in self.captured if (meaning := c.meaning(ordered=c in self.key))},
            **({"digested": digested} if (digested := self._digested) else {}),
            "where": self.where,
            "strategy": self.strategy,
            **({"query": self.table.query, "views": self.table.views} if self.table.query else {}),
        }


@dataclass(frozen=True)
class NamedKey:
    """A key: its identity for joins, and its texts, by which the source finds the row again."""

    identity: bytes
    texts: tuple[str, ...]


@dataclass(frozen=True)
class RowSelection:
    """Some leaves of a range (`qbcd.ranges.leaves`), with count and checksum of their rows.

    Attributes:
        bits: One bit for each leaf; the lowest bit of the first byte is leaf 0.
        alone: If not None, rows are looked up by key (`qbcd.ranges.key_recovery`): by leaf, the identity of its one
            requested key. For a leaf that is not listed, all keys that it can contain are requested.
        named: If not empty, only rows with these keys are requested (`qbcd.ranges.recent_keys`).
        deleted_digest: If not None, the range has lost exactly one row, and this is the row's digest. The row is looked
            up in the replica; nothing is read from the source.
    """

    bits: bytes
    rows: int
    checksum: int
    alone: Mapping[int, bytes] | None = None
    named: tuple[NamedKey, ...] = ()
    deleted_digest: int | None = None


@dataclass(frozen=True)
class KeyRange:
    """Half-open key interval ``[lo, hi)``; None is an open end.

    A bound is the source's own text of each key column. For ranges of a key's hash (`qbcd.ranges.hash_buckets`) it is
    one number.

    Attributes:
        only: The requested rows; None for all.
    """

    range_id: int
    lo: tuple[str, ...] | None
    hi: tuple[str, ...] | None
    rows: int = 0
    checksum: int = 0
    only: RowSelection | None = field(default=None, kw_only=True)

    @property
    def asked(self) -> tuple[int, int]:
        """(count, checksum) of the requested rows."""
        return (self.rows, self.checksum) if self.only is None else (self.only.rows, self.only.checksum)


@dataclass(frozen=True)
class Statement:
    """SQL in the source's dialect with the values bound to it by name (``%(name)s``).

    Attributes:
        counted: Its only result is the number of rows that it changed.
    """

    sql: str
    params: Mapping[str, Any] = field(default_factory=dict)
    counted: bool = False
