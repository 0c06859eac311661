"""A table as a Python dictionary: what its histories are, and which events a poll has to find, on every database.

Values are Python's; `SHAPES` says what they are called in each database and what becomes of them in an event.
"""

from __future__ import annotations

import base64
import datetime as dt
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from random import Random
from typing import Any

from tests.support.places import Place

Record = dict[str, Any]
Key = tuple[Any, ...]
Restriction = Callable[[Record], bool]


@dataclass(frozen=True)
class Shape:
    """A kind of value.

    Attributes:
        first: SQL type in PostgreSQL.
        family: SQL type in MariaDB and MySQL.
        values: What there is to choose from.
        told: The value in an event.
    """

    first: str
    family: str
    values: Sequence[Any]
    told: Callable[[Any], Any] = lambda value: value


def _moment(value: dt.datetime) -> str:
    return value.isoformat(timespec="microseconds")


_TEXTS = ["", " ", "a", "A", "a ", "ä", "null", "it's", "\\", "%s", "日本🙂", "line\nbreak", "x" * 300]
_CLOCKS = [dt.datetime(2024, 3, 31, 2, 30), dt.datetime(2024, 1, 1, 0, 0, 0, 1), dt.datetime(1999, 12, 31, 23, 59, 59)]
SHAPES: Mapping[str, Shape] = {
    "whole": Shape("integer", "integer", [0, 1, -1, 2147483647, -2147483648]),
    "big": Shape("bigint", "bigint", [0, 9007199254740993, -9223372036854775808, 9223372036854775807]),
    "money": Shape("numeric(12,2)", "decimal(12,2)", [Decimal(v) for v in ("-0.01", "100.50", "9999999999.99")], str),
    "ratio": Shape("double precision", "double", [0.1, -2.5, 1e22, 1.7976931348623157e308, 5e-324]),
    "word": Shape("varchar(300)", "varchar(300)", _TEXTS),
    "long": Shape("text", "longtext", [*_TEXTS, "y" * 70_000]),
    "raw": Shape("bytea", "longblob", [b"", b"\0", b"\0\0", b"\xff'\\"], lambda v: base64.b64encode(v).decode()),
    "day": Shape("date", "date", [dt.date(2024, 2, 29), dt.date(1970, 1, 1), dt.date(9999, 12, 31)], str),
    "moment": Shape("timestamp", "datetime(6)", [*_CLOCKS, dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31)], _moment),
    "instant": Shape("timestamptz", "timestamp(6) NULL", _CLOCKS, lambda value: _moment(value) + "Z"),
}  # fmt: skip


