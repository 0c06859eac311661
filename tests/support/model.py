"""A table as a Python dictionary: its random history, and the events of its changes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Any

from typing_extensions import override

from tests.support.places import Place
from tests.support.value_shapes import SHAPES, Service, Shape

Record = dict[str, Any]
Key = tuple[Any, ...]
Restriction = Callable[[Record], bool]


@dataclass(frozen=True)
class Row:
    """A row that exists in the table.

    Attributes:
        record: The captured columns.
        born: Number of the insert that made it; an update keeps it, even an update of the key.
        touched: Number of the last write.
        flagged: Its delete flag.
    """

    record: Record
    born: int
    touched: int
    flagged: bool = False


class Model:
    """A table in a place and the same rows in a dictionary; each change is made in both.

    Args:
        place: The database; its sessions are in UTC.
        rng: The source of chance.
        name: Name of the table, quoted.
        columns: Name of a shape by captured column, key columns too, in table order.
        key: Key columns, of shape ``whole`` or of words that no collation treats as equal.
        services: Further columns.

    Attributes:
        rows: The rows of the table.
        writes: Number of rows written so far.
    """

    steps_known: tuple[str, ...] = (
        "insert",
        "insert",
        "update",
        "update",
        "delete",
        "rekey",
        "swap",
        "replace",
        "there_and_back",
    )

    def __init__(
        self,
        place: Place,
        rng: Random,
        name: str,
        columns: Mapping[str, str],
        key: Sequence[str],
        services: Mapping[str, Service] | None = None,
    ) -> None:
        self.place, self.rng, self.name, self.key = place, rng, name, tuple(key)
        self.shapes = {column: SHAPES[shape] for column, shape in columns.items()}
        self.services = dict(services or {})
        self.rows: dict[Key, Row] = {}
        self.writes = 0
        first = place.kind == "postgresql"
        kinds: dict[str, Shape | Service] = {**self.shapes, **self.services}
        types = [f"{place.quote(c)} {s.first if first else s.family}" for c, s in kinds.items()]
        place.sql(f"CREATE TABLE {name} ({', '.join(types)}, PRIMARY KEY ({', '.join(map(place.quote, key))}))")

    # -- changes: each is one transaction ----------------------------------------------------------------------------
    def steps(self, number: int) -> None:
        """Make `number` random changes."""
        with self.place.connect() as conn:
            for _ in range(number):
                getattr(self, self.rng.choice(self.steps_known))(conn)
                conn.commit()

    def grow(self, rows: int) -> None:
        """Insert up to `rows` new rows."""
        with self.place.connect() as conn:
            for _ in range(rows):
                self.insert(conn)
                conn.commit()

    def empty(self) -> None:
        """Delete all rows."""
        with self.place.connect() as conn:
            for key in self._live():
                self._take(conn, key)

    def insert(self, conn: Any) -> None:
        """Insert a row if its key is free."""
        record = {c: self._value(c) for c in self.shapes}
        if self._key(record) not in self._live():
            self._put(conn, record)

    def update(self, conn: Any) -> None:
        """Update some columns of a row."""
        for key in self._pick(1):
            others = [c for c in self.shapes if c not in self.key]
            new = {c: self._value(c) for c in self.rng.sample(others, self.rng.choice([1, 2]))}
            self._change(conn, key, {**self.rows[key].record, **new})

    def delete(self, conn: Any) -> None:
        """Delete up to three rows, but not the newest one.

        Without it a counter seems to have restarted: all rows are read again, and more is seen than a timestamp shows.
        """
        newest = max((row.born for row in self.rows.values()), default=0)
        for key in self._pick(3):
            if self.rows[key].born < newest:
                self._take(conn, key)

    def rekey(self, conn: Any) -> None:
        """Change the key of a row."""
        for key in self._pick(1):
            record = {**self.rows[key].record, **{c: self._value(c) for c in self.key}}
            if self._key(record) not in self._live():
                self._rename(conn, key, record)

    def swap(self, conn: Any) -> None:
        """Exchange one column between two rows."""
        keys = self._pick(2)
        if len(keys) == 2:
            one, two = (self.rows[key].record for key in keys)
            column = self.rng.choice([c for c in self.shapes if c not in self.key])
            self._change(conn, keys[0], {**one, column: two[column]})
            self._change(conn, keys[1], {**two, column: one[column]})

    def replace(self, conn: Any) -> None:
        """Replace a row by another one with the same key."""
        for key in self._pick(1):
            new = {c: self._value(c) for c in self.shapes if c not in self.key}
            record = {**self.rows[key].record, **new}
            self._take(conn, key)
            self._put(conn, record)

    def there_and_back(self, conn: Any) -> None:
        """Delete a row and insert it again as it was."""
        for key in self._pick(1):
            record = self.rows[key].record
            self._take(conn, key)
            conn.commit()
            self._put(conn, record)

    # -- content of events -------------------------------------------------------------------------------------------
    def event(
        self, op: str, old: Record | None, new: Record | None, reason: str | None = None, *, before: bool = True
    ) -> str:
        """Return an event as `tests.support.oracle.net` writes it.

        Without `before` it has no old values.
        """
        order = [*self.key, *(c for c in self.shapes if c not in self.key)]
        then, now = (record and {c: self._event_value(c, record[c]) for c in order} for record in (old, new))
        changed = [c for c in order if old[c] != new[c]] if old and new and before else None
        key = {c: (now or then or {})[c] for c in self.key}
        event = {"op": op, "key": key, "before": then if before else None, "after": now, "changed": changed}
        return json.dumps({**event, "reason": reason}, ensure_ascii=False)

    def _event_value(self, column: str, value: Any) -> Any:
        return None if value is None else self.shapes[column].event_value(value)

    # -- helpers -----------------------------------------------------------------------------------------------------
    def _live(self) -> list[Key]:
        """Return the keys of the rows that a user of the table sees."""
        return [key for key, row in self.rows.items() if not row.flagged]

    def _value(self, column: str) -> Any:
        if column in self.key:
            return self.rng.randint(1, 40) if "integer" in self.shapes[column].first else self.rng.choice("pqr")
        return None if self.rng.random() < 0.15 else self.rng.choice(self.shapes[column].values)

    def _key(self, record: Record) -> Key:
        return tuple(record[c] for c in self.key)

    def _pick(self, most: int) -> list[Key]:
        live = sorted(self._live())
        return self.rng.sample(live, min(most, len(live)))

    def _put(self, conn: Any, record: Record) -> None:
        """Insert a row with a free key."""
        self.writes += 1
        services = self._services(None)
        columns = ", ".join(map(self._escaped, [*self.shapes, *services]))
        values = ", ".join([*["%s"] * len(record), *services.values()])
        self._run(conn, f"INSERT INTO {{t}} ({columns}) VALUES ({values})", record.values())
        self.rows[self._key(record)] = Row(record, self.writes, self.writes)

    def _change(self, conn: Any, key: Key, record: Record) -> None:
        """Write other values into a row, perhaps another key."""
        self.writes += 1
        row = replace(self.rows.pop(key), record=record, touched=self.writes, flagged=False)
        self._update(conn, key, record, row)
        self.rows[self._key(record)] = row

    def _update(self, conn: Any, key: Key, record: Record, row: Row) -> None:
        written = [f"{self._escaped(c)} = {v}" for c, v in self._services(row).items()]
        sets = [*(f"{self._escaped(c)} = %s" for c in record), *written]
        self._run(conn, f"UPDATE {{t}} SET {', '.join(sets)} WHERE {self._on_key}", [*record.values(), *key])

    def _rename(self, conn: Any, key: Key, record: Record) -> None:
        """Change the key of a row by an update."""
        self._change(conn, key, record)

    def _take(self, conn: Any, key: Key) -> None:
        """Delete a row."""
        self._run(conn, f"DELETE FROM {{t}} WHERE {self._on_key}", key)
        del self.rows[key]

    def _services(self, row: Row | None) -> dict[str, str]:
        """Return SQL for the service columns of a new row (None) or of an updated row."""
        flagged, number = row is not None and row.flagged, self.writes
        written = {
            c: s.written(self.place.kind, self.rng, number=number, flagged=flagged, is_insert=row is None)
            for c, s in self.services.items()
        }
        return {c: sql for c, sql in written.items() if sql is not None}

    @property
    def _on_key(self) -> str:
        return " AND ".join(f"{self._escaped(c)} = %s" for c in self.key)

    def _run(self, conn: Any, sql: str, params: Iterable[Any]) -> list[tuple[Any, ...]]:
        return self.place.run(conn, sql.replace("{t}", self.name.replace("%", "%%")), list(params))

    def _escaped(self, column: str) -> str:
        return self.place.quote(column).replace("%", "%%")


class FlaggedModel(Model):
    """A table whose application flags rows instead of deleting them; it rarely deletes one."""

    steps_known = (*Model.steps_known, "vanish")

    def vanish(self, conn: Any) -> None:
        """Delete a row without flagging it."""
        for key in self._pick(1):
            super()._take(conn, key)

    @override
    def _take(self, conn: Any, key: Key) -> None:
        self.writes += 1
        row = replace(self.rows[key], touched=self.writes, flagged=True)
        self._update(conn, key, row.record, row)
        self.rows[key] = row

    @override
    def _put(self, conn: Any, record: Record) -> None:
        """Insert a row; if a flagged row has its key, revive that one."""
        key = self._key(record)
        if key in self.rows and self._run(conn, f"SELECT 1 FROM {{t}} WHERE {self._on_key}", key):
            self._change(conn, key, record)
        else:
            super()._put(conn, record)

    @override
    def _rename(self, conn: Any, key: Key, record: Record) -> None:
        self._take(conn, key)
        self._put(conn, record)

    def all_keys(self) -> set[Key]:
        """Return the keys in the table itself, flagged or not."""
        columns = ", ".join(map(self.place.quote, self.key))
        return set(self.place.sql(f"SELECT {columns} FROM {self.name}"))
