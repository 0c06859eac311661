"""Random tables: every type of `pg_values`, odd names, keys of every key type, restrictions. All from one seed.

A drawn table says everything about itself (:meth:`DrawnTable.script`), so that a failure can be run again by hand.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.support.pg_values import SETUP, VALUES

SCHEMA = "S ch.ema"
MORE_SETUP = (
    SETUP
    + """
CREATE DOMAIN needed AS integer NOT NULL;
CREATE DOMAIN "Needed.text" AS varchar(12) NOT NULL CHECK (VALUE <> 'never');
CREATE DOMAIN deep AS cents;
CREATE DOMAIN listed AS integer[];
CREATE TYPE "Od.d" AS ("a b" numeric, "c""d" "Mo""od", e text[]);
CREATE EXTENSION IF NOT EXISTS ltree;
"""
)
MORE_VALUES: dict[str, list[str]] = {
    "needed": ["0", "1", "-1"],
    '"Needed.text"': ["", "a", "null", "Ä"],
    "deep": ["0", "1.00", "NaN"],
    "listed": ["{}", "{1,2}", "{{1}}"],
    '"Od.d"': ['(1.0,sad,"{a,NULL}")', '(1.00,sad,"{a,NULL}")', "(,,)", "(NaN,ok,{})"],
    "ltree": ["a.b", "a.b.c", ""],
    'text COLLATE "pg_c_utf8"': ["", "a", "A", "ä", "Ä", "ß", "🙂"],
    'varchar(9) COLLATE "POSIX"': ["", "a", "A", "b'c", "%"],
}
MORE_OF = {
    "time[]": ["{00:00:00}"], "timetz[]": ["{24:00:00+00}"], "uuid[]": ["{}"], "interval[]": ['{"24:00:00","1 day"}'],
    "inet[]": ["{10.0.0.1}"], "cents[]": ["{1.50}"],
}  # fmt: skip
POOL = {t: [*values, *MORE_OF.get(t, ())] for t, values in {**VALUES, **MORE_VALUES}.items()}
NOT_NULL = frozenset({"needed", '"Needed.text"'})

# Types whose values come out of a formula, so that there are enough keys; other key types take what the pool has.
WIDE_KEYS = [
    "integer", "bigint", "counter", "text", "varchar(20)", "citext", 'text COLLATE "C"',
    'text COLLATE "pg_c_utf8"', "uuid",
    "numeric", "numeric(12,2)", "date", "timestamp", "timestamptz", "bytea", "character(5)", "double precision",
    "real",
    "inet", "time", "money", "name", "smallint", "bit varying(9)", "oid",
]  # fmt: skip
NARROW_KEYS = [
    "boolean", '"Mo""od"', '"char"', "timetz", "cidr", "macaddr", "macaddr8", "pg_lsn", "xid8", "cents", "code",
    "bpchar",
    "bit(4)", "time(0)", "stamp", "needed",
]  # fmt: skip
ODD_NAMES = [
    "order", "a b", "a.b", 'quo"te', "back`tick", "100%", "%(x)s", "%s", ":epoch", ":batch_seq", "ünï", "日本",
    "n" * 63,
    "ü" * 31 + "z", "Select", "epoch", "batch_seq", "op", "op_rank", "range_id", "key_id", "digest", "c0", "b_0",
    "a_0",
    "b_1", "t", "r", "d", "o", "q", "x", "X", "{brace}", "{{ jinja }}", "{% raw %}", "a?b", "$1", "it's",
    "back\\slash",
    "a;b", "--c", "/*c*/", "new\nline", "tab\t", "  -", " lead", "trail ", "lo0", "hi0", "k0", "n1", "checksum",
    "digests",
    "changed", "ordinal", "reason", "pair_id", "before", "after", "key", "source", "QBCD_DIGEST()", "null", "true",
    "ctid_",
]  # fmt: skip
_LETTERS = "abcABCxyz019 _-%'\"\\:?äÖßéЖ日🙂,;{}()/\t\n"


@dataclass
class DrawnTable:
    """A table to be captured: what is in the database, and what the streams say of it.

    Attributes:
        columns: (name, SQL type), in table order.
        key: Names of the key columns.
        captured: `columns` or `exclude` of the streams, as configuration; empty for all columns.
        where: The restriction, or an empty string.
        types: Overrides of the streams.
        declared: The key is a primary key; otherwise a unique index over nullable columns.
        unique: A column whose values are unique, deferrable, so that rows may swap them.
    """

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
        return f"{quote(SCHEMA)}.{quote(self.name)}"

    @property
    def pertinent(self) -> list[str]:
        """Names of the captured columns besides the key, in the order in which they travel."""
        names = [n for n, _ in self.columns if n not in self.key]
        if "columns" in self.captured:
            return self.captured["columns"]
        return [n for n in names if n not in self.captured.get("exclude", ())]

    def type_of(self, name: str) -> str:
        """The SQL type of column `name`."""
        return dict(self.columns)[name]

    def ddl(self) -> str:
        """CREATE TABLE and the unique index of an undeclared key."""
        lines = [f"{quote(n)} {t}" for n, t in self.columns]
        key = ", ".join(map(quote, self.key))
        if self.declared:
            lines.append(f"PRIMARY KEY ({key})")
        lines.append(f"UNIQUE ({quote(self.unique)}) DEFERRABLE INITIALLY DEFERRED")
        index = "" if self.declared else f";\nCREATE UNIQUE INDEX ON {self.quoted} ({key}) NULLS NOT DISTINCT"
        body = ",\n  ".join(lines)
        return f"CREATE TABLE {self.quoted} (\n  {body}\n){index}"

    def stream(self, name: str, strategy: Any) -> dict[str, Any]:
        """A stream over the table, as configuration."""
        return {
            "name": name, "table": self.quoted, "key": self.key, "strategy": strategy, **self.captured,
            **({"where": self.where} if self.where else {}), **({"types": self.types} if self.types else {}),
        }  # fmt: skip

    def script(self) -> str:
        """All that was done to the table, as SQL."""
        return "\n".join([f"-- {self.stream('s', '?')}", f"{self.ddl()};", *(f"{line};" for line in self.history)])


def quote(name: str) -> str:
    """An identifier, by PostgreSQL's rule."""
    return '"' + name.replace('"', '""') + '"'


