"""Random histories of a drawn table: inserts, updates, deletes, key changes, swaps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

from tests.support.drawn_tables import DrawnTable

EVERY_STEP = ("insert", "update", "delete", "rekey", "swap_unique", "swap_rows", "nothing", "there_and_back", "replace")
PARKED = -1  # not the unique number of any row
Values = dict[str, "str | None"]  # input texts by column


class History:
    """Random changes of a drawn table; the statements are appended to `DrawnTable.history`.

    A row is identified by its unique number. Steps move these numbers between rows, but invent none except for new
    rows.

    Args:
        rng: The source of chance.
        table: The table, created here.

    Attributes:
        done: Number of steps that changed something, by kind.
    """

    def __init__(self, rng: Random, table: DrawnTable) -> None:
        self.rng, self.table, self.place = rng, table, table.place
        self.done: Counter[str] = Counter()
        self._next_unique = self._next_kept = 0
        self.place.sql(table.ddl())

    def fill(self, rows: int) -> None:
        """Insert up to `rows` rows, fewer if keys repeat."""
        with self.place.connect() as conn:
            for _ in range(rows):
                self._step(conn, "insert")

    def act(self, steps: int) -> None:
        """Run `steps` random steps, each in a transaction of its own."""
        with self.place.connect() as conn:
            for _ in range(steps):
                self._step(conn, self.rng.choice(EVERY_STEP))

    def empty(self) -> None:
        """Delete all rows."""
        statement = self.rng.choice(["DELETE FROM", "TRUNCATE TABLE"])
        with self.place.connect() as conn:
            self._run(conn, f"{statement} {self.table.quoted}")
        self.done["empty"] += 1

    def thin(self) -> None:
        """Delete about three rows of four."""
        with self.place.connect() as conn:
            self._run(conn, f"DELETE FROM {self.table.quoted} WHERE {self._unique} % 4 <> {self.rng.randrange(4)}")
        self.done["thin"] += 1

    def _step(self, conn: Any, step: str) -> None:
        noted = len(self.table.history)
        action: Callable[[Any], bool] = getattr(self, f"_{step}")
        try:
            if action(conn):
                conn.commit()
                self.done[step] += 1
                return
        except self.place.taken:
            pass  # the new key exists already: the unique constraint did its work
        conn.rollback()
        del self.table.history[noted:]

    # -- steps: each returns True if it changed something -----------------------------------------------------------
    def _insert(self, conn: Any) -> bool:
        self._put(conn, self._row())
        return True

    def _update(self, conn: Any) -> bool:
        names = [n for n, _ in self.table.columns if n not in (*self.table.key, self.table.unique)]
        chosen = self.rng.sample(names, self.rng.choice([1, 1, 2, 4]))
        pool = self.table.pool
        return self._set(conn, {n: pool.value(self.rng, self.table.type_of(n)) for n in chosen})

    def _delete(self, conn: Any) -> bool:
        rows = self._pick(conn, self.rng.choice([1, 1, 3]))
        for row in rows:
            self._remove(conn, row)
        return bool(rows)

    def _rekey(self, conn: Any) -> bool:
        name = self.rng.choice(self.table.key)
        return self._set(conn, {name: self.table.pool.key(self.rng, self.table.type_of(name))})

    def _swap_unique(self, conn: Any) -> bool:
        rows = self._pick(conn, 2)
        if len(rows) < 2:
            return False
        for old, new in ((rows[0], PARKED), (rows[1], rows[0]), (PARKED, rows[1])):
            self._run(conn, f"UPDATE {self.table.quoted} SET {self._unique} = {new} WHERE {self._unique} = {old}")
        return True

    def _swap_rows(self, conn: Any) -> bool:
        """Exchange all columns except the key between two rows, by deletes and inserts."""
        rows = self._pick(conn, 2)
        if len(rows) < 2:
            return False
        kept = [self._keep(conn, row) for row in rows]
        for row in rows:
            self._remove(conn, row)
        for key, content in (kept, kept[::-1]):
            values = [f"{'k' if n in self.table.key else 'c'}.{self.place.quote(n)}" for n, _ in self.table.columns]
            self._run(conn, f"{self._into()} SELECT {', '.join(values)} FROM {key} k, {content} c")
        return True

    def _nothing(self, conn: Any) -> bool:
        name = self.place.quote(self.rng.choice(self.table.columns)[0])
        self._run(conn, f"UPDATE {self.table.quoted} SET {name} = {name}")
        return bool(self._pick(conn, 1))

    def _there_and_back(self, conn: Any) -> bool:
        """Delete a row and insert it again as it was, in one transaction."""
        for row in (rows := self._pick(conn, 1)):
            kept = self._keep(conn, row)
            self._remove(conn, row)
            names = ", ".join(self.place.quote(n) for n, _ in self.table.columns)
            self._run(conn, f"{self._into()} SELECT {names} FROM {kept}")
        return bool(rows)

    def _replace(self, conn: Any) -> bool:
        """Replace a row by another one with the same key."""
        for row in (rows := self._pick(conn, 1)):
            kept = self._keep(conn, row)
            self._remove(conn, row)
            new = {n: self._literal(n, value) for n, value in self._row().items()}
            new |= {n: self.place.quote(n) for n in self.table.key}
            self._run(conn, f"{self._into()} SELECT {', '.join(new.values())} FROM {kept}")
        return bool(rows)

    # -- statements --------------------------------------------------------------------------------------------------
    @property
    def _unique(self) -> str:
        return self.place.quote(self.table.unique)

    def _row(self) -> Values:
        """Return a new row; its unique number is the next one, so that only keys collide."""
        pool, key = self.table.pool, self.table.key
        row = {n: pool.key(self.rng, t) if n in key else pool.value(self.rng, t) for n, t in self.table.columns}
        self._next_unique += 1
        row[self.table.unique] = str(self._next_unique)
        return row

    def _pick(self, conn: Any, count: int) -> list[int]:
        found = self.place.run(conn, f"SELECT {self._unique} FROM {self.table.quoted} ORDER BY 1")
        return self.rng.sample([int(row[0]) for row in found], min(count, len(found)))

    def _into(self) -> str:
        names = ", ".join(self.place.quote(n) for n, _ in self.table.columns)
        return f"INSERT INTO {self.table.quoted} ({names})"

    def _put(self, conn: Any, row: Values) -> None:
        values = ", ".join(self._literal(n, value) for n, value in row.items())
        self._run(conn, f"{self._into()} VALUES ({values})")

    def _keep(self, conn: Any, row: int) -> str:
        """Copy a row into a table of the session; return the table's name."""
        self._next_kept += 1
        kept = f"kept_{self._next_kept}"
        where = f"{self._unique} = {row}"
        self._run(conn, f"CREATE TEMPORARY TABLE {kept} AS SELECT * FROM {self.table.quoted} WHERE {where}")
        return kept

    def _set(self, conn: Any, values: Values) -> bool:
        sets = ", ".join(f"{self.place.quote(n)} = {self._literal(n, value)}" for n, value in values.items())
        for row in (rows := self._pick(conn, 1)):
            self._run(conn, f"UPDATE {self.table.quoted} SET {sets} WHERE {self._unique} = {row}")
        return bool(rows)

    def _remove(self, conn: Any, row: int) -> None:
        self._run(conn, f"DELETE FROM {self.table.quoted} WHERE {self._unique} = {row}")

    def _literal(self, name: str, value: str | None) -> str:
        return self.place.literal(self.table.type_of(name), value)

    def _run(self, conn: Any, statement: str) -> None:
        self.table.history.append(statement)
        self.place.run(conn, statement)
