"""Random histories of a drawn table: inserts, updates, deletes, key changes, swaps, an emptied table."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import psycopg2
from psycopg2 import sql as psql
from psycopg2.extensions import connection

from tests.support.drawing import MORE_SETUP, SCHEMA, DrawnTable, draw_key, draw_value

EVERY_STEP = ("insert", "update", "delete", "rekey", "swap_unique", "swap_rows", "nothing", "there_and_back", "replace")


def set_up(url: str) -> None:
    """Types, domains and the schema that drawn tables use."""
    with psycopg2.connect(url) as conn, conn.cursor() as cur:
        cur.execute(f'{MORE_SETUP}; CREATE SCHEMA "{SCHEMA}"')


class History:
    """Changes a drawn table at random and notes what was run in `DrawnTable.history`.

    Args:
        rng: Where chance comes from.
        url: The database.
        table: The table, created here.

    Attributes:
        done: How often each kind of step was taken with effect.
    """

    def __init__(self, rng: Random, url: str, table: DrawnTable) -> None:
        self.rng, self.url, self.table = rng, url, table
        self.done: Counter[str] = Counter()
        self._next_unique = 0
        with psycopg2.connect(url) as conn, conn.cursor() as cur:
            cur.execute(table.ddl())

    def fill(self, rows: int) -> None:
        """Inserts up to `rows` rows, fewer where keys repeat."""
        with psycopg2.connect(self.url) as conn:
            for _ in range(rows):
                self._step(conn, "insert")

    def act(self, steps: int) -> None:
        """`steps` random steps, each a transaction of its own."""
        with psycopg2.connect(self.url) as conn:
            for _ in range(steps):
                self._step(conn, self.rng.choice(EVERY_STEP))

    def empty(self) -> None:
        """Takes every row away."""
        statement = self.rng.choice(["DELETE FROM {}", "TRUNCATE {}"])
        with psycopg2.connect(self.url) as conn, conn.cursor() as cur:
            self._run(cur, psql.SQL(statement).format(self._table), ())
        self.done["empty"] += 1

    @property
    def _table(self) -> psql.Identifier:
        return psql.Identifier(SCHEMA, self.table.name)

    def _step(self, conn: connection, step: str) -> None:
        noted = len(self.table.history)
        with conn.cursor() as cur:
            action: Callable[[Any], bool] = getattr(self, f"_{step}")
            try:
                if action(cur):
                    conn.commit()
                    self.done[step] += 1
                    return
            except psycopg2.errors.UniqueViolation:
                pass  # the new key is taken; that is what keys are for
            conn.rollback()
            del self.table.history[noted:]

    # -- steps: each tells whether it did something ------------------------------------------------------------------
    def _insert(self, cur: Any) -> bool:
        self._put(cur, self._row())
        return True

    def _update(self, cur: Any) -> bool:
        names = [n for n, _ in self.table.columns if n not in (*self.table.key, self.table.unique)]
        chosen = self.rng.sample(names, self.rng.choice([1, 1, 2, 4]))
        return self._set(cur, self._pick(cur, 1), {n: draw_value(self.rng, self.table.type_of(n)) for n in chosen})

    def _delete(self, cur: Any) -> bool:
        return sum(self._remove(cur, row) for row in self._pick(cur, self.rng.choice([1, 1, 3]))) > 0

    def _rekey(self, cur: Any) -> bool:
        name = self.rng.choice(self.table.key)
        return self._set(cur, self._pick(cur, 1), {name: draw_key(self.rng, self.table.type_of(name))})

    def _swap_unique(self, cur: Any) -> bool:
        rows = self._pick(cur, 2)
        if len(rows) < 2:
            return False
        u = psql.Identifier(self.table.unique)
        same = psql.SQL("SELECT {u} FROM {t} WHERE ctid IN (%s::tid, %s::tid)").format(u=u, t=self._table)
        cur.execute(_escaped(same, cur), rows)
        one, two = (r[0] for r in cur.fetchall())
        swap = psql.SQL("UPDATE {t} SET {u} = CASE {u} WHEN %s THEN %s ELSE %s END WHERE {u} IN (%s, %s)")
        self._run(cur, swap.format(u=u, t=self._table), (one, two, one, one, two))
        return True

    def _swap_rows(self, cur: Any) -> bool:
        """Two rows exchange all that is not key."""
        rows = self._pick(cur, 2)
        if len(rows) < 2:
            return False
        names = psql.SQL(", ").join(psql.Identifier(n) for n, _ in self.table.columns if n not in self.table.key)
        swap = psql.SQL("UPDATE {t} a SET ({n}) = (SELECT {n} FROM {t} b WHERE b.ctid IN (%s::tid, %s::tid) "
                        "AND b.ctid <> a.ctid) WHERE a.ctid IN (%s::tid, %s::tid)")  # fmt: skip
        self._run(cur, swap.format(t=self._table, n=names), (*rows, *rows))
        return True

    def _nothing(self, cur: Any) -> bool:
        name = psql.Identifier(self.rng.choice(self.table.columns)[0])
        return bool(self._run(cur, psql.SQL("UPDATE {t} SET {n} = {n}").format(t=self._table, n=name), ()))

    def _there_and_back(self, cur: Any) -> bool:
        """A row is taken out, seen by nobody, and put back as it was."""
        rows = self._pick(cur, 1)
        if rows:
            names = psql.SQL(", ").join(psql.Identifier(n) for n, _ in self.table.columns)
            again = psql.SQL("INSERT INTO {t} ({n}) SELECT {n} FROM kept; DROP TABLE kept")
            keep = psql.SQL("CREATE TEMP TABLE kept AS SELECT * FROM {t} WHERE ctid = %s::tid")
            self._run(cur, keep.format(t=self._table), (rows[0],))
            self._remove(cur, rows[0])
            self._run(cur, again.format(t=self._table, n=names), ())
        return bool(rows)

    def _replace(self, cur: Any) -> bool:
        """Another row comes under the key of one that goes."""
        rows = self._pick(cur, 1)
        if not rows:
            return False
        listed = psql.SQL(", ").join(psql.SQL("{}::text").format(psql.Identifier(k)) for k in self.table.key)
        cur.execute(_escaped(psql.SQL("SELECT {} FROM {} WHERE ctid = %s::tid").format(listed, self._table), cur), rows)
        key = dict(zip(self.table.key, cur.fetchone(), strict=True))
        self._remove(cur, rows[0])
        self._put(cur, {**self._row(), **key})
        return True

    # -- statements --------------------------------------------------------------------------------------------------
    def _row(self) -> dict[str, str | None]:
        """A new row; its unique value is the next one, so that only keys collide."""
        row = {
            n: draw_key(self.rng, t) if n in self.table.key else draw_value(self.rng, t) for n, t in self.table.columns
        }
        self._next_unique += 1
        row[self.table.unique] = str(self._next_unique)
        return row

    def _pick(self, cur: Any, count: int) -> list[str]:
        cur.execute(psql.SQL("SELECT ctid::text FROM {} ORDER BY ctid").format(self._table))
        rows = [r[0] for r in cur.fetchall()]
        return self.rng.sample(rows, min(count, len(rows)))

    def _put(self, cur: Any, row: dict[str, str | None]) -> None:
        names = psql.SQL(", ").join(psql.Identifier(n) for n in row)
        values = psql.SQL(", ").join(self._value(n) for n in row)
        insert = psql.SQL("INSERT INTO {} ({}) VALUES ({})").format(self._table, names, values)
        self._run(cur, insert, list(row.values()))

    def _set(self, cur: Any, rows: Sequence[str], values: dict[str, str | None]) -> bool:
        if not rows:
            return False
        sets = psql.SQL(", ").join(psql.SQL("{} = {}").format(psql.Identifier(n), self._value(n)) for n in values)
        update = psql.SQL("UPDATE {} SET {} WHERE ctid = %s::tid").format(self._table, sets)
        self._run(cur, update, [*values.values(), rows[0]])
        return True

    def _remove(self, cur: Any, row: str) -> bool:
        return bool(self._run(cur, psql.SQL("DELETE FROM {} WHERE ctid = %s::tid").format(self._table), (row,)))

    def _value(self, name: str) -> psql.Composable:
        return psql.SQL("%s::{}").format(psql.SQL(self.table.type_of(name).split(" COLLATE")[0].replace("%", "%%")))

    def _run(self, cur: Any, statement: psql.Composable, values: Sequence[Any]) -> int:
        # Names with a percent sign are doubled for psycopg2, which reads placeholders wherever values are given.
        text = _escaped(statement, cur) if values else statement.as_string(cur)
        self.table.history.append(cur.mogrify(text, values or None).decode())
        cur.execute(self.table.history[-1])
        return int(cur.rowcount)


def _escaped(statement: psql.Composable, cur: Any) -> str:
    parts = statement.seq if isinstance(statement, psql.Composed) else [statement]
    made = []
    for part in parts:
        text = _escaped(part, cur) if isinstance(part, psql.Composed) else part.as_string(cur)
        made.append(text.replace("%", "%%") if isinstance(part, psql.Identifier) else text)
    return "".join(made)
