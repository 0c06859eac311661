"""Random schemas, queries over them, and histories that change several tables.

Every relation of a drawn query, a table or a derived one, has columns ``id``, ``f``, ``g`` and ``v``, so that any two
can be joined. There are few values, so that joins find partners, rows change groups, and NULLs matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from tests.support.places import FIRST, Place

COLUMNS = ("id", "f", "g", "v")
STAMP = "seen_at"
SIDES = ("JOIN", "JOIN", "LEFT JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")


class Words(NamedTuple):
    """SQL of a history of query tables that differs between databases.

    `insert_new` leaves an existing row with the same key unchanged.
    """

    stamp: str
    clock: str
    insert_new: str


WORDS = Words("timestamp(6)", "clock_timestamp() AT TIME ZONE 'UTC'", "INSERT INTO {} ON CONFLICT DO NOTHING")
FAMILY_WORDS = Words("datetime(6)", "utc_timestamp(6)", "INSERT IGNORE INTO {}")
ROWS = 14


@dataclass(frozen=True)
class DrawnQuery:
    """A query with the columns that identify rows of its result; without a key it has one row.

    Attributes:
        parts: Names of its parts, to count what was tried.
    """

    text: str
    key: tuple[str, ...]
    parts: tuple[str, ...]


@dataclass
class DrawnSchema:
    """Tables ``t0``, ``t1``, .. of a place, each with a timestamp, and their history."""

    rng: Random
    place: Place
    tables: tuple[str, ...]
    history: list[str] = field(default_factory=list)

    @classmethod
    def made(cls, rng: Random, place: Place) -> DrawnSchema:
        """Make two to four tables with a few rows each."""
        drawn = cls(rng, place, tuple(f"t{n}" for n in range(rng.choice([2, 2, 3, 4]))))
        for table in drawn.tables:
            drawn.run(
                f"CREATE TABLE {place.table(table)} (id integer PRIMARY KEY, f integer, g integer, v integer NOT NULL, "
                f"{STAMP} {drawn.words.stamp} NOT NULL)"
            )
            for key in rng.sample(range(ROWS), ROWS // 2):
                drawn.run(f"INSERT INTO {drawn._row(table, key)}")
        return drawn

    def run(self, *statements: str) -> None:
        """Run statements in one transaction and record them."""
        self.history += statements
        with self.place.connect() as conn:
            for statement in statements:
                self.place.run(conn, statement)

    def act(self) -> None:
        """Change a few rows of one table or of several in one transaction."""
        touched = self.rng.sample(self.tables, self.rng.randint(1, len(self.tables)))
        self.run(*(self._change(table) for table in touched for _ in range(self.rng.choice([1, 1, 2, 3]))))

    def _change(self, table: str) -> str:
        return self.change(table, self.rng.randrange(ROWS), self.rng.randrange(ROWS))

    def change(self, table: str, key: int, other: int) -> str:
        """Return SQL that inserts a row unless its key exists, deletes it, or updates two rows."""
        how = self.rng.random()
        if how < 0.25:
            return f"DELETE FROM {self.place.table(table)} WHERE id = {key}"
        if how < 0.5:
            return self.words.insert_new.format(self._row(table, key))
        column = self.rng.choice(COLUMNS[1:])
        several = f"id IN ({key}, {other})"
        moved = f"{column} = {self._value(column)}, {STAMP} = {self.words.clock}"
        return f"UPDATE {self.place.table(table)} SET {moved} WHERE {several}"

    def _row(self, table: str, key: int) -> str:
        values = ", ".join(self._value(column) for column in COLUMNS[1:])
        return f"{self.place.table(table)} VALUES ({key}, {values}, {self.words.clock})"

    @property
    def words(self) -> Words:
        """The SQL of its database."""
        return WORDS if self.place.kind == FIRST else FAMILY_WORDS

    def _value(self, column: str) -> str:
        if column == "v":
            return str(self.rng.randrange(10))
        if self.rng.random() < 0.15:
            return "NULL"
        return str(self.rng.randrange(ROWS) if column == "f" else self.rng.randrange(4))


class Queries:
    """A source of random queries over a schema.

    Args:
        rng: The source of chance.
        schema: The schema whose tables the queries read.
        views: Draw derived relations as views too, over tables and over views drawn before; the caller creates them.
        brackets: Draw joins in brackets too.

    Attributes:
        views: Definitions by name, in an order in which they can be created.
    """

    def __init__(self, rng: Random, schema: DrawnSchema, *, views: bool = False, brackets: bool = False) -> None:
        self.rng, self.tables, self.place = rng, schema.tables, schema.place
        self._sides = [side for side in SIDES if side != "FULL JOIN" or self.place.kind == FIRST]
        self.views: dict[str, str] = {}
        self._viewing, self._bracketing = views, brackets
        self._aliases = 0
        self._ctes: list[str] = []
        self._parts: list[str] = []

    def draw(self) -> DrawnQuery:
        """Return a new query."""
        self._ctes, self._parts = [], []
        shape = self.rng.choice(["plain", "plain", "grouped", "grouped", "distinct", "union", "total"])
        text, key = getattr(self, f"_{shape}")()
        given = f"WITH {', '.join(self._ctes)} " if self._ctes else ""
        return DrawnQuery(given + text, tuple(key), (shape, *sorted(set(self._parts))))

    def read(self, text: str) -> list[str]:
        """Return the tables that a drawn text reads, also through views."""
        behind = [self.read(body) for name, body in self.views.items() if f".{name} " in text]
        return [t for t in self.tables if f".{t} " in text or any(t in tables for tables in behind)]

    # -- results -----------------------------------------------------------------------------------------------------
    def _plain(self) -> tuple[str, list[str]]:
        aliases, source = self._source()
        keys = [f"COALESCE({alias}.id, -1) AS k{n}" for n, alias in enumerate(aliases)]
        shown = [f"{self._of(aliases)} AS c{n}" for n in range(self.rng.randint(1, 2))]
        if self.rng.random() < 0.2:
            self._parts.append("scalar")
            shown.append(f"({self._scalar(self.rng.choice(aliases))}) AS s")
        return f"SELECT {', '.join(keys + shown)} FROM {source}", [f"k{n}" for n in range(len(keys))]

    def _grouped(self) -> tuple[str, list[str]]:
        aliases, source = self._source()
        groups = [self._group(aliases) for _ in range(self.rng.choice([1, 1, 2]))]
        groups = groups if self.place.kind == FIRST else list(dict.fromkeys(groups))  # MariaDB accepts no group twice
        shown = [f"{group} AS k{n}" for n, group in enumerate(groups)]
        having = ""
        if self.rng.random() < 0.4:
            self._parts.append("having")
            having = f" HAVING {self._aggregate(aliases)} > {self.rng.randrange(6)}"
        shown += [f"{self._aggregate(aliases)} AS c{n}" for n in range(2)]
        text = f"SELECT {', '.join(shown)} FROM {source} GROUP BY {', '.join(groups)}{having}"
        return text, [f"k{n}" for n in range(len(groups))]

    def _distinct(self) -> tuple[str, list[str]]:
        aliases, source = self._source()
        shown = [f"{self._group(aliases)} AS k{n}" for n in range(self.rng.choice([1, 2]))]
        return f"SELECT DISTINCT {', '.join(shown)} FROM {source}", [f"k{n}" for n in range(len(shown))]

    def _union(self) -> tuple[str, list[str]]:
        arms = []
        for number in range(2):
            aliases, source = self._source(most=2)
            one, other = aliases[0], aliases[-1]
            arms.append(
                f"SELECT {number} AS arm, COALESCE({one}.id, -1) AS k0, COALESCE({other}.id, -1) AS k1, "
                f"{self._of(aliases)} AS c FROM {source}"
            )
        return " UNION ALL ".join(arms), ["arm", "k0", "k1"]

    def _total(self) -> tuple[str, list[str]]:
        aliases, source = self._source()
        text = f"SELECT {self._aggregate(aliases)} AS c0, {self._aggregate(aliases)} AS c1 FROM {source}"
        if self.rng.random() < 0.3:
            self._parts.append("having")
            text += f" HAVING {self._aggregate(aliases)} > {self.rng.randrange(9)}"
        if self.rng.random() < 0.3:
            self._parts.append("derived total")
            text = f"SELECT d.c0 FROM ({text}) AS d WHERE d.c1 > {self.rng.randrange(3)}"
        return text, []

    # -- relations ---------------------------------------------------------------------------------------------------
    def _source(self, most: int = 3) -> tuple[list[str], str]:
        """Return one to three joined relations with conditions: (aliases, text of FROM and WHERE)."""
        aliases, text, sides = [self._alias()], "", list[str]()
        text = self._relation(aliases[0])
        for _ in range(self.rng.randint(0, most - 1)):
            side, right = self.rng.choice(self._sides), [self._alias()]
            sides.append(side)
            relation = self._relation(right[0])
            if self._bracketing and self.rng.random() < 0.4:
                sides.append("brackets")
                inner = self.rng.choice(self._sides)
                right.append(self._alias())
                relation = f"({relation} {inner} {self._relation(right[1])} ON {self._on(inner, right[:1], right[1])})"
            on = self._on(side, aliases, self.rng.choice(right))
            text = f"({text})" if "brackets" in sides and "JOIN" in text and self.rng.random() < 0.3 else text
            text += f" {side} {relation} ON {on}"
            aliases += right
        self._parts += sides
        where = [self._condition(aliases) for _ in range(self.rng.choice([0, 0, 1, 1, 2]))]
        return aliases, text + (f" WHERE {' AND '.join(where)}" if where else "")

    def _on(self, side: str, aliases: Sequence[str], right: str) -> str:
        left = self.rng.choice(aliases)
        on = self.rng.choice(["{l}.f = {r}.id", "{l}.id = {r}.f", "{l}.g = {r}.g"]).format(l=left, r=right)
        if side != "FULL JOIN" and self.rng.random() < 0.3:
            on += f" AND {self.rng.choice([left, right])}.v > {self.rng.randrange(6)}"
        return on

    def _relation(self, alias: str) -> str:
        chance = self.rng.random()
        if chance < 0.75:
            return f"{self._table()} AS {alias}"
        body = self._derived()
        if self._viewing and self.rng.random() < 0.6:
            self._parts.append("view")
            self.views[f"v{len(self.views)}"] = body
            return f"{self.place.table(f'v{len(self.views) - 1}')} AS {alias}"
        if chance < 0.9:
            return f"({body}) AS {alias}"
        self._parts.append("cte")
        name = f"w{self._aliases}"
        self._ctes.append(f"{name} AS ({body})")
        return f"{name} AS {alias}"

    def _derived(self) -> str:
        kind = self.rng.choice(["groups", "union", "rows", "joined"])
        self._parts.append(f"derived {kind}")
        x, y = self._alias(), self._alias()
        where = f" WHERE {self._condition([x])}" if self.rng.random() < 0.4 else ""
        if kind == "groups":
            having = f" HAVING COUNT(*) > {self.rng.randrange(3)}" if self.rng.random() < 0.4 else ""
            return (
                f"SELECT COALESCE({x}.g, -3) AS id, MAX({x}.f) AS f, COALESCE({x}.g, -1) AS g, COUNT(*) AS v "
                f"FROM {self._table()} AS {x}{where} GROUP BY {x}.g{having}"
            )
        if kind == "union":
            return (
                f"SELECT 2 * {x}.id AS id, {x}.f AS f, {x}.g AS g, {x}.v AS v FROM {self._table()} AS {x}{where} "
                f"UNION ALL SELECT 2 * {y}.id + 1, {y}.g, {y}.g, {y}.v FROM {self._table()} AS {y}"
            )
        join = f" LEFT JOIN {self._table()} AS {y} ON {x}.f = {y}.id" if kind == "joined" else ""
        f = f"{y}.f" if join else f"{x}.f"
        return f"SELECT {x}.id AS id, {f} AS f, {x}.g AS g, {x}.v AS v FROM {self._table()} AS {x}{join}{where}"

    # -- conditions and values ---------------------------------------------------------------------------------------
    def _condition(self, aliases: Sequence[str]) -> str:
        alias, inner, number = self.rng.choice(aliases), self._alias(), self.rng.randrange(8)
        kind = self.rng.choice(["v", "v", "null", "exists", "not exists", "in", "not in", "or", "scalar"])
        if kind in ("exists", "not exists", "in", "not in", "or", "scalar"):
            self._parts.append(kind)
        some = (
            f"EXISTS (SELECT 1 FROM {self._table()} AS {inner} WHERE {inner}.f = {alias}.id AND {inner}.v > {number})"
        )
        among = f"IN (SELECT {inner}.f FROM {self._table()} AS {inner} WHERE {inner}.v > {number})"
        made = {
            "v": f"{alias}.v > {number}",
            "null": f"{alias}.f IS NULL",
            "exists": some,
            "not exists": f"NOT {some}",
            "in": f"{alias}.id {among}",
            "not in": f"{alias}.f NOT {among}",
            "or": f"({some} OR {alias}.v < {number})",
            "scalar": f"({self._scalar(alias)}) < {number % 4}",
        }
        return made[kind]

    def _scalar(self, alias: str) -> str:
        inner = self._alias()
        return f"SELECT COUNT(*) FROM {self._table()} AS {inner} WHERE {inner}.g = {alias}.g"

    def _of(self, aliases: Sequence[str]) -> str:
        one, other = self.rng.choice(aliases), self.rng.choice(aliases)
        return self.rng.choice([f"{one}.v", f"{one}.f + {other}.v", f"CASE WHEN {one}.g = 1 THEN {other}.v END"])

    def _group(self, aliases: Sequence[str]) -> str:
        return f"COALESCE({self.rng.choice(aliases)}.{self.rng.choice(['g', 'g', 'f'])}, -1)"

    def _aggregate(self, aliases: Sequence[str]) -> str:
        alias = self.rng.choice(aliases)
        kinds = ["COUNT(*)", "COUNT({a}.f)", "SUM({a}.v)", "MAX({a}.v)", "MIN({a}.f)", "COUNT(DISTINCT {a}.g)"]
        return self.rng.choice(kinds).format(a=alias)

    def _table(self) -> str:
        if self.views and self.rng.random() < 0.2:
            return self.place.table(self.rng.choice(list(self.views)))
        return self.place.table(self.rng.choice(self.tables))

    def _alias(self) -> str:
        self._aliases += 1
        return f"x{self._aliases}"