class Model:
    """A table in a place, changed there and in a dictionary alike.

    Args:
        place: Where; its sessions are in UTC.
        rng: Where chance comes from.
        name: Of the table; quoted.
        columns: Name of a shape by column, key columns too, in table order.
        key: Key columns: of shape ``whole``, or of words that no collation equates.

    Attributes:
        rows: What stands in the table.
    """

    def __init__(self, place: Place, rng: Random, name: str, columns: Mapping[str, str], key: Sequence[str]) -> None:
        self.place, self.rng, self.name, self.key = place, rng, name, tuple(key)
        self.shapes = {column: SHAPES[shape] for column, shape in columns.items()}
        self.rows: dict[Key, Record] = {}
        self._seen: dict[Key, Record] = {}
        first = place.kind == "postgresql"
        types = [f"{place.quote(c)} {s.first if first else s.family}" for c, s in self.shapes.items()]
        place.sql(f"CREATE TABLE {name} ({', '.join(types)}, PRIMARY KEY ({', '.join(map(place.quote, key))}))")

    # -- changes: each is one transaction ----------------------------------------------------------------------------
    def steps(self, number: int) -> None:
        """`number` random changes."""
        steps = (self.insert, self.insert, self.update, self.update, self.delete, self.rekey, self.swap, self.replace,
                 self.there_and_back)  # fmt: skip
        for _ in range(number):
            self.rng.choice(steps)()

    def grow(self, rows: int) -> None:
        """Up to `rows` new rows."""
        for _ in range(rows):
            self.insert()

    def insert(self) -> None:
        """A new row, where its key is free."""
        record = {c: self._value(c) for c in self.shapes}
        if self._key(record) not in self.rows:
            self._apply([], [record])

    def update(self) -> None:
        """Some columns of a row."""
        for key in self._pick(1):
            others = [c for c in self.shapes if c not in self.key]
            new = {c: self._value(c) for c in self.rng.sample(others, self.rng.choice([1, 2]))}
            self._apply([key], [{**self.rows[key], **new}])

    def delete(self) -> None:
        """Up to three rows."""
        self._apply(self._pick(3), [])

    def rekey(self) -> None:
        """A row under another key."""
        for key in self._pick(1):
            record = {**self.rows[key], **{c: self._value(c) for c in self.key}}
            if self._key(record) not in self.rows:
                self._apply([key], [record])

    def swap(self) -> None:
        """Two rows exchange one column."""
        keys = self._pick(2)
        if len(keys) == 2:
            one, two = (self.rows[key] for key in keys)
            column = self.rng.choice([c for c in self.shapes if c not in self.key])
            self._apply(keys, [{**one, column: two[column]}, {**two, column: one[column]}])

    def replace(self) -> None:
        """Another row under the key of one that goes."""
        for key in self._pick(1):
            new = {c: self._value(c) for c in self.shapes if c not in self.key}
            self._apply([key], [{**self.rows[key], **new}])

    def there_and_back(self) -> None:
        """A row changes, and changes back."""
        for key in self._pick(1):
            record = self.rows[key]
            self._apply([key], [])
            self._apply([], [record])

    def empty(self) -> None:
        """Takes every row away."""
        self._apply(list(self.rows), [])

    # -- what a poll has to find -------------------------------------------------------------------------------------
    def net(self, wheres: Mapping[str, Restriction], *, baseline: bool = False) -> dict[str, list[str]]:
        """The net changes since the last call under each restriction, as `tests.support.oracle.net` writes them.

        Args:
            wheres: Restrictions by name.
            baseline: The rows are those of a baseline.
        """
        made = {}
        for name, where in wheres.items():
            old, new = ({k: r for k, r in rows.items() if where(r)} for rows in (self._seen, self.rows))
            found = [self._event("r" if baseline else "c", None, new[k]) for k in new.keys() - old.keys()]
            found += [self._event("d", old[k], None) for k in old.keys() - new.keys()]
            found += [self._event("u", old[k], new[k]) for k in old.keys() & new.keys() if old[k] != new[k]]
            made[name] = sorted(json.dumps(event, ensure_ascii=False) for event in found)
        self._seen = dict(self.rows)
        return made

    def _event(self, op: str, old: Record | None, new: Record | None) -> Record:
        order = [*self.key, *(c for c in self.shapes if c not in self.key)]
        before, after = (record and {c: self._told(c, record[c]) for c in order} for record in (old, new))
        changed = [c for c in order if old[c] != new[c]] if old and new else None
        key = {c: (after or before or {})[c] for c in self.key}
        return {"op": op, "key": key, "before": before, "after": after, "changed": changed, "reason": None}

    def _told(self, column: str, value: Any) -> Any:
        return None if value is None else self.shapes[column].told(value)

    # -- helpers -----------------------------------------------------------------------------------------------------
    def _value(self, column: str) -> Any:
        if column in self.key:
            return self.rng.randint(1, 40) if "integer" in self.shapes[column].first else self.rng.choice("pqr")
        return None if self.rng.random() < 0.15 else self.rng.choice(self.shapes[column].values)

    def _key(self, record: Record) -> Key:
        return tuple(record[c] for c in self.key)

    def _pick(self, most: int) -> list[Key]:
        return self.rng.sample(sorted(self.rows), min(most, len(self.rows)))

    def _apply(self, gone: Sequence[Key], come: Sequence[Record]) -> None:
        columns = ", ".join(self._escaped(c) for c in self.shapes)
        where = " AND ".join(f"{self._escaped(c)} = %s" for c in self.key)
        name = self.name.replace("%", "%%")
        with self.place.connect() as conn:
            for key in gone:
                self.place.run(conn, f"DELETE FROM {name} WHERE {where}", key)
                del self.rows[key]
            for record in come:
                values = ", ".join(["%s"] * len(record))
                self.place.run(conn, f"INSERT INTO {name} ({columns}) VALUES ({values})", list(record.values()))
                self.rows[self._key(record)] = record

    def _escaped(self, column: str) -> str:
        return self.place.quote(column).replace("%", "%%")
