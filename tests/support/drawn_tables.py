"""Random tables from one seed: all types and key types, odd names, restrictions.

A drawn table can be recreated from its :meth:`DrawnTable.script`, so that a failure can be run again by hand. `pg_pool`
and `maria_pool` have the types, values and names of each database.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.support.places import Place, configured

ODD_NAMES = [
    "order",
    "a b",
    "a.b",
    'quo"te',
    "back`tick",
    "100%",
    "%(x)s",
    "%s",
    ":epoch",
    ":batch_seq",
    "ünï",
    "日本",
    "n" * 63,
    "ü" * 31 + "z",
    "Select",
    "epoch",
    "batch_seq",
    "op",
    "op_rank",
    "range_id",
    "key_id",
    "digest",
    "c0",
    "b_0",
    "a_0",
    "b_1",
    "t",
    "r",
    "d",
    "o",
    "q",
    "x",
    "X",
    "{brace}",
    "{{ jinja }}",
    "{% raw %}",
    "a?b",
    "$1",
    "it's",
    "back\\slash",
    "a;b",
    "--c",
    "/*c*/",
    "new\nline",
    "tab\t",
    "  -",
    " lead",
    "trail ",
    "lo0",
    "hi0",
    "k0",
    "n1",
    "checksum",
    "digests",
    "changed",
    "ordinal",
    "reason",
    "pair_id",
    "before",
    "after",
    "key",
    "source",
    "QBCD_DIGEST()",
    "null",
    "true",
    "ctid_",
]
LETTERS = "abcABCxyz019 _-%'\"\\:?äÖßéЖ日🙂,;{}()/\t\n"


@dataclass(frozen=True)
class Pool:
    """Types, values and names from which the tables of one database are drawn.

    Attributes:
        values: Input texts by the SQL of a type.
        not_null: Types that allow no NULL.
        wide_keys: Types of keys whose values a formula computes, so that there are enough of them.
        narrow_keys: Types of keys whose values are those in `values`.
        base: Function that removes from the SQL of a type all that conditions and formulas do not depend on.
        conditions: Restrictions over ``{c}``, by base type.
        formula: Function that returns a random value of a base type, or None without a formula.
        set_up: Function that makes types and the tables' schema in a place, and returns the schema's name.
        names: Allowed names of columns and tables.
        unique: SQL that follows a unique constraint.
        loose_key: SQL that follows a unique index over nullable columns.
    """

    values: Mapping[str, Sequence[str]]
    not_null: frozenset[str]
    wide_keys: Sequence[str]
    narrow_keys: Sequence[str]
    base: Callable[[str], str]
    conditions: Mapping[str, Sequence[str]]
    formula: Callable[[Random, str], str | None]
    set_up: Callable[[Place], str]
    names: Sequence[str]
    unique: str = ""
    loose_key: str = ""

    def value(self, rng: Random, sql_type: str, *, nulls: bool = True) -> str | None:
        """Return a value as input text, now and then NULL."""
        if nulls and sql_type not in self.not_null and rng.random() < 0.12:
            return None
        made = self.formula(rng, self.base(sql_type)) if rng.random() < 0.25 else None
        return rng.choice(self.values[sql_type]) if made is None else made

    def key(self, rng: Random, sql_type: str) -> str:
        """Return a value for a key column, never NULL.

        If the type has a formula, there are enough values for a small table.
        """
        made = self.formula(rng, self.base(sql_type)) if rng.random() < 0.8 else None
        return rng.choice(self.values[sql_type]) if made is None else made


@dataclass
class DrawnTable:
    """A table to be captured: its content, and its part of the streams' configuration.

    Attributes:
        columns: (name, SQL type), in table order.
        key: Names of the key columns.
        captured: `columns` or `exclude` of the streams, as configuration; empty for all columns.
        where: The restriction, or an empty string.
        types: The streams' `types`, as configuration.
        declared: The key is a primary key; otherwise it is a unique index over nullable columns.
        unique: A column of unique numbers, which rows may swap.
    """

    place: Place
    pool: Pool
    schema: str
    name: str
    columns: list[tuple[str, str]]
    key: list[str]
    captured: dict[str, list[str]]
    where: str
    types: dict[str, str]
    declared: bool
    unique: str
    history: list[str] = field(default_factory=list)

    @property
    def quoted(self) -> str:
        """The qualified name as SQL."""
        return f"{self.place.quote(self.schema)}.{self.place.quote(self.name)}"

    @property
    def pertinent(self) -> list[str]:
        """Names of the captured columns without the key, in the order of events."""
        names = [n for n, _ in self.columns if n not in self.key]
        if "columns" in self.captured:
            return self.captured["columns"]
        return [n for n in names if n not in self.captured.get("exclude", ())]

    def type_of(self, name: str) -> str:
        """Return the SQL type of column `name`."""
        return dict(self.columns)[name]

    def ddl(self) -> str:
        """Return CREATE TABLE, and the unique index of an undeclared key."""
        quote = self.place.quote
        lines = [f"{quote(n)} {t}" for n, t in self.columns]
        key = ", ".join(map(quote, self.key))
        if self.declared:
            lines.append(f"PRIMARY KEY ({key})")
        lines.append(f"UNIQUE ({quote(self.unique)}) {self.pool.unique}")
        loose = f"CREATE UNIQUE INDEX {self.name.split()[0]}_key ON {self.quoted} ({key}) {self.pool.loose_key}"
        body = ",\n  ".join(lines)
        return f"CREATE TABLE {self.quoted} (\n  {body}\n)" + ("" if self.declared else f";\n{loose}")

    def stream(self, name: str, strategy: Any) -> dict[str, Any]:
        """Return the configuration of a stream over the table."""
        return {
            "name": name,
            "table": configured(self.schema, self.name),
            "key": self.key,
            "strategy": strategy,
            **self.captured,
            **({"where": self.where} if self.where else {}),
            **({"types": self.types} if self.types else {}),
        }

    def script(self) -> str:
        """Return all statements that made and changed the table, as SQL."""
        return "\n".join([f"-- {self.stream('s', '?')}", f"{self.ddl()};", *(f"{line};" for line in self.history)])


def pool_of(place: Place) -> Pool:
    """Return the pool for the database of a place."""
    from tests.support.maria_pool import MARIA_POOL, MYSQL_POOL
    from tests.support.pg_pool import pool_of_release

    if place.kind == "postgresql":
        return pool_of_release(int(place.sql("SHOW server_version_num")[0][0]) // 10_000)
    return {"mariadb": MARIA_POOL, "mysql": MYSQL_POOL}[place.kind]


def draw_tables(rng: Random, place: Place, count: int) -> list[DrawnTable]:
    """Return `count` tables that together have all types; create the schema for them."""
    pool = pool_of(place)
    schema, kinds = pool.set_up(place), list(pool.values)
    rng.shuffle(kinds)
    return [_draw_table(rng, place, pool, schema, i, kinds[i::count]) for i in range(count)]


def _draw_table(rng: Random, place: Place, pool: Pool, schema: str, number: int, kinds: list[str]) -> DrawnTable:
    names = rng.sample(pool.names, len(pool.names))
    name = f"t{number} " + names.pop()
    key_types = [rng.choice(pool.wide_keys)]
    if rng.random() < 0.6:
        key_types += rng.choices([*pool.wide_keys, *pool.narrow_keys], k=rng.choice([1, 1, 2]))
        rng.shuffle(key_types)
    columns = [(names.pop(), t) for t in key_types]
    key = [n for n, _ in columns]
    unique = names.pop()
    columns += [(unique, "integer"), *((names.pop(), t) for t in kinds)]
    rng.shuffle(columns)
    others = [n for n, _ in columns if n not in key]
    captured = rng.choice(
        [{}, {}, {"exclude": rng.sample(others, 2)}, {"columns": rng.sample(others, len(others) - 2)}]
    )
    table = DrawnTable(
        place=place,
        pool=pool,
        schema=schema,
        name=name.encode()[:63].decode(errors="ignore"),
        columns=columns,
        key=key,
        captured=captured,
        where="",
        types={},
        declared=rng.random() < 0.7,
        unique=unique,
    )
    if rng.random() < 0.7:
        table.where = _draw_where(rng, table)
    table.types = dict.fromkeys(rng.sample(table.pertinent, 2), "text") if rng.random() < 0.5 else {}
    return table


@dataclass(frozen=True)
class Chance:
    """Random parts of values: a word, a number, a time of day, a day."""

    word: str
    number: int
    clock: str
    day: str

    @classmethod
    def of(cls, rng: Random, letters: str = LETTERS, years: Collection[int] = (1, 1969, 2023, 2024)) -> Chance:
        """Return new random parts."""
        word = "".join(rng.choices(letters, k=rng.choice([1, 2, 3, 5])))
        number = rng.choice([rng.randint(-9, 9), rng.randint(-999, 999), rng.randint(-30000, 30000)])
        seconds, micros = rng.choice([0, 1, 59]), rng.choice([0, 1, 500000])
        clock = f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{seconds:02}.{micros:06}"
        day = f"{rng.choice(list(years)):04}-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
        return cls(word, number, clock, day)


def _draw_where(rng: Random, table: DrawnTable) -> str:
    """Return two conditions over the table's columns: NULL for some rows, false for others."""
    pool = table.pool
    bases = [(table.place.quote(name), pool.base(sql_type)) for name, sql_type in table.columns]
    speaking = [(c, rng.choice(pool.conditions[base])) for c, base in bases if base in pool.conditions]
    silent = [(c, rng.choice(["{c} IS NOT NULL", "{c} IS NULL"])) for c, _ in rng.sample(bases, 2)]
    chosen = rng.sample(speaking, min(2, len(speaking))) + silent
    one, two = (condition.format(c=c) for c, condition in chosen[:2])
    return f"({one}) {rng.choice(['AND', 'OR', 'OR'])}\n({two})"