def draw_tables(rng: Random, count: int) -> list[DrawnTable]:
    """`count` tables that have a column of every type between them."""
    kinds = list(POOL)
    rng.shuffle(kinds)
    return [_draw_table(rng, i, kinds[i::count]) for i in range(count)]


def _draw_table(rng: Random, number: int, kinds: list[str]) -> DrawnTable:
    names = rng.sample(ODD_NAMES, len(ODD_NAMES))
    name = f"t{number} " + names.pop()
    key_types = [rng.choice(WIDE_KEYS)]
    if rng.random() < 0.6:
        key_types += rng.choices(WIDE_KEYS + NARROW_KEYS, k=rng.choice([1, 1, 2]))
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
        name=name.encode()[:63].decode(errors="ignore"), columns=columns, key=key, captured=captured, where="",
        types={}, declared=rng.random() < 0.7, unique=unique,
    )  # fmt: skip
    if rng.random() < 0.7:
        table.where = _draw_where(rng, columns)
    table.types = dict.fromkeys(rng.sample(table.pertinent, 2), "text") if rng.random() < 0.5 else {}
    return table


def draw_value(rng: Random, sql_type: str, *, nulls: bool = True) -> str | None:
    """A value as input text, NULL now and then."""
    if nulls and sql_type not in NOT_NULL and rng.random() < 0.12:
        return None
    made = _made(rng, sql_type) if rng.random() < 0.25 else None
    return rng.choice(POOL[sql_type]) if made is None else made


def draw_key(rng: Random, sql_type: str) -> str:
    """A value for a key column: never NULL, from a space wide enough for a small table where the type has one."""
    made = _made(rng, sql_type) if rng.random() < 0.8 else None
    return rng.choice(POOL[sql_type]) if made is None else made


