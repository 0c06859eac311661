"""A scene with a key of text, number and date: its ranges have bounds of several values."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, timedelta
from typing import Any

from typing_extensions import override

from tests.support.scene import ROWS, Scene

TABLE = """
DROP TABLE IF EXISTS t;
CREATE TABLE t (a varchar(20), b numeric(12, 3), c date, v varchar(40), n integer DEFAULT 0, PRIMARY KEY (a, b, c))
"""
ON = "a = %s AND b = %s AND c = %s"
Key = tuple[str, ...]  # as texts, which are the same in every sink


def key(number: int) -> Key:
    """Return the key of row `number`; rows with adjacent numbers have no adjacent keys."""
    return f"w{number % 5}", f"{number}.125", str(date(2024, 1, 1) + timedelta(days=number))


def number_of(name: Key) -> int:
    """Return the number of a key; the inverse of `key`."""
    return int(name[1].partition(".")[0])


class MixedScene(Scene):
    """A scene whose table has a key of text, number and date."""

    key = ("a", "b", "c")

    @override
    def make_table(self) -> None:
        self.place.sql(TABLE)
        self._insert((key(i), f"old {i}", 0) for i in range(1, ROWS + 1))

    @override
    def change(self) -> None:
        self.changes += 1
        n, known = self.changes, {number_of(row[0]) for row in self.source()}
        deleted, moved, *_ = sorted(known - {2, 7})
        with self.place.connect() as conn:
            self.place.run(conn, "INSERT INTO t (a, b, c, v) VALUES (%s, %s, %s, %s)", [*key(100 + n), f"new {n}"])
            for i in (2, 7):
                self.place.run(conn, f"UPDATE t SET v = %s WHERE {ON}", [f"changed {n}", *key(i)])
            self.place.run(conn, f"DELETE FROM t WHERE {ON}", key(deleted))
            self.place.run(conn, f"UPDATE t SET a = %s, b = %s, c = %s WHERE {ON}", [*key(1000 + n), *key(moved)])

    @override
    def more(self, numbers: Iterable[int]) -> None:
        self._insert((key(i), f"more {i}", 0) for i in numbers)

    @override
    def source(self) -> list[tuple[Any, ...]]:
        rows = self.place.sql("SELECT a, b, c, v, n FROM t ORDER BY a, b, c")
        return [(tuple(map(str, row[:3])), *row[3:]) for row in rows]

    @override
    def put(self, rows: list[tuple[Any, ...]]) -> None:
        self.place.sql("DELETE FROM t")
        self._insert(rows)

    def _insert(self, rows: Iterable[tuple[Any, ...]]) -> None:
        self.place.insert("t", [(*row[0], *row[1:]) for row in rows])