def _made(rng: Random, sql_type: str) -> str | None:
    """A value by formula, or None where the type has none here."""
    word = "".join(rng.choices(_LETTERS, k=rng.choice([1, 2, 3, 5])))
    n = rng.choice([rng.randint(-9, 9), rng.randint(-999, 999), rng.randint(-30000, 30000)])
    clock = (
        f"{rng.randint(0, 23):02}:{rng.randint(0, 59):02}:{rng.choice([0, 1, 59]):02}.{rng.choice([0, 1, 500000]):06}"
    )
    day = f"{rng.choice([1, 1969, 2023, 2024])}".zfill(4) + f"-{rng.randint(1, 12):02}-{rng.randint(1, 28):02}"
    base = sql_type.split(" COLLATE")[0]
    if base in ("smallint", "integer", "bigint", "counter", "needed"):
        return str(n)
    if base in ("numeric", "double precision", "real", "money", "numeric(12,2)", "cents", "numeric(38,10)"):
        return f"{n}.{rng.choice([0, 5, 25, 50])}"
    if base in ("text", "varchar(20)", "citext", "name", "character(5)"):
        return word
    made = {
        "uuid": f"{abs(n):032x}",
        "date": day,
        "timestamp": f"{day} {clock}",
        "timestamptz": f"{day} {clock}+00",
        "bytea": "\\x" + word.encode().hex(),
        "inet": f"10.{abs(n) % 256}.{rng.randint(0, 3)}.0/{rng.choice([16, 24, 32])}",
        "time": clock,
        "oid": str(abs(n)),
        "bit varying(9)": f"{abs(n) % 512:b}",
        "xid8": str(abs(n)),
        "pg_lsn": f"0/{abs(n):X}",
        "integer[]": f"{{{n},{abs(n)}}}",
        "text[]": '{"' + word.replace("\\", "\\\\").replace('"', '\\"') + '"}',
        "jsonb": f'{{"a": {n}}}',
    }
    return made.get(base)


_CONDITIONS = {
    "text": [
        "{c} LIKE '%a%' OR {c} NOT LIKE '\\%_%'", "{c} <> ':epoch' AND {c} <> '%(epoch)s' OR {c} = 'a:b'",
        "coalesce({c}, '?') <> '?' AND {c} !~ '^x{{2,}}'", "{c} IN ('', 'null', 'a''b') OR {c} > 'b;--'",
        "length({c}) % 2 = 0", "{c}::text LIKE '%' || 'a' || '%' OR {c} < 'b'",
    ],
    "integer": ["{c} % 3 <> 0", "{c}::text LIKE '%1%' OR {c} <= 0", "{c} BETWEEN -5 AND 1000000", "NOT {c} = 0",
                "CASE WHEN {c} > 0 THEN {c}::bigint * 2 > 5 ELSE true END"],
    "boolean": ["{c}", "NOT {c}", "{c} IS NOT TRUE"],
    "jsonb": ["{c} ? 'a' OR {c} = '[]'", "({c} -> 'a')::text <> '1' OR {c} @> '{{}}'", "{c} ?| array['a', 'b']"],
    "timestamp": ["{c} > '2000-01-01 00:00:00'::timestamp", "{c} = 'infinity' OR extract(year FROM {c}) <> 1969"],
    "date": ["{c} >= DATE '1970-01-01'", "{c} <> 'infinity'"],
    "double precision": ["{c} <> 'NaN'", "{c} > -1.5e0"],
    "numeric": ["{c} <> 0 AND {c} IS NOT NULL"],
    "integer[]": ["{c}[1] = 1 OR 2 = ANY({c})", "cardinality({c}) > 0 AND {c} <> '{{1,2}}'::int4[]"],
    '"Mo""od"': ["{c} > 'sad' OR {c} IS NULL"],
}  # fmt: skip


def _draw_where(rng: Random, columns: list[tuple[str, str]]) -> str:
    """Two conditions over the table's columns; NULL for some rows, false for others."""
    bases = [(quote(name), sql_type.split(" COLLATE")[0]) for name, sql_type in columns]
    speaking = [(c, rng.choice(_CONDITIONS[base])) for c, base in bases if base in _CONDITIONS]
    silent = [(c, rng.choice(["{c} IS NOT NULL", "{c} IS NULL"])) for c, _ in rng.sample(bases, 2)]
    chosen = rng.sample(speaking, min(2, len(speaking))) + silent
    one, two = (condition.format(c=c) for c, condition in chosen[:2])
    return f"({one}) {rng.choice(['AND', 'OR', 'OR'])}\n({two})"
